/*
 * fill_batches -- writes a synthetic batch topic as the mixer would: whole steps in transactions,
 * some of them aborted, and on request one record that is wrong.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 fill_batches --mix m --lanes 8 --steps 1000 --print
 *
 * --print writes to stdout what `riffle read --format steps` must print for it. Exit 1 with a
 * sentence on any failure. The tokens come from a seed: the same arguments give the same topic.
 */
#include <endian.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/batch.h"
#include "common/record/frame.h"
#include "common/record/ledger.h"

enum {
	PAYLOADS = 251, /* different sequences; a prime, so that lanes do not repeat in step */
	DOMAINS = 3,
	TIMEOUT_MS = 30000,
	ABORTED_RECORDS = 4, /* steps in an aborted transaction */
	LANES_MAX = 4096,
};

static const char *const domain_name[DOMAINS] = {"code", "prose", "web"};

struct arguments {
	const char *mix, *bad;
	uint32_t lanes, each, length, width;
	uint64_t first, steps, abort_every, together, seed, bad_step, bad_lane, lead;
	uint64_t ledger_step;  /* > 0: a ledger says that the run "trainers" stood there */
	bool end, print, keep; /* keep: the topic is there already */
};

struct sample {
	uint8_t *raw; /* an encoded payload */
	size_t raw_n;
	uint32_t *tokens; /* [length + 1] */
};

struct fill {
	struct arguments a;
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic;
	struct frame_codec *codec;
	struct sample sample[PAYLOADS];
	char name[TOPIC_MAX_BYTES + 1];
	int failed; /* deliveries */
};

static _Noreturn void
end_with(const struct failure *f)
{
	fprintf(stderr, "fill_batches: %s\n", f->text);
	exit(1);
}

static void
must(enum fail_code code, const struct failure *f)
{
	if (code != FAIL_NONE)
		end_with(f);
}

static void
must_error(rd_kafka_error_t *error, const char *attempted)
{
	struct failure f;

	if (error == NULL)
		return;
	kafka_fail(&f, error, attempted);
	end_with(&f);
}

static void *
memory(size_t n)
{
	void *at = malloc(n);

	if (at == NULL) {
		fprintf(stderr, "fill_batches: out of memory\n");
		exit(1);
	}
	return at;
}

static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct fill *fill = opaque;

	(void)rk;
	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR && m->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
	    m->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
		fill->failed++;
}

/* Skewed as text is: small ids are common, the range is wide. */
static uint32_t
token_of(uint64_t *state, uint32_t width)
{
	uint64_t x;

	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	x = *state >> 33;
	x = (x & 0x7fff) * (x >> 15 & 0x3ff) >> 10;
	return (uint32_t)(width == 2 ? x : x * 3);
}

/* Encodes one payload; `claimed` tokens where the record shall lie about their number. */
static void
encode_sample(struct fill *fill, struct sample *s, uint32_t index, uint32_t count, uint32_t claimed,
    uint64_t hash_error, bool broken)
{
	size_t room = frame_bound(count, fill->a.width), n;
	uint8_t *frame = memory(room), *record;
	char source[32];
	struct text_view sources[1] = {{source, 0}};
	struct sequence_span spans[2] = {{.document = 2 * index},
	    {.start = claimed / 2, .document = 2 * index + 1, .offset = 7}};
	struct sequence_position position = {.file = {"made", 4}};
	struct wire_writer w = {0};
	struct sequence_view view;
	struct sequence_payload p;
	struct failure f;

	must(frame_encode(fill->codec, s->tokens, count, fill->a.width, frame, room, &n, &f), &f);
	if (broken)
		memset(frame, 0x55, n);
	sources[0].n = (size_t)snprintf(source, sizeof(source), "made.%u.jsonl", index % 7);
	p = (struct sequence_payload){.count = claimed,
	    .width = fill->a.width,
	    .used = claimed,
	    .frame_hash = frame_hash(frame, n) ^ hash_error,
	    .sources = sources,
	    .sources_n = 1,
	    .spans = spans,
	    .spans_n = claimed > 1 ? 2 : 1,
	    .frame = frame,
	    .frame_n = n};
	must(sequence_encode(&w, index, 1, &position, &p, &f), &f);
	must(wire_writer_take(&w, &record, &n, &f), &f);
	must(sequence_decode(&view, record, n, &f), &f);
	s->raw_n = view.payload.raw_n;
	s->raw = memory(s->raw_n);
	memcpy(s->raw, view.payload.raw, s->raw_n);
	free(record);
	free(frame);
}

