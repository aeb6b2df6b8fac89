#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/record/ledger.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/lane_seek.h"
#include "consumer/reader/reader.h"

_Static_assert(LANE_SEEK_STEP_MAX == RUN_POSITION_STEP_MAX, "one limit for steps");

enum { SEEKS_MAX = 3 }; /* a log that is being cut can move under a search */

/* What one start works with; all arrays belong to it. */
struct search {
	struct lane_seek *seek; /* [count] */
	int64_t *low, *high;    /* [count] */
	int64_t *asked;         /* [count]: where the lanes are assigned */
	int64_t *offset_next;   /* [total]: commits, -1: none */
	char **metadata;        /* [total] */
	uint64_t *committed;    /* [total]: the step of each commit */
	uint32_t count, total;
	bool hints; /* the commits may be used */
	bool moved; /* the log was cut while we searched */
};

static enum fail_code
search_open(struct search *s, const struct reader *r, struct failure *f)
{
	uint32_t n = lanes_count(r->lanes), total = lanes_total(r->lanes);

	*s = (struct search){.count = n, .total = total};
	s->seek = calloc(n, sizeof(*s->seek));
	s->low = calloc(n, sizeof(*s->low));
	s->high = calloc(n, sizeof(*s->high));
	s->asked = calloc(n, sizeof(*s->asked));
	s->offset_next = calloc(total, sizeof(*s->offset_next));
	s->metadata = calloc(total, sizeof(*s->metadata));
	s->committed = calloc(total, sizeof(*s->committed));
	if (s->seek == NULL || s->low == NULL || s->high == NULL || s->asked == NULL ||
	    s->offset_next == NULL || s->metadata == NULL || s->committed == NULL)
		return fail_memory(f);
	return FAIL_NONE;
}

static void
forget_commits(struct search *s)
{
	for (uint32_t i = 0; s->metadata != NULL && i < s->total; i++) {
		free(s->metadata[i]);
		s->metadata[i] = NULL;
	}
}

static void
search_close(struct search *s)
{
	forget_commits(s);
	free(s->seek);
	free(s->low);
	free(s->high);
	free(s->asked);
	free(s->offset_next);
	free(s->metadata);
	free(s->committed);
}

/* The lane's first record at or after the offset that was asked. */
static enum fail_code
take_probe(struct reader *r, struct search *s, uint32_t i, const struct lanes_record *record,
    struct failure *f)
{
	struct batch_view view;

	if (batch_decode(&view, record->bytes, record->n, f) != FAIL_NONE)
		return fail_within(f, "topic %s, lane %" PRIu32 ", offset %" PRId64,
		    lanes_topic(r->lanes), lanes_first(r->lanes) + i, record->offset);
	lane_seek_record(&s->seek[i], record->offset, view.head.step, record->n);
	return FAIL_NONE;
}

static enum fail_code
wait_probe(struct reader *r, struct search *s, uint32_t i, int64_t deadline_ms, struct failure *f)
{
	struct lanes_record record;
	enum lanes_event event;

	for (;;) {
		if (lanes_next(r->lanes, i, deadline_ms, &event, &record, f) != FAIL_NONE)
			return fail_within(f, "looking for step %" PRIu64, r->check.step);
		if (event != LANES_RECORD || record.offset >= s->asked[i])
			break;
		lanes_release(r->lanes, i); /* from before the lane was assigned here */
	}
	switch (event) {
	case LANES_LOST: s->moved = true; return FAIL_NONE;
	case LANES_AT_END: lane_seek_nothing(&s->seek[i]); return FAIL_NONE;
	case LANES_RECORD: break;
	}
	return take_probe(r, s, i, &record, f);
}

static enum fail_code
assign(struct reader *r, struct search *s, struct failure *f)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->asked[i] = s->seek[i].offset;
	return lanes_assign(r->lanes, s->asked, f);
}

static bool
any(const struct search *s, enum lane_seek_verdict verdict)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->seek[i].verdict == verdict)
			return true;
	return false;
}

