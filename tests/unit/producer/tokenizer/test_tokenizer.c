#include "producer/tokenizer/tokenizer.h"

#include "producer/tokenizer/tiktoken.h"
#include "tests/unit/tiktoken_file.h"

static const char *const few[] = {"th", "the", " t", " the", "in", "<eos>", NULL};

static enum fail_code
open_with(const char *pattern, const char *eos, struct tokenizer **t, struct failure *f)
{
	struct tokenizer_options o = {.file = tiktoken_path, .pattern = pattern, .eos = eos};

	*t = NULL;
	return tokenizer_open(t, &o, f);
}

/* Replaces `old` in the sample file by `new`, and opens it. */
static void
check_broken(const char *old, const char *new, const char *sentence)
{
	struct tokenizer *t = NULL;
	struct failure f;
	size_t n;
	char *text = tiktoken_text(few, &n), *at, *broken;

	text = realloc(text, n + 1);
	assert_non_null(text);
	text[n] = '\0';
	at = strstr(text, old);
	assert_non_null(at);
	broken = malloc(n + strlen(new) + 1);
	assert_non_null(broken);
	memcpy(broken, text, (size_t)(at - text));
	memcpy(broken + (at - text), new, strlen(new));
	memcpy(broken + (at - text) + strlen(new), at + strlen(old), strlen(at + strlen(old)) + 1);
	tiktoken_file_write(broken, strlen(broken));
	assert_int_equal(open_with("gpt2", NULL, &t, &f), FAIL_DATA);
	assert_null(t);
	/* For its message, where the sentence is another. */
	if (strstr(f.text, sentence) == NULL || strstr(f.text, tiktoken_path) == NULL)
		assert_string_equal(f.text, sentence);
	free(broken);
	free(text);
}

