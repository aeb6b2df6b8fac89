/* log_record.h: the next sequence, records that are passed over, and gaps. */
#include "consumer/domain/log_record.h"

#include "common/record/schema.h"
#include "tests/unit/sample.h"

enum { NO_SEQUENCE = 1 << 20 };

static enum log_record
judged(uint64_t ordinal, uint64_t due)
{
	static const struct sequence_position position = {0};
	struct wire_writer w = {0};
	struct sequence_view view = {.ordinal = NO_SEQUENCE};
	enum log_record what;

	assert_int_equal(
	    sequence_encode(&w, ordinal, SAMPLE_TOKENIZER, &position, &sample_payload, &f),
	    FAIL_NONE);
	assert_int_equal(log_record_judge(&what, &view, w.bytes, w.n, due, &f), FAIL_NONE);
	assert_int_equal(view.ordinal, ordinal);
	wire_writer_close(&w);
	return what;
}

static void
test_the_due_sequence_is_next_and_a_later_one_is_a_gap(void **unused)
{
	static const struct {
		uint64_t ordinal, due;
		enum log_record what;
	} row[] = {
	    {0, 0, LOG_RECORD_NEXT},
	    {1, 0, LOG_RECORD_GAP},
	    {3, 4, LOG_RECORD_PASSED},
	    {0, 4, LOG_RECORD_PASSED},
	    {4, 4, LOG_RECORD_NEXT},
	    {5, 4, LOG_RECORD_GAP},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(judged(row[i].ordinal, row[i].due), row[i].what);
}

static void
test_an_end_is_passed_over_and_all_else_is_refused(void **unused)
{
	struct sequence_end end = {.sequences = 3, .sequence_length = 8};
	struct wire_writer w = {0};
	uint8_t batch[SCHEMA_ENVELOPE_BYTES];
	struct sequence_view view;
	enum log_record what;

	(void)unused;
	assert_int_equal(sequence_end_encode(&w, &end, &f), FAIL_NONE);
	assert_int_equal(log_record_judge(&what, &view, w.bytes, w.n, 0, &f), FAIL_NONE);
	assert_int_equal(what, LOG_RECORD_PASSED);
	assert_int_equal(log_record_judge(&what, &view, w.bytes, 3, 0, &f), FAIL_DATA);
	wire_writer_close(&w);
	schema_put_envelope(batch, SCHEMA_BATCH);
	assert_int_equal(log_record_judge(&what, &view, batch, sizeof(batch), 0, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "record stands where sequences do"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_due_sequence_is_next_and_a_later_one_is_a_gap),
	    cmocka_unit_test(test_an_end_is_passed_over_and_all_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
