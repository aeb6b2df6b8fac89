/* Part of status_query: the losses that trainers have reported lately. */
#include "consumer/status/status_query_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "consumer/feedback/feedback_feed.h"

/* Reports of the topic's tail: each goes to every run's book of losses, which takes its own. */
struct tail {
	struct status *st;
	struct losses **of; /* [runs_n], as st->run */
	size_t runs_n;
};

static enum fail_code
open_books(struct tail *t, struct failure *f)
{
	struct status *st = t->st;
	const char **name = calloc(st->domains_n, sizeof(*name));
	struct losses_options o = {
	    .mix = st->config->mix.name, .domain = name, .domains_n = st->domains_n};
	enum fail_code code = name == NULL ? fail_memory(f) : FAIL_NONE;

	for (size_t i = 0; code == FAIL_NONE && i < st->domains_n; i++)
		name[i] = st->domain[i].name;
	for (size_t i = 0; code == FAIL_NONE && i < t->runs_n; i++) {
		o.run = st->run[i].name;
		code = losses_open(&t->of[i], &o, f);
		if (code == FAIL_NONE)
			losses_set_limit(t->of[i], st->ledger.step_next);
	}
	free(name);
	return code;
}

/*
 * Adds a complete step to the means of a run. The mean m of n tokens with another one x of k tokens
 * is m + (x - m) * k / (n + k), which needs no sum of losses.
 */
static void
add_step(struct status_feedback *b, const struct losses_step *s, size_t domains_n)
{
	b->step_first = b->steps == 0 ? s->step : b->step_first;
	b->step_last = s->step;
	b->world = s->world;
	b->steps++;
	for (size_t i = 0; i < domains_n; i++) {
		/* A sum of large sums may be infinite, a mean of means is not. */
		double tokens = (double)s->sum[i].tokens, all;

		if (s->sum[i].tokens == 0)
			continue;
		all = (double)b->domain[i].tokens + tokens;
		b->domain[i].loss +=
		    (losses_mean(s->sum[i].loss_sum, s->sum[i].tokens) - b->domain[i].loss) *
		    (tokens / all);
		b->domain[i].excess +=
		    (losses_mean(s->sum[i].excess_sum, s->sum[i].tokens) - b->domain[i].excess) *
		    (tokens / all);
		b->domain[i].tokens += s->sum[i].tokens;
	}
}

static void
take_steps(struct tail *t, size_t run, bool last)
{
	struct losses_step step;

	assert(run < t->runs_n);
	while (losses_next(t->of[run], last, &step))
		add_step(&t->st->feedback[run], &step, t->st->domains_n);
}

/* A report may complete a step of the run that it is of; the others drop it. */
static enum fail_code
take(struct tail *t, const struct feedback_feed_record *r, struct failure *f)
{
	for (size_t i = 0; i < t->runs_n; i++) {
		if (losses_add(t->of[i], r->feedback, r->offset, f) != FAIL_NONE)
			return f->code;
		take_steps(t, i, false);
	}
	return FAIL_NONE;
}

/* The last STATUS_REPORTS reports; steps that are complete behind an open one count at the end. */
static enum fail_code
read_tail(struct tail *t, struct feedback_feed *feed, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + STATUS_QUERY_MS, low, high, from;

	if (feedback_feed_ends(feed, &low, &high, f) != FAIL_NONE)
		return f->code;
	from = high - STATUS_REPORTS > low ? high - STATUS_REPORTS : low;
	if (from == high)
		return FAIL_NONE;
	if (feedback_feed_seek(feed, from, f) != FAIL_NONE)
		return f->code;
	while (feedback_feed_position(feed) < high && clock_ms() < deadline_ms) {
		struct feedback_feed_record r;
		bool any;

		if (feedback_feed_next(feed, STATUS_QUERY_SLICE_MS, &r, &any, f) != FAIL_NONE ||
		    (any && take(t, &r, f) != FAIL_NONE))
			return f->code;
	}
	for (size_t i = 0; i < t->runs_n; i++) {
		take_steps(t, i, true);
		t->st->feedback[i].counts = *losses_counted(t->of[i]);
	}
	return FAIL_NONE;
}

static enum fail_code
make_room(struct status *st, size_t runs_n, struct failure *f)
{
	assert(st->feedback == NULL);
	assert(runs_n <= st->runs_n);
	st->feedback = calloc(runs_n, sizeof(*st->feedback));
	if (st->feedback == NULL)
		return fail_memory(f);
	for (; st->feedback_n < runs_n; st->feedback_n++) {
		st->feedback[st->feedback_n].domain =
		    calloc(st->domains_n, sizeof(*st->feedback[0].domain));
		if (st->feedback[st->feedback_n].domain == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

enum fail_code
status_losses_read(struct status_query *q, struct status *st, struct failure *f)
{
	size_t runs_n = st->runs_n < STATUS_FEEDBACK_RUNS ? st->runs_n : STATUS_FEEDBACK_RUNS;
	struct tail t = {.st = st, .runs_n = runs_n};
	struct feedback_feed *feed = NULL;
	enum fail_code code;
	const char *topic;

	if (runs_n == 0 || st->domains_n == 0 ||
	    (st->state != STATUS_STARTED && st->state != STATUS_ENDED) ||
	    status_query_topic(st, TOPIC_FEEDBACK, -1, &topic) == NULL)
		return FAIL_NONE;
	t.of = calloc(runs_n, sizeof(struct losses *));
	code = t.of == NULL ? fail_memory(f) : make_room(st, runs_n, f);
	if (code == FAIL_NONE)
		code = open_books(&t, f);
	if (code == FAIL_NONE)
		code = feedback_feed_open(&feed, st->config->mix.name, &q->config->kafka, f);
	if (code == FAIL_NONE)
		code = read_tail(&t, feed, f);
	/* Deleted meanwhile: there is nothing to show. */
	if (code == FAIL_DATA)
		code = FAIL_NONE;
	feedback_feed_close(feed);
	for (size_t i = 0; t.of != NULL && i < runs_n; i++)
		losses_close(t.of[i]);
	free(t.of);
	return code;
}
