/*
 * Whether a change may be: it must hold at its step, with all that comes before it, and leave what
 * comes after it possible. So everything that is known to come is put in force in its order, on a
 * copy.
 */
#include <assert.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

/* ---- what it may not say in the state of its step ---- */

static const char *
why_not_active(enum ledger_domain_state state)
{
	switch (state) {
	case LEDGER_DROPPED: return "was dropped at its end";
	case LEDGER_LEFT: return "has left the mix";
	case LEDGER_JOINING: return "has not joined yet";
	case LEDGER_ACTIVE: break;
	}
	return "";
}

/* A domain that is drawn from, or may be. */
static enum fail_code
need_active(const struct mixer *m, const char *name, int *domain, struct failure *f)
{
	int d = mixer_domain_named(m, name);

	if (d < 0)
		return fail(f, FAIL_DATA, "the mix has no domain %s", name == NULL ? "" : name);
	if (m->now.cursor[d].state != LEDGER_ACTIVE)
		return fail(
		    f, FAIL_DATA, "domain %s %s", name, why_not_active(m->now.cursor[d].state));
	*domain = d;
	return FAIL_NONE;
}

static bool
is_empty(const struct mixer *m, int d)
{
	return m->domain[d].all_sealed && mixer_length(m, (size_t)d) == 0;
}

static enum fail_code
check_weights(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	for (size_t i = 0; i < c->weights_n; i++) {
		const struct ledger_raw_weight *w = &c->weight[i];
		int d = -1;

		if (c->kind == LEDGER_JOIN && strcmp(w->domain, c->domain) == 0)
			d = mixer_domain_named(m, w->domain);
		else if (need_active(m, w->domain, &d, f) != FAIL_NONE)
			return f->code;
		if (w->weight > 0 && is_empty(m, d))
			return fail(f, FAIL_DATA, "domain %s has weight %g and not one sequence",
			    w->domain, w->weight);
	}
	return FAIL_NONE;
}

static enum fail_code
check_join(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);

	assert(d >= 0);
	if (m->now.cursor[d].state != LEDGER_JOINING)
		return fail(f, FAIL_DATA, "domain %s is in the mix already", c->domain);
	for (size_t i = 0; i < c->weights_n; i++)
		if (strcmp(c->weight[i].domain, c->domain) == 0)
			return FAIL_NONE;
	return fail(f, FAIL_DATA, "domain %s would join without a weight", c->domain);
}

static enum fail_code
check_skip(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);

	if (d < 0)
		return fail(f, FAIL_DATA, "the mix has no domain %s", c->domain);
	if (c->partition < 0 || (size_t)c->partition >= m->domain[d].partitions_n)
		return fail(f, FAIL_DATA, "domain %s has no partition %d (0 to %zu)", c->domain,
		    (int)c->partition, m->domain[d].partitions_n - 1);
	if (c->first < 0 || c->end <= c->first)
		return fail(f, FAIL_DATA, "%lld..%lld is no range of ordinals: a..b has 0 <= a < b",
		    (long long)c->first, (long long)c->end);
	if (m->now.skips_n == LEDGER_SKIPS_MAX)
		return fail(f, FAIL_DATA, "%d ranges are skipped already: no more can be kept",
		    LEDGER_SKIPS_MAX);
	return FAIL_NONE;
}

/* After a skip: a domain that is drawn from must keep a sequence in each epoch. */
static enum fail_code
check_left(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);
	const struct domain *domain = &m->domain[d];
	uint64_t length = mixer_length(m, (size_t)d);

	if (!domain->all_sealed || m->now.cursor[d].weight == 0 || length == 0)
		return FAIL_NONE;
	if (mixer_excluded_count(
		&m->excluded, (uint32_t)d, domain->sequences, domain->partitions_n) < length)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "not one sequence of domain %s would be left; take it out with weight 0, or let it "
	    "leave",
	    c->domain);
}

static enum fail_code
check_in_state(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d;

	switch (c->kind) {
	case LEDGER_SKIP: return check_skip(m, c, f);
	case LEDGER_WEIGHTS: return check_weights(m, c, f);
	case LEDGER_JOIN:
		return check_join(m, c, f) == FAIL_NONE ? check_weights(m, c, f) : f->code;
	case LEDGER_LEAVE:
		return need_active(m, c->domain, &d, f) == FAIL_NONE ? check_weights(m, c, f)
								     : f->code;
	}
	assert(false);
	return FAIL_NONE;
}

/* ---- the future, on a copy ---- */

/* Puts the phases in force that start at `step` or before it. */
static enum fail_code
run_phases(struct mixer *m, uint64_t step, struct failure *f)
{
	size_t i = mixer_phase_from(m, m->now.step_next);

	for (; i < m->phases_n && m->phase[i].start_step <= step; i++) {
		m->now.step_next = m->phase[i].start_step + 1;
		mixer_put_phase(m, &m->phase[i]);
		if (!mixer_weigh(m))
			return fail(f, FAIL_DATA,
			    "phase %s at step %llu would have no domain with a weight",
			    m->phase[i].name, (unsigned long long)m->phase[i].start_step);
	}
	return FAIL_NONE;
}

/* Puts a change in force as mixer_change_due() will, or says why that is impossible. */
static enum fail_code
run_change(struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	if (check_in_state(m, c, f) != FAIL_NONE || mixer_put_change(m, c, f) != FAIL_NONE)
		return f->code;
	if (c->kind == LEDGER_SKIP)
		return check_left(m, c, f);
	if (!mixer_weigh(m))
		return fail(
		    f, FAIL_DATA, "no domain would have a weight: at least one must be positive");
	return FAIL_NONE;
}

/*
 * Runs on through pending[from..to) and the phases between. The changes are those of `of`; m's own
 * are not looked at. A failure of a change other than the one judged names it.
 */
static enum fail_code
run_pending(struct mixer *m, const struct mixer *of, size_t from, size_t to, struct failure *f)
{
	for (size_t i = from; i < to; i++) {
		const struct ledger_change *c = &of->pending[i];

		if (run_phases(m, (uint64_t)c->step, f) != FAIL_NONE)
			return f->code;
		if (run_change(m, c, f) != FAIL_NONE)
			return f->code == FAIL_MEMORY
				   ? f->code
				   : fail_within(f,
					 "it would make the accepted request %s at step %lld "
					 "impossible",
					 c->id, (long long)c->step);
	}
	return FAIL_NONE;
}

/* Pending changes up to and with `step`. */
static size_t
pending_until(const struct mixer *m, int64_t step)
{
	size_t i = m->now.pending_done;

	while (i < m->pending_n && m->pending[i].step <= step)
		i++;
	return i;
}

enum fail_code
mixer_judge(const struct mixer *m, const struct ledger_change *c, struct mixer **before,
    struct mixer **after, struct failure *f)
{
	size_t until = pending_until(m, c->step);
	struct mixer *rest = NULL;
	enum fail_code code;

	if (mixer_copy(before, m, f) != FAIL_NONE ||
	    run_pending(*before, m, m->now.pending_done, until, f) != FAIL_NONE ||
	    run_phases(*before, (uint64_t)c->step, f) != FAIL_NONE ||
	    mixer_copy(after, *before, f) != FAIL_NONE || run_change(*after, c, f) != FAIL_NONE ||
	    mixer_copy(&rest, *after, f) != FAIL_NONE)
		return f->code;
	code = run_pending(rest, m, until, m->pending_n, f);
	if (code == FAIL_NONE)
		code = run_phases(rest, UINT64_MAX, f);
	mixer_close(rest);
	return code;
}
