/*
 * plan_print.h -- a forecast as a table for people and as JSON for programs; single draws.
 *
 *     mix pretrain: 60 steps of 16 sequences on 4 lanes: 960 sequences, 491520 tokens; the mix ...
 *
 *     steps 0..60  lr_scale 1  temperature 1
 *     DOMAIN      INTENDED      ACHIEVED     SEQUENCES            TOKENS      EPOCHS  WORST RANK
 *     code      30.000000%    30.000000%           288            147456      0.1362     4.5833%
 *     prose     70.000000%    70.000000%           672            344064      0.1594     4.5833%
 *
 *     all steps
 *     DOMAIN        LENGTH     SEQUENCES      EPOCHS   FIRST DRAWN     EXHAUSTED  REPETITION
 *     code            2115           288      0.1362             0         never      1.0000
 *     prose           4217           672      0.1594             0         never      1.0000
 *
 * How a row is computed. The first table comes once for each stretch of steps under one version of
 * the weights, the second once; `drawn` and `taken` are sequences, `length` is a domain's.
 *
 *     INTENDED     share by the weights in force when the stretch begins, after temperature
 *     ACHIEVED     drawn / sequences of the stretch
 *     TOKENS       drawn * sequence_length: targets, as if all sequences were full
 *     WORST RANK   the largest distance of a lane's share of the domain from the whole batch's
 *     EPOCHS       drawn / length; 0.1362 is 288 of 2115 sequences, 1.5 is one pass and a half
 *     EXHAUSTED    the step in which the first pass over the domain ends
 *     REPETITION   taken / min(taken, length): how often a sequence that was drawn was drawn
 */
#ifndef CLI_PLAN_PLAN_PRINT_H
#define CLI_PLAN_PLAN_PRINT_H

#include <stdio.h>

#include "common/base/failure.h"
#include "common/config/config.h"
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
