#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "consumer/reader/lanes_state.h"

enum {
	COMMIT_SLICE_MS = 100,    /* of waiting for the answer to a commit */
	COMMIT_AGAIN_MS = 200,    /* from a refusal that passes to the next attempt */
	COMMIT_TRIES_MS = 300000, /* for all attempts of one: a coordinator that moves, or begins */
};

enum fail_code
lanes_committed(
    struct lanes *l, int64_t *offset_next, char **metadata, int timeout_ms, struct failure *f)
{
	return kafka_group_offsets(l->rk, l->topic, l->total, offset_next, metadata, timeout_ms, f);
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

static enum fail_code
send_commit(struct lanes *l, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_commit_queue(l->rk, l->commit, l->answers, NULL, NULL);

	l->commit_again_ms = 0;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "no commit");
	return fail_commit(l, f);
}

enum fail_code
lanes_commit_begin(
    struct lanes *l, const int64_t *offset_next, const char *metadata, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = lanes_list(l, offset_next);
	enum fail_code code;

	code = list == NULL ? fail_memory(f) : add_metadata(list, metadata, f);
	if (code != FAIL_NONE) {
		if (list != NULL)
			rd_kafka_topic_partition_list_destroy(list);
		return fail_commit(l, f);
	}
	if (l->commit != NULL)
		rd_kafka_topic_partition_list_destroy(l->commit);
	l->commit = list;
	l->commit_until_ms = clock_ms() + COMMIT_TRIES_MS;
	return send_commit(l, f);
}

/*
 * A commit waits until librdkafka knows the coordinator of the group; that the user may not ask for
 * it is told to the handle, not to the commit, and once: the thread that reads may have heard it.
 */
static enum fail_code
wait_answer(struct lanes *l, int64_t deadline_ms, rd_kafka_event_t **event, struct failure *f)
{
	int64_t left_ms = deadline_ms - clock_ms();
	bool waits = left_ms > 0;

	left_ms = waits ? left_ms : 0;

	while ((*event = rd_kafka_queue_poll(l->answers,
		    left_ms < COMMIT_SLICE_MS ? (int)left_ms : COMMIT_SLICE_MS)) == NULL) {
		rd_kafka_resp_err_t denied = (rd_kafka_resp_err_t)atomic_load(&l->denied);

		if (denied != RD_KAFKA_RESP_ERR_NO_ERROR)
			return kafka_fail_topic(f, l->rk, denied, NULL, "no commit", l->topic);
		if (waits && lanes_take_events(l, f) != FAIL_NONE)
			return f->code;
		left_ms = deadline_ms - clock_ms();
		if (left_ms <= 0)
			break;
	}
	return FAIL_NONE;
}

/* What a commit, or one lane of it, was answered. Takes the event. */
static rd_kafka_resp_err_t
take_answer(rd_kafka_event_t *event)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_event_topic_partition_list(event);
	rd_kafka_resp_err_t err = rd_kafka_event_error(event);

	for (int i = 0; list != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
		err = list->elems[i].err;
	rd_kafka_event_destroy(event);
	return err;
}

/* Sends what was refused for a while again, once that is due. FAIL_TIMEOUT: it is not. */
static enum fail_code
send_again(struct lanes *l, int64_t deadline_ms, struct failure *f)
{
	int64_t now_ms = clock_ms();
	int64_t until_ms = l->commit_again_ms < deadline_ms ? l->commit_again_ms : deadline_ms;

	if (until_ms > now_ms)
		clock_pause_ms((int)(until_ms - now_ms));
	if (l->commit_again_ms > clock_ms()) {
		fail(f, FAIL_TIMEOUT, "the group has no coordinator for a commit yet");
		return fail_commit(l, f);
	}
	return send_commit(l, f);
}

enum fail_code
lanes_commit_end(struct lanes *l, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_event_t *event;
	rd_kafka_resp_err_t err;

	for (;;) {
		if (l->commit_again_ms != 0 && send_again(l, deadline_ms, f) != FAIL_NONE)
			return f->code;
		if (wait_answer(l, deadline_ms, &event, f) != FAIL_NONE)
			return fail_commit(l, f);
		if (event == NULL) {
			fail(
			    f, FAIL_TIMEOUT, "the broker has not answered a commit yet: is it up?");
			return fail_commit(l, f);
		}
		err = take_answer(event);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			return FAIL_NONE;
		if (!kafka_passing(err) || clock_ms() >= l->commit_until_ms) {
			kafka_fail_topic(f, l->rk, err, NULL, "no commit", l->topic);
			return fail_commit(l, f);
		}
		l->commit_again_ms = clock_ms() + COMMIT_AGAIN_MS;
	}
}
