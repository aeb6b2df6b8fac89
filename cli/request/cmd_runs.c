/*
 * riffle runs: where the runs of trainers stand, and the only way to take one back.
 *
 *     no --reset  --> status_query_runs --> status_print: a line a run
 *     --reset     --> runs_reset: looks, sets the commits, requests the ledger's part
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/request/request_print.h"
#include "cli/request/runs_config.h"
#include "cli/request/runs_reset.h"
#include "cli/status/status_print.h"
#include "common/base/limits.h"
#include "common/kafka/topics.h"
#include "consumer/status/status_query.h"

struct arguments {
	const char *mix;
	const char *reset, *forget, *id;
	uint64_t to, idle_s, timeout_s;
	bool json;
};

#define AT(field) offsetof(struct arguments, field)

static const struct arguments defaults = {.idle_s = 60};

/* What --help prints of the options, below the text of cmd_runs. */
static const struct option_row rows[] = {
    {.name = "reset",
	.kind = OPTION_TEXT,
	.at = AT(reset),
	.value = "RUN",
	.help = "take that run to the step of --to: its commits at the broker and its known step "
		"in the ledger"},
    {.name = "to",
	.kind = OPTION_COUNT,
	.at = AT(to),
	.max = LIMIT_STEP - 1,
	.value = "STEP",
	.help = "the first step that the run reads then; published, and still kept"},
    {.name = "forget",
	.kind = OPTION_TEXT,
	.at = AT(forget),
	.value = "RUN",
	.help = "delete the commits of a run that neither mix.runs nor the ledger names: it is "
		"over, or its name was mistyped. Needs DELETE on its group"},
    {.name = "idle",
	.kind = OPTION_COUNT,
	.at = AT(idle_s),
	.max = 86400,
	.value = "SECONDS",
	.help = "how long the run must have been silent"},
    REQUEST_PRINT_ID_ROW(AT(id), ""),
    REQUEST_PRINT_TIMEOUT_ROW(AT(timeout_s)),
    {.name = "json", .kind = OPTION_FLAG, .at = AT(json), .help = "JSON; its keys are stable"},
    OPTIONS_MIX_ROW(AT(mix)),
};

/* A table of runs that have nothing to commit to would look like that of a mix that is new. */
static enum fail_code
check_topics(const struct status *st, struct failure *f)
{
	for (size_t i = 0; i < st->plan->n; i++)
		if (!st->report[i].exists && (st->plan->topic[i].kind == TOPIC_BATCHES ||
						 st->plan->topic[i].kind == TOPIC_LANES))
			return topics_fail_missing(st->config, st->plan, st->report, f);
	return FAIL_NONE;
}

static enum fail_code
show(struct status_query *q, bool json, struct failure *f)
{
	enum fail_code code;
	struct status *st;

	if (status_query_runs(q, &st, f) != FAIL_NONE)
		return f->code;
	code = check_topics(st, f);
	if (code == FAIL_NONE && json)
		code = status_print_runs_json(st, stdout, f);
	else if (code == FAIL_NONE)
		status_print_runs_table(st, stdout);
	status_free(st);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = defaults;
	struct status_query *q = NULL;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_runs, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if ((a.reset == NULL) == options_given(&o, &cmd_runs, "to"))
		return fail(f, FAIL_USAGE, "--reset RUN and --to STEP go together");
	if (a.reset != NULL && a.forget != NULL)
		return fail(f, FAIL_USAGE, "--reset or --forget");
	if (runs_config_open(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	code = status_query_open(&q, c, f);
	if (code == FAIL_NONE && a.forget != NULL)
		code = runs_forget(q, c, a.forget, f);
	else if (code == FAIL_NONE && a.reset == NULL)
		code = show(q, a.json, f);
	else if (code == FAIL_NONE)
		code = runs_reset(q,
		    &(struct runs_reset){
			.config = c,
			.run = a.reset,
			.id = a.id,
			.to_step = a.to,
			.idle_ms = (int64_t)a.idle_s * 1000,
			.timeout_ms = (int)a.timeout_s * 1000,
			.json = a.json,
		    },
		    f);
	status_query_close(q);
	config_close(c);
	return code;
}

const struct command cmd_runs = {
    .name = "runs",
    .summary = "show where the runs of trainers stand, or take one back to a step",
    .usage = "-c FILE | --mix NAME  [--reset RUN --to STEP [OPTION...] | --forget RUN] [--json]",
    .help =
	"Prints a line for each run of mix.runs, of the ledger, or with commits alone. STEP is its "
	"lowest commit at the "
	"broker, KNOWN the highest step that the ledger has seen of it, LAG the steps that are "
	"published and not committed, SEEN when the ledger last saw it continue. STATE is good; "
	"new; part of its lanes: a rank has committed nothing yet; "
	"went back: it has committed an earlier step than the known one; or commits lost: the "
	"broker has none for some lane, and trainers cannot start from commits.\n"
	"\n"
	"Stop the run's trainers before --reset. It refuses a run that is active or unknown, and "
	"a step that is not published, or not kept any more. It sets the run's commits to STEP on "
	"every lane, so that a trainer from commits starts there, then requests of the mixer to "
	"make it the known step. The answer is in the ledger, with who requested it. Where no "
	"mixer runs, the commits are set and the request waits for one. A trainer that starts "
	"from a checkpoint takes the step of that. Exit 1: refused, or no answer in time.",
    .example = "riffle runs -c run.yml\n"
	       "riffle runs -c run.yml --reset trainers --to 12000",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
