/*
 * piece_cache.h -- the ids of short pieces that came before: one thread's own, no locks.
 *
 * Text repeats its words, so that most of its pieces are answered here and never merged. That makes
 * this the hottest table of all: a hit reads one cache line and compares two words.
 *
 * A piece of up to 15 bytes is its own key: two words with its bytes, zeros behind them, and its
 * length in the top byte. Example, " the":
 *
 *     low   20 74 68 65 00 00 00 00     high  00 00 00 00 00 00 00 04
 *
 * The length makes keys differ whose bytes are zeros, and makes no key 0, which stands for a free
 * entry. An entry has the key and up to four ids of 24 bits in 32 bytes; two entries are a cache
 * line. Longer pieces, and those with more ids, are for long_cache.h.
 *
 * Where a piece can be. Its hash names a line, whose two entries are looked at first; lines can be
 * sent for a whole batch ahead. If both entries are taken, a new piece goes to the neighbour, the
 * line beside it (line ^ 2): many processors fetch such lines as a pair. Lookups there are left to
 * rare_pieces.h, after the batch. If all four are taken, the new piece goes first in its own line,
 * what was first there goes second, and what was second is forgotten.
 *
 * The table doubles when it is half full, up to PIECE_CACHE_ENTRIES_MAX; then it only forgets.
 *
 * Invariant: what is in it never changes what comes out, for entries hold what merging gave.
 */
#ifndef PRODUCER_BPE_PIECE_CACHE_H
#define PRODUCER_BPE_PIECE_CACHE_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/failure.h"

enum {
	PIECE_CACHE_KEY_MAX = 15, /* bytes of a piece */
	PIECE_CACHE_IDS_MAX = 4,  /* of a piece */
	PIECE_CACHE_ENTRIES_MIN = 1 << 14,
	PIECE_CACHE_ENTRIES_MAX = 1 << 20, /* 32 MB */
	PIECE_CACHE_LOAD_BYTES = 16,       /* piece_key_of() reads so many, whatever the length */
};

/* Both words are 0 for no piece. */
struct piece_key {
	uint64_t low, high;
};

struct piece_entry {
	struct piece_key key;
	/* id 0 and 1; id 2 and 3, and in the top byte how many are used. Ids have 24 bits. */
	uint64_t ids_low, ids_high;
};

struct piece_cache {
	struct piece_entry *entry; /* [2 << (64 - shift)], owned */
	unsigned shift;            /* the bits of a hash above it are the number of a line */
	size_t used;               /* entries that are not free */
};

/* Fills the zeroed *c, to be ended with piece_cache_close() in any case. FAIL_MEMORY only. */
enum fail_code piece_cache_open(struct piece_cache *c, struct failure *f);
void piece_cache_close(struct piece_cache *c);

/* Remembers id[n], 0 < n <= PIECE_CACHE_IDS_MAX, for a key that is in neither line. */
void piece_cache_put(struct piece_cache *c, struct piece_key key, const uint32_t *id, size_t n);

/*
 * Doubles the table where it is half full; where memory is refused it stays as it is. Pieces move:
 * what piece_cache_line() gave before is worth nothing afterwards.
 */
void piece_cache_grow(struct piece_cache *c);

/* By the length of a piece: the bits of `low` and of `high` that its bytes are in. */
extern const uint64_t piece_key_mask[2][PIECE_CACHE_KEY_MAX + 1];

/* The key of the piece p[n], n <= PIECE_CACHE_KEY_MAX; 16 bytes can be read at p. */
static inline struct piece_key
piece_key_of(const uint8_t *p, size_t n)
{
	struct piece_key key;

	memcpy(&key, p, sizeof(key));
	key.low = le64toh(key.low) & piece_key_mask[0][n];
	key.high = (le64toh(key.high) & piece_key_mask[1][n]) | (uint64_t)n << 56;
	return key;
}

/* The first of the two entries where `key` can be. */
static inline size_t
piece_cache_line(const struct piece_cache *c, struct piece_key key)
{
	/* Multilinear hashing (Carter and Wegman) with odd numbers out of the digits of pi. */
	uint64_t h =
	    key.low * UINT64_C(0x9216D5D98979FB1B) + key.high * UINT64_C(0xD1310BA698DFB5AD);

	return (h >> c->shift) * 2;
}

/* Sends for the line that piece_cache_get() reads. */
static inline void
piece_cache_prefetch(const struct piece_cache *c, size_t line)
{
	__builtin_prefetch(&c->entry[line]);
}

/*
 * Looks at both entries of the line. Writes four ids to `out`, of which *n are the piece's; false:
 * the piece is not here, and what was written means nothing. Four are written whatever the piece
 * has, and the second entry is chosen by adding, as branches that depend on text are mispredicted.
 */
static inline bool
piece_cache_get(
    const struct piece_cache *c, size_t line, struct piece_key key, uint32_t *out, size_t *n)
{
	const struct piece_entry *e = &c->entry[line];
	uint64_t first = (e[0].key.low ^ key.low) | (e[0].key.high ^ key.high);
	uint64_t second = (e[1].key.low ^ key.low) | (e[1].key.high ^ key.high);
	uint64_t ids[2];

	e += first != 0;
	ids[0] = e->ids_low;
	ids[1] = e->ids_high & UINT64_C(0x00FFFFFFFFFFFFFF);
	*n = e->ids_high >> 56;
	out[0] = (uint32_t)ids[0];
	out[1] = (uint32_t)(ids[0] >> 32);
	out[2] = (uint32_t)ids[1];
	out[3] = (uint32_t)(ids[1] >> 32);
	return first == 0 || second == 0;
}

/* The same in the neighbour of the line, for a piece that is not in it. */
static inline bool
piece_cache_get_aside(
    const struct piece_cache *c, size_t line, struct piece_key key, uint32_t *out, size_t *n)
{
	return piece_cache_get(c, line ^ 2, key, out, n);
}

#endif
