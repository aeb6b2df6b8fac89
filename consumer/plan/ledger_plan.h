/*
 * ledger_plan.h -- the mixer's plan as a ledger record has it: from the configuration's text in
 * it (bound_config.h) and the lengths that it counts with, without the file of today.
 */
#ifndef CONSUMER_PLAN_LEDGER_PLAN_H
#define CONSUMER_PLAN_LEDGER_PLAN_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"
#include "consumer/mixer/mixer.h"

struct ledger_plan {
	struct mixer_plan plan;
	const char *corpus;
	uint64_t max_lead_steps;
	void *memory; /* of ledger_plan.c */
};

/*
 * Gives *out, to be ended with ledger_plan_close(); it borrows nothing from the record. A
 * domain of the configuration that the record does not hold has no partition and is left out.
 * FAIL_DATA: the text is not such a configuration.
 */
enum fail_code ledger_plan_open(struct ledger_plan *out, const struct ledger *l, struct failure *f);
void ledger_plan_close(struct ledger_plan *p); /* a zeroed one is accepted */

#endif
