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
#ifndef PRODUCER_BPE_PAIR_TABLE_H
#define PRODUCER_BPE_PAIR_TABLE_H

#include <stdbool.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "producer/bpe/vocabulary.h"

/* What is known of two neighbouring bytes. Ranks, or VOCABULARY_NONE where there is none. */
struct pair_bytes {
	uint32_t rank; /* of their merge */
	uint32_t
	    ends; /* lowest where the second alone merges to a token that ends with the first */
	uint32_t
	    begins; /* lowest where the first alone merges to one that begins with the second */
	uint32_t merged; /* their token, if no merge that takes it has a lower rank; else NONE */
};

enum {
	PAIR_BITS = 42,    /* of two ids */
	PAIR_LINE_MAX = 8, /* pairs */
	PAIR_RANK_BITS = 21
};

/*
 * A cache line of pairs, filled from the first on: a question is answered by one line, looked
 * through at once. A pair is known by all of its hash: 32 bits of it are the tag, 10 stand above
 * the rank, with a bit that says the place is taken. A pair whose line is full is in the next.
 */
struct pair_line {
	uint32_t tag[PAIR_LINE_MAX];
	uint32_t rank[PAIR_LINE_MAX]; /* 1 << 31 | hash >> 32 << 21 | rank; 0: free */
};

/* A zeroed one may be closed. */
struct pair_table {
	struct pair_line *line; /* [2^(PAIR_BITS - shift)], owned; half full at most */
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

/*
 * Fibonacci hashing (Knuth, volume 3, 6.4): 2^42 over the golden ratio, an odd number, so that no
 * two pairs have the same hash.
 */
static inline uint64_t
pair_hash(uint32_t left, uint32_t right)
{
	return ((uint64_t)left << 21 | right) * UINT64_C(0x278DDE6E5FD) &
	       ((UINT64_C(1) << PAIR_BITS) - 1);
}

static inline void
pair_table_prefetch(const struct pair_table *p, uint32_t left, uint32_t right)
{
	__builtin_prefetch(&p->line[pair_hash(left, right) >> p->shift]);
}

/* What stands above the rank of a pair. */
static inline uint32_t
pair_line_mark(uint64_t hash)
{
	return 1u << (31 - PAIR_RANK_BITS) | (uint32_t)(hash >> 32);
}

/* Bit i: tag[i] is this one. */
static inline unsigned
pair_line_equal(const struct pair_line *l, uint32_t tag)
{
#if defined(__SSE2__)
	const __m128i *have = (const __m128i *)(const void *)l->tag;
	__m128i wanted = _mm_set1_epi32((int)tag);
	__m128i words =
	    _mm_packs_epi32(_mm_cmpeq_epi32(have[0], wanted), _mm_cmpeq_epi32(have[1], wanted));

	return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(words, _mm_setzero_si128()));
#else
	unsigned equal = 0;

	for (unsigned i = 0; i < PAIR_LINE_MAX; i++)
		equal |= (unsigned)(l->tag[i] == tag) << i;
	return equal;
#endif
}

/* The same as pair_table_find(), for what it leaves: full lines, and equal tags. */
uint32_t pair_table_search(const struct pair_table *p, uint64_t hash);

/* The rank of the merge of left and right, both below VOCABULARY_IDS_MAX, or VOCABULARY_NONE. */
static inline uint32_t
pair_table_find(const struct pair_table *p, uint32_t left, uint32_t right)
{
	uint64_t hash = pair_hash(left, right);
	const struct pair_line *l = &p->line[hash >> p->shift];
	unsigned equal = pair_line_equal(l, (uint32_t)hash);
	uint32_t rank = l->rank[__builtin_ctz(equal | 1u << (PAIR_LINE_MAX - 1))];
	bool found = equal != 0 && rank >> PAIR_RANK_BITS == pair_line_mark(hash);

	if (__builtin_expect(!found && (equal != 0 || l->rank[PAIR_LINE_MAX - 1] != 0), 0))
		return pair_table_search(p, hash);
	return found ? rank & (VOCABULARY_IDS_MAX - 1) : VOCABULARY_NONE;
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
