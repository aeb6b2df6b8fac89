/*
 * reweight_loop.h -- what `riffle reweight` does once its options are read: follows the feedback
 * topic, learns from every complete step, asks the mix, saves.
 *
 * Why nothing is changed twice. A request carries an id made of the learner's and of the number of
 * steps learned; the state is saved after its answer. A learner that is killed in between
 *   1. starts from the state before the request, and reads the same reports;
 *   2. comes to the same step with the same weights, bit by bit;
 *   3. asks with the same id, and the mix gives its earlier answer instead of a second change.
 */
#ifndef CLI_REWEIGHT_REWEIGHT_LOOP_H
#define CLI_REWEIGHT_REWEIGHT_LOOP_H

#include "cli/reweight/reweight_job.h"
#include "common/base/stop.h"
#include "consumer/ledger/ledger_log.h"

enum {
	REWEIGHT_LOOP_SAVE_MS = 10000, /* at most so much is learned again after a kill */
	REWEIGHT_LOOP_ANSWER_MS = 30000,
	REWEIGHT_LOOP_REFUSALS_MAX = 3, /* in a row */
	REWEIGHT_LOOP_END_MS = 30000, /* after the mix's end, last reports are waited for so long */
};

/*
 * `job` is open, and resumed where there was a state. Borrows all until it returns.
 *
 * FAIL_NONE: the topic's end as it was at the start (off line), or the mix's, --until-step or a
 * signal. The result is saved then, and before most failures.
 */
enum fail_code reweight_loop(struct reweight_job *job, struct ledger_log *ledger,
    const struct stop *stop, struct failure *f);

#endif
