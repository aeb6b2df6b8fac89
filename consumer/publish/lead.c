#include "consumer/publish/lead.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum { LEAD_TIMEOUT_MS = 10000 };

struct run {
	const char *name;
	struct run_position_query *commits;
	struct lead_run at;
	char apart[RUN_POSITION_APART_MAX];
	int64_t blocked_ms; /* for which the mixer has waited for it */
};

struct lead {
	const char *mix;
	const struct properties *kafka;
	uint32_t max_lead_steps;
	size_t lanes;
	bool shared;     /* lanes share partitions (record/lane_map.h) */
	struct run *run; /* of mix.runs */
	size_t runs_n;
	struct ledger_run *other; /* that only the ledger knows */
	size_t others_n;
};

static void
forget_others(struct lead *l)
{
	for (size_t i = 0; i < l->others_n; i++)
		free(l->other[i].name);
	free(l->other);
	l->other = NULL;
	l->others_n = 0;
}

enum fail_code
lead_open(struct lead **out, const struct config *c, struct failure *f)
{
	struct lead *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return fail_memory(f);
	l->mix = c->mix.name;
	l->kafka = &c->kafka;
	l->max_lead_steps = c->mix.max_lead_steps;
	l->lanes = c->mix.lanes;
	l->shared = c->mix.partitions < c->mix.lanes;
	l->runs_n = c->mix.runs.n;
	l->run = calloc(l->runs_n + 1, sizeof(*l->run));
	if (l->run == NULL) {
		lead_close(l);
		return fail_memory(f);
	}
	for (size_t i = 0; i < l->runs_n; i++) {
		struct run *r = &l->run[i];

		r->name = c->mix.runs.text[i];
		if (run_position_open(&r->commits, c->mix.name, r->name, l->shared, "mix-lead",
			&c->kafka, f) != FAIL_NONE) {
			lead_close(l);
			return f->code;
		}
	}
	*out = l;
	return FAIL_NONE;
}

void
lead_close(struct lead *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; l->run != NULL && i < l->runs_n; i++)
		run_position_close(l->run[i].commits);
	free(l->run);
	forget_others(l);
	free(l);
}

enum lead_change
lead_run_take(struct lead_run *r, const struct run_position *at, int64_t now_ms)
{
	bool lost = r->any && !at->any, back = at->any && at->step < r->step;
	enum lead_change change = lost ? LEAD_LOST : LEAD_STEADY;

	if (back && (r->back_ms == 0 || now_ms - r->back_ms >= LEAD_BACK_AGAIN_MS)) {
		r->back_ms = now_ms;
		change = LEAD_BACK;
	}
	r->any = at->any;
	if (at->any)
		r->step = at->step;
	if (r->step > r->known)
		r->known = r->step;
	return change;
}

/* Warns of a change for the worse. */
static void
take_position(const struct lead *l, struct run *r, const struct run_position *at)
{
	uint64_t was = r->at.step;

	memcpy(r->apart, at->apart, sizeof(r->apart));
	switch (lead_run_take(&r->at, at, clock_ms())) {
	case LEAD_STEADY: break;
	case LEAD_LOST:
		log_warning("mix: MIX-RUN-LOST mix=%s run=%s: it was at step=%" PRIu64
			    ", and the broker knows no commit of group %s any more",
		    l->mix, r->name, was, run_position_group(r->commits));
		break;
	case LEAD_BACK:
		log_warning("mix: MIX-RUN-BACK mix=%s run=%s: it went back from step=%" PRIu64
			    " to step=%" PRIu64
			    ": a trainer that was started there, or two trainers of one rank?",
		    l->mix, r->name, was, at->step);
		break;
	}
}

static enum fail_code
ask_run(const struct lead *l, struct run *r, struct failure *f)
{
	struct run_position at;
	enum fail_code code = run_position_ask(r->commits, l->lanes, LEAD_TIMEOUT_MS, &at, f);

	if (code == FAIL_DATA)
		return fail_within(f, "group %s", run_position_group(r->commits));
	if (code != FAIL_NONE)
		return code;
	take_position(l, r, &at);
	return FAIL_NONE;
}

