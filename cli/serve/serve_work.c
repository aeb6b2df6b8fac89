#include "cli/serve/serve_work.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/inspect_lines.h"
#include "cli/inspect/inspect_output.h"
#include "cli/json_print.h"
#include "cli/plan/plan_lengths.h"
#include "cli/plan/plan_print.h"
#include "cli/request/request_print.h"
#include "cli/request/weights_request.h"
#include "cli/serve/serve_change.h"
#include "cli/serve/serve_text.h"
#include "cli/serve/serve_thread.h"
#include "common/base/json_memory.h"
#include "common/base/log.h"
#include "common/base/stop.h"
#include "consumer/admin/request.h"
#include "consumer/plan/config_plan.h"
#include "consumer/plan/forecast.h"
#include "consumer/replay/published_step.h"

/* A plan takes two seconds at most, by 250 ns for a draw of 200 domains. */
enum { PLAN_DRAWS_MAX = 8 << 20 };

struct serve_work {
	const struct config *config;
	const struct options *reload;
	const char *mix;            /* --mix; NULL: not given */
	struct serve_thread thread; /* its lock protects all below */
	struct serve_job *first, **last;
	size_t jobs;        /* that wait */
	struct stop ending; /* for a request that waits for its answer */
};

/* ---- a step ---- */

static enum fail_code
do_step(struct serve_work *w, struct serve_job *j, FILE *to, struct failure *f)
{
	const char *mix = w->config->mix.name;
	struct published_step step = {0};
	struct inspect_lines *lines = NULL;
	struct inspect_output *out = NULL;
	struct inspect_output_options o = {.to = to, .json = true};
	enum fail_code code = published_step_open(&step, mix, w->config, j->step, f);

	if (code == FAIL_NONE)
		code = inspect_lines_open(&lines, mix, w->config, &step, -1, f);
	o.lines = lines;
	o.derived = step.derived;
	if (code == FAIL_NONE)
		code = inspect_output_open(&out, &o, f);
	if (code == FAIL_NONE)
		code = inspect_output_step(out, &step, -1, f);
	inspect_output_close(out);
	inspect_lines_close(lines);
	published_step_close(&step);
	return code;
}

/* ---- a plan ---- */

/* Steps within PLAN_DRAWS_MAX draws: a plan takes as long as it has draws. */
static uint64_t
steps_within(const struct config *c)
{
	uint32_t batch = c->mix.global_batch;

	for (size_t i = 0; i < c->mix.phases_n; i++)
		if (c->mix.phases[i].global_batch > batch)
			batch = c->mix.phases[i].global_batch;
	return PLAN_DRAWS_MAX / batch > 0 ? PLAN_DRAWS_MAX / batch : 1;
}

static enum fail_code
print_plan(struct config *c, uint64_t steps, FILE *to, struct failure *f)
{
	struct plan_lengths lengths = {0};
	struct config_plan p = {0};
	struct forecast *fc = NULL;
	enum fail_code code = plan_lengths_ask(&lengths, c, f);
	uint64_t most = steps_within(c);

	if (code == FAIL_NONE && steps == 0) {
		steps = plan_lengths_steps(&lengths, c);
		steps = steps < most ? steps : most;
	}
	if (code == FAIL_NONE && steps > most)
		code = fail(f, FAIL_USAGE,
		    "steps: at most %llu here; `riffle plan --steps %llu` takes the time that it "
		    "takes",
		    (unsigned long long)most, (unsigned long long)steps);
	if (code == FAIL_NONE)
		code = config_plan_open(&p, c, lengths.length, f);
	if (code == FAIL_NONE)
		code = forecast_open(&fc, &p.plan, steps, NULL, f);
	if (code == FAIL_NONE)
		code = plan_print_json(fc, c, to, f);
	forecast_close(fc);
	config_plan_close(&p);
	plan_lengths_close(&lengths);
	return code;
}

