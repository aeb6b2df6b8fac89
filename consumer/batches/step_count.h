/*
 * step_count.h -- decides which step a lane's next record stands for.
 *
 * Steps are dense, so a record stands for the step after the one before it. A lane that has lost
 * records breaks that rule. Records below the wanted step are only read to reach it. There each
 * record is believed, or a hole would shift all that follows. From the wanted step on, records are
 * counted whatever they claim, so that the caller can report what is wrong with one.
 *
 *     wanted 30, the lane lacks 10..16    claimed  8  9 16 17 ... 29 30 31
 *                                         stands   8  9 16 17 ... 29 30 31   hole 10..16
 *     wanted 8, the same lane             claimed  8  9 16 17
 *                                         stands   8  9 10 11                hole 10..16
 *
 * Plain data and pure functions.
 */
#ifndef CONSUMER_BATCHES_STEP_COUNT_H
#define CONSUMER_BATCHES_STEP_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct step_count {
	bool known;    /* a record was counted, */
	uint64_t next; /* and this step follows it */

	/* The first hole that was met: steps [hole_first, hole_end). Empty if there was none. */
	uint64_t hole_first, hole_end;
};

/*
 * Counts a record and returns its step; `*c` starts zeroed. `claimed` is the step that the record
 * gives itself, and NULL if it cannot be decoded, which a first record must be. `wanted` is the
 * step that the caller is looking for, or comparing.
 */
uint64_t step_count_record(struct step_count *c, uint64_t wanted, const uint64_t *claimed);

#endif
