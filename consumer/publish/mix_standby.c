/* Whose turn it is to mix, and a standby's wait for it. */
#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/publish/mix_state.h"

enum { PAUSE_MS = 100, FOLLOW_MS = 1000 };

/* The ledger tells what it means that the partition is not ours, or was not for a while. */
static enum fail_code
look(struct mix *m, bool has, struct failure *f)
{
	if (m->led && !has)
		log_warning("mix: MIX-ELECTION mix=%s: the election group has not given this mixer "
			    "its partition back: looking whether another has taken over",
		    m->config->mix.name);
	m->led = has; /* said once for each time */
	return mix_still_ours(m, f);
}

enum fail_code
mix_elect(struct mix *m, struct failure *f)
{
	bool has;

	if (election_group_poll(m->group, &has, f) != FAIL_NONE)
		return f->code;
	switch (election_step(&m->election, has, clock_ms())) {
	case ELECTION_WAIT:
	case ELECTION_TAKE_OVER: return FAIL_NONE;
	case ELECTION_GO_ON: return FAIL_NONE;
	case ELECTION_LOOK: return look(m, has, f);
	}
	return FAIL_NONE;
}

bool
mix_stopped(void *mix)
{
	struct mix *m = mix;
	struct failure ignored; /* comes again when it matters */

	(void)mix_elect(m, &ignored);
	return stop_asked(m->o->stop);
}

/* What a standby knows of the active mixer. */
struct following {
	int64_t asked_ms, logged_ms;
	int64_t seen_ms; /* when its last record was first seen */
	bool found;      /* there is one, and the next three are of it */
	uint64_t mixer;
	int64_t step_next, version;
};

static void
log_following(const struct mix *m, struct following *w, int64_t now_ms)
{
	if (w->logged_ms != 0 && now_ms - w->logged_ms < MIX_LOG_MS)
		return;
	w->logged_ms = now_ms;
	if (w->found)
		log_info("mix: standby mix=%s active=%016" PRIx64 " step=%" PRId64
			 " version=%" PRId64 " silent_s=%.1f",
		    m->config->mix.name, w->mixer, w->step_next, w->version,
		    (double)(now_ms - w->seen_ms) / 1000);
	else
		log_info("mix: standby mix=%s: its ledger is empty yet", m->config->mix.name);
}

/* A broker that does not answer is waited for: that is what a standby is for. */
static bool
passes(enum fail_code code)
{
	return code == FAIL_BROKER || code == FAIL_TIMEOUT;
}

/* Reads the ledger's last record when it is time, and refuses what a take-over would refuse. */
static enum fail_code
follow(struct mix *m, struct following *w, struct failure *f)
{
	struct ledger last = {0};
	int64_t now = clock_ms();
	bool found;
	enum fail_code code;

	if (now - w->asked_ms < FOLLOW_MS)
		return FAIL_NONE;
	w->asked_ms = now;
	code = mix_check_before(m, &last, &found, f);
	if (code == FAIL_NONE && found) {
		if (!w->found || last.mixer != w->mixer || last.step_next != w->step_next)
			w->seen_ms = now;
		w->found = true;
		w->mixer = last.mixer;
		w->step_next = last.step_next;
		w->version = last.version;
		m->over = last.kind == LEDGER_END;
	}
	ledger_clear(&last);
	if (code == FAIL_NONE)
		log_following(m, w, now);
	else if (passes(code) && now - w->logged_ms >= MIX_LOG_MS) {
		log_warning("mix: MIX-STANDBY %s", f->text);
		w->logged_ms = now;
	}
	return passes(code) ? FAIL_NONE : code;
}

static enum fail_code
take_turn(struct mix *m, const struct following *w, struct failure *f)
{
	if (w->found)
		log_warning("mix: MIX-TAKEOVER mix=%s: no mixer is active any more, the last was "
			    "%016" PRIx64 " before step=%" PRId64,
		    m->config->mix.name, w->mixer, w->step_next);
	else
		log_info("mix: mix=%s: no mixer is active", m->config->mix.name);
	return election_group_lead(m->group, f);
}

enum fail_code
mix_wait_turn(struct mix *m, struct failure *f)
{
	struct following w = {.asked_ms = clock_ms() - FOLLOW_MS};

	while (!stop_asked(m->o->stop)) {
		if (follow(m, &w, f) != FAIL_NONE || mix_elect(m, f) != FAIL_NONE)
			return f->code;
		if (m->over) {
			log_info("mix: mix=%s ended before step=%" PRId64, m->config->mix.name,
			    w.step_next);
			return FAIL_NONE;
		}
		if (m->election.state == ELECTION_CHOSEN)
			return take_turn(m, &w, f);
		clock_pause_ms(PAUSE_MS);
	}
	return fail(f, FAIL_STOPPED, "stopped while waiting for the active mixer");
}
