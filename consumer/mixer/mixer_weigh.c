/* Weights in force: quantised, dealt out over a round, passed on when a domain drops out. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "consumer/mixer/mixer_state.h"

/* Puts the quantised weights in force; ones that are in force already disturb nothing. */
static void
put_weights(struct mixer *m, const uint64_t *weight)
{
	bool same = m->now.schedule.n == m->domains_n;

	for (size_t i = 0; i < m->domains_n; i++) {
		same = same && m->now.cursor[i].weight == weight[i];
		m->now.cursor[i].weight = weight[i];
	}
	if (same)
		return;
	if (m->epoch_size == 0) {
		schedule_set_weights(&m->now.schedule, weight, m->domains_n);
	} else {
		uint64_t left[LIMIT_DOMAINS];

		weights_apportion(left, m->epoch_size - m->now.round_draws, weight, m->domains_n);
		schedule_set_weights(&m->now.schedule, left, m->domains_n);
	}
}

bool
mixer_weigh(struct mixer *m)
{
	double raw[LIMIT_DOMAINS];
	const char *name[LIMIT_DOMAINS];
	uint64_t weight[LIMIT_DOMAINS];
	bool positive = false;
	enum fail_code code;
	struct failure f;

	for (size_t i = 0; i < m->domains_n; i++) {
		const struct cursor *c = &m->now.cursor[i];

		raw[i] = c->state == LEDGER_ACTIVE ? c->raw_weight : 0;
		name[i] = m->domain[i].name;
		positive = positive || raw[i] > 0;
	}
	if (!positive)
		return false;
	if (m->schedule == SCHEDULE_GREEDY)
		code = weights_share(weight, raw, name, m->domains_n, m->now.force.temperature, &f);
	else
		code = weights_count(weight, raw, name, m->domains_n, m->now.force.temperature,
		    m->epoch_size == 0 ? WEIGHT_ONE : m->epoch_size, &f);
	assert(code == FAIL_NONE); /* weights and temperatures were checked when they came */
	put_weights(m, weight);
	return true;
}

bool
mixer_drop(struct mixer *m, size_t i)
{
	uint64_t weight[LIMIT_DOMAINS], share[LIMIT_DOMAINS], others = 0;

	m->now.cursor[i].state = LEDGER_DROPPED;
	if (m->schedule == SCHEDULE_GREEDY)
		return mixer_weigh(m);
	for (size_t k = 0; k < m->domains_n; k++) {
		weight[k] = k == i ? 0 : m->now.cursor[k].weight;
		others += weight[k];
	}
	if (others == 0)
		return false;
	weights_apportion(
	    share, m->epoch_size == 0 ? WEIGHT_ONE : m->epoch_size, weight, m->domains_n);
	put_weights(m, share);
	return true;
}

void
mixer_count_round(struct mixer *m)
{
	uint64_t weight[LIMIT_DOMAINS];

	if (m->epoch_size == 0 || ++m->now.round_draws < m->epoch_size)
		return;
	m->now.round++;
	m->now.round_draws = 0;
	for (size_t i = 0; i < m->domains_n; i++)
		weight[i] = m->now.cursor[i].weight;
	schedule_set_weights(&m->now.schedule, weight, m->domains_n);
}
