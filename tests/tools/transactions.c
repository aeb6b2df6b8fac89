/*
 * transactions -- writes a script of transactions to one partition; makes the topic where missing.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 transactions TOPIC [commit:N | abort:N | open:N | plain:N]...
 *
 * commit:N and abort:N write N records and end the transaction so, open:N leaves it open (the
 * process then ends; the broker aborts it after its timeout of TIMEOUT_MS), plain:N writes without
 * one. The value of a record is its number in the script from 0, in decimal. Exit 1 with a
 * sentence.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/kafka/kafka.h"

enum { WAIT_MS = 30000 };

static struct failure f;
static uint64_t written;

static rd_kafka_t *
open_handle(enum kafka_role role, const char *topic)
{
	struct property item[] = {{"bootstrap.servers", getenv("RIFFLE_BOOTSTRAP")}};
	struct properties list = {item[0].value == NULL ? 0 : 1, item};
	struct kafka_options o = {.role = role, .client = "transactions", .properties = &list};
	rd_kafka_t *rk;

	if (role == KAFKA_TRANSACTIONAL)
		o.transactional_id = topic;
	return kafka_open(&rk, &o, &f) == FAIL_NONE ? rk : NULL;
}

static bool
make_topic(const char *topic)
{
	rd_kafka_t *rk = open_handle(KAFKA_ADMIN, topic);
	rd_kafka_NewTopic_t *new = NULL;
	rd_kafka_queue_t *queue = NULL;
	rd_kafka_event_t *answer = NULL;
	char why[256];
	int n = 0;

	if (rk == NULL || kafka_wait_broker(rk, WAIT_MS, &f) != FAIL_NONE ||
	    kafka_partitions(rk, topic, &n, WAIT_MS, &f) != FAIL_NONE || n > 0) {
		kafka_close(rk);
		return n > 0;
	}
	new = rd_kafka_NewTopic_new(topic, 1, 1, why, sizeof(why));
	queue = rd_kafka_queue_new(rk);
	rd_kafka_CreateTopics(rk, &new, 1, NULL, queue);
	answer = rd_kafka_queue_poll(queue, WAIT_MS);
	if (answer == NULL || rd_kafka_event_error(answer) != RD_KAFKA_RESP_ERR_NO_ERROR)
		fail(&f, FAIL_BROKER, "topic %s could not be made", topic);
	while (
	    n == 0 && answer != NULL && kafka_partitions(rk, topic, &n, WAIT_MS, &f) == FAIL_NONE)
		usleep(10000);
	if (answer != NULL)
		rd_kafka_event_destroy(answer);
	rd_kafka_queue_destroy(queue);
	rd_kafka_NewTopic_destroy(new);
	kafka_close(rk);
	return n > 0;
}

static bool
check(rd_kafka_error_t *error, const char *attempted)
{
	if (error == NULL)
		return true;
	kafka_fail(&f, error, attempted);
	return false;
}

static bool
produce_one(rd_kafka_t *rk, rd_kafka_topic_t *topic)
{
	char value[24];
	int length = snprintf(value, sizeof(value), "%" PRIu64, written);

	while (rd_kafka_produce(
		   topic, 0, RD_KAFKA_MSG_F_COPY, value, (size_t)length, NULL, 0, NULL) != 0) {
		if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			kafka_fail_code(&f, rd_kafka_last_error(), NULL, "producing");
			return false;
		}
		rd_kafka_poll(rk, 10);
	}
	written++;
	return true;
}

/* A handle that was asked about the topic produces at once; else it waits up to a second. */
static bool
produce(rd_kafka_t *rk, const char *name, uint64_t n)
{
	rd_kafka_topic_t *topic;
	int partitions;
	bool well;

	if (kafka_partitions(rk, name, &partitions, WAIT_MS, &f) != FAIL_NONE)
		return false;
	topic = rd_kafka_topic_new(rk, name, NULL);
	well = topic != NULL;
	for (uint64_t i = 0; well && i < n; i++)
		well = produce_one(rk, topic);
	if (topic != NULL)
		rd_kafka_topic_destroy(topic);
	if (!well || rd_kafka_flush(rk, WAIT_MS) == RD_KAFKA_RESP_ERR_NO_ERROR)
		return well;
	fail(&f, FAIL_TIMEOUT, "flushing %" PRIu64 " records took more than %d ms", n, WAIT_MS);
	return false;
}

/* Obeys one word of the script. */
static bool
obey(rd_kafka_t *transactional, rd_kafka_t *plain, const char *topic, const char *word)
{
	const char *colon = strchr(word, ':');
	uint64_t n = colon == NULL ? 0 : strtoull(colon + 1, NULL, 10);

	if (strncmp(word, "plain:", 6) == 0)
		return produce(plain, topic, n);
	if (!check(rd_kafka_begin_transaction(transactional), "beginning a transaction") ||
	    !produce(transactional, topic, n))
		return false;
	if (strncmp(word, "commit:", 7) == 0)
		return check(rd_kafka_commit_transaction(transactional, -1), "committing");
	if (strncmp(word, "abort:", 6) == 0)
		return check(rd_kafka_abort_transaction(transactional, -1), "aborting");
	if (strncmp(word, "open:", 5) == 0)
		_exit(0); /* as by kill -9: nothing is ended */
	fail(&f, FAIL_USAGE, "%s is none of commit:N, abort:N, open:N, plain:N", word);
	return false;
}

int
main(int argc, char **argv)
{
	rd_kafka_t *transactional = NULL, *plain = NULL;
	bool well;

	if (argc < 2) {
		fprintf(stderr, "usage: transactions TOPIC [commit:N|abort:N|open:N|plain:N]...\n");
		return 2;
	}
	well = make_topic(argv[1]) &&
	       (transactional = open_handle(KAFKA_TRANSACTIONAL, argv[1])) != NULL &&
	       (plain = open_handle(KAFKA_WRITER, argv[1])) != NULL &&
	       check(rd_kafka_init_transactions(transactional, WAIT_MS), "init_transactions");
	for (int i = 2; well && i < argc; i++)
		well = obey(transactional, plain, argv[1], argv[i]);
	kafka_close(plain);
	kafka_close(transactional);
	if (!well)
		fprintf(stderr, "transactions: %s\n", f.text);
	return well ? 0 : 1;
}
