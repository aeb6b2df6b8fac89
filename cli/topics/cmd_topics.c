/*
 * riffle topics: the topics that a configuration needs: shown, checked, made, deleted.
 *
 * Reads the options, asks before it deletes, and calls the parts of topics_job.h in their order.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/topics/topics_job.h"

enum { ANSWER_MAX = 16 };

struct arguments {
	bool create, remove, yes;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_topics. */
static const struct option_row rows[] = {
    {.name = "create",
	.kind = OPTION_FLAG,
	.at = AT(create),
	.help = "make the topics that are missing; those that exist stay as they are"},
    {.name = "delete",
	.kind = OPTION_FLAG,
	.at = AT(remove),
	.help = "delete all of them, with every record; asks first. With --create: make them anew"},
    {.name = "yes", .letter = 'y', .kind = OPTION_FLAG, .at = AT(yes), .help = "do not ask"},
};

/*
 * FAIL_STOPPED: the person at the terminal answered something else than "yes". A script has no
 * terminal: it must give --yes, so that none deletes a corpus by default.
 */
static enum fail_code
confirm(const struct topics_job *j, bool yes, struct failure *f)
{
	char answer[ANSWER_MAX];

	if (yes)
		return FAIL_NONE;
	if (!isatty(STDIN_FILENO))
		return fail(f, FAIL_USAGE,
		    "--delete asks before it deletes, and there is no "
		    "terminal to ask on: add --yes");
	fprintf(stderr,
	    "Delete these %zu topics with all their records? Type yes: ", topics_job_existing(j));
	if (fgets(answer, sizeof(answer), stdin) != NULL && strcmp(answer, "yes\n") == 0)
		return FAIL_NONE;
	return fail(f, FAIL_STOPPED, "nothing was deleted");
}

static enum fail_code
delete_all(struct topics_job *j, bool yes, struct failure *f)
{
	if (topics_job_existing(j) == 0)
		return FAIL_NONE;
	for (size_t i = 0; i < j->plan->n; i++)
		if (j->report[i].exists)
			fprintf(stderr, "%s\n", j->plan->topic[i].name);
	if (confirm(j, yes, f) != FAIL_NONE)
		return f->code;
	return topics_job_delete(j, f);
}

/*
 * Deletes before it creates, so that both together make empty topics. What was deleted is missing
 * afterwards, which is what was wanted: then nothing is judged.
 */
static enum fail_code
work(struct topics_job *j, const struct arguments *a, struct failure *f)
{
	if (a->remove && delete_all(j, a->yes, f) != FAIL_NONE)
		return f->code;
	if (a->create && topics_job_create(j, f) != FAIL_NONE)
		return f->code;
	if (topics_job_warn(j, f) != FAIL_NONE)
		return f->code;
	topics_job_print(j, stdout);
	return a->remove && !a->create ? FAIL_NONE : topics_job_judge(j, f);
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct config *c = NULL;
	struct topics_job *j;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_topics, argc, argv, &a, f) != FAIL_NONE ||
	    options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	code = topics_job_open(&j, c, a.remove, f);
	if (code == FAIL_NONE) {
		code = work(j, &a, f);
		topics_job_close(j);
	}
	config_close(c);
	return code;
}

const struct command cmd_topics = {
    .name = "topics",
    .summary = "show, make, check or delete the topics of a configuration",
    .usage = "-c FILE [--create] [--delete [--yes]]",
    .help = "Shows every topic that the configuration needs, whether it exists and what is wrong "
	    "with it. Exit code 2: one is missing or wrong.",
    .example = "riffle topics -c run.yml --create",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
