/* partition_tail.h: what the last record of a partition says about its length. */
#include "tests/unit/sample.h"

#include "common/record/schema.h"
#include "consumer/domain/partition_tail.h"

static void
test_a_sequence_repeats_the_length_of_the_end_before_it(void **unused)
{
	static const struct {
		int64_t sealed;
		bool is_sealed;
		uint64_t length;
	} cases[] = {{-1, false, 0}, {0, true, 0}, {7, true, 7}, {300, true, 300}};

	(void)unused;
	EACH_ROW(i, cases) {
		struct sequence_position p = {.file = {"f", 1},
		    .line = 1,
		    .record_bytes = 1000,
		    .record_bytes_max = 10,
		    .sealed = cases[i].sealed};
		struct partition_tail tail;
		struct wire_writer w = {0};
		struct failure f;

		assert_int_equal(
		    sequence_encode(&w, 300, SAMPLE_TOKENIZER, &p, &sample_payload, &f), FAIL_NONE);
		assert_int_equal(partition_tail_decode(&tail, w.bytes, w.n, &f), FAIL_NONE);
		assert_int_equal(tail.sequences, 301);
		assert_int_equal(tail.sealed, cases[i].is_sealed);
		assert_int_equal(tail.sealed_sequences, cases[i].length);
		assert_int_equal(tail.record_bytes, 1000 + w.n);
		assert_int_equal(tail.record_bytes_max, w.n);
		assert_int_equal(tail.sequence_length, sample_payload.count - 1);
		assert_true(tail.tokenizer == SAMPLE_TOKENIZER);
		assert_true(!tail.end && tail.frame_hash == sample_payload.frame_hash);
		wire_writer_close(&w);
	}
}

static void
test_an_end_seals_all_that_is_there(void **unused)
{
	struct sequence_end e = {.sequences = 9,
	    .sequence_length = 8,
	    .tokenizer = 5,
	    .record_bytes = 90,
	    .record_bytes_max = 11};
	struct partition_tail tail;
	struct wire_writer w = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(sequence_end_encode(&w, &e, &f), FAIL_NONE);
	assert_int_equal(partition_tail_decode(&tail, w.bytes, w.n, &f), FAIL_NONE);
	assert_true(tail.sealed && tail.sequences == 9 && tail.sealed_sequences == 9);
	assert_true(tail.record_bytes == 90 && tail.record_bytes_max == 11);
	assert_true(tail.end && tail.frame_hash == 0);
	assert_true(tail.sequence_length == 8 && tail.tokenizer == 5);
	wire_writer_close(&w);
}

static void
test_another_record_is_refused_by_name(void **unused)
{
	uint8_t bytes[SCHEMA_ENVELOPE_BYTES];
	struct partition_tail tail;
	struct failure f;

	(void)unused;
	schema_put_envelope(bytes, SCHEMA_LEDGER);
	assert_int_equal(partition_tail_decode(&tail, bytes, sizeof(bytes), &f), FAIL_DATA);
	assert_string_equal(f.text, "a Ledger record stands where sequences do");
	assert_int_equal(partition_tail_decode(&tail, (const uint8_t *)"{}", 2, &f), FAIL_DATA);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_sequence_repeats_the_length_of_the_end_before_it),
	    cmocka_unit_test(test_an_end_seals_all_that_is_there),
	    cmocka_unit_test(test_another_record_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
