/*
 * vocabulary.h -- the bytes of every token, and the way back from bytes to the token.
 *
 * Ids are dense from 0; an id without bytes is a hole. Immutable once it is filled.
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
	VOCABULARY_IDS_MAX = 1 << 21,     /* an id has 21 bits in pair_table.h */
	VOCABULARY_TOKEN_MAX = 1 << 12,   /* bytes of one token */
	VOCABULARY_BYTES_MAX = 256 << 20, /* of all tokens */
};

#define VOCABULARY_NONE UINT32_MAX

struct vocabulary_slot {
	uint32_t tag; /* upper half of bytes_hash() */
	uint32_t id;  /* + 1; 0: free */
	uint32_t start, n;
};

/* A zeroed one is valid and empty. */
struct vocabulary {
	uint8_t *bytes; /* owned; the tokens in the order of their ids */
	uint32_t
	    *start; /* [ids + 1], owned: token i is bytes[start[i]] up to bytes[start[i + 1]] */
	uint32_t ids;
	uint32_t longest;             /* bytes of the longest token */
	struct vocabulary_slot *slot; /* [slot_mask + 1], owned */
	uint64_t slot_mask;
};

void vocabulary_close(struct vocabulary *v);

/*
 * Builds the way back; bytes, start and ids are filled. Two ids of equal bytes: FAIL_DATA, *first
 * and *second are set, and the sentence is the caller's to write.
 */
enum fail_code vocabulary_index(
    struct vocabulary *v, uint32_t *first, uint32_t *second, struct failure *f);

/* The id of token[n], n > 0, or VOCABULARY_NONE. */
uint32_t vocabulary_find(const struct vocabulary *v, const uint8_t *token, size_t n);

/*
 * The same in three steps, for many tokens at once: each step sends for the memory that the next
 * one reads. `hash` is bytes_hash(token, n); after false from the second step it is NONE.
 */
void vocabulary_prefetch(const struct vocabulary *v, uint64_t hash);
bool vocabulary_prefetch_bytes(const struct vocabulary *v, uint64_t hash, size_t n);
uint32_t vocabulary_find_hashed(
    const struct vocabulary *v, uint64_t hash, const uint8_t *token, size_t n);

static inline const uint8_t *
vocabulary_token(const struct vocabulary *v, uint32_t id, size_t *n)
{
	assert(id < v->ids);
	*n = v->start[id + 1] - v->start[id];
	return v->bytes + v->start[id];
}

#endif
