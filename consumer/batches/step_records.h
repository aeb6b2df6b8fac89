/*
 * step_records.h -- the steps of a mix as they lie in its batch topic: the record of every lane as
 * bytes, in order, nothing judged. For whoever compares or deletes steps (consumer/replay,
 * consumer/admin), where a trainer's reader would refuse a record.
 *
 *     step_records_open  [step_records_earliest]  step_records_seek(a)  step_records_next ...
 *
 * A step is found as trainers find it (step_search.h). From there on a lane's records are counted,
 * because steps are dense (step_count.h). A record that cannot be decoded, or that claims another
 * step than the one it stands for, is handed out all the same, so that whoever compares can report
 * what is wrong with it.
 *
 * Memory: STEP_RECORDS_AHEAD_BYTES of read-ahead over all lanes, and one held record a lane.
 * Thread: one.
 */
#ifndef CONSUMER_BATCHES_STEP_RECORDS_H
#define CONSUMER_BATCHES_STEP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "common/config/properties.h"
#include "common/record/lane_map.h"

enum { STEP_RECORDS_AHEAD_BYTES = 64 << 20 };

struct step_records;

struct step_record {
	/* Valid until the next call of step_records_next(); NULL: step_records_absent(). */
	const uint8_t *bytes;
	size_t n;
	int64_t offset;
	bool last; /* it can be decoded, and says that the mix ends here */
};

/*
 * Gives *out, to be ended with step_records_close(). FAIL_CONFIG: there is no such mix.
 * `timeout_ms` bounds opening and each search.
 */
enum fail_code step_records_open(struct step_records **out, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);
void step_records_close(struct step_records *r); /* NULL is accepted */

uint32_t step_records_lanes(const struct step_records *r);
struct lane_map step_records_map(const struct step_records *r); /* where they lie */
const char *step_records_topic(const struct step_records *r);

/* What a batch topic still holds. */
struct step_records_kept {
	bool any;        /* at least one record */
	uint64_t lowest; /* first step kept on the lane that keeps most */
	uint64_t whole;  /* first step that every lane keeps */
};

/* Afterwards step_records_seek() must be called. FAIL_DATA: a lane's first record is damaged. */
enum fail_code step_records_earliest(
    struct step_records *r, struct step_records_kept *out, struct failure *f);

/*
 * step_records_next() will give `step` < LIMIT_STEP. FAIL_DATA: it is not kept any more;
 * the text names the earliest that is.
 */
enum fail_code step_records_seek(struct step_records *r, uint64_t step, struct failure *f);

/* From `step` on the lane has no record, and is not waited for. After step_records_open(). */
void step_records_absent(struct step_records *r, uint32_t lane, uint64_t step);

/*
 * Fills out[lanes] with the records of the step that is next; the one after it is next then.
 * FAIL_TIMEOUT: it is not published, at once or, with `wait_ms` > 0, after so long; it stays the
 * next one. FAIL_DATA: the mix has ended before it, or it was deleted meanwhile.
 */
enum fail_code step_records_next(
    struct step_records *r, int wait_ms, struct step_record *out, struct failure *f);

/* Steps [first, end) that a lane lacks, although it holds later ones. */
struct step_records_hole {
	uint32_t lane;
	uint64_t first, end;
};

/*
 * Whether step_records_next() has met a hole since the last search, also if it failed; *out is the
 * first one of the first such lane. A hole below the step that was sought is met if the search
 * started before it.
 */
bool step_records_hole(const struct step_records *r, struct step_records_hole *out);

#endif
