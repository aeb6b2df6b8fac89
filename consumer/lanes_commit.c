#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kafka.h"
#include "consumer/lanes_state.h"

enum { COMMIT_SLICE_MS = 100 }; /* of waiting for the answer to a commit */

enum fail_code
lanes_committed(
    struct lanes *l, int64_t *offset_next, char **metadata, int timeout_ms, struct failure *f)
{
	return kafka_group_offsets(
	    l->rk, l->group, l->topic, l->total, offset_next, metadata, timeout_ms, f);
}

static enum fail_code
add_metadata(rd_kafka_topic_partition_list_t *list, const char *metadata, struct failure *f)
{
	for (int i = 0; i < list->cnt; i++) {
		list->elems[i].metadata = strdup(metadata); /* the list owns it */
		list->elems[i].metadata_size = strlen(metadata);
		if (list->elems[i].metadata == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

static enum fail_code
fail_commit(const struct lanes *l, struct failure *f)
{
	return fail_within(f, "group %s, topic %s", l->group, l->topic);
}

enum fail_code
lanes_commit_begin(
    struct lanes *l, const int64_t *offset_next, const char *metadata, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = lanes_list(l, offset_next);
	enum fail_code code;
	rd_kafka_resp_err_t err;

	code = list == NULL ? fail_memory(f) : add_metadata(list, metadata, f);
	if (code == FAIL_NONE) {
		err = rd_kafka_commit_queue(l->rk, list, l->answers, NULL, NULL);
		if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
			code = kafka_fail_code(f, err, NULL, "no commit");
	}
	if (list != NULL)
		rd_kafka_topic_partition_list_destroy(list);
	return code == FAIL_NONE ? FAIL_NONE : fail_commit(l, f);
}

/*
 * A commit waits until librdkafka knows the coordinator of the group; that the user may not ask for
 * it is told to the handle, not to the commit, and once: the thread that reads may have heard it.
 */
static enum fail_code
wait_answer(struct lanes *l, int timeout_ms, rd_kafka_event_t **event, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms, left_ms = timeout_ms;

	while ((*event = rd_kafka_queue_poll(l->answers,
		    left_ms < COMMIT_SLICE_MS ? (int)left_ms : COMMIT_SLICE_MS)) == NULL) {
		rd_kafka_resp_err_t denied = (rd_kafka_resp_err_t)atomic_load(&l->denied);

		if (denied != RD_KAFKA_RESP_ERR_NO_ERROR)
			return kafka_fail_topic(f, l->rk, denied, NULL, "no commit", l->topic);
		if (timeout_ms > 0 && lanes_take_events(l, f) != FAIL_NONE)
			return f->code;
		left_ms = deadline_ms - clock_ms();
		if (left_ms <= 0)
			break;
	}
	return FAIL_NONE;
}

enum fail_code
lanes_commit_end(struct lanes *l, int timeout_ms, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_event_t *event;
	rd_kafka_resp_err_t err;

	if (wait_answer(l, timeout_ms, &event, f) != FAIL_NONE)
		return fail_commit(l, f);
	if (event == NULL) {
		fail(f, FAIL_TIMEOUT, "the broker has not answered a commit within %d s: is it up?",
		    timeout_ms / 1000);
		return fail_commit(l, f);
	}
	err = rd_kafka_event_error(event);
	list = rd_kafka_event_topic_partition_list(event);
	for (int i = 0; list != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
		err = list->elems[i].err;
	rd_kafka_event_destroy(event);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_topic(f, l->rk, err, NULL, "no commit", l->topic);
	return fail_commit(l, f);
}
