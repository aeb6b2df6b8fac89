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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_published_step_of_a_known_silent_run_is_taken),
	    cmocka_unit_test(test_a_mix_without_a_ledger_that_goes_on_refuses),
	};

	return cmocka_run_group_tests_name("runs_reset", tests, NULL, NULL);
}
