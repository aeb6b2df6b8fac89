/*
 * config_plan.h -- the mixer's plan out of a configuration and the lengths of its domains: one way
 * for the mixer that runs and for `riffle plan`, which only shows what it would do.
 *
 * The room: from a configuration to a mixer_plan (mixer.h), and what that plan will do. A plan
 * comes from two places, which must give the same one:
 *
 *     mix.yml ---> config_plan ----------> mixer_plan ---> mixer_open(), mixer_resume()
 *                       |                      ^      `--> forecast
 *                       v                      |
 *                  bound_config ---text---> ledger_plan
 *                       (in each ledger record)
 *
 * Files of this room:
 *     config_plan   a plan out of the configuration file and what the topics hold
 *     bound_config  what a mix is bound to by its ledger, as text; what has changed since
 *     ledger_plan   a plan out of that text and a ledger record, without the file
 *     forecast      what a plan will do: the mixer stepped without data
 *
 * No I/O, no clock: what the topics hold comes in as numbers.
 */
#ifndef CONSUMER_PLAN_CONFIG_PLAN_H
#define CONSUMER_PLAN_CONFIG_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/mixer/mixer.h"

/* What is in a domain's topic; borrowed for the plan's life. */
struct config_plan_length {
	size_t partitions_n;
	const uint64_t *sequences; /* [partitions_n] */
	const bool *sealed;        /* [partitions_n] of a live domain; NULL: none is */
};

struct config_plan {
	struct mixer_plan plan; /* points into the configuration, the lengths and what follows */
	struct mixer_source *source;
	struct mixer_phase *phase;
	struct ledger_raw_weight *weight; /* of all phases */
};

/*
 * Gives *out, to be ended with config_plan_close(). Borrows the configuration, which has a mix, and
 * what length[domains_n] point to for its life. Weights `size` are each domain's part of all
 * sequences. FAIL_MEMORY only: whether the plan can be mixed is for mixer_open() to judge.
 */
enum fail_code config_plan_open(struct config_plan *out, const struct config *c,
    const struct config_plan_length *length, struct failure *f);
void config_plan_close(struct config_plan *p); /* a zeroed one is accepted */

#endif
