/*
 * long_cache.h -- the ids of pieces that do not fit into piece_cache.h: longer ones, and those with
 * more ids. One thread's own, no locks.
 *
 * These are rare, but each costs as much to merge as many short ones: identifiers of programs,
 * words of scripts that take three bytes a letter. An entry is four cache lines: the bytes of the
 * piece, then its ids.
 *
 * The hash of a piece names its set of LONG_CACHE_SET entries, and it can be in these only. Where
 * all are taken one of them is forgotten, each in its turn: which one does not matter much, and
 * nothing has to be noted when an entry is read. The table doubles when it is half full, up to
 * LONG_CACHE_ENTRIES_MAX; after that it only forgets.
 *
 * Invariant: what is in it never changes what comes out, for entries hold what merging gave.
 */
#ifndef PRODUCER_BPE_LONG_CACHE_H
#define PRODUCER_BPE_LONG_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum {
	LONG_CACHE_PIECE_MAX = 126, /* bytes */
	LONG_CACHE_IDS_MAX = 32,
	LONG_CACHE_SET = 4, /* entries */
	LONG_CACHE_ENTRIES_MIN = 1 << 10,
	LONG_CACHE_ENTRIES_MAX = 1 << 16, /* 16 MB */
};

struct long_entry {
	uint8_t n; /* bytes; 0: free */
	uint8_t ids_n;
	uint8_t piece[LONG_CACHE_PIECE_MAX];
	uint32_t id[LONG_CACHE_IDS_MAX];
};

struct long_cache {
	struct long_entry *entry; /* [LONG_CACHE_SET << (64 - shift)], owned */
	unsigned shift;
	size_t used; /* entries that are not free */
	size_t turn; /* one counter for all sets: which entry of a full one is forgotten next */
};

/* Fills the zeroed *c, to be ended with long_cache_close() in any case. FAIL_MEMORY only. */
enum fail_code long_cache_open(struct long_cache *c, struct failure *f);
void long_cache_close(struct long_cache *c);

/* Sends for the memory that long_cache_get() reads first. */
void long_cache_prefetch(const struct long_cache *c, uint64_t hash);

/*
 * Borrows the entry of piece[n], n > 0, until the next long_cache_put(); NULL: it is not there, as
 * no piece over LONG_CACHE_PIECE_MAX is. `hash` is its bytes_hash().
 */
const struct long_entry *long_cache_get(
    const struct long_cache *c, uint64_t hash, const uint8_t *piece, size_t n);

/*
 * Remembers id[ids_n] of a piece that is not there, n > 0; beyond the limits it does nothing.
 * `hash` is its bytes_hash().
 */
void long_cache_put(struct long_cache *c, uint64_t hash, const uint8_t *piece, size_t n,
    const uint32_t *id, size_t ids_n);

#endif
