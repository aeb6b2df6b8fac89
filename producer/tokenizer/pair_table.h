/*
 * pair_table.h -- which token two neighbouring tokens merge to.
 *
 * In rank semantics it holds every way to cut a token into two tokens, for any neighbours merge
 * whose bytes together are a token, with its id as the rank. In merge semantics it holds the merges
 * of a list, and a rank is the place in it. Two first bytes, where a merge of a piece begins, have
 * a dense table of their own. Immutable once it is open.
 *
 * Two bytes i, i+1 of a piece merge before all else that touches them if their rank is lower than
 * any with which byte i alone can merge to its left, or byte i+1 alone to its right; and nothing
 * else in the piece can tell that they have merged already if no merge that takes the two as one
 * has a lower rank. Then merging may begin with them merged (pair_bytes_merge()): most letters
 * outside ASCII have two bytes that do. Example with ranks "ab" 256, "bc" 257, "xa" 258: in "xabc"
 * ab goes first, whatever follows; in "abc" with "bc" 255 it does not.
 */
#ifndef PRODUCER_TOKENIZER_PAIR_TABLE_H
#define PRODUCER_TOKENIZER_PAIR_TABLE_H

#include <stdbool.h>

#include "producer/tokenizer/vocabulary.h"

/* What is known of two neighbouring bytes. Ranks, or VOCABULARY_NONE where there is none. */
struct pair_bytes {
	uint32_t rank; /* of their merge */
	uint32_t
	    ends; /* lowest where the second alone merges to a token that ends with the first */
	uint32_t
	    begins; /* lowest where the first alone merges to one that begins with the second */
	uint32_t merged; /* their token, if no merge that takes it has a lower rank; else NONE */
};

/* A zeroed one is valid and empty. */
struct pair_table {
	/* [2^(64 - shift)], owned: left << 43 | right << 22 | rank << 1 | 1, 0 is free; half full
	 */
	uint64_t *slot;
	unsigned shift;
	uint32_t ranks;     /* the highest + 1 */
	uint32_t *result;   /* [ranks], owned: the id a rank gives; NULL: it is the rank */
	uint32_t byte[256]; /* id of a single byte, or VOCABULARY_NONE */
	struct pair_bytes bytes[256 * 256]; /* first << 8 | second */
};

/* Fills *p, to be ended with pair_table_close() in any case. All single bytes are tokens. */
enum fail_code pair_table_open(struct pair_table *p, const struct vocabulary *v, struct failure *f);
void pair_table_close(struct pair_table *p);

/* Two tokens that merge, and what they give. */
struct pair_merge {
	uint32_t left, right, result;
};

/*
 * The same for a list of merges, the first has the lowest rank; of equal pairs the last one counts.
 * byte[256] is copied: the ids of the single bytes, VOCABULARY_NONE where there is none.
 */
enum fail_code pair_table_open_merges(struct pair_table *p, const struct pair_merge *merge,
    uint32_t merges_n, const uint32_t *byte, struct failure *f);

static inline uint64_t
pair_table_place(const struct pair_table *p, uint64_t pair)
{
	/* Fibonacci hashing (Knuth, volume 3, 6.4): 2^64 over the golden ratio. */
	return pair * UINT64_C(0x9E3779B97F4A7C15) >> p->shift;
}

static inline void
pair_table_prefetch(const struct pair_table *p, uint32_t left, uint32_t right)
{
	__builtin_prefetch(&p->slot[pair_table_place(p, (uint64_t)left << 21 | right)]);
}

/* The rank of the merge of left and right, or VOCABULARY_NONE. */
static inline uint32_t
pair_table_find(const struct pair_table *p, uint32_t left, uint32_t right)
{
	uint64_t pair = (uint64_t)left << 21 | right;
	uint64_t mask = (UINT64_C(1) << (64 - p->shift)) - 1;

	for (uint64_t at = pair_table_place(p, pair);; at = (at + 1) & mask) {
		uint64_t slot = p->slot[at];

		if (slot >> 22 == pair && slot != 0)
			return (uint32_t)(slot >> 1) & (VOCABULARY_IDS_MAX - 1);
		if (slot == 0)
			return VOCABULARY_NONE;
	}
}

/* Whether a piece with these two bytes may begin with them merged: neighbours are NULL at an end.
 */
static inline bool
pair_bytes_merge(
    const struct pair_bytes *before, const struct pair_bytes *b, const struct pair_bytes *behind)
{
	return b->merged != VOCABULARY_NONE && (before == NULL || b->rank < before->ends) &&
	       (behind == NULL || b->rank < behind->begins);
}

/* The token that the merge of this rank gives. */
static inline uint32_t
pair_table_result(const struct pair_table *p, uint32_t rank)
{
	return p->result == NULL ? rank : p->result[rank];
}

#endif
