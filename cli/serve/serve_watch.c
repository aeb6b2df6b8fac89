#include "cli/serve/serve_watch.h"

#include <stdlib.h>

#include "cli/serve/serve_thread.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/status/status_query.h"

struct serve_watch {
	const struct config *config;
	struct serve_state *state;
	struct serve_history *history;
	struct serve_requests *requests;
	struct serve_thread thread;
};

/* The ledger and the runs are read each time; a request for each topic is dear. */
static const struct status_query_pace pace = {
    .topics_ms = 30000, .domains_ms = 10000, .losses_ms = 3000, .mixers_ms = 2000};

static enum fail_code
look(struct serve_watch *w, struct status_query **q, struct failure *f)
{
	int64_t now_ms = clock_ms();
	struct serve_snapshot *s = NULL;
	struct status *st;
	enum fail_code code = FAIL_NONE;

	if (*q == NULL)
		code = status_query_open(q, w->config, f);
	if (code == FAIL_NONE)
		status_query_set_pace(*q, &pace);
	if (code == FAIL_NONE)
		code = status_query_read(*q, &st, f);
	if (code != FAIL_NONE)
		return code;
	serve_requests_note(w->requests, st);
	serve_history_note(w->history, st);
	code = serve_snapshot_make(&s, st, now_ms, f);
	if (code == FAIL_NONE)
		serve_state_put(w->state, s);
	return code;
}

/* Waits until it is time for the next look; false: it is to end. */
static bool
pause_until(struct serve_watch *w, int64_t when_ms)
{
	bool stop;

	pthread_mutex_lock(&w->thread.lock);
	while (!w->thread.stop && clock_ms() < when_ms)
		serve_thread_wait(&w->thread, when_ms);
	stop = w->thread.stop;
	pthread_mutex_unlock(&w->thread.lock);
	return !stop;
}

static void
follow(void *argument)
{
	struct serve_watch *w = argument;
	struct status_query *q = NULL;
	bool failing = false;
	int64_t begun_ms;

	do {
		struct failure f;

		begun_ms = clock_ms();
		if (look(w, &q, &f) == FAIL_NONE) {
			if (failing)
				log_info("serve: the broker answers again");
			failing = false;
			continue;
		}
		serve_state_fail(w->state, f.text);
		if (!failing)
			log_warning("serve: SERVE-BROKER %s; asking again", f.text);
		failing = true;
	} while (pause_until(w, begun_ms + SERVE_WATCH_MS));
	status_query_close(q);
}

enum fail_code
serve_watch_open(struct serve_watch **out, const struct config *c, struct serve_state *state,
    struct serve_history *history, struct serve_requests *requests, struct failure *f)
{
	struct serve_watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return fail_memory(f);
	w->config = c;
	w->state = state;
	w->history = history;
	w->requests = requests;
	if (serve_thread_open(&w->thread, follow, w, f) != FAIL_NONE) {
		free(w);
		return f->code;
	}
	*out = w;
	return FAIL_NONE;
}

bool
serve_watch_end(struct serve_watch *w, int wait_ms)
{
	return w == NULL || serve_thread_end(&w->thread, wait_ms);
}

void
serve_watch_close(struct serve_watch *w)
{
	if (w == NULL)
		return;
	serve_thread_close(&w->thread);
	free(w);
}
