#include "consumer/mixer/mixer_effect.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/mixer/mixer_internal.h"

__extension__ typedef __int128 wide;

enum fail_code
mixer_effect_note(
    struct mixer_effect_course *c, const struct mixer *m, uint64_t step, struct failure *f)
{
	double *rate;

	assert(c->n == 0 || c->domains_n == m->domains_n);
	assert(c->n == 0 || c->step[c->n - 1] <= (double)step);
	if (c->n > 0 && c->step[c->n - 1] == (double)step)
		c->n--;
	if (c->n == c->room) {
		size_t room = 2 * c->room + 4;
		double *steps = realloc(c->step, room * sizeof(*steps));

		if (steps == NULL)
			return fail_memory(f);
		c->step = steps;
		rate = realloc(c->rate, room * (m->domains_n + 1) * sizeof(*rate));
		if (rate == NULL)
			return fail_memory(f);
		c->rate = rate;
		c->room = room;
		c->domains_n = m->domains_n;
	}
	rate = &c->rate[c->n * c->domains_n];
	for (uint32_t d = 0; d < m->domains_n; d++) {
		struct mixer_standing s;

		mixer_stand(m, d, &s);
		rate[d] = s.share * m->shares.version.global_batch;
	}
	c->step[c->n++] = (double)step;
	return FAIL_NONE;
}

void
mixer_effect_forget(struct mixer_effect_course *c)
{
	free(c->step);
	free(c->rate);
	*c = (struct mixer_effect_course){0};
}

/* How often one domain is drawn: by the course, and from `step` on `after` times a step. */
struct rates {
	const struct mixer_effect_course *course;
	uint32_t domain;
	double step, after; /* 0: it is not drawn */
};

/* The step at which `sequences` more are drawn. The example is in the header. */
static double
step_after(const struct rates *r, double sequences)
{
	const struct mixer_effect_course *c = r->course;

	for (size_t i = 0; i < c->n; i++) {
		double end = i + 1 < c->n ? c->step[i + 1] : r->step;
		double rate = c->rate[i * c->domains_n + r->domain];
		double drawn = (end - c->step[i]) * rate;

		assert(end >= c->step[i]);
		if (sequences <= drawn && rate > 0)
			return c->step[i] + ceil(sequences / rate);
		sequences -= drawn;
	}
	if (r->after <= 0)
		return MIXER_EFFECT_NEVER;
	return fmin(MIXER_EFFECT_NEVER, r->step + ceil(sequences / r->after));
}

static struct mixer_effect_step
steps_after(const struct rates *with, double sequences)
{
	const struct mixer_effect_course *c = with->course;
	struct rates without = *with;

	assert(c->n > 0);
	without.after = c->rate[(c->n - 1) * c->domains_n + with->domain];
	return (struct mixer_effect_step){
	    step_after(with, sequences), step_after(&without, sequences)};
}

/*
 * When this pass ends, and, where passes are limited, when the last one does. The passes between
 * are of the length that this one has.
 */
static void
find_ends(struct mixer_effect_domain *e, const struct mixer_effect *of, const struct mixer *now,
    const struct mixer_effect_course *course, uint32_t d)
{
	const struct rates with = {course, d, (double)of->step, e->share * of->global_batch};
	struct mixer_standing s;
	double left;

	mixer_stand(now, d, &s);
	e->live = s.live;
	if (s.live)
		return;
	left = (double)(s.length - s.position);
	e->epoch = s.epoch;
	e->epoch_end = steps_after(&with, left);
	e->limited = s.passes != 0;
	if (!e->limited)
		return;
	e->ends_mix = now->cursor[d].on_end == MIX_END_STOP;
	e->last_end =
	    steps_after(&with, left + (double)(s.passes - s.epoch - 1) * (double)s.length);
}

static void
find_domains(struct mixer_effect *e, const struct mixer *now, const struct mixer *before,
    const struct mixer *after, const struct mixer_effect_course *course)
{
	for (uint32_t d = 0; d < after->domains_n; d++) {
		struct mixer_effect_domain *to = &e->domain[e->domains_n];
		struct mixer_standing was, will;

		mixer_stand(before, d, &was);
		mixer_stand(after, d, &will);
		if (was.share == 0 && will.share == 0)
			continue;
		memccpy(to->name, now->cursor[d].name, '\0', sizeof(to->name));
		to->share_before = was.share;
		to->share = will.share;
		find_ends(to, e, now, course, d);
		e->domains_n++;
	}
}

