#include "consumer/plan/config_plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/schedule/order.h"

static uint64_t
total_of(const struct config_plan_length *length)
{
	uint64_t total = 0;

	for (size_t i = 0; i < length->partitions_n; i++)
		total += length->sequences[i];
	return total;
}

/* Domains stand in the configuration by the bytes of their names, as the mixer wants them. */
static void
set_sources(struct config_plan *p, const struct config *c, const struct config_plan_length *length)
{
	double all = 0;

	for (size_t i = 0; i < c->domains_n; i++)
		all += (double)total_of(&length[i]);
	for (size_t i = 0; i < c->domains_n; i++) {
		const struct config_domain *d = &c->domains[i];
		bool by_size = c->mix.weights_kind == CONFIG_WEIGHTS_SIZE;

		p->source[i] = (struct mixer_source){
		    .name = d->name,
		    .weight = !by_size  ? c->mix.weight[i]
			      : all > 0 ? (double)total_of(&length[i]) / all
					: 0,
		    .on_end = d->on_end,
		    .partitions_n = length[i].partitions_n,
		    .sequences = length[i].sequences,
		    .max_epochs = d->max_epochs,
		    .live = d->live,
		    .sealed = length[i].sealed,
		    .on_dry = d->on_dry,
		    .catch_up = d->catch_up,
		    .short_ones = d->packing != SEQUENCE_CONCAT,
		    .shuffle = d->shuffle,
		};
	}
}

/* A phase names only the weights that it sets: the others stay NAN in the configuration. */
static void
set_phases(struct config_plan *p, const struct config *c)
{
	struct ledger_raw_weight *weight = p->weight;

	for (size_t i = 0; i < c->mix.phases_n; i++) {
		const struct config_phase *from = &c->mix.phases[i];
		struct mixer_phase *to = &p->phase[i];

		*to = (struct mixer_phase){
		    .name = from->name,
		    .start_step = from->start_step,
		    .weight = weight,
		    .temperature = from->temperature,
		    .lr_scale = from->lr_scale,
		    .global_batch = from->global_batch,
		};
		for (size_t d = 0; d < c->domains_n; d++)
			if (!isnan(from->weight[d]))
				weight[to->weights_n++] =
				    (struct ledger_raw_weight){c->domains[d].name, from->weight[d]};
		weight += to->weights_n;
		assert(weight <= p->weight + c->mix.phases_n * c->domains_n);
	}
}

enum fail_code
config_plan_open(struct config_plan *out, const struct config *c,
    const struct config_plan_length *length, struct failure *f)
{
	const struct config_mix *mix = &c->mix;
	struct config_plan p = {0};

	assert(mix->name != NULL);
	assert(mix->lanes > 0);
	p.source = calloc(c->domains_n + 1, sizeof(*p.source));
	p.phase = calloc(mix->phases_n + 1, sizeof(*p.phase));
	p.weight = calloc(mix->phases_n * c->domains_n + 1, sizeof(*p.weight));
	if (p.source == NULL || p.phase == NULL || p.weight == NULL) {
		config_plan_close(&p);
		return fail_memory(f);
	}
	set_sources(&p, c, length);
	set_phases(&p, c);
	p.plan = (struct mixer_plan){
	    .seed = mix->seed,
	    .sequence_length = c->sequence_length,
	    .global_batch = mix->global_batch,
	    .lanes = mix->lanes,
	    .block = order_block_sequences(c->sequence_length),
	    .window = mix->window,
	    .shuffle = mix->shuffle,
	    .permute = mix->permute,
	    .lane_order = mix->lane_order,
	    .temperature = mix->temperature,
	    .source = p.source,
	    .sources_n = c->domains_n,
	    .schedule = mix->schedule,
	    .weights_unit = mix->weights_unit,
	    .epoch_size = mix->epoch_largest ? MIXER_EPOCH_LARGEST : mix->epoch_size,
	    .phase = p.phase,
	    .phases_n = mix->phases_n,
	};
	*out = p;
	return FAIL_NONE;
}

void
config_plan_close(struct config_plan *p)
{
	free(p->source);
	free(p->phase);
	free(p->weight);
	*p = (struct config_plan){0};
}
