/* riffle topics: the topics that a configuration needs: shown, checked, made, deleted. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "common/kafka.h"
#include "common/log.h"
#include "common/topics.h"

enum { BROKER_MS = 8000, ASK_MS = 30000, CHANGE_MS = 120000, ANSWER_MAX = 16 };

struct arguments {
	bool create, remove, yes;
};

#define AT(field) offsetof(struct arguments, field)

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

struct topics {
	const struct config *config;
	rd_kafka_t *rk;
	struct topics_plan *plan;
	struct topics_report *report;
};

static enum fail_code
topics_open(struct topics *t, const struct config *c, struct failure *f)
{
	struct kafka_options o = {.role = KAFKA_ADMIN, .properties = &c->kafka, .client = "topics"};

	t->config = c;
	if (topics_plan_open(&t->plan, c, f) != FAIL_NONE)
		return f->code;
	t->report = calloc(t->plan->n, sizeof(*t->report));
	if (t->report == NULL)
		return fail_memory(f);
	if (kafka_open(&t->rk, &o, f) != FAIL_NONE ||
	    kafka_wait_broker(t->rk, BROKER_MS, f) != FAIL_NONE)
		return f->code;
	return topics_ask(t->rk, c, t->plan, t->report, ASK_MS, f);
}

static void
topics_close(struct topics *t)
{
	kafka_close(t->rk);
	free(t->report);
	topics_plan_close(t->plan);
}

static size_t
count_existing(const struct topics *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->plan->n; i++)
		n += t->report[i].exists;
	return n;
}

/* What all topics are made with; max.message.bytes differs and stands in the table. */
static void
print_settings(const struct topics *t)
{
	struct topics_setting setting[TOPICS_SETTINGS];

	topics_settings(setting, t->config, &t->plan->topic[0]);
	printf("\nreplication=%" PRIu32, t->config->replication);
	for (size_t i = 0; i < TOPICS_SETTINGS; i++)
		if (strcmp(setting[i].name, "max.message.bytes") != 0)
			printf(" %s=%s", setting[i].name, setting[i].value);
	printf("\n");
}

static void
print_table(const struct topics *t)
{
	int width = (int)strlen("TOPIC");

	for (size_t i = 0; i < t->plan->n; i++)
		if ((int)strlen(t->plan->topic[i].name) > width)
			width = (int)strlen(t->plan->topic[i].name);
	printf(
	    "%-*s  %10s  %17s  %s\n", width, "TOPIC", "PARTITIONS", "MAX.MESSAGE.BYTES", "STATE");
	for (size_t i = 0; i < t->plan->n; i++)
		printf("%-*s  %10d  %17zu  %s\n", width, t->plan->topic[i].name,
		    t->plan->topic[i].partitions, t->plan->topic[i].message_bytes_max,
		    t->report[i].problem[0] == '\0' ? "present" : t->report[i].problem);
	print_settings(t);
}

/* FAIL_STOPPED: the person at the terminal said no. */
static enum fail_code
confirm(const struct topics *t, bool yes, struct failure *f)
{
	char answer[ANSWER_MAX];

	if (yes)
		return FAIL_NONE;
	if (!isatty(STDIN_FILENO))
		return fail(f, FAIL_USAGE,
		    "--delete asks before it deletes, and there is no "
		    "terminal to ask on: add --yes");
	fprintf(stderr,
	    "Delete these %zu topics with all their records? Type yes: ", count_existing(t));
	if (fgets(answer, sizeof(answer), stdin) != NULL && strcmp(answer, "yes\n") == 0)
		return FAIL_NONE;
	return fail(f, FAIL_STOPPED, "nothing was deleted");
}

static enum fail_code
topics_remove(struct topics *t, bool yes, struct failure *f)
{
	if (count_existing(t) == 0)
		return FAIL_NONE;
	for (size_t i = 0; i < t->plan->n; i++)
		if (t->report[i].exists)
			fprintf(stderr, "%s\n", t->plan->topic[i].name);
	if (confirm(t, yes, f) != FAIL_NONE ||
	    topics_delete(t->rk, t->plan, t->report, CHANGE_MS, f) != FAIL_NONE)
		return f->code;
	return topics_ask(t->rk, t->config, t->plan, t->report, ASK_MS, f);
}

static enum fail_code
topics_make(struct topics *t, struct failure *f)
{
	if (count_existing(t) == t->plan->n)
		return FAIL_NONE;
	if (topics_create(t->rk, t->config, t->plan, t->report, CHANGE_MS, f) != FAIL_NONE)
		return f->code;
	return topics_ask(t->rk, t->config, t->plan, t->report, ASK_MS, f);
}

static enum fail_code
warn_retention(const struct topics *t, struct failure *f)
{
	int64_t minutes;

	if (topics_offsets_retention(t->rk, &minutes, ASK_MS, f) != FAIL_NONE)
		return f->code;
	if (minutes >= 0 && minutes < TOPICS_OFFSETS_RETENTION_MINUTES)
		log_warning("topics: TOPICS-OFFSETS-RETENTION the broker forgets committed offsets "
			    "after %" PRId64 " days (offsets.retention.minutes=%" PRId64
			    "): a run that pauses for longer loses its position; %d are 30 days",
		    minutes / 1440, minutes, TOPICS_OFFSETS_RETENTION_MINUTES);
	return FAIL_NONE;
}

/* What is wrong makes the exit code, so that a script can ask. */
static enum fail_code
judge(const struct topics *t, struct failure *f)
{
	size_t missing = t->plan->n - count_existing(t), wrong = 0;
	const char *path = t->config->path;

	for (size_t i = 0; i < t->plan->n; i++)
		wrong += t->report[i].exists && t->report[i].problem[0] != '\0';
	if (wrong > 0)
		return fail(f, FAIL_CONFIG, "%zu of %zu topics are not as the configuration wants",
		    wrong, t->plan->n);
	if (missing > 0)
		return fail(f, FAIL_CONFIG,
		    "%zu of %zu topics are missing: `riffle topics -c %s --create` makes them",
		    missing, t->plan->n, path);
	return FAIL_NONE;
}

static enum fail_code
work(struct topics *t, const struct arguments *a, struct failure *f)
{
	if (a->remove && topics_remove(t, a->yes, f) != FAIL_NONE)
		return f->code;
	if (a->create && topics_make(t, f) != FAIL_NONE)
		return f->code;
	if (warn_retention(t, f) != FAIL_NONE)
		return f->code;
	print_table(t);
	return a->remove && !a->create ? FAIL_NONE : judge(t, f);
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = {0};
	struct config *c = NULL;
	struct topics t = {0};
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_topics, argc, argv, &a, f) != FAIL_NONE ||
	    options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	code = topics_open(&t, c, f);
	if (code == FAIL_NONE)
		code = work(&t, &a, f);
	topics_close(&t);
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
