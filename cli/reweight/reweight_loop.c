#include "cli/reweight/reweight_loop.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reweight/reweight_state.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/nearest.h"
#include "common/terminal/progress.h"
#include "consumer/admin/request.h"
#include "consumer/feedback/feedback_feed.h"

enum { SLICE_MS = 200, LOOK_MS = 2000, ID_BYTES = 64, OTHER_RUNS_MAX = 8 };

struct loop {
	struct reweight_job *job;
	struct ledger_log *ledger;
	const struct stop *stop;
	struct feedback_feed *feed;
	struct losses *losses;
	int64_t end;   /* of the topic when the loop began */
	int64_t limit; /* the mix has published the steps below */
	bool mix_ended;
	int64_t saved_ms, asked_ms, looked_ms, heard_ms;
	uint64_t asked_steps; /* learned when it was asked last */
	uint64_t refused_in_row;
	bool malformed_warned, domains_looked;
	char other_run[OTHER_RUNS_MAX][NAME_MAX_BYTES + 1]; /* the first that reported */
	size_t other_runs_n;
	struct progress progress;
};

/*
 * What happens to one report, and when requests are sent:
 *
 *     feedback_feed_next() --report--> take() --> losses_add()
 *                                        |
 *                                        v
 *                          learn(): each step that is complete --> reweight_step()
 *                                        |
 *                                        v
 *                          may_ask()? --> ask(): mix answers --> save()
 *
 *     tick(), after every report or SLICE_MS: looks at the ledger, asks, saves, by the clock
 *
 * may_ask() is tested after each single step, since one report can complete several, and --every
 * counts steps.
 */

/* ---- opening ---- */

/* The book of losses, from the step and with the counts that the state file had. */
static enum fail_code
open_losses(struct loop *l, struct failure *f)
{
	struct reweight_job *job = l->job;
	struct losses_options o = {.mix = job->a->mix,
	    .run = job->a->run,
	    .domain = (const char *const *)job->domain,
	    .domains_n = job->domains_n,
	    .step_first = job->step_next,
	    .again_end = job->offset_counted};

	if (losses_open(&l->losses, &o, f) != FAIL_NONE)
		return f->code;
	*losses_counted(l->losses) = job->counts;
	return FAIL_NONE;
}

/*
 * The feedback topic from offset_next on; `end` is its end now. The topic may have changed since
 * the state was saved: a topic that ends before offset_next is another one, and one that begins
 * behind it has lost reports, which is a warning.
 */
static enum fail_code
open_feed(struct loop *l, struct failure *f)
{
	struct reweight_job *job = l->job;
	int64_t low;

	if (feedback_feed_open(&l->feed, job->a->mix, &job->config->kafka, 0, f) != FAIL_NONE ||
	    feedback_feed_ends(l->feed, &low, &l->end, f) != FAIL_NONE)
		return f->code;
	if (job->offset_next > l->end)
		return fail(f, FAIL_DATA,
		    "topic %s ends at offset %" PRId64 ", and what was learned rests on reports up "
		    "to %" PRId64 ": the topic was recreated; start over with --anew",
		    feedback_feed_topic(l->feed), l->end, job->offset_next);
	if (job->offset_next < low) {
		if (job->offset_next > 0)
			log_warning("reweight: REWEIGHT-GAP topic=%s reports in %" PRId64
				    "..%" PRId64 " were deleted before they were read",
			    feedback_feed_topic(l->feed), job->offset_next, low);
		job->offset_next = low;
	}
	return feedback_feed_seek(l->feed, job->offset_next, f);
}

/* Where the mix is now, by its ledger. */
static enum fail_code
look(struct loop *l, struct failure *f)
{
	struct ledger last = {0};
	bool any = false;

	l->looked_ms = clock_ms();
	if (ledger_log_last(l->ledger, &last, &any, f) != FAIL_NONE)
		return f->code;
	if (any) {
		l->limit = last.step_next;
		l->mix_ended = last.kind == LEDGER_END;
		losses_set_limit(l->losses, l->limit);
	}
	ledger_clear(&last);
	return FAIL_NONE;
}

/* ---- one request ---- */

/* A domain that left or was dropped since has no weight that a request could change. */
static bool
is_drawn(const struct ledger *l, const char *name)
{
	const struct ledger_domain *d = ledger_domain_named(l, name);

	return d != NULL && (d->state == LEDGER_ACTIVE || d->state == LEDGER_JOINING);
}

