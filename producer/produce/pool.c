#include "producer/produce/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum state { QUEUED, RUNNING, DONE };

struct slot {
	void *job;
	pool_work *work;
	enum state state;
	struct failure failure; /* code FAIL_NONE: it went well */
};

/*
 * A ring of `depth` slots. Places are counted from the start and never wrap; slot i % depth has job
 * i.
 *
 *     head          next          tail
 *      | done or     | queued      | free ...
 *      | running     |             |            head <= next <= tail <= head + depth
 *
 * The owner writes head and tail, workers write next; all of them under the lock.
 */
struct line {
	struct slot slot[POOL_LINE_MAX];
	size_t head, next, tail;
};

struct worker {
	struct pool *pool;
	pthread_t thread;
	void *memory;
};

struct pool {
	pthread_mutex_t lock; /* protects line and stopping */
	pthread_cond_t queued, done;
	struct line line[POOL_LINES];
	bool stopping;
	size_t depth;
	struct pool_memory memory;
	struct worker *worker;
	size_t workers_n;
};

/* The next job that nobody has; the later line first. NULL: there is none. The lock is held. */
static struct slot *
pick(struct pool *p)
{
	for (int l = POOL_LINES - 1; l >= 0; l--)
		if (p->line[l].next < p->line[l].tail)
			return &p->line[l].slot[p->line[l].next++ % p->depth];
	return NULL;
}

static void *
run_worker(void *argument)
{
	struct worker *w = argument;
	struct pool *p = w->pool;

	pthread_mutex_lock(&p->lock);
	while (!p->stopping) {
		struct slot *s = pick(p);
		struct failure f = {.code = FAIL_NONE};

		if (s == NULL) {
			pthread_cond_wait(&p->queued, &p->lock);
			continue;
		}
		s->state = RUNNING;
		pthread_mutex_unlock(&p->lock);
		if (s->work(s->job, w->memory, &f) == FAIL_NONE)
			f.code = FAIL_NONE;
		pthread_mutex_lock(&p->lock);
		s->failure = f;
		s->state = DONE;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static enum fail_code
start_worker(struct pool *p, struct failure *f)
{
	struct worker *w = &p->worker[p->workers_n];

	w->pool = p;
	if (p->memory.open(&w->memory, p->memory.context, f) != FAIL_NONE)
		return f->code;
	if (pthread_create(&w->thread, NULL, run_worker, w) != 0) {
		p->memory.close(w->memory);
		return fail(f, FAIL_MEMORY, "cannot start a worker thread");
	}
	p->workers_n++;
	return FAIL_NONE;
}

enum fail_code
pool_open(struct pool **out, size_t workers, size_t depth, const struct pool_memory *memory,
    struct failure *f)
{
	struct pool *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;

	assert(workers >= 1);
	assert(workers <= POOL_WORKERS_MAX);
	assert(depth >= 1);
	assert(depth <= POOL_LINE_MAX);
	if (p == NULL)
		return fail_memory(f);
	p->depth = depth;
	p->memory = *memory;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->queued, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	p->worker = calloc(workers, sizeof(*p->worker));
	if (p->worker == NULL)
		fail_memory(f);
	for (size_t i = 0; p->worker != NULL && i < workers; i++)
		if (start_worker(p, f) != FAIL_NONE)
			break;
	if (p->workers_n < workers) {
		pool_close(p, NULL);
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
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->queued);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->workers_n; i++) {
		pthread_join(p->worker[i].thread, NULL);
		p->memory.close(p->worker[i].memory);
	}
	for (int l = 0; l < POOL_LINES; l++)
		for (size_t i = p->line[l].head; i < p->line[l].tail; i++)
			drop((enum pool_line)l, p->line[l].slot[i % p->depth].job);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->queued);
	pthread_mutex_destroy(&p->lock);
	free(p->worker);
	free(p);
}

/* The owner alone writes head and tail, so that it may read them without the lock. */
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
	pthread_mutex_lock(&p->lock);
	assert(l->head <= l->next);
	assert(l->next <= l->tail);
	l->slot[l->tail % p->depth] = (struct slot){.job = job, .work = work, .state = QUEUED};
	l->tail++;
	pthread_cond_signal(&p->queued);
	pthread_mutex_unlock(&p->lock);
}

enum fail_code
pool_take(struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f)
{
	struct line *l = &p->line[line];
	struct slot *s = &l->slot[l->head % p->depth];

	*job = NULL;
	if (pool_empty(p, line))
		return FAIL_NONE;
	pthread_mutex_lock(&p->lock);
	/* `done` is signalled for any job: whoever waits looks at its own again. */
	while (wait && s->state != DONE)
		pthread_cond_wait(&p->done, &p->lock);
	if (s->state == DONE) {
		*job = s->job;
		l->head++;
	}
	pthread_mutex_unlock(&p->lock);
	/* The slot is behind head now, and no worker's: it may be read without the lock. */
	if (*job == NULL || s->failure.code == FAIL_NONE)
		return FAIL_NONE;
	*f = s->failure;
	return f->code;
}

static bool
any_done(const struct pool *p)
{
	for (int l = 0; l < POOL_LINES; l++)
		if (p->line[l].head < p->line[l].tail &&
		    p->line[l].slot[p->line[l].head % p->depth].state == DONE)
			return true;
	return false;
}

void
pool_wait(struct pool *p, int timeout_ms)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	deadline.tv_sec += timeout_ms / 1000 + deadline.tv_nsec / 1000000000;
	deadline.tv_nsec %= 1000000000;
	pthread_mutex_lock(&p->lock);
	while (!any_done(p))
		if (pthread_cond_timedwait(&p->done, &p->lock, &deadline) != 0)
			break;
	pthread_mutex_unlock(&p->lock);
}
