#include "consumer/reader/commit_pace.h"

#include "tests/unit/test.h"

static struct commit_pace
placed_at(uint64_t every, uint64_t position, bool placed)
{
	struct commit_pace p;

	commit_pace_init(&p, every, position, placed);
	return p;
}

/* Steps that are given until a commit is due; `most` where none is. */
static uint64_t
given_until_due(struct commit_pace *p, uint64_t lead, uint64_t most)
{
	uint64_t n = 0;

	while (n < most && !commit_pace_due(p)) {
		commit_pace_given(p, lead);
		n++;
	}
	return n;
}

static void
test_a_commit_is_due_after_so_many_steps_or_a_quarter_of_the_lead(void **unused)
{
	static const struct {
		uint64_t every, lead, due;
	} rows[] = {
	    {1, 0, 1},
	    {10, 0, 10},
	    {10, 40, 10},
	    {10, 44, 10},
	    {10, 36, 9},
	    {1000, 40, 10},
	    {1000, 7, 1},
	    {1000, 3, 1}, /* a quarter is nothing, but a step is needed */
	    {1000, 1, 1},
	    {0, 0, 2000}, /* only the caller commits */
	    {0, 4, 2000},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct commit_pace p = placed_at(rows[i].every, 5, false);

		assert_int_equal(given_until_due(&p, rows[i].lead, 2000), rows[i].due);
		commit_pace_asked(&p);
		assert_int_equal(p.asked, 5 + rows[i].due);
		assert_int_equal(given_until_due(&p, rows[i].lead, 2000), rows[i].due);
	}
}

static void
test_what_was_trained_may_be_many_steps_at_once(void **unused)
{
	struct commit_pace p = placed_at(4, 5, false);

	(void)unused;
	commit_pace_trained(&p, 8, 0);
	assert_false(commit_pace_due(&p));
	assert_true(commit_pace_due_at_end(&p));
	commit_pace_trained(&p, 9, 0);
	assert_true(commit_pace_due(&p));
	commit_pace_asked(&p);
	commit_pace_trained(&p, 11, 8); /* a quarter of the lead */
	assert_true(commit_pace_due(&p));
}

static void
test_at_the_end_one_step_is_enough_and_none_is_not(void **unused)
{
	struct commit_pace p = placed_at(100, 7, false);

	(void)unused;
	assert_false(commit_pace_due_at_end(&p));
	commit_pace_given(&p, 0);
	assert_false(commit_pace_due(&p));
	assert_true(commit_pace_due_at_end(&p));
	commit_pace_asked(&p);
	assert_false(commit_pace_due_at_end(&p));
	p = placed_at(0, 7, false);
	commit_pace_given(&p, 0);
	assert_false(commit_pace_due_at_end(&p));
}

static void
test_a_place_is_due_until_a_commit_was_asked_for(void **unused)
{
	struct commit_pace p = placed_at(10, 7, true);

	(void)unused;
	assert_true(commit_pace_place_due(&p));
	commit_pace_asked(&p);
	assert_false(commit_pace_place_due(&p));
	commit_pace_move(&p, 3);
	assert_true(commit_pace_place_due(&p));
	assert_int_equal(p.position, 3);
	assert_false(commit_pace_due_at_end(&p));
	p = placed_at(10, 7, false);
	assert_false(commit_pace_place_due(&p)); /* the commits themselves led there */
	p = placed_at(0, 7, true);
	assert_false(commit_pace_place_due(&p));
}

static void
test_a_wait_ends_at_the_first_thing_to_do(void **unused)
{
	enum { NOW = 1000 };
	static const struct {
		int64_t deadline;
		bool flies;
		int64_t until;
	} rows[] = {
	    {NOW, false, NOW},
	    {NOW + 5, true, NOW + 5},
	    {NOW + COMMIT_PACE_LOOK_MS + 1, true, NOW + COMMIT_PACE_LOOK_MS},
	    {NOW + COMMIT_PACE_LOOK_MS + 1, false, NOW + COMMIT_PACE_LOOK_MS + 1},
	    {NOW + COMMIT_PACE_REPEAT_MS - 1, false, NOW + COMMIT_PACE_REPEAT_MS - 1},
	    {NOW + COMMIT_PACE_REPEAT_MS + 1, false, NOW + COMMIT_PACE_REPEAT_MS},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct commit_pace p = placed_at(10, 0, false);

		assert_int_equal(commit_pace_wait_until(&p, NOW, rows[i].deadline, rows[i].flies),
		    rows[i].until);
		assert_int_equal(p.waits_ms, NOW);
	}
}

static void
test_the_last_commit_is_repeated_over_several_calls_that_wait(void **unused)
{
	struct commit_pace p = placed_at(0, 0, false);
	int64_t now = 500, far = 1000000;

	(void)unused;
	commit_pace_wait_until(&p, now, now + 1, false);
	now += COMMIT_PACE_REPEAT_MS - 1; /* the next call: the wait is the same one */
	assert_int_equal(commit_pace_wait_until(&p, now, far, false), now + 1);
	assert_false(commit_pace_repeat_due(&p, now));
	assert_true(commit_pace_repeat_due(&p, now + 1));
	commit_pace_repeated(&p, now + 1);
	assert_false(commit_pace_repeat_due(&p, now + COMMIT_PACE_REPEAT_MS));
	assert_true(commit_pace_repeat_due(&p, now + 1 + COMMIT_PACE_REPEAT_MS));
	commit_pace_given(&p, 0); /* a step came: the next wait counts from its own beginning */
	now += 2 * COMMIT_PACE_REPEAT_MS;
	assert_int_equal(commit_pace_wait_until(&p, now, far, false), now + COMMIT_PACE_REPEAT_MS);
}

/* A new step, a new place and a repetition each end a wait. */
static void
test_each_wait_counts_from_its_own_beginning(void **unused)
{
	enum { BEGUN = 1000, LATER = BEGUN + COMMIT_PACE_REPEAT_MS };

	(void)unused;
	for (int how = 0; how < 3; how++) {
		struct commit_pace p;

		commit_pace_init(&p, 1, 5, false);
		assert_int_equal(commit_pace_wait_until(&p, BEGUN, INT64_MAX, false),
		    BEGUN + COMMIT_PACE_REPEAT_MS);
		assert_true(commit_pace_repeat_due(&p, LATER));
		switch (how) {
		case 0: commit_pace_given(&p, 7); break;
		case 1: commit_pace_move(&p, 9); break;
		case 2: commit_pace_repeated(&p, LATER); break;
		}
		assert_int_equal(commit_pace_wait_until(&p, LATER, INT64_MAX, false),
		    LATER + COMMIT_PACE_REPEAT_MS);
		assert_false(commit_pace_repeat_due(&p, LATER));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_commit_is_due_after_so_many_steps_or_a_quarter_of_the_lead),
	    cmocka_unit_test(test_what_was_trained_may_be_many_steps_at_once),
	    cmocka_unit_test(test_at_the_end_one_step_is_enough_and_none_is_not),
	    cmocka_unit_test(test_a_place_is_due_until_a_commit_was_asked_for),
	    cmocka_unit_test(test_a_wait_ends_at_the_first_thing_to_do),
	    cmocka_unit_test(test_the_last_commit_is_repeated_over_several_calls_that_wait),
	    cmocka_unit_test(test_each_wait_counts_from_its_own_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
