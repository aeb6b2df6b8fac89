#include "common/base/json_field.h"

#include "common/base/json_text.h"
#include "tests/unit/test.h"

/* Reads from a copy of exactly the text's size, so that a sanitizer sees any look beyond it. */
static enum fail_code
fields(const char *const *path, size_t n, const char *text, size_t text_n, char *out, size_t room,
    struct failure *f)
{
	struct json_field_value value[JSON_FIELD_PATHS_MAX];
	struct json_field_scratch *scratch;
	struct json_field_paths *paths;
	char *copy = malloc(text_n == 0 ? 1 : text_n);
	enum fail_code code;
	size_t at = 0;

	memcpy(copy, text, text_n);
	out[0] = '\0';
	assert_int_equal(json_field_paths_open(&paths, path, n, f), FAIL_NONE);
	assert_int_equal(json_field_scratch_open(&scratch, f), FAIL_NONE);
	code = json_field_read(paths, scratch, copy, text_n, value, f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++) {
		static const char *const kinds[] = {"-", "s:", "o:"};

		at += (size_t)snprintf(out + at, room - at, "%s%s%.*s", i > 0 ? "|" : "",
		    kinds[value[i].found],
		    value[i].found == JSON_FIELD_MISSING ? 0 : (int)value[i].n,
		    value[i].found == JSON_FIELD_MISSING ? "" : value[i].bytes);
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
	free(copy);
	return code;
}

static void
test_fields_are_found_by_their_paths(void **unused)
{
	static const struct {
		const char *text, *expected; /* of the paths text, meta.source, meta, a.b.c */
	} rows[] = {
	    {"{}", "-|-|-|-"},
	    {" \t\r\n{ } \n", "-|-|-|-"},
	    {"{\"text\":\"x\"}", "s:x|-|-|-"},
	    {"{\"text\" : \"\" , \"meta\" : { \"source\" : \"y\" } }",
		"s:|s:y|o:{ \"source\" : \"y\" }|-"},
	    {"{\"text\":3,\"meta\":{\"source\":true}}", "o:3|o:true|o:{\"source\":true}|-"},
	    {"{\"text\":null}", "o:null|-|-|-"},
	    {"{\"text\":[\"a\", {\"b\":1}]}", "o:[\"a\", {\"b\":1}]|-|-|-"},
	    {"{\"meta\":\"string\"}", "-|-|s:string|-"},
	    {"{\"a\":{\"b\":{\"c\":\"deep\"}}}", "-|-|-|s:deep"},
	    {"{\"a\":{\"b\":{\"c\":{\"d\":1}}}}", "-|-|-|o:{\"d\":1}"},
	    {"{\"b\":{\"c\":1},\"a\":{\"c\":1,\"x\":{\"b\":{\"c\":1}}}}", "-|-|-|-"},
	    {"{\"texts\":\"x\",\"tex\":\"y\",\"Text\":\"z\",\"\":\"e\"}", "-|-|-|-"},
	    {"{\"meta.source\":\"x\"}", "-|-|-|-"},
	    /* The last of equal keys counts, and whatever was under the others does not. */
	    {"{\"text\":\"x\",\"text\":\"y\"}", "s:y|-|-|-"},
	    {"{\"text\":\"\\n1\",\"text\":\"\\n2\",\"meta\":\"\\n3\"}", "s:\n2|-|s:\n3|-"},
	    {"{\"text\":\"x\",\"text\":1}", "o:1|-|-|-"},
	    {"{\"meta\":{\"source\":\"x\"},\"meta\":{}}", "-|-|o:{}|-"},
	    {"{\"meta\":{\"source\":\"x\"},\"meta\":7}", "-|-|o:7|-"},
	    {"{\"meta\":{\"source\":\"x\",\"source\":\"y\"}}",
		"-|s:y|o:{\"source\":\"x\",\"source\":\"y\"}|-"},
	    /* A key is what its escapes say. */
	    {"{\"te\\u0078t\":\"x\"}", "s:x|-|-|-"},
	    {"{\"\\u006deta\":{\"sourc\\u0065\":\"\\u0041\"}}",
		"-|s:A|o:{\"sourc\\u0065\":\"\\u0041\"}|-"},
	    {"{\"text\\u0000\":\"x\"}", "-|-|-|-"},
	};
	static const char *const paths[] = {"text", "meta.source", "meta", "a.b.c"};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		char out[512];
		struct failure f;

		assert_int_equal(
		    fields(paths, 4, rows[i].text, strlen(rows[i].text), out, sizeof(out), &f),
		    FAIL_NONE);
		assert_string_equal(out, rows[i].expected);
	}
}