/* By a configuration of its own: a plan puts the weights in force into it. */
static enum fail_code
do_plan(struct serve_work *w, struct serve_job *j, FILE *to, struct failure *f)
{
	struct config *c = NULL;
	enum fail_code code = options_config_named(&c, w->mix, w->reload, f);

	if (code == FAIL_NONE)
		code = config_need_mix(c, f);
	if (code == FAIL_NONE)
		code = print_plan(c, j->steps, to, f);
	config_close(c);
	return code;
}

/* ---- a change ---- */

/* The request of a change, in the name of the client. */
static enum fail_code
make_request(struct control *out, const struct serve_change *change, struct request *r,
    const struct config *c, struct failure *f)
{
	struct weights_request_change wanted = {.word = change->word,
	    .words_n = change->words_n,
	    .id = change->id,
	    .at_step = change->at_step,
	    .temperature = change->temperature,
	    .lr_scale = change->lr_scale,
	    .global_batch = change->global_batch};

	if (weights_request(out, &wanted, request_ledger(r), c, f) != FAIL_NONE)
		return f->code;
	free(out->who);
	out->who = strdup(change->who);
	return out->who == NULL ? fail_memory(f) : FAIL_NONE;
}

/* Asks the mix, or only derives the answer; a refusal is an answer, too. */
static enum fail_code
ask(struct serve_work *w, const struct serve_change *change, struct serve_job *j, FILE *to,
    struct failure *f)
{
	const struct config *c = w->config;
	struct request_options with = {
	    .mix = c->mix.name, .properties = &c->kafka, .stop = &w->ending};
	struct request_print_how how = {.config = c,
	    .to = to,
	    .dry_run = change->dry_run,
	    .json = true,
	    .named = change->id != NULL};
	struct control control = {0};
	struct request *r;
	long written;
	enum fail_code code = request_open(&r, &with, f);

	if (code != FAIL_NONE)
		return code;
	code = make_request(&control, change, r, c, f);
	if (code == FAIL_NONE)
		code = request_print(r, &control, 1, &how, f);
	written = ftell(to);
	if (code == FAIL_DATA && written > 0) /* "accepted": false, and why */
		code = FAIL_NONE;
	j->sent = request_sent(r) == REQUEST_SENT;
	if (j->sent)
		log_info("serve: request=%s", control.id);
	else if (request_sent(r) == REQUEST_IN_DOUBT)
		fail_within(f,
		    "whether the mix was asked for request %s is not known (/api/v1/requests "
		    "shows it if so; the same id can be sent again)",
		    control.id);
	control_clear(&control);
	request_close(r);
	return code;
}

static enum fail_code
do_weights(struct serve_work *w, struct serve_job *j, FILE *to, struct failure *f)
{
	struct serve_change change = {0};
	enum fail_code code = serve_change_parse(&change, j->body, j->body_n, f);

	if (code == FAIL_NONE)
		code = ask(w, &change, j, to, f);
	serve_change_clear(&change);
	return code;
}

struct task {
	struct serve_work *w;
	struct serve_job *j;
};

static enum fail_code
work(const void *of, FILE *to, struct failure *f)
{
	struct serve_work *w = ((const struct task *)of)->w;
	struct serve_job *j = ((const struct task *)of)->j;

	switch (j->route) {
	case SERVE_STEP: return do_step(w, j, to, f);
	case SERVE_PLAN: return do_plan(w, j, to, f);
	case SERVE_WEIGHTS: return do_weights(w, j, to, f);
	case SERVE_NOTHING:
	case SERVE_PAGE:
	case SERVE_HEALTH:
	case SERVE_READY:
	case SERVE_METRICS:
	case SERVE_STATUS:
	case SERVE_HISTORY:
	case SERVE_REQUESTS: break;
	}
	abort(); /* no job is made of these */
}

/* ---- answers ---- */