/*
 * The weights are scaled to the sum that these domains have: the others keep their share.
 *
 * Example: the ledger has web 3, code 1, books 1, and books is not learned. Learned are web 0.6 and
 * code 0.4, which become 2.4 and 1.6: 4 together as before, so that books keeps its fifth.
 */
static enum fail_code
fill_weights(
    struct reweight_job *job, const struct ledger *last, struct control *c, struct failure *f)
{
	double *weight = calloc(job->domains_n, sizeof(*weight)), sum = 0, learned = 0;

	c->weight = calloc(job->domains_n, sizeof(*c->weight));
	if (weight == NULL || c->weight == NULL) {
		free(weight);
		return fail_memory(f);
	}
	reweight_weights(job->learner, weight);
	for (size_t i = 0; i < job->domains_n; i++) {
		if (!is_drawn(last, job->domain[i]))
			continue;
		assert(c->weights_n < job->domains_n);
		sum += ledger_domain_named(last, job->domain[i])->raw_weight;
		learned += weight[i];
		c->weight[c->weights_n++] =
		    (struct ledger_raw_weight){strdup(job->domain[i]), weight[i]};
		if (c->weight[c->weights_n - 1].domain == NULL)
			break;
	}
	free(weight);
	if (c->weights_n > 0 && c->weight[c->weights_n - 1].domain == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < c->weights_n && sum > 0 && learned > 0; i++)
		c->weight[i].weight *= sum / learned;
	return FAIL_NONE;
}

/* The id is that of the learning and the number of learned steps: see reweight_loop.h for why. */
static enum fail_code
fill_request(
    struct reweight_job *job, const struct ledger *last, struct control *c, struct failure *f)
{
	char id[ID_BYTES], who[REQUEST_WHO_BYTES];

	snprintf(id, sizeof(id), "reweight-%s-%" PRIu64, job->id, reweight_steps(job->learner));
	request_who(who);
	*c = (struct control){.kind = LEDGER_WEIGHTS,
	    .at_step = -1,
	    .partition = -1,
	    .id = strdup(id),
	    .who = strdup(who)};
	if (c->id == NULL || c->who == NULL)
		return fail_memory(f);
	return fill_weights(job, last, c, f);
}

/*
 * An earlier answer to the same id is taken instead of sending the request twice. Where no mixer
 * runs there is no answer to wait for: learning goes on, and the next mixer finds the request.
 */
static enum fail_code
send_and_wait(
    struct request *r, const struct control *c, struct ledger_answer *answer, struct failure *f)
{
	bool found = false;

	if (request_earlier(r, c->id, answer, &found, f) != FAIL_NONE)
		return f->code;
	if (found)
		return FAIL_NONE;
	if (request_send(r, c, 1, f) != FAIL_NONE)
		return f->code;
	if (request_without_mixer(r))
		return fail(f, FAIL_TIMEOUT, "request %s is open: no mixer runs", c->id);
	return request_wait(r, c, 1, answer, REWEIGHT_LOOP_ANSWER_MS, f);
}

/*
 * Asks for the learner's weights, or, with an id that was answered before, finds that answer.
 * Domains that are not learned keep theirs, and so their share. *refused: why is in `f`.
 * FAIL_TIMEOUT: no mixer answers; the request stays.
 */
static enum fail_code
ask_mix(struct reweight_job *job, const struct stop *stop, bool *refused, struct failure *f)
{
	struct request_options with = {
	    .mix = job->a->mix, .properties = &job->config->kafka, .stop = stop};
	struct ledger_answer answer = {0};
	struct control c = {0};
	struct request *r = NULL;
	enum fail_code code;

	*refused = false;
	code = request_open(&r, &with, f);
	if (code == FAIL_NONE)
		code = fill_request(job, request_ledger(r), &c, f);
	if (code == FAIL_NONE)
		code = send_and_wait(r, &c, &answer, f);
	if (code == FAIL_NONE) {
		job->asked++;
		*refused = !answer.accepted;
		if (answer.accepted)
			log_info("reweight: mix=%s learned_steps=%" PRIu64
				 " id=%s effective_step=%" PRId64,
			    job->a->mix, reweight_steps(job->learner), c.id, answer.step);
		else
			fail(f, FAIL_DATA, "request %s was refused: %s", c.id,
			    answer.text == NULL ? "" : answer.text);
	}
	ledger_answer_clear(&answer);
	control_clear(&c);
	request_close(r);
	return code;
}

