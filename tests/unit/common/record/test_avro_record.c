#include "common/record/avro_record.h"

#include "tests/unit/test.h"

#define BYTES(bytes)      bytes, sizeof(bytes) - 1
#define RECORD(fields)    "{\"type\": \"record\", \"name\": \"R\", \"fields\": [" fields "]}"
#define FIELD(name, type) "{\"name\": \"" name "\", \"type\": " type "}"
#define LIST(type)        "{\"type\": \"array\", \"items\": " type "}"

struct item {
	int64_t number;
	double share;
};

struct record {
	char *name;
	struct item *item;
	size_t items_n;
	uint64_t hash;
};

static const struct avro_field item_fields[] = {
    AVRO_LONG(item, number, 0),
    AVRO_REAL(item, share, 0.5),
};
static const struct avro_table item_table = AVRO_TABLE(item_fields, struct item);
static const struct avro_field record_fields[] = {
    AVRO_PLAIN(TEXT, record, name),
    AVRO_LIST(record, "items", item, items_n, &item_table, 3),
    AVRO_PLAIN(HASH, record, hash),
};
static const struct avro_table record_table = AVRO_TABLE(record_fields, struct record);

#define NUMBERS                                                                                    \
	LIST("{\"type\": \"record\", \"name\": \"I\", \"fields\": [" FIELD(                        \
	    "number", "\"long\"") "]}")

static void
test_a_field_is_found_by_name_in_any_order_and_what_is_not_wanted_is_passed_over(void **unused)
{
	const char *schema = RECORD(FIELD("more", LIST("\"string\"")) "," FIELD("items",
	    NUMBERS) "," FIELD("flag", "[\"null\", \"boolean\"]") "," FIELD("name", "\"string\""));
	struct record r;
	struct failure f;

	(void)unused;
	/* Two blocks of items; of the second one the bytes are counted. */
	assert_int_equal(avro_record_decode_with(schema, &record_table, &r,
			     (const uint8_t *)BYTES("\2\4ab\0"
						    "\4\2\4"
						    "\1\2\6"
						    "\0"
						    "\2\1"
						    "\4ok"),
			     &f),
	    FAIL_NONE);
	assert_string_equal(r.name, "ok");
	assert_int_equal(r.items_n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(r.item[i].number, i + 1);
		assert_true(r.item[i].share == 0.5); /* the schema has none */
	}
	assert_int_equal(r.hash, 0);
	avro_record_clear(&record_table, &r);
}

static void
test_what_a_table_does_not_allow_is_named_and_nothing_is_left(void **unused)
{
	static const struct {
		const char *schema, *bytes;
		size_t n;
		const char *text;
	} cases[] = {
	    {RECORD(FIELD("items", NUMBERS)), BYTES("\4\2\1\0"),
		"items: item 1: number: a number out of range"},
	    {RECORD(FIELD("items", NUMBERS)), BYTES("\4\2\2\4\2\2\0"),
		"items: 4 items are more than 3"},
	    {RECORD(FIELD("items", LIST("\"long\""))), BYTES("\2\2\0"),
		"items: item 0: of another type than was expected"},
	    {RECORD(FIELD("items", "\"long\"")), BYTES("\2"),
		"items: of another type than was expected"},
	    {RECORD(FIELD("name", "[\"null\", \"string\"]")), BYTES("\0"),
		"name: of another type than was expected"},
	    {RECORD(FIELD("name", "\"string\"")), BYTES("\4a\0"),
		"name: a string with a NUL byte in it"},
	    {RECORD(FIELD("hash", "{\"type\": \"fixed\", \"name\": \"F\", \"size\": 7}")),
		BYTES("1234567"), "hash: of another type than was expected"},
	    {RECORD(FIELD("name", "\"string\"") "," FIELD("hash", "\"long\"")), BYTES("\2a\2"),
		"hash: of another type than was expected"},
	    {"\"long\"", BYTES("\2"), "of another type than was expected"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, schema) {
		static const struct record none;
		struct record r;
		struct failure f = {0};

		assert_int_equal(avro_record_decode_with(cases[i].schema, &record_table, &r,
				     (const uint8_t *)cases[i].bytes, cases[i].n, &f),
		    FAIL_DATA);
		assert_string_equal(f.text, cases[i].text);
		assert_memory_equal(&r, &none, sizeof(r));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_a_field_is_found_by_name_in_any_order_and_what_is_not_wanted_is_passed_over),
	    cmocka_unit_test(test_what_a_table_does_not_allow_is_named_and_nothing_is_left),
	};

	return cmocka_run_group_tests_name("avro_record", tests, NULL, NULL);
}
