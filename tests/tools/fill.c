/*
 * fill -- writes synthetic domain topics on a real broker, as the producer would have left them.
 *
 *     fill --bootstrap localhost:9092 --corpus demo --domain code,web --sequences 100000 \
 *         --length 2048 --partitions 2
 *
 * The tokens of a partition are a stream of documents, each closed by eos, cut into sequences of
 * S + 1 with one token of overlap. The stream goes round in a pool of `distinct` frames made from
 * the seed (a partition's place in it comes from its domain's number and its own), so that writing
 * costs no compressing; ordinals, documents, offsets and sources go on all the same. Equal
 * arguments give equal topics. Topics that are missing are created; those that hold records are
 * refused.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/sequence.h"
#include "tests/tools/fill_pool.h"

enum {
	DOMAINS_MAX = 1024,
	TIMEOUT_MS = 30000,
	FILE_DOCUMENTS = 1000,      /* a made-up file has so many documents, */
	DOCUMENT_BYTES = 4000,      /* each of so many bytes */
	RECORD_BYTES_EXTRA = 65536, /* of a record beyond its tokens, at most */
};

struct arguments {
	const char *bootstrap, *corpus;
	const char *domain[DOMAINS_MAX];
	uint32_t domains_n, partitions;
	uint64_t sequences, tokenizer;
	bool live;
};

struct fill {
	struct arguments a;
	struct fill_pool pool;
	struct sequence_span *spans;
	rd_kafka_t *rk;
	uint64_t delivered_wrong;
	char first_wrong[256];
};

/* The stream of one partition. */
struct lane {
	const char *domain;
	uint32_t partition, first_frame;
	uint64_t sequences, documents, record_bytes, record_bytes_max;
};

/* ---- records ---- */

/* Files that the documents first..last come from, at most that many names. */
static size_t
name_sources(const struct lane *lane, uint64_t first, uint64_t last, struct text_view *sources,
    char (*names)[NAME_MAX_BYTES + 64])
{
	size_t n = 0;

	for (uint64_t file = first / FILE_DOCUMENTS; file <= last / FILE_DOCUMENTS; file++, n++) {
		int length = snprintf(names[n], sizeof(names[n]), "%s/%u/%06" PRIu64 ".jsonl",
		    lane->domain, (unsigned)lane->partition, file);

		sources[n] = (struct text_view){names[n], (size_t)length};
	}
	return n;
}

/*
 * The spans of one sequence. A lane may begin inside a document of the pool: for it the document
 * begins there.
 */
static size_t
set_spans(struct fill *fill, const struct lane *lane, uint64_t ordinal)
{
	uint64_t place = lane->first_frame + ordinal, distinct = fill->pool.distinct;
	const struct pool_frame *frame = &fill->pool.frame[place % distinct];
	uint64_t document = place / distinct * fill->pool.documents + frame->documents_before -
			    fill->pool.frame[lane->first_frame].documents_before;
	uint64_t begun = ordinal * fill->pool.length;
	size_t n = 0;

	fill->spans[n++] = (struct sequence_span){
	    .document = document, .offset = frame->lead < begun ? frame->lead : begun};
	for (size_t i = 0; i < frame->starts_n; i++, n++)
		fill->spans[n] =
		    (struct sequence_span){.start = frame->start[i], .document = document + i + 1};
	for (size_t i = 0; i < n; i++)
		fill->spans[i].source = (uint32_t)(fill->spans[i].document / FILE_DOCUMENTS -
						   document / FILE_DOCUMENTS);
	return n;
}

