/* domains.h against librdkafka's mock cluster: a domain that joins a mix. */
#include "tests/unit/test.h"

#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/domain/domains.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/sample.h"

enum { API_FETCH = 1, ERRORS = 40, WAIT_MS = 10000 };

static struct failure f;
/* librdkafka's threads look at the clock, too, for what they log. */
static _Atomic bool hurries; /* each look at the clock takes a second */
static _Atomic int64_t hurried_ms;

/* In place of common/base/clock.c: a time-out of 30 s passes in three. */
int64_t
clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	hurried_ms += hurries ? 1000 : 0;
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + hurried_ms;
}

void
clock_pause_ms(int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static rd_kafka_t *
open_handle(enum kafka_role role)
{
	struct property item[] = {
	    {(char[]){"bootstrap.servers"}, (char *)rd_kafka_mock_cluster_bootstraps(cluster)}};
	const struct properties properties = {1, item};
	struct kafka_options o = {.role = role,
	    .client = "test",
	    .properties = &properties,
	    .message_bytes_max = 1 << 20};
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	return rk;
}

static void
write_record(const char *topic, int32_t partition, struct wire_writer *w)
{
	rd_kafka_t *writer = open_handle(KAFKA_WRITER);

	assert_int_equal(rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic),
			     RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_VALUE(w->bytes, w->n),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(writer, WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
	wire_writer_close(w);
	kafka_close(writer);
}

static void
write_end_of(const char *topic, int32_t partition, uint64_t sequences, uint64_t record_bytes_max)
{
	struct sequence_end e = {.sequences = sequences,
	    .sequence_length = 8,
	    .tokenizer = SAMPLE_TOKENIZER,
	    .record_bytes = 10 * sequences,
	    .record_bytes_max = record_bytes_max};
	struct wire_writer w = {0};

	assert_int_equal(sequence_end_encode(&w, &e, &f), FAIL_NONE);
	write_record(topic, partition, &w);
}

static void
write_end(const char *topic)
{
	write_end_of(topic, 0, 9, 11);
}

/* Its partition was last sealed with `sealed` sequences; -1: never. */
static void
write_sequence(const char *topic, int32_t partition, uint64_t ordinal, int64_t sealed)
{
	struct sequence_position p = {.file = {"f", 1}, .line = 1, .sealed = sealed};
	struct wire_writer w = {0};

	assert_int_equal(
	    sequence_encode(&w, ordinal, SAMPLE_TOKENIZER, &p, &sample_payload, &f), FAIL_NONE);
	write_record(topic, partition, &w);
}

static void
push_fetch_errors(void)
{
	rd_kafka_resp_err_t error[ERRORS];

	for (int i = 0; i < ERRORS; i++)
		error[i] = RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
	rd_kafka_mock_push_request_errors_array(cluster, API_FETCH, ERRORS, error);
}

/* A request to join must not be refused because a disk was slow, and no mixer may end for it. */
static void
test_a_last_record_that_does_not_come_in_time_is_not_a_missing_end(void **state)
{
	struct config config = {.corpus = (char[]){"c"}, .sequence_length = 8};
	struct domains d = {.config = &config};
	rd_kafka_t *reader;

	(void)state;
	assert_int_equal(open_mock_cluster(&f), FAIL_NONE);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "c.slow", 1, 1), 0);
	write_end("c.slow");
	reader = open_handle(KAFKA_READER);
	push_fetch_errors();
	hurries = true;
	assert_int_equal(domains_add(&d, reader, "slow", false, &f), FAIL_TIMEOUT);
	assert_non_null(strstr(f.text, "c.slow"));
	assert_int_equal(d.n, 0);

	rd_kafka_mock_clear_request_errors(cluster, API_FETCH);
	hurries = false;
	assert_int_equal(domains_add(&d, reader, "slow", false, &f), FAIL_NONE);
	assert_true(d.facts[0].sealed[0] && d.facts[0].sequences[0] == 9);
	domains_drop_last(&d);
	free(d.facts);
	kafka_close(reader);
	kafka_close(owner);
}

