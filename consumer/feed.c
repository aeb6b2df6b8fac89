#include "consumer/feed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka.h"
#include "common/log.h"
#include "common/schema.h"
#include "common/sequence.h"
#include "consumer/feed_block.h"

enum {
	FEED_MESSAGES_MAX = 2048, /* taken from librdkafka at once */
	FETCH_BYTES_MAX = 8 << 20,
	FETCH_MORE_BYTES = 256 << 10, /* beyond a block: fetches begin and end with whole batches */
};

struct partition {
	struct feed_block *block; /* all of this partition, queued ones too */
	bool loading;
	/* Known push: ordinals from pushed_from on stand at offset ordinal + push or later. */
	uint64_t pushed_from;
	int64_t push;
};

struct domain {
	rd_kafka_topic_t *topic;
	char *name; /* of the topic */
	uint64_t record_bytes;
	struct partition *partition;
	size_t partitions_n;
};

/* A partition that is being read for one block. */
struct load {
	struct feed_block *block; /* NULL: free */
	uint32_t undecodable;     /* records since the last good one */
	char reason[256];         /* of the last of them */
	uint8_t *bytes;           /* and its bytes, cut; owned */
	size_t bytes_n;
	int64_t offset;
};

struct feed {
	rd_kafka_t *rk;
	uint64_t memory_bytes, tokenizer;
	struct domain *domain;
	size_t domains_n;
	struct load load[FEED_LOADS_MAX];
	size_t loads_n;
	struct feed_block *queue; /* by first use, urgent ones in front */
	struct feed_block **queue_end;
	size_t queued_n;
	uint64_t bytes, bytes_loading; /* bytes_loading: expected of the loads under way */
	uint64_t tick;
	struct feed_pool pool;
};

/* ---- opening and closing ---- */

/* One fetch should bring a whole block, and no second one follow it: see poll_load(). */
static enum fail_code
open_reader(struct feed *d, const struct feed_options *o, struct failure *f)
{
	char fetch_bytes[32];
	uint64_t bytes = o->block_bytes + o->block_bytes / 16 + FETCH_MORE_BYTES;
	struct config_property tune[] = {
	    {(char[]){"fetch.message.max.bytes"}, fetch_bytes},
	    {(char[]){"queued.min.messages"}, (char[]){"64"}},
	    {(char[]){"fetch.wait.max.ms"}, (char[]){"10"}},
	    {(char[]){"fetch.error.backoff.ms"}, (char[]){"50"}},
	};
	struct kafka_options k = {
	    .role = KAFKA_READER,
	    .properties = o->properties,
	    .client = "mix-feed",
	    .group = o->group,
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0]),
	};

	bytes = bytes > FETCH_BYTES_MAX ? FETCH_BYTES_MAX : bytes;
	snprintf(fetch_bytes, sizeof(fetch_bytes), "%" PRIu64, bytes);
	return kafka_open(&d->rk, &k, f);
}

enum fail_code
feed_open(struct feed **out, const struct feed_options *o, struct failure *f)
{
	struct feed *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return fail_memory(f);
	d->memory_bytes = o->memory_bytes;
	d->tokenizer = o->tokenizer;
	d->queue_end = &d->queue;
	if (open_reader(d, o, f) != FAIL_NONE) {
		free(d);
		return f->code;
	}
	*out = d;
	return FAIL_NONE;
}

static void
close_domain(struct domain *m, struct feed_pool *pool)
{
	for (size_t p = 0; p < m->partitions_n; p++) {
		while (m->partition[p].block != NULL) {
			struct feed_block *next = m->partition[p].block->next_in_partition;

			feed_block_close(m->partition[p].block, pool);
			m->partition[p].block = next;
		}
	}
	free(m->partition);
	free(m->name);
	if (m->topic != NULL)
		rd_kafka_topic_destroy(m->topic);
}

void
feed_close(struct feed *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < FEED_LOADS_MAX; i++) {
		struct feed_block *b = d->load[i].block;

		if (b != NULL)
			rd_kafka_consume_stop(d->domain[b->domain].topic, (int32_t)b->partition);
		free(d->load[i].bytes);
	}
	for (size_t i = 0; i < d->domains_n; i++)
		close_domain(&d->domain[i], &d->pool);
	feed_pool_close(&d->pool);
	free(d->domain);
	kafka_close(d->rk);
	free(d);
}

enum fail_code
feed_add_domain(struct feed *d, const char *topic, size_t partitions_n, uint64_t record_bytes,
    struct failure *f)
{
	struct domain *grown = realloc(d->domain, (d->domains_n + 1) * sizeof(*grown)), *m;

