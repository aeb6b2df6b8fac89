/*
 * topics.h: what is asked of the broker about topics, and what follows from the answers.
 * librdkafka's admin requests and the modules that wait and word failures are replaced here: they
 * answer from `world`, and write down each call.
 */
#include "common/kafka/topics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/kafka/kafka_admin.h"
#include "common/kafka/kafka_internal.h"
#include "tests/unit/capture.h"

enum { TIMEOUT_MS = 9000, MANY = 257, PARTITIONS_MAX = 3 };

/* ---- the cluster ---- */

struct topic {
	const char *name;
	int partitions, lead; /* the first `lead` of them have a leader */
	rd_kafka_resp_err_t err, settings_err;
	const char *setting, *value; /* a setting that differs from the plan */
	int unknown;                 /* how many requests do not know its settings yet */
};

static struct world {
	struct topic topic[MANY];
	size_t n;
	const char *denied;             /* asked for by its name, this topic is denied */
	int again;                      /* how often a request that failed may be repeated */
	int shown_after;                /* how many looks still show no topic */
	rd_kafka_resp_err_t err;        /* of a request as a whole */
	rd_kafka_resp_err_t result_err; /* of the second topic of a request */
	const char *retention;
	int brokers;
} world;
static char calls[8192];
static size_t calls_n;
static int opened;

__attribute__((format(printf, 1, 2))) static void
call(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	calls_n += (size_t)vsnprintf(calls + calls_n, sizeof(calls) - calls_n, format, list);
	va_end(list);
	assert_true(calls_n < sizeof(calls));
}

static struct topic *
topic_called(const char *name)
{
	for (size_t i = 0; i < world.n; i++)
		if (strcmp(world.topic[i].name, name) == 0)
			return &world.topic[i];
	return NULL;
}

/* ---- in place of kafka_admin.c and kafka_fail.c ---- */

static rd_kafka_t *const rk = (rd_kafka_t *)&world;

void
kafka_admin_open(
    struct kafka_admin *a, rd_kafka_t *handle, rd_kafka_admin_op_t operation, int timeout_ms)
{
	assert_ptr_equal((const void *)handle, &world);
	assert_in_range(timeout_ms, 1, TIMEOUT_MS);
	*a = (struct kafka_admin){.options = (rd_kafka_AdminOptions_t *)&opened,
	    .queue = (rd_kafka_queue_t *)(uintptr_t)(operation + 1)};
	opened++;
}

void
kafka_admin_close(struct kafka_admin *a)
{
	opened -= a->options != NULL;
	*a = (struct kafka_admin){0};
}

rd_kafka_resp_err_t
kafka_admin_wait(struct kafka_admin *a, int timeout_ms)
{
	assert_in_range(timeout_ms, 1, TIMEOUT_MS);
	a->event = (rd_kafka_event_t *)&opened;
	return world.err;
}

int
kafka_left_ms(int64_t deadline_ms)
{
	assert_true(deadline_ms > clock_ms() && deadline_ms <= clock_ms() + TIMEOUT_MS);
	return TIMEOUT_MS;
}

int
kafka_slice_ms(int64_t deadline_ms)
{
	return kafka_left_ms(deadline_ms) / 3;
}

bool
kafka_again(rd_kafka_t *handle, rd_kafka_resp_err_t err, int64_t deadline_ms)
{
	assert_ptr_equal((const void *)handle, &world);
	kafka_left_ms(deadline_ms);
	if (err != RD_KAFKA_RESP_ERR__TIMED_OUT || world.again == 0)
		return false;
	world.again--;
	call("again\n");
	return true;
}

enum fail_code
kafka_fail_asking(rd_kafka_t *handle, rd_kafka_resp_err_t err, const char *attempted,
    const char *topic, struct failure *why)
{
	assert_ptr_equal((const void *)handle, &world);
	return fail(why, FAIL_BROKER, "%s%s: error %d", attempted, topic, err);
}

enum fail_code
kafka_fail_code(
    struct failure *why, rd_kafka_resp_err_t err, const char *text, const char *attempted)
{
	return fail(why, FAIL_BROKER, "%s: error %d%s", attempted, err, text == NULL ? "" : text);
}

enum fail_code
kafka_fail_denied(struct failure *why, rd_kafka_t *handle, rd_kafka_resp_err_t err,
    const char *operation, const char *name, const char *attempted)
{
	assert_ptr_equal((const void *)handle, &world);
	return fail(why, FAIL_DENIED, "%s: %s on %s denied by %d", attempted, operation,
	    name == NULL ? "cluster" : name, err);
}

