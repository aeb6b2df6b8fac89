#include "common/terminal/terminal.h"

#include "tests/unit/pty.h"

/* Longer than what terminal_print() writes at once. */
static void
a_long_text_is_printed_whole(void **unused)
{
	char text[5000], *out = NULL;
	size_t n;
	FILE *to = open_memstream(&out, &n);

	(void)unused;
	memset(text, 0x1b, sizeof(text));
	terminal_print(to, TEXT_LINE, text, sizeof(text));
	fclose(to);
	assert_int_equal(n, 4 * sizeof(text));
	for (size_t i = 0; i < n; i += 4)
		assert_memory_equal(out + i, "\\x1b", 4);
	free(out);
}

static void
test_the_width_is_that_of_the_terminal_where_it_has_one(void **unused)
{
	static const struct {
		unsigned short columns;
		int found;
	} rows[] = {{0, 80}, {1, 1}, {123, 123}};

	(void)unused;
	EACH_ROW(i, rows) {
		char text[16];
		struct pty t;
		int found;

		pty_begin(&t, rows[i].columns);
		found = terminal_columns();
		pty_end(&t, text, sizeof(text));
		assert_int_equal(found, rows[i].found);
	}
}

static void
set(const char *name, const char *value)
{
	assert_int_equal(value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
}

/* NO_COLOR and TERM by themselves, and the terminal: all three have to allow it. */
static void
test_colours_are_for_a_terminal_that_can_and_a_user_who_does_not_mind(void **unused)
{
	static const struct {
		const char *no_color, *term;
		bool colours;
	} rows[] = {
	    {NULL, "xterm", true},
	    {"", "xterm", true}, /* https://no-color.org: not empty */
	    {"1", "xterm", false},
	    {"0", "xterm", false},
	    {NULL, "dumb", false},
	    {NULL, "dumber", true},
	    {NULL, "", false},
	    {NULL, NULL, false},
	};
	int none[2];

	(void)unused;
	assert_int_equal(pipe(none), 0);
	EACH_ROW(i, rows) {
		char text[16];
		bool terminal, other;
		struct pty t;

		set("NO_COLOR", rows[i].no_color);
		set("TERM", rows[i].term);
		pty_begin(&t, 80);
		terminal = terminal_colours(STDERR_FILENO);
		other = terminal_colours(none[1]);
		pty_end(&t, text, sizeof(text));
		assert_int_equal(terminal, rows[i].colours);
		assert_false(other);
	}
	close(none[0]);
	close(none[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_long_text_is_printed_whole),
	    cmocka_unit_test(test_the_width_is_that_of_the_terminal_where_it_has_one),
	    cmocka_unit_test(test_colours_are_for_a_terminal_that_can_and_a_user_who_does_not_mind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
