#include "producer/bpe/piece_cache.h"

#include <string.h>

#include "producer/bpe/table_memory.h"

_Static_assert(sizeof(struct piece_entry) == 32, "two entries share a cache line");

#define ALL    UINT64_MAX
#define LOW(n) ((UINT64_C(1) << 8 * (n)) - 1)

const uint64_t piece_key_mask[2][PIECE_CACHE_KEY_MAX + 1] = {
    {0, LOW(1), LOW(2), LOW(3), LOW(4), LOW(5), LOW(6), LOW(7), ALL, ALL, ALL, ALL, ALL, ALL, ALL,
	ALL},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, LOW(1), LOW(2), LOW(3), LOW(4), LOW(5), LOW(6), LOW(7)},
};

static size_t
entries(const struct piece_cache *c)
{
	return (size_t)2 << (64 - c->shift);
}

static size_t
table_bytes(const struct piece_cache *c)
{
	return entries(c) * sizeof(*c->entry);
}

enum fail_code
piece_cache_open(struct piece_cache *c, struct failure *f)
{
	c->entry = table_memory(PIECE_CACHE_ENTRIES_MIN * sizeof(*c->entry));
	if (c->entry == NULL)
		return fail_memory(f);
	c->shift = 64 - (unsigned)__builtin_ctz(PIECE_CACHE_ENTRIES_MIN / 2);
	c->used = 0;
	assert(entries(c) == PIECE_CACHE_ENTRIES_MIN);
	return FAIL_NONE;
}

void
piece_cache_close(struct piece_cache *c)
{
	if (c->entry != NULL)
		table_memory_free(c->entry, table_bytes(c));
	c->entry = NULL;
}

/*
 * A free entry of either line is taken. Without one the new piece goes first, the one that was
 * first goes second, and the second is forgotten. In the neighbour the second entry is taken first:
 * so the pieces whose own line that is find their first entry free for longer.
 */
static void
insert(struct piece_cache *c, const struct piece_entry *new)
{
	size_t line = piece_cache_line(c, new->key);
	struct piece_entry *e = &c->entry[line], *aside = &c->entry[line ^ 2];
	struct piece_entry *free_one = e[0].key.high == 0       ? &e[0]
				       : e[1].key.high == 0     ? &e[1]
				       : aside[1].key.high == 0 ? &aside[1]
				       : aside[0].key.high == 0 ? &aside[0]
								: NULL;

	if (free_one != NULL) {
		*free_one = *new;
		c->used++;
		assert(c->used <= entries(c));
		return;
	}
	e[1] = e[0];
	e[0] = *new;
}

void
piece_cache_put(struct piece_cache *c, struct piece_key key, const uint32_t *id, size_t n)
{
	struct piece_entry new = {.key = key};
	uint32_t ids[PIECE_CACHE_IDS_MAX] = {0};

	assert(n > 0 && n <= PIECE_CACHE_IDS_MAX);
	assert(key.high >> 56 != 0);
	memcpy(ids, id, n * sizeof(*id));
	assert(ids[3] >> 24 == 0);
	new.ids_low = ids[0] | (uint64_t)ids[1] << 32;
	new.ids_high = ids[2] | (uint64_t)ids[3] << 32 | (uint64_t)n << 56;
	insert(c, &new);
}

void
piece_cache_grow(struct piece_cache *c)
{
	struct piece_cache larger = {.shift = c->shift - 1};

	if (c->used * 2 < entries(c) || entries(c) >= PIECE_CACHE_ENTRIES_MAX)
		return;
	larger.entry = table_memory(table_bytes(&larger));
	if (larger.entry == NULL)
		return; /* the old one stays, and forgets more */
	for (size_t i = 0; i < entries(c); i++)
		if (c->entry[i].key.high != 0)
			insert(&larger, &c->entry[i]);
	table_memory_free(c->entry, table_bytes(c));
	*c = larger;
}
