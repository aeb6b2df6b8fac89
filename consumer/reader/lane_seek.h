/*
 * lane_seek.h -- at which offset a lane's reader starts, so that it meets a step without reading
 * the lane from its beginning.
 *
 * A lane holds one record a step, steps dense and ascending, but offsets have gaps: every
 * transaction leaves a control record, an aborted one also its records, and neither is visible. So
 * the offset of a step is found by asking: the caller reads the first visible record at the offset
 * it is told (a round) and reports its step; from the reports the next offset is interpolated.
 *
 * What bounds the search is that a step costs at least one offset. Between a known record (o, s)
 * and the wanted step w lie at least w - s offsets, so o + (w - s) never overshoots; only the gaps
 * are interpolated, and a margin is taken off the estimate again, by the error that the estimate
 * before has shown: one who starts too low reads a few records in vain, one who starts too high has
 * missed the step. After LANE_SEEK_ROUNDS_MAX
 * rounds, or once the step is near, the answer is to start at the best record below and to read
 * forward. Interpolation search: Peterson, "Addressing for Random-Access Storage" (1957).
 *
 *     one step a transaction, step 1000 wanted: 2 offsets a step
 *     round 1  ask 1000 (surely not too high)  -> step 500 at 1000: 1 gap a step so far
 *     round 2  ask 1912 (2000 less a margin)   -> step 956 at 1912: near, start there
 *
 * Plain data and pure functions. Offsets are Kafka's; `high` is one past the last visible offset.
 */
#ifndef CONSUMER_READER_LANE_SEEK_H
#define CONSUMER_READER_LANE_SEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LANE_SEEK_ROUNDS_MAX = 4,
	LANE_SEEK_NEAR_BYTES = 256 << 10, /* what is cheaper to read through than to ask again */
	LANE_SEEK_NEAR_STEPS = 512,
};

/* Steps at or above this are refused by the callers; sums with offsets stay in range. */
#define LANE_SEEK_STEP_MAX (UINT64_C(1) << 62)

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
	int64_t low, end; /* nothing is visible below low, nor at or after end */
	struct lane_seek_point
	    first; /* the lowest record met: with `below` it gives the gap rate */
	struct lane_seek_point below; /* the highest known with step <= wanted */
	struct lane_seek_point above; /* the lowest asked whose first record has step > wanted */
	bool error_known;             /* an estimate was tried: it missed a record */
	uint64_t error_offsets;       /* by so many offsets, */
	uint64_t error_steps;         /* so many steps away from what was known */
	uint64_t near_steps;
	unsigned rounds, ends_met;
};

/* Starts a search and gives the first verdict; low and high are the lane's watermarks. */
void lane_seek_init(struct lane_seek *s, uint64_t wanted, int64_t low, int64_t high);

/*
 * Tells what is known without asking: that the first visible record at or after `offset` has
 * `step` (a commit). Only before the first report. A hint outside the watermarks is ignored; one
 * that is wrong costs rounds, and can lead too high, which the reader must notice.
 */
void lane_seek_hint(struct lane_seek *s, int64_t offset, uint64_t step);

/* Reports the first visible record at or after the offset that was asked, and its size. */
void lane_seek_record(struct lane_seek *s, int64_t offset, uint64_t step, size_t bytes);

/* Reports that nothing was visible from the offset asked to the end. */
void lane_seek_nothing(struct lane_seek *s);

#endif
