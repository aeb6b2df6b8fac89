/*
 * part.h and part_outputs.h against librdkafka's mock cluster: which records a part publishes, the
 * same ones after a resume at any record, and what it reports about an input that has changed.
 *
 * Each token is one printable ASCII character; "|" is printed for the end of a text.
 */
#include "producer/produce/part.h"

#include <inttypes.h>

#include "common/base/names.h"
#include "common/record/frame.h"
#include "common/record/sequence.h"
#include "tests/unit/capture.h"
#include "tests/unit/folder.h"
#include "tests/unit/mock_topics.h"
#include "tests/unit/printed.h"

enum {
	FIRST = ' ',
	EOS = '\x7f' - FIRST, /* ids are codes less FIRST */
	RECORDS_MAX = 64,
	LENGTH_MAX = 64, /* tokens, and spans */
	HEADERS_MAX = 8,
};

/* ---- records of a partition ---- */

struct record {
	uint8_t *bytes;
	size_t n;
	char *header[HEADERS_MAX]; /* "NAME=VALUE" */
	size_t headers_n;
};

struct log {
	struct record record[RECORDS_MAX];
	size_t n;
};

static void
log_close(struct log *l)
{
	for (size_t i = 0; i < l->n; i++) {
		for (size_t k = 0; k < l->record[i].headers_n; k++)
			free(l->record[i].header[k]);
		free(l->record[i].bytes);
	}
	l->n = 0;
}

static void
add_record(struct log *l, const rd_kafka_message_t *m)
{
	struct record *r = &l->record[l->n++];
	rd_kafka_headers_t *headers;
	const char *name;
	const void *value;
	size_t n;

	assert_true(l->n <= RECORDS_MAX);
	*r = (struct record){.bytes = malloc(m->len + 1), .n = m->len};
	memcpy(r->bytes, m->payload, m->len);
	if (rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	while (rd_kafka_header_get_all(headers, r->headers_n, &name, &value, &n) ==
	       RD_KAFKA_RESP_ERR_NO_ERROR) {
		assert_true(r->headers_n < HEADERS_MAX);
		assert_true(asprintf(&r->header[r->headers_n++], "%s=%.*s", name, (int)n,
				(const char *)value) > 0);
	}
}

static rd_kafka_t *
open_reader(void)
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "test", .properties = &mock_properties};
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	return rk;
}

