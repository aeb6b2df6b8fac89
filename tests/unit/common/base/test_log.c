/* log.h, riffle_set_log(): lines go to stderr, or to where the caller wants them. */
#include "common/base/log.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "consumer/reader/riffle.h"
#include "tests/unit/capture.h"

struct seen {
	int n, level;
	char line[256];
};

static void
note(void *opaque, enum riffle_log_level level, const char *line)
{
	struct seen *s = opaque;

	s->n++;
	s->level = (int)level;
	snprintf(s->line, sizeof(s->line), "%s", line);
}

static void
lines_go_where_the_caller_wants_them(void **state)
{
	struct seen seen = {0};
	char text[1024];
	struct capture c;

	(void)state;
	capture_begin(&c);
	riffle_set_log(RIFFLE_LOG_WARNING, note, &seen);
	log_warning("mix: MIX-TEST lane=%d", 3);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.level, RIFFLE_LOG_WARNING);
	assert_string_equal(seen.line, "mix: MIX-TEST lane=3");
	log_info("not wanted");
	assert_int_equal(seen.n, 1);
	riffle_set_log(RIFFLE_LOG_INFO, note, &seen);
	log_info("wanted");
	assert_int_equal(seen.n, 2);
	riffle_set_log(RIFFLE_LOG_INFO, NULL, NULL);
	log_info("to stderr again");
	assert_int_equal(seen.n, 2);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "Z info to stderr again"));
}

/* A file's name may have any byte but / and NUL. */
static void
a_name_cannot_begin_a_line_nor_set_the_terminal(void **state)
{
	struct capture c;
	char text[1024];

	(void)state;
	capture_begin(&c);
	log_warning("config: path=%s is not read", "a\nb\r\033[31m\177\tc \u00fc");
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
	assert_non_null(
	    strstr(text, "Z warning config: path=a\\nb\\r\\x1b[31m\\x7f\\tc \u00fc is not read\n"));
}

/* ---- JSON ---- */

static const char *
json(enum log_level level, const char *text)
{
	static char line[LOG_JSON_MAX + 1];
	size_t n = log_json(line, INT64_C(1769854830042), level, text);

	assert_true(n > 0 && n < LOG_JSON_MAX && line[n - 1] == '\n');
	line[n - 1] = '\0';
	return line;
}

/* With the time and the level of each case in front. */
#define HEAD "{\"time\":\"2026-01-31T10:20:30.042Z\",\"level\":\"warning\","

