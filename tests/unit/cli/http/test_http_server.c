/* http_server.h on loopback: what clients can take. */
#include "cli/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/unit/test.h"

enum {
	LARGE_BYTES = 8 << 20, /* more than socket buffers take */
	LARGES = HTTP_ANSWERS_BYTES / LARGE_BYTES,
	DRIPPING = HTTP_CONNECTIONS + 16,
};

static char large[LARGE_BYTES];

static void
release(void *of)
{
	atomic_fetch_sub((atomic_int *)of, 1);
}

static atomic_int under_way; /* large answers that were not released */

static char path[64]; /* of the last request, and how many arguments it had */
static size_t arguments_n;
static char request[512]; /* what else the handler gets of it */

static const char *
or_none(const char *text)
{
	return text == NULL ? "-" : text;
}

static void
head(void *of, void *state, const struct http_request *q, struct http_answer *a)
{
	(void)of;
	*(char *)state = q->path[1];
	arguments_n = q->arguments_n;
	snprintf(path, sizeof(path), "%s", q->path);
	snprintf(request, sizeof(request),
	    "%s host=%s origin=%s auth=%s cookie=%s type=%s "
	    "custom=%s %s=%s",
	    q->method, or_none(q->host), or_none(q->origin), or_none(q->authorization),
	    or_none(q->cookie), or_none(q->content_type), or_none(q->custom),
	    q->arguments_n == 0 ? "-" : q->argument[0].name,
	    q->arguments_n == 0 ? "-" : or_none(q->argument[0].value));
	if (strcmp(q->method, "GET") != 0)
		http_answer_word(a, 405, HTTP_TEXT, "GET only\n");
}

/* Another thread that answers. */
static void *
resume(void *call)
{
	http_call_resume(call);
	return NULL;
}

static void
whole(void *of, void *state, struct http_call *call, char **body, size_t n, struct http_answer *a)
{
	char *what = state;
	pthread_t thread;

	(void)of;
	if (*what == 'b') { /* the body, back */
		char *copy = malloc(n + 1);

		assert_non_null(copy);
		memcpy(copy, n == 0 ? "" : *body, n);
		copy[n] = '\0';
		http_answer_text(a, 200, HTTP_JSON, copy);
	} else if (*what == 'm') { /* no memory */
		http_answer_text(a, 200, HTTP_JSON, NULL);
	} else if (*what >= '2' && *what <= '5') {
		http_answer_word(a, (unsigned)strtoul(path + 1, NULL, 10), HTTP_TEXT, "a word\n");
	} else if (*what == 'h') {
		*a = (struct http_answer){.status = 200,
		    .type = "text/html",
		    .policy = "default-src 'self'",
		    .allow = "GET, HEAD",
		    .location = "/there",
		    .cookie = "a=b"};
		a->part[0].bytes = "first ";
		a->part[0].n = 6;
		a->part[1].bytes = "second, and not this";
		a->part[1].n = 6;
	} else if (*what == 'l') {
		*a = (struct http_answer){
		    .status = 200, .type = HTTP_TEXT, .release = release, .of = &under_way};
		a->part[0].bytes = large;
		a->part[0].n = sizeof(large);
		atomic_fetch_add(&under_way, 1);
	} else if (*what == 'w') {
		*what = 'o';
		http_call_suspend(call);
		assert_int_equal(pthread_create(&thread, NULL, resume, call), 0);
		pthread_detach(thread);
	} else {
		http_answer_word(a, 200, HTTP_TEXT, "ok\n");
	}
}

static struct http_server *
open_server(void)
{
	static const struct http_handler handler = {.state_bytes = 1, .head = head, .whole = whole};
	struct endpoint at = {.host = "127.0.0.1", .port = "0", .loopback = true};
	struct sockaddr_in *in = (struct sockaddr_in *)&at.at;
	const struct http_options o = {.option = "--listen", .at = &at};
	struct http_server *s;
	struct failure f;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.at_n = sizeof(*in);
	assert_int_equal(http_server_open(&s, &o, &f), FAIL_NONE);
	assert_int_equal(http_server_start(s, &handler, &f), FAIL_NONE);
	return s;
}

/* A client that has sent `text`, or -1. */
static int
ask(const struct http_server *s, const char *text)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons((uint16_t)strtoul(http_server_port(s), NULL, 10))};
	const struct timeval limit = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM, 0), few = 4096;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
	    send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text))
		return fd;
	close(fd);
	return -1;
}

