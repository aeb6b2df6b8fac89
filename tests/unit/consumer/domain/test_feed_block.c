/* A block of sequences in memory: filled in order, and longer when its partition has grown. */
#include "consumer/domain/feed_block.h"

#include <string.h>

#include "tests/unit/test.h"

static void
test_a_block_that_grows_keeps_what_it_holds_and_takes_more(void **state)
{
	struct feed_block_pool pool = {0};
	struct feed_block *b = feed_block_open(1, 2, 512, 2);
	static const uint8_t bytes[] = "abcdef";

	(void)state;
	assert_non_null(b);
	assert_true(feed_block_put(b, &pool, bytes, 2, 60, 5, 600));
	assert_true(feed_block_put_bad(b, &pool, "torn", bytes, 3, 601));
	assert_int_equal(b->filled, b->count);
	assert_true(feed_block_grow(b, 512));
	assert_int_equal(b->count, 512);
	for (uint32_t i = 2; i < 512; i++) {
		assert_null(b->record[i].payload);
		assert_null(b->record[i].reason);
		assert_true(feed_block_put(b, &pool, bytes + i % 3, 3, 65, 0, 600 + i));
	}
	assert_int_equal(b->filled, 512);
	assert_memory_equal(b->record[0].payload, "ab", 2);
	assert_int_equal(b->record[0].tokens, 60);
	assert_int_equal(b->record[0].padding, 5);
	assert_null(b->record[1].payload);
	assert_string_equal(b->record[1].reason, "torn");
	assert_memory_equal(b->record[1].bytes, "abc", 3);
	for (uint32_t i = 2; i < 512; i++) {
		assert_memory_equal(b->record[i].payload, bytes + i % 3, 3);
		assert_int_equal(b->record[i].offset, 600 + i);
	}
	feed_block_close(b, &pool);
	feed_block_pool_close(&pool);
}

static void
test_what_is_missing_is_bad_and_says_from_where_to_where(void **state)
{
	struct feed_block_pool pool = {0};
	struct feed_block *b = feed_block_open(1, 2, 512, 6);
	static const uint8_t bytes[] = "abcdef";

	(void)state;
	assert_non_null(b);
	assert_true(feed_block_put_bad(b, &pool, "torn", bytes, 3, 600));
	assert_true(feed_block_put_missing(b, &pool, "lost", 515, 513, 515));
	assert_int_equal(b->filled, 3);
	assert_true(feed_block_put_missing(b, &pool, "lost", 515, 515, 515)); /* nothing more */
	assert_int_equal(b->filled, 3);
	assert_true(feed_block_put(b, &pool, bytes, 2, 60, 5, 601));
	assert_true(feed_block_put_missing(b, &pool, "end", 518, 0, 600));
	assert_int_equal(b->filled, 6);
	assert_int_equal(b->record[0].missing_end, 0);
	assert_int_equal(b->record[3].missing_end, 0);
	for (int i = 1; i < 6; i++) {
		if (i == 3)
			continue;
		assert_string_equal(b->record[i].reason, i < 3 ? "lost" : "end");
		assert_null(b->record[i].payload);
		assert_int_equal(b->record[i].offset, -1);
		assert_int_equal(b->record[i].missing_first, i < 3 ? 513 : 0);
		assert_int_equal(b->record[i].missing_end, i < 3 ? 515 : 600);
	}
	feed_block_close(b, &pool);
	feed_block_pool_close(&pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_block_that_grows_keeps_what_it_holds_and_takes_more),
	    cmocka_unit_test(test_what_is_missing_is_bad_and_says_from_where_to_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
