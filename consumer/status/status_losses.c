/* Part of status_query: the losses that trainers have reported lately. */
#include "consumer/status/status_query_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "consumer/feedback/feedback_feed.h"

/* Begins the book of a run, at its first report or before. */
static enum fail_code
open_book(struct status_tail *t, const char *run, struct failure *f)
{
	struct status *st = t->st;
	const struct config_list *configured = &st->config->mix.runs;
	struct status_feedback *b = &st->feedback[st->feedback_n];
	struct losses_options o = {.mix = st->config->mix.name,
	    .run = run,
	    .domain = t->domain,
	    .domains_n = st->domains_n};

	assert(st->feedback_n < STATUS_FEEDBACK_RUNS);
	snprintf(b->run, sizeof(b->run), "%s", run);
	for (size_t i = 0; i < configured->n; i++)
		b->configured = b->configured || strcmp(configured->text[i], run) == 0;
	b->domain = calloc(st->domains_n, sizeof(*b->domain));
	if (b->domain == NULL)
		return fail_memory(f);
	if (losses_open(&t->of[st->feedback_n], &o, f) != FAIL_NONE) {
		free(b->domain);
		return f->code;
	}
	losses_set_limit(t->of[st->feedback_n++], st->ledger.step_next);
	return FAIL_NONE;
}

/* A run of which nothing else is known, no commit and no key: it only reports, as a model does. */
static bool
is_new_run(const struct status_tail *t, const struct feedback *b)
{
	const struct status *st = t->st;

	if (b == NULL || st->feedback_n == STATUS_FEEDBACK_RUNS || !names_run_valid(b->run) ||
	    strcmp(b->mix, st->config->mix.name) != 0)
		return false;
	for (size_t i = 0; i < st->feedback_n; i++)
		if (strcmp(st->feedback[i].run, b->run) == 0)
			return false;
	return true;
}

/* Adds a complete step to the means of a run. */
static void
add_step(struct status_feedback *b, const struct losses_step *s, size_t domains_n)
{
	b->step_first = b->steps == 0 ? s->step : b->step_first;
	b->step_last = s->step;
	b->world = s->world;
	b->steps++;
	for (size_t i = 0; i < domains_n; i++) {
		losses_add_mean(&b->domain[i], &s->sum[i]);
		losses_add_mean(&b->all, &s->sum[i]);
	}
}

static void
take_steps(struct status_tail *t, size_t run, bool last)
{
	struct losses_step step;

	assert(run < t->st->feedback_n);
	while (losses_next(t->of[run], last, &step))
		add_step(&t->st->feedback[run], &step, t->st->domains_n);
}

