#include "producer/resume.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/kafka.h"
#include "common/schema.h"
#include "common/sequence.h"

enum { ASK_TIMEOUT_MS = 30000 };

static enum fail_code
check(const struct resume_expected *e, uint64_t tokenizer, uint32_t sequence_length,
    struct failure *f)
{
	if (tokenizer != e->tokenizer)
		return fail(f, FAIL_CONFIG,
		    "it was begun with tokenizer %016" PRIx64 ", the configuration has %016" PRIx64
		    ": produce under another corpus name, or delete the topic",
		    tokenizer, e->tokenizer);
	if (sequence_length != e->sequence_length)
		return fail(f, FAIL_CONFIG,
		    "it was begun with sequence_length %" PRIu32 ", the configuration has %" PRIu32
		    ": produce under another corpus name, or delete the topic",
		    sequence_length, e->sequence_length);
	return FAIL_NONE;
}

/* The last span of the sequence is the document that the producer goes on with. */
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

static enum fail_code
decode_tail(struct resume *out, const struct sequence_view *s, struct failure *f)
{
	const struct payload_view *p = &s->payload;
	struct text_view *source = calloc(p->sources_n + 1, sizeof(*source));
	struct sequence_span *span = calloc(p->spans_n + 1, sizeof(*span));
	struct sequence_range *no_loss = calloc(p->no_loss_n + 1, sizeof(*no_loss));
	uint32_t *token = malloc(p->count * sizeof(*token));
	struct frame_codec *codec = NULL;
	enum fail_code code;

	if (source == NULL || span == NULL || no_loss == NULL || token == NULL)
		code = fail_memory(f);
	else
		code = payload_check_hash(p, f);
	if (code == FAIL_NONE)
		code = frame_codec_open(&codec, f);
	if (code == FAIL_NONE)
		code = frame_decode(
		    codec, p->frame, p->frame_n, p->count, p->width, token, sizeof(*token), f);
	if (code == FAIL_NONE) {
		payload_lists(p, source, span, no_loss);
		code = p->spans_n == 0 ? fail(f, FAIL_DATA, "it names no document")
				       : take_tail(out, s, &span[p->spans_n - 1], token, f);
	}
	frame_codec_close(codec);
	free(source);
	free(span);
	free(no_loss);
	free(token);
	return code;
}

static enum fail_code
take_sequence(struct resume *out, const uint8_t *bytes, size_t n, const struct resume_expected *e,
    struct failure *f)
{
	struct sequence_view s;

	if (sequence_decode(&s, bytes, n, f) != FAIL_NONE ||
	    check(e, s.tokenizer, s.payload.count - 1, f) != FAIL_NONE)
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
	return decode_tail(out, &s, f);
}

static enum fail_code
take_record(struct resume *out, const uint8_t *bytes, size_t n, const struct resume_expected *e,
    struct failure *f)
{
	enum schema_record which;
	struct end_record end;
	struct failure why;

	if (schema_which(&which, bytes, n, &why) != FAIL_NONE)
		return fail(f, FAIL_DATA,
		    "%s; it cannot be told where to go on: use the riffle that wrote it, or delete "
		    "the topic and produce it anew",
		    why.text);
	if (which == SCHEMA_SEQUENCE)
		return take_sequence(out, bytes, n, e, f);
	if (which != SCHEMA_END)
		return fail(
		    f, FAIL_DATA, "a %s record stands where sequences do", schema_name[which]);
	if (end_decode(&end, bytes, n, f) != FAIL_NONE ||
	    check(e, end.tokenizer, end.sequence_length, f) != FAIL_NONE)
		return f->code;
	out->state = RESUME_ENDED;
	out->sequences = end.sequences;
	return FAIL_NONE;
}

/* A partition without a record begins at offset 0, or something has cut it. */
static enum fail_code
check_empty(rd_kafka_t *reader, const char *topic, int32_t partition, struct failure *f)
{
	int64_t low, high;

	if (kafka_watermarks(reader, topic, partition, &low, &high, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (high == 0)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "topic %s partition %" PRId32 ": all %" PRId64
	    " records were deleted, so that it cannot be told where to go on: delete the topic and "
	    "produce it anew",
	    topic, partition, high);
}

enum fail_code
resume_ask(struct resume *out, rd_kafka_t *reader, const char *topic, int32_t partition,
    const struct resume_expected *expected, struct failure *f)
{
	rd_kafka_message_t *msg;
	enum fail_code code;

	memset(out, 0, sizeof(*out));
	if (kafka_last_record(reader, topic, partition, &msg, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (msg == NULL)
		return check_empty(reader, topic, partition, f);
	code = take_record(out, msg->payload, msg->len, expected, f);
	out->offset_next = msg->offset + 1;
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
	r->file = NULL;
	r->tail = NULL;
}

bool
resume_fits(const struct resume *r, const uint32_t *id, size_t n)
{
	assert(r->state == RESUME_PARTIAL && r->tail_n >= 1 && r->offset + 1 >= r->tail_n);
	return r->offset < n &&
	       memcmp(id + (r->offset + 1 - r->tail_n), r->tail, r->tail_n * sizeof(*id)) == 0;
}

void
resume_start(
    const struct resume *r, size_t n, struct input_position *from, bool *from_start, bool *needed)
{
	const struct resume *earliest = NULL;

	*needed = *from_start = false;
	for (size_t i = 0; i < n; i++) {
		*needed = *needed || r[i].state != RESUME_ENDED;
		*from_start = *from_start || r[i].state == RESUME_FRESH;
		if (r[i].state == RESUME_PARTIAL &&
		    (earliest == NULL || r[i].document < earliest->document))
			earliest = &r[i];
	}
	if (*from_start || earliest == NULL)
		return;
	*from = (struct input_position){
	    .document = earliest->document,
	    .file = earliest->file,
	    .byte = earliest->byte,
	    .line = earliest->line,
	    .rejects = earliest->rejects,
	};
}
