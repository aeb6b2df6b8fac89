/*
 * riffle inspect: which documents a step held; --document: which steps held a document
 * (inspect_document.h); --from-time: which step a time leads to (inspect_time.h).
 *
 * Takes the step's records (published_step.h), decodes that of each lane, or of one, and prints it
 * (inspect_output.h). It joins no group.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/inspect/inspect_document.h"
#include "cli/inspect/inspect_lines.h"
#include "cli/inspect/inspect_output.h"
#include "cli/inspect/inspect_time.h"
#include "common/base/limits.h"
#include "common/base/scalar.h"
#include "consumer/replay/published_step.h"
#include "producer/produce/produce.h"
#include "producer/tokenizer/tokenizer.h"

struct arguments {
	const char *mix;
	bool json, text, ids, plan;
	const char *document, *time, *domain;
	struct option_range steps;
	uint64_t step;
	bool one_lane;
	uint64_t lane;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_inspect. */
static const struct option_row rows[] = {
    {.name = "document",
	.kind = OPTION_TEXT,
	.at = AT(document),
	.value = "WHAT",
	.help =
	    "instead of STEP: FILE, FILE:LINE or DOMAIN/PARTITION/ORDINAL; which steps held it"},
    {.name = "plan",
	.kind = OPTION_FLAG,
	.at = AT(plan),
	.help =
	    "with --document: and which steps to come will, by the weights and requests of now; "
	    "without --steps up to the next draw of each sequence"},
    {.name = "steps",
	.kind = OPTION_RANGE,
	.at = AT(steps),
	.value = "A..B",
	.without = "all",
	.help = "with --document: of the steps from A on, below B"},
    {.name = "from-time",
	.kind = OPTION_TEXT,
	.at = AT(time),
	.value = "T",
	.help = "instead of STEP: the first step that holds what a live domain got at T or "
		"later: " INSPECT_TIME_FORMS},
    {.name = "domain",
	.kind = OPTION_TEXT,
	.at = AT(domain),
	.value = "D",
	.help = "with --from-time: the live domain, where the mix has several"},
    {.name = "text",
	.kind = OPTION_FLAG,
	.at = AT(text),
	.help = "the text of each document in the sequence, by the tokenizer of the configuration"},
    {.name = "tokens",
	.kind = OPTION_FLAG,
	.at = AT(ids),
	.help = "the token ids of each document"},
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "json",
	.kind = OPTION_FLAG,
	.at = AT(json),
	.help = "one JSON object; its keys are stable"},
};

static enum fail_code
parse_words(struct arguments *a, const struct options *o, struct failure *f)
{
	if (a->time != NULL && (a->document != NULL || o->arguments_n > 0 || a->text || a->ids ||
				   a->plan || options_given(o, &cmd_inspect, "steps")))
		return fail(f, FAIL_USAGE,
		    "--from-time: goes without STEP, --document, --plan, --steps, --text and "
		    "--tokens");
	if (a->domain != NULL && a->time == NULL)
		return fail(f, FAIL_USAGE, "--domain: only with --from-time");
	if (a->time != NULL)
		return FAIL_NONE;
	if (a->document != NULL && (o->arguments_n > 0 || a->text || a->ids))
		return fail(f, FAIL_USAGE, "--document: goes without STEP, --text and --tokens");
	if (!options_given(o, &cmd_inspect, "steps"))
		a->steps = (struct option_range){0, UINT64_MAX};
	else if (a->document == NULL || a->steps.first >= a->steps.end)
		return fail(f, FAIL_USAGE,
		    a->document == NULL ? "--steps: only with --document"
					: "--steps: holds no step");
	if (a->document != NULL)
		return FAIL_NONE;
	if (a->plan)
		return fail(f, FAIL_USAGE, "--plan: only with --document");
	if (o->arguments_n == 0)
		return fail(f, FAIL_USAGE, "which STEP? or --document FILE[:LINE]");
	if (scalar_count(o->argument[0], 0, INT64_MAX / 2, &a->step) != SCALAR_OK)
		return fail(f, FAIL_USAGE, "STEP: not a step: %s", o->argument[0]);
	a->one_lane = o->arguments_n > 1;
	if (a->one_lane && scalar_count(o->argument[1], 0, LIMIT_LANES - 1, &a->lane) != SCALAR_OK)
		return fail(f, FAIL_USAGE, "LANE: not a lane: %s (0 to %d)", o->argument[1],
		    LIMIT_LANES - 1);
	return FAIL_NONE;
}

/* The tokenizer of the configuration; whether the step was made with it is for who prints it. */
static enum fail_code
open_tokenizer(
    struct tokenizer **out, const struct options *o, const struct config *c, struct failure *f)
{
	if (o->config == NULL)
		return fail(
		    f, FAIL_USAGE, "--text: the configuration names the tokenizer: add -c FILE");
	return produce_open_tokenizer(out, c, f);
}

