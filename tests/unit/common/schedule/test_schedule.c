/* weights.h and schedule.h: quantising, shares, starvation, changes of weights. */
#include <math.h>
#include "tests/unit/test.h"

#include "common/schedule/schedule.h"

static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static const struct {
	size_t n;
	double raw[4];
	double temperature;
	uint64_t out[4];
} quantised[] = {
    {1, {7}, 1, {WEIGHT_ONE}},
    {2, {1, 1}, 1, {WEIGHT_ONE / 2, WEIGHT_ONE / 2}},
    {2, {0.3, 0.7}, 1, {1288490189, 3006477107}},
    {2, {3, 7}, 1, {1288490189, 3006477107}},
    {3, {1, 1, 1}, 1, {1431655766, 1431655765, 1431655765}},
    {3, {1, 0, 1}, 1, {WEIGHT_ONE / 2, 0, WEIGHT_ONE / 2}},
    {2, {1, 1e-300}, 1, {WEIGHT_ONE - 1, 1}},
    {3, {1e308, 1e308, 1e-308}, 1, {WEIGHT_ONE / 2 - 1, WEIGHT_ONE / 2, 1}},
    {2, {1, 4}, 2, {1431655765, 2863311531}},
    {2, {0, 4}, 2, {0, WEIGHT_ONE}},
};

static void
test_weights_are_quantised_to_sum_exactly_one(void **state)
{
	struct failure f;

	(void)state;
	for (size_t i = 0; i < sizeof(quantised) / sizeof(quantised[0]); i++) {
		uint64_t out[4] = {0}, sum = 0;

		assert_int_equal(weights_quantise(out, quantised[i].raw, letters, quantised[i].n,
				     quantised[i].temperature, &f),
		    FAIL_NONE);
		for (size_t k = 0; k < quantised[i].n; k++) {
			assert_int_equal(out[k], quantised[i].out[k]);
			sum += out[k];
		}
		assert_int_equal(sum, WEIGHT_ONE);
	}
}

static const struct {
	double raw[2];
	double temperature;
	const char *text;
} refused[] = {
    {{-1, 2}, 1, "the weight of domain a must be a finite number of at least 0, not -1"},
    {{1, NAN}, 1, "the weight of domain b must be a finite number of at least 0, not nan"},
    {{1, INFINITY}, 1, "the weight of domain b must be a finite number of at least 0, not inf"},
    {{0, 0}, 1, "all weights are zero: at least one must be positive"},
    {{1, 1}, 0, "temperature must be a positive number, not 0"},
    {{1, 1}, NAN, "temperature must be a positive number, not nan"},
};

static void
test_weights_that_cannot_be_are_refused_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct failure f;
		uint64_t out[2];

		assert_int_equal(
		    weights_quantise(out, refused[i].raw, letters, 2, refused[i].temperature, &f),
		    FAIL_CONFIG);
		assert_string_equal(f.text, refused[i].text);
	}
}

static void
test_apportioning_gives_all_and_ties_go_to_the_lowest(void **state)
{
	uint64_t share[3], even[3] = {1, 1, 1}, odd[3] = {0, 3, 1};

	(void)state;
	weights_apportion(share, 10, even, 3);
	assert_int_equal(share[0], 4);
	assert_int_equal(share[1], 3);
	assert_int_equal(share[2], 3);
	weights_apportion(share, UINT64_C(1) << 62, odd, 3);
	assert_int_equal(share[0], 0);
	assert_int_equal(share[1], (UINT64_C(3) << 60));
	assert_int_equal(share[2], (UINT64_C(1) << 60));
}

static void
test_the_example_of_the_header_holds(void **state)
{
	static const uint64_t weight[3] = {WEIGHT_ONE / 2, WEIGHT_ONE / 4, WEIGHT_ONE / 4};
	static const size_t expected[8] = {0, 1, 2, 0, 0, 1, 2, 0};
	static struct schedule s;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(&s, weight, 3);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(schedule_draw(&s), expected[i]);
}

/* Log-normal weights by sums of a fixed generator; the smallest of 200 is about 3e-7. */
static void
make_weights(double *raw, size_t n)
{
	uint64_t x = 88172645463325252U;

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (int k = 0; k < 12; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sum += (double)(x >> 11) / 9007199254740992.0;
		}
		raw[i] = exp(2.5 * (sum - 6));
	}
	if (n == 200) {
		double total = 0;

		for (size_t i = 0; i < n; i++)
			total += raw[i];
		raw[17] = 3e-7 * total;
	}
}