enum fail_code
kafka_fail_missing(struct failure *why, rd_kafka_t *handle, const char *topic)
{
	assert_ptr_equal((const void *)handle, &world);
	return fail(why, FAIL_CONFIG, "missing %s", topic);
}

/* ---- in place of kafka_query.c, and librdkafka's metadata ---- */

static void
fill_metadata(struct rd_kafka_metadata *m, bool old)
{
	static struct rd_kafka_metadata_topic topic[MANY];
	static struct rd_kafka_metadata_partition partition[MANY][PARTITIONS_MAX];
	static struct rd_kafka_metadata_broker broker = {.id = 41};

	*m = (struct rd_kafka_metadata){.topics = topic, .brokers = &broker};
	m->broker_cnt = world.brokers;
	for (size_t i = 0; i < world.n && !old; i++) {
		const struct topic *t = &world.topic[i];

		topic[i] = (struct rd_kafka_metadata_topic){.topic = (char *)(uintptr_t)t->name,
		    .partition_cnt = t->partitions,
		    .partitions = partition[i],
		    .err = t->err};
		for (int p = 0; p < t->partitions; p++)
			partition[i][p] = (struct rd_kafka_metadata_partition){
			    .id = p, .leader = p < t->lead ? 1 : -1, .replica_cnt = 1};
		m->topic_cnt++;
	}
}

static struct rd_kafka_metadata metadata;

enum fail_code
kafka_all_topics(rd_kafka_t *handle, const struct rd_kafka_metadata **out, int64_t deadline_ms,
    struct failure *why)
{
	assert_ptr_equal((const void *)handle, &world);
	(void)why;
	kafka_left_ms(deadline_ms);
	fill_metadata(&metadata, false);
	*out = &metadata;
	opened++;
	return FAIL_NONE;
}

rd_kafka_resp_err_t
rd_kafka_metadata(rd_kafka_t *handle, int all, rd_kafka_topic_t *only,
    const struct rd_kafka_metadata **out, int timeout_ms)
{
	assert_ptr_equal((const void *)handle, &world);
	assert_null(only);
	assert_int_equal(timeout_ms, TIMEOUT_MS / 3);
	call("metadata %d\n", all);
	fill_metadata(&metadata, world.shown_after-- > 0);
	*out = &metadata;
	opened += world.err == RD_KAFKA_RESP_ERR_NO_ERROR;
	return world.err;
}

void
rd_kafka_metadata_destroy(const struct rd_kafka_metadata *m)
{
	assert_ptr_equal(m, &metadata);
	opened--;
}

enum fail_code
kafka_partitions(
    rd_kafka_t *handle, const char *topic, int *partitions, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)handle, &world);
	assert_int_equal(timeout_ms, TIMEOUT_MS);
	call("partitions %s\n", topic);
	*partitions = 0;
	return world.denied != NULL && strcmp(world.denied, topic) == 0
		   ? fail(why, FAIL_DENIED, "denied")
		   : FAIL_NONE;
}

/* ---- in place of librdkafka's requests about settings ---- */

struct rd_kafka_ConfigEntry_s {
	const char *name, *value;
};

struct rd_kafka_ConfigResource_s {
	char name[64];
	int asked; /* settings */
	struct rd_kafka_ConfigEntry_s entry;
	const rd_kafka_ConfigEntry_t *entries[1];
};

static rd_kafka_ConfigResource_t **resources; /* of the last request */
static size_t resources_n;

rd_kafka_ConfigResource_t *
rd_kafka_ConfigResource_new(rd_kafka_ResourceType_t type, const char *name)
{
	rd_kafka_ConfigResource_t *r = calloc(1, sizeof(*r));

	assert_true(type == RD_KAFKA_RESOURCE_TOPIC || type == RD_KAFKA_RESOURCE_BROKER);
	snprintf(r->name, sizeof(r->name), "%s%s", type == RD_KAFKA_RESOURCE_TOPIC ? "" : "broker ",
	    name);
	opened++;
	return r;
}

void
rd_kafka_ConfigResource_destroy(rd_kafka_ConfigResource_t *r)
{
	opened--;
	free(r);
}

void
rd_kafka_ConfigResource_destroy_array(rd_kafka_ConfigResource_t **r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rd_kafka_ConfigResource_destroy(r[i]);
}

