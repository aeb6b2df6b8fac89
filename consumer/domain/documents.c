#include "consumer/domain/documents.h"

#include <assert.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/schema.h"

enum { SLICE_MS = 200 };

struct documents {
	rd_kafka_t *rk;
	const struct stop *stop;
	int timeout_ms;
	char topic[TOPIC_MAX_BYTES + 1]; /* "": nothing was sought */
	int32_t partition;
	int64_t low, high;     /* of it */
	int64_t offset_next;   /* no record below it comes any more */
	uint64_t ordinal_next; /* of the records: the ordinal behind the last one that was read */
	uint64_t wanted;
	rd_kafka_message_t *held, *before; /* the last two sequences; NULL: none */
	struct sequence_position position; /* of `before`, into which it points */
	struct sequence_span *span;
	struct document_line *line;
	struct text_view *source;
	struct sequence_range *no_loss;
};

enum fail_code
documents_open(struct documents **out, const struct properties *properties, const struct stop *stop,
    int timeout_ms, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = properties, .client = "documents"};
	struct documents *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return fail_memory(f);
	d->stop = stop;
	d->timeout_ms = timeout_ms;
	if (kafka_open(&d->rk, &k, f) != FAIL_NONE) {
		free(d);
		return f->code;
	}
	*out = d;
	return FAIL_NONE;
}

static void
drop(rd_kafka_message_t **m)
{
	if (*m != NULL)
		rd_kafka_message_destroy(*m);
	*m = NULL;
}

void
documents_close(struct documents *d)
{
	if (d == NULL)
		return;
	drop(&d->held);
	drop(&d->before);
	kafka_assign(d->rk, NULL);
	kafka_close(d->rk);
	free(d->span);
	free(d->line);
	free(d->source);
	free(d->no_loss);
	free(d);
}

static enum fail_code
assign(struct documents *d, int64_t offset, struct failure *f)
{
	rd_kafka_resp_err_t err;

	drop(&d->held);
	drop(&d->before);
	d->offset_next = offset < d->low ? d->low : offset;
	d->ordinal_next = 0;
	err = kafka_assign_one(d->rk, d->topic, d->partition, d->offset_next);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	return kafka_fail_topic(f, d->rk, err, NULL, "reading", d->topic);
}

