#include "common/base/limits.h"
#include "consumer/batches/lane_seek.h"

#include <inttypes.h>
#include <time.h>

#include "tests/unit/test.h"

/* A partition in memory: entry[o] is the step at offset o, or GAP (control or aborted record). */
enum { GAP = -1 };

/*
 * Of 20,000 steps with wild gaps, what four rounds may leave to be read through. Typical: 0 to 60;
 * in 6,600,000 searches 2 left more than 2,048, at most 2,924.
 */
enum { VAIN_MAX = 8192 };
/* And on average: seen are 53 to 77. */
enum { VAIN_MEAN_ALONE = 128 };
/* Where lanes share a partition; as if each were alone it would be 42 and more. */
enum { VAIN_MEAN = 32 };

struct log {
	int64_t *entry;
	int64_t low, high, room;
	int64_t steps;
};

struct shape {
	int64_t steps, steps_per_transaction_max, abort_every, aborted_records_max;
	int64_t bytes_each;
	int64_t lanes, lane; /* that share the partition, and the one that is sought; 0: one */
};

static uint64_t state;

static uint64_t
next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int64_t
random_in(int64_t low, int64_t high)
{
	return low + (int64_t)(next_random() % (uint64_t)(high - low + 1));
}

static void
put(struct log *l, int64_t entry)
{
	if (l->high == l->room) {
		l->room = l->room == 0 ? 1024 : 2 * l->room;
		l->entry = realloc(l->entry, (size_t)l->room * sizeof(*l->entry));
		assert_non_null(l->entry);
	}
	l->entry[l->high++] = entry;
}

/* The records of other lanes are passed over like gaps. */
static void
put_step(struct log *l, const struct shape *shape)
{
	put(l, shape->lane == 0 ? l->steps : GAP);
	for (int64_t k = 1; k < shape->lanes; k++)
		put(l, shape->lane == k ? l->steps : GAP);
	l->steps++;
}

/* Steps in transactions of random sizes, each with its control record, some aborted. */
static void
fill(struct log *l, const struct shape *shape)
{
	int64_t transactions = 0;

	while (l->steps < shape->steps) {
		int64_t n = random_in(1, shape->steps_per_transaction_max);

		for (int64_t i = 0; i < n && l->steps < shape->steps; i++)
			put_step(l, shape);
		put(l, GAP);
		if (shape->abort_every == 0 || ++transactions % shape->abort_every != 0)
			continue;
		for (int64_t i = random_in(0, shape->aborted_records_max); i > 0; i--)
			put(l, GAP);
		put(l, GAP);
	}
}

static int64_t
first_visible(const struct log *l, int64_t offset)
{
	if (offset < l->low)
		offset = l->low;
	while (offset < l->high && l->entry[offset] == GAP)
		offset++;
	return offset;
}

/* Searches as a reader would; returns the number of rounds. */
static unsigned
search(struct lane_seek *s, const struct log *l, int64_t bytes_each)
{
	unsigned rounds = 0;

	while (s->verdict == LANE_SEEK_PROBE) {
		int64_t at;

		assert_true(s->offset >= l->low);
		assert_true(s->offset < l->high);
		at = first_visible(l, s->offset);
		rounds++;
		if (at == l->high)
			lane_seek_nothing(s);
		else
			lane_seek_record(s, at, (uint64_t)l->entry[at], (size_t)bytes_each);
		assert_true(rounds <= LANE_SEEK_ROUNDS_MAX);
	}
	return rounds;
}

/* Records read in vain before the wanted step, or before the end where it is not published. */
static int64_t
read_in_vain(const struct lane_seek *s, const struct log *l)
{
	int64_t at = first_visible(l, s->offset);

	assert_int_equal(s->verdict, LANE_SEEK_START);
	if (at == l->high)
		return 0;
	assert_true(l->entry[at] <= (int64_t)s->wanted); /* never above it */
	return (int64_t)s->wanted - l->entry[at];
}

