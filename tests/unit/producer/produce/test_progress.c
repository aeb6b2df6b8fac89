/* progress.h: the bar's text, on both sides of what it must not do: divide by 0, pass 100 %. */
#include "tests/unit/test.h"

#include "producer/produce/progress.h"

#include <string.h>

#define FULL  "########################"
#define HALF  "############------------"
#define EMPTY "------------------------"

static const struct {
	const char *claim;
	struct progress p; /* began at 1000 ms */
	int64_t now_ms;
	const char *expected;
} cases[] = {
    {"nothing yet: no estimate, no division by 0", {.bytes_total = 1000000}, 1000,
	"code  [" EMPTY "]    0%  0.0 of 1.0 MB  0.00 M tokens/s  0 docs"},
    {"half in ten seconds: ten more",
	{.bytes_total = 2000000, .bytes = 1000000, .tokens = 5000000, .documents = 12}, 11000,
	"code  [" HALF "]   50%  ETA 0:10  1.0 of 2.0 MB  0.50 M tokens/s  12 docs"},
    {"what a resume left out is done, but says nothing of the rate",
	{.bytes_total = 4000000, .bytes_skipped = 1000000, .bytes = 1000000}, 11000,
	"code  [" HALF "]   50%  ETA 0:20  2.0 of 4.0 MB  0.00 M tokens/s  0 docs"},
    {"minutes", {.bytes_total = 2000000000, .bytes = 1000000}, 2000,
	"code  [" EMPTY "]    0%  ETA 33:19  1.0 of 2000.0 MB  0.00 M tokens/s  0 docs"},
    {"almost done is not 100%", {.bytes_total = 1000000, .bytes = 999999}, 2000,
	"code  [#######################-]   99%  ETA 0:00  1.0 of 1.0 MB  0.00 M tokens/s  0 "
	"docs"},
    {"done", {.bytes_total = 1000000, .bytes = 1000000}, 2000,
	"code  [" FULL "]  100%  ETA 0:00  1.0 of 1.0 MB  0.00 M tokens/s  0 docs"},
    {"a file that grew meanwhile stays at 100%", {.bytes_total = 1000000, .bytes = 3000000}, 2000,
	"code  [" FULL "]  100%  ETA 0:00  1.0 of 1.0 MB  0.00 M tokens/s  0 docs"},
    {"a program: no bar, no estimate", {.bytes = 3000000, .tokens = 2000000, .documents = 3}, 3000,
	"code  3.0 MB  1.00 M tokens/s  3 docs"},
    {"one byte of very many: no estimate, no overflow", {.bytes_total = UINT64_MAX, .bytes = 1},
	INT64_MAX, "code  [" EMPTY "]    0%  0.0 of 18446744073709.6 MB  0.00 M tokens/s  0 docs"},
    {"a clock that stands still", {.bytes_total = 1000000, .bytes = 500000, .tokens = 1000}, 1000,
	"code  [" HALF "]   50%  ETA 0:00  0.5 of 1.0 MB  1.00 M tokens/s  0 docs"},
};

static void
test_the_bar_says_what_is_done_and_when_the_rest_will_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct progress p = cases[i].p;
		char line[PROGRESS_LINE_MAX];

		print_message("%s\n", cases[i].claim);
		p.what = "code";
		p.began_ms = 1000;
		progress_format(&p, cases[i].now_ms, line);
		assert_string_equal(line, cases[i].expected);
	}
}

static void
test_a_long_name_leaves_room_for_the_numbers(void **state)
{
	struct progress p = {.bytes_total = 2, .bytes = 1, .documents = UINT64_MAX};
	char line[PROGRESS_LINE_MAX], name[400];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p.what = name;
	progress_format(&p, 5000, line);
	assert_non_null(strstr(line, "[" HALF "]   50%"));
	assert_non_null(strstr(line, "18446744073709551615 docs"));
}

static void
test_nothing_is_shown_before_it_is_time(void **state)
{
	struct progress p;
	int64_t shown_ms;

	(void)state;
	progress_begin(&p, "code", 1000, 10);
	assert_int_equal(p.bytes_total, 1000);
	assert_int_equal(p.bytes_skipped, 10);
	assert_int_equal(p.bytes, 0);
	shown_ms = p.shown_ms;
	progress_show(&p);
	assert_int_equal(p.shown_ms, shown_ms);
	p.shown_ms -= PROGRESS_LOG_MS;
	progress_show(&p);
	assert_true(p.shown_ms >= shown_ms);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_bar_says_what_is_done_and_when_the_rest_will_be),
	    cmocka_unit_test(test_a_long_name_leaves_room_for_the_numbers),
	    cmocka_unit_test(test_nothing_is_shown_before_it_is_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