static void
make_samples(struct fill *fill)
{
	uint64_t state = fill->a.seed * 2 + 1;
	uint32_t count = fill->a.length + 1;

	for (uint32_t i = 0; i < PAYLOADS; i++) {
		struct sample *s = &fill->sample[i];

		s->tokens = memory(count * sizeof(*s->tokens));
		for (uint32_t k = 0; k < count; k++)
			s->tokens[k] = token_of(&state, fill->a.width);
		encode_sample(fill, s, i, count, count, 0, false);
	}
}

static uint32_t
sample_index(const struct fill *fill, uint64_t step, uint32_t lane, uint32_t slot)
{
	uint64_t k = (step * fill->a.lanes + lane) * fill->a.each + slot + fill->a.seed;

	return (uint32_t)(k % PAYLOADS);
}

static uint32_t
domain_of(uint32_t sample)
{
	return sample % 5 == 0 ? 0 : sample % 5 < 3 ? 1 : 2;
}

static bool
is_bad(const struct fill *fill, uint64_t step, uint32_t lane, const char *kind)
{
	return fill->a.bad != NULL && strcmp(fill->a.bad, kind) == 0 && step == fill->a.bad_step &&
	       lane == fill->a.bad_lane;
}

/* What is wrong in the head of a record, by kind. */
static void
spoil_head(const struct fill *fill, struct batch_head *h)
{
	uint64_t step = h->step;
	uint32_t lane = h->lane;

	if (is_bad(fill, step, lane, "mix"))
		h->mix = (struct text_view){"somebody", 8};
	if (is_bad(fill, step, lane, "lane"))
		h->lane = (lane + 1) % h->lanes;
	if (is_bad(fill, step, lane, "schedule"))
		h->schedule++;
	if (is_bad(fill, step, lane, "tokenizer"))
		h->tokenizer++;
	if (is_bad(fill, step, lane, "torn"))
		h->version++;
	if (is_bad(fill, step, lane, "duplicate"))
		h->step--;
	if (is_bad(fill, step, lane, "gap"))
		h->step++;
	if (is_bad(fill, step, lane, "claim"))
		h->global_batch = h->lanes << 22;
}

/* What is wrong in the bytes of a record, by kind. */
static size_t
spoil_bytes(const struct fill *fill, uint64_t step, uint32_t lane, uint8_t *bytes, size_t n)
{
	if (is_bad(fill, step, lane, "garbage"))
		memcpy(bytes, "{\"text\":1}", 10);
	if (is_bad(fill, step, lane, "fingerprint"))
		bytes[5] ^= 0xff;
	if (is_bad(fill, step, lane, "truncated"))
		n -= 9;
	return n;
}

static void
add_sequence(struct fill *fill, struct wire_writer *w, uint64_t step, uint32_t lane, uint32_t slot)
{
	uint32_t index = sample_index(fill, step, lane, slot), count = fill->a.length + 1;
	struct batch_drawn drawn = {.domain = domain_of(index),
	    .partition = index % 2,
	    .ordinal = step,
	    .epoch = index % 3};
	struct sample *s = &fill->sample[index], bad = {.tokens = s->tokens};
	struct failure f;

	if (slot == 0 && is_bad(fill, step, lane, "hash"))
		encode_sample(fill, &bad, index, count, count, 1, false);
	if (slot == 0 && is_bad(fill, step, lane, "frame"))
		encode_sample(fill, &bad, index, count, count, 0, true);
	if (slot == 0 && is_bad(fill, step, lane, "short"))
		encode_sample(fill, &bad, index, count - 1, count, 0, false);
	if (slot == 0 && is_bad(fill, step, lane, "length"))
		encode_sample(fill, &bad, index, count - 1, count - 1, 0, false);
	if (slot == 0 && is_bad(fill, step, lane, "domain"))
		drawn.domain = DOMAINS;
	if (bad.raw != NULL)
		s = &bad;
	must(batch_add(w, &drawn, s->raw, s->raw_n, &f), &f);
	free(bad.raw);
}

