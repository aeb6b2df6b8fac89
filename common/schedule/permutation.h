/*
 * permutation.h -- a keyed permutation of 0..n-1 that needs no table.
 *
 * A balanced Feistel network of 6 rounds over 2h bits, h the smallest that gives 4^h >= n; a value
 * that lands outside 0..n-1 goes through again until it lands inside (cycle walking: Black and
 * Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). Round r of epoch e:
 *
 *     (left, right) <- (right, left ^ (XXH64(right as 8 bytes, key + 8e + r) mod 2^h))
 *
 * the bytes being little-endian.
 *
 * Walking the cycle ends, because i itself is inside: at the latest the walk comes back to the
 * value before it. 4^h < 4n, so that fewer than four steps are needed on average.
 *
 * Invariants: the same (n, key, epoch) is the same permutation on every machine; vectors are in
 * tests/vectors/permutation.tsv. A value; owns nothing.
 */
#ifndef COMMON_SCHEDULE_PERMUTATION_H
#define COMMON_SCHEDULE_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

enum { PERMUTATION_ROUNDS = 6 };

struct permutation {
	uint64_t n;    /* at least 1 */
	uint64_t seed; /* key + 8 * epoch */
	uint32_t half_bits;
};

void permutation_init(struct permutation *p, uint64_t n, uint64_t key, uint64_t epoch);

/* Where index `i` goes, and the index that goes to `value`; both arguments are below n. */
uint64_t permutation_at(const struct permutation *p, uint64_t i);
uint64_t permutation_where(const struct permutation *p, uint64_t value);

/* Keys: of a domain, XXH64(name, seed); of a part of it, XXH64(part as 8 bytes, key). */
uint64_t permutation_key(const char *name, uint64_t seed);
uint64_t permutation_subkey(uint64_t key, uint64_t part);

#endif
