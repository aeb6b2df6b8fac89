/* status_query_internal.h: samples and sights of runs, from ledgers in a mock cluster. */
#include "consumer/status/status_query_internal.h"

#include "tests/unit/mock_topics.h"

enum { RUNS = 4, FEW = 6, TIME_MS = 1000 };

static const char *const run_name[RUNS] = {"goes", "once", "rests", "reset"};
static const int64_t run_step[RUNS][FEW] = {
    {0, 5, 5, 9, 9, 12},
    {0, 0, 4, 4, 4, 4},
    {2, 2, 2, 2, 2, 2},
    {9, 9, 9, 1, 1, 1},
};
static struct ledger_run run[RUNS];
static struct ledger_domain domain[2];

static int64_t
step_of(int r, int64_t k)
{
	return run_step[r][k < FEW ? k : FEW - 1];
}

/* The k-th record, which borrows all. */
static struct ledger
record(int64_t k)
{
	for (int i = 0; i < 2; i++)
		domain[i] = (struct ledger_domain){.name = i == 0 ? (char *)"a" : (char *)"b",
		    .index = (uint32_t)i,
		    .taken = 4 * k,
		    .tokens = 50 * k};
	for (int r = 0; r < RUNS; r++)
		run[r] = (struct ledger_run){(char *)(uintptr_t)run_name[r], step_of(r, k)};
	return (struct ledger){.mix = (char *)"m",
	    .config = (char *)"{}",
	    .mixer = 7,
	    .step_next = 10 * k,
	    .draws = 80 * k,
	    .domain = domain,
	    .domains_n = 2,
	    .run = run,
	    .runs_n = RUNS};
}

static void
write_records(const char *topic, int64_t from, int64_t end)
{
	for (int64_t k = from; k < end; k++) {
		const struct ledger l = record(k);
		uint8_t *bytes;
		size_t n;

		assert_int_equal(ledger_encode(&l, &bytes, &n, &f), FAIL_NONE);
		assert_int_equal(
		    rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
			RD_KAFKA_V_VALUE(bytes, n), RD_KAFKA_V_TIMESTAMP(TIME_MS + k),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
		free(bytes);
	}
	assert_int_equal(rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* Reads from record `from` to record `last`; checks all that follows of the samples. */
static void
check_read(struct status_query *q, const char *topic, int64_t from, int64_t last)
{
	int64_t first = last - from >= STATUS_RECORDS ? last - STATUS_RECORDS + 1 : from;
	struct status st = {
	    .ledger = record(last), .ledger_offset = last, .ledger_time_ms = TIME_MS + last};

	assert_int_equal(status_records_read(q, &st, topic, from, &f), FAIL_NONE);
	assert_false(st.late[STATUS_PART_LEDGER]);
	assert_int_equal(st.samples_n, last - first + 1);
	for (size_t i = 0; i < st.samples_n; i++) {
		int64_t k = first + (int64_t)i;

		assert_int_equal(st.sample[i].mixer, 7);
		assert_int_equal(st.sample[i].time_ms, TIME_MS + k);
		assert_int_equal(st.sample[i].step_next, 10 * k);
		assert_int_equal(st.sample[i].draws, 80 * k);
		assert_int_equal(st.sample[i].tokens, 2 * (50 - 4) * k); /* targets */
	}
	for (int r = 0; r < RUNS; r++) {
		int64_t seen_ms = -1;

		for (int64_t k = first + 1; k <= last; k++)
			if (step_of(r, k) > step_of(r, k - 1))
				seen_ms = TIME_MS + k;
		assert_int_equal(st.seen[r].step, step_of(r, last));
		assert_int_equal(st.seen[r].time_ms, seen_ms);
	}
	free(st.sample);
	free(st.seen);
}

/* Each read follows those before it: some records are kept, and some are not wanted any more. */
static void
test_samples_and_sights_are_those_of_the_records_from_an_offset_on(void **unused)
{
	static const struct {
		int64_t written, from, last;
	} rows[] = {
	    {1, 0, 0},
	    {6, 0, 5},
	    {6, 0, 5},  /* nothing new */
	    {6, 2, 5},  /* older ones are given back, */
	    {6, 1, 5},  /* and read again */
	    {7, 2, 6},  /* one more */
	    {10, 3, 9}, /* several, and the oldest is not wanted */
	    {10, 9, 9},
	    {10, 0, 4}, /* a ledger that was recreated ends earlier */
	    {80, 0, 79},
	    {80, 40, 79},
	    {90, 16, 89},
	    {90, 89 - STATUS_RECORDS + 1, 89},
	};
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "test", .properties = &mock_properties};
	struct status_query q = {.records_from = -1};
	int64_t written = 0;

	(void)unused;
	mock_topic("m.ledger", 1);
	assert_int_equal(kafka_open(&q.reader, &o, &f), FAIL_NONE);
	EACH_ROW(i, rows) {
		write_records("m.ledger", written, rows[i].written);
		written = rows[i].written;
		check_read(&q, "m.ledger", rows[i].from, rows[i].last);
	}
	status_records_close(&q);
	kafka_close(q.reader);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_samples_and_sights_are_those_of_the_records_from_an_offset_on),
	};

	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
