#include "consumer/replay/batch_compare.h"

#include <xxhash.h>

#include "tests/unit/sample.h"

static const struct batch_domain domains[] = {{0, {"code", 4}}, {200, {"web", 3}}};
static const struct batch_drawn drawn[] = {{200, 1, 300, 0}, {0, 0, UINT64_C(1) << 40, 3}};

static struct batch_head
sample_head(void)
{
	return (struct batch_head){
	    .mix = {"pretrain", 8},
	    .schedule = UINT64_C(0x1122334455667788),
	    .step = 100000,
	    .lane = 3,
	    .lanes = 4,
	    .global_batch = 8,
	    .version = 2,
	    .phase = {"anneal", 6},
	    .lr_scale = 0.25,
	    .lead = 64,
	    .tokenizer = SAMPLE_TOKENIZER,
	};
}

/* What a test may change before the record is written. */
struct record {
	struct batch_head head;
	struct batch_drawn drawn[2];
	struct sequence_payload payload;
};

static struct record
sample_record(void)
{
	struct record r = {sample_head(), {drawn[0], drawn[1]}, sample_payload};

	r.payload.frame_hash = XXH64(sample_frame, sizeof(sample_frame), 0);
	return r;
}

static void
encode(const struct record *r, struct wire_writer *w)
{
	static const struct sequence_position nowhere;
	struct wire_writer sequence = {0};
	struct sequence_view view;
	struct failure f;

	assert_int_equal(sequence_encode(&sequence, 0, 0, &nowhere, &r->payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, sequence.bytes, sequence.n, &f), FAIL_NONE);
	assert_int_equal(batch_begin(w, &r->head, domains, 2, 2, &f), FAIL_NONE);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    batch_add(w, &r->drawn[i], view.payload.raw, view.payload.raw_n, &f),
		    FAIL_NONE);
	assert_int_equal(batch_end(w, &f), FAIL_NONE);
	wire_writer_close(&sequence);
}

static void
compare(struct batch_compare_difference *d, const struct record *changed)
{
	struct record right = sample_record();
	struct wire_writer a = {0}, b = {0};

	encode(&right, &a);
	encode(changed, &b);
	batch_compare(d, a.bytes, a.n, b.bytes, b.n);
	d->domain = (struct text_view){NULL, 0};
	wire_writer_close(&a);
	wire_writer_close(&b);
}

static void
test_equal_records_have_no_difference(void **unused)
{
	struct record r = sample_record();
	struct batch_compare_difference d;

	(void)unused;
	compare(&d, &r);
	assert_int_equal(d.part, BATCH_COMPARE_SAME);
}

static void
test_each_field_of_the_head_is_named_with_both_values(void **unused)
{
	struct record changed[9];
	static const char *const text[] = {
	    "mix: \"pretrainx\" in the record, \"pretrain\" derived",
	    "schedule: 1122334455667789 in the record, 1122334455667788 derived",
	    "step: 100001 in the record, 100000 derived",
	    "lane: 2 in the record, 3 derived",
	    "version: 3 in the record, 2 derived",
	    "phase: \"\" in the record, \"anneal\" derived",
	    "lr_scale: 0.5 in the record, 0.25 derived",
	    "lead: 65 in the record, 64 derived",
	    "tokenizer: fedcba9876543211 in the record, fedcba9876543210 derived",
	};

	(void)unused;
	for (size_t i = 0; i < 9; i++)
		changed[i] = sample_record();
	changed[0].head.mix = (struct text_view){"pretrainx", 9};
	changed[1].head.schedule++;
	changed[2].head.step++;
	changed[3].head.lane--;
	changed[4].head.version++;
	changed[5].head.phase.n = 0;
	changed[6].head.lr_scale = 0.5;
	changed[7].head.lead++;
	changed[8].head.tokenizer++;
	for (size_t i = 0; i < 9; i++) {
		struct batch_compare_difference d;

		compare(&d, &changed[i]);
		assert_int_equal(d.part, BATCH_COMPARE_HEAD);
		assert_string_equal(d.text, text[i]);
		assert_true(d.found_whole);
	}
}

