#include "cli/http/http_server.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"

enum {
	FILE_BYTES_MAX = 1 << 20, /* of a certificate or key */
	BACKLOG = 64,
	/*
	 * riffle serve has 53 descriptors open beside one broker, and each further broker takes
	 * some more. With fewer than these there are still a few connections.
	 */
	DESCRIPTORS_RESERVED = 96,
	CONNECTIONS_LEAST = 4,
};

/* A connection of a client. The list has them by `since_ms`, the oldest first. */
struct connection {
	struct connection *next, *before;
	int fd;
	int64_t since_ms; /* monotonic: accepted, or its last request answered */
	bool busy;        /* it is suspended: it is not the client who is slow */
};

/* All below `daemon` is of its thread alone, once it runs. */
struct http_server {
	struct http_handler handler;
	char address[ENDPOINT_TEXT_MAX];
	char *cert, *key;
	int socket; /* the daemon's once it runs; -1: none */
	bool six, loopback;
	struct MHD_Daemon *daemon;
	pthread_t starter;   /* calls http_server_start() */
	char complaint[256]; /* libmicrohttpd's last one to that thread: why it does not start */
	struct connection *oldest, *newest;
	size_t connections, connections_max;
	size_t answers_bytes; /* of large answers on their way */
};

struct http_call {
	struct http_server *server;
	struct MHD_Connection *connection;
	struct http_answer refusal; /* of the head; status 0: none */
	char *body;                 /* [body_n] */
	size_t body_n, body_room;
	bool too_large;
	size_t answer_bytes; /* that count in answers_bytes */
	max_align_t state[]; /* the handler's */
};

/* ---- connections ---- */

static void
unlink_connection(struct http_server *s, struct connection *c)
{
	*(c->before == NULL ? &s->oldest : &c->before->next) = c->next;
	*(c->next == NULL ? &s->newest : &c->next->before) = c->before;
	c->next = c->before = NULL;
	s->connections--;
}

static void
link_newest(struct http_server *s, struct connection *c)
{
	c->since_ms = clock_ms();
	c->before = s->newest;
	c->next = NULL;
	*(s->newest == NULL ? &s->oldest : &s->newest->next) = c;
	s->newest = c;
	s->connections++;
}

/* libmicrohttpd sees the end of a connection, and closes it, as it does when the client ends it. */
static void
cut(struct connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
}

/* Makes room for others: the oldest that waits for its client. */
static void
cut_oldest(struct http_server *s)
{
	struct connection *c = s->oldest;

	while (c != NULL && c->busy)
		c = c->next;
	if (c == NULL)
		return;
	cut(c);
	unlink_connection(s, c); /* as though new: it is cut once, and is gone soon */
	link_newest(s, c);
}

/* Closes those that have taken too long. */
static void
cut_slow(struct http_server *s)
{
	int64_t now_ms = clock_ms();

	for (struct connection *c = s->oldest; c != NULL && now_ms - c->since_ms > HTTP_REQUEST_MS;
	     c = c->next)
		if (!c->busy)
			cut(c);
}

static void
note_connection(void *of, struct MHD_Connection *connection, void **context,
    enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = of;
	struct connection *c = *context;
	size_t spare;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *fd =
		    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

		c = fd == NULL ? NULL : calloc(1, sizeof(*c));
		*context = c;
		if (c == NULL)
			return; /* it is served, by the limits of libmicrohttpd alone */
		c->fd = fd->connect_fd;
		link_newest(s, c);
		spare = s->connections_max < HTTP_SPARE ? 1 : s->connections_max / HTTP_SPARE;
		cut_slow(s);
		if (s->connections > s->connections_max - spare)
			cut_oldest(s);
	} else if (c != NULL) {
		unlink_connection(s, c);
		free(c);
		*context = NULL;
	}
}

static struct connection *
connection_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info == NULL ? NULL : info->socket_context;
}

/* The client's time begins here. */
static void
renew(struct http_server *s, struct connection *c)
{
	c->busy = false;
	unlink_connection(s, c);
	link_newest(s, c);
}

void
http_call_suspend(struct http_call *call)
{
	struct connection *c = connection_of(call->connection);

	if (c != NULL)
		c->busy = true;
	MHD_suspend_connection(call->connection);
}

void
http_call_resume(struct http_call *call)
{
	MHD_resume_connection(call->connection);
}

/* ---- answers ---- */

void
http_answer_text(struct http_answer *a, unsigned status, const char *type, char *text)
{
	*a = (struct http_answer){.status = status, .type = type};
	a->part[0].bytes = text;
	a->part[0].n = text == NULL ? 0 : strlen(text);
	a->release = free;
	a->of = text;
}

