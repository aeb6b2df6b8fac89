#include "consumer/domain/feed.h"

#include <assert.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"
#include "consumer/domain/domains.h"

enum {
	FETCH_BYTES_MAX = 8 << 20,
	FETCH_MORE_BYTES = 256 << 10, /* beyond a block: fetches begin and end with whole batches */
	FETCH_PIECE_BYTES = 256 << 10,
	SILENT_MS = 1000,    /* of a load, before the broker is asked why */
	ASK_MS = 10000,      /* for the first offset that a partition keeps */
	MESSAGES_MAX = 2048, /* taken from librdkafka at once */
	END_WAIT_MS = 10000, /* for the rest of a block behind the end of its topic, */
	END_POLL_MS = 1000,  /* looked at at least as often as this, */
	END_ASK_MS = 2000,   /* and asked for once more in the end */
	BUCKETS = 1 << 13,
};

/*
 * Invariants:
 *     every block is in bucket[], by domain, partition and first ordinal; a draw falls into one
 *     alone, by its piece_of(), though a piece may repeat a part of another block;
 *     a block stands in the queue exactly while it is QUEUED, and in load[] exactly while LOADING;
 *     a partition has at most one load, for librdkafka reads it at one place at a time;
 *     bytes is the sum of b->bytes of all blocks that are not LOADING, bytes_loading that of
 *     b->expected of those that are;
 *     b->uses counts announced draws; a block stands in idle[] exactly while it is READY and has
 *     none, and is evicted only then.
 */
struct feed_partition {
	bool loading;
	bool told; /* of two records of one ordinal that differ */
	/*
	 * The push that is known: ordinal pushed_from stands at offset pushed_from + push. Those
	 * behind it stand at their ordinal + push, or later by duplicates, or earlier where
	 * ordinals are missing.
	 */
	uint64_t pushed_from;
	int64_t push;
};

struct feed_domain {
	rd_kafka_t *rk; /* the handle that reads it */
	rd_kafka_topic_t *topic;
	char *name; /* of the topic */
	uint64_t record_bytes;
	struct feed_partition *partition;
	size_t partitions_n;
	uint32_t piece; /* sequences of a load, */
	bool live;      /* but for the first pass of a live domain */
	bool held;
	bool announced; /* something was, at any time */
};

/* A partition that is being read for one block. */
struct feed_load {
	struct feed_block *block; /* NULL: free */
	bool sure;                /* what was read so far began below the ordinal that is wanted */
	bool stepped;         /* reading began too high, and continues from below without leaps */
	uint32_t undecodable; /* records since the last good one */
	char reason[256];     /* of the last of them, */
	uint8_t *bytes;       /* its bytes, cut; owned */
	size_t bytes_n;
	int64_t offset;    /* and where it stands */
	int64_t ended_ms;  /* since when the topic ends before the block; 0: it does not */
	int64_t polled_ms; /* the last time that this was looked at */
	int64_t ended_at;  /* the offset that was told as the end */
	int64_t begun_ms;
	bool asked;         /* the broker, why nothing comes */
	int64_t read_from;  /* where its partition was started last */
	bool cut;           /* the topic begins behind that: records were deleted */
	uint64_t cut_below; /* its first ordinal, once that is known; 0: it is not */
	bool closed;        /* the last record that was read is an End */
	uint64_t closed_at; /* of so many sequences */
};

struct feed {
	struct feed_options o;
	rd_kafka_t *rk;
	rd_kafka_t
	    *rk_pieces; /* of domains that are read in less than blocks; NULL: there are none */
	struct feed_domain *domain;
	size_t domains_n;
	struct feed_block *bucket[BUCKETS];
	struct feed_load load[FEED_LOADS_MAX];
	size_t loads_n;
	struct feed_block *queue; /* by first use, urgent ones in front */
	struct feed_block **queue_end;
	size_t queued_n;
	uint64_t bytes, bytes_loading;
	/* Blocks that can be evicted, of domains that are not held and of those that are: the one
	 * whose last use is longest ago is first. */
	struct feed_idle {
		struct feed_block *first, *last;
	} idle[2];
	struct feed_block_pool pool;
};

