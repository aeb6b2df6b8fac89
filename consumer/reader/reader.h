/*
 * reader.h -- what finds and takes the steps of one rank, from its lanes, in order; and the map of
 * this room.
 *
 * The room is libriffle: a trainer's end of a mix. A rank reads its lanes of <mix>.batches, one
 * record a lane and step, and hands out whole steps.
 *
 * Files of this room:
 *     riffle             the public API (installed as <riffle.h>), and what all its calls share
 *     riffle_reader      struct riffle: opens, hands out, seeks and commits; composes the rest
 *     riffle_reporter    reports of losses without a reader
 *     riffle_progress    what was trained: reports and commits, wherever the reader is
 *     riffle_validation  held-out sets, as steps
 *     riffle_targets     inputs, labels and positions of a step
 *     commit_pace        decides when a reader commits; pure
 *     committer          sends commits: one on its way, the newest waits
 *     owner              who commits, as the commits name it
 *     prefetch           threads that read and decode ahead
 *     reader_metrics     what a reader counts for its metrics
 *     reader             finds and takes the steps of a rank
 *     resume_point       the step at which a run resumes, by its commits
 *     step_check         decides whether a record is the one that must come next; pure
 *     step_slot          a step in memory, lent and kept, and the pool of slots
 *     step_decode        from records to the arrays that a trainer sees
 *     watchdog           why the step that a trainer waits for does not come
 *
 * From the broker to the trainer:
 *
 *     broker -> lanes -> reader -> step_slot, step_decode -> ring of prefetch -> riffle_next()
 *               |  records       |  records of a step      |  arrays           |  lent
 *               |  (librdkafka)  |  (a thread at a time)   |  (all threads)    |  (caller)
 *
 * A reader is always at a step that is due. Each of its lanes is in one of three states:
 *
 *     SKIPPING  assigned at or below the step: records below it are read and released
 *     NEXT      the lane's next record must be the step's (step_check.h)
 *     READY     holds the record of the step
 *
 *     reader_start(), _resume(), _seek() --> SKIPPING --- record of the step ---> READY
 *                                             ^    |                               |    ^
 *                     record above the step,  |    |                reader_take(), |    | record of
 *                     or offset not in the    |    |                when all lanes |    | the step
 *                     log: search, once ------+----+                are READY      v    |
 *                                             +---------- offset not in the log -- NEXT
 *
 * Both a commit and a search may name an offset that is too low; so reading starts with SKIPPING. A
 * search moves all lanes back to SKIPPING at once. Where the lanes do not hold the step after a
 * search either, the log is wrong: FAIL_DATA. A search that fails (the broker is down) leaves no
 * lane READY; the next reader_collect() makes up for it.
 *
 * Invariants: a `ready` lane holds a record of check.step, which its `view` looks into;
 * check.lanes_there is the number of ready lanes; no lane is both ready and skipping.
 * reader_collect() establishes them; reader_take() and each search reset all lanes at once.
 *
 * Thread: one at a time; prefetch.h says which. Only lanes_commit_*() and lanes_wake() of its lanes
 * may be called beside it.
 */
#ifndef CONSUMER_READER_READER_H
#define CONSUMER_READER_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/properties.h"
#include "common/record/batch.h"
#include "consumer/batches/lanes.h"
#include "consumer/reader/step_check.h"
#include "consumer/reader/step_slot.h"

struct reader_lane {
	int64_t offset_next; /* all records below it are read, or of no use */
	int64_t offset_held; /* of the record in `view`; valid while ready */
	bool skipping, ready;
	struct batch_view view;
};

/* Must not be moved or copied once it is open: `check` points into it. */
struct reader {
	char mix[NAME_MAX_BYTES + 1];
	char run[NAME_MAX_BYTES + 1];
	int timeout_ms; /* of each request and each search */
	struct lanes *lanes;
	struct reader_lane *lane; /* [lanes_count()] */
	struct step_check check;  /* its step is the one that is due */
	bool ended;               /* the mix has, before the step that is due */
	bool searched;            /* since the last whole step, because a lane did not fit */
	bool unplaced;            /* the last search failed: the lanes are anywhere */
	bool expired;             /* the failure is RIFFLE_ERROR_EXPIRED; the caller clears it */
	bool lost;                /* the failure is RIFFLE_ERROR_LOST */
};

struct reader_options {
	const char *mix, *run; /* valid names */
	uint32_t rank, world;  /* rank < world */
	bool uneven;           /* see struct lanes_options */
	const struct properties *properties;
	int timeout_ms;
	uint64_t ahead_bytes;      /* see struct lanes_options */
	uint64_t schedule;         /* that records must have; 0: any */
	struct kafka_stats *stats; /* see struct lanes_options */
};

/*
 * Fills *r, to be ended with reader_close() where it was zeroed before, also after a failure.
 * Connects. Copies the options but for `properties`, which it borrows during the call. Afterwards
 * one of reader_start() and reader_resume() must be called, or reader_committed() alone.
 */
enum fail_code reader_open(struct reader *r, const struct reader_options *o, struct failure *f);
void reader_close(struct reader *r);

/* `step` is due first. FAIL_DATA and r->expired: it is not kept any more. */
enum fail_code reader_start(struct reader *r, uint64_t step, struct failure *f);

/*
 * The step that the run's commits name is due first (resume_point.h). FAIL_DATA and r->lost: the
 * commits are gone; or r->expired as above.
 */
enum fail_code reader_resume(struct reader *r, struct failure *f);

/* Where reader_resume() would start, in *step; r->lost as there. Logs it if the run `starts`. */
enum fail_code reader_committed(struct reader *r, bool starts, uint64_t *step, struct failure *f);

/* From now on `step` is due, wherever the reader stands. FAIL_DATA and r->expired as above. */
enum fail_code reader_seek(struct reader *r, uint64_t step, struct failure *f);

/* Fills offset_next[lanes_count()]: where the step that is due, or what lies below it, begins. */
void reader_offsets(const struct reader *r, int64_t *offset_next);

/*
 * Waits until every lane holds the step that is due, or r->ended. FAIL_TIMEOUT after `deadline_ms`
 * (clock_ms()); what was read stays, unless it was a search that failed: the next call repeats it.
 * Other failures stay too: the next call meets them again.
 */
enum fail_code reader_collect(struct reader *r, int64_t deadline_ms, struct failure *f);

/*
 * Moves the step that reader_collect() has found into a slot for lanes_count() lanes; the next step
 * is due. Not where r->ended.
 */
void reader_take(struct reader *r, struct step_slot *slot);

#endif
