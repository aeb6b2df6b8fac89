/* riffle read: a trainer without the training. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/read/read_loop.h"
#include "cli/read/read_set.h"
#include "cli/signals.h"
#include "common/base/limits.h"
#include "common/base/names.h"

struct arguments {
	const char *mix, *run, *domain;
	uint32_t rank, world, timeout_s;
	uint64_t from_step, steps, commit_every;
	enum read_format format;
	enum names_set set;
};

#define AT(field) offsetof(struct arguments, field)

/* As names_set_text, which does not end with NULL. */
static const char *const sets[] = {
    [SET_TRAIN] = "train", [SET_VALID] = "valid", [SET_TEST] = "test", NULL};

static const struct option_row rows[] = {
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "rank",
	.kind = OPTION_COUNT32,
	.at = AT(rank),
	.max = LIMIT_LANES - 1,
	.value = "R",
	.help = "this reader's rank, from 0"},
    {.name = "world",
	.kind = OPTION_COUNT32,
	.at = AT(world),
	.min = 1,
	.max = LIMIT_LANES,
	.value = "W",
	.help = "ranks of the training run; divides the lanes of the mix"},
    {.name = "run",
	.kind = OPTION_TEXT,
	.at = AT(run),
	.value = "NAME",
	.help = "name of the training run: commits go to the group MIX.NAME"},
    {.name = "from-step",
	.kind = OPTION_COUNT,
	.at = AT(from_step),
	.max = INT64_MAX / 2,
	.value = "S",
	.help = "first step; without it the run's committed one, or 0 where there is none"},
    {.name = "steps",
	.kind = OPTION_COUNT,
	.at = AT(steps),
	.value = "N",
	.help = "read N steps, then end; without it to the end of the mix"},
    {.name = "commit-every",
	.kind = OPTION_COUNT,
	.at = AT(commit_every),
	.min = 1,
	.value = "K",
	.help = "commit the position every K steps, and at the end of the mix (more often where "
		"the mix's lead asks for it); without it nothing is committed"},
    {.name = "format",
	.kind = OPTION_CHOICE,
	.at = AT(format),
	.choice = read_format_text,
	.value = "FORM",
	.help = "steps: a line a lane; jsonl: an object a sequence; tokens: little-endian u32; "
		"none: read, check and decode only, and print the rate"},
    {.name = "set",
	.kind = OPTION_CHOICE,
	.at = AT(set),
	.choice = sets,
	.value = "SET",
	.help = "no mix, but a set of the domain that --domain names, once, in order: valid, test "
		"or train"},
    {.name = "domain",
	.kind = OPTION_TEXT,
	.at = AT(domain),
	.value = "D",
	.help = "with --set: whose set"},
    {.name = "timeout",
	.kind = OPTION_COUNT32,
	.at = AT(timeout_s),
	.max = 86400,
	.value = "SECONDS",
	.help = "fail where a step does not come within this time; 0: wait for ever"},
};

static enum fail_code
load_config(struct config **c, struct arguments *a, const struct options *o, struct failure *f)
{
	if (a->rank >= a->world)
		return fail(f, FAIL_USAGE,
		    "--rank: out of range: %" PRIu32 " (0 to %" PRIu32 ", as --world is %" PRIu32
		    ")",
		    a->rank, a->world - 1, a->world);
	return options_mix_config(c, &a->mix, o, f);
}

/* The properties of `c` as the library takes them. Gives the array (free); NULL: no memory. */
static struct riffle_property *
properties_of(const struct config *c)
{
	struct riffle_property *list = calloc(c->kafka.n + 1, sizeof(*list));

	for (size_t i = 0; list != NULL && i < c->kafka.n; i++)
		list[i] = (struct riffle_property){c->kafka.item[i].name, c->kafka.item[i].value};
	return list;
}

