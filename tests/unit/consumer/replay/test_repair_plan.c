/* repair_plan.h: what repair decides, with ends of lanes and ledgers that are written down here. */
#include "consumer/replay/repair_plan.h"

#include <string.h>

#include "tests/unit/test.h"

enum { LANES = 2 };

#define AT(S)                                                                                      \
	{                                                                                          \
		.each = 1, .high = 2 * ((S) + 1), .any = true, .offset = 2 * (S), .step = (S)      \
	}
#define END(S)                                                                                     \
	{                                                                                          \
		.each = 1, .high = 2 * ((S) + 1), .any = true, .offset = 2 * (S), .step = (S),     \
		.last = true                                                                       \
	}
#define NONE                                                                                       \
	{                                                                                          \
		.each = 1, .any = false                                                            \
	}

/* What a look at lanes and ledger has found. In place: pointers in it point to it. */
struct scene {
	struct ledger last;
	struct lane_ends_ledger ledger;
	struct lane_end end[LANES + 1]; /* the last one is no lane's */
	struct lane_ends_report report;
	struct repair_found found;
};

static const struct repair_found *
look(struct scene *s, const struct lane_end end[static LANES], struct lane_ends_ledger ledger)
{
	*s = (struct scene){.ledger = ledger};
	memcpy(s->end, end, LANES * sizeof(s->end[0]));
	s->end[LANES] = (struct lane_end){.any = true, .last = true};
	lane_ends_compare(&s->report, s->end, LANES, &s->ledger);
	s->found = (struct repair_found){
	    .last = &s->last,
	    .ledger = &s->ledger,
	    .end = s->end,
	    .report = &s->report,
	    .lanes = LANES,
	};
	return &s->found;
}

static void
test_nothing_is_repaired_where_all_end_together(void **unused)
{
	static const struct {
		struct lane_end end[LANES];
		struct lane_ends_ledger ledger;
		bool level, ended;
	} row[] = {
	    {{AT(59), AT(59)}, {.next = 60}, true, false},
	    {{AT(59), AT(58)}, {.next = 60}, false, false},
	    {{AT(60), AT(59)}, {.next = 60}, false, false},
	    {{AT(59), AT(59)}, {.next = 60, .open = true}, false, false},
	    {{END(60), END(60)}, {.next = 60, .ended = true}, true, true},
	    {{AT(59), AT(59)}, {.next = 60, .ended = true}, false, true},
	    {{AT(59), END(60)}, {.next = 60}, false, true},
	    {{END(60), AT(59)}, {.next = 60}, false, true},
	    {{NONE, NONE}, {.next = 0}, true, false},
	};
	struct scene s;

	(void)unused;
	EACH_ROW(i, row) {
		const struct repair_found *w = look(&s, row[i].end, row[i].ledger);

		assert_int_equal(repair_plan_level(w), row[i].level);
		assert_int_equal(repair_plan_ended(w), row[i].ended);
	}
	look(&s, row[0].end, row[0].ledger);
	s.report.open.n = 1; /* a lane with a transaction that nobody ends */
	assert_false(repair_plan_level(&s.found));
}

