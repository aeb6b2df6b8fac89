/*
 * chunk_queue.h -- chunks on their way from the thread that reads to the one that takes them.
 *
 * It holds at most CHUNK_QUEUE_MAX of them, and a further one only while all are together under
 * CHUNK_QUEUE_BYTES; so memory has a limit whoever is slow.
 *
 *     reader thread          queue             the part's thread
 *     chunk_queue_put()      c c c             chunk_queue_take()
 *       waits while full                         waits while empty, up to its timeout
 *     chunk_queue_finish()   c c | end, why    takes what is left, then the reader's failure
 *
 * Stopping. The taker may want to end while the reader waits for room, which only a take makes:
 * chunk_queue_stop() wakes the reader, whose put then fails. The taker joins the reader before it
 * closes the queue, so that nobody uses a queue that is gone.
 *
 * Thread: put and finish are the reader's, stopped is for both, the others are the taker's.
 */
#ifndef PRODUCER_INPUT_CHUNK_QUEUE_H
#define PRODUCER_INPUT_CHUNK_QUEUE_H

#include <stdbool.h>

#include "common/base/failure.h"
#include "producer/input/chunk.h"

enum {
	CHUNK_QUEUE_MAX = 8,          /* so many chunks at most, */
	CHUNK_QUEUE_BYTES = 64 << 20, /* and one more only while what is there is under this */
};

struct chunk_queue;

/* Gives *out, to be ended with chunk_queue_close() after the reader has ended. */
enum fail_code chunk_queue_open(struct chunk_queue **out, struct failure *f);
void chunk_queue_close(struct chunk_queue *q); /* NULL is accepted; closes what is left */

/* Takes `c` in any case. Waits for room; FAIL_STOPPED after chunk_queue_stop(). */
enum fail_code chunk_queue_put(struct chunk_queue *q, struct chunk *c, struct failure *f);

/*
 * Nothing more comes. The taker gets *why after the last chunk; code FAIL_NONE: the end. It must
 * not be FAIL_TIMEOUT, which the taker would take for a pause. Copies.
 */
void chunk_queue_finish(struct chunk_queue *q, const struct failure *why);

/*
 * Gives the next chunk, *out = NULL at the end. Waits timeout_ms, -1 for ever; FAIL_TIMEOUT. After
 * the last chunk gives the reader's failure, however often it is asked.
 */
enum fail_code chunk_queue_take(
    struct chunk_queue *q, int timeout_ms, struct chunk **out, struct failure *f);

/* Wakes the reader where it waits for room: from now on a put fails. It is never taken back. */
void chunk_queue_stop(struct chunk_queue *q);
bool chunk_queue_stopped(struct chunk_queue *q);

#endif
