#include "producer/writer/overlap.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"
#include "producer/writer/contents.h"

enum { ASK_TIMEOUT_MS = 30000, POLL_MS = 100 };

struct overlap {
	struct overlap_record *record; /* [room], n of them */
	size_t n, room;
	rd_kafka_message_t *highest; /* owned; NULL: none was read */
	uint64_t ordinal;            /* of it */
};

static int
compare_records(const void *a, const void *b)
{
	const struct overlap_record *x = a, *y = b;

	if (x->ordinal != y->ordinal)
		return x->ordinal < y->ordinal ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

size_t
overlap_sort(struct overlap_record *record, size_t n)
{
	if (n > 0)
		qsort(record, n, sizeof(*record), compare_records);
	for (size_t i = 1; i < n; i++)
		if (record[i].ordinal == record[i - 1].ordinal &&
		    record[i].hash != record[i - 1].hash)
			return i;
	return 0;
}

static bool
is_sequence(struct sequence_view *s, const rd_kafka_message_t *m)
{
	enum schema_record which;
	struct failure unused;

	return schema_which(&which, m->payload, m->len, &unused) == FAIL_NONE &&
	       which == SCHEMA_SEQUENCE &&
	       sequence_decode(s, m->payload, m->len, &unused) == FAIL_NONE;
}

/* Takes `m`. Passes over an End and a damaged record, which its readers report. */
static enum fail_code
take_record(struct overlap *o, rd_kafka_message_t *m, struct failure *f)
{
	struct contents c = {0};
	struct sequence_view s;
	enum fail_code code = FAIL_DATA;

	if (o->n < o->room && is_sequence(&s, m))
		code = contents_open(&c, &s, f);
	if (code == FAIL_NONE) {
		o->record[o->n++] = (struct overlap_record){
		    .ordinal = s.ordinal, .hash = contents_hash(&c, &s), .offset = m->offset};
		if (o->highest == NULL || s.ordinal > o->ordinal) {
			rd_kafka_message_t *lower = o->highest;

			o->highest = m;
			o->ordinal = s.ordinal;
			m = lower;
		}
	}
	contents_close(&c);
	if (m != NULL)
		rd_kafka_message_destroy(m);
	return code == FAIL_MEMORY ? code : FAIL_NONE;
}

/* Reads [from, end). There is a record at end - 1. */
static enum fail_code
read_records(struct overlap *o, rd_kafka_t *reader, const char *topic, int32_t partition,
    int64_t from, int64_t end, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + ASK_TIMEOUT_MS;
	rd_kafka_resp_err_t err = kafka_assign_one(reader, topic, partition, from);
	enum fail_code code = FAIL_NONE;

	while (from < end && err == RD_KAFKA_RESP_ERR_NO_ERROR && code == FAIL_NONE) {
		rd_kafka_message_t *m = kafka_poll(reader, POLL_MS);

		if (clock_ms() > deadline_ms)
			err = RD_KAFKA_RESP_ERR__TIMED_OUT;
		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			from = m->offset + 1;
			code = take_record(o, m, f);
			continue;
		}
		if (kafka_message_denied(reader, m) ||
		    (!kafka_denied(m->err) && !kafka_passing(m->err) &&
			m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF))
			err = m->err;
		rd_kafka_message_destroy(m);
	}
	kafka_assign(reader, NULL);
	if (code != FAIL_NONE || from >= end)
		return code;
	return kafka_fail_topic(f, reader, err, NULL, "reading its last records", topic);
}

/* How many records make `bytes`, by those so far, of which `s` is the last. At least one. */
static int64_t
records_of(const struct sequence_view *s, size_t record_bytes, size_t bytes)
{
	uint64_t so_far = s->position.record_bytes + record_bytes;
	uint64_t each = so_far / (s->ordinal + 1);

	return (int64_t)(bytes / (each > 0 ? each : 1)) + 1;
}

enum fail_code
overlap_check(rd_kafka_message_t **last, rd_kafka_t *reader, const char *topic, int32_t partition,
    size_t bytes, const char *domain, struct failure *f)
{
	struct overlap o = {0};
	struct sequence_view s;
	int64_t end = (*last)->offset + 1, n, low, high;
	enum fail_code code;
	size_t at;

	if (!is_sequence(&s, *last) || (int64_t)s.ordinal == (*last)->offset)
		return FAIL_NONE;
	if (kafka_watermarks(reader, topic, partition, &low, &high, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	n = records_of(&s, (*last)->len, bytes);
	if (n > end - low)
		n = end - low;
	o.room = (size_t)n;
	o.record = calloc(o.room + 1, sizeof(*o.record));
	code = o.record == NULL ? fail_memory(f)
				: read_records(&o, reader, topic, partition, end - n, end, f);
	at = code == FAIL_NONE ? overlap_sort(o.record, o.n) : 0;
	if (at > 0)
		code = fail(f, FAIL_DATA,
		    "offsets %" PRId64 " and %" PRId64 " both hold sequence %" PRIu64
		    ", and they differ: a producer that was killed had records on their way when "
		    "the next one read another input. Readers keep the first of the two, so "
		    "documents would be missing or repeated. Publish the domain again from its "
		    "start: `riffle produce %s --restart`",
		    o.record[at - 1].offset, o.record[at].offset, o.record[at].ordinal, domain);
	if (code == FAIL_NONE && o.highest != NULL && o.ordinal > s.ordinal) {
		rd_kafka_message_t *lower = *last;

		*last = o.highest;
		o.highest = lower;
	}
	if (o.highest != NULL)
		rd_kafka_message_destroy(o.highest);
	free(o.record);
	return code;
}
