/* lane_map.h: lanes and partitions, for every P of small L and the largest. */
#include "common/base/limits.h"
#include "common/record/lane_map.h"
#include "tests/unit/test.h"

static void
check_map(uint32_t lanes, uint32_t partitions)
{
	const struct lane_map m = {lanes, partitions};
	uint32_t least = UINT32_MAX, most = 0;

	for (uint32_t l = 0; l < lanes; l++) {
		uint32_t p = lane_map_partition(&m, l);

		assert_true(p == (uint64_t)l * partitions / lanes);
		assert_true(lane_map_first(&m, p) <= l);
		assert_true(l < lane_map_first(&m, p + 1));
	}
	for (uint32_t p = 0; p < partitions; p++) {
		uint32_t n = lane_map_first(&m, p + 1) - lane_map_first(&m, p);

		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	assert_true(least >= 1);
	assert_true(most - least <= 1);
	assert_int_equal(lane_map_first(&m, 0), 0);
	assert_int_equal(lane_map_first(&m, partitions), lanes);
	assert_int_equal(lane_map_shared(&m), partitions < lanes);
	assert_int_equal(lane_map_lying(&m), lanes);
}

static void
test_each_lane_lies_in_one_partition_and_partitions_differ_by_one_lane(void **unused)
{
	(void)unused;
	for (uint32_t lanes = 1; lanes <= 64; lanes++)
		for (uint32_t partitions = 1; partitions <= lanes; partitions++)
			check_map(lanes, partitions);
	for (uint32_t partitions = 1; partitions <= LIMIT_LANES; partitions *= 3)
		check_map(LIMIT_LANES, partitions);
	check_map(LIMIT_LANES, LIMIT_LANES);
	check_map(LIMIT_LANES, LIMIT_LANES - 1);
}

/* A mix without copies has lanes, and no partition holds one. */
static void
test_without_partitions_no_lane_lies_anywhere(void **unused)
{
	(void)unused;
	assert_int_equal(lane_map_lying(&(const struct lane_map){8, 0}), 0);
}

static void
test_the_example_of_the_header_holds(void **unused)
{
	static const uint32_t partition[] = {0, 0, 0, 1, 1, 1, 2, 2};
	const struct lane_map m = {8, 3};

	(void)unused;
	for (uint32_t l = 0; l < 8; l++)
		assert_int_equal(lane_map_partition(&m, l), partition[l]);
}

/* Golden bytes: readers of every release find lanes by them. */
static void
test_a_key_is_the_lane_big_endian(void **unused)
{
	static const uint8_t expected[] = {0, 0, 0x0A, 0xFE};
	uint8_t key[LANE_MAP_KEY_BYTES];

	(void)unused;
	lane_map_key(key, 0x0AFE);
	assert_memory_equal(key, expected, sizeof(expected));
}

static void
test_a_key_leads_back_to_its_lane_in_its_partition_only(void **unused)
{
	const struct lane_map m = {8, 3};
	uint8_t key[LANE_MAP_KEY_BYTES];

	(void)unused;
	for (uint32_t l = 0; l < 8; l++)
		for (uint32_t p = 0; p < 3; p++) {
			lane_map_key(key, l);
			assert_int_equal(lane_map_lane(&m, p, key, sizeof(key)),
			    p == lane_map_partition(&m, l) ? (int64_t)l : -1);
		}
	lane_map_key(key, 8);
	assert_int_equal(lane_map_lane(&m, 2, key, sizeof(key)), -1);
	lane_map_key(key, UINT32_MAX);
	assert_int_equal(lane_map_lane(&m, 2, key, sizeof(key)), -1);
	assert_int_equal(lane_map_lane(&m, 0, NULL, 0), -1);
	assert_int_equal(lane_map_lane(&m, 0, NULL, LANE_MAP_KEY_BYTES), -1);
	for (size_t n = 0; n <= 2 * LANE_MAP_KEY_BYTES; n++)
		assert_int_equal(lane_map_lane(&m, 0, (uint8_t[2 * LANE_MAP_KEY_BYTES]){0}, n),
		    n == LANE_MAP_KEY_BYTES ? 0 : -1);
}

static void
test_numbers_of_partitions_become_those_of_their_lanes(void **unused)
{
	const struct lane_map m = {8, 3}; /* partitions 0 0 0 1 1 1 2 2 */
	int64_t all[8] = {10, 11, 12}, some[4] = {10, 11, 12}, alone[2] = {7, 8};

	(void)unused;
	lane_map_spread(&m, 0, 8, all);
	assert_memory_equal(all, ((int64_t[]){10, 10, 10, 11, 11, 11, 12, 12}), sizeof(all));
	lane_map_spread(&m, 2, 4, some);
	assert_memory_equal(some, ((int64_t[]){10, 11, 11, 11}), sizeof(some));
	lane_map_spread(&(struct lane_map){4, 4}, 2, 2, alone);
	assert_memory_equal(alone, ((int64_t[]){7, 8}), sizeof(alone));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_each_lane_lies_in_one_partition_and_partitions_differ_by_one_lane),
	    cmocka_unit_test(test_without_partitions_no_lane_lies_anywhere),
	    cmocka_unit_test(test_the_example_of_the_header_holds),
	    cmocka_unit_test(test_a_key_is_the_lane_big_endian),
	    cmocka_unit_test(test_a_key_leads_back_to_its_lane_in_its_partition_only),
	    cmocka_unit_test(test_numbers_of_partitions_become_those_of_their_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
