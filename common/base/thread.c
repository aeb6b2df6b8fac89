#include "common/base/thread.h"

#include <assert.h>

/*
 * A thread inherits the mask of its creator. Blocked by the thread itself, a signal could still
 * arrive between its first instruction and that call.
 */
void
thread_hide_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

void
thread_show_signals(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int
thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *argument), void *argument)
{
	sigset_t before;
	pthread_attr_t attr;
	int err;

	assert(main != NULL);
	err = pthread_attr_init(&attr);
	if (err != 0)
		return err;
	if (stack_bytes > 0)
		pthread_attr_setstacksize(&attr, stack_bytes);
	thread_hide_signals(&before);
	err = pthread_create(thread, &attr, main, argument);
	thread_show_signals(&before);
	pthread_attr_destroy(&attr);
	return err;
}

static void *
wait_for_prober(void *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

int
thread_probe(unsigned n)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread[THREAD_PROBE_MAX];
	unsigned started = 0;
	int err = 0;

	if (n > THREAD_PROBE_MAX)
		n = THREAD_PROBE_MAX;
	pthread_mutex_lock(&lock);
	while (started < n && err == 0) {
		err = thread_start(&thread[started], 0, wait_for_prober, &lock);
		started += err == 0;
	}
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return err;
}
