/*
 * riffle topics: the topics that a configuration needs: shown, checked, made, deleted.
 *
 * Reads the options and calls the parts of topics_job.h in their order.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/topics/topics_job.h"

struct arguments {
	bool create, remove, yes, mix, corpus, force;
	struct option_list domains;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_topics. */
static const struct option_row rows[] = {
    {.name = "create",
	.kind = OPTION_FLAG,
	.at = AT(create),
	.help = "create the topics that are missing; those that exist stay as they are"},
    {.name = "delete",
	.kind = OPTION_FLAG,
	.at = AT(remove),
	.help = "delete all of them, or those that --domain, --mix and --corpus name, with every "
		"record; asks first. With --create: recreate them, empty"},
    {.name = "domain",
	.kind = OPTION_LIST,
	.at = AT(domains),
	.value = "DOMAIN",
	.help = "delete the topics of this domain; may be given more than once"},
    {.name = "mix", .kind = OPTION_FLAG, .at = AT(mix), .help = "delete the topics of the mix"},
    {.name = "corpus",
	.kind = OPTION_FLAG,
	.at = AT(corpus),
	.help = "delete the topics of all domains, and of their rejects and arrivals"},
    {.name = "force",
	.kind = OPTION_FLAG,
	.at = AT(force),
	.help = "delete domains although another mix draws from them, which then cannot continue"},
    {.name = "yes", .letter = 'y', .kind = OPTION_FLAG, .at = AT(yes), .help = "do not ask"},
};

static enum fail_code
delete_chosen(struct topics_job *j, const struct arguments *a, struct failure *f)
{
	const struct topics_choice choice = {.mix = a->mix,
	    .corpus = a->corpus,
	    .domain = (char *const *)a->domains.text,
	    .domains_n = a->domains.n};

	if (topics_job_choose(j, &choice, f) != FAIL_NONE ||
	    topics_job_check_mixes(j, false, a->force, f) != FAIL_NONE ||
	    topics_job_confirm(j, a->yes, f) != FAIL_NONE)
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
	if (a->remove && delete_chosen(j, a, f) != FAIL_NONE)
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

	if (options_parse(&o, &cmd_topics, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (!a.remove && (a.mix || a.corpus || a.force || a.domains.n > 0))
		return fail(f, FAIL_USAGE,
		    "--domain, --mix, --corpus and --force say what --delete deletes: add it");
	if (options_config(&c, &o, f) != FAIL_NONE)
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
    .summary = "show, create, check or delete the topics of a configuration",
    .usage = "-c FILE [--create] [--delete [--domain DOMAIN...] [--mix] [--corpus] [--yes]]",
    .help =
	"Shows every topic that the configuration needs, whether it exists and what is wrong "
	"with it. Exit code 2: one is missing or wrong. --delete refuses domains from which a mix "
	"of another configuration draws, without --force.",
    .example = "riffle topics -c run.yml --create",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
