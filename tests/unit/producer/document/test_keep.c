/* keep.h: the bytes of the object, whatever is in names and values. */
#include "producer/document/keep.h"

#include "tests/unit/test.h"

static void
assert_bytes(const struct buffer *b, const char *expected)
{
	assert_int_equal(b->n, strlen(expected));
	assert_memory_equal(b->bytes, expected, b->n);
}

static void
test_a_value_loses_the_white_space_between_its_parts_alone(void **unused)
{
	static const struct {
		const char *raw, *expected;
	} rows[] = {
	    {"7", "7"},
	    {" [ 1 ,\t2 ,\r\n 3 ] ", "[1,2,3]"},
	    {"{ \"a b\" : \" c\\td \" }", "{\"a b\":\" c\\td \"}"},
	    {"\"\\\" \\\\\" ", "\"\\\" \\\\\""}, /* a quote and a backslash, escaped */
	    {"[ \"\\\\\" , \" \" ]", "[\"\\\\\",\" \"]"},
	    {"\"\"", "\"\""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, raw) {
		struct buffer b = {0};
		char whole[64];

		assert_int_equal(keep_object(&b, rows[i].raw, strlen(rows[i].raw), &f), FAIL_NONE);
		assert_bytes(&b, rows[i].expected);
		assert_int_equal(keep_begin(&b, &f), FAIL_NONE); /* empties it */
		assert_int_equal(
		    keep_add(&b, "k", rows[i].raw, strlen(rows[i].raw), &f), FAIL_NONE);
		assert_int_equal(keep_end(&b, &f), FAIL_NONE);
		snprintf(whole, sizeof(whole), "{\"k\":%s}", rows[i].expected);
		assert_bytes(&b, whole);
		buffer_close(&b);
	}
}

static void
test_fields_stand_in_the_order_they_came_and_their_names_are_escaped(void **unused)
{
	static const struct {
		const char *name, *expected;
	} rows[] = {
	    {"meta.id", "meta.id"},
	    {"a b", "a b"}, /* the space is the first that needs no escape */
	    {"\x1f", "\\u001f"},
	    {"\t", "\\u0009"},
	    {"a\"b", "a\\\"b"},
	    {"a\\b", "a\\\\b"},
	    {"\xc3\xbc", "\xc3\xbc"},
	    {"", ""},
	};
	struct buffer b = {0};
	char whole[256] = "{";
	size_t n = 1;

	(void)unused;
	assert_int_equal(keep_begin(&b, &f), FAIL_NONE);
	EACH_NAMED_ROW(i, rows, name) {
		assert_int_equal(keep_add(&b, rows[i].name, "1", 1, &f), FAIL_NONE);
		n += (size_t)snprintf(whole + n, sizeof(whole) - n, "%s\"%s\":1", i == 0 ? "" : ",",
		    rows[i].expected);
	}
	assert_int_equal(keep_end(&b, &f), FAIL_NONE);
	snprintf(whole + n, sizeof(whole) - n, "}");
	assert_bytes(&b, whole);
	buffer_close(&b);

	assert_int_equal(keep_begin(&b, &f), FAIL_NONE);
	assert_int_equal(keep_end(&b, &f), FAIL_NONE);
	assert_bytes(&b, "{}");
	buffer_close(&b);
}

/* The longest that a name can become: six bytes for each of its own. */
static void
test_there_is_room_for_a_name_of_control_characters(void **unused)
{
	enum { N = 1000 };
	char name[N + 1];
	struct buffer b = {0};

	(void)unused;
	memset(name, 1, N);
	name[N] = '\0';
	assert_int_equal(keep_begin(&b, &f), FAIL_NONE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(keep_add(&b, name, "1", 1, &f), FAIL_NONE);
	assert_int_equal(b.n, 1 + 3 * (6 * N + 4) + 2);
	buffer_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_value_loses_the_white_space_between_its_parts_alone),
	    cmocka_unit_test(test_fields_stand_in_the_order_they_came_and_their_names_are_escaped),
	    cmocka_unit_test(test_there_is_room_for_a_name_of_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
