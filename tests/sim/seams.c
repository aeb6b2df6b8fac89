/*
 * Where threads meet in the producer, whoever asks waits until the answer is there: how long a job
 * takes on this machine then decides nothing. Linked with --wrap.
 */
#include "producer/chunk_queue.h"
#include "producer/pool.h"

enum fail_code __real_pool_take(
    struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f);
enum fail_code __wrap_pool_take(
    struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f);
enum fail_code __real_chunk_queue_take(
    struct chunk_queue *q, int timeout_ms, struct input_chunk **out, struct failure *f);
enum fail_code __wrap_chunk_queue_take(
    struct chunk_queue *q, int timeout_ms, struct input_chunk **out, struct failure *f);

enum fail_code
__wrap_pool_take(struct pool *p, enum pool_line line, bool wait, void **job, struct failure *f)
{
	(void)wait;
	return __real_pool_take(p, line, true, job, f);
}

enum fail_code
__wrap_chunk_queue_take(
    struct chunk_queue *q, int timeout_ms, struct input_chunk **out, struct failure *f)
{
	(void)timeout_ms;
	return __real_chunk_queue_take(q, -1, out, f);
}
