/*
 * lane_map.h -- which partition of <mix>.batches holds which lane, where lanes share partitions.
 *
 * Lane l of L lies in partition floor(l*P/L) of P, P <= L: neighbours lie together, and partitions
 * differ by one lane at most. Example, L = 8 and P = 3:
 *
 *     lane         0  1  2  3  4  5  6  7
 *     partition    0  0  0  1  1  1  2  2
 *
 * With P = L a lane is a partition, and a record has no key. Else each record has its lane as the
 * key, 4 bytes, big-endian, so that a reader passes over the records of other lanes unread. The
 * records of a step lie in the order of the lanes; those of one lane in the order of the steps.
 *
 * A group's commit of a partition is one offset, and ranks commit each for itself: lanes that share
 * a partition would overwrite each other. So commits are made not to <mix>.batches but to
 * <mix>.lanes, a topic of L partitions that holds no record, ever: its partition l stands for lane
 * l, and an empty partition costs neither markers nor requests. Its number of partitions also tells
 * readers L. With P = L there is no such topic.
 *
 * P = 0: the mix publishes no batches (`mix.batches: derived`). There is no <mix>.batches, and no
 * lane lies anywhere; commits are made to <mix>.lanes.
 *
 * Plain data and pure functions.
 */
#ifndef COMMON_RECORD_LANE_MAP_H
#define COMMON_RECORD_LANE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANE_MAP_KEY_BYTES = 4 };

/* partitions <= lanes. A value that owns nothing. */
struct lane_map {
	uint32_t lanes, partitions;
};

/* Not each lane has a partition: records have keys, commits a topic of their own. */
bool lane_map_shared(const struct lane_map *m);

/* How many lanes lie somewhere: all, or none. */
uint32_t lane_map_lying(const struct lane_map *m);

/* lane < lanes; here and below 1 <= partitions */
uint32_t lane_map_partition(const struct lane_map *m, uint32_t lane);

/* The first lane of a partition; lane_map_first(m, partitions) is `lanes`. */
uint32_t lane_map_first(const struct lane_map *m, uint32_t partition);

/*
 * at[] holds a number for each partition of the lanes [first, first + count), from at[0] on; then
 * each of at[count] is that of its lane's partition.
 */
void lane_map_spread(const struct lane_map *m, uint32_t first, uint32_t count, int64_t *at);

void lane_map_key(uint8_t out[static LANE_MAP_KEY_BYTES], uint32_t lane);

/* The lane of a record by its key; -1: it is no key of a lane that lies in this partition. */
int64_t lane_map_lane(
    const struct lane_map *m, uint32_t partition, const void *key, size_t key_bytes);

#endif
