/*
 * riffle_progress.c -- part of the public API (riffle.h): what was trained, reported and committed
 * by the process that trains, wherever the steps are read.
 *
 * Who does what:
 *
 *     the caller   riffle_progress_trained(): queues the report, notes the place, wakes the thread
 *     the thread   waits until the reports are delivered, then commits the newest place; waits for
 *                  the answer; repeats the last commit where nothing is trained for long
 *
 * Reports first: were step 7 committed before its losses are delivered, a process that dies in
 * between would leave them out for ever, since nobody trains step 7 again. The other way round it
 * is trained and reported again, and whoever reads the reports counts one of (run, step, rank).
 *
 * Repeating needs a thread: the trainer may wait for a step in a queue of its framework, where no
 * call of ours runs (committer.h says which race the repeating ends). But a process that hangs may
 * have been replaced by a newer one of the same run, whose commits it must not take back every ten
 * seconds. So before it repeats, the thread asks where the run's lanes stand, and repeats only
 * where one stands lower. Nothing else fences an old process: commits without a group membership
 * have no generation, and what an old one trains, it commits. The mixer warns (MIX-RUN-BACK), and a
 * checkpoint is not touched by it.
 *
 * Threads: the lanes and the committer are the thread's once it runs; everything below `lock` is of
 * whoever holds it. The reporter is used under the lock, and never waits there.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/thread.h"
#include "consumer/batches/lanes.h"
#include "consumer/feedback/reporter.h"
#include "consumer/ledger/ledger_runs.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/commit_pace.h"
#include "consumer/reader/committer.h"
#include "consumer/reader/riffle_internal.h"

enum {
	ANSWER_MS = 100, /* between two looks at a commit on its way, */
	REPORT_MS = 10,  /* or at reports on their way */
	STACK_BYTES = 256 << 10,
};

struct riffle_progress {
	struct riffle_gate gate; /* for riffle_progress_close(): the lock lets calls share */
	char mix[NAME_MAX_BYTES + 1], run[NAME_MAX_BYTES + 1];
	uint32_t rank, world;
	int timeout_ms;
	struct properties properties;
	struct lanes *lanes;
	struct committer *committer;
	pthread_t thread;
	bool runs, ahead_said;
	bool run_checked; /* a mistyped run was looked for; the thread's */

	pthread_mutex_t lock;      /* of all below */
	pthread_cond_t work;       /* for the thread: there is something to commit, or `stop` */
	pthread_cond_t done;       /* for the caller: `busy` has changed */
	struct reporter *reporter; /* NULL: nothing was reported yet */
	struct commit_pace pace;   /* its position is what was trained */
	int64_t *offset_next;      /* [lanes]: the place of that position */
	bool any;                  /* something was trained */
	bool due;                  /* the place is to be committed */
	bool busy;                 /* a commit is on its way */
	bool stop;
	uint64_t good;          /* committed */
	int64_t last_ms;        /* when something was trained or repeated last */
	struct failure failure; /* that no call has given yet; code FAIL_NONE: none */
};

/* ---- the thread; all of these are called with the lock held ---- */

/* Waits for `cond`, until_ms at most. */
static void
wait_until(struct riffle_progress *p, pthread_cond_t *cond, int64_t until_ms)
{
	struct timespec until = {
	    .tv_sec = (time_t)(until_ms / 1000),
	    .tv_nsec = (long)(until_ms % 1000) * 1000000,
	};

	pthread_cond_timedwait(cond, &p->lock, &until);
}

static void
keep_failure(struct riffle_progress *p, const struct failure *f)
{
	if (p->failure.code == FAIL_NONE)
		p->failure = *f;
}

/* Whether all reports are delivered, or lost, which the next call says. */
static bool
reported(struct riffle_progress *p)
{
	enum fail_code code;
	struct failure f;

	if (p->reporter == NULL)
		return true;
	code = reporter_flush(p->reporter, 0, &f);
	if (code != FAIL_NONE && code != FAIL_TIMEOUT)
		keep_failure(p, &f);
	return code != FAIL_TIMEOUT;
}

