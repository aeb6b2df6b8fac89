#include "producer/tokenizer/vocabulary.h"

#include <stdlib.h>

#include "producer/tokenizer/bytes_hash.h"

void
vocabulary_close(struct vocabulary *v)
{
	free(v->bytes);
	free(v->start);
	free(v->slot);
	memset(v, 0, sizeof(*v));
}

static uint64_t *
find_slot(const struct vocabulary *v, const uint8_t *token, size_t n)
{
	uint64_t h = bytes_hash(token, n), tag = h >> 32 << 32;

	for (uint64_t at = h >> 20;; at++) {
		uint64_t *slot = &v->slot[at & v->slot_mask];
		const uint8_t *there;
		size_t there_n;

		if (*slot == 0)
			return slot;
		if ((*slot ^ tag) >> 32 != 0)
			continue;
		there = vocabulary_token(v, (uint32_t)*slot - 1, &there_n);
		if (there_n == n && memcmp(there, token, n) == 0)
			return slot;
	}
}

static void
take(struct vocabulary *v, uint32_t id, uint64_t *slot, const uint8_t *token, size_t n)
{
	*slot = bytes_hash(token, n) >> 32 << 32 | (id + 1);
	if (n > v->longest)
		v->longest = (uint32_t)n;
}

enum fail_code
vocabulary_index(struct vocabulary *v, uint32_t *first, uint32_t *second, struct failure *f)
{
	uint64_t slots = 16;

	assert(v->ids <= VOCABULARY_IDS_MAX && v->slot == NULL);
	while (slots < (uint64_t)v->ids * 2)
		slots *= 2;
	v->slot = calloc(slots, sizeof(*v->slot));
	if (v->slot == NULL)
		return fail_memory(f);
	v->slot_mask = slots - 1;
	for (uint32_t id = 0; id < v->ids; id++) {
		size_t n;
		const uint8_t *token = vocabulary_token(v, id, &n);
		uint64_t *slot;

		if (n == 0)
			continue;
		slot = find_slot(v, token, n);
		if (*slot != 0) {
			*first = (uint32_t)*slot - 1;
			*second = id;
			return fail(f, FAIL_DATA, "two ids of equal bytes");
		}
		take(v, id, slot, token, n);
	}
	return FAIL_NONE;
}

uint32_t
vocabulary_find(const struct vocabulary *v, const uint8_t *token, size_t n)
{
	assert(n > 0);
	if (n > v->longest)
		return VOCABULARY_NONE;
	return (uint32_t)*find_slot(v, token, n) - 1; /* a free slot is 0, and 0 - 1 is NONE */
}
