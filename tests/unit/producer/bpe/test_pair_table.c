/* pair_table.h: what is found is what was put, in full lines and where tags are equal. */
#include "producer/bpe/pair_table.h"

#include "tests/unit/test.h"

enum { IDS = VOCABULARY_IDS_MAX - 1, MANY = 20000, CROWD = 40 };

#define HASHES (UINT64_C(1) << PAIR_BITS)

static struct pair_table table;
static uint32_t byte_id[256];

static void
open_merges(const struct pair_merge *merge, uint32_t n)
{
	struct failure f;

	for (unsigned i = 0; i < 256; i++)
		byte_id[i] = i;
	memset(&table, 0, sizeof(table));
	assert_int_equal(pair_table_open_merges(&table, merge, n, byte_id, &f), FAIL_NONE);
}

static void
test_every_merge_is_found_and_nothing_else(void **unused)
{
	static struct pair_merge merge[MANY];

	(void)unused;
	for (uint32_t i = 0; i < MANY; i++)
		merge[i] = (struct pair_merge){i * 2654435761u % IDS, i, 2 * i};
	open_merges(merge, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(pair_table_find(&table, merge[i].left, i), i);
		assert_int_equal(pair_table_result(&table, i), 2 * i);
		assert_int_equal(
		    pair_table_find(&table, (merge[i].left + 1) % IDS, i), VOCABULARY_NONE);
	}
	pair_table_close(&table);
}

/* The pair that has this hash: the factor is odd, so that there is a number to undo it with. */
static struct pair_merge
pair_of_hash(uint64_t hash)
{
	uint64_t factor = pair_hash(0, 1), inverse = factor, pair;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse; /* Newton: twice the bits each time */
	pair = hash * inverse & (HASHES - 1);
	return (struct pair_merge){
	    (uint32_t)(pair >> 21), (uint32_t)pair & (VOCABULARY_IDS_MAX - 1), 300};
}

/* All of them in the last line, so that the search goes over the end of the table. */
static void
test_a_crowded_line(void **unused)
{
	struct pair_merge merge[CROWD], other;

	(void)unused;
	for (uint32_t i = 0; i < CROWD; i++) {
		/* Four with each of ten tags, which the bits above tell apart. */
		merge[i] = pair_of_hash(HASHES - 1 - (i % 10 << 21) - ((uint64_t)(i / 10) << 32));
		assert_true(merge[i].left < IDS && merge[i].right < IDS);
	}
	open_merges(merge, CROWD);
	for (uint32_t i = 0; i < CROWD; i++) {
		assert_int_equal(pair_hash(merge[i].left, merge[i].right) >> table.shift,
		    pair_hash(merge[0].left, merge[0].right) >> table.shift);
		assert_int_equal(pair_table_find(&table, merge[i].left, merge[i].right), i);
	}
	other = pair_of_hash(HASHES - 1 - ((uint64_t)CROWD << 32));
	assert_int_equal(pair_table_find(&table, other.left, other.right), VOCABULARY_NONE);
	pair_table_close(&table);
}

static void
test_the_last_of_equal_pairs_counts(void **unused)
{
	const struct pair_merge merge[] = {{1, 2, 256}, {3, 4, 257}, {1, 2, 258}};

	(void)unused;
	open_merges(merge, 3);
	assert_int_equal(pair_table_find(&table, 1, 2), 2);
	assert_int_equal(pair_table_find(&table, 3, 4), 1);
	assert_int_equal(pair_table_find(&table, 2, 1), VOCABULARY_NONE);
	pair_table_close(&table);
}

static void
test_an_empty_one(void **unused)
{
	(void)unused;
	open_merges(NULL, 0);
	assert_int_equal(pair_table_find(&table, 0, 0), VOCABULARY_NONE);
	pair_table_close(&table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_merge_is_found_and_nothing_else),
	    cmocka_unit_test(test_a_crowded_line),
	    cmocka_unit_test(test_the_last_of_equal_pairs_counts),
	    cmocka_unit_test(test_an_empty_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
