#include "common/record/batch.h"

#include "common/base/limits.h"
#include "common/record/schema.h"
#include "tests/unit/sample.h"
#include "tests/unit/vector.h"

#include <math.h>

static const struct batch_head sample_head = {
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
    .last = false,
};
static const struct batch_domain sample_domains[] = {{0, {"code", 4}}, {200, {"web", 3}}};
static const struct batch_drawn sample_drawn[] = {{200, 1, 300, 0}, {0, 0, UINT64_C(1) << 40, 3}};
static const struct sequence_payload plain_payload = {.count = 1, .width = 3};

/* The payload of a sequence record that holds `p`, inside memory that `w` owns. */
static struct sequence_payload_view
encoded(struct wire_writer *w, const struct sequence_payload *p)
{
	static const struct sequence_position nowhere;
	struct sequence_view view;
	struct failure f;

	assert_int_equal(sequence_encode(w, 0, 0, &nowhere, p, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, w->bytes, w->n, &f), FAIL_NONE);
	return view.payload;
}

static void
encode_sample(struct wire_writer *w)
{
	struct wire_writer first = {0}, second = {0};
	struct sequence_payload_view a = encoded(&first, &sample_payload);
	struct sequence_payload_view b = encoded(&second, &plain_payload);
	struct failure f;

	assert_int_equal(batch_begin(w, &sample_head, sample_domains, 2, 2, &f), FAIL_NONE);
	assert_int_equal(batch_add(w, &sample_drawn[0], a.raw, a.raw_n, &f), FAIL_NONE);
	assert_int_equal(batch_add(w, &sample_drawn[1], b.raw, b.raw_n, &f), FAIL_NONE);
	assert_int_equal(batch_end(w, &f), FAIL_NONE);
	wire_writer_close(&first);
	wire_writer_close(&second);
}

/* Decodes all there is. */
static enum fail_code
decode_all(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct batch_view b;
	enum fail_code code = batch_decode(&b, bytes, n, f);

	if (code == FAIL_NONE) {
		struct batch_domain *domains = calloc(b.domains_n + 1, sizeof(*domains));

		batch_domains(&b, domains);
		free(domains);
	}
	for (size_t i = 0; code == FAIL_NONE && i < b.sequences_n; i++) {
		struct batch_drawn drawn;
		struct sequence_payload_view payload;

		code = batch_next(&b, &drawn, &payload, f);
	}
	return code;
}

static void
test_a_batch_has_the_golden_bytes(void **unused)
{
	struct vector golden = vector_read("batch");
	struct wire_writer w = {0};

	(void)unused;
	encode_sample(&w);
	assert_int_equal(w.n, golden.n);
	assert_memory_equal(w.bytes, golden.bytes, golden.n);
	wire_writer_close(&w);
	free(golden.bytes);
}

static void
assert_head_equal(const struct batch_head *h, const struct batch_head *want)
{
	assert_int_equal(h->mix.n, want->mix.n);
	assert_memory_equal(h->mix.bytes, want->mix.bytes, want->mix.n);
	assert_int_equal(h->phase.n, want->phase.n);
	assert_memory_equal(h->phase.bytes, want->phase.bytes, want->phase.n);
	assert_true(h->schedule == want->schedule && h->step == want->step);
	assert_true(h->lane == want->lane && h->lanes == want->lanes);
	assert_true(h->global_batch == want->global_batch && h->version == want->version);
	assert_true(h->lr_scale == want->lr_scale && h->lead == want->lead);
	assert_true(h->tokenizer == want->tokenizer && h->last == want->last);
}