static void
produce(struct fill *fill, uint64_t step, uint32_t lane, bool last)
{
	struct batch_domain domains[DOMAINS];
	struct batch_head h = {
	    .mix = {fill->a.mix, strlen(fill->a.mix)},
	    .schedule = 0x1234,
	    .step = step,
	    .lane = lane,
	    .lanes = fill->a.lanes,
	    .global_batch = fill->a.lanes * fill->a.each,
	    .lr_scale = 1.0,
	    .lead = fill->a.lead,
	    .tokenizer = 0x5678,
	    .last = last,
	};
	struct wire_writer w = {0};
	struct failure f;
	uint8_t *bytes;
	size_t n;

	spoil_head(fill, &h);
	for (uint32_t i = 0; i < DOMAINS; i++)
		domains[i] = (struct batch_domain){i, {domain_name[i], strlen(domain_name[i])}};
	must(batch_begin(
		 &w, &h, domains, last ? 0 : DOMAINS, last ? 0 : h.global_batch / h.lanes, &f),
	    &f);
	for (uint32_t k = 0; k < fill->a.each && !last; k++)
		add_sequence(fill, &w, step, lane, k);
	must(batch_end(&w, &f), &f);
	must(wire_writer_take(&w, &bytes, &n, &f), &f);
	n = spoil_bytes(fill, step, lane, bytes, n);
	while (rd_kafka_produce(
		   fill->topic, (int32_t)lane, RD_KAFKA_MSG_F_FREE, bytes, n, NULL, 0, NULL) != 0) {
		if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			fprintf(
			    stderr, "fill_batches: %s\n", rd_kafka_err2str(rd_kafka_last_error()));
			exit(1);
		}
		rd_kafka_poll(fill->rk, 10);
	}
}

static void
print_lane(const struct fill *fill, uint64_t step, uint32_t lane)
{
	XXH64_state_t *hash = XXH64_createState();
	uint32_t count[DOMAINS] = {0};
	const char *between = "\t";

	if (hash == NULL)
		exit(1);
	XXH64_reset(hash, 0);
	for (uint32_t k = 0; k < fill->a.each; k++) {
		uint32_t index = sample_index(fill, step, lane, k);

		count[domain_of(index)]++;
		for (uint32_t i = 0; i <= fill->a.length; i++) {
			uint32_t token = htole32(fill->sample[index].tokens[i]);

			XXH64_update(hash, &token, sizeof(token));
		}
	}
	printf("%" PRIu64 "\t%" PRIu32 "\t%016" PRIx64, step, lane, XXH64_digest(hash));
	for (uint32_t i = 0; i < DOMAINS; i++) {
		if (count[i] == 0)
			continue;
		printf("%s%s:%" PRIu32, between, domain_name[i], count[i]);
		between = ",";
	}
	printf("\n");
	XXH64_freeState(hash);
}

static void
produce_step(struct fill *fill, uint64_t step, bool print)
{
	for (uint32_t lane = 0; lane < fill->a.lanes; lane++) {
		produce(fill, step, lane, false);
		if (print)
			print_lane(fill, step, lane);
	}
	rd_kafka_poll(fill->rk, 0);
}

/* Steps that were never committed: visible to nobody, but they take offsets. */
static void
abort_some(struct fill *fill, uint64_t step)
{
	must_error(rd_kafka_begin_transaction(fill->rk), "beginning a transaction");
	for (uint64_t k = 0; k < ABORTED_RECORDS; k++)
		produce_step(fill, step + k, false);
	rd_kafka_flush(fill->rk, TIMEOUT_MS); /* they must reach the log to take offsets */
	must_error(rd_kafka_abort_transaction(fill->rk, -1), "aborting a transaction");
}

static void
fill_topic(struct fill *fill)
{
	const struct arguments *a = &fill->a;
	uint64_t transactions = 0, end = a->first + a->steps;

	for (uint64_t step = a->first; step < end;) {
		if (a->abort_every > 0 && ++transactions % a->abort_every == 0)
			abort_some(fill, step);
		must_error(rd_kafka_begin_transaction(fill->rk), "beginning a transaction");
		for (uint64_t k = 0; k < a->together && step < end; k++)
			produce_step(fill, step++, a->print);
		must_error(rd_kafka_commit_transaction(fill->rk, -1), "committing");
	}
	if (!a->end)
		return;
	must_error(rd_kafka_begin_transaction(fill->rk), "beginning a transaction");
	for (uint32_t lane = 0; lane < a->lanes; lane++)
		produce(fill, end, lane, true);
	must_error(rd_kafka_commit_transaction(fill->rk, -1), "committing");
}

