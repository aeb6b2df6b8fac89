/*
 * transactions.h against librdkafka's mock cluster, which answers transactions as it is told to
 * (and keeps none): what is fenced, what is refused, and after which errors the handle is in doubt.
 */
#include "tests/unit/test.h"

#include "consumer/publish/transactions.h"
#include "tests/unit/mock_cluster.h"

enum { API_PRODUCE = 0, API_ADD_PARTITIONS = 24, API_END_TRANSACTION = 26, BROKERS = 1 };

static struct failure f;

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	return rd_kafka_mock_topic_create(cluster, "m.batches", 2, BROKERS) ||
	       rd_kafka_mock_topic_create(cluster, "m.ledger", 1, BROKERS) ||
	       rd_kafka_mock_topic_create(cluster, "c.rejects", 1, BROKERS);
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

static struct transactions *
open_transactions(void)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	struct transactions_options o = {.properties = &properties,
	    .mix = "m",
	    .rejects_topic = "c.rejects",
	    .message_bytes_max = 1000,
	    .transaction_bytes = 100000,
	    .queue_bytes = 100000,
	    .map = {2, 2}};
	struct transactions *p;

	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	assert_int_equal(transactions_open(&p, &o, &f), FAIL_NONE);
	return p;
}

static enum fail_code
put(struct transactions *p)
{
	uint8_t *bytes = calloc(1, 100);

	assert_non_null(bytes);
	return transactions_put(p, 1, bytes, 100, &f);
}

/* begin, put, commit; the first that fails. */
static enum fail_code
transact(struct transactions *p)
{
	f = (struct failure){0};
	if (transactions_begin(p, &f) != FAIL_NONE || put(p) != FAIL_NONE ||
	    transactions_commit(p, NULL, 0, &f) != FAIL_NONE)
		print_message("%s\n", f.text);
	return f.code;
}

static void
test_transactions_that_are_answered_leave_no_doubt(void **unused)
{
	struct transactions *p = open_transactions();

	(void)unused;
	for (int i = 0; i < 20; i++)
		assert_int_equal(transact(p), FAIL_NONE);
	transactions_close(p);
}

/* What the broker answers is known: it may be tried again on the same handle. */
static void
test_an_error_that_passes_leaves_no_doubt(void **unused)
{
	static const rd_kafka_resp_err_t error[] = {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
	    RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS};

	(void)unused;
	EACH_ROW(i, error) {
		struct transactions *p = open_transactions();

		rd_kafka_mock_push_request_errors(cluster, API_END_TRANSACTION, 1, error[i]);
		assert_int_equal(transact(p), FAIL_NONE);
		assert_int_equal(transact(p), FAIL_NONE);
		transactions_close(p);
	}
}

/* The connection breaks between a request and its answer; librdkafka repeats it by itself. */
static void
test_a_request_without_an_answer_ends_the_use_of_the_handle(void **unused)
{
	static const int16_t api[] = {API_END_TRANSACTION, API_ADD_PARTITIONS, API_PRODUCE};

	(void)unused;
	EACH_ROW(i, api) {
		struct transactions *p = open_transactions();

		assert_int_equal(transact(p), FAIL_NONE);
		rd_kafka_mock_push_request_errors(cluster, api[i], 1, RD_KAFKA_RESP_ERR__TRANSPORT);
		assert_int_equal(transact(p), FAIL_NONE);
		assert_int_equal(transactions_begin(p, &f), FAIL_BROKER);
		assert_non_null(strstr(f.text, "never answered"));
		transactions_close(p);

		p = open_transactions();
		assert_int_equal(transact(p), FAIL_NONE);
		assert_int_equal(transact(p), FAIL_NONE);
		transactions_close(p);
	}
}

