/* A step: what comes into force with it, its draws, their places in the batch. */
#include <assert.h>
#include <string.h>

#include "common/schedule/permutation.h"
#include "consumer/mixer/mixer_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static void
progress_copy(
    struct progress *to, const struct progress *from, size_t domains_n, size_t partitions_n)
{
	struct cursor *cursor = to->cursor;
	uint64_t *taken = to->taken_in_epoch;

	to->step_next = from->step_next;
	to->draws = from->draws;
	to->choices = from->choices;
	to->round = from->round;
	to->round_draws = from->round_draws;
	to->pending_done = from->pending_done;
	to->skips_n = from->skips_n;
	to->force = from->force;
	schedule_copy(&to->schedule, &from->schedule);
	memcpy(cursor, from->cursor, domains_n * sizeof(*cursor));
	memcpy(taken, from->taken_in_epoch, partitions_n * sizeof(*taken));
}

static uint64_t
hash_choice(const struct mixer_draw *d, uint64_t before)
{
	uint8_t bytes[24];

	for (int i = 0; i < 4; i++) {
		bytes[i] = (uint8_t)(d->domain >> (8 * i));
		bytes[4 + i] = (uint8_t)(d->partition >> (8 * i));
	}
	for (int i = 0; i < 8; i++) {
		bytes[8 + i] = (uint8_t)(d->ordinal >> (8 * i));
		bytes[16 + i] = (uint8_t)(d->epoch >> (8 * i));
	}
	return XXH64(bytes, sizeof(bytes), before);
}

/* ---- one draw ---- */

/* Who is drawn, and how it is paid for. */
struct choice {
	size_t picked; /* by the schedule */
	size_t drawn;  /* another one: lent, or paid back */
	bool lent;     /* by `picked`, which is dry */
};

static bool
lends(const struct mixer *m, size_t i)
{
	return m->domain[i].on_dry == MIXER_DRY_LEND && mixer_is_dealing(m, i);
}

/* A domain that is owed draws and may be paid one back now; `picked`: there is none. */
static size_t
creditor(struct mixer *m, size_t picked)
{
	for (size_t i = 0; i < m->domains_n; i++) {
		const struct cursor *c = &m->now.cursor[i];

		if (c->owed > 0 && c->repay >= WEIGHT_ONE && i != picked &&
		    m->now.schedule.weight[i] > 0 && !m->dry[i])
			return i;
	}
	return picked;
}

/* Where all that could be drawn are dry, one that is dry is drawn, and taking from it says so. */
static void
choose(struct mixer *m, struct choice *c)
{
	c->picked = c->drawn = schedule_pick(&m->now.schedule);
	c->lent = false;
	if (m->lenders_n == 0)
		return;
	c->drawn = creditor(m, c->picked);
	if (c->drawn != c->picked || !lends(m, c->picked) || !m->dry[c->picked])
		return;
	c->drawn = schedule_lend_pick(&m->now.schedule, c->picked, m->dry);
	c->lent = c->drawn < m->domains_n;
	if (!c->lent)
		c->drawn = c->picked;
}

/* Whoever is owed draws and has sequences comes nearer to the next one, up to one draw. */
static void
ripen(struct mixer *m)
{
	for (size_t i = 0; i < m->domains_n; i++) {
		struct cursor *c = &m->now.cursor[i];

		if (c->owed == 0)
			c->repay = 0;
		else if (c->repay < WEIGHT_ONE && !mixer_is_dry(m, i))
			c->repay += m->now.schedule.weight[i] * m->domain[i].catch_up / 1000;
	}
}

static void
charge(struct mixer *m, const struct choice *c, uint64_t tokens)
{
	struct schedule *s = &m->now.schedule;

	if (c->lent) {
		schedule_lend(s, c->picked, m->dry, c->drawn);
		m->now.cursor[c->picked].owed++;
	} else if (c->drawn != c->picked) {
		schedule_repay(s, c->drawn, c->picked);
		m->now.cursor[c->drawn].owed--;
		m->now.cursor[c->drawn].repay -= WEIGHT_ONE;
	} else
		schedule_charge(s, c->picked, m->weights_unit == MIXER_BY_TOKENS ? tokens : 1);
	if (m->lenders_n > 0)
		ripen(m);
	mixer_count_round(m);
}

