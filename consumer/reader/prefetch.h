/*
 * prefetch.h -- threads that bring the steps that come next into memory, in order.
 *
 * Each of `threads` threads does the same: when there is room it collects the next step (one at a
 * time does, for the reader is one thread's), then decodes it while another collects the one after.
 * Steps are handed out in the order of collecting. What stops the collecting, a failure or the end
 * of the mix, is met by prefetch_next() after the steps before it.
 *
 *     collector    wait for room -> reader_collect() -> reader_take()  -> slot in the ring
 *     same thread  step_slot_decode()                                   -> slot is ready
 *     caller       prefetch_next(): the oldest slot, once it is ready
 *
 * Bounds: steps in the ring take `ahead_bytes` by the largest seen, at least PREFETCH_STEPS_MIN and
 * at most PREFETCH_STEPS_MAX of them, the caller's included.
 *
 * Thread: the functions belong to the caller's thread. The reader belongs to the threads, but for
 * the time between prefetch_pause() and prefetch_resume(), and for commits.
 */
#ifndef CONSUMER_READER_PREFETCH_H
#define CONSUMER_READER_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/reader/reader.h"
#include "consumer/reader/step_slot.h"

enum {
	PREFETCH_STEPS_MIN = 2,
	PREFETCH_STEPS_MAX = 64,
	PREFETCH_THREADS_MAX = 64,
	PREFETCH_REASON_MAX = 512,
};

struct prefetch;

struct prefetch_options {
	uint64_t ahead_bytes;
	uint32_t threads;
	/*
	 * Called in a thread of ours while the caller waits: why the step that is due does not
	 * come, in `reason`. NULL: nobody asks.
	 */
	void (*why)(void *opaque, const struct reader *r, char *reason, size_t room);
	void *opaque;
};

/* Gives *out, to be ended with prefetch_close(). Borrows reader and pool for its life. Paused. */
enum fail_code prefetch_open(struct prefetch **out, struct reader *reader, struct step_pool *pool,
    const struct prefetch_options *o, struct failure *f);
void prefetch_close(struct prefetch *p); /* NULL is accepted */

/*
 * Gives *out, the next step, to be handed out or put back; NULL: the mix has ended. FAIL_TIMEOUT
 * after deadline_ms (clock_ms()), and `reason` says why, as far as it is known ("" else). Other
 * failures: the next call tries again, or meets it again where the step itself is bad.
 */
enum fail_code prefetch_next(struct prefetch *p, int64_t deadline_ms, struct step_slot **out,
    char reason[static PREFETCH_REASON_MAX], struct failure *f);

/* The last failure of prefetch_next() was that the step is not kept any more. */
bool prefetch_expired(const struct prefetch *p);

/* The step of the last prefetch_next() is not looked at any more: there may be room. */
void prefetch_given_back(struct prefetch *p);

/* Waits until no thread works, and drops what is ready: the reader is then the caller's. */
void prefetch_pause(struct prefetch *p);
void prefetch_resume(struct prefetch *p);

#endif
