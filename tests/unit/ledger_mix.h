/*
 * ledger_mix.h -- a small mix that changes by phases, with the text of its configuration: what its
 * ledger holds after any number of steps.
 */
#ifndef TESTS_UNIT_LEDGER_MIX_H
#define TESTS_UNIT_LEDGER_MIX_H

#include "consumer/plan/bound_config.h"
#include "consumer/plan/config_plan.h"
#include "tests/unit/mixes.h"

enum { LEDGER_MIX_PHASES = 5 };

/* The steps at which the versions 2, 3, ... begin; the first one begins at step 0. */
static const uint64_t ledger_mix_begins[LEDGER_MIX_PHASES] = {3, 5, 6, 9, 10};

struct ledger_mix {
	struct config c;
	struct config_domain domain[2];
	struct config_phase phase[LEDGER_MIX_PHASES];
	char phase_name[LEDGER_MIX_PHASES][8];
	double weight[2], phase_weight[LEDGER_MIX_PHASES][2];
	uint64_t sequences[2];
	struct config_plan_length length[2];
	struct config_plan plan;
	char *text;
};

/* In place: pointers in it point to it. */
static inline void
ledger_mix_open(struct ledger_mix *x, uint64_t seed)
{
	*x = (struct ledger_mix){
	    .domain = {{.name = (char *)"a", .partitions = 1, .catch_up = 2},
		{.name = (char *)"b", .partitions = 1, .catch_up = 2}},
	    .weight = {3, 1},
	    .sequences = {600, 400},
	};
	for (size_t i = 0; i < 2; i++)
		x->length[i] = (struct config_plan_length){1, &x->sequences[i], NULL};
	for (int i = 0; i < LEDGER_MIX_PHASES; i++) {
		snprintf(x->phase_name[i], sizeof(x->phase_name[i]), "p%u", (unsigned)i % 100);
		x->phase_weight[i][0] = i + 1;
		x->phase_weight[i][1] = 4;
		x->phase[i] = (struct config_phase){.name = x->phase_name[i],
		    .start_step = ledger_mix_begins[i],
		    .weight = x->phase_weight[i],
		    .temperature = 1,
		    .lr_scale = 1.0 / (i + 2)};
	}
	x->c = (struct config){.corpus = (char *)"corpus",
	    .sequence_length = 64,
	    .domains = x->domain,
	    .domains_n = 2};
	x->c.mix = (struct config_mix){.name = (char *)"m",
	    .weights_kind = CONFIG_WEIGHTS_MAP,
	    .seed = seed,
	    .global_batch = 8,
	    .lanes = 4,
	    .partitions = 4,
	    .window = 1,
	    .weight = x->weight,
	    .temperature = 1,
	    .phases = x->phase,
	    .phases_n = LEDGER_MIX_PHASES};
	assert_int_equal(config_plan_open(&x->plan, &x->c, x->length, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&x->text, &x->c, &x->plan, 7, &f), FAIL_NONE);
}

static inline void
ledger_mix_close(struct ledger_mix *x)
{
	free(x->text);
	config_plan_close(&x->plan);
}

/* The record that a mixer writes after `steps` steps: ledger_clear(). */
static inline struct ledger
ledger_mix_record(const struct ledger_mix *x, int64_t steps)
{
	struct mixer *m = mixes_open(&x->plan.plan);
	struct ledger l = {0};

	for (int64_t i = 0; i < steps; i++)
		mixes_step(m, NULL, NULL);
	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	mixer_close(m);
	free(l.config);
	l.config = strdup(x->text);
	assert_int_equal(bound_config_schedule(&l.schedule, x->text, &f), FAIL_NONE);
	return l;
}

#endif
