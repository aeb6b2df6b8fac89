#include "common/kafka/offsets.h"

#include <assert.h>

bool
offsets_emptied(int64_t low, int64_t high)
{
	assert(low <= high);
	return low > 0;
}

int64_t
offsets_before(int64_t low, int64_t end, int64_t distance)
{
	assert(low <= end);
	assert(distance > 0);
	return end - low > distance ? end - distance : low;
}
