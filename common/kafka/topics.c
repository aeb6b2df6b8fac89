#include "common/kafka/topics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/kafka/kafka_admin.h"
#include "common/kafka/kafka_internal.h"

/* Topics of one admin request: 4,096 domains have 12,000, whose settings would be megabytes. */
enum { CHUNK = 256, SETTLE_MS = 5000 };

/* ---- what is there, and what differs ---- */

/* A topic of the response by its name: sorted, so that each topic of the plan is a bsearch(). */
struct named {
	const char *name;
	size_t index;
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* Fills report[p->n]: which topics exist, their partitions, replicas and leaders. */
static enum fail_code
query_metadata(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    struct topics_report *report, int64_t deadline_ms, struct failure *f)
{
	const struct rd_kafka_metadata *m;
	enum fail_code code = kafka_all_topics(rk, &m, deadline_ms, f);
	struct named *sorted;
	size_t n;

	if (code != FAIL_NONE)
		return code;
	n = (size_t)m->topic_cnt;
	sorted = calloc(n + 1, sizeof(*sorted));
	for (size_t i = 0; sorted != NULL && i < n; i++)
		sorted[i] = (struct named){m->topics[i].topic, i};
	if (sorted != NULL)
		qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; sorted != NULL && i < p->n; i++) {
		struct named key = {p->topic[i].name, 0},
			     *found = bsearch(&key, sorted, n, sizeof(*sorted), by_name);

		report[i] =
		    (struct topics_report){.exists = false, .min_insync = -1, .flush_messages = -1};
		if (found == NULL ||
		    m->topics[found->index].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
			topics_judge_missing(&report[i]);
		else
			topics_judge_metadata(
			    &report[i], c, &p->topic[i], &m->topics[found->index]);
	}
	code = sorted == NULL ? fail_memory(f) : FAIL_NONE;
	free(sorted);
	rd_kafka_metadata_destroy(m);
	return code;
}

/* Beside those that the plan wants: by which acknowledged records can be lost. */
static const char *const loss_settings[] = {"unclean.leader.election.enable", "flush.messages"};

/* What the response does not have, because the broker is older or newer, is not compared. */
static void
compare_settings(const struct config *c, const struct planned_topic *t,
    const rd_kafka_ConfigResource_t *resource, struct topics_report *r)
{
	const char *bootstrap = properties_value(&c->kafka, "bootstrap.servers");
	struct topic_setting wanted[TOPIC_SETTINGS];
	const rd_kafka_ConfigEntry_t **entry;
	struct text add = {0};
	size_t entries_n;
	char *differ;

	topic_plan_settings(wanted, c, t);
	entry = rd_kafka_ConfigResource_configs(resource, &entries_n);
	for (size_t i = 0; i < entries_n; i++) {
		const char *name = rd_kafka_ConfigEntry_name(entry[i]);
		const char *value = rd_kafka_ConfigEntry_value(entry[i]);

		if (value != NULL)
			topics_judge_setting(r, wanted, name, value, &add);
	}
	differ = text_take(&add);
	if (differ != NULL && differ[0] != '\0')
		topics_judge_advise(
		    r, bootstrap == NULL ? "HOST:PORT" : bootstrap, t->name, differ);
	free(differ);
}

/*
 * Sends one DescribeConfigs, and repeats it while it fails with what passes by itself. Where it
 * returns no error, the response is in admin->event, which the caller closes in any case. Borrows
 * the resources: librdkafka copies them into each request.
 */
static rd_kafka_resp_err_t
describe(rd_kafka_t *rk, struct kafka_admin *admin, rd_kafka_ConfigResource_t **resource, size_t n,
    int64_t deadline_ms)
{
	rd_kafka_resp_err_t err;

	do {
		kafka_admin_close(admin);
		kafka_admin_open(
		    admin, rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, kafka_slice_ms(deadline_ms));
		rd_kafka_DescribeConfigs(rk, resource, n, admin->options, admin->queue);
		err = kafka_admin_wait(admin, kafka_slice_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	return err;
}

/*
 * The settings of one topic to query: only those that matter, for all of them would be some 40 of
 * 100 bytes each. Gives a resource (rd_kafka_ConfigResource_destroy_array).
 */
static rd_kafka_ConfigResource_t *
settings_of(const struct config *c, const struct planned_topic *t)
{
	rd_kafka_ConfigResource_t *r =
	    rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, t->name);
	struct topic_setting wanted[TOPIC_SETTINGS];

	topic_plan_settings(wanted, c, t);
	for (size_t i = 0; i < TOPIC_SETTINGS; i++)
		rd_kafka_ConfigResource_set_config(r, wanted[i].name, "");
	for (size_t i = 0; i < sizeof(loss_settings) / sizeof(loss_settings[0]); i++)
		rd_kafka_ConfigResource_set_config(r, loss_settings[i], "");
	return r;
}

/*
 * Compares what the response holds of the topics first..end-1, and sets settled[i - first] of each.
 * It is in no promised order, so each resource is found by its name, among CHUNK at most. A topic
 * has an error of its own: it may be hidden from the user, and the others still count. One that
 * the broker does not know stays unsettled.
 */
static enum fail_code
take_settings(const struct config *c, const struct topic_plan *p, size_t first, size_t end,
    rd_kafka_event_t *event, struct topics_report *report, bool *settled, struct failure *f)
{
	const rd_kafka_ConfigResource_t **resource;
	size_t n;

	resource = rd_kafka_DescribeConfigs_result_resources(
	    rd_kafka_event_DescribeConfigs_result(event), &n);
	for (size_t k = 0; k < n; k++) {
		const char *name = rd_kafka_ConfigResource_name(resource[k]);
		rd_kafka_resp_err_t err = rd_kafka_ConfigResource_error(resource[k]);
		size_t i = first;

		while (i < end && strcmp(p->topic[i].name, name) != 0)
			i++;
		if (i == end || err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
			continue;
		settled[i - first] = true;
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			compare_settings(c, &p->topic[i], resource[k], &report[i]);
		else if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			report[i].hidden = true;
		else
			return kafka_fail_code(f, err, NULL, name);
	}
	return FAIL_NONE;
}

/* Asks once for the settings of those of the topics first..end-1 that exist and are not settled. */
static enum fail_code
query_unsettled(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p, size_t first,
    size_t end, struct topics_report *report, bool *settled, size_t *left, int64_t deadline_ms,
    struct failure *f)
{
	rd_kafka_ConfigResource_t *resource[CHUNK];
	struct kafka_admin admin = {0};
	enum fail_code code = FAIL_NONE;
	rd_kafka_resp_err_t err;
	size_t n = 0;

	*left = 0;
	for (size_t i = first; i < end; i++)
		if (report[i].exists && !settled[i - first])
			resource[n++] = settings_of(c, &p->topic[i]);
	if (n == 0)
		return FAIL_NONE;
	err = describe(rk, &admin, resource, n, deadline_ms);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		code = kafka_fail_asking(rk, err, "asking for the settings of the topics", "", f);
	else
		code = take_settings(c, p, first, end, admin.event, report, settled, f);
	rd_kafka_ConfigResource_destroy_array(resource, n);
	kafka_admin_close(&admin);
	for (size_t i = first; i < end; i++)
		*left += report[i].exists && !settled[i - first];
	return code;
}

/*
 * Compares the settings of the topics first..end-1 that exist. Another broker may answer than the
 * one that listed them, and lag behind it: what it does not know yet is asked for again, and is
 * missing after SETTLE_MS, for it was deleted since.
 */
static enum fail_code
query_settings(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p, size_t first,
    size_t end, struct topics_report *report, int64_t deadline_ms, struct failure *f)
{
	int64_t settle_ms = clock_ms() + SETTLE_MS;
	bool settled[CHUNK] = {0};
	enum fail_code code;
	size_t left;

	assert(first < end);
	assert(end - first <= CHUNK);
	if (settle_ms > deadline_ms)
		settle_ms = deadline_ms;
	do
		code =
		    query_unsettled(rk, c, p, first, end, report, settled, &left, deadline_ms, f);
	while (code == FAIL_NONE && left > 0 &&
	       kafka_again(rk, RD_KAFKA_RESP_ERR__TIMED_OUT, settle_ms));
	for (size_t i = first; code == FAIL_NONE && i < end; i++)
		if (report[i].exists && !settled[i - first])
			topics_judge_missing(&report[i]);
	return code;
}

/*
 * A list of all topics leaves out what the user may not see. So a topic that is missing there is
 * queried once more by its name, and only that tells "denied" from "does not exist":
 *
 *     in the list    by name        it is
 *     yes            (not queried)  there
 *     no             0 partitions   missing: riffle topics --create
 *     no             denied         FAIL_DENIED, with the right that `use` needs
 */
static enum fail_code
query_missing(rd_kafka_t *rk, const struct topic_plan *p, struct topics_use use,
    const struct topics_report *report, int64_t deadline_ms, struct failure *f)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct planned_topic *t = &p->topic[i];
		int partitions;

		if (report[i].exists || kafka_partitions(rk, t->name, &partitions,
					    kafka_left_ms(deadline_ms), f) == FAIL_NONE)
			continue;
		if (f->code != FAIL_DENIED)
			return f->code;
		kafka_fail_denied(f, rk, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
		    topics_judge_right(t, use), t->name, "asking for its partitions");
		return fail_within(f, "topic %s", t->name);
	}
	return FAIL_NONE;
}

enum fail_code
topics_query(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    struct topics_use use, struct topics_report *report, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	enum fail_code code = query_metadata(rk, c, p, report, deadline_ms, f);

	if (code == FAIL_NONE)
		code = query_missing(rk, p, use, report, deadline_ms, f);
	for (size_t i = 0; code == FAIL_NONE && i < p->n; i += CHUNK)
		code = query_settings(
		    rk, c, p, i, i + CHUNK < p->n ? i + CHUNK : p->n, report, deadline_ms, f);
	return code;
}

/* ---- creating and deleting ---- */

static rd_kafka_NewTopic_t *
new_topic(const struct config *c, const struct planned_topic *t, struct failure *f)
{
	struct topic_setting setting[TOPIC_SETTINGS];
	rd_kafka_NewTopic_t *made;
	char why[256];

	made = rd_kafka_NewTopic_new(t->name, t->partitions, (int)c->replication, why, sizeof(why));
	if (made == NULL) {
		fail(f, FAIL_CONFIG, "topic %s: %s", t->name, why);
		return NULL;
	}
	topic_plan_settings(setting, c, t);
	for (size_t i = 0; i < TOPIC_SETTINGS; i++)
		rd_kafka_NewTopic_set_config(made, setting[i].name, setting[i].value);
	return made;
}

/*
 * The first topic of a response that was refused, as a failure. `fine` is the code that is no
 * refusal: the topic is already as the caller wants it.
 */
static enum fail_code
check_results(rd_kafka_t *rk, const rd_kafka_topic_result_t **result, size_t n,
    rd_kafka_resp_err_t fine, const char *operation, const char *attempted, struct failure *f)
{
	for (size_t i = 0; i < n; i++) {
		rd_kafka_resp_err_t err = rd_kafka_topic_result_error(result[i]);

		if (err == RD_KAFKA_RESP_ERR_NO_ERROR || err == fine)
			continue;
		if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			kafka_fail_denied(f, rk, err, operation,
			    rd_kafka_topic_result_name(result[i]), attempted);
		else
			kafka_fail_code(
			    f, err, rd_kafka_topic_result_error_string(result[i]), attempted);
		return fail_within(f, "topic %s", rd_kafka_topic_result_name(result[i]));
	}
	return FAIL_NONE;
}

/*
 * Sends one request for at most CHUNK topics, and does not repeat it: after a timeout nobody knows
 * what was done, and the caller's next query shows it.
 */
static enum fail_code
create_chunk(
    rd_kafka_t *rk, rd_kafka_NewTopic_t **topic, size_t n, int64_t deadline_ms, struct failure *f)
{
	const rd_kafka_topic_result_t **result;
	struct kafka_admin admin;
	enum fail_code code;
	rd_kafka_resp_err_t err;
	size_t results_n;
	int ms = kafka_left_ms(deadline_ms);

	assert(n >= 1);
	assert(n <= CHUNK);
	kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_CREATETOPICS, ms);
	rd_kafka_CreateTopics(rk, topic, n, admin.options, admin.queue);
	err = kafka_admin_wait(&admin, ms);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		code = kafka_fail_asking(rk, err, "creating topics", "", f);
	} else {
		result = rd_kafka_CreateTopics_result_topics(
		    rd_kafka_event_CreateTopics_result(admin.event), &results_n);
		/* Created by another process since our query: the check that follows judges it. */
		code = check_results(rk, result, results_n, RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS,
		    "CREATE", "creating it", f);
	}
	kafka_admin_close(&admin);
	return code;
}

