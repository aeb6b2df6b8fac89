/*
 * step_search.h -- finds where on each lane a step lies, by asking the log, and assigns the lanes
 * there.
 *
 * lane_seek.h decides for one lane what to ask next; this module asks, for all lanes of a rank in
 * rounds. A round assigns every lane at the offset that its lane_seek names, and waits for each
 * lane's first visible record, so that a round costs one round trip however many lanes there are.
 * Of lanes that share a partition the rank's first one is searched (its lead): the records of a
 * step lie in the order of the lanes, so that its place is at or before that of the others:
 *
 *     watermarks of all lanes -> lane_seek_init(), lane_seek_hint()
 *     while a lane wants a probe:
 *         assign all lanes; per lane: its first record -> lane_seek_record()
 *                                     nothing visible  -> lane_seek_nothing()
 *     a lane is EXPIRED -> FAIL_DATA, with the earliest step that is retained
 *     all lanes START   -> assigned at offset_next, at or below the step
 *
 * The log may be cut while it is searched (retention, `riffle retain`): then an offset that was in
 * it a moment ago is not any more. The search restarts with new watermarks, a few times.
 *
 * Thread: the one that reads the lanes.
 */
#ifndef CONSUMER_BATCHES_STEP_SEARCH_H
#define CONSUMER_BATCHES_STEP_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "consumer/batches/lanes.h"

struct step_search {
	const char *mix; /* for messages */
	uint64_t step;   /* < LIMIT_STEP */
	int timeout_ms;  /* for asking the watermarks, and for all rounds together */
	/*
	 * What commits say, a shortcut: lane i's record of commit_step[i] is the first visible one
	 * at or after commit_offset[i] (-1: no commit). [lanes_count()] each; NULL: none known.
	 */
	const int64_t *commit_offset;
	const uint64_t *commit_step;
};

/* Of the sentence for a step that is not kept any more; the earliest step that is follows. */
#define STEP_SEARCH_EARLIEST "the earliest retained step is "

/*
 * Fills offset_next[lanes_count()], at which the lanes are assigned then: reading on from there
 * meets the step on every lane, after records below it, or waits for it where it is not published
 * yet. A wrong hint can lead too high, which the reader must notice. FAIL_DATA and *expired: the
 * step is not kept any more. After a failure the lanes are assigned anywhere.
 */
enum fail_code step_search_run(struct lanes *l, const struct step_search *s, int64_t *offset_next,
    bool *expired, struct failure *f);

#endif
