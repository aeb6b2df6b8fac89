/*
 * How a window is found without a table of blocks. A corpus has millions of blocks and a domain's
 * order is held for each of thousands of domains, so that memory is one entry a partition:
 *
 * - Which block has number N of the deal? After r rounds the deal has handed out the sum of
 *   min(blocks of p, r) over the partitions (dealt()), which grows with r: bisection finds the
 *   round of N, and counting the partitions that still have a block there finds N's place in it.
 * - At which position does a window start? All blocks are of one length but the last of each
 *   partition. Those short ones are kept in the order of their places in the epoch (`odd`): a start
 *   is (blocks before it) * block, less what the short ones among them lack.
 */
#include "common/schedule/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct short_block {
	uint64_t number;  /* among the dealt blocks */
	uint64_t place;   /* in the order of the epoch */
	uint32_t missing; /* sequences that a whole block has more */
};

struct order {
	uint32_t block, window; /* sequences of a block, blocks of a window */
	uint64_t key, epoch;
	uint64_t length, blocks;    /* of the epoch: sequences, blocks */
	struct permutation shuffle; /* of block numbers */
	size_t partitions_n;
	uint64_t *sequences;     /* [partitions_n] */
	struct short_block *odd; /* [odd_n], by place */
	size_t odd_n;
};

uint32_t
order_block_sequences(uint32_t sequence_length)
{
	uint32_t block = ORDER_BLOCK_MAX;

	assert(sequence_length >= 1);
	while (block > 1 && (uint64_t)block * sequence_length > ORDER_BLOCK_TOKENS)
		block /= 2;
	return block;
}

static uint64_t
blocks_of(const struct order *o, size_t partition)
{
	return (o->sequences[partition] + o->block - 1) / o->block;
}

/* Blocks that the first `rounds` rounds of dealing hand out. */
static uint64_t
dealt(const struct order *o, uint64_t rounds)
{
	uint64_t sum = 0;

	for (size_t p = 0; p < o->partitions_n; p++) {
		uint64_t n = blocks_of(o, p);

		sum += n < rounds ? n : rounds;
	}
	return sum;
}

/* The number that the deal gives to block `round` of `partition`. */
static uint64_t
number_of(const struct order *o, size_t partition, uint64_t round)
{
	uint64_t number = dealt(o, round);

	for (size_t p = 0; p < partition; p++)
		number += blocks_of(o, p) > round;
	return number;
}

/* The inverse of number_of(). */
static struct order_block
block_numbered(const struct order *o, uint64_t number)
{
	uint64_t low = 0, high = o->blocks;
	struct order_block b;
	size_t p = 0;

	if (o->partitions_n == 1)
		low = number;
	else
		while (low + 1 < high) { /* the last round that starts at or before number */
			uint64_t middle = low + (high - low) / 2;

			if (dealt(o, middle) <= number)
				low = middle;
			else
				high = middle;
		}
	for (uint64_t skip = o->partitions_n == 1 ? 0 : number - dealt(o, low);; p++) {
		assert(p < o->partitions_n);
		if (blocks_of(o, p) > low && skip-- == 0)
			break;
	}
	b.partition = (uint32_t)p;
	b.first = low * o->block;
	b.count =
	    o->sequences[p] - b.first < o->block ? (uint32_t)(o->sequences[p] - b.first) : o->block;
	return b;
}

