#include "consumer/reader/prefetch.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/thread.h"

enum {
	SLICE_MS = 250,      /* of waiting for records: the most that `interrupt` is overlooked */
	WHY_FIRST_MS = 1000, /* that the caller has waited before anybody asks why */
	WHY_EVERY_MS = 2000, /* between two times that somebody does */
	STACK_BYTES = 1 << 20,
};

enum entry_state { ENTRY_DECODING, ENTRY_READY, ENTRY_BAD };

struct entry {
	struct step_slot *slot;
	enum entry_state state;
	struct failure failure; /* ENTRY_BAD */
};

enum collecting { COLLECT_ON, COLLECT_FAILED, COLLECT_ENDED };

struct prefetch {
	struct reader *reader;
	struct step_pool *pool;
	struct prefetch_options o;
	pthread_t *thread; /* [threads_n] */
	uint32_t threads_n;
	atomic_bool interrupt;     /* whoever collects shall return */
	atomic_int_least64_t asks; /* clock_ms() since when the caller waits; 0: it does not */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t work;  /* there may be something to collect */
	pthread_cond_t done;  /* a step is ready, collecting has stopped, or a thread rests */
	struct entry entry[PREFETCH_STEPS_MAX];
	uint64_t first, end; /* entries [first, end), modulo PREFETCH_STEPS_MAX */
	bool lent;           /* the caller looks at one that has left the ring */
	bool full;           /* nothing is collected until half of the ring is free again */
	size_t step_bytes;   /* of the largest step met */
	size_t tokens_each;  /* of its sequences; 0: none met yet */
	enum collecting state;
	struct failure failure; /* COLLECT_FAILED */
	bool failure_expired;
	bool collects; /* a thread does */
	uint32_t busy; /* threads that do not rest */
	bool paused, stop;
	bool chore; /* it is to be called */
	char reason[PREFETCH_REASON_MAX];

	bool expired; /* the caller's: of the failure given last */
};

static struct entry *
entry_at(struct prefetch *p, uint64_t number)
{
	return &p->entry[number % PREFETCH_STEPS_MAX];
}

/* Steps that the ring and the caller may hold together. */
static uint64_t
steps_max(const struct prefetch *p)
{
	uint64_t n = p->step_bytes == 0 ? 0 : p->o.ahead_bytes / p->step_bytes;

	if (n < PREFETCH_STEPS_MIN)
		return PREFETCH_STEPS_MIN;
	return n < PREFETCH_STEPS_MAX ? n : PREFETCH_STEPS_MAX;
}

/* Also remembers whether the ring was full: then half of it must be free first (prefetch.h). */
static bool
has_room(struct prefetch *p)
{
	uint64_t steps = p->end - p->first + (p->lent ? 1 : 0), most = steps_max(p);

	p->full = steps >= most || (p->full && steps > most / 2);
	return !p->full;
}

/* Lock is held, here and in all of the above. */
static bool
may_collect(struct prefetch *p)
{
	return !p->paused && !p->collects && p->state == COLLECT_ON && has_room(p);
}

/* ---- the threads ---- */

/* Asks why nothing comes, where the caller has waited long enough. Lock is not held. */
static void
ask_why(struct prefetch *p, int64_t *asked_ms)
{
	char reason[PREFETCH_REASON_MAX] = "";
	int64_t now_ms = clock_ms(), waits_ms = atomic_load(&p->asks);

	if (p->o.why == NULL || waits_ms == 0 || now_ms - waits_ms < WHY_FIRST_MS ||
	    now_ms - *asked_ms < WHY_EVERY_MS)
		return;
	p->o.why(p->o.opaque, p->reader, reason, sizeof(reason));
	*asked_ms = clock_ms();
	pthread_mutex_lock(&p->lock);
	memcpy(p->reason, reason, sizeof(reason));
	pthread_mutex_unlock(&p->lock);
}

/*
 * Collects the next step into *slot; NULL: the mix has ended. FAIL_STOPPED: interrupted. Lock is
 * not held: `collects` alone keeps other threads off the reader.
 */
static enum fail_code
collect(struct prefetch *p, struct step_slot **slot, struct failure *f)
{
	int64_t asked_ms = clock_ms() - WHY_EVERY_MS;
	enum fail_code code;

	*slot = NULL;
	p->reader->expired = false;
	do {
		if (atomic_load(&p->interrupt))
			return fail(f, FAIL_STOPPED, "interrupted");
		code = p->reader->ended ? FAIL_NONE
					: reader_collect(p->reader, clock_ms() + SLICE_MS, f);
		if (code == FAIL_TIMEOUT)
			ask_why(p, &asked_ms);
	} while (code == FAIL_TIMEOUT);
	if (code != FAIL_NONE || p->reader->ended)
		return code;
	if (step_pool_get(p->pool, slot, f) != FAIL_NONE)
		return f->code;
	reader_take(p->reader, *slot);
	return FAIL_NONE;
}

