/*
 * lane_fetch.h -- how far librdkafka reads ahead of a rank, and what keeps it reading.
 *
 * A lane's records are fetched until its queue holds its share of the bytes or records that the
 * rank may have ahead. In librdkafka 2.0.2 (rd_kafka_toppar_fetch_decide) nothing wakes the thread
 * of a broker when a queue that was full has been emptied: it looks again when the broker has
 * something for it, or after a second. A reader that is faster than that would stand still until
 * then (measured, 8 lanes of 8 MiB ahead: 126 instead of 250 M tokens/s, waits of 0.7 s). So
 * whenever a quarter of what may be ahead has been taken, all brokers of the lanes are asked for
 * their ends, in one small request each, which wakes their threads; the answer is not used.
 *
 * A fetch is small, because a lane is parsed to the end of a response before its first record is
 * handed out, and smaller for many lanes, because one response holds all of them. A record or a
 * batch that is larger still comes, alone. Measured on loopback, first batch at a random step: 8
 * lanes of 200-byte records 70 ms with librdkafka's 1 MiB, 37 ms with 256 KiB; 64 lanes of 1 KiB
 * records 250 ms with 256 KiB a lane, 70 ms with 64 KiB. The rate of large records is the same.
 *
 * Thread: one at a time.
 */
#ifndef CONSUMER_READER_LANE_FETCH_H
#define CONSUMER_READER_LANE_FETCH_H

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
};

/* What each lane may have; established by lane_fetch_init(). */
struct lane_fetch {
	size_t ahead_bytes, ahead_records, fetch_bytes;
	uint32_t lanes;
	size_t taken_bytes, taken_records; /* since the last wake, over all lanes */
};

/* For `lanes` lanes (more than 0) that may have `ahead_bytes` ahead together. */
void lane_fetch_init(struct lane_fetch *t, size_t ahead_bytes, uint32_t lanes);

/* Counts a record that was taken from a queue. True: it is time to wake the brokers' threads. */
bool lane_fetch_taken(struct lane_fetch *t, size_t bytes);

/* Wakes them; `list` names the lanes. A broker that does not answer is none of its business. */
void lane_fetch_wake(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list);

#endif
