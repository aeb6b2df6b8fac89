#include "consumer/reader/reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "consumer/batches/lane_seek.h"
#include "consumer/batches/step_search.h"
#include "consumer/ledger/batch_topic.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/reader/resume_point.h"

enum { WHY_BYTES = 192 };

/* ---- opening ---- */

/*
 * The ranks do not divide the lanes: where somebody added partitions, that is the cause, and the
 * ledger knows it. Else *f stays.
 */
static void
blame_topic(const struct lanes_options *of, struct failure *f)
{
	struct lanes_options o = *of;
	struct ledger last = {0};
	struct lanes *all = NULL;
	struct failure ignored;
	bool any;

	o.rank = 0;
	o.world = 1;
	o.stats = NULL;
	if (lanes_open(&all, &o, &ignored) == FAIL_NONE &&
	    ledger_log_ask(&last, &any, o.mix, o.properties, o.timeout_ms, &ignored) == FAIL_NONE &&
	    any)
		batch_topic_judge(o.mix, &last, lanes_map(all), 0, NULL, 0, f);
	ledger_clear(&last);
	lanes_close(all);
}

enum fail_code
reader_open(struct reader *r, const struct reader_options *o, struct failure *f)
{
	char group[sizeof(r->mix) + sizeof(r->run)];
	struct lanes_options lanes = {
	    .mix = r->mix,
	    .group = group,
	    .rank = o->rank,
	    .world = o->world,
	    .uneven = o->uneven,
	    .properties = o->properties,
	    .timeout_ms = o->timeout_ms,
	    .ahead_bytes = o->ahead_bytes,
	    .stats = o->stats,
	};
	uint32_t count;

	assert(strlen(o->mix) < sizeof(r->mix));
	assert(strlen(o->run) < sizeof(r->run));
	*r = (struct reader){.timeout_ms = o->timeout_ms};
	snprintf(r->mix, sizeof(r->mix), "%s", o->mix);
	snprintf(r->run, sizeof(r->run), "%s", o->run);
	snprintf(group, sizeof(group), "%s.%s", r->mix, r->run);
	if (lanes_open(&r->lanes, &lanes, f) != FAIL_NONE) {
		if (f->code == FAIL_CONFIG && o->world > 1)
			blame_topic(&lanes, f);
		return f->code;
	}
	count = lanes_count(r->lanes);
	r->lane = calloc(count, sizeof(*r->lane));
	if (r->lane == NULL)
		return fail_memory(f);
	step_check_init(&r->check, r->mix, lanes_total(r->lanes), count, 0);
	r->check.schedule_wanted = o->schedule;
	return FAIL_NONE;
}

void
reader_close(struct reader *r)
{
	lanes_close(r->lanes);
	free(r->lane);
	r->lanes = NULL;
	r->lane = NULL;
}

/* ---- the step that is due: by the caller, by commits, by search ---- */

/* The lanes are assigned at offset_next[count], at or below the step that is due. */
static void
restart_lanes(struct reader *r, const int64_t *offset_next)
{
	for (uint32_t i = 0; i < lanes_count(r->lanes); i++)
		r->lane[i] = (struct reader_lane){.offset_next = offset_next[i], .skipping = true};
	step_check_restart(&r->check);
}

/*
 * Searches the step that is due; `p` gives hints, NULL: none.
 *
 * From its first request on a search owns the lanes: it assigns them elsewhere and frees what they
 * hold. So nothing may stay READY that was read before it, whatever becomes of it: a lane that
 * still called itself ready would hand over another step's record under the number of the new one.
 * After a failure the reader is `unplaced`, and reader_collect() searches again first.
 */
static enum fail_code
search(struct reader *r, const struct resume_point *p, struct failure *f)
{
	uint32_t first = lanes_first(r->lanes);
	struct step_search s = {
	    .mix = r->mix,
	    .step = r->check.step,
	    .timeout_ms = r->timeout_ms,
	    .commit_offset = p == NULL ? NULL : p->offset_next + first,
	    .commit_step = p == NULL ? NULL : p->step + first,
	};
	int64_t *offset_next = calloc(lanes_count(r->lanes), sizeof(*offset_next));
	bool expired = false;
	enum fail_code code;

	if (offset_next == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < lanes_count(r->lanes); i++)
		r->lane[i].ready = false;
	step_check_restart(&r->check);
	r->unplaced = true;
	code = step_search_run(r->lanes, &s, offset_next, &expired, f);
	r->expired = r->expired || expired;
	if (code == FAIL_NONE) {
		restart_lanes(r, offset_next);
		r->unplaced = false;
	}
	free(offset_next);
	return code;
}

