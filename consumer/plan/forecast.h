/*
 * forecast.h -- what a mix will do: the mixer's own decisions, stepped through without data.
 *
 * The numbers are those that the ledger of a run will hold, as they come from the same core.
 * Sequences are taken to be full, and none to be bad. A stretch is the steps under one version of
 * the weights: from step 0, from each phase.
 *
 * Thread: one. Memory does not grow with steps: domains times lanes, and domains times stretches.
 * No I/O, no clock.
 */
#ifndef CONSUMER_PLAN_FORECAST_H
#define CONSUMER_PLAN_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/base/stop.h"
#include "consumer/mixer/mixer.h"

enum { FORECAST_STRETCHES_MAX = LIMIT_PHASES + 1, FORECAST_PHASE_BYTES = 256 };

#define FORECAST_NEVER UINT64_MAX

/* One domain in one stretch. */
struct forecast_share {
	double intended;   /* share under the weights in force when the stretch began */
	uint64_t drawn;    /* sequences */
	double rank_error; /* how far the share of a lane is from the whole batch's, at worst */
};

struct forecast_stretch {
	char phase[FORECAST_PHASE_BYTES]; /* "" where there is none */
	uint64_t first, end;              /* steps */
	double lr_scale, temperature;
	uint32_t global_batch; /* of each of its steps */
	uint64_t draws;
	struct forecast_share *share; /* [domains_n] */
};

struct forecast_domain {
	char name[NAME_MAX_BYTES + 1];
	uint64_t first_step;     /* in which it is drawn first; FORECAST_NEVER */
	uint64_t exhausted_step; /* in which its first pass ends; FORECAST_NEVER */
	uint64_t length;         /* sequences of one pass */
	struct mixer_standing at_end;
};

struct forecast {
	uint64_t steps; /* that were taken */
	bool ended;     /* the mix ends there; else more were not asked for */
	bool dry;       /* a live domain has nothing further: it cannot be told how things go on */
	char dry_domain[NAME_MAX_BYTES + 1];
	uint64_t draws;
	uint32_t sequence_length, lanes;
	uint32_t global_batch; /* of a step that no phase gives another */
	size_t domains_n, stretches_n;
	struct forecast_domain *domain;
	struct forecast_stretch *stretch;
};

/*
 * Gives *out, to be ended with forecast_close(): at most `steps` steps of the plan, from step 0.
 * FAIL_CONFIG: the plan cannot be mixed. FAIL_STOPPED once `stop`, where it is not NULL, is asked.
 */
enum fail_code forecast_open(struct forecast **out, const struct mixer_plan *p, uint64_t steps,
    const struct stop *stop, struct failure *f);
void forecast_close(struct forecast *fc); /* NULL is accepted */

#endif
