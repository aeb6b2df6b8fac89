/*
 * riffle skip: keeps sequences out of every later draw of a running mix, or, --undo, lets them in.
 *
 *     words or --step --> skip_requests --> one or more requests --> request_print --> the answers
 *     --list          --> skip_print: what the ledger's last record keeps out
 */
#include <inttypes.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/request/request_print.h"
#include "cli/request/request_words.h"
#include "cli/request/skip_print.h"
#include "cli/request/skip_requests.h"
#include "cli/signals.h"
#include "common/base/limits.h"

struct arguments {
	const char *mix;
	uint64_t step, lane, at_step, timeout_s;
	struct option_range steps;
	const char *id;
	bool undo, list, dry_run, json;
};

#define AT(field) offsetof(struct arguments, field)

static const struct arguments defaults = {0};

/* What --help prints of the options, below the text of cmd_skip. */
static const struct option_row rows[] = {
    {.name = "step",
	.kind = OPTION_COUNT,
	.at = AT(step),
	.max = INT64_MAX / 2,
	.value = "S",
	.help = "all sequences that step S held"},
    {.name = "steps",
	.kind = OPTION_RANGE,
	.at = AT(steps),
	.value = "A..B",
	.help = "all sequences of the steps from A on, below B"},
    {.name = "lane",
	.kind = OPTION_COUNT,
	.at = AT(lane),
	.max = LIMIT_LANES - 1,
	.value = "L",
	.help = "with --step or --steps: only those of lane L"},
    {.name = "undo",
	.kind = OPTION_FLAG,
	.at = AT(undo),
	.help = "the other way: what of these sequences is skipped is drawn again"},
    {.name = "list",
	.kind = OPTION_FLAG,
	.at = AT(list),
	.help = "ask nobody: show what is skipped, what accepted requests will skip, and what the "
		"mixer has quarantined"},
    {.name = "at-step",
	.kind = OPTION_COUNT,
	.at = AT(at_step),
	.max = INT64_MAX,
	.value = "N",
	.without = "the next one that is not published",
	.help = "the first step that is drawn without them; of --undo, that may hold them again"},
    REQUEST_PRINT_ID_ROW(AT(id), "; --step and --steps add a number for each request"),
    {.name = "dry-run",
	.kind = OPTION_FLAG,
	.at = AT(dry_run),
	.help = "ask nobody: work out the answers from the ledger's last record"},
    REQUEST_PRINT_TIMEOUT_ROW(AT(timeout_s)),
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "json",
	.kind = OPTION_FLAG,
	.at = AT(json),
	.help = "one JSON object a request; its keys are stable"},
};

static enum fail_code
check_arguments(const struct arguments *a, const struct options *o, struct failure *f)
{
	bool one = options_given(o, &cmd_skip, "step");
	bool several = options_given(o, &cmd_skip, "steps"), step = one || several;

	if (a->list && (step || a->undo || o->arguments_n > 0))
		return fail(f, FAIL_USAGE, "--list shows all: it goes with no sequences");
	if (a->list)
		return FAIL_NONE;
	if (one && several)
		return fail(f, FAIL_USAGE, "--step or --steps, not both");
	if (several && (a->steps.first >= a->steps.end || a->steps.end > INT64_MAX / 2))
		return fail(f, FAIL_USAGE,
		    "--steps: %" PRIu64 "..%" PRIu64 " holds no step, or is out of range",
		    a->steps.first, a->steps.end);
	if (step ? o->arguments_n != 0 : o->arguments_n != 2)
		return fail(f, FAIL_USAGE,
		    "which sequences? give either DOMAIN[/PARTITION] and a..b, or --step S, or "
		    "--steps A..B%s",
		    a->undo ? "; `riffle skip --list` shows what is skipped" : "");
	if (!step && options_given(o, &cmd_skip, "lane"))
		return fail(f, FAIL_USAGE, "--lane goes with --step or --steps");
	return FAIL_NONE;
}