/* Tokens of a sequence that is drawn; 0: not known yet. */
static uint64_t
tokens_of(const struct mixer *m, const struct mixer_draw *draw)
{
	uint64_t full = (uint64_t)m->sequence_length + 1, tokens;

	if (m->weights_unit != MIXER_BY_TOKENS || m->tokens == NULL ||
	    !m->domain[draw->domain].short_ones)
		return full;
	tokens = m->tokens(m->tokens_opaque, draw);
	return tokens < full ? tokens : full;
}

/* What was drawn has only excluded sequences: as a dry one, it lets others go first if it may. */
static bool
found_dry(struct mixer *m, const struct choice *c)
{
	if (m->lenders_n == 0 || m->dry[c->drawn] ||
	    (c->drawn == c->picked && !lends(m, c->picked)))
		return false;
	m->dry[c->drawn] = true;
	return true;
}

/* One draw; MIXER_DRAWN, or why there is none. */
static enum fail_code
draw_one(struct mixer *m, struct mixer_draw *draw, enum mixer_result *result, struct failure *f)
{
	for (size_t i = 0; m->lenders_n > 0 && i < m->domains_n; i++)
		m->dry[i] = mixer_is_dry(m, i);
	for (;;) {
		struct choice c;
		uint64_t tokens;

		choose(m, &c);
		switch (mixer_take(m, c.drawn, draw)) {
		case TAKE_DONE:
			tokens = tokens_of(m, draw);
			if (tokens == 0) {
				m->blocked = *draw;
				*result = MIXER_UNKNOWN;
				return FAIL_NONE;
			}
			charge(m, &c, tokens);
			m->now.cursor[c.drawn].tokens += tokens;
			m->now.draws++;
			m->now.choices = hash_choice(draw, m->now.choices);
			*result = MIXER_DRAWN;
			return FAIL_NONE;
		case TAKE_NOTHING_LEFT:
			return fail(f, FAIL_DATA,
			    "domain %s: every one of its sequences is quarantined or skipped",
			    m->domain[c.drawn].name);
		case TAKE_DRY:
			if (found_dry(m, &c))
				continue;
			*result = MIXER_DRY;
			return FAIL_NONE;
		case TAKE_EXHAUSTED: break;
		}
		if (m->domain[c.drawn].on_end == CONFIG_END_STOP || !mixer_drop(m, c.drawn)) {
			*result = MIXER_ENDED;
			return FAIL_NONE;
		}
	}
}

/* ---- a step ---- */

/* Index in draws[] of the k-th sequence of the batch order. */
static size_t
slot_of(const struct mixer *m, uint64_t k)
{
	uint64_t each = m->global_batch / m->lanes;

	if (m->lane_order == CONFIG_LANES_STRIDED)
		return (size_t)(k % m->lanes * each + k / m->lanes);
	return (size_t)k;
}

static enum fail_code
draw_all(struct mixer *m, struct mixer_draw *draws, enum mixer_result *result, struct failure *f)
{
	struct permutation batch;

	permutation_init(&batch, m->global_batch, permutation_subkey(m->seed, m->now.step_next), 0);
	for (uint64_t j = 0; j < m->global_batch; j++) {
		uint64_t k = m->permute ? permutation_at(&batch, j) : j;

		if (draw_one(m, &draws[slot_of(m, k)], result, f) != FAIL_NONE)
			return f->code;
		if (*result != MIXER_DRAWN)
			return FAIL_NONE;
	}
	return FAIL_NONE;
}

enum fail_code
mixer_step(struct mixer *m, struct mixer_draw *draws, enum mixer_result *result, struct failure *f)
{
	bool over;
	enum fail_code code;

	mixer_settle(m);
	mixer_forget_done(m);
	progress_copy(&m->before, &m->now, m->domains_n, m->partitions_n);
	m->undoable = true;
	*result = MIXER_ENDED;
	code = mixer_change_due(m, &over, f);
	if (code == FAIL_NONE && !over)
		code = draw_all(m, draws, result, f);
	if (code != FAIL_NONE || *result != MIXER_DRAWN)
		mixer_undo(m);
	else
		m->now.step_next++;
	return code;
}

void
mixer_undo(struct mixer *m)
{
	assert(m->undoable);
	progress_copy(&m->now, &m->before, m->domains_n, m->partitions_n);
	m->skips_n = m->now.skips_n;
	m->undoable = false;
}
