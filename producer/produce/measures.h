/*
 * measures.h -- what all parts of a process count together, for its metrics.
 *
 * Parts run in several threads and count into the rows of their domains with relaxed atomics. What
 * belongs to an input, and so to all domains that share it, is rare enough for a lock: bytes read
 * (once a chunk) and rejects.
 *
 * Where nobody asks there are no measures: every function takes NULL, and does nothing.
 *
 * Thread: any, but for open and close.
 */
#ifndef PRODUCER_PRODUCE_MEASURES_H
#define PRODUCER_PRODUCE_MEASURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/kafka/kafka_stats.h"

struct measures;

/* Gives *out, to be ended with measures_close() when no part runs. Borrows the configuration. */
enum fail_code measures_open(struct measures **out, const struct config *c, struct failure *f);
void measures_close(struct measures *m);

/* A part that runs, in its own memory; it counts from begin to end. */
struct measures_part {
	struct measures *all; /* NULL: nothing is counted */
	const size_t *domain; /* [domains_n], of the configuration; borrowed until the end */
	size_t domains_n;
	struct measures_part *next; /* of those that run */
	struct kafka_stats stats;   /* of its writer */
};

/*
 * `wanted`[n]: whether it writes domain[n], by index in the configuration. Of all parts that read
 * one input domain[] is the same.
 */
void measures_begin(struct measures_part *p, struct measures *all, const size_t *domain,
    const bool *wanted, size_t n);
void measures_end(struct measures_part *p);

/* NULL where nothing is counted. */
struct kafka_stats *measures_stats(struct measures_part *p);

/* `domain` is the index in the configuration. */
void measures_document(struct measures_part *p, size_t domain);
void measures_sequence(struct measures_part *p, size_t domain, uint64_t tokens, uint64_t bytes);

/* Of the part's input, which is called after its first domain: "code", or "code+199" of 200. */
void measures_input(struct measures_part *p, uint64_t bytes);
void measures_reject(struct measures_part *p, const char *reason);

/* Gives the metrics (free); NULL: no memory. */
char *measures_text(struct measures *m);

#endif
