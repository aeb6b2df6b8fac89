#include "common/metrics/metrics_board.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"

void
metrics_board_init(struct metrics_board *b)
{
	pthread_condattr_t attr;

	*b = (struct metrics_board){0};
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* as clock_ms() */
	pthread_cond_init(&b->fresh, &attr);
	pthread_condattr_destroy(&attr);
}

void
metrics_board_close(struct metrics_board *b)
{
	pthread_cond_destroy(&b->fresh);
	pthread_mutex_destroy(&b->lock);
	free(b->text);
	b->text = NULL;
}

void
metrics_board_put(struct metrics_board *b, struct metrics_text *m)
{
	char *text = metrics_take(m);

	pthread_mutex_lock(&b->lock);
	if (text != NULL) { /* without memory the one before is given */
		free(b->text);
		b->text = text;
	}
	b->number++;
	atomic_store_explicit(&b->wanted, false, memory_order_relaxed);
	pthread_cond_broadcast(&b->fresh);
	pthread_mutex_unlock(&b->lock);
}

char *
metrics_board_ask(struct metrics_board *b, int timeout_ms)
{
	int64_t until_ms = clock_ms() + timeout_ms;
	struct timespec until = {
	    .tv_sec = (time_t)(until_ms / 1000),
	    .tv_nsec = (long)(until_ms % 1000) * 1000000,
	};
	uint64_t before;
	char *copy;

	pthread_mutex_lock(&b->lock);
	before = b->number;
	atomic_store_explicit(&b->wanted, true, memory_order_relaxed);
	while (
	    b->number == before && pthread_cond_timedwait(&b->fresh, &b->lock, &until) != ETIMEDOUT)
		;
	copy = strdup(b->text == NULL ? "" : b->text);
	pthread_mutex_unlock(&b->lock);
	return copy;
}
