/*
 * reader.h against librdkafka's mock cluster: a search that fails leaves nothing behind of the step
 * that was due before.
 */
#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "common/record/batch.h"
#include "consumer/ledger/run_position.h"
#include "consumer/reader/reader.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/sample.h"

enum { API_LIST_OFFSETS = 2, LANES = 2, EACH = 2, STEPS = 10, WAIT_MS = 30000, SHORT_MS = 1000 };

static struct failure f;
static struct reader reader;

/* One lane of a step as bytes in *w. */
static void
encode(struct wire_writer *w, uint64_t step, uint32_t lane)
{
	const struct batch_head head = {.mix = {"m", 1},
	    .step = step,
	    .lane = lane,
	    .lanes = LANES,
	    .global_batch = LANES * EACH,
	    .schedule = 5,
	    .version = 1,
	    .lr_scale = 1,
	    .tokenizer = SAMPLE_TOKENIZER};
	const struct batch_domain domain = {0, {"code", 4}};
	const struct sequence_position position = {.file = {"x", 1}};
	struct wire_writer record = {0};
	struct sequence_view view;

	assert_int_equal(
	    sequence_encode(&record, 0, SAMPLE_TOKENIZER, &position, &sample_payload, &f),
	    FAIL_NONE);
	assert_int_equal(sequence_decode(&view, record.bytes, record.n, &f), FAIL_NONE);
	assert_int_equal(batch_begin(w, &head, &domain, 1, EACH, &f), FAIL_NONE);
	for (uint64_t i = 0; i < EACH; i++) {
		const struct batch_drawn drawn = {.ordinal = EACH * step + i};

		assert_int_equal(
		    batch_add(w, &drawn, view.payload.raw, view.payload.raw_n, &f), FAIL_NONE);
	}
	assert_int_equal(batch_end(w, &f), FAIL_NONE);
	wire_writer_close(&record);
}

static int
publish_steps(const struct properties *properties)
{
	struct kafka_options o = {
	    .role = KAFKA_WRITER, .client = "steps", .properties = properties};
	rd_kafka_t *rk;

	if (kafka_open(&rk, &o, &f) != FAIL_NONE)
		return -1;
	for (uint64_t step = 0; step < STEPS; step++)
		for (uint32_t lane = 0; lane < LANES; lane++) {
			struct wire_writer w = {0};

			encode(&w, step, lane);
			rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("m.batches"),
			    RD_KAFKA_V_PARTITION((int32_t)lane), RD_KAFKA_V_VALUE(w.bytes, w.n),
			    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
			wire_writer_close(&w);
		}
	if (rd_kafka_flush(rk, WAIT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return -1;
	kafka_close(rk);
	return 0;
}

static int
open_reader(void **unused)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	const struct reader_options o = {.mix = "m",
	    .run = "trainers",
	    .world = 1,
	    .properties = &properties,
	    .timeout_ms = SHORT_MS};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE ||
	    rd_kafka_mock_topic_create(cluster, "m.batches", LANES, 1))
		return -1;
	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	if (publish_steps(&properties) != 0)
		return -1;
	return reader_open(&reader, &o, &f) == FAIL_NONE ? 0 : -1;
}

static int
close_reader(void **unused)
{
	(void)unused;
	reader_close(&reader);
	kafka_close(owner);
	return 0;
}

/* Collects the step that is due; repeats where a request fails. */
static enum fail_code
collect(void)
{
	int64_t end_ms = clock_ms() + WAIT_MS;
	enum fail_code code;

	do
		code = reader_collect(&reader, clock_ms() + SHORT_MS, &f);
	while ((code == FAIL_TIMEOUT || code == FAIL_BROKER) && clock_ms() < end_ms);
	return code;
}

/* The broker does not say where the lanes end: more often than the client asks again. */
static void
refuse(void)
{
	for (int i = 0; i < 1000; i++)
		rd_kafka_mock_push_request_errors(
		    cluster, API_LIST_OFFSETS, 1, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
}

static int
allow(void **unused)
{
	(void)unused;
	rd_kafka_mock_clear_request_errors(cluster, API_LIST_OFFSETS);
	return 0;
}

static void
assert_collected(uint64_t step)
{
	assert_int_equal(collect(), FAIL_NONE);
	assert_int_equal(reader.check.step, step);
	for (uint32_t i = 0; i < LANES; i++) {
		assert_true(reader.lane[i].ready);
		assert_int_equal(reader.lane[i].view.head.step, step);
	}
}

static void
test_a_seek_that_failed_is_made_up_for_and_gives_no_other_step(void **unused)
{
	(void)unused;
	assert_int_equal(reader_start(&reader, 3, &f), FAIL_NONE);
	assert_collected(3); /* both lanes hold step 3 */
	refuse();
	assert_int_not_equal(reader_seek(&reader, 7, &f), FAIL_NONE);
	for (uint32_t i = 0; i < LANES; i++)
		assert_false(reader.lane[i].ready);
	assert_int_not_equal(
	    reader_collect(&reader, clock_ms() + SHORT_MS, &f), FAIL_NONE); /* still down */
	allow(NULL);
	assert_collected(7);
}

static void
test_a_step_that_is_sought_after_a_seek_that_failed_is_found(void **unused)
{
	(void)unused;
	assert_int_equal(reader_start(&reader, 2, &f), FAIL_NONE);
	assert_collected(2);
	refuse();
	assert_int_not_equal(reader_seek(&reader, 8, &f), FAIL_NONE);
	allow(NULL);
	assert_int_equal(reader_seek(&reader, 5, &f), FAIL_NONE);
	assert_collected(5);
}

/* Lane 0 holds the step already when lane 1 shows that its commit was wrong. */
static void
test_a_search_in_the_middle_of_a_step_collects_it_from_its_first_lane(void **unused)
{
	const int64_t right_and_wrong[LANES] = {4, 6};
	char metadata[RUN_POSITION_TEXT_MAX];

	(void)unused;
	run_position_format(metadata, 4, NULL);
	assert_int_equal(
	    lanes_commit_begin(reader.lanes, right_and_wrong, metadata, &f), FAIL_NONE);
	assert_int_equal(lanes_commit_end(reader.lanes, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(lanes_assign(reader.lanes, (int64_t[LANES]){0}, &f), FAIL_NONE);
	assert_int_equal(reader_resume(&reader, &f), FAIL_NONE);
	assert_false(reader.searched); /* the commits are believed at first */
	assert_collected(4);
	assert_true(reader.searched);
	assert_int_equal(reader.check.lanes_there, LANES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(
		test_a_seek_that_failed_is_made_up_for_and_gives_no_other_step, allow),
	    cmocka_unit_test_teardown(
		test_a_step_that_is_sought_after_a_seek_that_failed_is_found, allow),
	    cmocka_unit_test(test_a_search_in_the_middle_of_a_step_collects_it_from_its_first_lane),
	};

	return cmocka_run_group_tests(tests, open_reader, close_reader);
}