static enum fail_code
delete_chunk(rd_kafka_t *rk, rd_kafka_DeleteTopic_t **topic, size_t n, int64_t deadline_ms,
    struct failure *f)
{
	const rd_kafka_topic_result_t **result;
	struct kafka_admin admin;
	enum fail_code code;
	rd_kafka_resp_err_t err;
	size_t results_n;
	int ms = kafka_left_ms(deadline_ms);

	assert(n >= 1);
	assert(n <= CHUNK);
	kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_DELETETOPICS, ms);
	rd_kafka_DeleteTopics(rk, topic, n, admin.options, admin.queue);
	err = kafka_admin_wait(&admin, ms);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		code = kafka_fail_asking(rk, err, "deleting topics", "", f);
	} else {
		result = rd_kafka_DeleteTopics_result_topics(
		    rd_kafka_event_DeleteTopics_result(admin.event), &results_n);
		code = check_results(rk, result, results_n, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
		    "DELETE", "deleting it", f);
	}
	kafka_admin_close(&admin);
	return code;
}

/*
 * Counts the topics of the plan that the broker shows with a leader for each partition; *known:
 * those that it shows at all, of those with gone[i].exists (NULL: none).
 */
static rd_kafka_resp_err_t
count_present(rd_kafka_t *rk, const struct topic_plan *p, const struct topics_report *gone,
    size_t *present, size_t *known, int timeout_ms)
{
	const struct rd_kafka_metadata *m;
	rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 1, NULL, &m, timeout_ms);

	*present = *known = 0;
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	for (int k = 0; k < m->topic_cnt; k++)
		for (size_t i = 0; i < p->n; i++)
			if (strcmp(m->topics[k].topic, p->topic[i].name) == 0) {
				*present += topics_judge_ready(&m->topics[k]);
				*known += gone != NULL && gone[i].exists &&
					  m->topics[k].err == RD_KAFKA_RESP_ERR_NO_ERROR;
				break;
			}
	rd_kafka_metadata_destroy(m);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/*
 * The controller answers before all brokers know of a change, and a producer that starts in between
 * would find no leader. So this polls until every topic of the plan has leaders, or, of those that
 * existed by `gone` (not NULL), none is known any more.
 */