/* ---- opening and closing ---- */

/*
 * One fetch should bring a whole block, and no second one follow it: poll_load() tells why. How
 * much a fetch brings is a handle's, so that pieces have one of their own: else a block would come
 * for each.
 */
static enum fail_code
open_reader(rd_kafka_t **out, const struct feed_options *o, uint64_t bytes, struct failure *f)
{
	char fetch_bytes[32];
	struct property tune[] = {
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
	return kafka_open(out, &k, f);
}

enum fail_code
feed_open(struct feed **out, const struct feed_options *o, struct failure *f)
{
	struct feed *d = calloc(1, sizeof(*d));
	uint64_t bytes = o->block_bytes + o->block_bytes / 16 + FETCH_MORE_BYTES;

	if (d == NULL)
		return fail_memory(f);
	d->o = *o;
	d->queue_end = &d->queue;
	if (open_reader(&d->rk, o, bytes, f) != FAIL_NONE) {
		free(d);
		return f->code;
	}
	*out = d;
	return FAIL_NONE;
}

static void
close_domain(struct feed_domain *m)
{
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
	for (size_t i = 0; i < BUCKETS; i++)
		while (d->bucket[i] != NULL) {
			struct feed_block *next = d->bucket[i]->next_in_bucket;

			feed_block_close(d->bucket[i], &d->pool);
			d->bucket[i] = next;
		}
	for (size_t i = 0; i < d->domains_n; i++)
		close_domain(&d->domain[i]);
	feed_block_pool_close(&d->pool);
	free(d->domain);
	kafka_close(d->rk_pieces);
	kafka_close(d->rk);
	free(d);
}

enum fail_code
feed_add_domain(struct feed *d, const char *topic, size_t partitions_n, uint64_t record_bytes,
    struct failure *f)
{
	struct feed_domain *grown = realloc(d->domain, (d->domains_n + 1) * sizeof(*grown)), *m;

	if (grown == NULL)
		return fail_memory(f);
	d->domain = grown;
	m = &grown[d->domains_n];
	memset(m, 0, sizeof(*m));
	m->record_bytes = record_bytes;
	m->piece = d->o.block;
	m->partition = calloc(partitions_n, sizeof(*m->partition));
	m->name = strdup(topic);
	m->rk = d->rk;
	m->topic = m->name == NULL ? NULL : rd_kafka_topic_new(m->rk, topic, NULL);
	if (m->partition == NULL || m->topic == NULL) {
		close_domain(m);
		return fail_memory(f);
	}
	m->partitions_n = partitions_n;
	d->domains_n++;
	return FAIL_NONE;
}

enum fail_code
feed_read_as(struct feed *d, uint32_t domain, const struct feed_piece *as, struct failure *f)
{
	struct feed_domain *m = &d->domain[domain];
	rd_kafka_topic_t *topic;

	assert(domain < d->domains_n);
	assert(as->piece >= 1 && as->piece <= d->o.block);
	if (m->announced)
		return FAIL_NONE;
	if (as->piece < d->o.block && !(as->piece == 1 && as->live)) {
		if (d->rk_pieces == NULL &&
		    open_reader(&d->rk_pieces, &d->o, FETCH_PIECE_BYTES, f) != FAIL_NONE)
			return f->code;
		topic = rd_kafka_topic_new(d->rk_pieces, m->name, NULL);
		if (topic == NULL)
			return fail_memory(f);
		rd_kafka_topic_destroy(m->topic);
		m->rk = d->rk_pieces;
		m->topic = topic;
	}
	m->piece = as->piece;
	m->held = as->held;
	m->live = as->live;
	return FAIL_NONE;
}

/* ---- blocks, and the queue of those to be loaded ---- */

static struct feed_partition *
partition_of(struct feed *d, uint32_t domain, uint32_t partition)
{
	assert(domain < d->domains_n);
	assert(partition < d->domain[domain].partitions_n);
	return &d->domain[domain].partition[partition];
}

static struct feed_block **
bucket_of(struct feed *d, uint32_t domain, uint32_t partition, uint64_t first)
{
	uint64_t key = ((uint64_t)domain << 32 | partition) * UINT64_C(0x9e3779b97f4a7c15) + first;

	key *= UINT64_C(0x9e3779b97f4a7c15);
	return &d->bucket[key >> 32 & (BUCKETS - 1)];
}

/* Sequences of the piece that a draw falls into. A pass of a live domain is dealt in order. */
static uint32_t
piece_of(const struct feed *d, const struct mixer_draw *draw)
{
	const struct feed_domain *m = &d->domain[draw->domain];

	assert(draw->domain < d->domains_n);
	return m->piece == 1 && m->live && draw->epoch == 0 ? d->o.block : m->piece;
}

static struct feed_block *
find_block(struct feed *d, const struct mixer_draw *draw)
{
	uint32_t span = piece_of(d, draw);
	uint64_t first = draw->ordinal - draw->ordinal % span;
	struct feed_block *b = *bucket_of(d, draw->domain, draw->partition, first);

	while (b != NULL && (b->first != first || b->span != span || b->domain != draw->domain ||
				b->partition != draw->partition))
		b = b->next_in_bucket;
	return b;
}

static struct feed_idle *
idle_of(struct feed *d, const struct feed_block *b)
{
	return &d->idle[d->domain[b->domain].held];
}

/* Nobody needs the block any more, from now on. */
static void
put_idle(struct feed *d, struct feed_block *b)
{
	struct feed_idle *l = idle_of(d, b);

	assert(b->state == FEED_BLOCK_READY);
	assert(b->uses == 0);
	assert(!b->idle);
	b->idle = true;
	b->idle_before = l->last;
	b->idle_behind = NULL;
	*(l->last == NULL ? &l->first : &l->last->idle_behind) = b;
	l->last = b;
}

/* Somebody needs it again, or it ends; also where it is not idle. */
static void
take_idle(struct feed *d, struct feed_block *b)
{
	struct feed_idle *l = idle_of(d, b);

	if (!b->idle)
		return;
	b->idle = false;
	*(b->idle_before == NULL ? &l->first : &b->idle_before->idle_behind) = b->idle_behind;
	*(b->idle_behind == NULL ? &l->last : &b->idle_behind->idle_before) = b->idle_before;
}

/* Ends a block that is in no queue and not being loaded. */
static void
drop_block(struct feed *d, struct feed_block *b)
{
	struct feed_block **at = bucket_of(d, b->domain, b->partition, b->first);

	assert(b->state != FEED_BLOCK_LOADING);
	assert(d->bytes >= b->bytes);
	take_idle(d, b);
	while (*at != b)
		at = &(*at)->next_in_bucket;
	*at = b->next_in_bucket;
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
	assert(d->queued_n > 0);
	d->queued_n--;
}

/* What a block is likely to take when it is whole: chunks are not shared between blocks. */
static uint64_t
expected_bytes(const struct feed *d, const struct feed_block *b)
{
	uint64_t bytes = d->domain[b->domain].record_bytes * b->count;

	return bytes + b->chunk_bytes - bytes % b->chunk_bytes;
}

/*
 * The block has more sequences than when it was announced before. One that is READY goes through
 * the queue for the rest, not as an urgent one: feed_urge() may follow. One that is QUEUED or
 * LOADING needs only to know how far to read.
 */
static enum fail_code
grow(struct feed *d, struct feed_block *b, uint32_t count, struct failure *f)
{
	if (!feed_block_grow(b, count))
		return fail_memory(f);
	if (b->state == FEED_BLOCK_READY) {
		take_idle(d, b);
		b->state = FEED_BLOCK_QUEUED;
		b->urgent = false;
		enqueue(d, b);
	} else if (b->state == FEED_BLOCK_LOADING) {
		d->bytes_loading += expected_bytes(d, b) - b->expected;
		b->expected = expected_bytes(d, b);
	}
	return FAIL_NONE;
}

/* Of a block or a piece of one, as many sequences as the draw's block has. */
static uint32_t
wanted_of(const struct mixer_draw *draw, uint64_t first, uint32_t span)
{
	uint64_t rest = draw->block_first + draw->block_count - first;

	return rest < span ? (uint32_t)rest : span;
}

static enum fail_code
new_block(struct feed *d, const struct mixer_draw *draw, struct feed_block **out, struct failure *f)
{
	struct feed_domain *m = &d->domain[draw->domain];
	uint32_t span = piece_of(d, draw);
	uint64_t first = draw->ordinal - draw->ordinal % span;
	uint64_t whole = m->record_bytes * span;
	struct feed_block **bucket = bucket_of(d, draw->domain, draw->partition, first), *b;

	assert(draw->partition < m->partitions_n);
	b = feed_block_open(draw->domain, draw->partition, first, wanted_of(draw, first, span));
	if (b == NULL)
		return fail_memory(f);
	b->span = span;
	if (span < d->o.block && whole < FEED_BLOCK_CHUNK_BYTES)
		b->chunk_bytes = whole;
	b->next_in_bucket = *bucket;
	*bucket = b;
	m->announced = true;
	enqueue(d, b);
	*out = b;
	return FAIL_NONE;
}

enum fail_code
feed_want(struct feed *d, const struct mixer_draw *draw, struct failure *f)
{
	struct feed_block *b = find_block(d, draw);
	uint32_t count;

	if (b == NULL && new_block(d, draw, &b, f) != FAIL_NONE)
		return f->code;
	count = wanted_of(draw, b->first, b->span);
	if (count > b->count && grow(d, b, count, f) != FAIL_NONE)
		return f->code;
	take_idle(d, b);
	b->uses++;
	return FAIL_NONE;
}

void
feed_set_memory(struct feed *d, uint64_t memory_bytes)
{
	d->o.memory_bytes = memory_bytes;
}

bool
feed_full(const struct feed *d)
{
	return d->queued_n >= FEED_QUEUED_MAX;
}

/*
 * What runs ahead of the mixer was wrong, or is gone. Blocks that are being loaded are finished all
 * the same: their bytes are on the way, and the mixer's new draws begin where the old ones did.
 */
void
feed_forget(struct feed *d)
{
	while (d->queue != NULL) {
		struct feed_block *b = d->queue;

		dequeue(d, b);
		b->state = FEED_BLOCK_READY;
		b->count = b->filled; /* of one that was to grow, what it had stays */
		if (b->filled == 0)
			drop_block(d, b);
	}
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct feed_block *b = d->bucket[i]; b != NULL; b = b->next_in_bucket) {
			b->uses = 0;
			if (b->state == FEED_BLOCK_READY && !b->idle)
				put_idle(d, b);
		}
}

