#include "common/base/text.h"

#include "tests/unit/test.h"

static void
test_a_text_ends_with_its_last_bytes_with_nothing_and_with_itself(void **unused)
{
	static const struct {
		const char *text, *end;
		bool ends;
	} rows[] = {
	    {"a.gz", ".gz", true},
	    {".gz", ".gz", true},
	    {"gz", ".gz", false},
	    {"a.gz.txt", ".gz", false},
	    {"a.GZ", ".gz", false},
	    {"", ".gz", false},
	    {"a.gz", "", true},
	    {"", "", true},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text)
		assert_int_equal(text_ends_with(rows[i].text, rows[i].end), rows[i].ends);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_text_ends_with_its_last_bytes_with_nothing_and_with_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
