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