static void
test_escapes_are_decoded(void **unused)
{
	static const char *const rows[][2] = {
	    {"plain", "plain"},
	    {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
	    {"a\\nb", "a\nb"},
	    {"\\u0041\\u00e9\\u00E9\\u20ac", "A\xc3\xa9\xc3\xa9\xe2\x82\xac"},
	    {"\\u007f\\u0080\\u07ff\\u0800\\uffff", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
	    {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
	    {"\\uD800\\uDC00\\uDBFF\\uDFFF", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
	    /* Surrogates that are alone: U+FFFD each. */
	    {"\\ud83d", "\xef\xbf\xbd"},
	    {"\\ude00", "\xef\xbf\xbd"},
	    {"\\ud83dx", "\xef\xbf\xbdx"},
	    {"\\ud83d\\n", "\xef\xbf\xbd\n"},
	    {"\\ud83d\\u0041", "\xef\xbf\xbd"
			       "A"},
	    {"\\ud83d\\ue000", "\xef\xbf\xbd\xee\x80\x80"},
	    {"\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
	    {"\\ude00\\ud83d", "\xef\xbf\xbd\xef\xbf\xbd"},
	    {"\\ud7ff\\ue000", "\xed\x9f\xbf\xee\x80\x80"},
	    /* Bytes that are no UTF-8 go through; they are for the router. */
	    {"\xff\xc3(\\n\xed\xa0\x80", "\xff\xc3(\n\xed\xa0\x80"},
	    {"\x7f", "\x7f"},
	    {"0123456\\n", "0123456\n"},
	    {"01234567\\n01234567\\n", "01234567\n01234567\n"},
	    {"0123456789abcdef0\\\\", "0123456789abcdef0\\"},
	};
	static const char *const paths[] = {"text"};

	(void)unused;
	EACH_ROW(i, rows) {
		char text[128], out[128];
		struct failure f;

		snprintf(text, sizeof(text), "{\"text\":\"%s\"}", rows[i][0]);
		assert_int_equal(
		    fields(paths, 1, text, strlen(text), out, sizeof(out), &f), FAIL_NONE);
		assert_memory_equal(out, "s:", 2);
		assert_string_equal(out + 2, rows[i][1]);
	}
}

static void
test_what_is_wrong_is_told_with_its_byte(void **unused)
{
	static const char *const rows[][2] = {
	    {"", "byte 0: the text ends too early"},
	    {"  ", "byte 2: the text ends too early"},
	    {"{", "byte 1: the text ends too early"},
	    {"{\"a\":1", "byte 6: the text ends too early"},
	    {"{\"a", "byte 3: the text ends too early"},
	    {"{\"a\"", "byte 4: the text ends too early"},
	    {"{\"a\":", "byte 5: the text ends too early"},
	    {"{\"a\":1,", "byte 7: the text ends too early"},
	    {"{\"a\":1,}", "byte 7: a key in quotes is missing"},
	    {"{,}", "byte 1: a key in quotes is missing"},
	    {"{a:1}", "byte 1: a key in quotes is missing"},
	    {"{\"a\" 1}", "byte 5: a colon is missing after the key"},
	    {"{\"a\":1 \"b\":2}", "byte 7: a comma or } is missing"},
	    {"{\"b\":{\"a\":1]}", "byte 11: a comma or } is missing"},
	    {"{\"b\":[1 2]}", "byte 8: a comma or ] is missing"},
	    {"{\"b\":[1,]}", "byte 8: a value is missing"},
	    {"{\"a\":}", "byte 5: a value is missing"},
	    {"{\"a\":1} x", "byte 8: something follows the value"},
	    {"{\"a\":1}{}", "byte 7: something follows the value"},
	    {"{\"a\":01}", "byte 6: a comma or } is missing"},
	    {"{\"a\":-}", "byte 6: a digit is missing"},
	    {"{\"a\":1.}", "byte 7: a digit is missing"},
	    {"{\"a\":1e}", "byte 7: a digit is missing"},
	    {"{\"a\":+1}", "byte 5: a value is missing"},
	    {"{\"a\":.5}", "byte 5: a value is missing"},
	    {"{\"a\":tru}", "byte 8: no such value; a string wants quotes"},
	    {"{\"a\":NaN}", "byte 5: a value is missing"},
	    {"{\"a\":\"\\x\"}", "byte 7: no such escape"},
	    {"{\"a\":\"\\u12g4\"}", "byte 10: \\u takes four hexadecimal digits"},
	    {"{\"a\":\"\\ud800\\u12\"}", "byte 16: \\u takes four hexadecimal digits"},
	    {"{\"a\":\"b\nc\"}", "byte 7: a control character in a string must be escaped"},
	    {"{\"b\":\"b\tc\"}", "byte 7: a control character in a string must be escaped"},
	    {"{\"b\":\"0123456789\x1f 0123456789\"}",
		"byte 16: a control character in a string must be escaped"},
	    {"{\"a\tb\":1}", "byte 3: a control character in a string must be escaped"},
	    {"\xef\xbb\xbf{}", "byte 0: a value is missing"},
	    {"[1]", "byte 0: an object is wanted"},
	    {"\"a\"", "byte 0: an object is wanted"},
	    {"[1", "byte 2: the text ends too early"},
	};
	static const char *const paths[] = {"a"};

	(void)unused;
	EACH_ROW(i, rows) {
		char out[128];
		struct failure f;

		assert_int_equal(
		    fields(paths, 1, rows[i][0], strlen(rows[i][0]), out, sizeof(out), &f),
		    FAIL_DATA);
		assert_memory_equal(f.text, "invalid JSON at ", 16);
		assert_string_equal(f.text + 16, rows[i][1]);
	}
}

/* Writes `depth` containers, the first an object, with the value of path a.a at the second. */
static size_t
nest(char *text, size_t depth, bool objects)
{
	size_t n = 0;

	for (size_t i = 0; i < depth; i++)
		n += (size_t)snprintf(text + n, 8, "%s", i == 0 || objects ? "{\"a\":" : "[");
	text[n++] = '1';
	for (size_t i = depth; i-- > 0;)
		text[n++] = i == 0 || objects ? '}' : ']';
	return n;
}

static void
test_512_levels_are_allowed_and_no_more(void **unused)
{
	static const char *const shallow[] = {"b"}, *const deep[] = {"a.a"};
	char text[8192], out[8192];
	struct failure f;

	(void)unused;
	for (int objects = 0; objects < 2; objects++)
		for (int wanted = 0; wanted < 2; wanted++) {
			size_t n = nest(text, JSON_TEXT_DEPTH_MAX, objects);

			assert_int_equal(
			    fields(wanted ? deep : shallow, 1, text, n, out, sizeof(out), &f),
			    FAIL_NONE);
			n = nest(text, JSON_TEXT_DEPTH_MAX + 1, objects);
			assert_int_equal(
			    fields(wanted ? deep : shallow, 1, text, n, out, sizeof(out), &f),
			    FAIL_DATA);
			assert_non_null(strstr(f.text, "nested more than 512 deep"));
		}
}

static void
test_a_path_may_be_as_deep_as_the_nesting(void **unused)
{
	char path[2 * JSON_TEXT_DEPTH_MAX + 2], text[8192], out[64];
	const char *const paths[] = {path};
	struct json_field_paths *p;
	struct failure f;

	(void)unused;
	for (size_t i = 0; i < JSON_TEXT_DEPTH_MAX; i++)
		memcpy(path + 2 * i, "a.", 2);
	path[2 * JSON_TEXT_DEPTH_MAX - 1] = '\0';
	assert_int_equal(
	    fields(paths, 1, text, nest(text, JSON_TEXT_DEPTH_MAX, true), out, sizeof(out), &f),
	    FAIL_NONE);
	assert_string_equal(out, "o:1");
	memcpy(path + 2 * JSON_TEXT_DEPTH_MAX - 1, ".a", 3);
	assert_int_equal(json_field_paths_open(&p, paths, 1, &f), FAIL_CONFIG);
}

static void
test_paths_that_cannot_be_are_refused(void **unused)
{
	static const char *const bad[] = {"", ".", "a.", ".a", "a..b"};
	const char *many[JSON_FIELD_PATHS_MAX + 1];
	struct json_field_paths *p;
	struct failure f;

	(void)unused;
	EACH_ROW(i, bad) {
		assert_int_equal(json_field_paths_open(&p, &bad[i], 1, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, "has an empty part"));
	}
	for (size_t i = 0; i <= JSON_FIELD_PATHS_MAX; i++)
		many[i] = "a.b";
	assert_int_equal(json_field_paths_open(&p, many, JSON_FIELD_PATHS_MAX, &f), FAIL_NONE);
	json_field_paths_close(p);
	assert_int_equal(
	    json_field_paths_open(&p, many, JSON_FIELD_PATHS_MAX + 1, &f), FAIL_CONFIG);
}

/* Every prefix of a text is looked at, and nothing beyond it. */
static void
test_a_text_cut_anywhere_is_invalid(void **unused)
{
	static const char text[] =
	    "{\"a\" : [1.5e+7, true ,false,null,{\"x\":\"\\u00e9\\ud83d\\ude00"
	    "long enough for a word\"}], \"text\":\"abc\\n0123456789\\u0041\"}";
	static const char *const paths[] = {"text", "a"};
	char out[256];
	struct failure f;

	(void)unused;
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		assert_int_equal(fields(paths, 2, text, n, out, sizeof(out), &f), FAIL_DATA);
	assert_int_equal(fields(paths, 2, text, sizeof(text) - 1, out, sizeof(out), &f), FAIL_NONE);
}

static void
test_a_scratch_serves_texts_of_growing_and_shrinking_size(void **unused)
{
	static const char *const path[] = {"t"};
	struct json_field_value value;
	struct json_field_scratch *scratch;
	struct json_field_paths *paths;
	struct failure f;

	(void)unused;
	assert_int_equal(json_field_paths_open(&paths, path, 1, &f), FAIL_NONE);
	assert_int_equal(json_field_scratch_open(&scratch, &f), FAIL_NONE);
	for (size_t n = 1; n < 200000; n = n * 3 % 200003 + 1) {
		char *text = malloc(2 * n + 8);
		size_t at = 6;

		memcpy(text, "{\"t\":\"", 6);
		for (size_t i = 0; i < n; i++) {
			text[at++] = '\\';
			text[at++] = 'n';
		}
		memcpy(text + at, "\"}", 2);
		assert_int_equal(
		    json_field_read(paths, scratch, text, at + 2, &value, &f), FAIL_NONE);
		assert_int_equal(value.n, n);
		assert_true(value.bytes[0] == '\n' && value.bytes[n - 1] == '\n');
		free(text);
		if (n > 150000)
			break;
	}
	for (int i = 0; i < 3; i++) { /* each text has the scratch from its beginning on */
		const char *before = value.bytes;

		assert_int_equal(
		    json_field_read(paths, scratch, "{\"t\":\"\\n\"}", 10, &value, &f), FAIL_NONE);
		assert_true(i == 0 || value.bytes == before);
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fields_are_found_by_their_paths),
	    cmocka_unit_test(test_escapes_are_decoded),
	    cmocka_unit_test(test_what_is_wrong_is_told_with_its_byte),
	    cmocka_unit_test(test_512_levels_are_allowed_and_no_more),
	    cmocka_unit_test(test_a_path_may_be_as_deep_as_the_nesting),
	    cmocka_unit_test(test_paths_that_cannot_be_are_refused),
	    cmocka_unit_test(test_a_text_cut_anywhere_is_invalid),
	    cmocka_unit_test(test_a_scratch_serves_texts_of_growing_and_shrinking_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
