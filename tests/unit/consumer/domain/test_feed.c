/* feed.h against librdkafka's mock cluster: blocks that grow while they are read, and pieces. */
#include "tests/unit/test.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "common/record/schema.h"
#include "consumer/domain/feed.h"
#include "tests/unit/sample.h"

enum {
	WAIT_MS = 10000,
	FIRST = 30,
	ALL = 60,
	BLOCK = 64,
	RECORD_BYTES = 200,
	MEMORY_BYTES = 1 << 20
};

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
	rd_kafka_mock_cluster_t *cluster;
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	cluster = rd_kafka_handle_mock_cluster(rk);
	if (cluster != NULL) /* that of newer versions makes no topic because it is asked for */
		rd_kafka_mock_topic_create(cluster, "c.live", 1, 1);
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
	static struct property property; /* the feed borrows them */
	static struct properties properties = {1, &property};
	struct feed_options o = {
	    .properties = &properties,
	    .group = "m.mixer",
	    .memory_bytes = MEMORY_BYTES,
	    .tokenizer = SAMPLE_TOKENIZER,
	    .block_bytes = BLOCK * RECORD_BYTES,
	    .block = BLOCK,
	};
	struct feed *d;

	property = (struct property){(char *)"bootstrap.servers", (char *)at};
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

/* Loads the draw of an ordinal of `count` in its block; its record's offset. */
static int64_t
load(struct feed *d, uint64_t ordinal, uint32_t count)
{
	const struct mixer_draw draw = {
	    .ordinal = ordinal, .block_first = ordinal - ordinal % BLOCK, .block_count = count};
	int64_t deadline_ms = clock_ms() + WAIT_MS;

	assert_int_equal(feed_want(d, &draw, &f), FAIL_NONE);
	while (feed_find(d, &draw) == NULL && clock_ms() < deadline_ms) {
		feed_urge(d, &draw);
		assert_int_equal(feed_poll(d, 10, &f), FAIL_NONE);
	}
	assert_non_null(feed_find(d, &draw));
	return feed_find(d, &draw)->offset;
}

static void
release(struct feed *d, uint64_t ordinal, uint32_t count)
{
	const struct mixer_draw draw = {
	    .ordinal = ordinal, .block_first = ordinal - ordinal % BLOCK, .block_count = count};

	feed_release(d, &draw);
}

/* The last block has 22 sequences: 128 to 149, the last piece of eight six of them. */
static void
test_a_domain_is_read_in_the_pieces_that_it_is_told(void **state)
{
	static const uint32_t pieces[] = {1, 8, BLOCK};
	rd_kafka_t *writer = open_writer("test.mock.num.brokers", "1");

	(void)state;
	write_sequences(writer, "c.live", 0, 150);
	EACH_ROW(i, pieces) {
		const struct feed_piece as = {.piece = pieces[i]};
		struct feed *d = open_feed(writer);
		uint64_t bytes;

		assert_int_equal(feed_read_as(d, 0, &as, &f), FAIL_NONE);
		assert_int_equal(load(d, 70, BLOCK), 70);
		assert_int_equal(load(d, 149, 22), 149);
		assert_int_equal(load(d, 64, BLOCK), 64);
		bytes = feed_bytes(d);
		if (pieces[i] < BLOCK) /* not a chunk of a block for each */
			assert_in_range(bytes, 1, 3 * pieces[i] * 1000);
		/* Too late: ignored. */
		assert_int_equal(
		    feed_read_as(d, 0, &(struct feed_piece){.piece = 2}, &f), FAIL_NONE);
		assert_int_equal(load(d, 70, BLOCK), 70);
		assert_int_equal(feed_bytes(d), bytes);
		for (int k = 0; k < 2; k++)
			release(d, 70, BLOCK);
		release(d, 64, BLOCK);
		release(d, 149, 22);
		/* Of one sequence nothing is left to draw. */
		if (pieces[i] == 1)
			assert_int_equal(feed_bytes(d), 0);
		else
			assert_true(feed_bytes(d) > 0);
		feed_close(d);
	}
	kafka_close(writer);
}

