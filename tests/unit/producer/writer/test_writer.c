/* writer.h against librdkafka's mock cluster, whose broker takes its time to answer. */
#include "producer/writer/writer.h"

#include <time.h>

#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { BROKER = 1, ANSWER_MS = 30, FLUSH_MS = 60000 };

static struct failure f;

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	return rd_kafka_mock_topic_create(cluster, "c.d", 1, BROKER) ||
	       rd_kafka_mock_topic_create(cluster, "c.large", 1, BROKER) ||
	       rd_kafka_mock_topic_create(cluster, "c.stopped", 1, BROKER) ||
	       rd_kafka_mock_topic_create(cluster, "c.rejects", 1, BROKER) ||
	       rd_kafka_mock_broker_set_rtt(cluster, BROKER, ANSWER_MS);
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

static struct writer *
open_writer(const struct stop *stop)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	struct writer *w;

	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	assert_int_equal(
	    writer_open(&w, &properties, 1 << 20, "c.rejects", stop, NULL, &f), FAIL_NONE);
	return w;
}

static struct writer_partition *
open_partition(struct writer *w, const char *topic)
{
	struct writer_partition *p;

	assert_int_equal(writer_partition_open(&p, w, topic, 0, 0, &f), FAIL_NONE);
	return p;
}

static enum fail_code
put(struct writer_partition *p, size_t n)
{
	uint8_t *bytes = calloc(1, n);

	assert_non_null(bytes);
	return writer_put(p, bytes, n, NULL, 0, &f);
}

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* librdkafka polls without a pause while it may not send what is ready: see writer.c. */
static void
test_waiting_for_a_broker_costs_no_processor(void **unused)
{
	enum { RECORDS = 600, RECORD_BYTES = 9000, BATCHES = RECORDS * RECORD_BYTES / 131072 };
	static const struct stop stop;
	struct writer *w = open_writer(&stop);
	struct writer_partition *p = open_partition(w, "c.d");
	double began, worked;

	(void)unused;
	assert_int_equal(put(p, RECORD_BYTES), FAIL_NONE); /* connects, asks for leaders */
	assert_int_equal(writer_flush(w, FLUSH_MS, &f), FAIL_NONE);
	began = seconds(CLOCK_MONOTONIC);
	worked = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < RECORDS; i++)
		assert_int_equal(put(p, RECORD_BYTES), FAIL_NONE);
	assert_int_equal(writer_flush(w, FLUSH_MS, &f), FAIL_NONE);
	began = seconds(CLOCK_MONOTONIC) - began;
	worked = seconds(CLOCK_PROCESS_CPUTIME_ID) - worked;
	print_message("%.3f s, of which %.3f s of the processor\n", began, worked);
	assert_true(began > (BATCHES - 1) * ANSWER_MS / 1e3); /* else there was no waiting */
	assert_true(worked < began / 3); /* polling takes half of it; valgrind, a fifth */
	writer_close(w);
}

static void
test_a_record_larger_than_what_may_wait_is_published(void **unused)
{
	static const struct stop stop;
	struct writer *w = open_writer(&stop);
	struct writer_partition *p = open_partition(w, "c.large");

	(void)unused;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(put(p, 1), FAIL_NONE);
		assert_int_equal(put(p, 500000), FAIL_NONE);
	}
	assert_int_equal(writer_flush(w, FLUSH_MS, &f), FAIL_NONE);
	writer_close(w);
}

static void
test_a_stop_ends_the_wait_for_room(void **unused)
{
	struct stop stop = {.asked = true};
	struct writer *w = open_writer(&stop);
	struct writer_partition *p = open_partition(w, "c.stopped");
	int puts = 0;

	(void)unused;
	while (puts < 1000 && put(p, 9000) == FAIL_NONE)
		puts++;
	assert_int_equal(f.code, FAIL_STOPPED);
	assert_in_range(puts, 131072 / 9000, 2 * 131072 / 9000);
	assert_int_equal(writer_flush(w, FLUSH_MS, &f), FAIL_NONE);
	writer_close(w);
}

static void
test_a_record_that_lands_elsewhere_shows_a_loss_or_another_producer(void **unused)
{
	static const struct {
		int64_t expected, offset;
		enum writer_landed landed;
	} row[] = {
	    {0, 0, WRITER_LANDED},
	    {40, 40, WRITER_LANDED},
	    {40, 39, WRITER_LANDED_BEFORE},
	    {40, 0, WRITER_LANDED_BEFORE},
	    {40, 41, WRITER_LANDED_AFTER},
	    {0, 1, WRITER_LANDED_AFTER},
	    {40, -1, WRITER_LANDED}, /* the broker does not say */
	    {0, -1, WRITER_LANDED},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(writer_judge(row[i].expected, row[i].offset), row[i].landed);
}

/* Two producers, each with two lots of a batch and three quarters. */
static void
test_the_overlap_follows_the_size_of_a_batch(void **unused)
{
	struct properties p = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(writer_overlap_bytes(&p), 4 * (131072 + 98304));
	assert_int_equal(properties_set(&p, "batch.size", "1000", &f), FAIL_NONE);
	assert_int_equal(writer_overlap_bytes(&p), 4 * 1750);
	properties_clear(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_waiting_for_a_broker_costs_no_processor),
	    cmocka_unit_test(test_a_record_larger_than_what_may_wait_is_published),
	    cmocka_unit_test(test_a_stop_ends_the_wait_for_room),
	    cmocka_unit_test(test_the_overlap_follows_the_size_of_a_batch),
	    cmocka_unit_test(test_a_record_that_lands_elsewhere_shows_a_loss_or_another_producer),
	};

	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