static void
test_empty_lanes_are_filled_from_the_first_step_that_is_kept_or_the_one_given(void **unused)
{
	static const struct {
		struct lane_end end[LANES];
		struct step_records_kept kept;
		bool given;
		uint64_t from;
		int64_t run; /* the step of one of the ledger's two runs; -1: no run */
		uint64_t expected;
		const char *refused; /* NULL: it is not */
	} row[] = {
	    {{NONE, AT(59)}, {true, 40, 45}, false, 0, 50, 45, NULL},
	    {{NONE, AT(59)}, {true, 40, 45}, true, 50, 50, 45, NULL}, /* other lanes decide */
	    {{AT(59), NONE}, {true, 40, 45}, true, 50, 50, 45, NULL},
	    {{NONE, NONE}, {0}, false, 0, 50, 30, NULL},
	    {{NONE, NONE}, {0}, true, 29, -1, 0, "the ledger has the steps 30..60"},
	    {{NONE, NONE}, {0}, true, 30, -1, 30, NULL},
	    {{NONE, NONE}, {0}, true, 59, -1, 59, NULL},
	    {{NONE, NONE}, {0}, true, 60, -1, 0, "--from-step 60: the ledger has"},
	    {{NONE, NONE}, {0}, true, 50, 49, 0, "take --from-step 49"},
	    {{NONE, NONE}, {0}, true, 50, 1, 0, "take --from-step 1"},
	    {{NONE, NONE}, {0}, true, 50, 50, 50, NULL},
	    {{NONE, NONE}, {0}, true, 50, 0, 50, NULL}, /* it has committed nothing */
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct ledger_run run[] = {{(char[]){"main"}, 58}, {(char[]){"eval"}, 58}};
		struct scene s;
		uint64_t step = UINT64_MAX;
		enum fail_code code;

		look(&s, row[i].end, (struct lane_ends_ledger){.first = 30, .next = 60});
		s.found.from_given = row[i].given;
		s.found.from_step = row[i].from;
		run[i % 2].step = row[i].run;
		s.last.run = run;
		s.last.runs_n = row[i].run < 0 ? 0 : 2;
		code = repair_plan_from(&s.found, &row[i].kept, &step, &f);
		assert_int_equal(code, row[i].refused == NULL ? FAIL_NONE : FAIL_DATA);
		if (row[i].refused == NULL)
			assert_int_equal(step, row[i].expected);
		else
			assert_non_null(strstr(f.text, row[i].refused));
	}
}

static void
test_each_lane_is_filled_from_its_own_end_and_a_step_at_least_is_derived(void **unused)
{
	static const struct {
		struct lane_end end[LANES];
		uint64_t next; /* of the ledger */
		uint64_t first[LANES], absent_from[LANES], derived_from;
	} row[] = {
	    {{AT(59), AT(52)}, 60, {60, 53}, {60, 53}, 53},
	    {{AT(52), AT(59)}, 60, {53, 60}, {53, 60}, 53},
	    {{AT(61), AT(59)}, 60, {62, 60}, {62, 60}, 60},
	    {{AT(59), NONE}, 60, {60, 45}, {60, 45}, 45},
	    {{NONE, NONE}, 60, {45, 45}, {45, 45}, 45},
	    {{AT(59), AT(59)}, 60, {60, 60}, {60, 60}, 59}, /* only the end of the mix is missing */
	    {{END(60), AT(59)}, 60, {60, 60}, {UINT64_MAX, 60}, 59},
	    {{AT(61), AT(61)}, 60, {62, 62}, {62, 62}, 60}, /* the ledger lacks them */
	    {{AT(59), AT(58)}, 60, {60, 59}, {60, 59}, 59},
	    {{AT(0), AT(0)}, 1, {1, 1}, {1, 1}, 0},
	    {{AT(50), END(60)}, 60, {51, 60}, {51, UINT64_MAX}, 51},
	};
	struct scene s;

	(void)unused;
	EACH_ROW(i, row) {
		const struct repair_found *w =
		    look(&s, row[i].end, (struct lane_ends_ledger){.next = row[i].next});
		uint64_t first[LANES], absent_from[LANES];

		assert_int_equal(repair_plan_lanes(w, 45, first, absent_from), row[i].derived_from);
		for (int k = 0; k < LANES; k++) {
			assert_int_equal(first[k], row[i].first[k]);
			assert_int_equal(absent_from[k], row[i].absent_from[k]);
		}
	}
}

static void
test_steps_beyond_the_ledger_that_a_lane_lacks_are_not_proven(void **unused)
{
	static const struct {
		struct lane_end end[LANES];
		bool guesses;
	} row[] = {
	    {{AT(59), AT(59)}, false},
	    {{AT(59), AT(52)}, false}, /* the ledger proves them */
	    {{AT(61), AT(61)}, false}, /* all lanes do */
	    {{AT(61), AT(60)}, true},
	    {{AT(60), AT(61)}, true},
	    {{AT(60), AT(59)}, true},
	};
	struct scene s;

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(repair_plan_guesses(
				     look(&s, row[i].end, (struct lane_ends_ledger){.next = 60})),
		    row[i].guesses);
}

