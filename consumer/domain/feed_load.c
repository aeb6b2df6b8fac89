/* Reads blocks: partitions started and stopped, records checked and kept. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"
#include "consumer/domain/feed_state.h"

enum {
	SILENT_MS = 1000,         /* of a load, before the broker is asked why */
	FEED_MESSAGES_MAX = 2048, /* taken from librdkafka at once */
	END_WAIT_MS = 10000,      /* for the rest of a block behind the end of its topic, */
	END_POLL_MS = 1000,       /* looked at at least as often as this */
};

/* ---- loading ---- */

/* The loaded block whose last use is longest ago and that no announced draw needs. */
static struct feed_block *
evictable(const struct feed *d)
{
	struct feed_block *oldest = NULL;

	for (size_t i = 0; i < d->domains_n; i++)
		for (size_t p = 0; p < d->domain[i].partitions_n; p++)
			for (struct feed_block *b = d->domain[i].partition[p].block; b != NULL;
			     b = b->next_in_partition)
				if (b->state == FEED_READY && b->uses == 0 &&
				    (oldest == NULL || b->last_use < oldest->last_use))
					oldest = b;
	return oldest;
}

static bool
make_room(struct feed *d, uint64_t more)
{
	while (d->bytes + d->bytes_loading + more > d->memory_bytes) {
		struct feed_block *b = evictable(d);

		if (b == NULL)
			return false;
		feed_drop_block(d, b);
	}
	return true;
}

static enum fail_code
start_at(struct feed *d, const struct feed_block *b, int64_t offset, struct failure *f)
{
	const struct feed_domain *m = &d->domain[b->domain];

	if (rd_kafka_consume_start(m->topic, (int32_t)b->partition, offset) != 0)
		return fail(f, FAIL_BROKER, "cannot read topic %s partition %" PRIu32 ": %s",
		    m->name, b->partition, rd_kafka_err2str(rd_kafka_last_error()));
	return FAIL_NONE;
}

static enum fail_code
start_load(struct feed *d, struct feed_block *b, struct failure *f)
{
	struct feed_partition *p = feed_partition(d, b->domain, b->partition);
	uint64_t first = b->first + b->filled;
	struct feed_load *l = d->load;

	while (l->block != NULL)
		l++;
	assert(l < d->load + FEED_LOADS_MAX);
	if (start_at(d, b, (int64_t)first + (first >= p->pushed_from ? p->push : 0), f) !=
	    FAIL_NONE)
		return f->code;
	feed_dequeue(d, b);
	b->state = FEED_LOADING;
	b->expected = feed_expected_bytes(d, b);
	d->bytes -= b->bytes;
	p->loading = true;
	l->block = b;
	l->undecodable = 0;
	l->ended_ms = 0;
	l->begun_ms = clock_ms();
	l->asked = false;
	d->loads_n++;
	d->bytes_loading += b->expected;
	return FAIL_NONE;
}

