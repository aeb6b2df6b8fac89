/*
 * step_round.h -- which round of its mix (mix.epoch_size) a published step is of.
 *
 * Rounds are counted in draws, without a gap from step 0 on, so that a step is of the round that
 * its first draw is of; a step may begin in one and end in the next. The ledger has the state
 * between two transactions. Inside one, all steps have as many draws, unless the weights changed
 * meanwhile and perhaps the batch with them: then a mixer repeats the steps of the transaction up
 * to the one wanted.
 *
 *     record        step_next 40, round 3, 10 draws of 50; version 2
 *     the next one  step_next 48, 128 draws later;         version 2: 16 draws a step
 *     step 43       10 + 3 * 16 = 58 draws behind the beginning of round 3: round 4, 8 draws
 *
 * Thread: the caller's.
 */
#ifndef CONSUMER_LEDGER_STEP_ROUND_H
#define CONSUMER_LEDGER_STEP_ROUND_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"

struct step_round {
	uint64_t size;  /* draws of a round; 0: the mix has no rounds, and the others are 0 */
	uint64_t round; /* complete ones before the step */
	uint64_t draws; /* of the open one before the step; below `size` */
};

/* FAIL_DATA: the step is not published, or the ledger has lost its beginning. */
enum fail_code step_round_find(struct step_round *out, const char *mix,
    const struct properties *properties, int timeout_ms, uint64_t step, struct failure *f);

/* The state behind `draws` more. */
void step_round_pass(struct step_round *r, uint64_t draws);

#endif