static void
create_topic(struct fill *fill, const char *name, uint32_t partitions)
{
	char why[256];
	rd_kafka_NewTopic_t *topic =
	    rd_kafka_NewTopic_new(name, (int)partitions, 1, why, sizeof(why));
	rd_kafka_queue_t *queue = rd_kafka_queue_new(fill->rk);
	const rd_kafka_topic_result_t **result;
	rd_kafka_event_t *event;
	size_t n;

	rd_kafka_NewTopic_set_config(topic, "retention.ms", "-1");
	rd_kafka_NewTopic_set_config(topic, "max.message.bytes", "67108864");
	rd_kafka_CreateTopics(fill->rk, &topic, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, TIMEOUT_MS);
	if (event == NULL || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
		fprintf(stderr, "fill_batches: no answer about topic %s\n", name);
		exit(1);
	}
	result = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n);
	if (n != 1 || rd_kafka_topic_result_error(result[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
		fprintf(stderr, "fill_batches: topic %s: %s\n", name,
		    n == 1 ? rd_kafka_topic_result_error_string(result[0]) : "no result");
		exit(1);
	}
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_NewTopic_destroy(topic);
}

/*
 * A commit is answered before its markers are written: on a busy broker a reader that starts at
 * once does not see the record yet, and takes the mix for one without a ledger.
 */
static void
wait_visible(const char *topic)
{
	static char name[] = "bootstrap.servers";
	struct property property = {name, getenv("RIFFLE_BOOTSTRAP")};
	struct properties properties = {property.value == NULL ? 0 : 1, &property};
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "fill-batches", .properties = &properties};
	int64_t deadline_ms = clock_ms() + TIMEOUT_MS;
	rd_kafka_message_t *m = NULL;
	struct failure f;
	rd_kafka_t *rk;

	must(kafka_open(&rk, &o, &f), &f);
	while (m == NULL && clock_ms() < deadline_ms)
		must(kafka_last_record(rk, topic, 0, &m, TIMEOUT_MS, &f), &f);
	if (m == NULL)
		must(fail(&f, FAIL_TIMEOUT, "topic %s shows no record", topic), &f);
	rd_kafka_message_destroy(m);
	kafka_close(rk);
}

/* A ledger whose last record knows where the run "trainers" stood. */
static void
write_ledger(struct fill *fill)
{
	static char trainers[] = "trainers";
	struct ledger_run run = {trainers, (int64_t)fill->a.ledger_step};
	struct ledger ledger = {
	    .kind = LEDGER_STEPS, .lr_scale = 1.0, .temperature = 1.0, .run = &run, .runs_n = 1};
	char name[TOPIC_MAX_BYTES + 1];
	rd_kafka_topic_t *topic;
	struct failure f;
	uint8_t *bytes;
	size_t n;

	names_topic(name, fill->a.mix, "ledger");
	create_topic(fill, name, 1);
	topic = rd_kafka_topic_new(fill->rk, name, NULL);
	must(ledger_encode(&ledger, &bytes, &n, &f), &f);
	must_error(rd_kafka_begin_transaction(fill->rk), "beginning a transaction");
	if (topic == NULL ||
	    rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_FREE, bytes, n, NULL, 0, NULL) != 0)
		exit(1);
	must_error(rd_kafka_commit_transaction(fill->rk, -1), "committing");
	rd_kafka_topic_destroy(topic);
	wait_visible(name);
}

static void
open_writer(struct fill *fill)
{
	static char name[] = "bootstrap.servers";
	struct property property = {name, getenv("RIFFLE_BOOTSTRAP")};
	struct properties properties = {1, &property};
	char id[NAME_MAX_BYTES + 16];
	struct kafka_options o = {
	    .role = KAFKA_TRANSACTIONAL,
	    .properties = &properties,
	    .client = "fill",
	    .transactional_id = id,
	    .message_bytes_max = 64 << 20,
	    .delivered = delivered,
	    .opaque = fill,
	};
	struct failure f;

	if (property.value == NULL) {
		fprintf(stderr, "fill_batches: RIFFLE_BOOTSTRAP is not set\n");
		exit(2);
	}
	snprintf(id, sizeof(id), "%s.fill", fill->a.mix);
	must(kafka_open(&fill->rk, &o, &f), &f);
	must(kafka_wait_broker(fill->rk, TIMEOUT_MS, &f), &f);
	if (!fill->a.keep)
		create_topic(fill, fill->name, fill->a.lanes);
	must_error(rd_kafka_init_transactions(fill->rk, TIMEOUT_MS), "starting transactions");
	fill->topic = rd_kafka_topic_new(fill->rk, fill->name, NULL);
	if (fill->topic == NULL)
		exit(1);
}

