#include "consumer/plan/forecast.h"

#include <math.h>

#include "tests/unit/test.h"

static const uint64_t lengths[3][2] = {{100, 60}, {40, 0}, {7, 0}};

static struct mixer_source three[] = {
    {.name = "a", .weight = 0.5, .partitions_n = 2, .sequences = lengths[0]},
    {.name = "b", .weight = 0.3, .partitions_n = 1, .sequences = lengths[1]},
    {.name = "c", .weight = 0.2, .partitions_n = 1, .sequences = lengths[2]},
};

static struct mixer_plan
plan_of(const struct mixer_source *source, size_t n)
{
	return (struct mixer_plan){
	    .seed = 7,
	    .sequence_length = 64,
	    .global_batch = 16,
	    .lanes = 4,
	    .block = 16,
	    .window = 1,
	    .permute = true,
	    .temperature = 1,
	    .source = source,
	    .sources_n = n,
	};
}

static struct forecast *
forecast(const struct mixer_plan *p, uint64_t steps)
{
	struct forecast *fc = NULL;
	struct failure f;

	assert_int_equal(forecast_open(&fc, p, steps, NULL, &f), FAIL_NONE);
	return fc;
}

/* The same plan, stepped by hand. */
static void
test_the_numbers_are_those_of_a_mixer_that_is_stepped(void **state)
{
	struct mixer_plan p = plan_of(three, 3);
	struct forecast *fc = forecast(&p, 50);
	uint64_t taken[3] = {0}, first[3] = {99, 99, 99}, out[3] = {99, 99, 99};
	const uint64_t length[3] = {160, 40, 7};
	struct mixer_draw draw[16];
	enum mixer_result result;
	struct mixer *m = NULL;
	struct failure f;

	(void)state;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	for (uint64_t step = 0; step < 50; step++) {
		assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
		for (int i = 0; i < 16; i++) {
			uint32_t d = draw[i].domain;

			first[d] = taken[d] == 0 ? step : first[d];
			out[d] = ++taken[d] == length[d] ? step : out[d];
		}
	}
	assert_int_equal(fc->steps, 50);
	assert_int_equal(fc->draws, 800);
	assert_false(fc->ended);
	assert_int_equal(fc->stretches_n, 1);
	for (uint32_t d = 0; d < 3; d++) {
		struct mixer_standing at;

		mixer_stand(m, d, &at);
		assert_int_equal(fc->domain[d].at_end.taken, taken[d]);
		assert_int_equal(fc->domain[d].at_end.epoch, at.epoch);
		assert_int_equal(fc->domain[d].at_end.position, at.position);
		assert_int_equal(fc->domain[d].first_step, first[d]);
		assert_int_equal(
		    fc->domain[d].exhausted_step, out[d] == 99 ? FORECAST_NEVER : out[d]);
		assert_int_equal(fc->domain[d].length, length[d]);
		assert_int_equal(fc->stretch[0].share[d].drawn, taken[d]);
	}
	mixer_close(m);
	forecast_close(fc);
}

static void
test_each_phase_is_a_stretch_of_its_own(void **state)
{
	struct ledger_raw_weight only_a[] = {
	    {(char[]){"a"}, 1}, {(char[]){"b"}, 0}, {(char[]){"c"}, 0}};
	struct mixer_phase phase[] = {
	    {.name = "one", .start_step = 10, .weight = only_a, .weights_n = 3, .lr_scale = 0.5},
	    {.name = "two", .start_step = 15, .lr_scale = 2},
	};
	struct mixer_plan p = plan_of(three, 3);
	struct forecast *fc;
	static const uint64_t first[] = {0, 10, 15}, end[] = {10, 15, 40};
	static const char *const name[] = {"", "one", "two"};
	static const double scale[] = {1, 0.5, 2}, share[] = {0.5, 1, 0.5};

	(void)state;
	p.phase = phase;
	p.phases_n = 2;
	fc = forecast(&p, 40);
	assert_int_equal(fc->stretches_n, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct forecast_stretch *s = &fc->stretch[i];
		uint64_t drawn = 0;

		assert_string_equal(s->phase, name[i]);
		assert_int_equal(s->first, first[i]);
		assert_int_equal(s->end, end[i]);
		assert_true(s->lr_scale == scale[i]);
		assert_true(fabs(s->share[0].intended - share[i]) < 1e-6);
		for (size_t d = 0; d < 3; d++)
			drawn += s->share[d].drawn;
		assert_int_equal(drawn, (end[i] - first[i]) * 16);
	}
	assert_int_equal(fc->stretch[1].share[0].drawn, 5 * 16);
	forecast_close(fc);
}

