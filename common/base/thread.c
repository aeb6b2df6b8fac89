#include "common/base/thread.h"

#include <assert.h>
#include <signal.h>

int
thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *argument), void *argument)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err;

	assert(main != NULL);
	err = pthread_attr_init(&attr);
	if (err != 0)
		return err;
	if (stack_bytes > 0)
		pthread_attr_setstacksize(&attr, stack_bytes);
	/* A thread inherits the mask of its creator. Blocked by the thread itself, a signal could
	 * still arrive between its first instruction and that call. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, &attr, main, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return err;
}
