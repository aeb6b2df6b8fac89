/* config_plan.h: each key of a configuration becomes its field of the plan. */
#include "consumer/plan/config_plan.h"

#include <math.h>

#include "common/schedule/order.h"
#include "tests/unit/test.h"

static struct failure f;

static const uint64_t sequences[] = {10, 20, 70, 0};
static const bool sealed[] = {true, false};
static const struct config_plan_length length[] = {
    {2, &sequences[0], NULL}, {1, &sequences[2], sealed}, {1, &sequences[3], NULL}};

/* All fields are distinct, and none has the value of a forgotten one. */
static struct config
filled(void)
{
	static char name[6][2] = {"a", "b", "c", "p", "q", "m"};
	static struct config_domain domains[3];
	static struct config_phase phases[2];
	static double weight[3] = {0.5, 1.5, 2.5}, first[3] = {NAN, 7, 8}, second[3] = {9, NAN, 0};

	domains[0] = (struct config_domain){.name = name[0],
	    .on_end = MIX_END_STOP,
	    .max_epochs = 3,
	    .catch_up = 4.5,
	    .packing = SEQUENCE_CONCAT,
	    .shuffle = MIX_SHUFFLE_NONE};
	domains[1] = (struct config_domain){.name = name[1],
	    .on_end = MIX_END_DROP,
	    .live = true,
	    .on_dry = MIX_DRY_LEND,
	    .catch_up = 5.5,
	    .packing = SEQUENCE_BEST_FIT,
	    .shuffle = MIX_SHUFFLE_BLOCK};
	domains[2] = (struct config_domain){.name = name[2],
	    .max_epochs = 6,
	    .catch_up = 6.5,
	    .packing = SEQUENCE_NONE,
	    .shuffle = MIX_SHUFFLE_FULL};
	phases[0] = (struct config_phase){.name = name[3],
	    .start_step = 11,
	    .weight = first,
	    .temperature = 12,
	    .lr_scale = 13,
	    .global_batch = 14};
	phases[1] = (struct config_phase){.name = name[4],
	    .start_step = 21,
	    .weight = second,
	    .temperature = 22,
	    .lr_scale = 23,
	    .global_batch = 24};
	return (struct config){.sequence_length = 64,
	    .domains = domains,
	    .domains_n = 3,
	    .mix = {.name = name[5],
		.seed = 31,
		.global_batch = 32,
		.lanes = 4,
		.partitions = 2,
		.window = 33,
		.shuffle = MIX_SHUFFLE_FULL,
		.permute = true,
		.lane_order = MIX_LANES_STRIDED,
		.weight = weight,
		.temperature = 34,
		.schedule = SCHEDULE_GREEDY,
		.weights_unit = MIX_BY_TOKENS,
		.epoch_size = 35,
		.phases = phases,
		.phases_n = 2}};
}

static struct config_plan
planned(const struct config *c)
{
	struct config_plan p;

	assert_int_equal(config_plan_open(&p, c, length, &f), FAIL_NONE);
	return p;
}

static void
test_each_key_of_the_mix_is_its_field_of_the_plan(void **unused)
{
	struct config c = filled();
	struct config_plan p = planned(&c);
	const struct mixer_plan *m = &p.plan;

	(void)unused;
	assert_int_equal(m->seed, 31);
	assert_int_equal(m->sequence_length, 64);
	assert_int_equal(m->global_batch, 32);
	assert_int_equal(m->lanes, 4);
	assert_int_equal(m->block, order_block_sequences(64));
	assert_int_equal(m->window, 33);
	assert_int_equal(m->shuffle, MIX_SHUFFLE_FULL);
	assert_true(m->permute);
	assert_int_equal(m->lane_order, MIX_LANES_STRIDED);
	assert_true(m->temperature == 34);
	assert_int_equal(m->schedule, SCHEDULE_GREEDY);
	assert_int_equal(m->weights_unit, MIX_BY_TOKENS);
	assert_int_equal(m->epoch_size, 35);
	assert_true(m->source == p.source && m->sources_n == 3);
	assert_true(m->phase == p.phase && m->phases_n == 2);
	config_plan_close(&p);
	c.mix.epoch_largest = true;
	p = planned(&c);
	assert_true(p.plan.epoch_size == MIXER_EPOCH_LARGEST);
	config_plan_close(&p);
}

static void
test_each_key_of_a_domain_is_its_field_of_the_source(void **unused)
{
	struct config c = filled();
	struct config_plan p = planned(&c);

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		const struct mixer_source *s = &p.source[i];
		const struct config_domain *d = &c.domains[i];

		assert_string_equal(s->name, d->name);
		assert_true(s->weight == c.mix.weight[i]);
		assert_int_equal(s->on_end, d->on_end);
		assert_int_equal(s->partitions_n, length[i].partitions_n);
		assert_ptr_equal(s->sequences, length[i].sequences);
		assert_int_equal(s->max_epochs, d->max_epochs);
		assert_int_equal(s->live, d->live);
		assert_ptr_equal(s->sealed, length[i].sealed);
		assert_int_equal(s->on_dry, d->on_dry);
		assert_true(s->catch_up == d->catch_up);
		assert_int_equal(s->short_ones, i != 0); /* concat fills every sequence */
		assert_int_equal(s->shuffle, d->shuffle);
	}
	config_plan_close(&p);
}

static void
test_weights_by_size_are_shares_of_all_sequences(void **unused)
{
	static const double by_size[] = {0.3, 0.7, 0};
	static const uint64_t none[4];
	const struct config_plan_length empty[] = {
	    {2, none, NULL}, {1, none, NULL}, {1, none, NULL}};
	struct config c = filled();
	struct config_plan p;

	(void)unused;
	c.mix.weights_kind = CONFIG_WEIGHTS_SIZE;
	p = planned(&c);
	for (size_t i = 0; i < 3; i++)
		assert_true(fabs(p.source[i].weight - by_size[i]) < 1e-15);
	config_plan_close(&p);
	assert_int_equal(config_plan_open(&p, &c, empty, &f), FAIL_NONE);
	for (size_t i = 0; i < 3; i++)
		assert_true(p.source[i].weight == 0); /* no division by nothing */
	config_plan_close(&p);
}

/* Each phase has only the weights that it names. */
static void
test_each_key_of_a_phase_is_its_field(void **unused)
{
	static const struct {
		const char *domain;
		double weight;
	} named[2][2] = {{{"b", 7}, {"c", 8}}, {{"a", 9}, {"c", 0}}};
	struct config c = filled();
	struct config_plan p = planned(&c);

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		const struct mixer_phase *to = &p.phase[i];
		double base = i == 0 ? 10 : 20;

		assert_string_equal(to->name, i == 0 ? "p" : "q");
		assert_int_equal(to->start_step, (uint64_t)base + 1);
		assert_true(to->temperature == base + 2 && to->lr_scale == base + 3);
		assert_int_equal(to->global_batch, (uint32_t)base + 4);
		assert_int_equal(to->weights_n, 2);
		for (size_t k = 0; k < 2; k++) {
			assert_string_equal(to->weight[k].domain, named[i][k].domain);
			assert_true(to->weight[k].weight == named[i][k].weight);
		}
	}
	config_plan_close(&p);
	config_plan_close(&p); /* closing leaves it empty */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_key_of_the_mix_is_its_field_of_the_plan),
	    cmocka_unit_test(test_each_key_of_a_domain_is_its_field_of_the_source),
	    cmocka_unit_test(test_weights_by_size_are_shares_of_all_sequences),
	    cmocka_unit_test(test_each_key_of_a_phase_is_its_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
