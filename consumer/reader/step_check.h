/*
 * step_check.h -- decides whether the records of the lanes are the steps that must come next.
 *
 * A trainer must never train on a wrong step without noticing, so each record is held against three
 * things:
 *
 *     what is the mix's     name, lanes, schedule and tokenizer are the same in every record
 *     what is the step's    it is the step that is due: not an earlier one ("duplicate"), not a
 *                           later one ("gap"), for steps are dense
 *     what is shared        the lanes of one step agree on what a step has once: its global_batch,
 *                           version of the weights, phase, lr_scale, lead, whether it ends the mix
 *                           ("torn"). From step to step all of these may change
 *
 * The first record of all makes known what is the mix's; the first lane of a step what is shared.
 *
 *     step_check_init(&c, "pretrain", 8, 2, first);      // partitions of the topic, lanes of mine
 *     for each lane: step_check_record(&c, partition, &head, sequences_n, f)
 *     when all lanes are there: c.last says whether the mix has ended; else use them, then
 *     step_check_advance(&c)
 *
 * Invariants: lanes_there <= lanes_mine; `step` only grows, but where the caller seeks, which sets
 * it and calls step_check_restart().
 *
 * Plain data and pure functions; borrows `mix` for its life.
 */
#ifndef CONSUMER_READER_STEP_CHECK_H
#define CONSUMER_READER_STEP_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/batch.h"

enum {
	STEP_PHASE_MAX = 256, /* bytes of a phase's name */
	/*
	 * Least bytes of a sequence in a record: ten numbers and lengths, a hash, an empty frame.
	 */
	STEP_SEQUENCE_BYTES_MIN = 19,
};

struct step_check {
	const char *mix;
	uint32_t lanes;      /* partitions of the topic */
	uint32_t lanes_mine; /* of this reader */
	uint64_t step;       /* the step that is due */

	/* The schedule that a checkpoint names, to be set after step_check_init(); 0: any. */
	uint64_t schedule_wanted;

	/* Constant over a mix; known once `known`. */
	bool known;
	uint64_t schedule, tokenizer;

	/* Of the step that is due; known once lanes_there > 0. */
	uint32_t lanes_there;
	bool last;
	uint32_t global_batch;
	uint64_t version, lead;
	double lr_scale;
	char phase[STEP_PHASE_MAX + 1];
};

/* `step` is due first; 0 < lanes_mine <= lanes. */
void step_check_init(
    struct step_check *c, const char *mix, uint32_t lanes, uint32_t lanes_mine, uint64_t step);

/*
 * FAIL_DATA where a record of `bytes` bytes cannot hold the number of sequences that it claims:
 * memory is laid out by that number.
 */
enum fail_code step_check_claim(size_t sequences_n, size_t bytes, struct failure *f);

/*
 * What holds for every record of the lane, whichever step it is of: mix, lane, lanes, schedule,
 * tokenizer, as many sequences as its batch gives a lane. FAIL_DATA says what differs. Changes
 * nothing but what a first record makes known.
 */
enum fail_code step_check_constants(struct step_check *c, uint32_t partition,
    const struct batch_head *h, size_t sequences_n, struct failure *f);

/*
 * The same, and that it is the step that is due and agrees with the lanes met before. FAIL_DATA
 * says "duplicate" (an earlier step), "gap" (a later one) or what differs. Call it once a lane and
 * step; a failure leaves the check as it was.
 */
enum fail_code step_check_record(struct step_check *c, uint32_t partition,
    const struct batch_head *h, size_t sequences_n, struct failure *f);

/* The lanes of the step that is due will be read from the first on: no lane is there. */
void step_check_restart(struct step_check *c);

/* All lanes of the step are there, and it does not end the mix: the next one is due. */
void step_check_advance(struct step_check *c);

#endif
