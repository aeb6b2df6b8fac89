/*
 * reweight_ask.h -- asks a mix for the weights that were learned, and hears its answer.
 */
#ifndef CLI_REWEIGHT_REWEIGHT_ASK_H
#define CLI_REWEIGHT_REWEIGHT_ASK_H

#include <stdbool.h>

#include "common/base/stop.h"
#include "cli/reweight/reweight_job.h"

/*
 * Asks for the learner's weights, or, with an id that was answered before, hears that answer.
 * Domains that are not learned keep theirs, and so their share. *refused: why is in `f`.
 * FAIL_TIMEOUT: no mixer answers; the request stays.
 */
enum fail_code reweight_ask(
    struct reweight_job *job, const struct stop *stop, bool *refused, struct failure *f);

#endif
