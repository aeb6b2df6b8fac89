/*
 * riffle status: where a corpus and its mix stand, and what is wrong.
 *
 * Reads one status, or with --watch one after the other over the same handles, and prints each.
 * What a status is stands in consumer/status/status.h, what is printed of it in status_print.h.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/signals.h"
#include "cli/status/status_print.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/status/status_query.h"
#include "producer/produce/produce.h"

enum { REDRAW_MS = 2000 };

struct arguments {
	const char *mix;
	bool watch, json, check;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_status. */
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
    {.name = "check",
	.kind = OPTION_FLAG,
	.at = AT(check),
	.help = "for probes: exit 1 where there is a problem, and name the first one on stderr"},
    OPTIONS_MIX_NAME_ROW(AT(mix)),
};

/*
 * One status to stdout, whole.
 *
 * How --watch redraws. The broker is asked first, and the screen is erased only once the answer is
 * there: during a slow request the old status stays readable. ESC[H puts the cursor into the top
 * left corner and ESC[2J erases the screen without scrolling, so that the next table takes the
 * place of the last. Escapes go to a terminal only. A pipe gets one table behind the other, and
 * JSON gets an object a line, to be followed with `jq`. The flush comes before the pause: a reader
 * of the pipe has the status while it is true, and a full disk is a failure at once.
 */
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
	if (code == FAIL_NONE && a->check && st->problems_n > 0)
		code =
		    fail(f, FAIL_DATA, "%zu problem%s: %s %s", st->problems_n + st->problems_more,
			st->problems_n + st->problems_more == 1 ? "" : "s, the first",
			st->problem[0].code, st->problem[0].text);
	status_free(st);
	if (code == FAIL_NONE && fflush(stdout) != 0)
		return fail_errno(f, FAIL_IO, "writing to stdout");
	return code;
}

/*
 * A broker that is away for a while does not end the watching: its failure is a warning on stderr,
 * and the handles, which reconnect by themselves, are asked again. All other failures end it.
 *
 * clock_pause_ms() returns early when a signal comes, also one that does not ask to stop (a window
 * that was resized): the inner loop sleeps for the rest.
 */
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
	enum fail_code code = FAIL_NONE;

	if (options_parse(&o, &cmd_status, argc, argv, &a, f) != FAIL_NONE ||
	    options_config_named(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	if (a.check && a.watch)
		code = fail(f, FAIL_USAGE, "--check and --watch exclude each other");
	else
		produce_note_tokenizer(c);
	if (code == FAIL_NONE)
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
    .usage = "-c FILE [--watch | --check] [--json]",
    .help =
	"Reads only: the topics, the last records of the ledger and of each domain, the commits "
	"of the runs. A domain that is SEALED has an End; one that is \"reopened\" has sequences "
	"behind it, which do not count before the next End. INTENDED is the share in force now. "
	"TARGET is the share of all sequences "
	"so far that the weights of all versions give, each for its own steps; REALISED is what "
	"was drawn, and OFF the difference in sequences, below 2 for the schedule deficit. LAG "
	"counts the steps that are published and not yet committed by the run.",
    .example = "riffle status -c run.yml --watch\nriffle status -c run.yml --json --check",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
