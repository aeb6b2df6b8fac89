#include "consumer/mixer/cursor.h"
#include "tests/unit/test.h"

enum { BLOCK = 4, WINDOW = 1, SHUFFLES = MIX_SHUFFLE_NONE + 1 };

static struct cursor
open_cursor(const struct mixer_source *s)
{
	struct cursor c;
	struct failure f;

	assert_int_equal(cursor_open(&c, s, 1234, BLOCK, WINDOW, &f), FAIL_NONE);
	return c;
}

static const struct exclusions none;

static struct mixer_draw
take(struct cursor *c)
{
	struct mixer_draw d;

	assert_int_equal(cursor_take(c, &none, 5, &d), CURSOR_TAKEN);
	assert_int_equal(d.domain, 5);
	assert_true(d.ordinal >= d.block_first && d.ordinal < d.block_first + d.block_count);
	return d;
}

static void
set_lengths(struct cursor *c, const uint64_t *sequences, const bool *sealed)
{
	struct failure f;

	assert_int_equal(cursor_check_lengths(c, sequences, sealed, &f), FAIL_NONE);
	cursor_settle(c);
	assert_int_equal(cursor_set_lengths(c, sequences, sealed, &f), FAIL_NONE);
}

static void
test_an_epoch_visits_each_sequence_once(void **state)
{
	const uint64_t sequences[] = {7, 10};
	const struct mixer_source s = {
	    .name = "web", .partitions_n = 2, .sequences = sequences, .on_end = MIX_END_REPEAT};
	struct cursor c = open_cursor(&s);

	(void)state;
	assert_int_equal(cursor_length(&c), 17);
	assert_true(cursor_passes(&c) == UINT64_MAX);
	for (uint64_t epoch = 0; epoch < 3; epoch++) {
		bool seen[2][10] = {{false}};

		for (int i = 0; i < 17; i++) {
			struct mixer_draw d = take(&c);

			assert_int_equal(d.epoch, epoch);
			assert_false(seen[d.partition][d.ordinal]);
			seen[d.partition][d.ordinal] = true;
		}
		assert_int_equal(c.taken[0], 7);
		assert_int_equal(c.taken[1], 10);
	}
	assert_int_equal(c.place.taken, 51);
	cursor_close(&c);
}

static void
test_a_cursor_is_exhausted_after_its_passes(void **state)
{
	static const struct {
		enum mix_on_end on_end;
		uint64_t max_epochs, passes;
	} rule[] = {{MIX_END_STOP, 0, 1}, {MIX_END_DROP, 0, 1}, {MIX_END_DROP, 3, 3},
	    {MIX_END_REPEAT, 2, 2}};
	const uint64_t sequences[] = {3};

	(void)state;
	EACH_ROW(i, rule) {
		const struct mixer_source s = {.name = "web",
		    .partitions_n = 1,
		    .sequences = sequences,
		    .on_end = rule[i].on_end,
		    .max_epochs = rule[i].max_epochs};
		struct cursor c = open_cursor(&s);
		struct mixer_draw d;

		for (uint64_t k = 0; k < 3 * rule[i].passes; k++)
			take(&c);
		assert_int_equal(cursor_take(&c, &none, 0, &d), CURSOR_EXHAUSTED);
		cursor_close(&c);
	}
}

static void
test_what_is_excluded_is_passed_over(void **state)
{
	const uint64_t sequences[] = {6};
	const struct mixer_source s = {
	    .name = "web", .partitions_n = 1, .sequences = sequences, .on_end = MIX_END_REPEAT};
	const struct ledger_skip some = {0, 0, 1, 5}, all = {0, 0, 0, 6};
	struct cursor c = open_cursor(&s);
	struct exclusions x = {0};
	struct mixer_draw d;
	struct failure f;

	(void)state;
	assert_int_equal(exclusions_skip(&x, &some, &f), FAIL_NONE);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(cursor_take(&c, &x, 0, &d), CURSOR_TAKEN);
		assert_true(d.ordinal == 0 || d.ordinal == 5);
		assert_int_equal(d.epoch, i / 2);
	}
	assert_int_equal(exclusions_skip(&x, &all, &f), FAIL_NONE);
	assert_int_equal(cursor_take(&c, &x, 0, &d), CURSOR_NOTHING_LEFT);
	exclusions_close(&x);
	cursor_close(&c);
}

