/*
 * pool.h -- worker threads that do jobs in any order and give them back in the order of submission.
 *
 * A pool has two lines, each with its own order; workers prefer the later line (POOL_FRAMES), whose
 * jobs are the end of what the earlier line began: so memory is given back before more is filled.
 *
 *     submitted    t1 t2 t3 t4        workers are at t1, t3 and t4; t2 is done
 *     taken back   nothing yet: t1 is the oldest, and not done. Then t1, t2, and t3 when it is
 *
 * A slow job holds up those behind it, which wait done in their line; a line has a depth, and the
 * owner submits nothing where it is full. With two jobs a worker and two more, workers have work
 * while the oldest is waited for.
 *
 * The order of giving back is what makes the bytes of a corpus independent of threads: the owner
 * sees the jobs as if it had done them itself, one after the other.
 *
 * Thread: the functions belong to one thread, the owner; a job's work runs on a worker with that
 * worker's own memory, and nobody else touches the job until it was taken back.
 */
#ifndef PRODUCER_PRODUCE_POOL_H
#define PRODUCER_PRODUCE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

enum pool_line { POOL_TEXTS, POOL_FRAMES };
enum { POOL_LINES = 2, POOL_WORKERS_MAX = 256, POOL_LINE_MAX = 2 * POOL_WORKERS_MAX + 2 };

struct pool;

/* A worker's own memory, made and ended by the pool. */
struct pool_memory {
	enum fail_code (*open)(void **out, void *context, struct failure *f);
	void (*close)(void *memory); /* NULL is passed on */
	void *context;
};

typedef enum fail_code pool_work(void *job, void *memory, struct failure *f);

/* Gives *out, to be ended with pool_close(). `depth` jobs a line, at most POOL_LINE_MAX. */
enum fail_code pool_open(struct pool **out, size_t workers, size_t depth,
    const struct pool_memory *memory, struct failure *f);

/* Waits for the running jobs; `drop` gets every job that was not taken back. NULL is accepted. */
void pool_close(struct pool *p, void (*drop)(enum pool_line line, void *job));

bool pool_full(const struct pool *p, enum pool_line line);
bool pool_empty(const struct pool *p, enum pool_line line);
/* The line must not be full. Nobody but the worker touches the job until pool_take() gives it. */
void pool_submit(struct pool *p, enum pool_line line, void *job, pool_work *work);

/*
 * The oldest job of a line: *job = NULL where the line is empty, or the job is not done yet and
 * `wait` is not set. A job whose work failed is given back with its failure.
 */
enum fail_code pool_take(
    struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f);

/* Waits until the oldest job of some line is done, or timeout_ms have passed. */
void pool_wait(struct pool *p, int timeout_ms);

#endif
