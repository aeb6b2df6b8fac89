/*
 * broker -- asks a broker the questions of kafka.h and a few more, and makes small changes, for
 * tests.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker last TOPIC PARTITION
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker watermarks TOPIC PARTITIONS
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker group GROUP TOPIC PARTITIONS
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker commit GROUP TOPIC PARTITION OFFSET TEXT
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker make TOPIC PARTITIONS [SETTING=VALUE]...
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker describe TOPIC
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker forget GROUP
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker widen TOPIC PARTITIONS
 *     RIFFLE_BOOTSTRAP=localhost:9092 broker member GROUP TOPIC CLIENT
 *
 * last prints "OFFSET VALUE" or "none"; watermarks "LOW HIGH" and group "OFFSET TEXT" ("-1 -" where
 * there is none) for each partition from 0; describe the number of partitions, then every setting
 * as "NAME=VALUE"; member is one until its standard input ends. How many milliseconds it took goes
 * to stderr.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_commits.h"

enum { WAIT_MS = 20000, POLL_MS = 100, PARTITIONS_MAX = 1024 };

static struct failure f;

static size_t
count(const char *text)
{
	size_t n = strtoul(text, NULL, 10);

	return n < PARTITIONS_MAX ? n : PARTITIONS_MAX;
}

static enum fail_code
ask_last(rd_kafka_t *rk, const char *topic, int32_t partition)
{
	rd_kafka_message_t *m;

	if (kafka_last_record(rk, topic, partition, &m, WAIT_MS, &f) != FAIL_NONE)
		return f.code;
	if (m == NULL)
		return printf("none\n"), FAIL_NONE;
	printf("%" PRId64 " %.*s\n", m->offset, (int)m->len, (const char *)m->payload);
	rd_kafka_message_destroy(m);
	return FAIL_NONE;
}

static enum fail_code
ask_watermarks(rd_kafka_t *rk, const char *topic, size_t n)
{
	int64_t low[PARTITIONS_MAX], high[PARTITIONS_MAX];

	if (kafka_watermarks_many(rk, topic, 0, n, low, high, WAIT_MS, &f) != FAIL_NONE)
		return f.code;
	for (size_t i = 0; i < n; i++)
		printf("%" PRId64 " %" PRId64 "\n", low[i], high[i]);
	return FAIL_NONE;
}

static enum fail_code
ask_group(rd_kafka_t *rk, const char *topic, size_t n)
{
	int64_t next[PARTITIONS_MAX];
	char *text[PARTITIONS_MAX];

	if (kafka_commits_of_topic(rk, topic, n, next, text, WAIT_MS, &f) != FAIL_NONE)
		return f.code;
	for (size_t i = 0; i < n; i++) {
		printf("%" PRId64 " %s\n", next[i], text[i] == NULL ? "-" : text[i]);
		free(text[i]);
	}
	return FAIL_NONE;
}

static enum fail_code
commit(rd_kafka_t *rk, char **word)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *p =
	    rd_kafka_topic_partition_list_add(list, word[1], (int)count(word[2]));
	rd_kafka_resp_err_t err;

	p->offset = strtoll(word[3], NULL, 10);
	p->metadata = strdup(word[4]);
	p->metadata_size = strlen(word[4]);
	err = rd_kafka_commit(rk, list, 0);
	rd_kafka_topic_partition_list_destroy(list);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ? FAIL_NONE
						 : kafka_fail_code(&f, err, NULL, "committing");
}

/* Waits for the answer of an admin request; gives it where it is no failure. */
static rd_kafka_event_t *
wait_answer(rd_kafka_queue_t *queue, const char *attempted)
{
	rd_kafka_event_t *answer = rd_kafka_queue_poll(queue, WAIT_MS);
	rd_kafka_resp_err_t err =
	    answer == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(answer);

	rd_kafka_queue_destroy(queue);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return answer;
	kafka_fail_code(&f, err, NULL, attempted);
	if (answer != NULL)
		rd_kafka_event_destroy(answer);
	return NULL;
}