enum fail_code
lead_ask(struct lead *l, struct failure *f)
{
	for (size_t i = 0; i < l->runs_n; i++)
		if (ask_run(l, &l->run[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Of equals the first in mix.runs; NULL: there is none. */
static struct run *
slowest(const struct lead *l)
{
	struct run *lowest = l->runs_n == 0 ? NULL : &l->run[0];

	for (size_t i = 1; i < l->runs_n; i++)
		if (l->run[i].at.step < lowest->at.step)
			lowest = &l->run[i];
	return lowest;
}

const char *
lead_slowest(const struct lead *l, uint64_t *step)
{
	const struct run *r = slowest(l);

	*step = r == NULL ? 0 : r->at.step;
	return r == NULL ? "" : r->name;
}

size_t
lead_runs(const struct lead *l)
{
	return l->runs_n;
}

const char *
lead_run(const struct lead *l, size_t i, uint64_t *step)
{
	assert(i < l->runs_n);
	*step = l->run[i].at.step;
	return l->run[i].name;
}

bool
lead_committed(const struct lead *l, size_t i)
{
	assert(i < l->runs_n);
	return l->run[i].at.any;
}

const char *
lead_apart(const struct lead *l, size_t i)
{
	assert(i < l->runs_n);
	return l->run[i].apart;
}

void
lead_blocked(struct lead *l, int64_t ms)
{
	struct run *r = slowest(l);

	assert(ms >= 0);
	if (r != NULL)
		r->blocked_ms += ms;
}

int64_t
lead_blocked_ms(const struct lead *l, size_t i)
{
	assert(i < l->runs_n);
	return l->run[i].blocked_ms;
}

uint64_t
lead_limit(const struct lead *l)
{
	uint64_t step;

	if (l->max_lead_steps == 0 || l->runs_n == 0)
		return UINT64_MAX;
	lead_slowest(l, &step);
	assert(step < UINT64_MAX - l->max_lead_steps); /* run_position.h: steps have a limit */
	return step + l->max_lead_steps;
}

static bool
is_configured(const struct lead *l, const char *name)
{
	for (size_t i = 0; i < l->runs_n; i++)
		if (strcmp(l->run[i].name, name) == 0)
			return true;
	return false;
}

/* Adds a run and its position to a list with room for it. */
static enum fail_code
add_run(struct ledger_run *list, size_t *n, const char *name, int64_t step, struct failure *f)
{
	list[*n] = (struct ledger_run){strdup(name), step};
	if (list[*n].name == NULL)
		return fail_memory(f);
	++*n;
	return FAIL_NONE;
}

enum fail_code
lead_attach(struct lead *l, const struct ledger *last, struct failure *f)
{
	forget_others(l);
	l->other = calloc(last->runs_n + 1, sizeof(*l->other));
	if (l->other == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < last->runs_n; i++)
		if (last->run[i].name != NULL && !is_configured(l, last->run[i].name) &&
		    add_run(l->other, &l->others_n, last->run[i].name, last->run[i].step, f) !=
			FAIL_NONE)
			return f->code;
	for (size_t i = 0; i < l->runs_n; i++) {
		struct run *r = &l->run[i];
		uint64_t step = ledger_run_step(last, r->name);

		r->at.known = step > r->at.step ? step : r->at.step;
		if (step > 0 && !r->at.any)
			return fail(f, FAIL_CONFIG,
			    "run %s was at step %" PRIu64
			    " by the ledger, and the broker knows no commit of group %s any more: "
			    "they were deleted, or have expired (offsets.retention.minutes). "
			    "`riffle runs --reset %s --to %" PRIu64
			    "` sets them again, or take the run out of mix.runs",
			    r->name, step, run_position_group(r->commits), r->name, step);
	}
	return FAIL_NONE;
}

/* ---- a reset ---- */

/* Whether the broker's commits are at step `to` on every lane: set there for this reset. */
static enum fail_code
check_commits(const char *group, const struct run_position *at, uint64_t to, struct failure *f)
{
	if (run_position_is_at(at, to))
		return FAIL_NONE;
	if (!at->any)
		return fail(f, FAIL_DATA, "the broker knows no commit of group %s", group);
	return fail(f, FAIL_DATA,
	    "the commits of group %s are at steps %" PRIu64 " to %" PRIu64 ", not at step %" PRIu64
	    ": are its trainers running? Stop them first",
	    group, at->step, at->step_ahead, to);
}

static enum fail_code
reset_configured(struct lead *l, struct run *r, uint64_t to, uint64_t *from, struct failure *f)
{
	struct run_position at;
	enum fail_code code = run_position_ask(r->commits, l->lanes, LEAD_TIMEOUT_MS, &at, f);

	if (code != FAIL_NONE)
		return code;
	take_position(l, r, &at);
	if (check_commits(run_position_group(r->commits), &at, to, f) != FAIL_NONE)
		return f->code;
	*from = r->at.known;
	r->at.known = to;
	return FAIL_NONE;
}

/* A run that only the ledger knows: nobody asks for its commits but here. */
static enum fail_code
reset_other(struct lead *l, struct ledger_run *r, uint64_t to, uint64_t *from, struct failure *f)
{
	struct run_position_query *commits;
	struct run_position at;
	enum fail_code code;

	if (run_position_open(&commits, l->mix, r->name, l->shared, "mix-lead", l->kafka, f) !=
	    FAIL_NONE)
		return f->code;
	code = run_position_ask(commits, l->lanes, LEAD_TIMEOUT_MS, &at, f);
	if (code == FAIL_NONE)
		code = check_commits(run_position_group(commits), &at, to, f);
	run_position_close(commits);
	if (code != FAIL_NONE)
		return code;
	*from = (uint64_t)r->step;
	r->step = (int64_t)to;
	return FAIL_NONE;
}

enum fail_code
lead_reset(struct lead *l, const char *run, uint64_t to, uint64_t *from, struct failure *f)
{
	for (size_t i = 0; i < l->runs_n; i++)
		if (strcmp(l->run[i].name, run) == 0)
			return reset_configured(l, &l->run[i], to, from, f);
	for (size_t i = 0; i < l->others_n; i++)
		if (strcmp(l->other[i].name, run) == 0)
			return reset_other(l, &l->other[i], to, from, f);
	return fail(f, FAIL_DATA, "mix %s knows no run %s", l->mix, run);
}

enum fail_code
lead_save(const struct lead *l, struct ledger *to, struct failure *f)
{
	assert(to->run == NULL);
	if (l->runs_n + l->others_n > LEDGER_RUNS_MAX)
		return fail(f, FAIL_DATA, "the ledger keeps at most %d runs, and there are %zu",
		    LEDGER_RUNS_MAX, l->runs_n + l->others_n);
	to->run = calloc(l->runs_n + l->others_n + 1, sizeof(*to->run));
	if (to->run == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < l->runs_n; i++)
		if (add_run(to->run, &to->runs_n, l->run[i].name, (int64_t)l->run[i].at.known, f) !=
		    FAIL_NONE)
			return f->code;
	for (size_t i = 0; i < l->others_n; i++)
		if (add_run(to->run, &to->runs_n, l->other[i].name, l->other[i].step, f) !=
		    FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}
