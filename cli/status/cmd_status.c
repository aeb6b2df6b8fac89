/* riffle status: where a corpus and its mix stand, and what is wrong. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/status/status_print.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/status/status_query.h"

enum { REDRAW_MS = 2000 };

struct arguments {
	bool watch, json;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "watch",
	.letter = 'w',
	.kind = OPTION_FLAG,
	.at = AT(watch),
	.help = "ask and print again every 2 seconds until a signal; with --json, one line each"},
    {.name = "json",
	.kind = OPTION_FLAG,
	.at = AT(json),
	.help = "one JSON object; its keys are stable"},
};

static enum fail_code
show(struct status_query *q, const struct arguments *a, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	struct status *st;

	if (status_query_read(q, &st, f) != FAIL_NONE)
		return f->code;
	if (a->watch && !a->json && isatty(STDOUT_FILENO))
		printf("\033[H\033[2J"); /* to the top left; erase all */
	if (a->json)
		code = status_print_json(st, stdout, a->watch, f);
	else
		status_print_table(st, stdout);
	status_free(st);
	if (code == FAIL_NONE && fflush(stdout) != 0)
		return fail_errno(f, FAIL_IO, "writing to stdout");
	return code;
}

/* A broker that is away for a while does not end the watching. */
static enum fail_code
watch(struct status_query *q, const struct arguments *a, struct failure *f)
{
	const struct stop *stop = signals_stop();

	while (!stop_asked(stop)) {
		enum fail_code code = show(q, a, f);

		if (code == FAIL_BROKER || code == FAIL_TIMEOUT)
			log_warning("status: STATUS-BROKER %s; asking again", f->text);
		else if (code != FAIL_NONE)
			return code;
		for (int64_t until = clock_ms() + REDRAW_MS;
		     !stop_asked(stop) && clock_ms() < until;)
			clock_pause_ms(until - clock_ms());
	}
	return FAIL_NONE;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct status_query *q;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_status, argc, argv, &a, f) != FAIL_NONE ||
	    options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	code = status_query_open(&q, c, f);
	if (code == FAIL_NONE) {
		code = a.watch ? watch(q, &a, f) : show(q, &a, f);
		status_query_close(q);
	}
	config_close(c);
	return code;
}

const struct command cmd_status = {
    .name = "status",
    .summary = "show where the corpus, the mix and its runs stand, and what is wrong",
    .usage = "-c FILE [--watch] [--json]",
    .help =
	"Reads only: the topics, the last records of the ledger and of each domain, the commits "
	"of the runs. INTENDED is the share in force now, REALISED the share of all sequences so "
	"far; LAG counts the steps that are published and not yet committed by the run.",
    .example = "riffle status -c run.yml --watch\nriffle status -c run.yml --json",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