/* Starts what may be started: in order, one load a partition, within the budget or urgent. */
static enum fail_code
start_loads(struct feed *d, struct failure *f)
{
	struct feed_block *b = d->queue, *next;

	for (; b != NULL && d->loads_n < FEED_LOADS_MAX; b = next) {
		next = b->next_in_queue;
		if (feed_partition(d, b->domain, b->partition)->loading)
			continue;
		if (!make_room(d, feed_expected_bytes(d, b)) && !b->urgent)
			break;
		if (start_load(d, b, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static void
end_load(struct feed *d, struct feed_load *l)
{
	struct feed_block *b = l->block;

	rd_kafka_consume_stop(d->domain[b->domain].topic, (int32_t)b->partition);
	feed_partition(d, b->domain, b->partition)->loading = false;
	b->state = FEED_READY;
	b->last_use = d->tick++;
	d->bytes_loading -= b->expected;
	d->bytes += b->bytes;
	d->loads_n--;
	l->block = NULL;
	free(l->bytes);
	l->bytes = NULL;
}

/* ---- records ---- */

static enum fail_code
fail_at(const struct feed *d, const struct feed_block *b, enum fail_code code, const char *what,
    struct failure *f)
{
	return fail(f, code, "topic %s partition %" PRIu32 ": %s", d->domain[b->domain].name,
	    b->partition, what);
}

static enum fail_code
note_undecodable(
    struct feed_load *l, const rd_kafka_message_t *msg, const char *why, struct failure *f)
{
	size_t kept = msg->len < FEED_BAD_BYTES_MAX ? msg->len : FEED_BAD_BYTES_MAX;

	l->undecodable++;
	l->offset = msg->offset;
	snprintf(l->reason, sizeof(l->reason), "%s", why);
	free(l->bytes);
	l->bytes = malloc(kept + 1);
	if (l->bytes == NULL)
		return fail_memory(f);
	if (kept > 0)
		memcpy(l->bytes, msg->payload, kept);
	l->bytes_n = kept;
	return FAIL_NONE;
}

/* Ordinals up to `until` were not seen: each must be one of the records that could not be decoded.
 */
static enum fail_code
fill_gap(struct feed *d, struct feed_load *l, uint64_t until, struct failure *f)
{
	struct feed_block *b = l->block;
	uint64_t want = b->first + b->filled;
	char what[160];

	if (until - want > l->undecodable) {
		snprintf(what, sizeof(what),
		    "ordinals %" PRIu64 "..%" PRIu64
		    " are missing: records were deleted, or another "
		    "program writes here",
		    want, until);
		return fail_at(d, b, FAIL_DATA, what, f);
	}
	for (; want < until; want++)
		if (!feed_block_put_bad(b, &d->pool, l->reason, l->bytes, l->bytes_n, l->offset))
			return fail_memory(f);
	return FAIL_NONE;
}

static enum fail_code
keep_sequence(struct feed *d, struct feed_load *l, const rd_kafka_message_t *msg,
    const struct sequence_view *s, struct failure *f)
{
	struct feed_block *b = l->block;
	struct feed_partition *p = feed_partition(d, b->domain, b->partition);
	struct failure why;
	bool kept;

	if (s->tokenizer != d->tokenizer)
		return fail(f, FAIL_CONFIG,
		    "topic %s partition %" PRIu32 " ordinal %" PRIu64 " has tokenizer %016" PRIx64
		    ", the mix has %016" PRIx64 ": one mix cannot hold two tokenizers",
		    d->domain[b->domain].name, b->partition, s->ordinal, s->tokenizer,
		    d->tokenizer);
	if (msg->offset - (int64_t)s->ordinal > p->push) {
		p->push = msg->offset - (int64_t)s->ordinal;
		p->pushed_from = s->ordinal;
	}
	if (payload_check_hash(&s->payload, &why) != FAIL_NONE)
		kept =
		    feed_block_put_bad(b, &d->pool, why.text, msg->payload, msg->len, msg->offset);
	else
		kept = feed_block_put(b, &d->pool, s->payload.raw, s->payload.raw_n,
		    s->payload.used, s->payload.count - s->payload.used, msg->offset);
	return kept ? FAIL_NONE : fail_memory(f);
}

static enum fail_code
restart(struct feed *d, struct feed_load *l, int64_t offset, struct failure *f)
{
	struct feed_block *b = l->block;

	rd_kafka_consume_stop(d->domain[b->domain].topic, (int32_t)b->partition);
	return start_at(d, b, offset, f);
}

/*
 * The end of the topic, before that of the block. It can be an old end: from a fetch that was
 * answered before the block grew, or from a new leader that does not know yet how far its followers
 * are. Only one that stays is the end.
 */
static enum fail_code
meet_end(struct feed *d, struct feed_load *l, struct failure *f)
{
	struct feed_block *b = l->block;

	if (b->count - b->filled <= l->undecodable)
		return fill_gap(d, l, b->first + b->count, f);
	if (l->ended_ms == 0)
		l->ended_ms = l->polled_ms = clock_ms();
	return FAIL_NONE;
}

/* A process that was stopped, or had else to do, has not waited. */
static enum fail_code
wait_end(struct feed *d, struct feed_load *l, struct failure *f)
{
	int64_t now_ms = clock_ms();

	if (now_ms - l->polled_ms > END_POLL_MS)
		l->ended_ms = now_ms;
	l->polled_ms = now_ms;
	if (now_ms - l->ended_ms <= END_WAIT_MS)
		return FAIL_NONE;
	return fill_gap(d, l, l->block->first + l->block->count, f);
}

static enum fail_code
take_sequence(struct feed *d, struct feed_load *l, const rd_kafka_message_t *msg, bool *restarted,
    struct failure *f)
{
	struct feed_block *b = l->block;
	uint64_t want = b->first + b->filled, end = b->first + b->count;
	struct sequence_view s;
	struct failure why;

	if (sequence_decode(&s, msg->payload, msg->len, &why) != FAIL_NONE)
		return note_undecodable(l, msg, why.text, f);
	if (s.ordinal < want) { /* before the block, or a duplicate */
		l->undecodable = 0;
		if (b->filled > 0 || want - s.ordinal <= FEED_SKIP_MAX)
			return FAIL_NONE;
		*restarted = true; /* goes on where the block must be */
		return restart(d, l, msg->offset + (int64_t)(want - s.ordinal), f);
	}
	if (s.ordinal > want && fill_gap(d, l, s.ordinal < end ? s.ordinal : end, f) != FAIL_NONE)
		return f->code;
	l->undecodable = 0;
	if (s.ordinal >= end)
		return FAIL_NONE;
	return keep_sequence(d, l, msg, &s, f);
}

static enum fail_code
take_message(struct feed *d, struct feed_load *l, const rd_kafka_message_t *msg, bool *restarted,
    struct failure *f)
{
	struct feed_block *b = l->block;
	enum schema_record which;
	struct failure why;

	if (msg->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
		return meet_end(d, l, f);
	l->ended_ms = 0;
	if (msg->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		/* Records that are gone do not come back: trying again would not end. */
		bool missing = msg->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
			       msg->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
		char what[512];

		snprintf(what, sizeof(what), "cannot read ordinal %" PRIu64 ": %s (%s)",
		    b->first + b->filled, rd_kafka_message_errstr(msg),
		    kafka_hint(msg->err)[0] == '\0' ? rd_kafka_err2name(msg->err)
						    : kafka_hint(msg->err));
		if (kafka_denied(msg->err))
			return kafka_fail_topic(f, d->rk, msg->err, NULL,
			    "reading sequences of a domain", d->domain[b->domain].name);
		return fail_at(d, b, missing ? FAIL_DATA : FAIL_BROKER, what, f);
	}
	if (schema_which(&which, msg->payload, msg->len, &why) != FAIL_NONE)
		return note_undecodable(l, msg, why.text, f);
	if (which == SCHEMA_END)
		return FAIL_NONE; /* a domain that was extended goes on behind it */
	if (which != SCHEMA_SEQUENCE)
		return note_undecodable(l, msg, "not a sequence but another riffle record", f);
	return take_sequence(d, l, msg, restarted, f);
}

/* What librdkafka has for the load, waiting at most timeout_ms for the first; returns how many. */
static size_t
take_messages(const struct feed_domain *m, int32_t partition, int timeout_ms,
    rd_kafka_message_t **msg, size_t room)
{
	ssize_t n = rd_kafka_consume_batch(m->topic, partition, 0, msg, room);

	if (n > 0 || timeout_ms == 0)
		return n < 0 ? 0 : (size_t)n;
	msg[0] = rd_kafka_consume(m->topic, partition, timeout_ms);
	if (msg[0] == NULL)
		return 0;
	n = rd_kafka_consume_batch(m->topic, partition, 0, msg + 1, room - 1);
	return n < 0 ? 1 : (size_t)n + 1;
}

/*
 * Takes all that one fetch has brought. While anything is queued librdkafka fetches no more of the
 * partition (queued.min.messages is small), so that a block that came whole costs one fetch; for
 * the rest of one that did not, the load starts again behind the last record, which fetches at
 * once.
 */
static enum fail_code
poll_load(struct feed *d, struct feed_load *l, int timeout_ms, bool *progress, struct failure *f)
{
	rd_kafka_message_t *msg[FEED_MESSAGES_MAX];
	struct feed_block *b = l->block;
	const struct feed_domain *m = &d->domain[b->domain];
	size_t n = take_messages(m, (int32_t)b->partition, timeout_ms, msg, FEED_MESSAGES_MAX);
	int64_t offset_next = -1; /* none was taken */
	bool restarted = false;
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; i < n; i++) {
		if (code == FAIL_NONE && !restarted && b->filled < b->count)
			code = take_message(d, l, msg[i], &restarted, f);
		if (msg[i]->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			offset_next = msg[i]->offset + 1;
		rd_kafka_message_destroy(msg[i]);
	}
	*progress = *progress || n > 0;
	if (code != FAIL_NONE)
		return code;
	if (b->filled == b->count) {
		end_load(d, l);
		return FAIL_NONE;
	}
	if (!restarted && offset_next >= 0 && n < FEED_MESSAGES_MAX)
		return restart(d, l, offset_next, f);
	return l->ended_ms > 0 ? wait_end(d, l, f) : FAIL_NONE;
}

/*
 * librdkafka says nothing where the user may not see a topic: when a load stays silent, the broker
 * is asked once.
 */
static enum fail_code
ask_why(struct feed *d, struct feed_load *l, struct failure *f)
{
	enum fail_code code;
	int partitions;

	if (l->asked || l->block->filled > 0 || clock_ms() - l->begun_ms < SILENT_MS)
		return FAIL_NONE;
	l->asked = true;
	code = kafka_partitions(d->rk, d->domain[l->block->domain].name, &partitions, SILENT_MS, f);
	return code == FAIL_DENIED ? code : FAIL_NONE;
}

enum fail_code
feed_poll(struct feed *d, int timeout_ms, struct failure *f)
{
	bool progress = false;

	rd_kafka_poll(d->rk, 0);
	if (start_loads(d, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < FEED_LOADS_MAX; i++)
		if (d->load[i].block != NULL &&
		    poll_load(d, &d->load[i], 0, &progress, f) != FAIL_NONE)
			return f->code;
	if (progress || timeout_ms == 0)
		return FAIL_NONE;
	for (size_t i = 0; i < FEED_LOADS_MAX; i++)
		if (d->load[i].block != NULL)
			return ask_why(d, &d->load[i], f) != FAIL_NONE
				   ? f->code
				   : poll_load(d, &d->load[i], timeout_ms, &progress, f);
	return FAIL_NONE;
}
