/*
 * riffle weights: shows or changes the weights of a running mix.
 *
 *     any word or option that changes  --> weights_request --> request_print: the answer
 *     --id alone                       --> request_print: the answer to that id
 *     nothing                          --> weights_print: weights, what is to come, versions
 */
#include <stddef.h>

#include "cli/command.h"
#include "cli/request/request_print.h"
#include "cli/request/request_words.h"
#include "cli/request/weights_print.h"
#include "cli/request/weights_request.h"
#include "cli/signals.h"
#include "common/base/limits.h"
#include "consumer/ledger/weight_history.h"

struct arguments {
	const char *mix;
	double temperature, lr_scale;
	uint64_t at_step, history, timeout_s, global_batch;
	const char *id, *join, *leave;
	bool dry_run, json;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_weights. */
static const struct arguments defaults = {.history = 20};

static const struct option_row rows[] = {
    {.name = "at-step",
	.kind = OPTION_COUNT,
	.at = AT(at_step),
	.max = INT64_MAX,
	.value = "N",
	.without = "the next one that can be changed",
	.help = "the first step that the change governs; a step that is published already stands "
		"for the next one that is not"},
    {.name = "temperature",
	.kind = OPTION_NUMBER,
	.at = AT(temperature),
	.value = "T",
	.help = "new temperature: shares are proportional to weight^(1/T)"},
    {.name = "lr-scale",
	.kind = OPTION_NUMBER,
	.at = AT(lr_scale),
	.value = "X",
	.help = "new scale of the learning rate, which every batch carries to the trainers"},
    {.name = "global-batch",
	.kind = OPTION_COUNT,
	.at = AT(global_batch),
	.min = 1,
	.max = LIMIT_BATCH,
	.value = "N",
	.help = "new number of sequences of a step, a multiple of mix.lanes"},
    {.name = "join",
	.kind = OPTION_TEXT,
	.at = AT(join),
	.value = "DOMAIN=W",
	.help = "a new domain joins the mix, with weight W: its topic must exist and be sealed"},
    {.name = "leave",
	.kind = OPTION_TEXT,
	.at = AT(leave),
	.value = "DOMAIN",
	.help = "a domain leaves the mix; the others share its weight"},
    REQUEST_PRINT_ID_ROW(AT(id), ". Alone: show that answer"),
    {.name = "dry-run",
	.kind = OPTION_FLAG,
	.at = AT(dry_run),
	.help = "send nothing: derive the answer from the ledger's last record"},
    REQUEST_PRINT_TIMEOUT_ROW(AT(timeout_s)),
    {.name = "history",
	.kind = OPTION_COUNT,
	.at = AT(history),
	.min = 1,
	.max = WEIGHT_HISTORY_MAX,
	.value = "N",
	.help = "show at most the last N versions"},
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "json", .kind = OPTION_FLAG, .at = AT(json), .help = "JSON; its keys are stable"},
};

static enum fail_code
check_arguments(const struct arguments *a, const struct options *o, struct failure *f)
{
	if (options_given(o, &cmd_weights, "temperature") && !(a->temperature > 0))
		return fail(f, FAIL_USAGE, "--temperature: must be more than 0");
	if (options_given(o, &cmd_weights, "lr-scale") && !(a->lr_scale > 0))
		return fail(f, FAIL_USAGE, "--lr-scale: must be more than 0");
	if (a->join != NULL && a->leave != NULL)
		return fail(f, FAIL_USAGE,
		    "one domain joins or leaves at a time: give --join or "
		    "--leave");
	return FAIL_NONE;
}

static enum fail_code
change(struct request *r, const struct arguments *a, const struct options *o,
    const struct config *c, struct failure *f)
{
	struct request_print_how how = {.config = c,
	    .dry_run = a->dry_run,
	    .json = a->json,
	    .named = a->id != NULL,
	    .timeout_ms = (int)a->timeout_s * 1000};
	struct weights_request_change wanted = {.word = o->argument,
	    .words_n = o->arguments_n,
	    .join = a->join,
	    .leave = a->leave,
	    .id = a->id,
	    .at_step = options_given(o, &cmd_weights, "at-step") ? (int64_t)a->at_step : -1,
	    .temperature = a->temperature,
	    .lr_scale = a->lr_scale,
	    .global_batch = (uint32_t)a->global_batch};
	struct control request = {0};
	enum fail_code code = weights_request(&request, &wanted, request_ledger(r), c, f);

	if (code == FAIL_NONE)
		code = request_print(r, &request, 1, &how, f);
	control_clear(&request);
	return code;
}

/* A number of 0 is one that was not given: a given 0 was refused. */
static enum fail_code
dispatch(struct request *r, const struct arguments *a, const struct options *o,
    const struct config *c, struct failure *f)
{
	struct request_print_how how = {.config = c, .json = a->json};

	if (o->arguments_n > 0 || a->temperature > 0 || a->lr_scale > 0 || a->global_batch > 0 ||
	    a->join != NULL || a->leave != NULL)
		return change(r, a, o, c, f);
	/* No change: what is left is to show something. */
	if (a->dry_run || options_given(o, &cmd_weights, "at-step"))
		return fail(f, FAIL_USAGE,
		    "no change is given: give DOMAIN=WEIGHT, --temperature, --lr-scale or "
		    "--global-batch");
	if (a->id != NULL)
		return request_print_earlier(r, a->id, &how, f);
	return weights_print(a->mix, &c->kafka, request_ledger(r), (size_t)a->history, a->json, f);
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

	if (options_parse(&o, &cmd_weights, argc, argv, &a, f) != FAIL_NONE ||
	    check_arguments(&a, &o, f) != FAIL_NONE ||
	    options_mix_config(&c, &a.mix, &o, f) != FAIL_NONE)
		return f->code;
	with.mix = a.mix;
	with.properties = &c->kafka;
	code = request_open(&request, &with, f);
	if (code == FAIL_CONFIG)
		request_words_ask_mix(c, a.mix, f);
	if (code == FAIL_NONE)
		code = dispatch(request, &a, &o, c, f);
	request_close(request);
	config_close(c);
	return code;
}

const struct command cmd_weights = {
    .name = "weights",
    .summary = "show or change the weights, or the batch, of a running mix",
    .usage = "-c FILE | --mix NAME  [DOMAIN=WEIGHT...] [OPTION...]",
    .help =
	"With weights: writes a request to <mix>.control, waits for the mixer's answer in the "
	"ledger, and prints the step at which the change takes effect and what it does to the "
	"shares, epochs and ends of the domains. Weights need not sum to 1; domains that are not "
	"named keep theirs. The change takes effect at exactly that step for every trainer, crash "
	"or not, at most mix.max_lead_steps after the slowest one. --global-batch goes with them, "
	"or alone; the lead stays as many steps. A weight for a domain that is "
	"in the configuration and not in the mix lets it join.\n"
	"\n"
	"Without weights: shows the weights in force, where they come from, which changes are to "
	"come, and the versions so far.\n"
	"\n"
	"Exit 1: the mixer refused the request (stderr says why), it was cancelled since, or no "
	"answer came in time: the request then stays, and the next mixer answers it. Where no "
	"mixer runs, the answer is waited for only with --timeout. Exit 2: the id was given to a "
	"request for something else.",
    .example = "riffle weights -c run.yml\n"
	       "riffle weights -c run.yml web=0.2 code=0.8 --lr-scale 0.5 --at-step 12000\n"
	       "riffle weights -c run.yml --global-batch 128 --at-step 20000\n"
	       "riffle weights -c run.yml --join papers=0.1 --dry-run",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = LIMIT_DOMAINS,
    .run = run,
};
