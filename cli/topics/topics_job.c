#include "cli/topics/topics_job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "consumer/admin/draws.h"
#include "consumer/publish/election_group.h"

enum {
	BROKER_MS = 8000,
	ASK_MS = 30000,
	CHANGE_MS = 120000,
	LAG_MS = 5000,
	PAUSE_MS = 100,
	ANSWER_MAX = 16
};

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
	j->chosen = calloc(j->plan->n, sizeof(*j->chosen));
	j->domain = calloc(c->domains_n + 1, sizeof(*j->domain));
	j->change = calloc(j->plan->n, sizeof(*j->change));
	if (j->report == NULL || j->chosen == NULL || j->domain == NULL || j->change == NULL) {
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
	free(j->chosen);
	free(j->domain);
	free(j->change);
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

/* ---- deleting ---- */

static bool
is_of_mix(const struct planned_topic *t)
{
	switch (t->kind) {
	case TOPIC_BATCHES:
	case TOPIC_LEDGER:
	case TOPIC_CONTROL:
	case TOPIC_FEEDBACK:
	case TOPIC_LANES: return true;
	case TOPIC_DOMAIN:
	case TOPIC_REJECTS:
	case TOPIC_ARRIVALS: return false;
	}
	abort(); /* unreachable */
}

enum fail_code
topics_job_choose(struct topics_job *j, const struct topics_choice *choice, struct failure *f)
{
	bool all = !choice->mix && !choice->corpus && choice->domains_n == 0;

	if (choice->mix && config_need_mix(j->config, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < choice->domains_n; i++) {
		size_t k;

		if (config_find_domain(&k, j->config, choice->domain[i], f) != FAIL_NONE)
			return f->code;
		j->domain[k] = true;
	}
	for (size_t i = 0; i < j->config->domains_n; i++)
		j->domain[i] = j->domain[i] || all || choice->corpus;
	for (size_t i = 0; i < j->plan->n; i++) {
		const struct planned_topic *t = &j->plan->topic[i];

		j->chosen[i] = is_of_mix(t)    ? all || choice->mix
			       : t->domain < 0 ? all || choice->corpus
					       : j->domain[t->domain];
	}
	return FAIL_NONE;
}

/* Whether the mix of this file goes, too. */
static bool
mix_goes(const struct topics_job *j)
{
	for (size_t i = 0; i < j->plan->n; i++)
		if (is_of_mix(&j->plan->topic[i]))
			return j->chosen[i];
	return false;
}

static bool
any_domain_goes(const struct topics_job *j)
{
	for (size_t i = 0; i < j->config->domains_n; i++)
		if (j->domain[i])
			return true;
	return false;
}

static enum fail_code
fail_mix(const struct draws_mix *m, struct failure *f)
{
	if (m->unknown[0] != '\0')
		return fail(f, FAIL_CONFIG,
		    "whether mix %s draws from these domains is not known: %s", m->mix, m->unknown);
	return fail(f, FAIL_CONFIG,
	    "mix %s draws from domain %s, and has published %" PRIu64
	    " step%s: without the domain it can neither continue nor be replayed",
	    m->mix, m->domain, m->steps, m->steps == 1 ? "" : "s");
}

enum fail_code
topics_job_check_mixes(struct topics_job *j, bool drawn, bool force, struct failure *f)
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .properties = &j->config->kafka, .client = "topics-mixes"};
	const char *own = mix_goes(j) ? j->config->mix.name : NULL;
	struct draws_mix *mix = NULL;
	const char *file = "-c ITS_FILE ";
	size_t n = 0;
	rd_kafka_t *reader;
	enum fail_code code;

	/* A swarm's mixes are deleted side by side: each would look into the ledgers of all. */
	if (!any_domain_goes(j))
		return FAIL_NONE;
	code = kafka_open(&reader, &o, f);
	if (code != FAIL_NONE)
		return code;
	code = draws_find(&mix, &n, reader, j->config, j->domain, own, ASK_MS, f);
	kafka_close(reader);
	if (code != FAIL_NONE)
		return code;
	for (size_t i = 0; i < n && code == FAIL_NONE; i++) {
		if (drawn && !mix[i].drawn && mix[i].unknown[0] == '\0')
			continue;
		if (mix[i].damaged) { /* nothing can go on from it */
			log_warning("topics: TOPICS-MIX the ledger of mix %s cannot be read: %s",
			    mix[i].mix, mix[i].unknown);
			continue;
		}
		code = fail_mix(&mix[i], f);
		if (j->config->mix.name != NULL && strcmp(mix[i].mix, j->config->mix.name) == 0)
			file = "";
		if (force) {
			log_warning("topics: TOPICS-MIX %s", f->text);
			code = FAIL_NONE;
		}
	}
	if (code == FAIL_CONFIG)
		fail_more(f, ". Delete the mix first (`riffle topics %s--delete --mix`)%s", file,
		    drawn ? "" : ", or use --force");
	free(mix);
	return code;
}

