#include "consumer/publish/mix.h"

#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/publish/mix_state.h"

enum {
	GATHER_MS = 300,      /* waiting longer for blocks ends the open transaction first */
	LEAD_ASK_MS = 1000,   /* between two questions for the trainers' positions */
	LEAD_BLOCKED_MS = 20, /* the same while waiting for them */
	DRY_PAUSE_MS = 20,
	RECOVER_PAUSE_MS = 500,
	FENCED_WAIT_MS = 10000, /* for the START of whoever has fenced us */
};

/* What the loop knows beside the mix. */
struct loop {
	int64_t asked_ms;   /* last question for the lead */
	int64_t blocked_ms; /* since when the lead is used up; 0: it is not */
	int64_t dry_ms;     /* since when a live domain is dry and waited for; 0: none is */
	int64_t warned_ms;
	int64_t logged_ms;
	int64_t failing_ms; /* since when failures follow each other without a commit; 0: none */
	int64_t began_ms;   /* the first step; 0: none yet */
	uint64_t logged_steps, logged_bytes;
};

static uint64_t
step_next(const struct mix *m)
{
	return mixer_step_next(assembler_mixer(m->assembler));
}

/* Live domains whose draws others took, and what they are owed. */
static void
log_lends(const struct mixer *m)
{
	for (uint32_t d = 0; d < mixer_domains(m); d++) {
		struct mixer_standing s;

		mixer_stand(m, d, &s);
		if (s.owed > 0)
			log_warning("mix: MIX-LEND domain=%s owed=%" PRId64
				    " draws were lent to others while it was dry",
			    mixer_domain_name(m, d), s.owed);
	}
}

static void
log_progress(struct mix *m, struct loop *l)
{
	int64_t now = clock_ms(), passed = now - l->logged_ms;
	uint64_t slowest, lead;

	if (passed < MIX_LOG_MS)
		return;
	lead_slowest(m->lead, &slowest);
	lead = step_next(m) > slowest ? step_next(m) - slowest : 0;
	log_info("mix: step=%" PRIu64 " steps_per_s=%.1f mb_per_s=%.1f lead=%" PRIu64
		 " blocks_mb=%.0f",
	    step_next(m), (double)(m->steps_total - l->logged_steps) * 1000 / (double)passed,
	    (double)(m->bytes_total - l->logged_bytes) / 1000 / (double)passed, lead,
	    (double)feed_bytes(m->feed) / 1e6);
	log_lends(assembler_mixer(m->assembler));
	l->logged_ms = now;
	l->logged_steps = m->steps_total;
	l->logged_bytes = m->bytes_total;
}

static enum fail_code
commit_open(struct mix *m, struct loop *l, struct failure *f)
{
	if (!m->open)
		return FAIL_NONE;
	if (mix_commit(m, LEDGER_STEPS, f) != FAIL_NONE)
		return f->code;
	l->failing_ms = 0;
	return FAIL_NONE;
}

static bool
transaction_full(const struct mix *m)
{
	const struct config_mix *c = &m->config->mix;

	return m->open && (m->open_bytes >= c->transaction_bytes ||
			      clock_ms() - m->open_ms >= c->transaction_ms);
}

/* Asks for the trainers' positions when it is time. *blocked: the next step must wait for them. */
static enum fail_code
check_lead(struct mix *m, struct loop *l, bool *blocked, struct failure *f)
{
	int64_t now = clock_ms();
	bool waits = step_next(m) >= lead_limit(m->lead);

	if (now - l->asked_ms >= (waits ? LEAD_BLOCKED_MS : LEAD_ASK_MS)) {
		if (lead_ask(m->lead, f) != FAIL_NONE)
			return f->code;
		l->asked_ms = now;
		waits = step_next(m) >= lead_limit(m->lead);
	}
	*blocked = waits;
	if (!waits)
		l->blocked_ms = 0;
	return FAIL_NONE;
}