enum fail_code
reader_start(struct reader *r, uint64_t step, struct failure *f)
{
	assert(step < LIMIT_STEP);
	r->check.step = step;
	return search(r, NULL, f);
}

/* Every lane of ours has committed the very step: nothing needs to be searched. */
static bool
commits_suffice(const struct reader *r, const struct resume_point *p)
{
	for (uint32_t i = 0; i < lanes_count(r->lanes); i++) {
		uint32_t lane = lanes_first(r->lanes) + i;

		if (p->offset_next[lane] < 0 || p->step[lane] != p->at.step)
			return false;
	}
	return true;
}

enum fail_code
reader_resume(struct reader *r, struct failure *f)
{
	struct resume_point p;
	enum fail_code code = resume_point_find(&p, r->lanes, r->mix, r->run, r->timeout_ms, f);

	r->lost = p.lost;
	if (code == FAIL_NONE) {
		const int64_t *mine = p.offset_next + lanes_first(r->lanes);

		resume_point_log(&p, r->mix, r->run);
		r->check.step = p.at.step;
		if (!commits_suffice(r, &p)) {
			code = search(r, &p, f);
		} else {
			restart_lanes(r, mine);
			code = lanes_assign(r->lanes, mine, f);
		}
	}
	resume_point_clear(&p);
	return code;
}

enum fail_code
reader_committed(struct reader *r, bool starts, uint64_t *step, struct failure *f)
{
	struct resume_point p;
	enum fail_code code = resume_point_find(&p, r->lanes, r->mix, r->run, r->timeout_ms, f);

	r->lost = p.lost;
	*step = code == FAIL_NONE ? p.at.step : 0;
	if (code == FAIL_NONE && starts)
		resume_point_log(&p, r->mix, r->run);
	resume_point_clear(&p);
	return code;
}

enum fail_code
reader_seek(struct reader *r, uint64_t step, struct failure *f)
{
	assert(step < LIMIT_STEP);
	r->check.step = step;
	r->ended = false;
	r->expired = false;
	r->searched = false;
	return search(r, NULL, f);
}

void
reader_offsets(const struct reader *r, int64_t *offset_next)
{
	for (uint32_t i = 0; i < lanes_count(r->lanes); i++)
		offset_next[i] = r->lane[i].offset_next;
}

/* ---- collecting ---- */

/* Names the record that the failure is about. */
static enum fail_code
fail_at(const struct reader *r, uint32_t i, int64_t offset, struct failure *f)
{
	return fail_within(f, "topic %s, lane %" PRIu32 ", offset %" PRId64, lanes_topic(r->lanes),
	    lanes_first(r->lanes) + i, offset);
}

/*
 * A lane does not hold the step that is due where it must be: a commit named a wrong offset, or the
 * log was cut or recreated. The log itself is searched, once: where a search has brought us
 * here already, it is the log that is wrong.
 */
static enum fail_code
search_once(struct reader *r, uint32_t i, int64_t offset, const char *why, struct failure *f)
{
	if (!r->searched) {
		r->searched = true;
		return search(r, NULL, f);
	}
	fail(f, FAIL_DATA, "step %" PRIu64 " is due, but %s", r->check.step, why);
	return fail_at(r, i, offset, f);
}

/* A record of a lane that still reads what lies below the step that is due. */
static enum fail_code
skip_record(struct reader *r, uint32_t i, const struct lanes_record *record, struct failure *f)
{
	struct reader_lane *lane = &r->lane[i];
	const struct batch_head *h = &lane->view.head;

	if (step_check_constants(
		&r->check, lanes_first(r->lanes) + i, h, lane->view.sequences_n, f) != FAIL_NONE)
		return fail_at(r, i, record->offset, f);
	if (h->last && h->step < r->check.step)
		return fail(f, FAIL_CONFIG,
		    "mix %s ended before step %" PRIu64 ", so that no step %" PRIu64
		    " comes: is this the step of another mix?",
		    r->mix, h->step, r->check.step);
	if (h->step > r->check.step) {
		char why[WHY_BYTES];

		/* Nothing was skipped: retention leaves a log that begins above offset 0. */
		snprintf(why, sizeof(why), "step %" PRIu64 " comes first%s", h->step,
		    lane->offset_next == 0 ? ", at offset 0 of the log: the topic was deleted and "
					     "created again, or the mix republished from there on"
					   : "");
		return search_once(r, i, record->offset, why, f);
	}
	lane->offset_next = record->offset + 1;
	lanes_release(r->lanes, i);
	return FAIL_NONE;
}

