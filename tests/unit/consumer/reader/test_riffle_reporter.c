#include "consumer/reader/riffle_internal.h"

#include "tests/unit/test.h"

static void
test_losses_are_sorted_and_those_without_tokens_are_left_out(void **unused)
{
	static const struct riffle_loss loss[] = {
	    {"web", 1.5, 0.5, 10}, {"empty", 9, 9, 0}, {"code", 2.5, 0, 20}};
	struct feedback b = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(riffle_gather_losses(&b, loss, 3, &f), FAIL_NONE);
	assert_int_equal(b.losses_n, 2);
	assert_string_equal(b.loss[0].domain, "code");
	assert_int_equal(b.loss[0].tokens, 20);
	assert_string_equal(b.loss[1].domain, "web");
	assert_true(b.loss[1].loss_sum == 1.5 && b.loss[1].excess_sum == 0.5);
	free(b.loss);
}

static void
test_no_losses_are_a_report_too(void **unused)
{
	struct feedback b = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(riffle_gather_losses(&b, NULL, 0, &f), FAIL_NONE);
	assert_int_equal(b.losses_n, 0);
	free(b.loss);
}

static void
test_what_is_wrong_with_losses_is_named(void **unused)
{
	static const struct {
		struct riffle_loss loss[2];
		const char *text;
	} rows[] = {
	    {{{"web", 1, 0, 1}, {NULL, 1, 0, 1}}, "\"\" is not a name of a domain"},
	    {{{"web", 1, 0, 1}, {"a b", 1, 0, 0}}, "\"a b\" is not a name of a domain"},
	    {{{"web", 1, 0, -1}, {"code", 1, 0, 1}}, "domain web: -1 tokens, must be at least 0"},
	    {{{"web", 1, 0, 1}, {"web", 1, 0, 2}}, "domain web twice"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct feedback b = {0};
		struct failure f = {0};

		assert_int_equal(riffle_gather_losses(&b, rows[i].loss, 2, &f), FAIL_USAGE);
		assert_string_equal(f.text, rows[i].text);
		free(b.loss);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_losses_are_sorted_and_those_without_tokens_are_left_out),
	    cmocka_unit_test(test_no_losses_are_a_report_too),
	    cmocka_unit_test(test_what_is_wrong_with_losses_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
