#include "common/permutation.h"

#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t
hash_number(uint64_t value, uint64_t seed)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	return XXH64(bytes, sizeof(bytes), seed);
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