static enum fail_code
wait_shown(rd_kafka_t *rk, const struct topic_plan *p, const struct topics_report *gone,
    int64_t deadline_ms, struct failure *f)
{
	rd_kafka_resp_err_t err;
	size_t present, known;

	do {
		err = count_present(rk, p, gone, &present, &known, kafka_slice_ms(deadline_ms));
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    (gone == NULL ? present == p->n : known == 0))
			return FAIL_NONE;
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	} while (kafka_again(rk, err, deadline_ms));
	return kafka_fail_asking(rk, err,
	    gone == NULL ? "waiting for the new topics to have leaders"
			 : "waiting for the deleted topics to be gone",
	    "", f);
}

enum fail_code
topics_create(rd_kafka_t *rk, const struct config *c, const struct topic_plan *p,
    const struct topics_report *report, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_NewTopic_t *topic[CHUNK];
	enum fail_code code = FAIL_NONE;
	size_t n = 0;

	for (size_t i = 0; code == FAIL_NONE && i < p->n; i++) {
		if (!report[i].exists) {
			topic[n] = new_topic(c, &p->topic[i], f);
			code = topic[n] == NULL ? f->code : FAIL_NONE;
			n += topic[n] != NULL;
		}
		if (code == FAIL_NONE && n > 0 && (n == CHUNK || i + 1 == p->n)) {
			code = create_chunk(rk, topic, n, deadline_ms, f);
			rd_kafka_NewTopic_destroy_array(topic, n);
			n = 0;
		}
	}
	rd_kafka_NewTopic_destroy_array(topic, n);
	return code != FAIL_NONE ? code : wait_shown(rk, p, NULL, deadline_ms, f);
}

