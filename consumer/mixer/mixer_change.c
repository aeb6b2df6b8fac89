/* What comes into force at a step: phases of the plan, accepted requests. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

/* ---- values ---- */

void
mixer_change_clear(struct ledger_change *c)
{
	for (size_t i = 0; i < c->weights_n; i++)
		free(c->weight[i].domain);
	free(c->weight);
	free(c->id);
	free(c->domain);
	free(c->who);
	*c = (struct ledger_change){0};
}

static char *
copy_text(const char *text)
{
	return strdup(text == NULL ? "" : text);
}

enum fail_code
mixer_change_copy(struct ledger_change *to, const struct ledger_change *from, struct failure *f)
{
	struct ledger_change c = *from;
	bool whole;

	c.weights_n = 0;
	c.weight = calloc(from->weights_n + 1, sizeof(*c.weight));
	c.id = copy_text(from->id);
	c.domain = copy_text(from->domain);
	c.who = copy_text(from->who);
	whole = c.weight != NULL && c.id != NULL && c.domain != NULL && c.who != NULL;
	for (; whole && c.weights_n < from->weights_n; c.weights_n++) {
		c.weight[c.weights_n].weight = from->weight[c.weights_n].weight;
		c.weight[c.weights_n].domain = copy_text(from->weight[c.weights_n].domain);
		whole = c.weight[c.weights_n].domain != NULL;
	}
	if (!whole) {
		mixer_change_clear(&c);
		return fail_memory(f);
	}
	*to = c;
	return FAIL_NONE;
}

enum fail_code
mixer_insert_change(struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	struct ledger_change *grown, copy;
	size_t at = m->pending_n;

	grown = realloc(m->pending, (m->pending_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	m->pending = grown;
	if (mixer_change_copy(&copy, c, f) != FAIL_NONE)
		return f->code;
	while (at > m->now.pending_done && grown[at - 1].step > c->step)
		at--;
	memmove(grown + at + 1, grown + at, (m->pending_n - at) * sizeof(*grown));
	grown[at] = copy;
	m->pending_n++;
	return FAIL_NONE;
}

void
mixer_forget_done(struct mixer *m)
{
	size_t done = m->now.pending_done;

	if (done == 0)
		return;
	for (size_t i = 0; i < done; i++)
		mixer_change_clear(&m->pending[i]);
	m->pending_n -= done;
	memmove(m->pending, m->pending + done, m->pending_n * sizeof(*m->pending));
	m->now.pending_done = 0;
}

/* ---- coming into force ---- */

static void
set_text(char *to, size_t room, const char *text)
{
	size_t n = strlen(text);

	assert(n < room);
	memcpy(to, text, n + 1);
}

static void
new_version(struct mixer *m, enum ledger_reason reason, const char *id)
{
	struct force *force = &m->now.force;

	force->version++;
	force->version_step = m->now.step_next;
	force->reason = reason;
	set_text(force->reason_id, sizeof(force->reason_id), id);
}

static void
put_raw_weights(struct mixer *m, const struct ledger_raw_weight *weight, size_t weights_n)
{
	for (size_t i = 0; i < weights_n; i++) {
		int d = mixer_domain_named(m, weight[i].domain);

		if (d >= 0)
			m->now.cursor[d].raw_weight = weight[i].weight;
	}
}

void
mixer_put_phase(struct mixer *m, const struct phase *phase)
{
	struct force *force = &m->now.force;

	for (size_t i = 0; i < m->domains_n; i++)
		m->now.cursor[i].raw_weight = m->now.cursor[i].base_weight;
	force->temperature = m->temperature;
	force->lr_scale = 1;
	force->phase[0] = '\0';
	if (phase == NULL)
		return;
	put_raw_weights(m, phase->weight, phase->weights_n);
	force->temperature = phase->temperature;
	force->lr_scale = phase->lr_scale;
	set_text(force->phase, sizeof(force->phase), phase->name);
}

static void
join(struct mixer *m, const struct ledger_change *c)
{
	int d = mixer_domain_named(m, c->domain);

	assert(d >= 0);
	if (m->now.cursor[d].state == LEDGER_JOINING)
		m->now.cursor[d].state = LEDGER_ACTIVE;
	put_raw_weights(m, c->weight, c->weights_n);
	m->now.cursor[d].base_weight = m->now.cursor[d].raw_weight;
}

enum fail_code
mixer_put_change(struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);

	switch (c->kind) {
	case LEDGER_SKIP: {
		const struct ledger_skip s = {
		    (uint32_t)d, (uint32_t)c->partition, c->first, c->end};

		assert(d >= 0);
		return mixer_put_skip(m, &s, f);
	}
	case LEDGER_WEIGHTS: put_raw_weights(m, c->weight, c->weights_n); break;
	case LEDGER_JOIN: join(m, c); break;
	case LEDGER_LEAVE:
		assert(d >= 0);
		m->now.cursor[d].state = LEDGER_LEFT;
		put_raw_weights(m, c->weight, c->weights_n);
		break;
	}
	if (c->temperature > 0)
		m->now.force.temperature = c->temperature;
	if (c->lr_scale > 0)
		m->now.force.lr_scale = c->lr_scale;
	new_version(m, LEDGER_BY_REQUEST, c->id);
	return FAIL_NONE;
}

size_t
mixer_phase_from(const struct mixer *m, uint64_t step)
{
	size_t low = 0, high = m->phases_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->phase[middle].start_step < step)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum fail_code
mixer_change_due(struct mixer *m, bool *over, struct failure *f)
{
	struct progress *now = &m->now;
	size_t phase = mixer_phase_from(m, now->step_next);
	uint64_t version = now->force.version;

	*over = false;
	if (phase < m->phases_n && m->phase[phase].start_step == now->step_next) {
		mixer_put_phase(m, &m->phase[phase]);
		new_version(m, LEDGER_BY_PHASE, m->phase[phase].name);
	}
	while (now->pending_done < m->pending_n &&
	       (uint64_t)m->pending[now->pending_done].step <= now->step_next) {
		if (mixer_put_change(m, &m->pending[now->pending_done], f) != FAIL_NONE)
			return f->code;
		now->pending_done++;
	}
	if (now->force.version != version)
		*over = !mixer_weigh(m);
	return FAIL_NONE;
}