static void
encode_sequence(struct fill *fill, struct lane *lane, uint64_t ordinal, struct wire_writer *w)
{
	enum { NAMES_MAX = 8 };
	const struct pool_frame *frame =
	    &fill->pool.frame[(lane->first_frame + ordinal) % fill->pool.distinct];
	char names[NAMES_MAX][NAME_MAX_BYTES + 64];
	struct text_view sources[NAMES_MAX];
	size_t n = set_spans(fill, lane, ordinal), sources_n;
	const struct sequence_span *last = &fill->spans[n - 1];
	struct sequence_payload p = {.count = fill->pool.length + 1,
	    .width = fill->pool.width,
	    .used = fill->pool.length + 1,
	    .frame_hash = frame->hash,
	    .spans = fill->spans,
	    .spans_n = n,
	    .frame = frame->bytes,
	    .frame_n = frame->n};
	struct sequence_position position = {.document = last->document,
	    .byte = last->document % FILE_DOCUMENTS * DOCUMENT_BYTES,
	    .line = last->document % FILE_DOCUMENTS + 1,
	    .offset = last->offset + fill->pool.length - last->start,
	    .documents = last->document + 1,
	    .record_bytes = lane->record_bytes,
	    .record_bytes_max = lane->record_bytes_max,
	    .tokens = (ordinal + 1) * fill->pool.length + 1,
	    .sealed = -1};
	struct failure f;

	if (last->source >= NAMES_MAX)
		end_with("--length: a sequence would span more than 8 made-up files");
	sources_n = name_sources(lane, fill->spans[0].document, last->document, sources, names);
	p.sources = sources;
	p.sources_n = sources_n;
	position.file = sources[sources_n - 1];
	must(sequence_encode(w, ordinal, fill->a.tokenizer, &position, &p, &f), &f);
	lane->documents = position.documents;
}

/* ---- the broker ---- */

static void
on_delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct fill *fill = opaque;
	int64_t wanted = (int64_t)(intptr_t)m->_private;

	(void)rk;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset == wanted)
		return;
	if (fill->delivered_wrong++ == 0)
		snprintf(fill->first_wrong, sizeof(fill->first_wrong),
		    "%s: record %" PRId64 " of partition %" PRId32 ": %s (offset %" PRId64 ")",
		    rd_kafka_topic_name(m->rkt), wanted, m->partition, rd_kafka_err2str(m->err),
		    m->offset);
}

static void
open_writer(struct fill *fill)
{
	struct property property = {(char[]){"bootstrap.servers"}, NULL};
	struct properties properties = {1, &property};
	const struct property tune = {(char[]){"batch.size"}, (char[]){"131072"}};
	struct kafka_options o = {
	    .role = KAFKA_WRITER,
	    .properties = &properties,
	    .client = "fill",
	    .message_bytes_max = (size_t)fill->pool.length * 4 + RECORD_BYTES_EXTRA + 1000000,
	    .tune = &tune,
	    .tune_n = 1,
	    .delivered = on_delivered,
	    .opaque = fill,
	};
	struct failure f;

	property.value = strdup(fill->a.bootstrap);
	must(kafka_open(&fill->rk, &o, &f), &f);
	free(property.value);
	must(kafka_wait_broker(fill->rk, TIMEOUT_MS, &f), &f);
}

static rd_kafka_NewTopic_t *
new_topic(const struct fill *fill, const char *name)
{
	char why[512], bytes[32];
	rd_kafka_NewTopic_t *topic =
	    rd_kafka_NewTopic_new(name, (int)fill->a.partitions, 1, why, sizeof(why));

	if (topic == NULL)
		end_with(why);
	snprintf(bytes, sizeof(bytes), "%" PRIu64,
	    (uint64_t)fill->pool.length * 4 + RECORD_BYTES_EXTRA + 1000000);
	rd_kafka_NewTopic_set_config(topic, "retention.ms", "-1");
	rd_kafka_NewTopic_set_config(topic, "max.message.bytes", bytes);
	return topic;
}

/* made[i]: this call made the topic of domain i. One request makes all, because a request for each
 * costs the broker three times as much. */