static enum fail_code
fail_expired(struct reader *r, const struct search *s, struct failure *f)
{
	uint64_t earliest = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->seek[i].verdict == LANE_SEEK_EXPIRED && s->seek[i].earliest > earliest)
			earliest = s->seek[i].earliest;
	r->expired = true;
	return fail(f, FAIL_DATA,
	    "step %" PRIu64
	    " of mix %s is not kept any more: the earliest retained step is %" PRIu64,
	    r->check.step, r->mix, earliest);
}

/* Probes in rounds, all lanes together, until every lane knows where to start; assigns them. */
static enum fail_code
search_rounds(struct reader *r, struct search *s, int64_t deadline_ms, struct failure *f)
{
	bool below = false;

	if (assign(r, s, f) != FAIL_NONE)
		return f->code;
	while (any(s, LANE_SEEK_PROBE)) {
		for (uint32_t i = 0; i < s->count; i++)
			if (s->seek[i].verdict == LANE_SEEK_PROBE &&
			    wait_probe(r, s, i, deadline_ms, f) != FAIL_NONE)
				return f->code;
		if (s->moved)
			return FAIL_NONE;
		if (any(s, LANE_SEEK_EXPIRED))
			return fail_expired(r, s, f);
		if (any(s, LANE_SEEK_PROBE) && assign(r, s, f) != FAIL_NONE)
			return f->code;
	}
	/* The last probe of a lane has hit, or is where it reads on, or was too high. */
	for (uint32_t i = 0; i < s->count; i++)
		below = below || s->seek[i].offset < s->asked[i];
	return below ? assign(r, s, f) : FAIL_NONE;
}

static void
lanes_begin(struct reader *r, const struct search *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		r->lane[i] =
		    (struct reader_lane){.offset_next = s->seek[i].offset, .skipping = true};
	step_check_restart(&r->check);
}

static enum fail_code
seek_with(struct reader *r, struct search *s, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + r->open_timeout_ms;
	uint32_t first = lanes_first(r->lanes);

	for (int tries = 0; tries < SEEKS_MAX; tries++) {
		s->moved = false;
		if (lanes_watermarks(r->lanes, s->low, s->high, r->open_timeout_ms, f) != FAIL_NONE)
			return f->code;
		for (uint32_t i = 0; i < s->count; i++) {
			lane_seek_init(&s->seek[i], r->check.step, s->low[i], s->high[i]);
			if (s->hints && s->offset_next[first + i] >= 0)
				lane_seek_hint(&s->seek[i], s->offset_next[first + i],
				    s->committed[first + i]);
		}
		if (search_rounds(r, s, deadline_ms, f) != FAIL_NONE)
			return f->code;
		if (!s->moved) {
			lanes_begin(r, s);
			return FAIL_NONE;
		}
	}
	return fail(f, FAIL_BROKER,
	    "topic %s is being cut faster than step %" PRIu64 " can be found",
	    lanes_topic(r->lanes), r->check.step);
}

enum fail_code
reader_seek(struct reader *r, struct failure *f)
{
	struct search s;
	enum fail_code code = search_open(&s, r, f);

	r->sought = true;
	if (code == FAIL_NONE)
		code = seek_with(r, &s, f);
	search_close(&s);
	return code;
}

static uint64_t
step_of_run(const struct ledger *l, const char *run)
{
	for (size_t i = 0; i < l->runs_n; i++)
		if (l->run[i].name != NULL && strcmp(l->run[i].name, run) == 0)
			return (uint64_t)l->run[i].step;
	return 0;
}

/*
 * A run without commits may be new, or its commits may have expired. The mixer has copied every
 * run's position into the ledger: one that is known there must not silently begin again.
 */