/*
 * Collects a step and enters it into the ring, as *number; NULL where none came. Lock is held, and
 * let go while it waits. A failure is kept for prefetch_next(), which also sets collecting on
 * again.
 */
static struct step_slot *
collect_locked(struct prefetch *p, uint64_t *number)
{
	struct step_slot *slot;
	struct failure f = {0};
	enum fail_code code;

	assert(!p->collects);
	p->collects = true;
	pthread_mutex_unlock(&p->lock);
	code = collect(p, &slot, &f);
	pthread_mutex_lock(&p->lock);
	p->collects = false;
	if (slot != NULL) {
		assert(p->end - p->first < PREFETCH_STEPS_MAX);
		*number = p->end++;
		*entry_at(p, *number) = (struct entry){.slot = slot};
		p->reason[0] = '\0';
		pthread_cond_signal(&p->work); /* another one may collect */
	} else if (code == FAIL_NONE) {
		p->state = COLLECT_ENDED;
	} else if (code != FAIL_STOPPED) {
		p->state = COLLECT_FAILED;
		p->failure = f;
		p->failure_expired = p->reader->expired;
	}
	return slot;
}

/*
 * Decodes the step of entry `number`. Lock is held, and let go while it works: nobody else touches
 * an entry that is DECODING. How long a sequence is belongs to the mix: once one step has shown it,
 * the others get their memory before the first frame is looked at.
 */
static void
decode_locked(
    struct prefetch *p, struct step_slot *slot, uint64_t number, struct frame_codec *codec)
{
	struct entry *entry = entry_at(p, number);
	struct failure f = {0};
	enum fail_code code;
	size_t bytes;

	if (p->tokens_each > 0)
		step_decode_expect(slot->decode, p->tokens_each);
	pthread_mutex_unlock(&p->lock);
	code = step_slot_decode(slot, codec, lanes_topic(p->reader->lanes), &f);
	bytes = step_slot_bytes(slot);
	pthread_mutex_lock(&p->lock);
	if (bytes > p->step_bytes)
		p->step_bytes = bytes;
	if (code == FAIL_NONE && p->tokens_each == 0)
		p->tokens_each = slot->step.tokens_each;
	entry->state = code == FAIL_NONE ? ENTRY_READY : ENTRY_BAD;
	if (code != FAIL_NONE)
		entry->failure = f;
}

/* Lock is held, and let go meanwhile. */
static void
do_chore_locked(struct prefetch *p)
{
	p->chore = false;
	p->busy++;
	pthread_mutex_unlock(&p->lock);
	p->o.chore(p->o.opaque);
	pthread_mutex_lock(&p->lock);
	p->busy--;
	pthread_cond_broadcast(&p->done);
}

static void
work(struct prefetch *p, struct frame_codec *codec)
{
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct step_slot *slot;
		uint64_t number = 0;

		if (p->chore) {
			do_chore_locked(p);
			continue;
		}
		if (!may_collect(p)) {
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		p->busy++;
		slot = collect_locked(p, &number);
		if (slot != NULL)
			decode_locked(p, slot, number, codec);
		p->busy--;
		pthread_cond_broadcast(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
}

static void *
thread_main(void *opaque)
{
	struct prefetch *p = opaque;
	struct frame_codec *codec = NULL;
	struct sched_param usual = {0};
	struct failure f;

	/* A wish, no more: where the system refuses, the thread runs as any other. */
	pthread_setschedparam(pthread_self(), SCHED_BATCH, &usual);
	/* Without a codec each step opens its own, and reports it where memory is missing. */
	if (frame_codec_open(&codec, &f) != FAIL_NONE)
		codec = NULL;
	work(p, codec);
	frame_codec_close(codec);
	return NULL;
}

/* ---- the caller ---- */

static enum fail_code
start_threads(struct prefetch *p, struct failure *f)
{
	int err = 0;

	p->thread = calloc(p->o.threads, sizeof(*p->thread));
	if (p->thread == NULL)
		return fail_memory(f);
	for (; err == 0 && p->threads_n < p->o.threads; p->threads_n += err == 0)
		err = thread_start(&p->thread[p->threads_n], STACK_BYTES, thread_main, p);
	if (err == 0)
		return FAIL_NONE;
	errno = err;
	return fail_errno(f, FAIL_IO, "starting a thread that reads ahead; " THREAD_LIMITS);
}

enum fail_code
prefetch_open(struct prefetch **out, struct reader *reader, struct step_pool *pool,
    const struct prefetch_options *o, struct failure *f)
{
	struct prefetch *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;

	assert(o->threads > 0 && o->threads <= PREFETCH_THREADS_MAX);
	if (p == NULL)
		return fail_memory(f);
	p->reader = reader;
	p->pool = pool;
	p->o = *o;
	p->paused = true; /* the threads start to wait; prefetch_resume() lets them read */
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* as clock_ms(), for wait_done() */
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, &attr);
	pthread_condattr_destroy(&attr);
	if (start_threads(p, f) == FAIL_NONE) {
		*out = p;
		return FAIL_NONE;
	}
	prefetch_close(p);
	return f->code;
}

/*
 * Makes the threads rest, and empties the ring. A thread that collects may wait inside librdkafka:
 * lanes_wake() ends that wait, and `interrupt` keeps it from waiting once more. The threads that
 * decode finish their step. Lock is held, and let go while it waits.
 */
static void
rest(struct prefetch *p)
{
	p->paused = true;
	atomic_store(&p->interrupt, true);
	if (p->collects)
		lanes_wake(p->reader->lanes);
	while (p->busy > 0 || p->chore)
		pthread_cond_wait(&p->done, &p->lock);
	assert(!p->collects);
	lanes_sleep(p->reader->lanes);
	for (; p->first != p->end; p->first++)
		step_pool_put(entry_at(p, p->first)->slot);
	p->lent = false;
}

void
prefetch_close(struct prefetch *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	rest(p);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (uint32_t i = 0; i < p->threads_n; i++)
		pthread_join(p->thread[i], NULL);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p->thread);
	free(p);
}

