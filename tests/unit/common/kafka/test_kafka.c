/* kafka.h against librdkafka's own mock cluster: properties, errors, questions, the end. */
#include "tests/unit/capture.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_commits.h"
#include "common/kafka/kafka_groups.h"
#include "common/kafka/kafka_internal.h"
#include "common/kafka/kafka_log.h"
#include "common/kafka/kafka_stats.h"

enum { WAIT_MS = 10000, API_LIST_OFFSETS = 2, API_OFFSET_FETCH = 9, API_FIND_COORDINATOR = 10 };

static struct failure f;

/* A configuration of pairs "name", "value", ..., NULL. */
struct user {
	struct property item[8];
	struct properties list;
};

static const struct properties *
user_of(struct user *u, const char *const *pair)
{
	u->list = (struct properties){0, u->item};
	for (; *pair != NULL; pair += 2)
		u->item[u->list.n++] =
		    (struct property){.name = (char *)pair[0], .value = (char *)pair[1]};
	return &u->list;
}

static enum fail_code
try_open(rd_kafka_t **out, enum kafka_role role, const char *const *pair)
{
	struct user u;
	struct kafka_options o = {.role = role, .client = "test", .properties = user_of(&u, pair)};

	if (role == KAFKA_TRANSACTIONAL)
		o.transactional_id = "m.mixer";
	if (role == KAFKA_READER)
		o.group = "m.trainers";
	return kafka_open(out, &o, &f);
}

static rd_kafka_t *
open_mock(enum kafka_role role)
{
	static const char *const pair[] = {"test.mock.num.brokers", "3", NULL};
	rd_kafka_t *rk;

	assert_int_equal(try_open(&rk, role, pair), FAIL_NONE);
	return rk;
}

/* A second handle on the mock cluster of `owner`. */
static rd_kafka_t *
open_beside(rd_kafka_t *owner, enum kafka_role role)
{
	const char *at = rd_kafka_mock_cluster_bootstraps(rd_kafka_handle_mock_cluster(owner));
	const char *const pair[] = {"bootstrap.servers", at, NULL};
	rd_kafka_t *rk;

	assert_int_equal(try_open(&rk, role, pair), FAIL_NONE);
	return rk;
}

static const char *
property(rd_kafka_t *rk, const char *name, char *out, size_t room)
{
	assert_int_equal(rd_kafka_conf_get(rd_kafka_conf(rk), name, out, &room), RD_KAFKA_CONF_OK);
	return out;
}

static void
write_records(rd_kafka_t *writer, const char *topic, int32_t partition, int n)
{
	for (int i = 0; i < n; i++) {
		char value[16];
		int length = snprintf(value, sizeof(value), "%d", i);

		assert_int_equal(
		    rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic),
			RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_VALUE(value, (size_t)length),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
	}
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void
test_a_wrong_property_is_a_config_error_in_librdkafkas_words(void **state)
{
	static const struct {
		enum kafka_role role;
		const char *name, *value, *says;
	} row[] = {
	    {KAFKA_READER, "fetch.wait.max.ms", "soon", "fetch.wait.max.ms = soon: Invalid value"},
	    {KAFKA_WRITER, "acks", "banana", "acks = banana: Invalid value"},
	    {KAFKA_WRITER, "linger.ms", "-1", "linger.ms"},
	    {KAFKA_WRITER, "max.in.flight", "6", "`max.in.flight` must be set <= 5"},
	    {KAFKA_TRANSACTIONAL, "message.timeout.ms", "999999", "transaction.timeout.ms"},
	    {KAFKA_ADMIN, "security.protocol", "tls", "security.protocol = tls"},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, name) {
		const char *const pair[] = {row[i].name, row[i].value, NULL};
		rd_kafka_t *rk = NULL;

		assert_int_equal(try_open(&rk, row[i].role, pair), FAIL_CONFIG);
		assert_null(rk);
		if (strstr(f.text, row[i].says) == NULL)
			assert_string_equal(f.text, row[i].says);
	}
}

#define HIDDEN "hunter2-of-nobody"

static void
test_a_value_that_may_be_secret_is_in_no_message(void **state)
{
	static const struct {
		const char *name, *says;
	} row[] = {
	    {"sasl.pasword", "kafka property sasl.pasword: librdkafka has no such property; "
			     "did you mean sasl.password?"},
	    {"sasl.jaas.config", "kafka property sasl.jaas.config: is of Kafka's Java clients; "
				 "riffle uses librdkafka: set sasl.mechanism, sasl.username"},
	    {"no.such.thing", "kafka property no.such.thing: librdkafka has no such property"},
	    {"ssl_key", "kafka property ssl_key: librdkafka does not take its value"},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, name) {
		const char *const pair[] = {row[i].name, HIDDEN, NULL};
		struct property p = {.name = (char *)row[i].name, .value = HIDDEN};
		rd_kafka_t *rk = NULL;

		assert_int_equal(try_open(&rk, KAFKA_ADMIN, pair), FAIL_CONFIG);
		assert_null(strstr(f.text, HIDDEN));
		assert_non_null(strstr(f.text, row[i].says));
		assert_int_equal(kafka_check_property(&p, &f), FAIL_CONFIG);
		assert_null(strstr(f.text, HIDDEN));
	}
}

static void
test_a_property_is_checked_without_a_broker(void **state)
{
	struct property good = {.name = "sasl.password", .value = HIDDEN};
	struct property bad = {.name = "linger.ms", .value = "soon"};

	(void)state;
	assert_int_equal(kafka_check_property(&good, &f), FAIL_NONE);
	assert_int_equal(kafka_check_property(&bad, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "linger.ms = soon"));
}

/* librdkafka's dump of its configuration has the command, which may hold a password. */
static void
test_a_value_that_may_be_secret_is_in_no_log_line(void **state)
{
	static const char *const pair[] = {"debug", "conf", "sasl.kerberos.kinit.cmd",
	    "get-ticket --token=" HIDDEN, "sasl.username", "mixer", NULL};
	char text[1 << 16];
	struct capture c;
	rd_kafka_t *rk;

	(void)state;
	capture_begin(&c);
	assert_int_equal(try_open(&rk, KAFKA_ADMIN, pair), FAIL_NONE);
	kafka_close(rk);
	capture_end_lines(&c, text, sizeof(text));
	assert_non_null(strstr(text, "sasl.kerberos.kinit.cmd = ***"));
	assert_null(strstr(text, HIDDEN));
}

static void
test_parts_of_a_hidden_value_are_hidden_too(void **state)
{
	struct property item[] = {
	    {.name = "sasl.oauthbearer.config", .value = "principal=me; x=" HIDDEN},
	    {.name = "client.id", .value = "visible"}, {.name = "sasl.password", .value = "abc"}};
	const struct properties p = {3, item};
	char text[1024], out[64];
	struct kafka_log l;
	struct capture c;

	(void)state;
	kafka_log_init(&l);
	assert_int_equal(kafka_log_hide(&l, &p, &f), FAIL_NONE);
	capture_begin(&c);
	kafka_log_put(&l, "riffle-test", 4, "X", "at x=" HIDDEN " of visible abc " HIDDEN, 0);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "at x=*** of visible abc ***\n"));
	kafka_log_shown(&l, "principal " HIDDEN HIDDEN, out, sizeof(out));
	assert_string_equal(out, "*** ******");
	kafka_log_end(&l);
}

