#include "consumer/mixer/mixer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/schedule/permutation.h"
#include "consumer/mixer/mixer_state.h"

enum { CATCH_UP_PRESET = 2 };

/* Weights times tokens of this many domains, and sums of them, stay within 63 bits. */
#define COUNTED_TOKENS_MAX (UINT64_C(1) << 30)

/* ---- opening and closing ---- */

static void
progress_close(struct progress *p)
{
	free(p->cursor);
	free(p->taken_in_epoch);
}

static void
domain_close(struct domain *d)
{
	free(d->sequences);
	free(d->sequences_next);
	free(d->sealed);
	order_close(d->order);
	order_close(d->order_next);
}

void
mixer_close(struct mixer *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->domains_n; i++)
		domain_close(&m->domain[i]);
	for (size_t i = 0; i < m->quarantined_n; i++)
		free(m->quarantined[i].reason);
	for (size_t i = 0; i < m->pending_n; i++)
		mixer_change_clear(&m->pending[i]);
	for (size_t i = 0; i < m->request_ids_n; i++)
		free(m->request_id[i]);
	mixer_close_phases(m);
	mixer_exclude_clear(&m->excluded);
	free(m->quarantined);
	free(m->pending);
	free(m->request_id);
	free(m->skip);
	free(m->dry);
	free(m->domain);
	progress_close(&m->now);
	progress_close(&m->before);
	free(m);
}

/* Room for one domain more and its partitions; what is new is zero. */
static enum fail_code
progress_grow(struct progress *p, size_t domains_n, size_t partitions_n, size_t partitions_more,
    struct failure *f)
{
	struct cursor *cursor;
	uint64_t *taken;

	cursor = realloc(p->cursor, (domains_n + 1) * sizeof(*cursor));
	if (cursor == NULL)
		return fail_memory(f);
	p->cursor = cursor;
	memset(cursor + domains_n, 0, sizeof(*cursor));
	taken = realloc(p->taken_in_epoch, (partitions_n + partitions_more) * sizeof(*taken));
	if (taken == NULL)
		return fail_memory(f);
	p->taken_in_epoch = taken;
	memset(taken + partitions_n, 0, partitions_more * sizeof(*taken));
	return FAIL_NONE;
}

static enum fail_code
grow(struct mixer *m, size_t partitions_more, struct failure *f)
{
	struct domain *domain;
	bool *dry;

	domain = realloc(m->domain, (m->domains_n + 1) * sizeof(*domain));
	if (domain == NULL)
		return fail_memory(f);
	m->domain = domain;
	memset(&domain[m->domains_n], 0, sizeof(*domain));
	dry = realloc(m->dry, (m->domains_n + 1) * sizeof(*dry));
	if (dry == NULL)
		return fail_memory(f);
	m->dry = dry;
	if (progress_grow(&m->now, m->domains_n, m->partitions_n, partitions_more, f) != FAIL_NONE)
		return f->code;
	return progress_grow(&m->before, m->domains_n, m->partitions_n, partitions_more, f);
}

static enum fail_code
set_first_lengths(
    struct mixer *m, struct domain *d, const struct mixer_source *s, struct failure *f)
{
	d->sequences = calloc(s->partitions_n, sizeof(*d->sequences));
	d->sequences_next = calloc(s->partitions_n, sizeof(*d->sequences_next));
	d->sealed = calloc(s->partitions_n, sizeof(*d->sealed));
	if (d->sequences == NULL || d->sequences_next == NULL || d->sealed == NULL)
		return fail_memory(f);
	for (size_t p = 0; p < s->partitions_n; p++) {
		d->sequences[p] = d->sequences_next[p] = s->sequences[p];
		d->sealed[p] = !s->live || (s->sealed != NULL && s->sealed[p]);
	}
	return mixer_reorder(m, d, f);
}

struct mixer_source
mixer_joined_rules(void)
{
	return (struct mixer_source){
	    .on_end = CONFIG_END_REPEAT, .on_dry = MIXER_DRY_WAIT, .short_ones = true};
}

void
mixer_set_rules(struct mixer *m, struct domain *d, const struct mixer_source *s)
{
	double times = s->catch_up == 0 ? CATCH_UP_PRESET : s->catch_up;

	m->lenders_n -= d->on_dry == MIXER_DRY_LEND;
	d->on_end = s->on_end;
	d->max_epochs = s->max_epochs;
	d->on_dry = d->live ? s->on_dry : MIXER_DRY_WAIT;
	d->catch_up = (uint64_t)((times - 1) * 1000 + 0.5);
	d->short_ones = s->short_ones;
	m->lenders_n += d->on_dry == MIXER_DRY_LEND;
}

enum fail_code
mixer_add_domain(
    struct mixer *m, const struct mixer_source *s, struct domain **out, struct failure *f)
{
	struct domain *d;

