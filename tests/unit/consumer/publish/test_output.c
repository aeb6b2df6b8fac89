/*
 * output.h: how old transactions become, what is left of one that was given up, and what is counted
 * and written over several of them, with librdkafka's mock cluster. What readers see is tested with
 * a broker.
 */
#include "consumer/publish/output.h"

#include "common/base/log.h"
#include "common/record/batch.h"
#include "tests/unit/mixes.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

static struct output
opened(uint32_t first_ms, uint32_t most_ms, char *timeout_ms)
{
	struct property given = {(char[]){"transaction.timeout.ms"}, timeout_ms};
	const struct config c = {
	    .mix = {.lanes = 8,
		.partitions = 8,
		.transaction_first_ms = first_ms,
		.transaction_ms = most_ms},
	    .kafka = {timeout_ms == NULL ? 0 : 1, &given},
	};
	struct output o;

	output_init(&o, &(struct output_source){.config = &c});
	o.of.config = NULL; /* it ends here */
	return o;
}

static void
test_transactions_become_older_while_they_are_full_and_begin_again_after_a_wait(void **unused)
{
	static const int64_t ages[][3] = {/* before, after one that was full, after another */
	    {200, 400, 200}, {400, 800, 200}, {800, 900, 200}, {900, 900, 200}};
	struct output o = opened(200, 900, NULL);

	(void)unused;
	assert_int_equal(o.age_ms, 200);
	EACH_ROW(i, ages) {
		o.age_ms = ages[i][0];
		assert_int_equal(output_age_next(&o, true), ages[i][1]);
		assert_int_equal(output_age_next(&o, false), ages[i][2]);
	}
}

static void
test_an_age_that_is_given_stays(void **unused)
{
	struct output o = opened(50, 50, NULL);

	(void)unused;
	assert_int_equal(output_age_next(&o, true), 50);
	assert_int_equal(output_age_next(&o, false), 50);
}

static void
test_a_short_time_out_leaves_a_third_of_it_to_the_age(void **unused)
{
	struct output o = opened(200, 2000, (char[]){"3000"});

	(void)unused;
	assert_int_equal(o.age_first_ms, 200);
	assert_int_equal(o.age_most_ms, 1000);
	o = opened(200, 2000, (char[]){"300"});
	assert_int_equal(o.age_first_ms, 100);
	assert_int_equal(o.age_most_ms, 100);
}

/* Also before a handle was opened: what a mixer keeps while it attaches. */
static void
test_one_that_was_closed_has_forgotten_all_that_was_not_committed(void **unused)
{
	const struct transactions_reject letter = {.topic = "c.web",
	    .domain = "web",
	    .reason = "damaged",
	    .bytes = (const uint8_t *)"x",
	    .n = 1};
	const struct mixer_draw draw = {.domain = 0};
	const struct feed_block_record record = {.payload = (const uint8_t *)"x", .n = 1};
	const struct feed_block_record *const records[] = {&record};
	struct output o = opened(200, 900, NULL);
	struct failure f;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		struct ledger_answer answer = {.id = strdup("a"), .text = strdup("no")};
		struct last_drawn drawn = {0};

		assert_int_equal(last_drawn_add(&drawn, &draw, records, 1, &f), FAIL_NONE);
		output_resume(&o, &drawn);
		assert_int_equal(drawn.n, 0);
		assert_int_equal(output_add_answer(&o, &answer, &f), FAIL_NONE);
		dead_letters_keep(&o.letters, &letter);
		dead_letters_keep(&o.letters, &letter);
		assert_true(o.drawn.n == 1 && o.answers_n == 1 && o.letters.n == 2);
		output_close(&o);
		assert_true(o.letters.n == 0 && o.letters.reject == NULL);
		assert_true(o.answers_n == 0 && o.answer == NULL);
		assert_true(o.drawn.n == 0 && o.drawn.domain == NULL);
		assert_true(o.transactions == NULL && !o.open);
		assert_int_equal(o.aborted_total + o.in_doubt_total, 0);
	}
}

/* ---- several transactions ---- */

enum { BATCH = 4, RECORD_BYTES = 100, ASK_MS = 10000 };

