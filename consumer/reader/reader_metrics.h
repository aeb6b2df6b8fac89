/*
 * reader_metrics.h -- what a reader counts for its metrics.
 *
 * The trainer's thread counts, with relaxed atomics; any thread makes the text, at any time while
 * the reader is open.
 */
#ifndef CONSUMER_READER_READER_METRICS_H
#define CONSUMER_READER_READER_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/kafka/kafka_stats.h"
#include "consumer/reader/riffle.h"

/* Zeroed: nothing yet. */
struct reader_metrics {
	atomic_uint_least64_t steps, sequences, tokens; /* that the trainer was given */
	atomic_int_least64_t wait_ms;                   /* for which it has waited for them */
	atomic_uint_least64_t position, committed; /* as of riffle_position(), riffle_committed() */
	struct kafka_stats stats;                  /* where the user's properties ask for them */
};

void reader_metrics_given(struct reader_metrics *m, const struct riffle_step *s);
void reader_metrics_waited(struct reader_metrics *m, int64_t ms);
void reader_metrics_at(struct reader_metrics *m, uint64_t position, uint64_t committed);

/* Gives the text (free); NULL: no memory. `queue`: steps in memory. */
char *reader_metrics_text(
    const struct reader_metrics *m, const char *mix, const char *run, uint64_t queue);

#endif
