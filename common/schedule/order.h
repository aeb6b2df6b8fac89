/*
 * order.h -- in which order an epoch visits the sequences of a sealed domain.
 *
 * Each partition is cut into blocks of `block` consecutive ordinals, the last one shorter. Blocks
 * are numbered by dealing the partitions round robin, one that has ended dropping out:
 *
 *     partition 0: 5 blocks, partition 1: 2 blocks  ->  0/0 1/0 0/1 1/1 0/2 0/3 0/4
 *
 * A permutation of the block numbers, keyed by (seed, domain, epoch), puts them in the order of the
 * epoch. `window` neighbours in that order are a window; the sequences of a window are permuted
 * together, keyed by the window's number too. Position t of the epoch is thus a window and a place
 * in it: reading is sequential within a block, and memory is one window a domain.
 *
 * Thread: a struct order is constant between order_restart() calls.
 */
#ifndef COMMON_SCHEDULE_ORDER_H
#define COMMON_SCHEDULE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
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

struct order_block {
	uint32_t partition;
	uint64_t first; /* first ordinal */
	uint32_t count; /* sequences */
};

/* A value: the blocks of one window, and the permutation of its sequences. */
struct order_window {
	uint64_t number;
	uint64_t first; /* position of its first place */
	uint64_t count; /* sequences */
	uint32_t blocks_n;
	struct order_block block[ORDER_WINDOW_MAX];
	struct permutation shuffle;
};

struct order_place {
	uint32_t block; /* index in the window's blocks */
	uint32_t slot;  /* index in the block */
	uint32_t partition;
	uint64_t ordinal;
};

/*
 * Gives *out, to be ended with order_close(). sequences[i] is the length of partition i; `key` is
 * permutation_key(domain name, seed). Stands at epoch 0.
 */
enum fail_code order_open(struct order **out, const uint64_t *sequences, size_t partitions_n,
    uint32_t block, uint32_t window, uint64_t key, struct failure *f);
void order_close(struct order *o); /* NULL is accepted */

/* Goes to the order of another epoch, of the same lengths. */
void order_restart(struct order *o, uint64_t epoch);

/* Sequences of an epoch, over all partitions. */
uint64_t order_length(const struct order *o);

/* The window that holds `position` < order_length(). Costs O(partitions). */
void order_window_at(const struct order *o, uint64_t position, struct order_window *out);

/* The place of `position`, which lies in the window. O(1). */
struct order_place order_place_at(const struct order_window *w, uint64_t position);

/*
 * The position of a sequence, of which its partition has `ordinal` < sequences: the inverse of the
 * two above. Costs O(partitions).
 */
uint64_t order_position_of(const struct order *o, uint32_t partition, uint64_t ordinal);

#endif
