#include "producer/document/split.h"

#include <inttypes.h>

#include "tests/unit/test.h"

static void
test_sets_are_those_of_an_independent_implementation(void **unused)
{
	FILE *file = fopen("tests/vectors/split.tsv", "r");
	char line[512];
	size_t rows = 0;

	(void)unused;
	if (file == NULL)
		print_error("run the tests from the root of the tree\n");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		uint32_t parts[SETS_COUNT];
		char set[8];
		size_t text_n = strcspn(line, "\t");

		if (line[0] == '#')
			continue;
		assert_int_equal(
		    sscanf(line + text_n, "\t%" SCNu32 "\t%" SCNu32 "\t%" SCNu32 "\t%*s\t%7s",
			&parts[0], &parts[1], &parts[2], set),
		    4);
		assert_string_equal(names_set_text[split_set(line, text_n, parts)], set);
		rows++;
	}
	fclose(file);
	assert_true(rows > 100);
}

static void
test_shares_are_those_asked_for(void **unused)
{
	enum { DOCUMENTS = 100000 };
	static const uint32_t parts[SETS_COUNT] = {900, 90, 10};
	size_t count[SETS_COUNT] = {0};
	char text[32];

	(void)unused;
	for (int i = 0; i < DOCUMENTS; i++)
		count[split_set(text, (size_t)snprintf(text, sizeof(text), "text %d", i), parts)]++;
	/* Four standard deviations of a binomial. */
	assert_in_range(count[SET_TRAIN], 90000 - 380, 90000 + 380);
	assert_in_range(count[SET_VALID], 9000 - 362, 9000 + 362);
	assert_in_range(count[SET_TEST], 1000 - 126, 1000 + 126);
}

static void
test_a_part_of_zero_gets_nothing(void **unused)
{
	static const uint32_t only[SETS_COUNT][SETS_COUNT] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	char text[32];

	(void)unused;
	for (int i = 0; i < 3000; i++) {
		size_t n = (size_t)snprintf(text, sizeof(text), "text %d", i);

		for (int set = 0; set < SETS_COUNT; set++)
			assert_int_equal(split_set(text, n, only[set]), set);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sets_are_those_of_an_independent_implementation),
	    cmocka_unit_test(test_shares_are_those_asked_for),
	    cmocka_unit_test(test_a_part_of_zero_gets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