static void
read_log(struct log *l, const char *topic, int32_t partition)
{
	rd_kafka_t *rk = open_reader();
	int64_t low, high;

	l->n = 0;
	assert_int_equal(
	    kafka_watermarks(rk, topic, partition, &low, &high, MOCK_WAIT_MS, &f), FAIL_NONE);
	assert_int_equal(low, 0);
	assert_int_equal(kafka_assign_one(rk, topic, partition, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	while ((int64_t)l->n < high) {
		rd_kafka_message_t *m = kafka_poll(rk, MOCK_WAIT_MS);

		assert_non_null(m);
		assert_int_equal(m->err, RD_KAFKA_RESP_ERR_NO_ERROR);
		add_record(l, m);
		rd_kafka_message_destroy(m);
	}
	kafka_close(rk);
}

static void
write_record(const char *topic, int32_t partition, const struct record *r)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(HEADERS_MAX);

	for (size_t i = 0; i < r->headers_n; i++) {
		const char *equals = strchr(r->header[i], '=');

		rd_kafka_header_add(headers, r->header[i], equals - r->header[i], equals + 1, -1);
	}
	assert_int_equal(
	    rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
		RD_KAFKA_V_VALUE(r->bytes, r->n), RD_KAFKA_V_HEADERS(headers),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* ---- a record as a line ---- */

static void
print_tokens(const struct sequence_payload_view *p, FILE *to)
{
	uint32_t token[LENGTH_MAX];
	struct frame_codec *codec;

	assert_true(p->count <= LENGTH_MAX);
	assert_int_equal(sequence_payload_check_hash(p, &f), FAIL_NONE);
	assert_int_equal(frame_codec_open(&codec, &f), FAIL_NONE);
	assert_int_equal(frame_decode(codec, p->frame, p->frame_n, p->count, p->width, token,
			     sizeof(token[0]), &f),
	    FAIL_NONE);
	frame_codec_close(codec);
	for (uint32_t i = 0; i < p->count; i++)
		fputc(token[i] == EOS ? '|' : (int)token[i] + FIRST, to);
}

static void
print_lists(const struct sequence_payload_view *p, FILE *to)
{
	struct text_view source[LENGTH_MAX];
	struct sequence_span span[LENGTH_MAX];
	struct sequence_range no_loss[LENGTH_MAX];

	sequence_payload_lists(p, source, span, no_loss);
	for (size_t i = 0; i < p->spans_n; i++) {
		const struct text_view *file = &source[span[i].source];

		fprintf(to, " %" PRIu32 "=%.*s#%" PRIu64 "+%" PRIu64 "%.*s", span[i].start,
		    (int)file->n, file->bytes, span[i].document, span[i].offset,
		    (int)span[i].keep_n, (const char *)span[i].keep);
	}
	for (size_t i = 0; i < p->no_loss_n; i++)
		fprintf(to, " no_loss=%" PRIu32 "..%" PRIu32, no_loss[i].start, no_loss[i].end);
}

static void
print_sequence(const struct sequence_view *s, FILE *to)
{
	const struct sequence_position *p = &s->position;

	fprintf(to, "%" PRIu64 " ", s->ordinal);
	print_tokens(&s->payload, to);
	print_lists(&s->payload, to);
	fprintf(to,
	    " used=%" PRIu32 " at=%" PRIu64 " %.*s:%" PRIu64 ":%" PRIu64 "+%" PRIu64
	    " documents=%" PRIu64 " rejects=%" PRIu64 " tokens=%" PRIu64 " dropped=%" PRIu64
	    " sealed=%" PRId64 " window=%" PRIu64 "\n",
	    s->payload.used, p->document, (int)p->file.n, p->file.bytes, p->byte, p->line,
	    p->offset, p->documents, p->rejects, p->tokens, p->dropped, p->sealed, p->window);
}

static void
print_end(const struct sequence_end *e, FILE *to)
{
	fprintf(to,
	    "End of %" PRIu64 " tokens=%" PRIu64 " dropped=%" PRIu64 " documents=%" PRIu64
	    " rejects=%" PRIu64 " input: records=%" PRIu64 " files=%" PRIu64 " %.*s:%" PRIu64
	    ":%" PRIu64 "\n",
	    e->sequences, e->tokens, e->dropped, e->documents, e->rejects, e->input.records,
	    e->input.files, (int)e->input.file.n, e->input.file.bytes, e->input.byte,
	    e->input.line);
}

/* Also checks what each record repeats: bytes of the records before it. */
static void
print_log(const struct log *l, size_t first, FILE *to)
{
	FILE *none = fopen("/dev/null", "w");
	uint64_t bytes = 0, bytes_max = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct record *r = &l->record[i];
		struct sequence_view s;
		struct sequence_end e;

		if (sequence_decode(&s, r->bytes, r->n, &f) == FAIL_NONE) {
			assert_int_equal(s.position.record_bytes, bytes);
			assert_int_equal(s.position.record_bytes_max, bytes_max);
			bytes += r->n;
			bytes_max = r->n > bytes_max ? r->n : bytes_max;
			print_sequence(&s, i < first ? none : to);
		} else {
			assert_int_equal(sequence_end_decode(&e, r->bytes, r->n, &f), FAIL_NONE);
			assert_int_equal(e.record_bytes, bytes);
			assert_int_equal(e.record_bytes_max, bytes_max);
			print_end(&e, i < first ? none : to);
		}
	}
	fclose(none);
}

/* Rejects as they are: headers in their order, then the record. */
static void
assert_rejects(const char *topic, const char *expected)
{
	struct printed p;
	static struct log l;
	FILE *to = printed_begin(&p);

	read_log(&l, topic, 0);
	for (size_t i = 0; i < l.n; i++) {
		for (size_t k = 0; k < l.record[i].headers_n; k++)
			fprintf(to, "%s ", l.record[i].header[k]);
		fprintf(to, "%.*s\n", (int)l.record[i].n, (const char *)l.record[i].bytes);
	}
	log_close(&l);
	printed_is(&p, expected);
}

/* The records from `first` on. */
static void
assert_records(const char *topic, int32_t partition, size_t first, const char *expected)
{
	struct printed p;
	static struct log l;

	read_log(&l, topic, partition);
	print_log(&l, first, printed_begin(&p));
	log_close(&l);
	printed_is(&p, expected);
}

/* ---- a run ---- */

static char said[16384]; /* by the last run */

struct run {
	const char *corpus, *keys; /* lines of the configuration after the corpus */
	bool append, stop, seal, skip_missing;
	uint32_t partition, partitions; /* 0: there is one */
	uint32_t workers;               /* 0: two */
	enum names_set set;
	bool left_out[4]; /* domains that are not wanted */
};

static enum fail_code
run(const struct run *r)
{
	struct stop stop = {0};
	char text[4096];
	struct config *c;
	struct tokenizer *t;
	size_t domain[4];
	bool wanted[4], mismatch = false, empty = false;
	struct capture log;
	enum fail_code code;
	struct part_options o = {.domain = domain,
	    .wanted = wanted,
	    .set = r->set,
	    .append = r->append,
	    .seal = r->seal,
	    .skip_missing = r->skip_missing,
	    .mismatch = &mismatch,
	    .empty = &empty,
	    .partition = r->partition,
	    .partitions = r->partitions == 0 ? 1 : r->partitions,
	    .workers = r->workers == 0 ? 2 : r->workers,
	    .label = "the part",
	    .stop = &stop};

	snprintf(text, sizeof(text),
	    "corpus: %s\ntokenizer: {file: t.json}\nkafka: {bootstrap.servers: "
	    "\"%s\"}\n%s",
	    r->corpus, mock_bootstrap, r->keys);
	folder_text("run.yml", text);
	assert_int_equal(config_open(&c, folder_path("run.yml"), &f), FAIL_NONE);
	assert_int_equal(
	    tokenizer_open(&t,
		&(struct tokenizer_options){.file = folder_path("t.json"), .eos = "<|endoftext|>"},
		&f),
	    FAIL_NONE);
	o.config = c;
	o.tokenizer = t;
	o.domains_n = c->domains_n;
	for (size_t i = 0; i < c->domains_n; i++) {
		domain[i] = i;
		wanted[i] = !r->left_out[i];
	}
	if (r->stop)
		stop_ask(&stop);
	o.reader = open_reader();
	capture_begin(&log);
	code = part_run(&o, &f);
	capture_end_lines(&log, said, sizeof(said));
	kafka_close(o.reader);
	tokenizer_close(t);
	config_close(c);
	return code;
}

/* What the last run said, without the time and without librdkafka's lines. */
static void
assert_said(const char *expected)
{
	char text[sizeof(said)];
	size_t n = 0;

	for (char *rest = NULL, *line = strtok_r(said, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *event = strchr(line, ' ');

		assert_non_null(event);
		if (strstr(event, " kafka: ") == NULL)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n", event + 1);
	}
	text[n] = '\0';
	printed_compare(text, expected);
}

static void
write_tokenizer(void)
{
	FILE *to = fopen(folder_path("t.json"), "w");

	assert_non_null(to);
	fprintf(to,
	    "{\"version\": \"1.0\", \"added_tokens\": [{\"id\": %d, \"content\": "
	    "\"<|endoftext|>\", \"special\": true, \"single_word\": false, \"lstrip\": false, "
	    "\"rstrip\": false, \"normalized\": false}], \"model\": {\"type\": \"BPE\", "
	    "\"merges\": [], \"vocab\": {",
	    EOS);
	for (int i = 0; i < EOS; i++)
		fprintf(to, "%s\"\\u%04x\": %d", i == 0 ? "" : ", ", (unsigned)(FIRST + i), i);
	fputs("}}}", to);
	assert_int_equal(fclose(to), 0);
}

static int
begin(void **state)
{
	if (folder_open(state) != 0)
		return -1;
	write_tokenizer();
	return mock_begin(state);
}

static int
end(void **state)
{
	return mock_end(state) | folder_close(state);
}

/* ---- what is published ---- */

#define TRAIN "train: \"*.jsonl\", where: {field: s, equals: "

/* One input for three domains, each packed in its own way. */
static const char three[] = "sequence_length: 8\nmax_rejects: 0.2\n"
			    "split: 1,1,0\n"
			    "domains:\n"
			    "  a: {" TRAIN "a}}\n"
			    "  b: {" TRAIN "b}, packing: none, over_long: truncate, keep: id}\n"
			    "  c: {" TRAIN "c}, packing: best_fit}\n";

static void
write_three(void)
{
	folder_text("1.jsonl", "{\"s\": \"a\", \"text\": \"first of a\"}\n"
			       "{\"s\": \"b\", \"text\": \"b1\", \"id\": 1}\n"
			       "{\"s\": \"c\", \"text\": \"c1\"}\n"
			       "no object\n"
			       "{\"s\": \"c\", \"text\": \"c2 c2\"}\n"
			       "{\"s\": \"a\", \"text\": \"A\"}\n"
			       "{\"s\": \"b\", \"text\": \"\", \"id\": 2}\n"
			       "{\"s\": \"x\", \"text\": \"nobody's\"}\n");
	folder_text("2.jsonl", "{\"s\": \"b\", \"text\": \"b2 is too long\", \"id\": 3}\n"
			       "{\"s\": \"a\", \"text\": \"the second document of a\"}\n"
			       "{\"s\": \"c\", \"text\": \"c3 is longer than a sequence\"}\n"
			       "{\"s\": \"c\"}\n"
			       "{\"s\": \"b\", \"text\": \"b3\", \"id\": 4}\n"
			       "{\"s\": \"c\", \"text\": \"c4\"}\n"
			       "{\"s\": \"a\", \"text\": \"a3\"}\n");
}

static const struct {
	const char *topic, *records;
} published[] = {
    {"w.a",
	"0 A|the sec 0=1.jsonl#5+0 2=2.jsonl#9+0 used=9 at=9 2.jsonl:46:2+6 documents=2 rejects=1 "
	"tokens=9 dropped=0 sealed=-1 window=0\n"
	"1 cond docu 0=2.jsonl#9+6 used=9 at=9 2.jsonl:46:2+14 documents=2 rejects=1 tokens=17 "
	"dropped=0 sealed=-1 window=0\n"
	"2 ument of  0=2.jsonl#9+14 used=9 at=9 2.jsonl:46:2+22 documents=2 rejects=1 tokens=25 "
	"dropped=0 sealed=-1 window=0\n"
	"End of 3 tokens=25 dropped=5 documents=3 rejects=2 input: records=15 files=2 "
	"2.jsonl:239:8\n"},
    {"w.a.valid",
	"0 first of  0=1.jsonl#0+0 used=9 at=0 1.jsonl:0:1+8 documents=1 rejects=0 tokens=9 "
	"dropped=0 sealed=-1 window=0\n"
	"End of 1 tokens=9 dropped=2 documents=1 rejects=2 input: records=15 files=2 "
	"2.jsonl:239:8\n"},
    {"w.b",
	"0 b1||||||| 0=1.jsonl#1+0{\"id\":1} no_loss=3..9 used=3 at=1 1.jsonl:33:2+2 documents=1 "
	"rejects=0 tokens=3 dropped=0 sealed=-1 window=0\n"
	"1 b3||||||| 0=2.jsonl#12+0{\"id\":4} no_loss=3..9 used=3 at=12 2.jsonl:155:5+2 "
	"documents=2 rejects=2 tokens=6 dropped=0 sealed=-1 window=0\n"
	"End of 2 tokens=6 dropped=0 documents=2 rejects=2 input: records=15 files=2 "
	"2.jsonl:239:8\n"},
    {"w.b.valid",
	"0 b2 is too 0=2.jsonl#8+0{\"id\":3} used=9 at=8 2.jsonl:0:1+8 documents=1 rejects=1 "
	"tokens=9 dropped=6 sealed=-1 window=0\n"
	"End of 1 tokens=9 dropped=6 documents=1 rejects=2 input: records=15 files=2 "
	"2.jsonl:239:8\n"},
    {"w.c",
	"0 c1|c2 c2| 0=1.jsonl#2+0 3=1.jsonl#4+0 used=9 at=2 1.jsonl:67:3+0 documents=1 rejects=0 "
	"tokens=9 dropped=0 sealed=-1 window=1\n"
	"1 c4||||||| 0=2.jsonl#13+0 no_loss=3..9 used=3 at=2 1.jsonl:67:3+0 documents=1 rejects=0 "
	"tokens=12 dropped=0 sealed=-1 window=2\n"
	"End of 2 tokens=12 dropped=0 documents=3 rejects=2 input: records=15 files=2 "
	"2.jsonl:239:8\n"},
    {"w.c.valid",
	"0 c3 is lon 0=2.jsonl#10+0 used=9 at=10 2.jsonl:93:3+0 documents=1 rejects=1 tokens=9 "
	"dropped=0 sealed=-1 window=1\n"
	"1 ger than  0=2.jsonl#10+9 used=9 at=10 2.jsonl:93:3+0 documents=1 rejects=1 tokens=18 "
	"dropped=0 sealed=-1 window=2\n"
	"2 a sequenc 0=2.jsonl#10+18 used=9 at=10 2.jsonl:93:3+0 documents=1 rejects=1 tokens=27 "
	"dropped=0 sealed=-1 window=3\n"
	"3 e|||||||| 0=2.jsonl#10+27 no_loss=2..9 used=2 at=10 2.jsonl:93:3+0 documents=1 "
	"rejects=1 tokens=29 dropped=0 sealed=-1 window=4\n"
	"End of 4 tokens=29 dropped=0 documents=1 rejects=2 input: records=15 files=2 "
	"2.jsonl:239:8\n"},
};

static void
test_each_domain_and_set_gets_its_documents_packed_in_its_own_way(void **unused)
{
	(void)unused;
	write_three();
	EACH_NAMED_ROW(i, published, topic)
		mock_topic(published[i].topic, 1);
	mock_topic("w.rejects", 1);
	assert_int_equal(run(&(struct run){.corpus = "w", .keys = three}), FAIL_NONE);
	assert_said(
	    "warning produce: PRODUCE-REJECT file=1.jsonl line=4 byte=92: invalid JSON at byte 1: "
	    "no such value; a string wants quotes\n"
	    "warning produce: PRODUCE-REJECT file=2.jsonl line=4 byte=144: no field `text`\n"
	    "info produce: topic=w.a partition=0 sequences=3 tokens=24 documents=3 "
	    "dropped_tokens=5 rejects=2\n"
	    "info produce: topic=w.a.valid partition=0 sequences=1 tokens=8 documents=1 "
	    "dropped_tokens=2 rejects=2\n"
	    "info produce: topic=w.b partition=0 sequences=2 tokens=4 documents=2 "
	    "dropped_tokens=0 rejects=2\n"
	    "info produce: topic=w.b.valid partition=0 sequences=1 tokens=8 documents=1 "
	    "dropped_tokens=6 rejects=2\n"
	    "info produce: topic=w.c partition=0 sequences=2 tokens=10 documents=3 "
	    "dropped_tokens=0 rejects=2\n"
	    "info produce: topic=w.c.valid partition=0 sequences=4 tokens=25 documents=1 "
	    "dropped_tokens=0 rejects=2\n"
	    "warning produce: PRODUCE-UNMATCHED a,b,c: 1 records belong to no domain by `where` "
	    "and were left out\n"
	    "warning produce: PRODUCE-NO-TARGET a,b,c: left out 1 document without a target, "
	    "first 1.jsonl:7: no target: the document has no token of its own; `riffle rejects` "
	    "lists them, and `no_target: keep` would publish them in a new domain\n"
	    "warning produce: PRODUCE-REJECTS a,b,c: 2 records were rejected (1 invalid JSON at "
	    "byte N: no such value; a string wants quotes, 1 no field `text`); `riffle rejects` "
	    "lists them with file, line and reason\n");
	EACH_NAMED_ROW(i, published, topic)
		assert_records(published[i].topic, 0, 0, published[i].records);
	assert_rejects("w.rejects",
	    "riffle.error.stage=produce riffle.error.domain=a,b,c riffle.error.file=1.jsonl "
	    "riffle.error.line=4 riffle.error.byte=92 riffle.error.count=1 "
	    "riffle.error.reason=invalid JSON at byte 1: no such value; a string wants quotes "
	    "no object\n"
	    "riffle.error.stage=produce riffle.error.domain=b riffle.error.file=1.jsonl "
	    "riffle.error.line=7 riffle.error.byte=154 riffle.error.count=1 "
	    "riffle.error.reason=no target: the document has no token of its own "
	    "{\"s\": \"b\", \"text\": \"\", \"id\": 2}\n"
	    "riffle.error.stage=produce riffle.error.domain=a,b,c riffle.error.file=2.jsonl "
	    "riffle.error.line=4 riffle.error.byte=144 riffle.error.count=2 "
	    "riffle.error.reason=no field `text` {\"s\": \"c\"}\n");
}

/* ---- a resume ---- */

enum { TOPICS = 6, WHOLE = RECORDS_MAX };

/* Topic i of the three domains and their two sets. */
static const char *
topic_of(char *out, size_t room, const char *corpus, int i)
{
	snprintf(out, room, "%s.%c%s", corpus, 'a' + i / 2, i % 2 == 0 ? "" : ".valid");
	return out;
}

/* Publishes the first keep[i] records of each topic as a killed run would have, then the rest. */
static void
resume_from(const struct log *whole, const size_t *keep)
{
	static int runs;
	static struct log now;
	char corpus[16], topic[32];

	snprintf(corpus, sizeof(corpus), "resumed%d", runs++);
	for (int i = 0; i < TOPICS; i++) {
		int partitions;

		mock_topic(topic_of(topic, sizeof(topic), corpus, i), 1);
		assert_int_equal(
		    kafka_partitions(mock_writer, topic, &partitions, MOCK_WAIT_MS, &f), FAIL_NONE);
		for (size_t k = 0; k < keep[i] && k < whole[i].n; k++)
			write_record(topic, 0, &whole[i].record[k]);
	}
	assert_int_equal(run(&(struct run){.corpus = corpus, .keys = three}), FAIL_NONE);
	for (int i = 0; i < TOPICS; i++) {
		read_log(&now, topic_of(topic, sizeof(topic), corpus, i), 0);
		assert_int_equal(now.n, whole[i].n);
		for (size_t k = 0; k < now.n; k++) {
			const struct record *a = &now.record[k], *b = &whole[i].record[k];

			assert_int_equal(a->n, b->n);
			assert_memory_equal(a->bytes, b->bytes, b->n);
			assert_int_equal(a->headers_n, b->headers_n);
			for (size_t h = 0; h < a->headers_n; h++)
				assert_string_equal(a->header[h], b->header[h]);
		}
		log_close(&now);
	}
}

static void
test_a_resume_at_any_record_publishes_the_same(void **unused)
{
	static struct log whole[TOPICS];
	size_t most = 0;
	char topic[32];

	(void)unused;
	write_three();
	for (int i = 0; i < TOPICS; i++)
		mock_topic(topic_of(topic, sizeof(topic), "whole", i), 1);
	assert_int_equal(
	    run(&(struct run){.corpus = "whole", .keys = three, .workers = 1}), FAIL_NONE);
	for (int i = 0; i < TOPICS; i++) {
		read_log(&whole[i], topic_of(topic, sizeof(topic), "whole", i), 0);
		most = whole[i].n > most ? whole[i].n : most;
	}
	for (int i = 0; i < TOPICS; i++) /* one has fewer records */
		for (size_t k = 0; k < whole[i].n; k++) {
			size_t keep[TOPICS] = {WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE};

			keep[i] = k;
			resume_from(whole, keep);
		}
	for (size_t k = 0; k <= most; k++) { /* all are */
		size_t keep[TOPICS] = {k, k, k, k, k, k};

		resume_from(whole, keep);
	}
	for (int i = 0; i < TOPICS; i++)
		log_close(&whole[i]);
}

/* ---- a part that is complete ---- */

static const char one[] = "sequence_length: 4\ndomains:\n  d: {train: \"*.jsonl\"}\n";

static const char ab[] = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n"; /* two documents, 4 tokens */
static const char cd[] = "{\"text\": \"c\"}\n{\"text\": \"d\"}\n";
static const char cde[] = "{\"text\": \"c\"}\n{\"text\": \"d\"}\n{\"text\": \"efgh\"}\n";

#define CHANGED(what)                                                                              \
	"warning produce: PRODUCE-CHANGED the part is complete, but " what                         \
	". What was published stays; the data of now can be another domain, or, if no mix draws "  \
	"from it yet, replace it: `riffle produce d --restart`\n"
#define BEGIN_NOT(n)                                                                               \
	CHANGED("it was made of 2 files, the last one 2.jsonl, and the " n                         \
		" that the configuration names now do not begin with them: files were added in "   \
		"front, removed or renamed (they are read in the order of their names)")

/* What changes in the files 1.jsonl and 2.jsonl of a domain, and what is reported then. */
static const struct {
	const char *claim;
	struct {
		const char *name, *text; /* NULL: it is deleted */
	} now[3];
	const char *said;
	const char *added;   /* the records that --append adds, and */
	const char *failure; /* a part of why it fails; NULL: it does not */
} changes[] = {
    {"nothing", {{0}}, "info produce: the part is complete: nothing to do\n", "", NULL},
    {"a file more", {{"3.jsonl", cd}},
	"warning produce: PRODUCE-NEW the part is complete up to 2.jsonl; 1 new files, from "
	"3.jsonl on: `--append` publishes them\n",
	"End of 1 tokens=5 dropped=7 documents=6 rejects=0 input: records=6 files=3 "
	"3.jsonl:28:3\n",
	NULL},
    {"two files more", {{"3.jsonl", cd}, {"4.jsonl", ab}},
	"warning produce: PRODUCE-NEW the part is complete up to 2.jsonl; 2 new files, from "
	"3.jsonl on: `--append` publishes them\n",
	"1 c|d|a 0=3.jsonl#4+0 2=3.jsonl#5+0 4=4.jsonl#6+0 used=5 at=6 4.jsonl:0:1+0 documents=7 "
	"rejects=0 tokens=10 dropped=3 sealed=1 window=0\n"
	"End of 2 tokens=10 dropped=6 documents=8 rejects=0 input: records=8 files=4 "
	"4.jsonl:28:3\n",
	NULL},
    {"the last file has grown", {{"2.jsonl", cde}},
	"warning produce: PRODUCE-NEW the part is complete; 2.jsonl has grown by 17 bytes: "
	"`--append` publishes them\n",
	"1 efgh| 0=2.jsonl#4+0 used=5 at=4 2.jsonl:28:3+4 documents=5 rejects=0 tokens=10 "
	"dropped=3 sealed=1 window=0\n"
	"End of 2 tokens=10 dropped=3 documents=5 rejects=0 input: records=5 files=2 "
	"2.jsonl:45:4\n",
	NULL},
    {"the last file has grown, and one more", {{"2.jsonl", cde}, {"3.jsonl", cd}},
	"warning produce: PRODUCE-NEW the part is complete up to 2.jsonl; 1 new files, from "
	"3.jsonl on: `--append` publishes them\n",
	"1 efgh| 0=2.jsonl#4+0 used=5 at=4 2.jsonl:28:3+4 documents=5 rejects=0 tokens=10 "
	"dropped=3 sealed=1 window=0\n"
	"2 |c|d| 0=2.jsonl#4+4 1=3.jsonl#5+0 3=3.jsonl#6+0 used=5 at=6 3.jsonl:14:2+1 "
	"documents=7 rejects=0 tokens=14 dropped=3 sealed=1 window=0\n"
	"End of 3 tokens=14 dropped=3 documents=7 rejects=0 input: records=7 files=3 "
	"3.jsonl:28:3\n",
	NULL},
    {"the last file is shorter", {{"2.jsonl", "{\"text\": \"c\"}\n"}},
	CHANGED("the files up to 2.jsonl had 56 bytes and have 42"), "",
	"file 2.jsonl: has only 14 bytes"},
    {"an earlier file has grown", {{"1.jsonl", cde}},
	CHANGED("the files up to 2.jsonl had 56 bytes and have 73"), "",
	"had 28 bytes then and have 45 now"},
    {"an earlier file is shorter, the last one longer",
	{{"1.jsonl", "{\"text\": \"a\"}\n"}, {"2.jsonl", cde}},
	CHANGED("the files up to 2.jsonl had 56 bytes and have 59"), "",
	"had 28 bytes then and have 14 now"},
    {"a file in front", {{"0.jsonl", cd}}, BEGIN_NOT("3"), "",
	"the 2 files of the run before are not the first of the list now"},
    {"a file is renamed", {{"2.jsonl", NULL}, {"5.jsonl", cd}}, BEGIN_NOT("2"), "",
	"the 2 files of the run before are not the first of the list now"},
    {"the last file is gone", {{"2.jsonl", NULL}}, BEGIN_NOT("1"), "",
	"the 2 files of the run before are not the first of the list now"},
};

static void
remove_files(void)
{
	for (int i = 0; i < 10; i++) {
		char name[24];

		snprintf(name, sizeof(name), "%d.jsonl", i);
		remove(folder_path(name));
	}
}

static void
test_a_complete_part_reports_what_changed_in_its_files(void **unused)
{
	struct run append = {.keys = one, .append = true};

	(void)unused;
	EACH_NAMED_ROW(i, changes, claim) {
		char corpus[16], topic[20];

		snprintf(corpus, sizeof(corpus), "changed%zu", i);
		snprintf(topic, sizeof(topic), "%s.d", corpus);
		mock_topic(topic, 1);
		remove_files();
		folder_text("1.jsonl", ab);
		folder_text("2.jsonl", cd);
		assert_int_equal(run(&(struct run){.corpus = corpus, .keys = one}), FAIL_NONE);
		for (size_t k = 0; k < 3 && changes[i].now[k].name != NULL; k++)
			if (changes[i].now[k].text == NULL)
				remove(folder_path(changes[i].now[k].name));
			else
				folder_text(changes[i].now[k].name, changes[i].now[k].text);
		assert_int_equal(run(&(struct run){.corpus = corpus, .keys = one}), FAIL_NONE);
		assert_said(changes[i].said);
		append.corpus = corpus;
		if (changes[i].failure == NULL) {
			assert_int_equal(run(&append), FAIL_NONE);
		} else {
			assert_int_not_equal(run(&append), FAIL_NONE);
			assert_non_null(strstr(f.text, changes[i].failure));
		}
		assert_records(topic, 0, 2, changes[i].added);
	}
}

/* ---- a part that does not come to its End ---- */

#define ONE(domain) "sequence_length: 4\ndomains:\n  d: {" domain "}\n"
#define FILES       "train: \"*.jsonl\""

static const char no_json[] = "{\"text\": \"abcdefgh\"}\n{\"text\": \"b\"}\nbad\n";

#define REJECT "warning produce: PRODUCE-REJECT file="
#define CDE(f)                                                                                     \
	"0 c|d|e 0=" f "#0+0 2=" f "#1+0 4=" f "#2+0 used=5 at=2 " f                               \
	":28:3+0 documents=3 rejects=0 tokens=5 dropped=0 sealed=-1 window=0\n"                    \
	"1 efgh| 0=" f "#2+0 used=5 at=2 " f                                                       \
	":28:3+4 documents=3 rejects=0 tokens=9 dropped=0 sealed=-1 window=0\n"
#define LATER "exec:d#3aa32c9ec27da5d5"

static const struct {
	const char *claim, *keys, *text;
	struct run run; /* its corpus and keys are set by the test */
	enum fail_code code;
	const char *failure; /* its end */
	const char *said, *records;
} broken[] = {
    {"on_reject: stop", "on_reject: stop\n" ONE(FILES), no_json, {0}, FAIL_DATA,
	"1.jsonl:3: invalid JSON at byte 0: a value is missing (record at byte 35); on_reject is "
	"stop: mend the record, or set on_reject: quarantine",
	"", ""},
    {"too many rejects", ONE(FILES), no_json, {0}, FAIL_DATA,
	"1 of 3 records were rejected (33.3 %), more than max_rejects allows (10 %), and the "
	"domain is not closed: correct the input or its keys and run it again, or raise "
	"max_rejects; the first reject of this run: 1.jsonl:3: invalid JSON at byte 0: a value is "
	"missing; `riffle rejects` lists them all",
	REJECT "1.jsonl line=3 byte=35: invalid JSON at byte 0: a value is missing\n", ""},
    {"as many as are allowed", "max_rejects: 0.34\n" ONE(FILES), no_json, {0}, FAIL_NONE, "",
	REJECT "1.jsonl line=3 byte=35: invalid JSON at byte 0: a value is missing\n"
	       "info produce: topic=broken2.d partition=0 sequences=2 tokens=8 documents=2 "
	       "dropped_tokens=2 rejects=1\n"
	       "warning produce: PRODUCE-REJECTS d: 1 record was rejected (1 invalid JSON at byte "
	       "N: a value is missing); `riffle rejects` lists it with file, line and reason\n",
	"0 abcde 0=1.jsonl#0+0 used=5 at=0 1.jsonl:0:1+4 documents=1 rejects=0 tokens=5 dropped=0 "
	"sealed=-1 window=0\n"
	"1 efgh| 0=1.jsonl#0+4 used=5 at=0 1.jsonl:0:1+8 documents=1 rejects=0 tokens=9 dropped=0 "
	"sealed=-1 window=0\n"
	"End of 2 tokens=9 dropped=2 documents=2 rejects=1 input: records=3 files=1 "
	"1.jsonl:39:4\n"},
    {"no sequence", ONE(FILES), "{\"text\": \"a\"}\n", {0}, FAIL_DATA,
	"domain d yields no sequence: 1 document, and a sequence needs 5 tokens. To mix without "
	"it, set its weight to 0 in mix.weights and run `riffle produce d` again",
	"", ""},
    {"no document", ONE(FILES), "\n", {0}, FAIL_DATA,
	"domain d yields no sequence: its input has no record: file 1.jsonl is empty. To mix "
	"without it, set its weight to 0 in mix.weights and run `riffle produce d` again",
	"", ""},
    {"no match", ONE("train: \"*.none\""), "", {0}, FAIL_CONFIG,
	"; it has 1.jsonl, run.yml, t.json", "", ""},
    {"a program that prints a text", ONE("exec: echo hello"), "", {0}, FAIL_DATA,
	"all 1 records were rejected, and the domain is not closed: correct domains.d or its "
	"input, then run `riffle produce` again; the first reject of this run: "
	"exec:d#82739a17f121621c:1: invalid JSON at byte 0: a value is missing; the program "
	"printed `hello`: it must print one JSON object per line; `riffle rejects` lists them all",
	REJECT "exec:d#82739a17f121621c line=1 byte=0: invalid JSON at byte 0: a value is "
	       "missing\n",
	""},
    {"a program that prints nothing", ONE("exec: exit 3"), "", {0}, FAIL_DATA,
	"exec:d#b4df03c980ed6fb8: the program ended with exit status 3, before it printed "
	"anything; its own messages are above. Correct the command, then run `riffle produce` "
	"again",
	"", ""},
    {"a program that fails later", ONE("exec: cat 1.jsonl; exit 3"), cde, {0}, FAIL_DATA,
	LATER ": the program ended with exit status 3, after 45 bytes of text (line 4). The "
	      "documents before that are published, and the domain is not closed. Fix the "
	      "program, then run `riffle produce` again; it continues there. If you change the "
	      "command itself, run `riffle produce DOMAIN --restart` instead. To close the domain "
	      "without the rest of it, set max_rejects: 1",
	"", CDE(LATER)},
    {"and is allowed to", "max_rejects: 1\n" ONE("exec: cat 1.jsonl; exit 3"), cde, {0}, FAIL_NONE,
	"",
	REJECT LATER " line=4 byte=45: the program ended with exit status 3\n"
		     "info produce: topic=broken9.d partition=0 sequences=2 tokens=8 documents=3 "
		     "dropped_tokens=0 rejects=1\n"
		     "warning produce: PRODUCE-REJECTS d: 1 record was rejected (1 the program "
		     "ended with exit status N); `riffle rejects` lists it with file, line and "
		     "reason\n",
	CDE(LATER) "End of 2 tokens=9 dropped=0 documents=3 rejects=1 input: records=4 "
		   "files=0 " LATER ":45:4\n"},
    {"stopped, nothing is published", ONE(FILES), cde, {.stop = true}, FAIL_STOPPED,
	"stopped before its first document; its topic is empty: run `riffle produce d`", "", ""},
    {"stopped, one of two parts", ONE(FILES ", partitions: 2"), cde,
	{.stop = true, .partitions = 2}, FAIL_STOPPED,
	"stopped before its first document; run it again to continue", "", ""},
    {"a program that prints no such field", ONE("exec: \"echo '{}'\""), "", {0}, FAIL_DATA,
	"all 1 records were rejected, and the domain is not closed: correct domains.d or its "
	"input, then run `riffle produce` again; the first reject of this run: "
	"exec:d#53feab1b5cd3f259:1: no field `text`; `riffle rejects` lists them all",
	REJECT "exec:d#53feab1b5cd3f259 line=1 byte=0: no field `text`\n", ""},
    {"CSV", ONE(FILES), "Text,id\n", {0}, FAIL_DATA,
	"the first reject of this run: 1.jsonl:1: invalid JSON at byte 0: a value is missing; CSV "
	"is not read. Convert the file: python3 -c 'import csv, json, sys; "
	"csv.field_size_limit(2**30); [print(json.dumps(x)) for x in csv.DictReader(sys.stdin)]' "
	"< FILE > FILE.jsonl; `riffle rejects` lists them all",
	REJECT "1.jsonl line=1 byte=0: invalid JSON at byte 0: a value is missing\n", ""},
    {"a comma in a later line", ONE(FILES), "bad\na,b\n", {0}, FAIL_DATA,
	"1.jsonl:1: invalid JSON at byte 0: a value is missing; `riffle rejects` lists them all",
	REJECT "1.jsonl line=1 byte=0: invalid JSON at byte 0: a value is missing\n" REJECT
	       "1.jsonl line=2 byte=4: invalid JSON at byte 0: a value is missing\n",
	""},
    {"a program that prints CSV", ONE("exec: 'echo Text,id'"), "", {0}, FAIL_DATA,
	"invalid JSON at byte 0: a value is missing; the program printed `Text,id`: it must print "
	"one JSON object per line; "
	"`riffle rejects` lists them all",
	REJECT
	"exec:d#2df80f96e7a0063e line=1 byte=0: invalid JSON at byte 0: a value is missing\n",
	""},
};

static void
assert_fails(const struct run *r, enum fail_code code, const char *end)
{
	size_t n = strlen(end);

	assert_int_equal(run(r), code);
	if (code == FAIL_NONE)
		return;
	assert_true(strlen(f.text) >= n);
	assert_string_equal(f.text + strlen(f.text) - n, end);
}

static void
test_a_part_that_ends_early_says_why(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, broken, claim) {
		char corpus[16], topic[20];
		struct run r = broken[i].run;

		snprintf(corpus, sizeof(corpus), "broken%zu", i);
		snprintf(topic, sizeof(topic), "%s.d", corpus);
		mock_topic(topic, 2);
		remove_files();
		folder_text("1.jsonl", broken[i].text);
		r.corpus = corpus;
		r.keys = broken[i].keys;
		assert_fails(&r, broken[i].code, broken[i].failure);
		assert_said(broken[i].said);
		assert_records(topic, 0, 0, broken[i].records);
	}
}

/* Files 1 and 3 are of part 0 of two, file 2 of part 1. */
static void
test_parts_share_the_files_and_not_the_partitions(void **unused)
{
	const char *const keys = ONE(FILES ", partitions: 2");

	(void)unused;
	remove_files();
	folder_text("1.jsonl", ab);
	folder_text("2.jsonl", cde);
	folder_text("3.jsonl", cd);
	mock_topic("parts.d", 2);
	for (uint32_t k = 2; k-- > 0;)
		assert_int_equal(
		    run(&(struct run){
			.corpus = "parts", .keys = keys, .partition = k, .partitions = 2}),
		    FAIL_NONE);
	assert_records("parts.d", 0, 0,
	    "0 a|b|c 0=1.jsonl#0+0 2=1.jsonl#1+0 4=3.jsonl#2+0 used=5 at=2 3.jsonl:0:1+0 "
	    "documents=3 rejects=0 tokens=5 dropped=0 sealed=-1 window=0\n"
	    "End of 1 tokens=5 dropped=3 documents=4 rejects=0 input: records=4 files=2 "
	    "3.jsonl:28:3\n");
	assert_records("parts.d", 1, 0,
	    CDE("2.jsonl") "End of 2 tokens=9 dropped=0 documents=3 rejects=0 input: records=3 "
			   "files=1 2.jsonl:45:4\n");
}

/* A resume whose document is another one than before. */
static void
test_a_resume_in_other_data_publishes_nothing(void **unused)
{
	struct run after = {.corpus = "after", .keys = one};
	static struct log l;

	(void)unused;
	remove_files();
	folder_text("1.jsonl", cde);
	folder_text("2.jsonl", ab);
	mock_topic("before.d", 1);
	mock_topic("after.d", 1);
	assert_int_equal(run(&(struct run){.corpus = "before", .keys = one}), FAIL_NONE);
	read_log(&l, "before.d", 0);
	write_record("after.d", 0, &l.record[0]);
	folder_text("1.jsonl", "{\"text\": \"c\"}\n{\"text\": \"d\"}\n{\"text\": \"Efgh\"}\n");
	assert_fails(&after, FAIL_DATA,
	    "topic after.d: the last sequence ended in document 2 of 1.jsonl at token 0, which the "
	    "input does not have there any more: the input has changed since, or a file was added, "
	    "removed, renamed or moved in front of it (`file_order` says in which order files are "
	    "read). Put all back as it was, publish the domain under another corpus name, or, if "
	    "no mix draws from it yet, again from its start (`riffle produce d --restart`)");
	assert_said("info produce: the part resumes at document=2 file=1.jsonl byte=28\n");
	assert_records("after.d", 0, 1, "");
	folder_text("1.jsonl", cde);
	after.keys = "sequence_length: 5\ndomains:\n  d: {" FILES "}\n";
	assert_fails(&after, FAIL_CONFIG,
	    "topic after.d partition 0 offset 0: it was begun with sequence_length 4, the "
	    "configuration has 5: set it back, publish the domain under another corpus name, or, "
	    "if no mix draws from it yet, again from its start (`riffle produce d --restart`)");
	after.keys = one;
	after.stop = true;
	assert_fails(
	    &after, FAIL_STOPPED, "stopped before its first document; run it again to continue");
	after.stop = false;
	assert_fails(&after, FAIL_NONE, "");
	assert_records("after.d", 0, 1,
	    "1 efgh| 0=1.jsonl#2+0 used=5 at=2 1.jsonl:28:3+4 documents=3 rejects=0 tokens=9 "
	    "dropped=0 sealed=-1 window=0\n"
	    "2 |a|b| 0=1.jsonl#2+4 1=2.jsonl#3+0 3=2.jsonl#4+0 used=5 at=4 2.jsonl:14:2+1 "
	    "documents=5 rejects=0 tokens=13 dropped=0 sealed=-1 window=0\n"
	    "End of 3 tokens=13 dropped=0 documents=5 rejects=0 input: records=5 files=2 "
	    "2.jsonl:28:3\n");
	log_close(&l);
}

/* ---- a live input ---- */

#define LIVE "sequence_length: 4\ndomains:\n  d: {live: true, train: \"*.jsonl\"}\n"

static const char long_line[] = "{\"text\": \"ABCDEFGHIJ\"}\n";

#define OPEN(n)                                                                                    \
	"info produce: topic=live.d partition=0 sequences=" n                                      \
	" live: no End, a later run continues here\n"

/* One domain over time: what changes in its files, a run, and what that adds. */
static const struct {
	const char *claim;
	struct {
		const char *name, *text; /* NULL: it is deleted */
	} now[2];
	const char *keys;
	struct run run;
	enum fail_code code;
	const char *failure, *said, *added;
} days[] = {
    {"too little for a sequence", {{"5.jsonl", ab}}, LIVE, {0}, FAIL_NONE, "", OPEN("0"), ""},
    {"the same again", {{0}}, LIVE, {0}, FAIL_NONE, "", OPEN("0"), ""},
    {"it is shorter now", {{"5.jsonl", "{\"text\": \"c\"}\n"}}, LIVE, {0}, FAIL_NONE, "",
	"info produce: the part starts over: nothing was published, and file 5.jsonl has "
	"changed\n" OPEN("0"),
	""},
    {"it is gone, and another is there", {{"5.jsonl", NULL}, {"4.jsonl", long_line}}, LIVE, {0},
	FAIL_NONE, "",
	"info produce: the part starts over: nothing was published, and file 5.jsonl has "
	"changed\n" OPEN("2"),
	"0 ABCDE 0=4.jsonl#0+0 used=5 at=0 4.jsonl:0:1+4 documents=1 rejects=0 tokens=5 dropped=0 "
	"sealed=-1 window=0\n"
	"1 EFGHI 0=4.jsonl#0+4 used=5 at=0 4.jsonl:0:1+8 documents=1 rejects=0 tokens=9 dropped=0 "
	"sealed=-1 window=0\n"},
    {"an earlier name comes later", {{"1.jsonl", cde}}, LIVE, {0}, FAIL_NONE, "",
	"info produce: the part resumes at document=0 file=4.jsonl byte=0\n" OPEN("4"),
	"2 IJ|c| 0=4.jsonl#0+8 3=1.jsonl#1+0 used=5 at=1 1.jsonl:0:1+1 documents=2 rejects=0 "
	"tokens=13 dropped=0 sealed=-1 window=0\n"
	"3 |d|ef 0=1.jsonl#1+1 1=1.jsonl#2+0 3=1.jsonl#3+0 used=5 at=3 1.jsonl:28:3+1 documents=4 "
	"rejects=0 tokens=17 dropped=0 sealed=-1 window=0\n"},
    {"nothing new", {{0}}, LIVE, {0}, FAIL_NONE, "",
	"info produce: the part resumes at document=3 file=1.jsonl byte=28\n" OPEN("4"), ""},
    {"it is renamed", {{"1.jsonl", NULL}, {"2.jsonl", cde}}, LIVE, {0}, FAIL_NONE, "",
	"info produce: the part resumes at document=3 file=1.jsonl byte=28\n"
	"warning input: INPUT-RENAMED file 1.jsonl is 2.jsonl now, by its bytes: the 45 that were "
	"read of it are not read again\n" OPEN("4"),
	""},
    {"it is gone", {{"2.jsonl", NULL}, {"6.jsonl", cd}}, LIVE, {0}, FAIL_IO,
	"file 1.jsonl: is gone, and has to be read again from byte 0: not all that is made of it "
	"was published. Put it back; or `riffle produce DOMAIN --skip-missing` continues without "
	"what was not published of it",
	"info produce: the part resumes at document=3 file=1.jsonl byte=28\n", ""},
    {"it is given up", {{0}}, LIVE, {.skip_missing = true}, FAIL_NONE, "",
	"info produce: the part resumes at document=3 file=1.jsonl byte=28\n"
	"warning produce: PRODUCE-LOST the part: file 1.jsonl is gone: what was not published of "
	"its 45 bytes is left out\n" OPEN("5"),
	"4 f|c|d 0=1.jsonl#3+1 2=6.jsonl#4+0 4=6.jsonl#5+0 used=5 at=5 6.jsonl:14:2+0 documents=6 "
	"rejects=0 tokens=21 dropped=0 sealed=-1 window=0\n"},
    {"it is no longer live", {{0}}, ONE(FILES), {0}, FAIL_NONE, "",
	"info produce: the part resumes at document=5 file=6.jsonl byte=14\n"
	"info produce: topic=live.d partition=0 sequences=5 tokens=20 documents=6 "
	"dropped_tokens=1 rejects=0\n",
	"End of 5 tokens=21 dropped=1 documents=6 rejects=0 input: records=6 files=4 "
	"6.jsonl:28:1\n"},
    {"it is sealed", {{"3.jsonl", ab}}, LIVE, {.seal = true}, FAIL_NONE, "",
	"info produce: the part is complete: nothing to do\n", ""},
    {"more of it", {{"3.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"more\"}\n"}},
	LIVE, {.append = true, .seal = true}, FAIL_NONE, "",
	"info produce: the part resumes at document=6 file=6.jsonl byte=28\n"
	"info produce: topic=live.d partition=0 sequences=7 tokens=28 documents=9 "
	"dropped_tokens=1 rejects=0\n",
	"5 a|b|m 0=3.jsonl#6+0 2=3.jsonl#7+0 4=3.jsonl#8+0 used=5 at=8 3.jsonl:28:3+0 documents=9 "
	"rejects=0 tokens=26 dropped=1 sealed=5 window=0\n"
	"6 more| 0=3.jsonl#8+0 used=5 at=8 3.jsonl:28:3+4 documents=9 rejects=0 tokens=30 "
	"dropped=1 sealed=5 window=0\n"
	"End of 7 tokens=30 dropped=1 documents=9 rejects=0 input: records=9 files=5 "
	"3.jsonl:45:1\n"},
};

static void
test_a_live_part_continues_with_what_has_come(void **unused)
{
	size_t records = 0;

	(void)unused;
	mock_topic("live.d", 1);
	mock_topic("live.arrivals", 1);
	mock_topic("live.rejects", 1);
	remove_files();
	EACH_NAMED_ROW(i, days, claim) {
		struct run r = days[i].run;

		for (size_t k = 0; k < 2 && days[i].now[k].name != NULL; k++)
			if (days[i].now[k].text == NULL)
				remove(folder_path(days[i].now[k].name));
			else
				folder_text(days[i].now[k].name, days[i].now[k].text);
		r.corpus = "live";
		r.keys = days[i].keys;
		assert_fails(&r, days[i].code, days[i].failure);
		assert_said(days[i].said);
		assert_records("live.d", 0, records, days[i].added);
		for (const char *at = days[i].added; *at != '\0'; at++)
			records += *at == '\n';
	}
}

#define MORE "{\"text\": \"more\"}\n"

/* A file that is appended to: only whole lines count, and nothing is read twice. */
static void
test_a_live_file_is_read_as_it_grows(void **unused)
{
	static const char *const texts[] = {"{\"text\": \"c\"}\n{\"text\": \"d\"}\n{\"te",
	    "{\"text\": \"c\"}\n{\"text\": \"d\"}\n{\"text\": \"efgh\"}\n",
	    "{\"text\": \"c\"}\n{\"text\": \"d\"}\n{\"text\": \"efgh\"}\n" MORE,
	    "{\"text\": \"c\"}\n{\"text\": \"d\"}\n{\"text\": \"efgh\"}\n" MORE MORE};
	struct run r = {.corpus = "grows", .keys = LIVE};

	(void)unused;
	mock_topic("grows.d", 1);
	mock_topic("grows.arrivals", 1);
	remove_files();
	EACH_ROW(i, texts) {
		folder_text("1.jsonl", texts[i]);
		r.seal = i == 3;
		assert_fails(&r, FAIL_NONE, "");
	}
	assert_records("grows.d", 0, 0,
	    CDE("1.jsonl") "2 |more 0=1.jsonl#2+4 1=1.jsonl#3+0 used=5 at=3 1.jsonl:45:4+3 "
			   "documents=4 rejects=0 tokens=13 dropped=0 sealed=-1 window=0\n"
			   "3 e|mor 0=1.jsonl#3+3 2=1.jsonl#4+0 used=5 at=4 1.jsonl:62:5+2 "
			   "documents=5 rejects=0 tokens=17 dropped=0 sealed=-1 window=0\n"
			   "End of 4 tokens=17 dropped=2 documents=5 rejects=0 input: records=5 "
			   "files=4 1.jsonl:79:5\n");
}

/* Parts that were dealt files by the hash of their names keep them, or some are read twice. */
static void
test_an_input_that_was_live_in_one_part_is_dealt_out_as_before_in_all(void **unused)
{
	struct run r = {
	    .corpus = "was", .keys = ONE(FILES ", live: true, partitions: 2"), .partitions = 2};
	uint64_t documents = 0;

	(void)unused;
	mock_topic("was.d", 2);
	mock_topic("was.arrivals", 1);
	remove_files();
	for (int i = 1; i < 7; i++) {
		char name[24];

		snprintf(name, sizeof(name), "%d.jsonl", i);
		folder_text(name, cde);
	}
	assert_fails(&r, FAIL_NONE, "");
	r.keys = ONE(FILES ", partitions: 2");
	for (r.partition = 0; r.partition < 2; r.partition++) {
		static struct log l;
		struct sequence_end e;

		assert_fails(&r, FAIL_NONE, "");
		read_log(&l, "was.d", (int32_t)r.partition);
		assert_int_equal(
		    sequence_end_decode(&e, l.record[l.n - 1].bytes, l.record[l.n - 1].n, &f),
		    FAIL_NONE);
		documents += e.documents;
		log_close(&l);
	}
	assert_int_equal(documents, 6 * 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_domain_and_set_gets_its_documents_packed_in_its_own_way),
	    cmocka_unit_test(test_a_resume_at_any_record_publishes_the_same),
	    cmocka_unit_test(test_a_complete_part_reports_what_changed_in_its_files),
	    cmocka_unit_test(test_a_part_that_ends_early_says_why),
	    cmocka_unit_test(test_parts_share_the_files_and_not_the_partitions),
	    cmocka_unit_test(test_a_resume_in_other_data_publishes_nothing),
	    cmocka_unit_test(test_a_live_part_continues_with_what_has_come),
	    cmocka_unit_test(test_a_live_file_is_read_as_it_grows),
	    cmocka_unit_test(test_an_input_that_was_live_in_one_part_is_dealt_out_as_before_in_all),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
