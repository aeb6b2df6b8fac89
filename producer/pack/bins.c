#include "producer/pack/bins.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 4, WORD_BITS = 64, NO_BIN = UINT16_MAX };

/*
 * Invariant, kept by push() and pop(): the bit of a room is set in level[0] exactly where newest[]
 * has a bin, and the bit of a word is set in the level above exactly where that word is not 0.
 */
struct bins {
	uint32_t capacity;
	uint16_t
	    *newest; /* [capacity + 1]: by room, the bin that came to have it last, or NO_BIN */
	uint64_t *level[LEVELS]; /* the bitmaps, each [words]; the last one is a single word */
	size_t words[LEVELS];
	uint64_t key[BINS_ITEMS_MAX];   /* longest first, then by index */
	uint32_t room[BINS_ITEMS_MAX];  /* by bin */
	uint16_t older[BINS_ITEMS_MAX]; /* by bin, the one that came to have its room before */
};

enum fail_code
bins_open(struct bins **out, uint32_t capacity, struct failure *f)
{
	struct bins *b = calloc(1, sizeof(*b));
	size_t words = (size_t)capacity + 1;

	assert(capacity >= 1);
	assert(capacity <= BINS_CAPACITY_MAX);
	if (b == NULL)
		return fail_memory(f);
	b->capacity = capacity;
	b->newest = malloc(words * sizeof(*b->newest));
	if (b->newest == NULL)
		goto failed;
	memset(b->newest, 0xff, words * sizeof(*b->newest));
	for (int i = 0; i < LEVELS; i++) {
		words = (words + WORD_BITS - 1) / WORD_BITS;
		b->words[i] = words;
		b->level[i] = calloc(words, sizeof(*b->level[i]));
		if (b->level[i] == NULL)
			goto failed;
	}
	assert(words == 1);
	*out = b;
	return FAIL_NONE;
failed:
	bins_close(b);
	return fail_memory(f);
}

void
bins_close(struct bins *b)
{
	if (b == NULL)
		return;
	for (int i = 0; i < LEVELS; i++)
		free(b->level[i]);
	free(b->newest);
	free(b);
}

/* Adds the bin to those of its room, as the newest. */
static void
push(struct bins *b, uint16_t bin)
{
	uint32_t at = b->room[bin];

	assert(at <= b->capacity);
	b->older[bin] = b->newest[at];
	b->newest[at] = bin;
	for (int i = 0; i < LEVELS; i++, at /= WORD_BITS)
		b->level[i][at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

/* Takes out the newest bin with this room; there is one. */
static uint16_t
pop(struct bins *b, uint32_t at)
{
	uint16_t bin = b->newest[at];

	assert(bin != NO_BIN);
	b->newest[at] = b->older[bin];
	if (b->newest[at] != NO_BIN)
		return bin;
	for (int i = 0; i < LEVELS; i++, at /= WORD_BITS) {
		b->level[i][at / WORD_BITS] &= ~(UINT64_C(1) << at % WORD_BITS);
		if (b->level[i][at / WORD_BITS] != 0)
			break;
	}
	return bin;
}

/*
 * The least room, at least `room`, that some bin has; over the capacity: none has.
 *
 * Up: the word of level 0 that holds the bit of `room` is looked at from that bit on. If nothing is
 * set there the next word is the first that can have something: its number is the bit to look from
 * in level 1, and so on. Down: the bit that was found is the number of a word of the level below,
 * and the first bit in that one is the least. Example with 8 bits a word, rooms 5 and 60, room 9:
 *
 *     level 0, word 1 from bit 1: nothing     level 1, word 0 from bit 2: bit 7, that is word 7
 *     level 0, word 7: the first bit is 4     the least room is 7 * 8 + 4 = 60
 */
static uint32_t
find(const struct bins *b, uint32_t room)
{
	uint32_t at = room;
	uint64_t behind = 0;
	int i;

	for (i = 0; i < LEVELS && at / WORD_BITS < b->words[i]; i++) {
		behind = b->level[i][at / WORD_BITS] >> at % WORD_BITS;
		if (behind != 0)
			break;
		at = at / WORD_BITS + 1;
	}
	if (behind == 0)
		return b->capacity + 1;
	at += (uint32_t)__builtin_ctzll(behind);
	while (i-- > 0)
		at = at * WORD_BITS + (uint32_t)__builtin_ctzll(b->level[i][at]);
	return at;
}

static int
compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

size_t
bins_assign(struct bins *b, const uint32_t *length, size_t n, uint32_t *bin)
{
	size_t bins_n = 0;

	assert(n <= BINS_ITEMS_MAX);
	for (size_t i = 0; i < n; i++) {
		assert(length[i] >= 1);
		assert(length[i] <= b->capacity);
		b->key[i] = (uint64_t)(b->capacity - length[i]) << 32 | i;
	}
	qsort(b->key, n, sizeof(*b->key), compare_keys);
	for (size_t i = 0; i < n; i++) {
		uint32_t item = (uint32_t)b->key[i], room = find(b, length[item]);
		uint16_t to = room <= b->capacity ? pop(b, room) : (uint16_t)bins_n;

		if (to == bins_n)
			b->room[bins_n++] = b->capacity;
		b->room[to] -= length[item];
		push(b, to);
		bin[item] = to;
	}
	/*
	 * Empties the lists. A pop may give another bin of that room, but every bin is given once.
	 * 
	 */
	for (size_t i = 0; i < bins_n; i++)
		pop(b, b->room[i]);
	return bins_n;
}
