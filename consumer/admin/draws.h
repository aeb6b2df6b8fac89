/*
 * draws.h -- which mixes of the cluster draw from the domains of a corpus: asked before a domain is
 * deleted or published again.
 *
 * A mix is known by its ledger. The last record of each ledger says of which corpus the mix is, and
 * which domains it has. A ledger that cannot be read may be one of them, and counts as one.
 *
 * Thread: that of the handle.
 */
#ifndef CONSUMER_ADMIN_DRAWS_H
#define CONSUMER_ADMIN_DRAWS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"

struct draws_mix {
	char mix[NAME_MAX_BYTES + 1];
	char domain[NAME_MAX_BYTES + 1]; /* the first of those asked about that it has */
	uint64_t steps;                  /* that it has published */
	bool drawn;                      /* it has drawn from one of them, and not only may */
	char unknown[256];               /* why its ledger cannot be read; else "" */
	bool damaged; /* because its last record is none: no mixer resumes from it */
};

/*
 * Gives *out[*n] (free): the mixes of the corpus, but `except` (may be NULL), that have one of the
 * domains with wanted[i]. `reader` is a KAFKA_READER with nothing assigned.
 */
enum fail_code draws_find(struct draws_mix **out, size_t *n, rd_kafka_t *reader,
    const struct config *c, const bool *wanted, const char *except, int timeout_ms,
    struct failure *f);

#endif
