/* mix_loss.h: what ledger and batch topic mean together, and ends that are too early at first. */
#include "consumer/ledger/mix_loss.h"

#include "tests/unit/test.h"

#include "common/base/log.h"
#include "common/record/ledger.h"
#include "tests/unit/late.h"

enum { WAIT_MS = 20000, OLD_MS = MIX_LOSS_SETTLED_MS + 1000 };

static struct failure f;

static void
test_each_pair_of_topics_is_judged(void **unused)
{
	static const struct {
		const char *name;
		struct mix_loss_facts facts;
		enum mix_loss loss;
	} rows[] = {
	    {"no topics", {.ledger = false}, MIX_LOSS_NONE},
	    {"both new", {.ledger = true, .batches = true}, MIX_LOSS_NONE},
	    {"ledger missing", {.batches = true, .held = true}, MIX_LOSS_LEDGER_MISSING},
	    {"ledger missing, batches new", {.batches = true}, MIX_LOSS_NONE},
	    {"ledger new", {.ledger = true, .batches = true, .held = true}, MIX_LOSS_LEDGER_EMPTY},
	    {"records deleted", {.ledger = true, .emptied = true}, MIX_LOSS_RECORDS},
	    {"records deleted, batches held",
		{.ledger = true, .emptied = true, .batches = true, .held = true}, MIX_LOSS_RECORDS},
	    {"all there",
		{.ledger = true,
		    .any = true,
		    .step_next = 5,
		    .age_ms = OLD_MS,
		    .batches = true,
		    .held = true},
		MIX_LOSS_NONE},
	    {"batches new",
		{.ledger = true,
		    .any = true,
		    .step_next = 1,
		    .age_ms = MIX_LOSS_SETTLED_MS,
		    .batches = true},
		MIX_LOSS_BATCHES},
	    {"batches new, record young",
		{.ledger = true,
		    .any = true,
		    .step_next = 1,
		    .age_ms = MIX_LOSS_SETTLED_MS - 1,
		    .batches = true},
		MIX_LOSS_NONE},
	    {"no step published", {.ledger = true, .any = true, .age_ms = OLD_MS, .batches = true},
		MIX_LOSS_NONE},
	    {"no copies", {.ledger = true, .any = true, .step_next = 5, .age_ms = OLD_MS},
		MIX_LOSS_NONE},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, name)
		assert_int_equal(mix_loss_judge(&rows[i].facts), rows[i].loss);
}

/* ---- in a mock cluster ---- */

static rd_kafka_t *reader;
static uint8_t *record; /* of a ledger that has published 5 steps */
static size_t record_n;

static int
open_cluster(void **unused)
{
	struct property item[] = {{(char[]){"bootstrap.servers"}, NULL}};
	const struct properties properties = {1, item};
	const struct ledger l = {.step_next = 5, .lr_scale = 1, .temperature = 1};
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "reader", .properties = &properties};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	item[0].value = (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(cluster);
	return kafka_open(&reader, &o, &f) != FAIL_NONE ||
	       ledger_encode(&l, &record, &record_n, &f) != FAIL_NONE;
}

static int
close_cluster(void **unused)
{
	(void)unused;
	free(record);
	kafka_close(reader);
	kafka_close(owner);
	return 0;
}

static void
create(const char *ledger, const char *batches)
{
	assert_int_equal(rd_kafka_mock_topic_create(cluster, ledger, 1, 1), 0);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, batches, 2, 1), 0);
}

static enum mix_loss
check(const char *mix)
{
	enum mix_loss loss;
	enum fail_code code = mix_loss_check(reader, mix, &loss, true, WAIT_MS, &f);

	assert_int_equal(code, loss == MIX_LOSS_NONE ? FAIL_NONE : FAIL_DATA);
	return loss;
}

static void
test_what_stays_lost_is_named_with_the_way_out(void **unused)
{
	(void)unused;
	create("ledgerless.ledger", "ledgerless.batches");
	late_write("ledgerless.batches", 1, "x", 1, 0);
	assert_int_equal(check("ledgerless"), MIX_LOSS_LEDGER_EMPTY);
	assert_non_null(strstr(f.text, "topic ledgerless.ledger is empty, and ledgerless.batches"));
	rd_kafka_mock_topic_set_error(
	    cluster, "ledgerless.ledger", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	assert_int_equal(check("ledgerless"), MIX_LOSS_LEDGER_MISSING);
	assert_non_null(strstr(f.text, "topic ledgerless.ledger is missing, and"));
	create("stepless.ledger", "stepless.batches");
	late_write("stepless.ledger", 0, record, record_n, OLD_MS);
	assert_int_equal(check("stepless"), MIX_LOSS_BATCHES);
	assert_non_null(strstr(f.text, "steps below 5 are published: the batch topic was deleted"));
	assert_non_null(strstr(f.text, "`riffle repair` fills it"));
}

/* A new leader of lane 0 reports an end of 0 at first. */
static void
test_a_batch_topic_that_ends_too_early_at_first_is_not_lost(void **unused)
{
	struct late late = {.topic = "early.batches", .bytes = "x", .n = 1};

	(void)unused;
	create("early.ledger", "early.batches");
	late_write("early.ledger", 0, record, record_n, OLD_MS);
	late_start(&late);
	assert_int_equal(check("early"), MIX_LOSS_NONE);
	pthread_join(late.thread, NULL);
}

/* A new leader of the ledger does; or a mixer begins the mix while the two are looked at. */
static void
test_a_ledger_that_ends_too_early_at_first_is_not_lost(void **unused)
{
	struct late late = {
	    .topic = "first.ledger", .bytes = record, .n = record_n, .age_ms = OLD_MS};

	(void)unused;
	create("first.ledger", "first.batches");
	late_write("first.batches", 0, "x", 1, 0);
	late_start(&late);
	assert_int_equal(check("first"), MIX_LOSS_NONE);
	pthread_join(late.thread, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_pair_of_topics_is_judged),
	    cmocka_unit_test(test_what_stays_lost_is_named_with_the_way_out),
	    cmocka_unit_test(test_a_batch_topic_that_ends_too_early_at_first_is_not_lost),
	    cmocka_unit_test(test_a_ledger_that_ends_too_early_at_first_is_not_lost),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
