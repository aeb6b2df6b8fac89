/*
 * options_value.h -- from the text of one option's value to the command's struct: the part of
 * options.h that knows the kinds. Nobody but options.c includes it.
 */
#ifndef CLI_OPTIONS_VALUE_H
#define CLI_OPTIONS_VALUE_H

#include "cli/options.h"

/* Writes `text` (NULL for a flag) to where the row says inside `values`, or says why it cannot. */
enum fail_code options_set(
    const struct option_row *row, void *values, const char *text, struct failure *f);

#endif
