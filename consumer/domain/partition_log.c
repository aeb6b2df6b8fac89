#include "consumer/domain/partition_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/frame.h"
#include "consumer/domain/log_record.h"

enum { SLICE_MS = 100 };

struct partition_log {
	rd_kafka_t *rk;
	char topic[TOPIC_MAX_BYTES + 1];
	int32_t partition;
	int timeout_ms;
	uint64_t tokenizer;
	uint64_t next, sequences; /* ordinals */
	struct frame_codec *codec;
	rd_kafka_message_t *held; /* what the last sequence points into */
	struct text_view *source;
	struct sequence_span *span;
	struct sequence_range *no_loss;
	uint32_t *token;
	size_t sources_room, spans_room, no_loss_room, tokens_room;
};

static enum fail_code
fail_here(const struct partition_log *l, struct failure *f)
{
	return fail_within(f, "topic %s, partition %" PRId32, l->topic, l->partition);
}

enum fail_code
partition_log_judge(
    const struct partition_tail *tail, int64_t low, uint64_t tokenizer, struct failure *f)
{
	if (low > 0)
		return fail(f, FAIL_DATA,
		    "its first %" PRId64 " records were deleted: it is not whole", low);
	if (!tail->sealed)
		return fail(f, FAIL_DATA,
		    "has no End yet: run `riffle produce` (with --seal where the domain is live) "
		    "or "
		    "`riffle import` to its end");
	if (tail->tokenizer != tokenizer)
		return fail(f, FAIL_CONFIG,
		    "was made with tokenizer %016" PRIx64 ", the configuration has %016" PRIx64,
		    tail->tokenizer, tokenizer);
	return FAIL_NONE;
}

