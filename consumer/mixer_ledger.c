/* A mixer to and from its ledger record. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer_state.h"

static enum fail_code
resume_domain(struct mixer *m, const struct mixer_plan *p, const struct ledger_domain *l,
    uint64_t *weight, struct failure *f)
{
	const struct mixer_source *s = mixer_source_named(p, l->name);
	uint64_t sequences[ORDER_PARTITIONS_MAX];
	struct cursor *c;
	size_t i = m->domains_n;

	if (!names_valid(l->name) || l->index != i || l->partitions_n < 1 ||
	    l->partitions_n > ORDER_PARTITIONS_MAX || l->epoch < 0 || l->position < 0)
		return fail(
		    f, FAIL_DATA, "ledger: domain number %zu (%s) contradicts itself", i, l->name);
	for (size_t k = 0; k < l->partitions_n; k++) {
		if (l->partition[k].sequences < 0 || l->partition[k].taken < 0)
			return fail(f, FAIL_DATA, "ledger: domain %s: partition %zu has no length",
			    l->name, k);
		sequences[k] = (uint64_t)l->partition[k].sequences;
	}
	if (mixer_add_domain(m, l->name, l->raw_weight, s == NULL ? CONFIG_END_REPEAT : s->on_end,
		sequences, l->partitions_n, f) != FAIL_NONE)
		return f->code;
	if ((uint64_t)l->position > order_length(m->domain[i].order))
		return fail(f, FAIL_DATA, "ledger: domain %s: position %lld is past its end",
		    l->name, (long long)l->position);
	c = &m->now.cursor[i];
	c->state = l->state;
	c->epoch = (uint64_t)l->epoch;
	c->position = (uint64_t)l->position;
	c->taken = (uint64_t)l->taken;
	c->tokens = (uint64_t)l->tokens;
	for (size_t k = 0; k < l->partitions_n; k++)
		m->now.taken_in_epoch[m->domain[i].partition_first + k] =
		    (uint64_t)l->partition[k].taken;
	*weight = l->weight;
	return FAIL_NONE;
}

/* Credits keep within a draw a domain, and a domain that cannot be drawn has no claim. */
static bool
can_be_scheduled(const struct mixer *m, size_t i, uint64_t weight, int64_t credit)
{
	int64_t most = (int64_t)(WEIGHT_ONE * WEIGHTS_MAX);

	if (weight > WEIGHT_ONE || credit > most || credit < -most)
		return false;
	if (weight == 0)
		return credit <= 0;
	return m->now.cursor[i].state == LEDGER_ACTIVE && order_length(m->domain[i].order) > 0;
}

/* Weights must sum to WEIGHT_ONE and credits to 0, or drawing would go wrong later. */
static enum fail_code
resume_schedule(struct mixer *m, const struct ledger *l, const uint64_t *weight, struct failure *f)
{
	uint64_t weights = 0;
	int64_t credits = 0;

	for (size_t i = 0; i < l->domains_n; i++) {
		if (!can_be_scheduled(m, i, weight[i], l->domain[i].credit))
			return fail(f, FAIL_DATA,
			    "ledger: domain %s cannot have weight %llu and credit %lld",
			    l->domain[i].name, (unsigned long long)weight[i],
			    (long long)l->domain[i].credit);
		weights += weight[i];
		credits += l->domain[i].credit;
	}
	if (weights != WEIGHT_ONE || credits != 0)
		return fail(f, FAIL_DATA,
		    "ledger: weights sum to %llu of 2^32 and credits to %lld of 0",
		    (unsigned long long)weights, (long long)credits);
	schedule_set_weights(&m->now.schedule, weight, l->domains_n);
	for (size_t i = 0; i < l->domains_n; i++)
		m->now.schedule.credit[i] = l->domain[i].credit;
	return FAIL_NONE;
}

enum fail_code
mixer_resume(
    struct mixer **out, const struct mixer_plan *p, const struct ledger *l, struct failure *f)
{
	struct mixer *m = mixer_from_plan(p);
	uint64_t weight[WEIGHTS_MAX];

