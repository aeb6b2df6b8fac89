/*
 * riffle_progress.c against librdkafka's mock cluster: what is committed when, and in which order
 * with reports.
 */
#include "consumer/reader/riffle.h"

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "consumer/ledger/run_position.h"
#include "tests/unit/mock_lanes.h"

enum { API_PRODUCE = 0, API_OFFSET_COMMIT = 8, REPORT_LATE_MS = 1000 };

static struct riffle_progress *p;
static struct riffle_error e;

static int
open_topics(void **unused)
{
	if (open_mock_lanes(unused) != 0)
		return -1;
	return rd_kafka_mock_topic_create(cluster, "m.feedback", 1, 1) ? -1 : 0;
}

static void
open_progress(uint64_t commit_every)
{
	struct riffle_options o = {
	    .size = sizeof(o),
	    .mix = "m",
	    .bootstrap = rd_kafka_mock_cluster_bootstraps(cluster),
	    .world = 1,
	    .commit_every = commit_every,
	    .open_timeout_ms = MOCK_LANES_WAIT_MS,
	};

	assert_int_equal(riffle_progress_open(&p, &o, &e), RIFFLE_OK);
}

/* The records of step n are at offset 10 * n of both lanes. */
static int
trained(uint64_t step, uint64_t lead, const struct riffle_loss *loss)
{
	const int64_t offset_next[MOCK_LANES] = {(int64_t)step * 10, (int64_t)step * 10};
	const struct riffle_place place = {.size = sizeof(place),
	    .step = step,
	    .lead = lead,
	    .lanes = MOCK_LANES,
	    .offset_next = offset_next};

	return riffle_progress_trained(p, &place, loss, loss == NULL ? 0 : 1, &e);
}

static void
flush(void)
{
	assert_int_equal(riffle_progress_flush(p, MOCK_LANES_WAIT_MS, &e), RIFFLE_OK);
}

static void
wait_committed(uint64_t step)
{
	int64_t until_ms = clock_ms() + MOCK_LANES_WAIT_MS;

	while (riffle_progress_committed(p) != step) {
		assert_true(clock_ms() < until_ms);
		clock_pause_ms(5);
	}
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
test_each_trained_step_is_committed(void **unused)
{
	(void)unused;
	open_progress(0);
	assert_int_equal(riffle_progress_committed(p), 0);
	for (uint64_t step = 5; step < 9; step++) {
		assert_int_equal(trained(step, 64, NULL), RIFFLE_OK);
		wait_committed(step);
		check_group(step);
	}
	riffle_progress_close(p);
}

static void
test_the_first_is_committed_at_once_and_then_by_number_or_lead(void **unused)
{
	(void)unused;
	open_progress(4);
	assert_int_equal(trained(10, 0, NULL), RIFFLE_OK);
	wait_committed(10);
	for (uint64_t step = 11; step < 14; step++)
		assert_int_equal(trained(step, 0, NULL), RIFFLE_OK);
	check_group(10);
	assert_int_equal(trained(14, 0, NULL), RIFFLE_OK);
	wait_committed(14);
	assert_int_equal(trained(16, 8, NULL), RIFFLE_OK); /* a quarter of the lead */
	wait_committed(16);
	assert_int_equal(trained(17, 8, NULL), RIFFLE_OK);
	flush(); /* commits what is not due yet */
	check_group(17);
	assert_int_equal(trained(18, 8, NULL), RIFFLE_OK);
	riffle_progress_close(p); /* so does this */
	check_group(18);
}

static void
test_nothing_is_committed_where_nothing_was_trained(void **unused)
{
	(void)unused;
	open_progress(0);
	assert_int_equal(trained(30, 0, NULL), RIFFLE_OK);
	riffle_progress_close(p);
	open_progress(0);
	flush();
	riffle_progress_close(p);
	check_group(30);
}

static void
test_what_does_not_fit_is_refused_and_changes_nothing(void **unused)
{
	const int64_t offset_next[MOCK_LANES + 1] = {0};
	const struct riffle_place other = {
	    .size = sizeof(other), .step = 50, .lanes = MOCK_LANES + 1, .offset_next = offset_next};
	const struct riffle_place sizeless = {
	    .step = 50, .lanes = MOCK_LANES, .offset_next = offset_next};
	const struct riffle_loss negative = {"web", 1, 0, -1}, good = {"web", 1, 0, 1};

	(void)unused;
	open_progress(0);
	assert_int_equal(trained(40, 0, NULL), RIFFLE_OK);
	assert_int_equal(trained(40, 0, NULL), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "all steps below 40 are trained already, this says below 40");
	assert_int_equal(trained(39, 0, NULL), RIFFLE_ERROR_USAGE);
	assert_int_equal(riffle_progress_trained(p, &other, NULL, 0, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, "a place of 3 lanes, where rank 0 of 1 has 2");
	assert_int_equal(riffle_progress_trained(p, &sizeless, NULL, 0, &e), RIFFLE_ERROR_USAGE);
	assert_int_equal(trained(41, 0, &negative), RIFFLE_ERROR_USAGE);
	assert_int_equal(trained(UINT64_MAX, 0, NULL), RIFFLE_ERROR_USAGE);
	flush();
	check_group(40);
	assert_int_equal(trained(41, 0, &good), RIFFLE_OK);
	flush();
	check_group(41);
	riffle_progress_close(p);
}

static void
test_a_commit_waits_for_the_reports_before_it(void **unused)
{
	const struct riffle_loss loss = {"web", 1.5, 0, 10};

	(void)unused;
	open_progress(0);
	assert_int_equal(trained(60, 0, &loss), RIFFLE_OK);
	flush(); /* the handles are connected */
	rd_kafka_mock_broker_push_request_error_rtts(
	    cluster, 1, API_PRODUCE, 1, RD_KAFKA_RESP_ERR_NO_ERROR, REPORT_LATE_MS);
	assert_int_equal(trained(61, 0, &loss), RIFFLE_OK);
	assert_int_equal(riffle_progress_flush(p, REPORT_LATE_MS / 4, &e), RIFFLE_TIMEOUT);
	assert_int_equal(riffle_progress_committed(p), 60);
	flush();
	check_group(61);
	riffle_progress_close(p);
}

static void
test_a_commit_that_failed_is_said_once(void **unused)
{
	(void)unused;
	open_progress(0);
	assert_int_equal(trained(70, 0, NULL), RIFFLE_OK);
	flush();
	rd_kafka_mock_push_request_errors(
	    cluster, API_OFFSET_COMMIT, 1, RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE);
	assert_int_equal(trained(71, 0, NULL), RIFFLE_OK);
	assert_int_equal(riffle_progress_flush(p, MOCK_LANES_WAIT_MS, &e), RIFFLE_ERROR_BROKER);
	assert_int_equal(strncmp(e.text, "committing step 71: ", 20), 0);
	check_group(70);
	assert_int_equal(trained(72, 0, NULL), RIFFLE_OK);
	flush();
	check_group(72);
	riffle_progress_close(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_trained_step_is_committed),
	    cmocka_unit_test(test_the_first_is_committed_at_once_and_then_by_number_or_lead),
	    cmocka_unit_test(test_nothing_is_committed_where_nothing_was_trained),
	    cmocka_unit_test(test_what_does_not_fit_is_refused_and_changes_nothing),
	    cmocka_unit_test(test_a_commit_waits_for_the_reports_before_it),
	    cmocka_unit_test(test_a_commit_that_failed_is_said_once),
	};

	return cmocka_run_group_tests(tests, open_topics, close_mock_lanes);
}
