/*
 * published_step.h -- the records of one published step, lane after lane: as the batch topic keeps
 * them, or, where they were deleted (riffle retain), derived from ledger and domain logs.
 *
 * A replay derives them (replay.h), so that they are the bytes that the lanes held; what it derives
 * is compared with the ledger. That takes the right to read ledger and domains, and the time to
 * fetch the sequences of one transaction.
 *
 * Memory: one step. Thread: one.
 */
#ifndef CONSUMER_REPLAY_PUBLISHED_STEP_H
#define CONSUMER_REPLAY_PUBLISHED_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"
#include "common/record/batch.h"

struct published_lane {
	uint8_t *bytes;
	size_t n;
	int64_t offset; /* -1: derived */
};

struct published_step {
	uint64_t step;
	uint32_t lanes;
	bool derived;
	char topic[TOPIC_MAX_BYTES + 1];
	struct published_lane *lane; /* [lanes] */
};

/*
 * Fills *out, to be ended with published_step_close(), also where it failed. `c` says where the
 * broker is, and how much memory deriving may take. Warns (REPLAY-NOT-KEPT) of a step that is
 * derived. FAIL_DATA: not published yet, with the step at which the mix stands; or the mix has
 * ended before it. FAIL_CONFIG: there is no such mix.
 */
enum fail_code published_step_open(struct published_step *out, const char *mix,
    const struct config *c, uint64_t step, struct failure *f);
void published_step_close(struct published_step *s); /* a zeroed one is accepted */

/*
 * The record of a lane, decoded as far as batch_decode() does. FAIL_DATA: it cannot be decoded, or
 * belongs to another step or lane; *f names lane and offset.
 */
enum fail_code published_step_decode(
    struct batch_view *out, const struct published_step *s, uint32_t lane, struct failure *f);

/* A sequence of the step. */
struct published_place {
	char domain[NAME_MAX_BYTES + 1];
	uint32_t partition, lane;
	uint64_t ordinal;
	size_t slot;    /* in the lane */
	size_t spans_n; /* stretches of documents */
};

/*
 * Gives the sequences of all lanes, or of one where lane >= 0, by lane and slot: free().
 * FAIL_USAGE: there is no such lane. FAIL_DATA: a record is damaged.
 */
enum fail_code published_step_places(struct published_place **out, size_t *n,
    const struct published_step *s, int64_t lane, struct failure *f);

/* For qsort(): by domain, partition and ordinal, as they lie in the domain logs. */
int published_place_by_log(const void *a, const void *b);

/* Puts in front of *f what record it speaks of. Returns its code. */
enum fail_code published_step_fail(
    const struct published_step *s, uint32_t lane, struct failure *f);

#endif