#define GET(PATH) "GET /" PATH " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

/* The status of the answer, 0: none; and the connection is closed. `bytes`: of all of it. */
static int
status_of(int fd, size_t *bytes)
{
	char room[65536];
	size_t n = 0;
	ssize_t got;
	int status = 0;

	if (fd < 0)
		return 0;
	while ((got = recv(fd, room, sizeof(room) - 1, 0)) > 0) {
		room[got] = '\0';
		if (n == 0)
			(void)sscanf(room, "HTTP/1.1 %d", &status);
		n += (size_t)got;
	}
	close(fd);
	if (bytes != NULL)
		*bytes = n;
	return status;
}

/* The whole answer, with "\r" left out. */
static const char *
text_of(int fd)
{
	static char text[HTTP_BODY_BYTES + 4096];
	size_t n = 0, kept = 0;
	ssize_t got;

	assert_true(fd >= 0);
	while ((got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)got;
	close(fd);
	for (size_t i = 0; i < n; i++)
		if (text[i] != '\r')
			text[kept++] = text[i];
	text[kept] = '\0';
	return text;
}

static void
test_an_answer_has_its_headers_and_its_parts(void **unused)
{
	static const char *const always[] = {"\nX-Content-Type-Options: nosniff\n",
	    "\nX-Frame-Options: DENY\n", "\nReferrer-Policy: no-referrer\n",
	    "\nCross-Origin-Resource-Policy: same-origin\n", "\nCache-Control: no-store\n"};
	static const struct {
		const char *asks, *has[5], *lacks[5], *body;
	} rows[] = {
	    {GET("ok"),
		{"HTTP/1.1 200 ", "\nContent-Type: text/plain; charset=utf-8\n",
		    "\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\n",
		    "\nContent-Length: 3\n"},
		{"\nAllow:", "\nLocation:", "\nSet-Cookie:", "\nWWW-Authenticate:",
		    "\nRetry-After:"},
		"ok\n"},
	    {GET("headers"),
		{"\nContent-Security-Policy: default-src 'self'\n", "\nAllow: GET, HEAD\n",
		    "\nLocation: /there\n", "\nSet-Cookie: a=b\n", "\nContent-Type: text/html\n"},
		{"'none'"}, "first second"},
	    {GET("401"), {"HTTP/1.1 401 ", "\nWWW-Authenticate: Bearer\n"}, {"\nRetry-After:"},
		"a word\n"},
	    {GET("403"), {"HTTP/1.1 403 "}, {"\nRetry-After:", "\nWWW-Authenticate:"}, "a word\n"},
	    {GET("429"), {"HTTP/1.1 429 ", "\nRetry-After: 2\n"}, {"\nWWW-Authenticate:"},
		"a word\n"},
	    {GET("503"), {"HTTP/1.1 503 ", "\nRetry-After: 2\n"}, {"\nWWW-Authenticate:"},
		"a word\n"},
	};
	struct http_server *s = open_server();

	(void)unused;
	EACH_NAMED_ROW(i, rows, asks) {
		const char *text = text_of(ask(s, rows[i].asks)), *body = strstr(text, "\n\n");

		assert_non_null(body);
		assert_string_equal(body + 2, rows[i].body);
		for (size_t k = 0; k < 5; k++) {
			assert_non_null(strstr(text, always[k]));
			if (rows[i].has[k] != NULL)
				assert_non_null(strstr(text, rows[i].has[k]));
			if (rows[i].lacks[k] != NULL)
				assert_null(strstr(text, rows[i].lacks[k]));
		}
	}
	assert_string_equal(text_of(ask(s, GET("memory"))), ""); /* the connection is closed */
	http_server_close(s);
}

static void
test_the_handler_gets_all_of_a_request(void **unused)
{
	static char body[HTTP_BODY_BYTES + 2], text[HTTP_BODY_BYTES + 512];
	static const size_t sizes[] = {0, 1, 100000, HTTP_BODY_BYTES, HTTP_BODY_BYTES + 1};
	struct http_server *s = open_server();

	(void)unused;
	text_of(
	    ask(s, "GET /ok?a=b%20c HTTP/1.1\r\nHost: h:1\r\nOrigin: o\r\nAuthorization: Bearer "
		   "t\r\nCookie: c=d\r\nContent-Type: application/json\r\nX-Riffle: 1\r\n"
		   "Connection: close\r\n\r\n"));
	assert_string_equal(request,
	    "GET host=h:1 origin=o auth=Bearer t cookie=c=d type=application/json custom=1 a=b c");
	text_of(ask(s, GET("ok")));
	assert_string_equal(
	    request, "GET host=localhost origin=- auth=- cookie=- type=- custom=- -=-");
	text_of(ask(s, GET("ok?x")));
	assert_string_equal(
	    request, "GET host=localhost origin=- auth=- cookie=- type=- custom=- x=-");
	EACH_ROW(i, sizes) {
		const char *got;

		for (size_t k = 0; k < sizes[i]; k++)
			body[k] = (char)('a' + k % 23 + k / 1000 % 3);
		body[sizes[i]] = '\0';
		snprintf(text, sizeof(text),
		    "GET /body HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: "
		    "%zu\r\n\r\n%s",
		    sizes[i], body);
		got = text_of(ask(s, text));
		assert_non_null(strstr(got, "\n\n"));
		got = strstr(got, "\n\n") + 2;
		assert_string_equal(got,
		    sizes[i] > HTTP_BODY_BYTES ? "{\"error\":\"the request is too large\"}" : body);
	}
	http_server_close(s);
}

static void
test_a_server_that_cannot_listen_says_where_and_why(void **unused)
{
	struct http_server *s = open_server(), *other;
	struct endpoint at = {.host = "127.0.0.1", .loopback = true};
	struct sockaddr_in *in = (struct sockaddr_in *)&at.at;
	struct http_options o = {.option = "--metrics", .at = &at};
	char expected[256];

	(void)unused;
	snprintf(expected, sizeof(expected), "127.0.0.1:%s", http_server_port(s));
	assert_string_equal(http_server_address(s), expected);
	assert_false(http_server_full(s));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in->sin_port = htons((uint16_t)strtoul(http_server_port(s), NULL, 10));
	at.at_n = sizeof(*in);
	snprintf(at.port, sizeof(at.port), "%s", http_server_port(s));
	assert_int_equal(http_server_open(&other, &o, &f), FAIL_IO);
	snprintf(expected, sizeof(expected),
	    "--metrics: listening on 127.0.0.1, port %s: Address already in use: give another "
	    "port, or 0 for any that is free",
	    at.port);
	assert_string_equal(f.text, expected);
	o.cert = "/no/cert";
	o.key = "/no/key";
	assert_int_equal(http_server_open(&other, &o, &f), FAIL_IO);
	assert_string_equal(f.text, "--tls-cert: opening /no/cert: No such file or directory");
	o.cert = "/dev/null";
	assert_int_equal(http_server_open(&other, &o, &f), FAIL_IO);
	assert_string_equal(f.text, "--tls-key: opening /no/key: No such file or directory");
	o.cert = "/";
	assert_int_equal(http_server_open(&other, &o, &f), FAIL_IO);
	assert_string_equal(f.text, "--tls-cert: reading /: Is a directory");
	in->sin_port = 0;
	o.cert = o.key = "/dev/null"; /* neither certificate nor key */
	assert_int_equal(http_server_open(&other, &o, &f), FAIL_NONE);
	assert_int_equal(
	    http_server_start(other, &(struct http_handler){.head = head, .whole = whole}, &f),
	    FAIL_IO);
	snprintf(
	    expected, sizeof(expected), "starting to answer at %s: ", http_server_address(other));
	assert_memory_equal(f.text, expected, strlen(expected));
	http_server_close(other);
	http_server_close(s);
	http_server_close(NULL);
}

static void
test_large_answers_are_refused_while_others_wait_for_slow_clients(void **unused)
{
	struct http_server *s = open_server();
	int slow[LARGES], status;
	size_t bytes;

	(void)unused;
	for (int i = 0; i < LARGES; i++) {
		char one;

		slow[i] = ask(s, GET("large"));
		assert_int_equal(recv(slow[i], &one, 1, MSG_PEEK), 1); /* its answer has begun */
	}
	assert_int_equal(status_of(ask(s, GET("large")), NULL), 503);
	assert_int_equal(status_of(ask(s, GET("ok")), NULL), 200);
	assert_int_equal(atomic_load(&under_way), LARGES);
	for (int i = 0; i < LARGES; i++) {
		assert_int_equal(status_of(slow[i], &bytes), 200);
		assert_true(bytes > LARGE_BYTES);
	}
	do /* until the server has seen their ends */
		status = status_of(ask(s, GET("large")), &bytes);
	while (status == 503);
	assert_int_equal(status, 200);
	http_server_close(s);
	assert_int_equal(atomic_load(&under_way), 0);
}

/* Answers come before the server closes the connections of the others because they are idle. */
static void
answer_among_drips(int n)
{
	struct http_server *s = open_server();
	int slow[DRIPPING];
	int64_t begin_ms;

	for (int i = 0; i < n; i++)
		slow[i] = ask(s, "GET /ok HTTP/1.1\r\nX-A: ");
	begin_ms = clock_ms();
	for (int i = 0; i < 20; i++)
		assert_int_equal(status_of(ask(s, GET("ok")), NULL), 200);
	assert_true(clock_ms() - begin_ms < HTTP_IDLE_MS / 2);
	for (int i = 0; i < n; i++)
		close(slow[i]);
	http_server_close(s);
}

static void
test_clients_that_drip_keep_nobody_out(void **unused)
{
	(void)unused;
	answer_among_drips(DRIPPING);
}

/* So few descriptors that the server takes its least number of connections. */
static void
test_clients_that_drip_keep_nobody_out_of_a_server_with_few_connections(void **unused)
{
	struct rlimit before, few;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	answer_among_drips(8);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void
test_bodies_are_limited_and_not_read_where_they_are_refused(void **unused)
{
	static const char post[] =
	    "POST /ok HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n",
			  get[] = "GET /ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
				  "Content-Length: 300000\r\n\r\n";
	static char body[300000];
	struct http_server *s = open_server();
	int fd;

	(void)unused;
	assert_int_equal(status_of(ask(s, post), NULL), 405);
	fd = ask(s, get);
	assert_int_equal(send(fd, body, sizeof(body), MSG_NOSIGNAL), sizeof(body));
	assert_int_equal(status_of(fd, NULL), 413);
	http_server_close(s);
}

static void
test_a_call_is_answered_when_another_thread_resumes_it(void **unused)
{
	struct http_server *s = open_server();

	(void)unused;
	for (int i = 0; i < 50; i++)
		assert_int_equal(status_of(ask(s, GET("wait")), NULL), 200);
	http_server_close(s);
}

static void
test_any_number_of_arguments_is_answered(void **unused)
{
	static const size_t numbers[] = {
	    0, 1, HTTP_ARGUMENTS_MAX, HTTP_ARGUMENTS_MAX + 1, 400, 2000};
	static char text[HTTP_HEADERS_BYTES];
	struct http_server *s = open_server();

	(void)unused;
	EACH_ROW(i, numbers) {
		size_t n = (size_t)snprintf(text, sizeof(text), "GET /ok?"), seen;

		for (size_t j = 0; j < numbers[i]; j++)
			n += (size_t)snprintf(
			    text + n, sizeof(text) - n, "%sa=1", j == 0 ? "" : "&");
		snprintf(text + n, sizeof(text) - n,
		    " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
		assert_int_equal(status_of(ask(s, text), NULL), 200);
		seen = numbers[i] > HTTP_ARGUMENTS_MAX ? HTTP_ARGUMENTS_MAX + 1 : numbers[i];
		assert_int_equal(
		    arguments_n, seen); /* more than there may be, if there were more */
	}
	http_server_close(s);
}

static void
test_a_nul_does_not_cut_a_path(void **unused)
{
	struct http_server *s = open_server();

	(void)unused;
	assert_int_equal(status_of(ask(s, GET("%6fk")), NULL), 200);
	assert_string_equal(path, "/ok");
	assert_int_equal(status_of(ask(s, GET("ok%00x")), NULL), 200);
	assert_string_equal(path, "/ok%00x");
	http_server_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_large_answers_are_refused_while_others_wait_for_slow_clients),
	    cmocka_unit_test(test_clients_that_drip_keep_nobody_out),
	    cmocka_unit_test(
		test_clients_that_drip_keep_nobody_out_of_a_server_with_few_connections),
	    cmocka_unit_test(test_bodies_are_limited_and_not_read_where_they_are_refused),
	    cmocka_unit_test(test_a_call_is_answered_when_another_thread_resumes_it),
	    cmocka_unit_test(test_any_number_of_arguments_is_answered),
	    cmocka_unit_test(test_a_nul_does_not_cut_a_path),
	    cmocka_unit_test(test_an_answer_has_its_headers_and_its_parts),
	    cmocka_unit_test(test_the_handler_gets_all_of_a_request),
	    cmocka_unit_test(test_a_server_that_cannot_listen_says_where_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
