#include "cli/serve/serve_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

void
serve_snapshot_release(struct serve_snapshot *s)
{
	if (s == NULL || atomic_fetch_sub(&s->references, 1) > 1)
		return;
	free(s->status);
	free(s->metrics);
	free(s);
}

void
serve_state_init(struct serve_state *s)
{
	*s = (struct serve_state){.failing_ms = -1};
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
	s->failing_ms = -1;
	s->error[0] = '\0';
	pthread_mutex_unlock(&s->lock);
	serve_snapshot_release(before);
}

void
serve_state_fail(struct serve_state *s, const char *why)
{
	pthread_mutex_lock(&s->lock);
	if (s->failing_ms < 0)
		s->failing_ms = clock_ms();
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
