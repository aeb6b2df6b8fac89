#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "consumer/reader/reader.h"

enum { WHY_BYTES = 64 };

/* Says which record it is that the failure speaks of. */
static enum fail_code
fail_at(const struct reader *r, uint32_t i, int64_t offset, struct failure *f)
{
	return fail_within(f, "topic %s, lane %" PRIu32 ", offset %" PRId64, lanes_topic(r->lanes),
	    lanes_first(r->lanes) + i, offset);
}

/* Where a lane's log does not hold the step that is due, the log itself is searched, once. */
static enum fail_code
seek_again(struct reader *r, uint32_t i, int64_t offset, const char *why, struct failure *f)
{
	if (!r->sought)
		return reader_seek(r, f);
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
	if (h->last && h->step < r->check.step) {
		r->ended = true;
		return FAIL_NONE;
	}
	if (h->step > r->check.step) {
		char why[WHY_BYTES];

		snprintf(why, sizeof(why), "step %" PRIu64 " comes first", h->step);
		return seek_again(r, i, record->offset, why, f);
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

	if (lanes_next(r->lanes, i, deadline_ms, &event, &record, f) != FAIL_NONE)
		return f->code;
	switch (event) {
	case LANES_AT_END: return FAIL_NONE;
	case LANES_LOST:
		return seek_again(r, i, r->lane[i].offset_next, "this offset is not in the log", f);
	case LANES_RECORD: break;
	}
	return take_record(r, i, &record, f);
}

enum fail_code
reader_collect(struct reader *r, int64_t deadline_ms, struct failure *f)
{
	uint32_t count = lanes_count(r->lanes), i = 0;

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
			i = 0; /* a search may have begun all lanes anew */
	}
	if (r->check.last)
		r->ended = true;
	return FAIL_NONE;
}

void
reader_take(struct reader *r, struct step_slot *slot)
{
	uint32_t count = lanes_count(r->lanes);

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
	r->sought = false;
	step_check_advance(&r->check);
}