static void
a_line_is_taken_apart(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
	    {"mix: MIX-LEAD waiting for run=a at step=5: step=70 is max_lead_steps=64 ahead of it",
		"\"module\":\"mix\",\"id\":\"MIX-LEAD\",\"message\":\"waiting for run=a at "
		"step=5: step=70 is max_lead_steps=64 ahead of it\",\"fields\":{\"run\":\"a\","
		"\"step\":5,\"max_lead_steps\":64}}"},
	    {"mix: standby mix=p: its ledger is empty yet",
		"\"module\":\"mix\",\"message\":\"standby mix=p: its ledger is empty yet\","
		"\"fields\":{\"mix\":\"p\"}}"},
	    {"kafka: KAFKA-FAIL client=riffle-mix host:9092/1: refused (after 3ms)",
		"\"module\":\"kafka\",\"id\":\"KAFKA-FAIL\",\"message\":\"client=riffle-mix "
		"host:9092/1: refused (after 3ms)\",\"fields\":{\"client\":\"riffle-mix\"}}"},
	    {"", "\"module\":\"riffle\",\"message\":\"\"}"},
	    {"no module", "\"module\":\"riffle\",\"message\":\"no module\"}"},
	    {"Not: one", "\"module\":\"riffle\",\"message\":\"Not: one\"}"},
	    {"a:b", "\"module\":\"riffle\",\"message\":\"a:b\"}"},
	    {"mix: ", "\"module\":\"mix\",\"message\":\"\"}"},
	    /* what is no id */
	    {"x: UTF-8 is wanted", "\"module\":\"x\",\"message\":\"UTF-8 is wanted\"}"},
	    {"x: START a", "\"module\":\"x\",\"message\":\"START a\"}"},
	    {"x: A- b", "\"module\":\"x\",\"message\":\"A- b\"}"},
	    {"x: A-Bc d", "\"module\":\"x\",\"message\":\"A-Bc d\"}"},
	    {"x: A-B", "\"module\":\"x\",\"id\":\"A-B\",\"message\":\"\"}"},
	    {"MIX-LEAD x", "\"module\":\"riffle\",\"message\":\"MIX-LEAD x\"}"},
	    /* values */
	    {"x: a=1 b=-2.50 c=007 d=1e5 e= f=. g=1. h=0 i=-",
		"\"module\":\"x\",\"message\":\"a=1 b=-2.50 c=007 d=1e5 e= f=. g=1. h=0 i=-\","
		"\"fields\":{\"a\":1,\"b\":-2.50,\"c\":\"007\",\"d\":\"1e5\",\"e\":\"\","
		"\"f\":\"\",\"g\":1,\"h\":0,\"i\":\"-\"}}"},
	    {"x: a=123456789012345 b=1234567890123456 c=1234567890.12345 d=1234567890.123456",
		"\"module\":\"x\",\"message\":\"a=123456789012345 b=1234567890123456 "
		"c=1234567890.12345 d=1234567890.123456\",\"fields\":{\"a\":123456789012345,"
		"\"b\":\"1234567890123456\",\"c\":1234567890.12345,"
		"\"d\":\"1234567890.123456\"}}"},
	    {"x: (a=1, b=2); c=nan B=3 9=4 =5 d==6",
		"\"module\":\"x\",\"message\":\"(a=1, b=2); c=nan B=3 9=4 =5 d==6\","
		"\"fields\":{\"a\":1,\"b\":2,\"c\":\"nan\",\"d\":\"=6\"}}"},
	    {"mix: request id=1 refused why=\"no \"d\" there\"",
		"\"module\":\"mix\",\"message\":\"request id=1 refused why=\\\"no \\\"d\\\" "
		"there\\\"\",\"fields\":{\"id\":1,\"why\":\"no \\\"d\\\" there\"}}"},
	    {"x: a=\"b c\" d=\"e\" f g=\"open",
		"\"module\":\"x\",\"message\":\"a=\\\"b c\\\" d=\\\"e\\\" f g=\\\"open\","
		"\"fields\":{\"a\":\"b c\",\"d\":\"e\",\"g\":\"\\\"open\"}}"},
	    /* bytes */
	    {"x: a=\\ \t\n\001\177 b=\"\r\"",
		"\"module\":\"x\",\"message\":\"a=\\\\ \\t\\n\\u0001\\u007f "
		"b=\\\"\\r\\\"\",\"fields\":{\"a\":\"\\\\\",\"b\":\"\\r\"}}"},
	    {"x: a=\xc2\x9b\xe2\x80\xae",
		"\"module\":\"x\",\"message\":\"a=\\u009b\\u202e\",\"fields\":{"
		"\"a\":\"\\u009b\\u202e\"}}"},
	    /* what text_value() has escaped */
	    {"x: a=\"n\\x1b[31m\\nb c=1\\\" d=\\\"\\\\\\u202e\\xff\" e=\"7\"",
		"\"module\":\"x\",\"message\":\"a=\\\"n\\\\x1b[31m\\\\nb c=1\\\\\\\" "
		"d=\\\\\\\"\\\\\\\\\\\\u202e\\\\xff\\\" "
		"e=\\\"7\\\"\",\"fields\":{\"a\":\"n\\u001b[31m"
		"\\nb c=1\\\" d=\\\"\\\\\\u202e\xef\xbf\xbd\",\"e\":\"7\"}}"},
	    /* a backslash between quotes that begins no such escape */
	    {"x: a=\"c:\\d \\x4\"", "\"module\":\"x\",\"message\":\"a=\\\"c:\\\\d \\\\x4\\\"\","
				    "\"fields\":{\"a\":\"c:\\\\d \\\\x4\"}}"},
	    {"x: \xc3\xa4 a=\xff\xe2\x82 \xed\xa0\x80",
		"\"module\":\"x\",\"message\":\"\xc3\xa4 a=\xef\xbf\xbd\xef\xbf\xbd "
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"fields\":{"
		"\"a\":\"\xef\xbf\xbd\xef\xbf\xbd\"}}"},
	};

	(void)state;
	EACH_NAMED_ROW(i, cases, text) {
		const char *line = json(LOG_WARNING, cases[i].text);

		assert_memory_equal(line, HEAD, strlen(HEAD));
		assert_string_equal(line + strlen(HEAD), cases[i].expected);
	}
	assert_non_null(strstr(json(LOG_ERROR, ""), "\"level\":\"error\""));
	assert_non_null(strstr(json(LOG_INFO, ""), "\"level\":\"info\""));
	assert_non_null(strstr(json(LOG_DEBUG, ""), "\"level\":\"debug\""));
}