enum fail_code
topics_delete(rd_kafka_t *rk, const struct topic_plan *p, const struct topics_report *report,
    int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_DeleteTopic_t *topic[CHUNK];
	enum fail_code code = FAIL_NONE;
	size_t n = 0;

	for (size_t i = 0; code == FAIL_NONE && i < p->n; i++) {
		if (report[i].exists)
			topic[n++] = rd_kafka_DeleteTopic_new(p->topic[i].name);
		if (n > 0 && (n == CHUNK || i + 1 == p->n)) {
			code = delete_chunk(rk, topic, n, deadline_ms, f);
			rd_kafka_DeleteTopic_destroy_array(topic, n);
			n = 0;
		}
	}
	return code != FAIL_NONE ? code : wait_shown(rk, p, report, deadline_ms, f);
}

/* ---- at the start of a command ---- */

enum fail_code
topics_check_batch(rd_kafka_t *rk, const struct config *c, uint32_t global_batch, int timeout_ms,
    struct failure *f)
{
	struct config with = *c; /* borrows */
	struct topic_plan *p;
	struct topics_report *report;
	enum fail_code code;
	size_t i = 0;

	assert(global_batch % c->mix.lanes == 0);
	with.mix.global_batch = global_batch;
	with.mix.phases_n = 0;
	if (topic_plan_record_bytes(&with) > LIMIT_RECORD_BYTES)
		return fail(f, FAIL_DATA,
		    "global_batch %" PRIu32 ": one lane's record could be %zu bytes; with %" PRIu32
		    " lanes at most %zu sequences of %" PRIu32 " tokens fit the 64 MiB of each",
		    global_batch, topic_plan_record_bytes(&with), c->mix.lanes,
		    topic_plan_lane_sequences(&with) * c->mix.lanes, c->sequence_length);
	if (c->mix.batches == MIX_BATCHES_DERIVED) /* nothing of it is written */
		return FAIL_NONE;
	if (topic_plan_open(&p, &with, f) != FAIL_NONE)
		return f->code;
	report = calloc(p->n, sizeof(*report));
	code = report == NULL ? fail_memory(f) : FAIL_NONE;
	while (p->topic[i].kind != TOPIC_BATCHES)
		i++;
	assert(i < p->n);
	if (code == FAIL_NONE) {
		report[i].exists = true;
		code = query_settings(rk, &with, p, i, i + 1, report, clock_ms() + timeout_ms, f);
	}
	if (code == FAIL_NONE && !report[i].exists) { /* it may be about to be created again */
		kafka_fail_missing(f, rk, p->topic[i].name);
		code = f->code = FAIL_BROKER;
	} else if (code == FAIL_NONE && report[i].problem[0] != '\0')
		code = fail(f, FAIL_DATA, "global_batch %" PRIu32 ": topic %s: %s", global_batch,
		    p->topic[i].name, topics_judge_problem(&report[i], TOPICS_JUDGE_ROOM));
	free(report);
	topic_plan_close(p);
	return code;
}

