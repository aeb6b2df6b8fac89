/* A mixer's state into its ledger record. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

static void
save_partitions(const struct mixer *m, size_t i, struct ledger_domain *l)
{
	const struct domain *d = &m->domain[i];
	const uint64_t *sequences = m->now.cursor[i].extended ? d->sequences_next : d->sequences;

	for (size_t k = 0; k < d->partitions_n; k++)
		l->partition[k] = (struct ledger_partition){
		    .sequences = (int64_t)sequences[k],
		    .sealed = d->sealed[k],
		    .sequences_next = (int64_t)d->sequences_next[k],
		    .taken = (int64_t)m->now.taken_in_epoch[d->partition_first + k],
		};
	l->partitions_n = d->partitions_n;
}

static enum fail_code
save_domain(const struct mixer *m, size_t i, struct ledger_domain *l, struct failure *f)
{
	const struct domain *d = &m->domain[i];
	const struct cursor *c = &m->now.cursor[i];
	int64_t credit = m->now.schedule.credit[i];

	l->name = strdup(d->name);
	l->partition = calloc(d->partitions_n, sizeof(*l->partition));
	if (l->name == NULL || l->partition == NULL)
		return fail_memory(f);
	l->index = (uint32_t)i;
	l->state = c->state;
	l->weight = c->weight;
	l->round_weight = m->epoch_size == 0 ? 0 : m->now.schedule.weight[i];
	l->raw_weight = c->raw_weight;
	l->base_weight = c->base_weight;
	l->joined = d->joined;
	l->live = d->live;
	l->credit = m->schedule == SCHEDULE_GREEDY ? 0 : credit;
	l->greedy_count = m->schedule == SCHEDULE_GREEDY ? credit : 0;
	l->taken = (int64_t)c->taken;
	l->tokens = (int64_t)c->tokens;
	l->epoch = (int64_t)c->epoch;
	l->position = (int64_t)c->position;
	l->owed = (int64_t)c->owed;
	l->repay = (int64_t)c->repay;
	save_partitions(m, i, l);
	return FAIL_NONE;
}

static enum fail_code
save_domains(const struct mixer *m, struct ledger *l, struct failure *f)
{
	l->domain = calloc(m->domains_n, sizeof(*l->domain));
	if (l->domain == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < m->domains_n; i++) {
		l->domains_n++; /* so that ledger_clear() sees what was allocated */
		if (save_domain(m, i, &l->domain[i], f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
save_pending(const struct mixer *m, struct ledger *l, struct failure *f)
{
	size_t n = mixer_pending(m);

	if (n == 0)
		return FAIL_NONE;
	l->pending = calloc(n, sizeof(*l->pending));
	if (l->pending == NULL)
		return fail_memory(f);
	for (; l->pending_n < n; l->pending_n++)
		if (mixer_change_copy(&l->pending[l->pending_n],
			&m->pending[m->now.pending_done + l->pending_n], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
save_exclusions(const struct mixer *m, struct ledger *l, struct failure *f)
{
	if (m->now.skips_n > 0) {
		l->skip = calloc(m->now.skips_n, sizeof(*l->skip));
		if (l->skip == NULL)
			return fail_memory(f);
		memcpy(l->skip, m->skip, m->now.skips_n * sizeof(*l->skip));
		l->skips_n = m->now.skips_n;
	}
	if (m->quarantined_n == 0)
		return FAIL_NONE;
	l->quarantined = calloc(m->quarantined_n, sizeof(*l->quarantined));
	if (l->quarantined == NULL)
		return fail_memory(f);
	for (; l->quarantined_n < m->quarantined_n; l->quarantined_n++) {
		struct ledger_quarantined *q = &l->quarantined[l->quarantined_n];
		char *reason = strdup(m->quarantined[l->quarantined_n].reason);

		if (reason == NULL)
			return fail_memory(f);
		*q = m->quarantined[l->quarantined_n];
		q->reason = reason;
	}
	return FAIL_NONE;
}

static enum fail_code
save_ids(const struct mixer *m, struct ledger *l, struct failure *f)
{
	l->control_next = m->control_next;
	if (m->request_ids_n == 0)
		return FAIL_NONE;
	l->request_id = calloc(m->request_ids_n, sizeof(*l->request_id));
	if (l->request_id == NULL)
		return fail_memory(f);
	for (; l->request_ids_n < m->request_ids_n; l->request_ids_n++) {
		l->request_id[l->request_ids_n] = strdup(m->request_id[l->request_ids_n]);
		if (l->request_id[l->request_ids_n] == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

enum fail_code
mixer_save(const struct mixer *m, struct ledger *l, struct failure *f)
{
	const struct force *force = &m->now.force;

	l->step_next = (int64_t)m->now.step_next;
	l->draws = (int64_t)m->now.draws;
	l->choices = m->now.choices;
	l->version = (int64_t)force->version;
	l->version_step = (int64_t)force->version_step;
	l->reason = force->reason;
	l->reason_id = strdup(force->reason_id);
	l->phase = strdup(force->phase);
	if (l->reason_id == NULL || l->phase == NULL)
		return fail_memory(f);
	l->lr_scale = force->lr_scale;
	l->temperature = force->temperature;
	if (m->schedule == SCHEDULE_GREEDY)
		l->greedy_draws = (int64_t)m->now.schedule.draws;
	l->base = m->base;
	l->epoch_size = (int64_t)m->epoch_size;
	l->round = (int64_t)m->now.round;
	l->round_draws = (int64_t)m->now.round_draws;
	if (save_domains(m, l, f) != FAIL_NONE || save_pending(m, l, f) != FAIL_NONE ||
	    save_exclusions(m, l, f) != FAIL_NONE)
		return f->code;
	return save_ids(m, l, f);
}
