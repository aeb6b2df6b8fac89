/*
 * committer.h against librdkafka's mock cluster, which refuses commits as it is told to. What the
 * group has in the end is read back from the cluster.
 */
#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "consumer/batches/lanes.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/committer.h"
#include "tests/unit/capture.h"
#include "tests/unit/mock_lanes.h"

enum { API_OFFSET_COMMIT = 8, REFUSALS = 5 };

/* One that no time mends, and one that passes. */
enum {
	STAYS = RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE,
	PASSES = RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
};

static struct committer *c;

static int
open_committer(void **unused)
{
	(void)unused;
	f = (struct failure){0};
	return committer_open(&c, lanes, 3, &f) == FAIL_NONE ? 0 : -1;
}

static int
close_committer(void **unused)
{
	(void)unused;
	committer_close(c);
	rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_COMMIT);
	return 0;
}

/* The next commit is answered by `err`, the one after it by what is said next. */
static void
answer_next(int err)
{
	rd_kafka_mock_push_request_errors(cluster, API_OFFSET_COMMIT, 1, (rd_kafka_resp_err_t)err);
}

/* The records of step n are at offset 10 * n of both lanes. */
static void
ask(uint64_t step)
{
	const int64_t offset_next[MOCK_LANES] = {(int64_t)step * 10, (int64_t)step * 10};

	assert_int_equal(committer_ask(c, step, offset_next, &f), FAIL_NONE);
	assert_true(committer_flies(c));
}