/* --name value into the field; the sizes of the fields are 4 or 8 bytes. */
struct row {
	const char *name;
	uint32_t *count32;
	uint64_t *count;
	const char **text;
	bool *flag;
};

static void
set(const struct row *row, const char *value)
{
	if (row->flag != NULL)
		*row->flag = true;
	if (row->text != NULL)
		*row->text = value;
	if (row->count != NULL)
		*row->count = strtoull(value, NULL, 10);
	if (row->count32 != NULL)
		*row->count32 = (uint32_t)strtoul(value, NULL, 10);
}

static void
parse(struct arguments *a, int argc, char **argv)
{
	const struct row rows[] = {
	    {"mix", NULL, NULL, &a->mix, NULL},
	    {"lanes", &a->lanes, NULL, NULL, NULL},
	    {"steps", NULL, &a->steps, NULL, NULL},
	    {"first-step", NULL, &a->first, NULL, NULL},
	    {"sequences-per-lane", &a->each, NULL, NULL, NULL},
	    {"length", &a->length, NULL, NULL, NULL},
	    {"width", &a->width, NULL, NULL, NULL},
	    {"abort-every", NULL, &a->abort_every, NULL, NULL},
	    {"steps-per-transaction", NULL, &a->together, NULL, NULL},
	    {"seed", NULL, &a->seed, NULL, NULL},
	    {"lead", NULL, &a->lead, NULL, NULL},
	    {"ledger-step", NULL, &a->ledger_step, NULL, NULL},
	    {"bad", NULL, NULL, &a->bad, NULL},
	    {"bad-step", NULL, &a->bad_step, NULL, NULL},
	    {"bad-lane", NULL, &a->bad_lane, NULL, NULL},
	    {"end", NULL, NULL, NULL, &a->end},
	    {"print", NULL, NULL, NULL, &a->print},
	    {"keep-topic", NULL, NULL, NULL, &a->keep},
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	struct option options[ROWS + 1] = {{0}};
	int which;

	for (int i = 0; i < ROWS; i++)
		options[i] = (struct option){rows[i].name, rows[i].flag == NULL, NULL, i + 256};
	while ((which = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (which < 256)
			exit(2);
		set(&rows[which - 256], optarg);
	}
	if (a->mix == NULL || !names_valid(a->mix) || a->lanes == 0 || a->lanes > LANES_MAX ||
	    a->each == 0 || a->length == 0 || a->together == 0 || optind != argc ||
	    (a->width != 2 && a->width != 3)) {
		fprintf(stderr, "fill_batches: --mix NAME, and no size of 0\n");
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	static struct fill fill;
	struct failure f;

	fill.a = (struct arguments){.lanes = 8,
	    .each = 2,
	    .length = 32,
	    .width = 2,
	    .steps = 100,
	    .together = 4,
	    .bad_lane = 0,
	    .bad_step = 5};
	parse(&fill.a, argc, argv);
	names_topic(fill.name, fill.a.mix, "batches");
	must(frame_codec_open(&fill.codec, &f), &f);
	make_samples(&fill);
	open_writer(&fill);
	fill_topic(&fill);
	if (fill.a.ledger_step > 0)
		write_ledger(&fill);
	rd_kafka_topic_destroy(fill.topic);
	kafka_close(fill.rk);
	frame_codec_close(fill.codec);
	for (int i = 0; i < PAYLOADS; i++) {
		free(fill.sample[i].raw);
		free(fill.sample[i].tokens);
	}
	if (fill.failed > 0)
		fprintf(stderr, "fill_batches: %d records were not delivered\n", fill.failed);
	return fill.failed > 0 || fflush(stdout) != 0 ? 1 : 0;
}
