#include "consumer/mixer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/permutation.h"
#include "consumer/mixer_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- opening and closing ---- */

static void
progress_close(struct progress *p)
{
	free(p->cursor);
	free(p->taken_in_epoch);
}

void
mixer_close(struct mixer *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->domains_n; i++) {
		free(m->domain[i].sequences);
		order_close(m->domain[i].order);
	}
	for (size_t i = 0; i < m->quarantined_n; i++)
		free(m->quarantined[i].reason);
	free(m->quarantined);
	free(m->domain);
	progress_close(&m->now);
	progress_close(&m->before);
	free(m);
}

static void
progress_copy(
    struct progress *to, const struct progress *from, size_t domains_n, size_t partitions_n)
{
	to->step_next = from->step_next;
	to->draws = from->draws;
	to->choices = from->choices;
	to->schedule.n = from->schedule.n;
	memcpy(to->schedule.weight, from->schedule.weight, domains_n * sizeof(uint64_t));
	memcpy(to->schedule.credit, from->schedule.credit, domains_n * sizeof(int64_t));
	memcpy(to->cursor, from->cursor, domains_n * sizeof(*to->cursor));
	memcpy(to->taken_in_epoch, from->taken_in_epoch, partitions_n * sizeof(uint64_t));
}

/* Makes room in both progresses for what the domains now need; what is new is zero. */
static enum fail_code
progress_grow(struct progress *p, size_t domains_n, size_t domains_more, size_t partitions_n,
    size_t partitions_more, struct failure *f)
{
	struct cursor *cursor;
	uint64_t *taken;

	cursor = realloc(p->cursor, (domains_n + domains_more) * sizeof(*cursor));
	if (cursor == NULL)
		return fail_memory(f);
	p->cursor = cursor;
	memset(cursor + domains_n, 0, domains_more * sizeof(*cursor));
	taken = realloc(p->taken_in_epoch, (partitions_n + partitions_more) * sizeof(*taken));
	if (taken == NULL)
		return fail_memory(f);
	p->taken_in_epoch = taken;
	memset(taken + partitions_n, 0, partitions_more * sizeof(*taken));
	return FAIL_NONE;
}