void
http_answer_word(struct http_answer *a, unsigned status, const char *type, const char *word)
{
	*a = (struct http_answer){.status = status, .type = type};
	a->part[0].bytes = word;
	a->part[0].n = strlen(word);
}

static void
release(struct http_answer *a)
{
	if (a->release != NULL)
		a->release(a->of);
	a->release = NULL;
}

static void
add_header(struct MHD_Response *to, const char *name, const char *value)
{
	if (value != NULL)
		(void)MHD_add_response_header(to, name, value);
}

/* What every answer says: it is of this type, for this page, not to be kept. */
static void
add_headers(struct MHD_Response *to, const struct http_answer *a)
{
	add_header(to, "Content-Type", a->type);
	add_header(to, "Content-Security-Policy",
	    a->policy == NULL ? "default-src 'none'; frame-ancestors 'none'" : a->policy);
	add_header(to, "X-Content-Type-Options", "nosniff");
	add_header(to, "X-Frame-Options", "DENY");
	add_header(to, "Referrer-Policy", "no-referrer");
	add_header(to, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(to, "Cache-Control", "no-store");
	add_header(to, "Allow", a->allow);
	add_header(to, "Location", a->location);
	add_header(to, "Set-Cookie", a->cookie);
	if (a->status == 401)
		add_header(to, "WWW-Authenticate", "Bearer");
	if (a->status == 429 || a->status == 503)
		add_header(to, "Retry-After", "2");
}

bool
http_server_full(const struct http_server *s)
{
	return s->answers_bytes >= HTTP_ANSWERS_BYTES;
}

/* Sends an answer, and takes it. A part without its bytes found no memory. */
static enum MHD_Result
send_answer(struct http_call *call, struct http_answer *a)
{
	struct http_server *s = call->server;
	size_t n = a->part[0].n + a->part[1].n;
	struct MHD_IoVec parts[HTTP_PARTS];
	struct MHD_Response *to;
	enum MHD_Result queued;
	unsigned parts_n = 0;

	assert(a->status != 0);
	if (a->release != NULL && n > HTTP_SMALL_BYTES) {
		if (http_server_full(s)) {
			release(a);
			http_answer_word(a, 503, HTTP_JSON,
			    "{\"error\":\"too many answers are on their way: try again in a "
			    "second\"}");
			n = a->part[0].n;
		} else {
			call->answer_bytes = n;
			s->answers_bytes += n;
		}
	}
	for (size_t i = 0; i < HTTP_PARTS; i++)
		if (a->part[i].n > 0)
			parts[parts_n++] = (struct MHD_IoVec){
			    .iov_base = a->part[i].bytes, .iov_len = a->part[i].n};
	to = a->release != NULL && a->of == NULL
		 ? NULL
		 : MHD_create_response_from_iovec(parts, parts_n, a->release, a->of);
	if (to == NULL) {
		release(a);
		return MHD_NO;
	}
	a->release = NULL; /* `to` owns it from here on */
	add_headers(to, a);
	queued = MHD_queue_response(call->connection, a->status, to);
	MHD_destroy_response(to);
	log_debug("http: status=%u bytes=%zu", a->status, n);
	return queued;
}

/* ---- requests ---- */

static enum MHD_Result
take_argument(void *to, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct http_request *q = to;

	(void)kind;
	if (q->arguments_n < HTTP_ARGUMENTS_MAX) {
		q->argument[q->arguments_n].name = name;
		q->argument[q->arguments_n].value = value;
	}
	q->arguments_n++;
	return MHD_YES;
}

static const char *
header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/*
 * An answer in front of a body ends the connection: the body is not waited for. That of a GET comes
 * behind the body, which it usually has not.
 */
static enum MHD_Result
take_head(struct http_server *s, struct http_call *call, const char *path, const char *method)
{
	struct MHD_Connection *c = call->connection;
	struct http_request q = {.method = method,
	    .path = path,
	    .host = header(c, "Host"),
	    .origin = header(c, "Origin"),
	    .authorization = header(c, "Authorization"),
	    .cookie = header(c, "Cookie"),
	    .content_type = header(c, "Content-Type"),
	    .custom = header(c, "X-Riffle")};

	cut_slow(s);
	(void)MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_argument, &q);
	s->handler.head(s->handler.of, call->state, &q, &call->refusal);
	if (call->refusal.status == 0 || strcmp(method, "GET") == 0)
		return MHD_YES;
	return send_answer(call, &call->refusal);
}