void
prefetch_pause(struct prefetch *p)
{
	pthread_mutex_lock(&p->lock);
	rest(p);
	pthread_mutex_unlock(&p->lock);
}

void
prefetch_resume(struct prefetch *p)
{
	pthread_mutex_lock(&p->lock);
	p->paused = false;
	p->state = COLLECT_ON;
	p->reason[0] = '\0';
	atomic_store(&p->interrupt, false);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void
prefetch_do_chore(struct prefetch *p)
{
	assert(p->o.chore != NULL);
	pthread_mutex_lock(&p->lock);
	assert(!p->paused);
	p->chore = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void
prefetch_given_back(struct prefetch *p)
{
	pthread_mutex_lock(&p->lock);
	p->lent = false;
	if (may_collect(p))
		pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

/* False: the deadline has passed. */
static bool
wait_done(struct prefetch *p, int64_t deadline_ms)
{
	struct timespec until = {
	    .tv_sec = (time_t)(deadline_ms / 1000),
	    .tv_nsec = (long)(deadline_ms % 1000) * 1000000,
	};

	return pthread_cond_timedwait(&p->done, &p->lock, &until) != ETIMEDOUT;
}

/* Waits until prefetch_next() has an answer: a step, a failure, the end. False: the deadline. */
static bool
wait_entry(struct prefetch *p, int64_t deadline_ms)
{
	for (;;) {
		if (p->first != p->end && entry_at(p, p->first)->state != ENTRY_DECODING)
			return true;
		if (p->first == p->end && p->state != COLLECT_ON)
			return true;
		if (!wait_done(p, deadline_ms))
			return false;
	}
}

/* The answer that wait_entry() has seen. Lock is held. */
static enum fail_code
next_locked(struct prefetch *p, struct step_slot **out, struct failure *f)
{
	struct entry *entry = entry_at(p, p->first);

	if (p->first == p->end && p->state == COLLECT_ENDED)
		return FAIL_NONE;
	if (p->first == p->end) {
		*f = p->failure;
		p->expired = p->failure_expired;
		p->state = COLLECT_ON; /* the threads try once more */
		pthread_cond_signal(&p->work);
		return f->code;
	}
	assert(entry->state != ENTRY_DECODING);
	if (entry->state == ENTRY_BAD) { /* it stays there: the next call fails with it, too */
		*f = entry->failure;
		return f->code;
	}
	*out = entry->slot;
	p->first++;
	p->lent = true;
	return FAIL_NONE;
}

enum fail_code
prefetch_next(struct prefetch *p, int64_t deadline_ms, struct step_slot **out,
    char reason[static PREFETCH_REASON_MAX], struct failure *f)
{
	enum fail_code code;

	*out = NULL;
	p->expired = false;
	pthread_mutex_lock(&p->lock);
	assert(!p->paused);
	/* `asks` keeps its first value over calls that time out: the caller still waits. */
	if (!(p->first != p->end && entry_at(p, p->first)->state == ENTRY_READY) &&
	    atomic_load(&p->asks) == 0)
		atomic_store(&p->asks, clock_ms());
	if (wait_entry(p, deadline_ms)) {
		atomic_store(&p->asks, 0);
		code = next_locked(p, out, f);
	} else {
		memcpy(reason, p->reason, PREFETCH_REASON_MAX);
		code = fail(f, FAIL_TIMEOUT, "not published yet");
	}
	pthread_mutex_unlock(&p->lock);
	return code;
}

bool
prefetch_expired(const struct prefetch *p)
{
	return p->expired;
}

uint64_t
prefetch_depth(struct prefetch *p)
{
	uint64_t n;

	pthread_mutex_lock(&p->lock);
	n = p->end - p->first;
	pthread_mutex_unlock(&p->lock);
	return n;
}