enum fail_code
mixer_add_domain(struct mixer *m, const char *name, double raw_weight, enum config_on_end on_end,
    const uint64_t *sequences, size_t partitions_n, struct failure *f)
{
	struct domain *grown, *d;

	assert(names_valid(name) && partitions_n >= 1);
	if (m->domains_n == WEIGHTS_MAX)
		return fail(f, FAIL_CONFIG, "a mix holds at most %d domains", WEIGHTS_MAX);
	grown = realloc(m->domain, (m->domains_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	m->domain = grown;
	d = &grown[m->domains_n];
	memset(d, 0, sizeof(*d));
	memcpy(d->name, name, strlen(name) + 1);
	d->raw_weight = raw_weight;
	d->on_end = on_end;
	d->key = permutation_key(name, m->seed);
	d->partitions_n = partitions_n;
	d->partition_first = m->partitions_n;
	d->sequences = calloc(partitions_n, sizeof(*d->sequences));
	if (d->sequences == NULL)
		return fail_memory(f);
	memcpy(d->sequences, sequences, partitions_n * sizeof(*sequences));
	if (order_open(&d->order, sequences, partitions_n, m->block, m->window_blocks, d->key, f) !=
		FAIL_NONE ||
	    progress_grow(&m->now, m->domains_n, 1, m->partitions_n, partitions_n, f) !=
		FAIL_NONE ||
	    progress_grow(&m->before, m->domains_n, 1, m->partitions_n, partitions_n, f) !=
		FAIL_NONE) {
		order_close(d->order);
		free(d->sequences);
		return f->code;
	}
	m->domains_n++;
	m->partitions_n += partitions_n;
	return FAIL_NONE;
}

/* Quantises the raw weights of the active domains and puts them in force. */
static enum fail_code
set_weights(struct mixer *m, struct failure *f)
{
	double raw[WEIGHTS_MAX];
	const char *name[WEIGHTS_MAX];
	uint64_t weight[WEIGHTS_MAX];

	for (size_t i = 0; i < m->domains_n; i++) {
		const struct domain *d = &m->domain[i];
		bool active = m->now.cursor[i].state == LEDGER_ACTIVE;

		raw[i] = active ? d->raw_weight : 0;
		name[i] = d->name;
		if (active && d->raw_weight > 0 && order_length(d->order) == 0)
			return fail(f, FAIL_CONFIG,
			    "domain %s has weight %g and not one sequence: give it weight 0 or "
			    "longer input",
			    d->name, d->raw_weight);
	}
	if (weights_quantise(weight, raw, name, m->domains_n, m->temperature, f) != FAIL_NONE)
		return f->code;
	schedule_set_weights(&m->now.schedule, weight, m->domains_n);
	return FAIL_NONE;
}

struct mixer *
mixer_from_plan(const struct mixer_plan *p)
{
	struct mixer *m = calloc(1, sizeof(*m));

	assert(p->lanes >= 1 && p->global_batch % p->lanes == 0);
	if (m == NULL)
		return NULL;
	m->seed = p->seed;
	m->sequence_length = p->sequence_length;
	m->global_batch = p->global_batch;
	m->lanes = p->lanes;
	m->block = p->block;
	m->window_blocks = p->window;
	m->permute = p->permute;
	m->lane_order = p->lane_order;
	m->temperature = p->temperature;
	m->version = 1;
	schedule_init(&m->now.schedule);
	return m;
}

enum fail_code
mixer_open(struct mixer **out, const struct mixer_plan *p, struct failure *f)
{
	struct mixer *m = mixer_from_plan(p);

	if (m == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < p->sources_n; i++) {
		const struct mixer_source *s = &p->source[i];

		assert(i == 0 || strcmp(p->source[i - 1].name, s->name) < 0);
		if (mixer_add_domain(m, s->name, s->weight, s->on_end, s->sequences,
			s->partitions_n, f) != FAIL_NONE)
			goto failed;
	}
	if (set_weights(m, f) != FAIL_NONE)
		goto failed;
	*out = m;
	return FAIL_NONE;
failed:
	mixer_close(m);
	return f->code;
}

const struct mixer_source *
mixer_source_named(const struct mixer_plan *p, const char *name)
{
	for (size_t i = 0; i < p->sources_n; i++)
		if (strcmp(p->source[i].name, name) == 0)
			return &p->source[i];
	return NULL;
}

static int
domain_named(const struct mixer *m, const char *name)
{
	for (size_t i = 0; i < m->domains_n; i++)
		if (strcmp(m->domain[i].name, name) == 0)
			return (int)i;
	return -1;
}

enum fail_code
mixer_copy(struct mixer **out, const struct mixer *m, struct failure *f)
{
	struct mixer *copy = calloc(1, sizeof(*copy));

	if (copy == NULL)
		return fail_memory(f);
	copy->seed = m->seed;
	copy->sequence_length = m->sequence_length;
	copy->global_batch = m->global_batch;
	copy->lanes = m->lanes;
	copy->block = m->block;
	copy->window_blocks = m->window_blocks;
	copy->permute = m->permute;
	copy->lane_order = m->lane_order;
	copy->temperature = m->temperature;
	copy->version = m->version;
	copy->version_step = m->version_step;
	for (size_t i = 0; i < m->domains_n; i++) {
		const struct domain *d = &m->domain[i];

		if (mixer_add_domain(copy, d->name, d->raw_weight, d->on_end, d->sequences,
			d->partitions_n, f) != FAIL_NONE)
			goto failed;
	}
	for (size_t i = 0; i < m->quarantined_n; i++) {
		const struct ledger_quarantined *q = &m->quarantined[i];

		if (mixer_quarantine(copy, q->domain, q->partition, (uint64_t)q->ordinal, q->reason,
			f) != FAIL_NONE)
			goto failed;
	}
	progress_copy(&copy->now, &m->now, m->domains_n, m->partitions_n);
	*out = copy;
	return FAIL_NONE;
failed:
	mixer_close(copy);
	return f->code;
}

/* ---- drawing ---- */

static bool
is_quarantined(const struct mixer *m, uint32_t domain, uint32_t partition, uint64_t ordinal)
{
	if (m->domain[domain].quarantined_n == 0)
		return false;
	for (size_t i = 0; i < m->quarantined_n; i++) {
		const struct ledger_quarantined *q = &m->quarantined[i];

		if (q->domain == domain && q->partition == partition &&
		    (uint64_t)q->ordinal == ordinal)
			return true;
	}
	return false;
}

static void
begin_epoch(struct mixer *m, size_t i)
{
	const struct domain *d = &m->domain[i];
	struct cursor *c = &m->now.cursor[i];

	c->epoch++;
	c->position = 0;
	memset(m->now.taken_in_epoch + d->partition_first, 0, d->partitions_n * sizeof(uint64_t));
}

/* The place at the cursor; keeps order and window, which are derived, up with it. */
static struct order_place
place_at_cursor(struct domain *d, const struct cursor *c, const struct order_window **window)
{
	struct order_window *w = &d->window;

	if (d->order_epoch != c->epoch) {
		order_restart(d->order, c->epoch);
		d->order_epoch = c->epoch;
		w->count = 0;
	}
	if (c->position < w->first || c->position - w->first >= w->count)
		order_window_at(d->order, c->position, w);
	*window = w;
	return order_place_at(w, c->position);
}

enum take { TAKE_DONE, TAKE_EXHAUSTED, TAKE_NOTHING_LEFT };

/* Takes the next sequence of domain i that is not quarantined. */
static enum take
take_next(struct mixer *m, size_t i, struct mixer_draw *draw)
{
	struct domain *d = &m->domain[i];
	struct cursor *c = &m->now.cursor[i];
	uint64_t length = order_length(d->order);

	for (uint64_t passed = 0; passed <= length; passed++) {
		const struct order_window *w;
		struct order_place place;

		if (c->position == length) {
			if (d->on_end != CONFIG_END_REPEAT)
				return TAKE_EXHAUSTED;
			begin_epoch(m, i);
		}
		place = place_at_cursor(d, c, &w);
		c->position++;
		if (is_quarantined(m, (uint32_t)i, place.partition, place.ordinal))
			continue;
		*draw = (struct mixer_draw){
		    .domain = (uint32_t)i,
		    .partition = place.partition,
		    .ordinal = place.ordinal,
		    .epoch = c->epoch,
		    .block_first = w->block[place.block].first,
		    .block_count = w->block[place.block].count,
		};
		c->taken++;
		c->tokens += m->sequence_length + 1;
		m->now.taken_in_epoch[d->partition_first + place.partition]++;
		return TAKE_DONE;
	}
	return TAKE_NOTHING_LEFT;
}

/* Domain i is out: its weight goes to the others. False: there are no others. */
static bool
drop(struct mixer *m, size_t i)
{
	uint64_t weight[WEIGHTS_MAX], share[WEIGHTS_MAX], others = 0;

	m->now.cursor[i].state = LEDGER_DROPPED;
	memcpy(weight, m->now.schedule.weight, m->domains_n * sizeof(*weight));
	weight[i] = 0;
	for (size_t k = 0; k < m->domains_n; k++)
		others += weight[k];
	if (others == 0)
		return false;
	weights_apportion(share, WEIGHT_ONE, weight, m->domains_n);
	schedule_set_weights(&m->now.schedule, share, m->domains_n);
	return true;
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

/* One draw. *ended: a domain that ends the mix, or the last one, is exhausted. */
static enum fail_code
draw_one(struct mixer *m, struct mixer_draw *draw, bool *ended, struct failure *f)
{
	for (;;) {
		size_t i = schedule_draw(&m->now.schedule);

		switch (take_next(m, i, draw)) {
		case TAKE_DONE:
			m->now.draws++;
			m->now.choices = hash_choice(draw, m->now.choices);
			return FAIL_NONE;
		case TAKE_NOTHING_LEFT:
			return fail(f, FAIL_DATA,
			    "domain %s: every one of its sequences is quarantined",
			    m->domain[i].name);
		case TAKE_EXHAUSTED: break;
		}
		schedule_undraw(&m->now.schedule, i);
		if (m->domain[i].on_end == CONFIG_END_STOP || !drop(m, i)) {
			*ended = true;
			return FAIL_NONE;
		}
	}
}

/* Index in draws[] of the k-th sequence of the batch order. */
static size_t
slot_of(const struct mixer *m, uint64_t k)
{
	uint64_t each = m->global_batch / m->lanes;

	if (m->lane_order == CONFIG_LANES_STRIDED)
		return (size_t)(k % m->lanes * each + k / m->lanes);
	return (size_t)k;
}

enum fail_code
mixer_step(struct mixer *m, struct mixer_draw *draws, enum mixer_result *result, struct failure *f)
{
	bool ended = false;
	struct permutation batch;

	*result = MIXER_ENDED;
	progress_copy(&m->before, &m->now, m->domains_n, m->partitions_n);
	m->undoable = true;
	permutation_init(&batch, m->global_batch, permutation_subkey(m->seed, m->now.step_next), 0);
	for (uint64_t j = 0; j < m->global_batch; j++) {
		uint64_t k = m->permute ? permutation_at(&batch, j) : j;

		if (draw_one(m, &draws[slot_of(m, k)], &ended, f) != FAIL_NONE || ended) {
			mixer_undo(m);
			return ended ? FAIL_NONE : f->code;
		}
	}
	m->now.step_next++;
	*result = MIXER_DRAWN;
	return FAIL_NONE;
}

void
mixer_undo(struct mixer *m)
{
	assert(m->undoable);
	progress_copy(&m->now, &m->before, m->domains_n, m->partitions_n);
	m->undoable = false;
}

/* ---- changes ---- */

enum fail_code
mixer_quarantine(struct mixer *m, uint32_t domain, uint32_t partition, uint64_t ordinal,
    const char *reason, struct failure *f)
{
	struct ledger_quarantined *grown, *q;

	assert(domain < m->domains_n);
	if (is_quarantined(m, domain, partition, ordinal))
		return FAIL_NONE;
	if (m->quarantined_n == LEDGER_QUARANTINED_MAX)
		return fail(f, FAIL_DATA,
		    "more than %d sequences are quarantined: the domain topics are damaged",
		    LEDGER_QUARANTINED_MAX);
	grown = realloc(m->quarantined, (m->quarantined_n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	m->quarantined = grown;
	q = &grown[m->quarantined_n];
	*q = (struct ledger_quarantined){
	    .domain = domain, .partition = partition, .ordinal = (int64_t)ordinal};
	q->reason = strdup(reason);
	if (q->reason == NULL)
		return fail_memory(f);
	m->quarantined_n++;
	m->domain[domain].quarantined_n++;
	return FAIL_NONE;
}

enum fail_code
mixer_accept(struct mixer *m, const struct mixer_plan *p, struct failure *f)
{
	for (size_t i = 0; i < m->domains_n; i++) {
		const struct mixer_source *s = mixer_source_named(p, m->domain[i].name);

		if (s == NULL) {
			m->now.cursor[i].state = LEDGER_LEFT;
			continue;
		}
		if (m->now.cursor[i].state == LEDGER_LEFT ||
		    (m->now.cursor[i].state == LEDGER_DROPPED && s->on_end == CONFIG_END_REPEAT))
			m->now.cursor[i].state = LEDGER_ACTIVE;
		m->domain[i].raw_weight = s->weight;
		m->domain[i].on_end = s->on_end;
	}
	for (size_t k = 0; k < p->sources_n; k++) {
		const struct mixer_source *s = &p->source[k];

		if (domain_named(m, s->name) < 0 &&
		    mixer_add_domain(m, s->name, s->weight, s->on_end, s->sequences,
			s->partitions_n, f) != FAIL_NONE)
			return f->code;
	}
	m->temperature = p->temperature;
	if (set_weights(m, f) != FAIL_NONE)
		return f->code;
	m->version++;
	m->version_step = m->now.step_next;
	m->undoable = false;
	return FAIL_NONE;
}

/* ---- what a caller may ask ---- */

uint64_t
mixer_step_next(const struct mixer *m)
{
	return m->now.step_next;
}

uint64_t
mixer_version(const struct mixer *m)
{
	return m->version;
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
