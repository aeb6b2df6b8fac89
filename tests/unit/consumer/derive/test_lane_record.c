/* lane_record.h: one lane of a step as a record; what it names, and the record that ends a mix. */
#include "consumer/derive/lane_record.h"

#include <stdlib.h>

#include "tests/unit/mixes.h"
#include "tests/unit/sample.h"

enum { LANES = 4, DRAWS = 4 };

static const uint64_t length[] = {100};
static const struct mixer_source three[] = {
    {.name = "a", .weight = 0.5, .partitions_n = 1, .sequences = length},
    {.name = "b", .weight = 0.3, .partitions_n = 1, .sequences = length},
    {.name = "c", .weight = 0.2, .partitions_n = 1, .sequences = length},
};
static const struct lane_mix mix = {
    .name = "m", .schedule = 7, .tokenizer = SAMPLE_TOKENIZER, .lanes = LANES, .lead = 9};

static struct mixer *
open_mixer(void)
{
	struct mixer_plan p = mixes_plan(three, 3);

	p.lanes = LANES;
	return mixes_open(&p);
}

/* The payload of the sample record, as a feed has it. */
static struct feed_block_record
sample_record(struct wire_writer *w, struct sequence_view *view)
{
	static const struct sequence_position position = {0};
	struct failure f;

	assert_int_equal(
	    sequence_encode(w, 5, SAMPLE_TOKENIZER, &position, &sample_payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(view, w->bytes, w->n, &f), FAIL_NONE);
	return (struct feed_block_record){.payload = view->payload.raw, .n = view->payload.raw_n};
}

static void
test_a_lane_names_its_own_domains_and_has_its_draws_in_their_order(void **state)
{
	static const struct mixer_draw draw[DRAWS] = {
	    {.domain = 2, .partition = 0, .ordinal = 41, .epoch = 1},
	    {.domain = 0, .partition = 0, .ordinal = 7, .epoch = 0},
	    {.domain = 2, .partition = 0, .ordinal = 40, .epoch = 2},
	    {.domain = 0, .partition = 0, .ordinal = 8, .epoch = 0},
	};
	struct mixer *m = open_mixer();
	struct wire_writer w = {0};
	struct sequence_view sequence;
	struct feed_block_record one = sample_record(&w, &sequence);
	const struct feed_block_record *record[DRAWS] = {&one, &one, &one, &one};
	struct batch_head head;
	struct batch_domain domain[2];
	struct batch_view v;
	struct failure f;
	uint8_t *bytes;
	size_t n;

	(void)state;
	mixes_step(m, NULL, NULL);
	head = lane_record_head(&mix, m, 0, false);
	head.lane = 3;
	assert_int_equal(
	    lane_record_encode(&bytes, &n, &head, m, draw, record, DRAWS, &f), FAIL_NONE);
	assert_int_equal(batch_decode(&v, bytes, n, &f), FAIL_NONE);
	assert_view_equal(v.head.mix, "m");
	assert_true(v.head.schedule == 7 && v.head.tokenizer == SAMPLE_TOKENIZER);
	assert_true(v.head.lane == 3 && v.head.lanes == LANES && v.head.global_batch == 16);
	assert_true(v.head.lead == 9 && !v.head.last && v.sequences_n == DRAWS);
	assert_int_equal(v.domains_n, 2);
	batch_domains(&v, domain);
	assert_int_equal(domain[0].index, 0);
	assert_view_equal(domain[0].name, "a");
	assert_int_equal(domain[1].index, 2);
	assert_view_equal(domain[1].name, "c");
	for (size_t i = 0; i < DRAWS; i++) {
		struct sequence_payload_view payload;
		struct batch_drawn d;

		assert_int_equal(batch_next(&v, &d, &payload, &f), FAIL_NONE);
		assert_true(d.domain == draw[i].domain && d.ordinal == draw[i].ordinal);
		assert_true(d.partition == draw[i].partition && d.epoch == draw[i].epoch);
		assert_payload_equal(&payload, &sample_payload);
	}
	free(bytes);
	wire_writer_close(&w);
	mixer_close(m);
}

static void
test_the_record_that_ends_a_mix_has_no_sequences(void **state)
{
	struct mixer *m = open_mixer();
	struct batch_head head = lane_record_head(&mix, m, 12, true);
	struct batch_view v;
	struct failure f;
	uint8_t *bytes;
	size_t n;

	(void)state;
	assert_int_equal(lane_record_encode(&bytes, &n, &head, m, NULL, NULL, 0, &f), FAIL_NONE);
	assert_int_equal(batch_decode(&v, bytes, n, &f), FAIL_NONE);
	assert_true(v.head.last && v.head.step == 12);
	assert_int_equal(v.sequences_n + v.domains_n, 0);
	free(bytes);
	mixer_close(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_lane_names_its_own_domains_and_has_its_draws_in_their_order),
	    cmocka_unit_test(test_the_record_that_ends_a_mix_has_no_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