static void
test_one_whose_epoch_is_over_is_fenced(void **unused)
{
	static const struct {
		int16_t api;
		rd_kafka_resp_err_t error;
	} row[] = {
	    {API_END_TRANSACTION, RD_KAFKA_RESP_ERR_PRODUCER_FENCED},
	    {API_END_TRANSACTION, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH},
	    {API_ADD_PARTITIONS, RD_KAFKA_RESP_ERR_PRODUCER_FENCED},
	    {API_ADD_PARTITIONS, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct transactions *p = open_transactions();

		assert_int_equal(transact(p), FAIL_NONE);
		rd_kafka_mock_push_request_errors(cluster, row[i].api, 1, row[i].error);
		assert_int_equal(transact(p), FAIL_FENCED);
		transactions_close(p);
	}
}

static void
test_a_commit_that_is_refused_fails_and_so_does_the_next_use(void **unused)
{
	struct transactions *p = open_transactions();

	(void)unused;
	rd_kafka_mock_push_request_errors(
	    cluster, API_END_TRANSACTION, 1, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE);
	assert_int_not_equal(transact(p), FAIL_NONE);
	assert_int_not_equal(transact(p), FAIL_NONE);
	transactions_close(p);
}

/* A lane that was cut, or whose topic was recreated: brokers take records there all the same. */
static void
test_a_delivery_before_the_end_of_its_lane_or_ledger_is_never_committed(void **unused)
{
	struct transactions *p = open_transactions();

	(void)unused;
	transactions_expect(p, 0, 1 << 20); /* another lane */
	assert_int_equal(transact(p), FAIL_NONE);
	transactions_expect(p, 1, 1 << 20);
	assert_int_equal(transact(p), FAIL_BROKER);
	assert_non_null(strstr(f.text, "m.batches, lane 1"));
	assert_non_null(strstr(f.text, "ended at 1048576 before"));
	transactions_close(p);

	p = open_transactions();
	assert_int_equal(transact(p), FAIL_NONE);
	transactions_expect_ledger(p, 1 << 20);
	assert_int_equal(transactions_begin(p, &f), FAIL_NONE);
	assert_int_equal(transactions_put_ledger(p, calloc(1, 1), 1, NULL, &f), FAIL_NONE);
	assert_int_equal(transactions_commit(p, NULL, 0, &f), FAIL_BROKER);
	assert_non_null(strstr(f.text, "topic m.ledger"));
	assert_non_null(strstr(f.text, "the ledger ended at 1048576 before"));
	transactions_close(p);
}

/* Destroyed before it has asked for its partitions librdkafka 2.0.2 would end the process. */
static void
test_a_transaction_that_has_just_begun_is_given_up(void **unused)
{
	(void)unused;
	for (int i = 0; i < 50; i++) {
		struct transactions *p = open_transactions();

		assert_int_equal(transact(p), FAIL_NONE);
		assert_int_equal(transactions_begin(p, &f), FAIL_NONE);
		assert_int_equal(put(p), FAIL_NONE);
		transactions_close(p);
	}
}

/* Partitions, the age wanted, the user's time-out (0: none); message, abort and age. */
static void
test_times_grow_with_partitions_and_follow_a_time_out_that_is_given(void **unused)
{
	static const int rows[][6] = {
	    {8, 200, 0, 10000, 15000, 200},
	    {63, 5000, 0, 10000, 15000, 5000},
	    {64, 328, 0, 11000, 16500, 328},
	    {1024, 2248, 0, 26000, 39000, 2248},
	    {4096, 5000, 0, 74000, 111000, 5000},
	    {8, 30000, 0, 10000, 40000, 30000}, /* given in the configuration */
	    {8, 200, 9000, 6000, 9000, 200},
	    {1024, 2248, 3000, 2000, 3000, 1000},
	    {1024, 2248, 30000, 20000, 30000, 2248},
	    {8, 30000, 60000, 10000, 60000, 30000},
	    {8, 30000, 36000, 10000, 36000, 26000},
	    {1, 1, 1, 1, 1, 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		const int *r = rows[i];
		char text[16];
		struct property given = {(char[]){"transaction.timeout.ms"}, text};
		const struct properties p = {r[2] == 0 ? 0 : 1, &given};
		struct transactions_times t;

		snprintf(text, sizeof(text), "%d", r[2]);
		t = transactions_times(&p, (uint32_t)r[0], (uint32_t)r[1]);
		assert_int_equal(t.message_ms, r[3]);
		assert_int_equal(t.abort_ms, r[4]);
		assert_int_equal(t.age_ms, r[5]);
		assert_true(t.message_ms + t.age_ms <= t.abort_ms);
	}
}

/* Where its answer is lost: it may be the one that would show that the lane lost its end. */
static void
test_a_record_that_is_delivered_without_an_offset_is_never_committed(void **unused)
{
	struct transactions *p = open_transactions();

	(void)unused;
	rd_kafka_mock_push_request_errors(
	    cluster, API_PRODUCE, 1, RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER);
	assert_int_equal(transact(p), FAIL_BROKER);
	assert_non_null(strstr(f.text, "m.batches, lane 1: the answer for a record was lost"));
	transactions_close(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_transactions_that_are_answered_leave_no_doubt),
	    cmocka_unit_test(test_an_error_that_passes_leaves_no_doubt),
	    cmocka_unit_test(test_a_request_without_an_answer_ends_the_use_of_the_handle),
	    cmocka_unit_test(test_one_whose_epoch_is_over_is_fenced),
	    cmocka_unit_test(test_a_commit_that_is_refused_fails_and_so_does_the_next_use),
	    cmocka_unit_test(
		test_a_delivery_before_the_end_of_its_lane_or_ledger_is_never_committed),
	    cmocka_unit_test(test_a_transaction_that_has_just_begun_is_given_up),
	    cmocka_unit_test(test_times_grow_with_partitions_and_follow_a_time_out_that_is_given),
	    cmocka_unit_test(test_a_record_that_is_delivered_without_an_offset_is_never_committed),
	};

	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
