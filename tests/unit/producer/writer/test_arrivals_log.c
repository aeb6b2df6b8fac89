/* arrivals_log.h against librdkafka's mock cluster: whose order is read, and who has taken over. */
#include "producer/writer/arrivals_log.h"

#include "tests/unit/capture.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { BROKER = 1, WAIT_MS = 10000, INPUTS_MAX = 3 };

static struct failure f;
static char corpus[32];             /* of the test that runs */
static rd_kafka_t *writer, *reader; /* of raw records, and of the log under test */
static struct property property[] = {
    {(char[]){"bootstrap.servers"}, NULL}, {(char[]){"fetch.wait.max.ms"}, (char[]){"10"}}};
static struct config config; /* as much of it as a log needs */

static int
open_cluster(void **unused)
{
	struct kafka_options o = {.role = KAFKA_WRITER, .client = "raw"};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	property[0].value = strdup(rd_kafka_mock_cluster_bootstraps(cluster));
	config.kafka = (struct properties){2, property};
	o.properties = &config.kafka;
	return kafka_open(&writer, &o, &f) != FAIL_NONE;
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(writer);
	kafka_close(owner);
	free(property[0].value);
	return 0;
}

/* Each test has a corpus of its own. */
static int
begin(void **unused)
{
	static int tests;
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "reader", .properties = &config.kafka};
	char topic[64];

	(void)unused;
	snprintf(corpus, sizeof(corpus), "c%d", tests++);
	config.corpus = corpus;
	snprintf(topic, sizeof(topic), "%s.arrivals", corpus);
	return rd_kafka_mock_topic_create(cluster, topic, 1, BROKER) ||
	       kafka_open(&reader, &o, &f) != FAIL_NONE;
}

static int
end(void **unused)
{
	(void)unused;
	kafka_close(reader);
	return 0;
}

/* ---- records ---- */

