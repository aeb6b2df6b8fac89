#include "consumer/publish/standby.h"

#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum {
	FOLLOW_MS = 1000,
	LOG_MS = 10000,
};

void
standby_init(struct standby *s, struct attach *a)
{
	*s = (struct standby){.attach = a, .asked_ms = clock_ms() - FOLLOW_MS};
}

static const char *
mix_name(const struct standby *s)
{
	return s->attach->config->mix.name;
}

static void
log_active(struct standby *s, int64_t now_ms)
{
	if (s->logged_ms != 0 && now_ms - s->logged_ms < LOG_MS)
		return;
	s->logged_ms = now_ms;
	if (s->found)
		log_info("mix: standby mix=%s active=%016" PRIx64 " step=%" PRId64
			 " version=%" PRId64 " silent_s=%.1f",
		    mix_name(s), s->mixer, s->step_next, s->version,
		    (double)(now_ms - s->seen_ms) / 1000);
	else
		log_info("mix: standby mix=%s: its ledger is empty yet", mix_name(s));
}

enum fail_code
standby_follow(struct standby *s, bool *ended, struct failure *f)
{
	struct ledger last = {0};
	int64_t now = clock_ms();
	bool found, passes;
	enum fail_code code;

	*ended = false;
	if (now - s->asked_ms < FOLLOW_MS)
		return FAIL_NONE;
	s->asked_ms = now;
	code = attach_check(s->attach, &last, &found, f);
	if (code == FAIL_NONE && found) {
		if (!s->found || last.mixer != s->mixer || last.step_next != s->step_next)
			s->seen_ms = now;
		s->found = true;
		s->mixer = last.mixer;
		s->step_next = last.step_next;
		s->version = last.version;
		*ended = last.kind == LEDGER_END;
	}
	ledger_clear(&last);
	passes = code == FAIL_BROKER || code == FAIL_TIMEOUT;
	if (code == FAIL_NONE)
		log_active(s, now);
	else if (passes && now - s->logged_ms >= LOG_MS) {
		log_warning("mix: MIX-STANDBY %s", f->text);
		s->logged_ms = now;
	}
	return passes ? FAIL_NONE : code;
}

void
standby_log_turn(const struct standby *s)
{
	if (s->found)
		log_warning("mix: MIX-TAKEOVER mix=%s: no mixer is active any more, the last was "
			    "%016" PRIx64 " before step=%" PRId64,
		    mix_name(s), s->mixer, s->step_next);
	else
		log_info("mix: mix=%s: no mixer is active", mix_name(s));
}
