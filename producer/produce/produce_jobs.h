/*
 * produce_jobs.h -- what there is to produce: one job for each lane of each input, in order.
 *
 * Domains with equal train (or exec), text and partitions that differ in `where` share an input. A
 * domain with `valid` files has a second one, for that set alone.
 *
 * Pure: decided by the configuration and the domains that are wanted.
 */
#ifndef PRODUCER_PRODUCE_PRODUCE_JOBS_H
#define PRODUCER_PRODUCE_PRODUCE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "common/base/names.h"

struct produce_job {
	size_t *member; /* owned: domains that share the input, by index in the configuration */
	bool *wanted;   /* owned: which of them to write */
	size_t members_n;
	bool held_out, live;
	uint32_t lane;
	char label[NAME_MAX_BYTES + 64]; /* "code", or "code lane 2/4" */
};

struct produce_jobs {
	struct produce_job *job;
	size_t n, room;
};

/* Fills *out, to be ended with produce_jobs_close(); wanted[domains_n of the configuration]. */
enum fail_code produce_jobs_open(struct produce_jobs *out, const struct config *c,
    const bool *wanted, bool one_lane, uint32_t lane, struct failure *f);
void produce_jobs_close(struct produce_jobs *j);

#endif
