/*
 * weights_print.h -- how `riffle weights` shows what is in force, what is to come and what was.
 */
#ifndef CLI_REQUEST_WEIGHTS_PRINT_H
#define CLI_REQUEST_WEIGHTS_PRINT_H

#include "common/base/failure.h"
#include "common/record/ledger.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/ledger/weight_history.h"

struct weights_shown {
	const char *mix;
	const struct ledger *ledger;     /* the last record */
	const struct mixer_phase *phase; /* [phases_n] of the configuration in the ledger */
	size_t phases_n;
	const struct weight_history *history;
};

void weights_print_table(const struct weights_shown *w);
enum fail_code weights_print_json(const struct weights_shown *w, struct failure *f);

#endif
