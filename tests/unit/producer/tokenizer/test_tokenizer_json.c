#include "producer/tokenizer/tokenizer.h"

#include "producer/encoder/encoder.h"
#include <stdio.h>

#include "tests/unit/folder.h"
#include "tests/unit/test.h"

#define ADDED_OF(content, normalized)                                                              \
	"{\"id\": 4, \"content\": \"" content "\", \"single_word\": false, \"lstrip\": "           \
	"false, \"rstrip\": false, \"normalized\": " normalized ", \"special\": true}"
#define ADDED ADDED_OF("<x>", "false")
#define SPACE "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"_\"}"

/* Characters a, b and their merge; a character that is none of them is unknown. */
static const char whole[] =
    "{\"version\": \"1.0\", \"added_tokens\": [" ADDED "], \"normalizer\": " SPACE
    ", \"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", \"fuse_unk\": true, "
    "\"vocab\": {\"?\": 0, \"a\": 1, \"b\": 2, \"ab\": 3}, \"merges\": [[\"a\", \"b\"]]}}";

/* The file with the first `old` as `new`. */
static void
write_changed(const char *old, const char *new)
{
	const char *found = strstr(whole, old);
	char text[2048];

	assert_non_null(found);
	snprintf(
	    text, sizeof(text), "%.*s%s%s", (int)(found - whole), whole, new, found + strlen(old));
	folder_text("t.json", text);
}

static struct tokenizer *
open_changed(const char *old, const char *new, bool add_special, bool special_as_text)
{
	struct tokenizer_options o = {
	    .add_special = add_special, .special_as_text = special_as_text};
	struct tokenizer *t = NULL;
	struct failure f;
	char path[1024];

	write_changed(old, new);
	snprintf(path, sizeof(path), "%s", folder_path("t.json"));
	o.file = path;
	if (tokenizer_open(&t, &o, &f) != FAIL_NONE)
		assert_string_equal(f.text, "");
	return t;
}

static uint64_t
fingerprint_of(const char *old, const char *new)
{
	struct tokenizer *t = open_changed(old, new, false, false);
	uint64_t fingerprint = tokenizer_fingerprint(t);

	tokenizer_close(t);
	return fingerprint;
}

static void
test_files_that_say_the_same_have_one_fingerprint(void **unused)
{
	static const char *const same[][2] = {
	    {"[[\"a\", \"b\"]]", "[\"a b\"]"},
	    {"[[\"a\", \"b\"]]", "[ [ \"\\u0061\" , \"b\" ] ]"},
	    {"[[\"a\", \"b\"]]", "[\"#version: 0.2\", \"a b\"]"},
	    {"[[\"a\", \"b\"]]", "[[\"a\", \"b\"], [\"a\", \"b\"]]"},
	    {"\"a\": 1, \"b\": 2", "\"b\": 2, \"a\": 1"},
	    {"\"version\": \"1.0\",", "\"truncation\": null, \"decoder\": {\"type\": \"Fuse\"},"},
	    {"\"type\": \"BPE\",", "\"dropout\": null, \"ignore_merges\": false,"},
	};
	uint64_t usual = fingerprint_of("", "");

	(void)unused;
	EACH_ROW(i, same)
		assert_true(fingerprint_of(same[i][0], same[i][1]) == usual);
}

static void
test_whatever_changes_ids_changes_the_fingerprint(void **unused)
{
	static const char *const other[][2] = {
	    {"\"b\": 2", "\"b\": 5"},
	    {"\"a\": 1", "\"a\": 1, \"c\": 9"},
	    {"[[\"a\", \"b\"]]", "[]"},
	    {"\"fuse_unk\": true", "\"fuse_unk\": false"},
	    {"\"fuse_unk\": true", "\"byte_fallback\": true, \"fuse_unk\": true"},
	    {"\"fuse_unk\": true", "\"ignore_merges\": true, \"fuse_unk\": true"},
	    {"\"unk_token\": \"?\"", "\"unk_token\": \"a\""},
	    {SPACE, "{\"type\": \"NFC\"}"},
	    {"\"lstrip\": false", "\"lstrip\": true"},
	    {"<x>", "<y>"},
	    {"\"normalizer\": ", "\"pre_tokenizer\": {\"type\": \"Digits\", "
				 "\"individual_digits\": true}, \"normalizer\": "},
	};
	uint64_t usual = fingerprint_of("", "");

	(void)unused;
	EACH_ROW(i, other)
		assert_true(fingerprint_of(other[i][0], other[i][1]) != usual);
}