/* Over `draws` draws: worst lead and lag in draws, and whether each domain came within 2 / w. */
static void
check_promise(size_t n, uint64_t draws)
{
	static struct schedule s;
	static const char *name[200];
	static double raw[200];
	static uint64_t weight[200], count[200], first[200];
	double ahead = 0, behind = 0;
	struct failure f;

	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < n; i++)
		name[i] = "x";
	make_weights(raw, n);
	assert_int_equal(weights_quantise(weight, raw, name, n, 1, &f), FAIL_NONE);
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(&s, weight, n);
	for (uint64_t k = 1; k <= draws; k++) {
		size_t i = schedule_draw(&s);

		if (count[i]++ == 0)
			first[i] = k;
		if (k % 64 != 0)
			continue;
		for (size_t d = 0; d < n; d++) {
			double lag = (double)s.credit[d] / (double)WEIGHT_ONE;

			ahead = -lag > ahead ? -lag : ahead;
			behind = lag > behind ? lag : behind;
		}
	}
	assert_true(ahead < 1);
	assert_true(behind < 2);
	for (size_t d = 0; d < n; d++) {
		double due = 2 * (double)WEIGHT_ONE / (double)weight[d];

		if (due <= (double)draws) {
			assert_true(count[d] > 0);
			assert_true((double)first[d] <= due);
		}
	}
}

static void
test_no_domain_is_one_ahead_or_two_behind_and_none_starves(void **state)
{
	(void)state;
	check_promise(3, 200000);
	check_promise(35, 2000000);
	check_promise(200, 8000000);
}

static void
test_credits_sum_to_zero_through_changes(void **state)
{
	static struct schedule s;
	uint64_t x = 1;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	for (int change = 0; change < 300; change++) {
		uint64_t weight[8], share[8];
		int64_t sum = 0;
		size_t n = change < 100 ? 5 : 8;

		for (size_t i = 0; i < n; i++) {
			x = x * 6364136223846793005U + 1442695040888963407U;
			weight[i] = x >> 62 == 0 ? 0 : x >> 40;
		}
		weight[0] += 1;
		weights_apportion(share, WEIGHT_ONE, weight, n);
		schedule_set_weights(&s, share, n);
		for (int k = 0; k < 50; k++)
			assert_true(share[schedule_draw(&s)] > 0);
		for (size_t i = 0; i < n; i++) {
			sum += s.credit[i];
			if (share[i] == 0)
				assert_true(s.credit[i] <= 0);
		}
		assert_int_equal(sum, 0);
	}
}

static void
test_a_dry_domain_lends_its_draws_by_weight_and_gets_them_back(void **state)
{
	static const uint64_t weight[3] = {
	    WEIGHT_ONE / 2, WEIGHT_ONE / 16 * 5, WEIGHT_ONE / 16 * 3};
	static const bool dry[3] = {true, false, false}, all_dry[3] = {true, true, true};
	static const size_t paper[12] = {0, 2, 1, 0, 0, 2, 1, 0, 0, 1, 0, 1},
			    drawn[12] = {1, 2, 1, 1, 1, 2, 1, 1, 2, 1, 2, 1};
	static struct schedule s;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(&s, weight, 3);
	assert_int_equal(schedule_lend_pick(&s, 0, all_dry), 3);
	for (size_t k = 0; k < 12; k++) {
		size_t picked = schedule_pick(&s), i = picked;

		assert_int_equal(picked, paper[k]);
		if (picked == 0) {
			i = schedule_lend_pick(&s, 0, dry);
			schedule_lend(&s, 0, dry, i);
		} else
			schedule_charge(&s, i, 1);
		assert_int_equal(i, drawn[k]);
		assert_int_equal(s.credit[0] + s.credit[1] + s.credit[2], 0);
	}
	for (size_t k = 0; k < 6; k++) /* the six that were lent */
		schedule_repay(&s, 0, schedule_pick(&s) == 0 ? 1 : schedule_pick(&s));
	assert_int_equal(s.credit[0] + s.credit[1] + s.credit[2], 0);
	assert_true(s.credit[0] == (int64_t)WEIGHT_ONE * 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_are_quantised_to_sum_exactly_one),
	    cmocka_unit_test(test_weights_that_cannot_be_are_refused_by_name),
	    cmocka_unit_test(test_apportioning_gives_all_and_ties_go_to_the_lowest),
	    cmocka_unit_test(test_the_example_of_the_header_holds),
	    cmocka_unit_test(test_no_domain_is_one_ahead_or_two_behind_and_none_starves),
	    cmocka_unit_test(test_credits_sum_to_zero_through_changes),
	    cmocka_unit_test(test_a_dry_domain_lends_its_draws_by_weight_and_gets_them_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
