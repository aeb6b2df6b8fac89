#include "cli/serve/http_server.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/json_print.h"
#include "cli/serve/serve_metrics.h"
#include "cli/serve/serve_page.h"
#include "common/base/clock.h"
#include "common/base/json_memory.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/base/thread.h"

enum {
	FILE_BYTES_MAX = 1 << 20, /* of a certificate or key */
	ADDRESS_BYTES = ENDPOINT_TEXT_MAX + 16,
	STALE_MS = 5000, /* an answer that is older is said to be old */
};

/* A connection of a client. The list has them by `since_ms`, the oldest first. */
struct connection {
	struct connection *next, *before;
	int fd;
	int64_t since_ms; /* monotonic: accepted, or its last request answered */
	bool busy;        /* a job of it is under way: it is not the client who is slow */
};

struct http_server {
	struct http_options o;
	struct MHD_Daemon *daemon;
	char address[ADDRESS_BYTES];
	char policy[512]; /* Content-Security-Policy of the page */
	char *cert, *key;
	char complaint[256];  /* libmicrohttpd's last one, before it runs */
	pthread_mutex_t lock; /* protects the list */
	struct connection *oldest, *newest;
	size_t connections;
};

/* A request, from its head to the last byte of its answer. */
struct request {
	struct http_server *server;
	struct MHD_Connection *connection;
	struct serve_verdict verdict;
	struct serve_job job;
	size_t room;
	bool put, done; /* the job was given to the worker; it is finished */
	bool too_large;
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

static void
note_connection(void *of, struct MHD_Connection *connection, void **context,
    enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = of;
	struct connection *c = *context;

	pthread_mutex_lock(&s->lock);
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *fd =
		    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

		c = calloc(1, sizeof(*c));
		*context = c;
		if (c != NULL && fd != NULL) {
			c->fd = fd->connect_fd;
			link_newest(s, c);
			if (s->connections > HTTP_CONNECTIONS - HTTP_SPARE)
				cut_oldest(s);
		}
	} else if (c != NULL) {
		unlink_connection(s, c);
		free(c);
		*context = NULL;
	}
	pthread_mutex_unlock(&s->lock);
}

static struct connection *
connection_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info == NULL ? NULL : info->socket_context;
}

static void
set_busy(struct request *r, bool busy)
{
	struct connection *c = connection_of(r->connection);

	pthread_mutex_lock(&r->server->lock);
	if (c != NULL)
		c->busy = busy;
	pthread_mutex_unlock(&r->server->lock);
}

void
http_server_sweep(struct http_server *s)
{
	int64_t now_ms = clock_ms();

	pthread_mutex_lock(&s->lock);
	for (struct connection *c = s->oldest; c != NULL; c = c->next)
		if (!c->busy && now_ms - c->since_ms > HTTP_REQUEST_MS)
			cut(c);
	pthread_mutex_unlock(&s->lock);
}

/* ---- answers ---- */

static void
add_header(struct MHD_Response *answer, const char *name, const char *value)
{
	(void)MHD_add_response_header(answer, name, value);
}

