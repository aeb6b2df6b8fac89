#include "cli/metrics/metrics_listener.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/serve/http_server.h"
#include "cli/serve/serve_rules.h"
#include "common/base/log.h"
#include "common/base/scalar.h"
#include "common/base/thread.h"

enum { BACKLOG = 32, PORT_MAX = 65535 };

struct metrics_listener {
	struct MHD_Daemon *daemon;
	int socket; /* the daemon's once it runs; -1: none */
	bool loopback;
	char *(*text)(void *opaque);
	void *opaque;
};

/* ---- addresses ---- */

enum fail_code
metrics_listener_address(struct metrics_address *out, const char *text, struct failure *f)
{
	const char *colon = strrchr(text, ':'), *host = text;
	size_t host_n = colon == NULL ? 0 : (size_t)(colon - text);
	const char *port = colon == NULL ? text : colon + 1;
	uint64_t number;

	if (host_n >= 2 && host[0] == '[' && host[host_n - 1] == ']') {
		host++;
		host_n -= 2;
	} else if (memchr(host, ':', host_n) != NULL) {
		return fail(f, FAIL_USAGE,
		    "--metrics: %s: an IPv6 address needs brackets: [%.*s]:%s", text, (int)host_n,
		    host, port);
	}
	if (host_n >= sizeof(out->host) || strlen(port) >= sizeof(out->port) ||
	    scalar_count(port, 0, PORT_MAX, &number) != SCALAR_OK)
		return fail(f, FAIL_USAGE,
		    "--metrics: %s: is no address: PORT, or HOST:PORT, with a port of 0 to %d",
		    text, PORT_MAX);
	snprintf(out->host, sizeof(out->host), "%.*s", (int)host_n, host);
	if (host_n == 0)
		snprintf(out->host, sizeof(out->host), "127.0.0.1");
	snprintf(out->port, sizeof(out->port), "%s", port);
	return FAIL_NONE;
}

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
	if (l->loopback && !serve_rules_host(&no_names, MHD_lookup_connection_value(c,
							    MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return refuse(c, MHD_HTTP_MISDIRECTED_REQUEST, "use an address or localhost\n");
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

/* Binds l->socket to the first of the addresses that a name has. */
static enum fail_code
bind_to(struct metrics_listener *l, const struct metrics_address *a, struct failure *f)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int err = getaddrinfo(a->host, a->port, &hints, &found), on = 1;
	enum fail_code code = FAIL_NONE;

	if (err != 0)
		return fail(f, FAIL_IO, "--metrics: finding %s: %s", a->host, gai_strerror(err));
	l->loopback = http_server_is_loopback(found->ai_addr);
	l->socket = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->socket < 0 ||
	    setsockopt(l->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(l->socket, found->ai_addr, found->ai_addrlen) != 0 ||
	    listen(l->socket, BACKLOG) != 0)
		code =
		    fail_errno(f, FAIL_IO, "--metrics: listening on %s, port %s", a->host, a->port);
	freeaddrinfo(found);
	return code;
}

/* "127.0.0.1:9640", with the port that was found where it was 0. */
static void
log_address(const struct metrics_listener *l)
{
	char host[METRICS_ADDRESS_MAX], port[8];
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	bool six;

	if (getsockname(l->socket, (struct sockaddr *)&a, &n) != 0 ||
	    getnameinfo((struct sockaddr *)&a, n, host, sizeof(host), port, sizeof(port),
		NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	six = a.ss_family == AF_INET6;
	log_info(
	    "metrics: url=http://%s%s%s:%s/metrics", six ? "[" : "", host, six ? "]" : "", port);
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
metrics_listener_open(struct metrics_listener **out, const char *address,
    char *(*text)(void *opaque), void *opaque, struct failure *f)
{
	struct metrics_listener *l;
	struct metrics_address a;

	*out = NULL;
	if (metrics_listener_address(&a, address, f) != FAIL_NONE)
		return f->code;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return fail_memory(f);
	l->socket = -1;
	l->text = text;
	l->opaque = opaque;
	if (bind_to(l, &a, f) != FAIL_NONE)
		goto failed;
	l->daemon = start(l);
	if (l->daemon == NULL) {
		fail(f, FAIL_IO, "--metrics: starting the thread that listens on %s", address);
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
