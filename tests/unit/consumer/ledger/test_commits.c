#include "consumer/ledger/commits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
test_a_step_survives_its_text(void **unused)
{
	static const uint64_t steps[] = {
	    0, 1, 9, 10, 100000, UINT64_C(1) << 53, COMMITS_STEP_MAX - 1};

	(void)unused;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char text[COMMITS_TEXT_MAX];
		uint64_t step = 77;
		struct failure f;

		commits_format(text, steps[i]);
		assert_int_equal(commits_parse(&step, text, &f), FAIL_NONE);
		assert_true(step == steps[i]);
	}
}

static void
test_a_text_that_is_not_a_step_is_refused(void **unused)
{
	static const char *const texts[] = {NULL, "", "step", "step=", "step= 1", "step=1 ",
	    "step=+1", "step=-1", "step=01", "step=00", "step=1x", "step=0x10", "Step=1", " step=1",
	    "1", "step=4611686018427387904", "step=18446744073709551616",
	    "step=99999999999999999999999999", "step=1\n", "step=1.0"};

	(void)unused;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t step = 77;
		struct failure f = {0};

		assert_int_equal(commits_parse(&step, texts[i], &f), FAIL_DATA);
		assert_non_null(strstr(f.text, "not step=N"));
		assert_int_equal(step, 77);
	}
	{
		uint64_t step;
		struct failure f;

		assert_int_equal(commits_parse(&step, "step=4611686018427387903", &f), FAIL_NONE);
		assert_true(step == COMMITS_STEP_MAX - 1);
	}
}

static void
test_the_lowest_lane_is_where_the_run_stands(void **unused)
{
	static const struct {
		int64_t offset[4];
		const char *text[4];
		bool any, all;
		uint64_t step, ahead;
		size_t lane;
	} rows[] = {
	    {{-1, -1, -1, -1}, {NULL}, false, false, 0, 0, 0},
	    {{5, 6, 7, 8}, {"step=3", "step=3", "step=3", "step=3"}, true, true, 3, 3, 0},
	    {{5, 6, 7, 8}, {"step=9", "step=7", "step=7", "step=12"}, true, true, 7, 12, 1},
	    {{5, 6, -1, 8}, {"step=9", "step=7", NULL, "step=12"}, true, false, 0, 12, 2},
	    {{0, 0, 0, 0}, {"step=0", "step=0", "step=0", "step=0"}, true, true, 0, 0, 0},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct commits_position p;
		struct failure f;
		uint64_t step[4];
		char *text[4];

		for (size_t k = 0; k < 4; k++)
			text[k] = (char *)(uintptr_t)rows[i].text[k];
		assert_int_equal(commits_lowest(&p, step, rows[i].offset, text, 4, &f), FAIL_NONE);
		assert_int_equal(p.any, rows[i].any);
		assert_int_equal(p.all, rows[i].all);
		assert_int_equal(p.step, rows[i].step);
		assert_int_equal(p.step_ahead, rows[i].ahead);
		assert_int_equal(p.lane, rows[i].lane);
	}
}

static void
test_a_lane_with_another_metadata_is_named(void **unused)
{
	static const int64_t offset[] = {5, 6};
	char good[] = "step=3", bad[] = "by hand";
	char *text[] = {good, bad};
	struct commits_position p;
	struct failure f = {0};
	uint64_t step[2];

	(void)unused;
	assert_int_equal(commits_lowest(&p, step, offset, text, 2, &f), FAIL_DATA);
	assert_string_equal(f.text, "lane 1: the commit's metadata is \"by hand\", not step=N");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_step_survives_its_text),
	    cmocka_unit_test(test_a_text_that_is_not_a_step_is_refused),
	    cmocka_unit_test(test_the_lowest_lane_is_where_the_run_stands),
	    cmocka_unit_test(test_a_lane_with_another_metadata_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
