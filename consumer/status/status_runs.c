/* The training runs of a mix, and where each stands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/ledger/run_position.h"
#include "consumer/status/status_source.h"

struct status_asked_run {
	char name[NAME_MAX_BYTES + 1];
	struct run_position_query *commits;
};

static void
close_runs(struct status_asked_run *run, size_t n)
{
	for (size_t i = 0; run != NULL && i < n; i++)
		run_position_close(run[i].commits);
	free(run);
}

void
status_close_runs(struct status_source *s)
{
	close_runs(s->run, s->runs_n);
	s->run = NULL;
	s->runs_n = 0;
}

/* Runs of the configuration, then those that only the ledger knows. */
static enum fail_code
list_runs(struct status *st, struct failure *f)
{
	const struct config_list *configured = &st->config->mix.runs;
	const struct ledger *l = &st->ledger;

	st->run = calloc(configured->n + l->runs_n + 1, sizeof(*st->run));
	if (st->run == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < configured->n; i++) {
		struct status_run *r = &st->run[st->runs_n++];

		r->configured = true;
		snprintf(r->name, sizeof(r->name), "%s", configured->text[i]);
	}
	for (size_t k = 0; k < l->runs_n; k++) {
		size_t i = 0;

		while (i < st->runs_n && strcmp(st->run[i].name, l->run[k].name) != 0)
			i++;
		if (i == st->runs_n && names_run_valid(l->run[k].name))
			snprintf(st->run[st->runs_n++].name, sizeof(st->run[i].name), "%s",
			    l->run[k].name);
	}
	return FAIL_NONE;
}

/* Takes what is open of that run from the last question; NULL: nothing is. */
static struct run_position_query *
take_open(struct status_source *s, const char *name)
{
	for (size_t i = 0; i < s->runs_n; i++)
		if (s->run[i].commits != NULL && strcmp(s->run[i].name, name) == 0) {
			struct run_position_query *taken = s->run[i].commits;

			s->run[i].commits = NULL;
			return taken;
		}
	return NULL;
}

enum fail_code
status_open_runs(struct status_source *s, struct status *st, struct failure *f)
{
	const struct config *c = s->config;
	struct status_asked_run *run;
	enum fail_code code = list_runs(st, f);

	if (code != FAIL_NONE)
		return code;
	run = calloc(st->runs_n + 1, sizeof(*run));
	if (run == NULL)
		return fail_memory(f);
	for (size_t i = 0; code == FAIL_NONE && i < st->runs_n; i++) {
		snprintf(run[i].name, sizeof(run[i].name), "%s", st->run[i].name);
		run[i].commits = take_open(s, run[i].name);
		if (run[i].commits == NULL)
			code = run_position_open(
			    &run[i].commits, c->mix.name, run[i].name, "status", &c->kafka, f);
	}
	status_close_runs(s); /* those that nobody names any more */
	s->run = run;
	s->runs_n = st->runs_n;
	return code;
}

static enum fail_code
ask_run(struct run_position_query *commits, struct status_run *r, size_t lanes, struct failure *f)
{
	struct run_position at;
	enum fail_code code = run_position_ask(commits, lanes, STATUS_ASK_MS, &at, f);

	if (code == FAIL_NONE) {
		r->committed = at.any;
		r->step = at.step;
		r->lane = at.lane;
		r->step_ahead = at.step_ahead;
	} else if (code == FAIL_DATA) {
		snprintf(r->bad, sizeof(r->bad), "%.*s", (int)sizeof(r->bad) - 1, f->text);
		code = FAIL_NONE;
	}
	return code;
}

enum fail_code
status_ask_runs(struct status_source *s, struct status *st, struct failure *f)
{
	const struct topics_report *batches;
	const char *topic;

	if (st->config->mix.name == NULL)
		return FAIL_NONE;
	batches = status_topic(st, TOPIC_BATCHES, -1, &topic);
	for (size_t i = 0; batches != NULL && i < st->runs_n; i++)
		if (ask_run(s->run[i].commits, &st->run[i], (size_t)batches->partitions, f) !=
		    FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}
