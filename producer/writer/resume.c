#include "producer/writer/resume.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"
#include "producer/writer/contents.h"
#include "producer/writer/overlap.h"

enum { ASK_TIMEOUT_MS = 30000, LATE_TRIES_MAX = 3 };

/* After what differs; of the domain. */
#define WAY_OUT                                                                                    \
	"set it back, publish the domain under another corpus name, or, if no mix draws from it "  \
	"yet, again from its start (`riffle produce %s --restart`)"

/* ---- what the last record says ---- */

/* A partition is continued as it was begun: its sequences are of one kind, from first to last. */
static enum fail_code
check(const struct resume_expected *e, uint64_t tokenizer, uint32_t sequence_length,
    uint32_t packing, struct failure *f)
{
	if (tokenizer != e->tokenizer)
		return fail(f, FAIL_CONFIG,
		    "it was begun with tokenizer %016" PRIx64 ", that of %s is %016" PRIx64
		    ": " WAY_OUT,
		    tokenizer, e->tokenizer_file, e->tokenizer, e->domain);
	if (sequence_length != e->sequence_length)
		return fail(f, FAIL_CONFIG,
		    "it was begun with sequence_length %" PRIu32 ", the configuration has %" PRIu32
		    ": " WAY_OUT,
		    sequence_length, e->sequence_length, e->domain);
	if (packing != e->packing)
		return fail(f, FAIL_CONFIG,
		    "it was begun with packing %s, the configuration has %s: " WAY_OUT,
		    sequence_packing_names[packing], sequence_packing_names[e->packing], e->domain);
	return FAIL_NONE;
}

/*
 * The last span of the sequence is the document that the producer continues with. Its tokens here
 * are number offset + 1 - n to offset of the document:
 *
 *     sequence   | ... 7 7 7 | 8 8 8 8 |      span of document 8 starts at `last`, n = 4
 *     document 8   t0 t1 t2 t3 | t4 t5 ...     offset 3: resume with t3 (shared) or t4
 */
static enum fail_code
take_tail(struct resume *out, const struct sequence_view *s, const struct sequence_span *last,
    const uint32_t *token, struct failure *f)
{
	size_t n = s->payload.used - last->start;

	if (last->document != out->document || last->offset + n - 1 != out->offset)
		return fail(f, FAIL_DATA,
		    "its position (document %" PRIu64 " token %" PRIu64
		    ") is not where its last document ends",
		    out->document, out->offset);
	out->tail = malloc(n * sizeof(*out->tail));
	if (out->tail == NULL)
		return fail_memory(f);
	memcpy(out->tail, token + last->start, n * sizeof(*out->tail));
	out->tail_n = n;
	return FAIL_NONE;
}

/*
 * Packing the window again must make all of the sequence again: which documents of a window share a
 * sequence depends on all of them.
 */
static enum fail_code
take_window(struct resume *out, const struct sequence_view *s, const struct sequence_span *span,
    const uint32_t *token, struct failure *f)
{
	const struct sequence_payload_view *p = &s->payload;

	out->tail = malloc(p->count * sizeof(*out->tail));
	out->span = calloc(p->spans_n, sizeof(*out->span));
	if (out->tail == NULL || out->span == NULL)
		return fail_memory(f);
	memcpy(out->tail, token, p->count * sizeof(*out->tail));
	out->tail_n = p->count;
	for (; out->spans_n < p->spans_n; out->spans_n++)
		out->span[out->spans_n] = (struct sequence_span){.start = span[out->spans_n].start,
		    .document = span[out->spans_n].document,
		    .offset = span[out->spans_n].offset};
	return FAIL_NONE;
}

/* What of the sequence the input must give again. */
static enum fail_code
take_proof(struct resume *out, const struct sequence_view *s, const struct sequence_span *span,
    const uint32_t *token, struct failure *f)
{
	bool window = s->position.window > 0;

	if (s->payload.spans_n == 0)
		return fail(f, FAIL_DATA, "it names no document");
	if (window != (s->position.packing == SEQUENCE_BEST_FIT))
		return fail(f, FAIL_DATA,
		    "its position says window %" PRIu64 ", which does not go with how it is packed",
		    s->position.window);
	return window ? take_window(out, s, span, token, f)
		      : take_tail(out, s, &span[s->payload.spans_n - 1], token, f);
}