/* ---- saving and asking ---- */

static enum fail_code
save(struct loop *l, struct failure *f)
{
	struct reweight_job *job = l->job;
	int64_t open = losses_open_offset(l->losses);

	/*
	 * A step is open while a rank has not reported it. Its reports are read again after a stop,
	 * from the first one on; offset_counted keeps them from being counted twice. Example, two
	 * ranks, steps 5 and 6, offsets 10 to 12 hold 5a 6a 5b: step 5 is learned, 6 is open since
	 * offset 11. Saved are offset_next 11 and offset_counted 13. The next run reads 6a and 5b
	 * again, and drops 5b as late.
	 */
	job->offset_next = open >= 0 && open < job->offset_counted ? open : job->offset_counted;
	job->step_next = losses_step_next(l->losses);
	job->counts = *losses_counted(l->losses);
	l->saved_ms = clock_ms();
	return reweight_state_save(job, f);
}

/*
 * DoReMi moves weights by the excess alone. Without any its result would be the weights that it
 * started with, in silence.
 */
static enum fail_code
check_excess(const struct loop *l, struct failure *f)
{
	if (l->job->a->method != REWEIGHT_DOREMI || l->job->learner->excess_seen ||
	    reweight_steps(l->job->learner) == 0)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "%" PRIu64 " steps of run %s were reported, and no excess above 0 in any: DoReMi "
	    "needs trainers that report their loss over a reference's; --method odm needs none",
	    reweight_steps(l->job->learner), l->job->a->run);
}

/*
 * One request, its answer, and the state that belongs to it. No answer in time is a warning: the
 * next request comes after --every steps. A signal while it waits is no failure either: the loop
 * ends, and saves.
 */
static enum fail_code
ask(struct loop *l, struct failure *f)
{
	bool refused = false;
	enum fail_code code;

	if (check_excess(l, f) != FAIL_NONE || look(l, f) != FAIL_NONE)
		return f->code;
	if (l->mix_ended)
		return FAIL_NONE;
	code = ask_mix(l->job, l->stop, &refused, f);
	l->asked_ms = clock_ms();
	l->asked_steps = reweight_steps(l->job->learner);
	if (code == FAIL_TIMEOUT || code == FAIL_STOPPED) {
		if (code == FAIL_TIMEOUT)
			log_warning("reweight: REWEIGHT-NO-ANSWER %s", f->text);
		return FAIL_NONE;
	}
	if (code != FAIL_NONE)
		return code;
	assert(l->refused_in_row < REWEIGHT_LOOP_REFUSALS_MAX);
	l->job->refused += refused;
	l->refused_in_row = refused ? l->refused_in_row + 1 : 0;
	if (l->refused_in_row == REWEIGHT_LOOP_REFUSALS_MAX)
		return fail_within(
		    f, "%d requests in a row; the last one", REWEIGHT_LOOP_REFUSALS_MAX);
	if (refused)
		log_warning("reweight: REWEIGHT-REFUSED %s", f->text);
	return save(l, f);
}

/*
 * Whether it is time: caught up with what was reported before the start, enough learned since the
 * last request, and not too soon after it.
 */
static bool
may_ask(const struct loop *l)
{
	const struct reweight_job_arguments *a = l->job->a;
	uint64_t learned = reweight_steps(l->job->learner);

	assert(l->asked_steps <= learned);
	return a->live && feedback_feed_position(l->feed) >= l->end && learned > 0 &&
	       learned - l->asked_steps >= a->every && !stop_asked(l->stop) && !l->mix_ended &&
	       clock_ms() - l->asked_ms >= (int64_t)a->interval_s * 1000;
}

/* ---- following ---- */

/* The means of a step over all learned domains. */
static void
note_all(struct reweight_job *job, const struct losses_step *s)
{
	job->last_step = s->step;
	job->last = (struct losses_means){0};
	for (size_t i = 0; i < job->domains_n; i++)
		losses_add_mean(&job->last, &s->sum[i]);
}

/*
 * Learns from the steps that are complete now, in their order. `last`: no report comes any more, so
 * that an open step holds none back (losses_next()).
 */
