/*
 * resume_point.h -- the step at which a run resumes, by its commits, with the ledger as a witness.
 *
 * The run resumes at the lowest step over all lanes of the mix, those of other ranks included
 * (run_position.h): all ranks of a run then start at the same step, however far each had committed
 * before it died. It needs no agreement between the ranks, provided that none commits before all
 * have asked; ranks that cannot wait for each other ask once and hand the answer around
 * (riffle_find_committed()).
 *
 * A run without a commit on some lane starts at step 0. That is right for a new run and for one
 * that died before each rank had committed once. It is a disaster for a run whose commits have
 * expired at the broker (offsets.retention.minutes): it would train from the beginning again, and
 * nobody would notice. The mixer copies the position of every run into the ledger, so a run that
 * the ledger knows beyond step 0 has lost its commits: FAIL_DATA and `lost`. A topic that was
 * created again, or has got more partitions, lacks commits too, and is named first (batch_topic.h).
 *
 * The two are not read at one moment, and another rank may commit in between. World of 2; rank 1
 * has committed step 10, and is restarted before rank 0 has committed anything:
 *
 *     1  rank 1 asks for the commits: lane 3, which is rank 0's, has none.
 *     2  rank 0 commits step 10 for its lanes. Now all lanes have a commit.
 *     3  The mixer looks at the commits, and writes "run at step 10" into the ledger.
 *     4  rank 1 reads the ledger: the run is known at step 10, but has no commit of lane 3. Lost?
 *
 * No: the ledger is newer than the commits that rank 1 has. So it asks for the commits once more.
 * What the ledger says was committed before it was read; if a lane still has no commit, it is lost.
 */
#ifndef CONSUMER_READER_RESUME_POINT_H
#define CONSUMER_READER_RESUME_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "consumer/batches/lanes.h"
#include "consumer/ledger/run_position.h"

struct resume_point {
	struct run_position at; /* at.step is the step */
	int64_t *offset_next;   /* [lanes_total()]: the lanes' commits; -1: none */
	uint64_t *step;         /* [lanes_total()]: their steps; 0: none */
	bool lost;              /* the failure is that the run's commits are gone */
};

/*
 * Fills *out, to be ended with resume_point_clear(), also after a failure. Only while no lane is
 * assigned; each request waits timeout_ms at most.
 */
enum fail_code resume_point_find(struct resume_point *out, struct lanes *l, const char *mix,
    const char *run, int timeout_ms, struct failure *f);
void resume_point_clear(struct resume_point *p);

/* Logs that the run starts there. */
void resume_point_log(const struct resume_point *p, const char *mix, const char *run);

#endif