static const struct shape shapes[] = {
    /* steps, steps a transaction, abort every, aborted records, bytes a record */
    {20000, 1, 0, 0, 200, 0, 0},
    {20000, 1, 50, 1, 200, 0, 0},
    {20000, 1, 50, 16, 200, 0, 0},
    {20000, 16, 0, 0, 200, 0, 0},
    {20000, 16, 7, 64, 200, 0, 0},
    {20000, 64, 3, 64, 40000, 0, 0},
    {20000, 4, 50, 4, 40000, 0, 0},
    {20000, 16, 20, 16, 4000000, 0, 0},
    {300, 16, 5, 8, 40000, 0, 0},
    {3, 1, 2, 2, 200, 0, 0},
    {1, 1, 1, 3, 200, 0, 0},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void
test_a_step_of_lanes_that_share_a_partition_is_found_as_well(void **unused)
{
	static const int64_t lanes[] = {2, 7, 64};
	int64_t searches = 0, vain = 0;

	(void)unused;
	for (size_t k = 0; k < SHAPES * sizeof(lanes) / sizeof(lanes[0]); k++) {
		struct shape shape = shapes[k % SHAPES];
		struct log l = {0};

		shape.lanes = lanes[k / SHAPES];
		shape.lane = random_in(0, shape.lanes - 1);
		fill(&l, &shape);
		for (int i = 0; i < 100; i++) {
			struct lane_seek s;
			int64_t wanted = random_in(0, shape.steps - 1);

			lane_seek_init(&s, (uint64_t)wanted, (uint32_t)shape.lanes, l.low, l.high);
			search(&s, &l, shape.bytes_each);
			vain += read_in_vain(&s, &l);
			searches++;
		}
		free(l.entry);
	}
	assert_in_range(vain / searches, 0, VAIN_MEAN);
}

static void
test_any_step_is_found_within_the_rounds_and_never_overshot(void **unused)
{
	int64_t searches = 0, vain = 0;

	(void)unused;
	for (size_t k = 0; k < SHAPES; k++) {
		struct log l = {0};

		fill(&l, &shapes[k]);
		for (int i = 0; i < 400; i++) {
			struct lane_seek s;
			int64_t wanted = random_in(0, shapes[k].steps - 1), in_vain;

			lane_seek_init(&s, (uint64_t)wanted, 1, l.low, l.high);
			search(&s, &l, shapes[k].bytes_each);
			in_vain = read_in_vain(&s, &l);
			assert_in_range(in_vain, 0, VAIN_MAX);
			vain += in_vain;
			searches++;
		}
		free(l.entry);
	}
	assert_in_range(vain / searches, 0, VAIN_MEAN_ALONE);
}

static void
test_a_trimmed_lane_finds_what_is_kept_and_expires_what_is_not(void **unused)
{
	(void)unused;
	for (size_t k = 0; k < SHAPES; k++) {
		struct log l = {0};

		fill(&l, &shapes[k]);
		for (int i = 0; i < 200; i++) {
			struct lane_seek s;
			int64_t wanted = random_in(0, shapes[k].steps - 1), at;

			l.low = random_in(1, l.high - 1);
			at = first_visible(&l, l.low);
			lane_seek_init(&s, (uint64_t)wanted, 1, l.low, l.high);
			search(&s, &l, shapes[k].bytes_each);
			if (at < l.high && wanted < l.entry[at]) {
				assert_int_equal(s.verdict, LANE_SEEK_EXPIRED);
				assert_int_equal(s.earliest, l.entry[at]);
			} else {
				read_in_vain(&s, &l);
			}
		}
		free(l.entry);
	}
}

static void
test_a_step_not_published_starts_near_the_end(void **unused)
{
	static const int64_t beyond[] = {0, 1, 100, 1000000};

	(void)unused;
	for (size_t k = 0; k < SHAPES; k++) {
		struct log l = {0};

		fill(&l, &shapes[k]);
		EACH_ROW(i, beyond) {
			struct lane_seek s;
			uint64_t wanted = (uint64_t)(l.steps + beyond[i]);

			lane_seek_init(&s, wanted, 1, l.low, l.high);
			search(&s, &l, shapes[k].bytes_each);
			read_in_vain(&s, &l);
			assert_true(l.high - s.offset <= 2 * LANE_SEEK_NEAR_STEPS);
		}
		free(l.entry);
	}
}

static void
test_a_kink_in_the_density_is_never_overshot(void **unused)
{
	struct log l = {0};

	(void)unused;
	fill(&l, &shapes[0]); /* one step a transaction, then many */
	fill(&l, &(struct shape){200000, 64, 0, 0, 0, 0, 0});
	fill(&l, &(struct shape){220000, 1, 2, 200, 0, 0, 0});
	for (int i = 0; i < 2000; i++) {
		struct lane_seek s;

		lane_seek_init(&s, (uint64_t)random_in(0, l.steps - 1), 1, l.low, l.high);
		search(&s, &l, 200);
		read_in_vain(&s, &l);
	}
	free(l.entry);
}

static void
test_a_commit_leads_straight_to_its_step(void **unused)
{
	struct log l = {0};

	(void)unused;
	fill(&l, &shapes[2]);
	for (int i = 0; i < 400; i++) {
		struct lane_seek s;
		int64_t wanted = random_in(1, l.steps - 1), offset = first_visible(&l, 0);

		while (l.entry[offset] != wanted - 1)
			offset = first_visible(&l, offset + 1);
		lane_seek_init(&s, (uint64_t)wanted, 1, l.low, l.high);
		lane_seek_hint(&s, offset + 1, (uint64_t)wanted);
		assert_int_equal(s.verdict, LANE_SEEK_START);
		assert_int_equal(read_in_vain(&s, &l), 0);
	}
	free(l.entry);
}

static void
test_a_commit_ahead_or_behind_bounds_the_search(void **unused)
{
	struct log l = {0};

	(void)unused;
	fill(&l, &shapes[4]);
	for (int i = 0; i < 400; i++) {
		struct lane_seek s;
		int64_t wanted = random_in(0, l.steps - 1), offset;
		int64_t committed = random_in(1, l.steps - 1);

		for (offset = 0; l.entry[offset] != committed - 1;)
			offset = first_visible(&l, offset + 1);
		lane_seek_init(&s, (uint64_t)wanted, 1, l.low, l.high);
		lane_seek_hint(&s, offset + 1, (uint64_t)committed);
		search(&s, &l, 200);
		assert_in_range(read_in_vain(&s, &l), 0, VAIN_MAX);
	}
	free(l.entry);
}

static void
test_step_0_and_an_empty_lane_ask_nothing(void **unused)
{
	static const struct {
		uint64_t wanted;
		int64_t low, high, start;
	} rows[] = {{0, 0, 1000, 0}, {0, 0, 0, 0}, {17, 0, 0, 0}, {17, 40, 40, 40}};

	(void)unused;
	EACH_ROW(i, rows) {
		struct lane_seek s;

		lane_seek_init(&s, rows[i].wanted, 1, rows[i].low, rows[i].high);
		assert_int_equal(s.verdict, LANE_SEEK_START);
		assert_int_equal(s.offset, rows[i].start);
	}
}

static void
test_a_hint_outside_the_watermarks_is_ignored(void **unused)
{
	struct lane_seek s, same;

	(void)unused;
	lane_seek_init(&s, 100, 1, 50, 1000);
	same = s;
	lane_seek_hint(&s, 49, 100);
	assert_memory_equal(&s, &same, sizeof(s));
	lane_seek_hint(&s, 1001, 100);
	assert_memory_equal(&s, &same, sizeof(s));
	lane_seek_hint(&s, 1000, 100);
	assert_int_equal(s.verdict, LANE_SEEK_START);
	assert_int_equal(s.offset, 1000);
}

/* An offset below the step's record leads to it; any other is noticed by the reader. */
static void
test_a_wrong_commit_of_a_step_above_does_not_overshoot(void **unused)
{
	struct log l = {0};

	(void)unused;
	fill(&l, &shapes[4]);
	for (int i = 0; i < 2000; i++) {
		struct lane_seek s;
		uint64_t wanted = (uint64_t)random_in(0, l.steps - 2);
		uint64_t committed = (uint64_t)random_in((int64_t)wanted + 1, l.steps - 1);

		lane_seek_init(&s, wanted, 1, l.low, l.high);
		lane_seek_hint(&s, random_in(0, l.high), committed);
		search(&s, &l, 200);
		read_in_vain(&s, &l);
	}
	free(l.entry);
}

static void
test_the_largest_step_and_offsets_do_not_overflow(void **unused)
{
	struct lane_seek s;

	(void)unused;
	lane_seek_init(&s, LIMIT_STEP - 1, 1, INT64_MAX / 2, INT64_MAX);
	assert_int_equal(s.verdict, LANE_SEEK_PROBE);
	lane_seek_record(&s, INT64_MAX / 2, 7, 100);
	while (s.verdict == LANE_SEEK_PROBE)
		lane_seek_record(&s, s.offset, LIMIT_STEP / 2 + s.rounds, 100);
	assert_int_equal(s.verdict, LANE_SEEK_START);
}

/* The example of the header, offset by offset: estimates, margins, and what was learnt. */
static void
test_the_example_of_the_header_holds(void **unused)
{
	static const int64_t asked[] = {1000, 1912, 2008, 2036};
	struct lane_seek s;

	(void)unused;
	lane_seek_init(&s, 1000, 1, 0, 6040);
	for (size_t i = 0; i < 4; i++) {
		int64_t step = asked[i] < 1200 ? asked[i] / 2 : (asked[i] - 40) / 2;

		assert_int_equal(s.verdict, LANE_SEEK_PROBE);
		assert_int_equal(s.offset, asked[i]);
		lane_seek_record(&s, asked[i], (uint64_t)step, 64 << 10);
	}
	assert_int_equal(s.verdict, LANE_SEEK_START);
	assert_int_equal(s.offset, 2036);
}

/* From a lane whose beginning was deleted, with a record above known: another line, and margins. */
static void
test_offsets_that_are_asked_between_two_known_records(void **unused)
{
	struct lane_seek s;

	(void)unused;
	lane_seek_init(&s, 5000, 1, 1000, 40000);
	assert_int_equal(s.offset, 1000); /* what is the earliest that is kept? */
	lane_seek_record(&s, 1001, 400, 0);
	/* From step 400 at 1001 on an offset a step at least: no rate is known yet. */
	assert_int_equal(s.offset, 1001 + 4600);
	lane_seek_record(&s, 5602, 1700, 1);
	/* 1300 steps took 4601 offsets: 3300 more, 8379 gaps, less four times their root. */
	assert_int_equal(s.offset, 5602 + 3300 + 8379 - 4 * 91);
	lane_seek_record(&s, 16920, 5040, 1 << 20);
	/* Beyond it by 40: between the two, 3340 steps took 11315 offsets at most. */
	assert_int_equal(s.verdict, LANE_SEEK_PROBE);
	assert_in_range(s.offset, 5602 + 3300, 16917 - 40);
	lane_seek_record(&s, s.offset, 4999, 1 << 20);
	assert_int_equal(s.verdict, LANE_SEEK_START);
}

/* What is near is read through: by bytes, by steps, and a record without bytes divides nothing. */
static void
test_near_is_by_bytes_and_by_steps(void **unused)
{
	static const struct {
		size_t bytes;
		uint64_t near;
	} row[] = {{0, 512}, {1, 512}, {512, 512}, {513, 511}, {64 << 10, 4}, {256 << 10, 1},
	    {(256 << 10) + 1, 0}};

	(void)unused;
	EACH_ROW(i, row)
		for (uint64_t beyond = 0; beyond < 2; beyond++) {
			struct lane_seek s;

			lane_seek_init(&s, 100 + row[i].near + beyond, 1, 1000, 100000);
			lane_seek_record(&s, 1000, 100, row[i].bytes);
			assert_int_equal(s.verdict, beyond ? LANE_SEEK_PROBE : LANE_SEEK_START);
		}
}

/* A step that is not published: further from the end each time that nothing is found there. */
static void
test_the_end_is_come_to_from_further_and_further(void **unused)
{
	static const int64_t before[] = {4, 64, 4096};
	struct lane_seek s;
	int64_t end = 100000;

	(void)unused;
	lane_seek_init(&s, 900000, 1, 1000, end);
	lane_seek_record(&s, 1000, 400, 1 << 20);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(s.verdict, LANE_SEEK_PROBE);
		assert_int_equal(s.offset, end - before[i]);
		end = s.offset;
		lane_seek_nothing(&s);
	}
	assert_int_equal(s.verdict, LANE_SEEK_START);
	assert_int_equal(s.offset, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_any_step_is_found_within_the_rounds_and_never_overshot),
	    cmocka_unit_test(test_a_trimmed_lane_finds_what_is_kept_and_expires_what_is_not),
	    cmocka_unit_test(test_a_step_not_published_starts_near_the_end),
	    cmocka_unit_test(test_a_kink_in_the_density_is_never_overshot),
	    cmocka_unit_test(test_a_commit_leads_straight_to_its_step),
	    cmocka_unit_test(test_a_commit_ahead_or_behind_bounds_the_search),
	    cmocka_unit_test(test_step_0_and_an_empty_lane_ask_nothing),
	    cmocka_unit_test(test_a_hint_outside_the_watermarks_is_ignored),
	    cmocka_unit_test(test_a_wrong_commit_of_a_step_above_does_not_overshoot),
	    cmocka_unit_test(test_the_largest_step_and_offsets_do_not_overflow),
	    cmocka_unit_test(test_the_example_of_the_header_holds),
	    cmocka_unit_test(test_offsets_that_are_asked_between_two_known_records),
	    cmocka_unit_test(test_near_is_by_bytes_and_by_steps),
	    cmocka_unit_test(test_the_end_is_come_to_from_further_and_further),
	    cmocka_unit_test(test_a_step_of_lanes_that_share_a_partition_is_found_as_well),
	};
	const char *seed = getenv("RIFFLE_TEST_SEED");

	state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL) * 2 + 1;
	printf("test_lane_seek: RIFFLE_TEST_SEED=%" PRIu64 "\n", state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