static void
create_topics(struct fill *fill, bool *made)
{
	rd_kafka_NewTopic_t **topic = memory(fill->a.domains_n, sizeof(*topic));
	rd_kafka_queue_t *queue = rd_kafka_queue_new(fill->rk);
	char why[512], name[TOPIC_MAX_BYTES + 1];
	const rd_kafka_topic_result_t **result;
	rd_kafka_event_t *event;
	size_t n = 0;

	for (uint32_t i = 0; i < fill->a.domains_n; i++) {
		names_domain_topic(name, fill->a.corpus, fill->a.domain[i], SET_TRAIN);
		topic[i] = new_topic(fill, name);
	}
	rd_kafka_CreateTopics(fill->rk, topic, fill->a.domains_n, NULL, queue);
	event = rd_kafka_queue_poll(queue, TIMEOUT_MS);
	if (event == NULL)
		end_with("creating the topics: no answer within 30 s");
	result = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n);
	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR || n != fill->a.domains_n)
		end_with(rd_kafka_event_error_string(event));
	for (uint32_t i = 0; i < fill->a.domains_n; i++) { /* in the order of the request */
		rd_kafka_resp_err_t err = rd_kafka_topic_result_error(result[i]);

		made[i] = err == RD_KAFKA_RESP_ERR_NO_ERROR;
		if (made[i] || err == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
			continue;
		snprintf(why, sizeof(why), "creating topic %s: %s",
		    rd_kafka_topic_result_name(result[i]),
		    rd_kafka_topic_result_error_string(result[i]));
		end_with(why);
	}
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_NewTopic_destroy_array(topic, fill->a.domains_n);
	free(topic);
}

/* The topic has its partitions, and they are empty; a handle that has not met it would lose a
 * second at its first record. */
static void
check_topic(struct fill *fill, const char *name, bool made)
{
	int64_t low, high, deadline_ms = clock_ms() + TIMEOUT_MS;
	char why[TOPIC_MAX_BYTES + 128];
	int partitions = 0;
	struct failure f;

	do
		must(kafka_partitions(fill->rk, name, &partitions, TIMEOUT_MS, &f), &f);
	while (partitions == 0 && clock_ms() < deadline_ms);
	if ((uint32_t)partitions != fill->a.partitions) {
		snprintf(why, sizeof(why), "topic %s has %d partitions, not %u", name, partitions,
		    (unsigned)fill->a.partitions);
		end_with(why);
	}
	/* One of several brokers may not have heard of a new topic yet, and it is empty. */
	for (int32_t k = 0; !made && k < partitions; k++) {
		must(kafka_watermarks(fill->rk, name, k, &low, &high, TIMEOUT_MS, &f), &f);
		if (high != 0) {
			snprintf(why, sizeof(why), "topic %s holds records: delete it first", name);
			end_with(why);
		}
	}
}

static void
produce(struct fill *fill, rd_kafka_topic_t *topic, uint32_t partition, uint64_t ordinal,
    const struct wire_writer *w)
{
	while (rd_kafka_produce(topic, (int32_t)partition, RD_KAFKA_MSG_F_COPY, w->bytes, w->n,
		   NULL, 0, (void *)(intptr_t)ordinal) != 0) {
		if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
			end_with(rd_kafka_err2str(rd_kafka_last_error()));
		rd_kafka_poll(fill->rk, 10);
		if (fill->delivered_wrong > 0)
			end_with(fill->first_wrong);
	}
}

static void
write_sequence(struct fill *fill, rd_kafka_topic_t *topic, struct lane *lane, uint64_t ordinal,
    struct wire_writer *w)
{
	w->n = 0;
	encode_sequence(fill, lane, ordinal, w);
	produce(fill, topic, lane->partition, ordinal, w);
	lane->record_bytes += w->n;
	if (w->n > lane->record_bytes_max)
		lane->record_bytes_max = w->n;
}

/* The rest of the last document did not fill a sequence. */
static uint64_t
tokens_dropped(const struct fill *fill, const struct lane *lane)
{
	size_t n = (size_t)fill->pool.distinct * fill->pool.length, dropped = 0;
	size_t at = (size_t)((lane->first_frame + lane->sequences) % fill->pool.distinct) *
		    fill->pool.length;

	if (lane->sequences == 0)
		return 0;
	for (; fill->pool.token[at] != fill->pool.vocabulary - 1; dropped++)
		at = at + 1 == n ? 0 : at + 1;
	return dropped;
}

