#include "consumer/batches/step_search.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/record/batch.h"
#include "consumer/batches/lane_seek.h"

enum { SEARCHES_MAX = 3 }; /* a log that is being cut can move under a search */

/* What one search works with; all arrays belong to it. */
struct search {
	struct lanes *lanes;
	const struct step_search *o;
	struct lane_seek *seek; /* [count] */
	int64_t *low, *high;    /* [count] */
	int64_t *asked;         /* [count]: where the lanes are assigned */
	uint32_t *lead;         /* [count]: the lane that is searched for each */
	uint32_t count;
	bool moved; /* the log was cut while we searched */
};

static enum fail_code
search_open(struct search *s, struct lanes *l, const struct step_search *options, struct failure *f)
{
	uint32_t n = lanes_count(l);

	*s = (struct search){.lanes = l, .o = options, .count = n};
	s->seek = calloc(n, sizeof(*s->seek));
	s->low = calloc(n, sizeof(*s->low));
	s->high = calloc(n, sizeof(*s->high));
	s->asked = calloc(n, sizeof(*s->asked));
	s->lead = calloc(n, sizeof(*s->lead));
	if (s->seek == NULL || s->low == NULL || s->high == NULL || s->asked == NULL ||
	    s->lead == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < n; i++)
		s->lead[i] = lanes_lead(l, i);
	return FAIL_NONE;
}

static void
search_close(struct search *s)
{
	free(s->seek);
	free(s->low);
	free(s->high);
	free(s->asked);
	free(s->lead);
}

static bool
leads(const struct search *s, uint32_t i)
{
	return s->lead[i] == i;
}

static bool
any(const struct search *s, enum lane_seek_verdict verdict)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (leads(s, i) && s->seek[i].verdict == verdict)
			return true;
	return false;
}

static enum fail_code
assign(struct search *s, struct failure *f)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->asked[i] = s->seek[s->lead[i]].offset;
	return lanes_assign(s->lanes, s->asked, f);
}

/* Waits for what lane i has at or after the offset that was asked, and reports it to its seek. */
static enum fail_code
probe_lane(struct search *s, uint32_t i, int64_t deadline_ms, struct failure *f)
{
	struct lanes_record record;
	struct batch_view view;
	enum lanes_event event;

	for (;;) {
		if (lanes_next(s->lanes, i, deadline_ms, &event, &record, f) != FAIL_NONE)
			return fail_within(f, "looking for step %" PRIu64, s->o->step);
		if (event != LANES_RECORD || record.offset >= s->asked[i])
			break;
		lanes_release(s->lanes, i); /* from before the lane was assigned here */
	}
	switch (event) {
	case LANES_LOST: s->moved = true; return FAIL_NONE;
	case LANES_AT_END: lane_seek_nothing(&s->seek[i]); return FAIL_NONE;
	case LANES_RECORD: break;
	}
	if (batch_decode(&view, record.bytes, record.n, f) != FAIL_NONE)
		return fail_within(f, "topic %s, lane %" PRIu32 ", offset %" PRId64,
		    lanes_topic(s->lanes), lanes_first(s->lanes) + i, record.offset);
	lane_seek_record(&s->seek[i], record.offset, view.head.step, record.n);
	return FAIL_NONE;
}

/* The earliest step that all lanes retain is the highest of their earliest. */
static enum fail_code
fail_expired(const struct search *s, struct failure *f)
{
	uint64_t earliest = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (leads(s, i) && s->seek[i].verdict == LANE_SEEK_EXPIRED &&
		    s->seek[i].earliest > earliest)
			earliest = s->seek[i].earliest;
	return fail(f, FAIL_DATA,
	    "step %" PRIu64 " of mix %s is not kept any more: " STEP_SEARCH_EARLIEST "%" PRIu64
	    "; `riffle replay --mix %s --steps 0..%" PRIu64
	    " --republish NEWMIX` publishes the steps before it again",
	    s->o->step, s->o->mix, earliest, s->o->mix, earliest);
}