	if (m == NULL)
		return fail_memory(f);
	if (l->domains_n < 1 || l->domains_n > WEIGHTS_MAX || l->step_next < 0) {
		fail(f, FAIL_DATA, "ledger: %zu domains at step %lld", l->domains_n,
		    (long long)l->step_next);
		goto failed;
	}
	for (size_t i = 0; i < l->domains_n; i++)
		if (resume_domain(m, p, &l->domain[i], &weight[i], f) != FAIL_NONE)
			goto failed;
	if (resume_schedule(m, l, weight, f) != FAIL_NONE)
		goto failed;
	for (size_t i = 0; i < l->quarantined_n; i++) {
		const struct ledger_quarantined *q = &l->quarantined[i];

		if (q->domain >= m->domains_n || q->ordinal < 0) {
			fail(f, FAIL_DATA, "ledger: quarantined domain %u does not exist",
			    q->domain);
			goto failed;
		}
		if (mixer_quarantine(m, q->domain, q->partition, (uint64_t)q->ordinal, q->reason,
			f) != FAIL_NONE)
			goto failed;
	}
	m->now.step_next = (uint64_t)l->step_next;
	m->now.draws = (uint64_t)l->draws;
	m->now.choices = l->choices;
	m->version = (uint64_t)l->version;
	m->version_step = (uint64_t)l->version_step;
	m->temperature = l->temperature;
	*out = m;
	return FAIL_NONE;
failed:
	mixer_close(m);
	return f->code;
}

static enum fail_code
save_domain(const struct mixer *m, size_t i, struct ledger_domain *l, struct failure *f)
{
	const struct domain *d = &m->domain[i];
	const struct cursor *c = &m->now.cursor[i];

	l->name = strdup(d->name);
	l->partition = calloc(d->partitions_n, sizeof(*l->partition));
	if (l->name == NULL || l->partition == NULL)
		return fail_memory(f);
	l->index = (uint32_t)i;
	l->state = c->state;
	l->weight = m->now.schedule.weight[i];
	l->raw_weight = d->raw_weight;
	l->credit = m->now.schedule.credit[i];
	l->taken = (int64_t)c->taken;
	l->tokens = (int64_t)c->tokens;
	l->epoch = (int64_t)c->epoch;
	l->position = (int64_t)c->position;
	l->partitions_n = d->partitions_n;
	for (size_t k = 0; k < d->partitions_n; k++) {
		l->partition[k].sequences = (int64_t)d->sequences[k];
		l->partition[k].sealed = true;
		l->partition[k].sequences_next = (int64_t)d->sequences[k];
		l->partition[k].taken = (int64_t)m->now.taken_in_epoch[d->partition_first + k];
	}
	return FAIL_NONE;
}

enum fail_code
mixer_save(const struct mixer *m, struct ledger *l, struct failure *f)
{
	l->step_next = (int64_t)m->now.step_next;
	l->draws = (int64_t)m->now.draws;
	l->choices = m->now.choices;
	l->version = (int64_t)m->version;
	l->version_step = (int64_t)m->version_step;
	l->reason = LEDGER_BY_CONFIG;
	l->lr_scale = 1;
	l->temperature = m->temperature;
	l->domain = calloc(m->domains_n, sizeof(*l->domain));
	if (l->domain == NULL)
		return fail_memory(f);
	for (; l->domains_n < m->domains_n; l->domains_n++)
		if (save_domain(m, l->domains_n, &l->domain[l->domains_n], f) != FAIL_NONE) {
			l->domains_n++; /* so that ledger_clear() sees what was allocated */
			return f->code;
		}
	if (m->quarantined_n == 0)
		return FAIL_NONE;
	l->quarantined = calloc(m->quarantined_n, sizeof(*l->quarantined));
	if (l->quarantined == NULL)
		return fail_memory(f);
	for (; l->quarantined_n < m->quarantined_n; l->quarantined_n++) {
		struct ledger_quarantined *q = &l->quarantined[l->quarantined_n];

		*q = m->quarantined[l->quarantined_n];
		q->reason = strdup(q->reason);
		if (q->reason == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}
