/* election.h: who waits, who takes over, who looks whether it was fenced. */
#include "tests/unit/test.h"

#include "consumer/publish/election.h"

static struct election e;

static enum election_action
step(bool has, int64_t now_ms)
{
	return election_step(&e, has, now_ms);
}

/* A mixer that has the partition and has attached, at 0. */
static void
make_leader(bool standby)
{
	election_init(&e, standby);
	assert_int_equal(step(true, 0), ELECTION_TAKE_OVER);
	election_attached(&e, -ELECTION_LOOK_MS);
	assert_int_equal(step(true, 0), ELECTION_LOOK);
	assert_int_equal(e.state, ELECTION_LEADING);
}

static void
test_a_standby_waits_until_it_has_the_partition(void **unused)
{
	(void)unused;
	election_init(&e, true);
	for (int64_t now = 0; now < 1000 * ELECTION_LOOK_MS; now += 777)
		assert_int_equal(step(false, now), ELECTION_WAIT);
	assert_int_equal(step(true, 1000 * ELECTION_LOOK_MS), ELECTION_TAKE_OVER);
}

static void
test_a_standby_that_loses_the_partition_before_it_attached_waits_again(void **unused)
{
	(void)unused;
	election_init(&e, true);
	assert_int_equal(step(true, 0), ELECTION_TAKE_OVER);
	assert_int_equal(step(true, 1), ELECTION_TAKE_OVER);
	assert_int_equal(step(false, 2), ELECTION_WAIT);
	assert_int_equal(e.state, ELECTION_WAITING);
	assert_int_equal(step(true, 3), ELECTION_TAKE_OVER);
}

static void
test_one_that_is_no_standby_takes_over_whoever_has_the_partition(void **unused)
{
	(void)unused;
	election_init(&e, false);
	assert_int_equal(step(false, 0), ELECTION_TAKE_OVER);
	assert_int_equal(step(true, 1), ELECTION_TAKE_OVER);
	assert_int_equal(step(false, 2), ELECTION_TAKE_OVER);
	assert_int_equal(e.state, ELECTION_CHOSEN);
}

static void
test_a_leader_that_gets_the_partition_back_looks_once_and_only_then(void **unused)
{
	(void)unused;
	make_leader(true);
	assert_int_equal(step(false, 10), ELECTION_GO_ON);
	assert_int_equal(step(true, 20), ELECTION_GO_ON);
	assert_int_equal(step(true, 10 + ELECTION_LOOK_MS - 1), ELECTION_GO_ON);
	assert_int_equal(e.state, ELECTION_DOUBTED);
	assert_int_equal(step(true, 10 + ELECTION_LOOK_MS), ELECTION_LOOK);
	assert_int_equal(e.state, ELECTION_LEADING);
	for (int64_t now = 2 * ELECTION_LOOK_MS; now < 100 * ELECTION_LOOK_MS; now += 500)
		assert_int_equal(step(true, now), ELECTION_GO_ON);
}

static void
test_a_leader_without_the_partition_looks_once_a_second_and_goes_on(void **unused)
{
	int looks = 0;

	(void)unused;
	make_leader(false);
	for (int64_t now = 1; now <= 10 * ELECTION_LOOK_MS + 1; now++)
		looks += step(false, now) == ELECTION_LOOK;
	assert_int_equal(looks, 10);
	assert_int_equal(e.state, ELECTION_DOUBTED);
	assert_int_equal(step(true, 11 * ELECTION_LOOK_MS + 1), ELECTION_LOOK);
	assert_int_equal(e.state, ELECTION_LEADING);
}

static void
test_whoever_attached_without_the_partition_looks_until_it_has_it(void **unused)
{
	(void)unused;
	election_init(&e, false);
	election_attached(&e, 500);
	assert_int_equal(step(false, 500 + ELECTION_LOOK_MS - 1), ELECTION_GO_ON);
	assert_int_equal(step(false, 500 + ELECTION_LOOK_MS), ELECTION_LOOK);
	assert_int_equal(step(true, 500 + 2 * ELECTION_LOOK_MS), ELECTION_LOOK);
	assert_int_equal(step(true, 500 + 9 * ELECTION_LOOK_MS), ELECTION_GO_ON);
}

static void
test_a_standby_whose_turn_passes_while_it_attaches_doubts_that_it_leads(void **unused)
{
	(void)unused;
	election_init(&e, true);
	assert_int_equal(election_step(&e, true, 0), ELECTION_TAKE_OVER);
	assert_int_equal(election_step(&e, false, 5), ELECTION_WAIT);
	election_attached(&e, 10);
	assert_int_equal(e.state, ELECTION_DOUBTED);
	assert_int_equal(election_step(&e, false, 10 + ELECTION_LOOK_MS), ELECTION_LOOK);
}

static void
test_attaching_again_after_a_failure_changes_nothing(void **unused)
{
	(void)unused;
	make_leader(true);
	election_attached(&e, 5);
	assert_int_equal(e.state, ELECTION_LEADING);
	step(false, 6);
	election_attached(&e, 5 + ELECTION_LOOK_MS);
	assert_int_equal(step(false, 6 + ELECTION_LOOK_MS), ELECTION_LOOK);
}

/* Whatever the group says, and whenever: never back to waiting once attached. */
static void
test_a_mixer_that_attached_never_waits_again(void **unused)
{
	uint64_t seed = 0x9e3779b97f4a7c15u;

	(void)unused;
	for (int run = 0; run < 200; run++) {
		make_leader(run % 2 == 0);
		for (int64_t now = 1; now < 200; now++) {
			enum election_action action;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			action = step(seed >> 63 != 0, now * 100);
			assert_true(action == ELECTION_GO_ON || action == ELECTION_LOOK);
		}
	}
}

static void
test_states_have_names(void **unused)
{
	(void)unused;
	assert_string_equal(election_state_name(ELECTION_WAITING), "waiting");
	assert_string_equal(election_state_name(ELECTION_DOUBTED), "doubted");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_standby_waits_until_it_has_the_partition),
	    cmocka_unit_test(
		test_a_standby_that_loses_the_partition_before_it_attached_waits_again),
	    cmocka_unit_test(test_one_that_is_no_standby_takes_over_whoever_has_the_partition),
	    cmocka_unit_test(test_a_leader_that_gets_the_partition_back_looks_once_and_only_then),
	    cmocka_unit_test(test_a_leader_without_the_partition_looks_once_a_second_and_goes_on),
	    cmocka_unit_test(test_whoever_attached_without_the_partition_looks_until_it_has_it),
	    cmocka_unit_test(test_attaching_again_after_a_failure_changes_nothing),
	    cmocka_unit_test(
		test_a_standby_whose_turn_passes_while_it_attaches_doubts_that_it_leads),
	    cmocka_unit_test(test_a_mixer_that_attached_never_waits_again),
	    cmocka_unit_test(test_states_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