/* Nothing may be published: commits what is open, reads ahead, and says after a while for whom. */
static enum fail_code
wait_for_trainers(struct mix *m, struct loop *l, struct failure *f)
{
	int64_t now = clock_ms();
	uint64_t step;
	const char *run = lead_slowest(m->lead, &step);

	if (commit_open(m, l, f) != FAIL_NONE)
		return f->code;
	l->failing_ms = 0; /* waiting is no failure to recover from */
	if (l->blocked_ms == 0)
		l->blocked_ms = l->warned_ms = now;
	if (now - l->warned_ms >= MIX_LOG_MS) {
		log_warning("mix: MIX-LEAD waiting for run=%s at step=%" PRIu64 ": step=%" PRIu64
			    " is max_lead_steps=%" PRIu32 " ahead of it",
		    run, step, step_next(m), m->config->mix.max_lead_steps);
		l->warned_ms = now;
	}
	if (assembler_idle(m->assembler, 5, f) != FAIL_NONE)
		return f->code;
	clock_pause_ms(5);
	return FAIL_NONE;
}

/* The next step needs what a live domain does not have yet. */
static enum fail_code
wait_for_domain(struct mix *m, struct loop *l, struct failure *f)
{
	const struct mixer_draw *d = assembler_dry(m->assembler);
	int64_t now = clock_ms();

	if (commit_open(m, l, f) != FAIL_NONE)
		return f->code;
	l->failing_ms = 0;
	if (l->dry_ms == 0)
		l->dry_ms = l->warned_ms = now;
	if (now - l->warned_ms >= MIX_LOG_MS) {
		log_warning("mix: MIX-DRY waiting for domain=%s partition=%" PRIu32
			    " ordinal=%" PRIu64 " at step=%" PRIu64
			    ": `riffle produce %s --follow` writes it; on_dry: lend would go on",
		    mixer_domain_name(assembler_mixer(m->assembler), d->domain), d->partition,
		    d->ordinal, step_next(m),
		    mixer_domain_name(assembler_mixer(m->assembler), d->domain));
		l->warned_ms = now;
	}
	clock_pause_ms(DRY_PAUSE_MS);
	return FAIL_NONE;
}

/* Takes and publishes one step. *ended: there is none. */
static enum fail_code
take_step(struct mix *m, struct loop *l, bool *ended, struct failure *f)
{
	struct assembled step;
	enum fail_code code = assembler_next(m->assembler, GATHER_MS, &step, ended, f);

	if (code == FAIL_TIMEOUT && assembler_dry(m->assembler) != NULL)
		return wait_for_domain(m, l, f);
	if (code == FAIL_TIMEOUT) /* a transaction must not be open for long */
		return commit_open(m, l, f);
	if (code != FAIL_NONE || *ended)
		return code;
	l->dry_ms = 0;
	if (l->began_ms == 0)
		l->began_ms = clock_ms();
	code = mix_publish_step(m, &step, f);
	assembler_release(m->assembler);
	return code;
}

/* Answers requests between transactions; they end the open one. */
static enum fail_code
attend(struct mix *m, struct loop *l, struct failure *f)
{
	bool waits;

	if (control_feed_waits(m->control, &waits, f) != FAIL_NONE)
		return f->code;
	if (!waits)
		return FAIL_NONE;
	if (commit_open(m, l, f) != FAIL_NONE || mix_answer(m, f) != FAIL_NONE)
		return f->code;
	l->failing_ms = 0;
	return FAIL_NONE;
}

static void
log_end(const struct mix *m, const struct loop *l, const char *how)
{
	double seconds = l->began_ms == 0 ? 0 : (double)(clock_ms() - l->began_ms) / 1000;

	log_info("mix: mix=%s %s before step=%" PRIu64 " steps=%" PRIu64 " mb=%.1f seconds=%.3f",
	    m->config->mix.name, how, step_next(m), m->steps_total, (double)m->bytes_total / 1e6,
	    seconds);
}

