#include "consumer/batches/step_records.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/record/batch.h"
#include "consumer/batches/lane_seek.h"
#include "consumer/batches/lanes.h"
#include "consumer/batches/step_count.h"
#include "consumer/batches/step_search.h"

/* What is known of a lane's records. */
struct place {
	struct step_count count;
	bool there; /* the lane holds the step that is next, in `record` */
	bool done;  /* the held record is used */
	struct step_record record;
};

struct step_records {
	char mix[NAME_MAX_BYTES + 1];
	int timeout_ms;
	struct lanes *lanes;
	struct place *place;  /* [lanes] */
	int64_t *offset_next; /* [lanes]: of the last search */
	uint64_t *absent;     /* [lanes]: the first step that a lane does not have */
	uint64_t step_wanted; /* the step that step_records_next() will give; once `sought` */
	bool sought;
};

enum fail_code
step_records_open(struct step_records **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	struct step_records *r = calloc(1, sizeof(*r));
	struct lanes_options lanes = {
	    .mix = mix,
	    .world = 1,
	    .properties = properties,
	    .timeout_ms = timeout_ms,
	    .ahead_bytes = STEP_RECORDS_AHEAD_BYTES,
	};
	uint32_t n;

	if (r == NULL)
		return fail_memory(f);
	snprintf(r->mix, sizeof(r->mix), "%s", mix);
	r->timeout_ms = timeout_ms;
	if (lanes_open(&r->lanes, &lanes, f) != FAIL_NONE)
		goto failed;
	n = lanes_count(r->lanes);
	r->place = calloc(n, sizeof(*r->place));
	r->offset_next = calloc(n, sizeof(*r->offset_next));
	r->absent = calloc(n, sizeof(*r->absent));
	if (r->place == NULL || r->offset_next == NULL || r->absent == NULL) {
		fail_memory(f);
		goto failed;
	}
	for (uint32_t i = 0; i < n; i++)
		r->absent[i] = UINT64_MAX;
	*out = r;
	return FAIL_NONE;
failed:
	step_records_close(r);
	return f->code;
}

void
step_records_close(struct step_records *r)
{
	if (r == NULL)
		return;
	lanes_close(r->lanes);
	free(r->place);
	free(r->offset_next);
	free(r->absent);
	free(r);
}

uint32_t
step_records_lanes(const struct step_records *r)
{
	return lanes_count(r->lanes);
}

struct lane_map
step_records_map(const struct step_records *r)
{
	return *lanes_map(r->lanes);
}

const char *
step_records_topic(const struct step_records *r)
{
	return lanes_topic(r->lanes);
}

static enum fail_code
fail_at(const struct step_records *r, uint32_t i, int64_t offset, struct failure *f)
{
	return fail_within(
	    f, "topic %s, lane %" PRIu32 ", offset %" PRId64, step_records_topic(r), i, offset);
}

/* ---- what is kept ---- */

/* Reads the lane's first record into what is kept; the lane is assigned at its low watermark. */
static enum fail_code
take_first(struct step_records *r, uint32_t i, struct step_records_kept *out, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + r->timeout_ms;
	struct lanes_record record;
	enum lanes_event event;
	struct batch_view view;

	if (lanes_next(r->lanes, i, deadline_ms, &event, &record, f) != FAIL_NONE)
		return fail_within(f, "looking for the first step that is kept");
	if (event != LANES_RECORD)
		return FAIL_NONE; /* nothing visible, or cut while we looked */
	if (batch_decode(&view, record.bytes, record.n, f) != FAIL_NONE)
		return fail_at(r, i, record.offset, f);
	if (!out->any || view.head.step < out->lowest)
		out->lowest = view.head.step;
	if (!out->any || view.head.step > out->whole)
		out->whole = view.head.step;
	out->any = true;
	return FAIL_NONE;
}

enum fail_code
step_records_earliest(struct step_records *r, struct step_records_kept *out, struct failure *f)
{
	uint32_t n = step_records_lanes(r);
	int64_t *low = calloc(n, sizeof(*low)), *high = calloc(n, sizeof(*high));
	enum fail_code code = low == NULL || high == NULL ? fail_memory(f) : FAIL_NONE;

	*out = (struct step_records_kept){0};
	r->sought = false;
	if (code == FAIL_NONE)
		code = lanes_watermarks(r->lanes, low, high, r->timeout_ms, f);
	if (code == FAIL_NONE)
		code = lanes_assign(r->lanes, low, f);
	for (uint32_t i = 0; code == FAIL_NONE && i < n; i++)
		code = take_first(r, i, out, f);
	free(low);
	free(high);
	return code;
}

