/*
 * pair_table.h -- which token two neighbouring tokens merge to, and with which rank.
 *
 * Two kinds of vocabulary fill it. Of a .tiktoken the rank of a merge is the id of its result, and
 * any two neighbours merge whose bytes together are a token: the table holds every way to cut a
 * token into two tokens. Of a tokenizer.json the merges are a list, and the rank is the place in
 * it.
 *
 * The large table. Merging asks for a pair about twice for each merge, at random places of many
 * megabytes, so that what counts is the number of cache lines that a question reads: one. A line of
 * 64 bytes holds up to eight pairs, the tags of all first:
 *
 *     struct pair_line     | tag 0 | tag 1 | ... | tag 7 | rank 0 | rank 1 | ... | rank 7 |
 *
 * All tags are compared at once (two comparisons of 16 bytes), and the rank of the one that is
 * equal is read without a loop. The hash is a one-to-one map of the 42 bits of a pair, so that
 * equal hashes are equal pairs and the ids themselves need not be kept:
 *
 *     hash, 42 bits    | 10 bits | 32 bits |     the highest 42 - shift of all say which line
 *                           |         +--------- the tag
 *                           +------------------- in the rank word, with a bit above that says that
 *                                                the place is taken, and the rank in 21 bits below
 *
 * Lines are filled from the front. A pair whose line is full is in the next one that has room, so
 * that a search ends at a line whose last place is free. At most half of all places are taken: of
 * eight places a line then has four on average, and about one line in twenty is full.
 *
 * Two first bytes. Merging begins with single bytes, so that the first questions are all about two
 * bytes. These have a dense table of their own, bytes[first << 8 | second], and it also says
 * whether the two may begin as one token. In a piece ... w x y z ... the bytes x y merge before
 * anything else touches them if their rank is lower than
 *
 *     bytes[w x].ends       any merge of x alone with a token on its left, which ends with w,
 *     bytes[y z].begins     any merge of y alone with a token on its right, which begins with z,
 *     and any merge that takes the token xy as a part; else `merged` is NONE.
 *
 * By the first two nothing takes x or y away before x y merge. By the third nothing could have used
 * xy before that, had it been there from the start. So the result is the same, and merging is
 * spared a turn: most letters outside ASCII have two bytes that pass. Example with the ranks ab
 * 256, bc 257, xa 258: in "xabc" ab begins merged, as 256 is lower than 258 and 257. Were bc 255,
 * it would not in "abc": bc goes first there.
 *
 * Immutable once it is open, shared by threads without locks.
 */
#ifndef PRODUCER_BPE_PAIR_TABLE_H
#define PRODUCER_BPE_PAIR_TABLE_H

#include <stdbool.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "producer/bpe/vocabulary.h"

/* What is known of two neighbouring bytes, see above. Ranks, or VOCABULARY_NONE for none. */
struct pair_bytes {
	uint32_t rank;   /* of their merge */
	uint32_t ends;   /* lowest where the second alone merges with what ends with the first */
	uint32_t begins; /* lowest where the first alone merges with what begins with the second */
	uint32_t merged; /* their token, if no merge that takes it has a lower rank; else NONE */
};

enum {
	PAIR_BITS = 42,    /* of two ids */
	PAIR_LINE_MAX = 8, /* pairs */
	PAIR_RANK_BITS = 21
};

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

/*
 * Fills the zeroed *t from a vocabulary whose ranks are its ids, to be ended with
 * pair_table_close() in any case. All single bytes are tokens; borrows `v`. FAIL_MEMORY only.
 */
enum fail_code pair_table_open(struct pair_table *t, const struct vocabulary *v, struct failure *f);
void pair_table_close(struct pair_table *t);

/* Two tokens that merge, and what they give. */
struct pair_merge {
	uint32_t left, right, result;
};

/*
 * The same for a list of merges, the first has the lowest rank; of equal pairs the last one counts.
 * byte[256] is copied: the ids of the single bytes, VOCABULARY_NONE where there is none.
 */
enum fail_code pair_table_open_merges(struct pair_table *t, const struct pair_merge *merge,
    uint32_t merges_n, const uint32_t *byte, struct failure *f);

/*
 * Fibonacci hashing (Knuth, volume 3, 6.4): the pair times 2^42 over the golden ratio. That is an
 * odd number, so that no two pairs have the same hash; its upper bits depend on all of the pair.
 */
static inline uint64_t
pair_hash(uint32_t left, uint32_t right)
{
	return ((uint64_t)left << 21 | right) * UINT64_C(0x278DDE6E5FD) &
	       ((UINT64_C(1) << PAIR_BITS) - 1);
}

/* Sends for the line that pair_table_find() of the same pair reads. */
static inline void
pair_table_prefetch(const struct pair_table *t, uint32_t left, uint32_t right)
{
	__builtin_prefetch(&t->line[pair_hash(left, right) >> t->shift]);
}

/* The bits above the rank of a pair: that the place is taken, and the upper part of the hash. */
static inline uint32_t
pair_line_mark(uint64_t hash)
{
	return 1u << (31 - PAIR_RANK_BITS) | (uint32_t)(hash >> 32);
}

/* Bit i is set where tag[i] is this one. A free place has tag 0, which can be equal too. */
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

/* What pair_table_find() leaves to a loop: full lines, and lines with two equal tags. */
uint32_t pair_table_search(const struct pair_table *t, uint64_t hash);

/*
 * The rank of the merge of left and right, both below VOCABULARY_IDS_MAX, or VOCABULARY_NONE.
 *
 * Of the tags that are equal the first is tried; with none, the last place is read, and what it
 * holds says whether the line is full. One branch, nearly never taken, covers both rest cases: the
 * first equal tag was not of this pair, or the line is full and the pair may be in the next one.
 */
static inline uint32_t
pair_table_find(const struct pair_table *t, uint32_t left, uint32_t right)
{
	uint64_t hash = pair_hash(left, right);
	const struct pair_line *l = &t->line[hash >> t->shift];
	unsigned equal = pair_line_equal(l, (uint32_t)hash);
	uint32_t rank = l->rank[__builtin_ctz(equal | 1u << (PAIR_LINE_MAX - 1))];
	bool found = equal != 0 && rank >> PAIR_RANK_BITS == pair_line_mark(hash);

	if (__builtin_expect(!found && (equal != 0 || l->rank[PAIR_LINE_MAX - 1] != 0), 0))
		return pair_table_search(t, hash);
	return found ? rank & (VOCABULARY_IDS_MAX - 1) : VOCABULARY_NONE;
}

/*
 * Whether a piece with the two bytes `b` may begin with them merged. `before` is of the byte before
 * and the first of the two, `behind` of the second and the byte behind; NULL at an end of the
 * piece.
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
pair_table_result(const struct pair_table *t, uint32_t rank)
{
	return t->result == NULL ? rank : t->result[rank];
}

#endif
