/* mix_history.h: a mix over its steps, from any order of records, in memory that has a limit. */
#include "consumer/ledger/mix_history.h"

#include <inttypes.h>
#include <math.h>

#include "common/schedule/weights.h"
#include "tests/unit/test.h"

static struct failure f;

/* A ledger of `records` records of `steps` steps each, at offsets 0, 2, 4 ... (markers between). */
struct world {
	int64_t records, steps;
};

static struct ledger_domain two[2];

static struct ledger
record(const struct world *w, int64_t k)
{
	static char code[] = "code", web[] = "web";
	struct ledger l = {.domain = two, .domains_n = 2};

	l.step_next = (k + 1) * w->steps;
	l.draws = l.step_next * 4;
	l.version = 1;
	two[0] = (struct ledger_domain){.name = code,
	    .weight = WEIGHT_ONE / 4,
	    .taken = l.step_next,
	    .tokens = l.step_next * 65,
	    .credit = (int64_t)WEIGHT_ONE / 2};
	two[1] = (struct ledger_domain){.name = web,
	    .weight = WEIGHT_ONE / 4 * 3,
	    .taken = 3 * l.step_next,
	    .tokens = 3 * l.step_next * 65,
	    .credit = -(int64_t)WEIGHT_ONE / 2};
	return l;
}

static void
add(struct mix_history *h, const struct world *w, int64_t k)
{
	struct ledger l = record(w, k);

	assert_int_equal(mix_history_add(h, &l, 2 * k, 1000 + k, 1, true, &f), FAIL_NONE);
}

/* Looks as the program does, until there is no gap; how often. */
static size_t
refine(struct mix_history *h, const struct world *w)
{
	size_t looks = 0;
	int64_t from, to;

	while (mix_history_gap(h, &from, &to)) {
		int64_t middle = from + (to - from) / 2, k = (middle + 1) / 2;

		assert_true(from < to);
		assert_true(++looks < 20000);
		if (k < w->records)
			add(h, w, k);
		mix_history_looked(h, middle, k < w->records ? 2 * k : -1);
	}
	return looks;
}

static void
check_order(const struct mix_history *h, const struct world *w)
{
	assert_true(h->n <= h->points_max);
	for (size_t i = 0; i < h->n; i++) {
		const struct mix_history_point *p = &h->point[i];
		const struct mix_history_value *v = mix_history_values(h, i);

		assert_int_equal(p->step, (p->offset / 2 + 1) * w->steps);
		assert_true(i == 0 || p->offset > h->point[i - 1].offset);
		assert_int_equal(v[0].taken, p->step);
		assert_int_equal(v[1].taken, 3 * p->step);
		assert_int_equal(v[0].tokens, 64 * p->step);
		assert_true(v[0].intended == 0.25F && v[1].intended == 0.75F);
		assert_true(v[0].deviation == -0.5F && v[1].deviation == 0.5F);
	}
}

static int64_t
widest(const struct mix_history *h)
{
	int64_t wide = 0;

	for (size_t i = 1; i < h->n; i++)
		if (h->point[i].step - h->point[i - 1].step > wide)
			wide = h->point[i].step - h->point[i - 1].step;
	return wide;
}

static void
test_a_long_ledger_is_seen_by_a_thousand_looks_the_coarsest_first(void **unused)
{
	const struct world w = {1000000, 1};
	struct mix_history h = {0};
	int64_t from, to;
	size_t looks;

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	add(&h, &w, 0);
	add(&h, &w, w.records - 1);
	for (int i = 0; i < 15; i++) {
		assert_true(mix_history_gap(&h, &from, &to));
		add(&h, &w, (from + (to - from) / 2 + 1) / 2);
	}
	assert_true(widest(&h) <= 1000000 / 16 + 2); /* 15 looks cut it into 16 even parts */
	looks = refine(&h, &w);
	assert_true(looks < 1100);
	assert_true(widest(&h) <= 1000000 / MIX_HISTORY_FINE + 1);
	check_order(&h, &w);
	assert_int_equal(h.point[0].step, 1);
	assert_int_equal(h.point[h.n - 1].step, 1000000);
	mix_history_close(&h);
}

static void
test_few_records_of_many_steps_are_all_found_and_looking_ends(void **unused)
{
	const struct world w = {9, 5000};
	struct mix_history h = {0};

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	add(&h, &w, 0);
	add(&h, &w, 8);
	assert_true(refine(&h, &w) < 40);
	assert_int_equal(h.n, 9);
	check_order(&h, &w);
	mix_history_close(&h);
}

