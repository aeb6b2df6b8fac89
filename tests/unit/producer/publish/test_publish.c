/* publish.h against librdkafka's mock cluster, whose broker takes its time to answer. */
#include "producer/publish/publish.h"

#include <time.h>

#include "tests/unit/test.h"
#include "tests/unit/mock_cluster.h"

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

static struct publish *
open_publish(const struct stop *stop)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};
	struct publish *p;

	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	assert_int_equal(publish_open(&p, &properties, 1 << 20, "c.rejects", stop, &f), FAIL_NONE);
	return p;
}

static struct publish_writer *
open_writer(struct publish *p, const char *topic)
{
	struct publish_writer *w;

	assert_int_equal(publish_writer_open(&w, p, topic, 0, 0, &f), FAIL_NONE);
	return w;
}

static enum fail_code
put(struct publish_writer *w, size_t n)
{
	uint8_t *bytes = calloc(1, n);

	assert_non_null(bytes);
	return publish_put(w, bytes, n, &f);
}

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* librdkafka polls without a pause while it may not send what is ready: see publish.c. */
static void
test_waiting_for_a_broker_costs_no_processor(void **unused)
{
	enum { RECORDS = 600, RECORD_BYTES = 9000, BATCHES = RECORDS * RECORD_BYTES / 131072 };
	static const struct stop stop;
	struct publish *p = open_publish(&stop);
	struct publish_writer *w = open_writer(p, "c.d");
	double began, worked;

	(void)unused;
	assert_int_equal(put(w, RECORD_BYTES), FAIL_NONE); /* connects, asks for leaders */
	assert_int_equal(publish_flush(p, FLUSH_MS, &f), FAIL_NONE);
	began = seconds(CLOCK_MONOTONIC);
	worked = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < RECORDS; i++)
		assert_int_equal(put(w, RECORD_BYTES), FAIL_NONE);
	assert_int_equal(publish_flush(p, FLUSH_MS, &f), FAIL_NONE);
	began = seconds(CLOCK_MONOTONIC) - began;
	worked = seconds(CLOCK_PROCESS_CPUTIME_ID) - worked;
	print_message("%.3f s, of which %.3f s of the processor\n", began, worked);
	assert_true(began > (BATCHES - 1) * ANSWER_MS / 1e3); /* else there was no waiting */
	assert_true(worked < began / 3); /* polling takes half of it; valgrind, a fifth */
	publish_close(p);
}

static void
test_a_record_larger_than_what_may_wait_is_published(void **unused)
{
	static const struct stop stop;
	struct publish *p = open_publish(&stop);
	struct publish_writer *w = open_writer(p, "c.large");

	(void)unused;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(put(w, 1), FAIL_NONE);
		assert_int_equal(put(w, 500000), FAIL_NONE);
	}
	assert_int_equal(publish_flush(p, FLUSH_MS, &f), FAIL_NONE);
	publish_close(p);
}

static void
test_a_stop_ends_the_wait_for_room(void **unused)
{
	struct stop stop = {.asked = true};
	struct publish *p = open_publish(&stop);
	struct publish_writer *w = open_writer(p, "c.stopped");
	int puts = 0;

	(void)unused;
	while (puts < 1000 && put(w, 9000) == FAIL_NONE)
		puts++;
	assert_int_equal(f.code, FAIL_STOPPED);
	assert_in_range(puts, 131072 / 9000, 2 * 131072 / 9000);
	assert_int_equal(publish_flush(p, FLUSH_MS, &f), FAIL_NONE);
	publish_close(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_waiting_for_a_broker_costs_no_processor),
	    cmocka_unit_test(test_a_record_larger_than_what_may_wait_is_published),
	    cmocka_unit_test(test_a_stop_ends_the_wait_for_room),
	};

	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
