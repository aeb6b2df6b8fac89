/*
 * config_plan.h -- the mixer's plan out of a configuration and the lengths of its domains: one way for
 * the mixer that runs and for `riffle plan`, which only asks what it would do.
 */
#ifndef CONSUMER_PLAN_CONFIG_PLAN_H
#define CONSUMER_PLAN_CONFIG_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "consumer/mixer/mixer.h"

/* What is in a domain's topic; borrowed for the plan's life. */
struct config_plan_length {
	size_t partitions_n;
	const uint64_t *sequences; /* [partitions_n] */
	const bool *sealed;        /* [partitions_n] of a live domain; NULL: none is */
};

struct config_plan {
	struct mixer_plan plan;
	struct mixer_source *source;
	struct mixer_phase *phase;
	struct ledger_raw_weight *weight; /* of all phases */
};

/*
 * Gives *out, to be ended with config_plan_close(). Borrows the configuration, which has a mix, and
 * length[domains_n] for its life. Weights `size` are each domain's part of all sequences.
 */
enum fail_code config_plan_open(struct config_plan *out, const struct config *c,
    const struct config_plan_length *length, struct failure *f);
void config_plan_close(struct config_plan *p); /* a zeroed one is accepted */

#endif
