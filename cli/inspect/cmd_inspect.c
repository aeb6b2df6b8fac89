/*
 * riffle inspect: which documents a step held.
 *
 * Seeks the step in the batch topic (step_records.h), decodes the record of each lane, or of one,
 * and prints it (inspect_output.h). It joins no group and reads no tokens.
 */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/inspect/inspect_output.h"
#include "common/base/limits.h"
#include "common/base/scalar.h"
#include "consumer/batches/step_records.h"
#include "consumer/ledger/ledger_log.h"

enum { ASK_MS = 15000 };

struct arguments {
	const char *mix;
	bool json;
	uint64_t step;
	bool one_lane;
	uint64_t lane;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_inspect. */
static const struct option_row rows[] = {
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "json",
	.kind = OPTION_FLAG,
	.at = AT(json),
	.help = "one JSON object; its keys are stable"},
};

static enum fail_code
parse_words(struct arguments *a, const struct options *o, struct failure *f)
{
	if (scalar_count(o->argument[0], 0, INT64_MAX / 2, &a->step) != SCALAR_OK)
		return fail(f, FAIL_USAGE, "STEP: not a step: %s", o->argument[0]);
	a->one_lane = o->arguments_n > 1;
	if (a->one_lane && scalar_count(o->argument[1], 0, LIMIT_LANES - 1, &a->lane) != SCALAR_OK)
		return fail(f, FAIL_USAGE, "LANE: not a lane: %s (0 to %d)", o->argument[1],
		    LIMIT_LANES - 1);
	return FAIL_NONE;
}

/*
 * Nothing came in time for the step. The batch topic alone cannot tell whether it is still to come:
 * the ledger can. Replaces *f by a sentence with the mix's next step; where the ledger cannot be
 * read, *f stays as it is.
 */
static enum fail_code
fail_not_yet(const struct arguments *a, const struct config *c, struct failure *f)
{
	struct ledger last = {0};
	struct ledger_log *log;
	struct failure ignored;
	bool any = false;

	if (ledger_log_open(&log, a->mix, &c->kafka, ASK_MS, &ignored) != FAIL_NONE)
		return f->code;
	if (ledger_log_last(log, &last, &any, &ignored) == FAIL_NONE)
		fail(f, FAIL_DATA,
		    "step %" PRIu64
		    " of mix %s is not published yet: the mix stands at step %" PRId64,
		    a->step, a->mix, last.step_next);
	ledger_clear(&last);
	ledger_log_close(log);
	return f->code;
}

static enum fail_code
print_lanes(const struct arguments *a, struct step_records *r, const struct step_record *record,
    struct inspect_output *out, struct failure *f)
{
	assert(!a->one_lane || a->lane < step_records_lanes(r));
	for (uint32_t i = 0; i < step_records_lanes(r); i++) {
		struct batch_view view;

		if (a->one_lane && i != a->lane)
			continue;
		if (record[i].last)
			return fail(f, FAIL_DATA,
			    "mix %s has ended before step %" PRIu64 "; there is no such step",
			    a->mix, a->step);
		if (batch_decode(&view, record[i].bytes, record[i].n, f) != FAIL_NONE ||
		    inspect_output_lane(out, &view, f) != FAIL_NONE)
			return fail_within(f, "topic %s, lane %" PRIu32 ", offset %" PRId64,
			    step_records_topic(r), i, record[i].offset);
	}
	return inspect_output_end(out, f);
}

/* The step is read on all lanes even for one: its records are found together (step_records.h). */
static enum fail_code
inspect(const struct arguments *a, const struct config *c, struct step_records *r,
    struct inspect_output *out, struct failure *f)
{
	uint32_t lanes = step_records_lanes(r);
	struct step_record *record;
	enum fail_code code;

	if (a->one_lane && a->lane >= lanes)
		return fail(f, FAIL_USAGE,
		    "LANE: out of range: %" PRIu64 " (mix %s has %" PRIu32 ")", a->lane, a->mix,
		    lanes);
	record = calloc(lanes, sizeof(*record));
	if (record == NULL)
		return fail_memory(f);
	code = step_records_seek(r, a->step, f);
	if (code == FAIL_NONE)
		code = step_records_next(r, 0, record, f);
	if (code == FAIL_TIMEOUT)
		code = fail_not_yet(a, c, f);
	if (code == FAIL_NONE)
		code = print_lanes(a, r, record, out, f);
	free(record);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct inspect_output *out = NULL;
	struct step_records *records = NULL;
	struct arguments a = {0};
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_inspect, argc, argv, &a, f) != FAIL_NONE ||
	    parse_words(&a, &o, f) != FAIL_NONE ||
	    options_mix_config(&c, &a.mix, &o, f) != FAIL_NONE)
		return f->code;
	code = inspect_output_open(&out, stdout, a.json, f);
	if (code == FAIL_NONE)
		code = step_records_open(&records, a.mix, &c->kafka, ASK_MS, f);
	if (code == FAIL_NONE)
		code = inspect(&a, c, records, out, f);
	step_records_close(records);
	inspect_output_close(out);
	config_close(c);
	return code;
}

const struct command cmd_inspect = {
    .name = "inspect",
    .summary = "show which documents a step held",
    .usage = "-c FILE | --mix NAME  STEP [LANE] [--json]",
    .help = "Prints a line for each document of each sequence of the step, tabs between: lane and\n"
	    "slot in the lane; domain, partition, ordinal and epoch of the sequence; first token\n"
	    "and number of tokens of the document in it; source file, index of the document in\n"
	    "its input, and which token of the document comes first. Reads no tokens, so that it\n"
	    "works on sequences that a trainer cannot decode. Exit 1: the step is not published\n"
	    "yet, or not kept any more.",
    .example = "riffle inspect -c run.yml 1200\nriffle inspect --mix pretrain 1200 3 --json",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_min = 1,
    .arguments_max = 2,
    .run = run,
};
