/* output.h: how old transactions become. What they hold is tested with a broker. */
#include "consumer/publish/output.h"
#include "tests/unit/test.h"

static void
test_transactions_become_older_while_they_are_full_and_begin_again_after_a_wait(void **unused)
{
	const struct config_mix mix = {.transaction_first_ms = 200, .transaction_ms = 900};

	(void)unused;
	assert_int_equal(output_age_next(&mix, 200, true), 400);
	assert_int_equal(output_age_next(&mix, 400, true), 800);
	assert_int_equal(output_age_next(&mix, 800, true), 900);
	assert_int_equal(output_age_next(&mix, 900, true), 900);
	assert_int_equal(output_age_next(&mix, 900, false), 200);
	assert_int_equal(output_age_next(&mix, 200, false), 200);
}

static void
test_an_age_that_is_given_stays(void **unused)
{
	const struct config_mix mix = {.transaction_first_ms = 50, .transaction_ms = 50};

	(void)unused;
	assert_int_equal(output_age_next(&mix, 50, true), 50);
	assert_int_equal(output_age_next(&mix, 50, false), 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_transactions_become_older_while_they_are_full_and_begin_again_after_a_wait),
	    cmocka_unit_test(test_an_age_that_is_given_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
