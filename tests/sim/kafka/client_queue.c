/* Queues of events, commits of groups. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

enum { LATE_MS = 5000, ANSWER_MS = 2000, STEP_MS = 20 };

rd_kafka_queue_t *
rd_kafka_queue_new(rd_kafka_t *rk)
{
	rd_kafka_queue_t *q = calloc(1, sizeof(*q));

	if (q == NULL)
		abort();
	q->rk = rk;
	q->end = &q->first;
	return q;
}

void
rd_kafka_queue_destroy(rd_kafka_queue_t *q)
{
	while (q->first != NULL) {
		rd_kafka_event_t *next = q->first->next;

		rd_kafka_event_destroy(q->first);
		q->first = next;
	}
	free(q);
}

rd_kafka_event_t *
client_event(rd_kafka_event_type_t type, rd_kafka_resp_err_t err)
{
	rd_kafka_event_t *e = calloc(1, sizeof(*e));

	if (e == NULL)
		abort();
	e->type = type;
	e->err = err;
	return e;
}

void
client_event_put(rd_kafka_queue_t *q, rd_kafka_event_t *e, int64_t due_ms)
{
	e->due_ms = due_ms;
	*q->end = e;
	q->end = &e->next;
}

rd_kafka_event_t *
rd_kafka_queue_poll(rd_kafka_queue_t *q, int timeout_ms)
{
	int64_t until_ms;
	rd_kafka_event_t *e;

	chance_call("queue_poll", "");
	until_ms = cluster->now_ms + timeout_ms;
	while (
	    (q->first == NULL || q->first->due_ms > cluster->now_ms) && cluster->now_ms < until_ms)
		chance_wait(
		    until_ms - cluster->now_ms < STEP_MS ? until_ms - cluster->now_ms : STEP_MS);
	e = q->first;
	if (e == NULL || e->due_ms > cluster->now_ms)
		return NULL;
	q->first = e->next;
	if (q->first == NULL)
		q->end = &q->first;
	e->next = NULL;
	chance_trace("  gives an event: %s", rd_kafka_err2name(e->err));
	return e;
}

rd_kafka_event_type_t
rd_kafka_event_type(const rd_kafka_event_t *e)
{
	return e == NULL ? RD_KAFKA_EVENT_NONE : e->type;
}

rd_kafka_resp_err_t
rd_kafka_event_error(rd_kafka_event_t *e)
{
	return e->err;
}

const char *
rd_kafka_event_error_string(rd_kafka_event_t *e)
{
	return rd_kafka_err2str(e->err);
}

rd_kafka_topic_partition_list_t *
rd_kafka_event_topic_partition_list(rd_kafka_event_t *e)
{
	return e->list;
}

/* ---- commits ---- */

/*
 * The broker judges each partition on its own and keeps what is right. The error of the whole:
 * that of the last one where all are wrong, as in librdkafka 2.0.2.
 */
