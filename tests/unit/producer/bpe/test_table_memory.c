#include "producer/bpe/table_memory.h"

#include <stdint.h>

#include "tests/unit/test.h"

static void
test_it_is_zero_and_aligned_whatever_was_there_before(void **unused)
{
	static const struct {
		size_t bytes, alignment;
	} cases[] = {{1, 64}, {64, 64}, {1 << 20, 64}, {2 << 20, 2 << 20}, {16 << 20, 2 << 20}};

	(void)unused;
	for (size_t round = 0; round < 3; round++)
		EACH_ROW(i, cases) {
			uint8_t *p = table_memory(cases[i].bytes);

			assert_non_null(p);
			assert_int_equal((uintptr_t)p % cases[i].alignment, 0);
			for (size_t k = 0; k < cases[i].bytes; k++)
				assert_true(p[k] == 0);
			memset(p, 0x5a, cases[i].bytes);
			table_memory_free(p, cases[i].bytes);
		}
	table_memory_free(NULL, 1);
	table_memory_free(NULL, 2 << 20);
}

static void
test_too_much_is_refused(void **unused)
{
	(void)unused;
	assert_null(table_memory((size_t)1 << 62));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_it_is_zero_and_aligned_whatever_was_there_before),
	    cmocka_unit_test(test_too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
