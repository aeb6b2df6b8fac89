/*
 * riffle serve: a page, a JSON API, metrics and probes of a mix, over HTTP.
 *
 *     follower (serve_watch)  --> snapshots (serve_state), history (serve_history)
 *                                      |
 *     clients  <-- libmicrohttpd's thread (http_server)
 *                                      |
 *                                 jobs of single clients: the worker (serve_work)
 *
 * Which requests are answered is decided by serve_rules. It writes nothing, but for requests to the
 * mix where --allow-changes is given: it may be killed at any moment, and several may run.
 */
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/serve/http_server.h"
#include "cli/serve/serve_watch.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/metrics/metrics.h"

enum {
	SWEEP_MS = 500,
	END_MS = 2000, /* to wait for a thread that waits for a broker */
};

struct arguments {
	const char *mix, *listen, *token_file, *cert, *key;
	struct option_list hosts;
	bool changes, metrics_list;
};

#define AT(field) offsetof(struct arguments, field)

static const struct arguments defaults = {.listen = "127.0.0.1:8640"};

/* What --help prints of the options, below the text of cmd_serve. */
static const struct option_row rows[] = {
    {.name = "listen",
	.kind = OPTION_TEXT,
	.at = AT(listen),
	.value = "ADDR",
	.help = "where to listen: PORT, which is one of 127.0.0.1, or HOST:PORT; port 0: any that "
		"is free. An address that other machines reach needs --token-file"},
    {.name = "token-file",
	.kind = OPTION_TEXT,
	.at = AT(token_file),
	.value = "FILE",
	.help = "a token that every client must show: in a file of one line, 16 to 512 letters, "
		"digits, - . _ ~. A client sends Authorization: Bearer TOKEN; a browser opens "
		"/?token=TOKEN once"},
    {.name = "host",
	.kind = OPTION_LIST,
	.at = AT(hosts),
	.value = "NAME",
	.help = "a name by which clients may call this server, beside addresses and localhost; "
		"may be given more than once"},
    {.name = "tls-cert",
	.kind = OPTION_TEXT,
	.at = AT(cert),
	.value = "FILE",
	.help = "serve HTTPS with this certificate (PEM)"},
    {.name = "tls-key",
	.kind = OPTION_TEXT,
	.at = AT(key),
	.value = "FILE",
	.help = "and this key of it (PEM)"},
    {.name = "allow-changes",
	.kind = OPTION_FLAG,
	.at = AT(changes),
	.help = "clients may change the weights, as `riffle weights` does; needs --token-file"},
    {.name = "metrics-list",
	.kind = OPTION_FLAG,
	.at = AT(metrics_list),
	.help = "print every metric with its meaning, as docs/METRICS.md, and end"},
    OPTIONS_MIX_NAME_ROW(AT(mix)),
};