/* One object a line, whatever is in the text; jansson reads it strictly. */
static json_t *
parsed(const char *text)
{
	const char *line = json(LOG_INFO, text);
	json_error_t e;
	json_t *value = json_loads(line, JSON_REJECT_DUPLICATES, &e);

	assert_null(strchr(line, '\n'));
	assert_non_null(value);
	return value;
}

static void
the_longest_lines_have_room(void **state)
{
	static const char fill[] = {'\001', '"', 'a', '\xff', '='};
	char text[LOG_LINE_MAX + 100];
	json_t *value;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(fill); i++) {
		memset(text, fill[i], sizeof(text));
		memcpy(text, "x: a=", 5);
		text[sizeof(text) - 1] = '\0';
		json_decref(parsed(text));
	}
	for (int i = 0; n + 16 < LOG_LINE_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "k%d=\001 ", i);
	value = parsed(text);
	assert_int_equal(json_object_size(json_object_get(value, "fields")), LOG_FIELDS_MAX);
	json_decref(value);
}

static void
any_bytes_make_an_object(void **state)
{
	static const char alphabet[] =
	    "ab=\" \n\\A-B.:1,()\x80\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\001";
	char text[200];

	(void)state;
	srandom(7);
	for (int round = 0; round < 20000; round++) {
		size_t n = (size_t)random() % sizeof(text);

		for (size_t i = 0; i < n; i++)
			text[i] = alphabet[(size_t)random() % (sizeof(alphabet) - 1)];
		text[n == 0 ? 0 : n - 1] = '\0';
		json_decref(parsed(text));
	}
}

static void
stderr_has_json_where_it_is_wanted(void **state)
{
	char text[2048];
	struct capture c;
	json_t *value;

	(void)state;
	capture_begin(&c);
	log_set_form(LOG_JSON);
	log_set_colours(true);
	log_warning("mix: MIX-TEST lane=%d", 3);
	log_debug("not wanted");
	log_set_colours(false);
	assert_int_equal(log_form(), LOG_JSON);
	log_set_form(LOG_LOGFMT);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
	value = json_loads(text, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(value, "id")), "MIX-TEST");
	json_decref(value);
	capture_begin(&c);
	log_set_level(LOG_ERROR);
	log_plain(LOG_INFO, "read: steps=%d", 3);
	log_set_form(LOG_JSON);
	log_plain(LOG_INFO, "read: steps=%d", 3);
	log_set_form(LOG_LOGFMT);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 2);
	assert_memory_equal(text, "read: steps=3\n{\"time\":", 22);
	assert_non_null(strstr(text, "\"level\":\"info\",\"module\":\"read\""));
}

static void
test_a_line_is_due_after_the_first_time_and_then_every_minute(void **state)
{
	static const struct {
		int64_t now_ms;
		bool due;
	} rows[] = {{5000, false}, {14999, false}, {15000, true}, {15001, false}, {74999, false},
	    {75000, true}, {200000, true}, {259999, false}, {260000, true}};
	struct log_reminder r = {0}, at_once = {0};

	(void)state;
	EACH_ROW(i, rows)
		assert_int_equal(log_reminder_due(&r, rows[i].now_ms, 10000), rows[i].due);
	assert_true(log_reminder_due(&at_once, -7, 0));
	assert_false(log_reminder_due(&at_once, LOG_REMINDER_MS - 8, 0));
	assert_true(log_reminder_due(&at_once, LOG_REMINDER_MS - 7, 0));
}

