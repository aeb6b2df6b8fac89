/*
 * feed_block.h -- one block of sequences in memory: a value store filled in order of ordinals.
 *
 * Payloads lie in chunks that belong to the block and are freed with it. Pure memory: no Kafka.
 */
#ifndef CONSUMER_DOMAIN_FEED_BLOCK_H
#define CONSUMER_DOMAIN_FEED_BLOCK_H

#include "consumer/domain/feed.h"

enum feed_state { FEED_QUEUED, FEED_LOADING, FEED_READY };

enum {
	FEED_CHUNK_BYTES = 256 << 10,
	FEED_POOL_MAX =
	    64, /* chunks kept for the next block: fresh memory costs more than the copy */
};

struct feed_chunk {
	struct feed_chunk *next;
	size_t n, room;
	uint8_t bytes[];
};

/* Chunks of FEED_CHUNK_BYTES that no block uses at the moment; a zeroed pool is empty. */
struct feed_pool {
	struct feed_chunk *chunk;
	size_t n;
};

struct feed_block {
	struct feed_block *next_in_partition;
	struct feed_block *next_in_queue;
	uint32_t domain, partition;
	uint64_t first; /* ordinal */
	uint32_t count;
	uint32_t filled; /* ordinals first..first+filled-1 are there, good or bad */
	enum feed_state state;
	bool urgent;
	uint64_t uses;     /* announced draws that are not released */
	uint64_t released; /* draws */
	uint64_t last_use; /* tick of the last release */
	uint64_t bytes;    /* held by chunks */
	uint64_t expected; /* bytes, while it is loading */
	struct feed_chunk *chunk;
	struct feed_record *record; /* [count] */
};

void feed_pool_close(struct feed_pool *pool);

/* NULL: no memory. */
struct feed_block *feed_block_open(
    uint32_t domain, uint32_t partition, uint64_t first, uint32_t count);
/*
 * The block holds more sequences than it was opened for: its partition has grown. Moves the
 * records. False: no memory.
 */
bool feed_block_grow(struct feed_block *b, uint32_t count);
/* Gives its chunks to the pool. NULL is accepted. */
void feed_block_close(struct feed_block *b, struct feed_pool *pool);

/* Appends the next ordinal's payload (copied), or its reason and bytes. False: no memory. */
bool feed_block_put(struct feed_block *b, struct feed_pool *pool, const uint8_t *payload, size_t n,
    uint32_t tokens, uint32_t padding, int64_t offset);
bool feed_block_put_bad(struct feed_block *b, struct feed_pool *pool, const char *reason,
    const uint8_t *bytes, size_t n, int64_t offset);

#endif