/* Of a partition that was not read before: how far it reaches. */
static enum fail_code
choose(struct documents *d, const char *topic, int32_t partition, struct failure *f)
{
	int partitions;

	assert(strlen(topic) < sizeof(d->topic));
	d->topic[0] = '\0';
	if (kafka_partitions(d->rk, topic, &partitions, d->timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (partition >= partitions)
		return fail(f, FAIL_CONFIG, "topic %s has no partition %" PRId32, topic, partition);
	if (kafka_watermarks(d->rk, topic, partition, &d->low, &d->high, d->timeout_ms, f) !=
	    FAIL_NONE)
		return f->code;
	memcpy(d->topic, topic, strlen(topic) + 1);
	d->partition = partition;
	return FAIL_NONE;
}

enum fail_code
documents_seek(
    struct documents *d, const char *topic, int32_t partition, uint64_t first, struct failure *f)
{
	bool same = strcmp(d->topic, topic) == 0 && d->partition == partition;

	d->wanted = first;
	if (same && first >= d->ordinal_next && first - d->ordinal_next < DOCUMENTS_NEAR)
		return FAIL_NONE;
	if (!same && choose(d, topic, partition, f) != FAIL_NONE)
		return f->code;
	/*
	 * A sequence lies at the offset of its ordinal or later (feed.h), so the log does not have
	 * one after its end. Seeking there would report a lost offset only when another topic is
	 * read.
	 */
	if ((int64_t)first >= d->high) {
		drop(&d->held);
		drop(&d->before);
		d->offset_next = d->high;
		d->ordinal_next = first;
		return FAIL_NONE;
	}
	return assign(d, first > 0 ? (int64_t)first - 1 : 0, f);
}

enum fail_code
documents_seek_time(struct documents *d, const char *topic, int32_t partition, int64_t time_ms,
    bool *there, struct failure *f)
{
	int64_t offset;

	*there = false;
	if (choose(d, topic, partition, f) != FAIL_NONE ||
	    kafka_offset_at(d->rk, topic, partition, time_ms, &offset, d->timeout_ms, f) !=
		FAIL_NONE)
		return f->code;
	d->wanted = 0;
	*there = offset >= 0;
	return *there ? assign(d, offset, f) : FAIL_NONE;
}

/* ---- one record ---- */

/* The next record in *out, NULL behind the last one. */
static enum fail_code
poll(struct documents *d, rd_kafka_message_t **out, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + d->timeout_ms;

	*out = NULL;
	while (d->offset_next < d->high) {
		rd_kafka_message_t *m;
		rd_kafka_resp_err_t err;
		bool denied;

		if (stop_asked(d->stop)) /* also while records come without a pause */
			return fail(f, FAIL_STOPPED, "stopped");
		m = kafka_poll(d->rk, SLICE_MS);
		err = m == NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : m->err;
		denied = kafka_message_denied(d->rk, m);

		if (m != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset >= d->offset_next) {
			d->offset_next = m->offset + 1;
			*out = m;
			return FAIL_NONE;
		}
		if (m != NULL && kafka_at_end(m, d->high))
			d->offset_next = d->high; /* the rest are no records */
		if (m != NULL)
			rd_kafka_message_destroy(m);
		if (denied)
			return kafka_fail_topic(f, d->rk, err, NULL, "reading", d->topic);
		if (kafka_lost(err))
			return fail(f, FAIL_DATA, "topic %s was cut while it was read", d->topic);
		if (clock_ms() > deadline_ms)
			return fail(f, FAIL_BROKER,
			    "topic %s, partition %" PRId32 ": no record came within %d ms",
			    d->topic, d->partition, d->timeout_ms);
	}
	return FAIL_NONE;
}

static enum fail_code
fill(struct documents *d, const struct sequence_view *s, const struct sequence_position *before,
    struct documents_sequence *out, struct failure *f)
{
	const struct sequence_payload_view *p = &s->payload;
	rd_kafka_timestamp_type_t kind;
	int64_t time_ms = rd_kafka_message_timestamp(d->held, &kind);

	free(d->span);
	free(d->line);
	free(d->source);
	free(d->no_loss);
	d->span = calloc(p->spans_n + 1, sizeof(*d->span));
	d->line = calloc(p->spans_n + 1, sizeof(*d->line));
	d->source = calloc(p->sources_n + 1, sizeof(*d->source));
	d->no_loss = calloc(p->no_loss_n + 1, sizeof(*d->no_loss));
	if (d->span == NULL || d->line == NULL || d->source == NULL || d->no_loss == NULL)
		return fail_memory(f);
	sequence_payload_lists(p, d->source, d->span, d->no_loss);
	document_lines(d->line, before, s, d->span, d->source);
	*out = (struct documents_sequence){.ordinal = s->ordinal,
	    .time_ms = kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : time_ms,
	    .used = p->used,
	    .spans_n = p->spans_n,
	    .span = d->span,
	    .line = d->line,
	    .source = d->source};
	return FAIL_NONE;
}

/* Takes the record if it is a sequence that was not there yet; *s then points into it. */
static bool
take(struct documents *d, rd_kafka_message_t *m, struct sequence_view *s)
{
	enum schema_record which;
	struct failure ignored;

	return schema_which(&which, m->payload, m->len, &ignored) == FAIL_NONE &&
	       which == SCHEMA_SEQUENCE &&
	       sequence_decode(s, m->payload, m->len, &ignored) == FAIL_NONE &&
	       s->ordinal >= d->ordinal_next;
}

enum fail_code
documents_next(struct documents *d, struct documents_sequence *out, bool *there, struct failure *f)
{
	assert(d->topic[0] != '\0');
	for (*there = false;;) {
		struct sequence_view s = {0};
		rd_kafka_message_t *m;
		bool follows;

		if (poll(d, &m, f) != FAIL_NONE)
			return f->code;
		if (m == NULL)
			return FAIL_NONE;
		if (!take(d, m, &s)) {
			rd_kafka_message_destroy(m);
			continue;
		}
		/* Duplicates push all that follows back: go on by as much as lacks. */
		if (d->held == NULL && s.ordinal + DOCUMENTS_NEAR < d->wanted) {
			int64_t offset = m->offset + (int64_t)(d->wanted - s.ordinal) - 1;

			rd_kafka_message_destroy(m);
			if (assign(d, offset, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		follows = d->held != NULL && s.ordinal == d->ordinal_next;
		drop(&d->before);
		d->before = d->held;
		d->held = m;
		d->ordinal_next = s.ordinal + 1;
		if (follows) {
			struct sequence_view last = {0};
			struct failure ignored;

			sequence_decode(&last, d->before->payload, d->before->len, &ignored);
			d->position = last.position;
		}
		if (s.ordinal < d->wanted)
			continue;
		*there = true;
		return fill(d, &s, follows ? &d->position : NULL, out, f);
	}
}