/* All requests of a command take effect at the same step, that of --at-step where it is given. */
static enum fail_code
skip(struct request *r, const struct arguments *a, const struct options *o,
    const struct config *config, struct failure *f)
{
	struct request_print_how how = {.config = config,
	    .dry_run = a->dry_run,
	    .json = a->json,
	    .named = a->id != NULL,
	    .timeout_ms = (int)a->timeout_s * 1000};
	bool timed = options_given(o, &cmd_skip, "at-step");
	enum ledger_change_kind kind = a->undo ? LEDGER_UNDO : LEDGER_SKIP;
	int64_t lane = options_given(o, &cmd_skip, "lane") ? (int64_t)a->lane : -1;
	struct option_range steps = options_given(o, &cmd_skip, "steps")
					? a->steps
					: (struct option_range){a->step, a->step + 1};
	struct control *c = NULL;
	size_t n = 0;
	enum fail_code code;

	if (o->arguments_n == 0)
		code = skip_requests_steps(
		    &c, &n, kind, a->mix, config, steps.first, steps.end, lane, a->id, f);
	else
		code = skip_requests_range(
		    &c, &n, kind, o->argument[0], o->argument[1], request_ledger(r), a->id, f);
	if (code == FAIL_NONE && o->arguments_n > 0)
		code = request_words_known(c[0].domain, request_ledger(r), config, f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++)
		c[i].at_step = timed ? (int64_t)a->at_step : -1;

	if (code == FAIL_NONE)
		code = request_print(r, c, n, &how, f);
	skip_requests_free(c, n);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = defaults;
	struct request_options with = {.stop = signals_stop()};
	struct request *request = NULL;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_skip, argc, argv, &a, f) != FAIL_NONE ||
	    check_arguments(&a, &o, f) != FAIL_NONE ||
	    options_mix_config(&c, &a.mix, &o, f) != FAIL_NONE)
		return f->code;
	with.mix = a.mix;
	with.properties = &c->kafka;
	code = request_open(&request, &with, f);
	if (code == FAIL_CONFIG)
		request_words_ask_mix(c, a.mix, f);
	if (code == FAIL_NONE && a.list)
		code = skip_print(a.mix, request_ledger(request), a.json, f);
	else if (code == FAIL_NONE)
		code = skip(request, &a, &o, c, f);
	request_close(request);
	config_close(c);
	return code;
}

const struct command cmd_skip = {
    .name = "skip",
    .summary = "keep sequences out of every later draw of a running mix",
    .usage = "-c FILE | --mix NAME  DOMAIN[/PARTITION] A..B | --step S | --steps A..B  [--undo] "
	     "[OPTION...]\n"
	     "-c FILE | --mix NAME  --list",
    .help =
	"Asks the mixer, as `riffle weights` does, to pass over the ordinals from A on, below B: "
	"in "
	"this epoch and all later ones another sequence of the domain is drawn instead. With "
	"--step or --steps all sequences of these steps are skipped: the remedy for a spike of the "
	"loss. "
	"`riffle inspect` shows which those are. Ordinals that a sealed domain does not have are "
	"refused; those of a live one may be published later. The ledger keeps at most 4,096 "
	"ranges.\n\n"
	"--undo takes back what of these sequences is skipped, all or a part of what was skipped "
	"at once; quarantined sequences stay out. Exit 1: refused, or no answer in time.",
    .example = "riffle skip -c run.yml web 120000..120512\n"
	       "riffle skip -c run.yml --step 48210\n"
	       "riffle skip -c run.yml --steps 48208..48212 --id spike-48210\n"
	       "riffle skip --mix pretrain code/3 7..8 --dry-run\n"
	       "riffle skip -c run.yml --undo web 120000..120100\n"
	       "riffle skip -c run.yml --list",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = 2,
    .run = run,
};
