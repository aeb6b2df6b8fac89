#include "producer/tokenizer/long_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "producer/tokenizer/bytes_hash.h"

enum { LINE_BYTES = 64 };

_Static_assert(sizeof(struct long_entry) == 4 * LINE_BYTES, "an entry is four cache lines");

static size_t
entries(const struct long_cache *c)
{
	return (size_t)LONG_CACHE_SET << (64 - c->shift);
}

static struct long_entry *
allocate(size_t count)
{
	struct long_entry *entry = aligned_alloc(LINE_BYTES, count * sizeof(*entry));

	if (entry != NULL)
		memset(entry, 0, count * sizeof(*entry));
	return entry;
}

enum fail_code
long_cache_open(struct long_cache *c, struct failure *f)
{
	c->entry = allocate(LONG_CACHE_ENTRIES_MIN);
	if (c->entry == NULL)
		return fail_memory(f);
	c->shift = 64 - (unsigned)__builtin_ctz(LONG_CACHE_ENTRIES_MIN / LONG_CACHE_SET);
	c->used = 0;
	return FAIL_NONE;
}

void
long_cache_close(struct long_cache *c)
{
	free(c->entry);
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

/* The new piece goes first, the others one place on, and the last is forgotten. */
static void
insert(struct long_cache *c, const struct long_entry *new)
{
	struct long_entry *e = set_of(c, bytes_hash(new->piece, new->n));

	c->used += e[LONG_CACHE_SET - 1].n == 0;
	memmove(e + 1, e, (LONG_CACHE_SET - 1) * sizeof(*e));
	e[0] = *new;
}

static void
grow(struct long_cache *c)
{
	struct long_cache larger = {.shift = c->shift - 1};

	if (c->used * 2 < entries(c) || entries(c) >= LONG_CACHE_ENTRIES_MAX)
		return;
	larger.entry = allocate(entries(&larger));
	if (larger.entry == NULL)
		return; /* the old one goes on, and forgets more */
	for (size_t i = entries(c); i-- > 0;)
		if (c->entry[i].n != 0)
			insert(&larger, &c->entry[i]);
	free(c->entry);
	*c = larger;
}

void
long_cache_put(
    struct long_cache *c, const uint8_t *piece, size_t n, const uint32_t *id, size_t ids_n)
{
	struct long_entry new = {.n = (uint8_t)n, .ids_n = (uint8_t)ids_n};

	if (n > LONG_CACHE_PIECE_MAX || ids_n > LONG_CACHE_IDS_MAX)
		return;
	memcpy(new.piece, piece, n);
	memcpy(new.id, id, ids_n * sizeof(*id));
	insert(c, &new);
	grow(c);
}
