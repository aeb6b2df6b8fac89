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

static void
head(void *of, void *state, const struct http_request *q, struct http_answer *a)
{
	(void)of;
	*(char *)state = q->path[1];
	arguments_n = q->arguments_n;
	snprintf(path, sizeof(path), "%s", q->path);
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

	(void)of, (void)body, (void)n;
	if (*what == 'l') {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
