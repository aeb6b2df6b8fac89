/*
 * riffle config: the table of keys, the check of a file, and a first file. Asks no broker.
 *
 *     init_field   which field of records holds the text
 *     init_files   the files below folders, sorted out into domains
 *     init_print   these as a configuration
 *     left_out     what domains_from does not read
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/config/init_files.h"
#include "cli/config/init_print.h"
#include "cli/config/left_out.h"
#include "cli/config/round_shares.h"
#include "common/base/limits.h"
#include "common/config/config_keys.h"
#include "producer/produce/source_check.h"

#define SUM_TOLERANCE 1e-9 /* of what decimal fractions in doubles sum to */

struct arguments {
	bool keys, check, no_inputs, init;
	const char *tokenizer;
};

#define AT(field) offsetof(struct arguments, field)

static const struct option_row rows[] = {
    {.name = "keys",
	.kind = OPTION_FLAG,
	.at = AT(keys),
	.help = "print every key with its type, range, default and meaning, as docs/CONFIG.md"},
    {.name = "check",
	.kind = OPTION_FLAG,
	.at = AT(check),
	.help = "read and check the file of -c and all that needs no broker: the tokenizer, the "
		"files of every domain, the fields of their first records; runs no program"},
    {.name = "no-inputs",
	.kind = OPTION_FLAG,
	.at = AT(no_inputs),
	.help = "with --check: leave out the tokenizer and the files of the domains"},
    {.name = "init",
	.kind = OPTION_FLAG,
	.at = AT(init),
	.help =
	    "print a first file, with comments, for the data in the folders DIR...: each "
	    "sub-folder is a domain, the field with the text is found in the records, and files "
	    "that are not taken are listed"},
    {.name = "tokenizer",
	.kind = OPTION_TEXT,
	.at = AT(tokenizer),
	.value = "FILE",
	.help = "with --init: the tokenizer (default: one that lies in the folders)"},
};

/* Weights need not sum to 1; a user who expects that they do should see it. */
static void
print_sum(const struct config *c, const struct config_phase *phase)
{
	double sum = config_weights_sum(c, phase);

	if (isnan(sum) || fabs(sum - 1) < SUM_TOLERANCE)
		return;
	printf("%s: weights%s%s sum to %g: they are normalised\n", c->path,
	    phase == NULL ? "" : " of phase ", phase == NULL ? "" : phase->name, sum);
}

/* Parts of 100 or 1000 are what most people mean. */
static void
print_split(const struct config *c)
{
	uint64_t sum = 0, whole = 1;

	for (int i = 0; i < SETS_COUNT; i++)
		sum += c->split[i];
	while (whole < sum)
		whole *= 10;
	if (whole != sum)
		printf("%s: split %u,%u,%u is parts of %" PRIu64 ": %.2f %% of the %s are "
		       "train, %.2f %% valid, %.2f %% test\n",
		    c->path, c->split[SET_TRAIN], c->split[SET_VALID], c->split[SET_TEST], sum,
		    100.0 * c->split[SET_TRAIN] / (double)sum,
		    c->split_unit == CONFIG_SPLIT_TOKENS ? "tokens" : "documents",
		    100.0 * c->split[SET_VALID] / (double)sum,
		    100.0 * c->split[SET_TEST] / (double)sum);
}

/* What the check did not look at. */
static void
print_unread(const struct config *c)
{
	size_t programs = 0, first = 0;

	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].exec != NULL && programs++ == 0)
			first = i;
	if (programs < c->domains_n)
		printf("; of each domain's files, only the first %d records were read",
		    SOURCE_CHECK_RECORDS);
	if (programs == 1)
		printf("; the program of domain %s was not run", c->domains[first].name);
	else if (programs > 1)
		printf("; the programs of %zu domains were not run", programs);
}

static void
print_summary(const struct config *c, bool inputs)
{
	printf("%s: ok: corpus %s, %zu domain%s", c->path, c->corpus, c->domains_n,
	    c->domains_n == 1 ? "" : "s");
	if (c->mix.name != NULL)
		printf(", mix %s: %u x %u tokens a step on %u lanes", c->mix.name,
		    c->mix.global_batch, c->sequence_length, c->mix.lanes);
	if (inputs)
		print_unread(c);
	printf("\n");
	print_split(c);
	if (c->mix.name != NULL && c->mix.weights_kind == CONFIG_WEIGHTS_MAP)
		print_sum(c, NULL);
	for (size_t i = 0; i < c->mix.phases_n; i++)
		print_sum(c, &c->mix.phases[i]);
}

static enum fail_code
init(const struct arguments *a, const struct options *o, struct failure *f)
{
	struct init_print_options print = {
	    .folder = o->argument, .folders_n = o->arguments_n, .tokenizer = a->tokenizer};
	struct init_files files;
	enum fail_code code;

	if (o->arguments_n == 0)
		return fail(f, FAIL_USAGE,
		    "--init: name a folder of data, as in `riffle config "
		    "--init data > run.yml`");
	code = init_files_open(&files, o->argument, o->arguments_n, f);
	if (code == FAIL_NONE)
		code = init_print(&files, &print, stdout, f);
	init_files_close(&files);
	if (code == FAIL_NONE && fflush(stdout) != 0)
		code = fail_errno(f, FAIL_IO, "writing to stdout");
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_config, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (a.keys + a.check + a.init != 1)
		return fail(f, FAIL_USAGE, "give one of --keys, --check and --init");
	if (a.tokenizer != NULL && !a.init)
		return fail(f, FAIL_USAGE, "--tokenizer: needs --init");
	if (a.init)
		return init(&a, &o, f);
	if (o.arguments_n > 0)
		return fail(f, FAIL_USAGE, "%s: only --init takes folders", o.argument[0]);
	if (a.no_inputs && !a.check)
		return fail(f, FAIL_USAGE, "--no-inputs: needs --check");
	if (a.keys) {
		config_keys_print(stdout);
		return FAIL_NONE;
	}
	if (options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	code = a.no_inputs ? FAIL_NONE : source_check(c, NULL, 0, f);
	if (code == FAIL_NONE && !a.no_inputs)
		left_out_warn(c, NULL, 0);
	if (code == FAIL_NONE) {
		round_shares_warn(c);
		print_summary(c, !a.no_inputs);
	}
	config_close(c);
	return code;
}

const struct command cmd_config = {
    .name = "config",
    .summary = "write a first configuration, check one, or list its keys",
    .usage = "--init DIR... [--tokenizer FILE] | --check -c FILE [--no-inputs] | --keys",
    .example = "riffle config --init data > run.yml\nriffle config --check -c run.yml\n"
	       "riffle config --keys",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = LIMIT_DOMAINS,
    .run = run,
};
