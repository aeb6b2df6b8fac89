#include "common/schedule/permutation.h"

#include <assert.h>
#include <string.h>

#include <xxhash.h>

#define XXH_P1 UINT64_C(11400714785074694791)
#define XXH_P2 UINT64_C(14029467366897019727)
#define XXH_P3 UINT64_C(1609587929392839161)
#define XXH_P4 UINT64_C(9650029242287828579)
#define XXH_P5 UINT64_C(2870177450012600261)

static uint64_t
rotated(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

/*
 * XXH64 of the eight bytes of `value`, little-endian: the general function for this one length.
 * (xxHash specification, "XXH64 algorithm description".) A draw takes some thirty of them.
 */
static uint64_t
hash_number(uint64_t value, uint64_t seed)
{
	uint64_t h = seed + XXH_P5 + 8;

	h ^= rotated(value * XXH_P2, 31) * XXH_P1;
	h = rotated(h, 27) * XXH_P1 + XXH_P4;
	h = (h ^ h >> 33) * XXH_P2;
	h = (h ^ h >> 29) * XXH_P3;
	return h ^ h >> 32;
}

void
permutation_init(struct permutation *p, uint64_t n, uint64_t key, uint64_t epoch)
{
	assert(n >= 1);
	p->n = n;
	p->seed = key + 8 * epoch;
	p->half_bits = 1;
	while (p->half_bits < 32 && (UINT64_C(1) << (2 * p->half_bits)) < n)
		p->half_bits++;
}

static uint64_t
forward(const struct permutation *p, uint64_t value)
{
	uint64_t mask = (UINT64_C(1) << p->half_bits) - 1;
	uint64_t left = value >> p->half_bits, right = value & mask;

	for (uint64_t round = 0; round < PERMUTATION_ROUNDS; round++) {
		uint64_t next = left ^ (hash_number(right, p->seed + round) & mask);

		left = right;
		right = next;
	}
	return left << p->half_bits | right;
}

static uint64_t
backward(const struct permutation *p, uint64_t value)
{
	uint64_t mask = (UINT64_C(1) << p->half_bits) - 1;
	uint64_t left = value >> p->half_bits, right = value & mask;

	for (uint64_t round = PERMUTATION_ROUNDS; round-- > 0;) {
		uint64_t before = right ^ (hash_number(left, p->seed + round) & mask);

		right = left;
		left = before;
	}
	return left << p->half_bits | right;
}

uint64_t
permutation_at(const struct permutation *p, uint64_t i)
{
	uint64_t value = i;

	assert(i < p->n);
	if (p->n == 1)
		return 0;
	do
		value = forward(p, value);
	while (value >= p->n);
	return value;
}

uint64_t
permutation_where(const struct permutation *p, uint64_t value)
{
	uint64_t i = value;

	assert(value < p->n);
	if (p->n == 1)
		return 0;
	do
		i = backward(p, i);
	while (i >= p->n);
	return i;
}

uint64_t
permutation_key(const char *name, uint64_t seed)
{
	return XXH64(name, strlen(name), seed);
}

uint64_t
permutation_subkey(uint64_t key, uint64_t part)
{
	return hash_number(part, key);
}
