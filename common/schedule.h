/*
 * schedule.h -- which domain is drawn next: the `deficit` schedule.
 *
 * Every domain has a credit, how far it is behind its share. A draw gives each domain its weight;
 * the richest, ties to the lowest index, is drawn and pays WEIGHT_ONE. (Smooth weighted round
 * robin, as in nginx; equal to the greedy argmax of w_i * (k + 1) - count_i, in integers.) Example,
 * weights 1/2 1/4 1/4:  0 1 2 0, then the same again.
 *
 * Invariants: weights sum to WEIGHT_ONE and credits to 0, so that before each payment the credits
 * sum to WEIGHT_ONE and the richest has a positive one; a domain of weight 0 has none above 0,
 * hence is never drawn. No domain is a whole draw ahead: credit > -WEIGHT_ONE.
 *
 * Plain data and pure functions; a value that owns nothing.
 */
#ifndef COMMON_SCHEDULE_H
#define COMMON_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "common/weights.h"

enum schedule_kind { SCHEDULE_DEFICIT, SCHEDULE_GREEDY, SCHEDULE_RANDOM };

struct schedule {
	size_t n; /* domains; their numbers are 0..n-1 */
	uint64_t weight[WEIGHTS_MAX];
	int64_t credit[WEIGHTS_MAX];
};

/* No domains yet: schedule_set_weights() comes next. */
void schedule_init(struct schedule *s);

/*
 * New weights for n >= s->n domains, summing to WEIGHT_ONE; a domain beyond the old n starts with
 * credit 0. Credits carry over; a positive credit of a domain whose new weight is 0 passes to the
 * others by weight, a negative one stays.
 */
void schedule_set_weights(struct schedule *s, const uint64_t *weight, size_t n);

/* Draws once and returns the domain. */
size_t schedule_draw(struct schedule *s);

/* Takes back the draw of `drawn` that schedule_draw() has just made. */
void schedule_undraw(struct schedule *s, size_t drawn);

#endif
