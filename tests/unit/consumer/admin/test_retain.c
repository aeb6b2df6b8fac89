#include "consumer/admin/retain.h"

#include "tests/unit/test.h"

static void
test_runs_are_distinct_and_what_is_no_run_is_passed_over(void **state)
{
	static const char *const groups[] = {"m.trainers", "m.mixer", "m.election", "m.eval",
	    "m.trainers", "mm.other", "m", "m.", "other.x"};
	struct retain_runs r = {0};
	struct failure f;

	(void)state;
	EACH_ROW(i, groups)
		assert_int_equal(retain_add_group(&r, "m", groups[i], &f), FAIL_NONE);
	assert_int_equal(r.n, 2);
	assert_string_equal(r.run[0].name, "trainers");
	assert_string_equal(r.run[1].name, "eval");
	free(r.run);
}

static void
test_runs_beyond_the_limit_are_an_error(void **state)
{
	struct retain_runs r = {0};
	struct failure f = {0};
	char name[16];

	(void)state;
	for (int i = 0; i < RETAIN_RUNS_MAX; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		assert_int_equal(retain_add_run(&r, name, &f), FAIL_NONE);
	}
	assert_int_equal(retain_add_run(&r, "r0", &f), FAIL_NONE);
	assert_int_equal(retain_add_run(&r, "more", &f), FAIL_DATA);
	free(r.run);
}

static void
test_the_lowest_position_below_the_step_holds_it_back(void **state)
{
	struct retain_run run[] = {
	    {.name = "none"},
	    {.name = "far", .committed = true, .step = 90},
	    {.name = "near", .committed = true, .step = 20},
	    {.name = "forgotten", .remembered = true, .step = 15},
	};
	struct retain_runs r = {run, 4};
	struct failure f = {0};

	(void)state;
	assert_int_equal(retain_check(&r, 15, &f), FAIL_NONE);
	assert_int_equal(retain_check(&r, 16, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "run forgotten is at step 15 (as the ledger says"));
	r.n = 3;
	assert_int_equal(retain_check(&r, 20, &f), FAIL_NONE);
	assert_int_equal(retain_check(&r, 21, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "run near is at step 20 and"));
	assert_int_equal(retain_check(&r, 1000, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "run near "));
}

static void
test_the_ledger_is_asked_only_where_the_broker_knows_nothing(void **state)
{
	static const struct {
		int64_t known; /* by the ledger; -1: it does not name the run */
		bool committed;
		uint64_t step; /* of the commits */
		bool remembered;
		uint64_t stands;
	} row[] = {
	    {5, true, 9, false, 9},
	    {5, true, 5, false, 5},
	    {5, true, 4, false, 4}, /* it was set back, and has these steps still to read */
	    {5, true, 0, false, 0},
	    {0, true, 3, false, 3},
	    {-1, true, 3, false, 3},
	    {6, false, 0, true, 6},
	    {1, false, 0, true, 1},
	    {0, false, 0, false, 0},
	    {-1, false, 0, false, 0},
	};
	enum { ROWS = sizeof(row) / sizeof(row[0]) };
	struct ledger_run known[ROWS];
	struct retain_run run[ROWS] = {0};
	struct ledger l = {.run = known};
	struct retain_runs r = {run, ROWS};
	char name[ROWS][8];

	(void)state;
	EACH_ROW(i, row) {
		snprintf(name[i], sizeof(name[i]), "r%zu", i);
		memcpy(run[i].name, name[i], sizeof(name[i]));
		run[i].committed = row[i].committed;
		run[i].step = row[i].step;
		if (row[i].known >= 0)
			known[l.runs_n++] = (struct ledger_run){name[i], row[i].known};
	}
	retain_remember(&r, &l);
	EACH_ROW(i, row) {
		assert_int_equal(run[i].remembered, row[i].remembered);
		assert_int_equal(run[i].committed, row[i].committed);
		assert_int_equal(run[i].step, row[i].stands);
	}
}

static void
test_a_step_is_kept_at_least(void **state)
{
	static const struct {
		int64_t next;
		enum ledger_kind kind;
		uint64_t from;
		bool published;
	} row[] = {
	    {60, LEDGER_STEPS, 0, true},
	    {60, LEDGER_STEPS, 59, true},
	    {60, LEDGER_STEPS, 60, false},
	    {60, LEDGER_END, 59, true},
	    {60, LEDGER_END, 60, true}, /* the record that ends the mix stays */
	    {60, LEDGER_END, 61, false},
	    {0, LEDGER_START, 0, false},
	};

	(void)state;
	EACH_ROW(i, row) {
		struct ledger last = {.step_next = row[i].next, .kind = row[i].kind};
		struct failure f = {0};

		assert_int_equal(retain_check_published(&last, row[i].from, "m", &f),
		    row[i].published ? FAIL_NONE : FAIL_DATA);
	}
}

static void
test_lanes_that_an_interrupted_command_has_left_are_cut_to_the_others(void **state)
{
	static const struct {
		struct step_records_kept kept;
		uint64_t from, at;
		bool cuts;
	} row[] = {
	    {{true, 0, 0}, 50, 50, true},
	    {{true, 49, 49}, 50, 50, true},
	    {{true, 50, 50}, 50, 50, false},
	    {{true, 60, 60}, 50, 60, false},
	    {{true, 40, 50}, 50, 50, true},
	    {{true, 40, 51}, 50, 51, true},
	    {{true, 50, 51}, 50, 51, true},
	    {{false, 0, 0}, 50, 50, false},
	};

	(void)state;
	EACH_ROW(i, row) {
		bool cuts;

		assert_int_equal(retain_cut_at(&row[i].kept, row[i].from, &cuts), row[i].at);
		assert_int_equal(cuts, row[i].cuts);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_runs_are_distinct_and_what_is_no_run_is_passed_over),
	    cmocka_unit_test(test_runs_beyond_the_limit_are_an_error),
	    cmocka_unit_test(test_the_lowest_position_below_the_step_holds_it_back),
	    cmocka_unit_test(test_the_ledger_is_asked_only_where_the_broker_knows_nothing),
	    cmocka_unit_test(test_a_step_is_kept_at_least),
	    cmocka_unit_test(test_lanes_that_an_interrupted_command_has_left_are_cut_to_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
