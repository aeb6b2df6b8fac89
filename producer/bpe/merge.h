/*
 * merge.h -- byte-pair encoding of one piece: from its bytes to token ids.
 *
 * The room producer/bpe/ has the tables of a tokenizer and what works on one piece of text by them.
 * A piece is what producer/pretokenizer/ has cut out of a text; producer/encoder/ decides which
 * pieces come here at all.
 *
 * Files of this room:
 *     merge         merges a piece, or several in turn
 *     pair_table    which token two neighbouring tokens merge to
 *     symbols       what merging begins with, where not every byte is a token
 *     vocabulary    the bytes of every token, and from bytes back to the token
 *     piece_cache   the ids of short pieces that came before
 *     long_cache    the ids of longer pieces that came before
 *     table_memory  memory for tables that are read at random places
 *     bytes_hash    a hash of a few bytes
 *
 *     piece -> piece_cache -> long_cache -> vocabulary -> symbols -> merge -> ids
 *                  |              |         a token as     |      by pair_table
 *                  +- found: ids  +- ids    a whole: id    +- or the ids of its bytes
 *
 * The rule. A piece begins as one token a byte (or a character, see symbols.h). Two neighbours that
 * are a token together may merge, and the rank says who goes first: the pair with the lowest rank
 * merges, the leftmost of several with that rank, until no neighbours are a token together. There
 * is one right answer, and both ways below find it. Example with the ranks xx 1, xxx 2, xxxx 3:
 *
 *     x x x x x     four pairs of rank 1; the leftmost one merges
 *     xx x x x      ranks 2 1 1: the lowest is 1, and the left one of the two merges
 *     xx xx x       ranks 3 2: xxx goes before xxxx, although xxxx is further left
 *     xx xxx        these two are no token together: done
 *
 * Why two ways. Nearly all pieces are words of a few bytes, and nearly all of the time goes into
 * waiting for the pair table's memory. So short pieces (up to MERGE_SHORT_MAX bytes) are kept in
 * small arrays, the lowest pair is found by looking at all of them, and several pieces are worked
 * on in turn, so that one is worked on while the memory of another one is on its way. Looking at
 * all pairs for each merge takes time by the square of the length, though: a piece of a million
 * letters without a space, as base64 or DNA, would take hours. Long pieces keep the pairs that wait
 * in a bucket for each rank, and take n log n time at most; that costs more for each merge.
 *
 * Invariant: both give the same ids, and so does every order in which pieces come.
 *
 * Thread: a scratch belongs to one thread; tables are immutable and shared.
 */
#ifndef PRODUCER_BPE_MERGE_H
#define PRODUCER_BPE_MERGE_H

#include "producer/bpe/pair_table.h"

enum {
	MERGE_SHORT_MAX = 128,    /* bytes of a piece that small arrays are used for */
	MERGE_KEPT_MAX = 1 << 20, /* bytes: scratch memory for longer pieces is freed after each */
};

struct merge_scratch;

/*
 * `ranks` is one more than the highest rank of the table. Gives *out, to be ended with
 * merge_scratch_close(). FAIL_MEMORY only.
 */
enum fail_code merge_scratch_open(struct merge_scratch **out, uint32_t ranks, struct failure *f);
void merge_scratch_close(struct merge_scratch *s); /* NULL is accepted */

/*
 * A piece to merge, and where its ids go: the caller owns both, and has room for n ids. Either
 * `piece` holds n > 0 bytes, each of which has an id of its own; or `piece` is NULL, and id[n]
 * holds the tokens that merging begins with.
 */
struct merge_item {
	const uint8_t *piece;
	uint32_t *id;
	uint32_t n;
	uint32_t count; /* of ids: the result */
};

/*
 * Merges all of item[items_n], and sets their `id` and `count`. FAIL_MEMORY only, and only for
 * pieces over MERGE_SHORT_MAX; then no item counts.
 */
enum fail_code merge_items(const struct pair_table *t, struct merge_scratch *s,
    struct merge_item *item, size_t items_n, struct failure *f);

/* Pairs taken out of buckets since the scratch was opened: measures the work done, for tests. */
uint64_t merge_scratch_work(const struct merge_scratch *s);

#endif
