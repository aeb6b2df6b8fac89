#include "cli/produce/produce_job.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config/left_out.h"
#include "cli/signals.h"
#include "cli/topics/topics_job.h"
#include "common/base/limits.h"
#include "common/base/scalar.h"
#include "producer/produce/measures.h"
#include "producer/produce/produce.h"
#include "producer/produce/source_check.h"

/*
 * Chunks of text, tokens and records are a megabyte or so each, and thousands follow one another.
 * Given back to the kernel they would come again page by page, zeroed: some 5 % of a run. What is
 * kept is no more than what was in use at once.
 */
enum { KEPT_BYTES_MAX = 32 << 20 /* largest that mallopt(3) takes where size_t has 64 bits */ };

static void
keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES_MAX);
	mallopt(M_TRIM_THRESHOLD, 4 * KEPT_BYTES_MAX);
}

/*
 * The domains' topics, empty. A mix that has drawn from one could not be replayed, nor go on; the
 * mix of this file is no exception, for its steps may have been trained on.
 */
static enum fail_code
restart(const struct produce_options *p, const struct options *o, bool yes, struct failure *f)
{
	const struct topics_choice choice = {.domain = o->argument, .domains_n = o->arguments_n};
	struct topics_job *j;
	enum fail_code code;

	if (o->arguments_n == 0)
		return fail(f, FAIL_USAGE,
		    "--restart deletes what is published: name the domains, as in `riffle %s "
		    "DOMAIN --restart`",
		    p->tokens ? "import" : "produce");
	code = topics_job_open(&j, p->config, true, f);
	if (code != FAIL_NONE)
		return code;
	code = topics_job_choose(j, &choice, f);
	if (code == FAIL_NONE)
		code = topics_job_check_mixes(j, true, false, f);
	if (code == FAIL_NONE)
		code = topics_job_confirm(j, yes, f);
	if (code == FAIL_NONE)
		code = topics_job_delete(j, f);
	if (code == FAIL_NONE)
		code = topics_job_create(j, f);
	topics_job_close(j);
	return code;
}

static char *
text_of(void *measures)
{
	return measures_text(measures);
}

/* Which partition this task of an array of jobs has to produce; task_variable NULL: it is none. */
static enum fail_code
find_task(struct produce_options *p, struct failure *f)
{
	static const char *const variables[] = {"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *text = getenv(variables[i]);
		uint64_t task;

		if (text == NULL)
			continue;
		if (scalar_count(text, 0, LIMIT_LANES - 1, &task) != SCALAR_OK)
			return fail(f, FAIL_USAGE,
			    "%s is not the number of a partition: %s (0 to %d)", variables[i], text,
			    LIMIT_LANES - 1);
		p->partition = (uint32_t)task;
		p->task_variable = variables[i];
		return FAIL_NONE;
	}
	return FAIL_NONE;
}

/* The largest number of partitions of a domain that is to be produced. */
static uint32_t
most_partitions(const struct produce_options *p)
{
	uint32_t most = 0;

	for (size_t i = 0; i < p->config->domains_n; i++) {
		const struct config_domain *d = &p->config->domains[i];
		bool named = p->domains_n == 0 && (d->tokens != TOKEN_FORMAT_NONE) == p->tokens;

		for (size_t k = 0; k < p->domains_n; k++)
			named = named || strcmp(p->domain[k], d->name) == 0;
		if (named && d->partitions > most)
			most = d->partitions;
	}
	return most;
}

/* --partition auto; and without the option, where there are partitions to be shared out. */
static enum fail_code
take_task(struct produce_options *p, struct failure *f)
{
	const char *tasks = getenv("SLURM_ARRAY_TASK_COUNT");
	uint32_t most = most_partitions(p);
	bool asked = p->only != NULL;
	uint64_t n;

	if (!asked && most <= 1)
		return FAIL_NONE;
	if (find_task(p, f) != FAIL_NONE)
		return f->code;
	if (p->task_variable == NULL)
		return !asked ? FAIL_NONE
			      : fail(f, FAIL_USAGE,
				    "--%s auto: this is no task of an array: neither "
				    "JOB_COMPLETION_INDEX (Kubernetes) nor SLURM_ARRAY_TASK_ID is "
				    "set; give K/N",
				    p->only);
	if (!asked && tasks != NULL && scalar_count(tasks, 0, UINT32_MAX, &n) == SCALAR_OK &&
	    n < most)
		return fail(f, FAIL_USAGE,
		    "SLURM_ARRAY_TASK_COUNT is %s, and a domain has %" PRIu32
		    " partitions: give the array that many tasks, from 0; or --partition auto, "
		    "which produces that of this task alone",
		    tasks, most);
	p->only = "partition";
	return FAIL_NONE;
}

/* Produces, with metrics where somebody may ask for them. */
static enum fail_code
run_produce(struct produce_options *p, const struct metrics_options *metrics, struct failure *f)
{
	struct metrics_listener *listener = NULL;
	enum fail_code code;

	if (metrics->address == NULL)
		return produce_run(p, f);
	code = measures_open(&p->measures, p->config, f);
	if (code == FAIL_NONE)
		code = metrics_listener_open(&listener, metrics, text_of, p->measures, f);
	if (code == FAIL_NONE)
		code = produce_run(p, f);
	metrics_listener_close(listener);
	measures_close(p->measures);
	return code;
}

enum fail_code
produce_job_run(
    const struct command *command, bool tokens, int argc, char **argv, struct failure *f)
{
	struct produce_job_arguments a = {0};
	struct config *c = NULL;
	struct options o;
	struct produce_options p = {.stop = signals_stop(), .tokens = tokens};
	enum fail_code code;

	if (options_parse(&o, command, argc, argv, &a, f) != FAIL_NONE ||
	    options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	p.config = c;
	p.domain = o.argument;
	p.domains_n = o.arguments_n;
	if (options_given(&o, command, "partition"))
		p.only = "partition";
	else if (options_given(&o, command, "lane"))
		p.only = "lane";
	p.partition = a.partition.part;
	p.partitions = a.partition.parts;
	if (p.partitions == 0 && take_task(&p, f) != FAIL_NONE) {
		config_close(c);
		return f->code;
	}
	p.follow = a.follow;
	p.seal = a.seal;
	p.append = a.append;
	p.skip_missing = a.skip_missing;
	p.workers = a.workers;
	keep_memory();
	left_out_warn(c, p.domain, p.domains_n);
	code = source_check_shared(c, p.domain, p.domains_n, f);
	if (code == FAIL_NONE && a.restart) /* nothing is deleted for a command that cannot run */
		code = produce_check(&p, f);
	if (a.restart && code == FAIL_NONE)
		code = source_check(c, p.domain, p.domains_n, f);
	if (a.restart && code == FAIL_NONE && p.domains_n > 0)
		code = produce_check_idle(&p, f);
	if (a.restart && code == FAIL_NONE)
		code = restart(&p, &o, a.yes, f);
	p.restarted = a.restart;
	if (code == FAIL_NONE)
		code = run_produce(&p, &a.metrics, f);
	config_close(c);
	return code;
}