/* Its two draws are nearly two epochs apart if it is first in one epoch and last in the next. */
static void
test_the_only_one_that_is_left_is_drawn_once_an_epoch(void **state)
{
	enum { EPOCHS = 40 };
	static const struct {
		uint64_t sequences, longer;
		bool live;
	} rows[] = {{1, 1, false}, {2, 2, false}, {6, 6, false}, {6, 6, true}, {4, 9, false}};

	(void)state;
	EACH_ROW(i, rows) {
		const struct mixer_source s = {.name = "web",
		    .partitions_n = 1,
		    .sequences = &rows[i].sequences,
		    .live = rows[i].live,
		    .on_end = MIX_END_REPEAT};
		const bool sealed = true;
		uint64_t length = rows[i].sequences, furthest = 0;

		for (uint64_t left = 0; left < length; left++) {
			const struct ledger_skip below = {0, 0, 0, (int64_t)left},
						 above = {0, 0, (int64_t)left + 1, 100};
			struct cursor c = open_cursor(&s);
			struct exclusions x = {0};
			uint64_t way = 0; /* from the last draw to the end of its epoch */
			struct failure f;

			if (left > 0)
				assert_int_equal(exclusions_skip(&x, &below, &f), FAIL_NONE);
			assert_int_equal(exclusions_skip(&x, &above, &f), FAIL_NONE);
			set_lengths(&c, &length, &sealed);
			for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
				struct mixer_draw d;

				assert_int_equal(cursor_take(&c, &x, 0, &d), CURSOR_TAKEN);
				assert_int_equal(d.epoch, epoch);
				assert_int_equal(d.ordinal, left);
				way += c.place.position;
				furthest = way > furthest ? way : furthest;
				way = cursor_length(&c) - c.place.position;
				if (epoch == 0) /* takes effect in the next epoch */
					set_lengths(&c, &rows[i].longer, &sealed);
			}
			exclusions_close(&x);
			cursor_close(&c);
		}
		assert_int_equal(furthest, 2 * rows[i].longer - 1); /* the longest way occurred */
	}
}

static void
test_a_live_domain_deals_its_partitions_in_turn(void **state)
{
	static const struct {
		uint32_t partition;
		uint64_t ordinal;
	} want[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {1, 3}};
	uint64_t sequences[] = {3, 3};
	bool sealed[] = {true, false};
	const struct mixer_source s = {.name = "web",
	    .partitions_n = 2,
	    .sequences = sequences,
	    .sealed = sealed,
	    .live = true,
	    .on_end = MIX_END_REPEAT};
	struct cursor c = open_cursor(&s);
	struct mixer_draw d;

	(void)state;
	EACH_ROW(i, want) {
		assert_true(cursor_deals(&c));
		if (i == 6) { /* partition 0 has ended, 1 lacks its ordinal 3 */
			assert_true(cursor_is_dry(&c));
			assert_int_equal(cursor_take(&c, &none, 0, &d), CURSOR_DRY);
			assert_int_equal(d.partition, 1);
			assert_int_equal(d.ordinal, 3);
			sequences[1] = 4;
			set_lengths(&c, sequences, sealed);
			assert_false(cursor_is_dry(&c));
		}
		d = take(&c);
		assert_int_equal(d.partition, want[i].partition);
		assert_int_equal(d.ordinal, want[i].ordinal);
	}
	sealed[1] = true;
	set_lengths(&c, sequences, sealed);
	assert_int_equal(take(&c).epoch, 1);
	assert_false(cursor_deals(&c));
	assert_int_equal(cursor_length(&c), 7);
	cursor_close(&c);
}