/* How many topics are chosen and exist. */
static size_t
chosen_n(const struct topics_job *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->plan->n; i++)
		n += j->chosen[i] && j->report[i].exists;
	return n;
}

enum fail_code
topics_job_confirm(const struct topics_job *j, bool yes, struct failure *f)
{
	char answer[ANSWER_MAX], hosts[256];

	for (size_t i = 0; i < j->plan->n; i++)
		if (j->chosen[i] && j->report[i].exists)
			log_plain(LOG_INFO, "%s", j->plan->topic[i].name);
	if (mix_goes(j) && election_group_active(j->config, hosts, sizeof(hosts)))
		log_warning("topics: TOPICS-MIXER a mixer of mix %s is active on %s, or was within "
			    "the last %d s: stop it, because it cannot continue without its topics",
		    j->config->mix.name, hosts, KAFKA_GROUPS_SESSION_MS / 1000);
	if (yes || chosen_n(j) == 0)
		return FAIL_NONE;
	if (!isatty(STDIN_FILENO))
		return fail(f, FAIL_USAGE,
		    "riffle asks before it deletes topics, and there is no terminal to ask "
		    "on: add --yes");
	fprintf(stderr, "Delete these %zu topics with all their records? Type yes: ", chosen_n(j));
	if (fgets(answer, sizeof(answer), stdin) != NULL && strcmp(answer, "yes\n") == 0)
		return FAIL_NONE;
	return fail(f, FAIL_STOPPED, "nothing was deleted");
}

/*
 * Asks after the chosen topics were deleted, or all were created. Another broker may answer than
 * the one that showed the change, and lag behind: what is seen after LAG_MS stands.
 */
static enum fail_code
ask_changed(struct topics_job *j, bool deleted, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + LAG_MS;
	enum fail_code code;

	for (;;) {
		code = ask(j, f);
		if (code != FAIL_NONE || clock_ms() >= deadline_ms ||
		    (deleted ? chosen_n(j) == 0 : topics_job_existing(j) == j->plan->n))
			return code;
		clock_pause_ms(PAUSE_MS);
	}
}

enum fail_code
topics_job_delete(struct topics_job *j, struct failure *f)
{
	assert(j->use.deleted);
	if (chosen_n(j) == 0)
		return FAIL_NONE;
	for (size_t i = 0; i < j->plan->n; i++) {
		j->report[i].exists = j->report[i].exists && j->chosen[i];
		if (j->report[i].exists)
			j->change[i] = TOPICS_DELETED;
	}
	if (topics_delete(j->rk, j->plan, j->report, CHANGE_MS, f) != FAIL_NONE)
		return f->code;
	return ask_changed(j, true, f);
}

/* ---- the others ---- */

