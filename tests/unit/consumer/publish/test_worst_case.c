/* worst_case.h: what a step may touch, with fetches and transactions, against mix.memory. */
#include "tests/unit/test.h"

#include "common/config/topic_plan.h"
#include "consumer/domain/feed.h"
#include "consumer/publish/worst_case.h"

enum { BLOCK = 64, RECORD = 1000 };

static struct domains_facts facts[8];
static struct domains domains;
static struct config config;
static struct failure f;
static uint64_t spare; /* of the last check */

/* Eight domains, long ones, and a mix whose step touches 4 * (1024 / 64 + 2 * 8) = 128 blocks. */
static int
reset(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 8; i++)
		facts[i] =
		    (struct domains_facts){.sequences_total = 100000, .record_bytes_max = RECORD};
	domains = (struct domains){.n = 8, .facts = facts};
	config = (struct config){.sequence_length = 256};
	config.mix.global_batch = 1024;
	config.mix.lanes = config.mix.partitions = 4;
	config.mix.window = 4;
	config.mix.transaction_bytes = 100 << 10;
	return 0;
}

static uint64_t
beside(uint64_t block_bytes)
{
	return FEED_LOADS_MAX * (block_bytes + block_bytes / 4) + 2 * config.mix.transaction_bytes +
	       topic_plan_lane_bytes(&config, 3);
}

static enum fail_code
check(uint64_t memory, uint64_t *blocks)
{
	struct worst_case_room room = {0};
	enum fail_code code;

	config.mix.memory_bytes = memory;
	code = worst_case_check(&config, &domains, BLOCK, &room, &f);
	*blocks = room.blocks_bytes;
	spare = room.spare_bytes;
	return code;
}

static void
expect_step(uint64_t step, uint64_t block_bytes)
{
	uint64_t need = beside(block_bytes) + step, blocks = 0;

	assert_int_equal(check(need - 1, &blocks), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "mix.memory"));
	assert_int_equal(check(need, &blocks), FAIL_NONE);
	assert_int_equal(blocks, step);
	assert_int_equal(spare, 0);
	assert_int_equal(check(need + 12345, &blocks), FAIL_NONE);
	assert_int_equal(blocks, step + 12345);
	assert_int_equal(spare, 12345);
}

static void
expect(uint64_t touched, uint64_t block_bytes)
{
	expect_step(touched * block_bytes, block_bytes);
}

static void
test_all_blocks_that_a_step_may_touch_must_fit(void **unused)
{
	(void)unused;
	expect(128, BLOCK * RECORD);
}

static void
test_a_step_touches_no_more_blocks_than_it_has_draws(void **unused)
{
	(void)unused;
	config.mix.global_batch = 16;
	expect(16, BLOCK * RECORD);
}

static void
test_the_largest_block_of_any_domain_counts(void **unused)
{
	(void)unused;
	facts[5].record_bytes_max = 3 * RECORD;
	expect(128, BLOCK * 3 * RECORD);
}

/* A sealed domain shorter than a block never has a whole one; a live one may grow. */
static void
test_a_short_domain_counts_as_it_is_unless_it_is_live(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 8; i++)
		facts[i].sequences_total = 10;
	expect(128, 10 * RECORD);
	facts[3].live = true;
	expect(128, BLOCK * RECORD);
}

/*
 * Every draw of a domain without blocks may be a record of its own. Where partitions take turns,
 * twice a piece of each is there, a block in all: 2 * 64 records, whether 1 partition or 64.
 */
static void
test_orders_without_blocks_need_their_records_alone(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 8; i++)
		facts[i].shuffle = MIX_SHUFFLE_FULL;
	expect_step(1024 * RECORD, BLOCK * RECORD);
	facts[3].record_bytes_max = 3 * RECORD; /* the largest record of any of them counts */
	expect_step(1024 * 3 * RECORD, BLOCK * 3 * RECORD);
	facts[3].record_bytes_max = RECORD;
	facts[0].shuffle = facts[1].shuffle = MIX_SHUFFLE_NONE;
	facts[0].partitions_n = 1;
	facts[1].partitions_n = 64;
	expect_step((1024 + 2 * 2 * 64) * RECORD, BLOCK * RECORD);
	facts[1].partitions_n = 1000; /* a sequence each, at least */
	expect_step((1024 + 2 * 64 + 2 * 1000) * RECORD, BLOCK * RECORD);
	facts[2].shuffle = MIX_SHUFFLE_BLOCK; /* 4 * (1024 / 64 + 2) blocks */
	expect_step((1024 + 2 * 64 + 2 * 1000) * RECORD + 72 * BLOCK * RECORD, BLOCK * RECORD);
}

/* What is larger waits for the broker: memory stays what it is, whatever a transaction holds. */
static void
test_the_queue_is_two_transactions_and_at_most_a_quarter_of_memory(void **unused)
{
	uint64_t blocks, as_it_was;

	(void)unused;
	config.mix.memory_bytes = 64 << 20;
	assert_int_equal(worst_case_queue(&config.mix), 200 << 10);
	config.mix.transaction_bytes = 8 << 20;
	assert_int_equal(worst_case_queue(&config.mix), 16 << 20);
	config.mix.transaction_bytes = (8 << 20) + 1;
	assert_int_equal(worst_case_queue(&config.mix), 16 << 20);
	assert_int_equal(check(64 << 20, &as_it_was), FAIL_NONE);
	config.mix.transaction_bytes = 1000000000;
	assert_int_equal(worst_case_queue(&config.mix), 16 << 20);
	assert_int_equal(check(64 << 20, &blocks), FAIL_NONE);
	assert_int_equal(blocks, as_it_was);
}

/* Also where more memory means a longer queue. */
static void
test_the_figure_that_is_named_is_enough(void **unused)
{
	(void)unused;
	for (uint64_t bytes = 1; bytes <= 100000000; bytes *= 100) {
		const char *allow;
		uint64_t blocks, megabytes;

		config.mix.transaction_bytes = bytes;
		assert_int_equal(check(2000000, &blocks), FAIL_CONFIG);
		allow = strstr(f.text, "allow ");
		assert_non_null(allow);
		megabytes = strtoull(allow + 6, NULL, 10);
		assert_int_equal(check(megabytes * 1000000, &blocks), FAIL_NONE);
		assert_int_equal(check((megabytes - 2) * 1000000, &blocks), FAIL_CONFIG);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_all_blocks_that_a_step_may_touch_must_fit, reset),
	    cmocka_unit_test_setup(test_a_step_touches_no_more_blocks_than_it_has_draws, reset),
	    cmocka_unit_test_setup(test_the_largest_block_of_any_domain_counts, reset),
	    cmocka_unit_test_setup(test_a_short_domain_counts_as_it_is_unless_it_is_live, reset),
	    cmocka_unit_test_setup(test_orders_without_blocks_need_their_records_alone, reset),
	    cmocka_unit_test_setup(test_the_figure_that_is_named_is_enough, reset),
	    cmocka_unit_test_setup(
		test_the_queue_is_two_transactions_and_at_most_a_quarter_of_memory, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