rd_kafka_resp_err_t
rd_kafka_ConfigResource_set_config(
    rd_kafka_ConfigResource_t *r, const char *name, const char *value)
{
	assert_string_equal(value, "");
	assert_true(name[0] != '\0');
	r->asked++;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
rd_kafka_DescribeConfigs(rd_kafka_t *handle, rd_kafka_ConfigResource_t **r, size_t n,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
	assert_ptr_equal((const void *)handle, &world);
	assert_non_null(options);
	assert_int_equal((uintptr_t)queue, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS + 1);
	call("settings of %zu from %s, %d\n", n, r[0]->name, r[0]->asked);
	resources = r;
	resources_n = n;
}

const rd_kafka_DescribeConfigs_result_t *
rd_kafka_event_DescribeConfigs_result(rd_kafka_event_t *event)
{
	return (const rd_kafka_DescribeConfigs_result_t *)event;
}

const rd_kafka_ConfigResource_t **
rd_kafka_DescribeConfigs_result_resources(
    const rd_kafka_DescribeConfigs_result_t *result, size_t *n)
{
	assert_non_null(result);
	*n = resources_n;
	return (const rd_kafka_ConfigResource_t **)resources;
}

const char *
rd_kafka_ConfigResource_name(const rd_kafka_ConfigResource_t *r)
{
	return r->name;
}

rd_kafka_resp_err_t
rd_kafka_ConfigResource_error(const rd_kafka_ConfigResource_t *r)
{
	struct topic *t = topic_called(r->name);

	if (t == NULL)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	return t->unknown-- > 0 ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : t->settings_err;
}

const rd_kafka_ConfigEntry_t **
rd_kafka_ConfigResource_configs(const rd_kafka_ConfigResource_t *r, size_t *n)
{
	rd_kafka_ConfigResource_t *of = (rd_kafka_ConfigResource_t *)(uintptr_t)r;
	const struct topic *t = topic_called(r->name);

	of->entries[0] = &of->entry;
	of->entry =
	    (struct rd_kafka_ConfigEntry_s){t == NULL ? "offsets.retention.minutes" : t->setting,
		t == NULL ? world.retention : t->value};
	*n = of->entry.name != NULL;
	return of->entries;
}

const char *
rd_kafka_ConfigEntry_name(const rd_kafka_ConfigEntry_t *e)
{
	return e->name;
}

const char *
rd_kafka_ConfigEntry_value(const rd_kafka_ConfigEntry_t *e)
{
	return e->value;
}

/* ---- in place of librdkafka's requests to create and to delete ---- */

struct rd_kafka_topic_result_s {
	const char *name;
	rd_kafka_resp_err_t err;
};

static struct rd_kafka_topic_result_s result[MANY];
static const rd_kafka_topic_result_t *results[MANY];
static size_t results_n;

static void
take_request(const char *what, char *const *name, size_t n)
{
	call("%s %zu from %s to %s\n", what, n, name[0], name[n - 1]);
	results_n = n;
	for (size_t i = 0; i < n; i++) {
		result[i].name = "topic";
		result[i].err = i == 1 ? world.result_err : RD_KAFKA_RESP_ERR_NO_ERROR;
		results[i] = &result[i];
	}
}

rd_kafka_NewTopic_t *
rd_kafka_NewTopic_new(const char *topic, int partitions, int replicas, char *why, size_t why_size)
{
	if (partitions == 0) {
		snprintf(why, why_size, "no partitions");
		return NULL;
	}
	assert_int_equal(replicas, 3);
	opened++;
	return (rd_kafka_NewTopic_t *)strdup(topic);
}

rd_kafka_resp_err_t
rd_kafka_NewTopic_set_config(rd_kafka_NewTopic_t *made, const char *name, const char *value)
{
	if (strcmp((char *)made, "t0") == 0)
		call(" %s=%s", name, value);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
rd_kafka_NewTopic_destroy_array(rd_kafka_NewTopic_t **made, size_t n)
{
	opened -= (int)n;
	for (size_t i = 0; i < n; i++)
		free(made[i]);
}

void
rd_kafka_CreateTopics(rd_kafka_t *handle, rd_kafka_NewTopic_t **made, size_t n,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
	assert_ptr_equal((const void *)handle, &world);
	assert_non_null(options);
	assert_int_equal((uintptr_t)queue, RD_KAFKA_ADMIN_OP_CREATETOPICS + 1);
	take_request("create", (char *const *)made, n);
}

const rd_kafka_CreateTopics_result_t *
rd_kafka_event_CreateTopics_result(rd_kafka_event_t *event)
{
	return (const rd_kafka_CreateTopics_result_t *)event;
}

const rd_kafka_topic_result_t **
rd_kafka_CreateTopics_result_topics(const rd_kafka_CreateTopics_result_t *of, size_t *n)
{
	assert_non_null(of);
	*n = results_n;
	return results;
}

rd_kafka_DeleteTopic_t *
rd_kafka_DeleteTopic_new(const char *topic)
{
	opened++;
	return (rd_kafka_DeleteTopic_t *)strdup(topic);
}

void
rd_kafka_DeleteTopic_destroy_array(rd_kafka_DeleteTopic_t **made, size_t n)
{
	rd_kafka_NewTopic_destroy_array((rd_kafka_NewTopic_t **)made, n);
}

void
rd_kafka_DeleteTopics(rd_kafka_t *handle, rd_kafka_DeleteTopic_t **made, size_t n,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
	assert_ptr_equal((const void *)handle, &world);
	assert_non_null(options);
	assert_int_equal((uintptr_t)queue, RD_KAFKA_ADMIN_OP_DELETETOPICS + 1);
	take_request("delete", (char *const *)made, n);
}

const rd_kafka_DeleteTopics_result_t *
rd_kafka_event_DeleteTopics_result(rd_kafka_event_t *event)
{
	return (const rd_kafka_DeleteTopics_result_t *)event;
}

const rd_kafka_topic_result_t **
rd_kafka_DeleteTopics_result_topics(const rd_kafka_DeleteTopics_result_t *of, size_t *n)
{
	assert_non_null(of);
	*n = results_n;
	return results;
}

rd_kafka_resp_err_t
rd_kafka_topic_result_error(const rd_kafka_topic_result_t *r)
{
	return r->err;
}

const char *
rd_kafka_topic_result_error_string(const rd_kafka_topic_result_t *r)
{
	assert_int_not_equal(r->err, RD_KAFKA_RESP_ERR_NO_ERROR);
	return " (why)";
}

const char *
rd_kafka_topic_result_name(const rd_kafka_topic_result_t *r)
{
	return r->name;
}

/* ---- tests ---- */

static struct property bootstrap = {(char[]){"bootstrap.servers"}, (char[]){"b1:1,b2:2"}};
static const struct config config = {.kafka = {1, &bootstrap},
    .corpus = (char *)(uintptr_t) "c",
    .replication = 3,
    .min_insync_replicas = 2,
    .mix = {.name = (char *)(uintptr_t) "m"}};
static char names[MANY][24];
static struct planned_topic planned[MANY];
static struct topics_report reports[MANY];

/* A plan of n rejects topics t0, t1, ... with a partition each, which exist. */
static struct topic_plan
begin(size_t n)
{
	world = (struct world){.n = n, .brokers = 1};
	memset(reports, 0, sizeof(reports));
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "t%zu", i);
		planned[i] = (struct planned_topic){.kind = TOPIC_REJECTS,
		    .domain = -1,
		    .partitions = 1,
		    .message_bytes_max = 1000};
		snprintf(planned[i].name, sizeof(planned[i].name), "%s", names[i]);
		world.topic[i] = (struct topic){.name = names[i], .partitions = 1, .lead = 1};
	}
	calls[calls_n = 0] = '\0';
	return (struct topic_plan){.n = n, .topic = planned};
}

