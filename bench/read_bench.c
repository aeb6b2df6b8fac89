/*
 * read_bench -- libriffle against a bare loop over the same batch topic.
 *
 *     read_bench BOOTSTRAP MIX [RUNS [TOKEN_BYTES [THREADS]]]
 *
 * The bare loop assigns every lane to one consumer, takes the records one by one (taking batches
 * is no faster from 4 KiB a record on), finds the frames and decompresses them into one buffer: no
 * checks, no order, nothing kept. The library reads whole steps as `riffle read --format none`
 * does, or with TOKEN_BYTES a token (4) and THREADS that decompress (the library's default). Runs
 * alternate; the clock of each starts at its first record or step, so that connecting is
 * not part of it. Both read to the end of the topic, must find the same number of sequences, and
 * the topic must end with the mix.
 */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bench/now.h"
#include "common/record/batch.h"
#include "consumer/reader/riffle.h"

enum { RUNS_PRESET = 5, RUNS_MAX = 99, TIMEOUT_MS = 20000 };

/* Tuned for throughput on a topic with few fat lanes; tried: fetch sizes 1 to 16 MiB, queues. */
static const char *const properties[][2] = {
    {"isolation.level", "read_committed"},
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"enable.partition.eof", "true"},
    {"auto.offset.reset", "error"},
    {"check.crcs", "true"},
    {"socket.nagle.disable", "true"},
    {"fetch.wait.max.ms", "10"},
    {"queued.min.messages", "1000000"},
    {"queued.max.messages.kbytes", "1048576"},
};
enum { PROPERTIES = sizeof(properties) / sizeof(properties[0]) };

struct outcome {
	uint64_t sequences, tokens, bytes;
	double seconds;
};

static _Noreturn void
end_with(const char *what, const char *why)
{
	fprintf(stderr, "read_bench: %s: %s\n", what, why);
	exit(1);
}

static rd_kafka_t *
open_bare(const char *bootstrap)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char why[256];
	rd_kafka_t *rk;

	for (int i = 0; i < PROPERTIES; i++)
		if (rd_kafka_conf_set(conf, properties[i][0], properties[i][1], why, sizeof(why)) !=
		    RD_KAFKA_CONF_OK)
			end_with(properties[i][0], why);
	if (rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, why, sizeof(why)) !=
		RD_KAFKA_CONF_OK ||
	    rd_kafka_conf_set(conf, "group.id", "bench", why, sizeof(why)) != RD_KAFKA_CONF_OK)
		end_with("bootstrap.servers", why);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	if (rk == NULL)
		end_with("rd_kafka_new", why);
	rd_kafka_poll_set_consumer(rk);
	return rk;
}

/* Assigns all partitions at their beginning; returns how many. */
static int
assign_all(rd_kafka_t *rk, const char *topic_name)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, topic_name, NULL);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, topic, &metadata, TIMEOUT_MS);
	int n;

	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with(topic_name, rd_kafka_err2str(err));
	n = metadata->topics[0].partition_cnt;
	for (int i = 0; i < n; i++)
		rd_kafka_topic_partition_list_add(list, topic_name, i)->offset = 0;
	err = rd_kafka_assign(rk, list);
	if (n == 0 || err != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with(topic_name, n == 0 ? "there is no such topic" : rd_kafka_err2str(err));
	rd_kafka_metadata_destroy(metadata);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_topic_destroy(topic);
	return n;
}

static void
decompress(ZSTD_DCtx *zstd, const struct sequence_payload_view *p, uint8_t **buffer, size_t *room)
{
	size_t size = (size_t)p->count * p->width;

	if (*room < size) {
		*room = size;
		*buffer = realloc(*buffer, size);
		if (*buffer == NULL)
			end_with("memory", "none left");
	}
	if (ZSTD_decompressDCtx(zstd, *buffer, *room, p->frame, p->frame_n) != size)
		end_with("frame", "not as long as it says");
}