static void
append_bytes(const void *bytes, size_t n)
{
	char topic[64];

	snprintf(topic, sizeof(topic), "%s.arrivals", corpus);
	assert_int_equal(rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
			     RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* A portion of ten bytes of a file. */
static struct arrivals_portion
portion(const char *file, uint64_t byte)
{
	return (struct arrivals_portion){
	    .file = {file, strlen(file)}, .byte = byte, .end = byte + 10, .line = 1, .hash = 7};
}

/* What another producer of `input` writes: a take-over at 0, and one portion of `file` if any. */
static void
append(const char *input, uint64_t id, const char *file)
{
	struct arrivals_portion p = portion(file == NULL ? "" : file, 0);

	for (int i = 0; i < (file == NULL ? 1 : 2); i++) {
		struct arrivals a = {.input = {input, strlen(input)},
		    .writer = id,
		    .takes_over = i == 0,
		    .portions_n = (size_t)i};
		struct wire_writer w = {0};
		uint8_t *bytes;
		size_t n;

		assert_int_equal(arrivals_encode(&w, &a, &p, &f), FAIL_NONE);
		assert_int_equal(wire_writer_take(&w, &bytes, &n, &f), FAIL_NONE);
		append_bytes(bytes, n);
		free(bytes);
	}
}

/* An input of a row of its own: every row shares the topic. A few at once. */
static const char *
input_of(size_t row, const char *name)
{
	static char text[8][ARRIVALS_LOG_INPUT_BYTES];
	static unsigned next;
	char *out = text[next++ % 8];

	snprintf(out, sizeof(text[0]), "r%zu%s", row, name);
	return out;
}

/* What is read as an input of these names. */
struct seen {
	struct live_order order;
	bool once;
	size_t input;
	int64_t end;
};

static enum fail_code
read_log(struct seen *s, const char *const *names)
{
	char inputs[INPUTS_MAX][ARRIVALS_LOG_INPUT_BYTES];
	size_t n = 0;

	for (; n < INPUTS_MAX && names[n] != NULL; n++)
		snprintf(inputs[n], sizeof(inputs[n]), "%s", names[n]);
	memset(s, 0, sizeof(*s));
	return arrivals_log_read(
	    &s->order, &s->once, &s->input, &s->end, reader, corpus, inputs, n, &f);
}

static struct arrivals_log *
open_log(const char *input, uint64_t first, int64_t end_offset)
{
	struct arrivals_log *l;

	assert_int_equal(
	    arrivals_log_open(&l, &config, input, first, reader, end_offset, &f), FAIL_NONE);
	return l;
}

/* ---- reading ---- */

static void
test_an_empty_log_has_no_order(void **unused)
{
	static const char *const names[INPUTS_MAX] = {"a/0/1"};
	struct seen s;

	(void)unused;
	assert_int_equal(read_log(&s, names), FAIL_NONE);
	assert_true(s.order.n == 0 && !s.once && s.input == 0 && s.end == 0);
	snprintf(corpus, sizeof(corpus), "none");
	rd_kafka_mock_topic_set_error(
	    cluster, "none.arrivals", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	assert_int_equal(read_log(&s, names), FAIL_NONE);
	assert_true(s.order.n == 0 && !s.once && s.end == 0); /* the topic is missing */
}

static void
test_an_order_is_found_under_any_name_that_the_input_had(void **unused)
{
	static const struct {
		const char *begun[2]; /* inputs that have a portion each */
		const char *names[INPUTS_MAX];
		bool once;
		size_t portions, input;
		bool refused;
	} rows[] = {
	    {{"a/0/1"}, {"a/0/1"}, true, 1, 0, false},
	    {{"b/0/1"}, {"a/0/1"}, false, 0, 0, false},
	    {{"b/0/1"}, {"a/0/1", "b/0/1"}, true, 1, 1, false},
	    {{"a/0/1", "b/0/1"}, {"a/0/1"}, true, 1, 0, false},
	    {{"a/0/1", "b/0/1"}, {"a/0/1", "b/0/1"}, true, 0, 0, true},
	    {{"a/1/2"}, {"a/0/2"}, true, 0, 0, false}, /* another part of it */
	    {{"a/1/12"}, {"a/0/2"}, false, 0, 0, false},
	    {{"a/0/1"}, {"a/0/2"}, false, 0, 0, false},
	    {{"aa/1/2"}, {"a/0/2"}, false, 0, 0, false},
	    {{"a/1/2"}, {"aa/0/2"}, false, 0, 0, false},
	    {{"a.valid/1/2"}, {"a/0/2"}, false, 0, 0, false},
	    {{"a//2"}, {"a/0/2"}, false, 0, 0, false},
	};

	int64_t records = 0;

	(void)unused;
	EACH_ROW(i, rows) {
		const char *names[INPUTS_MAX] = {NULL};
		struct seen s;

		for (size_t k = 0; k < 2 && rows[i].begun[k] != NULL; k++, records += 2)
			append(input_of(i, rows[i].begun[k]), 1 + k, "x.jsonl");
		for (size_t k = 0; k < INPUTS_MAX && rows[i].names[k] != NULL; k++)
			names[k] = input_of(i, rows[i].names[k]);
		assert_int_equal(read_log(&s, names), rows[i].refused ? FAIL_CONFIG : FAIL_NONE);
		if (rows[i].refused) {
			assert_non_null(strstr(f.text, "were read in orders of their own"));
			assert_non_null(strstr(f.text, names[0]));
			assert_non_null(strstr(f.text, names[1]));
			live_order_close(&s.order);
			continue;
		}
		if (s.once != rows[i].once || s.order.n != rows[i].portions)
			print_error("row %zu\n", i);
		assert_int_equal(s.once, rows[i].once);
		assert_int_equal(s.order.n, rows[i].portions);
		assert_int_equal(s.input, rows[i].input);
		assert_int_equal(s.end, records);
		live_order_close(&s.order);
	}
}

static void
test_a_name_that_only_took_over_does_not_keep_the_one_with_an_order_from_being_found(void **unused)
{
	static const char *const names[INPUTS_MAX] = {"a/0/1", "b/0/1"};
	struct seen s;

	(void)unused;
	append("b/0/1", 1, NULL);
	append("a/0/1", 2, "x.jsonl");
	append("b/0/1", 3, NULL);
	assert_int_equal(read_log(&s, names), FAIL_NONE);
	assert_int_equal(s.order.n, 1);
	assert_int_equal(s.input, 0);
	live_order_close(&s.order);
}

static void
test_records_of_others_are_passed_over_with_one_warning(void **unused)
{
	static const char *const names[INPUTS_MAX] = {"a/0/1"};
	struct seen s;
	struct capture c;
	char text[2048], *said;

	(void)unused;
	append_bytes("hello", 5);
	append("a/0/1", 1, "x.jsonl");
	append_bytes("", 0);
	capture_begin(&c);
	assert_int_equal(read_log(&s, names), FAIL_NONE);
	capture_end_lines(&c, text, sizeof(text)); /* librdkafka may have lines of its own */
	said = strstr(text, "PRODUCE-ARRIVALS topic=");
	assert_non_null(said);
	assert_null(strstr(said + 1, "PRODUCE-ARRIVALS"));
	assert_non_null(strstr(text, "records=2 cannot be read"));
	assert_non_null(strstr(text, "the first is at offset=0"));
	assert_true(s.order.n == 1 && s.end == 4);
	live_order_close(&s.order);
}

static void
test_an_order_that_lacks_portions_is_a_failure_with_its_offset(void **unused)
{
	static const char *const names[INPUTS_MAX] = {"a/0/1"};
	struct arrivals_portion p = portion("y.jsonl", 0);
	struct arrivals_log *l = open_log("a/0/1", 5, 0);
	struct seen s;

	(void)unused;
	assert_int_equal(arrivals_log_add(l, &p, 1, &f), FAIL_NONE);
	arrivals_log_close(l);
	assert_int_equal(read_log(&s, names), FAIL_DATA);
	assert_non_null(strstr(f.text, ".arrivals: offset 0: "));
	live_order_close(&s.order);
}

/* ---- writing ---- */

static void
test_what_was_added_is_read_in_its_order(void **unused)
{
	static const char *const names[INPUTS_MAX] = {"b/0/1", "a/0/1"};
	struct arrivals_portion p[3] = {portion("b", 0), portion("a", 0), portion("b", 10)};
	struct arrivals_log *l = open_log("a/0/1", 0, 0);
	struct seen s;

	(void)unused;
	assert_int_equal(arrivals_log_add(l, p, 2, &f), FAIL_NONE);
	assert_int_equal(arrivals_log_add(l, NULL, 0, &f), FAIL_NONE);
	assert_int_equal(arrivals_log_add(l, p + 2, 1, &f), FAIL_NONE);
	arrivals_log_close(l);
	arrivals_log_close(NULL);
	assert_int_equal(read_log(&s, names), FAIL_NONE);
	assert_true(s.once && s.input == 1 && s.end == 3);
	assert_int_equal(s.order.n, 3);
	assert_string_equal(s.order.file[s.order.portion[0].file].name, "b");
	assert_string_equal(s.order.file[s.order.portion[1].file].name, "a");
	assert_int_equal(s.order.portion[2].byte, 10);
	live_order_close(&s.order);
}

static void
test_many_portions_are_several_records(void **unused)
{
	enum { MANY = 5000, NAME = 136, EACH = 200 /* with 64 for the numbers */ };
	enum { A_RECORD = (ARRIVALS_LOG_RECORD_BYTES + EACH - 1) / EACH };
	static const char *const names[INPUTS_MAX] = {"a/0/1"};
	static struct arrivals_portion p[MANY];
	static char name[NAME + 1];
	struct arrivals_log *l = open_log("a/0/1", 0, 0);
	struct seen s;

	(void)unused;
	memset(name, 'n', NAME);
	for (uint64_t i = 0; i < MANY; i++)
		p[i] = portion(name, 10 * i);
	assert_int_equal(arrivals_log_add(l, p, MANY, &f), FAIL_NONE);
	arrivals_log_close(l);
	assert_int_equal(read_log(&s, names), FAIL_NONE);
	assert_int_equal(s.order.n, MANY);
	assert_int_equal(s.order.portion[MANY - 1].byte, 10 * (MANY - 1));
	assert_int_equal(s.end, 1 + (MANY + A_RECORD - 1) / A_RECORD);
	live_order_close(&s.order);
}

/* What comes between its records decides whether a producer still has the input. */
static void
test_a_producer_is_fenced_by_records_of_its_input_alone(void **unused)
{
	static const struct {
		const char *between;
		bool fenced;
	} rows[] = {
	    {NULL, false}, {"a/0/1", true}, {"b/0/1", false}, {"a/0/11", false}, {"a/1/1", false},
	    {"", false}, /* no record of arrivals */
	};

	(void)unused;
	for (int opening = 0; opening < 2; opening++)
		EACH_ROW(i, rows) {
			const char *input = input_of(2 * i + (size_t)opening, "a/0/1");
			const char *names[INPUTS_MAX] = {input};
			struct arrivals_portion p[2] = {portion("x", 0), portion("x", 10)};
			struct arrivals_log *l = NULL;
			enum fail_code code;
			struct seen s;

			assert_int_equal(read_log(&s, names), FAIL_NONE);
			if (!opening)
				l = open_log(input, 0, s.end);
			if (rows[i].between != NULL && rows[i].between[0] == '\0')
				append_bytes("hello", 5);
			else if (rows[i].between != NULL)
				append(
				    input_of(2 * i + (size_t)opening, rows[i].between), 99, NULL);
			if (opening) /* the log was read before that came */
				code = arrivals_log_open(&l, &config, input, 0, reader, s.end, &f);
			else
				code = arrivals_log_add(l, p, 1, &f);
			assert_int_equal(code, rows[i].fenced ? FAIL_FENCED : FAIL_NONE);
			if (rows[i].fenced)
				assert_non_null(
				    strstr(f.text, "another producer has taken over input "));
			else /* and it stays so */
				assert_int_equal(
				    arrivals_log_add(l, p + !opening, 1, &f), FAIL_NONE);
			if (!opening || !rows[i].fenced)
				arrivals_log_close(l);
		}
}

static void
test_of_two_producers_the_later_one_has_the_input(void **unused)
{
	static const char *const names[INPUTS_MAX] = {"a/0/1"};
	struct arrivals_portion first = portion("x", 0), second = portion("y", 0);
	struct arrivals_log *one = open_log("a/0/1", 0, 0), *two;
	rd_kafka_t *other = reader;
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "reader", .properties = &config.kafka};
	struct seen s;

	(void)unused;
	assert_int_equal(arrivals_log_add(one, &first, 1, &f), FAIL_NONE);
	assert_int_equal(kafka_open(&reader, &o, &f), FAIL_NONE);
	two = open_log("a/0/1", 1, 2);
	assert_int_equal(arrivals_log_add(one, &second, 1, &f), FAIL_FENCED);
	assert_int_equal(arrivals_log_add(two, &second, 1, &f), FAIL_FENCED); /* it sees that */
	arrivals_log_close(one);
	arrivals_log_close(two);
	assert_int_equal(read_log(&s, names), FAIL_NONE);
	assert_int_equal(s.order.n, 2); /* only one of the two records of y counts */
	live_order_close(&s.order);
	kafka_close(other);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
	    TEST(test_an_empty_log_has_no_order),
	    TEST(test_an_order_is_found_under_any_name_that_the_input_had),
	    TEST(
		test_a_name_that_only_took_over_does_not_keep_the_one_with_an_order_from_being_found),
	    TEST(test_records_of_others_are_passed_over_with_one_warning),
	    TEST(test_an_order_that_lacks_portions_is_a_failure_with_its_offset),
	    TEST(test_what_was_added_is_read_in_its_order),
	    TEST(test_many_portions_are_several_records),
	    TEST(test_a_producer_is_fenced_by_records_of_its_input_alone),
	    TEST(test_of_two_producers_the_later_one_has_the_input),
	};

	return cmocka_run_group_tests_name("arrivals_log", tests, open_cluster, close_cluster);
}