static void
test_the_golden_batch_has_its_values(void **unused)
{
	struct vector golden = vector_read("batch");
	struct batch_domain domains[2];
	struct batch_drawn drawn;
	struct sequence_payload_view payload;
	struct batch_view b;
	struct failure f;

	(void)unused;
	assert_int_equal(batch_decode(&b, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_head_equal(&b.head, &sample_head);
	assert_true(b.domains_n == 2 && b.sequences_n == 2);
	batch_domains(&b, domains);
	assert_int_equal(domains[0].index, 0);
	assert_view_equal(domains[0].name, "code");
	assert_int_equal(domains[1].index, 200);
	assert_view_equal(domains[1].name, "web");
	assert_int_equal(batch_next(&b, &drawn, &payload, &f), FAIL_NONE);
	assert_true(drawn.domain == 200 && drawn.partition == 1);
	assert_true(drawn.ordinal == 300 && drawn.epoch == 0);
	assert_payload_equal(&payload, &sample_payload);
	assert_int_equal(batch_next(&b, &drawn, &payload, &f), FAIL_NONE);
	assert_true(drawn.domain == 0 && drawn.partition == 0);
	assert_true(drawn.ordinal == UINT64_C(1) << 40 && drawn.epoch == 3);
	assert_payload_equal(&payload, &plain_payload);
	assert_int_equal(b.sequences_left, 0);
	batch_domains(&b, domains);
	assert_view_equal(domains[0].name, "code");
	free(golden.bytes);
}

static void
test_the_last_batch_has_no_sequences(void **unused)
{
	struct vector golden = vector_read("batch_last");
	struct batch_head head = sample_head;
	struct wire_writer w = {0};
	struct batch_view b;
	struct failure f;

	(void)unused;
	head.step = 100001;
	head.phase = (struct text_view){"", 0};
	head.lr_scale = 1;
	head.last = true;
	assert_int_equal(batch_begin(&w, &head, NULL, 0, 0, &f), FAIL_NONE);
	assert_int_equal(batch_end(&w, &f), FAIL_NONE);
	assert_int_equal(w.n, golden.n);
	assert_memory_equal(w.bytes, golden.bytes, golden.n);
	assert_int_equal(batch_decode(&b, w.bytes, w.n, &f), FAIL_NONE);
	assert_head_equal(&b.head, &head);
	assert_true(b.domains_n == 0 && b.sequences_n == 0);
	wire_writer_close(&w);
	free(golden.bytes);
}

static void
test_damaged_batches_are_refused_or_decoded_and_nothing_else(void **unused)
{
	struct vector batch = vector_read("batch"), last = vector_read("batch_last");

	(void)unused;
	vector_refuses_every_truncation(decode_all, &batch);
	vector_refuses_a_byte_more(decode_all, &batch);
	vector_survives_every_flip(decode_all, &batch);
	vector_refuses_every_truncation(decode_all, &last);
	vector_refuses_a_byte_more(decode_all, &last);
	vector_survives_every_flip(decode_all, &last);
	free(batch.bytes);
	free(last.bytes);
}

/* ---- heads written by hand, to stand on both sides of each limit ---- */

struct raw_head {
	int64_t step, lane, lanes, global_batch;
	double lr_scale;
	const char *rest; /* last, domains, sequences: their bytes as they are */
	size_t rest_n;
	const char *text; /* NULL: good; else how the complaint goes on after the kind */
};

#define REST(bytes) bytes, sizeof(bytes) - 1
#define TINY        "\0\0\0\0\2\4\0\0\0\0\0\0\0\0\0\0\0\0\0" /* a sequence of count 1, width 2 */

static const struct raw_head raw_heads[] = {
    {0, 0, 1, 1, 1, REST("\0\0\2" TINY "\0"), NULL},
    {INT64_MAX, 0, 1, 1, 0, REST("\0\0\2" TINY "\0"), NULL},
    {-1, 0, 1, 1, 1, REST("\0\0\2" TINY "\0"), "mix to last: a number out of range"},
    {0, -1, 1, 1, 1, REST("\0\0\2" TINY "\0"), "mix to last: a number out of range"},
    {0, 0, 0, 1, 1, REST("\0\0\2" TINY "\0"), "mix to last: a number out of range"},
    {0, 1, 1, 1, 1, REST("\0\0\2" TINY "\0"), "mix to last: a number out of range"},
    {0, 4095, 4096, 4096, 1, REST("\0\0\2" TINY "\0"), NULL},
    {0, 0, 4097, 4097, 1, REST("\0\0\2" TINY "\0"), "mix to last: a number out of range"},
    {0, 0, 2, 1, 1, REST("\0\0\2" TINY "\0"), "mix to last: a number out of range"},
    {0, 0, 2, 3, 1, REST("\0\0\2" TINY "\0"), "global_batch: 3 cannot be dealt to 2 lanes"},
    {0, 0, 1, 1, -1, REST("\0\0\2" TINY "\0"), "lr_scale: -1 is not a scale"},
    {0, 0, 1, 1, NAN, REST("\0\0\2" TINY "\0"), "lr_scale: "},
    {0, 0, 1, 1, INFINITY, REST("\0\0\2" TINY "\0"), "lr_scale: inf is not a scale"},
    {0, 0, 1, 1, 1, REST("\2\0\2" TINY "\0"), "mix to last: a boolean that is"},
    /* two sequences in one block, in two, in two with sizes; one too few, one too many */
    {0, 0, 1, 2, 1, REST("\0\0\4" TINY TINY "\0"), NULL},
    {0, 0, 1, 2, 1, REST("\0\0\2" TINY "\2" TINY "\0"), NULL},
    {0, 0, 1, 2, 1, REST("\0\0\1\46" TINY "\1\46" TINY "\0"), NULL},
    {0, 0, 1, 2, 1, REST("\0\0\2" TINY "\0"), "sequence 0: sequences: not as many"},
    {0, 0, 1, 1, 1, REST("\0\0\4" TINY TINY "\0"), "sequence 0: sequences: not as many"},
    {0, 0, 1, 1, 1, REST("\0\0\2" TINY "\2" TINY "\0"), "sequence 0: sequences: not as many"},
    {0, 0, 1, 1, 1, REST("\0\0\0"), "sequences: no sequences"},
    {0, 0, 1, 1, 1, REST("\0\0\2" TINY "\0x"), "sequence 0: sequences: 1 trailing bytes"},
    {0, 0, 1, 1, 1, REST("\1\0\0"), NULL},
    {0, 0, 1, 1, 1, REST("\1\0\0x"), "sequences: 1 trailing bytes"},
    {0, 0, 1, 1, 1, REST("\1\0\2" TINY "\0"), "sequences: sequences in a record that ends"},
    /* domains: ascending, equal, negative, a length beyond the end, more than are left */
    {0, 0, 1, 1, 1, REST("\1\4\0\2a\2\2b\0\0"), NULL},
    {0, 0, 1, 1, 1, REST("\1\4\2\2a\2\2b\0\0"), "domains: a number out of range"},
    {0, 0, 1, 1, 1, REST("\1\2\1\2a\0\0"), "domains: a number out of range"},
    {0, 0, 1, 1, 1, REST("\1\2\0\40a\0\0"), "domains: a length beyond the end"},
    {0, 0, 1, 1, 1, REST("\1\176\0\0"), "domains: a block of more items"},
};

static void
put_raw_head(struct wire_writer *w, const struct raw_head *raw)
{
	uint8_t envelope[SCHEMA_ENVELOPE_BYTES];

	schema_put_envelope(envelope, SCHEMA_BATCH);
	wire_put_raw(w, envelope, sizeof(envelope));
	wire_put_bytes(w, "m", 1);
	wire_put_hash(w, 0);
	wire_put_long(w, raw->step);
	wire_put_long(w, raw->lane);
	wire_put_long(w, raw->lanes);
	wire_put_long(w, raw->global_batch);
	wire_put_long(w, 1);
	wire_put_bytes(w, "", 0);
	wire_put_double(w, raw->lr_scale);
	wire_put_long(w, 0);
	wire_put_hash(w, 0);
	wire_put_raw(w, raw->rest, raw->rest_n);
}

static void
test_both_sides_of_each_limit_of_a_batch(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, raw_heads, rest) {
		const struct raw_head *raw = &raw_heads[i];
		struct wire_writer w = {0};
		struct failure f = {0};
		enum fail_code code;
		const char *kind = "record of kind Batch: ";

		put_raw_head(&w, raw);
		code = decode_all(w.bytes, w.n, &f);
		if (code != (raw->text == NULL ? FAIL_NONE : FAIL_DATA))
			print_error("row %zu: %s\n", i, f.text);
		assert_int_equal(code, raw->text == NULL ? FAIL_NONE : FAIL_DATA);
		if (raw->text != NULL) {
			assert_memory_equal(f.text, kind, strlen(kind));
			assert_memory_equal(f.text + strlen(kind), raw->text, strlen(raw->text));
		}
		wire_writer_close(&w);
	}
}

static void
put_domains(struct wire_writer *w, int64_t n)
{
	wire_put_boolean(w, true);
	wire_put_long(w, n);
	for (int64_t i = 0; i < n; i++) {
		wire_put_long(w, i);
		wire_put_bytes(w, "d", 1);
	}
	wire_put_raw(w, "\0\0", 2);
}

static void
test_a_batch_names_no_more_domains_than_a_mix_can_have(void **unused)
{
	(void)unused;
	for (int64_t more = 0; more < 2; more++) {
		struct wire_writer w = {0}, tail = {0};
		struct raw_head raw = {0, 0, 1, 1, 1, NULL, 0, NULL};
		struct failure f;

		put_domains(&tail, LIMIT_DOMAINS + more);
		raw.rest = (const char *)tail.bytes;
		raw.rest_n = tail.n;
		put_raw_head(&w, &raw);
		assert_int_equal(decode_all(w.bytes, w.n, &f), more == 0 ? FAIL_NONE : FAIL_DATA);
		wire_writer_close(&w);
		wire_writer_close(&tail);
	}
}

static void
test_a_damaged_sequence_is_named_by_its_number(void **unused)
{
	struct vector golden = vector_read("batch");
	struct batch_view b;
	struct batch_drawn drawn;
	struct sequence_payload_view payload;
	struct failure f;

	(void)unused;
	/* The second sequence ends count, width, used, hash, four zeros, end of list. */
	golden.bytes[golden.n - 15] = 8;
	assert_int_equal(batch_decode(&b, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_int_equal(batch_next(&b, &drawn, &payload, &f), FAIL_NONE);
	assert_int_equal(batch_next(&b, &drawn, &payload, &f), FAIL_DATA);
	assert_memory_equal(
	    f.text, "record of kind Batch: sequence 1: width: a number out of range at byte ", 70);
	free(golden.bytes);
}

static void
test_a_writer_without_memory_fails_every_move(void **unused)
{
	struct wire_writer w = {.failed = true};
	struct failure f;

	(void)unused;
	assert_int_equal(batch_begin(&w, &sample_head, sample_domains, 2, 2, &f), FAIL_MEMORY);
	assert_int_equal(
	    batch_add(&w, &sample_drawn[0], sample_frame, sizeof(sample_frame), &f), FAIL_MEMORY);
	assert_int_equal(batch_end(&w, &f), FAIL_MEMORY);
	assert_int_equal(w.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_batch_has_the_golden_bytes),
	    cmocka_unit_test(test_the_golden_batch_has_its_values),
	    cmocka_unit_test(test_the_last_batch_has_no_sequences),
	    cmocka_unit_test(test_damaged_batches_are_refused_or_decoded_and_nothing_else),
	    cmocka_unit_test(test_both_sides_of_each_limit_of_a_batch),
	    cmocka_unit_test(test_a_batch_names_no_more_domains_than_a_mix_can_have),
	    cmocka_unit_test(test_a_damaged_sequence_is_named_by_its_number),
	    cmocka_unit_test(test_a_writer_without_memory_fails_every_move),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
