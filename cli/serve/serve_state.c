#include "cli/serve/serve_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/serve/serve_metrics.h"
#include "cli/serve/serve_text.h"
#include "cli/status/status_print.h"

/* ---- a snapshot ---- */

enum fail_code
serve_snapshot_make(
    struct serve_snapshot **out, struct status *of, int64_t read_ms, struct failure *f)
{
	struct serve_snapshot *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		status_free(of);
		return fail_memory(f);
	}
	atomic_init(&s->references, 1);
	pthread_mutex_init(&s->lock, NULL);
	s->of = of;
	s->read_ms = read_ms;
	*out = s;
	return FAIL_NONE;
}

void
serve_snapshot_release(struct serve_snapshot *s)
{
	if (s == NULL || atomic_fetch_sub(&s->references, 1) > 1)
		return;
	pthread_mutex_destroy(&s->lock);
	status_free(s->of);
	free(s->status);
	free(s->metrics);
	free(s);
}

static enum fail_code
print_status(const void *of, FILE *to, struct failure *f)
{
	return status_print_json(of, to, true, f);
}

/* As riffle status prints it. */
static char *
status_text(const struct status *st)
{
	struct failure f;
	char *text;

	(void)serve_text_print(&text, print_status, st, &f);
	return text;
}

/* The text at `*text`, made where it is not there yet. */
static const char *
made(struct serve_snapshot *s, char **text, char *(*make)(const struct status *st))
{
	pthread_mutex_lock(&s->lock);
	if (*text == NULL)
		*text = make(s->of);
	pthread_mutex_unlock(&s->lock);
	return *text;
}

const char *
serve_snapshot_status(struct serve_snapshot *s)
{
	return made(s, &s->status, status_text);
}

const char *
serve_snapshot_metrics(struct serve_snapshot *s)
{
	return made(s, &s->metrics, serve_metrics);
}

/* ---- the newest ---- */

void
serve_state_init(struct serve_state *s)
{
	*s = (struct serve_state){0};
	pthread_mutex_init(&s->lock, NULL);
}

void
serve_state_clear(struct serve_state *s)
{
	serve_snapshot_release(s->now);
	s->now = NULL;
	pthread_mutex_destroy(&s->lock);
}

void
serve_state_put(struct serve_state *s, struct serve_snapshot *now)
{
	struct serve_snapshot *before;

	pthread_mutex_lock(&s->lock);
	before = s->now;
	s->now = now;
	s->error[0] = '\0';
	pthread_mutex_unlock(&s->lock);
	serve_snapshot_release(before);
}

void
serve_state_fail(struct serve_state *s, const char *why)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->error, sizeof(s->error), "%s", why);
	pthread_mutex_unlock(&s->lock);
}

void
serve_state_get(
    struct serve_state *s, struct serve_snapshot **out, char why[static FAILURE_TEXT_MAX])
{
	pthread_mutex_lock(&s->lock);
	*out = s->now;
	if (s->now != NULL)
		atomic_fetch_add(&s->now->references, 1);
	memcpy(why, s->error, sizeof(s->error));
	pthread_mutex_unlock(&s->lock);
}
