/*
 * loss_history.h -- the losses of a run over its steps, in memory that has a limit however long it
 * trains.
 *
 * A point is what some reports said together: the last step of them, the mean loss of all domains,
 * and of each. Points come in any order: those of the past by looks into the topic here and there,
 * new ones as they are reported. At most LOSS_HISTORY_POINTS are kept, in the order of steps:
 *
 *     while it is new      every point is kept
 *     when it is full      points that are nearer to the one before than a `spacing` give way, so
 *                          that at most half are left; the spacing is that of half of them over all
 *     from there on        the newest point moves along until it is a spacing from the one before,
 *                          and an older one comes in where it is so far from both its neighbours
 *
 * So all of a long run is seen, evenly, and its newest step.
 *
 * Pure. Invariant: steps ascend.
 */
#ifndef CONSUMER_FEEDBACK_LOSS_HISTORY_H
#define CONSUMER_FEEDBACK_LOSS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "consumer/feedback/losses.h"

enum { LOSS_HISTORY_POINTS = 512 };

struct loss_history {
	size_t n, domains_n;
	int64_t step[LOSS_HISTORY_POINTS];
	double all[LOSS_HISTORY_POINTS];
	float *domain;   /* [LOSS_HISTORY_POINTS][domains_n]; NAN: no report */
	int64_t spacing; /* steps; 0: it was never full */
};

/* Fills *h, to be ended with loss_history_close(). FAIL_MEMORY only. */
enum fail_code loss_history_open(struct loss_history *h, size_t domains_n, struct failure *f);
void loss_history_close(struct loss_history *h); /* a zeroed one is accepted */

/* Adds a point, of domains_n means. False: it is not kept, or is known. */
bool loss_history_add(struct loss_history *h, int64_t step, const struct losses_means *all,
    const struct losses_means *domain);

#endif