static void
test_a_look_that_finds_nothing_ends_its_gap_there(void **unused)
{
	const struct world w = {1000, 1};
	struct mix_history h = {0};
	int64_t from, to;

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	add(&h, &w, 0);
	add(&h, &w, 999);
	assert_true(mix_history_gap(&h, &from, &to));
	assert_int_equal(from, 1);
	assert_int_equal(to, 1998);
	mix_history_looked(&h, 999, 1998);
	assert_true(mix_history_gap(&h, &from, &to));
	assert_int_equal(to, 999);
	mix_history_looked(&h, 3, -1);
	assert_true(mix_history_gap(&h, &from, &to));
	assert_int_equal(to, 3);
	mix_history_looked(&h, 2, -1);
	assert_false(mix_history_gap(&h, &from, &to));
	mix_history_close(&h);
}

static void
test_followed_for_a_million_records_it_keeps_its_limit_and_an_even_spacing(void **unused)
{
	const struct world w = {1000000, 3};
	struct mix_history h = {0};

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	for (int64_t k = 0; k < w.records; k++) {
		add(&h, &w, k);
		assert_true(h.n <= h.points_max);
		assert_int_equal(h.point[h.n - 1].step, 3 * (k + 1)); /* the newest is there */
	}
	check_order(&h, &w);
	assert_true(h.n >= h.points_max / 2 - 1);
	assert_true(widest(&h) <= 2 * h.spacing);
	assert_int_equal(h.point[0].step, 3);
	mix_history_close(&h);
}

static void
test_a_record_that_was_there_before_changes_nothing(void **unused)
{
	const struct world w = {10, 1};
	struct mix_history h = {0};
	uint64_t generation;

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	add(&h, &w, 3);
	add(&h, &w, 1);
	generation = h.generation;
	add(&h, &w, 3);
	assert_int_equal(h.generation, generation);
	assert_int_equal(h.n, 2);
	assert_int_equal(h.point[0].offset, 2);
	mix_history_close(&h);
}

/* Mixers that only start, and answers while nobody trains, are records without steps. */
static void
test_of_records_at_one_step_one_is_a_point_and_looking_for_others_ends(void **unused)
{
	const struct world w = {1, 7};
	struct mix_history h = {0};
	struct ledger l = record(&w, 0);
	int64_t from, to;
	int looks = 0;

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	for (int64_t k = 0; k < 5000; k++)
		assert_int_equal(mix_history_add(&h, &l, k, k, 1, true, &f), FAIL_NONE);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.point[0].offset, 4999);
	l.step_next = 100;
	assert_int_equal(mix_history_add(&h, &l, 9000, 1, 1, true, &f), FAIL_NONE);
	while (mix_history_gap(&h, &from, &to)) { /* step 7 up to offset 6999, then step 100 */
		int64_t middle = from + (to - from) / 2;

		l.step_next = middle < 7000 ? 7 : 100;
		assert_int_equal(mix_history_add(&h, &l, middle, 1, 1, true, &f), FAIL_NONE);
		mix_history_looked(&h, middle, middle);
		assert_true(++looks < 20);
	}
	assert_int_equal(h.n, 2);
	assert_int_equal(h.point[0].offset, 6999);
	mix_history_close(&h);
}

static void
test_domains_that_join_have_zeros_before_and_many_have_fewer_points(void **unused)
{
	static struct ledger_domain many[3000];
	static char name[3000][8];
	const struct world w = {3000, 1};
	struct mix_history h = {0};
	struct ledger l = {
	    .step_next = 5000, .draws = 9, .domain = many, .domains_n = 3000, .version = 2};

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	assert_int_equal(h.points_max, MIX_HISTORY_POINTS_MAX);
	for (int64_t k = 0; k < w.records; k++)
		add(&h, &w, k);
	for (size_t i = 0; i < 3000; i++) {
		snprintf(name[i], sizeof(name[i]), "d%zu", i);
		many[i] = (struct ledger_domain){.name = name[i], .taken = (int64_t)i, .weight = 1};
	}
	assert_int_equal(mix_history_add(&h, &l, 100000, 5, 1, false, &f), FAIL_NONE);
	assert_int_equal(h.domains_n, 3000);
	assert_true(
	    h.points_max * h.domains_room * sizeof(struct mix_history_value) <= MIX_HISTORY_BYTES);
	assert_true(h.n <= h.points_max);
	assert_int_equal(mix_history_values(&h, h.n - 1)[2999].taken, 2999);
	assert_true(isnan(mix_history_values(&h, h.n - 1)[2999].deviation));
	assert_int_equal(mix_history_values(&h, 0)[2999].taken, 0);
	assert_int_equal(h.point[0].domains_n, 2);
	assert_string_equal(h.name[1], "web"); /* a name is for ever */
	mix_history_close(&h);
}

