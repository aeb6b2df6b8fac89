/*
 * order.h -- in which order an epoch visits the sequences of a sealed domain.
 *
 * Each partition is cut into blocks of `block` consecutive ordinals, the last one shorter: what is
 * read at once. There are three orders (enum mix_shuffle), each without a table of sequences.
 *
 * BLOCK. Blocks are numbered by dealing the partitions round robin, one that has ended dropping
 * out:
 *
 *     partition 0: 5 blocks, partition 1: 2 blocks  ->  0/0 1/0 0/1 1/1 0/2 0/3 0/4
 *
 * A permutation of the block numbers, keyed by (seed, domain, epoch), puts them in the order of the
 * epoch. `window` neighbours in that order are a window; the sequences of a window are permuted
 * together, keyed by the window's number too. Position t of the epoch is thus a window and a place
 * in it: reading is sequential within a block, and memory is one window a domain.
 *
 * FULL. A permutation of all sequences, keyed by (seed, domain, epoch), those of partition 0 coming
 * first before it. Of one partition position t is ordinal permutation_at(t): the vectors of
 * tests/vectors/permutation.tsv. Each position may be in any block.
 *
 * NONE. Sequences as they stand, in every epoch: 0, 1, 2, ... of one partition. Several take turns,
 * a sequence each, one that has ended dropping out: as in the first pass of a live domain
 * (cursor.h), and because the files of an input are dealt to them in turn.
 *
 *     partition 0: 4 sequences, partition 1: 2  ->  0/0 1/0  0/1 1/1  0/2 0/3    partition/ordinal
 *
 * Thread: a struct order is constant between order_restart() calls.
 */
#ifndef COMMON_SCHEDULE_ORDER_H
#define COMMON_SCHEDULE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/schedule/mix_rules.h"
#include "common/schedule/permutation.h"

enum {
	ORDER_BLOCK_TOKENS = 1 << 20, /* a block holds about this many tokens, */
	ORDER_BLOCK_MAX = 512,        /* and at most this many sequences */
	ORDER_WINDOW_MAX = 16,        /* blocks */
	ORDER_PARTITIONS_MAX = 4096,
};

/*
 * Largest power of two of at most ORDER_BLOCK_TOKENS / sequence_length, within 1..ORDER_BLOCK_MAX.
 */
uint32_t order_block_sequences(uint32_t sequence_length);

struct order; /* owns its memory */

struct order_rule {
	enum mix_shuffle shuffle;
	uint32_t block;  /* sequences of a whole one */
	uint32_t window; /* blocks; BLOCK alone has windows */
};

struct order_block {
	uint32_t partition;
	uint64_t first; /* first ordinal */
	uint32_t count; /* sequences */
};

/*
 * A stretch of positions whose places are quickly found, as a value. BLOCK: the blocks of a window,
 * and the permutation of its sequences. FULL: the whole epoch. NONE: rounds in which the same
 * partitions take turns.
 */
struct order_window {
	uint64_t number;
	uint64_t first; /* position of its first place */
	uint64_t count; /* sequences */
	uint32_t blocks_n;
	struct order_block block[ORDER_WINDOW_MAX]; /* [blocks_n] of BLOCK */
	struct permutation shuffle;
};

struct order_place {
	uint64_t ordinal;
	struct order_block block; /* that holds it */
};

/*
 * Gives *out, to be ended with order_close(). sequences[i] is the length of partition i; `key` is
 * permutation_key(domain name, seed). Stands at epoch 0.
 */
enum fail_code order_open(struct order **out, const uint64_t *sequences, size_t partitions_n,
    const struct order_rule *rule, uint64_t key, struct failure *f);
void order_close(struct order *o); /* NULL is accepted */

/* Goes to the order of another epoch, of the same lengths. */
void order_restart(struct order *o, uint64_t epoch);

/* Sequences of an epoch, over all partitions. */
uint64_t order_length(const struct order *o);

/* The window that holds `position` < order_length(). Costs O(partitions). */
void order_window_at(const struct order *o, uint64_t position, struct order_window *out);

/*
 * The place of `position`, which lies in the window. Costs O(1); FULL O(log partitions), NONE
 * O(partitions).
 */
struct order_place order_place_at(
    const struct order *o, const struct order_window *w, uint64_t position);

/*
 * The position of a sequence, of which its partition has `ordinal` < sequences: the inverse of the
 * two above. Costs O(partitions).
 */
uint64_t order_position_of(const struct order *o, uint32_t partition, uint64_t ordinal);

#endif
