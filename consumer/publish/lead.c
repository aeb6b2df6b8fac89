#include "consumer/publish/lead.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/ledger/run_position.h"

enum { LEAD_TIMEOUT_MS = 10000 };

struct run {
	const char *name;
	struct run_position_query *commits;
	bool any; /* the broker knows a commit */
	uint64_t step;
};

struct lead {
	uint32_t max_lead_steps;
	size_t lanes;
	struct run *run;
	size_t runs_n;
};

enum fail_code
lead_open(struct lead **out, const struct config *c, struct failure *f)
{
	struct lead *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return fail_memory(f);
	l->max_lead_steps = c->mix.max_lead_steps;
	l->lanes = c->mix.lanes;
	l->runs_n = c->mix.runs.n;
	l->run = calloc(l->runs_n + 1, sizeof(*l->run));
	if (l->run == NULL) {
		lead_close(l);
		return fail_memory(f);
	}
	for (size_t i = 0; i < l->runs_n; i++) {
		struct run *r = &l->run[i];

		r->name = c->mix.runs.text[i];
		if (run_position_open(
			&r->commits, c->mix.name, r->name, "mix-lead", &c->kafka, f) != FAIL_NONE) {
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
	free(l);
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
	r->any = at.any;
	r->step = at.step;
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

const char *
lead_slowest(const struct lead *l, uint64_t *step)
{
	const struct run *slowest = &l->run[0];

	for (size_t i = 1; i < l->runs_n; i++)
		if (l->run[i].step < slowest->step) /* of equals the first in mix.runs */
			slowest = &l->run[i];
	*step = l->runs_n == 0 ? 0 : slowest->step;
	return l->runs_n == 0 ? "" : slowest->name;
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

enum fail_code
lead_check(const struct lead *l, const struct ledger *last, struct failure *f)
{
	for (size_t i = 0; i < l->runs_n; i++) {
		const struct run *r = &l->run[i];
		uint64_t step = ledger_run_step(last, r->name);

		if (step > 0 && !r->any)
			return fail(f, FAIL_CONFIG,
			    "run %s stood at step %" PRIu64
			    " by the ledger, and the broker knows no commit of group %s any more: "
			    "its offsets have expired (the broker's offsets.retention.minutes). "
			    "Let a trainer commit again (riffle read --from-step %" PRIu64
			    " --commit-every 1), or take the run out of mix.runs",
			    r->name, step, run_position_group(r->commits), step);
	}
	return FAIL_NONE;
}

enum fail_code
lead_save(const struct lead *l, struct ledger *to, struct failure *f)
{
	assert(to->run == NULL);
	to->run = calloc(l->runs_n + 1, sizeof(*to->run));
	if (to->run == NULL)
		return fail_memory(f);
	for (; to->runs_n < l->runs_n; to->runs_n++) {
		struct ledger_run *r = &to->run[to->runs_n];

		r->name = strdup(l->run[to->runs_n].name);
		r->step = (int64_t)l->run[to->runs_n].step;
		if (r->name == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}
