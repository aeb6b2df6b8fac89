/* offsets.h: all cases, and both sides of each limit. */
#include "common/kafka/offsets.h"

#include "tests/unit/test.h"

static void
test_a_log_without_records_was_emptied_if_its_first_offset_is_gone(void **unused)
{
	static const struct {
		int64_t low, high;
		bool emptied;
	} row[] = {
	    {0, 0, false},
	    {0, 1, false},
	    {0, 3, false},
	    {1, 1, true},
	    {7, 7, true},
	    {7, 8, true},
	    {7, 9, true},
	    {1, INT64_MAX, true},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(offsets_emptied(row[i].low, row[i].high), row[i].emptied);
}

static void
test_a_look_back_ends_at_the_first_offset(void **unused)
{
	static const struct {
		int64_t low, end, distance, expected;
	} row[] = {
	    {0, 10, 2, 8},
	    {0, 10, 9, 1},
	    {0, 10, 10, 0},
	    {0, 10, 11, 0},
	    {7, 10, 2, 8},
	    {7, 10, 3, 7},
	    {7, 10, 4, 7},
	    {10, 10, 1, 10},
	    {0, INT64_MAX, INT64_MAX, 0},
	    {5, 6, INT64_MAX, 5},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(
		    offsets_before(row[i].low, row[i].end, row[i].distance), row[i].expected);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_log_without_records_was_emptied_if_its_first_offset_is_gone),
	    cmocka_unit_test(test_a_look_back_ends_at_the_first_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
