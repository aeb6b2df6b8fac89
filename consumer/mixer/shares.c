#include "consumer/mixer/shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/limits.h"

enum { CATCH_UP_DEFAULT = 2 };

/* ---- opening and closing ---- */

void
shares_init(struct shares *s, enum schedule_kind kind, uint64_t unit, uint64_t seed)
{
	s->epoch_size = s->round = s->round_draws = 0;
	s->version = (struct shares_version){.number = 1};
	s->share = NULL;
	s->n = s->lenders_n = 0;
	schedule_init(&s->schedule, kind, unit, seed);
}

void
shares_close(struct shares *s)
{
	free(s->share);
	s->share = NULL;
	s->n = 0;
}

enum fail_code
shares_add(struct shares *s, struct failure *f)
{
	assert(s->n < LIMIT_DOMAINS);
	if (buffer_resize_items(&s->share, s->n + 1, sizeof(*s->share), f) != FAIL_NONE)
		return f->code;
	s->share[s->n++] = (struct share){.state = LEDGER_ACTIVE};
	schedule_add(&s->schedule);
	return FAIL_NONE;
}

void
shares_copy(struct shares *to, const struct shares *from)
{
	assert(to->n == from->n);
	to->epoch_size = from->epoch_size;
	to->round = from->round;
	to->round_draws = from->round_draws;
	to->version = from->version;
	to->lenders_n = from->lenders_n;
	schedule_copy(&to->schedule, &from->schedule);
	memcpy(to->share, from->share, from->n * sizeof(*from->share));
}

enum fail_code
shares_clone(struct shares *to, const struct shares *from, struct failure *f)
{
	to->n = 0;
	to->share = calloc(from->n, sizeof(*to->share));
	if (to->share == NULL)
		return fail_memory(f);
	to->n = from->n;
	shares_copy(to, from);
	return FAIL_NONE;
}

void
shares_set_rules(struct shares *s, size_t i, enum mix_on_dry on_dry, double catch_up)
{
	struct share *h = &s->share[i];
	double times = catch_up == 0 ? CATCH_UP_DEFAULT : catch_up;

	assert(i < s->n);
	assert(times >= 1);
	s->lenders_n -= h->on_dry == MIX_DRY_LEND;
	h->on_dry = on_dry;
	h->catch_up = (uint64_t)((times - 1) * 1000 + 0.5);
	s->lenders_n += h->on_dry == MIX_DRY_LEND;
}

/* ---- weights in force ---- */

void
shares_begin_version(struct shares *s, uint64_t step, enum ledger_reason reason, const char *id)
{
	size_t n = strlen(id);

	assert(n < sizeof(s->version.reason_id));
	s->version.number++;
	s->version.step = step;
	s->version.reason = reason;
	memcpy(s->version.reason_id, id, n + 1);
}

/* What the weights sum to. */
static uint64_t
total(const struct shares *s)
{
	return s->epoch_size == 0 ? WEIGHT_ONE : s->epoch_size;
}

/*
 * Puts quantised weights in force. Those that are in force already disturb nothing: greedy would
 * begin its counts again, and a round its credits.
 */
static void
put_weights(struct shares *s, const uint64_t *weight)
{
	bool same = true;

	for (size_t i = 0; i < s->n; i++) {
		same = same && s->share[i].weight == weight[i];
		s->share[i].weight = weight[i];
	}
	if (same)
		return;
	if (s->epoch_size == 0) {
		schedule_set_weights(&s->schedule, weight, s->n);
	} else {
		uint64_t left[LIMIT_DOMAINS];

		weights_apportion(left, s->epoch_size - s->round_draws, weight, s->n);
		schedule_set_weights(&s->schedule, left, s->n);
	}
}

bool
shares_weigh(struct shares *s)
{
	double raw[LIMIT_DOMAINS];
	const char *name[LIMIT_DOMAINS];
	uint64_t weight[LIMIT_DOMAINS];
	bool positive = false;
	enum fail_code code;
	struct failure f;

	for (size_t i = 0; i < s->n; i++) {
		raw[i] = s->share[i].state == LEDGER_ACTIVE ? s->share[i].raw : 0;
		name[i] = ""; /* names appear in failures alone, and there is none */
		positive = positive || raw[i] > 0;
	}
	if (!positive)
		return false;
	if (s->schedule.kind == SCHEDULE_GREEDY)
		code = weights_share(weight, raw, name, s->n, s->version.temperature, &f);
	else
		code = weights_count(weight, raw, name, s->n, s->version.temperature, total(s), &f);
	assert(code == FAIL_NONE);
	put_weights(s, weight);
	return true;
}

