#include "consumer/domain/feed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka.h"
#include "consumer/domain/feed_state.h"

enum {
	FETCH_BYTES_MAX = 8 << 20,
	FETCH_MORE_BYTES = 256 << 10, /* beyond a block: fetches begin and end with whole batches */
};

/* ---- opening and closing ---- */

/* One fetch should bring a whole block, and no second one follow it: see poll_load(). */
static enum fail_code
open_reader(struct feed *d, const struct feed_options *o, struct failure *f)
{
	char fetch_bytes[32];
	uint64_t bytes = o->block_bytes + o->block_bytes / 16 + FETCH_MORE_BYTES;
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
	d->block = o->block;
	d->queue_end = &d->queue;
	if (open_reader(d, o, f) != FAIL_NONE) {
		free(d);
		return f->code;
	}
	*out = d;
	return FAIL_NONE;
}

static void
close_domain(struct feed_domain *m, struct feed_pool *pool)
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
	struct feed_domain *grown = realloc(d->domain, (d->domains_n + 1) * sizeof(*grown)), *m;

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

struct feed_partition *
feed_partition(struct feed *d, uint32_t domain, uint32_t partition)
{
	assert(domain < d->domains_n && partition < d->domain[domain].partitions_n);
	return &d->domain[domain].partition[partition];
}

static struct feed_block *
find_block(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = feed_partition(d, draw->domain, draw->partition)->block;

	while (b != NULL && b->first != draw->block_first)
		b = b->next_in_partition;
	return b;
}

void
feed_drop_block(struct feed *d, struct feed_block *b)
{
	struct feed_block **at = &feed_partition(d, b->domain, b->partition)->block;

	while (*at != b)
		at = &(*at)->next_in_partition;
	*at = b->next_in_partition;
	if (b->state != FEED_LOADING)
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

void
feed_dequeue(struct feed *d, struct feed_block *b)
{
	struct feed_block **at = &d->queue;

	while (*at != b)
		at = &(*at)->next_in_queue;
	*at = b->next_in_queue;
	if (*at == NULL)
		d->queue_end = at;
	d->queued_n--;
}

uint64_t
feed_expected_bytes(const struct feed *d, const struct feed_block *b)
{
	uint64_t bytes = d->domain[b->domain].record_bytes * b->count;

	return bytes + FEED_CHUNK_BYTES - bytes % FEED_CHUNK_BYTES;
}

/* More sequences stand in the block's partition than when it was announced before. */
static enum fail_code
grow(struct feed *d, struct feed_block *b, uint32_t count, struct failure *f)
{
	if (!feed_block_grow(b, count))
		return fail_memory(f);
	if (b->state == FEED_READY) {
		b->state = FEED_QUEUED;
		b->urgent = false;
		enqueue(d, b);
	} else if (b->state == FEED_LOADING) {
		d->bytes_loading += feed_expected_bytes(d, b) - b->expected;
		b->expected = feed_expected_bytes(d, b);
	}
	return FAIL_NONE;
}

static enum fail_code
new_block(struct feed *d, const struct mixer_draw *draw, struct feed_block **out, struct failure *f)
{
	struct feed_partition *p = feed_partition(d, draw->domain, draw->partition);

	*out = feed_block_open(draw->domain, draw->partition, draw->block_first, draw->block_count);
	if (*out == NULL)
		return fail_memory(f);
	(*out)->next_in_partition = p->block;
	p->block = *out;
	enqueue(d, *out);
	return FAIL_NONE;
}

enum fail_code
feed_want(struct feed *d, const struct mixer_draw *draw, struct failure *f)
{
	struct feed_block *b = find_block(d, draw);

	if (b == NULL && new_block(d, draw, &b, f) != FAIL_NONE)
		return f->code;
	if (draw->block_count > b->count && grow(d, b, draw->block_count, f) != FAIL_NONE)
		return f->code;
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

		feed_dequeue(d, b);
		b->state = FEED_READY;
		b->count = b->filled; /* of one that was to grow, what it had stays */
		if (b->filled == 0)
			feed_drop_block(d, b);
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
	feed_dequeue(d, b);
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

	if (b == NULL || draw->ordinal - b->first >= b->filled)
		return NULL;
	return &b->record[draw->ordinal - b->first];
}

void
feed_release(struct feed *d, const struct mixer_draw *draw)
{
	struct feed_block *b = find_block(d, draw);

	assert(b != NULL && b->uses > 0);
	b->uses--;
	b->released++;
	b->last_use = d->tick++;
	/* Every sequence of a whole block is out: this epoch does not come back to it. */
	if (b->uses == 0 && b->released >= d->block && b->state == FEED_READY)
		feed_drop_block(d, b);
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
	return d->bytes + d->bytes_loading > d->memory_bytes;
}
