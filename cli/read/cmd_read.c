/* riffle read: a trainer without the training. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/inspect/inspect_time.h"
#include "cli/metrics/metrics_listener.h"
#include "cli/read/read_pipe.h"
#include "cli/read/read_steps.h"
#include "cli/signals.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/scalar.h"
#include "consumer/replay/time_step.h"

#define AT(field) offsetof(struct read_steps_arguments, field)

/* As names_set_text, which does not end with NULL. */
static const char *const sets[] = {
    [SET_TRAIN] = "train", [SET_VALID] = "valid", [SET_TEST] = "test", NULL};

static const struct read_steps_arguments defaults = {
    .world = 1, .run = "trainers", .steps = UINT64_MAX};

static const struct option_row rows[] = {
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "rank",
	.kind = OPTION_COUNT32,
	.at = AT(rank),
	.max = LIMIT_LANES - 1,
	.value = "R",
	.without = "0",
	.help = "this reader's rank, from 0"},
    {.name = "world",
	.kind = OPTION_COUNT32,
	.at = AT(world),
	.min = 1,
	.max = LIMIT_LANES,
	.value = "W",
	.help = "ranks of the training run; divides the lanes of the mix"},
    {.name = "uneven",
	.kind = OPTION_FLAG,
	.at = AT(uneven),
	.help = "--world need not divide the lanes: ranks differ by one lane"},
    {.name = "run",
	.kind = OPTION_TEXT,
	.at = AT(run),
	.value = "NAME",
	.help = "name of the training run; its commits are those of group MIX.NAME"},
    {.name = "from-step",
	.kind = OPTION_COUNT,
	.at = AT(from_step),
	.max = INT64_MAX / 2,
	.value = "S",
	.without = "the one that the run has committed, else 0",
	.help = "first step"},
    {.name = "from-time",
	.kind = OPTION_TEXT,
	.at = AT(time),
	.value = "T",
	.help =
	    "the first step that holds what a live domain got at T or later: " INSPECT_TIME_FORMS},
    {.name = "steps",
	.kind = OPTION_COUNT,
	.at = AT(steps),
	.value = "N",
	.without = "to the end of the mix",
	.help = "read N steps, then end"},
    {.name = "commit-every",
	.kind = OPTION_COUNT,
	.at = AT(commit_every),
	.min = 1,
	.value = "K",
	.without = "commit nothing",
	.help = "commit the position every K steps, more often where the mix's lead requires it, "
		"and at the end"},
    {.name = "format",
	.kind = OPTION_CHOICE,
	.at = AT(format),
	.choice = read_output_format_text,
	.value = "FORM",
	.help = "steps: a line a lane; jsonl: an object a sequence, with its documents; tokens: "
		"little-endian u32; "
		"none: read, check and decode only, and print the rate"},
    {.name = "set",
	.kind = OPTION_CHOICE,
	.at = AT(set),
	.choice = sets,
	.value = "SET",
	.without = "a mix",
	.help = "read a set of the domain that --domain names, once and in order, not a mix"},
    {.name = "domain",
	.kind = OPTION_TEXT,
	.at = AT(domain),
	.value = "D",
	.help =
	    "with --set: the domain; with --from-time: the live domain, where the mix has several"},
    {.name = "timeout",
	.kind = OPTION_COUNT32,
	.at = AT(timeout_s),
	.max = 86400,
	.value = "SECONDS",
	.without = "0",
	.help = "fail where a step does not come within this time; 0: wait without a limit"},
    METRICS_LISTENER_ROWS(AT(metrics)),
};

/* Loads the configuration for a mix: of -c, or bare where --mix names the mix. */
static enum fail_code
load_for_mix(
    struct config **out, struct read_steps_arguments *a, const struct options *o, struct failure *f)
{
	if (a->domain != NULL && a->time == NULL)
		return fail(f, FAIL_USAGE, "--domain is for --set and --from-time");
	if (a->time != NULL && a->from_step_given)
		return fail(f, FAIL_USAGE, "--from-step or --from-time, not both");
	if (a->world > 1 && !options_given(o, &cmd_read, "rank"))
		return fail(f, FAIL_USAGE,
		    "--world %" PRIu32 ": which of them is this? give --rank", a->world);
	if (a->rank > 0 && !options_given(o, &cmd_read, "world"))
		return fail(
		    f, FAIL_USAGE, "--rank %" PRIu32 ": of how many? give --world", a->rank);
	if (a->rank >= a->world)
		return fail(f, FAIL_USAGE,
		    "--rank: out of range: %" PRIu32 " (0 to %" PRIu32 ", as --world is %" PRIu32
		    ")",
		    a->rank, a->world - 1, a->world);
	return options_mix_config(out, &a->mix, o, f);
}