/* Bits of a combination: three members of the model, add_special, special_as_text. */
static void
test_every_combination_of_flags_has_a_fingerprint_of_its_own(void **unused)
{
	static const char *const truth[] = {"false", "true"};
	uint64_t found[32];

	(void)unused;
	for (unsigned bits = 0; bits < 32; bits++) {
		struct tokenizer *t;
		char new[128];

		snprintf(new, sizeof(new),
		    "\"fuse_unk\": %s, \"byte_fallback\": %s, \"ignore_merges\": %s",
		    truth[bits & 1], truth[bits >> 1 & 1], truth[bits >> 2 & 1]);
		t = open_changed("\"fuse_unk\": true", new, bits & 8, bits & 16);
		found[bits] = tokenizer_fingerprint(t);
		tokenizer_close(t);
		for (unsigned k = 0; k < bits; k++)
			assert_true(found[k] != found[bits]);
	}
}

/* The ids of a text, as a text. */
static void
assert_ids(const struct tokenizer *t, const char *text, const char *expected)
{
	struct token_buffer ids = {NULL, 0, 0};
	struct encoder *e = NULL;
	struct failure f;
	char found[256] = "";

	assert_int_equal(encoder_open(&e, t, &f), FAIL_NONE);
	for (unsigned pass = 0; pass < 2; pass++) { /* the second out of the caches */
		ids.n = 0;
		found[0] = '\0';
		assert_int_equal(encoder_encode(e, text, strlen(text), &ids, &f), FAIL_NONE);
		for (size_t i = 0, n = 0; i < ids.n; i++)
			n += (size_t)snprintf(found + n, sizeof(found) - n, i == 0 ? "%u" : " %u",
			    (unsigned)ids.id[i]);
		assert_string_equal(found, expected);
	}
	token_buffer_close(&ids);
	encoder_close(e);
}