/* What a mixer would wait for, as plain facts. Of `lost` the ledger counts more than there is. */
static void
test_a_wait_names_each_domain_that_lacks_an_end_and_the_commands(void **state)
{
	static const bool open[] = {false, false}, half[] = {true, false}, sealed[] = {true, true};
	static int64_t none[] = {0, 0}, some[] = {400, 300};
	struct config_domain domain[] = {{.name = (char[]){"a"}}, {.name = (char[]){"b"}},
	    {.name = (char[]){"live"}}, {.name = (char[]){"lost"}},
	    {.name = (char[]){"t"}, .tokens = TOKEN_FORMAT_NPY}};
	struct config config = {.corpus = (char[]){"c"},
	    .path = (char[]){"run.yml"},
	    .domains = domain,
	    .domains_n = 5};
#define FACTS(called, of, at)                                                                      \
	{                                                                                          \
		.name = called, .topic = "c." called, .partitions_n = 2,                           \
		.sealed = (bool *)(uintptr_t)(of), .high = (at)                                    \
	}
	struct domains_facts facts[] = {FACTS("a", half, none), FACTS("b", sealed, none),
	    FACTS("live", open, none), FACTS("lost", open, none), FACTS("t", open, none)};
	struct domains d = {.n = 5, .facts = facts, .config = &config};
	struct ledger_partition counts[] = {{.sequences = 600}, {.sequences = 9}};
	struct ledger_domain known = {
	    .name = (char[]){"lost"}, .partition = counts, .partitions_n = 2};
	struct ledger last = {0};
	char *text;

	(void)state;
	facts[2].live = true;
	text = domains_missing(&d, &last);
	assert_string_equal(text,
	    "domain=a (1 of 2 partitions have no End), domain=lost (2 of 2 partitions have no "
	    "End), domain=t (2 of 2 partitions have no End): `riffle produce a lost` "
	    "and `riffle import t` publish them");
	free(text);
	last.domain = &known;
	last.domains_n = 1;
	facts[3].high = some; /* its end cannot be read: nothing says that it is gone */
	text = domains_missing(&d, &last);
	assert_null(strstr(text, "609"));
	free(text);
	facts[4].sealed = (bool *)(uintptr_t)sealed; /* one command is left */
	text = domains_missing(&d, &last);
	assert_non_null(strstr(text, ": `riffle produce a lost` publishes them"));
	assert_null(strstr(text, "`` "));
	free(text);
	facts[4].sealed = (bool *)(uintptr_t)open;
	facts[3].high = none;
	facts[3].unheard = true;
	text = domains_missing(&d, &last);
	assert_null(strstr(text, "609"));
	free(text);
	facts[3].unheard = false;
	text = domains_missing(&d, &last);
	assert_non_null(strstr(text,
	    "domain=lost (2 of 2 partitions have no End; topic c.lost holds 0 sequences, and the "
	    "mix counts with 609)"));
	assert_non_null(strstr(text, "A log is gone that the mix has counted with"));
	free(text);
	facts[0].sealed = facts[3].sealed = facts[4].sealed = (bool *)(uintptr_t)sealed;
	text = domains_missing(&d, &last);
	assert_non_null(strstr(text, "the first sequence of any domain of corpus=c"));
	free(text);
}

/*
 * During an append, or after an interrupted one, sequences follow the last End. A mix counts only
 * the sequences before that End, until the append writes the next one.
 */
static void
test_what_is_behind_the_last_end_does_not_count_yet(void **state)
{
	static const struct {
		const char *topic;
		bool live;
		int64_t sealed; /* of partition 1, whose last record is sequence 11 */
		uint64_t counted;
		bool joins;
	} rows[] = {
	    {"c.broken", false, 9, 9, true},
	    {"c.nothing", false, 0, 0, true},
	    {"c.open", false, -1, 0, false},
	    {"c.feed", true, -1, 12, true},
	    {"c.ended", true, 9, 9, true},
	};
	struct config config = {.corpus = (char[]){"c"}, .sequence_length = 8};
	rd_kafka_t *reader;

	(void)state;
	assert_int_equal(open_mock_cluster(&f), FAIL_NONE);
	reader = open_handle(KAFKA_READER);
	EACH_NAMED_ROW(i, rows, topic) {
		struct domains d = {.config = &config};
		const struct domains_facts *facts;

		assert_int_equal(rd_kafka_mock_topic_create(cluster, rows[i].topic, 2, 1), 0);
		write_end(rows[i].topic);
		write_sequence(rows[i].topic, 1, 11, rows[i].sealed);
		assert_int_equal(
		    domains_add(&d, reader, rows[i].topic + strlen("c."), rows[i].live, &f),
		    rows[i].joins ? FAIL_NONE : FAIL_CONFIG);
		assert_int_equal(d.n, rows[i].joins);
		if (rows[i].joins) {
			facts = &d.facts[0];
			assert_int_equal(facts->sealed[1], rows[i].sealed >= 0);
			assert_int_equal(facts->sequences[1], rows[i].counted);
			assert_int_equal(facts->sequences_total, 9 + rows[i].counted);
			d.facts[0].changed = false;
			write_sequence(rows[i].topic, 1, 12, rows[i].sealed);
			assert_int_equal(domains_ask(&d, reader, false, &f), FAIL_NONE);
			assert_int_equal(facts->changed, rows[i].sealed < 0);
			assert_int_equal(facts->high[1], 2);
			assert_int_equal(facts->sequences[1],
			    rows[i].sealed < 0 ? rows[i].counted + 1 : rows[i].counted);
			assert_int_equal(
			    facts->sequences_total, facts->sequences[0] + facts->sequences[1]);
			domains_drop_last(&d);
		}
		free(d.facts);
	}
	kafka_close(reader);
	kafka_close(owner);
}