/* Seeking in the rounds, as after a resume, finds what stepping through them finds. */
static void
test_any_position_of_a_live_domain_is_found_directly(void **state)
{
	const uint64_t sequences[] = {5, 0, 9, 2, 7};
	const bool sealed[] = {true, true, false, true, false};
	const struct mixer_source s = {.name = "web",
	    .partitions_n = 5,
	    .sequences = sequences,
	    .sealed = sealed,
	    .live = true};
	struct cursor straight = open_cursor(&s);

	(void)state;
	for (uint64_t position = 0; !cursor_is_dry(&straight); position++) {
		struct cursor c = open_cursor(&s);
		struct mixer_draw a, b = take(&straight);

		c.place.position = position;
		a = take(&c);
		assert_int_equal(a.partition, b.partition);
		assert_int_equal(a.ordinal, b.ordinal);
		cursor_close(&c);
	}
	assert_int_equal(straight.place.position, 5 + 8 + 2 + 7); /* partition 4 lacks ordinal 7 */
	cursor_close(&straight);
}

/* Before anything is drawn each position is known; then the sequence is drawn there. */
static void
test_the_position_of_a_sequence_is_known_before_it_is_drawn(void **state)
{
	const uint64_t sequences[] = {7, 0, 10, 3};
	const bool sealed[] = {true, true, true, true};

	(void)state;
	for (int i = 0; i < 2 * SHUFFLES; i++) {
		const struct mixer_source s = {.name = "web",
		    .partitions_n = 4,
		    .sequences = sequences,
		    .sealed = sealed,
		    .live = i % 2 == 1,
		    .shuffle = (enum mix_shuffle)(i / 2),
		    .on_end = MIX_END_REPEAT};
		struct cursor c = open_cursor(&s), ahead;
		struct failure f;
		uint64_t position;

		for (int t = 0; t < 60; t++) {
			struct mixer_draw d;

			assert_int_equal(cursor_copy(&ahead, &c, &f), FAIL_NONE);
			d = take(&ahead);
			if (d.epoch == c.place.epoch) {
				assert_true(
				    cursor_position_of(&c, d.partition, d.ordinal, &position));
				assert_int_equal(position, c.place.position);
			}
			take(&c); /* also after it was asked */
			assert_int_equal(c.place.epoch, d.epoch);
			cursor_close(&ahead);
		}
		assert_false(cursor_position_of(&c, 1, 0, &position));
		assert_false(cursor_position_of(&c, 0, 7, &position));
		assert_false(cursor_position_of(&c, 4, 0, &position));
		cursor_close(&c);
	}
}

static void
test_an_extension_counts_from_the_next_epoch_and_is_undone_with_its_step(void **state)
{
	const uint64_t sequences[] = {4}, longer[] = {6};
	const bool sealed[] = {true};
	const struct mixer_source s = {
	    .name = "web", .partitions_n = 1, .sequences = sequences, .on_end = MIX_END_REPEAT};
	struct cursor c = open_cursor(&s);
	struct mixer_draw first;

	(void)state;
	take(&c);
	set_lengths(&c, longer, sealed);
	assert_int_equal(cursor_length(&c), 4);
	for (int i = 0; i < 3; i++)
		take(&c);
	cursor_keep(&c);
	first = take(&c);
	assert_int_equal(first.epoch, 1);
	assert_int_equal(cursor_length(&c), 6);
	cursor_undo(&c);
	assert_int_equal(cursor_length(&c), 4);
	assert_int_equal(c.taken[0], 4);
	assert_int_equal(take(&c).ordinal, first.ordinal);
	cursor_settle(&c);
	assert_false(c.place.extended);
	assert_int_equal(cursor_length(&c), 6);
	for (int i = 0; i < 5; i++)
		assert_int_equal(take(&c).epoch, 1);
	assert_int_equal(take(&c).epoch, 2);
	cursor_close(&c);
}