/* A report may complete a step of the run that it is of; the others drop it. */
static enum fail_code
take(struct status_tail *t, const struct feedback_feed_record *r, struct failure *f)
{
	if (is_new_run(t, r->feedback) && open_book(t, r->feedback->run, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < t->st->feedback_n; i++) {
		if (losses_add(t->of[i], r->feedback, r->offset, f) != FAIL_NONE)
			return f->code;
		take_steps(t, i, false);
	}
	return FAIL_NONE;
}

enum fail_code
status_tail_read(
    struct status_tail *t, struct feedback_feed *feed, int64_t from, int64_t end, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + STATUS_QUERY_MS;

	if (from < end && feedback_feed_seek(feed, from, f) != FAIL_NONE)
		return f->code;
	while (from < end && feedback_feed_position(feed) < end && clock_ms() < deadline_ms) {
		struct feedback_feed_record r;
		bool any;

		if (feedback_feed_next(feed, STATUS_QUERY_SLICE_MS, &r, &any, f) != FAIL_NONE ||
		    (any && r.offset < end && take(t, &r, f) != FAIL_NONE))
			return f->code;
	}
	t->st->late[STATUS_PART_LOSSES] = from < end && feedback_feed_position(feed) < end;
	for (size_t i = 0; i < t->st->feedback_n; i++) {
		take_steps(t, i, true);
		t->st->feedback[i].counts = *losses_counted(t->of[i]);
		snprintf(t->st->feedback[i].unknown, sizeof(t->st->feedback[i].unknown), "%s",
		    losses_unknown(t->of[i]));
	}
	return FAIL_NONE;
}

/* The last STATUS_REPORTS reports. */
static enum fail_code
read_last(struct status_tail *t, struct feedback_feed *feed, struct failure *f)
{
	int64_t low, high;

	if (feedback_feed_ends(feed, &low, &high, f) != FAIL_NONE)
		return f->code;
	return status_tail_read(
	    t, feed, high - STATUS_REPORTS > low ? high - STATUS_REPORTS : low, high, f);
}

enum fail_code
status_tail_open(struct status_tail *t, struct failure *f)
{
	struct status *st = t->st;

	assert(st->feedback == NULL);
	st->feedback = calloc(STATUS_FEEDBACK_RUNS, sizeof(*st->feedback));
	t->domain = calloc(st->domains_n, sizeof(*t->domain));
	if (st->feedback == NULL || t->domain == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < st->domains_n; i++)
		t->domain[i] = st->domain[i].name;
	for (size_t i = 0; i < st->runs_n && i < STATUS_FEEDBACK_RUNS; i++)
		if (open_book(t, st->run[i].name, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

void
status_tail_close(struct status_tail *t)
{
	for (size_t i = 0; i < t->st->feedback_n; i++)
		losses_close(t->of[i]);
	free(t->domain);
}

/* ---- what is kept ---- */

static void
free_feedback(struct status_feedback *b, size_t n)
{
	for (size_t i = 0; b != NULL && i < n; i++)
		free(b[i].domain);
	free(b);
}

/* Gives a copy of a list of STATUS_FEEDBACK_RUNS; NULL: no memory. */
static struct status_feedback *
copy_feedback(const struct status_feedback *from, size_t n, size_t domains_n)
{
	struct status_feedback *to = calloc(STATUS_FEEDBACK_RUNS, sizeof(*to));

	for (size_t i = 0; to != NULL && i < n; i++) {
		to[i] = from[i];
		to[i].domain = malloc((domains_n + 1) * sizeof(*to[i].domain));
		if (to[i].domain == NULL) {
			free_feedback(to, i);
			return NULL;
		}
		memcpy(to[i].domain, from[i].domain, domains_n * sizeof(*to[i].domain));
	}
	return to;
}

static enum fail_code
keep(struct status_query *q, const struct status *st, struct failure *f)
{
	free_feedback(q->feedback, q->feedback_n);
	q->losses_ms = 0;
	q->feedback_n = st->feedback_n;
	q->feedback_domains = st->domains_n;
	q->feedback = copy_feedback(st->feedback, st->feedback_n, st->domains_n);
	if (q->feedback == NULL)
		return fail_memory(f);
	q->losses_ms = st->late[STATUS_PART_LOSSES] ? 0 : q->now_ms;
	return FAIL_NONE;
}

void
status_losses_close(struct status_query *q)
{
	free_feedback(q->feedback, q->feedback_n);
	q->feedback = NULL;
	feedback_feed_close(q->feed);
	q->feed = NULL;
}

/* ---- all of it ---- */

/* The feed stays open from read to read, but where it failed: its topic was deleted perhaps. */
static enum fail_code
read_losses(struct status_query *q, struct status_tail *t, struct failure *f)
{
	enum fail_code code = status_tail_open(t, f);

	if (code == FAIL_NONE && q->feed == NULL)
		code =
		    feedback_feed_open(&q->feed, t->st->config->mix.name, &q->config->kafka, 0, f);
	if (code == FAIL_NONE)
		code = read_last(t, q->feed, f);
	if (code == FAIL_NONE)
		feedback_feed_rest(q->feed);
	if (code != FAIL_NONE) {
		feedback_feed_close(q->feed);
		q->feed = NULL;
	}
	/* Deleted meanwhile: there is nothing to show. */
	return code == FAIL_DATA ? FAIL_NONE : code;
}

enum fail_code
status_losses_read(struct status_query *q, struct status *st, struct failure *f)
{
	struct status_tail t = {.st = st};
	enum fail_code code;
	const char *topic;

	if (st->domains_n == 0 || (st->state != STATUS_STARTED && st->state != STATUS_ENDED) ||
	    status_query_topic(st, TOPIC_FEEDBACK, -1, &topic) == NULL)
		return FAIL_NONE;
	if (!status_query_due(q, q->losses_ms, q->pace.losses_ms) &&
	    q->feedback_domains == st->domains_n) {
		st->feedback = copy_feedback(q->feedback, q->feedback_n, st->domains_n);
		st->feedback_n = st->feedback == NULL ? 0 : q->feedback_n;
		return st->feedback == NULL ? fail_memory(f) : FAIL_NONE;
	}
	code = read_losses(q, &t, f);
	status_tail_close(&t);
	return code == FAIL_NONE ? keep(q, st, f) : code;
}
