/*
 * weights_print.h -- how `riffle weights` shows what is in force, what is to come and what was.
 */
#ifndef CLI_REQUEST_WEIGHTS_PRINT_H
#define CLI_REQUEST_WEIGHTS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"

/*
 * Prints to stdout, as a table or as JSON, what `last` says (the ledger's last record; NULL: the
 * mix has not started, FAIL_DATA), and at most `history_max` versions before it, which it reads
 * from the ledger.
 */
enum fail_code weights_print(const char *mix, const struct properties *properties,
    const struct ledger *last, size_t history_max, bool json, struct failure *f);

#endif
