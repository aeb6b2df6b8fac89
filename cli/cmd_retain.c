/* riffle retain: deletes the batches below a step. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "consumer/admin/retain.h"

struct arguments {
	const char *mix;
	uint64_t from_step;
	bool force, dry_run;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "from-step",
	.kind = OPTION_COUNT,
	.at = AT(from_step),
	.max = INT64_MAX / 2,
	.value = "S",
	.help = "required: the first step that is kept"},
    {.name = "force",
	.kind = OPTION_FLAG,
	.at = AT(force),
	.help = "delete also what a training run has not read yet"},
    {.name = "dry-run",
	.letter = 'n',
	.kind = OPTION_FLAG,
	.at = AT(dry_run),
	.help = "print what would be deleted, and delete nothing"},
    OPTIONS_MIX_ROW(AT(mix)),
};

static void
print(const struct retain_options *o, const struct retain_result *r)
{
	const char *mix = o->config->mix.name;

	if (r->first == r->end)
		printf("nothing to delete: mix %s keeps no step below %" PRIu64 "\n", mix, r->end);
	else if (o->dry_run)
		printf("would delete steps %" PRIu64 "..%" PRIu64 " of mix %s, %" PRIu32
		       " lanes; the earliest retained step would be %" PRIu64 "\n",
		    r->first, r->end, mix, r->lanes, r->end);
	else
		printf("deleted steps %" PRIu64 "..%" PRIu64 " of mix %s, %" PRIu32
		       " lanes; the earliest retained step is %" PRIu64 "\n",
		    r->first, r->end, mix, r->lanes, r->end);
}

static enum fail_code
work(const struct config *c, const struct arguments *a, struct failure *f)
{
	struct retain_result result;
	struct retain_options r = {
	    .config = c, .from_step = a->from_step, .force = a->force, .dry_run = a->dry_run};

	if (retain(&r, &result, f) != FAIL_NONE)
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

	if (options_parse(&o, &cmd_retain, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (!options_given(&o, &cmd_retain, "from-step"))
		return fail(f, FAIL_USAGE, "--from-step S is needed: the first step that stays");
	if (options_config_of_mix(&c, a.mix, &o, f) != FAIL_NONE)
		return f->code;
	code = work(c, &a, f);
	config_close(c);
	return code;
}

const struct command cmd_retain = {
    .name = "retain",
    .summary = "delete the batches below a step",
    .usage = "-c FILE | --mix NAME  --from-step S [--force] [--dry-run]",
    .help = "Deletes all steps below S from the batch topic, on every lane; the ledger stays. "
	    "Exit 1, and nothing is deleted, where S is not published, or where a training run "
	    "has a committed position below S: one of mix.runs, of the ledger, or any consumer "
	    "group MIX.RUN. A run that has committed nothing only causes a warning.",
    .example = "riffle retain -c run.yml --from-step 10000 --dry-run\n"
	       "riffle retain -c run.yml --from-step 10000",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