static void
test_a_draw_that_differs_is_named_with_its_sequence(void **unused)
{
	static const char *const text[] = {
	    "domain: 0 in the record, 200 derived",
	    "partition: 7 in the record, 0 derived",
	    "ordinal: 301 in the record, 300 derived",
	    "epoch: 2 in the record, 3 derived",
	};
	static const size_t sequence[] = {0, 1, 0, 1};
	struct record changed[4];

	(void)unused;
	for (size_t i = 0; i < 4; i++)
		changed[i] = sample_record();
	changed[0].drawn[0].domain = 0;
	changed[1].drawn[1].partition = 7;
	changed[2].drawn[0].ordinal++;
	changed[3].drawn[1].epoch--;
	for (size_t i = 0; i < 4; i++) {
		struct batch_compare_difference d;

		compare(&d, &changed[i]);
		assert_int_equal(d.part, BATCH_COMPARE_DRAW);
		assert_int_equal(d.sequence, sequence[i]);
		assert_int_equal(d.drawn.ordinal, drawn[sequence[i]].ordinal);
		assert_string_equal(d.text, text[i]);
	}
}

static void
test_a_payload_that_differs_is_named_by_its_part(void **unused)
{
	static const uint8_t other[] = {200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211,
	    212, 213, 214, 215, 216, 217, 218, 220};
	static const struct text_view sources[] = {{"data/a.jsonk", 12}, {"b.txt", 5}};
	struct record changed = sample_record();
	struct batch_compare_difference d;

	(void)unused;
	changed.payload.frame = other; /* the hash stays */
	compare(&d, &changed);
	assert_int_equal(d.part, BATCH_COMPARE_PAYLOAD);
	assert_int_equal(d.sequence, 0);
	assert_string_equal(d.text, "frame: differs at byte 19 of the frame");
	assert_false(d.found_whole);

	changed = sample_record();
	changed.payload.sources = sources;
	compare(&d, &changed);
	assert_int_equal(d.part, BATCH_COMPARE_PAYLOAD);
	assert_non_null(strstr(d.text, "sources: differs at byte "));
	assert_true(d.found_whole);

	changed = sample_record();
	changed.payload.used = 9;
	compare(&d, &changed);
	assert_string_equal(d.text, "used: 9 in the record, 8 derived");
}

/* Also where the record cannot be decoded any more; the part follows from the place alone. */
static void
test_every_byte_that_is_changed_or_cut_is_found_where_it_is(void **unused)
{
	struct record right = sample_record();
	struct wire_writer a = {0}, b = {0};
	enum batch_compare_part before = BATCH_COMPARE_HEAD;

	(void)unused;
	encode(&right, &a);
	encode(&right, &b);
	for (size_t i = 0; i < a.n; i++) {
		struct batch_compare_difference d;

		for (unsigned bit = 0; bit < 8; bit++) {
			b.bytes[i] = (uint8_t)(a.bytes[i] ^ 1u << bit);
			batch_compare(&d, a.bytes, a.n, b.bytes, b.n);
			assert_int_equal(d.at, i);
			assert_true(d.part != BATCH_COMPARE_SAME && d.text[0] != '\0');
			assert_true(d.part == before || d.part == BATCH_COMPARE_DRAW ||
				    before == BATCH_COMPARE_DRAW ||
				    before == BATCH_COMPARE_PAYLOAD);
			before = d.part;
		}
		b.bytes[i] = a.bytes[i];
		batch_compare(&d, a.bytes, a.n, b.bytes, i);
		assert_int_equal(d.at, i);
		assert_false(d.found_whole);
	}
	wire_writer_close(&a);
	wire_writer_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equal_records_have_no_difference),
	    cmocka_unit_test(test_each_field_of_the_head_is_named_with_both_values),
	    cmocka_unit_test(test_a_draw_that_differs_is_named_with_its_sequence),
	    cmocka_unit_test(test_a_payload_that_differs_is_named_by_its_part),
	    cmocka_unit_test(test_every_byte_that_is_changed_or_cut_is_found_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
