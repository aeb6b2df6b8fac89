/*
 * feed_block.h -- one block of sequences in memory: filled in the order of its ordinals, read by
 * ordinal.
 *
 * A block is the unit that a domain's order keeps together (order.h), or a piece of it
 * (feed_pieces.h): `count` ordinals of one partition, from `first` on. Ordinal k is
 * record[k - first]; records [0, filled) are there, good or bad, and the rest is still to be read.
 * Payloads lie in chunks that belong to the block and are freed with it, so that a record costs no
 * allocation of its own and a block is dropped at once.
 *
 *     record   [0] [1] [2] [3] ... [count)          chunk -> chunk -> NULL
 *               |   |   |   `- empty: filled is 3      ^        ^
 *               |   |   `--- bad: reason and bytes ----+        |
 *               `---+------- good: payload ---------------------+
 *
 * A block that has grown keeps its chunks; only the array of records moves.
 *
 * Pure memory: no Kafka. The fields that say what becomes of a block belong to the feed (feed.c),
 * and no function here looks at them. Thread: one.
 */
#ifndef CONSUMER_DOMAIN_FEED_BLOCK_H
#define CONSUMER_DOMAIN_FEED_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FEED_BLOCK_BAD_BYTES_MAX = 65536, /* of a bad record, kept for the dead letter */
	FEED_BLOCK_CHUNK_BYTES = 256 << 10,
	/* Chunks kept for the next block: fresh memory, which the kernel clears page by page, costs
	 * more than the copy into it. */
	FEED_BLOCK_POOL_MAX = 64,
};

/* A sequence in a block; borrowed until its draw is released (feed.h). */
struct feed_block_record {
	const uint8_t *payload; /* encoded; NULL: bad */
	size_t n;
	uint32_t tokens;      /* in it, without padding; 0: bad */
	uint32_t padding;     /* and how many are missing at its end */
	const char *reason;   /* why it is bad; NULL: it is not */
	int64_t offset;       /* of the record in its topic; -1: unknown */
	const uint8_t *bytes; /* bad: the record as it was read, cut; NULL where unknown */
	size_t bytes_n;
	/*
	 * Bad, and not in its topic: [missing_first, missing_end) are not; empty: it is there. If
	 * an End closed the partition at missing_first, missing_end is UINT64_MAX.
	 */
	uint64_t missing_first, missing_end;
};

struct feed_block_chunk {
	struct feed_block_chunk *next;
	size_t n, room;
	uint8_t bytes[];
};

/* Chunks of FEED_BLOCK_CHUNK_BYTES that no block uses at the moment; a zeroed pool is empty. */
struct feed_block_pool {
	struct feed_block_chunk *chunk;
	size_t n;
};

enum feed_block_state { FEED_BLOCK_QUEUED, FEED_BLOCK_LOADING, FEED_BLOCK_READY };

struct feed_block {
	uint32_t domain, partition;
	uint64_t first; /* ordinal */
	uint32_t count;
	uint32_t filled; /* ordinals [first, first + filled) are there, good or bad */
	uint64_t bytes;  /* held by chunks */
	struct feed_block_chunk *chunk;
	struct feed_block_record *record; /* [count] */
	size_t chunk_bytes;               /* of a new chunk; FEED_BLOCK_CHUNK_BYTES by default */

	/* The feed's: see "Invariants" in feed.c. */
	uint32_t span; /* sequences that it may grow to */
	struct feed_block *next_in_bucket;
	struct feed_block *next_in_queue;
	enum feed_block_state state;
	bool urgent;
	uint64_t uses;     /* announced draws that are not released */
	uint64_t released; /* draws */
	bool idle;         /* nobody needs it: it is in a list of those that can be evicted, */
	struct feed_block *idle_before, *idle_behind; /* between these */
	uint64_t expected;                            /* bytes, while it is loading */
};

void feed_block_pool_close(struct feed_block_pool *pool);

/* Gives an empty block, to be ended with feed_block_close(). count >= 1. NULL: no memory. */
struct feed_block *feed_block_open(
    uint32_t domain, uint32_t partition, uint64_t first, uint32_t count);

/*
 * The block holds more sequences than it was opened for: its partition has grown. Moves the
 * records, not what they point to. count >= b->count. False: no memory, and nothing has changed.
 */
bool feed_block_grow(struct feed_block *b, uint32_t count);

/* Gives its chunks to the pool, as far as there is room. NULL is accepted. */
void feed_block_close(struct feed_block *b, struct feed_block_pool *pool);

/*
 * Appends the next ordinal: its payload (copied, n >= 1 bytes), or why it is bad and its bytes
 * (copied, cut). Only while filled < count. False: no memory, and the ordinal is still missing.
 */
bool feed_block_put(struct feed_block *b, struct feed_block_pool *pool, const uint8_t *payload,
    size_t n, uint32_t tokens, uint32_t padding, int64_t offset);
bool feed_block_put_bad(struct feed_block *b, struct feed_block_pool *pool, const char *reason,
    const uint8_t *bytes, size_t n, int64_t offset);

/*
 * Appends all ordinals below `end`, which are among [missing_first, missing_end): none of these is
 * in the topic. False: no memory.
 */
bool feed_block_put_missing(struct feed_block *b, struct feed_block_pool *pool, const char *reason,
    uint64_t end, uint64_t missing_first, uint64_t missing_end);

#endif
