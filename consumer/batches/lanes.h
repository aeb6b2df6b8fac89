/*
 * lanes.h -- the lanes that one rank reads: a consumer handle, one queue and at most one held
 * record a lane; and the commits of these lanes. And the map of this room.
 *
 * The room reads <mix>.batches, for trainers (consumer/reader) as for whoever compares or deletes
 * steps (consumer/replay, consumer/admin). Of a mix without copies it derives what it would read
 * there (derive/derived_lanes.h): the offset is the step, all above it is the same.
 *
 * Files of this room:
 *     lanes         the consumer handle of a rank's lanes, and its commits
 *     lane_fetch    how far librdkafka reads ahead
 *     lane_seek     decides which offset of a lane to ask next; pure
 *     step_search   finds a step in the log of all lanes, in rounds
 *     lane_ends     the last record of every lane, compared with the ledger's
 *     step_records  steps as they lie in the log, record by record, not judged
 *     step_count    decides which step a record stands for; pure
 *
 *     step_records --> step_search --> lane_seek
 *          |                |
 *          +----> lanes <---+          lanes --> lane_fetch
 *                   ^
 *     lane_ends ----+
 *
 * Lanes lie in the partitions of <mix>.batches, as a rule each in its own (record/lane_map.h). Rank
 * r of W reads the lanes l with floor(l*W/L) = r, and calls them 0..count-1. Example, L = 8 and W =
 * 4: rank 1 has lanes 2 and 3, as its lanes 0 and 1; lanes_first() is 2. With W = 3, which takes
 * `uneven`, ranks 0, 1 and 2 have lanes 0-2, 3-5 and 6-7. They are assigned at explicit offsets,
 * never subscribed: a rebalance of Kafka would move lanes between ranks in the middle of a step.
 * Each partition has its own queue, so that one's records never stand in front of another's.
 *
 * Where lanes share a partition, records of other ranks' lanes are passed over by their keys. One
 * of another lane of this rank waits for that lane: at most LANES_WAIT_MAX, for a reader takes the
 * lanes in turn; more means that records of a lane are missing.
 *
 * A record's life:
 *
 *     lanes_next()      librdkafka's queue -> held by its lane; given again until one of
 *     lanes_release()   held -> gone: it was read in vain
 *     lanes_detach()    held -> the caller's, which ends it with lanes_free() in any thread
 *     lanes_assign()    all held ones -> gone; what librdkafka has fetched is dropped
 *
 * Memory: librdkafka fetches ahead until the lanes hold `ahead_bytes` (lane_fetch.h). A lane may
 * exceed its share by one fetch, or by one batch where that is larger, and has at least 1 MiB.
 * A held record pins the response that it came in; one a lane, all of about the same age. Derived
 * lanes: four times `ahead_bytes` for blocks of domains, and where a step needs more, that; a fetch
 * of a block for each partition that is read, 16 at most; each record derived is of the step due.
 *
 * Threads: one thread reads. lanes_commit_begin() and lanes_commit_end() may be called by one other
 * thread at the same time, lanes_wake() and lanes_sleep() by any. What both sides touch is atomic
 * (awake, denied) or librdkafka's.
 */
#ifndef CONSUMER_BATCHES_LANES_H
#define CONSUMER_BATCHES_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/lane_map.h"

enum {
	LANES_AHEAD_BYTES = 64 << 20,
	LANES_WAIT_MAX = 64, /* records of a lane that wait while another one is read */
};

struct lanes;

struct kafka_stats;

struct lanes_options {
	const char *mix;
	const char *group; /* for commits */
	uint32_t rank, world;
	bool uneven; /* `world` need not divide the lanes */
	const struct properties *properties;
	int timeout_ms;
	size_t ahead_bytes;        /* read ahead over all lanes; 0: LANES_AHEAD_BYTES */
	struct kafka_stats *stats; /* of the handle, borrowed; NULL: none are taken */
};

/*
 * Gives *out, to be ended with lanes_close(). Connects and asks for the topic, for timeout_ms at
 * most. FAIL_CONFIG: there is no such topic, or `world` does not divide its lanes, or is
 * larger. Copies the options; rank < world.
 */
enum fail_code lanes_open(struct lanes **out, const struct lanes_options *o, struct failure *f);
void lanes_close(struct lanes *l); /* NULL is accepted */

const char *lanes_topic(const struct lanes *l);
uint32_t lanes_total(const struct lanes *l); /* L */
uint32_t lanes_count(const struct lanes *l); /* L / world; one more for some where it is uneven */
uint32_t lanes_first(const struct lanes *l); /* the number of this rank's lane 0 */