static void
test_the_end_of_the_mix_ends_the_forecast(void **state)
{
	struct mixer_source source[] = {three[0], three[1]};
	struct mixer_plan p = plan_of(source, 2);
	struct forecast *fc;

	(void)state;
	source[1].on_end = MIX_END_STOP; /* 40 sequences at 3 of 8 */
	fc = forecast(&p, 1000);
	assert_true(fc->ended);
	assert_int_equal(fc->steps, 6);
	assert_int_equal(fc->domain[0].exhausted_step, FORECAST_NEVER);
	forecast_close(fc);
}

static void
test_a_live_domain_that_is_dry_is_named(void **state)
{
	struct mixer_source source[] = {three[0], three[1]};
	struct mixer_plan p = plan_of(source, 2);
	struct forecast *fc;

	(void)state;
	source[1].live = true;
	fc = forecast(&p, 1000);
	assert_true(fc->dry);
	assert_string_equal(fc->dry_domain, "b");
	assert_int_equal(fc->steps, 6);
	forecast_close(fc);
}

/*
 * Without the permutation 50/50 by turns gives each of two lanes of one sequence one domain only.
 */
static void
test_ranks_that_alias_with_domains_show_in_the_error(void **state)
{
	struct mixer_source source[] = {three[0], three[1]};
	struct mixer_plan p = plan_of(source, 2);
	struct forecast *fc;

	(void)state;
	source[0].weight = source[1].weight = 0.5;
	p.lanes = 16;
	p.permute = false;
	fc = forecast(&p, 200);
	assert_true(fabs(fc->stretch[0].share[0].rank_error - 0.5) < 1e-9);
	forecast_close(fc);
	p.permute = true;
	fc = forecast(&p, 200);
	assert_true(fc->stretch[0].share[0].rank_error < 0.15);
	forecast_close(fc);
}

static void
test_a_plan_that_cannot_be_mixed_is_refused(void **state)
{
	struct mixer_source source[] = {three[0]};
	struct mixer_plan p = plan_of(source, 1);
	struct forecast *fc = NULL;
	struct failure f;

	(void)state;
	source[0].weight = -1;
	assert_int_equal(forecast_open(&fc, &p, 1, NULL, &f), FAIL_CONFIG);
	assert_null(fc);
}

static void
test_a_stop_is_heard(void **state)
{
	static const struct stop stop = {.asked = true};
	struct mixer_plan p = plan_of(three, 3);
	struct forecast *fc = NULL;
	struct failure f;

	(void)state;
	assert_int_equal(forecast_open(&fc, &p, 1, &stop, &f), FAIL_STOPPED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_numbers_are_those_of_a_mixer_that_is_stepped),
	    cmocka_unit_test(test_each_phase_is_a_stretch_of_its_own),
	    cmocka_unit_test(test_the_end_of_the_mix_ends_the_forecast),
	    cmocka_unit_test(test_a_live_domain_that_is_dry_is_named),
	    cmocka_unit_test(test_ranks_that_alias_with_domains_show_in_the_error),
	    cmocka_unit_test(test_a_plan_that_cannot_be_mixed_is_refused),
	    cmocka_unit_test(test_a_stop_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
