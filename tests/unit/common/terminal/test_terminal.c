#include "common/terminal/terminal.h"

#include "tests/unit/test.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_long_text_is_printed_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