static void
test_ids_are_those_of_tokenizers(void **unused)
{
	static const struct {
		const char *old, *new, *text, *ids;
	} cases[] = {
	    {"", "", "", ""},
	    {"", "", "abba", "3 2 1"},
	    {"", "", "a<x>b", "1 4 2"},
	    {"", "", "xyzab zab", "0 3 0 3"},
	    {"\"fuse_unk\": true", "\"fuse_unk\": false", "xyzab", "0 0 0 3"},
	    {"\"unk_token\": \"?\",", "", "xa-bx", "3"}, /* what is unknown is not there */
	    {"\"unk_token\": \"?\",", "", "x", ""},
	    {"\"rstrip\": false", "\"rstrip\": true", "<x>  a", "4 1"},
	    {"\"fuse_unk\": true", "\"ignore_merges\": true", "ab", "3"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, old) {
		struct tokenizer *t = open_changed(cases[i].old, cases[i].new, false, false);

		assert_ids(t, cases[i].text, cases[i].ids);
		tokenizer_close(t);
	}
}

/* More pieces than the encoder looks up at once, cut by a step that is no pattern. */
static void
test_many_pieces_have_the_ids_that_each_has_alone(void **unused)
{
	static const char once[] = "ab1ba", many_ids[] = " 3 0 2 1";
	struct tokenizer *t = open_changed("\"normalizer\": ",
	    "\"pre_tokenizer\": {\"type\": \"Digits\", \"individual_digits\": true}, "
	    "\"normalizer\": ",
	    false, false);
	struct token_buffer ids = {NULL, 0, 0};
	struct encoder *e = NULL;
	char text[5 * 700 + 1] = "";
	struct failure f;

	(void)unused;
	for (size_t i = 0; i < 700; i++)
		memcpy(text + 5 * i, once, 5);
	assert_int_equal(encoder_open(&e, t, &f), FAIL_NONE);
	for (size_t n = 5; n <= 5 * 700; n += 5 * 29) {
		ids.n = 0;
		assert_int_equal(encoder_encode(e, text, n, &ids, &f), FAIL_NONE);
		/* "ba" and the "ab" after it are one piece. Its ids are those of b, a and ab. */
		assert_int_equal(ids.n, n / 5 * 4);
		for (size_t i = 0; i < ids.n; i++)
			assert_int_equal(ids.id[i], many_ids[i % 4 * 2 + 1] - '0');
	}
	token_buffer_close(&ids);
	encoder_close(e);
	tokenizer_close(t);
}

static void
test_special_tokens_are_text_where_that_is_asked_for(void **unused)
{
	struct tokenizer *t = open_changed("", "", false, true);

	(void)unused;
	assert_ids(t, "a<x>b", "1 0 2");
	tokenizer_close(t);
}

static void
test_eos_is_an_added_token_or_one_of_the_vocabulary(void **unused)
{
	struct tokenizer_options o = {.file = strdup(folder_path("t.json")), .eos = "<x>"};
	struct tokenizer *t = NULL;
	struct failure f;
	size_t n;

	(void)unused;
	write_changed("", "");
	assert_int_equal(tokenizer_open(&t, &o, &f), FAIL_NONE);
	assert_int_equal(tokenizer_eos(t), 4);
	assert_int_equal(tokenizer_entries(t), 5);
	assert_memory_equal(tokenizer_bytes(t, 4, &n), "<x>", 3);
	assert_memory_equal(tokenizer_bytes(t, 3, &n), "ab", 2);
	assert_null(tokenizer_bytes(t, 5, &n));
	tokenizer_close(t);
	o.eos = "ab";
	assert_int_equal(tokenizer_open(&t, &o, &f), FAIL_NONE);
	assert_int_equal(tokenizer_eos(t), 3);
	tokenizer_close(t);
	o.eos = "none";
	assert_int_equal(tokenizer_open(&t, &o, &f), FAIL_CONFIG);
	assert_non_null(
	    strstr(f.text, "eos \"none\" is neither in added_tokens nor in model.vocab"));
	free((char *)(uintptr_t)o.file);
}

/*
 * Every file that ends too early, or has one byte wrong, is refused or read; nothing else happens.
 */
static void
test_a_broken_file_is_refused_or_read(void **unused)
{
	struct tokenizer_options o = {.file = strdup(folder_path("t.json"))};
	static const char wrong[] = "\"\\{}[],:0x\xff";
	char text[sizeof(whole)];
	struct failure f;

	(void)unused;
	for (size_t i = 1; i < sizeof(whole) - 1; i++)
		for (size_t k = 0; k < sizeof(wrong); k++) {
			struct tokenizer *t = NULL;

			memcpy(text, whole, sizeof(whole));
			text[i] = wrong[k];
			folder_text("t.json", text);
			if (tokenizer_open(&t, &o, &f) == FAIL_NONE)
				tokenizer_close(t);
			else
				assert_non_null(strstr(f.text, "t.json"));
		}
	free((char *)(uintptr_t)o.file);
}

/*
 * The vocabulary has 4 entries and gaps, so that new tokens get the ids 4, 5, ... of others that it
 * has. If two tokens have one id, only the later is found and shown, whether they are looked for in
 * normalised text or not. A text that is not found is one unknown token.
 */
static void
test_of_two_added_tokens_with_one_id_the_later_one_counts(void **unused)
{
	static const char vocabulary[] =
	    "\"vocab\": {\"?\": 0, \"a\": 1, \"<s>\": 4, \"<t>\": 5}, \"merges\": []";
	static const struct {
		const char *claim, *token[3]; /* in their order */
		const char *ids;              /* of a<s>a<t>a<x>a<y>a */
		const char *shown[2];         /* for 4 and 5 */
	} rows[] = {
	    {"of the vocabulary alone", {"<s>", "<t>"}, "1 4 1 5 1 0 1 0 1", {"<s>", "<t>"}},
	    {"new ones alone", {"<x>", "<y>"}, "1 0 1 0 1 4 1 5 1", {"<x>", "<y>"}},
	    {"the new one is later", {"<s>", "<x>"}, "1 0 1 0 1 4 1 0 1", {"<x>", "<t>"}},
	    {"the new one is earlier", {"<x>", "<s>"}, "1 4 1 0 1 0 1 0 1", {"<s>", "<t>"}},
	    {"another id", {"<t>", "<x>"}, "1 0 1 5 1 4 1 0 1", {"<x>", "<t>"}},
	    {"both ids", {"<t>", "<x>", "<y>"}, "1 0 1 0 1 4 1 5 1", {"<x>", "<y>"}},
	    {"the one between", {"<x>", "<t>", "<y>"}, "1 0 1 0 1 4 1 5 1", {"<x>", "<y>"}},
	    {"the other order", {"<x>", "<y>", "<t>"}, "1 0 1 5 1 4 1 0 1", {"<x>", "<t>"}},
	};
	static const char *const truth[] = {"false", "true"};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim)
		for (unsigned bits = 0; bits < 8; bits++) { /* which of them are normalized */
			struct tokenizer_options o = {.file = strdup(folder_path("t.json"))};
			struct tokenizer *t = NULL;
			char text[2048], list[1024] = "";
			size_t n = 0;

			for (unsigned k = 0; k < 3 && rows[i].token[k] != NULL; k++)
				n += (size_t)snprintf(list + n, sizeof(list) - n,
				    "%s" ADDED_OF("%s", "%s"), k == 0 ? "" : ", ", rows[i].token[k],
				    truth[bits >> k & 1]);
			snprintf(text, sizeof(text),
			    "{\"added_tokens\": [%s], \"model\": {\"type\": \"BPE\", "
			    "\"unk_token\": \"?\", \"fuse_unk\": true, %s}}",
			    list, vocabulary);
			folder_text("t.json", text);
			assert_int_equal(tokenizer_open(&t, &o, &f), FAIL_NONE);
			assert_ids(t, "a<s>a<t>a<x>a<y>a", rows[i].ids);
			for (uint32_t k = 0; k < 2; k++) {
				const uint8_t *shown = tokenizer_bytes(t, 4 + k, &n);

				assert_int_equal(n, 3);
				assert_memory_equal(shown, rows[i].shown[k], 3);
			}
			tokenizer_close(t);
			free((char *)(uintptr_t)o.file);
		}
}

