/* brokers.h: what librdkafka can use as it is, and what it would only wait for. */
#include "common/kafka/brokers.h"

#include "tests/unit/test.h"

static void
test_an_address_that_librdkafka_can_use_is_taken(void **unused)
{
	static const struct {
		const char *list;
		bool without_port;
	} row[] = {
	    {"localhost:9092", false},
	    {"b1:9092,b2:9093", false},
	    {" b1:9092 ,\tb2:9093\n", false},
	    {"b1:9092,,b2:9092,", false},
	    {"kafka-1.eu_west.example.com.:1", false},
	    {"10.0.0.1:65535", false},
	    {"[::1]:9092", false},
	    {"[fe80::1%eth0]:9092,b2:9092", false},
	    {"PLAINTEXT://b1:9092", false},
	    {"ssl://b1:9092,SASL_SSL://[::1]:9093/,SASL_PLAINTEXT://b3:1", false},
	    {"b1:9092/", false},
	    {":9092", false},
	    {"b1", true},
	    {"b1:9092, b2", true},
	    {"::1", true},
	    {"[::1]", true},
	    {"SSL://b1", true},
	};
	struct failure f;

	(void)unused;
	EACH_NAMED_ROW(i, row, list) {
		assert_int_equal(brokers_check(row[i].list, &f), FAIL_NONE);
		assert_int_equal(brokers_without_port(row[i].list), row[i].without_port);
	}
}

static void
test_what_is_no_address_is_refused_and_named(void **unused)
{
	static const struct {
		const char *list, *says;
	} row[] = {
	    {"", "is empty: give HOST:PORT of a broker"},
	    {" ,\n", "is empty: give HOST:PORT of a broker"},
	    {"KAFKAS://b1", "is KAFKAS://b1: write HOST:PORT, for example b1:9092"},
	    {"SASL://b1:2", "is SASL://b1:2: write HOST:PORT, for example b1:2"},
	    {"b1:0/x", "is b1:0/x: \"0\" is not a port (1 to 65535)"},
	    {"[::1]:0", "is [::1]:0: \"0\" is not a port (1 to 65535)"},
	    {"http://127.0.0.1:25342", "is http://127.0.0.1:25342: write HOST:PORT, for example "
				       "127.0.0.1:25342"},
	    {"b1:1, https://b2/kafka", "is https://b2/kafka: write HOST:PORT, for example b2:9092"},
	    {"KAFKA://[::1]:7,b2:1", "is KAFKA://[::1]:7: write HOST:PORT, for example [::1]:7"},
	    {"127.0.0.1:abc", "is 127.0.0.1:abc: \"abc\" is not a port (1 to 65535)"},
	    {"b1:9092,b2:90x2 ,b3", "is b2:90x2: \"90x2\" is not a port (1 to 65535)"},
	    {"b1:9092 b2", "is b1:9092 b2: separate addresses with commas"},
	    {"b1:", "is b1:: \"\" is not a port (1 to 65535)"},
	    {"b1:0", "is b1:0: \"0\" is not a port (1 to 65535)"},
	    {"b1:65536", "is b1:65536: \"65536\" is not a port (1 to 65535)"},
	    {"b1:-1", "is b1:-1: \"-1\" is not a port (1 to 65535)"},
	    {"b1:99999999999999999999",
		"is b1:99999999999999999999: \"99999999999999999999\" is not a port (1 to 65535)"},
	    {"SSL://b1:x", "is SSL://b1:x: \"x\" is not a port (1 to 65535)"},
	    {"b1:9092;b2:1,b3", "is b1:9092;b2:1: separate addresses with commas"},
	    {"b1,b2\tb3", "is b2\tb3: separate addresses with commas"},
	};
	struct failure f;

	(void)unused;
	EACH_NAMED_ROW(i, row, list) {
		assert_int_equal(brokers_check(row[i].list, &f), FAIL_CONFIG);
		assert_int_equal(strncmp(f.text, "bootstrap.servers ", 18), 0);
		assert_string_equal(f.text + 18, row[i].says);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_address_that_librdkafka_can_use_is_taken),
	    cmocka_unit_test(test_what_is_no_address_is_refused_and_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