/* Where the partition is sealed. */
static enum fail_code
read_tail(struct partition_log *l, struct failure *f)
{
	struct partition_tail tail;
	rd_kafka_message_t *m;
	enum fail_code code;
	int64_t low, high;

	if (kafka_watermarks(l->rk, l->topic, l->partition, &low, &high, l->timeout_ms, f) !=
		FAIL_NONE ||
	    kafka_last_record(l->rk, l->topic, l->partition, &m, l->timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (m == NULL)
		return fail(f, FAIL_DATA, "holds nothing yet: produce or import the domain first");
	code = partition_tail_decode(&tail, m->payload, m->len, f);
	rd_kafka_message_destroy(m);
	if (code == FAIL_NONE)
		code = partition_log_judge(&tail, low, l->tokenizer, f);
	l->sequences = code == FAIL_NONE ? tail.sealed_sequences : 0;
	return code;
}

static enum fail_code
assign(struct partition_log *l, struct failure *f)
{
	rd_kafka_resp_err_t err = kafka_assign_one(l->rk, l->topic, l->partition, 0);

	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	return kafka_fail_code(f, err, NULL, "reading");
}

enum fail_code
partition_log_open(struct partition_log **out, rd_kafka_t *reader, const char *topic,
    int32_t partition, uint64_t tokenizer, int timeout_ms, struct failure *f)
{
	struct partition_log *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return fail_memory(f);
	assert(strlen(topic) < sizeof(l->topic));
	l->rk = reader;
	memcpy(l->topic, topic, strlen(topic) + 1);
	l->partition = partition;
	l->timeout_ms = timeout_ms;
	l->tokenizer = tokenizer;
	if (frame_codec_open(&l->codec, f) == FAIL_NONE && read_tail(l, f) == FAIL_NONE &&
	    assign(l, f) == FAIL_NONE) {
		*out = l;
		return FAIL_NONE;
	}
	fail_here(l, f);
	partition_log_close(l);
	return f->code;
}

void
partition_log_close(struct partition_log *l)
{
	if (l == NULL)
		return;
	if (l->held != NULL)
		rd_kafka_message_destroy(l->held);
	kafka_assign(l->rk, NULL);
	frame_codec_close(l->codec);
	free(l->source);
	free(l->span);
	free(l->no_loss);
	free(l->token);
	free(l);
}

uint64_t
partition_log_sequences(const struct partition_log *l)
{
	return l->sequences;
}

/* Makes *memory hold at least n elements; what was in it is lost. On failure all is as before. */
static enum fail_code
make_room(void **memory, size_t *room, size_t n, size_t size, struct failure *f)
{
	void *fresh;

	if (n <= *room)
		return FAIL_NONE;
	fresh = malloc(n * size);
	if (fresh == NULL)
		return fail_memory(f);
	free(*memory);
	*memory = fresh;
	*room = n;
	return FAIL_NONE;
}

/* Also where one finds no memory, what the others have become is kept. */
static enum fail_code
make_rooms(struct partition_log *l, const struct sequence_payload_view *p, struct failure *f)
{
	void *source = l->source, *span = l->span, *no_loss = l->no_loss, *token = l->token;
	enum fail_code code = FAIL_NONE;

	if (make_room(&source, &l->sources_room, p->sources_n, sizeof(*l->source), f) !=
		FAIL_NONE ||
	    make_room(&span, &l->spans_room, p->spans_n, sizeof(*l->span), f) != FAIL_NONE ||
	    make_room(&no_loss, &l->no_loss_room, p->no_loss_n, sizeof(*l->no_loss), f) !=
		FAIL_NONE ||
	    make_room(&token, &l->tokens_room, p->count, sizeof(*l->token), f) != FAIL_NONE)
		code = f->code;
	l->source = source;
	l->span = span;
	l->no_loss = no_loss;
	l->token = token;
	return code;
}

static enum fail_code
decode(struct partition_log *l, struct partition_log_sequence *out, struct failure *f)
{
	const struct sequence_payload_view *p = &out->record.payload;

	if (out->record.tokenizer != l->tokenizer)
		return fail(f, FAIL_DATA, "is of tokenizer %016" PRIx64, out->record.tokenizer);
	if (sequence_payload_check_hash(p, f) != FAIL_NONE || make_rooms(l, p, f) != FAIL_NONE ||
	    frame_decode(l->codec, p->frame, p->frame_n, p->count, p->width, l->token,
		sizeof(*l->token), f) != FAIL_NONE)
		return f->code;
	sequence_payload_lists(p, l->source, l->span, l->no_loss);
	out->span = l->span;
	out->token = l->token;
	return FAIL_NONE;
}

/* Takes a record if it is the next sequence. */
static enum fail_code
take(struct partition_log *l, struct partition_log_sequence *out, bool *there, struct failure *f)
{
	const rd_kafka_message_t *m = l->held;
	enum log_record what;

	if (log_record_judge(&what, &out->record, m->payload, m->len, l->next, f) != FAIL_NONE)
		return f->code;
	if (what == LOG_RECORD_PASSED)
		return FAIL_NONE;
	if (what == LOG_RECORD_GAP)
		return fail(f, FAIL_DATA,
		    "sequence %" PRIu64 " stands where %" PRIu64 " belongs: records were deleted",
		    out->record.ordinal, l->next);
	*there = true;
	l->next++;
	return decode(l, out, f);
}

/* The next record in l->held. */
static enum fail_code
poll(struct partition_log *l, const struct stop *stop, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + l->timeout_ms;

	if (l->held != NULL)
		rd_kafka_message_destroy(l->held);
	l->held = NULL;
	while (clock_ms() < deadline_ms) {
		rd_kafka_message_t *m = kafka_poll(l->rk, SLICE_MS);

		if (stop_asked(stop)) {
			if (m != NULL)
				rd_kafka_message_destroy(m);
			return fail(f, FAIL_STOPPED, "stopped");
		}
		if (m != NULL && m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			l->held = m;
			return FAIL_NONE;
		}
		if (m != NULL && kafka_lost(m->err)) {
			rd_kafka_message_destroy(m);
			return fail(f, FAIL_DATA, "was cut while it was read");
		}
		if (kafka_message_denied(l->rk, m)) {
			kafka_fail_topic(f, l->rk, m->err, NULL, "reading", l->topic);
			rd_kafka_message_destroy(m);
			return f->code;
		}
		if (m != NULL)
			rd_kafka_message_destroy(m); /* other errors mend, or time runs out */
	}
	return fail(f, FAIL_BROKER, "no record came within %d ms", l->timeout_ms);
}

enum fail_code
partition_log_next(struct partition_log *l, const struct stop *stop,
    struct partition_log_sequence *out, bool *there, struct failure *f)
{
	*there = false;
	while (!*there && l->next < l->sequences) {
		if (poll(l, stop, f) != FAIL_NONE)
			return f->code == FAIL_STOPPED ? f->code : fail_here(l, f);
		if (take(l, out, there, f) == FAIL_NONE)
			continue;
		return f->code == FAIL_MEMORY
			   ? f->code
			   : fail_within(f, "topic %s, partition %" PRId32 ", offset %" PRId64,
				 l->topic, l->partition, l->held->offset);
	}
	return FAIL_NONE;
}