void
topics_warn_hidden(rd_kafka_t *rk, const struct topic_plan *p, const struct topics_report *report)
{
	struct failure f;
	size_t n = 0, first = 0;

	for (size_t i = p->n; i-- > 0;)
		if (report[i].hidden) {
			first = i;
			n++;
		}
	if (n == 0)
		return;
	kafka_fail_denied(&f, rk, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "DESCRIBE_CONFIGS",
	    p->topic[first].name, "asking for its settings");
	log_warning(
	    "topics: TOPICS-HIDDEN the settings of %zu topic%s are not compared with what they "
	    "must be: %s",
	    n, n == 1 ? "" : "s", f.text);
}

static bool
is_insync_low(const struct topics_report *r)
{
	return r->replicas >= 3 && r->min_insync >= 0 && r->min_insync < 2;
}

static bool
is_unclean(const struct topics_report *r)
{
	return r->replicas > 1 && r->unclean;
}

static bool
is_unflushed(const struct topics_report *r)
{
	return r->replicas == 1 && r->flush_messages > 1;
}

void
topics_warn_losses(const struct topic_plan *p, const struct topics_report *report)
{
	static const struct {
		bool (*is)(const struct topics_report *);
		const char *id, *text;
	} cause[] = {
	    {is_insync_low, "TOPICS-MIN-INSYNC",
		"min.insync.replicas is under 2 with 3 replicas: records that one broker alone has "
		"are acknowledged, and lost with it; topics.min_insync_replicas: 2"},
	    {is_unclean, "TOPICS-UNCLEAN",
		"unclean.leader.election.enable is true: a replica that lags may become leader, "
		"and acknowledged records are cut off; set it to false"},
	    {is_unflushed, "TOPICS-FLUSH",
		"one replica, which is not flushed (flush.messages): if its machine dies it loses "
		"acknowledged records; topics.replication: 3, or flush.messages=1"},
	};

	for (size_t k = 0; k < sizeof(cause) / sizeof(cause[0]); k++) {
		size_t n = 0, first = 0;

		for (size_t i = p->n; i-- > 0;)
			if (report[i].exists && cause[k].is(&report[i])) {
				first = i;
				n++;
			}
		if (n > 0)
			log_warning("topics: %s %zu topic%s, the first: %s: %s", cause[k].id, n,
			    n == 1 ? "" : "s", p->topic[first].name, cause[k].text);
	}
}