static void
test_only_a_live_domain_that_is_drawn_from_had_an_unknown_length(void **unused)
{
	static const struct {
		bool live[2];
		enum ledger_domain_state state[2];
		const char *name;
	} row[] = {
	    {{false, false}, {LEDGER_ACTIVE, LEDGER_ACTIVE}, NULL},
	    {{true, false}, {LEDGER_ACTIVE, LEDGER_ACTIVE}, "a"},
	    {{false, true}, {LEDGER_ACTIVE, LEDGER_ACTIVE}, "b"},
	    {{true, true}, {LEDGER_LEFT, LEDGER_ACTIVE}, "b"},
	    {{true, true}, {LEDGER_LEFT, LEDGER_DROPPED}, NULL},
	    {{true, true}, {LEDGER_LEFT, LEDGER_JOINING}, NULL},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct ledger_domain domain[2] = {
		    {.name = (char[]){"a"}, .live = row[i].live[0], .state = row[i].state[0]},
		    {.name = (char[]){"b"}, .live = row[i].live[1], .state = row[i].state[1]}};
		struct ledger last = {.domain = domain, .domains_n = 2};
		struct repair_found w = {.last = &last};
		const char *name = repair_plan_live(&w);

		if (row[i].name == NULL)
			assert_null(name);
		else
			assert_string_equal(name, row[i].name);
	}
}

static void
test_a_request_without_an_answer_is_the_first_after_those_answered(void **unused)
{
	static const struct {
		int64_t answered, low, high, request;
	} row[] = {
	    {0, 0, 0, -1},
	    {0, 0, 1, 0},
	    {4, 0, 4, -1},
	    {3, 0, 4, 3},
	    {4, 4, 4, -1},
	    {5, 0, 4, 0}, /* recreated */
	    {5, 0, 0, -1},
	    {9, 2, 4, 2},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(repair_plan_unanswered(row[i].answered, row[i].low, row[i].high),
		    row[i].request);
}

static void
test_holes_are_looked_for_where_trainers_may_still_read(void **unused)
{
	static const struct {
		size_t runs_n;
		int64_t run[2];
		bool given;
		uint64_t from, kept, expected;
	} row[] = {
	    {0, {0}, false, 0, 40, 40},
	    {2, {55, 50}, false, 0, 40, 50},
	    {2, {50, 55}, false, 0, 40, 50},
	    {2, {50, 0}, false, 0, 40, 40},
	    {1, {39}, false, 0, 40, 40},
	    {1, {41}, false, 0, 40, 41},
	    {2, {50, 55}, true, 52, 40, 52},
	    {2, {50, 55}, true, 45, 40, 45},
	    {2, {50, 55}, true, 39, 40, 40},
	    {2, {50, 55}, true, 0, 40, 40},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct ledger_run run[2] = {
		    {(char[]){"main"}, row[i].run[0]}, {(char[]){"eval"}, row[i].run[1]}};
		struct ledger last = {.run = run, .runs_n = row[i].runs_n};
		struct repair_found w = {
		    .last = &last, .from_given = row[i].given, .from_step = row[i].from};

		assert_int_equal(repair_plan_scan(&w, row[i].kept), row[i].expected);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_is_repaired_where_all_end_together),
	    cmocka_unit_test(
		test_empty_lanes_are_filled_from_the_first_step_that_is_kept_or_the_one_given),
	    cmocka_unit_test(
		test_each_lane_is_filled_from_its_own_end_and_a_step_at_least_is_derived),
	    cmocka_unit_test(test_steps_beyond_the_ledger_that_a_lane_lacks_are_not_proven),
	    cmocka_unit_test(test_only_a_live_domain_that_is_drawn_from_had_an_unknown_length),
	    cmocka_unit_test(test_a_request_without_an_answer_is_the_first_after_those_answered),
	    cmocka_unit_test(test_holes_are_looked_for_where_trainers_may_still_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
