/* ledger_log.h: which record is found for a step or a request, in ledgers in a mock cluster. */
#include "consumer/ledger/ledger_log.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 30000, EACH = 3, REQUESTS_EACH = 2 };

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static const struct properties properties = {1, item};

/*
 * Writes n records: the k-th one ends at step EACH * k, and each third one has the steps of the one
 * before it, as the answer to a request has.
 */
static int64_t
step_next(int64_t k)
{
	return EACH * (k - (k % 3 == 2));
}

static struct ledger_log *
open_ledger(const char *mix, int64_t n)
{
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20};
	struct ledger_log *l;
	char topic[32];
	rd_kafka_t *rk;

	snprintf(topic, sizeof(topic), "%s.ledger", mix);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, topic, 1, 1), 0);
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	for (int64_t k = 0; k < n; k++) {
		struct ledger record = {.mix = (char *)(uintptr_t)mix,
		    .config = (char[]){"{}"},
		    .step_first = k == 0 ? 0 : step_next(k - 1),
		    .step_next = step_next(k),
		    .control_next = REQUESTS_EACH * k};
		uint8_t *bytes;
		size_t size;

		assert_int_equal(ledger_encode(&record, &bytes, &size, &f), FAIL_NONE);
		assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic),
				     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(bytes, size),
				     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
		free(bytes);
	}
	assert_int_equal(rd_kafka_flush(rk, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
	assert_int_equal(ledger_log_open(&l, mix, &properties, WAIT_MS, &f), FAIL_NONE);
	return l;
}

/* The offset of the record that comes next. */
static int64_t
next(struct ledger_log *l)
{
	struct ledger record = {0};
	int64_t offset = -1;

	assert_int_equal(ledger_log_next(l, 0, &record, &offset, &f), FAIL_NONE);
	assert_int_equal(record.step_next, step_next(offset));
	ledger_clear(&record);
	return offset;
}

/* The last of n records with step_next <= step. */
static int64_t
last_before(int64_t n, uint64_t step)
{
	int64_t k = n - 1;

	while (step_next(k) > (int64_t)step)
		k--;
	return k;
}

/* Both sides of the stretch that is read through, and many that are halved. */
static void
test_the_last_record_before_a_step_is_found(void **unused)
{
	static const int64_t sizes[] = {1, 2, LEDGER_LOG_NEAR, LEDGER_LOG_NEAR + 1, 200};

	(void)unused;
	EACH_ROW(i, sizes) {
		int64_t n = sizes[i];
		uint64_t stride = n < 3 ? 1 : n < 50 ? 7 : 97;
		char mix[16];
		struct ledger_log *l;

		snprintf(mix, sizeof(mix), "find%zu", i);
		l = open_ledger(mix, n);
		for (uint64_t step = 0; step <= EACH * (uint64_t)n + 1; step += stride) {
			int64_t expected = last_before(n, step);
			bool any = false;

			assert_int_equal(ledger_log_find(l, step, false, &any, &f), FAIL_NONE);
			assert_true(any);
			assert_int_equal(next(l), expected);
			if (step % 2 != 0)
				continue;
			assert_int_equal(ledger_log_seek(l, step, true, &f), FAIL_NONE);
			assert_int_equal(next(l), expected == 0 ? 0 : expected - 1);
		}
		ledger_log_close(l);
	}
}

static void
test_the_record_before_an_answer_is_found(void **unused)
{
	static const struct {
		int64_t request, offset;
	} row[] = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {99, 49}, {198, 99}, {1000, 99}};
	struct ledger_log *l = open_ledger("answers", 100);

	(void)unused;
	EACH_ROW(i, row) {
		assert_int_equal(ledger_log_seek_control(l, row[i].request, &f), FAIL_NONE);
		assert_int_equal(next(l), row[i].offset);
	}
	ledger_log_close(l);
}

static void
test_the_ends_of_a_ledger_and_an_empty_one(void **unused)
{
	struct ledger_log *l = open_ledger("ends", 5);
	struct ledger record = {0};
	int64_t offset;
	uint64_t step;
	bool any, cut;

	(void)unused;
	assert_int_equal(ledger_log_last(l, &record, &any, &f), FAIL_NONE);
	assert_true(any && record.step_next == step_next(4) && ledger_log_last_offset(l) == 4);
	ledger_clear(&record);
	record = (struct ledger){0};
	assert_int_equal(ledger_log_first(l, &record, &any, &f), FAIL_NONE);
	assert_true(any && record.step_next == 0);
	ledger_clear(&record);
	assert_int_equal(ledger_log_seek(l, 1000, false, &f), FAIL_NONE);
	assert_int_equal(next(l), 4);
	assert_int_equal(ledger_log_next(l, 0, &record, &offset, &f), FAIL_TIMEOUT);
	ledger_log_close(l);

	l = open_ledger("empty", 0);
	assert_int_equal(ledger_log_last(l, &record, &any, &f), FAIL_NONE);
	assert_true(!any && ledger_log_last_offset(l) == -1);
	assert_int_equal(ledger_log_first(l, &record, &any, &f), FAIL_NONE);
	assert_false(any);
	assert_int_equal(ledger_log_find(l, 7, true, &any, &f), FAIL_NONE);
	assert_false(any);
	assert_int_equal(ledger_log_seek(l, 7, false, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "has no record of the state before step 7"));
	ledger_log_close(l);
	assert_int_equal(
	    ledger_log_begins(&step, &cut, "empty", &properties, WAIT_MS, &f), FAIL_NONE);
	assert_true(step == 0 && !cut);
}

static void
test_a_cut_ledger_begins_after_its_first_record(void **unused)
{
	static const struct {
		int64_t first, next;
		bool cut;
		uint64_t earliest;
	} row[] = {
	    {0, 0, false, 0},
	    {30, 30, false, 30}, /* republished */
	    {28, 30, true, 30},
	    {30, 30, true, 30},
	    {0, 5, false, 0},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct ledger first = {.step_first = row[i].first, .step_next = row[i].next};

		assert_int_equal(ledger_log_earliest(&first, row[i].cut), row[i].earliest);
	}
}

static int
begin(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return 0;
}

static int
end(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_last_record_before_a_step_is_found),
	    cmocka_unit_test(test_the_record_before_an_answer_is_found),
	    cmocka_unit_test(test_the_ends_of_a_ledger_and_an_empty_one),
	    cmocka_unit_test(test_a_cut_ledger_begins_after_its_first_record),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
