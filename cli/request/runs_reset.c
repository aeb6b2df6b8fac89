#include "cli/request/runs_reset.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "cli/request/request_print.h"
#include "cli/request/request_words.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/nearest.h"
#include "consumer/admin/request.h"
#include "consumer/admin/run_commit.h"

enum { WATCH_MS = 1500 }; /* commits that move meanwhile are those of a trainer that runs */

static const struct status_run *
find_run(const struct status *st, const char *name)
{
	for (size_t i = 0; i < st->runs_n; i++)
		if (strcmp(st->run[i].name, name) == 0)
			return &st->run[i];
	return NULL;
}

static enum fail_code
fail_unknown_run(const struct status *st, const char *name, struct failure *f)
{
	struct nearest near;

	nearest_init(&near, name);
	for (size_t i = 0; i < st->runs_n; i++)
		nearest_list(&near, st->run[i].name);
	fail(f, FAIL_USAGE, "mix %s has no run %s", st->config->mix.name, name);
	return nearest_fail_more(&near, "it has", f);
}

enum fail_code
runs_reset_check(const struct runs_reset *r, const struct status *st, struct failure *f)
{
	const struct status_run *run = find_run(st, r->run);
	const char *mix = st->config->mix.name;

	if (st->state == STATUS_NOT_STARTED)
		return fail(f, FAIL_DATA, "mix %s has not started: no run has a position yet", mix);
	if (st->state == STATUS_ENDED)
		return fail(f, FAIL_DATA,
		    "mix %s has ended, and its ledger with it: start the trainers at a step of "
		    "their own (riffle read --from-step %" PRIu64 ")",
		    mix, r->to_step);
	if (run == NULL)
		return fail_unknown_run(st, r->run, f);
	if (!run->configured && run->known == 0)
		return fail(f, FAIL_DATA,
		    "mix %s has no run %s: neither mix.runs nor the ledger names it; --forget "
		    "deletes its commits",
		    mix, r->run);
	if (r->to_step > (uint64_t)st->ledger.step_next)
		return fail(f, FAIL_DATA,
		    "step %" PRIu64 " is not published: mix %s is at step %" PRId64, r->to_step,
		    mix, st->ledger.step_next);
	if (run->seen_ms >= 0 && run->seen_ms < r->idle_ms)
		return fail(f, FAIL_DATA,
		    "run %s is active: the ledger saw it advance %" PRId64
		    " s ago, to step %" PRIu64
		    ". Stop its trainers, and repeat the command when it has been silent for "
		    "%" PRId64 " s (--idle)",
		    r->run, run->seen_ms / 1000, run->known, r->idle_ms / 1000);
	return FAIL_NONE;
}

enum fail_code
runs_reset_check_silent(const struct runs_reset *r, const struct status_run *before,
    const struct status_run *now, struct failure *f)
{
	if (now->step == before->step && now->step_ahead == before->step_ahead)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "run %s is active: it has just committed step %" PRIu64 ". Stop its trainers", r->run,
	    now->step_ahead);
}

/* FAIL_DATA: the run's commits move. */
static enum fail_code
watch(struct status_query *q, const struct runs_reset *r, const struct status_run *before,
    struct failure *f)
{
	enum fail_code code;
	struct status *st;

	clock_pause_ms(WATCH_MS);
	if (status_query_runs(q, &st, f) != FAIL_NONE)
		return f->code;
	code = runs_reset_check(r, st, f);
	if (code == FAIL_NONE)
		code = runs_reset_check_silent(r, before, find_run(st, r->run), f);
	status_free(st);
	return code;
}

/* Steps 1 and 2 of the header. */
static enum fail_code
set_commits(struct status_query *q, const struct runs_reset *r, struct failure *f)
{
	const char *mix = r->config->mix.name;
	struct run_commit *commit = NULL;
	struct status *st;
	enum fail_code code;

	if (status_query_runs(q, &st, f) != FAIL_NONE)
		return f->code;
	code = runs_reset_check(r, st, f);
	if (code == FAIL_NONE)
		code = run_commit_find(
		    &commit, mix, r->run, r->to_step, &st->ledger, &r->config->kafka, f);
	if (code == FAIL_NONE)
		code = watch(q, r, find_run(st, r->run), f);
	if (code == FAIL_NONE)
		code = run_commit_set(commit, f);
	if (code == FAIL_NONE)
		log_info("runs: group=%s.%s commits=%" PRIu64 " lanes=%" PRIu32, mix, r->run,
		    r->to_step, run_commit_lanes(commit));
	run_commit_close(commit);
	status_free(st);
	return code;
}

/* Step 3. */
static enum fail_code
ask(struct request *request, const struct runs_reset *r, struct failure *f)
{
	struct request_print_how how = {.config = r->config,
	    .json = r->json,
	    .named = r->id != NULL,
	    .timeout_ms = r->timeout_ms};
	struct control c = {
	    .kind = LEDGER_RESET, .at_step = -1, .partition = -1, .to_step = (int64_t)r->to_step};
	enum fail_code code = request_words_name(&c, r->id, "reset", f);

	c.run = strdup(r->run);
	if (code == FAIL_NONE && c.run == NULL)
		code = fail_memory(f);
	if (code == FAIL_NONE)
		code = request_print(request, &c, 1, &how, f);
	control_clear(&c);
	return code;
}

enum fail_code
runs_forget(struct status_query *q, const struct config *c, const char *name, struct failure *f)
{
	const struct status_run *run;
	enum fail_code code;
	struct status *st;

	if (!names_run_valid(name))
		return fail(f, FAIL_USAGE, "--forget: \"%s\" is not a name of a run", name);
	if (status_query_runs(q, &st, f) != FAIL_NONE)
		return f->code;
	run = find_run(st, name);
	if (run == NULL)
		code = fail_unknown_run(st, name, f);
	else if (run->configured || run->known > 0)
		code = fail(f, FAIL_DATA,
		    "%s names run %s, which would be taken for one that has lost its commits: "
		    "nothing was deleted; --reset %s --to STEP moves it",
		    run->configured ? "mix.runs" : "the ledger", name, name);
	else
		code = run_commit_forget(c->mix.name, name, &c->kafka, f);
	status_free(st);
	if (code == FAIL_NONE)
		log_info("runs: group=%s.%s is deleted, with its commits", c->mix.name, name);
	return code;
}

enum fail_code
runs_reset(struct status_query *q, const struct runs_reset *r, struct failure *f)
{
	struct request_options o = {
	    .mix = r->config->mix.name, .properties = &r->config->kafka, .stop = signals_stop()};
	struct ledger_answer earlier = {0};
	struct request *request = NULL;
	bool answered = false;
	enum fail_code code;

	assert(r->config->mix.name != NULL);
	if (!names_run_valid(r->run))
		return fail(f, FAIL_USAGE, "--reset: \"%s\" is not a name of a run", r->run);
	code = request_open(&request, &o, f);
	if (code == FAIL_NONE && r->id != NULL)
		code = request_earlier(request, r->id, &earlier, &answered, f);
	ledger_answer_clear(&earlier);
	if (code == FAIL_NONE && !answered)
		code = set_commits(q, r, f);
	if (code == FAIL_NONE)
		code = ask(request, r, f);
	request_close(request);
	return code;
}