/* Whatever the order: the epoch that an extension counts in has each of its sequences once. */
static void
test_each_order_is_one_of_the_lengths_of_its_epoch(void **state)
{
	const uint64_t sequences[] = {5, 3}, longer[] = {11, 3};
	const bool sealed[] = {true, true};

	(void)state;
	for (int i = 0; i < SHUFFLES; i++) {
		const struct mixer_source s = {.name = "web",
		    .partitions_n = 2,
		    .sequences = sequences,
		    .shuffle = (enum mix_shuffle)i,
		    .on_end = MIX_END_REPEAT};
		struct cursor c = open_cursor(&s);

		take(&c);
		set_lengths(&c, longer, sealed);
		for (int k = 0; k < 7; k++)
			assert_int_equal(take(&c).epoch, 0);
		for (uint64_t epoch = 1; epoch < 4; epoch++) {
			bool seen[2][11] = {{false}};

			for (int k = 0; k < 14; k++) {
				struct mixer_draw d = take(&c);

				assert_int_equal(d.epoch, epoch);
				assert_false(seen[d.partition][d.ordinal]);
				seen[d.partition][d.ordinal] = true;
			}
		}
		cursor_close(&c);
	}
}

/* Its first pass was dealt, when nobody knew how long it would become. */
static void
test_none_repeats_the_first_pass_of_a_live_domain(void **state)
{
	const uint64_t sequences[] = {5, 0, 9, 2};
	const bool sealed[] = {true, true, true, true};
	const struct mixer_source s = {.name = "web",
	    .partitions_n = 4,
	    .sequences = sequences,
	    .sealed = sealed,
	    .live = true,
	    .shuffle = MIX_SHUFFLE_NONE,
	    .on_end = MIX_END_REPEAT};
	struct cursor c = open_cursor(&s);
	struct mixer_draw first[16];

	(void)state;
	for (int i = 0; i < 64; i++) {
		struct mixer_draw d = take(&c);

		assert_int_equal(d.epoch, i / 16);
		if (i < 16)
			first[i] = d;
		assert_int_equal(d.partition, first[i % 16].partition);
		assert_int_equal(d.ordinal, first[i % 16].ordinal);
	}
	cursor_close(&c);
}

static void
test_a_partition_that_became_shorter_is_refused(void **state)
{
	const uint64_t sequences[] = {4}, shorter[] = {3};
	const bool sealed[] = {true}, open[] = {false};
	const struct mixer_source s = {.name = "web", .partitions_n = 1, .sequences = sequences};
	struct cursor c = open_cursor(&s);
	struct failure f;

	(void)state;
	assert_int_equal(cursor_check_lengths(&c, shorter, sealed, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "web"));
	/* Open again: it is being extended, and its length is not judged before the next End. */
	assert_int_equal(cursor_check_lengths(&c, shorter, open, &f), FAIL_NONE);
	set_lengths(&c, shorter, open);
	assert_int_equal(cursor_length(&c), 4);
	cursor_close(&c);
}

/* What was appended is counted with from the next epoch on, and is no less promised. */
static void
test_a_partition_that_lost_what_was_appended_is_refused(void **state)
{
	const uint64_t sequences[] = {4}, longer[] = {9}, lost[] = {8};
	const bool sealed[] = {true};
	const struct mixer_source s = {.name = "web", .partitions_n = 1, .sequences = sequences};
	struct cursor c = open_cursor(&s);
	struct failure f;

	(void)state;
	set_lengths(&c, longer, sealed);
	assert_int_equal(cursor_length(&c), 4);
	assert_int_equal(cursor_check_lengths(&c, lost, sealed, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "counts with 9 sequences, the topic holds 8"));
	assert_int_equal(cursor_check_lengths(&c, longer, sealed, &f), FAIL_NONE);
	cursor_close(&c);
}