/* ---- steps ---- */

enum fail_code
step_records_seek(struct step_records *r, uint64_t step, struct failure *f)
{
	struct step_search s = {.mix = r->mix, .step = step, .timeout_ms = r->timeout_ms};
	bool expired;

	assert(step < LIMIT_STEP);
	if (step_search_run(r->lanes, &s, r->offset_next, &expired, f) != FAIL_NONE)
		return f->code;
	for (uint32_t i = 0; i < step_records_lanes(r); i++)
		r->place[i] = (struct place){0};
	r->step_wanted = step;
	r->sought = true;
	return FAIL_NONE;
}

/* Fills *out, and *step with the step that the record stands for. */
static enum fail_code
count(struct step_records *r, uint32_t i, const struct lanes_record *record, uint64_t *step,
    struct step_record *out, struct failure *f)
{
	struct step_count *c = &r->place[i].count;
	struct batch_view view;
	bool decoded = batch_decode(&view, record->bytes, record->n, f) == FAIL_NONE;

	if (!c->known && !decoded)
		return fail_at(r, i, record->offset, f);
	*step = step_count_record(c, r->step_wanted, decoded ? &view.head.step : NULL);
	*out = (struct step_record){
	    .bytes = record->bytes,
	    .n = record->n,
	    .offset = record->offset,
	    .last = decoded && view.head.last,
	};
	return FAIL_NONE;
}

static enum fail_code
take_record(
    struct step_records *r, uint32_t i, const struct lanes_record *record, struct failure *f)
{
	struct place *p = &r->place[i];
	uint64_t wanted = r->step_wanted, step = 0;

	if (count(r, i, record, &step, &p->record, f) != FAIL_NONE)
		return f->code;
	p->there = step == wanted;
	if (p->there)
		return FAIL_NONE;
	if (step > wanted) {
		fail(f, FAIL_DATA, "step %" PRIu64 " is missing: step %" PRIu64 " comes first",
		    wanted, step);
		return fail_at(r, i, record->offset, f);
	}
	if (p->record.last)
		return fail(f, FAIL_DATA,
		    "mix %s has ended before step %" PRIu64 "; there is no step %" PRIu64, r->mix,
		    step, wanted);
	lanes_release(r->lanes, i);
	return FAIL_NONE;
}

static enum fail_code
serve(struct step_records *r, uint32_t i, int wait_ms, int64_t deadline_ms, struct failure *f)
{
	struct lanes_record record;
	enum lanes_event event;

	if (lanes_next(r->lanes, i, deadline_ms, &event, &record, f) != FAIL_NONE)
		return f->code;
	switch (event) {
	case LANES_RECORD: return take_record(r, i, &record, f);
	case LANES_AT_END:
		if (wait_ms > 0)
			return FAIL_NONE;
		return fail(f, FAIL_TIMEOUT, "step %" PRIu64 " of mix %s is not published yet",
		    r->step_wanted, r->mix);
	case LANES_LOST: break;
	}
	return fail(f, FAIL_DATA,
	    "topic %s, lane %" PRIu32 ": step %" PRIu64 " was deleted while it was read",
	    step_records_topic(r), i, r->step_wanted);
}

bool
step_records_hole(const struct step_records *r, struct step_records_hole *out)
{
	for (uint32_t i = 0; i < step_records_lanes(r); i++) {
		const struct step_count *c = &r->place[i].count;

		*out = (struct step_records_hole){i, c->hole_first, c->hole_end};
		if (c->hole_end > 0)
			return true;
	}
	return false;
}

void
step_records_absent(struct step_records *r, uint32_t lane, uint64_t step)
{
	assert(lane < step_records_lanes(r));
	r->absent[lane] = step;
}

enum fail_code
step_records_next(struct step_records *r, int wait_ms, struct step_record *out, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + (wait_ms > 0 ? wait_ms : r->timeout_ms);
	uint32_t n = step_records_lanes(r);

	assert(r->sought);
	assert(r->step_wanted < LIMIT_STEP);
	for (uint32_t i = 0; i < n; i++) {
		struct place *p = &r->place[i];

		if (p->done)
			lanes_release(r->lanes, i);
		p->done = false;
		while (!p->there && r->step_wanted < r->absent[i])
			if (serve(r, i, wait_ms, deadline_ms, f) != FAIL_NONE)
				return f->code;
	}
	for (uint32_t i = 0; i < n; i++) {
		bool there = r->place[i].there;

		out[i] = there ? r->place[i].record : (struct step_record){0};
		r->place[i].there = false;
		r->place[i].done = there;
	}
	r->step_wanted++;
	return FAIL_NONE;
}
