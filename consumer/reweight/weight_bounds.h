/*
 * weight_bounds.h -- weights pushed inside a floor and a ceiling for each domain.
 *
 * Weights that sum to 1 are scaled by a common factor, and what would leave its bounds stays at
 * them: out_i = min(ceiling_i, max(floor_i, s * weight_i)), with the s under which they sum to 1.
 * Example, floor 0.1, ceiling 0.6: .05 .25 .70 -> .10 .30 .60 (s is 1.2).
 *
 * Pure. Thread: any.
 */
#ifndef CONSUMER_REWEIGHT_WEIGHT_BOUNDS_H
#define CONSUMER_REWEIGHT_WEIGHT_BOUNDS_H

#include <stddef.h>

#include "common/base/failure.h"

/*
 * FAIL_CONFIG: a floor is above its ceiling, one of them is outside of 0 to 1, the floors sum to
 * more than 1 or the ceilings to less. `name` is for the sentence.
 */
enum fail_code weight_bounds_check(const double *floor, const double *ceiling,
    const char *const *name, size_t n, struct failure *f);

/* Weights [n] >= 0 with sum 1, in place; bounds that weight_bounds_check() has passed. */
void weight_bounds_apply(double *weight, const double *floor, const double *ceiling, size_t n);

#endif
