#include "cli/serve/serve_thread.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/thread.h"

static void *
start(void *argument)
{
	struct serve_thread *t = argument;

	t->main(t->of);
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void
destroy(struct serve_thread *t)
{
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
}

enum fail_code
serve_thread_open(struct serve_thread *t, void (*main)(void *of), void *of, struct failure *f)
{
	pthread_condattr_t attributes;

	t->stop = t->ended = false;
	t->main = main;
	t->of = of;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	errno = thread_start(&t->thread, 0, start, t);
	if (errno == 0)
		return FAIL_NONE;
	fail_errno(f, FAIL_IO, "starting a thread; " THREAD_LIMITS);
	destroy(t);
	return f->code;
}

void
serve_thread_wait(struct serve_thread *t, int64_t when_ms)
{
	int64_t ms = when_ms - clock_ms();
	struct timespec until;

	if (t->stop || ms <= 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	ms += (int64_t)until.tv_nsec / 1000000;
	until.tv_sec += ms / 1000;
	until.tv_nsec = ms % 1000 * 1000000;
	pthread_cond_timedwait(&t->wake, &t->lock, &until);
}

bool
serve_thread_stopped(struct serve_thread *t)
{
	bool stop;

	pthread_mutex_lock(&t->lock);
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return stop;
}

bool
serve_thread_end(struct serve_thread *t, int wait_ms)
{
	struct timespec until;
	bool ended;

	assert(wait_ms >= 0);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->wake);
	while (!t->ended && pthread_cond_timedwait(&t->wake, &t->lock, &until) == 0)
		;
	ended = t->ended;
	pthread_mutex_unlock(&t->lock);
	return ended;
}

void
serve_thread_close(struct serve_thread *t)
{
	assert(t->ended);
	pthread_join(t->thread, NULL);
	destroy(t);
}