static enum fail_code
decode_tail(struct resume *out, const struct sequence_view *s, struct failure *f)
{
	struct contents c = {0};
	enum fail_code code = contents_open(&c, s, f);

	if (code == FAIL_NONE)
		code = take_proof(out, s, c.span, c.token, f);
	contents_close(&c);
	return code;
}

static enum fail_code
take_sequence(struct resume *out, const uint8_t *bytes, size_t n, const struct resume_expected *e,
    struct failure *f)
{
	struct sequence_view s;

	if (sequence_decode(&s, bytes, n, f) != FAIL_NONE ||
	    check(e, s.tokenizer, s.payload.count - 1, s.position.packing, f) != FAIL_NONE)
		return f->code;
	out->file = strndup(s.position.file.bytes, s.position.file.n);
	if (out->file == NULL)
		return fail_memory(f);
	out->state = RESUME_PARTIAL;
	out->sequences = s.ordinal + 1;
	out->document = s.position.document;
	out->byte = s.position.byte;
	out->line = s.position.line;
	out->offset = s.position.offset;
	out->documents = s.position.documents;
	out->rejects = s.position.rejects;
	out->record_bytes = s.position.record_bytes + n;
	out->record_bytes_max = s.position.record_bytes_max > n ? s.position.record_bytes_max : n;
	out->tokens = s.position.tokens;
	out->dropped = s.position.dropped;
	out->window = s.position.window;
	out->sealed = s.position.sealed;
	return decode_tail(out, &s, f);
}

static enum fail_code
take_end(struct resume *out, const struct sequence_end *end, struct failure *f)
{
	out->file = strndup(end->input.file.bytes, end->input.file.n);
	if (out->file == NULL)
		return fail_memory(f);
	out->state = RESUME_ENDED;
	out->sequences = end->sequences;
	out->document = end->input.records;
	out->byte = end->input.byte;
	out->line = end->input.line;
	out->documents = end->documents;
	out->rejects = end->rejects;
	out->record_bytes = end->record_bytes;
	out->record_bytes_max = end->record_bytes_max;
	out->tokens = end->tokens;
	out->dropped = end->dropped;
	out->sealed = (int64_t)end->sequences;
	out->files = end->input.files;
	out->names = end->input.names;
	return FAIL_NONE;
}

enum fail_code
resume_take(struct resume *out, const uint8_t *bytes, size_t n, const struct resume_expected *e,
    struct failure *f)
{
	enum schema_record which;
	struct sequence_end end;
	struct failure why;

	if (schema_which(&which, bytes, n, &why) != FAIL_NONE)
		return fail(f, FAIL_DATA,
		    "%s; where to continue is not known: use the riffle that wrote it, or delete "
		    "the topic and produce it again",
		    why.text);
	if (which == SCHEMA_SEQUENCE)
		return take_sequence(out, bytes, n, e, f);
	if (which != SCHEMA_END)
		return fail(
		    f, FAIL_DATA, "a %s record stands where sequences do", schema_name[which]);
	if (sequence_end_decode(&end, bytes, n, f) != FAIL_NONE ||
	    check(e, end.tokenizer, end.sequence_length, end.packing, f) != FAIL_NONE)
		return f->code;
	return take_end(out, &end, f);
}

/* How large the files were at the End, where it says so. */
static void
take_bytes(struct resume *out, const rd_kafka_message_t *msg)
{
	char text[64];
	size_t n;
	const char *value = kafka_header(msg, RESUME_BYTES_HEADER, &n);
	int64_t settled, last;

	snprintf(text, sizeof(text), "%.*s", value == NULL ? 0 : (int)n, value);
	if (sscanf(text, "%" SCNd64 " %" SCNd64, &settled, &last) == 2 && settled >= 0 &&
	    last >= 0) {
		out->settled_bytes = settled;
		out->last_bytes = last;
	}
}

/* Which files there were up to that of the last sequence, where it says so. */
static void
take_files(struct resume *out, const rd_kafka_message_t *msg)
{
	char text[64];
	size_t n;
	const char *value = kafka_header(msg, RESUME_FILES_HEADER, &n);

	snprintf(text, sizeof(text), "%.*s", value == NULL ? 0 : (int)n, value);
	if (sscanf(text, "%" SCNu64 " %" SCNx64, &out->files, &out->names) != 2)
		out->files = out->names = 0;
}

