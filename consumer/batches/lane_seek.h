/*
 * lane_seek.h -- at which offset a lane's reader starts, so that it meets a step without reading
 * the lane from its beginning.
 *
 * A lane holds one record a step, steps dense and ascending. Offsets have gaps: every transaction
 * leaves a control record, an aborted one also its records, and neither is visible. So a step's
 * offset cannot be calculated; it is found by asking. The caller reads the first visible record at
 * the offset that it is given (a round) and reports that record's step; from the reports the next
 * offset is interpolated. step_search.h is the caller, for all lanes of a rank at once.
 *
 * Two errors, and they are not equal. Who starts too low reads a few records in vain. Who starts
 * too high has missed the step, and needs another round. So the search comes from below:
 *
 *   - A step costs at least one offset, or `each` where so many lanes share the partition. Between
 *     a known record (o, s) and the wanted step w lie at least w - s times that many, so
 *     o + (w - s) * each is never too high.
 *   - Only the gaps beyond that are interpolated, by their rate between two known records.
 *   - A margin is taken off the estimate. Gaps come in random bursts, so that the error of an
 *     estimate grows as the square root of its distance: the margin is MARGIN_FIRST times the root
 *     of the gaps expected, or once an estimate has been tried, twice its error scaled by the root.
 *   - After LANE_SEEK_ROUNDS_MAX rounds, or once the step is near (cheaper to read through than to
 *     ask once more), the verdict is to start at the best record below.
 *
 * Interpolation search: Peterson, "Addressing for Random-Access Storage" (1957). Halving would need
 * 20 rounds for a million steps; this one needs at most 4, however many there are.
 *
 * Example: one step a transaction, so step s is at 2s; but an aborted transaction of 40 offsets
 * lies before step 600, and from there on step s is at 2s + 40. Step 1000 is wanted (at 2040);
 * records have 64 KiB, so that 4 steps are near.
 *
 *     round 1   ask 1000   0 + 1000 steps, surely not too high       -> step 500 at 1000
 *                          so far 500 gaps in 500 steps
 *     round 2   ask 1912   1000 + 500 steps + 500 gaps - margin 88   -> step 936 at 1912
 *                          it missed by 40: step 956 was expected there
 *     round 3   ask 2008   1912 + 64 steps + 66 gaps - margin 34     -> step 984 at 2008
 *     round 4   ask 2036   2008 + 16 steps + 16 gaps - margin 4      -> step 998 at 2036
 *     START at 2036: steps 998 and 999 are read in vain
 *
 * States, by the verdict; each report and each hint decides again:
 *
 *     lane_seek_init() -> PROBE --- lane_seek_record(), lane_seek_nothing() ---> PROBE
 *              |                |                                          |
 *              +-> START        +-> START                                  +-> EXPIRED
 *
 * Invariants, kept by the functions below: below.step <= wanted < above.step, each where known;
 * nothing is visible below `low`, nor at or after `end`; a probe asks an offset in [low, end).
 *
 * Plain data and pure functions. Offsets are Kafka's; `high` is one past the last visible offset.
 */
#ifndef CONSUMER_BATCHES_LANE_SEEK_H
#define CONSUMER_BATCHES_LANE_SEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/limits.h"

enum {
	LANE_SEEK_ROUNDS_MAX = 4,
	LANE_SEEK_NEAR_BYTES = 256 << 10, /* what is cheaper to read through than to ask again */
	LANE_SEEK_NEAR_STEPS = 512,
};

/* Steps at or above this are refused by the callers; sums with offsets stay in range. */

enum lane_seek_verdict {
	LANE_SEEK_PROBE,   /* read the first visible record at `offset` and report it */
	LANE_SEEK_START,   /* read from `offset`, skip what is below the wanted step */
	LANE_SEEK_EXPIRED, /* the lane begins at step `earliest`, above the wanted one */
};

struct lane_seek_point {
	bool known;
	int64_t offset;
	uint64_t step;
};

struct lane_seek {
	enum lane_seek_verdict verdict;
	int64_t offset;
	uint64_t earliest;

	/* What is known; the functions below keep it. */
	uint64_t wanted;
	uint32_t each;                /* offsets that a step costs at least */
	int64_t low, end;             /* nothing is visible below low, nor at or after end */
	struct lane_seek_point first; /* the lowest record met: with below, the rate of gaps */
	struct lane_seek_point below; /* the highest known with step <= wanted */
	struct lane_seek_point above; /* the lowest asked whose first record has step > wanted */
	bool error_known;             /* an estimate was tried: it missed a record */
	uint64_t error_offsets;       /* by so many offsets, */
	uint64_t error_steps;         /* so many steps away from what was known */
	uint64_t near_steps;
	unsigned rounds, ends_met;
};

/*
 * Starts a search and gives the first verdict. wanted < LIMIT_STEP; low >= 0 and high are
 * the watermarks of the lane's partition, which holds `each` >= 1 lanes; records are then those of
 * one and the same lane.
 */
void lane_seek_init(struct lane_seek *s, uint64_t wanted, uint32_t each, int64_t low, int64_t high);

/*
 * Adds what is known without asking: the first visible record at or after `offset` has `step` (a
 * commit says so). Only before the first report. A hint outside the watermarks is ignored; one that
 * is wrong costs rounds, and can lead too high, which the reader must notice.
 */
void lane_seek_hint(struct lane_seek *s, int64_t offset, uint64_t step);

/*
 * Reports the first visible record at or after the offset that was asked, and its size: how many
 * steps are near depends on it. The verdict was PROBE.
 */
void lane_seek_record(struct lane_seek *s, int64_t offset, uint64_t step, size_t bytes);

/* Reports that nothing was visible from the offset asked to the end. The verdict was PROBE. */
void lane_seek_nothing(struct lane_seek *s);

#endif
