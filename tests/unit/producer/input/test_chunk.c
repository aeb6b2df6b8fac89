/* chunk.h: which files are one record each, by their names. */
#include "tests/unit/test.h"

#include "producer/input/chunk.h"

static void
test_text_files_are_one_record_and_all_others_are_lines(void **unused)
{
	static const struct {
		const char *name;
		enum chunk_form form;
	} cases[] = {
	    {"a.txt", CHUNK_WHOLE_FILE},
	    {"a.txt.gz", CHUNK_WHOLE_FILE},
	    {"folder/a.txt.zst", CHUNK_WHOLE_FILE},
	    {".txt", CHUNK_WHOLE_FILE},
	    {"a.jsonl", CHUNK_JSON_LINES},
	    {"a.json.gz", CHUNK_JSON_LINES},
	    {"a.txt.bz2", CHUNK_JSON_LINES},
	    {"a.txt/b", CHUNK_JSON_LINES},
	    {"txt", CHUNK_JSON_LINES},
	    {"a.TXT", CHUNK_JSON_LINES},
	    {"", CHUNK_JSON_LINES},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, name)
		assert_int_equal(chunk_form_of(cases[i].name), cases[i].form);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text_files_are_one_record_and_all_others_are_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