static void
test_points_are_chosen_evenly_with_both_ends(void **unused)
{
	const struct world w = {100, 10};
	struct mix_history h = {0};
	size_t at[256];

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	for (int64_t k = 0; k < w.records; k++)
		add(&h, &w, k);
	assert_int_equal(mix_history_choose(&h, 0, INT64_MAX, at, 256), 100);
	assert_int_equal(mix_history_choose(&h, 0, INT64_MAX, at, 4), 4);
	assert_true(at[0] == 0 && at[1] == 33 && at[2] == 66 && at[3] == 99);
	assert_int_equal(mix_history_choose(&h, 500, 510, at, 4), 2);
	assert_true(h.point[at[0]].step == 500 && h.point[at[1]].step == 510);
	assert_int_equal(mix_history_choose(&h, 501, 509, at, 4), 0);
	mix_history_close(&h);
}

static void
test_another_ledger_has_its_own_domains(void **unused)
{
	static char books[] = "books";
	const struct world w = {10, 1};
	struct mix_history h = {0};
	struct ledger l;

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	add(&h, &w, 0);
	assert_string_equal(h.name[0], "code");
	mix_history_clear(&h);
	assert_int_equal(h.domains_n, 0);
	l = record(&w, 0);
	l.domain[0].name = books;
	assert_int_equal(mix_history_add(&h, &l, 0, 1000, 1, true, &f), FAIL_NONE);
	assert_int_equal(h.domains_n, 2);
	assert_string_equal(h.name[0], "books");
	assert_string_equal(h.name[1], "web");
	mix_history_close(&h);
}

/* The points of a part within its range, which are in order and no two are further apart. */
static size_t
within(const struct mix_history *part, int64_t from, int64_t to, int64_t apart)
{
	size_t at[MIX_HISTORY_PART_POINTS_MAX];
	size_t n = mix_history_choose(part, from, to, at, MIX_HISTORY_PART_POINTS_MAX);

	for (size_t i = 1; i < n; i++)
		assert_true(part->point[at[i]].step - part->point[at[i - 1]].step <= apart);
	return n;
}

static void
test_a_part_of_a_long_mix_is_seen_step_by_step(void **unused)
{
	const struct {
		int64_t from, to, apart;
		size_t least, looks;
	} rows[] = {
	    {999900, 1000000, 1, 101, 140},
	    {999000, 1000000, 8, 129, MIX_HISTORY_PART_POINTS_MAX / 2},
	    {0, 100, 1, 100, 140}, /* the first record is behind step 1 */
	    {437000, 437100, 1, 101, 140},
	    {990000, INT64_MAX, 80, 129, MIX_HISTORY_PART_POINTS_MAX / 2},
	};
	const struct world w = {1000000, 1};

	(void)unused;
	for (int followed = 0; followed < 2; followed++) {
		struct mix_history h = {0};

		assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
		if (followed) /* what there was no room for is looked for once more */
			for (int64_t k = 0; k < w.records; k++)
				add(&h, &w, k);
		add(&h, &w, 0);
		add(&h, &w, w.records - 1);
		refine(&h, &w);
		EACH_ROW(i, rows) {
			struct mix_history part = {0};
			size_t looks;

			assert_true(mix_history_part(&part, &h, rows[i].from, rows[i].to));
			looks = refine(&part, &w);
			assert_true(looks <= rows[i].looks);
			assert_true(within(&part, rows[i].from, rows[i].to, rows[i].apart) >=
				    rows[i].least);
			check_order(&part, &w);
			mix_history_close(&part);
		}
		mix_history_close(&h);
	}
}

