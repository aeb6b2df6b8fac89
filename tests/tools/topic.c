/*
 * topic -- all visible records of a topic as text, and a topic recreated from such text; so that a
 * test can change what was written.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 topic read TOPIC
 *         prints "PARTITION<TAB>OFFSET<TAB>HEX" a record, partition after partition
 *     RIFFLE_BOOTSTRAP=localhost:9092 topic write TOPIC PARTITIONS
 *         deletes the topic if it is there, makes it, and produces what stdin has in that form (the
 *         offset is passed over)
 *     RIFFLE_BOOTSTRAP=localhost:9092 topic append TOPIC
 *         produces them to a topic that is there
 *     RIFFLE_BOOTSTRAP=localhost:9092 topic read-keys|append-keys TOPIC
 *         the same with the record's key, in hex, in place of the offset; nothing: it has none
 *     RIFFLE_BOOTSTRAP=localhost:9092 topic delete TOPIC
 *         deletes it, and waits until the brokers know it no more
 *     RIFFLE_BOOTSTRAP=localhost:9092 topic drop
 *         deletes all topics whose names begin with a line of stdin, line by line as they come, and
 *         does not wait until every broker has forgotten them
 *
 * Exit 1 with a sentence on any failure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"

enum { WAIT_MS = 30000, RECORD_BYTES_MAX = 8 << 20, KEY_BYTES_MAX = 64 };

static bool keys; /* the second column is the key, not the offset */

static _Noreturn void
end_with(const char *why)
{
	fprintf(stderr, "topic: %s\n", why);
	exit(1);
}

static rd_kafka_t *
open_handle(enum kafka_role role)
{
	static char name[] = "bootstrap.servers";
	struct property property = {name, getenv("RIFFLE_BOOTSTRAP")};
	struct properties properties = {property.value == NULL ? 0 : 1, &property};
	struct kafka_options o = {.role = role,
	    .client = "topic",
	    .properties = &properties,
	    .message_bytes_max = role == KAFKA_WRITER ? RECORD_BYTES_MAX : 0};
	struct failure f;
	rd_kafka_t *rk;

	if (kafka_open(&rk, &o, &f) != FAIL_NONE || kafka_wait_broker(rk, WAIT_MS, &f) != FAIL_NONE)
		end_with(f.text);
	return rk;
}

/* ---- read ---- */

static void
print_record(const rd_kafka_message_t *m)
{
	const uint8_t *bytes = m->payload, *key = m->key;

	printf("%" PRId32 "\t", m->partition);
	for (size_t i = 0; keys && i < m->key_len; i++)
		printf("%02x", key[i]);
	if (!keys)
		printf("%" PRId64, m->offset);
	putchar('\t');
	for (size_t i = 0; i < m->len; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}

static void
read_partition(rd_kafka_t *rk, const char *topic, int32_t partition)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	bool more = true;

	rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
	    RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_assign(rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	while (more) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 100);

		if (m == NULL && clock_ms() > deadline_ms)
			end_with("no record came");
		if (m == NULL)
			continue;
		if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->partition == partition)
			print_record(m);
		more = m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF || m->partition != partition;
		rd_kafka_message_destroy(m);
	}
}

static void
read_topic(const char *topic)
{
	rd_kafka_t *rk = open_handle(KAFKA_READER);
	struct failure f;
	int partitions;

	if (kafka_partitions(rk, topic, &partitions, WAIT_MS, &f) != FAIL_NONE)
		end_with(f.text);
	for (int32_t p = 0; p < partitions; p++)
		read_partition(rk, topic, p);
	kafka_close(rk);
}

/* ---- write ---- */

static rd_kafka_resp_err_t
wait_answer(rd_kafka_queue_t *answers)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(answers, WAIT_MS);
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	const rd_kafka_topic_result_t **result = NULL;
	size_t n = 0;

	if (event == NULL)
		return err;
	err = rd_kafka_event_error(event);
	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_CREATETOPICS_RESULT)
		result = rd_kafka_CreateTopics_result_topics(
		    rd_kafka_event_CreateTopics_result(event), &n);
	else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DELETETOPICS_RESULT)
		result = rd_kafka_DeleteTopics_result_topics(
		    rd_kafka_event_DeleteTopics_result(event), &n);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR && n == 1)
		err = rd_kafka_topic_result_error(result[0]);
	rd_kafka_event_destroy(event);
	return err;
}

/* Takes the requests. A missing topic, or one that another deletes meanwhile, is no failure. */
static void
remove_topics(rd_kafka_t *rk, rd_kafka_DeleteTopic_t **request, size_t n)
{
	rd_kafka_queue_t *answers = rd_kafka_queue_new(rk);
	rd_kafka_resp_err_t err;

	rd_kafka_DeleteTopics(rk, request, n, NULL, answers);
	err = wait_answer(answers);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR && err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		end_with(rd_kafka_err2str(err));
	rd_kafka_DeleteTopic_destroy_array(request, n);
	rd_kafka_queue_destroy(answers);
}

static void
remove_topic(rd_kafka_t *rk, const char *topic)
{
	rd_kafka_DeleteTopic_t *request = rd_kafka_DeleteTopic_new(topic);

	remove_topics(rk, &request, 1);
}

