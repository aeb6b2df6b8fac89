/* riffle produce: tokenises the sources and publishes them as domains. */
#include <stddef.h>

#include "cli/produce/produce_job.h"
#include "common/base/limits.h"
#include "producer/produce/produce.h"

#define AT(field) offsetof(struct produce_job_arguments, field)

static const struct option_row rows[] = {
    PRODUCE_JOB_PARTITION_ROWS,
    {.name = "follow",
	.kind = OPTION_FLAG,
	.at = AT(follow),
	.help =
	    "live domains: continue with what arrives, until SIGTERM or SIGINT; never seal them. A "
	    "program of `exec` gets RIFFLE_RESUME=DOCUMENT in its environment and must start "
	    "there"},
    {.name = "seal",
	.kind = OPTION_FLAG,
	.at = AT(seal),
	.help = "live domains: publish what is there, then the End"},
    {.name = "skip-missing",
	.kind = OPTION_FLAG,
	.at = AT(skip_missing),
	.help =
	    "live domains: give up files that were deleted before all of them was published, for "
	    "ever; continue with the next document"},
    {.name = "append",
	.kind = OPTION_FLAG,
	.at = AT(append),
	.help = "publish what was added to the input since a domain was sealed, then a new End"},
    PRODUCE_JOB_RESTART_ROWS,
    METRICS_LISTENER_ROWS(AT(metrics)),
    {.name = "workers",
	.kind = OPTION_COUNT32,
	.at = AT(workers),
	.min = 1,
	.max = PRODUCE_WORKERS_MAX,
	.value = "N",
	.without = "one for each processor",
	.help = "threads that tokenise and compress; they do not change what is published"},
};

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	return produce_job_run(&cmd_produce, false, argc, argv, f);
}

const struct command cmd_produce = {
    .name = "produce",
    .summary = "tokenise sources and publish them, a topic a domain",
    .usage = "-c FILE [DOMAIN...] [--follow | --seal] [--skip-missing] [--append] "
	     "[--restart] [--partition K/N] [--workers N] [--metrics ADDR]",
    .help =
	"Reads the files or runs the program of each domain (all, or those named), tokenises, "
	"packs into sequences, publishes them to <corpus>.<domain> and its .valid and .test sets, "
	"and closes each partition with an End record. However a run ended, the next one resumes "
	"from the last record of each partition. A domain with live: true stays open: its files "
	"are read as they arrive and grow, by whole lines, and --seal closes it. Of "
	"several producers of one input's partition one writes at a time: a later one says for "
	"whom it waits, and resumes when that one ends, or 10 s after it was killed. One that was "
	"stopped for so long and overtaken ends with 3. Records that "
	"cannot be used go to <corpus>.rejects, or end the run with on_reject: stop. SIGTERM or "
	"SIGINT ends it with 0 after all records in flight are delivered.",
    .example = "riffle produce -c run.yml\nriffle produce -c run.yml code --partition 0/4 "
	       "--workers 8\nriffle "
	       "produce -c run.yml news --follow\nriffle produce -c run.yml code --append",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = LIMIT_DOMAINS,
    .run = run,
};
