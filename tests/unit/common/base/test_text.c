#include "common/base/text.h"

#include <jansson.h>

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

static void
test_a_text_grows_by_what_is_added_and_is_empty_once_taken(void **unused)
{
	struct text t = {0};
	char expected[2001] = "";
	char *text;

	(void)unused;
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < 400; i++) {
			text_add(&t, "%05d", i);
			if (again == 0)
				snprintf(expected + 5 * (size_t)i, 6, "%05u", (unsigned)i % 100000);
		}
		assert_int_equal(t.n, 2000);
		text = text_take(&t);
		assert_string_equal(text, expected);
		free(text);
		assert_int_equal(t.n, 0);
	}
	text = text_take(&t);
	assert_string_equal(text, "");
	free(text);
	text_add(&t, "a");
	text_clear(&t);
	text_add(&t, "%s", "b");
	text = text_take(&t);
	assert_string_equal(text, "b");
	free(text);
}

enum { FORMS = 4 };

/* What each form makes of a text; NULL stands for the text itself. */
static const struct {
	const char *text, *line, *lines, *quoted, *json;
} cases[] = {
    {"", NULL, NULL, NULL, NULL},
    {"plain text, 100% ~ '", NULL, NULL, NULL, NULL},
    {"\xC3\xBC \xE6\xBC\xA2 \xF0\x9F\x98\x80", NULL, NULL, NULL, NULL},
    {"zero\xE2\x80\x8D joiner\xE2\x80\x8C", NULL, NULL, NULL, NULL},          /* words need them */
    {"\xE2\x80\xA7\xE2\x81\xA5\xE2\x81\xB0\xC2\xA0", NULL, NULL, NULL, NULL}, /* neighbours */
    {"a\nb\tc\rd", "a\\nb\\tc\\rd", "a\nb\tc\\rd", "a\\nb\\tc\\rd", "a\\nb\\tc\\rd"},
    {"\x01\x1b[31m\x1f\x7f", "\\x01\\x1b[31m\\x1f\\x7f", "\\x01\\x1b[31m\\x1f\\x7f",
	"\\x01\\x1b[31m\\x1f\\x7f", "\\u0001\\u001b[31m\\u001f\\u007f"},
    {"\xC2\x80\xC2\x9B\xC2\x9F", "\\u0080\\u009b\\u009f", "\\u0080\\u009b\\u009f",
	"\\u0080\\u009b\\u009f", "\\u0080\\u009b\\u009f"},
    {"\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F", "\\u061c\\u200e\\u200f", "\\u061c\\u200e\\u200f",
	"\\u061c\\u200e\\u200f", "\\u061c\\u200e\\u200f"},
    {"\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\xE2\x80\xAE", "\\u2028\\u2029\\u202a\\u202e",
	"\\u2028\\u2029\\u202a\\u202e", "\\u2028\\u2029\\u202a\\u202e",
	"\\u2028\\u2029\\u202a\\u202e"},
    {"\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAF", "\\u2066\\u2069\\u206f", "\\u2066\\u2069\\u206f",
	"\\u2066\\u2069\\u206f", "\\u2066\\u2069\\u206f"},
    {"say \"x\" \\n", NULL, NULL, "say \\\"x\\\" \\\\n", "say \\\"x\\\" \\\\n"},
    {"\x9b", "\\x9b", "\\x9b", "\\x9b", "\xEF\xBF\xBD"}, /* C1 as a byte of its own */
    {"a\xFF\xE2\x82"
     "b",
	"a\\xff\\xe2\\x82"
	"b",
	"a\\xff\\xe2\\x82"
	"b",
	"a\\xff\\xe2\\x82"
	"b",
	"a\xEF\xBF\xBD\xEF\xBF\xBD"
	"b"},
    {"\xED\xA0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80",
	"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
};

static const char *
expected_of(size_t i, enum text_form form)
{
	const char *const of[FORMS] = {[TEXT_LINE] = cases[i].line,
	    [TEXT_LINES] = cases[i].lines,
	    [TEXT_QUOTED] = cases[i].quoted,
	    [TEXT_JSON] = cases[i].json};

	return of[form] == NULL ? cases[i].text : of[form];
}

static void
each_form_escapes_what_the_header_says(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, cases, text) {
		size_t n = strlen(cases[i].text);

		for (int form = 0; form < FORMS; form++) {
			char out[256];

			assert_int_equal(text_show(out, n * TEXT_SHOWN_FACTOR + 1,
					     (enum text_form)form, cases[i].text, n),
			    n);
			assert_string_equal(out, expected_of(i, (enum text_form)form));
		}
	}
}

