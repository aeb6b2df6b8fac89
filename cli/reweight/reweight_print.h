/*
 * reweight_print.h -- what `riffle reweight` prints at its end.
 */
#ifndef CLI_REWEIGHT_REWEIGHT_PRINT_H
#define CLI_REWEIGHT_REWEIGHT_PRINT_H

#include <stdio.h>

#include "cli/reweight/reweight_job.h"

void reweight_print_table(const struct reweight_job *job, FILE *to);
enum fail_code reweight_print_json(const struct reweight_job *job, FILE *to, struct failure *f);

#endif