static void
test_what_correctness_rests_on_can_not_be_overridden(void **state)
{
	static const struct {
		enum kafka_role role;
		const char *name, *user, *stays;
	} row[] = {
	    {KAFKA_READER, "isolation.level", "read_uncommitted", "read_committed"},
	    {KAFKA_READER, "auto.offset.reset", "earliest", "error"},
	    {KAFKA_READER, "enable.auto.commit", "true", "false"},
	    {KAFKA_READER, "enable.auto.offset.store", "true", "false"},
	    {KAFKA_READER, "enable.partition.eof", "false", "true"},
	    {KAFKA_READER, "check.crcs", "false", "true"},
	    {KAFKA_READER, "group.id", "mine", "m.trainers"},
	    {KAFKA_WRITER, "enable.idempotence", "false", "true"},
	    {KAFKA_WRITER, "acks", "1", "-1"},
	    {KAFKA_WRITER, "transactional.id", "mine", NULL},
	    {KAFKA_WRITER, "delivery.report.only.error", "true", "false"},
	    {KAFKA_TRANSACTIONAL, "transactional.id", "mine", "m.mixer"},
	    {KAFKA_ADMIN, "allow.auto.create.topics", "true", "false"},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, name) {
		const char *const pair[] = {
		    row[i].name, row[i].user, "test.mock.num.brokers", "1", NULL};
		char value[128];
		size_t room = sizeof(value);
		rd_kafka_t *rk;

		assert_int_equal(try_open(&rk, row[i].role, pair), FAIL_NONE);
		if (row[i].stays == NULL)
			assert_int_not_equal(
			    rd_kafka_conf_get(rd_kafka_conf(rk), row[i].name, value, &room),
			    RD_KAFKA_CONF_OK);
		else
			assert_string_equal(
			    property(rk, row[i].name, value, sizeof(value)), row[i].stays);
		kafka_close(rk);
	}
}

static void
test_the_users_tuning_wins_over_the_commands_and_that_over_ours(void **state)
{
	struct property tune[] = {
	    {.name = "linger.ms", .value = "7"}, {.name = "batch.num.messages", .value = "77"}};
	const char *const pair[] = {"linger.ms", "9", "linger.ms", "11", NULL};
	struct user u;
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .tune = tune,
	    .tune_n = 2,
	    .properties = user_of(&u, pair)};
	char value[64];
	rd_kafka_t *rk;

	(void)state;
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	assert_string_equal(property(rk, "linger.ms", value, sizeof(value)), "11");
	assert_string_equal(property(rk, "batch.num.messages", value, sizeof(value)), "77");
	assert_string_equal(property(rk, "client.id", value, sizeof(value)), "riffle-test");
	assert_string_equal(property(rk, "client.software.name", value, sizeof(value)), "riffle");
	kafka_close(rk);
}

static void
test_the_largest_record_passes_the_clients_own_limits(void **state)
{
	static const struct {
		size_t record;
		const char *message_max, *batch;
	} row[] = {
	    {0, "1000000", "4194304"},
	    {1, "1001024", "1000000"},
	    {1000000, "1001024", "1000000"},
	    {1000001, "1001025", "1000001"},
	    {4194303, "4195327", "4194303"},
	    {4194304, "4195328", "4194304"},
	    {4194305, "4195329", "4194304"},
	    {64 << 20, "67109888", "4194304"},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, message_max) {
		struct kafka_options o = {.role = KAFKA_TRANSACTIONAL,
		    .client = "test",
		    .transactional_id = "t",
		    .message_bytes_max = row[i].record};
		char value[64];
		rd_kafka_t *rk;

		assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
		assert_string_equal(
		    property(rk, "message.max.bytes", value, sizeof(value)), row[i].message_max);
		assert_string_equal(property(rk, "batch.size", value, sizeof(value)), row[i].batch);
		kafka_close(rk);
	}
}

static void
test_a_record_that_librdkafka_can_not_send_is_a_config_error(void **state)
{
	struct kafka_options o = {.role = KAFKA_WRITER, .client = "test"};
	rd_kafka_t *rk;

	(void)state;
	o.message_bytes_max = 1000000000 - 1024;
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	kafka_close(rk);
	o.message_bytes_max++;
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_CONFIG);
}

static void
test_no_broker_is_one_sentence_within_the_deadline(void **state)
{
	/* Port 1 is reserved and refuses; ".invalid" never resolves (RFC 6761). */
	static const char *const refused[] = {"bootstrap.servers", "127.0.0.1:1", NULL};
	static const char *const nowhere[] = {"bootstrap.servers", "broker.invalid:9092", NULL};
	char text[1024];
	struct capture c;
	int64_t begin_ms;
	rd_kafka_t *rk;

	(void)state;
	begin_ms = clock_ms();
	capture_begin(&c);
	assert_int_equal(try_open(&rk, KAFKA_ADMIN, refused), FAIL_NONE);
	assert_int_equal(kafka_wait_broker(rk, 500, &f), FAIL_BROKER);
	kafka_close(rk);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 0);
	assert_true(clock_ms() - begin_ms < 5000);
	assert_non_null(strstr(f.text, "no broker answers at 127.0.0.1:1 (bootstrap.servers): "));
	assert_non_null(strstr(f.text, "Connection refused"));
	assert_null(strstr(f.text, "after"));

	assert_int_equal(try_open(&rk, KAFKA_ADMIN, nowhere), FAIL_NONE);
	assert_int_equal(kafka_wait_broker(rk, 500, &f), FAIL_BROKER);
	kafka_close(rk);
	assert_non_null(strstr(f.text, "no broker answers at broker.invalid:9092"));
}

