/*
 * reweight_print.h -- what `riffle reweight` prints at its end.
 *
 *     learned  odm, 40 steps below step 40 of mix pretrain, run trainers
 *     reports  80 used; dropped: 2 duplicate, 0 late, 0 of an unknown step, 0 malformed, ...
 *
 *     DOMAIN     RESULT       LAST       LOSS
 *     code     0.486777   0.486777     1.8719
 *     prose    0.513223   0.513223     2.5616
 *
 * RESULT is what is in the file of weights, LAST the weights after the last step: with DoReMi the
 * result is an average over all steps, with ODM the two are equal. The last column is what the
 * learner remembers of a domain: its last excess (DoReMi), or its smoothed loss (ODM).
 */
#ifndef CLI_REWEIGHT_REWEIGHT_PRINT_H
#define CLI_REWEIGHT_REWEIGHT_PRINT_H

#include <stdio.h>

#include "cli/reweight/reweight_job.h"

/* `job` is open (reweight_job.h). The table is left out where there is no memory for it. */
void reweight_print_table(const struct reweight_job *job, FILE *to);

/* One JSON object and a newline. Its keys are stable: they are only ever added to. */
enum fail_code reweight_print_json(const struct reweight_job *job, FILE *to, struct failure *f);

#endif