/* Runs until done (*done), a failure, or a stop. */
static enum fail_code
run(struct mix *m, struct loop *l, bool *done, struct failure *f)
{
	bool blocked = false, ended = false;

	while (!stop_asked(m->o->stop) && !ended && step_next(m) < m->o->until_step) {
		log_progress(m, l);
		if (mix_elect(m, f) != FAIL_NONE)
			return f->code;
		if (attend(m, l, f) != FAIL_NONE || check_lead(m, l, &blocked, f) != FAIL_NONE)
			return f->code;
		if (blocked) {
			if (wait_for_trainers(m, l, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		if ((!m->open && mix_ask_lengths(m, f) != FAIL_NONE) ||
		    take_step(m, l, &ended, f) != FAIL_NONE)
			return f->code;
		if (transaction_full(m) && commit_open(m, l, f) != FAIL_NONE)
			return f->code;
	}
	if (ended ? mix_publish_end(m, f) != FAIL_NONE : commit_open(m, l, f) != FAIL_NONE)
		return f->code;
	if (mix_wait_visible(m, f) != FAIL_NONE)
		return f->code;
	*done = true;
	log_end(m, l, ended ? "ended" : stop_asked(m->o->stop) ? "stopped" : "paused");
	return FAIL_NONE;
}

/* Whether a failure leaves hope: the broker's, and a fencing that may be only a time-out. */
static bool
recoverable(enum fail_code code)
{
	return code == FAIL_BROKER || code == FAIL_TIMEOUT || code == FAIL_FENCED;
}

/*
 * Attaches again after a failure. When fenced, whoever did it needs a moment to write its START: it
 * is waited for, so that two mixers do not fence each other in turn.
 */
static enum fail_code
recover(struct mix *m, struct loop *l, struct failure *f)
{
	int64_t resume_ms = clock_ms() + (f->code == FAIL_FENCED ? FENCED_WAIT_MS : 0);

	if (l->failing_ms == 0)
		l->failing_ms = clock_ms();
	if (clock_ms() - l->failing_ms >= MIX_RECOVER_MS)
		return f->code;
	log_warning("mix: MIX-RECOVER %s", f->text);
	mix_detach(m);
	if (mix_renew_reader(m, f) != FAIL_NONE)
		return f->code;
	while (!stop_asked(m->o->stop)) {
		clock_pause_ms(RECOVER_PAUSE_MS);
		if (mix_elect(m, f) == FAIL_FENCED)
			return f->code;
		if (m->election.state == ELECTION_WAITING) { /* the turn passed to another */
			l->failing_ms = clock_ms();
			continue;
		}
		if (clock_ms() < resume_ms) {
			if (mix_still_ours(m, f) == FAIL_FENCED)
				return f->code;
			continue;
		}
		if (mix_attach(m, f) == FAIL_NONE)
			return FAIL_NONE;
		mix_detach(m);
		if (f->code == FAIL_FENCED)
			resume_ms = clock_ms() + FENCED_WAIT_MS;
		if (!recoverable(f->code) ||
		    (f->code == FAIL_FENCED && mix_still_ours(m, f) == FAIL_FENCED) ||
		    clock_ms() - l->failing_ms >= MIX_RECOVER_MS)
			return f->code;
		log_warning("mix: MIX-RECOVER %s", f->text);
		if (mix_renew_reader(m, f) != FAIL_NONE)
			return f->code;
	}
	return fail(f, FAIL_STOPPED, "stopped while recovering");
}

/* A standby attaches when its turn has come, and does not give up where a broker has died, too. */
static enum fail_code
take_turn(struct mix *m, struct loop *l, struct failure *f)
{
	enum fail_code code = mix_wait_turn(m, f);

	if (code != FAIL_NONE || m->over)
		return code;
	code = mix_attach(m, f);
	return code == FAIL_BROKER || code == FAIL_TIMEOUT ? recover(m, l, f) : code;
}

/* A first transaction that timed out looks like that of a fenced mixer: the ledger tells. */
static enum fail_code
attach_first(struct mix *m, struct loop *l, struct failure *f)
{
	enum fail_code code = m->o->standby ? take_turn(m, l, f) : mix_attach(m, f);

	return code == FAIL_FENCED && m->looked ? recover(m, l, f) : code;
}

enum fail_code
mix_run(const struct mix_options *o, struct failure *f)
{
	struct mix m;
	struct loop l = {.logged_ms = clock_ms()};
	bool done = false;
	enum fail_code code = mix_open(&m, o, f);

	if (code == FAIL_NONE)
		code = attach_first(&m, &l, f);
	while (code == FAIL_NONE && !done && !m.over) {
		code = run(&m, &l, &done, f);
		if (recoverable(code))
			code = recover(&m, &l, f);
	}
	mix_close(&m);
	return code == FAIL_STOPPED ? FAIL_NONE : code;
}
