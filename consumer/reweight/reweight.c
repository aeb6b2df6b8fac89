#include "consumer/reweight/reweight.h"

#include <assert.h>
#include <string.h>

#include "consumer/reweight/weight_bounds.h"

const char *const reweight_method_name[] = {
    [REWEIGHT_DOREMI] = "doremi",
    [REWEIGHT_ODM] = "odm",
    NULL,
};

void
reweight_init(struct reweight *r, const struct reweight_options *o)
{
	assert(o->domains_n > 0 && o->domains_n <= LOSSES_DOMAINS_MAX);
	assert(o->floor != NULL && o->ceiling != NULL);
	r->method = o->method;
	r->n = o->domains_n;
	r->excess_seen = false;
	if (o->method == REWEIGHT_DOREMI)
		doremi_init(&r->of.doremi, r->n, o->start, o->eta, o->smoothing);
	else
		odm_init(&r->of.odm, r->n, o->memory, o->eta);
	memcpy(r->floor, o->floor, r->n * sizeof(r->floor[0]));
	memcpy(r->ceiling, o->ceiling, r->n * sizeof(r->ceiling[0]));
}

void
reweight_step(struct reweight *r, const struct losses_step *step)
{
	for (size_t i = 0; i < r->n; i++)
		r->excess_seen = r->excess_seen || step->sum[i].excess_sum > 0;
	if (r->method == REWEIGHT_DOREMI)
		doremi_step(&r->of.doremi, step->sum);
	else
		odm_step(&r->of.odm, step->sum);
}

uint64_t
reweight_steps(const struct reweight *r)
{
	return r->method == REWEIGHT_DOREMI ? r->of.doremi.steps : r->of.odm.steps;
}

/* `weight` inside its bounds. */
static void
give(const struct reweight *r, const double *weight, double *out)
{
	memcpy(out, weight, r->n * sizeof(*out));
	weight_bounds_apply(out, r->floor, r->ceiling, r->n);
}

void
reweight_weights(const struct reweight *r, double *out)
{
	give(r, r->method == REWEIGHT_DOREMI ? r->of.doremi.weight : r->of.odm.weight, out);
}

void
reweight_result(const struct reweight *r, double *out)
{
	give(r, r->method == REWEIGHT_DOREMI ? r->of.doremi.average : r->of.odm.weight, out);
}