static enum fail_code
check_ledger(struct reader *r, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	struct ledger ledger = {0};
	enum fail_code code;
	uint8_t *bytes;
	uint64_t step;
	size_t n;

	names_topic(topic, r->mix, "ledger");
	if (lanes_last_record(r->lanes, topic, &bytes, &n, r->open_timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (bytes == NULL)
		return FAIL_NONE;
	code = ledger_decode(&ledger, bytes, n, f);
	free(bytes);
	if (code != FAIL_NONE)
		return fail_within(f, "topic %s, last record", topic);
	step = step_of_run(&ledger, r->run);
	ledger_clear(&ledger);
	if (step == 0)
		return FAIL_NONE;
	r->lost = true;
	return fail(f, FAIL_DATA,
	    "run %s of mix %s stood at step %" PRIu64
	    ", as the ledger says, but the broker has no commit of group %s.%s for every lane (did "
	    "they expire?): name the step to start from, or another run",
	    r->run, r->mix, step, r->mix, r->run);
}

static enum fail_code
ask_commits(struct reader *r, struct search *s, struct run_position *at, struct failure *f)
{
	forget_commits(s);
	if (lanes_committed(r->lanes, s->offset_next, s->metadata, r->open_timeout_ms, f) !=
	    FAIL_NONE)
		return f->code;
	if (run_position_lowest(at, s->committed, s->offset_next, s->metadata, s->total, f) !=
	    FAIL_NONE)
		return fail_within(f, "group %s.%s", r->mix, r->run);
	return FAIL_NONE;
}

/* The ledger may know of a commit that another rank has made since ours were asked for. */
static enum fail_code
ask_again(struct reader *r, struct search *s, struct run_position *at, struct failure *f)
{
	struct failure lost = *f;

	if (ask_commits(r, s, at, f) != FAIL_NONE)
		return f->code;
	r->lost = !at->all;
	if (r->lost)
		*f = lost;
	return r->lost ? f->code : FAIL_NONE;
}

/* The run's commits decide the step, the lowest over all lanes of the mix. */
static enum fail_code
read_commits(struct reader *r, struct search *s, struct failure *f)
{
	struct run_position at;

	if (ask_commits(r, s, &at, f) != FAIL_NONE)
		return f->code;
	if (!at.all && check_ledger(r, f) != FAIL_NONE &&
	    (!r->lost || ask_again(r, s, &at, f) != FAIL_NONE))
		return f->code;
	s->hints = true;
	r->check.step = at.step;
	if (!at.any)
		log_info("riffle: run %s of mix %s has committed nothing: it starts at step 0",
		    r->run, r->mix);
	else if (!at.all)
		log_info("riffle: run %s of mix %s has no commit of lane %zu: it starts at step 0",
		    r->run, r->mix, at.lane);
	else
		log_info("riffle: run %s of mix %s starts at step %" PRIu64
			 ", its lowest commit (the highest is %" PRIu64 ")",
		    r->run, r->mix, at.step, at.step_ahead);
	return FAIL_NONE;
}

/* Every lane of ours has committed the very step: nothing needs to be searched. */
static bool
commits_suffice(const struct reader *r, const struct search *s)
{
	uint32_t first = lanes_first(r->lanes);

	for (uint32_t i = 0; i < s->count; i++)
		if (s->offset_next[first + i] < 0 || s->committed[first + i] != r->check.step)
			return false;
	return true;
}

static enum fail_code
assign_commits(struct reader *r, struct search *s, struct failure *f)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->seek[i].offset = s->offset_next[lanes_first(r->lanes) + i];
	lanes_begin(r, s);
	return assign(r, s, f);
}

enum fail_code
reader_committed(struct reader *r, uint64_t *step, struct failure *f)
{
	struct search s;
	enum fail_code code = search_open(&s, r, f);

	if (code == FAIL_NONE)
		code = read_commits(r, &s, f);
	*step = r->check.step;
	search_close(&s);
	return code;
}

enum fail_code
reader_start(struct reader *r, uint64_t step, struct failure *f)
{
	struct search s;
	enum fail_code code = search_open(&s, r, f);

	r->check.step = step;
	if (code == FAIL_NONE && r->start == RIFFLE_START_COMMITTED)
		code = read_commits(r, &s, f);
	if (code == FAIL_NONE)
		code = s.hints && commits_suffice(r, &s) ? assign_commits(r, &s, f)
							 : seek_with(r, &s, f);
	search_close(&s);
	return code;
}
