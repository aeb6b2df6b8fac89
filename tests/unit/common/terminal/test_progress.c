/* progress.h: the bar's text, and what it must not do: divide by 0, pass 100 %, wrap. */
#include "tests/unit/capture.h"
#include "tests/unit/pty.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/terminal/progress.h"

#include <string.h>

#define FULL  "########################"
#define HALF  "############------------"
#define EMPTY "------------------------"

enum { WIDE = 200 };

static const char *const rates[] = {"0.50 M tokens/s", "1234 docs"};

static const struct {
	const char *claim;
	struct progress p; /* began at 1000 ms */
	int64_t now_ms;
	const char *expected;
} cases[] = {
    {"nothing yet: no estimate, no division by 0", {.total = 1000000}, 1000,
	"code  [" EMPTY "]    0%  0.0 of 1.0 MB"},
    {"half in ten seconds: ten more", {.total = 2000000, .done = 1000000}, 11000,
	"code  [" HALF "]   50%  ETA 0:10  1.0 of 2.0 MB"},
    {"what a resume left out is done, but says nothing of the rate",
	{.total = 4000000, .skipped = 1000000, .done = 1000000}, 11000,
	"code  [" HALF "]   50%  ETA 0:20  2.0 of 4.0 MB"},
    {"minutes", {.total = 2000000000, .done = 1000000}, 2000,
	"code  [" EMPTY "]    0%  ETA 33:19  1.0 of 2000.0 MB"},
    {"almost done is not 100%", {.total = 1000000, .done = 999999}, 2000,
	"code  [#######################-]   99%  ETA 0:00  1.0 of 1.0 MB"},
    {"done", {.total = 1000000, .done = 1000000}, 2000,
	"code  [" FULL "]  100%  ETA 0:00  1.0 of 1.0 MB"},
    {"a file that grew meanwhile stays at 100%", {.total = 1000000, .done = 3000000}, 2000,
	"code  [" FULL "]  100%  ETA 0:00  1.0 of 1.0 MB"},
    {"a program: no bar, no estimate", {.done = 3000000}, 3000, "code  3.0 MB"},
    {"one byte of very many: no estimate, no overflow", {.total = UINT64_MAX, .done = 1}, INT64_MAX,
	"code  [" EMPTY "]    0%  0.0 of 18446744073709.6 MB"},
    {"a second less than 100 hours", {.unit = "steps", .total = 360000, .done = 1}, 2000,
	"code  [" EMPTY "]    0%  ETA 5999:59  1 of 360000 steps"},
    {"100 hours are not worth saying", {.unit = "steps", .total = 360001, .done = 1}, 2000,
	"code  [" EMPTY "]    0%  1 of 360001 steps"},
    {"only what was there before: no rate yet", {.unit = "steps", .total = 10, .skipped = 5}, 11000,
	"code  [" HALF "]   50%  5 of 10 steps"},
    {"a clock that stops", {.total = 1000000, .done = 500000}, 1000,
	"code  [" HALF "]   50%  ETA 0:00  0.5 of 1.0 MB"},
    {"steps", {.unit = "steps", .total = 10, .done = 5}, 11000,
	"code  [" HALF "]   50%  ETA 0:10  5 of 10 steps"},
    {"steps, nobody knows how many", {.unit = "steps", .done = 5}, 11000, "code  5 steps"},
};

static void
test_the_bar_says_what_is_done_and_when_the_rest_will_be(void **state)
{
	(void)state;
	EACH_NAMED_ROW(i, cases, claim) {
		struct progress p = cases[i].p;
		char line[PROGRESS_LINE_MAX];

		print_message("%s\n", cases[i].claim);
		p.what = "code";
		p.began_ms = 1000;
		progress_format(&p, cases[i].now_ms, WIDE, NULL, 0, line);
		assert_string_equal(line, cases[i].expected);
	}
}

static void
test_what_has_no_room_is_left_out_whole(void **state)
{
	static const struct {
		int columns;
		const char *line;
	} row[] = {
	    {93, "code  [" HALF "]   50%  ETA 0:10  12.3 of 24.6 MB  0.50 M tokens/s  1234 docs"},
	    {92, "code  [#####-----]   50%  ETA 0:10  12.3 of 24.6 MB  0.50 M tokens/s  1234 docs"},
	    {79, "code  [#####-----]   50%  ETA 0:10  12.3 of 24.6 MB  0.50 M tokens/s  1234 docs"},
	    {78, "code  [#####-----]   50%  ETA 0:10  12.3 of 24.6 MB  0.50 M tokens/s"},
	    {67, "code  [#####-----]   50%  ETA 0:10  0.50 M tokens/s"},
	    {50, "code   50%  ETA 0:10  0.50 M tokens/s"},
	    {36, "code   50%  ETA 0:10"},
	    {19, "code   50%"},
	    {9, "cod   50%"},
	    {7, "c   50%"},
	    {6, "   50%"},
	};
	struct progress p = {.what = "code", .total = 24600000, .done = 12300000, .began_ms = 1000};
	char line[PROGRESS_LINE_MAX];

	(void)state;
	EACH_NAMED_ROW(i, row, line) {
		progress_format(&p, 11000, row[i].columns, rates, 2, line);
		assert_string_equal(line, row[i].line);
	}
	for (int columns = 6; columns < WIDE; columns++) {
		progress_format(&p, 11000, columns, rates, 2, line);
		assert_true((int)strlen(line) <= columns);
	}
	p.total = 0;
	for (int columns = 9; columns < WIDE; columns++) {
		progress_format(&p, 11000, columns, rates, 2, line);
		assert_true((int)strlen(line) <= columns);
		assert_non_null(strstr(line, "  12.3 MB"));
	}
}

