#include "cli/topics/topics_job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/kafka/kafka.h"

enum { BROKER_MS = 8000, ASK_MS = 30000, CHANGE_MS = 120000 };

static enum fail_code
ask(struct topics_job *j, struct failure *f)
{
	return topics_query(j->rk, j->config, j->plan, j->use, j->report, ASK_MS, f);
}

enum fail_code
topics_job_open(struct topics_job **out, const struct config *c, bool deletes, struct failure *f)
{
	struct kafka_options o = {.role = KAFKA_ADMIN, .properties = &c->kafka, .client = "topics"};
	struct topics_job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return fail_memory(f);
	j->config = c;
	j->use.deleted = deletes;
	if (topic_plan_open(&j->plan, c, f) != FAIL_NONE)
		goto failed;
	j->report = calloc(j->plan->n, sizeof(*j->report));
	if (j->report == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (kafka_open(&j->rk, &o, f) != FAIL_NONE ||
	    kafka_wait_broker(j->rk, BROKER_MS, f) != FAIL_NONE || ask(j, f) != FAIL_NONE)
		goto failed;
	*out = j;
	return FAIL_NONE;
failed:
	topics_job_close(j);
	return f->code;
}

void
topics_job_close(struct topics_job *j)
{
	if (j == NULL)
		return;
	kafka_close(j->rk);
	free(j->report);
	topic_plan_close(j->plan);
	free(j);
}

size_t
topics_job_existing(const struct topics_job *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->plan->n; i++)
		n += j->report[i].exists;
	return n;
}

enum fail_code
topics_job_delete(struct topics_job *j, struct failure *f)
{
	assert(j->use.deleted);
	if (topics_delete(j->rk, j->plan, j->report, CHANGE_MS, f) != FAIL_NONE)
		return f->code;
	return ask(j, f);
}

enum fail_code
topics_job_create(struct topics_job *j, struct failure *f)
{
	if (topics_job_existing(j) == j->plan->n)
		return FAIL_NONE;
	if (topics_create(j->rk, j->config, j->plan, j->report, CHANGE_MS, f) != FAIL_NONE)
		return f->code;
	return ask(j, f);
}

/* What all topics are made with; max.message.bytes differs and is in the table. */
static void
print_settings(const struct topics_job *j, FILE *to)
{
	struct topic_setting setting[TOPIC_SETTINGS];

	assert(j->plan->n > 0);
	topic_plan_settings(setting, j->config, &j->plan->topic[0]);
	fprintf(to, "\nreplication=%" PRIu32, j->config->replication);
	for (size_t i = 0; i < TOPIC_SETTINGS; i++)
		if (strcmp(setting[i].name, "max.message.bytes") != 0)
			fprintf(to, " %s=%s", setting[i].name, setting[i].value);
	fprintf(to, "\n");
}

void
topics_job_print(const struct topics_job *j, FILE *to)
{
	int width = (int)strlen("TOPIC");

	for (size_t i = 0; i < j->plan->n; i++)
		if ((int)strlen(j->plan->topic[i].name) > width)
			width = (int)strlen(j->plan->topic[i].name);
	fprintf(to, "%-*s  %10s  %17s  %s\n", width, "TOPIC", "PARTITIONS", "MAX.MESSAGE.BYTES",
	    "STATE");
	for (size_t i = 0; i < j->plan->n; i++)
		fprintf(to, "%-*s  %10d  %17zu  %s\n", width, j->plan->topic[i].name,
		    j->plan->topic[i].partitions, j->plan->topic[i].message_bytes_max,
		    j->report[i].problem[0] == '\0' ? "present" : j->report[i].problem);
	print_settings(j, to);
}

/*
 * A user that may not describe the brokers' configuration is no failure: nothing else here depends
 * on how long offsets are kept. minutes < 0: the broker does not say.
 */
enum fail_code
topics_job_warn(const struct topics_job *j, struct failure *f)
{
	int64_t minutes;

	topics_warn_hidden(j->rk, j->plan, j->report);
	topics_warn_losses(j->plan, j->report);
	if (topics_offsets_retention(j->rk, &minutes, ASK_MS, f) == FAIL_DENIED) {
		log_warning("topics: TOPICS-OFFSETS-RETENTION how long the broker keeps committed "
			    "offsets is not known: %s",
		    f->text);
		return FAIL_NONE;
	}
	if (f->code != FAIL_NONE)
		return f->code;
	if (minutes >= 0 && minutes < TOPICS_OFFSETS_RETENTION_MINUTES)
		log_warning("topics: TOPICS-OFFSETS-RETENTION the broker forgets committed offsets "
			    "after %" PRId64 " days (offsets.retention.minutes=%" PRId64
			    "): a run that pauses for longer loses its position; %d are 30 days",
		    minutes / 1440, minutes, TOPICS_OFFSETS_RETENTION_MINUTES);
	return FAIL_NONE;
}

enum fail_code
topics_job_judge(const struct topics_job *j, struct failure *f)
{
	size_t missing = j->plan->n - topics_job_existing(j), wrong = 0, first = 0;

	for (size_t i = j->plan->n; i-- > 0;)
		if (j->report[i].exists && j->report[i].problem[0] != '\0') {
			wrong++;
			first = i;
		}
	if (wrong > 0)
		return fail(f, FAIL_CONFIG,
		    "%zu of %zu topics are not as the configuration wants, the first: topic %s: %s",
		    wrong, j->plan->n, j->plan->topic[first].name, j->report[first].problem);
	if (missing > 0)
		return fail(f, FAIL_CONFIG,
		    "%zu of %zu topics are missing: `riffle topics -c %s --create` makes them",
		    missing, j->plan->n, j->config->path);
	return FAIL_NONE;
}