/*
 * Where the lanes of a mix lie, by its topics: <mix>.batches has `partitions` > 0. FAIL_CONFIG: no
 * mix has such topics.
 */
struct rd_kafka_s;
enum fail_code lanes_query_map(struct lane_map *out, struct rd_kafka_s *rk, const char *mix,
    int partitions, int timeout_ms, struct failure *f);

/* Borrowed, for the life of `l`. */
const struct lane_map *lanes_map(const struct lanes *l);

/* This rank's first lane that lies in the partition of its lane i. */
uint32_t lanes_lead(const struct lanes *l, uint32_t i);

/*
 * Fills low[count] and high[count]: the first offset kept and the visible end of each lane's
 * partition.
 */
enum fail_code lanes_watermarks(
    struct lanes *l, int64_t *low, int64_t *high, int timeout_ms, struct failure *f);

/*
 * Starts every lane at offset_next[count]; what was held or on its way is dropped. Lanes that share
 * a partition had better start close to each other: what lies between is read in vain.
 */
enum fail_code lanes_assign(struct lanes *l, const int64_t *offset_next, struct failure *f);

/*
 * The lanes were assigned below `step` to meet it: where they share partitions, what comes before
 * it is passed over, so that it does not wait for its lane while another one is read.
 */
void lanes_pass_over(struct lanes *l, uint64_t step);

enum lanes_event {
	LANES_RECORD, /* *out is the lane's next record */
	/* The lane has been read to its end, which is no earlier than the last lanes_watermarks()
	 * said; call again for what comes. */
	LANES_AT_END,
	LANES_LOST, /* the offset to read is not in the log: deleted, or never there */
};

struct lanes_record {
	const uint8_t *bytes;
	size_t n;
	int64_t offset; /* LANES_AT_END: the end that was met; the others are not set then */
};

/*
 * The next event of lane i < lanes_count(), for which it waits until `deadline_ms` (clock_ms());
 * FAIL_TIMEOUT then. Fills *out, which borrows. A record is held, and given again by later calls,
 * until lanes_release(), lanes_detach() or lanes_assign().
 */
enum fail_code lanes_next(struct lanes *l, uint32_t i, int64_t deadline_ms, enum lanes_event *event,
    struct lanes_record *out, struct failure *f);
void lanes_release(struct lanes *l, uint32_t i);

/*
 * Gives the record that lane i holds, which stays as it is until lanes_free(), from any thread, but
 * not beyond lanes_close().
 */
struct lanes_record_held;
struct lanes_record_held *lanes_detach(struct lanes *l, uint32_t i);
void lanes_free(struct lanes_record_held *record); /* NULL is accepted */

/*
 * From lanes_wake() until lanes_sleep() no lanes_next() waits: one that waits in another thread
 * returns soon, with FAIL_TIMEOUT or an event, and a later one returns at once.
 */
void lanes_wake(struct lanes *l);
void lanes_sleep(struct lanes *l);

/*
 * What the run has committed, for all L lanes: fills offset_next[L] (-1: none) and metadata[L]
 * (given, free(); NULL: none).
 */
enum fail_code lanes_committed(
    struct lanes *l, int64_t *offset_next, char **metadata, int timeout_ms, struct failure *f);

/*
 * The texts alone, of this rank's lanes: fills metadata[count] in the same way. May be called by
 * another thread than the rest.
 */
enum fail_code lanes_committed_mine(
    struct lanes *l, char **metadata, int timeout_ms, struct failure *f);

/*
 * Gives a copy (free) of the last record of a topic with one partition; NULL: there is none.
 * *emptied: there were some, and they were deleted. Only while nothing is assigned.
 */
enum fail_code lanes_last_record(struct lanes *l, const char *topic, uint8_t **bytes, size_t *n,
    bool *emptied, int timeout_ms, struct failure *f);

/*
 * Starts to commit offset_next[count] with `metadata` for this rank's lanes; copies both. One at a
 * time: the next may begin once lanes_commit_end() has returned anything but FAIL_TIMEOUT. These
 * two may be called by another thread than the rest.
 */
enum fail_code lanes_commit_begin(
    struct lanes *l, const int64_t *offset_next, const char *metadata, struct failure *f);

/*
 * What came of it: FAIL_NONE it is committed, FAIL_TIMEOUT there is no answer within timeout_ms (it
 * can still come: call again), else why it is not. Where a coordinator refuses for a while (it
 * moves, or has just started), this function sends the commit again, for five minutes.
 */
enum fail_code lanes_commit_end(struct lanes *l, int timeout_ms, struct failure *f);

#endif