static struct failure f;
static rd_kafka_t *reader;
static char at_broker[256];
static struct property at_broker_item = {(char[]){"bootstrap.servers"}, at_broker};
static const struct properties properties = {1, &at_broker_item};

/* A mixer, and an output that writes to the mock cluster. */
struct scene {
	struct config config;
	struct mixer_plan plan;
	struct mixer *mixer;
	struct domains domains;
	struct domains_facts facts[2];
	struct lead *lead;
	struct output o;
	struct mixer_draw draw[BATCH];
	struct feed_block_record record[BATCH];
	const struct feed_block_record *of[BATCH];
};

/* `partitions`: 0: the mix keeps no copies of its batches. */
static void
begin_scene(struct scene *s, uint32_t partitions)
{
	static const uint64_t length[][1] = {{1000}, {1000}};
	static const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = length[0]},
	    {.name = "b", .weight = 3, .partitions_n = 1, .sequences = length[1]},
	};
	static char name[] = "m", corpus[] = "c";

	*s = (struct scene){0};
	s->config = (struct config){
	    .corpus = corpus,
	    .sequence_length = 8,
	    .kafka = properties,
	    .mix = {.name = name,
		.global_batch = BATCH,
		.lanes = 2,
		.partitions = partitions,
		.transaction_bytes = 2 * BATCH * RECORD_BYTES,
		.memory_bytes = 1 << 30,
		.transaction_first_ms = 1000000,
		.transaction_ms = 1000000},
	};
	s->plan = mixes_plan(source, 2);
	s->plan.global_batch = BATCH;
	s->plan.lanes = 2;
	s->mixer = mixes_open(&s->plan);
	for (size_t i = 0; i < 2; i++) /* in another order than the mixer's */
		s->facts[i] = (struct domains_facts){.name = {i == 0 ? 'b' : 'a'},
		    .topic = {'c', '.', i == 0 ? 'b' : 'a'},
		    .partitions_n = 1};
	s->domains = (struct domains){.n = 2, .facts = s->facts, .tokenizer = 9};
	assert_int_equal(lead_open(&s->lead, &s->config, &f), FAIL_NONE);
	output_init(&s->o, &(struct output_source){.config = &s->config,
			       .config_text = "{}",
			       .schedule = 7,
			       .mixer_id = 8,
			       .domains = &s->domains,
			       .lead = s->lead});
	assert_int_equal(output_open(&s->o, &f), FAIL_NONE);
}

static void
end_scene(struct scene *s)
{
	output_close(&s->o);
	lead_close(s->lead);
	mixer_close(s->mixer);
}

/* A step of four records, of 5 to 8 tokens: 22 targets. */
static enum fail_code
put_step(struct scene *s)
{
	static const uint8_t payload[RECORD_BYTES];
	const struct assembled step = {s->draw, s->of, BATCH};
	enum mixer_result result;

	assert_int_equal(mixer_step(s->mixer, s->draw, &result, &f), FAIL_NONE);
	for (uint32_t i = 0; i < BATCH; i++) {
		s->record[i] = (struct feed_block_record){
		    .payload = payload, .n = RECORD_BYTES, .tokens = 5 + i};
		s->of[i] = &s->record[i];
	}
	return output_step(&s->o, s->mixer, &step, &f);
}

/* The last record of a topic, and how many it has. */
static rd_kafka_message_t *
last_record(const char *topic, int64_t *n)
{
	rd_kafka_message_t *m = NULL;
	int64_t low;

	assert_int_equal(kafka_watermarks(reader, topic, 0, &low, n, ASK_MS, &f), FAIL_NONE);
	if (*n > 0)
		assert_int_equal(kafka_last_record(reader, topic, 0, &m, ASK_MS, &f), FAIL_NONE);
	return m;
}

/* The ledger's last record (ledger_clear), the n-th. */
static struct ledger
last_ledger(int64_t expected_n)
{
	struct ledger l;
	int64_t n;
	rd_kafka_message_t *m = last_record("m.ledger", &n);

	assert_int_equal(n, expected_n);
	assert_int_equal(ledger_decode(&l, m->payload, m->len, &f), FAIL_NONE);
	rd_kafka_message_destroy(m);
	return l;
}

