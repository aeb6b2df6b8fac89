#include "cli/json_writer.h"

#include <jansson.h>
#include <math.h>

#include "tests/unit/memory.h"
#include "tests/unit/test.h"

static void
write_all(struct json_writer *w)
{
	json_writer_begin(w, NULL, '{');
	json_writer_begin(w, "empty", '[');
	json_writer_end(w, ']');
	json_writer_integer(w, "least", INT64_MIN);
	json_writer_integer(w, "zero", 0);
	json_writer_begin(w, "list", '[');
	json_writer_integer(w, NULL, INT64_MAX);
	json_writer_boolean(w, NULL, true);
	json_writer_boolean(w, NULL, false);
	json_writer_null(w, NULL);
	json_writer_begin(w, NULL, '{');
	json_writer_end(w, '}');
	json_writer_end(w, ']');
	json_writer_double(w, "small", 2.384185791015625e-7);
	json_writer_double(w, "large", 1.1805916207174113e21);
	json_writer_double(w, "quarter", 0.25);
	json_writer_double(w, "whole", 3);
	json_writer_double(w, "no number", (double)NAN);
	json_writer_text(w, "text", "a \"b\" \\ \n \x01 \xc3\xa9");
	json_writer_text(w, "none", NULL);
	json_writer_text(w, "bytes", "\xff");
	json_writer_key(w, "k\"ey");
	json_writer_begin(w, NULL, '[');
	json_writer_float(w, NULL, 0.25);
	json_writer_float(w, NULL, 0.25);
	json_writer_float(w, NULL, -1.5);
	json_writer_end(w, ']');
	json_writer_end(w, '}');
}

static void
test_the_text_is_that_of_jansson(void **unused)
{
	(void)unused;
	for (int compact = 0; compact < 2; compact++) {
		struct json_writer w = {.compact = compact == 1};
		char *text, *again;
		json_t *value;
		size_t n;
		struct failure f;

		write_all(&w);
		assert_int_equal(json_writer_take(&w, &text, &n, &f), FAIL_NONE);
		assert_int_equal(n, strlen(text));
		assert_int_equal(text[n - 1], '\n');
		text[n - 1] = '\0';
		value = json_loads(text, 0, NULL);
		assert_non_null(value);
		again = json_dumps(
		    value, JSON_PRESERVE_ORDER | (compact ? JSON_COMPACT : JSON_INDENT(2)));
		assert_non_null(again);
		assert_string_equal(text, again);
		assert_string_equal(json_string_value(json_object_get(value, "text")),
		    "a \"b\" \\ \n \x01 \xc3\xa9");
		assert_string_equal(
		    json_string_value(json_object_get(value, "bytes")), "(not UTF-8)");
		assert_true(json_is_null(json_object_get(value, "no number")));
		assert_true(json_is_real(json_object_get(value, "whole")));
		assert_int_equal(
		    json_integer_value(json_object_get(value, "least")), (json_int_t)INT64_MIN);
		json_decref(value);
		free(again);
		free(text);
	}
}

/* To the byte, for numbers on both sides of each digit more. */
static void
test_integers_and_keys_are_printed_whole(void **unused)
{
	static const char compact[] =
	    "{\"a\":[0,9,10,99,100,-1,-9,-10,-100,9223372036854775807,-9223372036854775808],"
	    "\"known\":-7,\"unknown\":null,\"b\":{\"c\":true},\"d\":[],\"e\":\"x\"}\n";
	static const char spread[] = "{\n  \"a\": [\n    -1,\n    {\n      \"b\": 2,\n      "
				     "\"c\": []\n    }\n  ],\n  \"d\": {}\n}\n";
	static const int64_t numbers[] = {
	    0, 9, 10, 99, 100, -1, -9, -10, -100, INT64_MAX, INT64_MIN};
	struct json_writer w = {.compact = true}, v = {.compact = false};
	struct failure f;
	char *text;
	size_t n;

	(void)unused;
	json_writer_begin(&w, NULL, '{');
	json_writer_begin(&w, "a", '[');
	EACH_ROW(i, numbers)
		json_writer_integer(&w, NULL, numbers[i]);
	json_writer_end(&w, ']');
	json_writer_known(&w, "known", true, -7);
	json_writer_known(&w, "unknown", false, -7);
	json_writer_begin(&w, "b", '{');
	json_writer_boolean(&w, "c", true);
	json_writer_end(&w, '}');
	json_writer_begin(&w, "d", '[');
	json_writer_end(&w, ']');
	json_writer_text(&w, "e", "x");
	json_writer_end(&w, '}');
	assert_int_equal(json_writer_take(&w, &text, &n, &f), FAIL_NONE);
	assert_string_equal(text, compact);
	assert_int_equal(n, strlen(compact));
	free(text);
	json_writer_begin(&v, NULL, '{');
	json_writer_begin(&v, "a", '[');
	json_writer_integer(&v, NULL, -1);
	json_writer_begin(&v, NULL, '{');
	json_writer_integer(&v, "b", 2);
	json_writer_begin(&v, "c", '[');
	json_writer_end(&v, ']');
	json_writer_end(&v, '}');
	json_writer_end(&v, ']');
	json_writer_begin(&v, "d", '{');
	json_writer_end(&v, '}');
	json_writer_end(&v, '}');
	assert_int_equal(json_writer_take(&v, &text, &n, &f), FAIL_NONE);
	assert_string_equal(text, spread);
	free(text);
}