/* Ten records twice, as after a producer's crash: what follows stands ten offsets later. */
static void
test_single_sequences_are_found_behind_records_that_are_there_twice(void **state)
{
	static const struct {
		uint64_t ordinal;
		int64_t offset;
	} rows[] = {{200, 210}, {70, 70}, {205, 215}, {149, 149}, {150, 160}, {0, 0}, {219, 229}};
	const struct feed_piece as = {.piece = 1};
	rd_kafka_t *writer = open_writer("test.mock.num.brokers", "1");
	struct feed *d = open_feed(writer);

	(void)state;
	write_sequences(writer, "c.live", 0, 150);
	write_sequences(writer, "c.live", 140, 220);
	assert_int_equal(feed_read_as(d, 0, &as, &f), FAIL_NONE);
	EACH_ROW(i, rows) {
		uint64_t rest = 220 - (rows[i].ordinal - rows[i].ordinal % BLOCK);
		uint32_t count = rest < BLOCK ? (uint32_t)rest : BLOCK;

		assert_int_equal(load(d, rows[i].ordinal, count), rows[i].offset);
		release(d, rows[i].ordinal, count);
	}
	feed_close(d);
	kafka_close(writer);
}

/* Its first pass is dealt in the order of its ordinals: whole blocks serve it better. */
static void
test_the_first_pass_of_a_live_domain_is_read_in_blocks(void **state)
{
	const struct feed_piece as = {.piece = 1, .live = true};
	const struct mixer_draw later = {
	    .epoch = 1, .ordinal = 5, .block_first = 0, .block_count = BLOCK};
	rd_kafka_t *writer = open_writer("test.mock.num.brokers", "1");
	struct feed *d = open_feed(writer);
	uint64_t bytes;

	(void)state;
	write_sequences(writer, "c.live", 0, BLOCK);
	assert_int_equal(feed_read_as(d, 0, &as, &f), FAIL_NONE);
	assert_int_equal(load(d, 5, BLOCK), 5);
	bytes = feed_bytes(d);
	assert_int_equal(load(d, 6, BLOCK), 6);
	assert_int_equal(feed_bytes(d), bytes);
	assert_int_equal(feed_want(d, &later, &f), FAIL_NONE);
	assert_null(feed_find(d, &later)); /* a piece of its own */
	while (feed_find(d, &later) == NULL)
		assert_int_equal(feed_poll(d, 10, &f), FAIL_NONE);
	assert_int_equal(feed_find(d, &later)->offset, 5);
	feed_release(d, &later);
	assert_int_equal(feed_bytes(d), bytes);
	feed_close(d);
	kafka_close(writer);
}

/* Both domains' blocks are drawn to their ends. Of the one that is held they stay. */
static void
test_what_is_held_stays_until_a_step_needs_the_room(void **state)
{
	const struct feed_piece as = {.piece = BLOCK, .held = true};
	rd_kafka_t *writer = open_writer("test.mock.num.brokers", "1");

	(void)state;
	write_sequences(writer, "c.live", 0, 21 * BLOCK);
	for (int held = 0; held < 2; held++) {
		struct feed *d = open_feed(writer); /* with room for four chunks */
		uint64_t bytes;

		if (held)
			assert_int_equal(feed_read_as(d, 0, &as, &f), FAIL_NONE);
		for (uint64_t k = 0; k < BLOCK; k++)
			load(d, k, BLOCK);
		bytes = feed_bytes(d);
		assert_true(bytes > 0);
		for (uint64_t k = 0; k < BLOCK; k++)
			release(d, k, BLOCK);
		assert_int_equal(feed_bytes(d), held ? bytes : 0);
		for (uint64_t k = 0; k < 20; k++) /* urged, one after the other */
			load(d, k * BLOCK, BLOCK);
		assert_int_equal(feed_bytes(d), 20 * bytes);
		for (uint64_t k = 0; k < 20; k++)
			release(d, k * BLOCK, BLOCK);
		load(d, 20 * BLOCK, BLOCK);
		assert_true(feed_bytes(d) <= MEMORY_BYTES);
		feed_close(d);
	}
	kafka_close(writer);
}

/* ---- many draws, in no order ---- */

enum { OUT_MAX = 40, OPERATIONS = 400, LENGTH_MAX = 10 * BLOCK };

/* Draws that are wanted and not released. */
struct out {
	struct mixer_draw draw[OUT_MAX];
	size_t n;
};

static struct mixer_draw
random_draw(uint64_t length)
{
	uint64_t ordinal = (uint64_t)random() % length, first = ordinal - ordinal % BLOCK;
	uint64_t rest = length - first;

	return (struct mixer_draw){.ordinal = ordinal,
	    .block_first = first,
	    .block_count = rest < BLOCK ? (uint32_t)rest : BLOCK};
}