void
topics_add_other_name(const struct config *c, struct failure *f)
{
	if (c->file_mix != NULL)
		fail_more(
		    f, "%s has mix.name %s; did you mean that? Otherwise: ", c->path, c->file_mix);
}

enum fail_code
topics_fail_missing(const struct config *c, const struct topic_plan *p,
    const struct topics_report *report, struct failure *f)
{
	const char *bootstrap = properties_value(&c->kafka, "bootstrap.servers");
	size_t missing = 0, first = 0, mixes = 0, mixes_missing = 0;
	bool mix;

	for (size_t i = p->n; i-- > 0;) {
		bool of_mix = p->topic[i].kind != TOPIC_DOMAIN &&
			      p->topic[i].kind != TOPIC_REJECTS &&
			      p->topic[i].kind != TOPIC_ARRIVALS;

		mixes += of_mix;
		mixes_missing += of_mix && !report[i].exists;
		missing += !report[i].exists;
		first = report[i].exists ? first : i;
	}
	if (missing == 0)
		return FAIL_NONE;
	fail(f, FAIL_CONFIG, "%zu of %zu topics are missing, the first: %s: ", missing, p->n,
	    p->topic[first].name);
	if (mixes_missing > 0 && config_is_set(c, "mix.name"))
		topics_add_other_name(c, f);
	fail_more(f, "run `riffle topics --create`");
	mix = mixes > 0 && mixes_missing == mixes;
	if (mix || missing == p->n)
		fail_within(f, "%s %s has no topics on %s", mix ? "mix" : "corpus",
		    mix ? c->mix.name : c->corpus, bootstrap == NULL ? "the broker" : bootstrap);
	return f->code;
}

