/*
 * merge.h -- byte-pair encoding of one piece.
 *
 * The pair with the lowest rank merges first, the leftmost of several, until no neighbours are a
 * token together. Example with ranks ab 256, bc 257, abc 258: "abc" -> ab c -> abc.
 *
 * Short pieces live in small arrays that are searched through, several pieces in turn, so that the
 * table's answers have time to come from memory (merge_short.c). For long ones (merge_long.c) the
 * pairs that wait are kept in a bucket a rank, ordered by place, and a heap of the ranks in use: a
 * million equal letters are swept a few times from left to right, with no search.
 *
 * Thread: a scratch belongs to one thread.
 */
#ifndef PRODUCER_BPE_MERGE_H
#define PRODUCER_BPE_MERGE_H

#include "producer/bpe/pair_table.h"

enum {
	MERGE_SHORT_MAX = 128,    /* bytes of a piece that small arrays are used for */
	MERGE_KEPT_MAX = 1 << 20, /* scratch for longer pieces is given back after each */
};

struct merge_scratch;

/* `ranks` is one more than the highest. Gives *out, to be ended with merge_scratch_close(). */
enum fail_code merge_scratch_open(struct merge_scratch **out, uint32_t ranks, struct failure *f);
void merge_scratch_close(struct merge_scratch *s); /* NULL is accepted */

/*
 * A piece to merge, n > 0 bytes that all have an id of their own, and where its ids go: there is
 * room for n. `piece` NULL: id[n] holds what the merging begins with.
 */
struct merge_item {
	const uint8_t *piece;
	uint32_t *id;
	uint32_t n;
	uint32_t count; /* of ids, as the result */
};

/* Merges all of item[items_n]. FAIL_MEMORY only, and only for pieces over MERGE_SHORT_MAX. */
enum fail_code merge_items(const struct pair_table *t, struct merge_scratch *s,
    struct merge_item *item, size_t items_n, struct failure *f);

/* The two ways it has: all pieces of item[items_n] up to MERGE_SHORT_MAX; one above it. */
void merge_short(const struct pair_table *t, struct merge_item *item, size_t items_n);
enum fail_code merge_long(const struct pair_table *t, struct merge_scratch *s,
    struct merge_item *item, struct failure *f);

/* Pairs taken out of buckets since the scratch was opened: the work done, for tests. */
uint64_t merge_scratch_steps(const struct merge_scratch *s);

#endif