	if (grown == NULL)
		return fail_memory(f);
	d->domain = grown;
	m = &grown[d->domains_n];
	memset(m, 0, sizeof(*m));
	m->record_bytes = record_bytes;
	m->partition = calloc(partitions_n, sizeof(*m->partition));
	m->name = strdup(topic);
	m->topic = m->name == NULL ? NULL : rd_kafka_topic_new(d->rk, topic, NULL);
	if (m->partition == NULL || m->topic == NULL) {
		close_domain(m, &d->pool);
		return fail_memory(f);
	}
	m->partitions_n = partitions_n;
	d->domains_n++;
	return FAIL_NONE;
}

/* ---- blocks ---- */

static struct partition *
partition_of(struct feed *d, uint32_t domain, uint32_t partition)
{
	assert(domain < d->domains_n && partition < d->domain[domain].partitions_n);
	return &d->domain[domain].partition[partition];
}

static struct feed_block *
find_block(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = partition_of(d, draw->domain, draw->partition)->block;

	while (b != NULL && b->first != draw->block_first)
		b = b->next_in_partition;
	return b;
}

static void
drop_block(struct feed *d, struct feed_block *b)
{
	struct feed_block **at = &partition_of(d, b->domain, b->partition)->block;

	while (*at != b)
		at = &(*at)->next_in_partition;
	*at = b->next_in_partition;
	d->bytes -= b->bytes;
	feed_block_close(b, &d->pool);
}

static void
enqueue(struct feed *d, struct feed_block *b)
{
	b->next_in_queue = NULL;
	*d->queue_end = b;
	d->queue_end = &b->next_in_queue;
	d->queued_n++;
}

static void
dequeue(struct feed *d, struct feed_block *b)
{
	struct feed_block **at = &d->queue;

	while (*at != b)
		at = &(*at)->next_in_queue;
	*at = b->next_in_queue;
	if (*at == NULL)
		d->queue_end = at;
	d->queued_n--;
}

enum fail_code
feed_want(struct feed *d, const struct mixer_draw *draw, struct failure *f)
{
	struct feed_block *b = find_block(d, draw);

	if (b == NULL) {
		struct partition *p = partition_of(d, draw->domain, draw->partition);

		b = feed_block_open(
		    draw->domain, draw->partition, draw->block_first, draw->block_count);
		if (b == NULL)
			return fail_memory(f);
		b->next_in_partition = p->block;
		p->block = b;
		enqueue(d, b);
	}
	b->uses++;
	return FAIL_NONE;
}

bool
feed_full(const struct feed *d)
{
	return d->queued_n >= FEED_QUEUED_MAX;
}

void
feed_forget(struct feed *d)
{
	while (d->queue != NULL) {
		struct feed_block *b = d->queue;

		dequeue(d, b);
		drop_block(d, b);
	}
	for (size_t i = 0; i < d->domains_n; i++)
		for (size_t p = 0; p < d->domain[i].partitions_n; p++)
			for (struct feed_block *b = d->domain[i].partition[p].block; b != NULL;
			     b = b->next_in_partition)
				b->uses = 0;
}

void
feed_urge(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = find_block(d, draw);

	assert(b != NULL && b->uses > 0);
	if (b->state != FEED_QUEUED || b->urgent)
		return;
	b->urgent = true;
	dequeue(d, b);
	b->next_in_queue = d->queue;
	d->queue = b;
	if (b->next_in_queue == NULL)
		d->queue_end = &b->next_in_queue;
	d->queued_n++;
}

const struct feed_record *
feed_find(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = find_block(d, draw);

	assert(b != NULL && draw->ordinal - b->first < b->count);
	return b->state == FEED_READY ? &b->record[draw->ordinal - b->first] : NULL;
}

void
feed_release(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = find_block(d, draw);

	assert(b != NULL && b->uses > 0);
	b->uses--;
	b->released++;
	b->last_use = d->tick++;
	/* Every sequence is out: this epoch does not come back to the block. */
	if (b->uses == 0 && b->released >= b->count && b->state == FEED_READY)
		drop_block(d, b);
}

size_t
feed_domains(const struct feed *d)
{
	return d->domains_n;
}

uint64_t
feed_bytes(const struct feed *d)
{
	return d->bytes;
}

/* ---- loading ---- */

static uint64_t
expected_bytes(const struct feed *d, const struct feed_block *b)
{
	uint64_t bytes = d->domain[b->domain].record_bytes * b->count;

	return bytes + FEED_CHUNK_BYTES - bytes % FEED_CHUNK_BYTES;
}

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
		drop_block(d, b);
	}
	return true;
}

static enum fail_code
start_at(struct feed *d, const struct feed_block *b, int64_t offset, struct failure *f)
{
	const struct domain *m = &d->domain[b->domain];

	if (rd_kafka_consume_start(m->topic, (int32_t)b->partition, offset) != 0)
		return fail(f, FAIL_BROKER, "cannot read topic %s partition %" PRIu32 ": %s",
		    m->name, b->partition, rd_kafka_err2str(rd_kafka_last_error()));
	return FAIL_NONE;
}

