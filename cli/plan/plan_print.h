/* plan_print.h -- a forecast as a table for people and as JSON for programs; single draws. */
#ifndef CLI_PLAN_PLAN_PRINT_H
#define CLI_PLAN_PLAN_PRINT_H

#include <stdio.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "consumer/plan/forecast.h"

void plan_print_table(const struct forecast *fc, const struct config *c, FILE *to);

/* One JSON object and a newline. Its keys are stable: they are only ever added to. */
enum fail_code plan_print_json(
    const struct forecast *fc, const struct config *c, FILE *to, struct failure *f);

/*
 * The first `draws` draws of a mix, or all where it has fewer: draw, domain, and how many that
 * domain gave before, with tabs between. In the order before the permutation of each global batch.
 */
enum fail_code plan_print_draws(const struct config *c, const struct mixer_plan *plan,
    uint64_t draws, FILE *to, struct failure *f);

#endif
