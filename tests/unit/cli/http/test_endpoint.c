/* endpoint.h: what --listen and --metrics take for an address. */
#include "cli/http/endpoint.h"

#include <string.h>

#include "tests/unit/test.h"

static void
test_a_port_alone_is_one_of_loopback(void **unused)
{
	static const struct {
		const char *text, *host, *port; /* host NULL: refused */
	} cases[] = {
	    {"9640", "127.0.0.1", "9640"},
	    {":9640", "127.0.0.1", "9640"},
	    {"0", "127.0.0.1", "0"},
	    {"65535", "127.0.0.1", "65535"},
	    {"65536", NULL, NULL},
	    {"", NULL, NULL},
	    {":", NULL, NULL},
	    {"-1", NULL, NULL},
	    {" 1", NULL, NULL},
	    {"x", NULL, NULL},
	    {"0.0.0.0:9640", "0.0.0.0", "9640"},
	    {"mixer-1.example:9640", "mixer-1.example", "9640"},
	    {"mixer-1.example", NULL, NULL},
	    {"h:", NULL, NULL},
	    {"h:1x", NULL, NULL},
	    {"[::1]:9640", "::1", "9640"},
	    {"[::]:0", "::", "0"},
	    {"[]:1", "127.0.0.1", "1"},
	    {"[[]]:3", NULL, NULL},
	    {"a]:3", NULL, NULL},
	    {"[::1]", NULL, NULL},
	    {"[::1:3", NULL, NULL},
	    {"::1:9640", NULL, NULL},
	    {"::1", NULL, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, text) {
		struct endpoint a;
		struct failure f = {0};
		enum fail_code code = endpoint_parse(&a, "--metrics", cases[i].text, &f);

		assert_int_equal(code, cases[i].host == NULL ? FAIL_USAGE : FAIL_NONE);
		if (code != FAIL_NONE) {
			assert_non_null(strstr(f.text, "--metrics: "));
			continue;
		}
		assert_string_equal(a.host, cases[i].host);
		assert_string_equal(a.port, cases[i].port);
	}
}

static void
test_a_host_has_a_limit(void **unused)
{
	char text[ENDPOINT_HOST_MAX + 4];
	struct endpoint a;
	struct failure f = {0};

	(void)unused;
	memset(text, 'h', sizeof(text));
	memcpy(text + ENDPOINT_HOST_MAX - 1, ":1", 3);
	assert_int_equal(endpoint_parse(&a, "--metrics", text, &f), FAIL_NONE);
	assert_int_equal(strlen(a.host), ENDPOINT_HOST_MAX - 1);
	memset(text, 'h', sizeof(text));
	memcpy(text + ENDPOINT_HOST_MAX, ":1", 3);
	assert_int_equal(endpoint_parse(&a, "--metrics", text, &f), FAIL_USAGE);
}

static void
test_each_of_several_has_a_port_of_its_own(void **unused)
{
	static const struct {
		const char *text;
		size_t i;
		const char *nth; /* NULL: refused */
	} cases[] = {
	    {"9640", 0, "127.0.0.1:9640"},
	    {"9640", 3, "127.0.0.1:9643"},
	    {"mixer-1.example:9640", 1, "mixer-1.example:9641"},
	    {"[::1]:9640", 399, "[::1]:10039"},
	    {"0", 7, "127.0.0.1:0"},
	    {"65534", 1, "127.0.0.1:65535"},
	    {"65534", 2, NULL},
	    {"1", 65535, NULL},
	    {"x", 0, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, text) {
		char nth[ENDPOINT_TEXT_MAX];
		struct failure f = {0};
		enum fail_code code = endpoint_nth(nth, "--metrics", cases[i].text, cases[i].i, &f);

		assert_int_equal(code, cases[i].nth == NULL ? FAIL_USAGE : FAIL_NONE);
		if (code == FAIL_NONE)
			assert_string_equal(nth, cases[i].nth);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_port_alone_is_one_of_loopback),
	    cmocka_unit_test(test_a_host_has_a_limit),
	    cmocka_unit_test(test_each_of_several_has_a_port_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
