/*
 * mixer_plan.h -- what a mixer is made from: the domains, the rules, the phases. Borrowed values.
 *
 * A plan comes from a configuration and the lengths of its domains (consumer/plan), or from the
 * configuration's text in a ledger. Phases and rules are the plan's until mixer_replan() brings
 * another; positions, weights in force and lengths become the ledger's with the first step.
 */
#ifndef CONSUMER_MIXER_MIXER_PLAN_H
#define CONSUMER_MIXER_MIXER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"
#include "common/schedule/mix_rules.h"
#include "common/schedule/schedule.h"

#define MIXER_EPOCH_LARGEST UINT64_MAX /* epoch_size: the largest domain's sequences */

struct mixer_source { /* one domain as the configuration and its topic have it */
	const char *name;
	double weight; /* as written: the base weight */
	enum mix_on_end on_end;
	size_t partitions_n;
	const uint64_t *sequences; /* [partitions_n], sealed lengths; live: what is there now */
	uint64_t max_epochs;       /* 0: not set */
	bool live;
	const bool *sealed; /* [partitions_n] of a live domain; NULL: none is */
	enum mix_on_dry on_dry;
	double catch_up; /* >= 1; 0 stands for 2 */
	bool short_ones; /* by tokens: sequences may be shorter than S + 1: the callback is asked */
	enum mix_shuffle shuffle;
};

struct mixer_phase {
	const char *name;
	uint64_t start_step;                    /* strictly increasing */
	const struct ledger_raw_weight *weight; /* domains that are not named have base weights */
	size_t weights_n;
	double temperature;    /* 0: the plan's */
	double lr_scale;       /* 0 stands for 1 */
	uint32_t global_batch; /* a multiple of the lanes; 0: the plan's */
};

struct mixer_plan {
	uint64_t seed;
	uint32_t sequence_length, global_batch, lanes;
	uint32_t block, window;   /* as in order.h */
	enum mix_shuffle shuffle; /* of domains that the plan does not name */
	bool permute;
	enum mix_lane_order lane_order;
	double temperature;
	const struct mixer_source *source; /* by the bytes of their names */
	size_t sources_n;
	enum schedule_kind schedule;
	enum mix_unit weights_unit; /* tokens: deficit only, no epoch_size, no lend */
	uint64_t
	    epoch_size; /* draws of a round, MIXER_EPOCH_LARGEST, or 0; deficit only, no lend */
	const struct mixer_phase *phase;
	size_t phases_n;
};

/*
 * Whether the plan can be mixed, apart from the sum of its base weights. FAIL_CONFIG: a weight that
 * cannot be, a domain with a weight and no sequence, phases that do not increase or name what is no
 * domain, a combination that the comments above exclude.
 */
enum fail_code mixer_plan_check(const struct mixer_plan *p, struct failure *f);

/* The same for one domain, under the schedule, unit and rounds of `p`. */
enum fail_code mixer_plan_check_source(
    const struct mixer_plan *p, const struct mixer_source *s, struct failure *f);

/* The domain of that name; NULL: the plan has none. */
const struct mixer_source *mixer_plan_source(const struct mixer_plan *p, const char *name);

/*
 * Whether a draw cannot be known without the sequence that the one before it drew: by tokens, it
 * depends on how many that had.
 */
bool mixer_plan_needs_tokens(const struct mixer_plan *p);

/* The order of a domain of that name. */
enum mix_shuffle mixer_plan_shuffle(const struct mixer_plan *p, const char *name);

/*
 * The rules of a domain that no plan names: no configuration says more of it than its topic.
 * `shuffle` is the plan's.
 */
struct mixer_source mixer_plan_joined_rules(enum mix_shuffle shuffle);

/*
 * A hash of all that decides on weights in force: base weights, temperature, phases. Where it
 * differs from the ledger's, the plan has changed them.
 */
uint64_t mixer_plan_hash(const struct mixer_plan *p);

#endif
