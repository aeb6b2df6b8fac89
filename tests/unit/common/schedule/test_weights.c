/* weights.h: quantising, apportioning, what is refused. */
#include "tests/unit/test.h"
#include <math.h>

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_are_quantised_to_sum_exactly_one),
	    cmocka_unit_test(test_weights_that_cannot_be_are_refused_by_name),
	    cmocka_unit_test(test_apportioning_gives_all_and_ties_go_to_the_lowest),
	    cmocka_unit_test(test_shares_of_many_have_the_bits_of_numpys_sums),
	    cmocka_unit_test(test_what_remains_goes_to_the_largest_rests_one_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
