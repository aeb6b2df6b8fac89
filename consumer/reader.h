/*
 * reader.h -- what a `struct riffle` is inside, and how it finds its first step; private to
 * riffle.c, reader_*.c and step_records.c.
 *
 * A reader is always at a step that is due. Its lanes are assigned at or before that step; a lane
 * that is `skipping` still reads records below it in vain, a lane that is `ready` holds the record
 * of the step. When all are ready the step is decoded, the records are let go, the next is due.
 */
#ifndef CONSUMER_READER_H
#define CONSUMER_READER_H

#include "common/batch.h"
#include "common/names.h"
#include "consumer/lanes.h"
#include "consumer/riffle.h"
#include "consumer/step_check.h"
#include "consumer/step_decode.h"

enum { READER_OPEN_TIMEOUT_MS = 10000, READER_COMMIT_TIMEOUT_MS = 30000 };

struct reader_lane {
	int64_t offset_next; /* all records below it are read, or of no use */
	int64_t offset_held; /* of the record in `view`; valid while ready */
	bool skipping, ready;
	struct batch_view view;
};

struct riffle {
	char mix[NAME_MAX_BYTES + 1];
	char run[NAME_MAX_BYTES + 1];
	enum riffle_start start;
	int open_timeout_ms;
	struct lanes *lanes;
	struct reader_lane *lane; /* [lanes_count()] */
	struct step_check check;  /* its step is the one that is due */
	struct step_decode *decode;
	struct riffle_step step;        /* the last one given */
	char phase[STEP_PHASE_MAX + 1]; /* its phase */
	bool ended;
	bool sought;  /* searched again since the last whole step */
	bool expired; /* the failure is RIFFLE_ERROR_EXPIRED */
	bool lost;    /* the failure is RIFFLE_ERROR_LOST */
	uint64_t commit_every, committed, lead;
};

/* Decides the first step from options or commits, and assigns the lanes. */
enum fail_code reader_start(struct riffle *r, uint64_t step, struct failure *f);

/*
 * Searches the step that is due in the log itself and assigns the lanes there. FAIL_DATA and
 * r->expired where it is not kept any more.
 */
enum fail_code reader_seek(struct riffle *r, struct failure *f);

/*
 * Waits until every lane holds the step that is due, or r->ended. FAIL_TIMEOUT after `deadline_ms`
 * (clock_ms()); what was read stays. Other failures stay too: the next call meets them again.
 */
enum fail_code reader_collect(struct riffle *r, int64_t deadline_ms, struct failure *f);

/* Decodes the step that reader_collect() has found. A failure changes nothing. */
enum fail_code reader_decode(struct riffle *r, struct failure *f);

/* The decoded step is r->step: lets the records go; the next step is due. */
void reader_finish(struct riffle *r);

#endif