void
feed_drop_idle(struct feed *d)
{
	while (d->idle[false].first != NULL)
		drop_block(d, d->idle[false].first);
	feed_block_pool_close(&d->pool);
}

void
feed_urge(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = find_block(d, draw);

	assert(b != NULL);
	assert(b->uses > 0);
	if (b->state != FEED_BLOCK_QUEUED || b->urgent)
		return;
	b->urgent = true;
	dequeue(d, b);
	b->next_in_queue = d->queue;
	d->queue = b;
	if (b->next_in_queue == NULL)
		d->queue_end = &b->next_in_queue;
	d->queued_n++;
}

const struct feed_block_record *
feed_find(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = find_block(d, draw);

	if (b == NULL || draw->ordinal - b->first >= b->filled)
		return NULL;
	return &b->record[draw->ordinal - b->first];
}

void
feed_release(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = find_block(d, draw);

	assert(b != NULL);
	assert(b->uses > 0);
	b->uses--;
	b->released++;
	if (b->uses > 0 || b->state != FEED_BLOCK_READY)
		return;
	/*
	 * Every sequence of a whole block was drawn: this epoch does not come back to it. A shorter
	 * one may yet grow, and is left to the eviction.
	 */
	if (b->released >= b->span && !d->domain[b->domain].held)
		drop_block(d, b);
	else
		put_idle(d, b);
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

bool
feed_over(const struct feed *d)
{
	return d->bytes + d->bytes_loading > d->o.memory_bytes;
}

/* ---- loading ---- */

/*
 * Evicts until `more` bytes fit into the budget, of domains that are held only where it is urgent.
 * False: all that is left is needed.
 */
static bool
make_room(struct feed *d, uint64_t more, bool urgent)
{
	while (d->bytes + d->bytes_loading + more > d->o.memory_bytes) {
		struct feed_block *b = d->idle[false].first;

		if (b == NULL && urgent)
			b = d->idle[true].first;
		if (b == NULL)
			return false;
		drop_block(d, b);
	}
	return true;
}

static enum fail_code
start_at(struct feed *d, struct feed_load *l, const struct feed_block *b, int64_t offset,
    struct failure *f)
{
	const struct feed_domain *m = &d->domain[b->domain];

	l->read_from = offset;
	if (rd_kafka_consume_start(m->topic, (int32_t)b->partition, offset) != 0)
		return fail(f, FAIL_BROKER, "cannot read topic %s partition %" PRIu32 ": %s",
		    m->name, b->partition, rd_kafka_err2str(rd_kafka_last_error()));
	return FAIL_NONE;
}

/* Reads a block from its first ordinal that is missing: what it has of a shorter life stays. */
static enum fail_code
start_load(struct feed *d, struct feed_block *b, struct failure *f)
{
	struct feed_partition *p = partition_of(d, b->domain, b->partition);
	uint64_t first = b->first + b->filled;
	struct feed_load *l = d->load;

	assert(b->state == FEED_BLOCK_QUEUED);
	assert(!p->loading);
	assert(d->loads_n < FEED_LOADS_MAX);
	int64_t offset = (int64_t)first + (first >= p->pushed_from ? p->push : 0);

	while (l->block != NULL)
		l++;
	if (start_at(d, l, b, offset, f) != FAIL_NONE)
		return f->code;
	dequeue(d, b);
	b->state = FEED_BLOCK_LOADING;
	b->expected = expected_bytes(d, b);
	d->bytes -= b->bytes;
	p->loading = true;
	l->block = b;
	l->sure = offset == 0;
	l->stepped = false;
	l->undecodable = 0;
	l->ended_ms = 0;
	l->begun_ms = clock_ms();
	l->asked = l->cut = l->closed = false;
	l->cut_below = 0;
	d->loads_n++;
	d->bytes_loading += b->expected;
	return FAIL_NONE;
}

/*
 * Starts what may be started: in order, one load a partition, within the budget or urgent. The
 * first block that there is no room for holds up all behind it: loading a later one first would
 * take the room that it waits for.
 */
static enum fail_code
start_loads(struct feed *d, struct failure *f)
{
	struct feed_block *b = d->queue, *next;

	for (; b != NULL && d->loads_n < FEED_LOADS_MAX; b = next) {
		next = b->next_in_queue;
		if (partition_of(d, b->domain, b->partition)->loading)
			continue;
		if (!make_room(d, expected_bytes(d, b), b->urgent) && !b->urgent)
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

	assert(b->state == FEED_BLOCK_LOADING);
	assert(b->filled == b->count);
	rd_kafka_consume_stop(d->domain[b->domain].topic, (int32_t)b->partition);
	partition_of(d, b->domain, b->partition)->loading = false;
	b->state = FEED_BLOCK_READY;
	if (b->uses == 0)
		put_idle(d, b);
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
	size_t kept = msg->len < FEED_BLOCK_BAD_BYTES_MAX ? msg->len : FEED_BLOCK_BAD_BYTES_MAX;

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

/*
 * Ordinals [b->first + b->filled, until) were not seen: each must be one of the records that could
 * not be decoded, which do not tell their ordinals. Ordinals 7 and 10 with two such records between
 * them are well: 8 and 9 are bad. With only one such record, one is missing, and nobody knows
 * which: both count as missing.
 *
 * What is missing is no failure before it is drawn: a mix that skips it needs it no more.
 */
static enum fail_code
fill_gap(struct feed *d, struct feed_load *l, uint64_t until, struct failure *f)
{
	struct feed_block *b = l->block;
	uint64_t want = b->first + b->filled;
	bool closed = l->closed && l->closed_at <= want;
	char what[512];

	if (until - want > l->undecodable && l->cut) {
		uint64_t below = l->cut_below > until ? l->cut_below : until;

		snprintf(what, sizeof(what),
		    "topic %s partition %" PRIu32 ": its first records were deleted (retention, or "
		    "DeleteRecords), and ordinals 0..%" PRIu64 " with them",
		    d->domain[b->domain].name, b->partition, below);
		return feed_block_put_missing(b, &d->pool, what, until, 0, below) ? FAIL_NONE
										  : fail_memory(f);
	}
	if (until - want > l->undecodable) {
		snprintf(what, sizeof(what),
		    "topic %s partition %" PRIu32 ": ordinals %" PRIu64 "..%" PRIu64
		    " are missing: a broker has lost what it acknowledged, records were deleted, "
		    "or another program writes here",
		    d->domain[b->domain].name, b->partition, want, until);
		return feed_block_put_missing(b, &d->pool, what, until,
			   closed ? l->closed_at : want, closed ? UINT64_MAX : until)
			   ? FAIL_NONE
			   : fail_memory(f);
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
	struct feed_partition *p = partition_of(d, b->domain, b->partition);
	struct failure why;
	bool kept;

	assert(s->ordinal == b->first + b->filled);
	if (s->tokenizer != d->o.tokenizer)
		return fail(f, FAIL_CONFIG,
		    "topic %s partition %" PRIu32 " ordinal %" PRIu64 " has tokenizer %016" PRIx64
		    ", the mix has %016" PRIx64 ": one mix cannot hold two tokenizers",
		    d->domain[b->domain].name, b->partition, s->ordinal, s->tokenizer,
		    d->o.tokenizer);
	if (s->ordinal >= p->pushed_from && msg->offset - (int64_t)s->ordinal != p->push) {
		p->push = msg->offset - (int64_t)s->ordinal;
		p->pushed_from = s->ordinal;
	}
	if (sequence_payload_check_hash(&s->payload, &why) != FAIL_NONE)
		kept =
		    feed_block_put_bad(b, &d->pool, why.text, msg->payload, msg->len, msg->offset);
	else
		kept = feed_block_put(b, &d->pool, s->payload.raw, s->payload.raw_n,
		    s->payload.used, s->payload.count - s->payload.used, msg->offset);
	return kept ? FAIL_NONE : fail_memory(f);
}

/* Reads the partition at another place, for the same block. */
static enum fail_code
restart(struct feed *d, struct feed_load *l, int64_t offset, struct failure *f)
{
	struct feed_block *b = l->block;

	rd_kafka_consume_stop(d->domain[b->domain].topic, (int32_t)b->partition);
	return start_at(d, l, b, offset, f);
}

/*
 * The end of the topic, before that of the block. It may be an old end:
 *
 *     - a fetch was answered before the producer's records came that the block has grown by;
 *     - the partition has a new leader, which shows records only as far as it knows that its
 *       followers have them, and learns that with their next fetches: for a moment the topic looks
 *       shorter than it was.
 *
 * Only an end that stays for END_WAIT_MS is one (wait_end()). Records that cannot be decoded and
 * make up the whole rest of the block need no waiting.
 */
static enum fail_code
meet_end(struct feed *d, struct feed_load *l, int64_t at, struct failure *f)
{
	struct feed_block *b = l->block;

	if (b->count - b->filled <= l->undecodable)
		return fill_gap(d, l, b->first + b->count, f);
	if (l->ended_ms == 0)
		l->ended_ms = l->polled_ms = clock_ms();
	l->ended_at = at;
	return FAIL_NONE;
}

/*
 * Whether the topic's end has stayed. Time in which nobody polled does not count: a process that
 * was stopped (SIGSTOP, a suspended machine) for a minute has not waited for the broker. Nor does
 * time in which the broker was silent: an end is told once, and a partition that went offline
 * behind it says nothing more. So the end is asked for before it is taken for one.
 */
static enum fail_code
wait_end(struct feed *d, struct feed_load *l, struct failure *f)
{
	const struct feed_block *b = l->block;
	int64_t now_ms = clock_ms(), low, high;
	enum fail_code code;

	if (now_ms - l->polled_ms > END_POLL_MS)
		l->ended_ms = now_ms;
	l->polled_ms = now_ms;
	if (now_ms - l->ended_ms <= END_WAIT_MS)
		return FAIL_NONE;
	code = kafka_watermarks(
	    d->rk, d->domain[b->domain].name, (int32_t)b->partition, &low, &high, END_ASK_MS, f);
	if (code == FAIL_NONE && high <= l->ended_at)
		return fill_gap(d, l, b->first + b->count, f);
	if (code != FAIL_NONE && code != FAIL_TIMEOUT && code != FAIL_BROKER)
		return code;
	l->ended_ms = l->polled_ms = clock_ms();
	return FAIL_NONE;
}

/*
 * The first record that was read stands too high. Ordinals below it are missing, so that it stands
 * at a lower offset than it would, and what is wanted stands below it, or is missing itself.
 * Example, 100..199 are missing:
 *
 *     offset     98   99  100  101 ...  205          wanted 205, sought at offset 205: ordinal 305
 *     ordinal    98   99  200  201 ...  305          305 is 100 too high: read on from offset 105
 *
 * Each step goes down, to offset 0 at last.
 */
static enum fail_code
step_back(struct feed *d, struct feed_load *l, int64_t offset, uint64_t by, struct failure *f)
{
	int64_t to = (uint64_t)offset > by ? offset - (int64_t)by : 0;

	l->sure = to == 0;
	l->stepped = true;
	l->undecodable = 0;
	return restart(d, l, to, f);
}

/*
 * An offset that is not in the log. Where the log begins behind it, records were deleted
 * (retention, DeleteRecords): it is read from its beginning, and what is missing before that is a
 * gap like others. Else the log has lost its end, or its topic was recreated.
 */
static enum fail_code
meet_lost(struct feed *d, struct feed_load *l, bool *restarted, struct failure *f)
{
	const struct feed_domain *m = &d->domain[l->block->domain];
	int64_t low, high;

	if (kafka_watermarks(
		d->rk, m->name, (int32_t)l->block->partition, &low, &high, ASK_MS, f) != FAIL_NONE)
		return f->code;
	if (low <= l->read_from)
		return fail_at(d, l->block, FAIL_DATA,
		    "its end is before a sequence that the mix counts with: the log has lost its "
		    "end, or the topic was recreated. " DOMAINS_WAY_BACK,
		    f);
	l->sure = l->stepped = l->cut = true;
	l->undecodable = 0;
	*restarted = true;
	return restart(d, l, low, f);
}

/*
 * A duplicate holds what the first record of its ordinal holds, unless two producers read different
 * inputs (producer/writer/overlap.h). The first one counts, as it did for all who read it before.
 */
static void
compare_duplicate(struct feed *d, const struct feed_block *b, const rd_kafka_message_t *msg,
    const struct sequence_view *s)
{
	struct feed_partition *p = partition_of(d, b->domain, b->partition);
	const struct feed_block_record *first;

	if (p->told || s->ordinal < b->first || s->ordinal >= b->first + b->filled)
		return;
	first = &b->record[s->ordinal - b->first];
	if (first->payload == NULL ||
	    (first->n == s->payload.raw_n && memcmp(first->payload, s->payload.raw, first->n) == 0))
		return;
	p->told = true;
	log_warning("mix: MIX-TWICE topic=%s partition=%" PRIu32 " offsets %" PRId64 " and %" PRId64
		    " both hold sequence %" PRIu64
		    ", and they differ: two producers read different inputs. The first one counts, "
		    "so documents may be missing or be there twice from here on",
	    d->domain[b->domain].name, b->partition, first->offset, msg->offset, s->ordinal);
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
		l->sure = true;
		compare_duplicate(d, b, msg, &s);
		if (b->filled > 0 || l->stepped || want - s.ordinal <= FEED_SKIP_MAX)
			return FAIL_NONE;
		/* It stands at least so far behind this record, unless some are missing. */
		l->sure = false;
		*restarted = true;
		return restart(d, l, msg->offset + (int64_t)(want - s.ordinal), f);
	}
	if (s.ordinal - want > l->undecodable && !l->sure && b->filled == 0) {
		*restarted = true;
		return step_back(d, l, msg->offset, s.ordinal - want, f);
	}
	if (l->cut && l->cut_below == 0)
		l->cut_below = s.ordinal;
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
	struct sequence_end end;
	struct failure why;

	if (msg->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
		return meet_end(d, l, msg->offset, f);
	l->ended_ms = 0;
	if (msg->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		char what[512];

		/* Records that are gone do not come back: trying again would not end. */
		if (kafka_lost(msg->err))
			return meet_lost(d, l, restarted, f);
		snprintf(what, sizeof(what), "cannot read ordinal %" PRIu64 ": %s (%s)",
		    b->first + b->filled, rd_kafka_message_errstr(msg),
		    kafka_hint(msg->err)[0] == '\0' ? rd_kafka_err2name(msg->err)
						    : kafka_hint(msg->err));
		if (kafka_denied(msg->err))
			return kafka_fail_topic(f, d->rk, msg->err, NULL,
			    "reading sequences of a domain", d->domain[b->domain].name);
		return fail_at(d, b, FAIL_BROKER, what, f);
	}
	if (schema_which(&which, msg->payload, msg->len, &why) != FAIL_NONE)
		return note_undecodable(l, msg, why.text, f);
	l->closed = which == SCHEMA_END &&
		    sequence_end_decode(&end, msg->payload, msg->len, &why) == FAIL_NONE;
	if (l->closed)
		l->closed_at = end.sequences;
	if (which == SCHEMA_END)
		return FAIL_NONE; /* of a domain that was extended: more follows behind it */
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
 * Takes all that one fetch has brought, and tries to make that the only fetch. Left alone,
 * librdkafka fetches on as soon as fewer than queued.min.messages records of the partition wait in
 * memory, and every block was fetched about four times over. So:
 *
 *     1. A fetch is as large as a block, and the few records before it (open_reader()).
 *     2. While what it brought waits, no next fetch is sent: queued.min.messages is 64. (1 would be
 *        too small: an internal operation in the queue counts as a message, and the partition then
 *        stalls for a second at a time.)
 *     3. Here the whole queue is taken at once, and a block that is whole stops its partition.
 *     4. A block that is not whole restarts its partition behind the last record taken, which
 *        fetches at once.
 */
static enum fail_code
poll_load(struct feed *d, struct feed_load *l, int timeout_ms, bool *progress, struct failure *f)
{
	rd_kafka_message_t *msg[MESSAGES_MAX];
	struct feed_block *b = l->block;
	const struct feed_domain *m = &d->domain[b->domain];
	size_t n = take_messages(m, (int32_t)b->partition, timeout_ms, msg, MESSAGES_MAX);
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
	if (!restarted && offset_next >= 0 && n < MESSAGES_MAX)
		return restart(d, l, offset_next, f);
	return l->ended_ms > 0 ? wait_end(d, l, f) : FAIL_NONE;
}

/*
 * librdkafka reports nothing where the user may not see a topic, or where it was deleted. When a
 * load stays silent, the broker is asked once.
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
	if (code == FAIL_NONE && partitions == 0 && d->o.missing_fails)
		return fail(f, FAIL_DATA,
		    "topic %s does not exist any more: its sequences cannot be read",
		    d->domain[l->block->domain].name);
	return code == FAIL_DENIED ? code : FAIL_NONE;
}

enum fail_code
feed_poll(struct feed *d, int timeout_ms, struct failure *f)
{
	bool progress = false;

	rd_kafka_poll(d->rk, 0);
	if (d->rk_pieces != NULL)
		rd_kafka_poll(d->rk_pieces, 0);
	if (start_loads(d, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < FEED_LOADS_MAX; i++)
		if (d->load[i].block != NULL &&
		    poll_load(d, &d->load[i], 0, &progress, f) != FAIL_NONE)
			return f->code;
	if (progress || timeout_ms == 0)
		return FAIL_NONE;
	/* Nothing came: waits for the first load. The others' records wait in their queues. */
	for (size_t i = 0; i < FEED_LOADS_MAX; i++) {
		struct feed_load *l = &d->load[i];

		if (l->block == NULL)
			continue;
		kafka_waits(d->domain[l->block->domain].rk);
		return ask_why(d, l, f) != FAIL_NONE ? f->code
						     : poll_load(d, l, timeout_ms, &progress, f);
	}
	return FAIL_NONE;
}