/* More of a body. MHD_NO: no memory, and the connection is closed. */
static enum MHD_Result
take_body(struct http_call *call, const char *bytes, size_t n)
{
	if (call->refusal.status != 0)
		return MHD_YES;
	if (call->too_large || call->body_n + n > HTTP_BODY_BYTES) {
		call->too_large = true;
		return MHD_YES;
	}
	if (call->body_n + n > call->body_room) {
		size_t room = call->body_room == 0 ? 4096 : call->body_room;
		char *grown;

		while (room < call->body_n + n)
			room *= 2;
		grown = realloc(call->body, room);
		if (grown == NULL)
			return MHD_NO;
		call->body = grown;
		call->body_room = room;
	}
	memcpy(call->body + call->body_n, bytes, n);
	call->body_n += n;
	return MHD_YES;
}

/* Once all is there, and when it was resumed. */
static enum MHD_Result
take_whole(struct http_server *s, struct http_call *call)
{
	struct connection *c = connection_of(call->connection);
	struct http_answer a = {0};

	if (c != NULL && c->busy)
		renew(s, c);
	if (call->refusal.status != 0)
		return send_answer(call, &call->refusal);
	if (call->too_large)
		http_answer_word(&a, 413, HTTP_JSON, "{\"error\":\"the request is too large\"}");
	else
		s->handler.whole(s->handler.of, call->state, call, &call->body, call->body_n, &a);
	return a.status == 0 ? MHD_YES : send_answer(call, &a);
}

static enum MHD_Result
handle(void *of, struct MHD_Connection *connection, const char *path, const char *method,
    const char *version, const char *bytes, size_t *n, void **context)
{
	struct http_server *s = of;
	struct http_call *call = *context;
	size_t taken = *n;

	(void)version;
	if (call == NULL) {
		call = calloc(1, sizeof(*call) + s->handler.state_bytes);
		if (call == NULL)
			return MHD_NO;
		*context = call;
		call->server = s;
		call->connection = connection;
		return take_head(s, call, path, method);
	}
	*n = 0;
	return taken > 0 ? take_body(call, bytes, taken) : take_whole(s, call);
}

static void
end_request(void *of, struct MHD_Connection *connection, void **context,
    enum MHD_RequestTerminationCode how)
{
	struct http_server *s = of;
	struct connection *c = connection_of(connection);
	struct http_call *call = *context;

	(void)how;
	*context = NULL;
	if (call != NULL) {
		if (s->handler.end != NULL)
			s->handler.end(call->state);
		assert(s->answers_bytes >= call->answer_bytes);
		s->answers_bytes -= call->answer_bytes;
		release(&call->refusal);
		free(call->body);
		free(call);
	}
	if (c != NULL)
		renew(s, c);
}

/* ---- what libmicrohttpd makes of a request's first line ---- */

/*
 * libmicrohttpd before 1.0 closes a connection without an answer if there are more arguments than
 * it has room for. So the ones that no request of ours has are cut off, but for the first of them,
 * for which the handler refuses the request. Called before the line is parsed, which is in
 * libmicrohttpd's own buffer.
 */
static void *
cut_arguments(void *of, const char *uri, struct MHD_Connection *connection)
{
	char *end = uri == NULL ? NULL : strchr((char *)(uintptr_t)uri, '?');

	(void)of, (void)connection;
	for (size_t i = 0; end != NULL && i <= HTTP_ARGUMENTS_MAX; i++)
		end = strchr(end + 1, '&');
	if (end != NULL)
		*end = '\0';
	return NULL; /* the request has no context yet */
}

/* Returns the length of the decoded text. A text with a NUL stays as it is: no name has one. */
static size_t
decode(void *of, struct MHD_Connection *connection, char *text)
{
	(void)of, (void)connection;
	return strstr(text, "%00") != NULL ? strlen(text) : MHD_http_unescape(text);
}

/* ---- listening ---- */

/* Most connections at a time: the descriptors that Kafka and files do not need. */
static unsigned
connections_max(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
	    files.rlim_cur >= HTTP_CONNECTIONS + DESCRIPTORS_RESERVED)
		return HTTP_CONNECTIONS;
	if (files.rlim_cur < CONNECTIONS_LEAST + DESCRIPTORS_RESERVED)
		return CONNECTIONS_LEAST;
	return (unsigned)files.rlim_cur - DESCRIPTORS_RESERVED;
}

static void
take_complaint(void *of, const char *format, va_list list)
{
	struct http_server *s = of;
	char line[256];

	vsnprintf(line, sizeof(line), format, list);
	line[strcspn(line, "\n")] = '\0';
	if (pthread_equal(pthread_self(), s->starter)) /* the daemon's own may run already */
		snprintf(s->complaint, sizeof(s->complaint), "%s", line);
	log_debug("http: libmicrohttpd=\"%s\"", line);
}