/* What comes into force first at `step` or later, below `end`: its step, and its batch if not 0. */
static uint64_t
next_batch(const struct mixer *now, size_t *phase, size_t *change, uint64_t end, uint32_t *batch)
{
	const struct agenda *a = &now->agenda;
	uint64_t at = end, step;

	if (*phase < a->phases_n && a->phase[*phase].start_step < end)
		at = a->phase[*phase].start_step;
	if (*change < a->pending_n && (uint64_t)a->pending[*change].step < at) {
		step = (uint64_t)a->pending[*change].step;
		if (a->pending[*change].global_batch > 0)
			*batch = a->pending[*change].global_batch;
		(*change)++;
		return step;
	}
	if (at == end)
		return end;
	*batch = a->phase[*phase].global_batch > 0 ? a->phase[*phase].global_batch
						   : now->shape.global_batch;
	(*phase)++;
	return at;
}

/*
 * Where in its round the change comes: exact, as the draws of all steps until then are known. The
 * agenda is walked from batch to batch; a count of draws can exceed 64 bits.
 */
static void
find_round(struct mixer_effect *e, const struct mixer *now)
{
	uint64_t size = now->shares.epoch_size, step = now->at.step_next, end = (uint64_t)e->step;
	size_t phase = agenda_phase_from(&now->agenda, step), change = now->agenda.done;
	uint32_t batch = now->shares.version.global_batch;
	wide draws = now->shares.round_draws;

	while (step < end) {
		uint32_t in_force = batch;
		uint64_t until = next_batch(now, &phase, &change, end, &batch);

		assert(until >= step);
		draws += (wide)(until - step) * in_force;
		step = until;
	}
	e->rounds = true;
	e->round = now->shares.round + (uint64_t)(draws / size);
	e->dealt = (size - (uint64_t)(draws % size)) % size;
}

/* The first phase that starts after the change, which it ends. */
static void
find_phase(struct mixer_effect *e, const struct mixer *now)
{
	size_t i = agenda_phase_from(&now->agenda, (uint64_t)e->step + 1);

	if (i >= now->agenda.phases_n)
		return;
	memccpy(e->phase, now->agenda.phase[i].name, '\0', sizeof(e->phase));
	e->phase_step = now->agenda.phase[i].start_step;
	e->phase_batch = now->agenda.phase[i].global_batch > 0 ? now->agenda.phase[i].global_batch
							       : now->shape.global_batch;
}

static void
find_skip(struct mixer_effect *e, const struct mixer *after, const struct ledger_change *c)
{
	int d = mixer_domain_named(after, c->domain);
	const struct cursor *cursor = &after->cursor[d];
	uint64_t next = cursor->sequences_next[c->partition];

	assert(d >= 0);
	e->skip = true;
	e->excluded = exclusions_count(
	    &after->exclusions, (uint32_t)d, cursor->sequences, cursor->partitions_n);
	e->sequences = cursor_length(cursor);
	if (!cursor->sealed[c->partition] && (uint64_t)c->end > next)
		e->published = (int64_t)next;
}

/* What comes back: `before` has the skips that the change takes back. */
static void
find_undo(struct mixer_effect *e, const struct mixer *before, const struct mixer *after,
    const struct ledger_change *c)
{
	int d = mixer_domain_named(after, c->domain);
	const struct ledger_skip range = {(uint32_t)d, (uint32_t)c->partition, c->first, c->end};
	const struct exclusions_within w = exclusions_within(&before->exclusions, &range);

	assert(d >= 0);
	assert(w.skipped);
	find_skip(e, after, c);
	e->published = -1;
	e->undo = true;
	e->drawn = w.alone;
	e->quarantined = w.quarantined;
}

enum fail_code
mixer_effect_open(struct mixer_effect *e, const struct mixer *now, const struct mixer *before,
    const struct mixer *after, const struct mixer_effect_course *course,
    const struct ledger_change *c, int64_t asked_step, struct failure *f)
{
	const struct shares_version *was = &before->shares.version, *will = &after->shares.version;

	assert(c->step >= (int64_t)now->at.step_next);
	assert(now->domains_n == after->domains_n);
	assert(before->domains_n == after->domains_n);
	*e = (struct mixer_effect){.step = c->step,
	    .clamped = asked_step >= 0 && asked_step < c->step ? asked_step : -1,
	    .published = -1};
	if (c->kind == LEDGER_SKIP) {
		find_skip(e, after, c);
		return FAIL_NONE;
	}
	if (c->kind == LEDGER_UNDO) {
		find_undo(e, before, after, c);
		return FAIL_NONE;
	}
	e->domain = calloc(after->domains_n + 1, sizeof(*e->domain));
	if (e->domain == NULL) {
		mixer_effect_clear(e);
		return fail_memory(f);
	}
	e->temperature = will->temperature;
	e->temperature_before = was->temperature;
	e->lr_scale = will->lr_scale;
	e->lr_scale_before = was->lr_scale;
	e->global_batch = will->global_batch;
	e->global_batch_before = was->global_batch;
	find_domains(e, now, before, after, course);
	if (now->shares.epoch_size != 0)
		find_round(e, now);
	find_phase(e, now);
	return FAIL_NONE;
}

void
mixer_effect_clear(struct mixer_effect *e)
{
	free(e->domain);
	*e = (struct mixer_effect){0};
}
