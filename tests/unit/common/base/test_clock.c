/* clock.h: spans of time for people. */
#include "tests/unit/test.h"

#include "common/base/clock.h"

static void
test_a_span_has_two_units_at_most(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} row[] = {
	    {INT64_MIN, "0.0 s"},
	    {-5, "0.0 s"},
	    {0, "0.0 s"},
	    {399, "0.3 s"},
	    {9999, "9.9 s"},
	    {10000, "10 s"},
	    {59999, "59 s"},
	    {60000, "1 min 0 s"},
	    {456500, "7 min 36 s"},
	    {3599999, "59 min 59 s"},
	    {3600000, "1 h 0 min"},
	    {86399999, "23 h 59 min"},
	    {86400000, "1 d 0 h"},
	    {INT64_C(1051200000), "12 d 4 h"},
	    {INT64_MAX, "106751991167 d 7 h"},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, text) {
		char text[CLOCK_SPAN_BYTES];

		assert_string_equal(clock_span(text, row[i].ms), row[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_span_has_two_units_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
