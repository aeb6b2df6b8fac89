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
 *
 * The other two orders need an entry a partition, too: FULL the number of its first sequence, NONE
 * the position from which on one partition fewer takes turns.
 */
#include "common/schedule/order.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct short_block {
	uint64_t number;  /* among the dealt blocks */
	uint64_t place;   /* in the order of the epoch */
	uint32_t missing; /* sequences that a whole block has more */
};

/* Of NONE: rounds from `round` on, which begin at position `first`, in which so many take turns. */
struct turns {
	uint64_t first, round;
	size_t partitions_n;
};

struct order {
	struct order_rule rule;
	uint64_t key, epoch;
	uint64_t length, blocks;    /* of the epoch: sequences, blocks */
	struct permutation shuffle; /* BLOCK: of block numbers; FULL: of sequences */
	size_t partitions_n;
	uint64_t *sequences;     /* [partitions_n] */
	struct short_block *odd; /* BLOCK: [odd_n], by place */
	size_t odd_n;
	uint64_t *first;     /* FULL: [partitions_n], sequences of those before */
	struct turns *turns; /* NONE: [turns_n], by position */
	size_t turns_n;
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

/* ---- dealing ---- */

/* What a partition is dealt in: blocks, or sequences where they stay as they stand. */
static uint64_t
pieces_of(const struct order *o, size_t partition)
{
	uint64_t piece = o->rule.shuffle == MIX_SHUFFLE_NONE ? 1 : o->rule.block;

	return (o->sequences[partition] + piece - 1) / piece;
}

/* Pieces that the first `rounds` rounds of dealing hand out. */
static uint64_t
dealt(const struct order *o, uint64_t rounds)
{
	uint64_t sum = 0;

	for (size_t p = 0; p < o->partitions_n; p++) {
		uint64_t n = pieces_of(o, p);

		sum += n < rounds ? n : rounds;
	}
	return sum;
}

/* The number that the deal gives to piece `round` of `partition`. */
static uint64_t
number_of(const struct order *o, size_t partition, uint64_t round)
{
	uint64_t number = dealt(o, round);

	for (size_t p = 0; p < partition; p++)
		number += pieces_of(o, p) > round;
	return number;
}

/* The block that holds an ordinal. */
static struct order_block
block_at(const struct order *o, size_t partition, uint64_t ordinal)
{
	uint64_t first = ordinal - ordinal % o->rule.block;
	uint64_t rest = o->sequences[partition] - first;

	assert(ordinal < o->sequences[partition]);
	return (struct order_block){
	    .partition = (uint32_t)partition,
	    .first = first,
	    .count = rest < o->rule.block ? (uint32_t)rest : o->rule.block,
	};
}

/* The inverse of number_of(), of blocks. */
static struct order_block
block_numbered(const struct order *o, uint64_t number)
{
	uint64_t low = 0, high = o->blocks;
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
		if (pieces_of(o, p) > low && skip-- == 0)
			break;
	}
	return block_at(o, p, low * o->rule.block);
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
	bool full = o->rule.shuffle == MIX_SHUFFLE_FULL;

	o->epoch = epoch;
	if (o->blocks == 0)
		return;
	permutation_init(&o->shuffle, full ? o->length : o->blocks, o->key, epoch);
	for (size_t i = 0; i < o->odd_n; i++)
		o->odd[i].place = permutation_where(&o->shuffle, o->odd[i].number);
	if (o->odd_n > 0)
		qsort(o->odd, o->odd_n, sizeof(*o->odd), by_place);
}

static void
find_odd(struct order *o)
{
	for (size_t p = 0; p < o->partitions_n; p++) {
		uint32_t rest = (uint32_t)(o->sequences[p] % o->rule.block);

		if (rest == 0)
			continue;
		o->odd[o->odd_n].number = number_of(o, p, pieces_of(o, p) - 1);
		o->odd[o->odd_n++].missing = o->rule.block - rest;
	}
}

static void
find_first(struct order *o)
{
	for (size_t p = 1; p < o->partitions_n; p++)
		o->first[p] = o->first[p - 1] + o->sequences[p - 1];
}

