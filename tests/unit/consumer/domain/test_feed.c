/* feed.h against librdkafka's mock cluster: a block that grows while it is read. */
#include "tests/unit/test.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "common/record/schema.h"
#include "consumer/domain/feed.h"
#include "tests/unit/sample.h"

enum { WAIT_MS = 10000, FIRST = 30, ALL = 60, BLOCK = 64, RECORD_BYTES = 200 };

static struct failure f;

static rd_kafka_t *
open_writer(const char *name, const char *value)
{
	struct property property = {(char *)name, (char *)value};
	struct properties properties = {1, &property};
	struct kafka_options o = {
	    .role = KAFKA_WRITER,
	    .client = "test",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20,
	};
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	return rk;
}

static void
write_sequences(rd_kafka_t *writer, const char *topic, uint64_t first, uint64_t end)
{
	static const struct sequence_position position = {0};

	for (uint64_t k = first; k < end; k++) {
		struct wire_writer w = {0};

		assert_int_equal(
		    sequence_encode(&w, k, SAMPLE_TOKENIZER, &position, &sample_payload, &f),
		    FAIL_NONE);
		assert_int_equal(rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic),
				     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE(w.bytes, w.n),
				     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
		wire_writer_close(&w);
	}
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static struct feed *
open_feed(rd_kafka_t *writer)
{
	const char *at = rd_kafka_mock_cluster_bootstraps(rd_kafka_handle_mock_cluster(writer));
	struct property property = {(char[]){"bootstrap.servers"}, (char *)at};
	struct properties properties = {1, &property};
	struct feed_options o = {
	    .properties = &properties,
	    .group = "m.mixer",
	    .memory_bytes = 1 << 20,
	    .tokenizer = SAMPLE_TOKENIZER,
	    .block_bytes = BLOCK * RECORD_BYTES,
	    .block = BLOCK,
	};
	struct feed *d;

	assert_int_equal(feed_open(&d, &o, &f), FAIL_NONE);
	assert_int_equal(feed_add_domain(d, "c.live", 1, RECORD_BYTES, &f), FAIL_NONE);
	return d;
}

/* The end that was met before the block grew comes with its last records, or behind them. */
static void
test_a_block_that_grows_while_it_is_read_is_read_to_its_new_end(void **state)
{
	rd_kafka_t *writer = open_writer("test.mock.num.brokers", "1");
	struct feed *d = open_feed(writer);
	struct mixer_draw draw = {.ordinal = FIRST - 1, .block_count = FIRST + 1};
	int64_t deadline_ms;

	(void)state;
	write_sequences(writer, "c.live", 0, FIRST);
	assert_int_equal(feed_want(d, &draw, &f), FAIL_NONE);
	deadline_ms = clock_ms() + WAIT_MS;
	while (feed_find(d, &draw) == NULL && clock_ms() < deadline_ms)
		assert_int_equal(feed_poll(d, 10, &f), FAIL_NONE);
	assert_non_null(feed_find(d, &draw));
	/* The rest is not there yet, and the end is met again and again. */
	for (int i = 0; i < 20; i++)
		assert_int_equal(feed_poll(d, 10, &f), FAIL_NONE);
	write_sequences(writer, "c.live", FIRST, ALL);
	draw = (struct mixer_draw){.ordinal = ALL - 1, .block_count = ALL};
	assert_int_equal(feed_want(d, &draw, &f), FAIL_NONE);
	deadline_ms = clock_ms() + WAIT_MS;
	while (feed_find(d, &draw) == NULL && clock_ms() < deadline_ms)
		assert_int_equal(feed_poll(d, 10, &f), FAIL_NONE);
	assert_non_null(feed_find(d, &draw));
	assert_int_equal(feed_find(d, &draw)->offset, ALL - 1);
	feed_close(d);
	kafka_close(writer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_block_that_grows_while_it_is_read_is_read_to_its_new_end),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