static void
test_a_long_name_leaves_room_for_the_percentage(void **state)
{
	struct progress p = {.total = 2, .done = 1};
	char line[PROGRESS_LINE_MAX], name[400];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p.what = name;
	progress_format(&p, 5000, 79, rates, 2, line);
	assert_int_equal(strlen(line), 79);
	assert_non_null(strstr(line, "nnn   50%"));
}

static void
test_nothing_is_shown_before_it_is_time(void **state)
{
	struct progress p;
	int64_t shown_ms;

	(void)state;
	progress_begin(&p, "code", PROGRESS_BYTES, 1000, 10);
	assert_int_equal(p.total, 1000);
	assert_int_equal(p.skipped, 10);
	assert_int_equal(p.done, 0);
	shown_ms = p.shown_ms;
	assert_false(progress_due(&p));
	assert_int_equal(p.shown_ms, shown_ms);
	p.shown_ms -= PROGRESS_LOG_MS;
	assert_true(progress_due(&p));
	assert_true(p.shown_ms >= shown_ms);
}

static void
test_the_log_is_due_after_ten_seconds_and_a_terminal_at_once(void **state)
{
	struct progress log, bar, json;
	char text[1024];
	struct pty t;
	bool due[3];

	(void)state;
	progress_begin(&log, "code", "steps", 10, 0);
	assert_false(log.terminal);
	assert_int_equal(log.shown_ms, log.began_ms);
	log.shown_ms = clock_ms() - PROGRESS_LOG_MS / 2;
	assert_false(progress_due(&log));
	pty_begin(&t, 63); /* a long bar would fill it; the last column stays free */
	progress_begin(&bar, "code", "steps", 10, 0);
	due[0] = progress_due(&bar);
	bar.shown_ms =
	    clock_ms() + PROGRESS_BAR_MS; /* as if it was just now, however slow this is */
	due[1] = progress_due(&bar);
	bar.done = 5;
	progress_draw(&bar, NULL, 0);
	progress_end(&bar);
	log_set_form(LOG_JSON);
	progress_begin(&json, "code", "steps", 10, 0);
	due[2] = progress_due(&json);
	log_set_form(LOG_LOGFMT);
	pty_end(&t, text, sizeof(text));
	assert_true(bar.terminal);
	assert_true(due[0]);
	assert_false(due[1]);
	assert_false(json.terminal);
	assert_false(due[2]);
	assert_memory_equal(text, "\r\033[Kcode  [#####-----]   50%", 28);
	assert_non_null(strstr(text, "\r\033[K\r\n"));
}

/* Without a terminal: a line in the log for each ten seconds, and nothing else. */
static void
test_a_log_gets_lines_in_place_of_a_bar(void **state)
{
	static const struct {
		const char *unit;
		const char *line;
	} rows[] = {
	    {PROGRESS_BYTES, " info code: bytes=17 of=100 seconds="},
	    {"steps", " info code: steps=17 of=100 seconds="},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct progress p;
		struct capture log;
		char text[1024];

		capture_begin(&log);
		progress_begin(&p, "code", rows[i].unit, 100, 7);
		p.done = 10;
		progress_show(&p); /* it is not due yet */
		p.shown_ms -= PROGRESS_LOG_MS;
		progress_show(&p);
		progress_show(&p); /* it was shown just now */
		progress_draw(&p, NULL, 0);
		progress_end(&p);
		assert_int_equal(capture_end_lines(&log, text, sizeof(text)), 1);
		assert_memory_equal(strchr(text, ' '), rows[i].line, strlen(rows[i].line));
	}
}

static void
test_no_time_at_all_is_a_millisecond(void **state)
{
	const struct progress p = {.began_ms = 1000};

	(void)state;
	assert_true(progress_seconds(&p, 999) == 0.001);
	assert_true(progress_seconds(&p, 1000) == 0.001);
	assert_true(progress_seconds(&p, 1500) == 0.5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_bar_says_what_is_done_and_when_the_rest_will_be),
	    cmocka_unit_test(test_what_has_no_room_is_left_out_whole),
	    cmocka_unit_test(test_a_long_name_leaves_room_for_the_percentage),
	    cmocka_unit_test(test_nothing_is_shown_before_it_is_time),
	    cmocka_unit_test(test_the_log_is_due_after_ten_seconds_and_a_terminal_at_once),
	    cmocka_unit_test(test_a_log_gets_lines_in_place_of_a_bar),
	    cmocka_unit_test(test_no_time_at_all_is_a_millisecond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
