/*
 * riffle_reader.c -- part of the public API (riffle.h): struct riffle, a rank's reader.
 *
 * It composes what has its own header: prefetch.h brings the steps, step_slot.h holds the one that
 * is lent, commit_pace.h decides when to commit and committer.h does it, watchdog.h knows why a
 * step does not come. Left to do here is the order in which one call serves them:
 *
 *     riffle_next()   take the answers to commits, and commit if that is due
 *                     take the last step back from the caller
 *                     wait for the next step; meanwhile look after commits
 *                     lend it: position and commit offsets are now behind it
 *
 * Two positions must not be confused. The reader (reader.h) runs ahead: its check.step is what is
 * fetched next, and belongs to the threads of `prefetch` while they are not paused. The trainer's
 * is pace.position, with offset_next[] beside it: what it has been given, and may commit.
 *
 * Invariants, while no call is running: `given` is lent and `next` is not; offset_next[i] is where
 * the record of step pace.position begins on lane i, or a record below it that is of no use.
 */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json_field.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/scalar.h"
#include "consumer/derive/mix_mark.h"
#include "consumer/feedback/reporter.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/ledger/ledger_runs.h"
#include "consumer/ledger/run_position.h"
#include "consumer/ledger/step_round.h"
#include "consumer/reader/commit_pace.h"
#include "consumer/reader/committer.h"
#include "consumer/reader/prefetch.h"
#include "consumer/reader/reader.h"
#include "consumer/reader/reader_metrics.h"
#include "consumer/reader/riffle_internal.h"
#include "consumer/reader/watchdog.h"

enum {
	THREADS_DEFAULT = 2,
	COMMIT_TIMEOUT_MS = 30000, /* of a commit that the caller waits for */
	LEDGER_AGAIN_MS = 1000,    /* between two looks at a ledger that had no record */
};

#define AHEAD_BYTES_DEFAULT (UINT64_C(64) << 20)

struct riffle {
	struct riffle_gate gate;    /* of what has no other lock */
	struct riffle_gate reports; /* of `reporter` */
	struct riffle_gate asks;    /* of calls that only `rounds` is for */
	atomic_bool commits;        /* the caller or the reader has asked for a commit */
	uint32_t rank, world, token_bytes;
	int timeout_ms;
	struct properties properties; /* a copy */
	struct riffle_info info;
	bool ledger_asked; /* for `info`, at ledger_ms */
	int64_t ledger_ms;
	struct reader reader;
	struct step_pool *pool;
	struct prefetch *prefetch;
	struct committer *committer;
	struct reporter *reporter; /* NULL: nothing was reported yet */
	struct watchdog *watchdog; /* NULL: nobody has waited long yet; of prefetch's threads */
	uint64_t from;           /* the first step to be given since the start, or the last seek */
	struct riffle_wait wait; /* of the caller, for the step at the position */
	bool run_checked;        /* a mistyped run was looked for */

	struct step_slot *given; /* lent to the caller; NULL: none */
	struct step_slot *next;  /* taken from the ring, not given yet; NULL: none */
	struct commit_pace pace; /* its position is the step that is given next */
	int64_t *offset_next;    /* [lanes]: where that step, or what lies below it, begins */
	struct reader_metrics metrics;
	struct {
		pthread_mutex_t lock;
		bool any, known;         /* a step was given; `round` is that of it */
		uint64_t step;           /* given last */
		struct step_round round; /* of `step` */
	} rounds;
	struct mix_mark mark; /* of the checkpoint that reading began at */
	bool unproven;        /* the ledger had not come to it: compared before a step is lent */
	int64_t unproven_ms;  /* since when a step is there and that is still so; 0: it was not */
};

/* ---- opening ---- */

static enum fail_code
check_options(const struct riffle_options *o, struct failure *f)
{
	if (riffle_check_names(o, f) != FAIL_NONE ||
	    riffle_check_token_bytes(o->token_bytes, f) != FAIL_NONE)
		return f->code;
	if (o->start != RIFFLE_START_COMMITTED && o->start != RIFFLE_START_STEP)
		return fail(f, FAIL_USAGE, "start is neither COMMITTED nor STEP");
	if (o->start == RIFFLE_START_STEP && o->step >= LIMIT_STEP)
		return fail(f, FAIL_USAGE, "step %" PRIu64 " is out of range", o->step);
	if (o->threads > PREFETCH_THREADS_MAX)
		return fail(f, FAIL_USAGE,
		    "threads is %" PRIu32 "; it is 1 to %d, or 0 for the default", o->threads,
		    PREFETCH_THREADS_MAX);
	return FAIL_NONE;
}

static uint64_t
ahead_of(const struct riffle_options *o)
{
	return o->ahead_bytes == 0 ? AHEAD_BYTES_DEFAULT : o->ahead_bytes;
}

/* Connects; what finding the run's commits needs, and no more. */
static enum fail_code
connect_reader(struct riffle *r, const struct riffle_options *o, struct failure *f)
{
	struct reader_options reader = {
	    .mix = o->mix,
	    .run = riffle_run(o),
	    .rank = o->rank,
	    .world = o->world,
	    .uneven = o->uneven != 0,
	    .properties = &r->properties,
	    .timeout_ms = riffle_timeout_ms(o->open_timeout_ms),
	    .ahead_bytes = ahead_of(o),
	    .schedule = o->schedule,
	    .stats = &r->metrics.stats,
	};

	riffle_gate_init(&r->gate, "reader", false);
	riffle_gate_init(&r->reports, "reader", false);
	riffle_gate_init(&r->asks, "reader", true);
	pthread_mutex_init(&r->rounds.lock, NULL);
	atomic_init(&r->commits, o->commit_every > 0);
	r->rank = o->rank;
	r->world = o->world;
	r->token_bytes = o->token_bytes;
	r->timeout_ms = reader.timeout_ms;
	if (riffle_properties_copy(
		&r->properties, o->bootstrap, o->properties, o->properties_n, f) != FAIL_NONE)
		return f->code;
	return reader_open(&r->reader, &reader, f);
}