/* Gives the whole text of a file. */
static enum fail_code
read_file(char **out, const char *option, const char *path, struct failure *f)
{
	FILE *from = fopen(path, "re");
	char *text = from == NULL ? NULL : malloc(FILE_BYTES_MAX + 1);
	size_t n;

	if (from == NULL)
		return fail_errno(f, FAIL_IO, "%s: opening %s", option, path);
	if (text == NULL) {
		fclose(from);
		return fail_memory(f);
	}
	n = fread(text, 1, FILE_BYTES_MAX, from);
	text[n] = '\0';
	if (ferror(from))
		fail_errno(f, FAIL_IO, "%s: reading %s", option, path);
	else
		*out = text;
	fclose(from);
	if (*out != NULL)
		return FAIL_NONE;
	free(text);
	return f->code;
}

/* Binds s->socket, and notes its address. */
static enum fail_code
listen_at(struct http_server *s, const char *option, const struct endpoint *e, struct failure *f)
{
	struct sockaddr_storage at;
	socklen_t n = sizeof(at);
	int on = 1, family = e->at.ss_family;

	s->six = family == AF_INET6;
	s->loopback = e->loopback;
	s->socket = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->socket < 0 ||
	    setsockopt(s->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(s->socket, (const struct sockaddr *)&e->at, e->at_n) != 0 ||
	    listen(s->socket, BACKLOG) != 0 ||
	    getsockname(s->socket, (struct sockaddr *)&at, &n) != 0) {
		bool used = errno == EADDRINUSE;

		fail_errno(f, FAIL_IO, "%s: listening on %s, port %s", option, e->host, e->port);
		return used ? fail_more(f, ": give another port, or 0 for any that is free")
			    : f->code;
	}
	endpoint_print(s->address, sizeof(s->address), (const struct sockaddr *)&at, n);
	return FAIL_NONE;
}

enum fail_code
http_server_open(struct http_server **out, const struct http_options *o, struct failure *f)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return fail_memory(f);
	s->socket = -1;
	if (o->cert != NULL && (read_file(&s->cert, "--tls-cert", o->cert, f) != FAIL_NONE ||
				   read_file(&s->key, "--tls-key", o->key, f) != FAIL_NONE))
		goto failed;
	if (listen_at(s, o->option, o->at, f) != FAIL_NONE)
		goto failed;
	*out = s;
	return FAIL_NONE;
failed:
	http_server_close(s);
	return f->code;
}

enum fail_code
http_server_start(struct http_server *s, const struct http_handler *handler, struct failure *f)
{
	sigset_t before;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL |
			 MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
			 (s->six ? MHD_USE_IPv6 : 0) | (s->cert != NULL ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
	    {MHD_OPTION_HTTPS_MEM_KEY, 0, s->key},
	    {MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert},
	    {MHD_OPTION_END, 0, NULL},
	};

	assert(s->daemon == NULL);
	s->handler = *handler;
	s->starter = pthread_self();
	s->connections_max = connections_max();
	thread_hide_signals(&before); /* its thread takes none (thread.h) */
	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER,
	    take_complaint, s, MHD_OPTION_LISTEN_SOCKET, s->socket, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)s->connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
	    (unsigned)(s->loopback ? 0 : HTTP_CLIENT_CONNECTIONS), MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)(HTTP_IDLE_MS / 1000), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)HTTP_HEADERS_BYTES, MHD_OPTION_NOTIFY_CONNECTION, note_connection, s,
	    MHD_OPTION_NOTIFY_COMPLETED, end_request, s, MHD_OPTION_URI_LOG_CALLBACK, cut_arguments,
	    NULL, MHD_OPTION_UNESCAPE_CALLBACK, decode, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    s->cert == NULL ? MHD_OPTION_END : MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	thread_show_signals(&before);
	if (s->daemon != NULL)
		return FAIL_NONE;
	return fail(f, FAIL_IO, "starting to answer at %s: %s", s->address,
	    s->complaint[0] == '\0' ? "not possible" : s->complaint);
}

void
http_server_close(struct http_server *s)
{
	if (s == NULL)
		return;
	if (s->daemon != NULL)
		MHD_stop_daemon(s->daemon); /* closes the socket, too */
	else if (s->socket >= 0)
		close(s->socket);
	assert(s->connections == 0);
	assert(s->answers_bytes == 0);
	free(s->cert);
	free(s->key);
	free(s);
}

const char *
http_server_address(const struct http_server *s)
{
	return s->address;
}

const char *
http_server_port(const struct http_server *s)
{
	return strrchr(s->address, ':') + 1;
}
