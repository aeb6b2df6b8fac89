/*
 * prefetch.h -- threads that bring the steps that come next into memory, in order.
 *
 * Each of `threads` threads does the same. When there is room it collects the next step; one thread
 * at a time does, because a reader belongs to one thread. Then it decodes that step, while another
 * thread collects the one after:
 *
 *     thread 1   collect 7 | decode 7 .............. | collect 9 | decode 9 ...
 *     thread 2             | collect 8 | decode 8 .............. | collect 10 | ...
 *     ring       7 enters    8 enters    7 is ready    9 enters    8 is ready
 *     caller                             gets 7                    gets 8
 *
 * Order without a queue: a step gets its place in the ring when it is collected, under the lock and
 * in the order of steps; decoding only turns that place from DECODING to READY (or BAD). The caller
 * always takes the oldest place. So no records are handed from thread to thread, and nothing that
 * finishes early needs to be sorted back. What stops the collecting, a failure or the end of the
 * mix, is met by prefetch_next() after the steps before it.
 *
 *     ring:   | READY 7 | READY 8 | DECODING 9 | BAD 10 | DECODING 11 |        |
 *             ^ first                                                 ^ end
 *     prefetch_next() gives 7, then 8, waits for 9, then fails with 10's failure, each time
 *
 * Limits: steps in the ring take `ahead_bytes` by the largest step met, at least PREFETCH_STEPS_MIN
 * and at most PREFETCH_STEPS_MAX of them, the one that the caller looks at included.
 *
 * Half a ring: once the ring is full, no thread collects until half of it is free. To wake a thread
 * for every step that the caller takes would cost the caller more than taking the step; like this
 * it pays once for half a ring of steps, and the other half is ready meanwhile.
 *
 * SCHED_BATCH: the threads run under this policy: a thread that is woken then does not take the
 * processor from the trainer that woke it (sched(7)), which else costs 1 to 3 ms now and then.
 *
 * Invariants, behind the lock: first <= end <= first + PREFETCH_STEPS_MAX; entries of [first, end)
 * have a slot; at most one thread collects; `busy` counts the threads that hold a slot or the
 * reader.
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
	 * Called in one of the threads while the caller waits: writes why the step that is due does
	 * not come into reason[room]. NULL: no reasons.
	 */
	void (*why)(void *opaque, const struct reader *r, char *reason, size_t room);
	/*
	 * What asks a broker for the caller, who must not wait for it: called in one of the
	 * threads, once for each prefetch_do_chore(), which needs it.
	 */
	void (*chore)(void *opaque);
	void *opaque;
};

/*
 * Gives *out, paused, to be ended with prefetch_close(). Borrows reader and pool for its life.
 * 0 < threads <= PREFETCH_THREADS_MAX.
 */
enum fail_code prefetch_open(struct prefetch **out, struct reader *reader, struct step_pool *pool,
    const struct prefetch_options *o, struct failure *f);
void prefetch_close(struct prefetch *p); /* NULL is accepted */

/*
 * Gives *out, the next step, to be handed out or put back; NULL: the mix has ended. FAIL_TIMEOUT
 * after deadline_ms (clock_ms()), and `reason` says why, as far as it is known ("" else). After
 * another failure the next call tries once more, or fails in the same way where the step itself is
 * bad. Not while paused.
 */
enum fail_code prefetch_next(struct prefetch *p, int64_t deadline_ms, struct step_slot **out,
    char reason[static PREFETCH_REASON_MAX], struct failure *f);

/* Steps in the ring, decoded or being decoded. Any thread. */
uint64_t prefetch_depth(struct prefetch *p);

/* Whether the last prefetch_next() failed because the step is not kept any more. */
bool prefetch_expired(const struct prefetch *p);

/*
 * Has `chore` called soon. It has returned before prefetch_pause() and prefetch_close() do.
 */
void prefetch_do_chore(struct prefetch *p);

/* The caller has given the step of the last prefetch_next() back: there may be room. */
void prefetch_given_back(struct prefetch *p);

/*
 * prefetch_pause() waits until no thread works, and drops what is ready: the reader is then the
 * caller's, until prefetch_resume(). What was dropped is lost for the reader, which is beyond it:
 * it must be sought back before prefetch_resume().
 */
void prefetch_pause(struct prefetch *p);
void prefetch_resume(struct prefetch *p);

#endif