	assert(names_valid(s->name) && s->partitions_n >= 1);
	if (m->domains_n == LIMIT_DOMAINS)
		return fail(f, FAIL_CONFIG, "a mix holds at most %d domains", LIMIT_DOMAINS);
	if (m->weights_unit == MIXER_BY_TOKENS &&
	    (m->domains_n + 1) * ((uint64_t)m->sequence_length + 1) > COUNTED_TOKENS_MAX)
		return fail(f, FAIL_CONFIG,
		    "weights_unit: tokens: %zu domains with sequences of %u tokens are more than "
		    "can be counted; use weights_unit: sequences",
		    m->domains_n + 1, m->sequence_length + 1);
	if (grow(m, s->partitions_n, f) != FAIL_NONE)
		return f->code;
	d = &m->domain[m->domains_n];
	memcpy(d->name, s->name, strlen(s->name) + 1);
	d->live = s->live;
	d->key = permutation_key(s->name, m->seed);
	d->partitions_n = s->partitions_n;
	d->partition_first = m->partitions_n;
	if (set_first_lengths(m, d, s, f) != FAIL_NONE) {
		domain_close(d);
		return f->code;
	}
	mixer_set_rules(m, d, s);
	schedule_add(&m->now.schedule);
	m->domains_n++;
	m->partitions_n += s->partitions_n;
	m->undoable = false;
	*out = d;
	return FAIL_NONE;
}

struct mixer *
mixer_from_plan(const struct mixer_plan *p)
{
	struct mixer *m = calloc(1, sizeof(*m));
	struct failure f;
	uint64_t unit = p->weights_unit == MIXER_BY_TOKENS ? (uint64_t)p->sequence_length + 1 : 1;

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
	m->schedule = p->schedule;
	m->weights_unit = p->weights_unit;
	m->temperature = p->temperature;
	m->base = mixer_plan_hash(p);
	m->now.force.version = 1;
	schedule_init(&m->now.schedule, p->schedule, unit, p->seed);
	if (mixer_copy_phases(m, p->phase, p->phases_n, &f) != FAIL_NONE) {
		mixer_close(m);
		return NULL;
	}
	return m;
}

/* The draws of a round, where the largest domain says it. */
static enum fail_code
set_epoch_size(struct mixer *m, const struct mixer_plan *p, struct failure *f)
{
	m->epoch_size = p->epoch_size;
	if (p->epoch_size != MIXER_EPOCH_LARGEST)
		return FAIL_NONE;
	m->epoch_size = 0;
	for (size_t i = 0; i < m->domains_n; i++) {
		uint64_t length = mixer_length(m, i);

		if (m->domain[i].live)
			return fail(f, FAIL_CONFIG,
			    "epoch_size: largest: domain %s is live and has no length; give a "
			    "number",
			    m->domain[i].name);
		m->epoch_size = length > m->epoch_size ? length : m->epoch_size;
	}
	if (m->epoch_size >= 1 && m->epoch_size <= MIXER_EPOCH_MAX)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG, "epoch_size: largest: the largest domain has %llu sequences",
	    (unsigned long long)m->epoch_size);
}

/* Rounds must hold a draw of each domain under all weights that are known to come. */
static enum fail_code
check_round_size(const struct mixer *m, struct failure *f)
{
	if (m->epoch_size == 0 || m->domains_n <= m->epoch_size)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "epoch_size: %llu draws are too few for %zu domains: each is drawn at least once a "
	    "round",
	    (unsigned long long)m->epoch_size, m->domains_n);
}

enum fail_code
mixer_open(struct mixer **out, const struct mixer_plan *p, struct failure *f)
{
	struct mixer *m;

	if (mixer_check_plan(p, f) != FAIL_NONE)
		return f->code;
	m = mixer_from_plan(p);
	if (m == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < p->sources_n; i++) {
		struct domain *d;

		assert(i == 0 || strcmp(p->source[i - 1].name, p->source[i].name) < 0);
		if (mixer_add_domain(m, &p->source[i], &d, f) != FAIL_NONE)
			goto failed;
		m->now.cursor[i].base_weight = p->source[i].weight;
	}
	if (set_epoch_size(m, p, f) != FAIL_NONE || check_round_size(m, f) != FAIL_NONE)
		goto failed;
	mixer_put_phase(m, NULL);
	if (!mixer_weigh(m)) {
		fail(f, FAIL_CONFIG, "all weights are zero: at least one must be positive");
		goto failed;
	}
	*out = m;
	return FAIL_NONE;
failed:
	mixer_close(m);
	return f->code;
}

const struct mixer_source *
mixer_source_named(const struct mixer_plan *p, const char *name)
{
	size_t low = 0, high = p->sources_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(p->source[middle].name, name);

		if (order == 0)
			return &p->source[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