static enum fail_code
learn(struct loop *l, bool last, struct failure *f)
{
	uint64_t until = l->job->a->until_step;
	struct losses_step step;

	while (
	    (uint64_t)losses_step_next(l->losses) < until && losses_next(l->losses, last, &step)) {
		if ((uint64_t)step.step < until) {
			reweight_step(l->job->learner, &step);
			note_all(l->job, &step);
		}
		if (may_ask(l) && ask(l, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Warns if the mix has no domain of the name that one of these losses has. */
static enum fail_code
look_at_domains(struct loop *l, const struct feedback *b, struct failure *f)
{
	struct ledger last = {0};
	struct failure what = {0};
	bool any = false;

	l->domains_looked = true;
	if (ledger_log_last(l->ledger, &last, &any, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; any && what.code == FAIL_NONE && i < b->losses_n; i++) {
		if (ledger_domain_named(&last, b->loss[i].domain) != NULL)
			continue;
		fail(
		    &what, FAIL_DATA, "mix %s has no domain %s", l->job->a->mix, b->loss[i].domain);
		ledger_fail_domains(&last, b->loss[i].domain, &what);
	}
	if (what.code != FAIL_NONE)
		log_warning("reweight: REWEIGHT-DOMAIN rank %" PRIu32
			    " of run %s reports losses that "
			    "are dropped: %s",
		    b->rank, b->run, what.text);
	ledger_clear(&last);
	return FAIL_NONE;
}

/* Notes the name of another run, for fail_nothing(). */
static void
note_other_run(struct loop *l, const char *run)
{
	for (size_t i = 0; i < l->other_runs_n; i++)
		if (strcmp(l->other_run[i], run) == 0)
			return;
	if (l->other_runs_n < OTHER_RUNS_MAX)
		snprintf(l->other_run[l->other_runs_n++], sizeof(l->other_run[0]), "%s", run);
}

/*
 * One report. Where it is of a step that the mix has not published by the last look at the ledger,
 * the look may be old: the ledger is read again before losses_add() drops the report as of an
 * unknown step. A report below offset_counted is added, as its step may be open, and changes no
 * count.
 */
static enum fail_code
take(struct loop *l, const struct feedback_feed_record *r, struct failure *f)
{
	struct losses_counts before = *losses_counted(l->losses);
	bool again = r->offset < l->job->offset_counted;

	if (r->feedback == NULL && !l->malformed_warned && !again) {
		log_warning("reweight: REWEIGHT-MALFORMED topic=%s offset=%" PRId64 ": %s",
		    feedback_feed_topic(l->feed), r->offset, r->reason);
		l->malformed_warned = true;
	}
	if (r->feedback != NULL && r->feedback->step >= l->limit && !l->mix_ended &&
	    look(l, f) != FAIL_NONE)
		return f->code;
	if (losses_add(l->losses, r->feedback, r->offset, f) != FAIL_NONE)
		return f->code;
	if (losses_counted(l->losses)->other_run > before.other_run && r->feedback->run != NULL)
		note_other_run(l, r->feedback->run);
	if (losses_counted(l->losses)->unknown_domain > before.unknown_domain &&
	    !l->domains_looked && look_at_domains(l, r->feedback, f) != FAIL_NONE)
		return f->code;
	if (again)
		*losses_counted(l->losses) = before;
	else
		l->job->offset_counted = r->offset + 1;
	l->heard_ms = clock_ms();
	return learn(l, false, f);
}

/*
 * Off line: all is read that was there at the start. Live: the mix has ended and every step of it
 * was learned, or no report came for REWEIGHT_LOOP_END_MS.
 */
static bool
is_done(const struct loop *l)
{
	const struct reweight_job_arguments *a = l->job->a;
	int64_t next = losses_step_next(l->losses);

	if (stop_asked(l->stop) || (uint64_t)next >= a->until_step)
		return true;
	if (!a->live)
		return feedback_feed_position(l->feed) >= l->end;
	return l->mix_ended &&
	       (next >= l->limit || clock_ms() - l->heard_ms >= REWEIGHT_LOOP_END_MS);
}

/* What time alone makes due, whether reports come or not. */
static enum fail_code
tick(struct loop *l, struct failure *f)
{
	int64_t now_ms = clock_ms();

	if (l->job->a->live && now_ms - l->looked_ms >= LOOK_MS && look(l, f) != FAIL_NONE)
		return f->code;
	if (may_ask(l) && ask(l, f) != FAIL_NONE)
		return f->code;
	return now_ms - l->saved_ms >= REWEIGHT_LOOP_SAVE_MS ? save(l, f) : FAIL_NONE;
}

/* Off line the topic's end is known; live there is none, and steps count. */
static void
show(struct loop *l)
{
	if (l->job->a->live)
		l->progress.done = reweight_steps(l->job->learner) - l->progress.skipped;
	else
		l->progress.done = (uint64_t)feedback_feed_position(l->feed) - l->progress.skipped;
	progress_show(&l->progress);
}

static enum fail_code
follow(struct loop *l, struct failure *f)
{
	while (!is_done(l)) {
		struct feedback_feed_record r;
		bool any;

		if (feedback_feed_next(l->feed, SLICE_MS, &r, &any, f) != FAIL_NONE ||
		    (any && take(l, &r, f) != FAIL_NONE) || tick(l, f) != FAIL_NONE)
			return f->code;
		show(l);
	}
	/* Off line no more will come: what is complete behind an open step counts. */
	return l->job->a->live || stop_asked(l->stop) ? FAIL_NONE : learn(l, true, f);
}

/* Reports why there is nothing to learn from. */
static enum fail_code
fail_nothing(struct loop *l, struct failure *f)
{
	const struct losses_counts *c = losses_counted(l->losses);
	bool nothing = c->reports + c->duplicate + c->late + c->unknown_step == 0;
	struct nearest near;

	if (nothing)
		fail(f, FAIL_DATA,
		    "topic %s: run %s has reported nothing: give losses to reader.trained(). "
		    "%" PRIu64 " reports are of other runs, %" PRIu64 " are malformed",
		    feedback_feed_topic(l->feed), l->job->a->run, c->other_run, c->malformed);
	else
		fail(f, FAIL_DATA,
		    "topic %s: no step was reported by all ranks of run %s: %" PRIu64
		    " reports were of it, %" PRIu64 " of other runs, %" PRIu64
		    " of steps that the mix has not published, %" PRIu64 " malformed",
		    feedback_feed_topic(l->feed), l->job->a->run, c->reports, c->other_run,
		    c->unknown_step, c->malformed);
	nearest_init(&near, l->job->a->run);
	for (size_t i = 0; i < l->other_runs_n; i++)
		nearest_list(&near, l->other_run[i]);
	return nearest_fail_more(&near, "other runs are", f);
}

static enum fail_code
run(struct loop *l, struct failure *f)
{
	enum fail_code code;

	assert(l->job->learner != NULL);
	assert(l->job->a->every > 0);
	if (open_losses(l, f) != FAIL_NONE || open_feed(l, f) != FAIL_NONE ||
	    look(l, f) != FAIL_NONE)
		return f->code;
	/*
	 * The first request may come at once. Steps that were learned before count from the last
	 * multiple of --every, as they did in the run that was stopped.
	 */
	l->saved_ms = l->heard_ms = clock_ms();
	l->asked_ms = l->saved_ms - (int64_t)l->job->a->interval_s * 1000;
	l->asked_steps = reweight_steps(l->job->learner) / l->job->a->every * l->job->a->every;
	if (l->job->a->live)
		progress_begin(
		    &l->progress, "reweight", "learned_steps", 0, reweight_steps(l->job->learner));
	else
		progress_begin(&l->progress, "reweight", "records", (uint64_t)l->end,
		    (uint64_t)feedback_feed_position(l->feed));
	code = follow(l, f);
	progress_end(&l->progress);
	if (code != FAIL_NONE)
		return code;
	if (reweight_steps(l->job->learner) == 0) {
		fail_nothing(l, f);
		if (!stop_asked(l->stop))
			return f->code;
		log_info("reweight: nothing was learned: %s", f->text);
		return FAIL_NONE;
	}
	return check_excess(l, f) == FAIL_NONE ? save(l, f) : f->code;
}

enum fail_code
reweight_loop(
    struct reweight_job *job, struct ledger_log *ledger, const struct stop *stop, struct failure *f)
{
	struct loop l = {.job = job, .ledger = ledger, .stop = stop};
	enum fail_code code = run(&l, f);

	losses_close(l.losses);
	feedback_feed_close(l.feed);
	return code;
}
