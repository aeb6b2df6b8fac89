/*
 * kafka_stats.h -- what a handle of librdkafka says about itself every few seconds: how long
 * brokers take to answer, and what waits to be sent.
 *
 * A struct kafka_options that has a struct kafka_stats gets it filled, by rd_kafka_poll() and
 * rd_kafka_consumer_poll() on the thread of the handle; only handles that are polled all the time
 * may have one. The user's statistics.interval.ms wins over interval_ms; 0 in both: nothing comes.
 *
 * librdkafka describes every partition, so that the text of a handle with a thousand of them has a
 * megabyte; it is walked along, and nothing is built from it.
 *
 * Thread: any may read the numbers, at any time.
 */
#ifndef COMMON_KAFKA_KAFKA_STATS_H
#define COMMON_KAFKA_KAFKA_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metrics/metrics.h"

enum { KAFKA_STATS_MS = 5000 /* between two of them, where the user says nothing else */ };

/* Zeroed: nothing is known yet. A handle that takes another's place begins at 0 again. */
struct kafka_stats {
	int interval_ms;
	atomic_int_least64_t
	    round_trip_us; /* mean of the interval, of the slowest broker; 0: none */
	atomic_int_least64_t queue_records, queue_bytes; /* to be sent, or not acknowledged yet */
	atomic_int_least64_t sent_bytes, received_bytes; /* since the handle was opened, */
	atomic_int_least64_t timeouts;                   /* and requests without an answer */
};

/*
 * Adds the figures of n handles together; the round trip is that of the slowest. Labels as of
 * metrics_count().
 */
void kafka_stats_text(struct metrics_text *m, const struct kafka_stats *const *s, size_t n,
    const char *mix, const char *run);

/* Takes librdkafka's text, json[n] with a NUL behind it; what is none of it changes nothing. */
void kafka_stats_take(struct kafka_stats *s, const char *json, size_t n);

#endif
