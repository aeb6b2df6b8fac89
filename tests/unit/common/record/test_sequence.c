#include "common/base/limits.h"
#include "common/record/sequence.h"

#include "common/record/frame.h"
#include "common/record/schema.h"
#include "tests/unit/sample.h"
#include "tests/unit/vector.h"

static const struct sequence_position sample_position = {
    .document = UINT64_C(1) << 40,
    .file = {"b.txt", 5},
    .byte = INT64_MAX,
    .line = 1,
    .offset = 0,
    .documents = 43,
    .rejects = 5,
    .record_bytes = 39000,
    .record_bytes_max = 170,
    .tokens = 2400,
    .dropped = 3,
    .sealed = -1,
    .packing = SEQUENCE_BEST_FIT,
    .window = 70,
};

static const struct sequence_end sample_end = {
    .sequences = 301,
    .tokens = 2408,
    .dropped = 7,
    .documents = 43,
    .rejects = 5,
    .sequence_length = 8,
    .tokenizer = SAMPLE_TOKENIZER,
    .record_bytes = 40000,
    .record_bytes_max = 170,
    .packing = SEQUENCE_NONE,
    .input = {.records = 50,
	.files = 2,
	.names = UINT64_C(0x0f1e2d3c4b5a6978),
	.file = {"b.txt", 5},
	.byte = UINT64_C(1) << 40,
	.line = 7},
};

static enum fail_code
decode_sequence(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct sequence_view view;
	enum fail_code code = sequence_decode(&view, bytes, n, f);

	if (code == FAIL_NONE) {
		struct text_view *sources = calloc(view.payload.sources_n + 1, sizeof(*sources));
		struct sequence_span *spans = calloc(view.payload.spans_n + 1, sizeof(*spans));
		struct sequence_range *no_loss =
		    calloc(view.payload.no_loss_n + 1, sizeof(*no_loss));

		sequence_payload_lists(&view.payload, sources, spans, no_loss);
		free(sources);
		free(spans);
		free(no_loss);
	}
	return code;
}

static enum fail_code
decode_end(const uint8_t *bytes, size_t n, struct failure *f)
{
	struct sequence_end e;

	return sequence_end_decode(&e, bytes, n, f);
}

static void
test_a_sequence_has_the_golden_bytes(void **unused)
{
	struct vector golden = vector_read("sequence");
	struct wire_writer w = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(
	    sequence_encode(&w, 300, SAMPLE_TOKENIZER, &sample_position, &sample_payload, &f),
	    FAIL_NONE);
	assert_int_equal(w.n, golden.n);
	assert_memory_equal(w.bytes, golden.bytes, golden.n);
	wire_writer_close(&w);
	free(golden.bytes);
}

