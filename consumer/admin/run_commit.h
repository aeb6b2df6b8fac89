/*
 * run_commit.h -- sets the commits of a run of trainers to a step, on every lane.
 *
 * For `riffle runs --reset`: a trainer that starts from its commits then starts at that step. The
 * offsets are those of the step in the log (step_search.h), so that it starts there at once.
 *
 *     run_commit_find   where the step lies on each lane; changes nothing
 *     run_commit_set    commits these offsets, with step=N, for group <mix>.<run>
 *     run_commit_forget deletes the commits of a run that is over, or was a slip of the pen
 *
 * Thread: one.
 */
#ifndef CONSUMER_ADMIN_RUN_COMMIT_H
#define CONSUMER_ADMIN_RUN_COMMIT_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"

struct run_commit;

/*
 * Gives *out, to be ended with run_commit_close(). Copies mix and run, borrows the properties and
 * the ledger's last record during the call. FAIL_DATA: `step`, which is published or the next one,
 * is not kept any more; or the batch topic is not the ledger's (batch_topic.h).
 */
enum fail_code run_commit_find(struct run_commit **out, const char *mix, const char *run,
    uint64_t step, const struct ledger *last, const struct properties *properties,
    struct failure *f);
void run_commit_close(struct run_commit *r); /* NULL is accepted */

/* Returns when the broker has committed all lanes. */
enum fail_code run_commit_set(struct run_commit *r, struct failure *f);

/* Deletes the group of a run, with all its commits: nothing of the run is left at the broker. */
enum fail_code run_commit_forget(
    const char *mix, const char *run, const struct properties *properties, struct failure *f);

uint32_t run_commit_lanes(const struct run_commit *r);

#endif
