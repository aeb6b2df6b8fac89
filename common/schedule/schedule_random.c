/* The `random` rule: draw number d is a function of (seed, d) and the weights alone. */
#include "common/schedule/schedule_parts.h"

#include <assert.h>

#include "common/schedule/permutation.h"

/* A slash is in no domain's name: no domain's order has this key. */
uint64_t
schedule_random_key(uint64_t seed)
{
	return permutation_key("/draws", seed);
}

size_t
schedule_random_pick(const struct schedule *s)
{
	uint64_t point = permutation_subkey(s->key, s->draws) >> 32;
	size_t i = 0;

	while (point >= s->weight[i]) {
		point -= s->weight[i++];
		assert(i < s->n);
	}
	return i;
}
