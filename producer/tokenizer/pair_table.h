/*
 * pair_table.h -- which token two neighbouring tokens merge to.
 *
 * Holds every way to cut a token into two tokens, as in rank semantics any neighbours merge whose
 * bytes together are a token, with its id as the rank. Two first bytes, where a merge of a piece
 * begins, have a dense table of their own. Immutable once it is open.
 */
#ifndef PRODUCER_TOKENIZER_PAIR_TABLE_H
#define PRODUCER_TOKENIZER_PAIR_TABLE_H

#include "producer/tokenizer/vocabulary.h"

/* A zeroed one is valid and empty. */
struct pair_table {
	/* [2^(64 - shift)], owned: left << 43 | right << 22 | id << 1 | 1, 0 is free; half full */
	uint64_t *slot;
	unsigned shift;
	uint32_t byte[256];        /* id of a single byte */
	uint32_t bytes[256 * 256]; /* id of two bytes, first << 8 | second, or VOCABULARY_NONE */
};

/* Fills *p, to be ended with pair_table_close() in any case. All single bytes are tokens. */
enum fail_code pair_table_open(struct pair_table *p, const struct vocabulary *v, struct failure *f);
void pair_table_close(struct pair_table *p);

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

/* The id of left and right together, which is the rank of that merge too, or VOCABULARY_NONE. */
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

#endif
