#include "consumer/domain/feed_block.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct feed_block *
feed_block_open(uint32_t domain, uint32_t partition, uint64_t first, uint32_t count)
{
	struct feed_block *b;

	assert(count >= 1);
	b = calloc(1, sizeof(*b));
	if (b == NULL)
		return NULL;
	b->record = calloc(count, sizeof(b->record[0]));
	if (b->record == NULL) {
		free(b);
		return NULL;
	}
	b->domain = domain;
	b->partition = partition;
	b->first = first;
	b->count = count;
	b->chunk_bytes = FEED_BLOCK_CHUNK_BYTES;
	return b;
}

bool
feed_block_grow(struct feed_block *b, uint32_t count)
{
	struct feed_block_record *grown;

	assert(count >= b->count);
	grown = realloc(b->record, count * sizeof(*grown));
	if (grown == NULL)
		return false;
	memset(grown + b->count, 0, (count - b->count) * sizeof(*grown));
	b->record = grown;
	b->count = count;
	return true;
}

void
feed_block_pool_close(struct feed_block_pool *pool)
{
	while (pool->chunk != NULL) {
		struct feed_block_chunk *next = pool->chunk->next;

		free(pool->chunk);
		pool->chunk = next;
	}
	pool->n = 0;
}

void
feed_block_close(struct feed_block *b, struct feed_block_pool *pool)
{
	struct feed_block_chunk *c, *next;

	if (b == NULL)
		return;
	for (c = b->chunk; c != NULL; c = next) {
		next = c->next;
		if (c->room != FEED_BLOCK_CHUNK_BYTES || pool->n == FEED_BLOCK_POOL_MAX) {
			free(c);
			continue;
		}
		c->next = pool->chunk;
		pool->chunk = c;
		pool->n++;
		assert(pool->n <= FEED_BLOCK_POOL_MAX);
	}
	free(b->record);
	free(b);
}

/*
 * An empty chunk of `bytes`, or of n where that is more; NULL: no memory. The pool takes back and
 * gives those of FEED_BLOCK_CHUNK_BYTES alone.
 */
static struct feed_block_chunk *
new_chunk(struct feed_block_pool *pool, size_t bytes, size_t n)
{
	struct feed_block_chunk *c = pool->chunk;

	if (bytes == FEED_BLOCK_CHUNK_BYTES && n <= bytes && c != NULL) {
		assert(pool->n > 0);
		assert(c->room == FEED_BLOCK_CHUNK_BYTES);
		pool->chunk = c->next;
		pool->n--;
	} else {
		size_t room = n > bytes ? n : bytes;

		c = malloc(sizeof(*c) + room);
		if (c == NULL)
			return NULL;
		c->room = room;
	}
	c->n = 0;
	return c;
}

/*
 * Copies bytes into the block's newest chunk, or into a new one where they do not fit; what is left
 * of the former is lost. NULL: no memory.
 */
static const uint8_t *
keep(struct feed_block *b, struct feed_block_pool *pool, const void *bytes, size_t n)
{
	struct feed_block_chunk *c = b->chunk;

	if (c == NULL || c->room - c->n < n) {
		c = new_chunk(pool, b->chunk_bytes, n);
		if (c == NULL)
			return NULL;
		c->next = b->chunk;
		b->chunk = c;
		b->bytes += c->room;
	}
	memcpy(c->bytes + c->n, bytes, n);
	c->n += n;
	return c->bytes + c->n - n;
}

bool
feed_block_put(struct feed_block *b, struct feed_block_pool *pool, const uint8_t *payload, size_t n,
    uint32_t tokens, uint32_t padding, int64_t offset)
{
	struct feed_block_record *r = &b->record[b->filled];

	assert(b->filled < b->count);
	assert(n > 0);
	r->payload = keep(b, pool, payload, n);
	r->n = n;
	r->tokens = tokens;
	r->padding = padding;
	r->offset = offset;
	b->filled += r->payload != NULL;
	return r->payload != NULL;
}

bool
feed_block_put_bad(struct feed_block *b, struct feed_block_pool *pool, const char *reason,
    const uint8_t *bytes, size_t n, int64_t offset)
{
	struct feed_block_record *r = &b->record[b->filled];
	size_t kept = n < FEED_BLOCK_BAD_BYTES_MAX ? n : FEED_BLOCK_BAD_BYTES_MAX;

	assert(b->filled < b->count);
	assert(reason != NULL);
	r->reason = (const char *)keep(b, pool, reason, strlen(reason) + 1);
	r->bytes = kept > 0 ? keep(b, pool, bytes, kept) : NULL;
	r->bytes_n = r->bytes != NULL ? kept : 0;
	r->offset = offset;
	b->filled += r->reason != NULL;
	return r->reason != NULL;
}

bool
feed_block_put_missing(struct feed_block *b, struct feed_block_pool *pool, const char *reason,
    uint64_t end, uint64_t missing_first, uint64_t missing_end)
{
	assert(end <= b->first + b->count);
	assert(missing_first <= b->first + b->filled);
	assert(missing_end >= end);
	while (b->first + b->filled < end) {
		struct feed_block_record *r = &b->record[b->filled];

		if (!feed_block_put_bad(b, pool, reason, NULL, 0, -1))
			return false;
		r->missing_first = missing_first;
		r->missing_end = missing_end;
	}
	return true;
}
