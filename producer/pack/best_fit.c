#include "producer/pack/best_fit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 4, WORD_BITS = 64, NO_BIN = UINT16_MAX };

struct best_fit {
	uint32_t capacity;
	uint16_t *newest; /* [capacity + 1]: by room, the bin that came to have it last */
	/* level[0] has a bit a room; each further one a bit a word of the one before, that it is
	 * not 0. The last one is a single word. */
	uint64_t *level[LEVELS];
	size_t words[LEVELS];
	uint64_t key[BEST_FIT_ITEMS_MAX]; /* longest first, then by index */
	uint32_t room[BEST_FIT_ITEMS_MAX];
	uint16_t older[BEST_FIT_ITEMS_MAX]; /* by bin, the next one with the same room */
};

enum fail_code
best_fit_open(struct best_fit **out, uint32_t capacity, struct failure *f)
{
	struct best_fit *b = calloc(1, sizeof(*b));
	size_t words = (size_t)capacity + 1;

	assert(capacity >= 1 && capacity <= BEST_FIT_CAPACITY_MAX);
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
	best_fit_close(b);
	return fail_memory(f);
}

void
best_fit_close(struct best_fit *b)
{
	if (b == NULL)
		return;
	for (int i = 0; i < LEVELS; i++)
		free(b->level[i]);
	free(b->newest);
	free(b);
}

static void
push(struct best_fit *b, uint16_t bin)
{
	uint32_t at = b->room[bin];

	b->older[bin] = b->newest[at];
	b->newest[at] = bin;
	for (int i = 0; i < LEVELS; i++, at /= WORD_BITS)
		b->level[i][at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

/* Takes out the newest bin with this room; there is one. */
static uint16_t
pop(struct best_fit *b, uint32_t at)
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

/* The least room, at least `room`, that some bin has; over the capacity: none has. */
static uint32_t
find(const struct best_fit *b, uint32_t room)
{
	uint32_t at = room;
	uint64_t behind = 0;
	int i;

	/* Up until a word has a bit at `at` or behind it... */
	for (i = 0; i < LEVELS && at / WORD_BITS < b->words[i]; i++) {
		behind = b->level[i][at / WORD_BITS] >> at % WORD_BITS;
		if (behind != 0)
			break;
		at = at / WORD_BITS + 1;
	}
	if (behind == 0)
		return b->capacity + 1;
	/* ...and down along the first bits. */
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
best_fit_assign(struct best_fit *b, const uint32_t *length, size_t n, uint32_t *bin)
{
	size_t bins_n = 0;

	assert(n <= BEST_FIT_ITEMS_MAX);
	for (size_t i = 0; i < n; i++) {
		assert(length[i] >= 1 && length[i] <= b->capacity);
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
	for (size_t i = 0; i < bins_n; i++) /* empties the lists, whichever bin comes out */
		pop(b, b->room[i]);
	return bins_n;
}
