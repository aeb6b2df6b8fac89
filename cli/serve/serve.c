#include "cli/serve/serve.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/serve/serve_http.h"
#include "cli/serve/serve_watch.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum {
	LOOK_MS = 200, /* between two looks for a signal */
	END_MS = 2000, /* to wait for a thread that waits for a broker */
};

static enum fail_code
find_endpoint(struct endpoint *at, const struct serve_options *o, struct failure *f)
{
	const struct endpoint_options where = {.option = "--listen",
	    .address = o->listen,
	    .token_option = "--token-file",
	    .token_file = o->token_file};

	if ((o->cert == NULL) != (o->key == NULL))
		return fail(f, FAIL_USAGE, "--tls-cert and --tls-key go together");
	if (o->token_file == NULL && o->changes)
		return fail(f, FAIL_USAGE, "--allow-changes needs --token-file");
	return endpoint_find(at, &where, f);
}

/* A name for the cookie's holder that nobody can guess. */
static enum fail_code
make_session(char out[static SERVE_SESSION_BYTES], struct failure *f)
{
	unsigned char bytes[(SERVE_SESSION_BYTES - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return fail_errno(f, FAIL_IO, "making a session");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return FAIL_NONE;
}

/*
 * Memory that is used for a moment, such as the last records of hundreds of domains, goes back to
 * the system: by default glibc keeps it, in as many places as there are threads. What each look
 * needs, some half a megabyte, stays. Measured with 200 domains: 25 MB resident instead of 65.
 */
static void
spare_memory(void)
{
#ifdef M_ARENA_MAX
	(void)mallopt(M_ARENA_MAX, 2);
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 2 << 20);
#endif
}

/* All that runs; what is NULL was not opened. */
struct parts {
	struct endpoint at;
	char cookie[NAME_MAX_BYTES + 16];
	struct serve_rules rules;
	struct serve_state state;
	struct serve_http http;
	struct serve_watch *watch;
};

/* Cookies know no ports: each server of a host has a name of its own for its. */
static enum fail_code
make_rules(struct parts *p, const struct serve_options *o, const char *mix, struct failure *f)
{
	snprintf(
	    p->cookie, sizeof(p->cookie), "riffle.%s.%s", mix, http_server_port(p->http.server));
	p->rules = (struct serve_rules){.token = p->at.token[0] == '\0' ? NULL : p->at.token,
	    .cookie = p->cookie,
	    .host = o->host,
	    .hosts_n = o->hosts_n,
	    .changes = o->changes,
	    .secure = o->cert != NULL};
	return make_session(p->rules.session, f);
}

static enum fail_code
open_parts(struct parts *p, const struct serve_options *o, const struct config *c,
    const struct options *reload, struct failure *f)
{
	const struct http_options http = {
	    .option = "--listen", .at = &p->at, .cert = o->cert, .key = o->key};
	struct serve_http *h = &p->http;
	struct http_handler handler;

	serve_state_init(&p->state);
	h->mix = c->mix.name;
	h->rules = &p->rules;
	h->state = &p->state;
	serve_http_init(&handler, h);
	if (find_endpoint(&p->at, o, f) != FAIL_NONE ||
	    http_server_open(&h->server, &http, f) != FAIL_NONE ||
	    make_rules(p, o, c->mix.name, f) != FAIL_NONE ||
	    serve_requests_open(&h->requests, c, f) != FAIL_NONE ||
	    serve_work_open(&h->looks, c, reload, o->mix, f) != FAIL_NONE ||
	    serve_work_open(&h->changes, c, reload, o->mix, f) != FAIL_NONE ||
	    serve_history_open(&h->history, c, h->requests, f) != FAIL_NONE ||
	    serve_watch_open(&p->watch, c, &p->state, h->history, h->requests, f) != FAIL_NONE)
		return f->code;
	return http_server_start(h->server, &handler, f);
}

/*
 * First the threads end, by which no request waits any more; then the server, which uses what they
 * have left; then all is freed. A thread that waits for a broker for long is not waited for: it
 * only reads, and the process may end under it. False: so it is to.
 */
static bool
close_parts(struct parts *p)
{
	struct serve_http *h = &p->http;
	bool ended = serve_work_end(h->looks, END_MS);

	ended = serve_work_end(h->changes, END_MS) && ended;
	ended = serve_watch_end(p->watch, END_MS) && ended;
	ended = serve_history_end(h->history, END_MS) && ended;
	if (!ended)
		return false;
	http_server_close(h->server);
	serve_watch_close(p->watch);
	serve_history_close(h->history);
	serve_work_close(h->changes);
	serve_work_close(h->looks);
	serve_requests_close(h->requests);
	serve_state_clear(&p->state);
	return true;
}

enum fail_code
serve_run(const struct serve_options *o, const struct config *c, const struct options *reload,
    struct failure *f)
{
	const struct stop *stop = signals_stop();
	struct parts p = {0};
	enum fail_code code;

	signal(SIGPIPE, SIG_IGN);
	spare_memory();
	code = open_parts(&p, o, c, reload, f);
	if (code == FAIL_NONE) {
		if (o->cert == NULL)
			endpoint_warn_plain(&p.at, "serve", o->listen);
		log_info("serve: mix=%s address=http%s://%s/", c->mix.name,
		    o->cert == NULL ? "" : "s", http_server_address(p.http.server));
		while (!stop_asked(stop))
			clock_pause_ms(LOOK_MS);
		log_info("serve: ended by a signal");
	}
	if (!close_parts(&p))
		_exit(fail_exit(code));
	return code;
}
