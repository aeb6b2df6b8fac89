/*
 * export.h: from the partitions of a topic to the files and the counts. What reads the topic and
 * what writes the files is replaced here, and writes down each call.
 */
#include "consumer/admin/export.h"

#include "common/kafka/kafka.h"
#include "consumer/domain/partition_log.h"
#include "tests/unit/capture.h"

enum { PARTITIONS = 2, EACH = 2, EOS = 9 };

static int partitions;
static const char *fails; /* the call that fails, with `fails_by` */
static enum fail_code fails_by;
static char calls[2048];
static size_t calls_n;
static int opened;
static struct stop stop;

__attribute__((format(printf, 2, 3))) static enum fail_code
call(struct failure *why, const char *format, ...)
{
	const char *at = calls + calls_n;
	va_list list;

	va_start(list, format);
	calls_n += (size_t)vsnprintf(calls + calls_n, sizeof(calls) - calls_n, format, list);
	va_end(list);
	assert_true(calls_n < sizeof(calls));
	if (fails != NULL && strncmp(at, fails, strlen(fails)) == 0)
		return fail(why, fails_by, "%s fails", fails);
	return FAIL_NONE;
}

/* ---- in place of kafka.c, kafka_query.c, kafka_fail.c ---- */

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *why)
{
	if (call(why, "handle %s %d %d\n", o->client, o->role == KAFKA_READER, o->quiet) !=
	    FAIL_NONE)
		return why->code;
	*out = (rd_kafka_t *)&stop;
	opened++;
	return FAIL_NONE;
}

void
kafka_close(rd_kafka_t *rk)
{
	opened -= rk != NULL;
}

enum fail_code
kafka_wait_broker(rd_kafka_t *rk, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &stop);
	return call(why, "broker %d\n", timeout_ms);
}

enum fail_code
kafka_partitions(rd_kafka_t *rk, const char *topic, int *n, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &stop);
	*n = partitions;
	return call(why, "partitions %s %d\n", topic, timeout_ms);
}

enum fail_code
kafka_fail_missing(struct failure *why, rd_kafka_t *handle, const char *topic)
{
	(void)handle;
	return fail(why, FAIL_CONFIG, "missing %s", topic);
}

/* ---- in place of partition_log.c: each partition has EACH sequences of one document ---- */

struct partition_log {
	int partition, next;
};

enum fail_code
partition_log_open(struct partition_log **out, rd_kafka_t *reader, const char *topic,
    int32_t partition, uint64_t tokenizer, int timeout_ms, struct failure *why)
{
	static struct partition_log log;

	assert_ptr_equal((const void *)reader, &stop);
	if (call(why, "log %s/%d %d %d\n", topic, partition, (int)tokenizer, timeout_ms) !=
	    FAIL_NONE)
		return why->code;
	log = (struct partition_log){.partition = partition};
	*out = &log;
	opened++;
	return FAIL_NONE;
}

void
partition_log_close(struct partition_log *l)
{
	opened -= l != NULL;
}

uint64_t
partition_log_sequences(const struct partition_log *l)
{
	(void)l;
	return EACH;
}

/* Sequence i of partition p is the whole document "10 * p + i, eos"; the last one has no eos. */
enum fail_code
partition_log_next(struct partition_log *l, const struct stop *asked,
    struct partition_log_sequence *out, bool *there, struct failure *why)
{
	static struct sequence_span span;
	static uint32_t token[2];

	assert_ptr_equal(asked, &stop);
	*there = l->next < EACH;
	if (!*there)
		return call(why, "end\n");
	token[0] = (uint32_t)(10 * l->partition + l->next);
	token[1] = EOS;
	span.document = (uint64_t)l->next;
	*out = (struct partition_log_sequence){
	    .record = {.ordinal = (uint64_t)l->next,
		.position = {.packing = SEQUENCE_CONCAT},
		.payload = {.count = 2, .spans_n = 1, .used = l->next + 1 < EACH ? 2 : 1}},
	    .span = &span,
	    .token = token};
	return call(why, "next %d\n", l->next++);
}

/* ---- in place of export_file.c ---- */

enum fail_code
export_file_open(struct export_file **out, const struct export_file_options *o, struct failure *why)
{
	if (call(why, "open %s\n", o->prefix) != FAIL_NONE)
		return why->code;
	*out = (struct export_file *)&stop;
	opened++;
	return FAIL_NONE;
}

void
export_file_close(struct export_file *e)
{
	opened -= e != NULL;
}

enum fail_code
export_file_tokens(struct export_file *e, const uint32_t *id, size_t n, struct failure *why)
{
	assert_ptr_equal((const void *)e, &stop);
	return call(why, "tokens %u x %zu\n", id[0], n);
}

enum fail_code
export_file_end(struct export_file *e, bool whole, struct failure *why)
{
	assert_ptr_equal((const void *)e, &stop);
	return call(why, "%s\n", whole ? "whole" : "cut off");
}

