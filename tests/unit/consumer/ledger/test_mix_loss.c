/* mix_loss.h: whether the ledger or the batches of a mix were lost, in a mock cluster. */
#include "consumer/ledger/mix_loss.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/record/ledger.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 10000 };

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static const struct properties properties = {1, item};

static rd_kafka_t *
open_handle(enum kafka_role role)
{
	struct kafka_options o = {.role = role,
	    .client = "test",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20};
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	return rk;
}

static void
put(rd_kafka_t *writer, const char *topic, int32_t partition, int64_t time_ms, const void *bytes,
    size_t n)
{
	assert_int_equal(
	    rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
		RD_KAFKA_V_TIMESTAMP(time_ms), RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void
make_topic(const char *topic, bool there, int partitions)
{
	if (there)
		assert_int_equal(rd_kafka_mock_topic_create(cluster, topic, partitions, 1), 0);
	else
		rd_kafka_mock_topic_set_error(
		    cluster, topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
}

static void
test_what_is_gone_of_a_mix_is_told_and_what_may_come_is_not(void **unused)
{
	enum { NONE = -1, EMPTY, HELD };
	static const struct {
		int ledger, batches;
		int64_t step_next, age_ms; /* of the ledger's record */
		const char *said;          /* NULL: nothing is wrong */
	} rows[] = {
	    {NONE, NONE, 0, 0, NULL},
	    {NONE, EMPTY, 0, 0, NULL},
	    {NONE, HELD, 0, 0, ".ledger is missing, and "},
	    {EMPTY, NONE, 0, 0, NULL},
	    {EMPTY, EMPTY, 0, 0, NULL},
	    {EMPTY, HELD, 0, 0, ".ledger is empty, and "},
	    {HELD, NONE, 10, 2 * MIX_LOSS_SETTLED_MS, NULL},
	    {HELD, EMPTY, 10, 2 * MIX_LOSS_SETTLED_MS, "steps below 10 are published"},
	    {HELD, EMPTY, 0, 2 * MIX_LOSS_SETTLED_MS, NULL}, /* begun, and nothing drawn yet */
	    {HELD, EMPTY, 10, 0, NULL}, /* its batches may become visible any moment */
	    {HELD, HELD, 10, 2 * MIX_LOSS_SETTLED_MS, NULL},
	};
	rd_kafka_t *writer = open_handle(KAFKA_WRITER), *reader = open_handle(KAFKA_READER);

	(void)unused;
	EACH_ROW(i, rows) {
		char mix[8], ledger[24], batches[24];
		uint8_t *bytes;
		size_t n;

		snprintf(mix, sizeof(mix), "x%zu", i);
		snprintf(ledger, sizeof(ledger), "%s.ledger", mix);
		snprintf(batches, sizeof(batches), "%s.batches", mix);
		make_topic(ledger, rows[i].ledger != NONE, 1);
		make_topic(batches, rows[i].batches != NONE, 3);
		if (rows[i].ledger == HELD) {
			struct ledger l = {
			    .mix = mix, .config = ledger, .step_next = rows[i].step_next};

			assert_int_equal(ledger_encode(&l, &bytes, &n, &f), FAIL_NONE);
			put(writer, ledger, 0, clock_wall_ms() - rows[i].age_ms, bytes, n);
			free(bytes);
		}
		if (rows[i].batches == HELD) /* of some lane */
			put(writer, batches, 1, clock_wall_ms(), "x", 1);
		f.text[0] = '\0';
		assert_int_equal(mix_loss_check(reader, mix, WAIT_MS, &f),
		    rows[i].said == NULL ? FAIL_NONE : FAIL_DATA);
		if (rows[i].said == NULL)
			continue;
		assert_non_null(strstr(f.text, rows[i].said));
		assert_non_null(strstr(f.text, mix));
	}
	kafka_close(writer);
	kafka_close(reader);
}

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return 0;
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
	    cmocka_unit_test(test_what_is_gone_of_a_mix_is_told_and_what_may_come_is_not),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
