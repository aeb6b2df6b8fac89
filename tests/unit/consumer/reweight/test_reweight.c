/* reweight.h: both methods behind one interface, and bounds that are not learned. */
#include "consumer/reweight/reweight.h"

#include <math.h>

#include "tests/unit/test.h"

enum { DOMAINS = 2, STEPS = 50 };

static const double zeros[DOMAINS] = {0, 0}, ones[DOMAINS] = {1, 1};

static struct reweight
learner(enum reweight_method method, const double *ceiling)
{
	struct reweight r;

	reweight_init(&r, &(struct reweight_options){.method = method,
			      .domains_n = DOMAINS,
			      .eta = 1,
			      .smoothing = REWEIGHT_SMOOTHING,
			      .memory = REWEIGHT_MEMORY,
			      .floor = zeros,
			      .ceiling = ceiling});
	return r;
}

/* Steps in which domain 0 has the higher loss, and all of the excess. */
static void
learn(struct reweight *r)
{
	const struct losses_step step = {.sum = (struct losses_sum[]){{40, 10, 10}, {20, 0, 10}}};

	for (int i = 0; i < STEPS; i++)
		reweight_step(r, &step);
}

static void
test_the_domain_with_the_higher_loss_gets_more_weight(void **unused)
{
	(void)unused;
	for (int method = 0; reweight_method_name[method] != NULL; method++) {
		struct reweight r = learner((enum reweight_method)method, ones);
		double weight[DOMAINS], result[DOMAINS];

		learn(&r);
		reweight_weights(&r, weight);
		reweight_result(&r, result);
		assert_true(weight[0] > weight[1]);
		assert_true(result[0] > result[1]);
		assert_true(fabs(weight[0] + weight[1] - 1) < 1e-12);
		assert_int_equal(reweight_steps(&r), STEPS);
		assert_true(r.excess_seen);
	}
}

static void
test_bounds_hold_what_comes_out_and_not_what_is_learned(void **unused)
{
	const double ceiling[DOMAINS] = {0.5, 1};
	struct reweight bounded = learner(REWEIGHT_DOREMI, ceiling);
	struct reweight loose = learner(REWEIGHT_DOREMI, ones);
	double weight[DOMAINS];

	(void)unused;
	learn(&bounded);
	learn(&loose);
	reweight_weights(&bounded, weight);
	assert_true(fabs(weight[0] - 0.5) < 1e-9);
	reweight_weights(&loose, weight);
	assert_true(weight[0] > 0.9);
	assert_memory_equal(bounded.of.doremi.weight, loose.of.doremi.weight,
	    DOMAINS * sizeof(loose.of.doremi.weight[0]));
}

static void
test_no_excess_is_seen_where_none_is_reported(void **unused)
{
	const struct losses_step step = {.sum = (struct losses_sum[]){{40, 0, 10}, {20, 0, 10}}};
	struct reweight r = learner(REWEIGHT_DOREMI, ones);

	(void)unused;
	reweight_step(&r, &step);
	assert_false(r.excess_seen);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_domain_with_the_higher_loss_gets_more_weight),
	    cmocka_unit_test(test_bounds_hold_what_comes_out_and_not_what_is_learned),
	    cmocka_unit_test(test_no_excess_is_seen_where_none_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
