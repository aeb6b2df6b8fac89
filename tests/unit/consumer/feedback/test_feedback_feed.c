/* feedback_feed.h and reporter.h: reports arrive as they were sent, in a mock cluster. */
#include "consumer/feedback/feedback_feed.h"

#include "common/base/log.h"
#include "consumer/feedback/reporter.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 10000, REPORTS = 30, GARBAGE = 11 };

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static const struct properties properties = {1, item};

/* No two fields of any two reports are equal. */
static void
fill(struct feedback *b, struct feedback_loss loss[2], int64_t k)
{
	static char mix[] = "m", run[2][8] = {"main", "tune"}, web[] = "web", code[] = "code";

	loss[0] = (struct feedback_loss){web, (double)k + 0.125, (double)k + 0.25, 1000 + k};
	loss[1] = (struct feedback_loss){code, (double)k + 0.5, (double)k + 0.75, 2000 + k};
	*b = (struct feedback){.mix = mix,
	    .run = run[k % 2],
	    .step = 100 + k,
	    .rank = (uint32_t)k,
	    .world = 50 + (uint32_t)k,
	    .loss = loss,
	    .losses_n = (size_t)k % 3};
}

static void
check(const struct feedback_feed_record *r, int64_t k)
{
	struct feedback_loss loss[2];
	struct feedback b;

	assert_int_equal(r->offset, k);
	if (k == GARBAGE) {
		assert_null(r->feedback);
		assert_true(r->reason[0] != '\0');
		return;
	}
	fill(&b, loss, k);
	assert_non_null(r->feedback);
	assert_string_equal(r->feedback->mix, b.mix);
	assert_string_equal(r->feedback->run, b.run);
	assert_int_equal(r->feedback->step, b.step);
	assert_int_equal(r->feedback->rank, b.rank);
	assert_int_equal(r->feedback->world, b.world);
	assert_int_equal(r->feedback->losses_n, b.losses_n);
	for (size_t i = 0; i < b.losses_n; i++) {
		assert_string_equal(r->feedback->loss[i].domain, loss[i].domain);
		assert_true(r->feedback->loss[i].loss_sum == loss[i].loss_sum);
		assert_true(r->feedback->loss[i].excess_sum == loss[i].excess_sum);
		assert_int_equal(r->feedback->loss[i].tokens, loss[i].tokens);
	}
	assert_string_equal(r->reason, "");
}

/* Reads [from, REPORTS), and finds that nothing follows. */
static void
read_from(struct feedback_feed *d, int64_t from)
{
	struct feedback_feed_record r;
	bool any;

	assert_int_equal(feedback_feed_seek(d, from, &f), FAIL_NONE);
	assert_int_equal(feedback_feed_position(d), from);
	for (int64_t k = from; k < REPORTS; k++) {
		assert_int_equal(feedback_feed_next(d, WAIT_MS, &r, &any, &f), FAIL_NONE);
		assert_true(any);
		check(&r, k);
		assert_int_equal(feedback_feed_position(d), k + 1);
	}
	assert_int_equal(feedback_feed_next(d, 1, &r, &any, &f), FAIL_NONE);
	assert_false(any);
	assert_int_equal(feedback_feed_position(d), REPORTS);
}

/* Another program's record, after all that was sent. */
static void
write_garbage(struct reporter *r)
{
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "other",
	    .properties = &properties,
	    .message_bytes_max = 1000};
	rd_kafka_t *rk;

	assert_int_equal(reporter_flush(r, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	assert_int_equal(
	    rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("m.feedback"), RD_KAFKA_V_PARTITION(0),
		RD_KAFKA_V_VALUE((void *)(uintptr_t) "none", 4), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(rk, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
}

static void
test_each_report_comes_as_it_was_sent_from_wherever_it_is_sought(void **unused)
{
	static const int64_t from[] = {0, 20, 5, GARBAGE, REPORTS, 0};
	struct reporter *r;
	struct feedback_feed *d;
	int64_t low, high;

	(void)unused;
	assert_int_equal(reporter_open(&r, "m", &properties, WAIT_MS, &f), FAIL_NONE);
	for (int64_t k = 0; k < REPORTS; k++) {
		struct feedback_loss loss[2];
		struct feedback b;

		fill(&b, loss, k);
		if (k == GARBAGE)
			write_garbage(r);
		else
			assert_int_equal(reporter_send(r, &b, &f), FAIL_NONE);
	}
	assert_int_equal(reporter_flush(r, WAIT_MS, &f), FAIL_NONE);
	reporter_close(r);
	assert_int_equal(feedback_feed_open(&d, "m", &properties, 0, &f), FAIL_NONE);
	assert_string_equal(feedback_feed_topic(d), "m.feedback");
	assert_int_equal(feedback_feed_ends(d, &low, &high, &f), FAIL_NONE);
	assert_true(low == 0 && high == REPORTS);
	EACH_ROW(i, from) {
		read_from(d, from[i]);
		if (i % 2 == 0)
			feedback_feed_rest(d);
	}
	feedback_feed_close(d);
}

/* The next call reports the loss, once. Later reports are delivered. */
static void
test_lost_reports_are_told_once(void **unused)
{
	struct feedback_loss loss[2];
	struct feedback b;
	struct reporter *r;

	(void)unused;
	assert_int_equal(reporter_open(&r, "n", &properties, WAIT_MS, &f), FAIL_NONE);
	fill(&b, loss, 2);
	rd_kafka_mock_push_request_errors(
	    cluster, 0 /* Produce */, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	assert_int_equal(reporter_send(r, &b, &f), FAIL_NONE);
	assert_int_not_equal(reporter_flush(r, WAIT_MS, &f), FAIL_NONE);
	assert_non_null(strstr(f.text, "topic n.feedback: 1 reports of losses"));
	assert_int_equal(reporter_flush(r, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(reporter_send(r, &b, &f), FAIL_NONE);
	assert_int_equal(reporter_flush(r, WAIT_MS, &f), FAIL_NONE);
	reporter_close(r);
}

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return rd_kafka_mock_topic_create(cluster, "m.feedback", 1, 1) ||
	       rd_kafka_mock_topic_create(cluster, "n.feedback", 1, 1);
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_report_comes_as_it_was_sent_from_wherever_it_is_sought),
	    cmocka_unit_test(test_lost_reports_are_told_once),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
