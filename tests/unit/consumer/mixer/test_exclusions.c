#include "consumer/mixer/exclusions.h"
#include "tests/unit/test.h"

static void
put_skip(struct exclusions *x, uint32_t domain, uint32_t partition, int64_t first, int64_t end)
{
	const struct ledger_skip s = {domain, partition, first, end};
	struct failure f;

	assert_int_equal(exclusions_skip(x, &s, &f), FAIL_NONE);
}

static void
quarantine(struct exclusions *x, uint32_t domain, uint32_t partition, uint64_t ordinal)
{
	struct failure f;

	assert_int_equal(
	    exclusions_quarantine(x, domain, partition, ordinal, "broken", &f), FAIL_NONE);
}

static void
test_ranges_that_overlap_or_touch_become_one_in_any_order(void **state)
{
	static const struct {
		int64_t first, end;
	} range[] = {{40, 50}, {0, 10}, {20, 30}, {10, 15}, {12, 41}, {60, 61}};
	struct exclusions x = {0};

	(void)state;
	EACH_ROW(i, range)
		put_skip(&x, 1, 0, range[i].first, range[i].end);
	assert_int_equal(x.items_n, 2); /* 0..50 and 60..61 */
	for (uint64_t o = 0; o < 70; o++)
		assert_int_equal(exclusions_has(&x, 1, 0, o), o < 50 || o == 60);
	assert_int_equal(x.skips_n, 6); /* the list keeps them as they came */
	exclusions_close(&x);
}

static void
test_another_domain_or_partition_is_not_excluded(void **state)
{
	struct exclusions x = {0};

	(void)state;
	quarantine(&x, 65, 2, 7);
	assert_true(exclusions_has(&x, 65, 2, 7));
	assert_false(exclusions_has(&x, 65, 1, 7));
	assert_false(exclusions_has(&x, 65, 3, 7));
	assert_false(exclusions_has(&x, 1, 2, 7)); /* 65 mod 64: another word of the set */
	assert_false(exclusions_has(&x, 64, 2, 7));
	assert_false(exclusions_has(&x, 65, 2, 6));
	assert_false(exclusions_has(&x, 65, 2, 8));
	exclusions_close(&x);
}

static void
test_an_ordinal_is_quarantined_once(void **state)
{
	struct exclusions x = {0};

	(void)state;
	quarantine(&x, 0, 0, 3);
	quarantine(&x, 0, 0, 3);
	assert_int_equal(x.quarantined_n, 1);
	exclusions_close(&x);
}

static void
test_more_quarantined_than_the_limit_is_an_error(void **state)
{
	struct exclusions x = {0};
	struct failure f;

	(void)state;
	for (uint64_t o = 0; o < LEDGER_QUARANTINED_MAX; o++)
		quarantine(&x, 0, 0, 2 * o);
	assert_int_equal(exclusions_quarantine(&x, 0, 0, 1, "broken", &f), FAIL_DATA);
	assert_int_equal(x.quarantined_n, LEDGER_QUARANTINED_MAX);
	assert_int_equal(exclusions_quarantine(&x, 0, 0, 2, "broken", &f), FAIL_NONE);
	exclusions_close(&x);
}

static void
test_counts_stop_at_the_length_of_each_partition(void **state)
{
	const uint64_t sequences[] = {10, 100};
	struct exclusions x = {0};

	(void)state;
	put_skip(&x, 0, 0, 5, 30);
	put_skip(&x, 0, 1, 90, 95);
	put_skip(&x, 0, 2, 0, 1000); /* a partition that is not counted */
	put_skip(&x, 1, 0, 0, 1000);
	assert_int_equal(exclusions_count(&x, 0, sequences, 2), 5 + 5);
	assert_int_equal(exclusions_count(&x, 0, sequences, 1), 5);
	exclusions_close(&x);
}

