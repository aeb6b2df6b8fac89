#include "common/record/ledger.h"
#include "consumer/mixer/request_ids.h"
#include "tests/unit/test.h"

static void
test_the_newest_ids_are_known_and_the_oldest_goes_first(void **state)
{
	struct request_ids r = {0};
	struct failure f;
	char id[32];

	(void)state;
	assert_false(request_ids_has(&r, "id-0"));
	for (int i = 0; i < LEDGER_REQUEST_IDS_MAX + 2; i++) {
		snprintf(id, sizeof(id), "id-%d", i);
		assert_int_equal(request_ids_add(&r, id, &f), FAIL_NONE);
	}
	assert_int_equal(r.n, LEDGER_REQUEST_IDS_MAX);
	assert_false(request_ids_has(&r, "id-0"));
	assert_false(request_ids_has(&r, "id-1"));
	assert_true(request_ids_has(&r, "id-2"));
	assert_true(request_ids_has(&r, id));
	assert_string_equal(r.id[0], "id-2");
	request_ids_close(&r);
}

static void
test_a_copy_is_independent(void **state)
{
	struct request_ids r = {0}, copy = {0};
	struct failure f;

	(void)state;
	assert_int_equal(request_ids_add(&r, "a", &f), FAIL_NONE);
	assert_int_equal(request_ids_copy(&copy, &r, &f), FAIL_NONE);
	assert_int_equal(request_ids_add(&r, "b", &f), FAIL_NONE);
	request_ids_close(&r);
	assert_true(request_ids_has(&copy, "a"));
	assert_false(request_ids_has(&copy, "b"));
	request_ids_close(&copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_newest_ids_are_known_and_the_oldest_goes_first),
	    cmocka_unit_test(test_a_copy_is_independent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