static enum fail_code
check_arguments(struct endpoint *at, const struct arguments *a, struct failure *f)
{
	const struct endpoint_options where = {.option = "--listen",
	    .address = a->listen,
	    .token_option = "--token-file",
	    .token_file = a->token_file};

	if ((a->cert == NULL) != (a->key == NULL))
		return fail(f, FAIL_USAGE, "--tls-cert and --tls-key go together");
	if (a->token_file == NULL && a->changes)
		return fail(f, FAIL_USAGE, "--allow-changes needs --token-file");
	if (endpoint_find(at, &where, f) != FAIL_NONE)
		return f->code;
	if (a->cert == NULL && !at->loopback)
		log_warning("serve: SERVE-PLAIN address=%s: tokens and data can be read on their "
			    "way; --tls-cert and --tls-key encrypt them",
		    a->listen);
	return FAIL_NONE;
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
 * the system: by default glibc keeps it, in as many places as there are threads. Measured with 200
 * domains: 16 MB resident instead of 65.
 */
static void
spare_memory(void)
{
#ifdef M_ARENA_MAX
	(void)mallopt(M_ARENA_MAX, 2);
	(void)mallopt(M_MMAP_THRESHOLD, 64 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 64 << 10);
#endif
}

/* Serves until a signal comes. */
static void
serve(struct http_server *http)
{
	const struct stop *stop = signals_stop();

	while (!stop_asked(stop)) {
		clock_pause_ms(SWEEP_MS);
		http_server_sweep(http);
	}
	log_info("serve: ends by a signal");
}

/*
 * A thread that waits for a broker for long is not waited for: it only reads, and the process may
 * end under it.
 */
static enum fail_code
run_all(const struct config *c, const struct options *o, const struct arguments *a,
    const struct endpoint *at, const struct serve_rules *rules, struct failure *f)
{
	struct http_options http = {
	    .at = at, .cert = a->cert, .key = a->key, .mix = c->mix.name, .rules = rules};
	struct http_server *server = NULL;
	struct serve_watch *watch = NULL;
	struct serve_history *history = NULL;
	struct serve_work *work = NULL;
	struct serve_state state;
	bool ended;
	enum fail_code code;

	serve_state_init(&state);
	http.state = &state;
	code = serve_work_open(&work, c, o, a->mix, f);
	if (code == FAIL_NONE)
		code = serve_history_open(&history, c, f);
	http.work = work;
	http.history = history;
	if (code == FAIL_NONE)
		code = http_server_open(&server, &http, f);
	if (code == FAIL_NONE)
		code = serve_watch_open(&watch, c, &state, history, f);
	if (code == FAIL_NONE) {
		log_info("serve: mix=%s address=%s", c->mix.name, http_server_address(server));
		serve(server);
	}
	ended = serve_work_close(work, END_MS);
	ended = serve_watch_close(watch, END_MS) && ended;
	/* The follower notes what it sees in the history. */
	ended = ended && serve_history_close(history, END_MS);
	if (!ended)
		_exit(fail_exit(code));
	http_server_close(server);
	serve_state_clear(&state);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = defaults;
	char cookie[NAME_MAX_BYTES + 8];
	struct serve_rules rules = {.cookie = cookie};
	struct endpoint at;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_serve, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (a.metrics_list) {
		metrics_print_page(stdout);
		return FAIL_NONE;
	}
	if (check_arguments(&at, &a, f) != FAIL_NONE ||
	    make_session(rules.session, f) != FAIL_NONE ||
	    options_config_named(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	rules.token = at.token[0] == '\0' ? NULL : at.token;
	rules.host = a.hosts.text;
	rules.hosts_n = a.hosts.n;
	rules.changes = a.changes;
	rules.secure = a.cert != NULL;
	signal(SIGPIPE, SIG_IGN);
	spare_memory();
	code = config_need_mix(c, f);
	if (code == FAIL_NONE) {
		snprintf(cookie, sizeof(cookie), "riffle.%s", c->mix.name);
		code = run_all(c, &o, &a, &at, &rules, f);
	}
	config_close(c);
	return code;
}

const struct command cmd_serve = {
    .name = "serve",
    .summary = "serve a page, JSON, metrics and probes of a mix over HTTP",
    .usage = "-c FILE [--listen ADDR] [OPTION...]",
    .help =
	"Runs beside a mix until a signal ends it, and shows what `riffle status` shows, with the "
	"same figures: / is a page for people, /api/v1/status the JSON of `riffle status --json`, "
	"/api/v1/history the mix over its steps, /api/v1/steps/N what a step held, /api/v1/plan "
	"what "
	"is to come, /api/v1/requests what was asked, /metrics for Prometheus, /healthz whether "
	"the "
	"process lives, /readyz whether the broker answers.\n"
	"\n"
	"It only reads, joins no group, and keeps nothing on a disk: it may be killed and started "
	"at "
	"any moment, and several may run. Where the broker does not answer, it shows what it knew, "
	"and says since when.",
    .example = "riffle serve -c run.yml\n"
	       "riffle serve -c run.yml --listen 0.0.0.0:8640 --token-file token --tls-cert c.pem "
	       "--tls-key k.pem\n"
	       "riffle serve -c run.yml --token-file token --allow-changes",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
