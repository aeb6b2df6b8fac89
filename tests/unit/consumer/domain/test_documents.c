/* documents.h: when reading a domain's documents ends, in a mock cluster. */
#include "consumer/domain/documents.h"

#include "tests/unit/mock_domain.h"

enum { RECORDS = 8 };

/* The broker has sent all records at once, so that reading never waits for one. */
static void
test_a_stop_ends_the_reading_also_while_records_are_at_hand(void **unused)
{
	struct documents_sequence s;
	struct stop stop = {0};
	struct documents *d;
	bool there;

	(void)unused;
	mock_topic("stop.web", 1);
	for (int i = 0; i < RECORDS; i++)
		mock_write_domain("stop.web", 0, i, -1, SAMPLE_TOKENIZER, NULL);
	assert_int_equal(documents_open(&d, &mock_properties, &stop, MOCK_WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(documents_seek(d, "stop.web", 0, 0, &f), FAIL_NONE);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(documents_next(d, &s, &there, &f), FAIL_NONE);
		assert_true(there);
		assert_int_equal(s.ordinal, i);
	}
	stop_ask(&stop);
	assert_int_equal(documents_next(d, &s, &there, &f), FAIL_STOPPED);
	assert_false(there);
	documents_close(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_stop_ends_the_reading_also_while_records_are_at_hand),
	};

	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