/* What every answer says: it is of this type, for this page, not to be kept. */
static void
add_headers(struct http_server *s, struct MHD_Response *answer, const struct request *r,
    unsigned status, const char *type)
{
	bool page = status == 200 && r->verdict.route == SERVE_PAGE;

	add_header(answer, "Content-Type", type);
	add_header(answer, "Content-Security-Policy",
	    page ? s->policy : "default-src 'none'; frame-ancestors 'none'");
	add_header(answer, "X-Content-Type-Options", "nosniff");
	add_header(answer, "X-Frame-Options", "DENY");
	add_header(answer, "Referrer-Policy", "no-referrer");
	add_header(answer, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(answer, "Cache-Control", "no-store");
	if (status == 401)
		add_header(answer, "WWW-Authenticate", "Bearer");
	if (status == 405)
		add_header(answer, "Allow", r->verdict.allow);
	if (status == 429 || status == 503)
		add_header(answer, "Retry-After", "2");
}

static enum MHD_Result
queue(struct request *r, struct MHD_Response *answer, unsigned status, const char *type)
{
	enum MHD_Result queued;

	if (answer == NULL)
		return MHD_NO;
	add_headers(r->server, answer, r, status, type);
	queued = MHD_queue_response(r->connection, status, answer);
	MHD_destroy_response(answer);
	log_debug("serve: route=%d status=%u", (int)r->verdict.route, status);
	return queued;
}

/* Takes `text` (free); NULL: there was no memory for it, and the connection is closed. */
static enum MHD_Result
send_text(struct request *r, unsigned status, const char *type, char *text)
{
	struct MHD_Response *answer;

	if (text == NULL)
		return MHD_NO;
	answer = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	if (answer == NULL)
		free(text);
	return queue(r, answer, status, type);
}

static enum MHD_Result
send_json(struct request *r, unsigned status, char *text)
{
	return send_text(r, status, "application/json; charset=utf-8", text);
}

/* A person who opens the page reads the sentence. */
static enum MHD_Result
send_refusal(struct request *r, unsigned status, const char *why)
{
	struct text text = {0};

	if (r->verdict.route != SERVE_PAGE || status == 404 || status == 421)
		return send_json(r, status, serve_work_error(why));
	text_add(&text, "%s\n", why);
	return send_text(r, status, "text/plain; charset=utf-8", text_take(&text));
}

static enum MHD_Result
send_word(struct request *r, unsigned status, const char *word)
{
	return send_text(r, status, "text/plain; charset=utf-8", strdup(word));
}

static enum MHD_Result
send_page(struct request *r)
{
	/* libmicrohttpd takes the bytes as they are, and does not write to them. */
	return queue(r,
	    MHD_create_response_from_buffer(
		serve_page_n, (void *)(uintptr_t)serve_page, MHD_RESPMEM_PERSISTENT),
	    200, "text/html; charset=utf-8");
}

/* The token was right: the cookie stands for it from here on, and the address is without it. */
static enum MHD_Result
send_login(struct request *r)
{
	const struct serve_rules *rules = r->server->o.rules;
	struct MHD_Response *answer =
	    MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	char cookie[256];

	if (answer == NULL)
		return MHD_NO;
	snprintf(cookie, sizeof(cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/%s",
	    rules->cookie, rules->session, rules->secure ? "; Secure" : "");
	add_header(answer, "Set-Cookie", cookie);
	add_header(answer, "Location", "/");
	return queue(r, answer, 303, "text/plain; charset=utf-8");
}

/* ---- what the follower knows ---- */

/* Why what is known is old; false: it is not. */
static bool
is_stale(const struct serve_snapshot *s, int64_t age_ms, char why[static FAILURE_TEXT_MAX])
{
	if (why[0] != '\0' || s == NULL || age_ms <= STALE_MS)
		return why[0] != '\0' || s == NULL;
	snprintf(why, FAILURE_TEXT_MAX, "the broker has not answered yet");
	return true;
}

/* The object that the status has here beside the keys of riffle status. */
static char *
server_text(const struct http_server *s, int64_t age_ms, const char *why)
{
	json_t *o = json_pack("{s:s, s:I, s:o, s:b, s:b}", "version", RIFFLE_VERSION, "age_ms",
	    (json_int_t)age_ms, "error", why[0] == '\0' ? json_null() : json_print_text(why),
	    "changes", (int)s->o.rules->changes, "token", (int)(s->o.rules->token != NULL));
	char *text = o == NULL ? NULL : json_memory_text(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

	json_decref(o);
	return text;
}

/* The JSON of riffle status, with a key "server" at its end. */
static enum MHD_Result
send_status(struct request *r, struct serve_snapshot *s, int64_t age_ms, const char *why)
{
	const char *status = serve_snapshot_status(s);
	char *server = status == NULL ? NULL : server_text(r->server, age_ms, why);
	struct text text = {0};
	size_t n;

	if (server == NULL)
		return MHD_NO;
	n = strlen(status);
	assert(n > 2 && status[n - 2] == '}'); /* and the line's end */
	text_add(&text, "%.*s,\"server\":%s}\n", (int)(n - 2), status, server);
	free(server);
	return send_json(r, 200, text_take(&text));
}

static enum MHD_Result
send_metrics(struct request *r, struct serve_snapshot *s, bool up)
{
	const char *known = s == NULL ? "" : serve_snapshot_metrics(s);
	char *first = known == NULL ? NULL : serve_metrics_up(r->server->o.mix, up);
	struct text text = {0};

	if (first == NULL)
		return MHD_NO;
	text_add(&text, "%s%s", first, known);
	free(first);
	return send_text(r, 200, "text/plain; version=0.0.4; charset=utf-8", text_take(&text));
}

static enum MHD_Result
send_known(struct request *r)
{
	struct serve_snapshot *s;
	char why[FAILURE_TEXT_MAX];
	int64_t age_ms;
	enum MHD_Result queued;
	bool stale;

	serve_state_get(r->server->o.state, &s, why);
	age_ms = s == NULL ? 0 : clock_ms() - s->read_ms;
	stale = is_stale(s, age_ms, why);
	if (r->verdict.route == SERVE_READY)
		queued = send_word(r, stale ? 503 : 200, stale ? "not ready\n" : "ready\n");
	else if (r->verdict.route == SERVE_METRICS)
		queued = send_metrics(r, s, !stale);
	else if (s == NULL)
		queued = send_refusal(r, 503,
		    why[0] == '\0' ? "the broker has not answered yet: the server has just begun"
				   : why);
	else
		queued = send_status(r, s, age_ms, why);
	serve_snapshot_release(s);
	return queued;
}

static void
release_history(void *text)
{
	serve_history_release(text);
}

static enum MHD_Result
send_history(struct request *r)
{
	struct serve_history_text *t = serve_history_text(r->server->o.history, &r->verdict.range);
	struct MHD_Response *answer;

	if (t == NULL)
		return MHD_NO;
	answer = MHD_create_response_from_buffer_with_free_callback_cls(
	    t->n, t->bytes, release_history, t);
	if (answer == NULL)
		serve_history_release(t);
	return queue(r, answer, 200, "application/json; charset=utf-8");
}

/* ---- jobs ---- */

/* On the worker's thread. */
static void
job_done(struct serve_job *job, void *of)
{
	struct request *r = of;

	(void)job;
	r->done = true; /* seen by libmicrohttpd's thread: resuming takes a lock */
	MHD_resume_connection(r->connection);
}

static enum MHD_Result
begin_job(struct request *r)
{
	r->job.route = r->verdict.route;
	r->job.step = r->verdict.step;
	r->job.steps = r->verdict.steps;
	r->job.done = job_done;
	r->job.of = r;
	r->put = true;
	set_busy(r, true);
	MHD_suspend_connection(r->connection);
	if (serve_work_put(r->server->o.work, &r->job))
		return MHD_YES;
	r->job.status = 429;
	r->job.text = serve_work_error(
	    "so many requests wait already that this one is refused: try again in a second");
	job_done(&r->job, r);
	return MHD_YES;
}

static enum MHD_Result
end_job(struct request *r)
{
	char *text = r->job.text;

	r->job.text = NULL;
	set_busy(r, false);
	return send_json(r, r->job.status, text);
}

/* ---- requests ---- */

static enum MHD_Result
take_argument(void *to, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct serve_request *q = to;

	(void)kind;
	if (q->arguments_n < SERVE_ARGUMENTS_MAX) {
		q->argument[q->arguments_n].name = name;
		q->argument[q->arguments_n].value = value;
	}
	q->arguments_n++;
	return MHD_YES;
}

static void
judge(struct request *r, const char *path, const char *method)
{
	struct MHD_Connection *c = r->connection;
	struct serve_request q = {.method = method, .path = path};

	q.host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	q.origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
	q.authorization = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
	q.cookie = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Cookie");
	q.content_type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
	q.custom = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Riffle");
	(void)MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_argument, &q);
	serve_rules_judge(&r->verdict, r->server->o.rules, &q);
}

static enum MHD_Result
respond(struct request *r)
{
	switch (r->verdict.route) {
	case SERVE_PAGE: return send_page(r);
	case SERVE_HEALTH: return send_word(r, 200, "ok\n");
	case SERVE_READY:
	case SERVE_METRICS:
	case SERVE_STATUS: return send_known(r);
	case SERVE_HISTORY: return send_history(r);
	case SERVE_STEP:
	case SERVE_PLAN:
	case SERVE_REQUESTS:
	case SERVE_WEIGHTS: return begin_job(r);
	}
	abort(); /* unreachable */
}

static enum MHD_Result
refuse(struct request *r)
{
	assert(r->verdict.status != 200);
	if (r->verdict.status == 303)
		return send_login(r);
	return send_refusal(r, r->verdict.status, r->verdict.why);
}

/* More of a body. */
static void
take_body(struct request *r, const char *bytes, size_t n)
{
	struct serve_job *j = &r->job;

	if (r->too_large || j->body_n + n > HTTP_BODY_BYTES) {
		r->too_large = true;
		return;
	}
	if (j->body_n + n > r->room) {
		size_t room = r->room == 0 ? 4096 : r->room;
		char *grown;

		while (room < j->body_n + n)
			room *= 2;
		grown = realloc(j->body, room);
		if (grown == NULL) {
			r->too_large = true;
			return;
		}
		j->body = grown;
		r->room = room;
	}
	memcpy(j->body + j->body_n, bytes, n);
	j->body_n += n;
}

/*
 * Called for the head of a request, for each piece of its body, for the end of it, and when a job
 * is done.
 */
static enum MHD_Result
handle(void *of, struct MHD_Connection *connection, const char *path, const char *method,
    const char *version, const char *bytes, size_t *n, void **context)
{
	struct request *r = *context;

	(void)version;
	if (r == NULL) {
		r = calloc(1, sizeof(*r));
		if (r == NULL)
			return MHD_NO;
		*context = r;
		r->server = of;
		r->connection = connection;
		judge(r, path, method);
		/* An answer in front of a body ends the connection: the body is not waited for. */
		return r->verdict.status == 200 || strcmp(method, "GET") == 0 ? MHD_YES : refuse(r);
	}
	if (*n > 0) {
		take_body(r, bytes, *n);
		*n = 0;
		return MHD_YES;
	}
	if (r->too_large)
		return send_refusal(r, 413, "the request is too large");
	if (r->verdict.status != 200)
		return refuse(r);
	if (r->put)
		return r->done ? end_job(r) : MHD_YES;
	return respond(r);
}

static void
end_request(void *of, struct MHD_Connection *connection, void **context,
    enum MHD_RequestTerminationCode how)
{
	struct http_server *s = of;
	struct connection *c = connection_of(connection);
	struct request *r = *context;

	(void)how;
	if (r != NULL) {
		free(r->job.body);
		free(r->job.text);
		free(r);
	}
	*context = NULL;
	pthread_mutex_lock(&s->lock);
	if (c != NULL) {
		c->busy = false;
		unlink_connection(s, c);
		link_newest(s, c);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- listening ---- */

static void
take_complaint(void *of, const char *format, va_list list)
{
	struct http_server *s = of;
	char line[256];

	vsnprintf(line, sizeof(line), format, list);
	line[strcspn(line, "\n")] = '\0';
	if (s->daemon == NULL)
		snprintf(s->complaint, sizeof(s->complaint), "%s", line);
	log_debug("serve: http=%s", line);
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
		*out = realloc(text, n + 1);
	fclose(from);
	if (*out != NULL)
		return FAIL_NONE;
	free(text);
	return f->code;
}

/* With the port that was found where it was 0. */
static void
print_address(struct http_server *s)
{
	const union MHD_DaemonInfo *fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	struct sockaddr_storage at = s->o.at->at;
	socklen_t n = sizeof(at);
	char address[ENDPOINT_TEXT_MAX];

	if (fd != NULL)
		(void)getsockname(fd->listen_fd, (struct sockaddr *)&at, &n);
	endpoint_print(address, sizeof(address), (const struct sockaddr *)&at, n);
	snprintf(
	    s->address, sizeof(s->address), "http%s://%s/", s->cert == NULL ? "" : "s", address);
}

static enum fail_code
start(struct http_server *s, struct failure *f)
{
	const struct endpoint *e = s->o.at;
	sigset_t before;
	const char *why;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL |
			 MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[] = {
	    {MHD_OPTION_HTTPS_MEM_KEY, 0, s->key},
	    {MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert},
	    {MHD_OPTION_END, 0, NULL},
	};

	if (e->at.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	if (s->cert != NULL)
		flags |= MHD_USE_TLS;
	thread_hide_signals(&before);
	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER,
	    take_complaint, s, MHD_OPTION_SOCK_ADDR, &e->at, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)HTTP_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
	    (unsigned)(e->loopback ? 0 : HTTP_CLIENT_CONNECTIONS), MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)(HTTP_IDLE_MS / 1000), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)HTTP_HEADERS_BYTES, MHD_OPTION_NOTIFY_CONNECTION, note_connection, s,
	    MHD_OPTION_NOTIFY_COMPLETED, end_request, s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    s->cert == NULL ? MHD_OPTION_END : MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	thread_show_signals(&before);
	if (s->daemon != NULL) {
		print_address(s);
		return FAIL_NONE;
	}
	/* "Failed to bind to port 0: Address already in use" */
	why = strrchr(s->complaint, ':');
	return fail(f, FAIL_IO, "listening on %s, port %s: %s", e->host, e->port,
	    s->complaint[0] == '\0' ? "not possible"
	    : why == NULL           ? s->complaint
				    : why + 2);
}

enum fail_code
http_server_open(struct http_server **out, const struct http_options *o, struct failure *f)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return fail_memory(f);
	s->o = *o;
	pthread_mutex_init(&s->lock, NULL);
	snprintf(s->policy, sizeof(s->policy),
	    "default-src 'none'; connect-src 'self'; img-src data:; style-src %s; script-src %s; "
	    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	    serve_page_style, serve_page_script);
	if (o->cert != NULL && (read_file(&s->cert, "--tls-cert", o->cert, f) != FAIL_NONE ||
				   read_file(&s->key, "--tls-key", o->key, f) != FAIL_NONE))
		goto failed;
	if (start(s, f) != FAIL_NONE)
		goto failed;
	*out = s;
	return FAIL_NONE;
failed:
	http_server_close(s);
	return f->code;
}

void
http_server_close(struct http_server *s)
{
	if (s == NULL)
		return;
	if (s->daemon != NULL)
		MHD_stop_daemon(s->daemon);
	assert(s->connections == 0);
	free(s->cert);
	free(s->key);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const char *
http_server_address(const struct http_server *s)
{
	return s->address;
}