/* A change that the broker has got, and that nobody has answered yet, stays asked for: 202. */
static unsigned
status_of(const struct serve_job *j, enum fail_code code)
{
	switch (code) {
	case FAIL_NONE: return 200;
	case FAIL_USAGE: return 400;
	case FAIL_CONFIG: return j->route == SERVE_STEP ? 404 : 503;
	case FAIL_DATA: return j->route == SERVE_STEP ? 404 : j->route == SERVE_WEIGHTS ? 400 : 503;
	case FAIL_TIMEOUT:
	case FAIL_MEMORY:
	case FAIL_IO:
	case FAIL_BROKER:
	case FAIL_FENCED:
	case FAIL_STOPPED:
	case FAIL_DENIED: break;
	}
	return j->sent ? 202 : 503;
}

char *
serve_work_error(const char *why)
{
	json_t *o = json_pack("{s:o}", "error", json_print_text(why));
	char *text = o == NULL ? NULL : json_memory_text(o, JSON_COMPACT);

	json_decref(o);
	return text;
}

static void
answer(struct serve_job *j, unsigned status, char *text)
{
	j->status = status;
	j->text = text;
	j->done(j, j->of);
}

static void
answer_failure(struct serve_job *j, unsigned status, const char *why)
{
	answer(j, status, serve_work_error(why));
}

static void
run(struct serve_work *w, struct serve_job *j)
{
	struct failure f = {0};
	char *text;
	enum fail_code code = serve_text_print(&text, work, &(struct task){w, j}, &f);

	if (code == FAIL_NONE)
		answer(j, 200, text);
	else
		answer_failure(j, status_of(j, code), f.text);
}

/* ---- the thread ---- */

/* The next job, or NULL where the worker ends. Called with the lock. */
static struct serve_job *
take(struct serve_work *w)
{
	struct serve_job *j;

	while (w->first == NULL && !w->thread.stop)
		pthread_cond_wait(&w->thread.wake, &w->thread.lock);
	j = w->first;
	if (j == NULL)
		return NULL;
	w->first = j->next;
	if (w->first == NULL)
		w->last = &w->first;
	w->jobs--;
	return j;
}

static void
follow(void *argument)
{
	struct serve_work *w = argument;
	struct serve_job *j;

	pthread_mutex_lock(&w->thread.lock);
	while ((j = take(w)) != NULL) {
		bool stop = w->thread.stop;

		pthread_mutex_unlock(&w->thread.lock);
		if (stop)
			answer_failure(j, 503, "the server ends");
		else
			run(w, j);
		pthread_mutex_lock(&w->thread.lock);
	}
	pthread_mutex_unlock(&w->thread.lock);
}

enum fail_code
serve_work_open(struct serve_work **out, const struct config *c, const struct options *reload,
    const char *mix, struct failure *f)
{
	struct serve_work *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return fail_memory(f);
	w->config = c;
	w->reload = reload;
	w->mix = mix;
	w->last = &w->first;
	if (serve_thread_open(&w->thread, follow, w, f) != FAIL_NONE) {
		free(w);
		return f->code;
	}
	*out = w;
	return FAIL_NONE;
}

bool
serve_work_end(struct serve_work *w, int wait_ms)
{
	if (w == NULL)
		return true;
	stop_ask(&w->ending);
	return serve_thread_end(&w->thread, wait_ms);
}

void
serve_work_close(struct serve_work *w)
{
	if (w == NULL)
		return;
	serve_thread_close(&w->thread);
	free(w);
}

void
serve_work_put(struct serve_work *w, struct serve_job *job)
{
	bool room, stop;

	pthread_mutex_lock(&w->thread.lock);
	stop = w->thread.stop;
	room = w->jobs < SERVE_JOBS && !stop;
	if (room) {
		job->next = NULL;
		*w->last = job;
		w->last = &job->next;
		w->jobs++;
		pthread_cond_broadcast(&w->thread.wake);
	}
	pthread_mutex_unlock(&w->thread.lock);
	if (stop)
		answer_failure(job, 503, "the server ends");
	else if (!room)
		answer_failure(job, 429,
		    "so many requests wait already that this one is refused: try again in a "
		    "second");
}