static int
by_round(const void *a, const void *b)
{
	const struct turns *x = a, *y = b;

	return (x->round > y->round) - (x->round < y->round);
}

/*
 * Partitions of 4, 0, 2 and 4 sequences end in rounds 0, 2, 4, 4: three take turns in rounds 0 and
 * 1, two in 2 and 3.
 */
static void
find_turns(struct order *o)
{
	uint64_t first = 0, round = 0;

	for (size_t p = 0; p < o->partitions_n; p++)
		o->turns[p].round = o->sequences[p];
	qsort(o->turns, o->partitions_n, sizeof(*o->turns), by_round);
	for (size_t p = 0; p < o->partitions_n; p++) {
		uint64_t end = o->turns[p].round;
		size_t left = o->partitions_n - p;

		if (end == round)
			continue;
		o->turns[o->turns_n++] = (struct turns){first, round, left};
		first += (end - round) * left;
		round = end;
	}
	assert(first == o->length);
}

enum fail_code
order_open(struct order **out, const uint64_t *sequences, size_t partitions_n,
    const struct order_rule *rule, uint64_t key, struct failure *f)
{
	struct order *o = calloc(1, sizeof(*o));

	assert(partitions_n >= 1 && partitions_n <= ORDER_PARTITIONS_MAX);
	assert(rule->block >= 1);
	assert(rule->window >= 1 && rule->window <= ORDER_WINDOW_MAX);
	if (o == NULL)
		return fail_memory(f);
	o->rule = *rule;
	o->key = key;
	o->partitions_n = partitions_n;
	o->sequences = calloc(partitions_n, sizeof(*o->sequences));
	if (o->sequences == NULL)
		goto failed;
	memcpy(o->sequences, sequences, partitions_n * sizeof(*sequences));
	for (size_t p = 0; p < partitions_n; p++) {
		o->length += sequences[p];
		o->blocks += (sequences[p] + rule->block - 1) / rule->block;
	}
	switch (rule->shuffle) {
	case MIX_SHUFFLE_BLOCK:
		if ((o->odd = calloc(partitions_n, sizeof(*o->odd))) == NULL)
			goto failed;
		find_odd(o);
		break;
	case MIX_SHUFFLE_FULL:
		if ((o->first = calloc(partitions_n, sizeof(*o->first))) == NULL)
			goto failed;
		find_first(o);
		break;
	case MIX_SHUFFLE_NONE:
		if ((o->turns = calloc(partitions_n, sizeof(*o->turns))) == NULL)
			goto failed;
		find_turns(o);
		break;
	}
	order_restart(o, 0);
	*out = o;
	return FAIL_NONE;
failed:
	order_close(o);
	return fail_memory(f);
}

void
order_close(struct order *o)
{
	if (o == NULL)
		return;
	free(o->sequences);
	free(o->odd);
	free(o->first);
	free(o->turns);
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
	uint64_t place = number * o->rule.window, start;

	if (place > o->blocks)
		place = o->blocks;
	start = place * o->rule.block;
	for (size_t i = 0; i < o->odd_n && o->odd[i].place < place; i++)
		start -= o->odd[i].missing;
	return start;
}

/* The stretch of rounds that holds `position`: the last one that begins at or before it. */
static void
turns_at(const struct order *o, uint64_t position, struct order_window *out)
{
	size_t low = 0, high = o->turns_n;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (o->turns[middle].first <= position)
			low = middle;
		else
			high = middle;
	}
	out->number = low;
	out->first = o->turns[low].first;
	out->count = (low + 1 < o->turns_n ? o->turns[low + 1].first : o->length) - out->first;
}

static void
blocks_at(const struct order *o, uint64_t position, struct order_window *out)
{
	uint64_t number = position / ((uint64_t)o->rule.block * o->rule.window), key;

	/* Were all blocks whole it would be this window; short ones move it to a later one. */
	while (window_start(o, number + 1) <= position)
		number++;
	out->number = number;
	out->first = window_start(o, number);
	out->count = window_start(o, number + 1) - out->first;
	for (uint64_t place = number * o->rule.window;
	     place < o->blocks && out->blocks_n < o->rule.window; place++)
		out->block[out->blocks_n++] = block_numbered(o, permutation_at(&o->shuffle, place));
	assert(out->blocks_n >= 1);
	key = permutation_subkey(o->key, number + 1);
	permutation_init(&out->shuffle, out->count, key, o->epoch);
}

