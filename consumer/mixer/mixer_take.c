/* The next sequence of a domain: its epoch's order, or the rounds of a live one. */
#include <assert.h>
#include <string.h>

#include "consumer/mixer/mixer_state.h"

bool
mixer_is_dealing(const struct mixer *m, size_t i)
{
	return m->domain[i].live && m->now.cursor[i].epoch == 0;
}

uint64_t
mixer_passes(const struct domain *d)
{
	if (d->max_epochs != 0)
		return d->max_epochs;
	return d->on_end == CONFIG_END_REPEAT ? UINT64_MAX : 1;
}

static const struct order *
order_of(const struct mixer *m, size_t i)
{
	const struct domain *d = &m->domain[i];

	return m->now.cursor[i].extended && d->order_next != NULL ? d->order_next : d->order;
}

uint64_t
mixer_length(const struct mixer *m, size_t i)
{
	const struct domain *d = &m->domain[i];
	uint64_t sum = 0;

	if (!mixer_is_dealing(m, i))
		return order_length(order_of(m, i));
	for (size_t p = 0; p < d->partitions_n; p++)
		sum += d->sequences[p];
	return sum;
}

static void
begin_epoch(struct mixer *m, size_t i)
{
	const struct domain *d = &m->domain[i];
	struct cursor *c = &m->now.cursor[i];

	c->epoch++;
	c->position = 0;
	c->extended = d->grows;
	memset(m->now.taken_in_epoch + d->partition_first, 0, d->partitions_n * sizeof(uint64_t));
}

/* The place at the cursor of a domain with an order; keeps order and window up with it. */
static void
ordered_place(struct mixer *m, size_t i, struct mixer_draw *draw)
{
	struct domain *d = &m->domain[i];
	const struct cursor *c = &m->now.cursor[i];
	struct order *o = c->extended && d->order_next != NULL ? d->order_next : d->order;
	struct order_window *w = &d->window;
	struct order_place place;

	if (d->window_order != o || d->window_epoch != c->epoch) {
		order_restart(o, c->epoch);
		d->window_order = o;
		d->window_epoch = c->epoch;
		w->count = 0;
	}
	if (c->position < w->first || c->position - w->first >= w->count)
		order_window_at(o, c->position, w);
	place = order_place_at(w, c->position);
	draw->partition = place.partition;
	draw->ordinal = place.ordinal;
	draw->block_first = w->block[place.block].first;
	draw->block_count = w->block[place.block].count;
}

static void
dealt_place(const struct mixer *m, const struct domain *d, struct mixer_draw *draw)
{
	uint64_t ordinal = d->deal.round, length = d->sequences[d->deal.partition], rest;

	draw->partition = (uint32_t)d->deal.partition;
	draw->ordinal = ordinal;
	draw->block_first = ordinal - ordinal % m->block;
	rest = length > draw->block_first ? length - draw->block_first : 0;
	draw->block_count = rest < m->block ? (uint32_t)rest : m->block;
}

/* What stands at the cursor, from epoch to epoch; TAKE_DONE: in *draw. */
static enum take
look(struct mixer *m, size_t i, struct mixer_draw *draw)
{
	struct domain *d = &m->domain[i];
	struct cursor *c = &m->now.cursor[i];

	draw->domain = (uint32_t)i;
	if (mixer_is_dealing(m, i)) {
		enum deal_place place = mixer_deal(d, c->position);

		draw->epoch = 0;
		if (place != DEAL_END) {
			dealt_place(m, d, draw);
			return place == DEAL_THERE ? TAKE_DONE : TAKE_DRY;
		}
	}
	if (mixer_is_dealing(m, i) || c->position == mixer_length(m, i)) {
		if (c->epoch + 1 >= mixer_passes(d) || mixer_length(m, i) == 0)
			return TAKE_EXHAUSTED;
		begin_epoch(m, i);
	}
	draw->epoch = c->epoch;
	ordered_place(m, i, draw);
	return TAKE_DONE;
}

/* The same behind what is excluded. */
static enum take
find(struct mixer *m, size_t i, struct mixer_draw *draw)
{
	uint64_t passed = 0;

	for (;;) {
		enum take found = look(m, i, draw);

		if (found != TAKE_DONE || !m->domain[i].excludes ||
		    !mixer_excludes(&m->excluded, (uint32_t)i, draw->partition, draw->ordinal))
			return found;
		if (passed++ / 2 >
		    mixer_length(m, i)) /* the rest of this epoch and all of the next */
			return TAKE_NOTHING_LEFT;
		m->now.cursor[i].position++;
	}
}

bool
mixer_is_dry(struct mixer *m, size_t i)
{
	return mixer_is_dealing(m, i) &&
	       mixer_deal(&m->domain[i], m->now.cursor[i].position) == DEAL_DRY;
}

enum take
mixer_take(struct mixer *m, size_t i, struct mixer_draw *draw)
{
	struct mixer_draw found;
	struct cursor *c = &m->now.cursor[i];
	enum take how = find(m, i, &found);

	if (how == TAKE_DRY)
		m->blocked = found;
	if (how != TAKE_DONE)
		return how;
	*draw = found;
	c->position++;
	c->taken++;
	m->now.taken_in_epoch[m->domain[i].partition_first + found.partition]++;
	return TAKE_DONE;
}
