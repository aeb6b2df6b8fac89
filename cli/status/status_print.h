/* status_print.h -- a status as a table for people and as JSON for programs. */
#ifndef CLI_STATUS_STATUS_PRINT_H
#define CLI_STATUS_STATUS_PRINT_H

#include <stdio.h>

#include "consumer/status/status.h"

void status_print_table(const struct status *st, FILE *to);

/*
 * One JSON object and a newline; on one line where `compact`. Its keys are stable: they are only
 * ever added to. Hashes are strings of 16 hex digits; what is not known is null.
 */
enum fail_code status_print_json(
    const struct status *st, FILE *to, bool compact, struct failure *f);

#endif