/* A host of Kubernetes has no DNS entry before its pod is there. */
static void
test_a_host_that_is_not_known_is_waited_for_as_long_as_any(void **state)
{
	enum { WAITS_MS = 3000 };
	static const char *const nowhere[] = {"bootstrap.servers", "broker.invalid:9092", NULL};
	char text[1024];
	struct capture c;
	int64_t begin_ms;
	rd_kafka_t *rk;

	(void)state;
	assert_int_equal(try_open(&rk, KAFKA_ADMIN, nowhere), FAIL_NONE);
	capture_begin(&c);
	begin_ms = clock_ms();
	assert_int_equal(kafka_wait_broker(rk, WAITS_MS, &f), FAIL_BROKER);
	assert_true(clock_ms() - begin_ms >= WAITS_MS);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
	assert_non_null(strstr(text,
	    "KAFKA-WAIT no broker has answered yet at broker.invalid:9092 "
	    "(bootstrap.servers): host broker.invalid is not known; waiting 1 s more"));
	assert_non_null(strstr(f.text, "host broker.invalid is not known: correct the name"));
	kafka_close(rk);
}

/* The metadata of 100 topics do not fit into the response that this handle takes. */
static void
test_waiting_for_a_broker_does_not_ask_about_all_topics(void **state)
{
	const char *pairs[] = {
	    "bootstrap.servers", NULL, "receive.message.max.bytes", "2000", NULL};
	rd_kafka_t *owner = open_mock(KAFKA_ADMIN), *rk;
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(owner);
	const struct rd_kafka_metadata *m;
	char name[32];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "demo.domain%d", i);
		rd_kafka_mock_topic_create(mock, name, 1, 1);
	}
	pairs[1] = rd_kafka_mock_cluster_bootstraps(mock);
	assert_int_equal(try_open(&rk, KAFKA_ADMIN, pairs), FAIL_NONE);
	assert_int_equal(kafka_wait_broker(rk, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(kafka_ask_brokers(rk, &m, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(m->broker_cnt, 3);
	rd_kafka_metadata_destroy(m);
	kafka_close(rk);
	kafka_close(owner);
}

static void
test_a_broker_that_answers_is_found(void **state)
{
	(void)state;
	for (enum kafka_role role = KAFKA_READER; role <= KAFKA_ADMIN; role++) {
		rd_kafka_t *rk = open_mock(role);

		assert_int_equal(kafka_wait_broker(rk, WAIT_MS, &f), FAIL_NONE);
		kafka_close(rk);
	}
}

static void
test_partitions_are_counted_and_a_missing_topic_has_none(void **state)
{
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
	int n = -1;

	(void)state;
	rd_kafka_mock_topic_create(mock, "demo.code", 7, 1);
	assert_int_equal(kafka_partitions(rk, "demo.code", &n, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(n, 7);
	rd_kafka_mock_topic_create(mock, "demo.gone", 1, 1);
	rd_kafka_mock_topic_set_error(mock, "demo.gone", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	assert_int_equal(kafka_partitions(rk, "demo.gone", &n, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(n, 0);
	rd_kafka_mock_topic_set_error(
	    mock, "demo.gone", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	assert_int_equal(kafka_partitions(rk, "demo.gone", &n, WAIT_MS, &f), FAIL_DENIED);
	assert_non_null(strstr(f.text, "topic demo.gone: "));
	assert_non_null(strstr(f.text, "on topic demo.gone"));
	kafka_close(rk);
}

static void
test_watermarks_of_many_partitions_come_at_once(void **state)
{
	enum { MANY = 16, FIRST = 2 };
	rd_kafka_t *writer = open_mock(KAFKA_WRITER);
	rd_kafka_t *rk = open_beside(writer, KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(writer);
	int64_t low[MANY], high[MANY];

	(void)state;
	rd_kafka_mock_topic_create(mock, "m.batches", MANY, 1);
	for (int i = 0; i < MANY; i++)
		write_records(writer, "m.batches", i, i % 3);
	assert_int_equal(
	    kafka_watermarks_many(rk, "m.batches", FIRST, MANY - FIRST, low, high, WAIT_MS, &f),
	    FAIL_NONE);
	for (int i = FIRST; i < MANY; i++) {
		assert_int_equal(low[i - FIRST], 0);
		assert_int_equal(high[i - FIRST], i % 3);
	}
	kafka_close(rk);
	kafka_close(writer);
}

static void
test_an_error_that_passes_is_waited_out_and_one_that_stays_is_told(void **state)
{
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
	int64_t low, high, begin_ms;

	(void)state;
	rd_kafka_mock_topic_create(mock, "m.ledger", 1, 1);
	rd_kafka_mock_push_request_errors(mock, API_LIST_OFFSETS, 3,
	    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
	    RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR);
	assert_int_equal(kafka_watermarks(rk, "m.ledger", 0, &low, &high, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(high, 0);

	for (int i = 0; i < 3; i++)
		rd_kafka_mock_broker_set_down(mock, i + 1);
	begin_ms = clock_ms();
	assert_int_not_equal(kafka_watermarks(rk, "m.ledger", 0, &low, &high, 1500, &f), FAIL_NONE);
	assert_true(clock_ms() - begin_ms < 6000);
	assert_non_null(strstr(f.text, "topic m.ledger: asking for its first and last offsets: "));
	kafka_close(rk);
}

/* Of a broker that left the metadata, and of leader epochs that librdkafka asks with. */
static void
test_errors_of_librdkafka_from_2_10_on_are_waited_out(void **state)
{
	static const rd_kafka_resp_err_t passing[] = {KAFKA_DESTROY_BROKER,
	    RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH};
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
	int64_t low, high, offset;

	(void)state;
	rd_kafka_mock_topic_create(mock, "m.ledger", 1, 1);
	EACH_ROW(i, passing) {
		rd_kafka_mock_push_request_errors(mock, API_LIST_OFFSETS, 1, passing[i]);
		assert_int_equal(
		    kafka_watermarks(rk, "m.ledger", 0, &low, &high, WAIT_MS, &f), FAIL_NONE);
		rd_kafka_mock_push_request_errors(mock, API_LIST_OFFSETS, 1, passing[i]);
		assert_int_equal(
		    kafka_offset_at(rk, "m.ledger", 0, 0, &offset, WAIT_MS, &f), FAIL_NONE);
	}
	assert_int_equal(kafka_passing(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION),
	    rd_kafka_version() >= KAFKA_FORGETS_FIRST);
	kafka_close(rk);
}

static void
test_a_partition_that_does_not_exist_is_told_at_once(void **state)
{
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	int64_t low, high, begin_ms = clock_ms();

	(void)state;
	rd_kafka_mock_topic_create(rd_kafka_handle_mock_cluster(rk), "m.ledger", 1, 1);
	assert_int_equal(
	    kafka_watermarks(rk, "m.ledger", 1, &low, &high, 10 * WAIT_MS, &f), FAIL_BROKER);
	assert_int_equal(
	    kafka_offset_at(rk, "m.ledger", 1, 0, &high, 10 * WAIT_MS, &f), FAIL_BROKER);
	assert_true(clock_ms() - begin_ms < WAIT_MS);
	kafka_close(rk);
}

static void
check_a_leader_that_dies(const char *const *topic, int n)
{
	rd_kafka_t *writer = open_mock(KAFKA_WRITER);
	rd_kafka_t *rk = open_beside(writer, KAFKA_READER);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(writer);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(n);
	int64_t low[2], high[2];

	for (int i = 0; i < n; i++) {
		rd_kafka_mock_topic_create(mock, topic[i], 1, 3);
		rd_kafka_mock_partition_set_leader(mock, topic[i], 0, 2);
		rd_kafka_topic_partition_list_add(list, topic[i], 0);
	}
	assert_int_equal(kafka_watermarks_list(rk, list, low, high, WAIT_MS, &f), FAIL_NONE);
	for (int i = 0; i < n; i++)
		rd_kafka_mock_partition_set_leader(mock, topic[i], 0, 3);
	rd_kafka_mock_broker_set_down(mock, 2);
	assert_int_equal(kafka_watermarks_list(rk, list, low, high, WAIT_MS, &f), FAIL_NONE);
	rd_kafka_topic_partition_list_destroy(list);
	kafka_close(rk);
	kafka_close(writer);
}

static void
test_a_leader_that_has_died_is_not_asked_until_time_runs_out(void **state)
{
	static const char *const topic[] = {"m.ledger", "m.control"};

	(void)state;
	check_a_leader_that_dies(topic, 1);
	check_a_leader_that_dies(topic, 2);
}

static void
test_the_last_record_of_a_partition_is_found(void **state)
{
	rd_kafka_t *writer = open_mock(KAFKA_WRITER);
	rd_kafka_t *reader = open_beside(writer, KAFKA_READER);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(writer);
	rd_kafka_topic_partition_list_t *assigned;
	rd_kafka_message_t *m = (void *)&f;

	(void)state;
	rd_kafka_mock_topic_create(mock, "m.ledger", 2, 1);
	assert_int_equal(kafka_last_record(reader, "m.ledger", 1, &m, WAIT_MS, &f), FAIL_NONE);
	assert_null(m);
	for (int n = 1; n <= 3; n++) {
		char last[16];

		write_records(writer, "m.ledger", 1, n);
		snprintf(last, sizeof(last), "%d", n - 1);
		assert_int_equal(
		    kafka_last_record(reader, "m.ledger", 1, &m, WAIT_MS, &f), FAIL_NONE);
		assert_non_null(m);
		assert_int_equal(m->offset, n * (n + 1) / 2 - 1);
		assert_memory_equal(m->payload, last, m->len);
		rd_kafka_message_destroy(m);
	}
	assert_int_equal(rd_kafka_assignment(reader, &assigned), RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(assigned->cnt, 0);
	rd_kafka_topic_partition_list_destroy(assigned);
	kafka_close(reader);
	kafka_close(writer);
}

static void
test_an_end_before_the_one_that_the_leader_gave_is_not_the_end(void **state)
{
	static const struct {
		rd_kafka_resp_err_t err;
		int64_t offset;
		bool at_end;
	} row[] = {
	    {RD_KAFKA_RESP_ERR__PARTITION_EOF, 0, false},
	    {RD_KAFKA_RESP_ERR__PARTITION_EOF, 9, false},
	    {RD_KAFKA_RESP_ERR__PARTITION_EOF, 10, true},
	    {RD_KAFKA_RESP_ERR__PARTITION_EOF, 11, true},
	    {RD_KAFKA_RESP_ERR_NO_ERROR, 10, false},
	    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, 10, false},
	};

	(void)state;
	EACH_ROW(i, row) {
		const rd_kafka_message_t m = {.err = row[i].err, .offset = row[i].offset};

		assert_int_equal(kafka_at_end(&m, 10), row[i].at_end);
	}
}

static void
commit(rd_kafka_t *reader, const char *topic, int32_t partition, int64_t offset, const char *text)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *p = rd_kafka_topic_partition_list_add(list, topic, partition);

	p->offset = offset;
	p->metadata = strdup(text);
	p->metadata_size = strlen(text);
	assert_int_equal(rd_kafka_commit(reader, list, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
}

/* rd_kafka_assign() in place of kafka_assign() ends this test at an assert of librdkafka. */
static void
test_partitions_are_assigned_again_and_closed_before_they_have_stopped(void **state)
{
	enum { HANDLES = 5, ROUNDS = 40, PARTITIONS = 8 };
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(PARTITIONS);

	(void)state;
	for (int p = 0; p < PARTITIONS; p++)
		rd_kafka_topic_partition_list_add(list, "m.batches", p)->offset = 0;
	for (int h = 0; h < HANDLES; h++) {
		rd_kafka_t *rk = open_mock(KAFKA_READER);

		for (int i = 0; i < ROUNDS; i++) {
			assert_int_equal(kafka_assign(rk, list), RD_KAFKA_RESP_ERR_NO_ERROR);
			if (i % 5 == 4)
				kafka_assign(rk, NULL);
		}
		kafka_assign(rk, list);
		kafka_close(rk);
	}
	rd_kafka_topic_partition_list_destroy(list);
}

static void
test_a_groups_offsets_come_with_their_metadata(void **state)
{
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
	rd_kafka_t *reader = open_beside(rk, KAFKA_READER);
	char *text[3] = {(char *)&f, (char *)&f, (char *)&f};
	int64_t next[3];

	(void)state;
	rd_kafka_mock_topic_create(mock, "m.batches", 3, 1);
	assert_int_equal(
	    kafka_commits_of_topic(reader, "m.batches", 3, next, text, WAIT_MS, &f), FAIL_NONE);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(next[i], -1);
		assert_null(text[i]);
	}
	commit(reader, "m.batches", 2, 41, "step=20");
	commit(reader, "m.batches", 0, 7, "step=3");
	rd_kafka_mock_push_request_errors(
	    mock, API_OFFSET_FETCH, 1, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
	assert_int_equal(
	    kafka_commits_of_topic(reader, "m.batches", 3, next, text, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(next[0], 7);
	assert_string_equal(text[0], "step=3");
	assert_int_equal(next[1], -1);
	assert_null(text[1]);
	assert_int_equal(next[2], 41);
	assert_string_equal(text[2], "step=20");
	free(text[0]);
	free(text[2]);
	kafka_close(reader);
	kafka_close(rk);
}

/* Of four partitions the topic has three: those are answered, and the fourth with an error. */
static void
test_an_error_of_one_partition_is_no_missing_commit(void **state)
{
	enum { ASKED = 4, SHORT_MS = 300 };
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
	rd_kafka_t *reader = open_beside(rk, KAFKA_READER);
	char *text[ASKED];
	int64_t next[ASKED];

	(void)state;
	rd_kafka_mock_topic_create(mock, "m.batches", ASKED - 1, 1);
	for (int32_t i = 0; i < ASKED - 1; i++)
		commit(reader, "m.batches", i, 7, "step=3");
	assert_int_not_equal(
	    kafka_commits_of_topic(reader, "m.batches", ASKED, next, text, SHORT_MS, &f),
	    FAIL_NONE);
	assert_non_null(strstr(f.text, "topic m.batches: "));
	assert_non_null(strstr(f.text, "asking for its committed offsets"));
	for (int i = 0; i < ASKED; i++) { /* nothing is half known */
		assert_int_equal(next[i], -1);
		assert_null(text[i]);
	}
	kafka_close(reader);
	kafka_close(rk);
}

/* As after a broker's start. */
static void
test_a_coordinator_that_moves_is_asked_again_for_a_groups_offsets(void **state)
{
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
	rd_kafka_t *reader = open_beside(rk, KAFKA_READER);
	char *text[1];
	int64_t next[1];

	(void)state;
	rd_kafka_mock_topic_create(mock, "m.batches", 1, 1);
	rd_kafka_mock_push_request_errors(mock, API_OFFSET_FETCH, 2,
	    RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE);
	assert_int_equal(
	    kafka_commits_of_topic(reader, "m.batches", 1, next, text, WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(next[0], -1);
	assert_null(text[0]);
	kafka_close(reader);
	kafka_close(rk);
}

/* By protocol numbers: Produce, and all that a transaction is made of; not what only asks. */
static void
test_what_was_sent_and_not_answered_leaves_doubt(void **state)
{
	static const int16_t writing[] = {0, 24, 25, 26, 28};
	static const struct {
		rd_kafka_resp_err_t err;
		bool doubt;
	} row[] = {
	    {RD_KAFKA_RESP_ERR_NO_ERROR, false},         /* answered */
	    {RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, false}, /* never sent */
	    {RD_KAFKA_RESP_ERR__DESTROY, false},         /* the handle ends */
	    {RD_KAFKA_RESP_ERR__TIMED_OUT, true},
	    {RD_KAFKA_RESP_ERR__TRANSPORT, true},
	    {RD_KAFKA_RESP_ERR__BAD_MSG, true},
	    {RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, true},
	};
	enum { KEYS = 80 };

	(void)state;
	EACH_ROW(i, row)
		for (int16_t key = 0; key < KEYS; key++) {
			bool writes = false;

			for (size_t k = 0; k < sizeof(writing) / sizeof(writing[0]); k++)
				writes = writes || key == writing[k];
			assert_int_equal(
			    kafka_leaves_doubt(key, row[i].err), writes && row[i].doubt);
		}
}

static void
answer_after(rd_kafka_mock_cluster_t *mock, int ms)
{
	for (int32_t broker = 1; broker <= 3; broker++)
		rd_kafka_mock_broker_set_rtt(mock, broker, ms);
}

/* librdkafka ends the process where the handle is kept until the coordinator is found. */
static void
test_members_that_are_not_told_in_time_are_a_time_out_and_the_handle_can_be_closed(void **state)
{
	rd_kafka_t *rk = open_mock(KAFKA_ADMIN);
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
	rd_kafka_t *reader = open_beside(rk, KAFKA_READER);
	struct kafka_member member[1];
	size_t n;

	(void)state;
	answer_after(mock, 700);
	assert_int_equal(kafka_group_members(reader, member, 1, &n, 300, &f), FAIL_TIMEOUT);
	assert_non_null(strstr(f.text, "group m.trainers: asking for the members of a group: "));
	kafka_close(reader);
	answer_after(mock, 0);
	kafka_close(rk);
}

static void
count_lost(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	(void)rk;
	*(int *)opaque += m->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
test_closing_a_writer_reports_what_was_not_delivered(void **state)
{
	static const char *const pair[] = {"bootstrap.servers", "127.0.0.1:1", NULL};
	int lost = 0;
	struct user u;
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = user_of(&u, pair),
	    .delivered = count_lost,
	    .opaque = &lost};
	int64_t begin_ms = clock_ms();
	rd_kafka_t *rk;

	(void)state;
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	for (int i = 0; i < 5; i++)
		assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("t"),
				     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE("x", 1),
				     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
		    RD_KAFKA_RESP_ERR_NO_ERROR);
	kafka_close(rk);
	assert_int_equal(lost, 5);
	assert_true(clock_ms() - begin_ms < 8000);
	kafka_close(NULL);
}

/*
 * Opens a writer that must leave no gap on the cluster of `owner`, and gives it a record that is
 * sent and is not answered in time.
 */
static rd_kafka_t *
open_with_record_in_flight(rd_kafka_t *owner, int *lost)
{
	enum { BYTES = 1000 };
	static const char record[BYTES];
	static struct kafka_stats stats;
	struct user u;
	rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(owner);
	const char *const pair[] = {
	    "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(mock), "linger.ms", "0", NULL};
	struct kafka_options o = {.role = KAFKA_WRITER,
	    .client = "test",
	    .properties = user_of(&u, pair),
	    .gapless = true,
	    .delivered = count_lost,
	    .opaque = lost,
	    .stats = &stats};
	int64_t sent, begin_ms = clock_ms();
	rd_kafka_t *rk;

	stats.interval_ms = 10;
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	write_records(rk, "demo.code", 0, 1); /* the handle has all that it needs to send */
	answer_after(mock, WAIT_MS);
	sent = stats.sent_bytes;
	assert_int_equal(rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("demo.code"),
			     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE((void *)record, BYTES),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	while (stats.sent_bytes < sent + BYTES && clock_ms() - begin_ms < WAIT_MS)
		rd_kafka_poll(rk, 10);
	assert_true(stats.sent_bytes >= sent + BYTES);
	return rk;
}

static void
test_closing_a_writer_with_a_record_in_flight_logs_no_fatal_error(void **state)
{
	rd_kafka_t *owner = open_mock(KAFKA_ADMIN), *rk;
	int lost = 0;
	char text[4096];
	struct capture c;

	(void)state;
	rd_kafka_mock_topic_create(rd_kafka_handle_mock_cluster(owner), "demo.code", 1, 1);
	rk = open_with_record_in_flight(owner, &lost);
	assert_int_equal(lost, 0);
	capture_begin(&c);
	kafka_close(rk);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 0);
	assert_int_equal(lost, 1);
	answer_after(rd_kafka_handle_mock_cluster(owner), 0);
	kafka_close(owner);
}

static struct rlimit files_before;

static int
save_limit(void **state)
{
	(void)state;
	return getrlimit(RLIMIT_NOFILE, &files_before);
}

static int
restore_limit(void **state)
{
	(void)state;
	return setrlimit(RLIMIT_NOFILE, &files_before);
}

/* From now on this process may open `n` files more. */
static void
leave_files(rlim_t n)
{
	struct rlimit limit = files_before;

	for (limit.rlim_cur = 0; n > 0; limit.rlim_cur++)
		n -= fcntl((int)limit.rlim_cur, F_GETFD) < 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void
test_a_handle_asks_for_its_files_before_it_is_opened(void **state)
{
	static const char *const nowhere[] = {"bootstrap.servers", "127.0.0.1:1", NULL};
	static const struct {
		enum kafka_role role;
		rlim_t needed;
	} row[] = {
	    {KAFKA_READER, 8}, {KAFKA_WRITER, 5}, {KAFKA_TRANSACTIONAL, 8}, {KAFKA_ADMIN, 5}};

	(void)state;
	EACH_ROW(i, row) {
		char expected[96];
		rd_kafka_t *rk;

		leave_files(row[i].needed - 1);
		assert_int_equal(try_open(&rk, row[i].role, nowhere), FAIL_IO);
		snprintf(expected, sizeof(expected),
		    "connecting to Kafka takes %d more open files: Too many open files",
		    (int)row[i].needed);
		assert_memory_equal(f.text, expected, strlen(expected));
		assert_non_null(strstr(f.text, "`ulimit -n` raises it"));
		leave_files(row[i].needed);
		assert_int_equal(try_open(&rk, row[i].role, nowhere), FAIL_NONE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &files_before), 0);
		kafka_close(rk);
	}
}

static void
test_without_files_a_question_is_not_asked_again(void **state)
{
	static const char *const nowhere[] = {"bootstrap.servers", "127.0.0.1:1", NULL};
	int64_t begin_ms, low, high;
	rd_kafka_t *rk;

	(void)state;
	assert_int_equal(try_open(&rk, KAFKA_ADMIN, nowhere), FAIL_NONE);
	assert_int_equal(kafka_wait_broker(rk, 100, &f), FAIL_BROKER);
	begin_ms = clock_ms();
	leave_files(0);
	assert_int_equal(kafka_wait_broker(rk, 60000, &f), FAIL_IO);
	assert_non_null(strstr(f.text, "connecting to Kafka takes 1 more open file: "));
	assert_int_equal(kafka_watermarks(rk, "t", 0, &low, &high, 60000, &f), FAIL_IO);
	assert_non_null(strstr(f.text, "connecting to Kafka takes 1 more open file: "));
	assert_true(clock_ms() - begin_ms < 30000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files_before), 0);
	kafka_close(rk);
}

static void
test_librdkafkas_errors_become_ours(void **state)
{
	static const struct {
		rd_kafka_resp_err_t err;
		enum fail_code code;
		const char *says;
	} row[] = {
	    {RD_KAFKA_RESP_ERR__FENCED, FAIL_FENCED, "has taken over"},
	    {RD_KAFKA_RESP_ERR_PRODUCER_FENCED, FAIL_FENCED, "has taken over"},
	    {RD_KAFKA_RESP_ERR__TIMED_OUT, FAIL_TIMEOUT, "did not answer in time"},
	    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, FAIL_BROKER, "max.message.bytes"},
	    {RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, FAIL_BROKER, "committing: why"},
	};

	(void)state;
	EACH_NAMED_ROW(i, row, says) {
		rd_kafka_error_t *error = rd_kafka_error_new(row[i].err, "%s", "why");

		assert_int_equal(kafka_fail(&f, error, "committing"), row[i].code);
		assert_int_equal(strncmp(f.text, "committing: why", 15), 0);
		assert_non_null(strstr(f.text, row[i].says));
	}
	assert_string_equal(kafka_hint(RD_KAFKA_RESP_ERR_INVALID_TXN_STATE), "");
}

static void
test_of_an_outage_one_line_a_broker_passes_a_minute(void **state)
{
	static const char refused[] =
	    "[thrd:b1:9092/1]: b1:9092/1: Connect to ipv4#10.0.0.1:9092 failed: Connection refused "
	    "(after %dms in state CONNECT)";
	char text[4096], line[256];
	struct kafka_log l;
	struct capture c;

	(void)state;
	kafka_log_init(&l);
	capture_begin(&c);
	for (int ms = 0; ms < KAFKA_LOG_INTERVAL_MS; ms += 1000) {
		snprintf(line, sizeof(line), refused, ms);
		kafka_log_put(&l, "riffle-test", 3, "FAIL", line, ms);
	}
	kafka_log_put(&l, "riffle-test", 3, "FAIL",
	    "[thrd:b2:9092/2]: b2:9092/2: Connect to ipv4#10.0.0.2:9092 failed: Connection refused",
	    5000);
	kafka_log_put(&l, "riffle-test", 3, "FAIL", "[thrd:b1:9092/1]: b1:9092/1: Disconnected", 1);
	kafka_log_put(&l, "riffle-test", 3, "FAIL",
	    "[thrd:GroupCoordinator]: GroupCoordinator: b1:9092: Disconnected", 2);
	kafka_log_put(&l, "riffle-test", 3, "FAIL", line, KAFKA_LOG_OUTAGE_MS);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 3);
	assert_non_null(strstr(text, "KAFKA-FAIL client=riffle-test b1:9092/1: Connect to"));
	assert_non_null(strstr(text, "(11 more like it)"));
	assert_null(strstr(text, "thrd"));
	kafka_log_end(&l);
}

static void
test_a_guess_is_left_out_once_a_broker_has_answered(void **state)
{
	static const char gone[] =
	    "[thrd:b1:9092/1]: b1:9092/1: Disconnected while requesting "
	    "ApiVersion: might be caused by incorrect security.protocol "
	    "configuration (connecting to a SSL listener?) (after 4ms in state "
	    "APIVERSION_QUERY)";
	char text[4096];
	struct kafka_log l;
	struct capture c;

	(void)state;
	kafka_log_init(&l);
	capture_begin(&c);
	kafka_log_set_worked(false);
	kafka_log_put(&l, "riffle-test", 3, "FAIL", gone, 0);
	kafka_log_set_worked(true);
	kafka_log_put(&l, "riffle-test", 3, "FAIL", gone, KAFKA_LOG_OUTAGE_MS);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 2);
	assert_non_null(strstr(text, "requesting ApiVersion: might be caused by"));
	assert_non_null(strstr(text, "requesting ApiVersion (after 4ms"));
	kafka_log_end(&l);
}

static void
test_retries_of_a_start_are_debug_lines_until_they_last_too_long(void **state)
{
	static const char retry[] =
	    "[thrd:main]: Failed to acquire idempotence PID from broker b1:9092/1: "
	    "Broker: Coordinator load in progress: retrying";
	static const char given_up[] =
	    "[thrd:main]: Failed to acquire transactional PID from broker b1:9092/1: "
	    "Broker: Transactional Id authorization failed";
	enum { LATER = 60 * KAFKA_LOG_RETRY_MS };
	static const struct {
		const char *text;
		int64_t now_ms;
		const char *level; /* NULL: no line */
	} rows[] = {
	    {retry, 1000, "debug"},
	    {retry, 1500, "debug"},
	    {retry, 6000, "debug"},
	    {retry, 1000 + KAFKA_LOG_RETRY_MS - 1, "debug"},
	    {retry, 1000 + KAFKA_LOG_RETRY_MS, "warning"},
	    {retry, 1500 + KAFKA_LOG_RETRY_MS, NULL},
	    {retry, 6000 + KAFKA_LOG_RETRY_MS, NULL},
	    {retry, 1000 + KAFKA_LOG_RETRY_MS + KAFKA_LOG_INTERVAL_MS, "warning"},
	    {retry, LATER, "debug"},
	    {retry, LATER + KAFKA_LOG_RETRY_MS, "debug"},
	    {given_up, LATER + KAFKA_LOG_RETRY_MS, "warning"},
	};
	char text[4096];
	struct kafka_log l;
	struct capture c;

	(void)state;
	kafka_log_init(&l);
	EACH_NAMED_ROW(i, rows, level) {
		char want[64];

		capture_begin(&c);
		log_set_level(LOG_DEBUG);
		kafka_log_put(&l, "riffle-test", 4, "GETPID", rows[i].text, rows[i].now_ms);
		assert_int_equal(
		    capture_end_lines(&c, text, sizeof(text)), rows[i].level == NULL ? 0 : 1);
		if (rows[i].level == NULL)
			continue;
		snprintf(want, sizeof(want), " %s kafka: ", rows[i].level);
		assert_non_null(strstr(text, want));
	}
	kafka_log_end(&l);
}

/* What one takeover makes librdkafka log. */
static void
test_a_takeover_is_told_by_the_call_that_meets_it(void **state)
{
	static const char *const rows[] = {
	    "TxnCoordinator/1: Failed to add partition \"m.batches\" [0] to transaction: Broker: "
	    "Producer attempted an operation with an old epoch",
	    "Fatal transaction error: Failed to add partitions to transaction: Local: This "
	    "instance has been fenced by a newer instance (_FENCED)",
	    "Broker: There is a newer producer with the same transactionalId which fences the "
	    "current one",
	};
	char text[4096];
	struct kafka_log l;
	struct capture c;

	(void)state;
	kafka_log_init(&l);
	EACH_ROW(i, rows) {
		capture_begin(&c);
		log_set_level(LOG_DEBUG);
		kafka_log_put(&l, "riffle-mix", 3, "TXNERR", rows[i], 0);
		assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 1);
		assert_non_null(strstr(text, " debug kafka: "));
	}
	kafka_log_end(&l);
}

static void
test_more_kinds_than_remembered_do_not_lose_lines(void **state)
{
	enum { KINDS = KAFKA_LOG_KINDS_MAX + 10 };
	char text[32768], line[64];
	struct kafka_log l;
	struct capture c;

	(void)state;
	kafka_log_init(&l);
	capture_begin(&c);
	for (int i = 0; i < KINDS; i++) {
		snprintf(line, sizeof(line), "b%d:9092/1: Disconnected", i);
		kafka_log_put(&l, "riffle-test", 4, "FAIL", line, i);
	}
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), KINDS);
	kafka_log_end(&l);
}

static void
test_the_cause_is_the_last_failure_without_its_times(void **state)
{
	char cause[KAFKA_CAUSE_MAX], text[1024];
	struct kafka_log l;
	struct capture c;

	(void)state;
	kafka_log_init(&l);
	kafka_log_cause(&l, cause);
	assert_string_equal(cause, "");
	kafka_log_set_quiet(&l, true);
	capture_begin(&c);
	kafka_log_put(&l, "riffle-test", 3, "FAIL",
	    "[thrd:localhost:9092/bootstrap]: localhost:9092/bootstrap: Connect to "
	    "ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)",
	    0);
	kafka_log_put(&l, "riffle-test", 4, "CONFWARN",
	    "[thrd:app]: Configuration property linger.ms is a producer property and will be "
	    "ignored by this consumer instance",
	    0);
	assert_int_equal(capture_end_lines(&c, text, sizeof(text)), 0);
	kafka_log_cause(&l, cause);
	assert_string_equal(
	    cause, "localhost:9092: Connect to ipv4#127.0.0.1:9092 failed: Connection refused");
	kafka_log_end(&l);
}

static void
test_a_certificate_that_does_not_verify_is_told_with_its_reason(void **state)
{
	static const char text[] =
	    "[thrd:ssl://b:9093/bootstrap]: ssl://b:9093/bootstrap: SSL handshake failed: "
	    "error:0A000086:SSL routines::certificate verify failed: broker certificate could not "
	    "be verified, verify that ssl.ca.location is correctly configured or root CA "
	    "certificates are installed (after 3ms in state SSL_HANDSHAKE)";
	char cause[KAFKA_CAUSE_MAX];
	struct kafka_log l;

	(void)state;
	kafka_log_init(&l);
	kafka_log_set_quiet(&l, true);
	kafka_log_certificate(&l, "it has expired");
	kafka_log_put(&l, "riffle-test", 3, "FAIL", text, 0);
	kafka_log_cause(&l, cause);
	assert_string_equal(cause,
	    "ssl://b:9093: SSL handshake failed: error:0A000086:SSL routines::certificate verify "
	    "failed: it has expired");
	kafka_log_put(&l, "riffle-test", 3, "FAIL", "b:9093/1: Disconnected", 0);
	kafka_log_cause(&l, cause);
	assert_string_equal(cause, "b:9093/1: Disconnected");
	kafka_log_end(&l);
}

static void
test_a_topic_that_a_transaction_may_not_write_is_remembered(void **state)
{
	static const struct {
		const char *facility, *text, *refused;
	} row[] = {
	    {"ADDPARTS", "T/1: Failed to add partition \"m.x\" [0]: Broker: Not coordinator", ""},
	    {"FAIL", "partition \"m.y\" [0]: Topic authorization failed", ""},
	    {"ADDPARTS", "authorization failed", ""},
	    {"ADDPARTS", "partition \"m.y authorization failed", ""},
	    {"ADDPARTS",
		"T/1: Failed to add partition \"m.ledger\" [0] to transaction: Broker: Topic "
		"authorization failed",
		"m.ledger"},
	};
	char refused[KAFKA_CAUSE_MAX];
	struct kafka_log l;

	(void)state;
	kafka_log_init(&l);
	EACH_NAMED_ROW(i, row, facility) {
		kafka_log_put(&l, "riffle-test", 3, row[i].facility, row[i].text, 0);
		kafka_log_refused(&l, refused);
		assert_string_equal(refused, row[i].refused);
	}
	kafka_log_end(&l);
}

static void
test_a_librdkafka_that_is_too_old_or_ends_processes_is_refused_by_name(void **state)
{
	static const struct {
		int version;
		enum fail_code code;
	} row[] = {
	    {0x010900ff, FAIL_CONFIG},
	    {0x020001ff, FAIL_CONFIG},
	    {0x020002ff, FAIL_NONE},
	    {0x020300ff, FAIL_NONE},
	    {0x020400ff, FAIL_CONFIG},
	    {0x020800ff, FAIL_CONFIG},
	    {0x020901ff, FAIL_CONFIG},
	    {0x020a00ff, FAIL_NONE},
	    {0x020f01ff, FAIL_NONE},
	};

	(void)state;
	EACH_ROW(i, row)
		assert_int_equal(kafka_check_version(row[i].version, &f), row[i].code);
	assert_int_equal(kafka_check_version(0x020800ff, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "librdkafka 2.8.0 "));
	assert_non_null(strstr(f.text, "LIBRDKAFKA=bundled"));
	assert_int_equal(kafka_check_version(0x010900ff, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "librdkafka 1.9.0 is older than 2.0.2"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_wrong_property_is_a_config_error_in_librdkafkas_words),
	    cmocka_unit_test(test_a_value_that_may_be_secret_is_in_no_message),
	    cmocka_unit_test(test_a_property_is_checked_without_a_broker),
	    cmocka_unit_test(test_a_value_that_may_be_secret_is_in_no_log_line),
	    cmocka_unit_test(test_parts_of_a_hidden_value_are_hidden_too),
	    cmocka_unit_test(test_what_correctness_rests_on_can_not_be_overridden),
	    cmocka_unit_test(test_the_users_tuning_wins_over_the_commands_and_that_over_ours),
	    cmocka_unit_test(test_the_largest_record_passes_the_clients_own_limits),
	    cmocka_unit_test(test_a_record_that_librdkafka_can_not_send_is_a_config_error),
	    cmocka_unit_test(test_no_broker_is_one_sentence_within_the_deadline),
	    cmocka_unit_test(test_a_host_that_is_not_known_is_waited_for_as_long_as_any),
	    cmocka_unit_test(test_a_broker_that_answers_is_found),
	    cmocka_unit_test(test_waiting_for_a_broker_does_not_ask_about_all_topics),
	    cmocka_unit_test(test_partitions_are_counted_and_a_missing_topic_has_none),
	    cmocka_unit_test(test_watermarks_of_many_partitions_come_at_once),
	    cmocka_unit_test(test_a_leader_that_has_died_is_not_asked_until_time_runs_out),
	    cmocka_unit_test(test_an_error_that_passes_is_waited_out_and_one_that_stays_is_told),
	    cmocka_unit_test(test_errors_of_librdkafka_from_2_10_on_are_waited_out),
	    cmocka_unit_test(test_a_partition_that_does_not_exist_is_told_at_once),
	    cmocka_unit_test(test_the_last_record_of_a_partition_is_found),
	    cmocka_unit_test(test_an_end_before_the_one_that_the_leader_gave_is_not_the_end),
	    cmocka_unit_test(
		test_partitions_are_assigned_again_and_closed_before_they_have_stopped),
	    cmocka_unit_test(test_a_groups_offsets_come_with_their_metadata),
	    cmocka_unit_test(test_an_error_of_one_partition_is_no_missing_commit),
	    cmocka_unit_test(test_a_coordinator_that_moves_is_asked_again_for_a_groups_offsets),
	    cmocka_unit_test(test_what_was_sent_and_not_answered_leaves_doubt),
	    cmocka_unit_test(
		test_members_that_are_not_told_in_time_are_a_time_out_and_the_handle_can_be_closed),
	    cmocka_unit_test(test_closing_a_writer_reports_what_was_not_delivered),
	    cmocka_unit_test_setup_teardown(
		test_a_handle_asks_for_its_files_before_it_is_opened, save_limit, restore_limit),
	    cmocka_unit_test_setup_teardown(
		test_without_files_a_question_is_not_asked_again, save_limit, restore_limit),
	    cmocka_unit_test(test_closing_a_writer_with_a_record_in_flight_logs_no_fatal_error),
	    cmocka_unit_test(test_librdkafkas_errors_become_ours),
	    cmocka_unit_test(test_of_an_outage_one_line_a_broker_passes_a_minute),
	    cmocka_unit_test(test_a_guess_is_left_out_once_a_broker_has_answered),
	    cmocka_unit_test(test_retries_of_a_start_are_debug_lines_until_they_last_too_long),
	    cmocka_unit_test(test_a_takeover_is_told_by_the_call_that_meets_it),
	    cmocka_unit_test(test_more_kinds_than_remembered_do_not_lose_lines),
	    cmocka_unit_test(test_the_cause_is_the_last_failure_without_its_times),
	    cmocka_unit_test(test_a_certificate_that_does_not_verify_is_told_with_its_reason),
	    cmocka_unit_test(test_a_topic_that_a_transaction_may_not_write_is_remembered),
	    cmocka_unit_test(
		test_a_librdkafka_that_is_too_old_or_ends_processes_is_refused_by_name),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
