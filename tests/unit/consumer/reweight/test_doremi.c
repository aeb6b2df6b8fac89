#include "consumer/reweight/doremi.h"

#include <math.h>

#include "tests/unit/test.h"

static struct doremi d; /* some 100 KB */

static void
assert_near(double value, double want, double slack)
{
	if (!(fabs(value - want) <= slack))
		print_error("%.17g is not within %g of %.17g\n", value, slack, want);
	assert_true(fabs(value - want) <= slack);
}

/* The example of doremi.h. */
static void
test_a_step_multiplies_by_the_exponential_of_the_mean_excess(void **unused)
{
	const struct losses_sum sum[] = {{0, 4 * 1.0986122886681098, 4}, {99, 0, 7}};

	(void)unused;
	doremi_init(&d, 2, NULL, 1, 0);
	doremi_step(&d, sum);
	assert_near(d.weight[0], 0.75, 1e-15);
	assert_near(d.weight[1], 0.25, 1e-15);
	doremi_init(&d, 2, NULL, 1, 0.1);
	doremi_step(&d, sum);
	assert_near(d.weight[0], 0.9 * 0.75 + 0.05, 1e-15);
	assert_near(d.weight[1], 0.9 * 0.25 + 0.05, 1e-15);
	doremi_init(&d, 2, NULL, 2, 0); /* exp(2 ln 3) = 9 */
	doremi_step(&d, sum);
	assert_near(d.weight[0], 0.9, 1e-15);
}

static void
test_the_result_is_the_average_over_the_steps(void **unused)
{
	struct losses_sum sum[3] = {{0, 0, 5}, {0, 0, 5}, {0, 0, 5}};
	double want[3] = {0};
	uint32_t random = 12345;

	(void)unused;
	doremi_init(&d, 3, (const double[]){2, 1, 1}, 1, 1e-3);
	assert_true(d.average[0] == 0.5);
	for (int t = 0; t < 100; t++) {
		for (size_t i = 0; i < 3; i++) {
			random = random * 1664525 + 1013904223;
			sum[i].excess_sum = (double)(random >> 16) / 65536;
		}
		doremi_step(&d, sum);
		for (size_t i = 0; i < 3; i++)
			want[i] += d.weight[i] / 100;
	}
	for (size_t i = 0; i < 3; i++)
		assert_near(d.average[i], want[i], 1e-14);
	assert_near(d.average[0] + d.average[1] + d.average[2], 1, 1e-14);
}

static void
test_a_domain_without_tokens_keeps_the_excess_it_had(void **unused)
{
	struct losses_sum sum[] = {{0, 3, 3}, {0, 0, 3}};

	(void)unused;
	doremi_init(&d, 2, NULL, 0.5, 0);
	doremi_step(&d, sum);
	sum[0] = (struct losses_sum){0, 0, 0};
	doremi_step(&d, sum);
	assert_near(d.weight[0] / d.weight[1], exp(1), 1e-14);
}

static void
test_huge_excesses_and_weights_of_zero_stay_numbers(void **unused)
{
	const struct losses_sum sum[] = {{0, 1e300, 1}, {0, 0, 1}, {0, 1e6, 1}};

	(void)unused;
	doremi_init(&d, 3, (const double[]){0, 1, 1}, 1, 0);
	for (int t = 0; t < 3; t++)
		doremi_step(&d, sum);
	for (size_t i = 0; i < 3; i++)
		assert_true(d.weight[i] >= 0 && d.weight[i] <= 1);
	assert_near(d.weight[0] + d.weight[1] + d.weight[2], 1, 1e-15);
}

/*
 * A proxy of one number x, whose loss on domain i is (x - c_i)^2 / 2 and whose reference has none.
 * The worst domain's loss is least in the middle of the outermost: x = (0 + 4) / 2, and the weights
 * that hold it there are one half for each of these two and 0 for the one between.
 */
static void
test_the_average_converges_to_the_minimax_weights(void **unused)
{
	static const double c[] = {0, 1, 4}, want[] = {0.5, 0, 0.5};
	struct losses_sum sum[3];
	double x = 0.3, mean = 0;
	enum { STEPS = 20000 };

	(void)unused;
	doremi_init(&d, 3, (const double[]){0.1, 0.8, 0.1}, 0.02, 0);
	for (int t = 0; t < STEPS; t++) {
		double slope = 0;

		for (size_t i = 0; i < 3; i++)
			sum[i] = (struct losses_sum){0, 10 * (x - c[i]) * (x - c[i]) / 2, 10};
		doremi_step(&d, sum);
		for (size_t i = 0; i < 3; i++)
			slope += d.weight[i] * (x - c[i]);
		x -= 0.02 * slope;
		mean += x / STEPS;
	}
	for (size_t i = 0; i < 3; i++)
		assert_near(d.average[i], want[i], 0.01);
	assert_near(mean, 2, 0.02);
}

/*
 * Domains that need more work: the excess of a proxy on domain i falls as need_i / share_i. All are
 * equal where the shares are as the needs are; the weights go there from anywhere.
 */
static void
test_weights_converge_to_where_all_excesses_are_equal(void **unused)
{
	static const double need[] = {0.1, 0.2, 0.3, 0.4};
	static const double start[][4] = {{1, 1, 1, 1}, {97, 1, 1, 1}, {1, 1, 1, 9}};

	(void)unused;
	for (size_t k = 0; k < 3; k++) {
		doremi_init(&d, 4, start[k], 0.1, 1e-6);
		for (int t = 0; t < 3000; t++) {
			struct losses_sum sum[4];

			for (size_t i = 0; i < 4; i++)
				sum[i] = (struct losses_sum){
				    0, 100 * fmin(need[i] / d.weight[i], 10), 100};
			doremi_step(&d, sum);
		}
		for (size_t i = 0; i < 4; i++)
			assert_near(d.weight[i], need[i], 1e-5);
	}
}

static void
test_a_copy_goes_on_identically(void **unused)
{
	static struct doremi a, b;
	struct losses_sum sum[2] = {{0, 1, 3}, {0, 2, 3}};

	(void)unused;
	doremi_init(&a, 2, NULL, 1, 1e-3);
	for (int t = 0; t < 10; t++)
		doremi_step(&a, sum);
	b = a;
	sum[1].excess_sum = 0.5;
	doremi_step(&a, sum);
	doremi_step(&b, sum);
	assert_memory_equal(&a, &b, sizeof(a));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_step_multiplies_by_the_exponential_of_the_mean_excess),
	    cmocka_unit_test(test_the_result_is_the_average_over_the_steps),
	    cmocka_unit_test(test_a_domain_without_tokens_keeps_the_excess_it_had),
	    cmocka_unit_test(test_huge_excesses_and_weights_of_zero_stay_numbers),
	    cmocka_unit_test(test_the_average_converges_to_the_minimax_weights),
	    cmocka_unit_test(test_weights_converge_to_where_all_excesses_are_equal),
	    cmocka_unit_test(test_a_copy_goes_on_identically),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
