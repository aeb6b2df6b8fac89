/* log.h, riffle_set_log(): lines go to stderr, or to where the caller wants them. */
#include "common/base/log.h"
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_go_where_the_caller_wants_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
