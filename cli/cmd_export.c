/* riffle export: writes a domain as a token file of another tool. */
#include <stddef.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/signals.h"
#include "consumer/admin/export.h"
#include "producer/produce/produce.h"
#include "producer/tokenizer/tokenizer.h"

struct arguments {
	enum token_format format; /* without NONE, until export_domain() counts it in */
	enum names_set set;
	const char *out;
	bool stream, force;
};

#define AT(field) offsetof(struct arguments, field)

static const char *const sets[] = {"train", "valid", "test", NULL};

static const struct arguments defaults = {.set = SET_TRAIN};

static const struct option_row rows[] = {
    {.name = "format",
	.kind = OPTION_CHOICE,
	.at = AT(format),
	.choice = token_format_names + TOKEN_FORMAT_MEGATRON,
	.value = "FORM",
	.without = "",
	.help =
	    "required. PREFIX.bin and .idx of Megatron; PREFIX.ds, .ds.index and .ds.metadata of "
	    "datatrove and Nanotron; PREFIX.npy, tokens and nothing else, of OLMo; PREFIX.bin "
	    "of llm.c"},
    {.name = "out",
	.letter = 'o',
	.kind = OPTION_TEXT,
	.at = AT(out),
	.value = "PREFIX",
	.help = "required: path of the files, without their endings"},
    {.name = "set",
	.kind = OPTION_CHOICE,
	.at = AT(set),
	.choice = sets,
	.value = "SET",
	.help = "which set of the domain"},
    {.name = "stream",
	.kind = OPTION_FLAG,
	.at = AT(stream),
	.help =
	    "write every token in the order of the sequences, also of documents that an End cut "
	    "off; an index then lists the pieces of documents in that order"},
    {.name = "force", .kind = OPTION_FLAG, .at = AT(force), .help = "replace files that exist"},
};

static enum fail_code
export_domain(
    const struct config *c, const char *name, const struct arguments *a, struct failure *f)
{
	struct tokenizer *t;
	struct export_counts counts;
	struct export_options o = {.config = c, .set = a->set, .stop = signals_stop()};
	enum fail_code code;

	if (config_find_domain(&o.domain, c, name, f) != FAIL_NONE ||
	    produce_open_tokenizer(&t, c, f) != FAIL_NONE)
		return f->code;
	o.tokenizer = tokenizer_fingerprint(t);
	o.file = (struct export_file_options){.prefix = a->out,
	    .format = a->format + TOKEN_FORMAT_MEGATRON,
	    .force = a->force,
	    .stream = a->stream,
	    .tokenizer = c->tokenizer.file,
	    .entries = tokenizer_entries(t),
	    .eos = tokenizer_eos(t)};
	code = export_run(&o, &counts, f);
	if (code == FAIL_STOPPED)
		code = FAIL_IO; /* exit code 0 would say that the files are there */
	tokenizer_close(t);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = defaults;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_export, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (!options_given(&o, &cmd_export, "format"))
		return fail(f, FAIL_USAGE, "give --format: megatron, ds, npy or llmc");
	if (a.out == NULL)
		return fail(f, FAIL_USAGE, "give --out PREFIX: where the files are to be");
	if (options_check_folder(a.out, f) != FAIL_NONE || options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	code = export_domain(c, o.argument[0], &a, f);
	config_close(c);
	return code;
}

const struct command cmd_export = {
    .name = "export",
    .summary = "write a domain as a token file of another tool",
    .usage = "-c FILE DOMAIN --format FORM --out PREFIX [--set SET] [--stream] [--force]",
    .help =
	"Reads a domain's topic from its beginning to its End, partition after partition, joins "
	"the documents and writes them, each with its eos, in the order of the "
	"input. Packing concat drops what fills no sequence before an End: a document that is cut "
	"off there is left out, and counted. Files get their names when "
	"they are complete, the index last; a file that exists is replaced only with --force. "
	"A run that a signal ends writes none, and exits with 1.",
    .example = "riffle export -c run.yml web --format megatron --out data/web\n"
	       "riffle export -c run.yml web --set valid --format npy --out data/web.val",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
