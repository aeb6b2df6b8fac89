/* init_field.h: which field of records holds the text. */
#include "cli/config/init_field.h"

#include "tests/unit/folder.h"

#define LONG     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define RARE     "{\"a\": \"0123456789\", \"b\": \"1\"}\n"
#define SHORT    "{\"b\": \"1\"}\n"
#define TWICE(x) x x
#define NINE(x)  x x x x x x x x x

static const struct {
	const char *claim, *text;
	struct init_field expected;
} rows[] = {
    {"the field with most bytes", "{\"id\": \"a1\", \"body\": \"A cat is here\", \"n\": 7}\n",
	{.path = "body", .records = 1, .bytes = 13}},
    {"text counts, and a longer one is the rival",
	"{\"text\": \"abc\", \"body\": \"0123456789\"}\n",
	{.path = "text", .rival = "body", .records = 1, .bytes = 3}},
    {"half as many bytes are a rival", "{\"a\": \"0123456789\", \"b\": \"01234\"}\n",
	{.path = "a", .rival = "b", .records = 1, .bytes = 10}},
    {"fewer are none", "{\"a\": \"0123456789\", \"b\": \"0123\"}\n",
	{.path = "a", .records = 1, .bytes = 10}},
    {"of equal ones the first", "{\"b\": \"0123\", \"a\": \"0123\"}\n",
	{.path = "b", .rival = "a", .records = 1, .bytes = 4}},
    {"bytes of all records", "{\"a\": \"0\"}\n{\"a\": \"012\"}\n",
	{.path = "a", .records = 2, .bytes = 4}},
    {"a field in a field", "{\"doc\": {\"meta\": {\"body\": \"0123\"}}, \"id\": \"0\"}\n",
	{.path = "doc.meta.body", .records = 1, .bytes = 4}},
    {"four levels", "{\"a\": {\"b\": {\"c\": {\"d\": \"0123\"}}}}\n",
	{.path = "a.b.c.d", .records = 1, .bytes = 4}},
    {"and no more", "{\"a\": {\"b\": {\"c\": {\"d\": {\"e\": \"0123\"}}}}, \"f\": \"0\"}\n",
	{.path = "f", .records = 1, .bytes = 1}},
    {"a key that is no part of a path", "{\"a.b\": \"0123\", \"\": \"0123\", \"c\": \"0\"}\n",
	{.path = "c", .records = 1, .bytes = 1}},
    {"a path that is too long", "{\"" LONG LONG "\": \"0123\", \"c\": \"0\"}\n",
	{.path = "c", .records = 1, .bytes = 1}},
    {"nine of ten records", NINE(RARE) SHORT, {.path = "a", .records = 10, .bytes = 90}},
    {"eight of ten are too few", TWICE(RARE RARE RARE RARE SHORT),
	{.path = "b", .records = 10, .bytes = 10}},
    {"a text that is not in most records does not count", "{\"text\": \"0\", \"b\": \"1\"}\n" SHORT,
	{.path = "b", .records = 2, .bytes = 2}},
    {"an empty text holds none", "{\"text\": \"\", \"b\": \"1\"}\n",
	{.path = "b", .records = 1, .bytes = 1}},
    {"no text at all", "{\"n\": 1, \"m\": [\"text\"]}\n",
	{.records = 1, .why = "no field holds a text in its first 1 records; the first has: n, m"}},
    {"tokens", "{\"tokens\": [1, 2]}\n", {.tokens = true, .records = 1}},
    {"tokens that are none", "{\"tokens\": [\"a\"], \"text\": \"b\"}\n",
	{.path = "text", .records = 1, .bytes = 1}},
    {"tokens in nine of ten", NINE("{\"tokens\": [1]}\n") RARE, {.tokens = true, .records = 10}},
    {"tokens in eight of ten",
	TWICE("{\"tokens\": [1], \"b\": \"1\"}\n{\"tokens\": [1], \"b\": \"1\"}\n{\"tokens\": [1], "
	      "\"b\": \"1\"}\n{\"tokens\": [1], \"b\": \"1\"}\n" SHORT),
	{.path = "b", .records = 10, .bytes = 10}},
    {"no record", "\n", {.why = "it has no record"}},
    {"an array", "[{\"text\": \"a\"}]\n",
	{.why = "none of its first 1 records is read: it is no JSON object; this looks like a JSON "
		"array: riffle reads one JSON object per line. Convert the file: jq -c '.[]' FILE "
		"> "
		"FILE.jsonl"}},
    {"a reject beside objects is passed over", "bad\n{\"text\": \"a\"}\n",
	{.path = "text", .records = 1, .bytes = 1}},
};

static void
test_the_field_with_the_text_is_found(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		const struct init_field *e = &rows[i].expected;
		struct init_field got;

		folder_text("a.jsonl", rows[i].text);
		assert_int_equal(init_field_find(&got, folder_path("a.jsonl"), &f), FAIL_NONE);
		assert_string_equal(got.why, e->why);
		assert_string_equal(got.path, e->path);
		assert_string_equal(got.rival, e->rival);
		assert_int_equal(got.tokens, e->tokens);
		assert_int_equal(got.records, e->records);
		assert_int_equal(got.bytes, e->bytes);
	}
}

/* Of a file INIT_FIELD_RECORDS records are looked at, and it need not be readable. */
static void
test_the_first_records_are_looked_at(void **unused)
{
	struct init_field got;
	FILE *to = fopen(folder_path("many.jsonl"), "w");

	(void)unused;
	for (int i = 0; i < INIT_FIELD_RECORDS + 1; i++)
		fputs("{\"text\": \"a\"}\n", to);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(init_field_find(&got, folder_path("many.jsonl"), &f), FAIL_NONE);
	assert_int_equal(got.records, INIT_FIELD_RECORDS);
	assert_int_equal(init_field_find(&got, folder_path("none.jsonl"), &f), FAIL_NONE);
	assert_non_null(strstr(got.why, "none.jsonl"));
	assert_string_equal(got.path, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_field_with_the_text_is_found),
	    cmocka_unit_test(test_the_first_records_are_looked_at),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