/* The lock is let go for a look at the broker. */
static void
send_commit(struct riffle_progress *p)
{
	struct failure f;

	pthread_mutex_unlock(&p->lock);
	if (!p->run_checked)
		ledger_runs_warn(p->mix, p->run, &p->properties);
	p->run_checked = true;
	committer_look(p->committer, p->mix, p->run, clock_ms());
	pthread_mutex_lock(&p->lock);
	p->due = false;
	commit_pace_asked(&p->pace);
	if (committer_ask(p->committer, p->pace.position, p->offset_next, &f) != FAIL_NONE)
		keep_failure(p, &f);
	p->busy = committer_flies(p->committer);
}

/* Waits for the answer to the commit on its way; the lock is let go meanwhile. */
static void
take_answer(struct riffle_progress *p)
{
	struct failure f, failed;
	enum fail_code code;

	pthread_mutex_unlock(&p->lock);
	committer_poll(p->committer, ANSWER_MS, &f);
	code = committer_failure(p->committer, &failed);
	pthread_mutex_lock(&p->lock);
	if (code != FAIL_NONE)
		keep_failure(p, &failed);
	p->good = committer_good(p->committer);
	p->busy = committer_flies(p->committer);
}

/*
 * Whether another process has committed a later step for one of the rank's lanes. Where that cannot
 * be known nothing is repeated either.
 */
static bool
overtaken(struct riffle_progress *p)
{
	uint32_t total = lanes_total(p->lanes), first = lanes_first(p->lanes);
	int64_t *offset_next = calloc(total, sizeof(*offset_next));
	uint64_t *step = calloc(total, sizeof(*step)), good = committer_good(p->committer);
	char **metadata = calloc(total, sizeof(*metadata));
	struct run_position at;
	struct failure f;
	bool found = true;

	if (offset_next != NULL && step != NULL && metadata != NULL &&
	    lanes_committed(p->lanes, offset_next, metadata, p->timeout_ms, &f) == FAIL_NONE &&
	    run_position_lowest(&at, step, offset_next, metadata, total, &f) == FAIL_NONE) {
		found = false;
		for (uint32_t i = first; i < first + lanes_count(p->lanes); i++)
			found = found || step[i] > good;
		if (found && !p->ahead_said)
			log_warning("riffle: READ-RUN-TWICE run %s of mix %s has committed more "
				    "than step %" PRIu64 ", where this process stands: another one "
				    "trains the same run. End one of them, or give it a run of "
				    "its own",
			    p->run, p->mix, good);
		p->ahead_said = p->ahead_said || found;
	}
	for (uint32_t i = 0; metadata != NULL && i < total; i++)
		free(metadata[i]);
	free(metadata);
	free(offset_next);
	free(step);
	return found;
}

static void
repeat(struct riffle_progress *p)
{
	bool after;

	pthread_mutex_unlock(&p->lock);
	committer_look(p->committer, p->mix, p->run, clock_ms());
	after = overtaken(p);
	pthread_mutex_lock(&p->lock);
	p->last_ms = clock_ms();
	if (!after && !p->due)
		committer_repeat(p->committer, 0, NULL);
	p->busy = committer_flies(p->committer);
}

