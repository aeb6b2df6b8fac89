/* kafka_stats.h: the numbers of librdkafka's text, and nothing of a text that is none. */
#include "common/kafka/kafka_stats.h"

#include <string.h>

#include "tests/unit/test.h"

/* As librdkafka 2.0 writes it, with what is not looked at made short. */
static const char text[] =
    "{ \"name\": \"riffle-mix#producer-1\", \"client_id\": \"riffle-mix\", \"type\": \"producer\", "
    "\"ts\":5016483227792, \"msg_cnt\":22710, \"msg_size\":704010, \"msg_max\":500000, "
    "\"brokers\":{ \"localhost:9092/1\": { \"name\":\"localhost:9092/1\", \"nodeid\":1, "
    "\"req_timeouts\":2, \"rtt\": { \"min\":1580, \"max\":3389, \"avg\":2349, \"cnt\":79 }, "
    "\"toppars\":{ \"b-0\": { \"topic\":\"b\", \"partition\":0} } } , "
    "\"a \\\"b\\\":9092/2\": { \"req_timeouts\":1, \"rtt\": { \"avg\":9000, \"cnt\":0 } }, "
    "\"c/3\": { \"rtt\": { \"avg\":400, \"cnt\":1 } } }, "
    "\"topics\":{ \"b\": { \"msg_cnt\": 7, \"partitions\":{ \"0\": { \"msg_cnt\": 8 } } } } , "
    "\"tx\":631, \"tx_bytes\":168584479, \"rx\":631, \"rx_bytes\":31084 }";

static int64_t
of(const atomic_int_least64_t *n)
{
	return atomic_load(n);
}

static void
test_the_slowest_broker_that_answered_and_the_handle_itself_count(void **unused)
{
	struct kafka_stats s = {0};

	(void)unused;
	kafka_stats_take(&s, text, strlen(text));
	assert_int_equal(of(&s.round_trip_us), 2349);
	assert_int_equal(of(&s.timeouts), 3);
	assert_int_equal(of(&s.queue_records), 22710);
	assert_int_equal(of(&s.queue_bytes), 704010);
	assert_int_equal(of(&s.sent_bytes), 168584479);
	assert_int_equal(of(&s.received_bytes), 31084);
}

static void
test_a_text_that_breaks_off_anywhere_changes_nothing(void **unused)
{
	struct kafka_stats s = {0};

	(void)unused;
	for (size_t n = 0; n < strlen(text); n++) {
		char *cut = malloc(n + 1); /* for the sanitizer: nothing is read behind it */

		memcpy(cut, text, n);
		cut[n] = '\0';
		kafka_stats_take(&s, cut, n);
		free(cut);
	}
	assert_int_equal(of(&s.round_trip_us), 0);
	assert_int_equal(of(&s.queue_records), 0);
	assert_int_equal(of(&s.received_bytes), 0);
}

static void
test_what_is_no_object_of_numbers_is_passed_over(void **unused)
{
	static const char *const cases[] = {"", "{}", "[]", "null", "{\"brokers\":[1]}",
	    "{\"brokers\":{\"a\":3}}", "{\"brokers\":{\"a\":{\"rtt\":null}}}",
	    "{\"msg_cnt\":\"many\"}", "{\"msg_cnt\":{\"msg_cnt\":3}}"};
	struct kafka_stats s = {0};

	(void)unused;
	EACH_ROW(i, cases) {
		kafka_stats_take(&s, cases[i], strlen(cases[i]));
		assert_int_equal(of(&s.round_trip_us), 0);
		assert_int_equal(of(&s.queue_records), 0);
	}
}

static void
test_of_several_handles_the_slowest_counts_and_all_else_is_summed(void **unused)
{
	struct kafka_stats one = {0}, two = {0}, none = {0};
	const struct kafka_stats *const all[] = {&one, &two, &none};
	struct metrics_text m = {0};
	char *found;

	(void)unused;
	kafka_stats_take(&one, text, strlen(text));
	kafka_stats_take(&two, text, strlen(text));
	atomic_store(&two.round_trip_us, 5);
	atomic_store(&two.timeouts, 40);
	kafka_stats_text(&m, all, 3, "m", "r");
	kafka_stats_take(&one, "{}", 2); /* what a later text lacks is 0 */
	found = metrics_take(&m);
	assert_non_null(strstr(found, "_seconds{mix=\"m\",run=\"r\"} 0.0023"));
	assert_non_null(strstr(found, "{mix=\"m\",run=\"r\"} 45420\n"));
	assert_non_null(strstr(found, "{mix=\"m\",run=\"r\"} 1408020\n"));
	assert_non_null(strstr(found, "{mix=\"m\",run=\"r\"} 337168958\n"));
	assert_non_null(strstr(found, "{mix=\"m\",run=\"r\"} 62168\n"));
	assert_non_null(strstr(found, "{mix=\"m\",run=\"r\"} 43\n"));
	free(found);
	kafka_stats_text(&m, all, 1, NULL, NULL);
	found = metrics_take(&m);
	assert_null(strstr(found, "round_trip")); /* no broker has answered: not known */
	assert_int_equal(of(&one.received_bytes), 0);
	free(found);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_slowest_broker_that_answered_and_the_handle_itself_count),
	    cmocka_unit_test(test_a_text_that_breaks_off_anywhere_changes_nothing),
	    cmocka_unit_test(test_what_is_no_object_of_numbers_is_passed_over),
	    cmocka_unit_test(test_of_several_handles_the_slowest_counts_and_all_else_is_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