enum fail_code
export_file_finish(struct export_file *e, struct failure *why)
{
	assert_ptr_equal((const void *)e, &stop);
	return call(why, "finish\n");
}

uint64_t
export_file_documents(const struct export_file *e)
{
	assert_ptr_equal((const void *)e, &stop);
	return 11;
}

uint64_t
export_file_token_count(const struct export_file *e)
{
	assert_ptr_equal((const void *)e, &stop);
	return 22;
}

const char *
export_file_names(const struct export_file *e)
{
	assert_ptr_equal((const void *)e, &stop);
	return "out.bin";
}

/* ---- tests ---- */

static struct config_domain domains[] = {
    {.name = (char *)(uintptr_t) "web"}, {.name = (char *)(uintptr_t) "code"}};
static const struct config config = {.corpus = (char *)(uintptr_t) "c",
    .path = (char *)(uintptr_t) "riffle.yaml",
    .domains = domains,
    .domains_n = 2};
static struct export_counts counts;

static enum fail_code
run_export(enum names_set set)
{
	const struct export_options o = {.config = &config,
	    .domain = 1,
	    .set = set,
	    .tokenizer = 7,
	    .file = {.prefix = "out", .eos = EOS},
	    .stop = &stop};
	enum fail_code code;

	calls[calls_n = 0] = '\0';
	memset(&counts, 0xee, sizeof(counts));
	code = export_run(&o, &counts, &f);
	assert_int_equal(opened, 0);
	return code;
}

static void
test_every_partition_goes_into_the_files(void **unused)
{
	struct capture c;
	char text[512];
	enum fail_code code;

	(void)unused;
	fails = NULL;
	partitions = PARTITIONS;
	capture_begin(&c);
	code = run_export(SET_TRAIN);
	capture_end_lines(&c, text, sizeof(text));
	assert_int_equal(code, FAIL_NONE);
	assert_string_equal(calls,
	    "handle export 1 1\nbroker 10000\npartitions c.code 30000\nopen out\n"
	    "log c.code/0 7 30000\nnext 0\ntokens 0 x 2\nnext 1\nwhole\ntokens 1 x 1\n"
	    "end\ncut off\n"
	    "log c.code/1 7 30000\nnext 0\ntokens 10 x 2\nnext 1\nwhole\ntokens 11 x 1\n"
	    "end\ncut off\nfinish\n");
	assert_int_equal(counts.sequences, PARTITIONS * EACH);
	assert_int_equal(counts.documents, 11);
	assert_int_equal(counts.tokens, 22);
	assert_int_equal(counts.left_out, PARTITIONS);
	assert_non_null(strstr(text,
	    "export: topic=c.code sequences=4 documents=11 tokens=22 left_out=2 files=out.bin\n"));
}

static void
test_a_topic_that_is_missing_is_told_with_its_reason(void **unused)
{
	(void)unused;
	fails = NULL;
	partitions = 0;
	assert_int_equal(run_export(SET_TRAIN), FAIL_CONFIG);
	assert_string_equal(f.text, "missing c.code");
	assert_int_equal(run_export(SET_TEST), FAIL_CONFIG);
	assert_string_equal(
	    f.text, "topic c.code.test does not exist: domain code has no test set in riffle.yaml");
	assert_null(strstr(calls, "open"));
	assert_int_equal(counts.sequences, 0);
}

static void
test_each_failure_ends_the_export(void **unused)
{
	static const struct {
		const char *fails;
		enum fail_code by;
		const char *says; /* NULL: what failed, alone */
	} rows[] = {
	    {"handle", FAIL_BROKER, NULL},
	    {"broker", FAIL_BROKER, NULL},
	    {"partitions", FAIL_BROKER, NULL},
	    {"open", FAIL_IO, NULL},
	    {"log c.code/1", FAIL_DATA, NULL},
	    {"next 1", FAIL_STOPPED,
		"stopped after 1 sequence; no file was written, and the same command begins again"},
	    {"tokens 11", FAIL_IO, NULL},
	    {"tokens 11", FAIL_DATA, "topic c.code, partition 1, sequence 1: tokens 11 fails"},
	    {"cut off", FAIL_IO, NULL},
	    {"finish", FAIL_IO, NULL},
	};

	(void)unused;
	partitions = PARTITIONS;
	EACH_NAMED_ROW(i, rows, fails) {
		char expected[128];

		fails = rows[i].fails;
		fails_by = rows[i].by;
		assert_int_equal(run_export(SET_TRAIN), rows[i].by);
		snprintf(expected, sizeof(expected), "%s fails", fails);
		assert_string_equal(f.text, rows[i].says == NULL ? expected : rows[i].says);
		assert_int_equal(
		    strstr(calls, "finish") != NULL, strcmp(rows[i].fails, "finish") == 0);
		assert_string_equal(strchr(strstr(calls, fails), '\n'), "\n");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_partition_goes_into_the_files),
	    cmocka_unit_test(test_a_topic_that_is_missing_is_told_with_its_reason),
	    cmocka_unit_test(test_each_failure_ends_the_export),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