/*
 * Compares the recipe on a record, where it has one, with the present one. Which files are read may
 * change at an append; in a part that was broken off the check of the documents is the judge.
 */
static enum fail_code
check_recipe(struct resume *out, const rd_kafka_message_t *msg, const struct resume_expected *e,
    struct failure *f)
{
	struct recipe_differences d;
	size_t n;
	const char *recipe = kafka_header(msg, RECIPE_HEADER, &n);

	if (recipe == NULL)
		return FAIL_NONE;
	if (recipe_compare(&d, recipe, n, e->recipe, f) != FAIL_NONE)
		return f->code;
	if (d.kind[0] != '\0')
		return fail(f, FAIL_CONFIG,
		    "domain %s was published with another configuration: %s. A domain has records "
		    "of one kind: set it back, publish the domain under another name, or, if no "
		    "mix draws from it yet, again from its start (`riffle produce %s --restart`)",
		    e->domain, d.kind, e->domain);
	out->no_target = d.no_target;
	if (out->state == RESUME_ENDED)
		memcpy(out->sources, d.source, sizeof(out->sources));
	return FAIL_NONE;
}

/* ---- asking the broker ---- */

enum resume_absent
resume_judge_absent(int64_t low, int64_t high)
{
	if (high == 0)
		return RESUME_ABSENT_NEW;
	return low == high ? RESUME_ABSENT_DELETED : RESUME_ABSENT_UNSEEN;
}

/*
 * The last record; NULL: the partition begins at offset 0, and has none.
 *
 * "No last record" and "the end is not 0" together mean that records were deleted, or that a
 * transaction marker is the last thing there: then nobody knows where to continue. But the two come
 * from two requests, and a producer before us may have a record on its way:
 *
 *     1. we request the last record: the partition is empty
 *     2. the broker appends a record of a producer that was killed a moment ago
 *     3. we request the end of the partition: it is 1
 *
 * So where they disagree both are requested again. An empty log with low == high > 0 is no race.
 */
static enum fail_code
ask_last(rd_kafka_message_t **msg, rd_kafka_t *reader, const char *topic, int32_t partition,
    struct failure *f)
{
	enum resume_absent absent = RESUME_ABSENT_UNSEEN;
	int64_t low = 0, high = 0;

	for (int i = 0; i < LATE_TRIES_MAX && absent == RESUME_ABSENT_UNSEEN; i++) {
		if (kafka_last_record(reader, topic, partition, msg, ASK_TIMEOUT_MS, f) !=
		    FAIL_NONE)
			return f->code;
		if (*msg != NULL)
			return FAIL_NONE;
		if (kafka_watermarks(reader, topic, partition, &low, &high, ASK_TIMEOUT_MS, f) !=
		    FAIL_NONE)
			return f->code;
		absent = resume_judge_absent(low, high);
	}
	if (absent == RESUME_ABSENT_NEW)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "topic %s partition %" PRId32 ": all %" PRId64
	    " records were deleted or are of transactions, so that where to continue is not "
	    "known: delete the topic and produce it again",
	    topic, partition, high);
}

