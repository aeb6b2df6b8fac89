#include "consumer/domain/partition_tail.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/config/recipe.h"
#include "common/kafka/kafka.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"

enum { SLICE_MS = 100 };

/* ---- what the record says ---- */

static enum fail_code
take_end(struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct sequence_end end;

	if (sequence_end_decode(&end, bytes, n, f) != FAIL_NONE)
		return f->code;
	*out = (struct partition_tail){
	    .sequences = end.sequences,
	    .sealed = true,
	    .sealed_sequences = end.sequences,
	    .record_bytes = end.record_bytes,
	    .record_bytes_max = end.record_bytes_max,
	    .tokenizer = end.tokenizer,
	    .sequence_length = end.sequence_length,
	    .end = true,
	};
	return FAIL_NONE;
}

static enum fail_code
take_sequence(struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	const struct sequence_position *p;
	struct sequence_view s;

	if (sequence_decode(&s, bytes, n, f) != FAIL_NONE)
		return f->code;
	p = &s.position;
	*out = (struct partition_tail){
	    .sequences = s.ordinal + 1,
	    .sealed = p->sealed >= 0,
	    .sealed_sequences = p->sealed >= 0 ? (uint64_t)p->sealed : 0,
	    .record_bytes = p->record_bytes + n,
	    .record_bytes_max = p->record_bytes_max > n ? p->record_bytes_max : n,
	    .tokenizer = s.tokenizer,
	    .sequence_length = s.payload.count - 1,
	    .frame_hash = s.payload.frame_hash,
	};
	return FAIL_NONE;
}

enum fail_code
partition_tail_decode(struct partition_tail *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	enum schema_record which;

	if (schema_which(&which, bytes, n, f) != FAIL_NONE)
		return f->code;
	if (which == SCHEMA_END)
		return take_end(out, bytes, n, f);
	if (which == SCHEMA_SEQUENCE)
		return take_sequence(out, bytes, n, f);
	return fail(f, FAIL_DATA, "a %s record stands where sequences do", schema_name[which]);
}

/* ---- reading many ---- */

static void
take(const rd_kafka_message_t *m, struct partition_tail_at *at)
{
	struct failure why;
	size_t n;
	const char *recipe;

	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	recipe = at->want_recipe ? kafka_header(m, RECIPE_HEADER, &n) : NULL;
	at->recipe = recipe == NULL ? NULL : strndup(recipe, n);
	at->known = partition_tail_decode(&at->tail, m->payload, m->len, &why) == FAIL_NONE;
	at->bad = !at->known;
	if (at->bad)
		snprintf(at->reason, sizeof(at->reason), "%.255s", why.text);
}

static int
by_place(const void *a, const void *b)
{
	const rd_kafka_topic_partition_t *x = a, *y = b;
	int order = strcmp(x->topic, y->topic);

	return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

/* With a record much comes that is behind it: it is dropped at a few comparisons each. */
static rd_kafka_topic_partition_t *
find(const rd_kafka_topic_partition_list_t *sorted, const rd_kafka_message_t *m)
{
	const char *topic = rd_kafka_topic_name(m->rkt);
	rd_kafka_topic_partition_t key = {
	    .topic = (char *)(uintptr_t)topic, .partition = m->partition};

	return bsearch(&key, sorted->elems, (size_t)sorted->cnt, sizeof(key), by_place);
}

/*
 * Each partition is heard of once: by its last record, by its end (the record is a marker), or by
 * its error. Its `opaque` is cleared then.
 */
static enum fail_code
read_assigned(rd_kafka_t *reader, rd_kafka_topic_partition_list_t *list, int64_t deadline_ms,
    struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	for (int left = list->cnt; left > 0 && clock_ms() < deadline_ms && code == FAIL_NONE;) {
		rd_kafka_message_t *m = kafka_poll(reader, SLICE_MS);
		rd_kafka_topic_partition_t *e = NULL;
		struct partition_tail_at *at;

		if (m == NULL)
			continue;
		if (m->rkt != NULL)
			e = find(list, m);
		at = e == NULL ? NULL : e->opaque;
		if (at != NULL && !kafka_passing(m->err) &&
		    (m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF || kafka_at_end(m, at->high))) {
			take(m, at);
			at->answered = true;
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
read_some(rd_kafka_t *reader, struct partition_tail_at *at, size_t n, int64_t deadline_ms,
    struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n);
	rd_kafka_resp_err_t err;
	enum fail_code code;

	for (size_t i = 0; i < n; i++) {
		rd_kafka_topic_partition_t *e =
		    rd_kafka_topic_partition_list_add(list, at[i].topic, at[i].partition);

		at[i].answered = at[i].known = at[i].bad = false;
		at[i].recipe = NULL;
		e->offset = at[i].high - 1;
		e->opaque = &at[i];
	}
	qsort(list->elems, (size_t)list->cnt, sizeof(list->elems[0]), by_place);
	err = kafka_assign(reader, list);
	code = err == RD_KAFKA_RESP_ERR_NO_ERROR ? read_assigned(reader, list, deadline_ms, f)
						 : FAIL_NONE;
	kafka_assign(reader, NULL);
	rd_kafka_topic_partition_list_destroy(list);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR
		   ? code
		   : kafka_fail_code(f, err, NULL, "reading the ends of the domain topics");
}

enum fail_code
partition_tail_read_many(rd_kafka_t *reader, struct partition_tail_at *at, size_t n, size_t at_once,
    int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;

	assert(at_once > 0);
	for (size_t i = 0; i < n; i += at_once)
		if (read_some(reader, at + i, n - i < at_once ? n - i : at_once, deadline_ms, f) !=
		    FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}
