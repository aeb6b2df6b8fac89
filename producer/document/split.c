#include "producer/document/split.h"

#include <assert.h>

#include <xxhash.h>

/* C11 has no type of 128 bits; gcc and clang have, on every machine of 64 bits. */
__extension__ typedef unsigned __int128 wide;

static uint64_t
sum_of(const struct split *s)
{
	return (uint64_t)s->parts[SET_TRAIN] + s->parts[SET_VALID] + s->parts[SET_TEST];
}

bool
split_needs_hash(const struct split *s)
{
	unsigned some = 0;

	for (int i = 0; i < SETS_COUNT; i++)
		some += s->parts[i] > 0;
	return some > 1;
}

uint64_t
split_hash(const char *text, size_t n)
{
	return XXH64(text, n, 0);
}

static enum names_set
set_at(const struct split *s, uint64_t hash)
{
	uint64_t sum = sum_of(s), place = (uint64_t)((wide)hash * sum >> 64);

	assert(sum > 0);
	if (place < s->parts[SET_TRAIN])
		return SET_TRAIN;
	if (place < (uint64_t)s->parts[SET_TRAIN] + s->parts[SET_VALID])
		return SET_VALID;
	return SET_TEST;
}

size_t
split_pieces(struct split_piece out[static SPLIT_PIECES_MAX], const struct split *s, uint64_t hash,
    uint64_t n)
{
	uint64_t k = 1;
	size_t pieces_n = 0;

	if (s->piece_tokens > 0 && n > s->piece_tokens && split_needs_hash(s))
		k = (n - 1) / s->piece_tokens + 1;
	for (uint64_t j = 0; j < k; j++) {
		enum names_set set = set_at(s, hash + (uint64_t)(((wide)j << 64) / k));
		uint64_t first = (uint64_t)((wide)j * n / k);
		uint64_t end = (uint64_t)((wide)(j + 1) * n / k);

		if (pieces_n > 0 && out[pieces_n - 1].set == set) {
			out[pieces_n - 1].end = end;
			continue;
		}
		assert(pieces_n < SPLIT_PIECES_MAX);
		out[pieces_n++] = (struct split_piece){set, first, end};
	}
	return pieces_n;
}

uint64_t
split_piece_rest(const struct split_piece *piece, uint64_t first)
{
	return piece->first < first ? first : piece->first;
}
