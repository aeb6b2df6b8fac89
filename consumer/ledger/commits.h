/*
 * commits.h -- what a training run has read, as its group's committed offsets say it.
 *
 * The group is <mix>.<run>. A lane's commit is its next offset, with the text "step=N" as metadata:
 * all steps of the lane below N are read. The run stands at the lowest step over all lanes; a lane
 * without a commit stands at 0. Plain data and pure functions; who asks the broker is the caller.
 */
#ifndef CONSUMER_LEDGER_COMMITS_H
#define CONSUMER_LEDGER_COMMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum { COMMITS_TEXT_MAX = 32 };

/* Steps are below this: an Avro long holds them, with room for sums. */
#define COMMITS_STEP_MAX (UINT64_C(1) << 62)

/* Writes "step=N", NUL-terminated. */
void commits_format(char out[static COMMITS_TEXT_MAX], uint64_t step);

/*
 * Strict: "step=" and a decimal number below COMMITS_STEP_MAX without sign, spaces, leading zeros
 * or anything after it. FAIL_DATA otherwise, with the text; NULL is as an empty text.
 */
enum fail_code commits_parse(uint64_t *step, const char *text, struct failure *f);

/* Where a run stands. */
struct commits_position {
	bool any;            /* at least one lane has a commit */
	bool all;            /* every lane has one */
	uint64_t step;       /* the lowest; 0 where a lane has none */
	size_t lane;         /* a lane that stands there */
	uint64_t step_ahead; /* the highest step of a lane */
};

/*
 * Parses the commits of lanes 0..n-1: offset_next[i] < 0 means none. Fills step[n] (0 where there
 * is none) and *out. FAIL_DATA names the lane whose metadata is not a step.
 */
enum fail_code commits_lowest(struct commits_position *out, uint64_t *step,
    const int64_t *offset_next, char *const *metadata, size_t n, struct failure *f);

#endif
