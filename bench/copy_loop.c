/*
 * copy_loop -- the bare loop that `riffle mix` is measured against: librdkafka reads the domain
 * topics from their starts, in order, and writes the same bytes as batch-sized records to L
 * partitions, in transactions of the same size with a ledger-sized record and offsets. No
 * decisions, no checks.
 *
 *     copy_loop BOOTSTRAP OUT_TOPIC LEDGER_TOPIC STEPS GLOBAL_BATCH LANES TRANSACTION_BYTES
 * TOPIC...
 *
 * Prints: steps, MB, seconds and MB/s, from the first record read to the last commit.
 */
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/now.h"

enum {
	ENVELOPE_BYTES = 10,
	PLACE_BYTES = 12,
	HEAD_BYTES = 120,
	LEDGER_BYTES = 20000,
	TAKE = 1024,
	READ_MS = 10000,
	SEND_S = 60,
};

static const char *const reader_properties[][2] = {
    {"group.id", "bench"},
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "error"},
    {"isolation.level", "read_committed"},
    {"check.crcs", "true"},
    {"fetch.wait.max.ms", "10"},
    {"fetch.message.max.bytes", "1048576"},
    {"queued.max.messages.kbytes", "131072"},
    {"socket.nagle.disable", "true"},
};

static const char *const writer_properties[][2] = {
    {"transactional.id", "bench-copy"},
    {"transaction.timeout.ms", "60000"},
    {"message.timeout.ms", "60000"},
    {"linger.ms", "500"},
    {"batch.size", "1048576"},
    {"queue.buffering.max.kbytes", "262144"},
    {"queue.buffering.max.messages", "1000000"},
    {"message.max.bytes", "67108864"},
    {"socket.nagle.disable", "true"},
};

struct bench {
	rd_kafka_t *in, *out;
	rd_kafka_queue_t *queue;
	rd_kafka_topic_t *batches, *ledger;
	rd_kafka_topic_partition_list_t *domains;
	long steps, sequences_a_lane, lanes, transaction_bytes;
	rd_kafka_message_t *taken[TAKE];
	ssize_t taken_n, taken_at;
	double began;
};

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "copy_loop: %s: %s\n", what, why);
	exit(1);
}

static void
die_on(rd_kafka_error_t *error, const char *what)
{
	if (error != NULL)
		die(what, rd_kafka_error_string(error));
}

static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
	(void)rk;
	(void)opaque;
	if (msg->err)
		die("delivery", rd_kafka_err2str(msg->err));
}

static rd_kafka_t *
open_handle(rd_kafka_type_t type, const char *bootstrap, const char *const (*property)[2], size_t n)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char why[512];
	rd_kafka_t *rk;

	if (rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, why, sizeof(why)))
		die("bootstrap.servers", why);
	for (size_t i = 0; i < n; i++) {
		fprintf(stderr, "%s=%s ", property[i][0], property[i][1]);
		if (rd_kafka_conf_set(conf, property[i][0], property[i][1], why, sizeof(why)))
			die(property[i][0], why);
	}
	fprintf(stderr, "\n");
	if (type == RD_KAFKA_PRODUCER)
		rd_kafka_conf_set_dr_msg_cb(conf, delivered);
	rk = rd_kafka_new(type, conf, why, sizeof(why));
	if (rk == NULL)
		die("rd_kafka_new", why);
	return rk;
}

static const rd_kafka_message_t *
next_message(struct bench *b)
{
	for (;;) {
		if (b->taken_at == b->taken_n) {
			b->taken_n =
			    rd_kafka_consume_batch_queue(b->queue, READ_MS, b->taken, TAKE);
			b->taken_at = 0;
			if (b->taken_n <= 0)
				die("reading",
				    "nothing came for ten seconds: are the topics long enough?");
			if (b->began == 0)
				b->began = now();
		}
		if (b->taken[b->taken_at]->err == 0)
			return b->taken[b->taken_at];
		rd_kafka_message_destroy(b->taken[b->taken_at++]);
	}
}

/* One lane's record: as many sequences as riffle puts there, each copied once. */
static size_t
copy_lane(struct bench *b, int32_t lane)
{
	size_t n = HEAD_BYTES, room = 0;
	uint8_t *bytes = NULL;

	for (long i = 0; i < b->sequences_a_lane; i++) {
		const rd_kafka_message_t *msg = next_message(b);
		size_t payload = msg->len - ENVELOPE_BYTES;

		if (room < n + payload + PLACE_BYTES) {
			room =
			    2 * room + (size_t)b->sequences_a_lane * (payload + 256) + HEAD_BYTES;
			bytes = realloc(bytes, room);
			if (bytes == NULL)
				die("realloc", "out of memory");
		}
		memcpy(bytes + n, (const uint8_t *)msg->payload + ENVELOPE_BYTES, payload);
		n += payload + PLACE_BYTES;
		rd_kafka_message_destroy(b->taken[b->taken_at++]);
	}
	while (
	    rd_kafka_produce(b->batches, lane, RD_KAFKA_MSG_F_FREE, bytes, n, NULL, 0, NULL) != 0) {
		if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
			die("producing", rd_kafka_err2str(rd_kafka_last_error()));
		rd_kafka_poll(b->out, 10);
	}
	rd_kafka_poll(b->out, 0);
	return n;
}