static enum fail_code
start_load(struct feed *d, struct feed_block *b, struct failure *f)
{
	struct partition *p = partition_of(d, b->domain, b->partition);
	struct load *l = d->load;

	while (l->block != NULL)
		l++;
	assert(l < d->load + FEED_LOADS_MAX);
	if (start_at(d, b, (int64_t)b->first + (b->first >= p->pushed_from ? p->push : 0), f) !=
	    FAIL_NONE)
		return f->code;
	dequeue(d, b);
	b->state = FEED_LOADING;
	p->loading = true;
	l->block = b;
	l->undecodable = 0;
	d->loads_n++;
	d->bytes_loading += expected_bytes(d, b);
	return FAIL_NONE;
}

/* Starts what may be started: in order, one load a partition, within the budget or urgent. */
static enum fail_code
start_loads(struct feed *d, struct failure *f)
{
	struct feed_block *b = d->queue, *next;

	for (; b != NULL && d->loads_n < FEED_LOADS_MAX; b = next) {
		next = b->next_in_queue;
		if (partition_of(d, b->domain, b->partition)->loading)
			continue;
		if (!make_room(d, expected_bytes(d, b)) && !b->urgent)
			break;
		if (start_load(d, b, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static void
end_load(struct feed *d, struct load *l)
{
	struct feed_block *b = l->block;

	rd_kafka_consume_stop(d->domain[b->domain].topic, (int32_t)b->partition);
	partition_of(d, b->domain, b->partition)->loading = false;
	b->state = FEED_READY;
	b->last_use = d->tick++;
	d->bytes_loading -= expected_bytes(d, b);
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
note_undecodable(struct load *l, const rd_kafka_message_t *msg, const char *why, struct failure *f)
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
fill_gap(struct feed *d, struct load *l, uint64_t until, struct failure *f)
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
keep_sequence(struct feed *d, struct load *l, const rd_kafka_message_t *msg,
    const struct sequence_view *s, struct failure *f)
{
	struct feed_block *b = l->block;
	struct partition *p = partition_of(d, b->domain, b->partition);
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
		kept = feed_block_put(b, &d->pool, s->payload.raw, s->payload.raw_n, msg->offset);
	return kept ? FAIL_NONE : fail_memory(f);
}

static enum fail_code
restart(struct feed *d, struct load *l, int64_t offset, struct failure *f)
{
	struct feed_block *b = l->block;

	rd_kafka_consume_stop(d->domain[b->domain].topic, (int32_t)b->partition);
	return start_at(d, b, offset, f);
}

static enum fail_code
take_sequence(struct feed *d, struct load *l, const rd_kafka_message_t *msg, bool *restarted,
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
take_message(struct feed *d, struct load *l, const rd_kafka_message_t *msg, bool *restarted,
    struct failure *f)
{
	struct feed_block *b = l->block;
	enum schema_record which;
	struct failure why;

	if (msg->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
		return fill_gap(d, l, b->first + b->count, f);
	if (msg->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		/* Records that are gone do not come back: trying again would not end. */
		bool missing = msg->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
			       msg->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
		char what[512];

		snprintf(what, sizeof(what), "cannot read ordinal %" PRIu64 ": %s (%s)",
		    b->first + b->filled, rd_kafka_message_errstr(msg),
		    kafka_hint(msg->err)[0] == '\0' ? rd_kafka_err2name(msg->err)
						    : kafka_hint(msg->err));
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
take_messages(const struct domain *m, int32_t partition, int timeout_ms, rd_kafka_message_t **msg,
    size_t room)
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
poll_load(struct feed *d, struct load *l, int timeout_ms, bool *progress, struct failure *f)
{
	rd_kafka_message_t *msg[FEED_MESSAGES_MAX];
	struct feed_block *b = l->block;
	const struct domain *m = &d->domain[b->domain];
	size_t n = take_messages(m, (int32_t)b->partition, timeout_ms, msg, FEED_MESSAGES_MAX);
	int64_t offset_next = 0;
	bool restarted = false;
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; i < n; i++) {
		if (code == FAIL_NONE && !restarted && b->filled < b->count)
			code = take_message(d, l, msg[i], &restarted, f);
		offset_next = msg[i]->offset + 1;
		rd_kafka_message_destroy(msg[i]);
	}
	*progress = *progress || n > 0;
	if (code != FAIL_NONE || n == 0)
		return code;
	if (b->filled == b->count)
		end_load(d, l);
	else if (!restarted && n < FEED_MESSAGES_MAX)
		return restart(d, l, offset_next, f);
	return FAIL_NONE;
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
			return poll_load(d, &d->load[i], timeout_ms, &progress, f);
	return FAIL_NONE;
}
