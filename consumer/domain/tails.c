#include "consumer/domain/tails.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"

enum { SLICE_MS = 100 };

static void
take(const rd_kafka_message_t *m, struct tails_partition *at)
{
	struct failure why;

	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	at->known = partition_tail_decode(&at->tail, m->payload, m->len, &why) == FAIL_NONE;
	at->bad = !at->known;
	if (at->bad)
		snprintf(at->reason, sizeof(at->reason), "%.255s", why.text);
}

static enum fail_code
read_assigned(rd_kafka_t *reader, rd_kafka_topic_partition_list_t *list, int64_t deadline_ms,
    struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	for (int left = list->cnt; left > 0 && clock_ms() < deadline_ms && code == FAIL_NONE;) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(reader, SLICE_MS);
		rd_kafka_topic_partition_t *e = NULL;

		if (m == NULL)
			continue;
		if (m->rkt != NULL)
			e = rd_kafka_topic_partition_list_find(
			    list, rd_kafka_topic_name(m->rkt), m->partition);
		if (e != NULL && e->opaque != NULL && m->err != RD_KAFKA_RESP_ERR__TRANSPORT) {
			take(m, e->opaque);
			e->opaque = NULL; /* heard of */
			left--;
		}
		if (kafka_message_denied(reader, m))
			code = kafka_fail_topic(f, reader, m->err, NULL, "reading its end",
			    m->rkt == NULL ? "" : rd_kafka_topic_name(m->rkt));
		rd_kafka_message_destroy(m);
	}
	return code;
}

static enum fail_code
read_some(rd_kafka_t *reader, struct tails_partition *at, size_t n, int64_t deadline_ms,
    struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n);
	rd_kafka_resp_err_t err;
	enum fail_code code;

	for (size_t i = 0; i < n; i++) {
		rd_kafka_topic_partition_t *e =
		    rd_kafka_topic_partition_list_add(list, at[i].topic, at[i].partition);

		at[i].known = at[i].bad = false;
		e->offset = at[i].high - 1;
		e->opaque = &at[i];
	}
	err = rd_kafka_assign(reader, list);
	code = err == RD_KAFKA_RESP_ERR_NO_ERROR ? read_assigned(reader, list, deadline_ms, f)
						 : FAIL_NONE;
	rd_kafka_assign(reader, NULL);
	rd_kafka_topic_partition_list_destroy(list);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR
		   ? code
		   : kafka_fail_code(f, err, NULL, "reading the ends of the domain topics");
}

enum fail_code
tails_read(
    rd_kafka_t *reader, struct tails_partition *at, size_t n, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;

	for (size_t i = 0; i < n; i += TAILS_MAX) {
		size_t some = n - i < TAILS_MAX ? n - i : TAILS_MAX;

		if (read_some(reader, at + i, some, deadline_ms, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}
