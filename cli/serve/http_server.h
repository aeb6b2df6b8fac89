/*
 * http_server.h -- riffle serve's end of HTTP: libmicrohttpd, with limits on whatever a client can
 * take.
 *
 * One thread of libmicrohttpd's serves all connections. It never waits for the broker: most answers
 * are texts of the last snapshot (serve_state.h), and what must be asked for is a job of the worker
 * (serve_work.h), until whose end the connection is suspended.
 *
 *     a request  -->  serve_rules_judge  -->  refused: {"error": sentence}
 *                                        -->  a text of the snapshot, the page
 *                                        -->  a job; the worker resumes the connection
 *
 * Limits. HTTP_CONNECTIONS at a time; headers of HTTP_HEADERS_BYTES, a body of HTTP_BODY_BYTES;
 * HTTP_IDLE_MS without a byte, and HTTP_REQUEST_MS from the first byte of a request to the last
 * one of its answer. When a connection comes and all but HTTP_SPARE are taken, the one whose
 * request has been incomplete for longest is closed: clients that send a byte now and then (slow
 * loris) keep nobody out.
 *
 * Thread: open, sweep and close from one.
 */
#ifndef CLI_SERVE_HTTP_SERVER_H
#define CLI_SERVE_HTTP_SERVER_H

#include <stdbool.h>

#include "cli/http/endpoint.h"
#include "cli/serve/serve_history.h"
#include "cli/serve/serve_rules.h"
#include "cli/serve/serve_state.h"
#include "cli/serve/serve_work.h"
#include "common/base/failure.h"

enum {
	HTTP_CONNECTIONS = 128,
	HTTP_SPARE = 16,
	HTTP_CLIENT_CONNECTIONS = 64, /* of one address, but for loopback */
	HTTP_HEADERS_BYTES = 16 << 10,
	HTTP_BODY_BYTES = 256 << 10,
	HTTP_IDLE_MS = 10000,
	HTTP_REQUEST_MS = 30000,
};

struct http_server;

struct http_options {
	const struct endpoint *at; /* where to listen; its token is that of the rules */
	const char *cert, *key;    /* files; NULL: no TLS */
	const char *mix;           /* name of the mix */
	const struct serve_rules *rules;
	struct serve_state *state;
	struct serve_history *history;
	struct serve_work *work;
};

/*
 * Gives *out, to be ended with http_server_close(), and listens. Borrows the options until then.
 * FAIL_IO: the address is taken, or certificate and key cannot be read.
 */
enum fail_code http_server_open(
    struct http_server **out, const struct http_options *o, struct failure *f);
void http_server_close(struct http_server *s); /* NULL is accepted; no job is under way */

/* The address of the page, "http://127.0.0.1:8640/". */
const char *http_server_address(const struct http_server *s);

/* Closes connections that have taken too long. To be called every second or so. */
void http_server_sweep(struct http_server *s);

#endif
