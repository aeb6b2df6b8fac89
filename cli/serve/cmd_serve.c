/* riffle serve: a page, a JSON API, metrics and probes of a mix, over HTTP. */
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/serve/serve.h"
#include "common/metrics/metrics.h"

struct arguments {
	struct serve_options serve;
	struct option_list hosts;
	bool metrics_list;
};

#define AT(field) offsetof(struct arguments, field)

static const struct arguments defaults = {.serve.listen = "127.0.0.1:8640"};

/* What --help prints of the options, below the text of cmd_serve. */
static const struct option_row rows[] = {
    {.name = "listen",
	.kind = OPTION_TEXT,
	.at = AT(serve.listen),
	.value = "ADDR",
	.help = "where to listen: PORT, which is one of 127.0.0.1, or HOST:PORT; port 0: any that "
		"is free. An address that other machines reach needs --token-file"},
    {.name = "token-file",
	.kind = OPTION_TEXT,
	.at = AT(serve.token_file),
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
	.at = AT(serve.cert),
	.value = "FILE",
	.help = "serve HTTPS with this certificate (PEM)"},
    {.name = "tls-key",
	.kind = OPTION_TEXT,
	.at = AT(serve.key),
	.value = "FILE",
	.help = "and this key of it (PEM)"},
    {.name = "allow-changes",
	.kind = OPTION_FLAG,
	.at = AT(serve.changes),
	.help = "clients may change the weights, as `riffle weights` does; needs --token-file"},
    {.name = "metrics-list",
	.kind = OPTION_FLAG,
	.at = AT(metrics_list),
	.help = "print every metric with its meaning, as docs/METRICS.md, and end"},
    OPTIONS_MIX_NAME_ROW(AT(serve.mix)),
};

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = defaults;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_serve, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (a.metrics_list) {
		metrics_print_page(stdout);
		return FAIL_NONE;
	}
	a.serve.host = a.hosts.text;
	a.serve.hosts_n = a.hosts.n;
	code = options_config_named(&c, a.serve.mix, &o, f);
	if (code == FAIL_NONE)
		code = config_need_mix(c, f);
	if (code == FAIL_NONE)
		code = serve_run(&a.serve, c, &o, f);
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
