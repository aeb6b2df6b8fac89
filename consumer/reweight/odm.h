/*
 * odm.h -- domain weights by online data mixing (Albalak and others, arXiv 2312.02406): a bandit
 * over the domains, with the training loss as the reward. Needs no reference model.
 *
 * After step t (from 1), for K domains:
 *
 *     R_i = memory * R_i + (1 - memory) * scale * loss_sum_i / tokens_i
 *     E_t = min(1/K, sqrt(ln K / (K * t)))
 *     p_i = (1 - K * E_t) * exp(E_(t-1) * R_i) / sum(exp(E_(t-1) * R)) + E_t,      E_0 = 1/K
 *
 * One difference. The paper sums the losses of the few draws that a domain got and divides by the
 * chance of a draw, which in the mean is draws times the domain's mean loss. Here a step has each
 * domain's mean itself, and that is used. A domain without tokens in a step keeps its R.
 *
 * Exploration E starts at 1/K, where p is uniform whatever the losses, and falls with the root of
 * t; with it falls what a difference of losses means: under constant losses p returns to uniform.
 * `scale` makes differences count for more.
 *
 * Example, K = 2, memory 0, scale 1, losses 4 and 2, t = 200: E_200 = sqrt(ln 2 / 400) = 0.04163,
 * E_199 = 0.04173; p_0 = 0.91674 / (1 + exp(-2 * 0.04173)) + 0.04163 = 0.51912.
 *
 * Doubles throughout, as in doremi.h. Pure, a value that owns nothing. Thread: any.
 */
#ifndef CONSUMER_REWEIGHT_ODM_H
#define CONSUMER_REWEIGHT_ODM_H

#include <stddef.h>
#include <stdint.h>

#include "consumer/feedback/losses.h"

struct odm {
	size_t n;                          /* K: 1 to LOSSES_DOMAINS_MAX */
	double memory, scale;              /* 0 to below 1; > 0 */
	uint64_t steps;                    /* t */
	double weight[LOSSES_DOMAINS_MAX]; /* p; uniform before the first step */
	double reward[LOSSES_DOMAINS_MAX]; /* R */
};

void odm_init(struct odm *o, size_t n, double memory, double scale);

/* One step; sum [o->n]. */
void odm_step(struct odm *o, const struct losses_sum *sum);

#endif