/* Repeated while the broker still writes the markers of the last transaction, as in riffle. */
static rd_kafka_error_t *
send_offsets(struct bench *b, rd_kafka_consumer_group_metadata_t *group)
{
	double deadline = now() + SEND_S;
	rd_kafka_error_t *error;

	while ((error = rd_kafka_send_offsets_to_transaction(
		    b->out, b->domains, group, SEND_S * 1000)) != NULL &&
	       rd_kafka_error_is_retriable(error) && now() < deadline)
		rd_kafka_error_destroy(error);
	return error;
}

static void
commit(struct bench *b)
{
	static uint8_t ledger[LEDGER_BYTES];
	rd_kafka_consumer_group_metadata_t *group =
	    rd_kafka_consumer_group_metadata_new("bench-copy");

	if (rd_kafka_produce(
		b->ledger, 0, RD_KAFKA_MSG_F_COPY, ledger, sizeof(ledger), NULL, 0, NULL))
		die("producing", rd_kafka_err2str(rd_kafka_last_error()));
	die_on(send_offsets(b, group), "sending offsets");
	die_on(rd_kafka_commit_transaction(b->out, -1), "committing");
	rd_kafka_consumer_group_metadata_destroy(group);
}

static void
run(struct bench *b)
{
	size_t bytes = 0, open = 0;
	bool in_transaction = false;

	for (long step = 0; step < b->steps; step++) {
		if (!in_transaction)
			die_on(rd_kafka_begin_transaction(b->out), "beginning");
		in_transaction = true;
		for (int32_t lane = 0; lane < b->lanes; lane++)
			open += copy_lane(b, lane);
		if (open < (size_t)b->transaction_bytes && step + 1 < b->steps)
			continue;
		commit(b);
		bytes += open;
		open = 0;
		in_transaction = false;
	}
	printf("steps=%ld mb=%.1f seconds=%.3f mb_per_s=%.1f\n", b->steps, (double)bytes / 1e6,
	    now() - b->began, (double)bytes / 1e6 / (now() - b->began));
}

static void
assign_domains(struct bench *b, char **topic, int n)
{
	const struct rd_kafka_metadata *all;

	b->domains = rd_kafka_topic_partition_list_new(n);
	if (rd_kafka_metadata(b->in, 1, NULL, &all, 10000) != 0)
		die("metadata", "no answer");
	for (int i = 0; i < n; i++)
		for (int t = 0; t < all->topic_cnt; t++)
			if (strcmp(all->topics[t].topic, topic[i]) == 0)
				for (int p = 0; p < all->topics[t].partition_cnt; p++)
					rd_kafka_topic_partition_list_add(b->domains, topic[i], p)
					    ->offset = 0;
	rd_kafka_metadata_destroy(all);
	if (b->domains->cnt == 0)
		die("domains", "none of the topics exists");
	if (rd_kafka_assign(b->in, b->domains) != 0)
		die("assign", "refused");
}

int
main(int argc, char **argv)
{
	struct bench b = {0};

	if (argc < 9)
		die("usage",
		    "BOOTSTRAP OUT LEDGER STEPS GLOBAL_BATCH LANES TRANSACTION_BYTES TOPIC...");
	b.steps = strtol(argv[4], NULL, 10);
	b.lanes = strtol(argv[6], NULL, 10);
	b.sequences_a_lane = strtol(argv[5], NULL, 10) / b.lanes;
	b.transaction_bytes = strtol(argv[7], NULL, 10);
	b.in = open_handle(RD_KAFKA_CONSUMER, argv[1], reader_properties,
	    sizeof(reader_properties) / sizeof(reader_properties[0]));
	b.out = open_handle(RD_KAFKA_PRODUCER, argv[1], writer_properties,
	    sizeof(writer_properties) / sizeof(writer_properties[0]));
	die_on(rd_kafka_init_transactions(b.out, 30000), "initialising");
	b.batches = rd_kafka_topic_new(b.out, argv[2], NULL);
	b.ledger = rd_kafka_topic_new(b.out, argv[3], NULL);
	b.queue = rd_kafka_queue_get_consumer(b.in);
	assign_domains(&b, argv + 8, argc - 8);
	run(&b);
	while (b.taken_at < b.taken_n)
		rd_kafka_message_destroy(b.taken[b.taken_at++]);
	rd_kafka_topic_partition_list_destroy(b.domains);
	rd_kafka_queue_destroy(b.queue);
	rd_kafka_topic_destroy(b.batches);
	rd_kafka_topic_destroy(b.ledger);
	rd_kafka_destroy(b.out);
	rd_kafka_destroy(b.in);
	return 0;
}