static void
test_an_undone_step_takes_its_skips_back_and_no_quarantine(void **state)
{
	struct exclusions x = {0};

	(void)state;
	put_skip(&x, 0, 0, 1, 2);
	exclusions_keep(&x);
	put_skip(&x, 0, 0, 5, 6);
	quarantine(&x, 0, 0, 9);
	exclusions_undo(&x);
	assert_int_equal(x.skips_n, 1);
	assert_int_equal(x.quarantined_n, 1);
	assert_true(exclusions_has(&x, 0, 0, 1) && exclusions_has(&x, 0, 0, 9));
	assert_false(exclusions_has(&x, 0, 0, 5)); /* nobody may bring that skip again */
	exclusions_close(&x);
}

static void
take_back(struct exclusions *x, uint32_t partition, int64_t first, int64_t end)
{
	const struct ledger_skip s = {1, partition, first, end};
	struct failure f;

	assert_int_equal(exclusions_unskip(x, &s, &f), FAIL_NONE);
}

static void
test_a_range_is_taken_out_of_all_skips_and_of_no_quarantine(void **state)
{
	static const struct {
		int64_t first, end;
		size_t skips;
	} row[] = {{0, 70, 0}, {0, 5, 3}, {12, 14, 4}, {10, 20, 2}, {15, 45, 3}, {20, 30, 3},
	    {50, 51, 3}, {9, 10, 3}};

	(void)state;
	EACH_ROW(i, row) {
		struct exclusions x = {0};
		struct exclusions_within w;

		put_skip(&x, 1, 0, 10, 20);
		put_skip(&x, 1, 0, 40, 50);
		put_skip(&x, 1, 1, 10, 20); /* of another partition: stays */
		quarantine(&x, 1, 0, 13);
		quarantine(&x, 1, 0, 60);
		w = exclusions_within(&x, &(struct ledger_skip){1, 0, row[i].first, row[i].end});
		exclusions_keep(&x);
		for (int undone = 0; undone < 2; undone++) {
			uint64_t back = 0;

			if (undone)
				exclusions_undo(&x);
			else
				take_back(&x, 0, row[i].first, row[i].end);
			assert_int_equal(x.skips_n, undone ? 3 : row[i].skips + (i == 0 ? 1 : 0));
			for (int64_t o = 0; o < 70; o++) {
				bool skipped = (o >= 10 && o < 20) || (o >= 40 && o < 50);
				bool inside = o >= row[i].first && o < row[i].end;
				bool bad = o == 13 || o == 60;

				back += skipped && inside && !bad;
				assert_int_equal(exclusions_has(&x, 1, 0, (uint64_t)o),
				    bad || (skipped && (undone || !inside)));
				assert_int_equal(
				    exclusions_has(&x, 1, 1, (uint64_t)o), o >= 10 && o < 20);
			}
			assert_int_equal(w.alone, back);
		}
		exclusions_close(&x);
	}
}

static void
test_a_copy_is_independent(void **state)
{
	struct exclusions x = {0}, copy = {0};
	struct failure f;

	(void)state;
	put_skip(&x, 3, 0, 1, 2);
	quarantine(&x, 3, 0, 9);
	assert_int_equal(exclusions_copy(&copy, &x, &f), FAIL_NONE);
	put_skip(&x, 3, 0, 20, 30);
	exclusions_close(&x);
	assert_true(exclusions_has(&copy, 3, 0, 1));
	assert_true(exclusions_has(&copy, 3, 0, 9));
	assert_false(exclusions_has(&copy, 3, 0, 20));
	assert_string_equal(copy.quarantined[0].reason, "broken");
	exclusions_close(&copy);
}

static void
test_ranges_join_where_they_touch_and_not_a_step_before(void **state)
{
	static const struct {
		int64_t first, end;
		size_t items;
	} row[] = {{15, 20, 2}, {4, 9, 2}, {20, 25, 1}, {4, 10, 1}, {8, 22, 1}, {12, 13, 1}};

	(void)state;
	EACH_ROW(i, row)
		for (int turned = 0; turned < 2; turned++) {
			struct exclusions x = {0};

			/* 10..20 but for the first two, which stay apart from 10..14. */
			if (!turned)
				put_skip(&x, 1, 0, 10, i < 2 ? 14 : 20);
			put_skip(&x, 1, 0, row[i].first, row[i].end);
			if (turned)
				put_skip(&x, 1, 0, 10, i < 2 ? 14 : 20);
			assert_int_equal(x.items_n, row[i].items);
			exclusions_close(&x);
		}
}

