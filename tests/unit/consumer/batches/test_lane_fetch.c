/* How far a rank's lanes are read ahead, and when the threads of their brokers are woken. */
#include "tests/unit/test.h"

#include "consumer/batches/lane_fetch.h"

enum { MIB = 1 << 20, KIB = 1 << 10 };

static void
test_what_is_ahead_is_shared_by_the_lanes_within_their_limits(void **state)
{
	static const struct {
		size_t ahead;
		uint32_t lanes;
		size_t bytes, records, fetch; /* of a lane */
	} rows[] = {
	    {64 * MIB, 8, 8 * MIB, 100000, 256 * KIB},
	    {64 * MIB, 1, 64 * MIB, 100000, 256 * KIB},
	    {65 * MIB, 1, 64 * MIB, 100000, 256 * KIB},
	    {64 * MIB, 9, 64 * MIB / 9, 88888, 2 * MIB / 9},
	    {64 * MIB, 32, 2 * MIB, 25000, 64 * KIB},
	    {64 * MIB, 64, MIB, 12500, 64 * KIB},
	    {64 * MIB, 65, MIB, 12307, 64 * KIB},
	    {1, 8, MIB, 100000, 256 * KIB},
	    {SIZE_MAX, 8, 64 * MIB, 100000, 256 * KIB},
	    {64 * MIB, 4096, MIB, 195, 64 * KIB},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct lane_fetch t;

		lane_fetch_init(&t, rows[i].ahead, rows[i].lanes);
		assert_int_equal(t.ahead_bytes, rows[i].bytes);
		assert_int_equal(t.ahead_records, rows[i].records);
		assert_int_equal(t.fetch_bytes, rows[i].fetch);
	}
}

/* Records of `bytes` that are taken before it is time. */
static size_t
taken(struct lane_fetch *t, size_t bytes)
{
	size_t n = 1;

	while (!lane_fetch_taken(t, bytes))
		n++;
	return n;
}

static void
test_a_quarter_of_the_bytes_or_of_the_records_is_taken_between_two_wakes(void **state)
{
	struct lane_fetch t;

	(void)state;
	lane_fetch_init(&t, 64 * MIB, 8);
	assert_int_equal(taken(&t, MIB), 16);
	assert_int_equal(taken(&t, MIB), 16);
	assert_int_equal(taken(&t, 16 * MIB), 1);
	assert_int_equal(taken(&t, 16 * MIB - 1), 2);
	assert_int_equal(taken(&t, 1), 8 * (100000 / 4 + 1));
	lane_fetch_init(&t, 64 * MIB, 4096); /* 1 MiB and 195 records each */
	assert_int_equal(taken(&t, MIB), 1024);
	assert_int_equal(taken(&t, 0), 4096 * (195 / 4 + 1));
}

static void
test_a_handle_for_more_lanes_is_woken_after_a_quarter_of_those_there_are(void **state)
{
	struct lane_fetch t;

	(void)state;
	lane_fetch_init(&t, 64 * MIB, 8);
	lane_fetch_fewer(&t, 1);
	assert_int_equal(t.ahead_bytes, 8 * MIB);
	assert_int_equal(taken(&t, MIB), 2);
	assert_int_equal(taken(&t, 1), 25001);
}

static void
test_nobody_is_woken_where_full_queues_are_looked_at_without(void **state)
{
	struct lane_fetch t;

	(void)state;
	lane_fetch_init(&t, 64 * MIB, 8);
	lane_fetch_backs_off(&t);
	for (int i = 0; i < 1000; i++)
		assert_false(lane_fetch_taken(&t, 64 * MIB));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_ahead_is_shared_by_the_lanes_within_their_limits),
	    cmocka_unit_test(
		test_a_quarter_of_the_bytes_or_of_the_records_is_taken_between_two_wakes),
	    cmocka_unit_test(
		test_a_handle_for_more_lanes_is_woken_after_a_quarter_of_those_there_are),
	    cmocka_unit_test(test_nobody_is_woken_where_full_queues_are_looked_at_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