/* Called in a thread of `prefetch`, which has the reader at that moment. */
static void
why(void *opaque, const struct reader *reader, char *reason, size_t room)
{
	struct riffle *r = opaque;

	if (r->watchdog == NULL)
		r->watchdog = watchdog_open(reader->mix, &r->properties);
	if (r->watchdog != NULL)
		watchdog_why(r->watchdog,
		    &(struct watchdog_reader){
			.step = reader->check.step,
			.from = r->from,
			.run = reader->run,
			.first = lanes_first(reader->lanes),
			.count = lanes_count(reader->lanes),
			.lanes = lanes_total(reader->lanes),
			.shared = lane_map_shared(lanes_map(reader->lanes)),
		    },
		    reason, room);
}

/* Called in a thread of `prefetch`, too. */
static void
check_run(void *opaque)
{
	const struct riffle *r = opaque;

	ledger_runs_warn(r->reader.mix, r->reader.run, &r->properties);
}

static enum fail_code
take_checkpoint(struct mix_mark *out, uint64_t *step, const struct riffle_checkpoint *checkpoint,
    struct failure *f)
{
	struct riffle_checkpoint c;

	if (riffle_take(&c, sizeof(c), checkpoint, "riffle_checkpoint", f) != FAIL_NONE)
		return f->code;
	if (c.step >= LIMIT_STEP || c.choices_step >= LIMIT_STEP)
		return fail(f, FAIL_USAGE,
		    "checkpoint: step %" PRIu64 " or choices_step %" PRIu64 " is out of range",
		    c.step, c.choices_step);
	*out = (struct mix_mark){c.schedule, c.choices_step, c.choices};
	*step = c.step;
	return FAIL_NONE;
}

static void
warn_unchecked(const char *mix, const char *why)
{
	log_warning(
	    "riffle: READ-CHECKPOINT-UNCHECKED cannot tell whether mix %s is the mix of this "
	    "checkpoint: %s",
	    mix, why);
}

/* FAIL_DATA: the mix is another one. *early: the ledger has not come to the mark yet. */
static enum fail_code
check_mark(const struct mix_mark *m, const char *mix, const struct properties *properties,
    int timeout_ms, bool *early, struct failure *f)
{
	enum mix_mark_verdict verdict;

	if (mix_mark_compare(m, mix, properties, timeout_ms, &verdict, f) != FAIL_NONE)
		return fail_within(f, "comparing mix %s with the checkpoint", mix);
	*early = verdict == MIX_MARK_EARLY;
	if (verdict == MIX_MARK_UNKNOWN)
		warn_unchecked(mix, f->text);
	return verdict == MIX_MARK_OTHER ? f->code : FAIL_NONE;
}

static enum fail_code
check_reader_mark(struct riffle *r, struct failure *f)
{
	r->unproven_ms = 0;
	return check_mark(&r->mark, r->reader.mix, &r->properties, r->timeout_ms, &r->unproven, f);
}

/* Finds the first step, and lets the threads read. */
static enum fail_code
start(struct riffle *r, const struct riffle_options *o, struct failure *f)
{
	bool placed = o->start == RIFFLE_START_STEP;
	uint32_t count = lanes_count(r->reader.lanes);
	struct prefetch_options prefetch = {
	    .ahead_bytes = ahead_of(o),
	    .threads = o->threads == 0 ? THREADS_DEFAULT : o->threads,
	    .why = why,
	    .chore = check_run,
	    .opaque = r,
	};
	enum fail_code code;
	uint64_t ignored;

	if (o->checkpoint != NULL &&
	    (take_checkpoint(&r->mark, &ignored, o->checkpoint, f) != FAIL_NONE ||
		check_reader_mark(r, f) != FAIL_NONE))
		return f->code;
	r->offset_next = calloc(count, sizeof(*r->offset_next));
	if (r->offset_next == NULL)
		return fail_memory(f);
	code = placed ? reader_start(&r->reader, o->step, f) : reader_resume(&r->reader, f);
	if (code != FAIL_NONE)
		return code;
	r->from = r->reader.check.step;
	commit_pace_init(&r->pace, o->commit_every, r->from, placed);
	reader_offsets(&r->reader, r->offset_next);
	r->info.lanes = lanes_total(r->reader.lanes);
	r->info.lanes_mine = count;
	if (step_pool_open(&r->pool, count, r->token_bytes, f) != FAIL_NONE ||
	    committer_open(&r->committer, r->reader.lanes, r->pace.position, f) != FAIL_NONE ||
	    prefetch_open(&r->prefetch, &r->reader, r->pool, &prefetch, f) != FAIL_NONE)
		return f->code;
	reader_metrics_at(&r->metrics, r->pace.position, committer_good(r->committer));
	prefetch_resume(r->prefetch);
	return FAIL_NONE;
}

/* The two failures of opening that a trainer can act upon have codes of their own. */
static int
give_open_failure(const struct riffle *r, struct riffle_error *e, const struct failure *f)
{
	if (r->reader.expired)
		return riffle_give(e, RIFFLE_ERROR_EXPIRED, f->text);
	if (r->reader.lost)
		return riffle_give(e, RIFFLE_ERROR_LOST, f->text);
	return riffle_give_failure(e, f);
}