static int
by_place(const void *a, const void *b)
{
	const struct short_block *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

void
order_restart(struct order *o, uint64_t epoch)
{
	o->epoch = epoch;
	if (o->blocks == 0)
		return;
	permutation_init(&o->shuffle, o->blocks, o->key, epoch);
	for (size_t i = 0; i < o->odd_n; i++)
		o->odd[i].place = permutation_where(&o->shuffle, o->odd[i].number);
	qsort(o->odd, o->odd_n, sizeof(*o->odd), by_place);
}

enum fail_code
order_open(struct order **out, const uint64_t *sequences, size_t partitions_n, uint32_t block,
    uint32_t window, uint64_t key, struct failure *f)
{
	struct order *o = calloc(1, sizeof(*o));

	assert(partitions_n >= 1 && partitions_n <= ORDER_PARTITIONS_MAX);
	assert(block >= 1);
	assert(window >= 1 && window <= ORDER_WINDOW_MAX);
	if (o == NULL)
		return fail_memory(f);
	o->block = block;
	o->window = window;
	o->key = key;
	o->partitions_n = partitions_n;
	o->sequences = calloc(partitions_n, sizeof(*o->sequences));
	o->odd = calloc(partitions_n, sizeof(*o->odd));
	if (o->sequences == NULL || o->odd == NULL) {
		order_close(o);
		return fail_memory(f);
	}
	memcpy(o->sequences, sequences, partitions_n * sizeof(*sequences));
	for (size_t p = 0; p < partitions_n; p++) {
		o->length += sequences[p];
		o->blocks += blocks_of(o, p);
	}
	for (size_t p = 0; p < partitions_n; p++) {
		if (sequences[p] % block == 0)
			continue;
		o->odd[o->odd_n].number = number_of(o, p, blocks_of(o, p) - 1);
		o->odd[o->odd_n++].missing = block - (uint32_t)(sequences[p] % block);
	}
	order_restart(o, 0);
	*out = o;
	return FAIL_NONE;
}

void
order_close(struct order *o)
{
	if (o == NULL)
		return;
	free(o->sequences);
	free(o->odd);
	free(o);
}

uint64_t
order_length(const struct order *o)
{
	return o->length;
}

/* Position at which window `number` starts: whole blocks before it, less what short ones lack. */
static uint64_t
window_start(const struct order *o, uint64_t number)
{
	uint64_t place = number * o->window, start;

	if (place > o->blocks)
		place = o->blocks;
	start = place * o->block;
	for (size_t i = 0; i < o->odd_n && o->odd[i].place < place; i++)
		start -= o->odd[i].missing;
	return start;
}

void
order_window_at(const struct order *o, uint64_t position, struct order_window *out)
{
	uint64_t number = position / ((uint64_t)o->block * o->window), key;

	assert(position < o->length);
	/* Were all blocks whole it would be this window; short ones move it to a later one. */
	while (window_start(o, number + 1) <= position)
		number++;
	out->number = number;
	out->first = window_start(o, number);
	out->count = window_start(o, number + 1) - out->first;
	out->blocks_n = 0;
	for (uint64_t place = number * o->window; place < o->blocks && out->blocks_n < o->window;
	     place++)
		out->block[out->blocks_n++] = block_numbered(o, permutation_at(&o->shuffle, place));
	assert(out->blocks_n >= 1);
	assert(position - out->first < out->count);
	key = permutation_subkey(o->key, number + 1);
	permutation_init(&out->shuffle, out->count, key, o->epoch);
}

struct order_place
order_place_at(const struct order_window *w, uint64_t position)
{
	uint64_t slot;
	struct order_place place;

	assert(position >= w->first && position - w->first < w->count);
	slot = permutation_at(&w->shuffle, position - w->first);
	place.block = 0;
	while (slot >= w->block[place.block].count)
		slot -= w->block[place.block++].count;
	place.slot = (uint32_t)slot;
	place.partition = w->block[place.block].partition;
	place.ordinal = w->block[place.block].first + slot;
	return place;
}

/*
 *     ordinal --> its block --number_of()--> among the dealt --permutation--> place in the epoch
 *             --> its window, and the slot there --permutation of the window--> position
 */
uint64_t
order_position_of(const struct order *o, uint32_t partition, uint64_t ordinal)
{
	uint64_t number, place, slot = ordinal % o->block;
	struct order_window w;

	assert(partition < o->partitions_n);
	assert(ordinal < o->sequences[partition]);
	number = number_of(o, partition, ordinal / o->block);
	place = permutation_where(&o->shuffle, number);
	order_window_at(o, window_start(o, place / o->window), &w);
	for (uint32_t i = 0; i < place % o->window; i++)
		slot += w.block[i].count;
	assert(w.block[place % o->window].partition == partition);
	return w.first + permutation_where(&w.shuffle, slot);
}
