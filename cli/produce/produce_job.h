/*
 * produce_job.h -- what `riffle produce` and `riffle import` do: the command line, then the
 * parts.
 */
#ifndef CLI_PRODUCE_PRODUCE_JOB_H
#define CLI_PRODUCE_PRODUCE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/metrics/metrics_listener.h"

/* What the option rows of both fill in; import has no row for `follow` and `seal`. */
struct produce_job_arguments {
	struct option_part partition;
	bool follow, seal, skip_missing, append, restart, yes;
	uint32_t workers;
	struct metrics_options metrics;
};

/* The rows of --partition, which both have; --lane is its name of before. */
#define PRODUCE_JOB_PARTITION_ROWS                                                                 \
	{.name = "partition",                                                                      \
	    .kind = OPTION_PART,                                                                   \
	    .at = offsetof(struct produce_job_arguments, partition),                               \
	    .value = "K/N|auto",                                                                   \
	    .without = "all partitions, one after the other; in a task of an array: as auto",      \
	    .help = "only partition K (from 0) of N: every N-th file, beginning with the K-th; N " \
		    "must equal the domain's partitions. auto: K is JOB_COMPLETION_INDEX "         \
		    "(Kubernetes) or SLURM_ARRAY_TASK_ID, N that of each domain. Without the "     \
		    "option too, where one of these is set and a domain has more than one "        \
		    "partition"},                                                                  \
	{                                                                                          \
		.name = "lane", .kind = OPTION_PART,                                               \
		.at = offsetof(struct produce_job_arguments, partition), .value = "K/N",           \
	}

/* The rows of --restart, which both have. */
#define PRODUCE_JOB_RESTART_ROWS                                                                   \
	{.name = "restart",                                                                        \
	    .kind = OPTION_FLAG,                                                                   \
	    .at = offsetof(struct produce_job_arguments, restart),                                 \
	    .help =                                                                                \
		"publish the named domains from their start: delete their topics first, after "    \
		"a question; refused where a mix has drawn from one"},                             \
	{                                                                                          \
		.name = "yes", .letter = 'y', .kind = OPTION_FLAG,                                 \
		.at = offsetof(struct produce_job_arguments, yes), .help = "do not ask",           \
	}

/* Parses for `command` and runs; `tokens`: its domains are token files of others. */
enum fail_code produce_job_run(
    const struct command *command, bool tokens, int argc, char **argv, struct failure *f);

#endif