enum fail_code
topics_check(rd_kafka_t *rk, const struct config *c, struct topics_use use, int timeout_ms,
    struct failure *f)
{
	struct topics_report *report = NULL;
	struct topic_plan *p;
	enum fail_code code = topic_plan_open(&p, c, f);
	size_t kept = 0;

	assert((use.read | use.written) != 0);
	if (code != FAIL_NONE)
		return code;
	for (size_t i = 0; i < p->n; i++)
		if (topics_judge_used(&p->topic[i], use))
			p->topic[kept++] = p->topic[i];
	p->n = kept;
	report = calloc(kept + 1, sizeof(*report));
	code = report == NULL ? fail_memory(f) : topics_query(rk, c, p, use, report, timeout_ms, f);
	for (size_t i = 0; code == FAIL_NONE && i < kept; i++)
		if (report[i].exists && report[i].problem[0] != '\0')
			code = fail(f, FAIL_CONFIG, "topic %s: %s (`riffle topics` shows all)",
			    p->topic[i].name, topics_judge_problem(&report[i], TOPICS_JUDGE_ROOM));
	if (code == FAIL_NONE && topics_fail_missing(c, p, report, f) != FAIL_NONE)
		code = f->code = FAIL_BROKER;
	if (code == FAIL_NONE)
		topics_warn_hidden(rk, p, report);
	free(report);
	topic_plan_close(p);
	return code;
}

/* ---- what the broker keeps of groups ---- */

/*
 * The id of some broker, because a broker's settings are requested of that broker. Which one does
 * not matter: offsets.retention.minutes is the same on all of a cluster that is in order.
 */
static rd_kafka_resp_err_t
any_broker(rd_kafka_t *rk, int32_t *id, int64_t deadline_ms)
{
	const struct rd_kafka_metadata *m;
	rd_kafka_resp_err_t err;

	do {
		err = rd_kafka_metadata(rk, 0, NULL, &m, kafka_slice_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	*id = m->broker_cnt > 0 ? m->brokers[0].id : -1;
	rd_kafka_metadata_destroy(m);
	return *id < 0 ? RD_KAFKA_RESP_ERR__UNKNOWN_BROKER : RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* *minutes stays where the response does not have the setting. */
static rd_kafka_resp_err_t
take_retention(int64_t *minutes, rd_kafka_event_t *event)
{
	const rd_kafka_ConfigResource_t **resource;
	const rd_kafka_ConfigEntry_t **entry;
	size_t n, entries_n;

	resource = rd_kafka_DescribeConfigs_result_resources(
	    rd_kafka_event_DescribeConfigs_result(event), &n);
	if (n != 1)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	if (rd_kafka_ConfigResource_error(resource[0]) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return rd_kafka_ConfigResource_error(resource[0]);
	entry = rd_kafka_ConfigResource_configs(resource[0], &entries_n);
	for (size_t i = 0; i < entries_n; i++)
		if (strcmp(rd_kafka_ConfigEntry_name(entry[i]), "offsets.retention.minutes") == 0 &&
		    rd_kafka_ConfigEntry_value(entry[i]) != NULL)
			*minutes = strtoll(rd_kafka_ConfigEntry_value(entry[i]), NULL, 10);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

enum fail_code
topics_offsets_retention(rd_kafka_t *rk, int64_t *minutes, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_ConfigResource_t *resource;
	struct kafka_admin admin = {0};
	rd_kafka_resp_err_t err;
	char name[16];
	int32_t id;

	*minutes = -1;
	err = any_broker(rk, &id, deadline_ms);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		snprintf(name, sizeof(name), "%d", (int)id);
		resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, name);
		rd_kafka_ConfigResource_set_config(resource, "offsets.retention.minutes", "");
		err = describe(rk, &admin, &resource, 1, deadline_ms);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			err = take_retention(minutes, admin.event);
		rd_kafka_ConfigResource_destroy(resource);
		kafka_admin_close(&admin);
	}
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	if (err == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
		return kafka_fail_denied(
		    f, rk, err, "DESCRIBE_CONFIGS", NULL, "asking a broker for its settings");
	return kafka_fail_asking(rk, err, "asking a broker for its settings", "", f);
}