static enum fail_code
open_file(struct failure *f)
{
	struct tokenizer_options o = {.file = strdup(folder_path("t.json"))};
	struct tokenizer *t = NULL;
	enum fail_code code = tokenizer_open(&t, &o, f);

	tokenizer_close(t);
	free((char *)(uintptr_t)o.file);
	return code;
}

/* A file with n added tokens <0>, <1>, ...; half of them are looked for in normalised text. */
static void
write_added(int n)
{
	size_t room = (size_t)n * 160 + sizeof(whole), at;
	char *text = malloc(room);

	assert_non_null(text);
	at = (size_t)snprintf(text, room, "{\"added_tokens\": [");
	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, room - at,
		    "%s{\"id\": %d, \"content\": \"<%d>\", \"single_word\": false, "
		    "\"lstrip\": false, \"rstrip\": false, \"normalized\": %s, \"special\": true}",
		    i == 0 ? "" : ",", i + 4, i, i % 2 == 0 ? "false" : "true");
	snprintf(text + at, room - at, "]%s", strstr(whole, ", \"normalizer\""));
	folder_text("t.json", text);
	free(text);
}

static void
test_65536_added_tokens_are_taken_and_one_more_is_refused(void **unused)
{
	struct failure f;

	(void)unused;
	write_added(65536);
	if (open_file(&f) != FAIL_NONE)
		assert_string_equal(f.text, "");
	write_added(65537);
	assert_int_equal(open_file(&f), FAIL_DATA);
	assert_non_null(strstr(f.text, "at most 65536 are taken"));
}

