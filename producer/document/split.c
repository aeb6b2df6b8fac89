#include "producer/document/split.h"

#include <assert.h>

#include <xxhash.h>

/* C11 has no type of 128 bits; gcc and clang have, on every machine of 64 bits. */
__extension__ typedef unsigned __int128 wide;

enum names_set
split_set(const char *text, size_t n, const uint32_t parts[static SETS_COUNT])
{
	uint64_t sum = (uint64_t)parts[SET_TRAIN] + parts[SET_VALID] + parts[SET_TEST], place;

	assert(sum > 0);
	if (parts[SET_TRAIN] == sum)
		return SET_TRAIN; /* whatever the hash is */
	place = (uint64_t)((wide)XXH64(text, n, 0) * sum >> 64);
	if (place < parts[SET_TRAIN])
		return SET_TRAIN;
	if (place < (uint64_t)parts[SET_TRAIN] + parts[SET_VALID])
		return SET_VALID;
	return SET_TEST;
}
