#include "producer/bpe/long_cache.h"

#include <assert.h>
#include <string.h>

#include "producer/bpe/bytes_hash.h"
#include "producer/bpe/table_memory.h"

_Static_assert(sizeof(struct long_entry) == 256, "an entry is four cache lines");

static size_t
entries(const struct long_cache *c)
{
	return (size_t)LONG_CACHE_SET << (64 - c->shift);
}

static size_t
table_bytes(const struct long_cache *c)
{
	return entries(c) * sizeof(*c->entry);
}

enum fail_code
long_cache_open(struct long_cache *c, struct failure *f)
{
	c->entry = table_memory(LONG_CACHE_ENTRIES_MIN * sizeof(*c->entry));
	if (c->entry == NULL)
		return fail_memory(f);
	c->shift = 64 - (unsigned)__builtin_ctz(LONG_CACHE_ENTRIES_MIN / LONG_CACHE_SET);
	c->used = 0;
	return FAIL_NONE;
}

void
long_cache_close(struct long_cache *c)
{
	if (c->entry != NULL)
		table_memory_free(c->entry, table_bytes(c));
	c->entry = NULL;
}

static struct long_entry *
set_of(const struct long_cache *c, uint64_t hash)
{
	return &c->entry[(hash >> c->shift) * LONG_CACHE_SET];
}

void
long_cache_prefetch(const struct long_cache *c, uint64_t hash)
{
	const struct long_entry *e = set_of(c, hash);

	for (size_t i = 0; i < LONG_CACHE_SET; i++)
		__builtin_prefetch(&e[i]);
}

const struct long_entry *
long_cache_get(const struct long_cache *c, uint64_t hash, const uint8_t *piece, size_t n)
{
	const struct long_entry *e;

	assert(n > 0);
	if (n > LONG_CACHE_PIECE_MAX)
		return NULL;
	e = set_of(c, hash);
	for (size_t i = 0; i < LONG_CACHE_SET; i++)
		if (e[i].n == n && memcmp(e[i].piece, piece, n) == 0)
			return &e[i];
	return NULL;
}

/* Where a new piece goes: a free entry of its set, else the one whose turn it is. */
static struct long_entry *
place_for(struct long_cache *c, uint64_t hash)
{
	struct long_entry *e = set_of(c, hash);

	for (size_t i = 0; i < LONG_CACHE_SET; i++)
		if (e[i].n == 0) {
			c->used++;
			assert(c->used <= entries(c));
			return &e[i];
		}
	return &e[c->turn++ % LONG_CACHE_SET];
}

/* Doubles the table where it is half full. */
static void
grow(struct long_cache *c)
{
	struct long_cache larger = {.shift = c->shift - 1};

	if (c->used * 2 < entries(c) || entries(c) >= LONG_CACHE_ENTRIES_MAX)
		return;
	larger.entry = table_memory(table_bytes(&larger));
	if (larger.entry == NULL)
		return; /* the old one stays, and forgets more */
	for (size_t i = 0; i < entries(c); i++) {
		const struct long_entry *e = &c->entry[i];

		if (e->n != 0)
			*place_for(&larger, bytes_hash(e->piece, e->n)) = *e;
	}
	table_memory_free(c->entry, table_bytes(c));
	*c = larger;
}

void
long_cache_put(struct long_cache *c, uint64_t hash, const uint8_t *piece, size_t n,
    const uint32_t *id, size_t ids_n)
{
	struct long_entry *e;

	assert(n > 0);
	if (n > LONG_CACHE_PIECE_MAX || ids_n > LONG_CACHE_IDS_MAX)
		return;
	grow(c);
	e = place_for(c, hash);
	e->n = (uint8_t)n;
	e->ids_n = (uint8_t)ids_n;
	memcpy(e->piece, piece, n);
	memcpy(e->id, id, ids_n * sizeof(*id));
}
