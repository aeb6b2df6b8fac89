/*
 * threads -- for LD_PRELOAD: a system that gives a process few threads.
 *
 *     THREADS_ALIVE=N   no more than N at the same time, besides the first one
 *     THREADS_TOTAL=N   none after the N-th that was started
 *
 * What is refused gets EAGAIN, as by `ulimit -u`. Compiled by the test that uses it:
 * cc -shared -fPIC -pthread -o threads.so threads.c -ldl
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>

static atomic_long alive, total;

struct start {
	void *(*main)(void *);
	thrd_start_t main_c11; /* NULL: `main` is the thread's */
	void *argument;
};

static int
refused(void)
{
	const char *most_alive = getenv("THREADS_ALIVE"), *most_total = getenv("THREADS_TOTAL");

	if ((most_total != NULL && atomic_fetch_add(&total, 1) >= atol(most_total)) ||
	    (most_alive != NULL && atomic_load(&alive) >= atol(most_alive)))
		return 1;
	atomic_fetch_add(&alive, 1);
	return 0;
}

static void *
run(void *argument)
{
	struct start s = *(struct start *)argument;
	void *result;

	free(argument);
	result = s.main_c11 == NULL ? s.main(s.argument) : (void *)(long)s.main_c11(s.argument);
	atomic_fetch_sub(&alive, 1);
	return result;
}

static int
create(pthread_t *thread, const pthread_attr_t *attr, struct start s)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
	    (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
		RTLD_NEXT, "pthread_create");
	struct start *copy;

	if (refused())
		return EAGAIN;
	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		abort();
	*copy = s;
	return real(thread, attr, run, copy);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *argument)
{
	return create(thread, attr, (struct start){.main = main, .argument = argument});
}

/* librdkafka's. glibc's thrd_join() of a pthread's result is an int, as run() returns it. */
int
thrd_create(thrd_t *thread, thrd_start_t main, void *argument)
{
	return create(thread, NULL, (struct start){.main_c11 = main, .argument = argument}) == 0
		   ? thrd_success
		   : thrd_error;
}