/* Probes in rounds, all lanes together, until every lane knows where to start; assigns them. */
static enum fail_code
search_rounds(struct search *s, int64_t deadline_ms, bool *expired, struct failure *f)
{
	bool below = false;

	if (assign(s, f) != FAIL_NONE)
		return f->code;
	while (any(s, LANE_SEEK_PROBE)) {
		for (uint32_t i = 0; i < s->count; i++)
			if (leads(s, i) && s->seek[i].verdict == LANE_SEEK_PROBE &&
			    probe_lane(s, i, deadline_ms, f) != FAIL_NONE)
				return f->code;
		if (s->moved)
			return FAIL_NONE;
		*expired = any(s, LANE_SEEK_EXPIRED);
		if (*expired)
			return fail_expired(s, f);
		if (any(s, LANE_SEEK_PROBE) && assign(s, f) != FAIL_NONE)
			return f->code;
	}
	/*
	 * Where a lane's last probe was right, the lane is assigned there already, and its first
	 * record is held. Only a lane whose probe was too high starts below it.
	 */
	for (uint32_t i = 0; i < s->count; i++) {
		assert(s->seek[s->lead[i]].verdict == LANE_SEEK_START);
		below = below || s->seek[s->lead[i]].offset < s->asked[i];
	}
	return below ? assign(s, f) : FAIL_NONE;
}

/* Records of a step in the partition of lane i, of other ranks, too. */
static uint32_t
records(const struct search *s, uint32_t i)
{
	const struct lane_map *m = lanes_map(s->lanes);
	uint32_t partition = lane_map_partition(m, lanes_first(s->lanes) + i);

	return lane_map_first(m, partition + 1) - lane_map_first(m, partition);
}

/* A mix without copies: the offset of a record is its step. */
static enum fail_code
search_derived(struct search *s, bool *expired, struct failure *f)
{
	if (lanes_watermarks(s->lanes, s->low, s->high, s->o->timeout_ms, f) != FAIL_NONE)
		return f->code;
	*expired = (int64_t)s->o->step < s->low[0];
	for (uint32_t i = 0; i < s->count; i++)
		s->seek[i] =
		    (struct lane_seek){.verdict = *expired ? LANE_SEEK_EXPIRED : LANE_SEEK_START,
			.offset = (int64_t)s->o->step,
			.earliest = (uint64_t)s->low[i]};
	return *expired ? fail_expired(s, f) : assign(s, f);
}

static enum fail_code
search(struct search *s, bool *expired, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + s->o->timeout_ms;

	if (lane_map_lying(lanes_map(s->lanes)) == 0)
		return search_derived(s, expired, f);
	for (int tries = 0; tries < SEARCHES_MAX; tries++) {
		s->moved = false;
		if (lanes_watermarks(s->lanes, s->low, s->high, s->o->timeout_ms, f) != FAIL_NONE)
			return f->code;
		for (uint32_t i = 0; i < s->count; i++) {
			if (!leads(s, i))
				continue;
			lane_seek_init(
			    &s->seek[i], s->o->step, records(s, i), s->low[i], s->high[i]);
			if (s->o->commit_offset != NULL && s->o->commit_offset[i] >= 0)
				lane_seek_hint(
				    &s->seek[i], s->o->commit_offset[i], s->o->commit_step[i]);
		}
		if (search_rounds(s, deadline_ms, expired, f) != FAIL_NONE)
			return f->code;
		if (!s->moved)
			return FAIL_NONE;
	}
	return fail(f, FAIL_BROKER,
	    "topic %s is being cut faster than step %" PRIu64 " can be found",
	    lanes_topic(s->lanes), s->o->step);
}

enum fail_code
step_search_run(struct lanes *l, const struct step_search *options, int64_t *offset_next,
    bool *expired, struct failure *f)
{
	struct search s;
	enum fail_code code = search_open(&s, l, options, f);

	assert(options->step < LIMIT_STEP);
	assert((options->commit_offset == NULL) == (options->commit_step == NULL));
	*expired = false;
	if (code == FAIL_NONE)
		code = search(&s, expired, f);
	if (code == FAIL_NONE)
		lanes_pass_over(l, options->step);
	for (uint32_t i = 0; code == FAIL_NONE && i < s.count; i++)
		offset_next[i] = s.seek[s.lead[i]].offset;
	search_close(&s);
	return code;
}