enum fail_code
topics_job_create(struct topics_job *j, struct failure *f)
{
	if (topics_job_existing(j) == j->plan->n)
		return FAIL_NONE;
	for (size_t i = 0; i < j->plan->n; i++)
		if (!j->report[i].exists)
			j->change[i] = TOPICS_CREATED;
	if (topics_create(j->rk, j->config, j->plan, j->report, CHANGE_MS, f) != FAIL_NONE)
		return f->code;
	return ask_changed(j, false, f);
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

/* STATE of topic i. */
static const char *
state_of(const struct topics_job *j, size_t i)
{
	if (!j->report[i].exists && j->change[i] == TOPICS_DELETED)
		return "deleted";
	if (j->report[i].problem[0] != '\0')
		return j->report[i].problem;
	return j->change[i] == TOPICS_CREATED ? "created" : "present";
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
		    state_of(j, i));
	print_settings(j, to);
}

/*
 * Every partition of the training topics that exist. One that was just created is not cut, and the
 * broker that is asked may not know it yet.
 */
static rd_kafka_topic_partition_list_t *
list_domains(const struct topics_job *j)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(64);

	for (size_t i = 0; i < j->plan->n; i++) {
		const struct planned_topic *t = &j->plan->topic[i];

		if (t->kind == TOPIC_DOMAIN && t->set == SET_TRAIN && j->report[i].exists &&
		    j->change[i] != TOPICS_CREATED)
			for (int p = 0; p < j->report[i].partitions; p++)
				rd_kafka_topic_partition_list_add(list, t->name, p);
	}
	return list;
}

/* Domain topics are kept for ever: a mix stops where it would draw what was deleted. */
static enum fail_code
warn_cut(const struct topics_job *j, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = list_domains(j);
	int64_t *low = calloc((size_t)list->cnt + 1, sizeof(*low));
	int64_t *high = calloc((size_t)list->cnt + 1, sizeof(*high));
	enum fail_code code = low == NULL || high == NULL
				  ? fail_memory(f)
				  : kafka_watermarks_list(j->rk, list, low, high, ASK_MS, f);

	for (int i = 0; code == FAIL_NONE && i < list->cnt; i++)
		if (low[i] > 0)
			log_warning("topics: TOPICS-CUT topic %s: its first %" PRId64
				    " records (partition %" PRId32
				    ") were deleted, by retention or DeleteRecords: a mix stops "
				    "where it would draw one of them; `riffle status` says "
				    "how it continues without them",
			    list->elems[i].topic, low[i], list->elems[i].partition);
	free(low);
	free(high);
	rd_kafka_topic_partition_list_destroy(list);
	return code == FAIL_DENIED ? FAIL_NONE : code; /* said of its settings already */
}

enum fail_code
topics_job_warn(const struct topics_job *j, struct failure *f)
{
	enum fail_code code;
	int64_t minutes;

	topics_warn_hidden(j->rk, j->plan, j->report);
	topics_warn_losses(j->plan, j->report);
	if (warn_cut(j, f) != FAIL_NONE)
		return f->code;
	code = topics_offsets_retention(j->rk, &minutes, ASK_MS, f);
	if (code == FAIL_DENIED) { /* no failure: nothing else here depends on it */
		log_warning("topics: TOPICS-OFFSETS-RETENTION how long the broker keeps committed "
			    "offsets is not known: %s",
		    f->text);
		return FAIL_NONE;
	}
	if (code != FAIL_NONE)
		return code;
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
	size_t wrong = 0, first = 0;

	for (size_t i = j->plan->n; i-- > 0;)
		if (j->report[i].exists && j->report[i].problem[0] != '\0') {
			wrong++;
			first = i;
		}
	if (wrong > 0)
		return fail(f, FAIL_CONFIG,
		    "%zu of %zu topics are not as the configuration wants, the first: topic %s: %s",
		    wrong, j->plan->n, j->plan->topic[first].name,
		    topics_judge_problem(&j->report[first], TOPICS_JUDGE_ROOM));
	return topics_fail_missing(j->config, j->plan, j->report, f);
}