/* Looks at a lane's next record: takes it as its part of the step, or skips it. */
static enum fail_code
take_record(struct reader *r, uint32_t i, const struct lanes_record *record, struct failure *f)
{
	struct reader_lane *lane = &r->lane[i];

	if (batch_decode(&lane->view, record->bytes, record->n, f) != FAIL_NONE ||
	    step_check_claim(lane->view.sequences_n, record->n, f) != FAIL_NONE)
		return fail_at(r, i, record->offset, f);
	if (lane->skipping && lane->view.head.step != r->check.step)
		return skip_record(r, i, record, f);
	if (step_check_record(&r->check, lanes_first(r->lanes) + i, &lane->view.head,
		lane->view.sequences_n, f) != FAIL_NONE)
		return fail_at(r, i, record->offset, f);
	lane->skipping = false;
	lane->ready = true;
	lane->offset_held = record->offset;
	return FAIL_NONE;
}

/* One event of a lane that is not ready. */
static enum fail_code
serve_lane(struct reader *r, uint32_t i, int64_t deadline_ms, struct failure *f)
{
	struct lanes_record record;
	enum lanes_event event;

	assert(!r->lane[i].ready);
	if (lanes_next(r->lanes, i, deadline_ms, &event, &record, f) != FAIL_NONE)
		return f->code;
	switch (event) {
	case LANES_AT_END: return FAIL_NONE;
	case LANES_LOST:
		return search_once(r, i, r->lane[i].offset_next,
		    "this offset is not in the log: the topics of the mix were deleted or "
		    "recreated since this reader began, or retention cut them: start it again",
		    f);
	case LANES_RECORD: break;
	}
	return take_record(r, i, &record, f);
}

enum fail_code
reader_collect(struct reader *r, int64_t deadline_ms, struct failure *f)
{
	uint32_t count = lanes_count(r->lanes), i = 0;

	if (r->unplaced && search(r, NULL, f) != FAIL_NONE)
		return f->code;
	while (i < count && !r->ended) {
		if (r->lane[i].ready) {
			i++;
			continue;
		}
		if (serve_lane(r, i, deadline_ms, f) != FAIL_NONE)
			return f->code;
		if (r->lane[i].skipping && clock_ms() > deadline_ms)
			return fail(f, FAIL_TIMEOUT, "still below the step");
		if (!r->lane[i].ready)
			i = 0; /* a search may have restarted the lanes before it, too */
	}
	if (r->check.last)
		r->ended = true;
	return FAIL_NONE;
}

void
reader_take(struct reader *r, struct step_slot *slot)
{
	uint32_t count = lanes_count(r->lanes);

	assert(!r->ended);
	assert(!r->unplaced);
	assert(slot->lanes == count);
	assert(r->check.lanes_there == count);
	slot->step = (struct riffle_step){
	    .step = r->check.step,
	    .lr_scale = r->check.lr_scale,
	    .phase = slot->phase,
	    .version = r->check.version,
	};
	memcpy(slot->phase, r->check.phase, sizeof(slot->phase));
	slot->lead = r->check.lead;
	slot->schedule = r->check.schedule;
	slot->tokenizer = r->check.tokenizer;
	slot->global_batch = r->check.global_batch;
	for (uint32_t i = 0; i < count; i++) {
		slot->lane[i] = (struct step_slot_lane){
		    .record = lanes_detach(r->lanes, i),
		    .view = r->lane[i].view,
		    .offset = r->lane[i].offset_held,
		    .number = lanes_first(r->lanes) + i,
		};
		r->lane[i].offset_next = r->lane[i].offset_held + 1;
		r->lane[i].ready = false;
	}
	r->searched = false;
	step_check_advance(&r->check);
}
