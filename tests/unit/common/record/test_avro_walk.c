#include "common/record/avro_walk.h"

#include "tests/unit/test.h"

#define LINKED                                                                                     \
	"{\"type\": \"record\", \"name\": \"Link\", \"fields\": ["                                 \
	"{\"name\": \"next\", \"type\": [\"null\", \"Link\"]}]}"
#define ARRAY(items) "{\"type\": \"array\", \"items\": " items "}"
#define BYTES(bytes) bytes, sizeof(bytes) - 1

static enum fail_code
walk(const char *schema, const void *bytes, size_t n, struct failure *f)
{
	uint8_t *copy = malloc(n == 0 ? 1 : n);
	avro_schema_t parsed;
	enum fail_code code;

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	assert_int_equal(avro_schema_from_json_length(schema, strlen(schema), &parsed), 0);
	code = avro_walk(parsed, copy, n, f);
	avro_schema_decref(parsed);
	free(copy);
	return code;
}

static void
test_each_type_is_walked_within_its_bounds(void **unused)
{
	static const struct {
		const char *schema, *bytes;
		size_t n;
		const char *text; /* NULL: good; else the complaint */
	} cases[] = {
	    {"\"null\"", BYTES(""), NULL},
	    {"\"null\"", BYTES("\0"), "after the last field: 1 trailing bytes at byte 0"},
	    {"\"boolean\"", BYTES("\1"), NULL},
	    {"\"boolean\"", BYTES("\2"), "a boolean that is neither 0 nor 1 at byte 0"},
	    {"\"int\"", BYTES("\xfe\xff\xff\xff\x0f"), NULL},
	    {"\"int\"", BYTES("\xff\xff\xff\xff\x0f"), NULL},
	    {"\"int\"", BYTES("\x80\x80\x80\x80\x10"), "a number out of range at byte 0"},
	    {"\"long\"", BYTES("\x80\x80\x80\x80\x10"), NULL},
	    {"\"float\"", BYTES("1234"), NULL},
	    {"\"float\"", BYTES("123"), "the record ends in the middle of fixed bytes at byte 0"},
	    {"\"double\"", BYTES("12345678"), NULL},
	    {"\"double\"", BYTES("1234567"),
		"the record ends in the middle of fixed bytes at byte 0"},
	    {"\"string\"", BYTES("\4ab"), NULL},
	    {"\"string\"", BYTES("\4a"), "a length beyond the end of the record at byte 0"},
	    {"\"bytes\"", BYTES("\1"), "a negative length at byte 0"},
	    {"{\"type\": \"fixed\", \"name\": \"F\", \"size\": 3}", BYTES("abc"), NULL},
	    {"{\"type\": \"fixed\", \"name\": \"F\", \"size\": 3}", BYTES("ab"),
		"the record ends in the middle of fixed bytes at byte 0"},
	    {"{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [\"A\", \"B\"]}", BYTES("\2"),
		NULL},
	    {"{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [\"A\", \"B\"]}", BYTES("\4"),
		"a number out of range at byte 0"},
	    {"{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [\"A\", \"B\"]}", BYTES("\1"),
		"a number out of range at byte 0"},
	    {"[\"null\", \"long\"]", BYTES("\2\2"), NULL},
	    {"[\"null\", \"long\"]", BYTES("\4\2"), "a number out of range at byte 0"},
	    {ARRAY("\"long\""), BYTES("\4\2\2\2\2\0"), NULL},
	    {ARRAY("\"long\""), BYTES("\4\2\x80"),
		"item 1: the record ends in the middle of a number at byte 2"},
	    {ARRAY("\"null\""), BYTES("\xfe\xff\xff\xff\x0f\0"),
		"a block of more items than there are bytes left at byte 0"},
	    {"{\"type\": \"map\", \"values\": \"long\"}", BYTES("\2\2k\2\0"), NULL},
	    {"{\"type\": \"map\", \"values\": \"long\"}", BYTES("\2\11k\2\0"),
		"item 0: a negative length at byte 1"},
	    {"{\"type\": \"map\", \"values\": \"double\"}", BYTES("\2\11k\2\0"),
		"item 0: a negative length at byte 1"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, schema) {
		struct failure f = {0};
		enum fail_code code = walk(cases[i].schema, cases[i].bytes, cases[i].n, &f);

		assert_int_equal(code, cases[i].text == NULL ? FAIL_NONE : FAIL_DATA);
		assert_string_equal(f.text, cases[i].text == NULL ? "" : cases[i].text);
	}
}

static void
test_items_of_all_lists_together_are_bounded(void **unused)
{
	/* Four arrays of a quarter each, one byte an item, with or without one more item. */
	const size_t quarter = AVRO_WALK_ITEMS_MAX / 4;
	uint8_t *bytes = calloc(4, quarter + 8);
	struct failure f;

	(void)unused;
	assert_non_null(bytes);
	for (size_t more = 0; more < 2; more++) {
		size_t n = 0;

		bytes[n++] = 8; /* four inner arrays */
		for (size_t i = 0; i < 4; i++) {
			uint64_t rest = 2 * (quarter - (i == 0 ? 4 : 0) + (i == 3 ? more : 0));

			for (; rest >= 0x80; rest >>= 7)
				bytes[n++] = (uint8_t)(rest | 0x80);
			bytes[n++] = (uint8_t)rest;
			n += quarter - (i == 0 ? 4 : 0) + (i == 3 ? more : 0);
			bytes[n++] = 0;
		}
		bytes[n++] = 0;
		assert_int_equal(
		    walk(ARRAY(ARRAY("\"boolean\"")), bytes, n, &f), more ? FAIL_DATA : FAIL_NONE);
		memset(bytes, 0, 4 * (quarter + 8));
	}
	assert_string_equal(f.text, "item 3: more than 1048576 items in one record");
	free(bytes);
}

static void
test_nesting_is_bounded(void **unused)
{
	/* A link of the list is a record, a union and a reference: three of the depth. */
	uint8_t bytes[AVRO_WALK_DEPTH_MAX];
	struct failure f;

	(void)unused;
	memset(bytes, 2, sizeof(bytes));
	bytes[10] = 0;
	assert_int_equal(walk(LINKED, bytes, 11, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "nested more than 32 deep"));
	bytes[9] = 0;
	assert_int_equal(walk(LINKED, bytes, 10, &f), FAIL_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_type_is_walked_within_its_bounds),
	    cmocka_unit_test(test_items_of_all_lists_together_are_bounded),
	    cmocka_unit_test(test_nesting_is_bounded),
	};

	return cmocka_run_group_tests_name("avro_walk", tests, NULL, NULL);
}