static void
write_end(
    struct fill *fill, rd_kafka_topic_t *topic, const struct lane *lane, struct wire_writer *w)
{
	struct sequence_end e = {.sequences = lane->sequences,
	    .tokens = lane->sequences == 0 ? 0 : lane->sequences * fill->pool.length + 1,
	    .dropped = tokens_dropped(fill, lane),
	    .documents = lane->documents,
	    .sequence_length = fill->pool.length,
	    .tokenizer = fill->a.tokenizer,
	    .record_bytes = lane->record_bytes,
	    .record_bytes_max = lane->record_bytes_max};
	struct failure f;

	w->n = 0;
	must(sequence_end_encode(w, &e, &f), &f);
	produce(fill, topic, lane->partition, lane->sequences, w);
}

static void
flush(struct fill *fill)
{
	rd_kafka_resp_err_t err = rd_kafka_flush(fill->rk, 10 * TIMEOUT_MS);

	if (fill->delivered_wrong > 0)
		end_with(fill->first_wrong);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with("not all records were delivered within 5 minutes");
}

static void
fill_domain(struct fill *fill, uint32_t domain, bool made)
{
	uint32_t partitions = fill->a.partitions;
	struct lane *lane = memory(partitions, sizeof(*lane));
	struct wire_writer w = {0};
	char name[TOPIC_MAX_BYTES + 1];
	rd_kafka_topic_t *topic;
	uint64_t bytes = 0;

	names_domain_topic(name, fill->a.corpus, fill->a.domain[domain], SET_TRAIN);
	check_topic(fill, name, made);
	topic = rd_kafka_topic_new(fill->rk, name, NULL);
	for (uint32_t k = 0; k < partitions; k++)
		lane[k] = (struct lane){.domain = fill->a.domain[domain],
		    .partition = k,
		    .first_frame = (uint32_t)(((uint64_t)domain * partitions + k) * 2654435761 %
					      fill->pool.distinct),
		    .sequences =
			fill->a.sequences / partitions + (k < fill->a.sequences % partitions)};
	for (uint64_t ordinal = 0; ordinal < lane[0].sequences; ordinal++) {
		for (uint32_t k = 0; k < partitions && ordinal < lane[k].sequences; k++)
			write_sequence(fill, topic, &lane[k], ordinal, &w);
		if (ordinal % 64 == 0)
			rd_kafka_poll(fill->rk, 0);
	}
	for (uint32_t k = 0; k < partitions; k++) {
		if (!fill->a.live)
			write_end(fill, topic, &lane[k], &w);
		bytes += lane[k].record_bytes;
	}
	fprintf(stderr, "fill: %s: %" PRIu64 " sequences, %.2f bytes a token\n", name,
	    fill->a.sequences,
	    fill->a.sequences == 0
		? 0.0
		: (double)bytes / (double)fill->a.sequences / (double)(fill->pool.length + 1));
	rd_kafka_topic_destroy(topic);
	wire_writer_close(&w);
	free(lane);
}

/* ---- the command line ---- */

static void __attribute__((noreturn)) usage(const char *why)
{
	fprintf(stderr,
	    "fill: %s\n"
	    "usage: fill --bootstrap A --corpus C --domain D[,D...] --sequences N --length S\n"
	    "            [--partitions P] [--width 2|3] [--seed N] [--vocabulary N] [--distinct "
	    "N]\n"
	    "            [--tokenizer-fingerprint HEX] [--live]\n"
	    "N sequences a domain, dealt to its partitions. --live writes no End records.\n",
	    why);
	exit(2);
}

static uint64_t
number(const char *text, const char *option, int base, uint64_t min, uint64_t max)
{
	char *end, why[128];
	uint64_t value = strtoull(text, &end, base);

	if (*text == '\0' || *text == '-' || *end != '\0' || value < min || value > max) {
		snprintf(why, sizeof(why), "--%s: %s: out of range (%" PRIu64 " to %" PRIu64 ")",
		    option, text, min, max);
		usage(why);
	}
	return value;
}

