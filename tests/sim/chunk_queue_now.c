/*
 * chunk_queue.h without threads, in the place of producer/input/chunk_queue.c. The reader has read
 * everything before the first chunk is taken, so the queue has no limit. Builds for tools that
 * watch threads use the product's own queue.
 */
#include "tests/sim/heap.h"

typedef int chunk_queue_now_is_never_empty;

#ifndef HEAP_NONE

#include <assert.h>
#include <stdlib.h>

#include "producer/input/chunk_queue.h"

struct chunk_queue {
	struct chunk **chunk; /* [n], owned from `first` on */
	size_t first, n, room;
	bool finished, stopped;
	struct failure why;
};

enum fail_code
chunk_queue_open(struct chunk_queue **out, struct failure *f)
{
	*out = calloc(1, sizeof(**out));
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

void
chunk_queue_close(struct chunk_queue *q)
{
	if (q == NULL)
		return;
	for (; q->first < q->n; q->first++)
		chunk_close(q->chunk[q->first]);
	free(q->chunk);
	free(q);
}

enum fail_code
chunk_queue_put(struct chunk_queue *q, struct chunk *c, struct failure *f)
{
	assert(!q->finished);
	if (q->n == q->room) {
		struct chunk **grown;

		q->room = 2 * q->room + 8;
		grown = realloc(q->chunk, q->room * sizeof(struct chunk *));
		if (grown == NULL)
			abort();
		q->chunk = grown;
	}
	if (q->stopped) {
		chunk_close(c);
		return fail(f, FAIL_STOPPED, "reading was stopped");
	}
	q->chunk[q->n++] = c;
	return FAIL_NONE;
}

void
chunk_queue_finish(struct chunk_queue *q, const struct failure *why)
{
	assert(why->code != FAIL_TIMEOUT);
	q->finished = true;
	q->why = *why;
}

enum fail_code
chunk_queue_take(struct chunk_queue *q, int timeout_ms, struct chunk **out, struct failure *f)
{
	(void)timeout_ms;
	assert(q->finished);
	*out = q->first < q->n ? q->chunk[q->first++] : NULL;
	if (*out != NULL || q->why.code == FAIL_NONE)
		return FAIL_NONE;
	*f = q->why;
	return f->code;
}

void
chunk_queue_stop(struct chunk_queue *q)
{
	q->stopped = true;
}

bool
chunk_queue_stopped(struct chunk_queue *q)
{
	return q->stopped;
}

#endif
