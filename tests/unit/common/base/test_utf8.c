#include "common/base/utf8.h"

#include "tests/unit/test.h"

#define FFFD "\xEF\xBF\xBD"

/* Expected is what Python 3.11 gives for bytes.decode(errors="replace"). */
static const struct {
	const char *text, *expected;
} cases[] = {
    {"", ""}, {"plain", "plain"}, {"\xC2\x80\xDF\xBF", "\xC2\x80\xDF\xBF"},
    {"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF",
	"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"},
    {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"}, {"\x80", FFFD},
    {"a\xBF"
     "b",
	"a" FFFD "b"},
    {"\xC0\x80", FFFD FFFD},                   /* overlong */
    {"\xC1\xBF", FFFD FFFD},                   /* overlong */
    {"\xC2", FFFD},                            /* cut */
    {"\xC2\x41", FFFD "A"},                    /* the second is no tail */
    {"\xE0\x9F\xBF", FFFD FFFD FFFD},          /* overlong: the second cannot follow */
    {"\xE0\xA0", FFFD},                        /* cut after two */
    {"\xE1\x80\x41", FFFD "A"},                /* a maximal part of two */
    {"\xED\xA0\x80", FFFD FFFD FFFD},          /* a surrogate */
    {"\xED\xBF\xBF", FFFD FFFD FFFD},          /* a surrogate */
    {"\xF0\x8F\xBF\xBF", FFFD FFFD FFFD FFFD}, /* overlong */
    {"\xF0\x90\x80", FFFD},                    /* cut after three */
    {"\xF0\x90\x80\x41", FFFD "A"}, {"\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD}, /* above U+10FFFF */
    {"\xF5\x80\x80\x80", FFFD FFFD FFFD FFFD}, {"\xFF\xFE", FFFD FFFD},
    {"\xF1\x80\x80\xE1\x80\xC2", FFFD FFFD FFFD}, {"\xE2\x82\xAC\xE2\x82", "\xE2\x82\xAC" FFFD},
    {"\xEF\xBB\xBFx", "\xEF\xBB\xBFx"}, /* a byte order mark is a character */
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void
check(const char *text, size_t n, const char *expected, size_t expected_n)
{
	char *out = malloc(n * UTF8_REPLACED_FACTOR + 1);
	size_t written;

	assert_non_null(out);
	written = utf8_replace(out, text, n);
	assert_int_equal(written, expected_n);
	assert_memory_equal(out, expected, expected_n);
	assert_true(utf8_valid(out, written));
	assert_int_equal(utf8_valid(text, n), n == expected_n && memcmp(text, expected, n) == 0);
	free(out);
}

static void
test_each_maximal_invalid_part_becomes_one_replacement(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < CASES; i++)
		check(cases[i].text, strlen(cases[i].text), cases[i].expected,
		    strlen(cases[i].expected));
}

/* Behind and before ASCII of every length up to two blocks, in memory of just that size. */
static void
test_the_place_in_the_text_makes_no_difference(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < CASES; i++)
		for (size_t before = 0; before < 70; before++) {
			size_t n = strlen(cases[i].text), expected_n = strlen(cases[i].expected);
			char *text = malloc(before * 2 + n + 1);
			char *expected = malloc(before * 2 + expected_n + 1);

			assert_non_null(text);
			assert_non_null(expected);
			memset(text, 'x', before * 2 + n);
			memset(expected, 'x', before * 2 + expected_n);
			memcpy(text + before, cases[i].text, n);
			memcpy(expected + before, cases[i].expected, expected_n);
			check(text, before * 2 + n, expected, before * 2 + expected_n);
			free(text);
			free(expected);
		}
}

static void
test_valid_bytes_ends_before_the_first_that_is_not_utf8(void **unused)
{
	(void)unused;
	assert_int_equal(utf8_valid_bytes("", 0), 0);
	assert_int_equal(utf8_valid_bytes("ab\xC3\xA9", 4), 4);
	assert_int_equal(utf8_valid_bytes("ab\xC3\xA9", 3), 2);
	assert_int_equal(utf8_valid_bytes("\xE2\x82\xAC\xFF", 4), 3);
}

/* Table 3-7 of the Unicode Standard, written down once more, over all strings of two bytes. */
static void
test_all_pairs_of_bytes(void **unused)
{
	(void)unused;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			char text[2] = {(char)a, (char)b};
			bool both = (a < 0x80 && b < 0x80) ||
				    (a >= 0xC2 && a <= 0xDF && b >= 0x80 && b <= 0xBF);

			assert_int_equal(utf8_valid(text, 2), both);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_maximal_invalid_part_becomes_one_replacement),
	    cmocka_unit_test(test_the_place_in_the_text_makes_no_difference),
	    cmocka_unit_test(test_valid_bytes_ends_before_the_first_that_is_not_utf8),
	    cmocka_unit_test(test_all_pairs_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
