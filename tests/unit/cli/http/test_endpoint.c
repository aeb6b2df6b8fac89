/* endpoint.h: what --listen and --metrics take for an address. */
#include "cli/http/endpoint.h"

#include <netinet/in.h>
#include <string.h>

#include "tests/unit/capture.h"
#include "tests/unit/folder.h"

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

static void
test_a_refusal_says_what_an_address_is(void **unused)
{
	static const struct {
		const char *text;
		size_t i;
		const char *why;
	} rows[] = {
	    {"h:65536", 0,
		"--listen: h:65536: is no address: PORT, or HOST:PORT, with a port of 0 to 65535"},
	    {"::1:80", 0, "--listen: ::1:80: an IPv6 address needs brackets: [::1]:80"},
	    {"65000", 536,
		"--listen: 65000: each of 537 listens on a port of its own, and the last one would "
		"be above 65535: begin with a lower port"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		char out[ENDPOINT_TEXT_MAX];

		assert_int_equal(
		    endpoint_nth(out, "--listen", rows[i].text, rows[i].i, &f), FAIL_USAGE);
		assert_string_equal(f.text, rows[i].why);
	}
}

/* ---- where to listen, and who may ask ---- */

#define TOKEN "0123456789abcdef"
#define NO_TOKEN                                                                                   \
	": not a token: one line of 16 to 512 letters, digits, - . _ ~ (`openssl rand -hex 24` "   \
	"makes one)"

static void
test_an_address_that_others_reach_needs_a_token(void **unused)
{
	static const struct {
		const char *address;
		const char *file; /* what the file of the token holds; NULL: it is not given */
		bool loopback;
		const char *token; /* NULL: refused, and `why` follows the file's name */
		const char *prints, *why;
	} rows[] = {
	    {"9640", NULL, true, "", "127.0.0.1:9640", NULL},
	    {"127.9.8.7:1", NULL, true, "", "127.9.8.7:1", NULL},
	    {"[::1]:1", NULL, true, "", "[::1]:1", NULL},
	    {"0.0.0.0:1", NULL, false, NULL, NULL,
		"--listen: 0.0.0.0:1 is not of this machine alone: --token-file is needed, so that "
		"not everyone reads the mix"},
	    {"[::]:1", NULL, false, NULL, NULL,
		"--listen: [::]:1 is not of this machine alone: --token-file is needed, so that "
		"not everyone reads the mix"},
	    {"128.0.0.1:1", NULL, false, NULL, NULL,
		"--listen: 128.0.0.1:1 is not of this machine alone: --token-file is needed, so "
		"that not everyone reads the mix"},
	    {"0.0.0.0:1", TOKEN "\n", false, TOKEN, "0.0.0.0:1", NULL},
	    {"[::]:1", TOKEN, false, TOKEN, "[::]:1", NULL},
	    {"9640", TOKEN "\r\nmore\n", true, TOKEN, "127.0.0.1:9640", NULL},
	    {"9640", "", true, NULL, NULL, NO_TOKEN},
	    {"9640", "\n" TOKEN, true, NULL, NULL, NO_TOKEN},
	    {"9640", TOKEN " x\n", true, NULL, NULL, NO_TOKEN},
	    {"x", TOKEN, true, NULL, NULL,
		"--listen: x: is no address: PORT, or HOST:PORT, with a port of 0 to 65535"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, address) {
		struct endpoint_options o = {.option = "--listen",
		    .address = rows[i].address,
		    .token_option = "--token-file"};
		struct endpoint e;
		char text[ENDPOINT_TEXT_MAX], why[1024];
		enum fail_code code;

		if (rows[i].file != NULL) {
			folder_text("token", rows[i].file);
			o.token_file = folder_path("token");
		}
		code = endpoint_find(&e, &o, &f);
		if (rows[i].token == NULL) {
			bool of_file = rows[i].why[0] == ':';

			assert_int_equal(code, FAIL_USAGE);
			snprintf(why, sizeof(why), "%s%s%s", of_file ? "--token-file: " : "",
			    of_file ? o.token_file : "", rows[i].why);
			assert_string_equal(f.text, why);
			continue;
		}
		assert_int_equal(code, FAIL_NONE);
		assert_string_equal(e.token, rows[i].token);
		assert_int_equal(e.loopback, rows[i].loopback);
		assert_int_equal(e.at_n, e.at.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								    : sizeof(struct sockaddr_in));
		endpoint_print(text, sizeof(text), (const struct sockaddr *)&e.at, e.at_n);
		assert_string_equal(text, rows[i].prints);
	}
}

/* A token of the longest length has room; one byte more is refused, not cut. */
static void
test_the_token_of_a_file_has_a_limit(void **unused)
{
	struct endpoint_options o = {
	    .option = "--listen", .address = "1", .token_option = "--token-file"};
	char text[HTTP_TOKEN_MAX + 1];
	struct endpoint e;

	(void)unused;
	memset(text, 'a', sizeof(text));
	folder_write("token", text, HTTP_TOKEN_MAX);
	o.token_file = folder_path("token");
	assert_int_equal(endpoint_find(&e, &o, &f), FAIL_NONE);
	assert_int_equal(strlen(e.token), HTTP_TOKEN_MAX);
	folder_write("token", text, HTTP_TOKEN_MAX + 1);
	assert_int_equal(endpoint_find(&e, &o, &f), FAIL_USAGE);
	o.token_file = "/no/such";
	assert_int_equal(endpoint_find(&e, &o, &f), FAIL_USAGE);
	assert_string_equal(f.text, "--token-file: opening /no/such: No such file or directory");
}

static void
test_an_address_that_others_reach_is_warned_of(void **unused)
{
	(void)unused;
	for (int loopback = 0; loopback < 2; loopback++) {
		const struct endpoint e = {.loopback = loopback == 1};
		struct capture log;
		char text[512];
		int lines;

		capture_begin(&log);
		endpoint_warn_plain(&e, "serve", "0.0.0.0:1");
		lines = capture_end_lines(&log, text, sizeof(text));
		assert_int_equal(lines, loopback == 1 ? 0 : 1);
		if (lines == 1)
			assert_string_equal(strchr(text, ' '),
			    " warning serve: SERVE-PLAIN address=0.0.0.0:1: tokens and data can be "
			    "read on their way\n");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_port_alone_is_one_of_loopback),
	    cmocka_unit_test(test_a_host_has_a_limit),
	    cmocka_unit_test(test_each_of_several_has_a_port_of_its_own),
	    cmocka_unit_test(test_a_refusal_says_what_an_address_is),
	    cmocka_unit_test_setup_teardown(
		test_an_address_that_others_reach_needs_a_token, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_the_token_of_a_file_has_a_limit, folder_open, folder_close),
	    cmocka_unit_test(test_an_address_that_others_reach_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
