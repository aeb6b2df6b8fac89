/* metrics_listener.h on this machine: who gets the metrics, and what everybody else is answered. */
#include "cli/metrics/metrics_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/unit/capture.h"
#include "tests/unit/folder.h"

#define TOKEN  "0123456789abcdef"
#define BEARER "Authorization: Bearer " TOKEN "\r\n"
#define HERE   "Host: localhost\r\n"
#define AWAY   "Host: mixer.example\r\n"

static char metrics[] = "riffle_up 1\n";
static bool no_metrics; /* the command cannot give any */

static char *
text_of(void *opaque)
{
	return no_metrics ? NULL : strdup(opaque);
}

/* Opens one, and gives the port that its line in the log says. `log`: all lines. */
static struct metrics_listener *
open_listener(const char *address, const char *token_file, unsigned *port, char log[static 2048])
{
	const struct metrics_options o = {.address = address, .token_file = token_file};
	struct metrics_listener *l = NULL;
	struct capture c;
	enum fail_code code;
	const char *url;

	capture_begin(&c);
	code = metrics_listener_open(&l, &o, text_of, metrics, &f);
	capture_end_lines(&c, log, 2048);
	assert_int_equal(code, FAIL_NONE);
	url = strstr(log, "url=http://");
	assert_non_null(url);
	assert_int_equal(sscanf(strchr(url + strlen("url=http://"), ':'), ":%u/metrics", port), 1);
	return l;
}

/* Sends a request whose connection closes, and gives the whole answer. */
static void
ask(unsigned port, const char *request, char *answer, size_t room)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons((uint16_t)port)};
	const struct timeval limit = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char whole[1024];
	size_t n = 0;
	ssize_t got;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	snprintf(whole, sizeof(whole), "%sConnection: close\r\n\r\n", request);
	assert_int_equal(send(fd, whole, strlen(whole), MSG_NOSIGNAL), (ssize_t)strlen(whole));
	while ((got = recv(fd, answer + n, room - 1 - n, 0)) > 0)
		n += (size_t)got;
	answer[n] = '\0';
	close(fd);
}

struct row {
	const char *request;
	int status;
	const char *body;
};

#define GET "GET /metrics HTTP/1.1\r\n"

static void
check_rows(unsigned port, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char answer[4096];
		const char *body;
		int status = 0;

		ask(port, rows[i].request, answer, sizeof(answer));
		(void)sscanf(answer, "HTTP/1.1 %d", &status);
		body = strstr(answer, "\r\n\r\n");
		if (status != rows[i].status)
			print_error("%s\n%s\n", rows[i].request, answer);
		assert_int_equal(status, rows[i].status);
		assert_non_null(body);
		assert_string_equal(body + 4, rows[i].body);
		assert_int_equal(strstr(answer, "GET, HEAD") != NULL, status == 405);
		if (status == 200)
			assert_non_null(strstr(
			    answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	}
}

#define CHECK_ROWS(port, rows) check_rows(port, rows, sizeof(rows) / sizeof((rows)[0]))

static void
test_on_loopback_the_host_decides(void **unused)
{
	static const struct row rows[] = {
	    {GET HERE, 200, "riffle_up 1\n"},
	    {GET "Host: 127.0.0.1\r\n", 200, "riffle_up 1\n"},
	    {"HEAD /metrics HTTP/1.1\r\n" HERE, 200, ""},
	    {GET AWAY, 421, "use an address or localhost\n"},
	    {"GET / HTTP/1.1\r\n" AWAY, 421, "use an address or localhost\n"},
	    {"GET / HTTP/1.1\r\n" HERE, 404, "metrics are at /metrics\n"},
	    {"GET /metrics/ HTTP/1.1\r\n" HERE, 404, "metrics are at /metrics\n"},
	    {"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n" HERE, 405, "GET only\n"},
	};
	static const struct row none = {GET HERE, 503, "no metrics now\n"};
	struct metrics_listener *l;
	unsigned port;
	char log[2048];

	(void)unused;
	l = open_listener("0", NULL, &port, log);
	assert_null(strstr(log, "SERVE-PLAIN"));
	CHECK_ROWS(port, rows);
	no_metrics = true;
	check_rows(port, &none, 1);
	no_metrics = false;
	metrics_listener_close(l);
}

static void
test_a_token_is_asked_of_everybody_once_it_is_given(void **unused)
{
	static const struct row rows[] = {
	    {GET HERE BEARER, 200, "riffle_up 1\n"},
	    {GET HERE, 401, "send Authorization: Bearer TOKEN\n"},
	    {GET HERE "Authorization: Bearer 0123456789abcdeg\r\n", 401,
		"send Authorization: Bearer TOKEN\n"},
	    {"GET / HTTP/1.1\r\n" HERE, 401, "send Authorization: Bearer TOKEN\n"},
	    {"GET / HTTP/1.1\r\n" HERE BEARER, 404, "metrics are at /metrics\n"},
	};
	static const struct row loopback = {GET AWAY BEARER, 421, "use an address or localhost\n"},
				elsewhere = {GET AWAY BEARER, 200, "riffle_up 1\n"};
	struct metrics_listener *l;
	unsigned port;
	char log[2048];

	(void)unused;
	folder_text("token", TOKEN "\n");
	l = open_listener("127.0.0.1:0", folder_path("token"), &port, log);
	assert_null(strstr(log, "SERVE-PLAIN"));
	CHECK_ROWS(port, rows);
	check_rows(port, &loopback, 1);
	metrics_listener_close(l);

	l = open_listener("0.0.0.0:0", folder_path("token"), &port, log);
	assert_non_null(strstr(log, "metrics: SERVE-PLAIN "));
	CHECK_ROWS(port, rows);
	check_rows(port, &elsewhere, 1);
	metrics_listener_close(l);
}

static void
test_an_address_that_cannot_be_used_is_refused(void **unused)
{
	const struct metrics_options wrong = {.address = "x"},
				     open_to_all = {.address = "0.0.0.0:0"};
	struct metrics_options taken = {0};
	struct metrics_listener *l, *second = (struct metrics_listener *)&l;
	unsigned port;
	char log[2048], address[32];

	(void)unused;
	assert_int_equal(metrics_listener_open(&second, &wrong, text_of, NULL, &f), FAIL_USAGE);
	assert_null(second);
	assert_non_null(strstr(f.text, "--metrics: "));
	assert_int_equal(
	    metrics_listener_open(&second, &open_to_all, text_of, NULL, &f), FAIL_USAGE);
	assert_non_null(strstr(f.text, "--metrics-token-file"));
	l = open_listener("0", NULL, &port, log);
	snprintf(address, sizeof(address), "127.0.0.1:%u", port);
	taken.address = address;
	assert_int_equal(metrics_listener_open(&second, &taken, text_of, NULL, &f), FAIL_IO);
	assert_null(second);
	metrics_listener_close(l);
	metrics_listener_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_on_loopback_the_host_decides),
	    cmocka_unit_test_setup_teardown(
		test_a_token_is_asked_of_everybody_once_it_is_given, folder_open, folder_close),
	    cmocka_unit_test(test_an_address_that_cannot_be_used_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
