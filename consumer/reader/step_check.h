/*
 * step_check.h -- whether the records of the lanes are the steps that must come next.
 *
 * A reader takes whole steps in order: each lane's next record must be of the mix, of its lane, of
 * the step that is due, with B/L sequences, and what is constant over a mix must not change. Lanes
 * of one step must agree on what a step has once (weights version, phase, lr_scale, lead, end).
 *
 *     step_check_init(&c, "pretrain", 8, 2, first);      // partitions of the topic, lanes of mine
 *     for each lane: step_check_record(&c, i, partition, &head, sequences_n, f)
 *     when all lanes are there: c.last says whether the mix has ended; else use them, then
 *     step_check_advance(&c)
 *
 * Plain data and pure functions; borrows `mix` for its life.
 */
#ifndef CONSUMER_READER_STEP_CHECK_H
#define CONSUMER_READER_STEP_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record/batch.h"
#include "common/base/failure.h"

enum {
	STEP_PHASE_MAX = 256, /* bytes of a phase's name */
	/* A sequence's least bytes in a record: ten numbers and lengths, a hash, a frame of none.
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
	uint32_t global_batch;
	uint64_t schedule, tokenizer;

	/* Of the step that is due; known once lanes_there > 0. */
	uint32_t lanes_there;
	bool last;
	uint64_t version, lead;
	double lr_scale;
	char phase[STEP_PHASE_MAX + 1];
};

void step_check_init(
    struct step_check *c, const char *mix, uint32_t lanes, uint32_t lanes_mine, uint64_t step);

/*
 * FAIL_DATA where a record of `bytes` bytes cannot hold the number of sequences that it claims:
 * memory is laid out by that number.
 */
enum fail_code step_check_claim(size_t sequences_n, size_t bytes, struct failure *f);

/*
 * What holds for every record of the lane, whichever step it is of: mix, lane, lanes, batch,
 * schedule, tokenizer, number of sequences. FAIL_DATA says what differs. Changes nothing but what
 * a first record makes known.
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

/* The lanes of the step that is due will be read anew. */
void step_check_restart(struct step_check *c);

/* All lanes of the step are there and it has been used: the next one is due. */
void step_check_advance(struct step_check *c);

#endif
