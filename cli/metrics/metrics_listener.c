#include "cli/metrics/metrics_listener.h"

#include <stdlib.h>
#include <string.h>

#include "cli/http/http_access.h"
#include "cli/http/http_server.h"
#include "common/base/log.h"

struct metrics_listener {
	struct http_server *http;
	struct endpoint at;
	char *(*text)(void *opaque);
	void *opaque;
};

/* On loopback a page of another origin has no token to lack; elsewhere any name is right. */
static void
head(void *of, void *state, const struct http_request *q, struct http_answer *a)
{
	const struct metrics_listener *l = of;

	(void)state;
	if (l->at.loopback && !http_access_host(q->host, NULL, 0))
		http_answer_word(a, 421, HTTP_TEXT, "use an address or localhost\n");
	else if (l->at.token[0] != '\0' && !http_access_bearer(l->at.token, q->authorization))
		http_answer_word(a, 401, HTTP_TEXT, "send Authorization: Bearer TOKEN\n");
	else if (strcmp(q->path, "/metrics") != 0)
		http_answer_word(a, 404, HTTP_TEXT, "metrics are at /metrics\n");
	else if (strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0) {
		http_answer_word(a, 405, HTTP_TEXT, "GET only\n");
		a->allow = "GET, HEAD";
	}
}

static void
whole(void *of, void *state, struct http_call *call, char **body, size_t n, struct http_answer *a)
{
	struct metrics_listener *l = of;
	char *text = l->text(l->opaque);

	(void)state, (void)call, (void)body, (void)n;
	if (text == NULL)
		http_answer_word(a, 503, HTTP_TEXT, "no metrics now\n");
	else
		http_answer_text(a, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

enum fail_code
metrics_listener_open(struct metrics_listener **out, const struct metrics_options *o,
    char *(*text)(void *opaque), void *opaque, struct failure *f)
{
	const struct endpoint_options where = {.option = "--metrics",
	    .address = o->address,
	    .token_option = "--metrics-token-file",
	    .token_file = o->token_file};
	struct metrics_listener *l = calloc(1, sizeof(*l));
	const struct http_handler handler = {.of = l, .head = head, .whole = whole};
	struct http_options http = {.option = "--metrics"};

	*out = NULL;
	if (l == NULL)
		return fail_memory(f);
	l->text = text;
	l->opaque = opaque;
	http.at = &l->at;
	if (endpoint_find(&l->at, &where, f) != FAIL_NONE ||
	    http_server_open(&l->http, &http, f) != FAIL_NONE ||
	    http_server_start(l->http, &handler, f) != FAIL_NONE) {
		metrics_listener_close(l);
		return f->code;
	}
	endpoint_warn_plain(&l->at, "metrics", o->address);
	log_info("metrics: url=http://%s/metrics", http_server_address(l->http));
	*out = l;
	return FAIL_NONE;
}

void
metrics_listener_close(struct metrics_listener *l)
{
	if (l == NULL)
		return;
	http_server_close(l->http);
	free(l);
}