void
order_window_at(const struct order *o, uint64_t position, struct order_window *out)
{
	assert(position < o->length);
	out->blocks_n = 0;
	switch (o->rule.shuffle) {
	case MIX_SHUFFLE_BLOCK: blocks_at(o, position, out); break;
	case MIX_SHUFFLE_FULL:
		out->number = out->first = 0;
		out->count = o->length;
		break;
	case MIX_SHUFFLE_NONE: turns_at(o, position, out); break;
	}
	assert(position - out->first < out->count);
}

/* ---- places ---- */

static struct order_place
block_place(const struct order_window *w, uint64_t position)
{
	uint64_t slot = permutation_at(&w->shuffle, position - w->first);
	const struct order_block *b = w->block;

	while (slot >= b->count)
		slot -= b++->count;
	return (struct order_place){.ordinal = b->first + slot, .block = *b};
}

static struct order_place
full_place(const struct order *o, uint64_t position)
{
	uint64_t number = permutation_at(&o->shuffle, position), ordinal;
	size_t low = 0, high = o->partitions_n;

	while (low + 1 < high) { /* the last one that begins at or before it has it */
		size_t middle = low + (high - low) / 2;

		if (o->first[middle] <= number)
			low = middle;
		else
			high = middle;
	}
	ordinal = number - o->first[low];
	return (struct order_place){.ordinal = ordinal, .block = block_at(o, low, ordinal)};
}

static struct order_place
turn_place(const struct order *o, const struct order_window *w, uint64_t position)
{
	const struct turns *t = &o->turns[w->number];
	uint64_t ordinal = t->round + (position - w->first) / t->partitions_n;
	uint64_t skip = (position - w->first) % t->partitions_n;
	size_t p = 0;

	for (;; p++) {
		assert(p < o->partitions_n);
		if (o->sequences[p] > t->round && skip-- == 0)
			break;
	}
	return (struct order_place){.ordinal = ordinal, .block = block_at(o, p, ordinal)};
}

struct order_place
order_place_at(const struct order *o, const struct order_window *w, uint64_t position)
{
	assert(position >= w->first && position - w->first < w->count);
	switch (o->rule.shuffle) {
	case MIX_SHUFFLE_BLOCK: return block_place(w, position);
	case MIX_SHUFFLE_FULL: return full_place(o, position);
	case MIX_SHUFFLE_NONE: return turn_place(o, w, position);
	}
	abort(); /* unreachable */
}

/*
 *     ordinal --> its block --number_of()--> among the dealt --permutation--> place in the epoch
 *             --> its window, and the slot there --permutation of the window--> position
 */
static uint64_t
block_position(const struct order *o, uint32_t partition, uint64_t ordinal)
{
	uint64_t number, place, slot = ordinal % o->rule.block;
	struct order_window w;

	number = number_of(o, partition, ordinal / o->rule.block);
	place = permutation_where(&o->shuffle, number);
	order_window_at(o, window_start(o, place / o->rule.window), &w);
	for (uint32_t i = 0; i < place % o->rule.window; i++)
		slot += w.block[i].count;
	assert(w.block[place % o->rule.window].partition == partition);
	return w.first + permutation_where(&w.shuffle, slot);
}

uint64_t
order_position_of(const struct order *o, uint32_t partition, uint64_t ordinal)
{
	assert(partition < o->partitions_n);
	assert(ordinal < o->sequences[partition]);
	switch (o->rule.shuffle) {
	case MIX_SHUFFLE_BLOCK: return block_position(o, partition, ordinal);
	case MIX_SHUFFLE_FULL: return permutation_where(&o->shuffle, o->first[partition] + ordinal);
	case MIX_SHUFFLE_NONE: return number_of(o, partition, ordinal);
	}
	abort(); /* unreachable */
}
