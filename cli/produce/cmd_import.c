/* riffle import: publishes token files of others as domains. */
#include <stddef.h>

#include "cli/produce/produce_job.h"
#include "common/base/limits.h"
#include "producer/produce/produce.h"

#define AT(field) offsetof(struct produce_job_arguments, field)

static const struct option_row rows[] = {
    PRODUCE_JOB_PARTITION_ROWS,
    {.name = "append",
	.kind = OPTION_FLAG,
	.at = AT(append),
	.help = "publish files that were added since a domain was sealed, then a new End"},
    PRODUCE_JOB_RESTART_ROWS,
    METRICS_LISTENER_ROWS(AT(metrics)),
    {.name = "workers",
	.kind = OPTION_COUNT32,
	.at = AT(workers),
	.min = 1,
	.max = PRODUCE_WORKERS_MAX,
	.value = "N",
	.without = "one for each processor",
	.help = "threads that compress; they do not change what is published"},
};

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	return produce_job_run(&cmd_import, true, argc, argv, f);
}

const struct command cmd_import = {
    .name = "import",
    .summary = "publish token files of other tools, a topic a domain",
    .usage = "-c FILE [DOMAIN...] [--append] [--restart] [--partition K/N] [--workers N] "
	     "[--metrics ADDR]",
    .help =
	"Reads the token files of each domain that has `tokens` (all of them, or those named): "
	"Megatron's .bin and .idx, Nanotron's and datatrove's .ds, OLMo's and NumPy's .npy, "
	"llm.c's .bin, or the lines of {\"tokens\": [...]} that riffle tokenize prints. They must "
	"be of the configuration's tokenizer: an id that it does not have ends the run, which "
	"names its place; a line with one is a reject. Documents are those of the index, those of "
	"the lines, or the tokens between two tokenizer.eos. Each gets its eos; it is assigned to "
	"train, valid or test, packed and published as `riffle produce` does with text, and a run "
	"resumes in the same way. A line may have {\"no_loss\": [[0, 12]]}, ranges of tokens that "
	"are no targets (a document that they cover is a prompt), {\"keep\": {...}} for the "
	"trainer, and {\"eos\": false}; a line with any "
	"other field is a reject.",
    .example = "riffle import -c run.yml\nriffle import -c run.yml web --partition 0/4",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = LIMIT_DOMAINS,
    .run = run,
};
