/*
 * doremi.h -- domain weights by DoReMi (Xie and others, arXiv 2305.10429, algorithm 1): weights
 * grow where a proxy model's loss is above that of a reference model.
 *
 * A step, for domains 0..n-1 with weights a that sum to 1:
 *
 *     l_i = excess_sum_i / tokens_i        over all ranks and micro-batches of the step; the excess
 *                                          max(0, loss - reference loss) is clipped a token by the
 *                                          caller. A domain without tokens keeps the l_i that it
 *                                          had last, 0 at first.
 *     b_i = a_i * exp(eta * l_i)
 *     a_i = (1 - smoothing) * b_i / sum(b) + smoothing / n
 *
 * The result is the average of a over the steps. A round more takes the result as the weights that
 * the next reference is trained with, and as the start.
 *
 * Example, n = 2, eta 1, smoothing 0: weights 1/2 1/2 and l = (ln 3, 0) give b = (3/2, 1/2), so
 * a = (3/4, 1/4).
 *
 * Doubles throughout, with libm's exp(): another machine may differ in the last bits. No draw
 * depends on them: a mix draws with what its ledger holds, quantised once.
 *
 * Pure, a value that owns nothing. Thread: any.
 */
#ifndef CONSUMER_REWEIGHT_DOREMI_H
#define CONSUMER_REWEIGHT_DOREMI_H

#include <stddef.h>
#include <stdint.h>

#include "consumer/feedback/losses.h"

struct doremi {
	size_t n;                           /* 1 to LOSSES_DOMAINS_MAX */
	double eta, smoothing;              /* > 0; 0 to 1 */
	uint64_t steps;                     /* taken */
	double weight[LOSSES_DOMAINS_MAX];  /* after the last step; sum to 1 */
	double excess[LOSSES_DOMAINS_MAX];  /* l of the last step that had the domain */
	double average[LOSSES_DOMAINS_MAX]; /* of weight over the steps; at first the start */
};

/* `start` [n] is not negative, not all 0; it is scaled to sum to 1. NULL: uniform. */
void doremi_init(struct doremi *d, size_t n, const double *start, double eta, double smoothing);

/* One step; sum [d->n]. */
void doremi_step(struct doremi *d, const struct losses_sum *sum);

#endif