static void
a_plain_text_keeps_its_lines_and_its_end_but_no_control(void **state)
{
	struct capture c;
	char text[3 * LOG_LINE_MAX], given[LOG_LINE_MAX + 100];

	(void)state;
	memset(given, 'a', sizeof(given));
	memcpy(given, "one\ntwo\033", 8);
	memcpy(given + sizeof(given) - 4, "end", 4);
	capture_begin(&c);
	log_plain(LOG_INFO, "%s", given);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 2);
	assert_memory_equal(text, "one\ntwo\\x1ba", 12);
	assert_string_equal(text + strlen(text) - 5, "aend\n");
}

/* ---- what every line gets ---- */

/* The text with its first letter as a capital. */
static void
capitalize(char *out, size_t room, const char *text)
{
	snprintf(out, room, "%s", text);
	if (out[0] >= 'a' && out[0] <= 'z')
		out[0] = (char)(out[0] - 'a' + 'A');
}

static void
assert_last_line(struct capture *c, const char *end)
{
	char text[3 * LOG_LINE_MAX];
	size_t n, end_n = strlen(end);

	capture_end_lines(c, text, sizeof(text));
	n = strlen(text);
	assert_true(n >= end_n);
	assert_string_equal(text + n - end_n, end);
}

/* Both forms name the moment of the line, JSON to the millisecond. */
static void
a_line_has_the_time_at_which_it_was_logged(void **state)
{
	static const struct {
		enum log_form form;
		size_t from, n; /* of the time in a line */
	} rows[] = {
	    {LOG_JSON, sizeof("{\"time\":\"") - 1, sizeof("2026-01-31T10:20:30.000") - 1},
	    {LOG_LOGFMT, 0, sizeof("2026-01-31T10:20:30") - 1},
	};

	(void)state;
	EACH_ROW(i, rows) {
		char before[LOG_JSON_MAX], after[LOG_JSON_MAX], text[1024];
		const char *time = text + rows[i].from, *prefix = "{\"time\":\"";
		struct capture c;

		/* time() lags by up to one tick. */
		log_json(before, clock_wall_ms() - 20, LOG_INFO, "");
		capture_begin(&c);
		log_set_form(rows[i].form);
		log_info("x");
		log_set_form(LOG_LOGFMT);
		capture_end_lines(&c, text, sizeof(text));
		log_json(after, clock_wall_ms(), LOG_INFO, "");
		assert_true(memcmp(before + strlen(prefix), time, rows[i].n) <= 0);
		assert_true(memcmp(after + strlen(prefix), time, rows[i].n) >= 0);
	}
}

static void
a_line_has_the_tail_at_its_end_and_once(void **state)
{
	static const struct {
		const char *text, *line;
	} rows[] = {
	    {"x: a", "info x: a mix=m\n"},
	    {"x: a mix=m b", "info x: a mix=m b\n"},
	    {"x: a mix=", "info x: a mix= mix=m\n"},
	};
	char text[LOG_LINE_MAX + 100];
	struct capture c;

	(void)state;
	log_set_tail("mix=m");
	EACH_ROW(i, rows) {
		capture_begin(&c);
		log_info("%s", rows[i].text);
		assert_last_line(&c, rows[i].line);
	}
	capture_begin(&c);
	log_set_form(LOG_JSON);
	log_info("x: a");
	log_set_form(LOG_LOGFMT);
	assert_last_line(&c, "\"message\":\"a mix=m\",\"fields\":{\"mix\":\"m\"}}\n");
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	capture_begin(&c);
	log_info("%s", text);
	assert_last_line(&c, "aaa mix=m\n");
	log_set_tail("");
	capture_begin(&c);
	log_info("x: a");
	assert_last_line(&c, "info x: a\n");
}

