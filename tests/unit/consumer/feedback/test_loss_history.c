/* loss_history.h: points in any order, thinned evenly, the newest always there. */
#include "consumer/feedback/loss_history.h"

#include <math.h>

#include "tests/unit/test.h"

static struct losses_means
mean(double loss)
{
	return (struct losses_means){.loss = loss, .tokens = 1};
}

/* A point whose losses tell its step: s, and s + 1 of domain 0; domain 1 has none. */
static bool
add(struct loss_history *h, int64_t step)
{
	struct losses_means all = mean((double)step);
	struct losses_means domain[2] = {mean((double)step + 1), {.tokens = 0}};

	return loss_history_add(h, step, &all, domain);
}

static void
check(const struct loss_history *h)
{
	assert_true(h->n <= LOSS_HISTORY_POINTS);
	for (size_t i = 0; i < h->n; i++) {
		assert_true(i == 0 || h->step[i - 1] < h->step[i]);
		assert_true(fabs(h->all[i] - (double)h->step[i]) < 0.5);
		assert_true(fabs((double)h->domain[2 * i] - (double)h->step[i] - 1) < 0.5);
		assert_true(isnan(h->domain[2 * i + 1]));
	}
}

static void
test_points_come_in_any_order_and_once(void **unused)
{
	struct loss_history h;
	struct failure f;

	(void)unused;
	assert_int_equal(loss_history_open(&h, 2, &f), FAIL_NONE);
	assert_true(add(&h, 50));
	assert_true(add(&h, 10));
	assert_true(add(&h, 30));
	assert_true(add(&h, 70));
	assert_false(add(&h, 30));
	assert_int_equal(h.n, 4);
	check(&h);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(h.step[i], 10 + 20 * (int64_t)i);
	loss_history_close(&h);
}

static void
test_a_long_run_keeps_its_beginning_evenly_and_its_newest_step(void **unused)
{
	enum { STEPS = 1000000, EACH = 3 };
	struct loss_history h;
	struct failure f;
	int64_t widest = 0, last = 0;

	(void)unused;
	assert_int_equal(loss_history_open(&h, 2, &f), FAIL_NONE);
	for (int64_t s = 0; s < STEPS; s += EACH) {
		assert_true(add(&h, s));
		assert_int_equal(h.step[h.n - 1], s);
		last = s;
	}
	check(&h);
	assert_int_equal(h.step[0], 0);
	for (size_t i = 1; i < h.n; i++)
		widest = h.step[i] - h.step[i - 1] > widest ? h.step[i] - h.step[i - 1] : widest;
	assert_true(h.n >= LOSS_HISTORY_POINTS / 4);
	assert_true(widest <= 8 * last / LOSS_HISTORY_POINTS);
	loss_history_close(&h);
}

static void
test_the_past_comes_in_behind_what_is_new(void **unused)
{
	struct loss_history h;
	struct failure f;

	(void)unused;
	assert_int_equal(loss_history_open(&h, 2, &f), FAIL_NONE);
	for (int64_t s = 900000; s < 900000 + 2 * LOSS_HISTORY_POINTS; s++)
		add(&h, s);
	for (int64_t s = 0; s < 900000; s += 3000)
		add(&h, s);
	check(&h);
	assert_int_equal(h.step[0], 0);
	assert_int_equal(h.step[h.n - 1], 900000 + 2 * LOSS_HISTORY_POINTS - 1);
	for (size_t i = 1; i < h.n; i++)
		assert_true(h.step[i] - h.step[i - 1] <= 12000);
	loss_history_close(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_points_come_in_any_order_and_once),
	    cmocka_unit_test(test_a_long_run_keeps_its_beginning_evenly_and_its_newest_step),
	    cmocka_unit_test(test_the_past_comes_in_behind_what_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
