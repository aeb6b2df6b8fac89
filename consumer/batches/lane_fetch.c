#include "consumer/batches/lane_fetch.h"

#include <assert.h>

/* A lane's share of `all`, within [least, most]. */
static size_t
share(size_t all, size_t lanes, size_t least, size_t most)
{
	size_t each = all / lanes;

	assert(least <= most);
	return each < least ? least : each > most ? most : each;
}

void
lane_fetch_init(struct lane_fetch *t, size_t ahead_bytes, uint32_t lanes)
{
	assert(lanes > 0);
	*t = (struct lane_fetch){
	    .ahead_bytes =
		share(ahead_bytes, lanes, LANE_FETCH_AHEAD_BYTES_MIN, LANE_FETCH_AHEAD_BYTES_MAX),
	    .ahead_records =
		share(LANE_FETCH_AHEAD_RECORDS, lanes, 1, LANE_FETCH_AHEAD_RECORDS_MAX),
	    .fetch_bytes =
		share(LANE_FETCH_BYTES, lanes, LANE_FETCH_BYTES_MIN, LANE_FETCH_BYTES_MAX),
	    .lanes = lanes,
	};
}

void
lane_fetch_fewer(struct lane_fetch *t, uint32_t lanes)
{
	assert(lanes > 0 && lanes < t->lanes);
	t->lanes = lanes;
}

void
lane_fetch_backs_off(struct lane_fetch *t)
{
	t->backs_off = true;
}

bool
lane_fetch_taken(struct lane_fetch *t, size_t bytes)
{
	assert(t->lanes > 0);
	if (t->backs_off)
		return false;
	t->taken_bytes += bytes;
	t->taken_records++;
	if (t->taken_bytes / t->lanes < t->ahead_bytes / LANE_FETCH_WAKE_PARTS &&
	    t->taken_records / t->lanes <= t->ahead_records / LANE_FETCH_WAKE_PARTS)
		return false;
	t->taken_bytes = 0;
	t->taken_records = 0;
	return true;
}

void
lane_fetch_wake(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].offset = RD_KAFKA_OFFSET_END;
	rd_kafka_offsets_for_times(rk, list, LANE_FETCH_WAKE_MS);
}
