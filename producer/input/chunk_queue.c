#include "producer/input/chunk_queue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A ring: the oldest chunk is chunk[first]. */
struct chunk_queue {
	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t changed;
	struct chunk *chunk[CHUNK_QUEUE_MAX];
	size_t first, n;
	uint64_t held_bytes;
	bool finished, stopped;
	struct failure why;
};

enum fail_code
chunk_queue_open(struct chunk_queue **out, struct failure *f)
{
	struct chunk_queue *q = calloc(1, sizeof(*q));
	pthread_condattr_t attributes;

	if (q == NULL)
		return fail_memory(f);
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&q->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	*out = q;
	return FAIL_NONE;
}

void
chunk_queue_close(struct chunk_queue *q)
{
	if (q == NULL)
		return;
	for (size_t i = 0; i < q->n; i++)
		chunk_close(q->chunk[(q->first + i) % CHUNK_QUEUE_MAX]);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* What a chunk weighs: not to the byte, but a limit on it is a limit on memory. */
static uint64_t
weight(const struct chunk *c)
{
	uint64_t total = c->n * sizeof(*c->record);

	for (size_t i = 0; i < c->n; i++)
		total += c->record[i].n;
	return total;
}

enum fail_code
chunk_queue_put(struct chunk_queue *q, struct chunk *c, struct failure *f)
{
	uint64_t bytes = weight(c);
	bool stopped;

	assert(c->n > 0);
	pthread_mutex_lock(&q->lock);
	assert(!q->finished);
	while (!q->stopped &&
	       (q->n == CHUNK_QUEUE_MAX || (q->n > 0 && q->held_bytes >= CHUNK_QUEUE_BYTES)))
		pthread_cond_wait(&q->changed, &q->lock);
	stopped = q->stopped;
	if (!stopped) {
		q->chunk[(q->first + q->n++) % CHUNK_QUEUE_MAX] = c;
		q->held_bytes += bytes;
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	if (!stopped)
		return FAIL_NONE;
	chunk_close(c);
	return fail(f, FAIL_STOPPED, "reading was stopped");
}

void
chunk_queue_finish(struct chunk_queue *q, const struct failure *why)
{
	assert(why->code != FAIL_TIMEOUT);
	pthread_mutex_lock(&q->lock);
	q->finished = true;
	q->why = *why;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static struct timespec
deadline_after(int timeout_ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += timeout_ms / 1000;
	t.tv_nsec += timeout_ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_nsec -= 1000000000L;
		t.tv_sec++;
	}
	return t;
}

/* Waits until there is a chunk or the end; the lock is held. */
static enum fail_code
wait_for_some(struct chunk_queue *q, int timeout_ms, struct failure *f)
{
	struct timespec deadline = deadline_after(timeout_ms < 0 ? 0 : timeout_ms);

	while (q->n == 0 && !q->finished) {
		if (timeout_ms < 0)
			pthread_cond_wait(&q->changed, &q->lock);
		else if (pthread_cond_timedwait(&q->changed, &q->lock, &deadline) == ETIMEDOUT)
			return fail(f, FAIL_TIMEOUT, "no input within %d ms", timeout_ms);
	}
	return FAIL_NONE;
}

enum fail_code
chunk_queue_take(struct chunk_queue *q, int timeout_ms, struct chunk **out, struct failure *f)
{
	enum fail_code code;
	uint64_t bytes;

	*out = NULL;
	pthread_mutex_lock(&q->lock);
	code = wait_for_some(q, timeout_ms, f);
	if (code == FAIL_NONE && q->n > 0) {
		*out = q->chunk[q->first];
		q->first = (q->first + 1) % CHUNK_QUEUE_MAX;
		q->n--;
		bytes = weight(*out);
		assert(q->held_bytes >= bytes);
		q->held_bytes -= bytes;
		pthread_cond_broadcast(&q->changed);
	} else if (code == FAIL_NONE && q->why.code != FAIL_NONE) {
		*f = q->why;
		code = f->code;
	}
	pthread_mutex_unlock(&q->lock);
	return code;
}

void
chunk_queue_stop(struct chunk_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

bool
chunk_queue_stopped(struct chunk_queue *q)
{
	bool stopped;

	pthread_mutex_lock(&q->lock);
	stopped = q->stopped;
	pthread_mutex_unlock(&q->lock);
	return stopped;
}