/* A topic that is being deleted is in the way for a moment. */
static void
make_topic(rd_kafka_t *rk, const char *topic, int partitions)
{
	rd_kafka_queue_t *answers = rd_kafka_queue_new(rk);
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	char why[256];
	rd_kafka_resp_err_t err;

	for (;;) {
		rd_kafka_NewTopic_t *request =
		    rd_kafka_NewTopic_new(topic, partitions, 1, why, sizeof(why));

		if (request == NULL)
			end_with(why);
		rd_kafka_NewTopic_set_config(request, "max.message.bytes", "9000000");
		rd_kafka_NewTopic_set_config(request, "retention.ms", "-1");
		rd_kafka_CreateTopics(rk, &request, 1, NULL, answers);
		err = wait_answer(answers);
		rd_kafka_NewTopic_destroy(request);
		if (err != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS || clock_ms() > deadline_ms)
			break;
		clock_pause_ms(50);
	}
	rd_kafka_queue_destroy(answers);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with(rd_kafka_err2str(err));
}

static unsigned
digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	if (at == NULL)
		end_with("stdin: not PARTITION, OFFSET and HEX with tabs between");
	return (unsigned)(at - digits);
}

static void
produce_line(rd_kafka_topic_t *topic, char *line)
{
	static uint8_t bytes[RECORD_BYTES_MAX], key[KEY_BYTES_MAX];
	char *hex = strrchr(line, '\t'), *second = strchr(line, '\t');
	size_t n = 0, key_n = 0;

	if (hex == NULL)
		end_with("stdin: not PARTITION, OFFSET and HEX with tabs between");
	for (hex++; hex[0] != '\n' && hex[0] != '\0' && n < sizeof(bytes); hex += 2)
		bytes[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
	for (second++; keys && second[0] != '\t' && key_n < sizeof(key); second += 2)
		key[key_n++] = (uint8_t)(digit(second[0]) << 4 | digit(second[1]));
	if (rd_kafka_produce(topic, (int32_t)strtol(line, NULL, 10), RD_KAFKA_MSG_F_COPY, bytes, n,
		key_n > 0 ? key : NULL, key_n, NULL) != 0)
		end_with(rd_kafka_err2str(rd_kafka_last_error()));
}

/* The broker answers for what it has taken over from the controller, which is a little behind. */
static void
wait_partitions(rd_kafka_t *rk, const char *topic, int partitions)
{
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	struct failure f;
	int found = -1;

	while (found != partitions) {
		if (kafka_partitions(rk, topic, &found, WAIT_MS, &f) != FAIL_NONE)
			end_with(f.text);
		if (clock_ms() > deadline_ms)
			end_with(
			    "the broker does not take over that the topic was deleted or made");
		clock_pause_ms(20);
	}
}

static void
delete_topic(const char *name)
{
	rd_kafka_t *rk = open_handle(KAFKA_WRITER);

	remove_topic(rk, name);
	wait_partitions(rk, name, 0);
	kafka_close(rk);
}

static void
drop_topics(rd_kafka_t *rk, const char *prefix)
{
	const struct rd_kafka_metadata *all;
	rd_kafka_DeleteTopic_t **request;
	size_t n = 0;

	if (rd_kafka_metadata(rk, 1, NULL, &all, WAIT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with("the broker does not name its topics");
	request = calloc((size_t)all->topic_cnt + 1, sizeof(*request));
	if (request == NULL)
		end_with("no memory");
	for (int i = 0; i < all->topic_cnt; i++)
		if (strncmp(all->topics[i].topic, prefix, strlen(prefix)) == 0)
			request[n++] = rd_kafka_DeleteTopic_new(all->topics[i].topic);
	rd_kafka_metadata_destroy(all);
	if (n > 0)
		remove_topics(rk, request, n);
	free(request);
}

static void
drop_as_asked(void)
{
	rd_kafka_t *rk = open_handle(KAFKA_ADMIN);
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0')
			end_with("stdin: an empty prefix would delete every topic");
		drop_topics(rk, line);
	}
	free(line);
	kafka_close(rk);
}

static void
append_topic(const char *name)
{
	rd_kafka_t *rk = open_handle(KAFKA_WRITER);
	struct failure f;
	rd_kafka_topic_t *topic;
	char *line = NULL;
	size_t room = 0;
	int partitions;

	if (kafka_partitions(rk, name, &partitions, WAIT_MS, &f) != FAIL_NONE || partitions == 0)
		end_with("there is no such topic");
	topic = rd_kafka_topic_new(rk, name, NULL);
	while (getline(&line, &room, stdin) > 0) {
		produce_line(topic, line);
		rd_kafka_poll(rk, 0);
	}
	if (rd_kafka_flush(rk, WAIT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with("not all records were delivered");
	free(line);
	rd_kafka_topic_destroy(topic);
	kafka_close(rk);
}

static void
write_topic(const char *name, int partitions)
{
	rd_kafka_t *admin = open_handle(KAFKA_ADMIN);

	remove_topic(admin, name);
	wait_partitions(admin, name, 0); /* else the old one could be taken for the new one */
	make_topic(admin, name, partitions);
	wait_partitions(admin, name, partitions);
	kafka_close(admin);
	append_topic(name);
}

int
main(int argc, char **argv)
{
	keys = argc == 3 && strstr(argv[1], "-keys") != NULL;
	if (argc == 3 && (strcmp(argv[1], "read") == 0 || strcmp(argv[1], "read-keys") == 0))
		read_topic(argv[2]);
	else if (argc == 4 && strcmp(argv[1], "write") == 0)
		write_topic(argv[2], (int)strtol(argv[3], NULL, 10));
	else if (argc == 3 &&
		 (strcmp(argv[1], "append") == 0 || strcmp(argv[1], "append-keys") == 0))
		append_topic(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "delete") == 0)
		delete_topic(argv[2]);
	else if (argc == 2 && strcmp(argv[1], "drop") == 0)
		drop_as_asked();
	else {
		fprintf(stderr,
		    "usage: %s read[-keys] TOPIC | write TOPIC PARTITIONS | append[-keys] TOPIC | "
		    "delete TOPIC | drop\n",
		    argv[0]);
		return 2;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
