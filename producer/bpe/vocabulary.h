/*
 * vocabulary.h -- the bytes of every token, and the way back from bytes to the token.
 *
 * Ids are dense from 0; an id without bytes is a hole. The bytes of all tokens are one array in the
 * order of ids, and start[] says where each begins. Example, "a" 0, a hole at 1, "bc" 2:
 *
 *     bytes  a b c      start  0 1 1 3      ids  3
 *
 * The way back is a hash table with open addressing, at most half full: a slot has the upper half
 * of the hash, so that the bytes of another token are nearly never read, and where the token's
 * bytes are, so that start[] need not be.
 *
 * A reader fills bytes, start and ids; vocabulary_index() then makes the slots. Without them a
 * vocabulary can only be read by id. Immutable after that, shared by threads without locks.
 */
#ifndef PRODUCER_BPE_VOCABULARY_H
#define PRODUCER_BPE_VOCABULARY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/failure.h"

enum {
	VOCABULARY_IDS_MAX = 1 << 21,   /* an id has 21 bits in pair_table.h */
	VOCABULARY_TOKEN_MAX = 1 << 12, /* bytes of one token */
	VOCABULARY_BYTES_MAX = 256
			       << 20, /* of all tokens: the files are no longer, so 32 bits do */
};

#define VOCABULARY_NONE UINT32_MAX

struct vocabulary_slot {
	uint32_t tag; /* upper half of bytes_hash() */
	uint32_t id;  /* + 1; 0: free */
	uint32_t start, n;
};

/* A zeroed one is valid and empty. */
struct vocabulary {
	uint8_t *bytes;   /* owned; the tokens in the order of their ids */
	uint32_t *start;  /* [ids + 1], owned: token i is bytes[start[i] .. start[i + 1]) */
	uint32_t ids;     /* the highest + 1 */
	uint32_t longest; /* bytes of the longest token; 0 before vocabulary_index() */
	struct vocabulary_slot *slot; /* [slot_mask + 1], owned; NULL before vocabulary_index() */
	uint64_t slot_mask;
};

/* Frees what it owns and leaves it empty. */
void vocabulary_close(struct vocabulary *v);

/*
 * Builds the way back; bytes, start and ids are filled. Two ids of equal bytes: FAIL_DATA, *first
 * and *second are these ids, and the sentence is the caller's to write. Else FAIL_MEMORY.
 */
enum fail_code vocabulary_index(
    struct vocabulary *v, uint32_t *first, uint32_t *second, struct failure *f);

/* The id of token[n], n > 0, or VOCABULARY_NONE. vocabulary_index() was called. */
uint32_t vocabulary_find(const struct vocabulary *v, const uint8_t *token, size_t n);

/*
 * The same in three calls, for many tokens at once. Each sends for the memory that the next one
 * reads: the slot, the token's bytes, and then they are compared. The second may be left out; false
 * from it: no token has these bytes. `hash` is bytes_hash(token, n).
 */
void vocabulary_prefetch(const struct vocabulary *v, uint64_t hash);
bool vocabulary_prefetch_bytes(const struct vocabulary *v, uint64_t hash, size_t n);
uint32_t vocabulary_find_hashed(
    const struct vocabulary *v, uint64_t hash, const uint8_t *token, size_t n);

/* Borrows the bytes of a token for the vocabulary's life; *n 0: a hole. */
static inline const uint8_t *
vocabulary_token(const struct vocabulary *v, uint32_t id, size_t *n)
{
	assert(id < v->ids);
	*n = v->start[id + 1] - v->start[id];
	return v->bytes + v->start[id];
}

/* Behind the bytes of the last token. */
static inline const uint8_t *
vocabulary_end(const struct vocabulary *v)
{
	return v->bytes + v->start[v->ids];
}

#endif
