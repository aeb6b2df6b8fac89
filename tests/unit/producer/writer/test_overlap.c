/* overlap.h: which records of one ordinal differ, at any offsets. */
#include "tests/unit/test.h"

#include "producer/writer/overlap.h"

static void
test_equal_records_of_an_ordinal_are_duplicates(void **state)
{
	struct overlap_record r[] = {{4, 44, 0}, {5, 55, 1}, {4, 44, 2}, {5, 55, 3}, {4, 44, 4}};

	(void)state;
	assert_int_equal(overlap_sort(r, 5), 0);
	assert_int_equal(overlap_sort(r, 1), 0);
	assert_int_equal(overlap_sort(NULL, 0), 0);
}

static void
test_the_first_ordinal_with_two_contents_is_found_with_both_places(void **state)
{
	struct overlap_record r[] = {
	    {7, 70, 10}, {6, 60, 11}, {5, 50, 12}, {5, 50, 13}, {6, 61, 14}, {7, 71, 15}};
	size_t at;

	(void)state;
	at = overlap_sort(r, 6);
	assert_true(at > 0);
	assert_int_equal(r[at].ordinal, 6);
	assert_int_equal(r[at - 1].offset, 11);
	assert_int_equal(r[at].offset, 14);
}

static void
test_ordinals_that_do_not_meet_may_have_any_contents(void **state)
{
	struct overlap_record r[] = {{1, 9, 3}, {3, 9, 4}, {2, 8, 5}};

	(void)state;
	assert_int_equal(overlap_sort(r, 3), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equal_records_of_an_ordinal_are_duplicates),
	    cmocka_unit_test(test_the_first_ordinal_with_two_contents_is_found_with_both_places),
	    cmocka_unit_test(test_ordinals_that_do_not_meet_may_have_any_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
