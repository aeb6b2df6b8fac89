/*
 * schedule.h -- which domain is drawn next: three rules behind one struct.
 *
 * The room common/schedule is the arithmetic of a mix: which domain the next sequence comes from,
 * and in which order a domain's sequences come. Plain data and pure functions; no I/O, no clock,
 * and the same bits on every machine, because what they decide is compared with what a ledger
 * recorded.
 *
 * Files of this room:
 *     schedule       which domain is drawn next
 *     mix_rules      the choices that a mix's owner makes, and their names
 *     weights        from the weights a person writes to the integers that are drawn with
 *     power          x to the power of y, the same bits on every machine
 *     order          which sequence comes next in an epoch of a domain
 *     permutation    a keyed permutation without a table
 *
 * `deficit`. Every domain has a credit: how far it is behind its share. A draw gives each domain
 * its weight; the richest, ties to the lowest index, is drawn and pays the sum of the weights.
 * (Smooth weighted round robin, as in nginx; equal to the greedy argmax of w_i * (k + 1) - count_i,
 * in integers.) Example, weights 1/2 1/4 1/4, credits in quarters, before and after the payment:
 *
 *     credited   2  1  1      0  2  2      2 -1  3      4  0  0
 *     drawn      0            1            2            0
 *     paid      -2  1  1      0 -2  2      2 -1 -1      0  0  0    then the same again
 *
 * A draw can count as t units (tokens) and not as one: credits are then in units, the richest is
 * found as though the draw were of `unit` units, and all is paid for the t that it was.
 *
 * `greedy`. The largest w_i * max(k, 1) - count_i is drawn, in doubles, k and the counts from the
 * last change of weights: the index of Megatron-LM's and Nanotron's blended datasets, bit for bit.
 * Multiplication and subtraction are never contracted (-ffp-contract=off).
 *
 * `random`. Draw number d takes the domain in whose stretch of the cumulated weights the upper 32
 * bits of XXH64(d as 8 bytes little-endian, key) fall; key is XXH64("/draws", seed). A draw is a
 * function of (seed, d) and the weights alone.
 *
 * Invariants, deficit: weights sum to `one` and credits to 0, so that before each payment the
 * credits sum to one * unit and the richest has a positive one; a domain of weight 0 has none above
 * 0, hence is never drawn. No domain is a whole draw ahead: credit > -one * unit. The functions
 * here establish them; whoever restores a schedule from a ledger checks them first
 * (mixer_resume()).
 *
 * Picking and charging are two calls, because a picked domain may turn out to be exhausted, and
 * because how many tokens a sequence has may be known only once it is picked.
 *
 * A value that owns nothing. Thread: one at a time. Vectors: tests/vectors/schedule_*.tsv.
 */
#ifndef COMMON_SCHEDULE_SCHEDULE_H
#define COMMON_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/limits.h"
#include "common/schedule/weights.h"

enum schedule_kind { SCHEDULE_DEFICIT, SCHEDULE_GREEDY, SCHEDULE_RANDOM };

/* As the key `mix.schedule` and the ledger's text have them: an entry a constant, then NULL. */
extern const char *const schedule_names[];

struct schedule {
	enum schedule_kind kind;
	size_t n;       /* domains; their numbers are 0..n-1 */
	uint64_t unit;  /* deficit: units of a full draw; 1, or the tokens of a sequence */
	uint64_t one;   /* deficit: what the weights sum to */
	uint64_t draws; /* greedy: since the weights changed; random: since step 0 */
	uint64_t key;   /* random */
	/* [0, n) are used. */
	uint64_t weight[LIMIT_DOMAINS]; /* greedy: the bits of doubles that sum to about 1 */
	int64_t credit[LIMIT_DOMAINS];  /* greedy: the counts; random: 0 */
};

/* No domains yet: schedule_set_weights() comes next. `seed` is for random, `unit` for deficit. */
void schedule_init(struct schedule *s, enum schedule_kind kind, uint64_t unit, uint64_t seed);

/* Copies what is in use of *from: n domains, not LIMIT_DOMAINS. */
void schedule_copy(struct schedule *to, const struct schedule *from);

/* Adds a domain of weight and credit 0; n < LIMIT_DOMAINS. */
void schedule_add(struct schedule *s);

/*
 * Sets weights for n >= s->n domains, not all zero; random: they sum to WEIGHT_ONE. A domain beyond
 * the old n starts with credit 0. Deficit: credits carry over; a positive credit of a domain whose
 * new weight is 0 passes to the others by weight, a negative one stays; where the weights sum to
 * something else than before (rounds), all credits restart at 0. Greedy: k and the counts restart.
 */
void schedule_set_weights(struct schedule *s, const uint64_t *weight, size_t n);

/* The domain that is drawn next. Changes nothing. */
size_t schedule_pick(const struct schedule *s);

/* The draw of `i`, which schedule_pick() gave, has happened; `units` is 1 or its tokens. */
void schedule_charge(struct schedule *s, size_t i, uint64_t units);

/* Both, for a draw of `unit` units. */
size_t schedule_draw(struct schedule *s);

/*
 * Lending: deficit, unit 1, live domains. `picked` has nothing at the moment and lends its draw. It
 * pays as though it had been drawn; beside it a draw among the pool, those with a weight that are
 * not dry, by their weights, finds who is drawn instead. So `picked` loses one draw, which the
 * caller counts as owed to it, and the pool shares the gain by weight.
 *
 * schedule_lend_pick() returns who is drawn and changes nothing; dry[k] are those out of the
 * question (dry[picked] is true); s->n: nobody is left. schedule_lend() carries it out. Example,
 * weights 1/2 1/4 1/4, 0 is dry: the schedule picks 0 2 0 1 2 0 0 1, and 1 2 1 1 2 1 2 1 are drawn.
 */
size_t schedule_lend_pick(const struct schedule *s, size_t picked, const bool *dry);
void schedule_lend(struct schedule *s, size_t picked, const bool *dry, size_t drawn);

/*
 * Paying back: `i`, which is owed draws, is drawn in place of `picked`, at the cost of all others
 * by their weights. `picked` keeps its claim.
 */
void schedule_repay(struct schedule *s, size_t i, size_t picked);

#endif
