/*
 * http_server.h -- HTTP, by libmicrohttpd, with limits on whatever a client can take: of `riffle
 * serve`, and of --metrics.
 *
 * One thread of libmicrohttpd's serves all connections, and calls the handler, which never waits:
 * what takes time is done by another thread, until whose end the connection is suspended.
 *
 *     head       the head of a request is there: the handler refuses it, or lets it come
 *     whole      its body is there, too: an answer, or http_call_suspend(), and then no answer
 *     ...        http_call_resume(), from any thread
 *     whole      once more: the answer
 *     end        the answer was sent, or the client has gone
 *
 * Limits. HTTP_CONNECTIONS at a time, fewer if the process may open few descriptors;
 * HTTP_CLIENT_CONNECTIONS of one address beyond loopback; headers of HTTP_HEADERS_BYTES, a body of
 * HTTP_BODY_BYTES; HTTP_IDLE_MS without a byte, and HTTP_REQUEST_MS from the first byte of a
 * request to the last one of its answer, where others wait. When a connection comes and all but one
 * in HTTP_SPARE are taken, the one whose request has been incomplete for longest is closed: clients
 * that send a byte now and then (slow loris) keep nobody out. While answers of HTTP_ANSWERS_BYTES
 * are on their way to clients that read slowly, another large one is refused (503). What the server
 * refuses by itself is JSON, {"error": sentence}.
 *
 * Thread: open, start and close from one; the handler is called by libmicrohttpd's.
 */
#ifndef CLI_HTTP_HTTP_SERVER_H
#define CLI_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/http/endpoint.h"
#include "cli/http/http_request.h"
#include "common/base/failure.h"

enum {
	HTTP_CONNECTIONS = 128,
	HTTP_SPARE = 8,
	HTTP_CLIENT_CONNECTIONS = 64,
	HTTP_HEADERS_BYTES = 16 << 10,
	HTTP_BODY_BYTES = 256 << 10,
	HTTP_IDLE_MS = 10000,
	HTTP_REQUEST_MS = 30000,
	HTTP_ANSWERS_BYTES = 16 << 20,
	HTTP_SMALL_BYTES = 16 << 10, /* an answer that is never refused */
};

#define HTTP_JSON "application/json; charset=utf-8"
#define HTTP_TEXT "text/plain; charset=utf-8"

enum { HTTP_PARTS = 2 };

/* An answer: its parts, one behind the other. What is not set is not sent. */
struct http_answer {
	unsigned status;    /* 0: there is none */
	const char *type;   /* as all texts here that are not parts: borrowed until it is sent */
	const char *policy; /* Content-Security-Policy; NULL: nothing is allowed */
	const char *allow, *location, *cookie;
	struct {
		const void *bytes; /* borrowed until release(of) */
		size_t n;
	} part[HTTP_PARTS];
	void (*release)(void *of); /* NULL: the parts stay as long as the server */
	void *of;
};

/* One part, `text` (free); NULL: no memory, and the connection is closed. */
void http_answer_text(struct http_answer *a, unsigned status, const char *type, char *text);

/* The same of a text that stays. */
void http_answer_word(struct http_answer *a, unsigned status, const char *type, const char *word);

struct http_call; /* a request and its answer */

/* Suspends its connection, in `whole` and before http_call_resume() can be called. */
void http_call_suspend(struct http_call *call);

/* From any thread, once: `whole` is called again. */
void http_call_resume(struct http_call *call);

struct http_handler {
	void *of;
	size_t state_bytes; /* of what it keeps of each request, zeroed first */
	/* An answer: the request is refused, and its body is read by nobody. */
	void (*head)(void *of, void *state, const struct http_request *q, struct http_answer *a);
	/* body[n] may be taken (free) by setting *body to NULL. */
	void (*whole)(void *of, void *state, struct http_call *call, char **body, size_t n,
	    struct http_answer *a);
	void (*end)(void *state); /* NULL: nothing is to be ended */
};

struct http_server;

struct http_options {
	const char *option;        /* that names the address, "--listen" */
	const struct endpoint *at; /* where to listen */
	const char *cert, *key;    /* files; NULL: no TLS */
};

/*
 * Gives *out, to be ended with http_server_close(), and listens: clients wait until it is started.
 * Borrows the options during the call. FAIL_IO: the address is taken, or certificate and key cannot
 * be read.
 */
enum fail_code http_server_open(
    struct http_server **out, const struct http_options *o, struct failure *f);

/* Answers. Copies the handler; what it is `of` must stay until http_server_close(). FAIL_IO. */
enum fail_code http_server_start(
    struct http_server *s, const struct http_handler *handler, struct failure *f);

/*
 * Ends all connections; no call is suspended, nor will one be. NULL is accepted. Afterwards the
 * handler is called no more.
 */
void http_server_close(struct http_server *s);

/* Where it listens, with the port that was found where it was 0: "127.0.0.1:8640", "8640". */
const char *http_server_address(const struct http_server *s);
const char *http_server_port(const struct http_server *s);

/* Whether a large answer would be refused. For the handler, before it makes one. */
bool http_server_full(const struct http_server *s);

#endif