static void
test_a_long_key_that_is_unknown_is_refused_wherever_it_is_cut(void **unused)
{
	(void)unused;
	for (int before = 55; before < 70; before++) {
		char new[128] = "\"";
		struct failure f;

		memset(new + 1, 'k', (size_t)before);
		memcpy(new + 1 + before, "\u00e9\u20ac\": 1, \"version\"",
		    sizeof("\u00e9\u20ac\": 1, \"version\""));
		write_changed("\"version\"", new);
		assert_int_equal(open_file(&f), FAIL_DATA);
		assert_null(strstr(f.text, "memory"));
	}
}

/* By prepend_scheme "first". "_" is no token of the model, and stands as the unknown one, 0. */
static void
test_a_prefix_of_the_first_word_is_put_before_a_documents_beginning_alone(void **unused)
{
	static const struct {
		const char *text;
		uint32_t id[8];
		size_t n;
	} row[] = {
	    {"ab", {0, 3}, 2},
	    {"a b", {0, 1, 0, 2}, 4},
	    {"a<x>b", {0, 1, 4, 2}, 4}, /* behind an added token there is no beginning */
	    {"<x>b", {4, 2}, 2},
	    {"a<x>b<x>ab", {0, 1, 4, 2, 4, 3}, 6},
	    {"<x><x>a b", {4, 4, 1, 0, 2}, 5},
	    {"", {0}, 0},
	};
	/* An added token is found before or after normalization. */
	static const char *const normalized[] = {"false", "true"};

	(void)unused;
	EACH_ROW(k, normalized) {
		struct tokenizer *t;
		struct encoder *e = NULL;
		char new[512];
		struct failure f;

		snprintf(new, sizeof(new),
		    "\"normalized\": %s, \"special\": true}], \"normalizer\": null, "
		    "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\", "
		    "\"prepend_scheme\": \"first\", \"split\": true}",
		    normalized[k]);
		t = open_changed(
		    "\"normalized\": false, \"special\": true}], \"normalizer\": " SPACE, new,
		    false, false);
		assert_int_equal(encoder_open(&e, t, &f), FAIL_NONE);
		EACH_ROW(i, row) {
			struct token_buffer ids = {NULL, 0, 0};

			assert_int_equal(
			    encoder_encode(e, row[i].text, strlen(row[i].text), &ids, &f),
			    FAIL_NONE);
			assert_int_equal(ids.n, row[i].n);
			for (size_t at = 0; at < ids.n; at++)
				assert_int_equal(ids.id[at], row[i].id[at]);
			free(ids.id);
		}
		encoder_close(e);
		tokenizer_close(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_files_that_say_the_same_have_one_fingerprint),
	    cmocka_unit_test(test_whatever_changes_ids_changes_the_fingerprint),
	    cmocka_unit_test(test_every_combination_of_flags_has_a_fingerprint_of_its_own),
	    cmocka_unit_test(test_ids_are_those_of_tokenizers),
	    cmocka_unit_test(test_many_pieces_have_the_ids_that_each_has_alone),
	    cmocka_unit_test(test_special_tokens_are_text_where_that_is_asked_for),
	    cmocka_unit_test(test_eos_is_an_added_token_or_one_of_the_vocabulary),
	    cmocka_unit_test(test_a_broken_file_is_refused_or_read),
	    cmocka_unit_test(test_of_two_added_tokens_with_one_id_the_later_one_counts),
	    cmocka_unit_test(test_65536_added_tokens_are_taken_and_one_more_is_refused),
	    cmocka_unit_test(test_a_long_key_that_is_unknown_is_refused_wherever_it_is_cut),
	    cmocka_unit_test(
		test_a_prefix_of_the_first_word_is_put_before_a_documents_beginning_alone),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
