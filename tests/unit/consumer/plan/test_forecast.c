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

/* Counts the draws of each lane and domain in a stretch. The last row is all lanes. */
static void
count_stretch(struct mixer *m, const struct forecast_stretch *s, uint64_t count[5][3])
{
	memset(count, 0, 5 * sizeof(count[0]));
	for (uint64_t step = s->first; step < s->end; step++) {
		struct mixer_draw draw[32];
		enum mixer_result result;
		struct failure f;

		assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
		assert_string_equal(s->phase, mixer_phase_name(m));
		assert_int_equal(s->global_batch, mixer_global_batch(m));
		assert_true(s->lr_scale == mixer_lr_scale(m));
		assert_true(s->temperature == mixer_temperature(m));
		for (uint32_t i = 0; i < s->global_batch; i++) {
			count[i * 4 / s->global_batch][draw[i].domain]++;
			count[4][draw[i].domain]++;
		}
	}
}

/* Weights, batch, rate and temperature change between stretches. One stretch changes no weight. */
static void
test_each_stretch_holds_what_a_count_of_its_own_steps_gives(void **state)
{
	struct ledger_raw_weight only_c[] = {
	    {(char[]){"a"}, 0}, {(char[]){"b"}, 0}, {(char[]){"c"}, 1}};
	struct ledger_raw_weight most_b[] = {{(char[]){"b"}, 5}};
	struct mixer_phase phase[] = {
	    {.name = "c", .start_step = 3, .weight = only_c, .weights_n = 3, .lr_scale = 0.5},
	    {.name = "b", .start_step = 4, .weight = most_b, .weights_n = 1, .global_batch = 32},
	    {.name = "same", .start_step = 9, .weight = most_b, .weights_n = 1, .global_batch = 4},
	    {.name = "hot", .start_step = 20, .temperature = 3, .lr_scale = 2},
	};
	static const uint64_t first[] = {0, 3, 4, 9, 20};
	struct mixer_plan p = plan_of(three, 3);
	struct mixer *m = NULL;
	struct forecast *fc;
	struct failure f;
	uint64_t draws = 0;

	(void)state;
	p.phase = phase;
	p.phases_n = 4;
	fc = forecast(&p, 30);
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	assert_int_equal(fc->stretches_n, 5);
	EACH_ROW(i, first) {
		const struct forecast_stretch *s = &fc->stretch[i];
		uint64_t count[5][3], all = 0;

		assert_int_equal(s->first, first[i]);
		assert_int_equal(s->end, i == 4 ? 30 : first[i + 1]);
		count_stretch(m, s, count);
		for (size_t d = 0; d < 3; d++)
			all += count[4][d];
		assert_int_equal(s->draws, all);
		draws += all;
		for (size_t d = 0; d < 3; d++) {
			double part = (double)count[4][d] / (double)all, worst = 0;

			for (size_t l = 0; l < 4; l++)
				worst =
				    fmax(worst, fabs((double)count[l][d] * 4 / (double)all - part));
			assert_int_equal(s->share[d].drawn, count[4][d]);
			assert_true(fabs(s->share[d].rank_error - worst) < 1e-12);
		}
	}
	assert_int_equal(fc->draws, draws);
	mixer_close(m);
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
	    cmocka_unit_test(test_each_stretch_holds_what_a_count_of_its_own_steps_gives),
	    cmocka_unit_test(test_the_end_of_the_mix_ends_the_forecast),
	    cmocka_unit_test(test_a_live_domain_that_is_dry_is_named),
	    cmocka_unit_test(test_ranks_that_alias_with_domains_show_in_the_error),
	    cmocka_unit_test(test_a_plan_that_cannot_be_mixed_is_refused),
	    cmocka_unit_test(test_a_stop_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