static void
a_shown_line_is_not_changed_again(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, cases, text) {
		const char *once = expected_of(i, TEXT_LINE);

		assert_string_equal(TEXT_SHOWN(once), once);
	}
	assert_string_equal(TEXT_SHOWN(NULL), "");
}

static void
a_nul_byte_is_shown_and_does_not_end_the_text(void **unused)
{
	char out[32];

	(void)unused;
	assert_int_equal(text_show(out, sizeof(out), TEXT_LINE, "a\0b", 3), 3);
	assert_string_equal(out, "a\\x00b");
}

static void
json_reads_the_exact_text_back(void **unused)
{
	char text[3 * 0x2100], out[sizeof(text) * TEXT_SHOWN_FACTOR + 3] = "\"";
	size_t n = 0;
	json_t *read;

	(void)unused;
	for (unsigned c = 1; c < 0x2100; c++) {
		if (c >= 0x800)
			text[n++] = (char)(0xE0 | c >> 12);
		if (c >= 0x80)
			text[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3F) : 0xC0 | c >> 6);
		text[n++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3F) : c);
	}
	assert_int_equal(text_show(out + 1, sizeof(out) - 2, TEXT_JSON, text, n), n);
	out[strlen(out) + 1] = '\0';
	out[strlen(out)] = '"';
	read = json_loads(out, JSON_DECODE_ANY, NULL);
	assert_int_equal(json_string_length(read), n);
	assert_memory_equal(json_string_value(read), text, n);
	json_decref(read);
}

/* In every room from none to all of it. */
static void
a_text_is_cut_between_characters_and_escapes(void **unused)
{
	static const char text[] = "ab\n\xC3\xBC\x1b";
	static const struct {
		const char *expected;
		size_t shown;
	} by_room[] = {{"", 0}, {"a", 1}, {"ab", 2}, {"ab", 2}, {"ab\\n", 3}, {"ab\\n", 3},
	    {"ab\\n\xC3\xBC", 5}, {"ab\\n\xC3\xBC", 5}, {"ab\\n\xC3\xBC", 5}, {"ab\\n\xC3\xBC", 5},
	    {"ab\\n\xC3\xBC\\x1b", 6}};
	char out[16];

	(void)unused;
	for (size_t i = 0; i < sizeof(by_room) / sizeof(by_room[0]); i++) {
		memset(out, 'x', sizeof(out));
		assert_int_equal(
		    text_show(out, i + 1, TEXT_LINE, text, strlen(text)), by_room[i].shown);
		assert_string_equal(out, by_room[i].expected);
		assert_int_equal(out[i + 1], 'x');
	}
}

static void
a_value_is_quoted_where_a_reader_of_the_line_would_misread_it(void **unused)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
	    {"data/a.jsonl", "data/a.jsonl"},
	    {"\xC3\xBC.jsonl", "\xC3\xBC.jsonl"},
	    {"a=b", "a=b"},
	    {"", "\"\""},
	    {"a b", "\"a b\""},
	    {"a.", "\"a.\""},
	    {"a:", "\"a:\""},
	    {"a,", "\"a,\""},
	    {"a;", "\"a;\""},
	    {"a)", "\"a)\""},
	    {"a.:,;)b", "a.:,;)b"},
	    {"a\nb", "\"a\\nb\""},
	    {"a\" level=\"x", "\"a\\\" level=\\\"x\""},
	    {"a\\", "\"a\\\\\""},
	    {"\xFF", "\"\\xff\""},
	};
	char text[TEXT_VALUE_MAX + 100];
	const char *value;

	(void)unused;
	EACH_NAMED_ROW(i, rows, text)
		assert_string_equal(TEXT_VALUE(rows[i].text), rows[i].expected);
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	value = TEXT_VALUE(text);
	assert_int_equal(strlen(value), TEXT_VALUE_MAX - 1);
	assert_true(value[0] == '"' && value[TEXT_VALUE_MAX - 2] == '"');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_text_ends_with_its_last_bytes_with_nothing_and_with_itself),
	    cmocka_unit_test(test_a_text_grows_by_what_is_added_and_is_empty_once_taken),
	    cmocka_unit_test(each_form_escapes_what_the_header_says),
	    cmocka_unit_test(a_shown_line_is_not_changed_again),
	    cmocka_unit_test(a_nul_byte_is_shown_and_does_not_end_the_text),
	    cmocka_unit_test(json_reads_the_exact_text_back),
	    cmocka_unit_test(a_text_is_cut_between_characters_and_escapes),
	    cmocka_unit_test(a_value_is_quoted_where_a_reader_of_the_line_would_misread_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
