#include "consumer/plan/forecast.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

/* What is counted while stepping. */
struct count {
	struct forecast *to;
	struct mixer *mixer;
	struct mixer_draw *draw; /* of a step */
	uint64_t *lane;          /* [lanes * domains_n]: of the stretch */
	uint64_t *taken;         /* [domains_n] */
	uint64_t version;        /* of the open stretch */
	bool open;
};

void
forecast_close(struct forecast *fc)
{
	if (fc == NULL)
		return;
	for (size_t i = 0; i < fc->stretches_n; i++)
		free(fc->stretch[i].share);
	free(fc->stretch);
	free(fc->domain);
	free(fc);
}

/* ---- stretches ---- */

/*
 * The stretch ends: how far the share that a lane has of a domain is from the share that the whole
 * batch has of it, at worst.
 */
static void
close_stretch(struct count *c)
{
	struct forecast *to = c->to;
	struct forecast_stretch *s;
	double all, each;

	if (!c->open)
		return;
	c->open = false;
	assert(to->stretches_n > 0);
	s = &to->stretch[to->stretches_n - 1];
	all = (double)s->draws;
	each = all / to->lanes;
	for (size_t d = 0; d < to->domains_n && all > 0; d++)
		for (uint32_t l = 0; l < to->lanes; l++) {
			double error = fabs((double)c->lane[l * to->domains_n + d] / each -
					    (double)s->share[d].drawn / all);

			if (error > s->share[d].rank_error)
				s->share[d].rank_error = error;
		}
	memset(c->lane, 0, to->lanes * to->domains_n * sizeof(*c->lane));
}

/* The step that was just taken is the first under these weights. */
static enum fail_code
open_stretch(struct count *c, uint64_t step, struct failure *f)
{
	struct forecast *to = c->to;
	struct forecast_stretch *s;

	assert(to->stretches_n < FORECAST_STRETCHES_MAX);
	if (buffer_resize_items(&to->stretch, to->stretches_n + 1, sizeof(*s), f) != FAIL_NONE)
		return f->code;
	s = &to->stretch[to->stretches_n];
	memset(s, 0, sizeof(*s));
	s->share = calloc(to->domains_n, sizeof(*s->share));
	if (s->share == NULL)
		return fail_memory(f);
	to->stretches_n++;
	snprintf(s->phase, sizeof(s->phase), "%s", mixer_phase_name(c->mixer));
	s->first = s->end = step;
	s->lr_scale = mixer_lr_scale(c->mixer);
	s->temperature = mixer_temperature(c->mixer);
	s->global_batch = mixer_global_batch(c->mixer);
	for (size_t d = 0; d < to->domains_n; d++) {
		struct mixer_standing at;

		mixer_stand(c->mixer, (uint32_t)d, &at);
		s->share[d].intended = at.share;
	}
	c->version = mixer_version(c->mixer);
	c->open = true;
	return FAIL_NONE;
}

/* ---- steps ---- */

static void
count_step(struct count *c, uint64_t step)
{
	struct forecast *to = c->to;
	struct forecast_stretch *s = &to->stretch[to->stretches_n - 1];
	uint32_t each = s->global_batch / to->lanes;

	assert(c->open);
	assert(step >= s->first);
	assert(s->global_batch == mixer_global_batch(c->mixer));
	for (uint32_t i = 0; i < s->global_batch; i++) {
		uint32_t d = c->draw[i].domain;
		struct forecast_domain *domain = &to->domain[d];

		s->share[d].drawn++;
		c->lane[i / each * to->domains_n + d]++;
		if (c->taken[d]++ == 0)
			domain->first_step = step;
		if (c->taken[d] == domain->length)
			domain->exhausted_step = step;
	}
	s->end = step + 1;
	s->draws += s->global_batch;
	to->draws += s->global_batch;
}

static enum fail_code
run(struct count *c, uint64_t steps, const struct stop *stop, struct failure *f)
{
	for (uint64_t step = 0; step < steps; step++) {
		enum mixer_result result;

		if (stop != NULL && stop_asked(stop))
			return fail(f, FAIL_STOPPED, "stopped");
		if (mixer_step(c->mixer, c->draw, &result, f) != FAIL_NONE)
			return f->code;
		c->to->ended = result == MIXER_ENDED;
		c->to->dry = result == MIXER_DRY;
		if (c->to->dry)
			snprintf(c->to->dry_domain, sizeof(c->to->dry_domain), "%s",
			    mixer_domain_name(c->mixer, mixer_blocked(c->mixer)->domain));
		if (result != MIXER_DRAWN)
			break;
		/* A version changes at the start of a step: the one that was just taken. */
		if (!c->open || mixer_version(c->mixer) != c->version) {
			close_stretch(c);
			if (open_stretch(c, step, f) != FAIL_NONE)
				return f->code;
		}
		count_step(c, step);
		c->to->steps = step + 1;
	}
	close_stretch(c);
	return FAIL_NONE;
}

/* ---- the whole ---- */

static enum fail_code
set_up(struct count *c, const struct mixer_plan *p, struct failure *f)
{
	struct forecast *to = c->to;

	if (mixer_open(&c->mixer, p, f) != FAIL_NONE)
		return f->code;
	to->domains_n = mixer_domains(c->mixer);
	to->domain = calloc(to->domains_n, sizeof(*to->domain));
	c->draw = calloc(mixer_global_batch_most(c->mixer), sizeof(*c->draw));
	c->lane = calloc(to->lanes * to->domains_n, sizeof(*c->lane));
	c->taken = calloc(to->domains_n, sizeof(*c->taken));
	if (to->domain == NULL || c->draw == NULL || c->lane == NULL || c->taken == NULL)
		return fail_memory(f);
	for (size_t d = 0; d < to->domains_n; d++) {
		struct mixer_standing at;

		mixer_stand(c->mixer, (uint32_t)d, &at);
		snprintf(to->domain[d].name, sizeof(to->domain[d].name), "%s",
		    mixer_domain_name(c->mixer, (uint32_t)d));
		to->domain[d].length = at.length;
		to->domain[d].first_step = to->domain[d].exhausted_step = FORECAST_NEVER;
	}
	return FAIL_NONE;
}

enum fail_code
forecast_open(struct forecast **out, const struct mixer_plan *p, uint64_t steps,
    const struct stop *stop, struct failure *f)
{
	struct count c = {.to = calloc(1, sizeof(*c.to))};
	enum fail_code code;

	if (c.to == NULL)
		return fail_memory(f);
	c.to->sequence_length = p->sequence_length;
	c.to->global_batch = p->global_batch;
	c.to->lanes = p->lanes;
	code = set_up(&c, p, f);
	if (code == FAIL_NONE)
		code = run(&c, steps, stop, f);
	for (size_t d = 0; code == FAIL_NONE && d < c.to->domains_n; d++)
		mixer_stand(c.mixer, (uint32_t)d, &c.to->domain[d].at_end);
	mixer_close(c.mixer);
	free(c.draw);
	free(c.lane);
	free(c.taken);
	if (code == FAIL_NONE)
		*out = c.to;
	else
		forecast_close(c.to);
	return code;
}
