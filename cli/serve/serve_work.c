#include "cli/serve/serve_work.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/inspect/inspect_lines.h"
#include "cli/inspect/inspect_output.h"
#include "cli/json_print.h"
#include "cli/plan/plan_lengths.h"
#include "cli/plan/plan_print.h"
#include "cli/request/requests_print.h"
#include "common/base/json_memory.h"
#include "common/base/thread.h"
#include "consumer/admin/request.h"
#include "consumer/admin/request_list.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/config_plan.h"
#include "consumer/replay/published_step.h"

struct serve_work {
	const struct config *config;
	const struct options *reload;
	const char *mix; /* --mix; NULL: not given */
	pthread_t thread;
	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t wake;
	struct serve_job *first, **last;
	size_t jobs; /* that wait */
	bool stop, ended;
};

/* ---- a step ---- */

static enum fail_code
print_step(const struct published_step *s, struct inspect_output *out, struct failure *f)
{
	for (uint32_t i = 0; i < s->lanes; i++) {
		struct batch_view view;

		if (published_step_decode(&view, s, i, f) != FAIL_NONE)
			return f->code;
		if (inspect_output_lane(out, &view, f) != FAIL_NONE)
			return published_step_fail(s, i, f);
	}
	return inspect_output_end(out, f);
}

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
		code = print_step(&step, out, f);
	inspect_output_close(out);
	inspect_lines_close(lines);
	published_step_close(&step);
	return code;
}

static enum fail_code
do_nothing_yet(struct failure *f)
{
	return fail(f, FAIL_DATA, "not there yet");
}

static enum fail_code
work(struct serve_work *w, struct serve_job *j, FILE *to, struct failure *f)
{
	switch (j->route) {
	case SERVE_STEP: return do_step(w, j, to, f);
	case SERVE_PLAN:
	case SERVE_REQUESTS:
	case SERVE_WEIGHTS: return do_nothing_yet(f);
	case SERVE_PAGE:
	case SERVE_HEALTH:
	case SERVE_READY:
	case SERVE_METRICS:
	case SERVE_STATUS:
	case SERVE_HISTORY: break;
	}
	abort(); /* no job is made of these */
}

/* ---- answers ---- */

static unsigned
status_of(enum fail_code code)
{
	switch (code) {
	case FAIL_NONE: return 200;
	case FAIL_USAGE: return 400;
	case FAIL_CONFIG:
	case FAIL_DATA: return 404;
	case FAIL_MEMORY:
	case FAIL_IO:
	case FAIL_BROKER:
	case FAIL_TIMEOUT:
	case FAIL_FENCED:
	case FAIL_STOPPED:
	case FAIL_DENIED: break;
	}
	return 503;
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
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);
	enum fail_code code = to == NULL ? fail_memory(&f) : work(w, j, to, &f);

	if (to != NULL && fclose(to) != 0)
		code = fail_memory(&f);
	if (code == FAIL_NONE) {
		answer(j, 200, text);
		return;
	}
	free(text);
	answer_failure(j, status_of(code), f.text);
}

/* ---- the thread ---- */

/* The next job, or NULL where the worker ends. Called with the lock. */
static struct serve_job *
take(struct serve_work *w)
{
	struct serve_job *j;

	while (w->first == NULL && !w->stop)
		pthread_cond_wait(&w->wake, &w->lock);
	j = w->first;
	if (j == NULL)
		return NULL;
	w->first = j->next;
	if (w->first == NULL)
		w->last = &w->first;
	w->jobs--;
	return j;
}

static void *
follow(void *argument)
{
	struct serve_work *w = argument;
	struct serve_job *j;

	pthread_mutex_lock(&w->lock);
	while ((j = take(w)) != NULL) {
		bool stop = w->stop;

		pthread_mutex_unlock(&w->lock);
		if (stop)
			answer_failure(j, 503, "the server ends");
		else
			run(w, j);
		pthread_mutex_lock(&w->lock);
	}
	w->ended = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

enum fail_code
serve_work_open(struct serve_work **out, const struct config *c, const struct options *reload,
    const char *mix, struct failure *f)
{
	struct serve_work *w = calloc(1, sizeof(*w));
	pthread_condattr_t attributes;

	if (w == NULL)
		return fail_memory(f);
	w->config = c;
	w->reload = reload;
	w->mix = mix;
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	errno = thread_start(&w->thread, 0, follow, w);
	if (errno != 0) {
		fail_errno(f, FAIL_IO, "starting a thread");
		pthread_cond_destroy(&w->wake);
		pthread_mutex_destroy(&w->lock);
		free(w);
		return f->code;
	}
	*out = w;
	return FAIL_NONE;
}

bool
serve_work_close(struct serve_work *w, int wait_ms)
{
	struct timespec until;
	bool ended;

	if (w == NULL)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->wake);
	while (!w->ended && pthread_cond_timedwait(&w->wake, &w->lock, &until) == 0)
		;
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	if (!ended)
		return false;
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return true;
}

bool
serve_work_put(struct serve_work *w, struct serve_job *job)
{
	bool room;

	pthread_mutex_lock(&w->lock);
	room = w->jobs < SERVE_JOBS && !w->stop;
	if (room) {
		job->next = NULL;
		*w->last = job;
		w->last = &job->next;
		w->jobs++;
		pthread_cond_broadcast(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return room;
}