/* The same for a set: without options of a mix, and with a domain that the file has. */
static enum fail_code
load_for_set(struct config **out, const struct read_steps_arguments *a, const struct options *o,
    struct failure *f)
{
	static const char *const others[] = {"mix", "rank", "world", "uneven", "run", "from-step",
	    "from-time", "commit-every", "metrics", "metrics-token-file"};
	size_t ignored;

	if (a->domain == NULL || !names_valid(a->domain))
		return fail(f, FAIL_USAGE, "--set: which domain? give --domain NAME");
	if (o->config == NULL)
		return fail(f, FAIL_USAGE, "--set: which corpus? give -c FILE");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (options_given(o, &cmd_read, others[i]))
			return fail(f, FAIL_USAGE, "--%s is for a mix, not for a --set", others[i]);
	if (options_config(out, o, f) != FAIL_NONE)
		return f->code;
	if (config_find_domain(&ignored, *out, a->domain, f) != FAIL_NONE)
		return fail_within(f, "--domain");
	return FAIL_NONE;
}

/* --from-time as --from-step. */
static enum fail_code
find_step(struct read_steps_arguments *a, const struct config *c, struct failure *f)
{
	struct time_step_options o = {
	    .config = c, .mix = a->mix, .domain = a->domain, .stop = signals_stop()};
	struct time_step found;

	if (scalar_moment(a->time, &o.time_ms) != SCALAR_OK)
		return fail(
		    f, FAIL_USAGE, "--from-time: \"%s\" is no time: " INSPECT_TIME_FORMS, a->time);
	if (time_step_find(&found, &o, f) != FAIL_NONE)
		return fail_within(f, "--from-time");
	if (found.drawn)
		log_info("read: step=%" PRIu64 " is the first one that holds what domain=%s got at "
			 "%s or later: partition=%" PRIu32 " ordinal=%" PRIu64,
		    found.step, found.domain, a->time, found.partition, found.ordinal);
	else
		log_info("read: nothing that domain=%s got at %s or later is drawn yet: "
			 "step=%" PRIu64 " is the next one",
		    found.domain, a->time, found.step);
	a->from_step = found.step;
	a->from_step_given = true;
	return FAIL_NONE;
}

static enum fail_code
read_to_stdout(
    const struct read_steps_arguments *a, const struct config *c, bool set, struct failure *f)
{
	const struct stop *stop = signals_stop();
	FILE *to = read_pipe_open(STDOUT_FILENO, stop);
	enum fail_code code;

	if (to == NULL)
		return fail_memory(f);
	code = set ? read_steps_set(a, c, stop, to, f) : read_steps_mix(a, c, stop, to, f);
	fclose(to); /* every step was flushed, or its failure is reported */
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct read_steps_arguments a = defaults;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;
	bool set;

	if (options_parse(&o, &cmd_read, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	set = options_given(&o, &cmd_read, "set");
	a.from_step_given = options_given(&o, &cmd_read, "from-step");
	code = set ? load_for_set(&c, &a, &o, f) : load_for_mix(&c, &a, &o, f);
	if (code == FAIL_NONE && !set && a.time != NULL)
		code = find_step(&a, c, f);
	if (code == FAIL_NONE)
		code = read_to_stdout(&a, c, set, f);
	config_close(c);
	return code;
}

const struct command cmd_read = {
    .name = "read",
    .summary = "read a mix as a trainer does",
    .usage = "-c FILE | --mix NAME [--rank R --world W] [OPTION...]\n"
	     "-c FILE --set valid|test|train --domain D [OPTION...]",
    .help = "Reads the lanes of one rank of a training run, whole steps in order, checks every "
	    "record and prints what it has read; a step is printed before it is committed. "
	    "--from-time takes the time at which the producer of a live domain published a "
	    "sequence, and reads domain topic and ledger. "
	    "SIGTERM or SIGINT ends it with 0 after the present step. Exit 1: the broker failed, a "
	    "record or the order of steps is wrong, or a step did not come in time.",
    .example = "riffle read -c run.yml --rank 0 --world 2 --commit-every 10\n"
	       "riffle read --mix pretrain -X bootstrap.servers=localhost:9092 --from-step 100 "
	       "--steps 1 --format jsonl",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