static rd_kafka_resp_err_t
judge(rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t last = RD_KAFKA_RESP_ERR__NO_OFFSET;
	int wrong = 0, asked = 0;

	for (int i = 0; i < list->cnt; i++) {
		rd_kafka_topic_partition_t *e = &list->elems[i];

		e->err = RD_KAFKA_RESP_ERR_NO_ERROR;
		if (e->offset < 0)
			continue;
		asked++;
		e->err = cluster_commit_check(e->topic, e->partition, e->metadata_size);
		if (e->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		last = e->err;
		wrong++;
	}
	return wrong == asked ? last : RD_KAFKA_RESP_ERR_NO_ERROR;
}

static struct cluster_request *
request_of(const rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list)
{
	struct cluster_request *r = cluster_allocate(sizeof(*r));

	r->kind = CLUSTER_COMMIT;
	r->offsets = cluster_allocate(((size_t)list->cnt + 1) * sizeof(*r->offsets));
	for (int i = 0; i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *e = &list->elems[i];
		struct cluster_commit *to = &r->offsets[r->offsets_n];

		if (e->offset < 0 || e->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		r->offsets_n++;
		snprintf(to->group, sizeof(to->group), "%s", rk->group);
		snprintf(to->topic, sizeof(to->topic), "%s", e->topic);
		to->partition = e->partition;
		to->offset = e->offset;
		if (e->metadata == NULL)
			continue;
		to->metadata = cluster_allocate(e->metadata_size + 1);
		memcpy(to->metadata, e->metadata, e->metadata_size);
	}
	return r;
}

/* Sends the commit; what its answer will be, and when. */
static rd_kafka_resp_err_t
send_commit(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int64_t *answer_ms)
{
	rd_kafka_resp_err_t err = judge(list);
	struct cluster_request *r = request_of(rk, list);
	int64_t due_ms = cluster->now_ms + (int64_t)chance_below(3);

	if (chance_fault(CHANCE_GROUP_REFUSED, rk->group)) {
		*answer_ms = due_ms;
		return RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
	}
	if (chance_fault(CHANCE_GROUP_LATE, rk->group))
		due_ms += (int64_t)chance_below(LATE_MS);
	cluster_send(r, due_ms);
	*answer_ms = due_ms + 1;
	if (!chance_fault(CHANCE_GROUP_UNKNOWN, rk->group))
		return err;
	*answer_ms = due_ms + ANSWER_MS;
	return RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT;
}

rd_kafka_resp_err_t
rd_kafka_commit_queue(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *offsets,
    rd_kafka_queue_t *rkqu,
    void (*cb)(rd_kafka_t *rk, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *offsets,
	void *commit_opaque),
    void *commit_opaque)
{
	rd_kafka_event_t *e;
	int64_t answer_ms;

	(void)commit_opaque;
	chance_call("commit_queue", rk->group);
	if (offsets == NULL || cb != NULL) {
		fprintf(stderr, "sim: rd_kafka_commit_queue() without offsets is not there\n");
		abort();
	}
	if (rk->group[0] == '\0')
		return RD_KAFKA_RESP_ERR__UNKNOWN_GROUP;
	e = client_event(RD_KAFKA_EVENT_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->list = rd_kafka_topic_partition_list_copy(offsets);
	e->err = send_commit(rk, e->list, &answer_ms);
	client_event_put(rkqu, e, answer_ms);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
rd_kafka_commit(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *offsets, int async)
{
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t err;
	int64_t answer_ms;

	chance_call("commit", rk->group);
	if (offsets == NULL) {
		fprintf(stderr, "sim: rd_kafka_commit() without offsets is not there\n");
		abort();
	}
	if (rk->group[0] == '\0')
		return RD_KAFKA_RESP_ERR__UNKNOWN_GROUP;
	list = rd_kafka_topic_partition_list_copy(offsets);
	err = send_commit(rk, list, &answer_ms);
	rd_kafka_topic_partition_list_destroy(list);
	if (async)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	if (answer_ms > cluster->now_ms)
		chance_wait(answer_ms - cluster->now_ms);
	return err;
}

/* What the group committed last. */
static void
read_commit(const char *group, rd_kafka_topic_partition_t *e)
{
	const struct cluster_commit *c = cluster_commit(group, e->topic, e->partition);

	e->err = RD_KAFKA_RESP_ERR_NO_ERROR;
	e->offset = c == NULL ? RD_KAFKA_OFFSET_INVALID : c->offset;
	free(e->metadata);
	e->metadata = NULL;
	e->metadata_size = 0;
	if (c == NULL || c->metadata == NULL)
		return;
	e->metadata = strdup(c->metadata);
	e->metadata_size = strlen(c->metadata);
}

rd_kafka_resp_err_t
rd_kafka_committed(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *partitions, int timeout_ms)
{
	rd_kafka_resp_err_t err;

	chance_call("committed", rk->group);
	if (client_unanswered(CHANCE_CONNECTION, "committed", timeout_ms, &err))
		return err;
	for (int i = 0; i < partitions->cnt; i++)
		read_commit(rk->group, &partitions->elems[i]);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}