static void
bare_record(
    const rd_kafka_message_t *m, ZSTD_DCtx *zstd, uint8_t **buffer, size_t *room, struct outcome *o)
{
	struct batch_view view;
	struct batch_drawn drawn;
	struct sequence_payload_view payload;
	struct failure f;

	if (batch_decode(&view, m->payload, m->len, &f) != FAIL_NONE)
		end_with("record", f.text);
	for (size_t i = 0; i < view.sequences_n; i++) {
		if (batch_next(&view, &drawn, &payload, &f) != FAIL_NONE)
			end_with("record", f.text);
		decompress(zstd, &payload, buffer, room);
		o->sequences++;
		o->tokens += payload.count;
	}
	o->bytes += m->len;
}

static struct outcome
run_bare(const char *bootstrap, const char *topic)
{
	rd_kafka_t *rk = open_bare(bootstrap);
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct outcome o = {0};
	uint8_t *buffer = NULL;
	size_t room = 0;
	double begun = 0;
	int left = assign_all(rk, topic);

	while (left > 0) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, TIMEOUT_MS);

		if (m == NULL)
			end_with(topic, "nothing came");
		if (begun == 0)
			begun = now();
		if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			left--;
		else if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			end_with(topic, rd_kafka_message_errstr(m));
		else
			bare_record(m, zstd, &buffer, &room, &o);
		rd_kafka_message_destroy(m);
	}
	o.seconds = now() - begun;
	free(buffer);
	ZSTD_freeDCtx(zstd);
	rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return o;
}

static struct outcome
run_library(const char *bootstrap, const char *mix, uint32_t token_bytes, uint32_t threads)
{
	struct riffle_options options = {.size = sizeof(options),
	    .mix = mix,
	    .bootstrap = bootstrap,
	    .world = 1,
	    .start = RIFFLE_START_STEP,
	    .token_bytes = token_bytes,
	    .threads = threads};
	const struct riffle_step *s;
	struct outcome o = {0};
	struct riffle_error e;
	struct riffle *r;
	double begun = 0;
	int code;

	if (riffle_open(&r, &options, &e) != RIFFLE_OK)
		end_with(mix, e.text);
	while ((code = riffle_next(r, TIMEOUT_MS, &s, &e)) == RIFFLE_OK) {
		if (begun == 0)
			begun = now();
		o.sequences += s->sequences;
		o.tokens += s->sequences * s->tokens_each;
	}
	if (code != RIFFLE_END)
		end_with(mix, e.text);
	o.seconds = now() - begun;
	riffle_close(r);
	return o;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
print_rates(const char *name, double *rate, int n)
{
	qsort(rate, (size_t)n, sizeof(*rate), compare);
	printf("%-18s Mtokens/s  min %8.1f  median %8.1f  max %8.1f\n", name, rate[0] / 1e6,
	    rate[n / 2] / 1e6, rate[n - 1] / 1e6);
}

int
main(int argc, char **argv)
{
	int runs = argc > 3 ? (int)strtol(argv[3], NULL, 10) : RUNS_PRESET;
	uint32_t token_bytes = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 4;
	uint32_t threads = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 0;
	double bare[RUNS_MAX], library[RUNS_MAX];
	char topic[300];

	if (argc < 3 || argc > 6 || runs < 1 || runs > RUNS_MAX) {
		fprintf(
		    stderr, "usage: %s BOOTSTRAP MIX [RUNS [TOKEN_BYTES [THREADS]]]\n", argv[0]);
		return 2;
	}
	snprintf(topic, sizeof(topic), "%s.batches", argv[2]);
	printf("bare loop:");
	for (int i = 0; i < PROPERTIES; i++)
		printf(" %s=%s", properties[i][0], properties[i][1]);
	printf("\n");
	for (int i = 0; i < runs; i++) {
		struct outcome b = run_bare(argv[1], topic),
			       l = run_library(argv[1], argv[2], token_bytes, threads);

		if (b.sequences != l.sequences || b.tokens != l.tokens)
			end_with(argv[2], "the two have not read the same");
		bare[i] = (double)b.tokens / b.seconds;
		library[i] = (double)l.tokens / l.seconds;
		printf("run %d: bare %.2f s (%.1f MB/s of records), libriffle %.2f s\n", i + 1,
		    b.seconds, (double)b.bytes / b.seconds / 1e6, l.seconds);
	}
	print_rates("bare loop", bare, runs);
	print_rates("libriffle", library, runs);
	printf("ratio              min %.2f  median %.2f\n", library[0] / bare[0],
	    library[runs / 2] / bare[runs / 2]);
	return 0;
}
