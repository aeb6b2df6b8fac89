/* Part of status_query: the training runs of a mix, and the position of each. */
#include "consumer/status/status_query_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka_groups.h"
#include "consumer/ledger/run_position.h"

/* A run and its handle, which stays open from read to read. */
struct status_queried_run {
	char name[NAME_MAX_BYTES + 1];
	struct run_position_query *commits;
};

void
status_runs_close(struct status_query *q)
{
	for (size_t i = 0; q->run != NULL && i < q->runs_n; i++)
		run_position_close(q->run[i].commits);
	free(q->run);
	q->run = NULL;
	q->runs_n = 0;
}

/* What the ledger says of a run: its step, and when it last went on. */
static void
take_ledger(const struct status *st, struct status_run *r)
{
	const struct ledger *l = &st->ledger;

	r->known = ledger_run_step(l, r->name);
	r->seen_ms = -1;
	for (size_t k = 0; st->seen != NULL && k < l->runs_n; k++)
		if (strcmp(l->run[k].name, r->name) == 0 && st->seen[k].time_ms >= 0)
			r->seen_ms =
			    st->now_ms > st->seen[k].time_ms ? st->now_ms - st->seen[k].time_ms : 0;
}

/* Runs of the configuration, then those that only the ledger knows. */
static enum fail_code
list_runs(struct status *st, struct failure *f)
{
	const struct config_list *configured = &st->config->mix.runs;
	const struct ledger *l = &st->ledger;

	assert(st->run == NULL);
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
	for (size_t i = 0; i < st->runs_n; i++)
		take_ledger(st, &st->run[i]);
	return FAIL_NONE;
}

/*
 * Adds runs that only a group of commits tells of: a trainer was given a name that nobody else
 * knows. Not every user may list groups, and a run that is not listed is missed, no more.
 */
static enum fail_code
list_groups(struct status_query *q, struct status *st, struct failure *f)
{
	char prefix[NAME_MAX_BYTES + 2];
	size_t n, at = (size_t)snprintf(prefix, sizeof(prefix), "%s.", q->config->mix.name);
	struct status_run *grown;
	char **name;

	if (kafka_groups(q->reader, prefix, &name, &n, STATUS_QUERY_MS, f) != FAIL_NONE)
		return f->code == FAIL_MEMORY ? f->code : FAIL_NONE;
	grown = realloc(st->run, (st->runs_n + n + 1) * sizeof(*grown));
	for (size_t k = 0; grown != NULL && k < n; k++) {
		size_t i = 0;

		while (i < st->runs_n && strcmp(grown[i].name, name[k] + at) != 0)
			i++;
		if (i < st->runs_n || !names_run_valid(name[k] + at))
			continue;
		grown[st->runs_n] = (struct status_run){.seen_ms = -1};
		snprintf(grown[st->runs_n++].name, sizeof(grown[0].name), "%s", name[k] + at);
	}
	kafka_groups_free(name, n);
	if (grown == NULL)
		return fail_memory(f);
	st->run = grown;
	return FAIL_NONE;
}

/* Takes the handle of that run from those of the last read; NULL: none is open. */
static struct run_position_query *
take_open(struct status_query *q, const char *name)
{
	for (size_t i = 0; i < q->runs_n; i++)
		if (q->run[i].commits != NULL && strcmp(q->run[i].name, name) == 0) {
			struct run_position_query *taken = q->run[i].commits;

			q->run[i].commits = NULL;
			return taken;
		}
	return NULL;
}

enum fail_code
status_runs_open(struct status_query *q, struct status *st, bool groups, struct failure *f)
{
	const struct config *c = q->config;
	struct status_queried_run *run;
	enum fail_code code = list_runs(st, f);

	if (code == FAIL_NONE && groups)
		code = list_groups(q, st, f);
	if (code != FAIL_NONE)
		return code;
	run = calloc(st->runs_n + 1, sizeof(*run));
	if (run == NULL)
		return fail_memory(f);
	for (size_t i = 0; code == FAIL_NONE && i < st->runs_n; i++) {
		snprintf(run[i].name, sizeof(run[i].name), "%s", st->run[i].name);
		run[i].commits = take_open(q, run[i].name);
		if (run[i].commits == NULL)
			code = run_position_open(&run[i].commits, c->mix.name, run[i].name,
			    c->mix.partitions < c->mix.lanes, "status", &c->kafka, f);
	}
	status_runs_close(q); /* what is left are runs that nobody names any more */
	q->run = run;
	q->runs_n = st->runs_n;
	return code;
}

/* Commits that cannot be read as steps are a problem of that run, and no failure. */
static enum fail_code
ask_run(struct run_position_query *commits, struct status_run *r, size_t lanes, struct failure *f)
{
	struct run_position at;
	enum fail_code code = run_position_ask(commits, lanes, STATUS_QUERY_MS, &at, f);

	if (code == FAIL_NONE) {
		r->committed = at.any;
		r->committed_all = at.all;
		r->step = at.step;
		r->lane = at.lane;
		r->step_ahead = at.step_ahead;
		memcpy(r->apart, at.apart, sizeof(r->apart));
	} else if (code == FAIL_DATA) {
		snprintf(r->bad, sizeof(r->bad), "%.*s", (int)sizeof(r->bad) - 1, f->text);
		code = FAIL_NONE;
	}
	return code;
}

enum fail_code
status_runs_read(struct status_query *q, struct status *st, struct failure *f)
{
	const struct config_mix *mix = &st->config->mix;
	const struct topics_report *report;
	size_t lanes = mix->lanes;
	const char *topic;

	if (mix->name == NULL)
		return FAIL_NONE;
	report = status_query_topic(
	    st, mix->partitions < mix->lanes ? TOPIC_LANES : TOPIC_BATCHES, -1, &topic);
	assert(q->runs_n == st->runs_n); /* status_runs_open() was called for this status */
	/* Partitions that an administrator added are no lanes. */
	if (report != NULL && (size_t)report->partitions < lanes)
		lanes = (size_t)report->partitions;
	for (size_t i = 0; report != NULL && i < st->runs_n; i++)
		if (ask_run(q->run[i].commits, &st->run[i], lanes, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}