static void
test_topics_are_queried_with_their_settings(void **unused)
{
	const struct topics_use use = {.read = 1U << TOPIC_REJECTS};
	struct topic_plan p = begin(4);
	struct config one = config;

	(void)unused;
	one.replication = 1;
	world.topic[0].setting = "cleanup.policy";
	world.topic[0].value = "compact";
	world.topic[1].settings_err = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
	world.topic[2].name = "other"; /* t2 is missing */
	world.topic[3].unknown = 2;    /* another broker does not know t3 yet */
	world.again = 2;
	assert_int_equal(topics_query(rk, &one, &p, use, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(calls,
	    "partitions t2\nsettings of 3 from t0, 10\nagain\nsettings of 1 from t3, 10\nagain\n"
	    "settings of 1 from t3, 10\n");
	assert_string_equal(reports[0].problem,
	    "cleanup.policy is compact, must be delete: run `kafka-configs.sh --bootstrap-server "
	    "b1:1 --alter --entity-type topics --entity-name t0 --add-config "
	    "cleanup.policy=delete`");
	assert_true(reports[0].exists && reports[1].exists && reports[3].exists);
	assert_true(!reports[0].hidden && reports[1].hidden && !reports[3].hidden);
	assert_string_equal(reports[1].problem, "");
	assert_false(reports[2].exists);
	assert_string_equal(reports[2].problem, "missing");
	assert_string_equal(reports[3].problem, "");
	assert_true(reports[0].min_insync == -1 && reports[0].flush_messages == -1);
	assert_true(reports[0].partitions == 1 && reports[0].replicas == 1);
	assert_int_equal(opened, 0);
}

static void
test_what_a_query_cannot_learn_is_missing_or_fails(void **unused)
{
	const struct topics_use use = {.written = 1U << TOPIC_REJECTS};
	struct topic_plan p = begin(2);

	(void)unused;
	world.topic[1].unknown = 9; /* for good: it was deleted since */
	assert_int_equal(topics_query(rk, &config, &p, use, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_true(reports[0].exists && !reports[1].exists);
	p = begin(2);
	world.topic[1].err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	assert_int_equal(topics_query(rk, &config, &p, use, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(calls, "partitions t1\nsettings of 1 from t0, 10\n");
	assert_false(reports[1].exists);
	p = begin(2);
	world.n = 1;
	world.denied = "t1";
	assert_int_equal(topics_query(rk, &config, &p, use, reports, TIMEOUT_MS, &f), FAIL_DENIED);
	assert_string_equal(
	    f.text, "topic t1: asking for its partitions: WRITE on t1 denied by 29");
	p = begin(2);
	world.topic[1].settings_err = RD_KAFKA_RESP_ERR_INVALID_CONFIG;
	assert_int_equal(topics_query(rk, &config, &p, use, reports, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text, "t1: error 40");
	p = begin(2);
	world.err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	world.again = 1;
	assert_int_equal(topics_query(rk, &config, &p, use, reports, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text, "asking for the settings of the topics: error -185");
	assert_string_equal(calls, "settings of 2 from t0, 10\nagain\nsettings of 2 from t0, 10\n");
	p = begin(MANY); /* 256 a request */
	assert_int_equal(topics_query(rk, &config, &p, use, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(calls, "settings of 256 from t0, 10\nsettings of 1 from t256, 10\n");
	assert_int_equal(opened, 0);
}

static void
test_topics_that_are_missing_are_created_and_waited_for(void **unused)
{
	struct topic_plan p = begin(3);

	(void)unused;
	reports[1].exists = true;
	world.shown_after = 1;
	world.again = 1;
	assert_int_equal(topics_create(rk, &config, &p, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(calls,
	    " retention.ms=-1 retention.bytes=-1 cleanup.policy=delete compression.type=producer "
	    "message.timestamp.type=CreateTime max.message.bytes=1000 segment.bytes=1073741824 "
	    "min.insync.replicas=2create 2 from t0 to t2\nmetadata 1\nagain\nmetadata 1\n");
	p = begin(MANY);
	planned[0].name[0] = 'u'; /* its settings are not written down */
	world.topic[0].name = "u0";
	assert_int_equal(topics_create(rk, &config, &p, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(
	    calls, "create 256 from u0 to t255\ncreate 1 from t256 to t256\nmetadata 1\n");
	p = begin(2);
	world.topic[1].lead = 0; /* no leader comes */
	assert_int_equal(topics_create(rk, &config, &p, reports, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text, "waiting for the new topics to have leaders: error -185");
	p = begin(2);
	planned[1].partitions = 0;
	assert_int_equal(topics_create(rk, &config, &p, reports, TIMEOUT_MS, &f), FAIL_CONFIG);
	assert_string_equal(f.text, "topic t1: no partitions");
	assert_null(strstr(calls, "create"));
	assert_int_equal(opened, 0);
}

static void
test_topics_are_deleted_and_waited_for(void **unused)
{
	struct topic_plan p = begin(3);

	(void)unused;
	reports[1].exists = reports[2].exists = true;
	world.n = 1; /* t0 stays */
	assert_int_equal(topics_delete(rk, &p, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(calls, "delete 2 from t1 to t2\nmetadata 1\n");
	p = begin(3);
	reports[1].exists = true; /* and is shown for good */
	world.again = 1;
	assert_int_equal(topics_delete(rk, &p, reports, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text, "waiting for the deleted topics to be gone: error -185");
	assert_string_equal(calls, "delete 1 from t1 to t1\nmetadata 1\nagain\nmetadata 1\n");
	p = begin(MANY);
	for (size_t i = 0; i < MANY; i++)
		reports[i].exists = true;
	world.n = 0;
	assert_int_equal(topics_delete(rk, &p, reports, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(
	    calls, "delete 256 from t0 to t255\ndelete 1 from t256 to t256\nmetadata 1\n");
	assert_int_equal(opened, 0);
}

static void
test_a_topic_that_is_refused_fails_the_request(void **unused)
{
	static const struct {
		rd_kafka_resp_err_t all, second;
		enum fail_code create_code, delete_code;
		const char *create, *delete;
	} rows[] = {
	    {0, RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, FAIL_NONE, FAIL_BROKER, NULL,
		"topic topic: deleting it: error 36 (why)"},
	    {0, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, FAIL_BROKER, FAIL_NONE,
		"topic topic: creating it: error 3 (why)", NULL},
	    {0, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, FAIL_DENIED, FAIL_DENIED,
		"topic topic: creating it: CREATE on topic denied by 29",
		"topic topic: deleting it: DELETE on topic denied by 29"},
	    {RD_KAFKA_RESP_ERR__TIMED_OUT, 0, FAIL_BROKER, FAIL_BROKER,
		"creating topics: error -185", "deleting topics: error -185"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct topic_plan p = begin(2);

		world.err = rows[i].all;
		world.result_err = rows[i].second;
		assert_int_equal(
		    topics_create(rk, &config, &p, reports, TIMEOUT_MS, &f), rows[i].create_code);
		if (rows[i].create != NULL)
			assert_string_equal(f.text, rows[i].create);
		p = begin(2);
		reports[0].exists = reports[1].exists = true;
		world.err = rows[i].all;
		world.result_err = rows[i].second;
		world.n = 0;
		assert_int_equal(
		    topics_delete(rk, &p, reports, TIMEOUT_MS, &f), rows[i].delete_code);
		if (rows[i].delete != NULL)
			assert_string_equal(f.text, rows[i].delete);
		assert_int_equal(opened, 0);
	}
}

static void
test_missing_topics_are_counted_and_a_mix_without_any_is_named(void **unused)
{
	static const struct {
		enum topic_kind kind[3];
		bool exists[3];
		const char *says; /* NULL: FAIL_NONE */
	} rows[] = {
	    {{TOPIC_REJECTS, TOPIC_BATCHES, TOPIC_LEDGER}, {true, true, true}, NULL},
	    {{TOPIC_REJECTS, TOPIC_BATCHES, TOPIC_LEDGER}, {true, false, false},
		"mix m has no topics on b1:1,b2:2: 2 of 3 topics are missing, the first: t1: run "
		"`riffle topics --create`"},
	    {{TOPIC_REJECTS, TOPIC_BATCHES, TOPIC_LEDGER}, {false, true, false},
		"2 of 3 topics are missing, the first: t0: run `riffle topics --create`"},
	    {{TOPIC_REJECTS, TOPIC_DOMAIN, TOPIC_ARRIVALS}, {false, false, false},
		"corpus c has no topics on b1:1,b2:2: 3 of 3 topics are missing, the first: t0: "
		"run `riffle topics --create`"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct topic_plan p = begin(3);

		for (size_t k = 0; k < 3; k++) {
			planned[k].kind = rows[i].kind[k];
			reports[k].exists = rows[i].exists[k];
		}
		assert_int_equal(topics_fail_missing(&config, &p, reports, &f),
		    rows[i].says == NULL ? FAIL_NONE : FAIL_CONFIG);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
	}
}

static void
test_hidden_settings_are_one_warning(void **unused)
{
	static const struct {
		bool hidden[3];
		const char *says;
	} rows[] = {
	    {{false, false, false}, ""},
	    {{false, true, false},
		"topics: TOPICS-HIDDEN the settings of 1 topic are not compared with what they "
		"must "
		"be: asking for its settings: DESCRIBE_CONFIGS on t1 denied by 29\n"},
	    {{false, true, true},
		"topics: TOPICS-HIDDEN the settings of 2 topics are not compared with what they "
		"must "
		"be: asking for its settings: DESCRIBE_CONFIGS on t1 denied by 29\n"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct topic_plan p = begin(3);
		struct capture c;
		char text[1024];

		for (size_t k = 0; k < 3; k++)
			reports[k].hidden = rows[i].hidden[k];
		capture_begin(&c);
		topics_warn_hidden(rk, &p, reports);
		assert_int_equal(
		    capture_end_lines(&c, text, sizeof(text)), rows[i].says[0] != '\0');
		assert_non_null(strstr(text, rows[i].says));
	}
}

static void
test_the_retention_of_commits_is_asked_of_some_broker(void **unused)
{
	static const struct {
		const char *retention;
		int brokers;
		rd_kafka_resp_err_t err;
		enum fail_code code;
		int64_t minutes;
		const char *calls, *says;
	} rows[] = {
	    {"10080", 1, 0, FAIL_NONE, 10080, "metadata 0\nsettings of 1 from broker 41, 1\n",
		NULL},
	    {NULL, 1, 0, FAIL_NONE, -1, "metadata 0\nsettings of 1 from broker 41, 1\n", NULL},
	    {"10080", 0, 0, FAIL_BROKER, -1, "metadata 0\n",
		"asking a broker for its settings: error -146"},
	    {"1", 1, RD_KAFKA_RESP_ERR__TIMED_OUT, FAIL_BROKER, -1,
		"metadata 0\nagain\nmetadata 0\n", "asking a broker for its settings: error -185"},
	    {"1", 1, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, FAIL_DENIED, -1,
		"metadata 0\n",
		"asking a broker for its settings: DESCRIBE_CONFIGS on cluster denied by 31"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		int64_t minutes = 5;

		begin(0);
		world.retention = rows[i].retention;
		world.brokers = rows[i].brokers;
		world.err = rows[i].err;
		world.again = 1;
		assert_int_equal(
		    topics_offsets_retention(rk, &minutes, TIMEOUT_MS, &f), rows[i].code);
		assert_int_equal(minutes, rows[i].minutes);
		assert_string_equal(calls, rows[i].calls);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
		assert_int_equal(opened, 0);
	}
}

/* What topics_warn_losses() logs of one topic. */
static void
warnings(char *out, size_t room, const struct topics_report *report)
{
	struct planned_topic topic = {.name = "c.web"};
	struct topic_plan plan = {.n = 1, .topic = &topic};
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t n;

	assert_non_null(file);
	fflush(stderr);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	topics_warn_losses(&plan, report);
	fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	rewind(file);
	n = fread(out, 1, room - 1, file);
	out[n] = '\0';
	fclose(file);
	close(saved);
}

static void
each_way_to_lose_acknowledged_records_is_warned_of(void **unused)
{
	static const struct {
		struct topics_report report;
		const char *id; /* NULL: no warning */
	} row[] = {
	    {{.exists = true, .replicas = 3, .min_insync = 2, .flush_messages = INT64_MAX}, NULL},
	    {{.exists = true, .replicas = 3, .min_insync = 1, .flush_messages = 1},
		"TOPICS-MIN-INSYNC"},
	    {{.exists = true, .replicas = 2, .min_insync = 1, .flush_messages = 1}, NULL},
	    {{.exists = true, .replicas = 3, .min_insync = 2, .flush_messages = 1, .unclean = true},
		"TOPICS-UNCLEAN"},
	    {{.exists = true, .replicas = 1, .min_insync = 1, .flush_messages = 1, .unclean = true},
		NULL},
	    {{.exists = true, .replicas = 1, .min_insync = 1, .flush_messages = 2}, "TOPICS-FLUSH"},
	    {{.exists = true, .replicas = 1, .min_insync = 1, .flush_messages = 1}, NULL},
	    /* What the broker does not say is not warned of; nor is a topic that is missing. */
	    {{.exists = true, .replicas = 3, .min_insync = -1, .flush_messages = -1}, NULL},
	    {{.exists = false, .replicas = 3, .min_insync = 1, .unclean = true}, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, id) {
		char text[1024];

		warnings(text, sizeof(text), &row[i].report);
		if (row[i].id == NULL)
			assert_string_equal(text, "");
		else
			assert_non_null(strstr(text, row[i].id));
	}
}

/* The topics of mix m, as topic_plan_open() names them, all exist as planned. */
static void
begin_mix(const struct config *c)
{
	static struct topic_plan *kept;
	struct failure ignored;

	begin(0);
	topic_plan_close(kept);
	kept = NULL;
	assert_int_equal(topic_plan_open(&kept, c, &ignored), FAIL_NONE);
	for (size_t i = 0; i < kept->n; i++)
		world.topic[i] = (struct topic){.name = kept->topic[i].name,
		    .partitions = kept->topic[i].partitions,
		    .lead = kept->topic[i].partitions};
	world.n = kept->n;
}

static struct config mix_config = {.kafka = {1, &bootstrap},
    .corpus = (char *)(uintptr_t) "c",
    .sequence_length = 1024,
    .replication = 1,
    .min_insync_replicas = 1,
    .mix = {.name = (char *)(uintptr_t) "m", .global_batch = 8, .lanes = 2, .partitions = 2}};

static void
test_the_topics_of_a_command_are_checked_before_it_starts(void **unused)
{
	const struct topics_use ledger = {.read = 1U << TOPIC_LEDGER},
				batches = {.written = 1U << TOPIC_BATCHES};
	struct topic *t;

	(void)unused;
	begin_mix(&mix_config);
	assert_int_equal(topics_check(rk, &mix_config, ledger, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(calls, "settings of 1 from m.ledger, 10\n");
	topic_called("m.batches")->partitions = 3; /* not looked at */
	assert_int_equal(topics_check(rk, &mix_config, ledger, TIMEOUT_MS, &f), FAIL_NONE);
	t = topic_called("m.batches");
	t->partitions = 2;
	t->setting = "retention.ms";
	t->value = "1";
	assert_int_equal(topics_check(rk, &mix_config, batches, TIMEOUT_MS, &f), FAIL_CONFIG);
	assert_string_equal(f.text,
	    "topic m.batches: retention.ms is 1, must be -1: run `kafka-configs.sh "
	    "--bootstrap-server b1:1 --alter --entity-type topics --entity-name m.batches "
	    "--add-config retention.ms=-1` (`riffle topics` shows all)");
	t->name = "gone";
	assert_int_equal(topics_check(rk, &mix_config, batches, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text,
	    "mix m has no topics on b1:1,b2:2: 1 of 1 topics are missing, the first: m.batches: "
	    "run `riffle topics --create`");
	assert_int_equal(opened, 0);
}

static void
test_a_larger_step_must_fit_the_topic_of_batches(void **unused)
{
	struct topic *t;
	char value[32];

	(void)unused;
	begin_mix(&mix_config);
	assert_int_equal(topics_check_batch(rk, &mix_config, 16, TIMEOUT_MS, &f), FAIL_NONE);
	assert_string_equal(calls, "settings of 1 from m.batches, 10\n");
	t = topic_called("m.batches");
	t->setting = "max.message.bytes";
	t->value = value;
	snprintf(value, sizeof(value), "%d", 1000);
	assert_int_equal(topics_check_batch(rk, &mix_config, 16, TIMEOUT_MS, &f), FAIL_DATA);
	assert_int_equal(
	    strncmp(f.text, "global_batch 16: topic m.batches: max.message.bytes is 1000, must be ",
		69),
	    0);
	t->unknown = 9;
	assert_int_equal(topics_check_batch(rk, &mix_config, 16, TIMEOUT_MS, &f), FAIL_BROKER);
	assert_string_equal(f.text, "missing m.batches");
	calls[calls_n = 0] = '\0';
	mix_config.mix.batches = MIX_BATCHES_DERIVED;
	assert_int_equal(topics_check_batch(rk, &mix_config, 16, TIMEOUT_MS, &f), FAIL_NONE);
	mix_config.mix.batches = MIX_BATCHES_COPIED;
	assert_int_equal(topics_check_batch(rk, &mix_config, 1 << 20, TIMEOUT_MS, &f), FAIL_DATA);
	assert_int_equal(
	    strncmp(f.text, "global_batch 1048576: one lane's record could be ", 49), 0);
	assert_non_null(strstr(f.text, " bytes; with 2 lanes at most "));
	assert_non_null(strstr(f.text, " sequences of 1024 tokens fit the 64 MiB of each"));
	assert_string_equal(calls, "");
	assert_int_equal(opened, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_way_to_lose_acknowledged_records_is_warned_of),
	    cmocka_unit_test(test_topics_are_queried_with_their_settings),
	    cmocka_unit_test(test_what_a_query_cannot_learn_is_missing_or_fails),
	    cmocka_unit_test(test_topics_that_are_missing_are_created_and_waited_for),
	    cmocka_unit_test(test_topics_are_deleted_and_waited_for),
	    cmocka_unit_test(test_a_topic_that_is_refused_fails_the_request),
	    cmocka_unit_test(test_missing_topics_are_counted_and_a_mix_without_any_is_named),
	    cmocka_unit_test(test_hidden_settings_are_one_warning),
	    cmocka_unit_test(test_the_retention_of_commits_is_asked_of_some_broker),
	    cmocka_unit_test(test_the_topics_of_a_command_are_checked_before_it_starts),
	    cmocka_unit_test(test_a_larger_step_must_fit_the_topic_of_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
