/*
 * weights.h -- from the weights a person writes to the numbers that are drawn with.
 *
 * Weights are tempered (p_i proportional to w_i^(1/T)), normalised and quantised to sum WEIGHT_ONE
 * or another total exactly, by largest remainder with ties to the lowest index; a positive weight
 * gets at least 1, taken from the largest. Example, of 10: .55 .25 .20 -> 6 2 2 (floors 5 2 2; of
 * the two equal fractions the lower index gets what is left).
 *
 * Only + - * / of doubles and power.h, in index order: the same bits on every machine. Still, the
 * result is computed once, goes to the ledger, and is not computed again.
 */
#ifndef COMMON_SCHEDULE_WEIGHTS_H
#define COMMON_SCHEDULE_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

#define WEIGHT_ONE (UINT64_C(1) << 32) /* what weights sum to, but for rounds */

#define WEIGHTS_SUM_SLACK 1e-9 /* of weights_share() */

/*
 * Fills out[n], which sums to `total`, up to 2^40. FAIL_CONFIG: a weight is negative or not finite,
 * all are zero, temperature is not positive, or more weights are positive than `total` has draws.
 * `n` is at most LIMIT_DOMAINS; each raw weight belongs to name[i].
 */
enum fail_code weights_count(uint64_t *out, const double *raw, const char *const *name, size_t n,
    double temperature, uint64_t total, struct failure *f);

/* The same for a total of WEIGHT_ONE. */
enum fail_code weights_quantise(uint64_t *out, const double *raw, const char *const *name, size_t n,
    double temperature, struct failure *f);

/*
 * For the schedule `greedy`: out[i] has the bits of the double w_i / sum, the sum being that of
 * NumPy's float64 arrays (eight running sums, halves from 128 on). Weights that sum to 1 but for
 * WEIGHTS_SUM_SLACK are taken as they were written: dividing them by 0.9999999999999999 would
 * change the index at ties.
 */
enum fail_code weights_share(uint64_t *out, const double *raw, const char *const *name, size_t n,
    double temperature, struct failure *f);

/* The double of such bits, and back. */
double weights_double(uint64_t bits);
uint64_t weights_bits(double value);

/*
 * Cuts `total` into shares[n] by weight, largest remainder, ties to the lowest index. Exact for
 * total and weights below 2^63; at least one weight is positive.
 */
void weights_apportion(uint64_t *shares, uint64_t total, const uint64_t *weight, size_t n);

#endif
