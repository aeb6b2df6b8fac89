/*
 * c11_threads -- C11's threads, locks and conditions by those of POSIX, loaded before the C
 * library.
 *
 * librdkafka uses C11's, which the runtimes of gcc 12 and clang 14 do not see: a thread that they
 * do not know crashes in its first allocation, and locks that they do not know order nothing.
 * glibc's mtx_t and cnd_t hold what a pthread_mutex_t and pthread_cond_t hold.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

#define SEEN __attribute__((visibility("default")))

struct start {
	thrd_start_t run;
	void *argument;
};

static void *
begin(void *opaque)
{
	struct start s = *(struct start *)opaque;

	free(opaque);
	return (void *)(intptr_t)s.run(s.argument);
}

static int
result_of(int error)
{
	if (error == 0)
		return thrd_success;
	return error == EBUSY ? thrd_busy : error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

SEEN int
thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
	struct start *s = malloc(sizeof(*s));

	if (s == NULL)
		return thrd_nomem;
	*s = (struct start){run, argument};
	return result_of(pthread_create(thread, NULL, begin, s));
}

SEEN int
thrd_join(thrd_t thread, int *out)
{
	void *value = NULL;
	int error = pthread_join(thread, &value);

	if (out != NULL)
		*out = (int)(intptr_t)value;
	return result_of(error);
}

SEEN int
thrd_detach(thrd_t thread)
{
	return result_of(pthread_detach(thread));
}

SEEN int
mtx_init(mtx_t *lock, int type)
{
	pthread_mutexattr_t how;
	int error;

	pthread_mutexattr_init(&how);
	if (type & mtx_recursive)
		pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
	error = pthread_mutex_init((pthread_mutex_t *)lock, &how);
	pthread_mutexattr_destroy(&how);
	return result_of(error);
}

SEEN void
mtx_destroy(mtx_t *lock)
{
	pthread_mutex_destroy((pthread_mutex_t *)lock);
}

SEEN int
mtx_lock(mtx_t *lock)
{
	return result_of(pthread_mutex_lock((pthread_mutex_t *)lock));
}

SEEN int
mtx_trylock(mtx_t *lock)
{
	return result_of(pthread_mutex_trylock((pthread_mutex_t *)lock));
}

SEEN int
mtx_unlock(mtx_t *lock)
{
	return result_of(pthread_mutex_unlock((pthread_mutex_t *)lock));
}

SEEN int
cnd_init(cnd_t *c)
{
	return result_of(pthread_cond_init((pthread_cond_t *)c, NULL));
}

SEEN void
cnd_destroy(cnd_t *c)
{
	pthread_cond_destroy((pthread_cond_t *)c);
}

SEEN int
cnd_signal(cnd_t *c)
{
	return result_of(pthread_cond_signal((pthread_cond_t *)c));
}

SEEN int
cnd_broadcast(cnd_t *c)
{
	return result_of(pthread_cond_broadcast((pthread_cond_t *)c));
}

SEEN int
cnd_wait(cnd_t *c, mtx_t *lock)
{
	return result_of(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)lock));
}

SEEN int
cnd_timedwait(cnd_t *c, mtx_t *lock, const struct timespec *until)
{
	return result_of(
	    pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)lock, until));
}
