/*
 * json_print.h -- JSON of a command: values to a stream, and texts that may be no UTF-8.
 */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"

/*
 * Prints a value and an end of line. Takes `value`; NULL: there was no memory for it. `flags` are
 * jansson's. FAIL_MEMORY only.
 */
enum fail_code json_print(json_t *value, size_t flags, FILE *to, struct failure *f);

/*
 * A text from a topic, such as a reason or an id: it may hold any bytes, and JSON takes UTF-8 only.
 * NULL stands for "". The value is the caller's; NULL: no memory.
 */
json_t *json_print_text(const char *text);

/* The same for weights of a request, an object with a key per domain. */
json_t *json_print_weights(const struct ledger_raw_weight *weight, size_t n);

#endif
