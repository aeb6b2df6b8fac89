/*
 * ledger_plan.h -- the mixer's plan as a ledger record has it: from the configuration's text in it
 * (bound_config.h) and the lengths that it counts with, without the file of today.
 *
 * A replay, a dry run of a request and the history of weights decide with what the mixer of that
 * record decided with, whatever mix.yml says by now. The record comes from a topic: every value is
 * checked, and what is wrong is FAIL_DATA with the key's name. A key that is missing has the
 * default given in ledger_plan.c.
 *
 * Thread: any. No I/O.
 */
#ifndef CONSUMER_PLAN_LEDGER_PLAN_H
#define CONSUMER_PLAN_LEDGER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"
#include "consumer/mixer/mixer.h"

struct ledger_plan {
	struct mixer_plan plan;
	const char *corpus;
	uint64_t max_lead_steps;
	enum mix_batches batches;
	const char *const *run; /* [runs_n]: mix.runs */
	size_t runs_n;
	void *memory; /* what the plan points to, for ledger_plan_close() */
};

/*
 * Gives *out, to be ended with ledger_plan_close(); it borrows nothing from the record. A
 * domain of the configuration that the record does not hold has no partition and is left out.
 * FAIL_DATA: the text is not such a configuration.
 */
enum fail_code ledger_plan_open(struct ledger_plan *out, const struct ledger *l, struct failure *f);
void ledger_plan_close(struct ledger_plan *p); /* a zeroed one is accepted */

/* Whether mix.runs names it. */
bool ledger_plan_has_run(const struct ledger_plan *p, const char *name);

#endif