static enum fail_code
inspect_step(
    const struct arguments *a, const struct config *c, const struct tokenizer *t, struct failure *f)
{
	struct published_step step;
	struct inspect_lines *lines = NULL;
	struct inspect_output *out = NULL;
	struct inspect_output_options o = {.to = stdout, .json = a->json, .ids = a->ids, .text = t};
	int64_t lane = a->one_lane ? (int64_t)a->lane : -1;
	enum fail_code code = published_step_open(&step, a->mix, c, a->step, f);

	if (code == FAIL_NONE && a->one_lane && a->lane >= step.lanes)
		code =
		    fail(f, FAIL_USAGE, "LANE: out of range: %" PRIu64 " (mix %s has %" PRIu32 ")",
			a->lane, a->mix, step.lanes);
	if (code == FAIL_NONE)
		code = inspect_lines_open(&lines, a->mix, c, &step, lane, f);
	o.lines = lines;
	o.derived = step.derived;
	if (code == FAIL_NONE)
		code = inspect_output_open(&out, &o, f);
	if (code == FAIL_NONE)
		code = inspect_output_step(out, &step, lane, f);
	inspect_output_close(out);
	inspect_lines_close(lines);
	published_step_close(&step);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct tokenizer *tokenizer = NULL;
	struct arguments a = {0};
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_inspect, argc, argv, &a, f) != FAIL_NONE ||
	    parse_words(&a, &o, f) != FAIL_NONE ||
	    options_mix_config(&c, &a.mix, &o, f) != FAIL_NONE)
		return f->code;
	if (a.time != NULL) {
		code = inspect_time(a.mix, c, a.time, a.domain, a.json, f);
		config_close(c);
		return code;
	}
	if (a.document != NULL) {
		const struct inspect_document_options d = {.mix = a.mix,
		    .what = a.document,
		    .config = c,
		    .first = a.steps.first,
		    .end = a.steps.end,
		    .plan = a.plan,
		    .json = a.json};

		code = inspect_document(&d, f);
		config_close(c);
		return code;
	}
	code = a.text ? open_tokenizer(&tokenizer, &o, c, f) : FAIL_NONE;
	if (code == FAIL_NONE)
		code = inspect_step(&a, c, tokenizer, f);
	tokenizer_close(tokenizer);
	config_close(c);
	return code;
}

const struct command cmd_inspect = {
    .name = "inspect",
    .summary = "show which documents a step held",
    .usage = "-c FILE | --mix NAME  STEP [LANE] [--text] [--tokens] [--json]\n"
	     "-c FILE | --mix NAME  --document WHAT [--plan] [--steps A..B] [--json]\n"
	     "-c FILE | --mix NAME  --from-time T [--domain D] [--json]",
    .help =
	"Prints a line for each document of each sequence of the step, tabs between: lane and slot "
	"in the lane; domain, partition, ordinal and epoch of the sequence; first token and number "
	"of tokens of the document in it; source file, index of the document in its input (over "
	"all files), which token of the document comes first, its line in the file (~17 is line 17 "
	"unless there are blank lines, - is not known), and what the configuration keeps of it "
	"(`keep`; - is nothing). The lines come from the domain "
	"logs. Without --text and --tokens it reads no token, so that it works on sequences that a "
	"trainer cannot decode. Where `riffle retain` has deleted the step, it is derived from "
	"ledger and domain logs.\n\n"
	"--document is the other way: every step, lane, slot and epoch in which a sequence was "
	"drawn, and with --plan will be, calculated from ledger and schedule. A FILE, by the end "
	"of "
	"its path, is looked for in all domain logs, which are read once; "
	"DOMAIN/PARTITION/ORDINAL names a sequence itself.\n\n"
	"--from-time says at which step a trainer starts that wants what a live domain got from "
	"then on: by the time at which its producer published a sequence, which --json shows with "
	"each. A time of the record's own is shown where it is kept. Exit 1: the step is not "
	"published yet, or nothing holds the line or the sequence. Exit 2: the mix has no such "
	"domain, or no sequence from such a file.",
    .example = "riffle inspect -c run.yml 1200\n"
	       "riffle inspect -c run.yml 1200 3 --text\n"
	       "riffle inspect --mix pretrain 1200 3 --json\n"
	       "riffle inspect -c run.yml --document data/code.1.jsonl:4711 --plan\n"
	       "riffle inspect -c run.yml --document web/0/120512\n"
	       "riffle inspect -c run.yml --from-time 2026-01-31T10:30:00Z",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = 2,
    .run = run,
};