int
riffle_open(struct riffle **out, const struct riffle_options *options, struct riffle_error *e)
{
	struct failure f = {0};
	struct riffle_options o;
	struct riffle *r;
	int code;

	*out = NULL;
	if (riffle_take_options(&o, options, &f) != FAIL_NONE || check_options(&o, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		fail_memory(&f);
		return riffle_give_failure(e, &f);
	}
	if (connect_reader(r, &o, &f) == FAIL_NONE && start(r, &o, &f) == FAIL_NONE) {
		*out = r;
		return RIFFLE_OK;
	}
	code = give_open_failure(r, e, &f);
	riffle_close(r);
	return code;
}

/* Gives *out (riffle_close), connected, to ask about the mix and read nothing. */
static int
connect_to_ask(struct riffle **out, const struct riffle_options *options, struct riffle_error *e)
{
	struct failure f = {0};
	struct riffle_options o;
	struct riffle *r;
	int code;

	*out = NULL;
	if (riffle_take_options(&o, options, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	o.rank = 0;
	o.world = 1;
	o.token_bytes = sizeof(uint32_t);
	o.start = RIFFLE_START_COMMITTED;
	o.threads = 0;
	if (check_options(&o, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		fail_memory(&f);
		return riffle_give_failure(e, &f);
	}
	if (connect_reader(r, &o, &f) == FAIL_NONE) {
		*out = r;
		return RIFFLE_OK;
	}
	code = give_open_failure(r, e, &f);
	riffle_close(r);
	return code;
}

int
riffle_find_committed(const struct riffle_options *options, uint64_t *step, struct riffle_error *e)
{
	struct failure f = {0};
	struct riffle_options o;
	struct riffle *r;
	int code;

	*step = 0;
	if (riffle_take_options(&o, options, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = connect_to_ask(&r, &o, e);
	if (code == RIFFLE_OK &&
	    reader_committed(&r->reader, o.start == RIFFLE_START_COMMITTED, step, &f) != FAIL_NONE)
		code = give_open_failure(r, e, &f);
	riffle_close(r);
	return code;
}

/* Takes and checks options for a call that asks about the mix alone; *properties as a copy. */
static enum fail_code
take_mix(struct riffle_options *o, struct properties *properties,
    const struct riffle_options *options, struct failure *f)
{
	if (riffle_take_options(o, options, f) != FAIL_NONE)
		return f->code;
	o->rank = 0;
	o->world = 1;
	if (riffle_check_names(o, f) != FAIL_NONE)
		return f->code;
	return riffle_properties_copy(properties, o->bootstrap, o->properties, o->properties_n, f);
}

int
riffle_find_checkpoint(const struct riffle_options *options, uint64_t step,
    struct riffle_checkpoint *out, struct riffle_error *e)
{
	struct riffle_checkpoint found = {.step = step};
	struct properties properties = {0};
	struct riffle_options o;
	struct mix_mark mark;
	struct failure f;
	bool any = false;
	enum fail_code code = riffle_fill(out, &found, sizeof(found), "riffle_checkpoint", &f);

	if (code == FAIL_NONE && step >= LIMIT_STEP)
		code = fail(&f, FAIL_USAGE, "step %" PRIu64 " is out of range", step);
	if (code == FAIL_NONE)
		code = take_mix(&o, &properties, options, &f);
	if (code == FAIL_NONE)
		code = mix_mark_find(&mark, &any, o.mix, &properties,
		    riffle_timeout_ms(o.open_timeout_ms), step, &f);
	properties_clear(&properties);
	if (code != FAIL_NONE)
		return riffle_give_failure(e, &f);
	if (!any)
		return riffle_give(e, RIFFLE_TIMEOUT,
		    "the ledger has no record at or below the step: no mixer has begun the mix, or "
		    "its records were deleted");
	found.schedule = mark.schedule;
	found.choices_step = mark.step;
	found.choices = mark.choices;
	riffle_fill(out, &found, sizeof(found), "riffle_checkpoint", &f);
	return RIFFLE_OK;
}

int
riffle_check_checkpoint(const struct riffle_options *options, struct riffle_error *e)
{
	struct properties properties = {0};
	struct riffle_options o;
	struct mix_mark mark;
	struct failure f;
	uint64_t ignored;
	bool early = false;
	enum fail_code code = take_mix(&o, &properties, options, &f);

	if (code == FAIL_NONE && o.checkpoint == NULL)
		code = fail(&f, FAIL_USAGE, "checkpoint is not set");
	if (code == FAIL_NONE)
		code = take_checkpoint(&mark, &ignored, o.checkpoint, &f);
	if (code == FAIL_NONE)
		code = check_mark(
		    &mark, o.mix, &properties, riffle_timeout_ms(o.open_timeout_ms), &early, &f);
	properties_clear(&properties);
	if (code != FAIL_NONE)
		return riffle_give_failure(e, &f);
	return early ? riffle_give(e, RIFFLE_TIMEOUT,
			   "the mix has not come to the step of the checkpoint's hash yet")
		     : RIFFLE_OK;
}

/*
 * In this order: what is on its way gets a moment to arrive; the threads end before what they use
 * does; slots are put back before their pool is closed; the lanes come last but for plain memory.
 */
void
riffle_close(struct riffle *r)
{
	struct failure ignored;

	if (r == NULL || !riffle_gate_end(&r->gate))
		return; /* in a child of a fork nothing of it can be ended */
	riffle_gate_end(&r->reports);
	riffle_gate_end(&r->asks);
	if (r->committer != NULL)
		committer_poll(r->committer, RIFFLE_CLOSE_TIMEOUT_MS, &ignored);
	if (r->reporter != NULL)
		reporter_flush(r->reporter, RIFFLE_CLOSE_TIMEOUT_MS, &ignored);
	prefetch_close(r->prefetch);
	step_slot_take_back(r->given);
	if (r->next != NULL)
		step_pool_put(r->next);
	step_pool_close(r->pool);
	watchdog_close(r->watchdog);
	reporter_close(r->reporter);
	committer_close(r->committer);
	reader_close(&r->reader);
	properties_clear(&r->properties);
	pthread_mutex_destroy(&r->rounds.lock);
	free(r->offset_next);
	free(r);
}

/* For the gate of a call that changes nothing else. */
static struct riffle *
gated(const struct riffle *r)
{
	return (struct riffle *)(uintptr_t)r;
}

int
riffle_get_info(const struct riffle *r, struct riffle_info *out)
{
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&gated(r)->gate, &f) != FAIL_NONE)
		return RIFFLE_ERROR_USAGE;
	code = riffle_fill(out, &r->info, sizeof(r->info), "riffle_info", &f);
	riffle_gate_leave(&gated(r)->gate);
	return code == FAIL_NONE ? RIFFLE_OK : RIFFLE_ERROR_USAGE;
}

uint64_t
riffle_position(const struct riffle *r)
{
	return atomic_load(&r->metrics.position);
}

int
riffle_place(const struct riffle *r, struct riffle_place *out)
{
	struct riffle_place place;
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&gated(r)->gate, &f) != FAIL_NONE)
		return RIFFLE_ERROR_USAGE;
	place = (struct riffle_place){
	    .step = r->pace.position,
	    .lead = r->pace.lead,
	    .lanes = r->info.lanes_mine,
	    .offset_next = r->offset_next,
	};
	code = riffle_fill(out, &place, sizeof(place), "riffle_place", &f);
	riffle_gate_leave(&gated(r)->gate);
	return code == FAIL_NONE ? RIFFLE_OK : RIFFLE_ERROR_USAGE;
}

/* ---- metrics ---- */

size_t
riffle_metrics(const struct riffle *r, char *buffer, size_t room)
{
	char *text;
	size_t n;

	if (room > 0)
		buffer[0] = '\0';
	if (!riffle_gate_is_here(&r->gate))
		return 0;
	text = reader_metrics_text(
	    &r->metrics, r->reader.mix, r->reader.run, prefetch_depth(r->prefetch));
	if (text == NULL)
		return 0;
	n = strlen(text);
	if (room > 0)
		snprintf(buffer, room, "%s", text);
	free(text);
	return n;
}

/* Notes where the reader stands, for metrics: after what may have changed it. */
static void
note_place(struct riffle *r)
{
	reader_metrics_at(&r->metrics, r->pace.position, committer_good(r->committer));
}

/* ---- commits ---- */

/* Asks for a commit of the position; the answer is taken by serve_commits() or wait_commits(). */
static enum fail_code
ask_commit(struct riffle *r, struct failure *f)
{
	atomic_store(&r->commits, true);
	if (!r->run_checked)
		prefetch_do_chore(r->prefetch);
	r->run_checked = true;
	committer_look(r->committer, r->reader.mix, r->reader.run, clock_ms());
	commit_pace_asked(&r->pace);
	return committer_ask(r->committer, r->pace.position, r->offset_next, f);
}

/* committer_poll(), with an eye on riffle_close() in another thread. */
static enum fail_code
poll_commits(struct riffle *r, int64_t deadline_ms, struct failure *f)
{
	for (;;) {
		int64_t until_ms = riffle_gate_slice(deadline_ms), left_ms = until_ms - clock_ms();
		enum fail_code code =
		    committer_poll(r->committer, left_ms < 0 ? 0 : (int)left_ms, f);

		note_place(r);
		if (code != FAIL_TIMEOUT || until_ms == deadline_ms)
			return code;
		if (riffle_gate_ends(&r->gate))
			return riffle_gate_fail_ended(&r->gate, f);
	}
}

static enum fail_code
wait_commits(struct riffle *r, int64_t deadline_ms, struct failure *f)
{
	if (poll_commits(r, deadline_ms, f) != FAIL_NONE)
		return f->code;
	return committer_failure(r->committer, f);
}

static enum fail_code
commit(struct riffle *r, struct failure *f)
{
	committer_failure(r->committer, f); /* an older one is made good by this one */
	if (ask_commit(r, f) != FAIL_NONE)
		return f->code;
	return wait_commits(r, clock_ms() + COMMIT_TIMEOUT_MS, f);
}

int
riffle_commit(struct riffle *r, struct riffle_error *e)
{
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = commit(r, &f);
	riffle_gate_leave(&r->gate);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

int
riffle_commit_async(struct riffle *r, struct riffle_error *e)
{
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	committer_poll(r->committer, 0, &f); /* committer_failure() returns what it finds */
	note_place(r);
	code = committer_failure(r->committer, &f);
	if (code == FAIL_NONE)
		code = ask_commit(r, &f);
	riffle_gate_leave(&r->gate);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

uint64_t
riffle_committed(const struct riffle *r)
{
	return atomic_load(&r->metrics.committed);
}

/*
 * Takes the answers to commits, and asks for one where it is due. Where only the caller commits, a
 * failure is kept for its next commit.
 */
static enum fail_code
serve_commits(struct riffle *r, struct failure *f)
{
	committer_poll(r->committer, 0, f);
	note_place(r);
	if (r->pace.every > 0 && committer_failure(r->committer, f) != FAIL_NONE)
		return f->code;
	return commit_pace_due(&r->pace) ? ask_commit(r, f) : FAIL_NONE;
}

/* ---- the next step ---- */

/* Why the step does not come, as far as anybody knows. `how`: "does not come". */
static void
explain_wait(
    const struct riffle *r, const char *how, const char *reason, char text[static FAILURE_TEXT_MAX])
{
	snprintf(text, FAILURE_TEXT_MAX, "step %" PRIu64 " of mix %s %s: %s", r->pace.position,
	    r->reader.mix, how,
	    reason[0] == '\0' ? "it is not published yet (is `riffle mix` running?)" : reason);
}

/*
 * prefetch_next() to r->next, with an eye on riffle_close() in another thread. Warns of a long
 * wait.
 */
static enum fail_code
take_next(struct riffle *r, int64_t deadline_ms, char reason[static PREFETCH_REASON_MAX],
    struct failure *f)
{
	for (;;) {
		int64_t until_ms = riffle_gate_slice(deadline_ms);
		enum fail_code code = prefetch_next(r->prefetch, until_ms, &r->next, reason, f);
		char text[FAILURE_TEXT_MAX];

		if (code != FAIL_TIMEOUT)
			return code;
		explain_wait(r, "does not come", reason, text);
		riffle_wait_remind(&r->wait, text);
		if (until_ms == deadline_ms)
			return code;
		if (riffle_gate_ends(&r->gate))
			return riffle_gate_fail_ended(&r->gate, f);
	}
}

/* Waits for the step; looks after the commit on its way meanwhile, and repeats the last one. */
static enum fail_code
wait_next(struct riffle *r, int64_t deadline_ms, char reason[static PREFETCH_REASON_MAX],
    struct failure *f)
{
	for (;;) {
		int64_t until_ms = commit_pace_wait_until(
		    &r->pace, clock_ms(), deadline_ms, committer_flies(r->committer));
		enum fail_code code = take_next(r, until_ms, reason, f);

		if (code != FAIL_TIMEOUT || until_ms == deadline_ms)
			return code;
		if (serve_commits(r, f) != FAIL_NONE)
			return f->code;
		if (!commit_pace_repeat_due(&r->pace, clock_ms()))
			continue;
		committer_look(r->committer, r->reader.mix, r->reader.run, clock_ms());
		/* Without a good commit to repeat: this one, unless only the caller commits. */
		committer_repeat(
		    r->committer, r->pace.position, r->pace.every > 0 ? r->offset_next : NULL);
		commit_pace_repeated(&r->pace, clock_ms());
	}
}

/* The same; the place where reading began is committed first, where no step comes soon. */
static enum fail_code
wait_step(struct riffle *r, int64_t deadline_ms, char reason[static PREFETCH_REASON_MAX],
    struct failure *f)
{
	int64_t first_ms = clock_ms() + COMMIT_PACE_PLACED_MS;
	enum fail_code code;

	if (commit_pace_place_due(&r->pace)) {
		code = take_next(r, first_ms < deadline_ms ? first_ms : deadline_ms, reason, f);
		if (code != FAIL_TIMEOUT)
			return code;
		if (ask_commit(r, f) != FAIL_NONE)
			return f->code;
	}
	return wait_next(r, deadline_ms, reason, f);
}

/*
 * RIFFLE_TIMEOUT, with why the step did not come. The wait is that of all calls for this step, as
 * callers with an eye on signals wait in slices.
 */
static int
give_timeout(const struct riffle *r, const char *reason, struct riffle_error *e)
{
	double waited_s = (double)(clock_ms() - r->wait.begun_ms) / 1000;
	char text[FAILURE_TEXT_MAX], how[64];

	snprintf(how, sizeof(how), "did not come within %.*f s", waited_s < 1, waited_s);
	explain_wait(r, how, reason, text);
	return riffle_give(e, RIFFLE_TIMEOUT, text);
}

/* The mix has ended. With commit_every the caller hears of it once the end is committed. */
static int
give_end(struct riffle *r, struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];
	enum fail_code code = FAIL_NONE;
	struct failure f;

	if (r->pace.every > 0)
		code = commit_pace_due_at_end(&r->pace)
			   ? commit(r, &f)
			   : wait_commits(r, clock_ms() + COMMIT_TIMEOUT_MS, &f);
	if (code != FAIL_NONE)
		return riffle_give_failure(e, &f);
	snprintf(text, sizeof(text), "mix %s has ended; there is no step %" PRIu64, r->reader.mix,
	    r->pace.position);
	return riffle_give(e, RIFFLE_END, text);
}

/* The first step gives what riffle_get_info() says of the mix; all must have the same length. */
static enum fail_code
check_length(struct riffle *r, const struct step_slot *slot, struct failure *f)
{
	if (r->info.sequence_length == 0) {
		r->info.global_batch =
		    slot->global_batch; /* until lend(), of the one that is next */
		r->info.schedule = slot->schedule;
		r->info.tokenizer = slot->tokenizer;
		r->info.sequence_length = (uint32_t)(slot->step.tokens_each - 1);
		return FAIL_NONE;
	}
	if (slot->step.tokens_each - 1 == r->info.sequence_length)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "step %" PRIu64 " of mix %s: %zu tokens, where earlier sequences have %" PRIu32,
	    slot->step.step, r->reader.mix, slot->step.tokens_each, r->info.sequence_length + 1);
}

/*
 * A step is there, and the ledger had not come to the checkpoint's mark when reading began. Now it
 * has, unless a follower lags: RIFFLE_TIMEOUT, for timeout_ms at most. A broker that is away is
 * waited for.
 */
static int
prove_mark(struct riffle *r, struct riffle_error *e)
{
	int64_t since_ms = r->unproven_ms > 0 ? r->unproven_ms : clock_ms();
	struct failure f;

	if (check_reader_mark(r, &f) != FAIL_NONE) {
		r->unproven = true; /* the next call meets it again */
		return f.code == FAIL_BROKER ? riffle_give(e, RIFFLE_TIMEOUT, f.text)
					     : riffle_give_failure(e, &f);
	}
	if (!r->unproven)
		return RIFFLE_OK;
	r->unproven_ms = since_ms;
	if (clock_ms() < since_ms + r->timeout_ms)
		return riffle_give(e, RIFFLE_TIMEOUT,
		    "the step is there, but the ledger does not show it yet, and the checkpoint is "
		    "compared with the ledger");
	warn_unchecked(r->reader.mix, "its ledger does not show the steps that are published");
	r->unproven = false;
	return RIFFLE_OK;
}

/* Takes the last step back from the caller. */
static void
take_back(struct riffle *r)
{
	if (r->given == NULL)
		return;
	step_slot_take_back(r->given);
	r->given = NULL;
	prefetch_given_back(r->prefetch);
}

/* Brings the step that is next to r->next, where it stays until lend(). */
static int
fetch(struct riffle *r, int timeout_ms, struct riffle_error *e)
{
	int64_t begun_ms = clock_ms(), deadline_ms = begun_ms + (timeout_ms < 0 ? 0 : timeout_ms);
	char reason[PREFETCH_REASON_MAX];
	struct failure f = {0};
	enum fail_code code;

	if (serve_commits(r, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	take_back(r);
	if (r->wait.begun_ms == 0)
		r->wait.begun_ms = begun_ms;
	code = r->next == NULL ? wait_step(r, deadline_ms, reason, &f) : FAIL_NONE;
	reader_metrics_waited(&r->metrics, clock_ms() - begun_ms);
	if (code == FAIL_TIMEOUT)
		return give_timeout(r, reason, e);
	r->wait = (struct riffle_wait){0};
	if (code == FAIL_NONE && r->next == NULL)
		return give_end(r, e);
	/* Checked at each call: a step that was refused stays, and is refused again. */
	if (code == FAIL_NONE)
		code = check_length(r, r->next, &f);
	if (code == FAIL_NONE)
		return r->unproven ? prove_mark(r, e) : RIFFLE_OK;
	if (prefetch_expired(r->prefetch))
		return riffle_give(e, RIFFLE_ERROR_EXPIRED, f.text);
	return riffle_give_failure(e, &f);
}

/* A step is given: its round follows from that of the step before. */
static void
pass_round(struct riffle *r, uint64_t step)
{
	pthread_mutex_lock(&r->rounds.lock);
	if (r->rounds.known)
		step_round_pass(&r->rounds.round, r->info.global_batch);
	r->rounds.any = true;
	r->rounds.step = step;
	pthread_mutex_unlock(&r->rounds.lock);
}

/*
 * Lends r->next to the caller. From here on position and commit offsets are behind it: a commit
 * says that the trainer has been given the step, not that it has finished with it.
 */
static const struct riffle_step *
lend(struct riffle *r)
{
	struct step_slot *slot = r->next;

	assert(r->given == NULL);
	assert(slot->step.step == r->pace.position);
	assert(slot->lanes == r->info.lanes_mine);
	step_slot_hand_out(slot);
	r->given = slot;
	r->next = NULL;
	commit_pace_given(&r->pace, slot->lead);
	pass_round(r, slot->step.step);
	r->info.global_batch = slot->global_batch;
	r->info.lead = slot->lead;
	for (uint32_t i = 0; i < slot->lanes; i++)
		r->offset_next[i] = slot->lane[i].offset + 1;
	reader_metrics_given(&r->metrics, &slot->step);
	note_place(r);
	return &slot->step;
}

int
riffle_next(
    struct riffle *r, int timeout_ms, const struct riffle_step **out, struct riffle_error *e)
{
	struct failure f;
	int code;

	*out = NULL;
	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = fetch(r, timeout_ms, e);
	if (code == RIFFLE_OK)
		*out = lend(r);
	riffle_gate_leave(&r->gate);
	return code;
}

/* Lends r->next with its tokens in the caller's memory, if they have room there. */
static int
lend_into(struct riffle *r, void *tokens, size_t room_bytes, const struct riffle_step **out,
    struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];
	struct riffle_step *s = &r->next->step;
	size_t bytes;

	bytes = s->sequences * s->tokens_each * r->token_bytes;
	if (room_bytes < bytes) {
		snprintf(text, sizeof(text),
		    "step %" PRIu64
		    " takes %zu bytes (%zu sequences of %zu tokens), the buffer has "
		    "%zu",
		    s->step, bytes, s->sequences, s->tokens_each, room_bytes);
		return riffle_give(e, RIFFLE_ERROR_USAGE, text);
	}
	memcpy(tokens, s->tokens, bytes);
	s->tokens = tokens;
	*out = lend(r);
	return RIFFLE_OK;
}

int
riffle_next_into(struct riffle *r, int timeout_ms, void *tokens, size_t room_bytes,
    const struct riffle_step **out, struct riffle_error *e)
{
	struct failure f;
	int code;

	*out = NULL;
	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = fetch(r, timeout_ms, e);
	if (code == RIFFLE_OK)
		code = lend_into(r, tokens, room_bytes, out, e);
	riffle_gate_leave(&r->gate);
	return code;
}

int
riffle_keep(struct riffle *r, const struct riffle_step *step, struct riffle_error *e)
{
	struct failure f;
	bool given;

	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	given = r->given != NULL && step == &r->given->step;
	if (given)
		step_slot_keep(r->given);
	riffle_gate_leave(&r->gate);
	return given ? RIFFLE_OK
		     : riffle_give(e, RIFFLE_ERROR_USAGE,
			   "only the step that riffle_next() gave last can be kept");
}

void
riffle_free_step(const struct riffle_step *step)
{
	step_slot_let_go(step);
}

/* ---- the shape of the mix ---- */

/* A number of the configuration that the ledger holds; 0: it is not there, or out of range. */
static uint32_t
size_in(const struct json_field_value *v)
{
	char text[32];
	uint64_t size;

	snprintf(text, sizeof(text), "%.*s", v->found == JSON_FIELD_MISSING ? 0 : (int)v->raw_n,
	    v->raw == NULL ? "" : v->raw);
	return scalar_count(text, 1, UINT32_MAX, &size) == SCALAR_OK ? (uint32_t)size : 0;
}

/* Takes from a ledger's record what is known of the mix for its whole life. */
static enum fail_code
take_ledger(struct riffle *r, const struct ledger *l, struct failure *f)
{
	static const char *const path[] = {"fixed.sequence_length", "fixed.global_batch"};
	struct json_field_value value[2];
	struct json_field_paths *paths = NULL;
	struct json_field_scratch *scratch = NULL;
	uint32_t length = 0, batch = 0;
	enum fail_code code = json_field_paths_open(&paths, path, 2, f);

	if (code == FAIL_NONE)
		code = json_field_scratch_open(&scratch, f);
	if (code == FAIL_NONE)
		code = json_field_read(paths, scratch, l->config, strlen(l->config), value, f);
	if (code == FAIL_NONE) {
		length = size_in(&value[0]);
		batch = l->global_batch > 0 ? l->global_batch : size_in(&value[1]);
		if (length == 0 || batch == 0)
			code = fail(f, FAIL_DATA,
			    "the ledger of mix %s has no sequence_length or no global_batch",
			    r->reader.mix);
	}
	if (code == FAIL_NONE) {
		r->info.sequence_length = length;
		r->info.global_batch = batch;
		r->info.schedule = l->schedule;
		r->info.tokenizer = l->tokenizer;
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
	return code;
}

/* The last record of the mix's ledger, into a zeroed *last, to be ended with ledger_clear(). Gives
 * *out, a reader that has connected and knows what the record says, to be ended by the caller. */
static int
ask_last(struct riffle **out, const struct riffle_options *options, struct ledger *last,
    const char *wanted, struct riffle_error *e)
{
	struct failure f = {0};
	bool any = false;
	int code = connect_to_ask(out, options, e);
	struct riffle *r = *out;
	char text[160];

	if (code != RIFFLE_OK)
		return code;
	if (ledger_log_ask(last, &any, r->reader.mix, &r->properties, r->timeout_ms, &f) !=
		FAIL_NONE ||
	    (any && take_ledger(r, last, &f) != FAIL_NONE))
		return riffle_give_failure(e, &f);
	if (any)
		return RIFFLE_OK;
	snprintf(text, sizeof(text), "no mixer has begun the mix: its %s not known yet", wanted);
	return riffle_give(e, RIFFLE_TIMEOUT, text);
}

/*
 * The draws of all steps are those of the rounds, so that they tell whether each step had as many
 * as one has now: a larger batch that came later makes the product larger.
 */
static void
take_rounds(const struct riffle *r, const struct ledger *l, struct riffle_rounds *out)
{
	uint64_t draws = (uint64_t)l->epoch_size, batch = r->info.global_batch;

	out->draws = draws;
	out->global_batch = r->info.global_batch;
	out->lanes = lanes_total(r->reader.lanes);
	if (draws > 0 && draws % batch == 0 &&
	    (uint64_t)l->round * draws + (uint64_t)l->round_draws == (uint64_t)l->step_next * batch)
		out->steps = draws / batch;
}

int
riffle_find_rounds(
    const struct riffle_options *options, struct riffle_rounds *out, struct riffle_error *e)
{
	struct riffle_rounds found = {0};
	struct ledger last = {0};
	struct riffle *r = NULL;
	struct failure f;
	int code;

	if (riffle_fill(out, &found, sizeof(found), "riffle_rounds", &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = ask_last(&r, options, &last, "rounds are", e);
	if (code == RIFFLE_OK) {
		take_rounds(r, &last, &found);
		riffle_fill(out, &found, sizeof(found), "riffle_rounds", &f);
	}
	ledger_clear(&last);
	riffle_close(r);
	return code;
}

int
riffle_find_extent(
    const struct riffle_options *options, struct riffle_extent *out, struct riffle_error *e)
{
	struct riffle_extent found = {0};
	struct ledger last = {0};
	struct riffle *r = NULL;
	struct failure f;
	int code;

	if (riffle_fill(out, &found, sizeof(found), "riffle_extent", &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = ask_last(&r, options, &last, "length is", e);
	if (code == RIFFLE_OK) {
		found = (struct riffle_extent){
		    .steps = (uint64_t)last.step_next,
		    .global_batch = r->info.global_batch,
		    .lanes = lanes_total(r->reader.lanes),
		    .sequence_length = r->info.sequence_length,
		    .ended = last.kind == LEDGER_END,
		    .uniform =
			(uint64_t)last.draws == (uint64_t)last.step_next * r->info.global_batch,
		};
		riffle_fill(out, &found, sizeof(found), "riffle_extent", &f);
	}
	ledger_clear(&last);
	riffle_close(r);
	return code;
}

/*
 * That of the step given last may be known; any other is asked for. Another thread may be given a
 * step meanwhile.
 */
static enum fail_code
find_round(struct riffle *r, uint64_t step, struct step_round *found, struct failure *f)
{
	bool known;

	pthread_mutex_lock(&r->rounds.lock);
	known = r->rounds.known && r->rounds.step == step;
	if (known)
		*found = r->rounds.round;
	pthread_mutex_unlock(&r->rounds.lock);
	if (known)
		return FAIL_NONE;
	if (step_round_find(found, r->reader.mix, &r->properties, r->timeout_ms, step, f) !=
	    FAIL_NONE)
		return f->code;
	pthread_mutex_lock(&r->rounds.lock);
	if (r->rounds.any && r->rounds.step == step) {
		r->rounds.round = *found;
		r->rounds.known = true;
	}
	pthread_mutex_unlock(&r->rounds.lock);
	return FAIL_NONE;
}

int
riffle_get_round(struct riffle *r, uint64_t step, struct riffle_round *out, struct riffle_error *e)
{
	struct riffle_round round = {0};
	struct step_round found;
	enum fail_code code;
	struct failure f;

	if (riffle_fill(out, &round, sizeof(round), "riffle_round", &f) != FAIL_NONE ||
	    riffle_gate_enter(&r->asks, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = find_round(r, step, &found, &f);
	riffle_gate_leave(&r->asks);
	if (code != FAIL_NONE)
		return riffle_give_failure(e, &f);
	round = (struct riffle_round){
	    .epoch_size = found.size, .round = found.round, .draws = found.draws};
	riffle_fill(out, &round, sizeof(round), "riffle_round", &f);
	return RIFFLE_OK;
}

/* Where the ledger has a record, what it says. Asks once a second at most. */
static enum fail_code
ask_ledger(struct riffle *r, struct failure *f)
{
	struct ledger last = {0};
	bool any;
	enum fail_code code;

	if (r->ledger_asked && clock_ms() - r->ledger_ms < LEDGER_AGAIN_MS)
		return FAIL_NONE;
	code = ledger_log_ask(&last, &any, r->reader.mix, &r->properties, r->timeout_ms, f);
	if (code == FAIL_NONE && any)
		code = take_ledger(r, &last, f);
	ledger_clear(&last);
	r->ledger_asked = true;
	r->ledger_ms = clock_ms();
	return code;
}

/*
 * A step that is published would do as well as the ledger, which is asked first: a run may have to
 * wait for others before a step of its own comes, and one that resumes at the end has none. A
 * ledger that cannot be read is a failure only where no step comes either.
 */
int
riffle_wait_info(struct riffle *r, int timeout_ms, struct riffle_info *out, struct riffle_error *e)
{
	struct failure f = {0};
	int code = RIFFLE_OK;

	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	if (r->info.sequence_length == 0 && r->next == NULL)
		code = ask_ledger(r, &f) == FAIL_MEMORY ? riffle_give_failure(e, &f) : RIFFLE_OK;
	if (code == RIFFLE_OK && r->info.sequence_length == 0)
		code = fetch(r, timeout_ms, e);
	if (code == RIFFLE_OK &&
	    riffle_fill(out, &r->info, sizeof(r->info), "riffle_info", &f) != FAIL_NONE)
		code = riffle_give_failure(e, &f);
	riffle_gate_leave(&r->gate);
	return code;
}

/* ---- another step ---- */

static int
seek(struct riffle *r, uint64_t step, struct riffle_error *e)
{
	struct failure f = {0}, ignored;
	int code = RIFFLE_OK;

	prefetch_pause(r->prefetch); /* the reader is ours until prefetch_resume() */
	take_back(r);
	if (r->next != NULL)
		step_pool_put(r->next);
	r->next = NULL;
	pthread_mutex_lock(&r->rounds.lock);
	r->rounds.any = r->rounds.known = false;
	pthread_mutex_unlock(&r->rounds.lock);
	if (reader_seek(&r->reader, step, &f) == FAIL_NONE) {
		r->from = step;
		r->wait = (struct riffle_wait){0};
		commit_pace_move(&r->pace, step);
		reader_offsets(&r->reader, r->offset_next);
		r->unproven = false; /* no step of the checkpoint that reading began at */
	} else {
		code = r->reader.expired ? riffle_give(e, RIFFLE_ERROR_EXPIRED, f.text)
					 : riffle_give_failure(e, &f);
		/* Back to where it stood; where that fails too, riffle_next() meets it again. */
		reader_seek(&r->reader, r->pace.position, &ignored);
	}
	note_place(r);
	prefetch_resume(r->prefetch);
	return code;
}

int
riffle_seek(struct riffle *r, uint64_t step, struct riffle_error *e)
{
	struct failure f;
	int code;

	if (step >= LIMIT_STEP) {
		fail(&f, FAIL_USAGE, "step %" PRIu64 " is out of range", step);
		return riffle_give_failure(e, &f);
	}
	if (riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = seek(r, step, e);
	riffle_gate_leave(&r->gate);
	return code;
}

/* The same for a checkpoint, once its mix is seen to be this one. */
static int
seek_marked(struct riffle *r, const struct mix_mark *mark, uint64_t step, struct riffle_error *e)
{
	bool early = false;
	struct failure f;
	int code;

	if (check_mark(mark, r->reader.mix, &r->properties, r->timeout_ms, &early, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = seek(r, step, e);
	if (code == RIFFLE_OK) {
		r->mark = *mark;
		r->unproven = early;
		r->unproven_ms = 0;
	}
	return code;
}

int
riffle_seek_checkpoint(
    struct riffle *r, const struct riffle_checkpoint *checkpoint, struct riffle_error *e)
{
	struct mix_mark mark;
	struct failure f;
	uint64_t step;
	int code;

	if (take_checkpoint(&mark, &step, checkpoint, &f) != FAIL_NONE ||
	    riffle_gate_enter(&r->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = seek_marked(r, &mark, step, e);
	riffle_gate_leave(&r->gate);
	return code;
}

/* ---- reports, and what is on its way ---- */

static enum fail_code
report(struct riffle *r, uint64_t step, const struct riffle_loss *loss, size_t n, struct failure *f)
{
	struct feedback b = {
	    .mix = r->reader.mix,
	    .run = r->reader.run,
	    .step = (int64_t)step,
	    .rank = r->rank,
	    .world = r->world,
	};

	if (r->reporter == NULL && reporter_open(&r->reporter, r->reader.mix, &r->properties,
				       r->timeout_ms, f) != FAIL_NONE)
		return f->code;
	return riffle_send_losses(r->reporter, &b, loss, n, f);
}

int
riffle_report(struct riffle *r, uint64_t step, const struct riffle_loss *loss, size_t n,
    struct riffle_error *e)
{
	enum fail_code code;
	struct failure f;

	if (riffle_gate_enter(&r->reports, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = report(r, step, loss, n, &f);
	riffle_gate_leave(&r->reports);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}

static enum fail_code
flush_reports(struct riffle *r, int64_t deadline_ms, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	if (riffle_gate_enter(&r->reports, f) != FAIL_NONE)
		return f->code;
	if (r->reporter != NULL)
		code = riffle_flush_reporter(r->reporter, &r->reports, deadline_ms, f);
	riffle_gate_leave(&r->reports);
	return code;
}

/* Nothing is on its way if nobody has asked, so another thread may be in riffle_next() then. */
static enum fail_code
flush_commits(struct riffle *r, int64_t deadline_ms, struct failure *f)
{
	enum fail_code code;

	if (!atomic_load(&r->commits))
		return FAIL_NONE;
	if (riffle_gate_enter(&r->gate, f) != FAIL_NONE)
		return f->code;
	code = wait_commits(r, deadline_ms, f);
	riffle_gate_leave(&r->gate);
	return code;
}

int
riffle_flush(struct riffle *r, int timeout_ms, struct riffle_error *e)
{
	int64_t deadline_ms = clock_ms() + (timeout_ms < 0 ? 0 : timeout_ms);
	struct failure f;
	enum fail_code code = flush_reports(r, deadline_ms, &f);

	if (code == FAIL_NONE)
		code = flush_commits(r, deadline_ms, &f);
	if (code == FAIL_TIMEOUT)
		return riffle_give(e, RIFFLE_TIMEOUT, f.text);
	return code == FAIL_NONE ? RIFFLE_OK : riffle_give_failure(e, &f);
}