/* The broker answers before it shows the topic to others. */
static enum fail_code
wait_shown(rd_kafka_t *rk, const char *name)
{
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	int partitions = 0;

	while (clock_ms() < deadline_ms) {
		if (kafka_partitions(rk, name, &partitions, WAIT_MS, &f) != FAIL_NONE)
			return f.code;
		if (partitions > 0)
			return FAIL_NONE;
		clock_pause_ms(20);
	}
	return fail(&f, FAIL_TIMEOUT, "topic %s was made and is not shown", name);
}

static enum fail_code
make(rd_kafka_t *rk, const char *name, int partitions, int settings_n, char **setting)
{
	const rd_kafka_topic_result_t **result;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(name, partitions, 1, NULL, 0);
	rd_kafka_event_t *answer;
	rd_kafka_resp_err_t err;
	size_t n;

	for (int i = 0; i < settings_n; i++) {
		char *equals = strchr(setting[i], '=');

		*equals = '\0';
		rd_kafka_NewTopic_set_config(topic, setting[i], equals + 1);
	}
	rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
	answer = wait_answer(queue, "making a topic");
	rd_kafka_NewTopic_destroy(topic);
	if (answer == NULL)
		return f.code;
	result =
	    rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(answer), &n);
	err = rd_kafka_topic_result_error(result[0]);
	rd_kafka_event_destroy(answer);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ? wait_shown(rk, name)
						 : kafka_fail_code(&f, err, NULL, name);
}

static enum fail_code
describe(rd_kafka_t *rk, const char *name)
{
	rd_kafka_ConfigResource_t *asked =
	    rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	const rd_kafka_ConfigResource_t **resource;
	const rd_kafka_ConfigEntry_t **entry;
	rd_kafka_event_t *answer;
	int partitions;
	size_t n;

	rd_kafka_DescribeConfigs(rk, &asked, 1, NULL, queue);
	answer = wait_answer(queue, "describing a topic");
	rd_kafka_ConfigResource_destroy(asked);
	if (answer == NULL || kafka_partitions(rk, name, &partitions, WAIT_MS, &f) != FAIL_NONE)
		return f.code;
	printf("%d\n", partitions);
	resource = rd_kafka_DescribeConfigs_result_resources(
	    rd_kafka_event_DescribeConfigs_result(answer), &n);
	entry = rd_kafka_ConfigResource_configs(resource[0], &n);
	for (size_t i = 0; partitions > 0 && i < n; i++)
		printf("%s=%s\n", rd_kafka_ConfigEntry_name(entry[i]),
		    rd_kafka_ConfigEntry_value(entry[i]));
	rd_kafka_event_destroy(answer);
	return FAIL_NONE;
}

/* Deletes a group with its commits, as an administrator or the retention of offsets does. */
static enum fail_code
forget(rd_kafka_t *rk, const char *group)
{
	rd_kafka_DeleteGroup_t *asked = rd_kafka_DeleteGroup_new(group);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	const rd_kafka_group_result_t **result;
	rd_kafka_event_t *answer;
	const rd_kafka_error_t *error;
	enum fail_code code = FAIL_NONE;
	size_t n;

	rd_kafka_DeleteGroups(rk, &asked, 1, NULL, queue);
	answer = wait_answer(queue, "deleting a group");
	rd_kafka_DeleteGroup_destroy(asked);
	if (answer == NULL)
		return f.code;
	result =
	    rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(answer), &n);
	error = rd_kafka_group_result_error(result[0]);
	if (error != NULL)
		code = kafka_fail_code(&f, rd_kafka_error_code(error), NULL, group);
	rd_kafka_event_destroy(answer);
	return code;
}

