/* What a caller may ask of a mixer. */
#include <assert.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

uint64_t
mixer_step_next(const struct mixer *m)
{
	return m->now.step_next;
}

uint64_t
mixer_version(const struct mixer *m)
{
	return m->now.force.version;
}

uint64_t
mixer_version_step(const struct mixer *m)
{
	return m->now.force.version_step;
}

enum ledger_reason
mixer_reason(const struct mixer *m)
{
	return m->now.force.reason;
}

const char *
mixer_reason_id(const struct mixer *m)
{
	return m->now.force.reason_id;
}

const char *
mixer_phase_name(const struct mixer *m)
{
	return m->now.force.phase;
}

double
mixer_lr_scale(const struct mixer *m)
{
	return m->now.force.lr_scale;
}

double
mixer_temperature(const struct mixer *m)
{
	return m->now.force.temperature;
}

size_t
mixer_pending(const struct mixer *m)
{
	return m->pending_n - m->now.pending_done;
}

size_t
mixer_domains(const struct mixer *m)
{
	return m->domains_n;
}

const char *
mixer_domain_name(const struct mixer *m, uint32_t domain)
{
	assert(domain < m->domains_n);
	return m->domain[domain].name;
}

int
mixer_domain_named(const struct mixer *m, const char *name)
{
	for (size_t i = 0; name != NULL && i < m->domains_n; i++)
		if (strcmp(m->domain[i].name, name) == 0)
			return (int)i;
	return -1;
}

void
mixer_stand(const struct mixer *m, uint32_t domain, struct mixer_standing *out)
{
	const struct cursor *c = &m->now.cursor[domain];
	const struct domain *d = &m->domain[domain];
	uint64_t passes = mixer_passes(d);

	assert(domain < m->domains_n);
	*out = (struct mixer_standing){
	    .state = c->state,
	    .live = mixer_is_dealing(m, domain) && !d->all_sealed,
	    .weight = c->raw_weight,
	    .taken = c->taken,
	    .tokens = c->tokens,
	    .epoch = c->epoch,
	    .position = c->position,
	    .length = mixer_length(m, domain),
	    .passes = passes == UINT64_MAX ? 0 : passes,
	    .owed = (int64_t)c->owed,
	};
	if (m->schedule == SCHEDULE_GREEDY) {
		out->share = weights_double(c->weight);
		out->credit = out->share * (double)m->now.schedule.draws -
			      (double)m->now.schedule.credit[domain];
		return;
	}
	out->share = (double)c->weight / (double)(m->epoch_size == 0 ? WEIGHT_ONE : m->epoch_size);
	if (m->schedule == SCHEDULE_DEFICIT)
		out->credit = (double)m->now.schedule.credit[domain] / (double)m->now.schedule.one /
			      (double)m->now.schedule.unit;
}

size_t
mixer_partitions(const struct mixer *m, uint32_t domain)
{
	assert(domain < m->domains_n);
	return m->domain[domain].partitions_n;
}

uint64_t
mixer_partition_taken(const struct mixer *m, uint32_t domain, uint32_t partition)
{
	assert(domain < m->domains_n && partition < m->domain[domain].partitions_n);
	return m->now.taken_in_epoch[m->domain[domain].partition_first + partition];
}

uint64_t
mixer_round(const struct mixer *m, uint64_t *draws)
{
	*draws = m->now.round_draws;
	return m->now.round;
}

const struct mixer_draw *
mixer_blocked(const struct mixer *m)
{
	return &m->blocked;
}

void
mixer_set_tokens(struct mixer *m, mixer_tokens *tokens, void *opaque)
{
	m->tokens = tokens;
	m->tokens_opaque = opaque;
}

void
mixer_correct_tokens(struct mixer *m, uint32_t domain, uint32_t tokens)
{
	assert(domain < m->domains_n);
	if (m->weights_unit == MIXER_BY_SEQUENCES &&
	    tokens <= m->sequence_length) /* else they were asked for, or decided by */
		m->now.cursor[domain].tokens -= m->sequence_length + 1 - tokens;
}

void
mixer_set_control_next(struct mixer *m, int64_t offset)
{
	assert(offset >= 0); /* back, where the topic was made anew */
	m->control_next = offset;
}

int64_t
mixer_control_next(const struct mixer *m)
{
	return m->control_next;
}
