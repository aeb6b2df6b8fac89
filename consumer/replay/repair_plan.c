#include "consumer/replay/repair_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

bool
repair_plan_level(const struct repair_found *w)
{
	return w->report->behind.n == 0 && w->report->ahead.n == 0 && w->report->open.n == 0 &&
	       !w->ledger->open;
}

bool
repair_plan_ended(const struct repair_found *w)
{
	bool ended = w->ledger->ended;

	for (uint32_t i = 0; i < w->lanes; i++)
		ended = ended || (w->end[i].any && w->end[i].last);
	return ended;
}

enum fail_code
repair_plan_from(const struct repair_found *w, const struct step_records_kept *kept, uint64_t *step,
    struct failure *f)
{
	*step = kept->any ? kept->whole : w->ledger->first;
	if (kept->any || !w->from_given)
		return FAIL_NONE;
	*step = w->from_step;
	if (*step < w->ledger->first || *step >= w->ledger->next)
		return fail(f, FAIL_DATA,
		    "--from-step %" PRIu64 ": the ledger has the steps %" PRIu64 "..%" PRIu64,
		    *step, w->ledger->first, w->ledger->next);
	for (size_t i = 0; i < w->last->runs_n; i++) {
		const struct ledger_run *run = &w->last->run[i];

		if (run->step > 0 && (uint64_t)run->step < *step)
			return fail(f, FAIL_DATA,
			    "--from-step %" PRIu64 ": run %s is at step %" PRId64
			    " by the ledger, and would not find its steps: take --from-step "
			    "%" PRId64,
			    *step, run->name, run->step, run->step);
	}
	return FAIL_NONE;
}

uint64_t
repair_plan_lanes(
    const struct repair_found *w, uint64_t from, uint64_t *next, uint64_t *absent_from)
{
	uint64_t first = w->report->highest - 1; /* is compared, and what ends the mix follows it */

	assert(w->report->highest > 0);
	if (w->ledger->next < first)
		first = w->ledger->next;
	for (uint32_t i = 0; i < w->lanes; i++) {
		const struct lane_end *e = &w->end[i];

		next[i] = e->any ? e->next : from;
		absent_from[i] = e->any && e->last ? UINT64_MAX : next[i];
		if (next[i] < first)
			first = next[i];
	}
	return first;
}

bool
repair_plan_guesses(const struct repair_found *w)
{
	bool lacks = false;

	for (uint32_t i = 0; i < w->lanes; i++)
		lacks = lacks || w->end[i].next < w->report->highest;
	return lacks && w->report->highest != w->ledger->next;
}

const char *
repair_plan_live(const struct repair_found *w)
{
	for (size_t i = 0; i < w->last->domains_n; i++)
		if (w->last->domain[i].live && w->last->domain[i].state == LEDGER_ACTIVE)
			return w->last->domain[i].name;
	return NULL;
}

int64_t
repair_plan_unanswered(int64_t answered, int64_t low, int64_t high)
{
	assert(low <= high);
	if (answered > high)
		answered = low;
	return answered < high ? answered : -1;
}

uint64_t
repair_plan_scan(const struct repair_found *w, uint64_t kept)
{
	uint64_t from = w->from_given ? w->from_step : UINT64_MAX;

	for (size_t i = 0; !w->from_given && i < w->last->runs_n; i++)
		if ((uint64_t)w->last->run[i].step < from)
			from = (uint64_t)w->last->run[i].step;
	return from == UINT64_MAX || from < kept ? kept : from;
}