bool
shares_drop(struct shares *s, size_t i)
{
	uint64_t weight[LIMIT_DOMAINS], share[LIMIT_DOMAINS], others = 0;

	assert(i < s->n);
	s->share[i].state = LEDGER_DROPPED;
	if (s->schedule.kind == SCHEDULE_GREEDY) /* doubles cannot be apportioned */
		return shares_weigh(s);
	for (size_t k = 0; k < s->n; k++) {
		weight[k] = k == i ? 0 : s->share[k].weight;
		others += weight[k];
	}
	if (others == 0)
		return false;
	weights_apportion(share, total(s), weight, s->n);
	put_weights(s, share);
	return true;
}

/* ---- one draw ---- */

/* A domain that can be paid back a draw now; `picked`: there is none. */
static size_t
creditor(const struct shares *s, size_t picked, const bool *dry)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct share *h = &s->share[i];

		if (h->owed > 0 && h->repay >= WEIGHT_ONE && i != picked &&
		    s->schedule.weight[i] > 0 && !dry[i])
			return i;
	}
	return picked;
}

struct shares_choice
shares_choose(const struct shares *s, const bool *dry)
{
	struct shares_choice c;
	size_t other;

	c.picked = c.drawn = schedule_pick(&s->schedule);
	c.lent = false;
	if (s->lenders_n == 0)
		return c;
	c.drawn = creditor(s, c.picked, dry);
	if (c.drawn != c.picked || s->share[c.picked].on_dry != MIX_DRY_LEND || !dry[c.picked])
		return c;
	other = schedule_lend_pick(&s->schedule, c.picked, dry);
	if (other < s->n) {
		c.drawn = other;
		c.lent = true;
	}
	return c;
}

bool
shares_choose_again(const struct shares *s, const struct shares_choice *c, bool *dry)
{
	if (s->lenders_n == 0 || dry[c->drawn])
		return false;
	if (c->drawn == c->picked && s->share[c->picked].on_dry != MIX_DRY_LEND)
		return false;
	dry[c->drawn] = true;
	return true;
}

/* Counts a draw of the open round; a full one begins the next, with all weights to be drawn. */
static void
count_round(struct shares *s)
{
	uint64_t weight[LIMIT_DOMAINS];

	if (s->epoch_size == 0 || ++s->round_draws < s->epoch_size)
		return;
	s->round++;
	s->round_draws = 0;
	for (size_t i = 0; i < s->n; i++)
		weight[i] = s->share[i].weight;
	schedule_set_weights(&s->schedule, weight, s->n);
}

void
shares_charge(struct shares *s, const struct shares_choice *c, const bool *dry, uint64_t units)
{
	assert(c->picked < s->n && c->drawn < s->n);
	if (c->lent) {
		schedule_lend(&s->schedule, c->picked, dry, c->drawn);
		s->share[c->picked].owed++;
		s->share[c->picked].lent++;
	} else if (c->drawn != c->picked) {
		assert(s->share[c->drawn].owed > 0 && s->share[c->drawn].repay >= WEIGHT_ONE);
		schedule_repay(&s->schedule, c->drawn, c->picked);
		s->share[c->drawn].owed--;
		s->share[c->drawn].repay -= WEIGHT_ONE;
	} else {
		schedule_charge(&s->schedule, c->picked, units);
	}
	count_round(s);
}

void
shares_ripen(struct shares *s, const bool *dry)
{
	for (size_t i = 0; i < s->n; i++) {
		struct share *h = &s->share[i];

		if (h->owed == 0)
			h->repay = 0;
		else if (h->repay < WEIGHT_ONE && !dry[i])
			h->repay += s->schedule.weight[i] * h->catch_up / 1000;
	}
}

/* ---- figures ---- */

double
shares_of(const struct shares *s, size_t i)
{
	assert(i < s->n);
	if (s->schedule.kind == SCHEDULE_GREEDY)
		return weights_double(s->share[i].weight);
	return (double)s->share[i].weight / (double)total(s);
}

double
shares_credit(const struct shares *s, size_t i)
{
	assert(i < s->n);
	switch (s->schedule.kind) {
	case SCHEDULE_DEFICIT:
		return (double)s->schedule.credit[i] / (double)s->schedule.one /
		       (double)s->schedule.unit;
	case SCHEDULE_GREEDY:
		return shares_of(s, i) * (double)s->schedule.draws - (double)s->schedule.credit[i];
	case SCHEDULE_RANDOM: break;
	}
	return 0;
}