/* Random steps of skips, undos and quarantines, some taken back, against a flag per ordinal. */
static void
test_every_step_leaves_what_a_flag_per_ordinal_says(void **unused)
{
	enum { ORDINALS = 40, DOMAINS = 70, STEPS = 600 }; /* domains in two words of flags */
	static bool skipped[2][2][ORDINALS], before[2][2][ORDINALS], bad[2][2][ORDINALS];
	static const uint32_t domains[] = {3, DOMAINS - 1};
	struct exclusions x = {0};
	struct failure f;

	(void)unused;
	srandom(11);
	for (int step = 0; step < STEPS; step++) {
		exclusions_keep(&x);
		memcpy(before, skipped, sizeof(before));
		for (long n = random() % 4; n > 0; n--) {
			size_t d = (size_t)random() % 2, p = (size_t)random() % 2;
			int64_t first = random() % (ORDINALS - 1);
			int64_t end = first + 1 + random() % (ORDINALS - first);
			const struct ledger_skip s = {domains[d], (uint32_t)p, first, end};
			bool skip = random() % 2 == 0;

			assert_int_equal(
			    skip ? exclusions_skip(&x, &s, &f) : exclusions_unskip(&x, &s, &f),
			    FAIL_NONE);
			for (int64_t k = first; k < end; k++)
				skipped[d][p][k] = skip;
		}
		if (random() % 3 == 0) {
			exclusions_undo(&x);
			memcpy(skipped, before, sizeof(skipped));
		}
		if (random() % 20 == 0) {
			size_t d = (size_t)random() % 2, p = (size_t)random() % 2;
			uint64_t k = (uint64_t)random() % ORDINALS;

			assert_int_equal(
			    exclusions_quarantine(&x, domains[d], (uint32_t)p, k, "bad", &f),
			    FAIL_NONE);
			bad[d][p][k] = true;
		}
		for (size_t d = 0; d < 2; d++) {
			const uint64_t sequences[] = {ORDINALS, ORDINALS / 2};
			uint64_t first = (uint64_t)random() % ORDINALS,
				 end = first + 1 + (uint64_t)random() % 9;
			const struct ledger_skip part = {
			    domains[d], 0, (int64_t)first, (int64_t)end};
			struct exclusions_within w = exclusions_within(&x, &part);
			uint64_t count = 0, quarantined = 0, alone = 0;

			for (size_t p = 0; p < 2; p++)
				for (uint64_t k = 0; k < ORDINALS; k++) {
					bool out = skipped[d][p][k] || bad[d][p][k];

					assert_int_equal(
					    exclusions_has(&x, domains[d], (uint32_t)p, k), out);
					count += out && k < sequences[p];
					quarantined +=
					    p == 0 && k >= first && k < end && bad[d][p][k];
					alone += p == 0 && k >= first && k < end &&
						 skipped[d][p][k] && !bad[d][p][k];
				}
			assert_int_equal(exclusions_count(&x, domains[d], sequences, 2), count);
			assert_int_equal(w.quarantined, quarantined);
			assert_int_equal(w.alone, alone);
		}
	}
	exclusions_close(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ranges_that_overlap_or_touch_become_one_in_any_order),
	    cmocka_unit_test(test_another_domain_or_partition_is_not_excluded),
	    cmocka_unit_test(test_an_ordinal_is_quarantined_once),
	    cmocka_unit_test(test_more_quarantined_than_the_limit_is_an_error),
	    cmocka_unit_test(test_counts_stop_at_the_length_of_each_partition),
	    cmocka_unit_test(test_an_undone_step_takes_its_skips_back_and_no_quarantine),
	    cmocka_unit_test(test_a_range_is_taken_out_of_all_skips_and_of_no_quarantine),
	    cmocka_unit_test(test_a_copy_is_independent),
	    cmocka_unit_test(test_ranges_join_where_they_touch_and_not_a_step_before),
	    cmocka_unit_test(test_every_step_leaves_what_a_flag_per_ordinal_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