static void
test_a_double_is_read_back_to_its_last_bit(void **unused)
{
	static const double value[] = {
	    0.1, 1.0 / 3, 2.5e-7, 1e300, 5e-324, -0.0, 123456789012345680.0, 6.02214076e23};
	struct json_writer w = {.compact = true};
	char *text;
	json_t *list;
	size_t n;
	struct failure f;

	(void)unused;
	json_writer_begin(&w, NULL, '[');
	EACH_ROW(i, value)
		json_writer_double(&w, NULL, value[i]);
	json_writer_end(&w, ']');
	assert_int_equal(json_writer_take(&w, &text, &n, &f), FAIL_NONE);
	list = json_loads(text, 0, NULL);
	assert_non_null(list);
	EACH_ROW(i, value) {
		double read = json_real_value(json_array_get(list, i));

		assert_memory_equal(&read, &value[i], sizeof(read));
	}
	json_decref(list);
	free(text);
}

/* The last number's text is only reused for an equal number. */
static void
test_a_float_is_printed_with_its_own_seven_digits(void **unused)
{
	static const double value[] = {0, 0, 1e-12, 3e-12, 3e-12, -3e-12, 0.25, 0.2500001, 0.25,
	    0.2500001, (double)NAN, 0.2500001, 0, 1e21, 1e-7, (double)INFINITY, 1e21, 1e21,
	    123456789, 123456788, 2, -2, -2, 0};
	struct json_writer w = {.compact = true}, fresh = {.compact = true};
	char *text[2];
	size_t n;
	struct failure f;

	(void)unused;
	json_writer_begin(&w, NULL, '[');
	json_writer_begin(&fresh, NULL, '[');
	EACH_ROW(i, value) {
		json_writer_float(&w, NULL, value[i]);
		fresh.text_n = 0;
		json_writer_float(&fresh, NULL, value[i]);
		if (i == 7)
			assert_memory_equal(fresh.text, "0.2500001", 9);
	}
	json_writer_end(&w, ']');
	json_writer_end(&fresh, ']');
	assert_int_equal(json_writer_take(&w, &text[0], &n, &f), FAIL_NONE);
	assert_int_equal(json_writer_take(&fresh, &text[1], &n, &f), FAIL_NONE);
	assert_string_equal(text[0], text[1]);
	free(text[0]);
	free(text[1]);
}

/* Taking leaves nothing for the next text: no bytes, no number, no comma. */
static void
test_a_writer_that_was_taken_writes_as_a_fresh_one(void **unused)
{
	struct json_writer w = {.compact = true};
	char *text[2];
	size_t n[2];
	struct failure f;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		write_all(&w);
		assert_int_equal(json_writer_take(&w, &text[i], &n[i], &f), FAIL_NONE);
		assert_true(w.compact && w.b.n == 0 && w.text_n == 0 && !w.item && !w.keyed);
	}
	assert_string_equal(text[0], text[1]);
	free(text[0]);
	free(text[1]);
}

static enum fail_code
write_and_take(uint64_t *gave, struct failure *f)
{
	struct json_writer w = {.compact = true};
	char *text;
	size_t n;

	write_all(&w);
	if (json_writer_take(&w, &text, &n, f) != FAIL_NONE)
		return f->code;
	*gave = n;
	free(text);
	return FAIL_NONE;
}

static void
test_without_memory_there_is_the_whole_text_or_none(void **unused)
{
	(void)unused;
	memory_spares_jansson = true;
	memory_walk("json_writer", write_and_take);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_text_is_that_of_jansson),
	    cmocka_unit_test(test_integers_and_keys_are_printed_whole),
	    cmocka_unit_test(test_a_double_is_read_back_to_its_last_bit),
	    cmocka_unit_test(test_a_float_is_printed_with_its_own_seven_digits),
	    cmocka_unit_test(test_a_writer_that_was_taken_writes_as_a_fresh_one),
	    cmocka_unit_test(test_without_memory_there_is_the_whole_text_or_none),
	};

	return cmocka_run_group_tests_name("json_writer", tests, NULL, NULL);
}
