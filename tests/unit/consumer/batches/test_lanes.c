/*
 * lanes.h against librdkafka's mock cluster, which refuses commits as it is told to: what passes is
 * tried again, what does not ends the commit.
 */
#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "consumer/batches/lanes.h"
#include "tests/unit/mock_lanes.h"

enum { API_OFFSET_COMMIT = 8, REFUSALS = 5 };

/* The next `n` commits are refused. */
static void
refuse(rd_kafka_resp_err_t err, int n)
{
	for (int i = 0; i < n; i++)
		rd_kafka_mock_push_request_errors(cluster, API_OFFSET_COMMIT, 1, err);
}

static void
begin(int64_t offset)
{
	const int64_t offset_next[MOCK_LANES] = {offset, offset};

	f = (struct failure){0};
	assert_int_equal(lanes_commit_begin(lanes, offset_next, "1", &f), FAIL_NONE);
}

/* As a trainer that only looks in between. */
static enum fail_code
look(void)
{
	int64_t end_ms = clock_ms() + MOCK_LANES_WAIT_MS;
	enum fail_code code;

	do {
		code = lanes_commit_end(lanes, 0, &f);
		clock_pause_ms(5);
	} while (code == FAIL_TIMEOUT && clock_ms() < end_ms);
	return code;
}

static const rd_kafka_resp_err_t passing[] = {
    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
};

static void
test_a_refusal_that_passes_is_waited_out(void **unused)
{
	(void)unused;
	EACH_ROW(i, passing) {
		refuse(passing[i], REFUSALS);
		begin((int64_t)i);
		assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
		rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_COMMIT);
	}
}

static void
test_looks_in_between_send_it_again_too(void **unused)
{
	(void)unused;
	refuse(RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, REFUSALS);
	begin(7);
	assert_int_equal(look(), FAIL_NONE);
	rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_COMMIT);
}

static void
test_a_refusal_that_stays_ends_the_commit_and_not_the_next(void **unused)
{
	(void)unused;
	refuse(RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE, 1);
	begin(8);
	assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_BROKER);
	begin(9);
	assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
}

static void
test_the_time_given_is_kept_and_the_commit_goes_on_after_it(void **unused)
{
	int64_t began_ms = clock_ms();

	(void)unused;
	refuse(RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, REFUSALS);
	begin(10);
	assert_int_equal(lanes_commit_end(lanes, 50, &f), FAIL_TIMEOUT);
	assert_true(clock_ms() - began_ms < MOCK_LANES_WAIT_MS);
	assert_int_equal(lanes_commit_end(lanes, MOCK_LANES_WAIT_MS, &f), FAIL_NONE);
	rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_COMMIT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_refusal_that_passes_is_waited_out),
	    cmocka_unit_test(test_looks_in_between_send_it_again_too),
	    cmocka_unit_test(test_a_refusal_that_stays_ends_the_commit_and_not_the_next),
	    cmocka_unit_test(test_the_time_given_is_kept_and_the_commit_goes_on_after_it),
	};

	return cmocka_run_group_tests(tests, open_mock_lanes, close_mock_lanes);
}
