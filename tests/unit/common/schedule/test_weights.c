/* weights.h: quantising, apportioning, what is refused. */
#include "tests/unit/test.h"
#include <math.h>

#include "common/schedule/power.h"
#include "common/schedule/weights.h"

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
	EACH_ROW(i, quantised) {
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
	EACH_NAMED_ROW(i, refused, text) {
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

/* raw[i] = 1 / (7 i mod n + 3); what NumPy 2.1.3 makes of raw / numpy.sum(raw). */
static void
test_shares_of_many_have_the_bits_of_numpys_sums(void **state)
{
	static const struct {
		size_t n;
		double first;
	} row[] = {
	    {16, 0x1.562b96b641a6dp-3},
	    {127, 0x1.5a73c69be1779p-4},
	    {128, 0x1.59c6fe7ca435ep-4},
	    {129, 0x1.591c320e59af8p-4},
	    {135, 0x1.5542f2b7576f5p-4},
	    {150, 0x1.4ca71059555d1p-4},
	    {300, 0x1.1d1480c7c6e77p-4},
	    {1000, 0x1.c8104dbfaa8bap-5},
	};
	static const char *name[1000];
	static double raw[1000];
	static uint64_t share[1000];
	struct failure f;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		name[i] = "d";
	EACH_ROW(k, row) {
		for (size_t i = 0; i < row[k].n; i++)
			raw[i] = 1.0 / (double)(7 * i % row[k].n + 3);
		assert_int_equal(weights_share(share, raw, name, row[k].n, 1, &f), FAIL_NONE);
		assert_true(weights_double(share[0]) == row[k].first);
	}
	for (size_t i = 0; i < 8; i++) /* eight running sums of one each */
		raw[i] = 1.0 / (double)(5 * i % 8 + 5);
	assert_int_equal(weights_share(share, raw, name, 8, 1, &f), FAIL_NONE);
	assert_true(weights_double(share[0]) == 0x1.919dee988b4e2p-3);
}

static void
test_what_remains_goes_to_the_largest_rests_one_each(void **state)
{
	static const struct {
		uint64_t total, weight[4], share[4];
	} row[] = {
	    {5, {1, 1, 1, 0}, {2, 2, 1, 0}},
	    {7, {1, 1, 1, 1}, {2, 2, 2, 1}},
	    {8, {3, 3, 3, 1}, {3, 2, 2, 1}}, /* 2.4 2.4 2.4 0.8: the last, then the first */
	    {2, {1, 1, 1, 1}, {1, 1, 0, 0}},
	};

	(void)state;
	EACH_ROW(i, row) {
		uint64_t share[4];

		weights_apportion(share, row[i].total, row[i].weight, 4);
		for (size_t k = 0; k < 4; k++)
			assert_int_equal(share[k], row[i].share[k]);
	}
}

static void
assert_shares(const double *raw, size_t n, double temperature, const double *expected)
{
	struct failure f;
	uint64_t share[8];

	assert_int_equal(weights_share(share, raw, letters, n, temperature, &f), FAIL_NONE);
	for (size_t i = 0; i < n; i++)
		assert_true(weights_double(share[i]) == expected[i]);
}

static void
test_shares_that_sum_to_about_one_are_taken_as_they_are_written(void **unused)
{
	const double over = 0.25 + (0.75 + 2e-9);

	(void)unused;
	assert_shares((double[]){0.3, 0.7 + 9e-10}, 2, 1, (double[]){0.3, 0.7 + 9e-10});
	assert_shares((double[]){0.25, 0.75 - 9e-10}, 2, 1, (double[]){0.25, 0.75 - 9e-10});
	assert_shares(
	    (double[]){0.25, 0.75 + 2e-9}, 2, 1, (double[]){0.25 / over, (0.75 + 2e-9) / over});
	assert_shares((double[]){1, 1e-4}, 2, 0.4,
	    (double[]){1 / (1 + power_of(1e-4, 2.5)), /* 1e-10 */
		power_of(1e-4, 2.5) / (1 + power_of(1e-4, 2.5))});
}

static void
test_tempered_shares_are_powers_over_the_largest_weight(void **unused)
{
	static const double raw[] = {3, 0, 0.7, 6, 0.1}, temperature[] = {0.25, 0.5, 2, 3, 100};

	(void)unused;
	EACH_ROW(k, temperature) {
		double expected[5], sum = 0;

		for (size_t i = 0; i < 5; i++) {
			expected[i] = raw[i] > 0 ? power_of(raw[i] / 6, 1 / temperature[k]) : 0;
			sum += expected[i];
		}
		for (size_t i = 0; i < 5; i++)
			expected[i] /= sum;
		assert_shares(raw, 5, temperature[k], expected);
	}
}

static void
test_the_largest_weights_and_temperatures_have_shares(void **unused)
{
	struct failure f;
	uint64_t count[2];

	(void)unused;
	assert_shares((double[]){1e308, 1e308, 0}, 3, 1, (double[]){0.5, 0.5, 0});
	assert_shares((double[]){1e308, 1e308}, 2, 1e-320, (double[]){0.5, 0.5});
	assert_shares((double[]){1e308, 1e307}, 2, 1e-320, (double[]){1, 0});
	assert_int_equal(
	    weights_count(count, (double[]){1, 2}, letters, 2, 1e-320, 10, &f), FAIL_NONE);
	assert_int_equal(count[0], 1);
	assert_int_equal(count[1], 9);
}

/* ---- against slow references, in whole numbers ---- */

enum { RANDOM_SEED = 11, RANDOM_ROUNDS = 20000, RANDOM_DOMAINS = 8, RANDOM_SUM = 256 };

static uint32_t random_state;

static uint32_t
next_random(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
	return (random_state >> 8) % below;
}

/* Weights that sum to `sum`, about half of them 0 or 1. */
static void
fill_weights(uint64_t *weight, size_t n, uint64_t sum)
{
	uint64_t left = sum;

	for (size_t i = 1; i < n; i++) {
		weight[i] = next_random(2) == 0 ? next_random(2) : next_random((uint32_t)sum / 2);
		weight[i] = weight[i] < left ? weight[i] : left;
		left -= weight[i];
	}
	weight[0] = left;
}

/* Largest remainder by its definition, whoever has `lifted` or had one already is out of it. */
static void
share_slowly(uint64_t *out, uint64_t total, const uint64_t *weight, size_t n, bool lift)
{
	bool had[RANDOM_DOMAINS] = {false};
	uint64_t sum = 0, given = 0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	for (size_t i = 0; i < n; i++) {
		out[i] = total * weight[i] / sum;
		had[i] = lift && out[i] == 0;
		out[i] += had[i] && weight[i] > 0;
		given += out[i];
	}
	for (size_t best; given < total; given++, out[best]++, had[best] = true) {
		best = n;
		for (size_t i = 0; i < n; i++)
			if (!had[i] &&
			    (best == n || total * weight[i] % sum > total * weight[best] % sum))
				best = i;
		assert_true(best < n);
	}
	for (size_t best; given > total; given--, out[best]--) {
		best = 0;
		for (size_t i = 1; i < n; i++)
			best = out[i] > out[best] ? i : best;
	}
}

/* Sums are a power of two, so that shares in doubles are exact, too. */
static void
test_counts_are_those_of_a_slow_reference_in_whole_numbers(void **unused)
{
	struct failure f;

	(void)unused;
	print_message("seed %d\n", RANDOM_SEED);
	random_state = RANDOM_SEED;
	for (unsigned round = 0; round < RANDOM_ROUNDS; round++) {
		uint64_t weight[RANDOM_DOMAINS], out[RANDOM_DOMAINS], slow[RANDOM_DOMAINS];
		size_t n = 1 + next_random(RANDOM_DOMAINS), positive = 0;
		uint64_t total = 1 + next_random(round % 2 == 0 ? 40 : 100000);
		double raw[RANDOM_DOMAINS];

		fill_weights(weight, n, RANDOM_SUM);
		for (size_t i = 0; i < n; i++) {
			raw[i] = (double)weight[i] / 1024;
			positive += weight[i] > 0;
		}
		if (positive > total) {
			assert_int_equal(
			    weights_count(out, raw, letters, n, 1, total, &f), FAIL_CONFIG);
			continue;
		}
		assert_int_equal(weights_count(out, raw, letters, n, 1, total, &f), FAIL_NONE);
		share_slowly(slow, total, weight, n, true);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(out[i], slow[i]);
		weights_apportion(out, total, weight, n);
		share_slowly(slow, total, weight, n, false);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(out[i], slow[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_are_quantised_to_sum_exactly_one),
	    cmocka_unit_test(test_weights_that_cannot_be_are_refused_by_name),
	    cmocka_unit_test(test_apportioning_gives_all_and_ties_go_to_the_lowest),
	    cmocka_unit_test(test_shares_of_many_have_the_bits_of_numpys_sums),
	    cmocka_unit_test(test_what_remains_goes_to_the_largest_rests_one_each),
	    cmocka_unit_test(test_shares_that_sum_to_about_one_are_taken_as_they_are_written),
	    cmocka_unit_test(test_tempered_shares_are_powers_over_the_largest_weight),
	    cmocka_unit_test(test_the_largest_weights_and_temperatures_have_shares),
	    cmocka_unit_test(test_counts_are_those_of_a_slow_reference_in_whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
