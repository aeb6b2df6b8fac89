/*
 * reader.h -- what finds and takes the steps of a rank: lanes, the step that is due, and how the
 * first one is found; private to libriffle (riffle*.c, prefetch.c, reader_*.c) and step_records.c.
 *
 * A reader is always at a step that is due. Its lanes are assigned at or before that step; a lane
 * that is `skipping` still reads records below it in vain, a lane that is `ready` holds the record
 * of the step. When all are ready the records move to a slot (step_slot.h), where they are decoded
 * without the reader, and the next step is due.
 *
 * Thread: one at a time. Only lanes_commit_*() of its lanes may be called beside it.
 */
#ifndef CONSUMER_READER_READER_H
#define CONSUMER_READER_READER_H

#include "common/record/batch.h"
#include "common/base/names.h"
#include "consumer/reader/lanes.h"
#include "consumer/reader/riffle.h"
#include "consumer/reader/step_check.h"
#include "consumer/reader/step_slot.h"

enum { READER_OPEN_TIMEOUT_MS = 10000 };

struct reader_lane {
	int64_t offset_next; /* all records below it are read, or of no use */
	int64_t offset_held; /* of the record in `view`; valid while ready */
	bool skipping, ready;
	struct batch_view view;
};

struct reader {
	char mix[NAME_MAX_BYTES + 1];
	char run[NAME_MAX_BYTES + 1];
	enum riffle_start start;
	int open_timeout_ms;
	struct lanes *lanes;
	struct reader_lane *lane; /* [lanes_count()] */
	struct step_check check;  /* its step is the one that is due */
	bool ended;
	bool sought;  /* searched again since the last whole step */
	bool expired; /* the failure is RIFFLE_ERROR_EXPIRED */
	bool lost;    /* the failure is RIFFLE_ERROR_LOST */
};

/* Decides the first step from options or commits, and assigns the lanes. */
enum fail_code reader_start(struct reader *r, uint64_t step, struct failure *f);

/*
 * The step where the run stands by its commits, the lowest over all lanes of the mix; 0 where it
 * has none. r->lost and FAIL_DATA where the ledger knows that it had some. Before reader_start().
 */
enum fail_code reader_committed(struct reader *r, uint64_t *step, struct failure *f);

/*
 * Searches the step that is due in the log itself and assigns the lanes there. FAIL_DATA and
 * r->expired where it is not kept any more.
 */
enum fail_code reader_seek(struct reader *r, struct failure *f);

/*
 * Waits until every lane holds the step that is due, or r->ended. FAIL_TIMEOUT after `deadline_ms`
 * (clock_ms()); what was read stays. Other failures stay too: the next call meets them again.
 */
enum fail_code reader_collect(struct reader *r, int64_t deadline_ms, struct failure *f);

/*
 * Moves the step that reader_collect() has found into a slot that is open for lanes_count() lanes;
 * the next step is due.
 */
void reader_take(struct reader *r, struct step_slot *slot);

#endif
