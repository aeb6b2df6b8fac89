/*
 * lanes.h -- the lanes that one rank reads: a consumer handle, one queue and at most one held
 * record a lane.
 *
 * Lanes are partitions of <mix>.batches; rank r of W reads the lanes l with floor(l*W/L) = r, and
 * calls them 0..count-1. They are assigned at explicit offsets, never subscribed. Each lane has
 * its own queue, so that one lane's records never stand in front of another's.
 *
 * Memory: librdkafka fetches ahead until the lanes hold `ahead_bytes` (lane_fetch.h): a lane may be
 * over its share by one fetch, or by one batch where that is larger, and has at least 1 MiB.
 * A held record pins the response it came in; one a lane, all of about the same age.
 *
 * Thread: one, but for what says otherwise.
 */
#ifndef CONSUMER_READER_LANES_H
#define CONSUMER_READER_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"

enum { LANES_AHEAD_BYTES = 64 << 20 };

struct lanes;

struct lanes_options {
	const char *mix;
	const char *group; /* for commits */
	uint32_t rank, world;
	const struct config_properties *properties;
	int timeout_ms;
	size_t ahead_bytes; /* read ahead over all lanes; 0: LANES_AHEAD_BYTES */
};

/*
 * Gives *out, to be ended with lanes_close(). Connects and asks for the topic. FAIL_CONFIG: there
 * is no such topic, or `world` does not divide its lanes. Copies the options.
 */
enum fail_code lanes_open(struct lanes **out, const struct lanes_options *o, struct failure *f);
void lanes_close(struct lanes *l); /* NULL is accepted */

const char *lanes_topic(const struct lanes *l);
uint32_t lanes_total(const struct lanes *l); /* L */
uint32_t lanes_count(const struct lanes *l); /* L / world */
uint32_t lanes_first(const struct lanes *l); /* partition of lane 0 of this rank */

/* First offset kept and the visible end of each lane of this rank. */
enum fail_code lanes_watermarks(
    struct lanes *l, int64_t *low, int64_t *high, int timeout_ms, struct failure *f);

/* Starts every lane at its offset; what was held or on its way is dropped. */
enum fail_code lanes_assign(struct lanes *l, const int64_t *offset_next, struct failure *f);

enum lanes_event {
	LANES_RECORD, /* *out is the lane's next record */
	LANES_AT_END, /* the lane has been read to its end; ask again for what comes */
	LANES_LOST,   /* the offset to read is not in the log: cut away, or never there */
};

struct lanes_record {
	const uint8_t *bytes;
	size_t n;
	int64_t offset;
};

/*
 * The next event of lane i, waiting until `deadline_ms` (clock_ms()): FAIL_TIMEOUT. A record
 * is held, and given again by later calls, until lanes_release() or lanes_assign().
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
 * Makes a lanes_next() that waits in another thread return soon, with FAIL_TIMEOUT or an event, and
 * every other one that would wait, until lanes_sleep().
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
 * Gives a copy (free) of the last record of a topic with one partition; NULL: there is none, or no
 * such topic. Only while nothing is assigned.
 */
enum fail_code lanes_last_record(struct lanes *l, const char *topic, uint8_t **bytes, size_t *n,
    int timeout_ms, struct failure *f);

/*
 * Starts to commit offset_next[count] with `metadata` for this rank's lanes. One at a time. These
 * two may be called by another thread than the rest.
 */
enum fail_code lanes_commit_begin(
    struct lanes *l, const int64_t *offset_next, const char *metadata, struct failure *f);

/*
 * What came of it: FAIL_NONE it is committed, FAIL_TIMEOUT there is no answer within timeout_ms (it
 * can still come: ask again), else why it is not. What a coordinator refuses for a while (it moves,
 * or has just begun) is sent again from here, for five minutes.
 */
enum fail_code lanes_commit_end(struct lanes *l, int timeout_ms, struct failure *f);

#endif
