/*
 * pool.h without threads, in the place of producer/produce/pool.c: a job is done when it is taken
 * back. In builds for tools that watch threads the pool is the product's own.
 */
#include "tests/sim/heap.h"

typedef int pool_now_is_never_empty;

#ifndef HEAP_NONE

#include <assert.h>
#include <stdlib.h>

#include "producer/produce/pool.h"

struct slot {
	void *job;
	pool_work *work;
};

struct line {
	struct slot slot[POOL_LINE_MAX];
	size_t head, tail; /* counted from the start */
};

struct pool {
	struct line line[POOL_LINES];
	size_t depth;
	struct pool_memory memory;
	void *of_worker;
};

enum fail_code
pool_open(struct pool **out, size_t workers, size_t depth, const struct pool_memory *memory,
    struct failure *f)
{
	struct pool *p = calloc(1, sizeof(*p));

	(void)workers;
	assert(depth >= 1 && depth <= POOL_LINE_MAX);
	if (p == NULL)
		return fail_memory(f);
	p->depth = depth;
	p->memory = *memory;
	if (memory->open(&p->of_worker, memory->context, f) != FAIL_NONE) {
		free(p);
		return f->code;
	}
	*out = p;
	return FAIL_NONE;
}

void
pool_close(struct pool *p, void (*drop)(enum pool_line line, void *job))
{
	if (p == NULL)
		return;
	p->memory.close(p->of_worker);
	for (int l = 0; l < POOL_LINES; l++)
		for (size_t i = p->line[l].head; i < p->line[l].tail; i++)
			drop((enum pool_line)l, p->line[l].slot[i % p->depth].job);
	free(p);
}

bool
pool_full(const struct pool *p, enum pool_line line)
{
	return p->line[line].tail - p->line[line].head == p->depth;
}

bool
pool_empty(const struct pool *p, enum pool_line line)
{
	return p->line[line].tail == p->line[line].head;
}

void
pool_submit(struct pool *p, enum pool_line line, void *job, pool_work *work)
{
	struct line *l = &p->line[line];

	assert(!pool_full(p, line));
	l->slot[l->tail++ % p->depth] = (struct slot){job, work};
}

enum fail_code
pool_take(struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f)
{
	struct line *l = &p->line[line];
	struct slot *s = &l->slot[l->head % p->depth];

	(void)wait;
	*job = NULL;
	if (pool_empty(p, line))
		return FAIL_NONE;
	l->head++;
	*job = s->job;
	return s->work(s->job, p->of_worker, f);
}

void
pool_wait(struct pool *p, int timeout_ms)
{
	(void)p;
	(void)timeout_ms;
}

#endif
