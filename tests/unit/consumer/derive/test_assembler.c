/* assembler.h: whatever is done between steps, they are those of the mixer alone, with data. */
#include "consumer/derive/assembler.h"

#include "common/base/clock.h"
#include "common/record/frame.h"
#include "common/record/wire.h"
#include "tests/unit/mixes.h"
#include "tests/unit/mock_topics.h"
#include "tests/unit/sample.h"

enum { DOMAINS = 2, SEQUENCES = 64, BATCH = 8, MEMORY_BYTES = 1 << 20, RECORD_BYTES = 200 };

static const uint64_t lengths[1] = {SEQUENCES};
static const struct mixer_source source[DOMAINS] = {
    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = lengths, .short_ones = true},
    {.name = "b", .weight = 2, .partitions_n = 1, .sequences = lengths, .short_ones = true},
};

static struct mixer_plan
plan_of(enum mix_unit unit)
{
	struct mixer_plan p = mixes_plan(source, DOMAINS);

	p.global_batch = BATCH;
	p.weights_unit = unit;
	return p;
}

/* The sample with the hash of its frame, which the feed compares. */
static void
write_sequence(const char *topic, uint64_t ordinal)
{
	const struct sequence_position position = {.file = {"f", 1}, .line = 1};
	struct sequence_payload payload = sample_payload;
	struct wire_writer w = {0};

	payload.frame_hash = frame_hash(payload.frame, payload.frame_n);
	assert_int_equal(
	    sequence_encode(&w, ordinal, SAMPLE_TOKENIZER, &position, &payload, &f), FAIL_NONE);
	mock_write(topic, 0, w.bytes, w.n);
	wire_writer_close(&w);
}

static int
begin(void **unused)
{
	static const char *const topic[DOMAINS] = {"c.a", "c.b"};

	if (mock_begin(unused) != 0)
		return -1;
	EACH_ROW(i, topic) {
		mock_topic(topic[i], 1);
		for (uint64_t k = 0; k < SEQUENCES; k++)
			write_sequence(topic[i], k);
	}
	return 0;
}

static void
quarantined(void *opaque, const struct mixer_draw *draw, const struct feed_block_record *record)
{
	(void)opaque;
	(void)draw;
	assert_string_equal(record->reason, ""); /* none is bad */
}

/* As all sequences are. */
static uint32_t
tokens_of(void *opaque, const struct mixer_draw *draw)
{
	(void)opaque;
	(void)draw;
	return sample_payload.used;
}

static struct feed *
open_feed(void)
{
	const struct feed_options o = {.properties = &mock_properties,
	    .group = "m.mixer",
	    .memory_bytes = MEMORY_BYTES,
	    .tokenizer = SAMPLE_TOKENIZER,
	    .block_bytes = 16 * RECORD_BYTES,
	    .block = 16};
	struct feed *d;

	assert_int_equal(feed_open(&d, &o, &f), FAIL_NONE);
	assert_int_equal(feed_add_domain(d, "c.a", 1, RECORD_BYTES, &f), FAIL_NONE);
	assert_int_equal(feed_add_domain(d, "c.b", 1, RECORD_BYTES, &f), FAIL_NONE);
	return d;
}

/* What is done before a step: r rests, i reads ahead, c says of a change, t does not wait. */
static void
do_one(struct assembler *a, char what)
{
	switch (what) {
	case 'r': assert_int_equal(assembler_rest(a, 10, &f), FAIL_NONE); break;
	case 'i': assert_int_equal(assembler_idle(a, 10, &f), FAIL_NONE); break;
	case 'c': assert_ptr_equal(assembler_change(a), assembler_mixer(a)); break;
	default: assert_int_equal(what, '.');
	}
}