static void
test_there_is_no_part_of_what_is_known_already(void **unused)
{
	const struct world long_one = {1000000, 1}, short_one = {300, 1};
	struct mix_history h = {0}, part = {0};

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	assert_false(mix_history_part(&part, &h, 0, INT64_MAX)); /* nothing is known */
	for (int64_t k = 0; k < short_one.records; k++)
		add(&h, &short_one, k);
	assert_false(mix_history_part(&part, &h, 200, 300)); /* each record is a point */
	mix_history_clear(&h);
	add(&h, &long_one, 0);
	add(&h, &long_one, long_one.records - 1);
	refine(&h, &long_one);
	assert_false(mix_history_part(&part, &h, 0, INT64_MAX));
	assert_false(mix_history_part(&part, &h, 1000001, INT64_MAX)); /* not yet there */
	assert_false(mix_history_part(&part, &h, 10, 10));
	assert_true(mix_history_part(&part, &h, 900000, INT64_MAX));
	mix_history_close(&part);
	mix_history_close(&h);
}

static void
test_a_part_keeps_its_limit_with_many_domains_and_where_points_are_dense(void **unused)
{
	const struct world w = {1 << 20, 1};
	struct mix_history h = {0}, part = {0};

	(void)unused;
	assert_int_equal(mix_history_open(&h, 20000, &f), FAIL_NONE);
	assert_int_equal(h.points_max, MIX_HISTORY_POINTS_MIN);
	add(&h, &w, 0);
	add(&h, &w, w.records - 1);
	assert_true(mix_history_part(&part, &h, 0, 1 << 19));
	assert_int_equal(part.points_max, MIX_HISTORY_POINTS_MIN);
	assert_true(refine(&part, &w) < 200);
	assert_true(
	    part.n <= part.points_max && part.n >= 17 + 1); /* sixteen parts, and one beside */
	mix_history_close(&part);
	mix_history_close(&h);

	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	for (int64_t k = 0; k < 1500; k++) /* more points than a part has room for */
		add(&h, &w, k);
	add(&h, &w, w.records - 1);
	assert_true(mix_history_part(&part, &h, 0, INT64_MAX));
	assert_true(part.n <= part.points_max);
	refine(&part, &w);
	assert_true(part.n <= part.points_max);
	check_order(&part, &w);
	mix_history_close(&part);
	mix_history_close(&h);
}

static void
test_a_part_is_outgrown_once_its_range_has_twice_its_steps(void **unused)
{
	const struct world w = {1000, 1};
	struct mix_history h = {0}, open = {0}, closed = {0};

	(void)unused;
	assert_int_equal(mix_history_open(&h, 2, &f), FAIL_NONE);
	add(&h, &w, 0); /* step 1 */
	add(&h, &w, 100);
	assert_true(mix_history_part(&open, &h, 0, INT64_MAX));
	assert_true(mix_history_part(&closed, &h, 0, 150));
	assert_false(mix_history_outgrown(&open, &h));
	add(&h, &w, 200); /* step 201: as many again */
	assert_false(mix_history_outgrown(&open, &h));
	add(&h, &w, 201);
	assert_true(mix_history_outgrown(&open, &h));
	add(&h, &w, 999);
	assert_false(mix_history_outgrown(&closed, &h));
	mix_history_clear(&h);
	assert_false(mix_history_outgrown(&open, &h));
	mix_history_close(&closed);
	mix_history_close(&open);
	mix_history_close(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_long_ledger_is_seen_by_a_thousand_looks_the_coarsest_first),
	    cmocka_unit_test(test_few_records_of_many_steps_are_all_found_and_looking_ends),
	    cmocka_unit_test(test_a_look_that_finds_nothing_ends_its_gap_there),
	    cmocka_unit_test(
		test_followed_for_a_million_records_it_keeps_its_limit_and_an_even_spacing),
	    cmocka_unit_test(test_a_record_that_was_there_before_changes_nothing),
	    cmocka_unit_test(
		test_of_records_at_one_step_one_is_a_point_and_looking_for_others_ends),
	    cmocka_unit_test(test_domains_that_join_have_zeros_before_and_many_have_fewer_points),
	    cmocka_unit_test(test_points_are_chosen_evenly_with_both_ends),
	    cmocka_unit_test(test_another_ledger_has_its_own_domains),
	    cmocka_unit_test(test_a_part_of_a_long_mix_is_seen_step_by_step),
	    cmocka_unit_test(test_there_is_no_part_of_what_is_known_already),
	    cmocka_unit_test(
		test_a_part_keeps_its_limit_with_many_domains_and_where_points_are_dense),
	    cmocka_unit_test(test_a_part_is_outgrown_once_its_range_has_twice_its_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
