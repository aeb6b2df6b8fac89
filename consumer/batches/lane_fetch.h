/*
 * lane_fetch.h -- how far librdkafka reads ahead of a rank, and what keeps it reading.
 *
 * Three limits a lane, each the rank's total shared out by lanes: bytes and records that may wait
 * in the lane's queue, and bytes of one fetch. Example, 64 MiB ahead: with 8 lanes each may have 8
 * MiB or 100,000 records, and one fetch brings 256 KiB of it; with 64 lanes 1 MiB, 12,500 records
 * and 64 KiB (the least).
 *
 * Why brokers must be woken. librdkafka fetches a lane until its queue is full, and the thread of
 * the broker then leaves the lane out of its requests. In librdkafka 2.0.2
 * (rd_kafka_toppar_fetch_decide) nothing wakes that thread when the queue has been emptied:
 *
 *     1  All queues of a broker are full; its thread sleeps in poll().
 *     2  The reader takes everything, faster than a second.
 *     3  The thread sleeps on: it looks again when the broker sends something, or after a second.
 *     4  The reader waits, in front of a broker that has all that it wants.
 *
 * Measured, 8 lanes of 8 MiB ahead: 126 instead of 250 M tokens/s, waits of 0.7 s. So whenever a
 * quarter of what may be ahead has been taken, the brokers of all lanes are asked for their ends,
 * in one small request each. Sending it wakes the thread, which then decides about its fetches,
 * too; the answer is not used.
 *
 * From 2.2 on librdkafka looks at a queue that was full again after fetch.queue.backoff.ms: where
 * the handle has that property (lane_fetch_backs_off()), no broker is asked for its ends.
 *
 * Why a fetch is small. A lane is parsed to the end of a response before its first record is handed
 * out, and one response holds all lanes of a broker. A record or a batch that is larger still
 * comes, alone. Measured on loopback, first batch at a random step: 8 lanes of 200-byte records 70
 * ms with librdkafka's 1 MiB, 37 ms with 256 KiB; 64 lanes of 1 KiB records 250 ms with 256 KiB a
 * lane, 70 ms with 64 KiB. The rate of large records is the same.
 *
 * Thread: one at a time.
 */
#ifndef CONSUMER_BATCHES_LANE_FETCH_H
#define CONSUMER_BATCHES_LANE_FETCH_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LANE_FETCH_AHEAD_BYTES_MIN = 1 << 20, /* of a lane, */
	LANE_FETCH_AHEAD_BYTES_MAX = 64 << 20,
	LANE_FETCH_AHEAD_RECORDS = 800000, /* of a rank: small ones cost more than their bytes */
	LANE_FETCH_AHEAD_RECORDS_MAX = 100000, /* of a lane */
	LANE_FETCH_BYTES = 2 << 20,            /* of a rank in one fetch, */
	LANE_FETCH_BYTES_MIN = 64 << 10,       /* of a lane */
	LANE_FETCH_BYTES_MAX = 256 << 10,
	LANE_FETCH_WAKE_PARTS = 4, /* of what may be ahead, one is taken between two wakes */
	LANE_FETCH_WAKE_MS = 5,    /* how long one waits for the answers */
	LANE_FETCH_BACKOFF_MS = 10,
};

/* What each lane may have; established by lane_fetch_init(). */
struct lane_fetch {
	size_t ahead_bytes, ahead_records, fetch_bytes;
	uint32_t lanes;
	bool backs_off;                    /* nobody needs to be woken */
	size_t taken_bytes, taken_records; /* since the last wake, over all lanes */
};

/* Shares `ahead_bytes` out among `lanes` lanes, more than 0. */
void lane_fetch_init(struct lane_fetch *t, size_t ahead_bytes, uint32_t lanes);

/*
 * The rank has fewer lanes than lane_fetch_init() was told, more than 0, in a handle whose limits
 * stay: it is time to wake after a quarter of what these lanes may have. (After a quarter of what
 * all would have, one lane's queue is empty twice over.)
 */
void lane_fetch_fewer(struct lane_fetch *t, uint32_t lanes);

/* The handle looks at full queues every LANE_FETCH_BACKOFF_MS: it is never time to wake. */
void lane_fetch_backs_off(struct lane_fetch *t);

/* Counts a record of so many bytes that was taken from a queue. True: it is time to wake. */
bool lane_fetch_taken(struct lane_fetch *t, size_t bytes);

/*
 * Wakes the brokers' threads; `list` names the lanes, and its offsets are overwritten. Waits at
 * most LANE_FETCH_WAKE_MS; a broker that does not answer is no failure, for fetching will show it.
 */
void lane_fetch_wake(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list);

#endif