/* Checks the records that are loaded. With `all`, waits until all are. */
static void
check_out(struct feed *d, const struct out *out, bool all)
{
	int64_t deadline_ms = clock_ms() + WAIT_MS;

	for (size_t i = 0; i < out->n; i++) {
		const struct feed_block_record *r = feed_find(d, &out->draw[i]);

		while (all && r == NULL && clock_ms() < deadline_ms) {
			feed_urge(d, &out->draw[i]);
			assert_int_equal(feed_poll(d, 10, &f), FAIL_NONE);
			r = feed_find(d, &out->draw[i]);
		}
		assert_true(r != NULL || !all);
		if (r != NULL)
			assert_int_equal(r->offset, out->draw[i].ordinal);
	}
}

static void
release_one(struct feed *d, struct out *out)
{
	size_t i = (size_t)random() % out->n;

	if (feed_find(d, &out->draw[i]) == NULL)
		return;
	feed_release(d, &out->draw[i]);
	out->draw[i] = out->draw[--out->n];
}

/* After forgetting everything, no bytes are counted and nothing is loading. */
static void
check_nothing_is_left(struct feed *d, struct out *out)
{
	int64_t deadline_ms = clock_ms() + WAIT_MS;

	feed_forget(d);
	out->n = 0;
	feed_set_memory(d, 0);
	do {
		assert_int_equal(feed_poll(d, 10, &f), FAIL_NONE);
		feed_drop_idle(d);
	} while (feed_over(d) && clock_ms() < deadline_ms);
	assert_false(feed_over(d));
	assert_int_equal(feed_bytes(d), 0);
}

/* Meanwhile the topic grows, draws are forgotten, and the memory limit changes. */
static void
test_whatever_is_wanted_comes_and_nothing_is_left_behind(void **state)
{
	static const uint32_t pieces[] = {1, 8, BLOCK};
	static const uint64_t memory[] = {0, 20000, MEMORY_BYTES};
	rd_kafka_t *writer = open_writer("test.mock.num.brokers", "1");
	struct feed *d[3];
	struct out out[3] = {{.n = 0}};
	uint64_t length = BLOCK / 2;

	(void)state;
	srandom(3);
	write_sequences(writer, "c.live", 0, length);
	EACH_ROW(i, pieces) {
		const struct feed_piece as = {.piece = pieces[i]};

		d[i] = open_feed(writer);
		assert_int_equal(feed_read_as(d[i], 0, &as, &f), FAIL_NONE);
	}
	for (int k = 0; k < OPERATIONS; k++) {
		uint64_t more = (uint64_t)random() % 20;

		if (k % 5 == 0 && length + more <= LENGTH_MAX) {
			write_sequences(writer, "c.live", length, length + more);
			length += more;
		}
		EACH_ROW(i, pieces) {
			struct out *o = &out[i];
			int what = (int)(random() % 100);

			if (what < 45 && o->n < OUT_MAX) {
				o->draw[o->n] = random_draw(length);
				assert_int_equal(feed_want(d[i], &o->draw[o->n++], &f), FAIL_NONE);
			} else if (what < 60 && o->n > 0) {
				feed_urge(d[i], &o->draw[(size_t)random() % o->n]);
			} else if (what < 80 && o->n > 0) {
				release_one(d[i], o);
			} else if (what < 84) {
				feed_forget(d[i]);
				o->n = 0;
			} else if (what < 88) {
				feed_drop_idle(d[i]);
			} else if (what < 92) {
				feed_set_memory(d[i], memory[random() % 3]);
			} else if (what < 95) {
				check_out(d[i], o, true);
			} else {
				assert_int_equal(feed_poll(d[i], 1, &f), FAIL_NONE);
			}
			check_out(d[i], o, false);
		}
	}
	EACH_ROW(i, pieces) {
		check_out(d[i], &out[i], true);
		check_nothing_is_left(d[i], &out[i]);
		feed_close(d[i]);
	}
	kafka_close(writer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_block_that_grows_while_it_is_read_is_read_to_its_new_end),
	    cmocka_unit_test(test_a_domain_is_read_in_the_pieces_that_it_is_told),
	    cmocka_unit_test(test_single_sequences_are_found_behind_records_that_are_there_twice),
	    cmocka_unit_test(test_the_first_pass_of_a_live_domain_is_read_in_blocks),
	    cmocka_unit_test(test_what_is_held_stays_until_a_step_needs_the_room),
	    cmocka_unit_test(test_whatever_is_wanted_comes_and_nothing_is_left_behind),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
