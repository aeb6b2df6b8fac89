#include "consumer/reweight/weight_bounds.h"

#include <math.h>

#include "tests/unit/test.h"

static void
test_weights_inside_stay_as_they_are(void **unused)
{
	double weight[] = {0.3, 0.7}, floor[] = {0.3, 0}, ceiling[] = {1, 0.7};

	(void)unused;
	weight_bounds_apply(weight, floor, ceiling, 2);
	assert_true(weight[0] == 0.3 && weight[1] == 0.7);
}

static void
test_weights_outside_are_pushed_in_and_the_others_keep_their_proportions(void **unused)
{
	static const struct {
		double weight[3], floor[3], ceiling[3], want[3];
	} rows[] = {
	    {{.05, .25, .70}, {.1, .1, .1}, {.6, .6, .6}, {.10, .30, .60}},
	    {{.05, .25, .70}, {.1, 0, 0}, {1, 1, 1}, {.10, .9 * .25 / .95, .9 * .70 / .95}},
	    {{1, 0, 0}, {0, 0, 0}, {.6, 1, 1}, {.6, .2, .2}},
	    {{1, 0, 0}, {0, .1, .2}, {1, 1, 1}, {.7, .1, .2}},
	    {{.2, .3, .5}, {.5, .25, .25}, {1, 1, 1}, {.5, .25, .25}},
	    {{.2, .3, .5}, {0, 0, 0}, {.5, .25, .25}, {.5, .25, .25}},
	};

	(void)unused;
	EACH_ROW(k, rows) {
		double weight[3], sum = 0;

		memcpy(weight, rows[k].weight, sizeof(weight));
		weight_bounds_apply(weight, rows[k].floor, rows[k].ceiling, 3);
		for (size_t i = 0; i < 3; i++) {
			assert_true(fabs(weight[i] - rows[k].want[i]) < 1e-8);
			assert_true(weight[i] >= rows[k].floor[i]);
			assert_true(weight[i] <= rows[k].ceiling[i]);
			sum += weight[i];
		}
		assert_true(fabs(sum - 1) < 1e-8);
	}
}

static void
test_bounds_that_cannot_hold_are_refused(void **unused)
{
	static const char *const name[] = {"code", "web"};
	static const struct {
		double floor[2], ceiling[2];
		const char *want; /* NULL: right */
	} rows[] = {
	    {{0, 0}, {1, 1}, NULL},
	    {{0.5, 0.5}, {0.5, 0.5}, NULL},
	    {{0.5, 0.51}, {1, 1}, "the floors of 2 domains sum to 1.01"},
	    {{0, 0}, {0.5, 0.49}, "the ceilings of 2 domains sum to 0.99"},
	    {{0, 0.4}, {1, 0.3}, "domain web: floor 0.4 is above ceiling 0.3"},
	    {{-0.1, 0}, {1, 1}, "domain code: floor -0.1"},
	    {{0, 0}, {1, 1.1}, "domain web: floor 0 and ceiling 1.1 must be between 0 and 1"},
	    {{NAN, 0}, {1, 1}, "domain code"},
	};

	(void)unused;
	EACH_NAMED_ROW(k, rows, want) {
		struct failure f;
		enum fail_code code =
		    weight_bounds_check(rows[k].floor, rows[k].ceiling, name, 2, &f);

		assert_int_equal(code, rows[k].want == NULL ? FAIL_NONE : FAIL_CONFIG);
		if (rows[k].want != NULL)
			assert_non_null(strstr(f.text, rows[k].want));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_inside_stay_as_they_are),
	    cmocka_unit_test(
		test_weights_outside_are_pushed_in_and_the_others_keep_their_proportions),
	    cmocka_unit_test(test_bounds_that_cannot_hold_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