static void
wait_for_all(void)
{
	assert_int_equal(committer_poll(c, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
	assert_false(committer_flies(c));
}

/* What the broker has of both lanes. */
static void
check_group(uint64_t step)
{
	int64_t offset_next[MOCK_LANES];
	char *metadata[MOCK_LANES] = {NULL};
	uint64_t committed;

	assert_int_equal(
	    lanes_committed(lanes, offset_next, metadata, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
	for (int i = 0; i < MOCK_LANES; i++) {
		assert_int_equal(offset_next[i], step * 10);
		assert_int_equal(run_position_parse(&committed, NULL, metadata[i], &f), FAIL_NONE);
		assert_int_equal(committed, step);
		free(metadata[i]);
	}
}

static void
test_what_it_was_opened_with_is_good_and_nothing_flies(void **unused)
{
	(void)unused;
	assert_int_equal(committer_good(c), 3);
	assert_false(committer_flies(c));
	assert_int_equal(committer_poll(c, 0, &f), FAIL_NONE);
	assert_int_equal(committer_failure(c, &f), FAIL_NONE);
}

static void
test_of_those_that_wait_only_the_newest_is_sent(void **unused)
{
	(void)unused;
	answer_next(RD_KAFKA_RESP_ERR_NO_ERROR);
	answer_next(RD_KAFKA_RESP_ERR_NO_ERROR);
	answer_next(STAYS); /* for a third commit, which there must not be */
	ask(5);
	ask(7);
	ask(9);
	assert_int_equal(committer_good(c), 3);
	wait_for_all();
	assert_int_equal(committer_good(c), 9);
	assert_int_equal(committer_failure(c, &f), FAIL_NONE);
	check_group(9);
}

static void
test_a_refusal_is_reported_once_and_good_stays(void **unused)
{
	(void)unused;
	ask(5);
	wait_for_all();
	answer_next(STAYS);
	ask(7);
	wait_for_all();
	assert_int_equal(committer_good(c), 5);
	assert_int_equal(committer_failure(c, &f), FAIL_BROKER);
	assert_non_null(strstr(f.text, "committing step 7: "));
	assert_int_equal(committer_failure(c, &f), FAIL_NONE);
	check_group(5);
}

static void
test_a_refusal_sends_what_waits(void **unused)
{
	(void)unused;
	answer_next(STAYS);
	ask(5);
	ask(7);
	wait_for_all();
	assert_int_equal(committer_good(c), 7);
	assert_int_equal(committer_failure(c, &f), FAIL_BROKER);
	assert_non_null(strstr(f.text, "committing step 5: "));
	check_group(7);
}

static void
test_a_repeat_mends_what_a_late_commit_took_back(void **unused)
{
	const int64_t late[MOCK_LANES] = {50, 50};
	char metadata[RUN_POSITION_TEXT_MAX];

	(void)unused;
	ask(7);
	wait_for_all();
	run_position_format(metadata, 5, NULL);
	assert_int_equal(lanes_commit_begin(lanes, late, metadata, &f), FAIL_NONE);
	assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
	check_group(5);
	committer_repeat(
	    c, 8, (const int64_t[MOCK_LANES]){80, 80}); /* 7 is known to be good, 8 is not */
	assert_true(committer_flies(c));
	wait_for_all();
	assert_int_equal(committer_good(c), 7);
	check_group(7);
}

static void
test_a_repeat_that_is_refused_is_reported_to_nobody(void **unused)
{
	(void)unused;
	ask(7);
	wait_for_all();
	answer_next(STAYS);
	committer_repeat(c, 7, NULL);
	wait_for_all();
	assert_int_equal(committer_failure(c, &f), FAIL_NONE);
	assert_int_equal(committer_good(c), 7);
}

static void
test_without_a_good_commit_a_repeat_sends_the_one_given_or_nothing(void **unused)
{
	(void)unused;
	committer_repeat(c, 3, NULL);
	assert_false(committer_flies(c));
	committer_repeat(c, 3, (const int64_t[MOCK_LANES]){30, 30});
	assert_true(committer_flies(c));
	committer_repeat(c, 4, (const int64_t[MOCK_LANES]){40, 40}); /* one is on its way */
	wait_for_all();
	check_group(3);
}

static void
test_the_time_given_is_kept_and_the_commit_still_arrives(void **unused)
{
	(void)unused;
	for (int i = 0; i < REFUSALS; i++)
		answer_next(PASSES);
	ask(6);
	assert_int_equal(committer_poll(c, 20, &f), FAIL_TIMEOUT);
	assert_non_null(strstr(f.text, "committing step 6: "));
	assert_true(committer_flies(c));
	wait_for_all();
	assert_int_equal(committer_good(c), 6);
	check_group(6);
}

/* ---- two processes of one rank ---- */

static struct committer *other;

/* The other one commits; then ours looks, and commits. What it said, in `said`. */
static void
take_turns(uint64_t of_other, uint64_t of_ours, int64_t now_ms, char *said, size_t room)
{
	struct committer *mine = c;
	struct capture stderr_text;

	if (of_other > 0) {
		c = other;
		ask(of_other);
		wait_for_all();
		c = mine;
	}
	capture_begin(&stderr_text);
	committer_look(c, "m", "trainers", now_ms);
	capture_end_lines(&stderr_text, said, room);
	ask(of_ours);
	wait_for_all();
}

static void
test_a_second_process_of_the_rank_is_named_once(void **unused)
{
	int64_t now_ms = clock_ms();
	char said[1024], pid[32];

	(void)unused;
	snprintf(pid, sizeof(pid), "/%ld (host/process)", (long)getpid());
	assert_int_equal(committer_open(&other, lanes, 3, &f), FAIL_NONE);
	take_turns(4, 4, now_ms += COMMITTER_LOOK_MS, said, sizeof(said));
	assert_string_equal(said, ""); /* ours comes after it: it may be a run that is resumed */
	take_turns(5, 5, now_ms += COMMITTER_LOOK_MS, said, sizeof(said));
	assert_string_equal(said, ""); /* a late commit of a dead one looks like it */
	take_turns(6, 6, now_ms + COMMITTER_LOOK_MS - 1, said, sizeof(said));
	assert_string_equal(said, ""); /* nobody looks so soon */
	take_turns(7, 7, now_ms += COMMITTER_LOOK_MS, said, sizeof(said));
	assert_non_null(
	    strstr(said, "READ-RUN-TWICE run trainers of mix m: another process commits "
			 "the same lanes, "));
	assert_non_null(strstr(said, pid));
	assert_non_null(
	    strstr(said, "Its last commit is step 7, and that of this process is step 6, so both "
			 "train some of the lanes of this process, 0 to "));
	take_turns(8, 8, now_ms + COMMITTER_LOOK_MS, said, sizeof(said));
	assert_string_equal(said, "");
	committer_close(other);
}

/* Both have read all that is published, and repeat their commits at one step. */
static void
test_a_second_process_that_waits_at_the_same_step_is_named_once(void **unused)
{
	int64_t now_ms = clock_ms();
	char said[1024];

	(void)unused;
	assert_int_equal(committer_open(&other, lanes, 3, &f), FAIL_NONE);
	ask(16);
	wait_for_all();
	for (int look = 1; look < COMMITTER_SIGHTINGS; look++) {
		take_turns(16, 16, now_ms += COMMITTER_LOOK_MS, said, sizeof(said));
		assert_string_equal(said, "");
	}
	take_turns(16, 16, now_ms += COMMITTER_LOOK_MS, said, sizeof(said));
	assert_non_null(
	    strstr(said, "Its last commit is step 16, and that of this process is step 16"));
	take_turns(16, 16, now_ms + COMMITTER_LOOK_MS, said, sizeof(said));
	assert_string_equal(said, "");
	committer_close(other);
}

/* A look while ours is on its way may be the first of two at one commit: see the header. */
static void
test_a_look_while_a_commit_is_on_its_way_is_no_sighting(void **unused)
{
	int64_t now_ms = clock_ms();
	struct committer *mine = c;
	struct capture stderr_text;
	char said[1024];

	(void)unused;
	assert_int_equal(committer_open(&other, lanes, 3, &f), FAIL_NONE);
	ask(16);
	wait_for_all();
	for (int look = 1; look <= COMMITTER_SIGHTINGS + 1; look++) {
		c = other;
		ask(16);
		wait_for_all();
		c = mine;
		if (look == 1)
			answer_next(PASSES);
		if (look == 1)
			ask(16);
		capture_begin(&stderr_text);
		committer_look(c, "m", "trainers", now_ms += COMMITTER_LOOK_MS);
		capture_end_lines(&stderr_text, said, sizeof(said));
		assert_int_equal(said[0] != '\0', look == COMMITTER_SIGHTINGS + 1);
		if (look > 1)
			ask(16);
		wait_for_all();
	}
	committer_close(other);
}

static void
test_a_late_commit_of_a_dead_process_is_no_second_one(void **unused)
{
	int64_t now_ms = clock_ms();
	char said[1024];

	(void)unused;
	assert_int_equal(committer_open(&other, lanes, 3, &f), FAIL_NONE);
	ask(9);
	wait_for_all();
	for (int i = 0; i < 3; i++) { /* however often the network brings it */
		take_turns(5, 10, now_ms += COMMITTER_LOOK_MS, said, sizeof(said));
		assert_string_equal(said, "");
	}
	committer_close(other);
}

/* Of `riffle runs --reset`, and of earlier versions. */
static void
test_commits_without_an_owner_are_no_second_process(void **unused)
{
	int64_t now_ms = clock_ms();
	char metadata[RUN_POSITION_TEXT_MAX], said[1024];

	(void)unused;
	ask(9);
	wait_for_all();
	for (uint64_t step = 4; step < 8; step++) {
		run_position_format(metadata, step, NULL);
		assert_int_equal(
		    lanes_commit_begin(lanes, (const int64_t[MOCK_LANES]){40, 40}, metadata, &f),
		    FAIL_NONE);
		assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
		take_turns(0, 10, now_ms += COMMITTER_LOOK_MS, said, sizeof(said));
		assert_string_equal(said, "");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_committer, close_committer)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_what_it_was_opened_with_is_good_and_nothing_flies),
	    TEST(test_of_those_that_wait_only_the_newest_is_sent),
	    TEST(test_a_refusal_is_reported_once_and_good_stays),
	    TEST(test_a_refusal_sends_what_waits),
	    TEST(test_a_repeat_mends_what_a_late_commit_took_back),
	    TEST(test_a_repeat_that_is_refused_is_reported_to_nobody),
	    TEST(test_without_a_good_commit_a_repeat_sends_the_one_given_or_nothing),
	    TEST(test_the_time_given_is_kept_and_the_commit_still_arrives),
	    TEST(test_a_second_process_of_the_rank_is_named_once),
	    TEST(test_a_second_process_that_waits_at_the_same_step_is_named_once),
	    TEST(test_a_look_while_a_commit_is_on_its_way_is_no_sighting),
	    TEST(test_a_late_commit_of_a_dead_process_is_no_second_one),
	    TEST(test_commits_without_an_owner_are_no_second_process),
	};

	return cmocka_run_group_tests(tests, open_mock_lanes, close_mock_lanes);
}