static void
test_a_copy_goes_the_same_way(void **state)
{
	const uint64_t sequences[] = {9, 9}, longer[] = {9, 12};
	const bool sealed[] = {true, true};
	const struct mixer_source s = {
	    .name = "web", .partitions_n = 2, .sequences = sequences, .on_end = MIX_END_REPEAT};
	struct cursor c = open_cursor(&s), copy;
	struct failure f;

	(void)state;
	set_lengths(&c, longer, sealed);
	for (int i = 0; i < 20; i++) /* two into the extended epoch */
		take(&c);
	assert_true(c.place.extended);
	assert_int_equal(cursor_copy(&copy, &c, &f), FAIL_NONE);
	for (int i = 0; i < 50; i++) {
		struct mixer_draw a = take(&c), b = take(&copy);

		assert_int_equal(a.partition, b.partition);
		assert_int_equal(a.ordinal, b.ordinal);
		assert_int_equal(a.epoch, b.epoch);
	}
	cursor_close(&c);
	cursor_close(&copy);
}

/* A block ends where the partition does at the moment; one that lacks the ordinal has none. */
static void
test_a_live_domains_block_is_as_long_as_what_is_there(void **state)
{
	const uint64_t sequences[] = {BLOCK + 3, 0};
	const bool sealed[] = {true, false};
	const struct mixer_source s = {.name = "web",
	    .partitions_n = 2,
	    .sequences = sequences,
	    .sealed = sealed,
	    .live = true,
	    .on_end = MIX_END_REPEAT};
	uint64_t more[] = {BLOCK + 3, BLOCK + 1};
	struct cursor c = open_cursor(&s);
	struct mixer_draw d = take(&c);

	(void)state;
	assert_int_equal(d.block_first, 0);
	assert_int_equal(d.block_count, BLOCK);
	assert_int_equal(cursor_take(&c, &none, 5, &d), CURSOR_DRY);
	assert_int_equal(d.partition, 1);
	assert_int_equal(d.block_count, 0);
	set_lengths(&c, more, sealed);
	for (uint64_t i = 1; i < 2 * BLOCK; i++)
		d = take(&c);
	d = take(&c); /* partition 0, ordinal BLOCK */
	assert_int_equal(d.partition, 0);
	assert_int_equal(d.ordinal, BLOCK);
	assert_int_equal(d.block_first, BLOCK);
	assert_int_equal(d.block_count, 3);
	d = take(&c);
	assert_int_equal(d.partition, 1);
	assert_int_equal(d.block_count, 1);
	cursor_close(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_epoch_visits_each_sequence_once),
	    cmocka_unit_test(test_a_cursor_is_exhausted_after_its_passes),
	    cmocka_unit_test(test_what_is_excluded_is_passed_over),
	    cmocka_unit_test(test_the_only_one_that_is_left_is_drawn_once_an_epoch),
	    cmocka_unit_test(test_a_live_domain_deals_its_partitions_in_turn),
	    cmocka_unit_test(test_any_position_of_a_live_domain_is_found_directly),
	    cmocka_unit_test(
		test_an_extension_counts_from_the_next_epoch_and_is_undone_with_its_step),
	    cmocka_unit_test(test_the_position_of_a_sequence_is_known_before_it_is_drawn),
	    cmocka_unit_test(test_each_order_is_one_of_the_lengths_of_its_epoch),
	    cmocka_unit_test(test_none_repeats_the_first_pass_of_a_live_domain),
	    cmocka_unit_test(test_a_partition_that_became_shorter_is_refused),
	    cmocka_unit_test(test_a_partition_that_lost_what_was_appended_is_refused),
	    cmocka_unit_test(test_a_copy_goes_the_same_way),
	    cmocka_unit_test(test_a_live_domains_block_is_as_long_as_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
