/*
 * runs_reset.h -- takes a run to a step, `riffle runs --reset`, or forgets it, `--forget`.
 *
 *     1. Looks: the run is known and silent, the step is published and kept.
 *     2. Sets the run's commits at the broker to that step.
 *     3. Requests the ledger's part of the mixer, which looks whether the commits are still there.
 *
 * Why in this order: with the ledger's step taken back first, the mixer would see the old commits,
 * further on, and know them again. Killed between 2 and 3, the run has only gone back by its
 * commits, as with an older checkpoint; `riffle status` names that, and the same command completes
 * it. A trainer that still runs moves the commits on, and the mixer refuses.
 */
#ifndef CLI_REQUEST_RUNS_RESET_H
#define CLI_REQUEST_RUNS_RESET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/status/status_query.h"

struct runs_reset {
	const struct config *config;
	const char *run;
	const char *id; /* NULL: a new one */
	uint64_t to_step;
	int64_t idle_ms; /* for how long the ledger must not have seen it advance */
	int timeout_ms;  /* for the answer */
	bool json;
};

/* Prints the answer. FAIL_DATA: refused, and why. FAIL_TIMEOUT: no answer came. */
enum fail_code runs_reset(struct status_query *q, const struct runs_reset *r, struct failure *f);

/* Deletes the commits of a run that is neither in mix.runs nor in the ledger. FAIL_DATA: it is. */
enum fail_code runs_forget(
    struct status_query *q, const struct config *c, const char *name, struct failure *f);

/* Whether the run may be reset, as `st` shows it. FAIL_DATA: why not. Pure. */
enum fail_code runs_reset_check(
    const struct runs_reset *r, const struct status *st, struct failure *f);

/* Whether no rank of it has committed between two looks at the run. FAIL_DATA: one has. Pure. */
enum fail_code runs_reset_check_silent(const struct runs_reset *r, const struct status_run *before,
    const struct status_run *now, struct failure *f);

#endif