static void
split_domains(struct arguments *a, char *text)
{
	char *rest = text, *name;

	while ((name = strsep(&rest, ",")) != NULL) {
		if (!names_valid(name))
			usage("--domain: a name is not valid");
		if (a->domains_n == DOMAINS_MAX)
			usage("--domain: too many");
		a->domain[a->domains_n++] = name;
	}
}

static void
set_option(struct fill *fill, char option, char *text)
{
	struct arguments *a = &fill->a;
	struct fill_pool *pool = &fill->pool;

	switch (option) {
	case 'b': a->bootstrap = text; break;
	case 'c': a->corpus = text; break;
	case 'd': split_domains(a, text); break;
	case 'n': a->sequences = number(text, "sequences", 10, 0, 1ull << 40); break;
	case 'l': pool->length = (uint32_t)number(text, "length", 10, 1, LIMIT_SEQUENCE); break;
	case 'p': a->partitions = (uint32_t)number(text, "partitions", 10, 1, 4096); break;
	case 'w': pool->width = (uint32_t)number(text, "width", 10, 2, 3); break;
	case 's': pool->seed = number(text, "seed", 10, 0, UINT64_MAX); break;
	case 'v': pool->vocabulary = (uint32_t)number(text, "vocabulary", 10, 2, 1 << 24); break;
	case 't': a->tokenizer = number(text, "tokenizer-fingerprint", 16, 0, UINT64_MAX); break;
	case 'x': pool->distinct = (uint32_t)number(text, "distinct", 10, 1, 1 << 20); break;
	case 'L': a->live = true; break;
	default: usage("no such option");
	}
}

static void
read_arguments(struct fill *fill, int argc, char **argv)
{
	struct arguments *a = &fill->a;
	struct fill_pool *pool = &fill->pool;
	static const struct option options[] = {
	    {"bootstrap", required_argument, NULL, 'b'},
	    {"corpus", required_argument, NULL, 'c'},
	    {"domain", required_argument, NULL, 'd'},
	    {"sequences", required_argument, NULL, 'n'},
	    {"length", required_argument, NULL, 'l'},
	    {"partitions", required_argument, NULL, 'p'},
	    {"width", required_argument, NULL, 'w'},
	    {"seed", required_argument, NULL, 's'},
	    {"vocabulary", required_argument, NULL, 'v'},
	    {"tokenizer-fingerprint", required_argument, NULL, 't'},
	    {"distinct", required_argument, NULL, 'x'},
	    {"live", no_argument, NULL, 'L'},
	    {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		set_option(fill, (char)option, optarg);
	if (optind != argc)
		usage("arguments that are no options");
	if (a->bootstrap == NULL || a->corpus == NULL || a->domains_n == 0 || pool->length == 0)
		usage("--bootstrap, --corpus, --domain and --length are needed");
	if (!names_valid(a->corpus))
		usage("--corpus: the name is not valid");
	if (pool->vocabulary == 0)
		pool->vocabulary = pool->width == 3 ? 100277 : 50257;
	if (pool->width == 0)
		pool->width = frame_width(pool->vocabulary);
	if (pool->width < frame_width(pool->vocabulary))
		usage("--width 2: the vocabulary has more than 65,536 entries");
}

int
main(int argc, char **argv)
{
	struct fill fill = {
	    .a = {.partitions = 1, .tokenizer = UINT64_C(0x66696c6c)},
	    .pool = {.distinct = 4096, .seed = 1},
	};
	bool *made;

	read_arguments(&fill, argc, argv);
	open_writer(&fill);
	fill_pool_make(&fill.pool);
	fill.spans = memory(fill.pool.length + 1, sizeof(*fill.spans));
	made = memory(fill.a.domains_n, sizeof(*made));
	create_topics(&fill, made);
	for (uint32_t i = 0; i < fill.a.domains_n; i++)
		fill_domain(&fill, i, made[i]);
	/* Once, as librdkafka 2.0.2 waits up to a second before the first record of a topic. */
	flush(&fill);
	kafka_close(fill.rk);
	fill_pool_close(&fill.pool);
	free(fill.spans);
	free(made);
	return 0;
}