/* As check_recipe(), by the first record: the last one is a Sequence. */
static enum fail_code
check_first(struct resume *out, rd_kafka_t *reader, const char *topic, int32_t partition,
    const struct resume_expected *expected, struct failure *f)
{
	rd_kafka_message_t *first;
	enum fail_code code;

	if (kafka_first_record(reader, topic, partition, &first, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (first == NULL)
		return FAIL_NONE;
	code = check_recipe(out, first, expected, f);
	rd_kafka_message_destroy(first);
	return code;
}

enum fail_code
resume_ask(struct resume *out, rd_kafka_t *reader, const char *topic, int32_t partition,
    const struct resume_expected *expected, struct failure *f)
{
	rd_kafka_message_t *msg;
	enum fail_code code;

	memset(out, 0, sizeof(*out));
	out->sealed = out->settled_bytes = out->last_bytes = -1;
	if (ask_last(&msg, reader, topic, partition, f) != FAIL_NONE)
		return f->code;
	if (msg == NULL)
		return FAIL_NONE;
	out->no_target = CONFIG_NO_TARGET_KEEP; /* until a recipe says otherwise */
	out->offset_next = msg->offset + 1;
	code = overlap_check(
	    &msg, reader, topic, partition, expected->overlap_bytes, expected->domain, f);
	if (code == FAIL_NONE)
		code = resume_take(out, msg->payload, msg->len, expected, f);
	if (out->state == RESUME_ENDED)
		take_bytes(out, msg);
	else if (out->state == RESUME_PARTIAL)
		take_files(out, msg);
	if (code == FAIL_NONE)
		code = out->state == RESUME_ENDED
			   ? check_recipe(out, msg, expected, f)
			   : check_first(out, reader, topic, partition, expected, f);
	if (code != FAIL_NONE)
		fail_within(f, "topic %s partition %" PRId32 " offset %" PRId64, topic, partition,
		    msg->offset);
	rd_kafka_message_destroy(msg);
	return code;
}

void
resume_close(struct resume *r)
{
	free(r->file);
	free(r->tail);
	free(r->span);
	r->file = NULL;
	r->tail = NULL;
	r->span = NULL;
}

/* ---- decisions ---- */

void
resume_append(struct resume *r)
{
	if (r->state == RESUME_ENDED)
		r->state = RESUME_APPEND;
}

bool
resume_fits(const struct resume *r, const uint32_t *id, size_t n, uint32_t marks)
{
	assert(r->state == RESUME_PARTIAL);
	assert(r->tail_n >= 1);
	assert(r->offset + 1 >= r->tail_n);
	if (r->offset >= n)
		return false;
	id += r->offset + 1 - r->tail_n;
	for (size_t i = 0; i < r->tail_n; i++)
		if ((id[i] & ~marks) != r->tail[i])
			return false;
	return true;
}

bool
resume_is_last(const struct resume *r, const uint32_t *token, size_t n,
    const struct sequence_span *span, size_t spans_n)
{
	bool same = r->tail_n == n && r->spans_n == spans_n &&
		    memcmp(token, r->tail, n * sizeof(*token)) == 0;

	assert(r->state == RESUME_PARTIAL);
	assert(r->window > 0);
	for (size_t i = 0; same && i < spans_n; i++)
		same = span[i].start == r->span[i].start &&
		       span[i].document == r->span[i].document &&
		       span[i].offset == r->span[i].offset;
	return same;
}

/*
 * Whether `a` is to be read from before `b`. At one document a sequence says more than an End: the
 * document is known to be there, and an input that ended before it has grown by it.
 */
static bool
is_earlier(const struct resume *a, const struct resume *b)
{
	if (b == NULL || a->document != b->document)
		return b == NULL || a->document < b->document;
	return a->state == RESUME_PARTIAL && b->state == RESUME_APPEND;
}

void
resume_start(
    const struct resume *r, size_t n, struct input_position *from, bool *from_start, bool *needed)
{
	const struct resume *earliest = NULL, *listed = NULL;

	assert(n > 0);
	*needed = *from_start = false;
	for (size_t i = 0; i < n; i++) {
		bool goes_on = r[i].state == RESUME_PARTIAL || r[i].state == RESUME_APPEND;

		*needed = *needed || r[i].state != RESUME_ENDED;
		*from_start = *from_start || r[i].state == RESUME_FRESH;
		if (goes_on && is_earlier(&r[i], earliest))
			earliest = &r[i];
		if (r[i].state == RESUME_APPEND && (listed == NULL || r[i].files > listed->files))
			listed = &r[i];
	}
	if (*from_start || earliest == NULL)
		return;
	*from = (struct input_position){
	    .document = earliest->document,
	    .file = earliest->file[0] == '\0' ? NULL : earliest->file,
	    .byte = earliest->byte,
	    .line = earliest->line,
	    .rejects = earliest->rejects,
	    .ended = earliest->state == RESUME_APPEND,
	    .files = listed == NULL ? earliest->files : listed->files,
	    .names = listed == NULL ? earliest->names : listed->names,
	    .settled_bytes = listed == NULL ? -1 : listed->settled_bytes,
	};
}