static int64_t
records_of(const char *topic)
{
	int64_t n;
	rd_kafka_message_t *m = last_record(topic, &n);

	if (m != NULL)
		rd_kafka_message_destroy(m);
	return n;
}

/* The last dead letter has each field in its header. */
static void
check_letter(void)
{
	static const char *const rows[][2] = {{"riffle.error.stage", "mix"},
	    {"riffle.error.domain", "a"}, {"riffle.error.topic", "c.a"},
	    {"riffle.error.partition", "3"}, {"riffle.error.offset", "4"},
	    {"riffle.error.ordinal", "5"}, {"riffle.error.reason", "damaged"}};
	int64_t n;
	rd_kafka_message_t *m = last_record("c.rejects", &n);

	assert_int_equal(m->len, 3);
	assert_memory_equal(m->payload, "raw", 3);
	EACH_ROW(i, rows) {
		size_t length;
		const char *value = kafka_header(m, rows[i][0], &length);

		assert_non_null(value);
		assert_int_equal(length, strlen(rows[i][1]));
		assert_memory_equal(value, rows[i][1], length);
	}
	rd_kafka_message_destroy(m);
}

/* What a transaction held is not counted, sent or answered again by the next one. */
static void
test_each_transaction_begins_with_nothing_of_the_one_before(void **unused)
{
	static const struct {
		uint32_t steps;
		bool answer, letter;
	} rows[] = {
	    {1, false, true}, {2, true, false}, {0, true, true}, {0, false, false}, {3, 0, 0}};
	const struct transactions_reject letter = {.topic = "c.a",
	    .partition = 3,
	    .offset = 4,
	    .domain = "a",
	    .ordinal = 5,
	    .reason = "damaged",
	    .bytes = (const uint8_t *)"raw",
	    .n = 3};
	int64_t ledgers, letters;
	uint64_t steps = 0;
	struct scene s;

	(void)unused;
	begin_scene(&s, 0);
	ledgers = records_of("m.ledger");
	letters = records_of("c.rejects");
	EACH_ROW(i, rows) {
		uint32_t n = rows[i].steps;
		struct ledger l;

		for (uint32_t k = 0; k < n; k++) {
			assert_int_equal(put_step(&s), FAIL_NONE);
			assert_int_equal(s.o.bytes, (k + 1) * BATCH * RECORD_BYTES);
			assert_int_equal(s.o.sequences, (k + 1) * BATCH);
			assert_int_equal(s.o.tokens, (k + 1) * 22);
			assert_int_equal(s.o.step_first, steps);
			assert_int_equal(output_full(&s.o), k + 1 >= 2); /* exactly its bytes */
		}
		if (rows[i].answer) {
			struct ledger_answer a = {
			    .id = strdup("q"), .text = strdup("yes"), .accepted = true, .step = 5};

			assert_int_equal(output_add_answer(&s.o, &a, &f), FAIL_NONE);
		}
		if (rows[i].letter)
			dead_letters_keep(&s.o.letters, &letter);
		s.o.age_ms = s.o.age_first_ms = 1000;
		assert_int_equal(output_commit(&s.o, s.mixer, LEDGER_STEPS, &f), FAIL_NONE);
		letters += rows[i].letter;
		l = last_ledger(++ledgers);
		assert_int_equal(l.kind, LEDGER_STEPS);
		assert_int_equal(l.step_first, steps);
		steps += n;
		assert_int_equal(l.step_next, steps);
		assert_true(l.mixer == 8 && l.schedule == 7 && l.tokenizer == 9);
		assert_string_equal(l.mix, "m");
		assert_int_equal(l.answers_n, rows[i].answer);
		ledger_clear(&l);
		assert_int_equal(records_of("c.rejects"), letters);
		assert_true(!s.o.open && !output_full(&s.o));
		assert_true(s.o.answers_n == 0 && s.o.letters.n == 0);
		assert_int_equal(s.o.age_ms, n >= 2 ? 2000 : 1000);
		assert_int_equal(s.o.committed_total, i + 1);
		assert_int_equal(s.o.steps_total, steps);
		assert_int_equal(s.o.sequences_total, steps * BATCH);
		assert_int_equal(s.o.tokens_total, steps * 22);
		assert_int_equal(s.o.bytes_total, steps * BATCH * RECORD_BYTES);
		s.o.age_first_ms = 1000000;
	}
	check_letter();
	end_scene(&s);
	assert_int_equal(s.o.aborted_total + s.o.in_doubt_total, 0);
}

