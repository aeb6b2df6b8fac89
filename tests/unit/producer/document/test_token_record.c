/* Ids and ranges of records, with what is wrong about others. */
#include "producer/document/token_record.h"

#include "tests/unit/test.h"

enum { MARK = 1 << 30 };

static void
test_ids_are_read_as_they_stand(void **state)
{
	static const struct {
		const char *raw;
		size_t n;
		uint32_t id[4];
		const char *why; /* NULL: they are read */
	} rows[] = {
	    {"[]", 0, {0}, NULL},
	    {"[ ]", 0, {0}, NULL},
	    {"[7]", 1, {7}, NULL},
	    {"[ 0 ,\t4294967295\n, 12 ]", 3, {0, UINT32_MAX, 12}, NULL},
	    {"[4294967296]", 0, {0}, "tokens[0] is not an id"},
	    {"[42949672950]", 0, {0}, "tokens[0] is not an id"},
	    {"[1, 99999999999999999999]", 1, {1}, "tokens[1] is not an id"},
	    {"[1, -2]", 0, {0}, "tokens[1] is not an id"},
	    {"[1, 2.0]", 0, {0}, "tokens[1] is not an id"},
	    {"[1e2]", 0, {0}, "tokens[0] is not an id"},
	    {"[1, \"2\"]", 0, {0}, "tokens[1] is not an id"},
	    {"[1, [2, 3]]", 0, {0}, "tokens[1] is not an id"},
	    {"[1, null]", 0, {0}, "tokens[1] is not an id"},
	    {"{\"a\": [1]}", 0, {0}, "field `tokens` is not a list of ids"},
	    {"\"[1]\"", 0, {0}, "field `tokens` is not a list of ids"},
	    {"12", 0, {0}, "field `tokens` is not a list of ids"},
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, raw) {
		size_t raw_n = strlen(rows[i].raw), n = 99;
		uint32_t id[8];
		struct failure f = {0};

		assert_true(token_record_room(rows[i].raw, raw_n) <= 8);
		if (rows[i].why != NULL) {
			assert_int_equal(
			    token_record_ids(rows[i].raw, raw_n, id, &n, &f), FAIL_DATA);
			assert_string_equal(f.text, rows[i].why);
			continue;
		}
		assert_int_equal(token_record_ids(rows[i].raw, raw_n, id, &n, &f), FAIL_NONE);
		assert_int_equal(n, rows[i].n);
		assert_memory_equal(id, rows[i].id, n * sizeof(*id));
	}
}

static void
test_ranges_mark_their_ids(void **state)
{
	static const struct {
		const char *raw, *marked, *why;
	} rows[] = {
	    {"[]", "......", NULL},
	    {"[[0,1]]", "x.....", NULL},
	    {"[[0, 6]]", "xxxxxx", NULL},
	    {" [ [ 4 , 5 ] , [1,3] ] ", ".xx.x.", NULL},
	    {"[[1,3],[2,4]]", ".xxx..", NULL},
	    {"[[1,3],[5,7]]", NULL, "no_loss[1], [5, 7], is no range of the 6 tokens"},
	    {"[[3,3]]", NULL, "no_loss[0], [3, 3], is no range of the 6 tokens"},
	    {"[[3,2]]", NULL, "no_loss[0], [3, 2], is no range of the 6 tokens"},
	    {"[[6,7]]", NULL, "no_loss[0], [6, 7], is no range of the 6 tokens"},
	    {"[0, 1]", NULL, "no_loss[0] is not a range, [first, end]"},
	    {"[[0]]", NULL, "no_loss[0] is not a range, [first, end]"},
	    {"[[0, 1, 2]]", NULL, "no_loss[0] is not a range, [first, end]"},
	    {"[[0, 1], [-1, 2]]", NULL, "no_loss[1] is not a range, [first, end]"},
	    {"true", NULL, "field `no_loss` is not a list of ranges, [[0, 2], ...]"},
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, raw) {
		uint32_t id[6] = {1, 2, 3, 4, 5, 6};
		struct failure f = {0};
		enum fail_code code =
		    token_record_mark(rows[i].raw, strlen(rows[i].raw), MARK, id, 6, &f);

		if (rows[i].why != NULL) {
			assert_int_equal(code, FAIL_DATA);
			assert_string_equal(f.text, rows[i].why);
			continue;
		}
		assert_int_equal(code, FAIL_NONE);
		for (uint32_t k = 0; k < 6; k++)
			assert_int_equal(id[k], (k + 1) | (rows[i].marked[k] == 'x' ? MARK : 0));
	}
}

static void
test_a_field_of_another_name_is_found(void **state)
{
	static const struct {
		const char *record, *also, *unknown;
	} rows[] = {
	    {"{}", NULL, NULL},
	    {"{\"tokens\": [1], "
	     "\"no_loss\":[[0,1]],\"keep\":{\"a\":{\"b\":\"c\"},\"d\":1},\"eos\":true}",
		NULL, NULL},
	    {"{\"tokens\": [1], \"labels\": [-100]}", NULL, "labels"},
	    {"{\"noloss\": \"tokens\", \"tokens\": []}", NULL, "noloss"},
	    {"{\"keep\": {\"x\": \"\\\"}, {\"}, \"y\": \"keep\"}", NULL, "y"},
	    {"{\"keep\": \"}\", \"y\": 1}", NULL, "y"},
	    {"{\"keep\": {\"x\": \"[\"}, \"y\": 1}", NULL, "y"},
	    {"{\"keep\": {\"[{\": \",\"}, \"eos\": true, \"y\": 1}", NULL, "y"},
	    {"{\"keep\": [\"a\", \"b\", {\"c\": 1}], \"\": 1}", NULL, ""},
	    {"{\"source\": \"x\", \"tokens\": []}", NULL, "source"},
	    {"{\"source\": \"x\", \"tokens\": []}", "source", NULL},
	    {"{\"meta\": {\"a\": \"x\"}, \"tokens\": []}", "meta.a", NULL},
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, record) {
		struct text_view found =
		    token_record_unknown(rows[i].record, strlen(rows[i].record), rows[i].also);

		assert_int_equal(found.bytes == NULL, rows[i].unknown == NULL);
		if (rows[i].unknown == NULL)
			continue;
		assert_int_equal(found.n, strlen(rows[i].unknown));
		assert_memory_equal(found.bytes, rows[i].unknown, found.n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ids_are_read_as_they_stand),
	    cmocka_unit_test(test_ranges_mark_their_ids),
	    cmocka_unit_test(test_a_field_of_another_name_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