static void
write_garbage(const char *topic, int32_t partition)
{
	struct wire_writer w = {0};

	wire_put_count(&w, 12345);
	write_record(topic, partition, &w);
}

/* Asks, and compares the sums over partitions with a count of them. */
static void
ask_and_recount(struct domains *d, rd_kafka_t *reader, const uint64_t sequences[3], bool changed)
{
	const struct domains_facts *x = &d->facts[d->n - 1];
	uint64_t all = 0, bytes = 0;

	d->facts[d->n - 1].changed = false;
	assert_int_equal(domains_ask(d, reader, false, &f), FAIL_NONE);
	for (size_t p = 0; p < 3; p++) {
		assert_int_equal(x->sequences[p], sequences[p]);
		all += x->sequences[p];
		bytes += x->bytes[p];
	}
	assert_int_equal(x->sequences_total, all);
	assert_int_equal(x->record_bytes, bytes / all + 1);
	assert_int_equal(x->changed, changed);
	assert_false(x->unheard);
}

/* An answer for one partition leaves the others as they are. */
static void
test_what_one_partition_says_holds_beside_what_the_others_say(void **state)
{
	static bool open[] = {false};
	static int64_t none[] = {0};
	static uint64_t nothing[] = {0};
	struct config config = {.corpus = (char[]){"c"}, .sequence_length = 8};
	struct domains d = {.config = &config, .n = 1, .facts = calloc(1, sizeof(*d.facts))};
	struct domains_facts *x;
	rd_kafka_t *reader;

	(void)state;
	/* Another domain that is not sealed does not keep this one from joining. */
	d.facts[0] = (struct domains_facts){.name = "waits",
	    .topic = "c.waits",
	    .partitions_n = 1,
	    .sealed = open,
	    .high = none,
	    .sequences = nothing,
	    .bytes = nothing};
	assert_int_equal(open_mock_cluster(&f), FAIL_NONE);
	reader = open_handle(KAFKA_READER);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "c.waits", 1, 1), 0);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "c.x", 3, 1), 0);
	write_end_of("c.x", 0, 9, 500);
	write_end_of("c.x", 1, 5, 300);
	write_end_of("c.x", 2, 7, 200);
	assert_int_equal(domains_add(&d, reader, "x", false, &f), FAIL_NONE);
	x = &d.facts[1];
	assert_int_equal(x->record_bytes_max, 500);
	ask_and_recount(&d, reader, (uint64_t[]){9, 5, 7}, false);
	write_end_of("c.x", 0, 20, 400); /* it changes; the others only grow after their End */
	write_sequence("c.x", 1, 5, 5);
	write_sequence("c.x", 2, 7, 7);
	ask_and_recount(&d, reader, (uint64_t[]){20, 5, 7}, true);
	assert_int_equal(x->record_bytes_max, 500);
	write_garbage("c.x", 0); /* it is passed over, and read once */
	write_end_of("c.x", 2, 8, 600);
	ask_and_recount(&d, reader, (uint64_t[]){20, 5, 8}, true);
	assert_int_equal(x->high[0], 3);
	assert_int_equal(x->record_bytes_max, 600);
	ask_and_recount(&d, reader, (uint64_t[]){20, 5, 8}, false);
	domains_drop_last(&d);
	free(d.facts);
	kafka_close(reader);
	kafka_close(owner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_wait_names_each_domain_that_lacks_an_end_and_the_commands),
	    cmocka_unit_test(test_what_is_behind_the_last_end_does_not_count_yet),
	    cmocka_unit_test(test_what_one_partition_says_holds_beside_what_the_others_say),
	    cmocka_unit_test(test_a_last_record_that_does_not_come_in_time_is_not_a_missing_end),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