/* Given up whole, or left with a failure: the outcome of that one is not known. */
static void
test_a_transaction_that_is_not_committed_counts_as_aborted_or_in_doubt(void **unused)
{
	struct scene s;

	(void)unused;
	begin_scene(&s, 0);
	assert_int_equal(put_step(&s), FAIL_NONE);
	output_close(&s.o);
	assert_true(s.o.aborted_total == 1 && s.o.in_doubt_total == 0);
	assert_int_equal(output_open(&s.o, &f), FAIL_NONE);
	assert_int_equal(put_step(&s), FAIL_NONE);
	rd_kafka_mock_push_request_errors(
	    cluster, 26 /* EndTxn */, 1, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE);
	assert_int_not_equal(output_commit(&s.o, s.mixer, LEDGER_STEPS, &f), FAIL_NONE);
	output_close(&s.o);
	assert_true(s.o.aborted_total == 1 && s.o.in_doubt_total == 1);
	assert_int_equal(s.o.committed_total + s.o.steps_total + s.o.bytes_total, 0);
	output_close(&s.o); /* closed already: counted as neither */
	assert_true(s.o.aborted_total == 1 && s.o.in_doubt_total == 1);
	end_scene(&s);
}

/* The last records of a lane and of the ledger name the step that would be next. */
static void
test_the_end_is_of_the_step_that_is_not_drawn(void **unused)
{
	rd_kafka_message_t *m;
	struct batch_view view;
	struct ledger l;
	struct scene s;
	int64_t n;

	(void)unused;
	begin_scene(&s, 2);
	for (int i = 0; i < 3; i++) /* drawn before this output was opened */
		mixes_step(s.mixer, &s.plan, NULL);
	assert_int_equal(output_end(&s.o, s.mixer, &f), FAIL_NONE);
	m = last_record("m.batches", &n);
	assert_int_equal(n, 1);
	assert_int_equal(batch_decode(&view, m->payload, m->len, &f), FAIL_NONE);
	assert_true(view.head.last && view.sequences_n == 0);
	assert_int_equal(view.head.step, 3);
	rd_kafka_message_destroy(m);
	m = last_record("m.ledger", &n);
	assert_int_equal(ledger_decode(&l, m->payload, m->len, &f), FAIL_NONE);
	assert_int_equal(l.kind, LEDGER_END);
	assert_true(l.step_first == 3 && l.step_next == 3);
	rd_kafka_message_destroy(m);
	ledger_clear(&l);
	assert_int_equal(s.o.bytes_total + s.o.steps_total, 0);
	end_scene(&s);
}

static int
open_cluster(void **unused)
{
	const struct kafka_options k = {
	    .role = KAFKA_READER, .client = "test", .properties = &properties};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return kafka_open(&reader, &k, &f) != FAIL_NONE ||
	       rd_kafka_mock_topic_create(cluster, "m.batches", 2, 1) ||
	       rd_kafka_mock_topic_create(cluster, "m.ledger", 1, 1) ||
	       rd_kafka_mock_topic_create(cluster, "c.rejects", 1, 1);
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(reader);
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_transactions_become_older_while_they_are_full_and_begin_again_after_a_wait),
	    cmocka_unit_test(test_an_age_that_is_given_stays),
	    cmocka_unit_test(test_a_short_time_out_leaves_a_third_of_it_to_the_age),
	    cmocka_unit_test(test_one_that_was_closed_has_forgotten_all_that_was_not_committed),
	    cmocka_unit_test(test_each_transaction_begins_with_nothing_of_the_one_before),
	    cmocka_unit_test(
		test_a_transaction_that_is_not_committed_counts_as_aborted_or_in_doubt),
	    cmocka_unit_test(test_the_end_is_of_the_step_that_is_not_drawn),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
