#include "consumer/reweight/odm.h"

#include <math.h>

#include "tests/unit/test.h"

static struct odm o;

static void
assert_near(double value, double want, double slack)
{
	if (!(fabs(value - want) <= slack))
		print_error("%.17g is not within %g of %.17g\n", value, slack, want);
	assert_true(fabs(value - want) <= slack);
}

static void
steps(size_t n, const struct losses_sum *sum)
{
	for (size_t t = 0; t < n; t++)
		odm_step(&o, sum);
}

/* The example of odm.h. */
static void
test_weights_are_those_of_the_formula(void **unused)
{
	const struct losses_sum sum[] = {{40, 0, 10}, {10, 0, 5}};

	(void)unused;
	odm_init(&o, 2, 0, 1);
	assert_true(o.weight[0] == 0.5 && o.weight[1] == 0.5);
	odm_step(&o, sum);
	assert_near(o.weight[0], 0.5, 1e-15); /* E is 1/K: all exploration */
	steps(199, sum);
	assert_near(o.weight[0], 0.5191177823862875, 1e-14);
	assert_near(o.weight[0] + o.weight[1], 1, 1e-15);
}

static void
test_the_reward_forgets_at_the_rate_of_its_memory(void **unused)
{
	struct losses_sum sum[] = {{40, 0, 10}, {10, 0, 5}};

	(void)unused;
	odm_init(&o, 2, 0.9, 2);
	odm_step(&o, sum);
	assert_near(o.reward[0], 0.1 * 2 * 4, 1e-15);
	steps(200, sum);
	assert_near(o.reward[0], 8, 1e-6);
	sum[0] = (struct losses_sum){0, 0, 0}; /* not in this step: kept */
	odm_step(&o, sum);
	assert_near(o.reward[0], 8, 1e-6);
}

static void
test_the_domain_with_the_larger_loss_gets_more_and_none_less_than_exploration(void **unused)
{
	const struct losses_sum sum[] = {{3, 0, 1}, {2, 0, 1}, {1, 0, 1}, {2, 0, 1}};

	(void)unused;
	odm_init(&o, 4, 0.9, 20);
	for (int t = 1; t <= 5000; t++) {
		double e = fmin(0.25, sqrt(log(4) / (4 * (double)t))), sum_of = 0;

		odm_step(&o, sum);
		for (size_t i = 0; i < 4; i++) {
			assert_true(o.weight[i] >= e * (1 - 1e-12));
			sum_of += o.weight[i];
		}
		assert_near(sum_of, 1, 1e-14);
		if (t > 100) {
			assert_true(o.weight[0] > o.weight[1] && o.weight[1] > o.weight[2]);
			assert_true(o.weight[1] == o.weight[3]);
		}
	}
}

/* Losses that fall where a domain is drawn from: the slow learner ends with more than the quick. */
static void
test_a_domain_that_learns_slowly_is_drawn_more(void **unused)
{
	struct losses_sum sum[2];
	double done[2] = {0, 0};
	static const double speed[] = {1, 0.1};

	(void)unused;
	odm_init(&o, 2, 0.9, 20);
	for (int t = 0; t < 2000; t++) {
		for (size_t i = 0; i < 2; i++) {
			done[i] += o.weight[i] * speed[i] / 100;
			sum[i] = (struct losses_sum){1 + 4 * exp(-done[i]), 0, 1};
		}
		odm_step(&o, sum);
	}
	assert_true(o.weight[1] > 0.55);
}

static void
test_huge_losses_and_a_single_domain_stay_numbers(void **unused)
{
	const struct losses_sum sum[] = {{1e300, 0, 1}, {-1e300, 0, 1}};

	(void)unused;
	odm_init(&o, 2, 0.9, 1);
	steps(10, sum);
	assert_near(o.weight[0] + o.weight[1], 1, 1e-15);
	odm_init(&o, 1, 0.9, 1);
	steps(10, sum);
	assert_near(o.weight[0], 1, 1e-15);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights_are_those_of_the_formula),
	    cmocka_unit_test(test_the_reward_forgets_at_the_rate_of_its_memory),
	    cmocka_unit_test(
		test_the_domain_with_the_larger_loss_gets_more_and_none_less_than_exploration),
	    cmocka_unit_test(test_a_domain_that_learns_slowly_is_drawn_more),
	    cmocka_unit_test(test_huge_losses_and_a_single_domain_stay_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
