/* partition_log.h: which partitions are whole. */
#include "consumer/domain/partition_log.h"

#include <string.h>

#include "tests/unit/test.h"

static void
test_a_partition_is_whole_if_it_is_sealed_and_has_lost_nothing(void **unused)
{
	static const struct {
		struct partition_tail tail;
		int64_t low;
		enum fail_code code;
		const char *says;
	} row[] = {
	    {{.sealed = true, .tokenizer = 7}, 0, FAIL_NONE, ""},
	    {{.sealed = true, .tokenizer = 7}, 1, FAIL_DATA, "its first 1 records were deleted"},
	    {{.sealed = false, .tokenizer = 7}, 0, FAIL_DATA, "has no End yet"},
	    {{.sealed = true, .tokenizer = 8}, 0, FAIL_CONFIG, "tokenizer 0000000000000008"},
	    {{.sealed = false, .tokenizer = 8}, 9, FAIL_DATA, "its first 9 records were deleted"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, says) {
		struct failure f = {0};

		assert_int_equal(partition_log_judge(&row[i].tail, row[i].low, 7, &f), row[i].code);
		assert_non_null(strstr(f.text, row[i].says));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_partition_is_whole_if_it_is_sealed_and_has_lost_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