/* Of the longest line the tail takes the last bytes, and no more. */
static void
the_longest_line_with_a_tail_has_all_its_room(void **state)
{
	(void)state;
	for (int n = LOG_LINE_MAX - 10; n < LOG_LINE_MAX + 2; n++) {
		char text[3 * LOG_LINE_MAX], *line;
		struct capture c;
		int most = LOG_LINE_MAX - 1 - (int)strlen(" mix=m");

		log_set_tail("mix=m");
		capture_begin(&c);
		log_info("%0*d", n, 0);
		capture_end_lines(&c, text, sizeof(text));
		log_set_tail("");
		line = strstr(text, "info ") + strlen("info ");
		assert_int_equal(strspn(line, "0"), n < most ? n : most);
		assert_string_equal(line + strspn(line, "0"), " mix=m\n");
	}
}

static void
a_line_is_what_the_hints_make_of_it_in_every_form(void **state)
{
	static char text[LOG_LINE_MAX + 1];
	struct capture c;

	(void)state;
	log_set_hints(capitalize);
	capture_begin(&c);
	log_info("type it");
	assert_last_line(&c, " info Type it\n");
	capture_begin(&c);
	log_set_form(LOG_JSON);
	log_info("type it");
	log_set_form(LOG_LOGFMT);
	assert_last_line(&c, "\"message\":\"Type it\"}\n");
	capture_begin(&c);
	log_plain(LOG_INFO, "type it");
	assert_last_line(&c, "Type it\n");
	memset(text, 'a', sizeof(text) - 1);
	for (size_t n = LOG_LINE_MAX - 1; n <= LOG_LINE_MAX; n++) { /* longer: a list */
		char out[3 * LOG_LINE_MAX];

		capture_begin(&c);
		log_plain(LOG_INFO, "%.*s", (int)n, text);
		capture_end_lines(&c, out, sizeof(out));
		assert_int_equal(strlen(out), n + 1);
		assert_int_equal(out[0], n < LOG_LINE_MAX ? 'A' : 'a');
	}
	log_set_hints(NULL);
}

static void
a_line_takes_the_place_of_a_bar_and_has_its_level_in_colour(void **state)
{
	char text[1024];
	struct capture c;

	(void)state;
	capture_begin(&c);
	log_set_bar(true);
	log_set_colours(true);
	errno = EDOM;
	log_error("a");
	log_warning("b");
	assert_int_equal(errno, EDOM);
	log_set_bar(false);
	log_info("c");
	log_set_colours(false);
	log_warning("d");
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 4);
	assert_memory_equal(text, "\r\033[K20", 6);
	assert_non_null(strstr(text, "Z \033[31merror\033[0m a\n\r\033[K20"));
	assert_non_null(strstr(text, "Z \033[33mwarning\033[0m b\n20"));
	assert_non_null(strstr(text, "Z info c\n20"));
	assert_non_null(strstr(text, "Z warning d\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_go_where_the_caller_wants_them),
	    cmocka_unit_test(a_plain_text_keeps_its_lines_and_its_end_but_no_control),
	    cmocka_unit_test(a_name_cannot_begin_a_line_nor_set_the_terminal),
	    cmocka_unit_test(a_line_is_taken_apart),
	    cmocka_unit_test(the_longest_lines_have_room),
	    cmocka_unit_test(any_bytes_make_an_object),
	    cmocka_unit_test(test_a_line_is_due_after_the_first_time_and_then_every_minute),
	    cmocka_unit_test(stderr_has_json_where_it_is_wanted),
	    cmocka_unit_test(a_line_has_the_time_at_which_it_was_logged),
	    cmocka_unit_test(a_line_has_the_tail_at_its_end_and_once),
	    cmocka_unit_test(the_longest_line_with_a_tail_has_all_its_room),
	    cmocka_unit_test(a_line_is_what_the_hints_make_of_it_in_every_form),
	    cmocka_unit_test(a_line_takes_the_place_of_a_bar_and_has_its_level_in_colour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
