/* reader_metrics.h: what is counted comes out as text, with librdkafka's figures if any. */
#include "consumer/reader/reader_metrics.h"

#include <string.h>

#include "tests/unit/test.h"

static void
test_tokens_are_targets_without_padding(void **unused)
{
	const struct riffle_sequence sequence[] = {{.used = 9}, {.used = 4}, {.used = 1}};
	const struct riffle_step step = {.sequences = 3, .tokens_each = 9, .sequence = sequence};
	struct reader_metrics m = {0};
	char *text;

	(void)unused;
	reader_metrics_given(&m, &step);
	reader_metrics_given(&m, &step);
	reader_metrics_waited(&m, 1500);
	reader_metrics_at(&m, 12, 10);
	text = reader_metrics_text(&m, "p", "r", 7);
	assert_non_null(text);
	assert_non_null(strstr(text, "\nriffle_reader_next_step{mix=\"p\",run=\"r\"} 12\n"));
	assert_non_null(strstr(text, "\nriffle_reader_committed_step{mix=\"p\",run=\"r\"} 10\n"));
	assert_non_null(strstr(text, "\nriffle_reader_steps_total{mix=\"p\",run=\"r\"} 2\n"));
	assert_non_null(strstr(text, "\nriffle_reader_sequences_total{mix=\"p\",run=\"r\"} 6\n"));
	assert_non_null(strstr(text, "\nriffle_reader_tokens_total{mix=\"p\",run=\"r\"} 22\n"));
	assert_non_null(
	    strstr(text, "\nriffle_reader_wait_seconds_total{mix=\"p\",run=\"r\"} 1.5\n"));
	assert_non_null(strstr(text, "\nriffle_reader_queue_steps{mix=\"p\",run=\"r\"} 7\n"));
	assert_null(strstr(text, "riffle_kafka_"));
	free(text);

	atomic_store(&m.stats.received_bytes, 30);
	text = reader_metrics_text(&m, "p", "r", 7);
	assert_non_null(
	    strstr(text, "\nriffle_kafka_received_bytes_total{mix=\"p\",run=\"r\"} 30\n"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tokens_are_targets_without_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
