/* normalizer.h: what steps make of a text, and which of its bytes come from the first character. */
#include "producer/pretokenizer/normalizer.h"

#include "tests/unit/test.h"

static struct normalizer_step
made(enum normalizer_kind kind, const char *pattern, const char *content)
{
	struct normalizer_step s = {
	    .kind = kind, .pattern_n = strlen(pattern), .content_n = strlen(content)};

	memcpy(s.pattern, pattern, s.pattern_n);
	memcpy(s.content, content, s.content_n);
	return s;
}

static void
test_bytes_of_the_first_character_are_followed_through_all_steps(void **unused)
{
	static const struct {
		const char *text;
		size_t head;
		struct {
			enum normalizer_kind kind;
			const char *pattern, *content;
		} step[2];
		const char *out;
		size_t out_head;
	} row[] = {
	    {"ab", 1, {{NORMALIZER_NFC, "", ""}}, "ab", 1},
	    {"ab", 1, {{NORMALIZER_REPLACE, "x", "y"}}, "ab", 1},
	    {"ab", 1, {{NORMALIZER_REPLACE, "b", "xyz"}}, "axyz", 1},
	    {"ab", 1, {{NORMALIZER_REPLACE, "a", "xyz"}}, "xyzb",
		3}, /* the whole first character */
	    {"aa", 1, {{NORMALIZER_REPLACE, "a", "xyz"}}, "xyzxyz", 3},
	    {"ab", 1, {{NORMALIZER_REPLACE, "a", ""}}, "b", 0},
	    {"a", 1, {{NORMALIZER_REPLACE, "a", "xyz"}}, "xyz", 3},
	    {"abc", 1, {{NORMALIZER_REPLACE, "ab", "xyz"}}, "xyzc",
		0}, /* it belongs to the last byte, b's */
	    {"abc", 1, {{NORMALIZER_REPLACE, "bc", "xyz"}}, "axyz", 1},
	    {"\u00e9b", 2, {{NORMALIZER_REPLACE, "\u00e9", "xyz"}}, "xyzb", 3},
	    {"\u00e9b", 2, {{NORMALIZER_REPLACE, "b", "x"}}, "\u00e9x", 2},
	    {"ab", 1, {{NORMALIZER_PREPEND, "", "_"}}, "_ab", 2},
	    {"ab", 0, {{NORMALIZER_PREPEND, "", "_"}}, "_ab", 0}, /* no beginning of a document */
	    {"ab", 0, {{NORMALIZER_REPLACE, "a", "xyz"}}, "xyzb", 0},
	    {"", 0, {{NORMALIZER_REPLACE, "a", "xyz"}}, "", 0},
	    {"", 0, {{NORMALIZER_PREPEND, "", "_"}}, "", 0},
	    {" b", 1, {{NORMALIZER_PREPEND, "", "_"}, {NORMALIZER_REPLACE, " ", "_"}}, "__b", 2},
	    {" b", 1, {{NORMALIZER_PREPEND, "", "\u2581"}, {NORMALIZER_REPLACE, " ", "\u2581"}},
		"\u2581\u2581b", 6},
	    {"ab", 1, {{NORMALIZER_REPLACE, "a", "cc"}, {NORMALIZER_REPLACE, "c", "de"}}, "dedeb",
		4},
	    {"ab", 1, {{NORMALIZER_REPLACE, "a", "cc"}, {NORMALIZER_REPLACE, "cb", "x"}}, "cx", 1},
	};
	struct normalizer_scratch s = {0};

	(void)unused;
	EACH_ROW(i, row) {
		static struct normalizer z;
		const uint8_t *out;
		size_t n, head = row[i].head;
		struct failure f;

		z.n = 0;
		for (size_t k = 0; k < 2 && row[i].step[k].pattern != NULL; k++)
			z.step[z.n++] = made(
			    row[i].step[k].kind, row[i].step[k].pattern, row[i].step[k].content);
		assert_int_equal(normalizer_run(&z, &s, (const uint8_t *)row[i].text,
				     strlen(row[i].text), &out, &n, &head, &f),
		    FAIL_NONE);
		assert_int_equal(n, strlen(row[i].out));
		assert_memory_equal(out, row[i].out, n);
		assert_int_equal(head, row[i].out_head);
	}
	normalizer_scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bytes_of_the_first_character_are_followed_through_all_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
