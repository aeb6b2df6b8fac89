#include "producer/encoder/encoder.h"

#include "producer/pretokenizer/splitter.h"
#include "tests/unit/tiktoken_file.h"

static const char *const more[] = {"th", "the", " t", " the", "in", "ab", "abc", " a", "  ", "    ",
    "xx", "xxxx", "xxxxxxxx", "\xEF\xBF", "\xEF\xBF\xBD", "\xe4\xb8", "\u4e2d", "'s", "12", "123",
    " abcdefghijklmnopqrstuvwxyz", "wholeword", NULL};

static struct tokenizer *tokenizer;
static struct encoder *encoder;

static int
setup(void **unused)
{
	struct tokenizer_options o = {.file = tiktoken_path, .pattern = "cl100k"};
	struct failure f;

	if (tiktoken_file_setup(unused) != 0)
		return -1;
	tiktoken_file_of(more);
	if (tokenizer_open(&tokenizer, &o, &f) != FAIL_NONE ||
	    encoder_open(&encoder, tokenizer, &f) != FAIL_NONE)
		return -1;
	return 0;
}

static int
teardown(void **unused)
{
	encoder_close(encoder);
	encoder_close(NULL);
	tokenizer_close(tokenizer);
	tokenizer_close(NULL);
	return tiktoken_file_teardown(unused);
}

static uint32_t
id_of(const char *token)
{
	size_t n;

	for (uint32_t id = 0; id < tokenizer_entries(tokenizer); id++) {
		const uint8_t *bytes = tokenizer_bytes(tokenizer, id, &n);

		if (n == strlen(token) && memcmp(bytes, token, n) == 0)
			return id;
	}
	assert_true(false);
	return 0;
}

/* `expected` are the tokens, with a bar between them. */
static void
check(const char *text, const char *expected)
{
	struct token_buffer ids = {NULL, 0, 0};
	char joined[512] = "";
	size_t written = 0;
	struct failure f;

	assert_int_equal(encoder_encode(encoder, text, strlen(text), &ids, &f), FAIL_NONE);
	for (size_t i = 0; i < ids.n; i++) {
		size_t n;
		const uint8_t *bytes = tokenizer_bytes(tokenizer, ids.id[i], &n);

		if (i > 0)
			joined[written++] = '|';
		memcpy(joined + written, bytes, n);
		written += n;
	}
	joined[written] = '\0';
	assert_string_equal(joined, expected);
	token_buffer_close(&ids);
}

static void
test_pieces_become_tokens(void **unused)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
	    {"", ""},
	    {"the", "the"},
	    {"the the", "the| the"},
	    {"inthe", "in|the"},
	    {"1234567", "123|4|5|6|7"},
	    {"xxxxxxxxxxx", "xxxxxxxx|xx|x"},
	    {"it's", "i|t|'s"},
	    {"wholeword", "wholeword"}, /* no merge leads there: the whole piece does */
	    {"wholewords", "w|h|o|l|e|w|o|r|d|s"},
	    {" abcdefghijklmnopqrstuvwxyz", " abcdefghijklmnopqrstuvwxyz"},
	    {"\u4e2d\u4e2d", "\u4e2d|\u4e2d"},
	};

	(void)unused;
	/* Twice: the second time from the caches. */
	for (int round = 0; round < 2; round++)
		EACH_NAMED_ROW(i, cases, text)
			check(cases[i].text, cases[i].expected);
}

static void
test_invalid_utf8_is_read_as_replacement_characters(void **unused)
{
	(void)unused;
	check("the\xFF", "the|\uFFFD");
	check("\xE4\xB8\xADin\xE4\xB8", "\u4e2d|in|\uFFFD");
	check("ab\xED\xA0\x80", "ab|\uFFFD|\uFFFD|\uFFFD");
}

static void
test_ids_are_added_behind_those_that_are_there(void **unused)
{
	struct token_buffer ids = {NULL, 0, 0};
	struct failure f;

	(void)unused;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(encoder_encode(encoder, "the", 3, &ids, &f), FAIL_NONE);
	assert_int_equal(ids.n, 3);
	assert_int_equal(ids.id[0], id_of("the"));
	assert_int_equal(ids.id[2], id_of("the"));
	assert_int_equal(encoder_encode(encoder, "", 0, &ids, &f), FAIL_NONE);
	assert_int_equal(ids.n, 3);
	token_buffer_close(&ids);
}

/*
 * The caches change nothing: an encoder that has seen much gives what a fresh one gives. The texts
 * hold more pieces than a batch, and end in memory of their own size.
 */
static void
test_an_old_encoder_gives_what_a_fresh_one_gives(void **unused)
{
	static const char *const words[] = {"the", " the", " in", "abc", "xxxxx", "12", "'s", ".\n",
	    "    ", "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d", " wholeword", "qqqqqqqqqqqqqqqq",
	    "zyzyz", " abcdefghijklmnopqrstuvwxyz", "--------------------------------"};
	struct token_buffer old_ids = {NULL, 0, 0}, fresh_ids = {NULL, 0, 0};
	uint32_t x = 1;

	(void)unused;
	for (size_t round = 0; round < 400; round++) {
		size_t n = 0, count = round % 50 == 0 ? 3000 : round % 7;
		char *text = malloc(count * 40 + 8), *exact;
		struct encoder *fresh = NULL;
		struct failure f;

		assert_non_null(text);
		for (size_t i = 0; i < count; i++) {
			x = x * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
			if (x >> 30 == 0)
				n += (size_t)snprintf(text + n, 40, " w%x", x >> 16 & 0xfff);
			else
				n += (size_t)snprintf(text + n, 40, "%s", words[(x >> 16) % 15]);
		}
		exact = malloc(n + 1);
		assert_non_null(exact);
		memcpy(exact + 1, text, n);
		old_ids.n = 0;
		fresh_ids.n = 0;
		assert_int_equal(encoder_open(&fresh, tokenizer, &f), FAIL_NONE);
		assert_int_equal(encoder_encode(encoder, exact + 1, n, &old_ids, &f), FAIL_NONE);
		assert_int_equal(encoder_encode(fresh, exact + 1, n, &fresh_ids, &f), FAIL_NONE);
		assert_int_equal(old_ids.n, fresh_ids.n);
		if (old_ids.n > 0)
			assert_memory_equal(old_ids.id, fresh_ids.id, old_ids.n * sizeof(uint32_t));
		encoder_close(fresh);
		free(exact);
		free(text);
	}
	token_buffer_close(&old_ids);
	token_buffer_close(&fresh_ids);
}

static void
test_a_text_over_the_limit_is_refused(void **unused)
{
	struct token_buffer ids = {NULL, 0, 0};
	struct failure f;

	(void)unused;
	assert_int_equal(
	    encoder_encode(encoder, "x", (size_t)SPLITTER_TEXT_MAX / 3 + 1, &ids, &f), FAIL_MEMORY);
	assert_non_null(strstr(f.text, "at most 715827882"));
	assert_int_equal(token_buffer_reserve(&ids, SIZE_MAX / 2, &f), FAIL_MEMORY);
	assert_int_equal(ids.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pieces_become_tokens),
	    cmocka_unit_test(test_invalid_utf8_is_read_as_replacement_characters),
	    cmocka_unit_test(test_ids_are_added_behind_those_that_are_there),
	    cmocka_unit_test(test_an_old_encoder_gives_what_a_fresh_one_gives),
	    cmocka_unit_test(test_a_text_over_the_limit_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