/* Adds partitions up to that number, as an administrator does. */
static enum fail_code
widen(rd_kafka_t *rk, const char *topic, size_t partitions)
{
	char why[256] = "";
	rd_kafka_NewPartitions_t *asked =
	    rd_kafka_NewPartitions_new(topic, partitions, why, sizeof(why));
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	const rd_kafka_topic_result_t **result;
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	rd_kafka_event_t *answer;
	rd_kafka_resp_err_t err;
	int shown = 0;
	size_t n;

	rd_kafka_CreatePartitions(rk, &asked, 1, NULL, queue);
	answer = wait_answer(queue, "adding partitions");
	rd_kafka_NewPartitions_destroy(asked);
	if (answer == NULL)
		return f.code;
	result = rd_kafka_CreatePartitions_result_topics(
	    rd_kafka_event_CreatePartitions_result(answer), &n);
	err = rd_kafka_topic_result_error(result[0]);
	rd_kafka_event_destroy(answer);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_fail_code(&f, err, NULL, topic);
	while (shown < (int)partitions && clock_ms() < deadline_ms)
		if (kafka_partitions(rk, topic, &shown, WAIT_MS, &f) != FAIL_NONE)
			return f.code;
	return FAIL_NONE;
}

static enum fail_code
join(rd_kafka_t *rk, const char *topic)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	struct pollfd in = {.fd = 0, .events = POLLIN};
	rd_kafka_resp_err_t err;

	rd_kafka_topic_partition_list_add(list, topic, RD_KAFKA_PARTITION_UA);
	err = rd_kafka_subscribe(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	while (err == RD_KAFKA_RESP_ERR_NO_ERROR && poll(&in, 1, POLL_MS) == 0) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 0);

		if (m != NULL)
			rd_kafka_message_destroy(m);
	}
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ? FAIL_NONE
						 : kafka_fail_code(&f, err, NULL, topic);
}

static enum fail_code
ask(rd_kafka_t *rk, int argc, char **argv)
{
	if (strcmp(argv[1], "member") == 0 && argc == 5)
		return join(rk, argv[3]);
	if (strcmp(argv[1], "last") == 0 && argc == 4)
		return ask_last(rk, argv[2], (int)count(argv[3]));
	if (strcmp(argv[1], "watermarks") == 0 && argc == 4)
		return ask_watermarks(rk, argv[2], count(argv[3]));
	if (strcmp(argv[1], "group") == 0 && argc == 5)
		return ask_group(rk, argv[3], count(argv[4]));
	if (strcmp(argv[1], "commit") == 0 && argc == 7)
		return commit(rk, argv + 2);
	if (strcmp(argv[1], "make") == 0 && argc >= 4)
		return make(rk, argv[2], (int)count(argv[3]), argc - 4, argv + 4);
	if (strcmp(argv[1], "describe") == 0 && argc == 3)
		return describe(rk, argv[2]);
	if (strcmp(argv[1], "forget") == 0 && argc == 3)
		return forget(rk, argv[2]);
	if (strcmp(argv[1], "widen") == 0 && argc == 4)
		return widen(rk, argv[2], count(argv[3]));
	return fail(&f, FAIL_USAGE, "%s is no question, or has other arguments", argv[1]);
}

int
main(int argc, char **argv)
{
	struct property item[] = {{"bootstrap.servers", getenv("RIFFLE_BOOTSTRAP")}};
	struct properties list = {item[0].value == NULL ? 0 : 1, item};
	struct kafka_options o = {.role = KAFKA_READER, .client = "ask", .properties = &list};
	rd_kafka_t *rk = NULL;
	enum fail_code code;
	int64_t begin_ms;

	if (argc > 2 && (strcmp(argv[1], "commit") == 0 || strcmp(argv[1], "group") == 0)) {
		o.group = argv[2];
		o.asks_only = strcmp(argv[1], "group") == 0;
	}
	if (argc == 5 && strcmp(argv[1], "member") == 0) {
		o.role = KAFKA_MEMBER;
		o.group = argv[2];
		o.client = argv[4];
	}
	code = argc < 2 ? fail(&f, FAIL_USAGE, "ask what?") : kafka_open(&rk, &o, &f);
	if (code == FAIL_NONE)
		code = kafka_wait_broker(rk, WAIT_MS, &f);
	begin_ms = clock_ms();
	if (code == FAIL_NONE)
		code = ask(rk, argc, argv);
	if (code == FAIL_NONE)
		fprintf(stderr, "%" PRId64 "\n", clock_ms() - begin_ms);
	else
		fprintf(stderr, "broker: %s\n", f.text);
	kafka_close(rk);
	return fail_exit(code);
}
