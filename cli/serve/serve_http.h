/*
 * serve_http.h -- what a client of riffle serve gets for a request: the handler of its HTTP server.
 *
 *     a request  -->  serve_rules_judge  -->  refused: {"error": sentence}
 *                                        -->  the page; what the follower and the history know
 *                                        -->  a job of a worker; an answer when it is done
 *
 * Thread: the server's.
 */
#ifndef CLI_SERVE_SERVE_HTTP_H
#define CLI_SERVE_SERVE_HTTP_H

#include "cli/http/http_server.h"
#include "cli/serve/serve_history.h"
#include "cli/serve/serve_requests.h"
#include "cli/serve/serve_rules.h"
#include "cli/serve/serve_state.h"
#include "cli/serve/serve_work.h"

/* What answers are made of: borrowed until the server is closed. */
struct serve_http {
	const char *mix; /* its name */
	const struct serve_rules *rules;
	struct http_server *server;
	struct serve_state *state;
	struct serve_history *history;
	struct serve_requests *requests;
	struct serve_work *looks, *changes; /* who reads for a client; who asks the mix for it */
};

/* Fills *out; `of` must stay until the server is closed. */
void serve_http_init(struct http_handler *out, struct serve_http *of);

#endif
