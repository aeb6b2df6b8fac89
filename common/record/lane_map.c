#include "common/record/lane_map.h"

#include <assert.h>

bool
lane_map_shared(const struct lane_map *m)
{
	assert(m->partitions <= m->lanes);
	return m->partitions < m->lanes;
}

uint32_t
lane_map_lying(const struct lane_map *m)
{
	return m->partitions == 0 ? 0 : m->lanes;
}

uint32_t
lane_map_partition(const struct lane_map *m, uint32_t lane)
{
	assert(lane < m->lanes);
	assert(m->partitions >= 1);
	return (uint32_t)((uint64_t)lane * m->partitions / m->lanes);
}

/* floor(l*P/L) >= p first at l = ceil(p*L/P). */
uint32_t
lane_map_first(const struct lane_map *m, uint32_t partition)
{
	assert(m->partitions >= 1);
	assert(partition <= m->partitions);
	return (uint32_t)(((uint64_t)partition * m->lanes + m->partitions - 1) / m->partitions);
}

/* From the last lane down: the place of a lane's partition is never behind the lane's. */
void
lane_map_spread(const struct lane_map *m, uint32_t first, uint32_t count, int64_t *at)
{
	uint32_t part_first = lane_map_partition(m, first);

	for (uint32_t i = count; i > 0; i--)
		at[i - 1] = at[lane_map_partition(m, first + i - 1) - part_first];
}

void
lane_map_key(uint8_t out[static LANE_MAP_KEY_BYTES], uint32_t lane)
{
	for (int i = 0; i < LANE_MAP_KEY_BYTES; i++)
		out[i] = (uint8_t)(lane >> 8 * (LANE_MAP_KEY_BYTES - 1 - i));
}

int64_t
lane_map_lane(const struct lane_map *m, uint32_t partition, const void *key, size_t key_bytes)
{
	const uint8_t *bytes = key;
	uint32_t lane = 0;

	if (key == NULL || key_bytes != LANE_MAP_KEY_BYTES)
		return -1;
	for (int i = 0; i < LANE_MAP_KEY_BYTES; i++)
		lane = lane << 8 | bytes[i];
	if (lane >= m->lanes || lane_map_partition(m, lane) != partition)
		return -1;
	return lane;
}