static enum fail_code
read_with(const struct arguments *a, const struct config *c, bool from_step, struct failure *f)
{
	struct riffle_property *properties = properties_of(c);
	struct riffle_options reader = {
	    .mix = a->mix,
	    .run = a->run,
	    .rank = a->rank,
	    .world = a->world,
	    .start = from_step ? RIFFLE_START_STEP : RIFFLE_START_COMMITTED,
	    .step = a->from_step,
	    .token_bytes = sizeof(uint32_t),
	    .properties = properties,
	    .properties_n = c->kafka.n,
	    .commit_every = a->commit_every,
	};
	struct read_plan plan = {
	    .format = a->format,
	    .steps = a->steps,
	    .commit_every = a->commit_every,
	    .timeout_s = a->timeout_s,
	    .lanes = a->mix == c->mix.name ? c->mix.lanes : 0,
	    .stop = signals_stop(),
	    .reader = &reader,
	};
	enum fail_code code;

	if (properties == NULL)
		return fail_memory(f);
	code = read_loop(&plan, stdout, f);
	free(properties);
	return code;
}

static enum fail_code
check_set(const struct arguments *a, const struct options *o, struct failure *f)
{
	static const char *const others[] = {
	    "mix", "rank", "world", "run", "from-step", "commit-every"};

	if (a->domain == NULL || !names_valid(a->domain))
		return fail(f, FAIL_USAGE, "--set: which domain? give --domain NAME");
	if (o->config == NULL)
		return fail(f, FAIL_USAGE, "--set: which corpus? give -c FILE");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (options_given(o, &cmd_read, others[i]))
			return fail(f, FAIL_USAGE, "--%s is for a mix, not for a --set", others[i]);
	return FAIL_NONE;
}

static enum fail_code
read_held_out(const struct arguments *a, const struct options *o, struct failure *f)
{
	struct riffle_validation_options set = {
	    .domain = a->domain,
	    .set = names_set_text[a->set],
	    .sequences = READ_SET_SEQUENCES,
	    .token_bytes = sizeof(uint32_t),
	};
	struct read_set_plan plan = {
	    .format = a->format,
	    .steps = a->steps,
	    .timeout_s = a->timeout_s,
	    .stop = signals_stop(),
	    .set = &set,
	};
	struct riffle_property *properties = NULL;
	struct config *c = NULL;
	enum fail_code code = check_set(a, o, f);

	if (code == FAIL_NONE)
		code = options_config(&c, o, f);
	if (code == FAIL_NONE && config_domain_index(c, a->domain) < 0)
		code = fail(f, FAIL_CONFIG, "--domain: %s has no domain %s", c->path, a->domain);
	if (code == FAIL_NONE && (properties = properties_of(c)) == NULL)
		code = fail_memory(f);
	if (code == FAIL_NONE) {
		set.corpus = c->corpus;
		set.properties = properties;
		set.properties_n = c->kafka.n;
		code = read_set(&plan, stdout, f);
	}
	free(properties);
	config_close(c);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {.world = 1, .run = "trainers", .steps = UINT64_MAX};
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_read, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (options_given(&o, &cmd_read, "set"))
		return read_held_out(&a, &o, f);
	if (a.domain != NULL)
		return fail(f, FAIL_USAGE, "--domain is for --set");
	code = load_config(&c, &a, &o, f);
	if (code == FAIL_NONE)
		code = read_with(&a, c, options_given(&o, &cmd_read, "from-step"), f);
	config_close(c);
	return code;
}

const struct command cmd_read = {
    .name = "read",
    .summary = "read a mix as a trainer does",
    .usage = "-c FILE | --mix NAME [--rank R --world W] [OPTION...]\n"
	     "       riffle read -c FILE --set valid|test|train --domain D [OPTION...]",
    .help = "Reads the lanes of one rank of a training run, whole steps in order, checks every "
	    "record and prints what it has read; a step is printed before it is committed. "
	    "SIGTERM or SIGINT ends it after the step at hand with 0. Exit 1: the broker, a "
	    "record or the order of steps is wrong, or a step did not come in time.",
    .example = "riffle read -c run.yml --rank 0 --world 2 --commit-every 10\n"
	       "riffle read --mix pretrain -X bootstrap.servers=localhost:9092 --from-step 100 "
	       "--steps 1 --format jsonl",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
