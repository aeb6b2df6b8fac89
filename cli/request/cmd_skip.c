/* riffle skip: keeps sequences out of every later draw of a running mix. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/request/request_print.h"
#include "cli/request/request_words.h"
#include "cli/request/skip_step.h"
#include "cli/signals.h"
#include "common/base/limits.h"

struct arguments {
	const char *mix;
	uint64_t step, lane, at_step, timeout_s;
	const char *id;
	bool dry_run, json;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "step",
	.kind = OPTION_COUNT,
	.at = AT(step),
	.max = INT64_MAX / 2,
	.value = "S",
	.help = "all sequences that step S held"},
    {.name = "lane",
	.kind = OPTION_COUNT,
	.at = AT(lane),
	.max = LIMIT_LANES - 1,
	.value = "L",
	.help = "with --step: only those of lane L"},
    {.name = "at-step",
	.kind = OPTION_COUNT,
	.at = AT(at_step),
	.max = INT64_MAX,
	.value = "N",
	.help = "the first step that is drawn without them; the next one that is not published"},
    {.name = "id",
	.kind = OPTION_TEXT,
	.at = AT(id),
	.value = "ID",
	.help = "name of the request, as in `riffle weights`; those of --step add a number"},
    {.name = "dry-run",
	.kind = OPTION_FLAG,
	.at = AT(dry_run),
	.help = "ask nobody: work out the answers from the ledger's last record"},
    {.name = "timeout",
	.kind = OPTION_COUNT,
	.at = AT(timeout_s),
	.min = 1,
	.max = 86400,
	.value = "SECONDS",
	.help = "how long to wait for the answers (30)"},
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "json",
	.kind = OPTION_FLAG,
	.at = AT(json),
	.help = "one JSON object a request; its keys are stable"},
};

/* Without /PARTITION there must be only one. */
static enum fail_code
choose_partition(struct control *c, const struct ledger *last, struct failure *f)
{
	if (c->partition >= 0)
		return FAIL_NONE;
	c->partition = 0;
	for (size_t i = 0; last != NULL && i < last->domains_n; i++)
		if (last->domain[i].name != NULL && strcmp(last->domain[i].name, c->domain) == 0 &&
		    last->domain[i].partitions_n > 1)
			return fail(f, FAIL_USAGE,
			    "domain %s has %zu partitions, each with its own ordinals: say which, "
			    "as "
			    "%s/0",
			    c->domain, last->domain[i].partitions_n, c->domain);
	return FAIL_NONE;
}

/* One range of the command line. */
static enum fail_code
range_request(struct control *c, const struct arguments *a, const struct options *o,
    const struct ledger *last, struct failure *f)
{
	c->kind = LEDGER_SKIP;
	if (request_words_place(c, o->argument[0], f) != FAIL_NONE ||
	    request_words_range(c, o->argument[1], f) != FAIL_NONE ||
	    choose_partition(c, last, f) != FAIL_NONE)
		return f->code;
	return request_words_name(c, a->id, "skip", f);
}

static enum fail_code
name_requests(struct control *c, size_t n, const struct arguments *a, struct failure *f)
{
	char base[REQUEST_ID_BYTES];

	if (a->id == NULL && request_new_id(base, "skip", f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++) {
		char id[256];

		snprintf(id, sizeof(id), "%.200s-%zu", a->id == NULL ? base : a->id, i);
		if (request_words_name(&c[i], id, "", f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Gives *c, [*n] (skip_step_free). */
static enum fail_code
make_requests(struct control **c, size_t *n, const struct arguments *a, const struct options *o,
    const struct ledger *last, const struct config *config, struct failure *f)
{
	bool by_lane = options_given(o, &cmd_skip, "lane");
	bool timed = options_given(o, &cmd_skip, "at-step");

	if (options_given(o, &cmd_skip, "step")) {
		if (skip_step_requests(c, n, a->mix, config, a->step,
			by_lane ? (int64_t)a->lane : -1, f) != FAIL_NONE ||
		    name_requests(*c, *n, a, f) != FAIL_NONE)
			return f->code;
	} else {
		*c = calloc(1, sizeof(**c));
		*n = 1;
		if (*c == NULL)
			return fail_memory(f);
		if (range_request(*c, a, o, last, f) != FAIL_NONE)
			return f->code;
	}
	for (size_t i = 0; i < *n; i++)
		(*c)[i].at_step = timed ? (int64_t)a->at_step : -1;
	return FAIL_NONE;
}

static enum fail_code
check_arguments(const struct options *o, struct failure *f)
{
	bool step = options_given(o, &cmd_skip, "step");

	if (step ? o->arguments_n != 0 : o->arguments_n != 2)
		return fail(f, FAIL_USAGE,
		    "which sequences? give DOMAIN[/PARTITION] and a..b, or --step S");
	if (!step && options_given(o, &cmd_skip, "lane"))
		return fail(f, FAIL_USAGE, "--lane goes with --step");
	return FAIL_NONE;
}

static enum fail_code
skip(struct request *r, const struct arguments *a, const struct options *o,
    const struct config *config, struct failure *f)
{
	struct request_how how = {.config = config,
	    .dry_run = a->dry_run,
	    .json = a->json,
	    .timeout_ms = (int)a->timeout_s * 1000};
	struct control *c = NULL;
	size_t n = 0;
	enum fail_code code = make_requests(&c, &n, a, o, request_ledger(r), config, f);

	if (code == FAIL_NONE)
		code = request_print(r, c, n, &how, f);
	skip_step_free(c, n);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {.timeout_s = 30};
	struct request_options with = {.stop = signals_stop()};
	struct request *request = NULL;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_skip, argc, argv, &a, f) != FAIL_NONE ||
	    check_arguments(&o, f) != FAIL_NONE ||
	    options_mix_config(&c, &a.mix, &o, f) != FAIL_NONE)
		return f->code;
	with.mix = a.mix;
	with.properties = &c->kafka;
	code = request_open(&request, &with, f);
	if (code == FAIL_NONE)
		code = skip(request, &a, &o, c, f);
	request_close(request);
	config_close(c);
	return code;
}

const struct command cmd_skip = {
    .name = "skip",
    .summary = "keep sequences out of every later draw of a running mix",
    .usage = "-c FILE | --mix NAME  DOMAIN[/PARTITION] A..B | --step S [--lane L]  [OPTION...]",
    .help =
	"Asks the mixer, as `riffle weights` does, to pass over the ordinals from A on, below B:\n"
	"in this epoch and all later ones another sequence of the domain is drawn instead. With\n"
	"--step all sequences of that step are looked up in the batch topic: the remedy for a\n"
	"spike of the loss. `riffle inspect` shows which those are. The ledger keeps at most\n"
	"4,096 ranges. Exit 1: refused, or no answer in time.",
    .example = "riffle skip -c run.yml web 120000..120512\n"
	       "riffle skip -c run.yml --step 48210\n"
	       "riffle skip --mix pretrain code/3 7..8 --dry-run",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = 2,
    .run = run,
};
