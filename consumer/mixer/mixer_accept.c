/* A changed configuration, and the snapshot that a replay takes from the record it repeats. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

/* Domain i as the changed plan has it; *moved: it came or went. */
static enum fail_code
accept_domain(
    struct mixer *m, size_t i, const struct mixer_source *s, bool *moved, struct failure *f)
{
	struct domain *d = &m->domain[i];
	struct cursor *c = &m->now.cursor[i];
	enum ledger_domain_state was = c->state;

	if (s == NULL) {
		if (!d->joined)
			c->state = LEDGER_LEFT;
		*moved = *moved || c->state != was;
		return FAIL_NONE;
	}
	if (s->live != d->live && c->epoch == 0)
		return fail(f, FAIL_CONFIG,
		    "domain %s: live decides the order of its first pass and cannot change in it: "
		    "the mix was begun with live: %s",
		    d->name, d->live ? "true" : "false");
	mixer_set_rules(m, d, s);
	d->joined = false;
	c->base_weight = s->weight;
	if (c->state == LEDGER_LEFT || c->state == LEDGER_JOINING ||
	    (c->state == LEDGER_DROPPED && c->epoch + 1 < mixer_passes(d)))
		c->state = LEDGER_ACTIVE;
	*moved = *moved || c->state != was;
	return FAIL_NONE;
}

static enum fail_code
accept_new_domains(struct mixer *m, const struct mixer_plan *p, bool *moved, struct failure *f)
{
	for (size_t k = 0; k < p->sources_n; k++) {
		struct domain *d;

		if (mixer_domain_named(m, p->source[k].name) >= 0)
			continue;
		if (mixer_add_domain(m, &p->source[k], &d, f) != FAIL_NONE)
			return f->code;
		m->now.cursor[m->domains_n - 1].base_weight = p->source[k].weight;
		*moved = true;
	}
	return FAIL_NONE;
}

/* What the plan says for step_next comes into force; a phase that starts there is still to come. */
static enum fail_code
weigh_by_plan(struct mixer *m, struct failure *f)
{
	size_t started = mixer_phase_from(m, m->now.step_next);
	const struct phase *phase = started == 0 ? NULL : &m->phase[started - 1];
	struct force *force = &m->now.force;

	mixer_put_phase(m, phase);
	force->version++;
	force->version_step = m->now.step_next;
	force->reason = phase == NULL ? LEDGER_BY_CONFIG : LEDGER_BY_PHASE;
	memcpy(force->reason_id, force->phase, strlen(force->phase) + 1);
	if (m->epoch_size != 0 && m->domains_n > m->epoch_size)
		return fail(f, FAIL_CONFIG,
		    "epoch_size: %llu draws are too few for %zu domains: each is drawn at least "
		    "once a round",
		    (unsigned long long)m->epoch_size, m->domains_n);
	if (!mixer_weigh(m))
		return fail(f, FAIL_CONFIG,
		    "the configuration gives no weight to any domain that can still be drawn");
	return FAIL_NONE;
}

enum fail_code
mixer_accept(struct mixer *m, const struct mixer_plan *p, struct failure *f)
{
	uint64_t base = mixer_plan_hash(p);
	bool moved = base != m->base;

	if (mixer_check_plan(p, f) != FAIL_NONE)
		return f->code;
	mixer_settle(m);
	mixer_forget_done(m);
	m->undoable = false;
	for (size_t i = 0; i < m->domains_n; i++)
		if (accept_domain(m, i, mixer_source_named(p, m->domain[i].name), &moved, f) !=
		    FAIL_NONE)
			return f->code;
	if (accept_new_domains(m, p, &moved, f) != FAIL_NONE)
		return f->code;
	m->temperature = p->temperature;
	m->base = base;
	if (mixer_copy_phases(m, p->phase, p->phases_n, f) != FAIL_NONE)
		return f->code;
	return moved ? weigh_by_plan(m, f) : FAIL_NONE;
}

/* ---- replay ---- */

static enum fail_code
snapshot_domain(struct mixer *m, uint32_t i, const struct ledger_domain *l, struct failure *f)
{
	const struct domain *d = &m->domain[i];
	uint64_t sequences[ORDER_PARTITIONS_MAX];
	bool sealed[ORDER_PARTITIONS_MAX];

	if (l->name == NULL || strcmp(l->name, d->name) != 0 || l->partitions_n != d->partitions_n)
		return fail(f, FAIL_DATA,
		    "ledger: domain number %u is %s with %zu partitions, and was %s with %zu", i,
		    l->name == NULL ? "" : l->name, l->partitions_n, d->name, d->partitions_n);
	for (size_t k = 0; k < l->partitions_n; k++) {
		sequences[k] = (uint64_t)l->partition[k].sequences_next;
		sealed[k] = l->partition[k].sealed;
	}
	return mixer_set_lengths(m, i, sequences, sealed, f);
}

enum fail_code
mixer_take_snapshot(struct mixer *m, const struct ledger *l, struct failure *f)
{
	if (l->domains_n != m->domains_n)
		return fail(f, FAIL_DATA,
		    "ledger: %zu domains, and %zu in the record before: domains join in records of "
		    "their own",
		    l->domains_n, m->domains_n);
	for (uint32_t i = 0; i < m->domains_n; i++)
		if (snapshot_domain(m, i, &l->domain[i], f) != FAIL_NONE)
			return f->code;
	for (size_t i = m->quarantined_n; i < l->quarantined_n; i++) {
		const struct ledger_quarantined *q = &l->quarantined[i];

		if (q->domain >= m->domains_n || q->ordinal < 0)
			return fail(f, FAIL_DATA, "ledger: quarantined domain %u does not exist",
			    q->domain);
		if (mixer_quarantine(m, q->domain, q->partition, (uint64_t)q->ordinal,
			q->reason == NULL ? "" : q->reason, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}
