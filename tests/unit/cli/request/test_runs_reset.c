/* runs_reset.h: which runs may be reset, from plain values; no broker. */
#include "cli/request/runs_reset.h"

#include "tests/unit/test.h"

enum { IDLE_MS = 60000 };

static struct config config = {.mix = {.name = "pre"}};
static struct status_run run = {.name = "trainers", .known = 20, .seen_ms = -1};
static struct status st = {
    .config = &config, .state = STATUS_STARTED, .run = &run, .runs_n = 1, .ledger.step_next = 28};

static void
check(const char *name, uint64_t to, const char *refused)
{
	struct runs_reset r = {.config = &config, .run = name, .to_step = to, .idle_ms = IDLE_MS};
	struct failure f = {0};

	assert_int_equal(runs_reset_check(&r, &st, &f), refused == NULL ? FAIL_NONE
							: strstr(refused, "no run nobody") != NULL
							    ? FAIL_USAGE
							    : FAIL_DATA);
	if (refused != NULL)
		assert_non_null(strstr(f.text, refused));
}

static void
test_a_published_step_of_a_known_silent_run_is_taken(void **state)
{
	(void)state;
	check("trainers", 0, NULL);
	check("trainers", 28, NULL); /* the next one: all are read */
	check("trainers", 29, "step 29 is not published: mix pre is at step 28");
	check("nobody", 5, "mix pre has no run nobody");
	run.seen_ms = IDLE_MS - 1;
	check("trainers", 5, "is active: the ledger saw it advance 59 s ago, to step 20");
	run.seen_ms = IDLE_MS;
	check("trainers", 5, NULL);
	run.seen_ms = -1;
}

static void
test_a_mix_without_a_ledger_that_goes_on_refuses(void **state)
{
	(void)state;
	st.state = STATUS_ENDED;
	check("trainers", 5, "has ended, and its ledger with it: start the trainers at a step");
	st.state = STATUS_NOT_STARTED;
	check("trainers", 0, "has not started");
	st.state = STATUS_STARTED;
}

/* `step` is that of the rank that stands lowest, `step_ahead` that of the one furthest on. */
static void
test_a_run_of_which_any_rank_commits_is_active(void **state)
{
	static const struct {
		uint64_t before[2], now[2];
		bool active;
	} row[] = {
	    {{20, 20}, {20, 20}, false},
	    {{18, 20}, {18, 20}, false},
	    {{0, 0}, {0, 0}, false},
	    {{18, 20}, {18, 21}, true}, /* one goes on, and another holds the lowest step */
	    {{18, 20}, {19, 20}, true},
	    {{18, 20}, {17, 20}, true}, /* back, by an older checkpoint */
	    {{18, 20}, {18, 19}, true},
	    {{0, 0}, {0, 1}, true},
	};
	const struct runs_reset r = {.config = &config, .run = "trainers", .to_step = 5};

	(void)state;
	EACH_ROW(i, row) {
		const struct status_run before = {
		    .step = row[i].before[0], .step_ahead = row[i].before[1]};
		const struct status_run now = {.step = row[i].now[0], .step_ahead = row[i].now[1]};
		struct failure f = {0};

		assert_int_equal(runs_reset_check_silent(&r, &before, &now, &f),
		    row[i].active ? FAIL_DATA : FAIL_NONE);
		if (row[i].active)
			assert_non_null(strstr(f.text, "run trainers is active: it has just"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_published_step_of_a_known_silent_run_is_taken),
	    cmocka_unit_test(test_a_mix_without_a_ledger_that_goes_on_refuses),
	    cmocka_unit_test(test_a_run_of_which_any_rank_commits_is_active),
	};

	return cmocka_run_group_tests_name("runs_reset", tests, NULL, NULL);
}