static void
test_the_golden_sequence_has_its_values(void **unused)
{
	struct vector golden = vector_read("sequence");
	struct sequence_view view;
	struct failure f;

	(void)unused;
	assert_int_equal(sequence_decode(&view, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_true(view.ordinal == 300 && view.tokenizer == SAMPLE_TOKENIZER);
	assert_true(view.position.document == sample_position.document);
	assert_view_equal(view.position.file, "b.txt");
	assert_true(view.position.byte == INT64_MAX && view.position.line == 1);
	assert_true(view.position.offset == 0 && view.position.documents == 43);
	assert_true(view.position.rejects == 5);
	assert_true(view.position.record_bytes == 39000);
	assert_true(view.position.record_bytes_max == 170);
	assert_true(view.position.tokens == 2400 && view.position.dropped == 3);
	assert_true(view.position.sealed == -1);
	assert_true(view.position.packing == SEQUENCE_BEST_FIT && view.position.window == 70);
	assert_payload_equal(&view.payload, &sample_payload);
	assert_ptr_equal(view.payload.raw + view.payload.raw_n, golden.bytes + golden.n);
	free(golden.bytes);
}

static void
test_an_end_has_the_golden_bytes_and_values(void **unused)
{
	struct vector golden = vector_read("end");
	struct wire_writer w = {0};
	struct sequence_end e;
	struct failure f;

	(void)unused;
	assert_int_equal(sequence_end_encode(&w, &sample_end, &f), FAIL_NONE);
	assert_int_equal(w.n, golden.n);
	assert_memory_equal(w.bytes, golden.bytes, golden.n);
	assert_int_equal(sequence_end_decode(&e, golden.bytes, golden.n, &f), FAIL_NONE);
	assert_true(e.sequences == 301 && e.tokens == 2408 && e.dropped == 7);
	assert_true(e.documents == 43 && e.rejects == 5 && e.sequence_length == 8);
	assert_true(e.tokenizer == SAMPLE_TOKENIZER);
	assert_true(e.record_bytes == 40000 && e.record_bytes_max == 170);
	assert_true(e.packing == SEQUENCE_NONE);
	assert_true(e.input.records == 50 && e.input.files == 2);
	assert_true(e.input.names == sample_end.input.names && e.input.line == 7);
	assert_view_equal(e.input.file, "b.txt");
	assert_true(e.input.byte == UINT64_C(1) << 40);
	wire_writer_close(&w);
	free(golden.bytes);
}

static void
test_damaged_records_are_refused_or_decoded_and_nothing_else(void **unused)
{
	struct vector sequence = vector_read("sequence"), end = vector_read("end");

	(void)unused;
	vector_refuses_every_truncation(decode_sequence, &sequence);
	vector_refuses_a_byte_more(decode_sequence, &sequence);
	vector_survives_every_flip(decode_sequence, &sequence);
	vector_refuses_every_truncation(decode_end, &end);
	vector_refuses_a_byte_more(decode_end, &end);
	vector_survives_every_flip(decode_end, &end);
	free(sequence.bytes);
	free(end.bytes);
}

static void
test_random_damage_is_survived(void **unused)
{
	struct vector golden = vector_read("sequence");
	uint32_t x = 20260131;

	(void)unused;
	print_message("seed %u\n", x);
	for (int round = 0; round < 20000; round++) {
		struct vector damaged = vector_splice(&golden, 0, 0, "", 0);

		for (int i = 0; i < 4; i++) {
			x = x * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
			damaged.bytes[10 + (x >> 8) % (damaged.n - 10)] = (uint8_t)(x >> 3);
		}
		(void)vector_try(decode_sequence, damaged.bytes, damaged.n);
		free(damaged.bytes);
	}
	free(golden.bytes);
}

/* ---- payloads written by hand, to stand on both sides of each limit ---- */

struct raw_payload {
	int64_t count, width, used;
	const char *lists; /* sources, documents, no_loss: their bytes as they are */
	size_t lists_n;
	int64_t frame_n;
	const char *text; /* NULL: good; else how the complaint starts */
};

#define LISTS(bytes) bytes, sizeof(bytes) - 1

static const struct raw_payload raw_payloads[] = {
    {1, 2, 0, LISTS("\0\0\0"), 0, NULL},
    {0, 2, 0, LISTS("\0\0\0"), 0, "count: a number out of range"},
    {-1, 2, 0, LISTS("\0\0\0"), 0, "count: a number out of range"},
    {SEQUENCE_TOKENS_MAX, 2, 0, LISTS("\0\0\0"), 0, NULL},
    {SEQUENCE_TOKENS_MAX + 1, 2, 0, LISTS("\0\0\0"), 0, "count: a number out of range"},
    {9, 1, 0, LISTS("\0\0\0"), 0, "width: a number out of range"},
    {9, 3, 0, LISTS("\0\0\0"), 0, NULL},
    {9, 4, 0, LISTS("\0\0\0"), 0, "width: a number out of range"},
    {9, 2, 9, LISTS("\0\0\0"), 0, NULL},
    {9, 2, 10, LISTS("\0\0\0"), 0, "used: a number out of range"},
    {9, 2, -1, LISTS("\0\0\0"), 0, "used: a number out of range"},
    /* one source and one span, at start 0 */
    {9, 2, 1, LISTS("\2\2a\0\2\0\0\0\0\0\0\0"), 0, NULL},
    {9, 2, 0, LISTS("\2\2a\0\2\0\0\0\0\0\0\0"), 0, "documents: a number out of range"},
    {9, 2, 1, LISTS("\2\2a\0\2\0\2\0\0\0\0\0"), 0, "documents: a number out of range"},
    {9, 2, 1, LISTS("\0\2\0\0\0\0\0\0\0"), 0, "documents: a number out of range"},
    {9, 2, 9, LISTS("\2\2a\0\2\2\0\0\0\0\0\0"), 0, "documents: a number out of range"},
    {9, 2, 1, LISTS("\2\2a\0\2\0\0\1\0\0\0\0"), 0, "documents: a number out of range"},
    {9, 2, 1, LISTS("\2\2a\0\2\0\0\0\1\0\0\0"), 0, "documents: a number out of range"},
    {9, 2, 1, LISTS("\2\2a\0\2\0\0\0\0\1\0\0"), 0, "documents: a negative length"},
    /* two spans: ascending, equal, the last one at used */
    {9, 2, 3, LISTS("\2\2a\0\4\0\0\0\0\0\4\0\0\0\0\0\0"), 0, NULL},
    {9, 2, 3, LISTS("\2\2a\0\4\0\0\0\0\0\0\0\0\0\0\0\0"), 0, "documents: a number out of range"},
    {9, 2, 2, LISTS("\2\2a\0\4\0\0\0\0\0\4\0\0\0\0\0\0"), 0, "documents: a number out of range"},
    /* the same two spans as two blocks, and as a block with its size */
    {9, 2, 3, LISTS("\2\2a\0\2\0\0\0\0\0\2\4\0\0\0\0\0\0"), 0, NULL},
    {9, 2, 3, LISTS("\1\4\2a\0\3\24\0\0\0\0\0\4\0\0\0\0\0\0"), 0, NULL},
    /* sources: as many as tokens, one more, a length beyond the end */
    {2, 2, 0, LISTS("\4\0\0\0\0\0"), 0, NULL},
    {2, 2, 0, LISTS("\6\0\0\0\0\0\0"), 0, "sources: more sources than tokens"},
    {2, 2, 0, LISTS("\2\xfe\xff\xff\xff\x0f"), 0, "sources: a length beyond the end"},
    {2, 2, 0, LISTS("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"), 0,
	"sources: a block of more items than there are bytes left"},
    /* no_loss: whole, empty, beyond count, overlapping, adjoining */
    {9, 2, 0, LISTS("\0\0\2\0\22\0"), 0, NULL},
    {9, 2, 0, LISTS("\0\0\2\0\0\0"), 0, "no_loss: a number out of range"},
    {9, 2, 0, LISTS("\0\0\2\4\2\0"), 0, "no_loss: a number out of range"},
    {9, 2, 0, LISTS("\0\0\2\0\24\0"), 0, "no_loss: a number out of range"},
    {9, 2, 0, LISTS("\0\0\4\0\4\2\6\0"), 0, "no_loss: a number out of range"},
    {9, 2, 0, LISTS("\0\0\4\0\4\4\6\0"), 0, NULL},
    /* frame */
    {1, 2, 0, LISTS("\0\0\0"), -1, "frame: a negative length"},
    {1, 2, 0, LISTS("\0\0\0"), 1, "frame: a length beyond the end"},
    {1, 2, 0, LISTS("\0\0\0"), INT64_MAX, "frame: a length beyond the end"},
    {1, 2, 0, LISTS("\0\0\0"), INT64_MIN, "frame: a negative length"},
};

static void
test_both_sides_of_each_limit_of_a_payload(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, raw_payloads, lists) {
		const struct raw_payload *raw = &raw_payloads[i];
		struct wire_writer w = {0};
		struct wire_reader r;
		struct sequence_payload_view view = {.count = 77};
		struct failure f = {0};
		enum fail_code code;

		wire_put_long(&w, raw->count);
		wire_put_long(&w, raw->width);
		wire_put_long(&w, raw->used);
		wire_put_hash(&w, 0);
		wire_put_raw(&w, raw->lists, raw->lists_n);
		wire_put_long(&w, raw->frame_n);
		wire_reader_init(&r, w.bytes, w.n);
		code = sequence_payload_read(&view, &r, &f);
		if (code != (raw->text == NULL ? FAIL_NONE : FAIL_DATA))
			print_error("row %zu: %s\n", i, f.text);
		assert_int_equal(code, raw->text == NULL ? FAIL_NONE : FAIL_DATA);
		if (raw->text != NULL)
			assert_memory_equal(f.text, raw->text, strlen(raw->text));
		assert_int_equal(view.count, raw->text == NULL ? raw->count : 77);
		wire_writer_close(&w);
	}
}

static void
test_a_block_that_claims_bytes_behind_the_payload_is_read_twice_alike(void **unused)
{
	static const uint8_t behind[64];
	struct wire_writer w = {0};
	struct wire_reader r;
	struct sequence_payload_view view;
	struct text_view source;
	struct failure f;

	(void)unused;
	wire_put_long(&w, 9); /* tokens, width, used, hash */
	wire_put_long(&w, 2);
	wire_put_long(&w, 0);
	wire_put_hash(&w, 0);
	wire_put_long(&w, -1); /* a source, in 40 bytes by what the block says */
	wire_put_long(&w, 40);
	wire_put_bytes(&w, "a", 1);
	wire_put_raw(&w, behind, 4); /* no more sources, no spans, no ranges, an empty frame */
	wire_put_raw(&w, behind, sizeof(behind));
	wire_reader_init(&r, w.bytes, w.n);
	assert_int_equal(sequence_payload_read(&view, &r, &f), FAIL_NONE);
	assert_true(view.raw_n < 40 && view.sources_n == 1);
	sequence_payload_lists(&view, &source, NULL, NULL);
	assert_true(source.n == 1 && source.bytes[0] == 'a');
	wire_writer_close(&w);
}

static void
test_a_failed_decode_says_where_and_leaves_the_callers_view(void **unused)
{
	struct vector golden = vector_read("sequence");
	struct sequence_view view = {.ordinal = 77};
	struct failure f;

	(void)unused;
	assert_int_equal(sequence_decode(&view, golden.bytes, golden.n - 1, &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "record of kind Sequence: frame: a length beyond the end of the record at byte 121");
	assert_int_equal(view.ordinal, 77);
	assert_int_equal(sequence_decode(&view, golden.bytes, 12, &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "record of kind Sequence: ordinal to position: the record ends in the middle of eight "
	    "bytes at byte 12");
	free(golden.bytes);
}

static void
test_an_end_taken_for_a_sequence_is_refused_by_name(void **unused)
{
	struct vector end = vector_read("end"), sequence = vector_read("sequence");
	struct sequence_view view;
	struct sequence_end e;
	struct failure f;

	(void)unused;
	assert_int_equal(sequence_decode(&view, end.bytes, end.n, &f), FAIL_DATA);
	assert_string_equal(f.text, "is a record of kind End where one of kind Sequence belongs");
	assert_int_equal(sequence_end_decode(&e, sequence.bytes, sequence.n, &f), FAIL_DATA);
	end.bytes[5] ^= 1;
	assert_int_equal(sequence_end_decode(&e, end.bytes, end.n, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "has the schema fingerprint"));
	free(end.bytes);
	free(sequence.bytes);
}

static void
test_both_sides_of_the_limits_of_an_end(void **unused)
{
	static const struct {
		int64_t sequences, length, packing;
		enum fail_code code;
	} cases[] = {
	    {0, 1, 0, FAIL_NONE},
	    {INT64_MAX, LIMIT_SEQUENCE, SEQUENCE_BEST_FIT, FAIL_NONE},
	    {-1, 1, 0, FAIL_DATA},
	    {0, 0, 0, FAIL_DATA},
	    {0, LIMIT_SEQUENCE + 1, 0, FAIL_DATA},
	    {0, 1, -1, FAIL_DATA},
	    {0, 1, SEQUENCE_BEST_FIT + 1, FAIL_DATA},
	};

	(void)unused;
	EACH_ROW(i, cases) {
		uint8_t envelope[SCHEMA_ENVELOPE_BYTES];
		struct wire_writer w = {0};
		struct sequence_end e;
		struct failure f;

		schema_put_envelope(envelope, SCHEMA_END);
		wire_put_raw(&w, envelope, sizeof(envelope));
		wire_put_long(&w, cases[i].sequences);
		for (int k = 0; k < 4; k++)
			wire_put_long(&w, 0);
		wire_put_long(&w, cases[i].length);
		wire_put_hash(&w, 0);
		for (int k = 0; k < 5; k++)
			wire_put_long(&w, k == 2 ? cases[i].packing : 0);
		wire_put_hash(&w, 0);
		for (int k = 0; k < 3; k++) /* an empty name, the byte and the line */
			wire_put_long(&w, 0);
		assert_int_equal(sequence_end_decode(&e, w.bytes, w.n, &f), cases[i].code);
		wire_writer_close(&w);
	}
}

static void
test_a_frame_with_another_hash_is_found(void **unused)
{
	struct sequence_payload p = sample_payload;
	struct wire_writer w = {0};
	struct sequence_view view;
	struct failure f;

	(void)unused;
	p.frame_hash = frame_hash(p.frame, p.frame_n);
	assert_int_equal(
	    sequence_encode(&w, 0, SAMPLE_TOKENIZER, &sample_position, &p, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, w.bytes, w.n, &f), FAIL_NONE);
	assert_int_equal(sequence_payload_check_hash(&view.payload, &f), FAIL_NONE);
	w.bytes[w.n - 1] ^= 1;
	assert_int_equal(sequence_decode(&view, w.bytes, w.n, &f), FAIL_NONE);
	assert_int_equal(sequence_payload_check_hash(&view.payload, &f), FAIL_DATA);
	wire_writer_close(&w);
}

static void
test_records_append_to_what_the_writer_holds(void **unused)
{
	struct wire_writer w = {0};
	struct sequence_end e;
	struct failure f;
	size_t first;

	(void)unused;
	assert_int_equal(sequence_end_encode(&w, &sample_end, &f), FAIL_NONE);
	first = w.n;
	assert_int_equal(sequence_end_encode(&w, &sample_end, &f), FAIL_NONE);
	assert_int_equal(w.n, 2 * first);
	assert_int_equal(sequence_end_decode(&e, w.bytes + first, first, &f), FAIL_NONE);
	w.failed = true;
	assert_int_equal(sequence_end_encode(&w, &sample_end, &f), FAIL_MEMORY);
	wire_writer_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_sequence_has_the_golden_bytes),
	    cmocka_unit_test(test_the_golden_sequence_has_its_values),
	    cmocka_unit_test(test_an_end_has_the_golden_bytes_and_values),
	    cmocka_unit_test(test_damaged_records_are_refused_or_decoded_and_nothing_else),
	    cmocka_unit_test(test_random_damage_is_survived),
	    cmocka_unit_test(test_both_sides_of_each_limit_of_a_payload),
	    cmocka_unit_test(test_a_block_that_claims_bytes_behind_the_payload_is_read_twice_alike),
	    cmocka_unit_test(test_a_failed_decode_says_where_and_leaves_the_callers_view),
	    cmocka_unit_test(test_an_end_taken_for_a_sequence_is_refused_by_name),
	    cmocka_unit_test(test_both_sides_of_the_limits_of_an_end),
	    cmocka_unit_test(test_a_frame_with_another_hash_is_found),
	    cmocka_unit_test(test_records_append_to_what_the_writer_holds),
	};

	return cmocka_run_group_tests_name("sequence", tests, NULL, NULL);
}