static void
test_a_broken_line_is_named(void **unused)
{
	static const struct {
		const char *old, *new, *sentence;
	} cases[] = {
	    {"AA== 0\n", "AA==0\n", "line 1: is not a token in base64"},
	    {"AQ== 1\n", "AQ== \n", "line 2: the rank is not a decimal number"},
	    {"AQ== 1\n", "AQ== +1\n", "line 2: the rank is not a decimal number"},
	    {"AQ== 1\n", "AQ== 01\n", "line 2: the rank is not a decimal number"},
	    {"AQ== 1\n", "AQ== 1 \n", "line 2: the rank is not a decimal number"},
	    {"AQ== 1\n", "AQ==  1\n", "line 2: the rank is not a decimal number"},
	    {"AQ== 1\n", "AQ== 0x1\n", "line 2: the rank is not a decimal number"},
	    {"AQ== 1\n", "AQ== 99999999999\n", "line 2: the rank is not a decimal number"},
	    {"AQ== 1\n", "AQ== 2097152\n", "line 2: rank 2097152 is over the limit of 2097151"},
	    {"AQ== 1\n", "AR== 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", "AQ= 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", "AQ 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", "A=== 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", "==== 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", "A=Q= 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", "AQ-_ 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", " 1\n", "line 2: the token is not canonical base64"},
	    {"AQ== 1\n", "AQ== 0\n", "line 2: rank 0 was given in line 1 already"},
	    {"AQ== 1\n", "AA== 1\n", "lines 1 and 2 hold the same token, ranks 0 and 1"},
	    {"AQ== 1\n", "", "no line has rank 1"},
	    {"AQ== 1\n", "AQAA 1\n", "no token is the single byte 0x01"},
	    {"dGg= 256\n", "dGg= 2000000\n", "no line has rank 256"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, old)
		check_broken(cases[i].old, cases[i].new, cases[i].sentence);
}

static void
test_a_file_without_tokens_or_without_a_place_is_refused(void **unused)
{
	struct tokenizer_options o = {.file = "/nowhere/x.tiktoken", .pattern = "gpt2"};
	struct tokenizer *t = NULL;
	struct failure f;

	(void)unused;
	tiktoken_file_write("", 0);
	assert_int_equal(open_with("gpt2", NULL, &t, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "has no tokens"));
	tiktoken_file_write("\n\r\n\n", 4);
	assert_int_equal(open_with("gpt2", NULL, &t, &f), FAIL_DATA);
	assert_int_equal(tokenizer_open(&t, &o, &f), FAIL_IO);
	assert_non_null(strstr(f.text, "/nowhere/x.tiktoken: cannot be opened: No such file"));
	o.file = "/";
	assert_int_equal(tokenizer_open(&t, &o, &f), FAIL_CONFIG);
}

static void
test_a_token_of_the_longest_length_is_taken_and_a_longer_one_refused(void **unused)
{
	char *longest = malloc(VOCABULARY_TOKEN_MAX + 2);
	const char *more[] = {longest, NULL};
	struct tokenizer *t = NULL;
	struct failure f;
	size_t n;

	(void)unused;
	assert_non_null(longest);
	memset(longest, 'x', VOCABULARY_TOKEN_MAX + 1);
	longest[VOCABULARY_TOKEN_MAX] = '\0';
	tiktoken_file_of(more);
	assert_int_equal(open_with("gpt2", NULL, &t, &f), FAIL_NONE);
	assert_non_null(tokenizer_bytes(t, 256, &n));
	assert_int_equal(n, VOCABULARY_TOKEN_MAX);
	tokenizer_close(t);
	longest[VOCABULARY_TOKEN_MAX] = 'x';
	longest[VOCABULARY_TOKEN_MAX + 1] = '\0';
	tiktoken_file_of(more);
	assert_int_equal(open_with("gpt2", NULL, &t, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "line 257: a token of 4097 bytes"));
	free(longest);
}

static void
test_an_unknown_pattern_gets_the_list(void **unused)
{
	struct tokenizer *t = NULL;
	struct failure f;

	(void)unused;
	tiktoken_file_of(few);
	assert_int_equal(open_with(NULL, NULL, &t, &f), FAIL_CONFIG);
	assert_non_null(
	    strstr(f.text, "does not say its pattern; name one of: gpt2, cl100k, o200k"));
	assert_int_equal(open_with("gpt5", NULL, &t, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "\"gpt5\"; the known ones are: gpt2, cl100k, o200k"));
}

static void
test_order_of_lines_and_line_ends_do_not_change_the_fingerprint(void **unused)
{
	struct tokenizer *t = NULL;
	uint64_t fingerprint;
	struct failure f;
	size_t n, out_n = 0;
	char *text = tiktoken_text(few, &n), *out = malloc(n * 2 + 8), *end = text + n;

	(void)unused;
	assert_non_null(out);
	tiktoken_file_write(text, n);
	assert_int_equal(open_with("cl100k", NULL, &t, &f), FAIL_NONE);
	fingerprint = tokenizer_fingerprint(t);
	tokenizer_close(t);
	/* The lines from the last to the first, with CRLF, an empty line, and no end at the end. */
	while (end > text) {
		char *line = end - 1;

		while (line > text && line[-1] != '\n')
			line--;
		memcpy(out + out_n, line, (size_t)(end - 1 - line));
		out_n += (size_t)(end - 1 - line);
		memcpy(out + out_n, "\r\n", 2);
		out_n += 2;
		end = line;
	}
	tiktoken_file_write(out, out_n - 2);
	assert_int_equal(open_with("cl100k", NULL, &t, &f), FAIL_NONE);
	assert_true(tokenizer_fingerprint(t) == fingerprint);
	tokenizer_close(t);
	free(out);
	free(text);
}

static void
test_each_part_of_a_tokenizer_changes_the_fingerprint(void **unused)
{
	static const char *const same[] = {"th", "the", " t", " the", "in", "<eos>", NULL};
	static const char *const swapped[] = {"the", "th", " t", " the", "in", "<eos>", NULL};
	static const char *const other[] = {"th", "the", " t", " the", "in", "<EOS>", NULL};
	static const char *const fewer[] = {"th", "the", " t", " the", "in", NULL};
	static const struct {
		const char *const *more;
		const char *pattern, *eos;
	} cases[] = {{same, "gpt2", NULL}, {same, "gpt2", "<eos>"}, {swapped, "gpt2", NULL},
	    {other, "gpt2", NULL}, {fewer, "gpt2", NULL}, {same, "cl100k", NULL},
	    {same, "o200k", NULL}};
	uint64_t fingerprint[7];

	(void)unused;
	for (size_t i = 0; i < 7; i++) {
		struct tokenizer *t = NULL;
		struct failure f;

		tiktoken_file_of(cases[i].more);
		assert_int_equal(open_with(cases[i].pattern, cases[i].eos, &t, &f), FAIL_NONE);
		fingerprint[i] = tokenizer_fingerprint(t);
		tokenizer_close(t);
		for (size_t k = 0; k < i; k++)
			assert_int_equal(fingerprint[i] == fingerprint[k], i == 1 && k == 0);
	}
}

static void
test_eos_is_looked_for_in_the_vocabulary(void **unused)
{
	struct tokenizer *t = NULL;
	struct failure f;

	(void)unused;
	tiktoken_file_of(few);
	assert_int_equal(open_with("gpt2", "<eos>", &t, &f), FAIL_NONE);
	assert_int_equal(tokenizer_eos(t), 261);
	assert_int_equal(tokenizer_entries(t), 262);
	tokenizer_close(t);
	assert_int_equal(open_with("gpt2", "<|endoftext|>", &t, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "eos \"<|endoftext|>\" is not a token"));
	assert_non_null(strstr(f.text, "no special tokens are known"));
	assert_int_equal(open_with("gpt2", "", &t, &f), FAIL_CONFIG);
}

/* A vocabulary of a known size has that encoding's special tokens: here of r50k_base's. */
static void
test_special_tokens_come_with_pattern_and_size(void **unused)
{
	size_t more_n = 50256 - 256, n;
	const char **more = calloc(more_n + 1, sizeof(*more));
	char *names = malloc(more_n * 8);
	struct tokenizer *t = NULL;
	const uint8_t *bytes;
	struct failure f;

	(void)unused;
	assert_non_null(more);
	assert_non_null(names);
	for (size_t i = 0; i < more_n; i++) {
		snprintf(names + i * 8, 8, "~%zu", i);
		more[i] = names + i * 8;
	}
	tiktoken_file_of(more);
	assert_int_equal(open_with("gpt2", "<|endoftext|>", &t, &f), FAIL_NONE);
	assert_int_equal(tokenizer_eos(t), 50256);
	assert_int_equal(tokenizer_entries(t), 50257);
	bytes = tokenizer_bytes(t, 50256, &n);
	assert_int_equal(n, 13);
	assert_memory_equal(bytes, "<|endoftext|>", 13);
	assert_null(tokenizer_bytes(t, 50257, &n));
	tokenizer_close(t);
	assert_int_equal(open_with("gpt2", "<|end|>", &t, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "the special tokens are <|endoftext|> (50256)"));
	assert_int_equal(open_with("cl100k", "<|endoftext|>", &t, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "a file of 50256 ranks goes with tokenizer.pattern: gpt2, "
				       "and the configuration has cl100k"));
	more[more_n - 1] = NULL; /* cut off */
	tiktoken_file_of(more);
	assert_int_equal(open_with("gpt2", "<|endoftext|>", &t, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "of a file of 50255 ranks with pattern gpt2, which has "
				       "50256: is the file whole? Of a tokenizer of your own:"));
	free(names);
	free(more);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_broken_line_is_named),
	    cmocka_unit_test(test_a_file_without_tokens_or_without_a_place_is_refused),
	    cmocka_unit_test(test_a_token_of_the_longest_length_is_taken_and_a_longer_one_refused),
	    cmocka_unit_test(test_an_unknown_pattern_gets_the_list),
	    cmocka_unit_test(test_order_of_lines_and_line_ends_do_not_change_the_fingerprint),
	    cmocka_unit_test(test_each_part_of_a_tokenizer_changes_the_fingerprint),
	    cmocka_unit_test(test_eos_is_looked_for_in_the_vocabulary),
	    cmocka_unit_test(test_special_tokens_come_with_pattern_and_size),
	};

	return cmocka_run_group_tests(tests, tiktoken_file_setup, tiktoken_file_teardown);
}
