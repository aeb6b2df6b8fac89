#include "producer/bpe/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "producer/bpe/bytes_hash.h"
#include "producer/bpe/table_memory.h"

enum { TOKENS_AT_ONCE = 64 /* whose slots are sent for together */ };

void
vocabulary_close(struct vocabulary *v)
{
	free(v->bytes);
	free(v->start);
	if (v->slot != NULL)
		table_memory_free(v->slot, (v->slot_mask + 1) * sizeof(*v->slot));
	memset(v, 0, sizeof(*v));
}

static struct vocabulary_slot *
slot_of(const struct vocabulary *v, uint64_t at)
{
	return &v->slot[at & v->slot_mask];
}

/* Where the search for a hash begins; the tag takes the bits above. */
static uint64_t
place_of(uint64_t hash)
{
	return hash >> 10;
}

/*
 * The slot of this token, or the free one where it belongs. At most half of the slots are taken, so
 * the search always ends.
 */
static struct vocabulary_slot *
find_slot(const struct vocabulary *v, uint64_t hash, const uint8_t *token, size_t n)
{
	for (uint64_t at = place_of(hash);; at++) {
		struct vocabulary_slot *s = slot_of(v, at);

		if (s->id == 0 || (s->tag == hash >> 32 && s->n == n &&
				      memcmp(v->bytes + s->start, token, n) == 0))
			return s;
	}
}

/* Puts in the tokens [id, end), whose slots were sent for; hash[end - id] are theirs. */
static enum fail_code
insert(struct vocabulary *v, uint32_t id, uint32_t end, const uint64_t *hash, uint32_t *first,
    uint32_t *second, struct failure *f)
{
	assert(end - id <= TOKENS_AT_ONCE);
	for (; id < end; id++, hash++) {
		size_t n;
		const uint8_t *token = vocabulary_token(v, id, &n);
		struct vocabulary_slot *s;

		if (n == 0)
			continue;
		s = find_slot(v, *hash, token, n);
		if (s->id != 0) {
			*first = s->id - 1;
			*second = id;
			return fail(f, FAIL_DATA, "two ids of equal bytes");
		}
		*s = (struct vocabulary_slot){
		    (uint32_t)(*hash >> 32), id + 1, v->start[id], (uint32_t)n};
		if (n > v->longest)
			v->longest = (uint32_t)n;
	}
	return FAIL_NONE;
}

enum fail_code
vocabulary_index(struct vocabulary *v, uint32_t *first, uint32_t *second, struct failure *f)
{
	uint64_t slots = 16, hash[TOKENS_AT_ONCE];
	enum fail_code code = FAIL_NONE;

	assert(v->slot == NULL);
	assert(v->ids <= VOCABULARY_IDS_MAX);
	assert(v->start[v->ids] <= VOCABULARY_BYTES_MAX);
	while (slots < (uint64_t)v->ids * 2)
		slots *= 2;
	v->slot = table_memory(slots * sizeof(*v->slot));
	if (v->slot == NULL)
		return fail_memory(f);
	v->slot_mask = slots - 1;
	for (uint32_t id = 0, end; id < v->ids && code == FAIL_NONE; id = end) {
		end = v->ids - id < TOKENS_AT_ONCE ? v->ids : id + TOKENS_AT_ONCE;
		for (uint32_t i = id; i < end; i++) {
			size_t n;
			const uint8_t *token = vocabulary_token(v, i, &n);

			hash[i - id] = n == 0 ? 0 : bytes_hash_within(token, n, vocabulary_end(v));
			vocabulary_prefetch(v, hash[i - id]);
		}
		code = insert(v, id, end, hash, first, second, f);
	}
	assert(code != FAIL_NONE || v->longest <= v->start[v->ids]);
	return code;
}

uint32_t
vocabulary_find_hashed(const struct vocabulary *v, uint64_t hash, const uint8_t *token, size_t n)
{
	/* A free slot has id 0, and 0 - 1 is VOCABULARY_NONE. */
	return find_slot(v, hash, token, n)->id - 1;
}

uint32_t
vocabulary_find(const struct vocabulary *v, const uint8_t *token, size_t n)
{
	assert(n > 0);
	if (n > v->longest)
		return VOCABULARY_NONE;
	return vocabulary_find_hashed(v, bytes_hash(token, n), token, n);
}

void
vocabulary_prefetch(const struct vocabulary *v, uint64_t hash)
{
	__builtin_prefetch(slot_of(v, place_of(hash)));
}

bool
vocabulary_prefetch_bytes(const struct vocabulary *v, uint64_t hash, size_t n)
{
	for (uint64_t at = place_of(hash);; at++) {
		const struct vocabulary_slot *s = slot_of(v, at);

		if (s->id == 0)
			return false;
		if (s->tag != hash >> 32 || s->n != n)
			continue;
		__builtin_prefetch(v->bytes + s->start);
		return true;
	}
}
