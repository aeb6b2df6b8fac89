/* riffle replay: derives steps again and compares them with the batch topic. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/signals.h"
#include "common/base/names.h"
#include "consumer/replay/replay.h"

struct arguments {
	const char *mix;
	struct option_range steps;
	const char *republish;
	bool derive_only;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "steps",
	.kind = OPTION_RANGE,
	.at = AT(steps),
	.value = "A..B",
	.help = "required: the steps from A on, below B"},
    {.name = "republish",
	.kind = OPTION_TEXT,
	.at = AT(republish),
	.value = "MIX",
	.help =
	    "write these steps to another mix: to its batch topic, with its name, and to its "
	    "ledger, which ends with them. Creates topics that are missing, and continues a mix "
	    "that holds a part of the steps"},
    {.name = "derive-only",
	.kind = OPTION_FLAG,
	.at = AT(derive_only),
	.help = "with --republish: compare with the ledger alone, where the batch topic lacks some "
		"of these steps"},
    OPTIONS_MIX_ROW(AT(mix)),
};

static void
print(const struct replay_options *o, const struct replay_result *r)
{
	const char *mix = o->config->mix.name;

	if (r->complete) {
		printf("mix %s holds steps %" PRIu64 "..%" PRIu64 " already: nothing was written\n",
		    o->republish, o->first, o->end);
		return;
	}
	if (r->records > 0 || o->derive_only)
		printf("replayed steps %" PRIu64 "..%" PRIu64 " of mix %s: %" PRIu64
		       " records, %" PRIu64 " bytes, all equal\n",
		    o->first, o->end, mix, r->records, r->bytes);
	else
		printf("replayed steps %" PRIu64 "..%" PRIu64
		       " of mix %s%s: the ledger agrees with each\n",
		    o->first, o->end, mix, r->no_copies ? ", which has no copies" : "");
	if (!r->no_copies && r->steps < o->end - o->first)
		printf("of %" PRIu64 " steps %" PRIu64 " %s: derived, not compared%s\n",
		    o->end - o->first, o->end - o->first - r->steps,
		    o->derive_only ? "were compared with the ledger alone"
				   : "are not in the batch topic any more",
		    o->derive_only ? "" : " but with the ledger");
	if (o->republish != NULL)
		printf("wrote %" PRIu64 " steps to mix %s, and its end at step %" PRIu64 "\n",
		    r->republished, o->republish, o->end);
}

static enum fail_code
check_arguments(const struct arguments *a, const struct options *o, struct failure *f)
{
	if (!options_given(o, &cmd_replay, "steps"))
		return fail(f, FAIL_USAGE, "--steps A..B is needed: which steps to replay");
	if (a->steps.first >= a->steps.end)
		return fail(f, FAIL_USAGE, "--steps: %" PRIu64 "..%" PRIu64 " holds no step",
		    a->steps.first, a->steps.end);
	if (a->steps.end > INT64_MAX / 2)
		return fail(f, FAIL_USAGE, "--steps: %" PRIu64 " is out of range", a->steps.end);
	if (a->derive_only && a->republish == NULL)
		return fail(f, FAIL_USAGE, "--derive-only: only with --republish MIX");
	if (a->republish != NULL && o->config == NULL)
		return fail(f, FAIL_USAGE,
		    "--republish: needs the configuration, for the topics of the other mix: add -c "
		    "FILE");
	if (a->republish != NULL && !names_valid(a->republish))
		return fail(
		    f, FAIL_USAGE, "--republish: \"%s\" is not a name of a mix", a->republish);
	return FAIL_NONE;
}

static enum fail_code
work(const struct config *c, const struct arguments *a, struct failure *f)
{
	struct replay_result result;
	struct replay_options r = {
	    .config = c,
	    .first = a->steps.first,
	    .end = a->steps.end,
	    .republish = a->republish,
	    .derive_only = a->derive_only,
	    .stop = signals_stop(),
	};

	if (replay(&r, &result, f) != FAIL_NONE)
		return f->code;
	print(&r, &result);
	return FAIL_NONE;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_replay, argc, argv, &a, f) != FAIL_NONE ||
	    check_arguments(&a, &o, f) != FAIL_NONE ||
	    options_config_of_mix(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	code = work(c, &a, f);
	config_close(c);
	return code;
}

const struct command cmd_replay = {
    .name = "replay",
    .summary = "derive steps again and compare them with the batch topic",
    .usage = "-c FILE | --mix NAME  --steps A..B [--republish MIX [--derive-only]]",
    .help = "Derives the steps from domain logs and ledger and compares every byte with the batch "
	    "topic. Exit 1 at the first difference: names the step, lane, sequence and field, and "
	    "whether the batch topic, a domain log or the ledger differs from the other two. Takes "
	    "only the mix and the broker from the configuration, all else from the ledger. Works "
	    "while the mix runs. Steps that `riffle retain` has deleted are compared with the "
	    "ledger alone. SIGTERM or SIGINT ends it with 0 and prints the step up to which all "
	    "is equal.",
    .example = "riffle replay -c run.yml --steps 1000..1100\n"
	       "riffle replay -c run.yml --steps 1000..1100 --republish again",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
