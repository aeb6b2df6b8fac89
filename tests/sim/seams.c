/*
 * The simulation has no threads: the work of a thread is done before the call that starts it
 * returns. Builds for tools that watch threads do have them. There, a caller that asks another
 * thread for something waits until the answer is there, so that the speed of this machine decides
 * nothing. Linked with --wrap.
 */
#include <pthread.h>

#include "producer/input/chunk_queue.h"
#include "producer/produce/pool.h"
#include "tests/sim/heap.h"

enum fail_code __real_pool_take(
    struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f);
enum fail_code __wrap_pool_take(
    struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f);
enum fail_code __real_chunk_queue_take(
    struct chunk_queue *q, int timeout_ms, struct chunk **out, struct failure *f);
enum fail_code __wrap_chunk_queue_take(
    struct chunk_queue *q, int timeout_ms, struct chunk **out, struct failure *f);

enum fail_code
__wrap_pool_take(struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f)
{
	(void)wait;
	return __real_pool_take(p, line, true, job, f);
}

enum fail_code
__wrap_chunk_queue_take(
    struct chunk_queue *q, int timeout_ms, struct chunk **out, struct failure *f)
{
	(void)timeout_ms;
	return __real_chunk_queue_take(q, -1, out, f);
}

int __real_thread_probe(unsigned n);
int __wrap_thread_probe(unsigned n);
int __real_pthread_create(
    pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int __wrap_pthread_create(
    pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __real_pthread_detach(pthread_t thread);
int __wrap_pthread_detach(pthread_t thread);

static bool
at_once(void)
{
#ifdef HEAP_NONE
	return false;
#else
	return true;
#endif
}

/* What is done at once needs no threads. */
int
__wrap_thread_probe(unsigned n)
{
	return at_once() ? 0 : __real_thread_probe(n);
}

int
__wrap_pthread_create(
    pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
	if (!at_once())
		return __real_pthread_create(thread, attr, start, argument);
	*thread = pthread_self();
	start(argument);
	return 0;
}

int
__wrap_pthread_join(pthread_t thread, void **result)
{
	return at_once() ? 0 : __real_pthread_join(thread, result);
}

int
__wrap_pthread_detach(pthread_t thread)
{
	return at_once() ? 0 : __real_pthread_detach(thread);
}
