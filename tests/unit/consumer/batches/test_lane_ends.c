/* lane_ends.h, compared with a ledger: what is damage and what is not. */
#include "consumer/batches/lane_ends.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"

#define AT(S)                                                                                      \
	{                                                                                          \
		.each = 1, .high = 2 * ((S) + 1), .any = true, .offset = 2 * (S), .step = (S)      \
	}
#define END(S)                                                                                     \
	{                                                                                          \
		.each = 1, .high = 2 * ((S) + 1), .any = true, .offset = 2 * (S), .step = (S),     \
		.last = true                                                                       \
	}
#define NEVER                                                                                      \
	{                                                                                          \
		.each = 1, .any = false                                                            \
	}
#define DELETED(HIGH)                                                                              \
	{                                                                                          \
		.each = 1, .low = (HIGH), .high = (HIGH)                                           \
	}
/* Two lanes in one partition. */
#define SHARED(HIGH)                                                                               \
	{                                                                                          \
		.each = 2, .low = (HIGH), .high = (HIGH)                                           \
	}

#define LEVEL  LANE_ENDS_LEVEL
#define BEHIND LANE_ENDS_BEHIND
#define AHEAD  LANE_ENDS_AHEAD

#define LEDGER(begins, ends, over)                                                                 \
	{                                                                                          \
		.first = (begins), .next = (ends), .ended = (over)                                 \
	}

/* Its first records were deleted. */
#define CUT(begins, ends)                                                                          \
	{                                                                                          \
		.first = (begins), .next = (ends), .cut = true                                     \
	}

enum { LANES = 2 };

static void
each_end_is_judged_beside_the_ledger(void **unused)
{
	static const struct {
		struct lane_end end[LANES];
		struct lane_ends_ledger ledger;
		enum lane_ends_state state[LANES];
		uint64_t lowest, highest;
	} row[] = {
	    {{AT(59), AT(59)}, LEDGER(0, 60, false), {LEVEL, LEVEL}, 60, 60},
	    {{AT(59), AT(52)}, LEDGER(0, 60, false), {LEVEL, BEHIND}, 53, 60},
	    {{AT(59), AT(60)}, LEDGER(0, 60, false), {LEVEL, AHEAD}, 60, 61},
	    {{AT(61), AT(52)}, LEDGER(0, 60, false), {AHEAD, BEHIND}, 53, 62},
	    /* The end of a mix is a record of its own. */
	    {{END(60), END(60)}, LEDGER(0, 60, true), {LEVEL, LEVEL}, 60, 60},
	    {{END(60), AT(59)}, LEDGER(0, 60, true), {LEVEL, BEHIND}, 60, 60},
	    {{END(60), AT(59)}, LEDGER(0, 60, false), {AHEAD, LEVEL}, 60, 60},
	    /* Nothing was published: a new mix, and one that was republished from step 30. */
	    {{NEVER, NEVER}, LEDGER(0, 0, false), {LEVEL, LEVEL}, 0, 0},
	    {{NEVER, NEVER}, LEDGER(30, 30, false), {LEVEL, LEVEL}, 30, 30},
	    {{NEVER, NEVER}, LEDGER(0, 1, false), {BEHIND, BEHIND}, 0, 1},
	    {{NEVER, AT(59)}, LEDGER(0, 60, false), {BEHIND, LEVEL}, 0, 60},
	    {{END(0), END(0)}, LEDGER(0, 0, true), {LEVEL, LEVEL}, 0, 0},
	    /* The ledger was read at step 60; others went on, and deleted what is below 65. */
	    {{NEVER, AT(69)}, LEDGER(65, 60, false), {LEVEL, AHEAD}, 60, 70},
	    /* All records deleted, by somebody; a step costs an offset at least. */
	    {{DELETED(70), DELETED(60)}, LEDGER(0, 60, false), {LEVEL, LEVEL}, 60, 60},
	    {{DELETED(70), DELETED(59)}, LEDGER(0, 60, false), {LEVEL, BEHIND}, 0, 60},
	    {{DELETED(70), AT(59)}, LEDGER(0, 60, false), {BEHIND, LEVEL}, 0, 60},
	    {{DELETED(70), DELETED(60)}, CUT(30, 60), {LEVEL, LEVEL}, 60, 60},
	    /* Whether it was republished from step 30 nobody can tell. */
	    {{NEVER, NEVER}, CUT(30, 30), {BEHIND, BEHIND}, 0, 30},
	    {{SHARED(120), SHARED(120)}, LEDGER(0, 60, false), {LEVEL, LEVEL}, 60, 60},
	    {{SHARED(119), SHARED(119)}, LEDGER(0, 60, false), {BEHIND, BEHIND}, 0, 60},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct lane_end end[LANES];
		struct lane_ends_report r;
		struct failure f;
		bool level = true;

		memcpy(end, row[i].end, sizeof(end));
		lane_ends_compare(&r, end, LANES, &row[i].ledger);
		for (int k = 0; k < LANES; k++) {
			assert_int_equal(end[k].state, row[i].state[k]);
			level = level && row[i].state[k] == LEVEL;
		}
		assert_int_equal(r.lowest, row[i].lowest);
		assert_int_equal(r.highest, row[i].highest);
		assert_int_equal(lane_ends_judge(&r, end, &row[i].ledger, "m", &f),
		    level ? FAIL_NONE : FAIL_DATA);
	}
}

static void
a_transaction_that_nobody_ends_is_damage(void **unused)
{
	struct lane_end end[LANES] = {AT(59), AT(59)};
	struct lane_ends_ledger l = {.next = 60};
	struct lane_ends_report r;
	struct failure f;

	(void)unused;
	end[1].open = true;
	lane_ends_compare(&r, end, LANES, &l);
	assert_int_equal(r.open.n, 1);
	assert_int_equal(lane_ends_judge(&r, end, &l, "m", &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "lane 1 holds records of a transaction behind offset 120"));

	end[1].open = false;
	l.open = true; /* an aborted record would become the state to resume from */
	lane_ends_compare(&r, end, LANES, &l);
	assert_int_equal(lane_ends_judge(&r, end, &l, "m", &f), FAIL_DATA);
	assert_non_null(
	    strstr(f.text, "m.ledger has lost its end: it holds records of a transaction"));
}

static void
the_sentence_names_the_log_that_is_shorter(void **unused)
{
	struct lane_end behind[LANES] = {AT(52), AT(52)}, ahead[LANES] = {AT(59), AT(61)};
	struct lane_ends_ledger l = {.next = 60};
	struct lane_ends_report r;
	struct failure f;

	(void)unused;
	lane_ends_compare(&r, behind, LANES, &l);
	lane_ends_judge(&r, behind, &l, "m", &f);
	assert_non_null(strstr(f.text, "topic m.batches has lost its end: lane 0 (and 1 more)"));
	lane_ends_compare(&r, ahead, LANES, &l);
	lane_ends_judge(&r, ahead, &l, "m", &f);
	assert_non_null(strstr(f.text, "topic m.ledger has lost its end: it ends before step 60"));
	assert_non_null(strstr(f.text, "lane 1 of topic m.batches before step 62"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_end_is_judged_beside_the_ledger),
	    cmocka_unit_test(a_transaction_that_nobody_ends_is_damage),
	    cmocka_unit_test(the_sentence_names_the_log_that_is_shorter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
