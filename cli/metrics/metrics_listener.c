#include "cli/metrics/metrics_listener.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/http/endpoint.h"
#include "cli/serve/serve_rules.h"
#include "common/base/log.h"
#include "common/base/thread.h"

enum { BACKLOG = 32 };

struct metrics_listener {
	struct MHD_Daemon *daemon;
	int socket; /* the daemon's once it runs; -1: none */
	struct endpoint at;
	char *(*text)(void *opaque);
	void *opaque;
};

/* ---- answers ---- */

static enum MHD_Result
answer(struct MHD_Connection *c, unsigned status, char *text, const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
	    strlen(text), text, text[0] == '\0' ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
	enum MHD_Result queued;

	if (r == NULL)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	queued = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result
refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	return answer(c, status, (char *)(uintptr_t)why, "text/plain; charset=utf-8");
}

static enum MHD_Result
on_request(void *opaque, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *body, size_t *body_n, void **seen)
{
	static const struct serve_rules no_names;
	static char once;
	struct metrics_listener *l = opaque;
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	const char *authorization =
	    MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	enum MHD_Result queued;
	char *text;

	(void)version, (void)body;
	if (*seen == NULL) { /* the headers alone; a body is read, and thrown away */
		*seen = &once;
		return MHD_YES;
	}
	if (*body_n > 0) {
		*body_n = 0;
		return MHD_YES;
	}
	if (l->at.loopback && !serve_rules_host(&no_names, host))
		return refuse(c, MHD_HTTP_MISDIRECTED_REQUEST, "use an address or localhost\n");
	if (l->at.token[0] != '\0' && !serve_rules_bearer(l->at.token, authorization))
		return refuse(c, MHD_HTTP_UNAUTHORIZED, "send Authorization: Bearer TOKEN\n");
	if (strcmp(path, "/metrics") != 0)
		return refuse(c, MHD_HTTP_NOT_FOUND, "metrics are at /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	text = l->text(l->opaque);
	if (text == NULL)
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no metrics now\n");
	queued = answer(c, MHD_HTTP_OK, text, "text/plain; version=0.0.4; charset=utf-8");
	free(text);
	return queued;
}

/* ---- opening and closing ---- */

/* Binds l->socket. */
static enum fail_code
bind_to(struct metrics_listener *l, struct failure *f)
{
	const struct endpoint *e = &l->at;
	int on = 1;

	l->socket = socket(e->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->socket >= 0 &&
	    setsockopt(l->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(l->socket, (const struct sockaddr *)&e->at, e->at_n) == 0 &&
	    listen(l->socket, BACKLOG) == 0)
		return FAIL_NONE;
	return fail_errno(f, FAIL_IO, "--metrics: listening on %s, port %s", e->host, e->port);
}

/* With the port that was found where it was 0. */
static void
log_address(const struct metrics_listener *l)
{
	char address[ENDPOINT_TEXT_MAX];
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	if (getsockname(l->socket, (struct sockaddr *)&a, &n) != 0)
		return;
	endpoint_print(address, sizeof(address), (const struct sockaddr *)&a, n);
	log_info("metrics: url=http://%s/metrics", address);
}

/* Its thread takes no signals (thread.h). */
static struct MHD_Daemon *
start(struct metrics_listener *l)
{
	struct MHD_Daemon *daemon;
	sigset_t before;

	thread_hide_signals(&before);
	daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL,
	    on_request, l, MHD_OPTION_LISTEN_SOCKET, l->socket, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)METRICS_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)METRICS_IDLE_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)METRICS_HEADERS_BYTES, MHD_OPTION_END);
	thread_show_signals(&before);
	return daemon;
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

	*out = NULL;
	if (l == NULL)
		return fail_memory(f);
	l->socket = -1;
	l->text = text;
	l->opaque = opaque;
	if (endpoint_find(&l->at, &where, f) != FAIL_NONE || bind_to(l, f) != FAIL_NONE)
		goto failed;
	l->daemon = start(l);
	if (l->daemon == NULL) {
		fail(f, FAIL_IO, "--metrics: starting the thread that listens on %s", o->address);
		goto failed;
	}
	log_address(l);
	*out = l;
	return FAIL_NONE;
failed:
	metrics_listener_close(l);
	return f->code;
}

void
metrics_listener_close(struct metrics_listener *l)
{
	if (l == NULL)
		return;
	if (l->daemon != NULL)
		MHD_stop_daemon(l->daemon); /* closes the socket, too */
	else if (l->socket >= 0)
		close(l->socket);
	free(l);
}