/* The next step is that of `m`, and each of its records the one of its draw. */
static void
check_step(struct assembler *a, struct mixer *m, bool impatient)
{
	struct assembled step;
	struct mixer_draw draw[BATCH];
	enum mixer_result result;
	enum fail_code code = FAIL_TIMEOUT;
	bool ended;

	if (impatient) { /* what does not come in time leaves the step as the next one */
		uint64_t next = mixer_step_next(m);

		assert_int_equal(mixer_step_next(assembler_mixer(a)), next);
		code = assembler_next(a, 0, &step, &ended, &f);
		assert_int_equal(mixer_step_next(assembler_mixer(a)), next + (code == FAIL_NONE));
	}
	if (code == FAIL_TIMEOUT)
		code = assembler_next(a, MOCK_WAIT_MS, &step, &ended, &f);
	assert_int_equal(code, FAIL_NONE);
	assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
	assert_int_equal(ended, result == MIXER_ENDED);
	assert_int_equal(result, MIXER_DRAWN);
	assert_int_equal(step.n, BATCH);
	for (uint32_t i = 0; i < BATCH; i++) {
		assert_int_equal(step.draw[i].domain, draw[i].domain);
		assert_int_equal(step.draw[i].ordinal, draw[i].ordinal);
		assert_int_equal(step.draw[i].epoch, draw[i].epoch);
		assert_int_equal(step.record[i]->offset, draw[i].ordinal);
		assert_non_null(step.record[i]->payload);
	}
	assembler_release(a);
}

/*
 * What was announced may be given back at any time, and is read once more. 20 steps are more than
 * an epoch of both domains.
 */
static void
test_steps_are_the_mixers_whatever_is_done_between_them(void **unused)
{
	static const struct {
		const char *events; /* over and over again, one before each step */
		bool impatient;
	} rows[] = {
	    {".", false},
	    {".", true},
	    {"i", false},
	    {"c", false},
	    {"r", false},
	    {"r", true},
	    {"..r", false},
	    {"ri", false},
	    {"rc", false},
	    {"irc..", true},
	};
	static const enum mix_unit units[] = {MIX_BY_SEQUENCES, MIX_BY_TOKENS};

	(void)unused;
	EACH_ROW(u, units)
		EACH_NAMED_ROW(i, rows, events) {
			const struct mixer_plan plan = plan_of(units[u]);
			struct feed *feed = open_feed();
			struct mixer *m = mixes_open(&plan);
			struct assembler *a;
			size_t n = strlen(rows[i].events);

			mixer_set_tokens(m, tokens_of, NULL);
			assert_int_equal(
			    assembler_open(&a, mixes_open(&plan), feed, quarantined, NULL, &f),
			    FAIL_NONE);
			for (size_t step = 0; step < 20; step++) {
				do_one(a, rows[i].events[step % n]);
				check_step(a, m, rows[i].impatient);
			}
			assembler_close(a);
			mixer_close(m);
			feed_close(feed);
		}
}

/* After a rest no block is in memory; reading ahead loads them again. */
static void
test_a_rest_gives_back_what_was_read_ahead(void **unused)
{
	const struct mixer_plan plan = plan_of(MIX_BY_SEQUENCES);
	struct feed *feed = open_feed();
	struct assembler *a;

	(void)unused;
	assert_int_equal(
	    assembler_open(&a, mixes_open(&plan), feed, quarantined, NULL, &f), FAIL_NONE);
	for (int twice = 0; twice < 2; twice++) {
		int64_t deadline_ms = clock_ms() + MOCK_WAIT_MS;

		while (feed_bytes(feed) == 0 && clock_ms() < deadline_ms)
			assert_int_equal(assembler_idle(a, 10, &f), FAIL_NONE);
		assert_true(feed_bytes(feed) > 0);
		do
			assert_int_equal(assembler_rest(a, 10, &f), FAIL_NONE);
		while (feed_bytes(feed) > 0 && clock_ms() < deadline_ms);
		assert_int_equal(feed_bytes(feed), 0);
	}
	assembler_close(a);
	feed_close(feed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps_are_the_mixers_whatever_is_done_between_them),
	    cmocka_unit_test(test_a_rest_gives_back_what_was_read_ahead),
	};

	return cmocka_run_group_tests(tests, begin, mock_end);
}