static void *
thread_main(void *opaque)
{
	struct riffle_progress *p = opaque;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		int64_t repeat_ms = p->last_ms + COMMIT_PACE_REPEAT_MS;

		if (p->due && reported(p))
			send_commit(p);
		if (committer_flies(p->committer))
			take_answer(p);
		else if (p->due)
			wait_until(p, &p->work, clock_ms() + REPORT_MS);
		else if (!p->any)
			pthread_cond_wait(&p->work, &p->lock);
		else if (clock_ms() < repeat_ms)
			wait_until(p, &p->work, repeat_ms);
		else
			repeat(p);
		pthread_cond_broadcast(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- waiting for the thread ---- */

/* Gives a failure of an earlier report or commit, once. Lock is held. */
static enum fail_code
earlier_failure(struct riffle_progress *p, struct failure *f)
{
	enum fail_code code = p->failure.code;

	if (code != FAIL_NONE)
		*f = p->failure;
	p->failure.code = FAIL_NONE;
	return code;
}

/* Commits all that is trained, and waits for the answers, or until riffle_gate_ends(g). `g` may be
 * NULL. */
static enum fail_code
flush(struct riffle_progress *p, int timeout_ms, const struct riffle_gate *g, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	enum fail_code code;

	pthread_mutex_lock(&p->lock);
	p->due = p->due || commit_pace_due_at_end(&p->pace);
	pthread_cond_signal(&p->work);
	while ((p->due || p->busy || !reported(p)) && clock_ms() < deadline_ms &&
	       !(g != NULL && riffle_gate_ends(g)))
		wait_until(p, &p->done, clock_ms() + REPORT_MS);
	code = earlier_failure(p, f);
	if (code == FAIL_NONE && (p->due || p->busy || !reported(p)))
		code = g != NULL && riffle_gate_ends(g)
			   ? riffle_gate_fail_ended(g, f)
			   : fail(f, FAIL_TIMEOUT,
				 "committing step %" PRIu64
				 " of run %s of mix %s: not answered within %d ms",
				 p->pace.position, p->run, p->mix, timeout_ms);
	pthread_mutex_unlock(&p->lock);
	return code;
}

/* ---- opening and closing ---- */

static void
open_locks(struct riffle_progress *p)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* as clock_ms(), for wait_until() */
	pthread_cond_init(&p->work, &attr);
	pthread_cond_init(&p->done, &attr);
	pthread_condattr_destroy(&attr);
}

static enum fail_code
connect_progress(struct riffle_progress *p, const struct riffle_options *o, struct failure *f)
{
	char group[sizeof(p->mix) + sizeof(p->run)];
	struct lanes_options lanes = {
	    .mix = p->mix,
	    .group = group,
	    .rank = o->rank,
	    .world = o->world,
	    .uneven = o->uneven != 0,
	    .properties = &p->properties,
	    .timeout_ms = p->timeout_ms,
	};
	int err;

	snprintf(group, sizeof(group), "%s.%s", p->mix, p->run);
	if (riffle_properties_copy(
		&p->properties, o->bootstrap, o->properties, o->properties_n, f) != FAIL_NONE ||
	    lanes_open(&p->lanes, &lanes, f) != FAIL_NONE ||
	    committer_open(&p->committer, p->lanes, 0, f) != FAIL_NONE)
		return f->code;
	p->offset_next = calloc(lanes_count(p->lanes), sizeof(*p->offset_next));
	if (p->offset_next == NULL)
		return fail_memory(f);
	err = thread_start(&p->thread, STACK_BYTES, thread_main, p);
	p->runs = err == 0;
	errno = err;
	return p->runs ? FAIL_NONE
		       : fail_errno(f, FAIL_MEMORY, "starting a thread; " THREAD_LIMITS);
}

int
riffle_progress_open(
    struct riffle_progress **out, const struct riffle_options *options, struct riffle_error *e)
{
	struct riffle_options o;
	struct riffle_progress *p;
	struct failure f;

	*out = NULL;
	if (riffle_take_options(&o, options, &f) != FAIL_NONE ||
	    riffle_check_names(&o, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	p = calloc(1, sizeof(*p));
	if (p == NULL) {
		fail_memory(&f);
		return riffle_give_failure(e, &f);
	}
	open_locks(p);
	riffle_gate_init(&p->gate, "progress", true);
	p->rank = o.rank;
	p->world = o.world;
	p->timeout_ms = riffle_timeout_ms(o.open_timeout_ms);
	snprintf(p->mix, sizeof(p->mix), "%s", o.mix);
	snprintf(p->run, sizeof(p->run), "%s", riffle_run(&o));
	commit_pace_init(&p->pace, o.commit_every > 0 ? o.commit_every : 1, 0, false);
	if (connect_progress(p, &o, &f) == FAIL_NONE) {
		*out = p;
		return RIFFLE_OK;
	}
	riffle_progress_close(p);
	return riffle_give_failure(e, &f);
}

void
riffle_progress_close(struct riffle_progress *p)
{
	struct failure ignored;

	if (p == NULL || !riffle_gate_end(&p->gate))
		return; /* in a child of a fork nothing of it can be ended */
	if (p->runs) {
		flush(p, RIFFLE_CLOSE_TIMEOUT_MS, NULL, &ignored);
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_signal(&p->work);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	reporter_close(p->reporter);
	committer_close(p->committer);
	lanes_close(p->lanes);
	properties_clear(&p->properties);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p->offset_next);
	free(p);
}

/* ---- what was trained ---- */

/* Lock is held. */
static enum fail_code
check_place(const struct riffle_progress *p, const struct riffle_place *place, struct failure *f)
{
	if (place->lanes != lanes_count(p->lanes))
		return fail(f, FAIL_USAGE,
		    "a place of %zu lanes, where rank %" PRIu32 " of %" PRIu32 " has %" PRIu32,
		    place->lanes, p->rank, p->world, lanes_count(p->lanes));
	if (place->offset_next == NULL)
		return fail(f, FAIL_USAGE, "a place without offset_next");
	if (place->step >= LIMIT_STEP)
		return fail(f, FAIL_USAGE, "step %" PRIu64 " is out of range", place->step);
	if (p->any && place->step <= p->pace.position)
		return fail(f, FAIL_USAGE,
		    "all steps below %" PRIu64 " are trained already, this says below %" PRIu64,
		    p->pace.position, place->step);
	return FAIL_NONE;
}

/* Lock is held. */
static enum fail_code
report(struct riffle_progress *p, uint64_t step, const struct riffle_loss *loss, size_t n,
    struct failure *f)
{
	struct feedback b = {
	    .mix = p->mix,
	    .run = p->run,
	    .step = (int64_t)step,
	    .rank = p->rank,
	    .world = p->world,
	};

	if (n == 0)
		return FAIL_NONE;
	if (p->reporter == NULL &&
	    reporter_open(&p->reporter, p->mix, &p->properties, p->timeout_ms, f) != FAIL_NONE)
		return f->code;
	return riffle_send_losses(p->reporter, &b, loss, n, f);
}

/* Lock is held. */
static void
note_place(struct riffle_progress *p, const struct riffle_place *place)
{
	if (p->any)
		commit_pace_trained(&p->pace, place->step, place->lead);
	else
		commit_pace_init(&p->pace, p->pace.every, place->step, false);
	memcpy(p->offset_next, place->offset_next, place->lanes * sizeof(*place->offset_next));
	p->due = p->due || !p->any || commit_pace_due(&p->pace);
	p->any = true;
	p->last_ms = clock_ms();
	pthread_cond_signal(&p->work);
}

int
riffle_progress_trained(struct riffle_progress *p, const struct riffle_place *place,
    const struct riffle_loss *loss, size_t n, struct riffle_error *e)
{
	struct riffle_place at;
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&p->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	pthread_mutex_lock(&p->lock);
	code = earlier_failure(p, &f);
	if (code == FAIL_NONE)
		code = riffle_take(&at, sizeof(at), place, "riffle_place", &f);
	if (code == FAIL_NONE)
		code = check_place(p, &at, &f);
	if (code == FAIL_NONE)
		code = report(p, at.step - 1, loss, n, &f);
	if (code == FAIL_NONE)
		note_place(p, &at);
	pthread_mutex_unlock(&p->lock);
	riffle_gate_leave(&p->gate);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

int
riffle_progress_flush(struct riffle_progress *p, int timeout_ms, struct riffle_error *e)
{
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&p->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = flush(p, timeout_ms, &p->gate, &f);
	riffle_gate_leave(&p->gate);
	if (code == FAIL_TIMEOUT)
		return riffle_give(e, RIFFLE_TIMEOUT, f.text);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

uint64_t
riffle_progress_committed(const struct riffle_progress *p)
{
	struct riffle_progress *mine = (struct riffle_progress *)(uintptr_t)p; /* for its lock */
	uint64_t good;

	if (!riffle_gate_is_here(&p->gate))
		return 0;
	pthread_mutex_lock(&mine->lock);
	good = p->good;
	pthread_mutex_unlock(&mine->lock);
	return good;
}
