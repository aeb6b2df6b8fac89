/* derivation.h: from which state a transaction is derived, and where it begins; no data is read. */
#include "consumer/derive/derivation.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/plan/bound_config.h"
#include "consumer/plan/config_plan.h"
#include "tests/unit/mixes.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/sample.h"

enum { BEGIN = 5, END = 10, MEMORY_BYTES = 1 << 22 };

static char name_a[] = "a", name_b[] = "b", name_c[] = "c", name_m[] = "m";
static struct failure f;

/* A mix and the records of its ledger behind BEGIN and END steps. */
struct scene {
	struct config c;
	struct config_domain domain[2];
	double weight[2];
	uint64_t sequences[2];
	struct config_plan_length length[2];
	struct config_plan plan;
	char *text;
	struct ledger before, now;
	char at[256];
	struct property item[1];
	struct properties properties;
	struct derivation d;
};

static void
save(struct scene *s, const struct mixer *m, struct ledger *l)
{
	assert_int_equal(mixer_save(m, l, &f), FAIL_NONE);
	free(l->config);
	l->config = strdup(s->text);
}

/* In place: pointers in it point to it. */
static void
scene_open(struct scene *s)
{
	struct mixer *m;

	memset(s, 0, sizeof(*s));
	s->domain[0] = (struct config_domain){.name = name_a, .partitions = 1, .catch_up = 2};
	s->domain[1] = (struct config_domain){.name = name_b, .partitions = 1, .catch_up = 2};
	s->weight[0] = 0.7;
	s->weight[1] = 0.3;
	s->sequences[0] = 60;
	s->sequences[1] = 400;
	for (size_t i = 0; i < 2; i++)
		s->length[i] = (struct config_plan_length){1, &s->sequences[i], NULL};
	s->c.corpus = name_c;
	s->c.sequence_length = 64;
	s->c.domains = s->domain;
	s->c.domains_n = 2;
	s->c.mix.name = name_m;
	s->c.mix.weights_kind = CONFIG_WEIGHTS_MAP;
	s->c.mix.global_batch = 8;
	s->c.mix.lanes = 4;
	s->c.mix.max_lead_steps = 21;
	s->c.mix.batches = MIX_BATCHES_DERIVED;
	s->c.mix.window = 1;
	s->c.mix.weight = s->weight;
	s->c.mix.temperature = 1;
	assert_int_equal(config_plan_open(&s->plan, &s->c, s->length, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&s->text, &s->c, &s->plan, 7, &f), FAIL_NONE);
	m = mixes_open(&s->plan.plan);
	for (int i = 0; i < BEGIN; i++)
		mixes_step(m, NULL, NULL);
	save(s, m, &s->before);
	for (int i = BEGIN; i < END; i++)
		mixes_step(m, NULL, NULL);
	save(s, m, &s->now);
	s->now.step_first = BEGIN;
	mixer_close(m);
	snprintf(s->at, sizeof(s->at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	s->item[0] = (struct property){(char *)"bootstrap.servers", s->at};
	s->properties = (struct properties){1, s->item};
	s->d.o = (struct derivation_options){
	    .mix = "m", .properties = &s->properties, .memory_bytes = MEMORY_BYTES};
}

static void
scene_close(struct scene *s)
{
	derivation_close(&s->d);
	ledger_clear(&s->before);
	ledger_clear(&s->now);
	free(s->text);
	config_plan_close(&s->plan);
}

/* The rolling hash of all choices of a mix that made `steps` steps by itself. */
static uint64_t
choices_behind(const struct scene *s, uint64_t steps)
{
	struct mixer *m = mixes_open(&s->plan.plan);
	struct ledger l = {0};
	uint64_t choices;

	for (uint64_t i = 0; i < steps; i++)
		mixes_step(m, NULL, NULL);
	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	choices = l.choices;
	ledger_clear(&l);
	mixer_close(m);
	return choices;
}

static void
test_a_transaction_begins_at_its_first_step_or_the_one_that_is_wanted(void **state)
{
	static const struct {
		uint64_t wanted, begins;
	} rows[] = {{0, BEGIN}, {BEGIN, BEGIN}, {BEGIN + 1, BEGIN + 1}, {END - 1, END - 1},
	    {END, END}, {1000, END}};

	(void)state;
	EACH_ROW(i, rows) {
		struct scene s;
		struct ledger l = {0};
		enum derivation_fault fault;

		scene_open(&s);
		assert_int_equal(derivation_take(&s.d, &s.now, &f), FAIL_NONE);
		assert_int_equal(
		    derivation_start(&s.d, &s.before, &s.now, rows[i].wanted, &fault, &f),
		    FAIL_NONE);
		assert_int_equal(fault, DERIVATION_NONE);
		assert_int_equal(mixer_step_next(assembler_mixer(s.d.assembler)), rows[i].begins);
		assert_int_equal(mixer_save(assembler_mixer(s.d.assembler), &l, &f), FAIL_NONE);
		assert_true(l.choices == choices_behind(&s, rows[i].begins));
		ledger_clear(&l);
		scene_close(&s);
	}
}

static void
test_what_all_steps_have_in_common_is_the_record_s(void **state)
{
	struct scene s;

	(void)state;
	scene_open(&s);
	s.now.tokenizer = 11;
	s.now.schedule = 12;
	assert_int_equal(derivation_take(&s.d, &s.now, &f), FAIL_NONE);
	assert_true(s.d.head.lanes == 4 && s.d.head.tokenizer == 11 && s.d.head.schedule == 12);
	assert_int_equal(s.d.head.lead, 21);
	assert_string_equal(s.d.head.name, "m");
	assert_int_equal(s.d.plan.batches, MIX_BATCHES_DERIVED);
	scene_close(&s);
}

/* It keeps what it has read ahead. */
static void
test_an_assembler_continues_until_something_is_changed(void **state)
{
	enum derivation_fault fault;
	const struct assembler *first;
	struct scene s;

	(void)state;
	scene_open(&s);
	assert_int_equal(derivation_take(&s.d, &s.now, &f), FAIL_NONE);
	assert_int_equal(derivation_start(&s.d, &s.before, &s.now, END, &fault, &f), FAIL_NONE);
	first = s.d.assembler;
	assert_int_equal(derivation_start(&s.d, &s.now, &s.now, 0, &fault, &f), FAIL_NONE);
	assert_ptr_equal(s.d.assembler, first);
	assert_int_equal(mixer_step_next(assembler_mixer(first)), END);
	derivation_stop(&s.d);
	assert_null(s.d.assembler);
	assert_int_equal(derivation_start(&s.d, &s.before, &s.now, 0, &fault, &f), FAIL_NONE);
	assert_int_equal(mixer_step_next(assembler_mixer(s.d.assembler)), BEGIN);
	scene_close(&s);
}

/*
 * One thing changes from outside between two records. Deriving the second record from the first
 * must give the mixer's state, whatever has changed.
 */
static void
test_whatever_changed_between_two_records_is_taken(void **state)
{
	static const struct {
		const char *what;
		uint64_t a, b; /* lengths */
		bool b_sealed, quarantined;
	} rows[] = {
	    {"nothing", 60, 400, false, false},
	    {"the seal of a live domain", 60, 400, true, false},
	    {"a live domain has grown", 60, 450, false, false},
	    {"a live domain has grown and ended", 60, 450, true, false},
	    {"an extension", 90, 400, false, false},
	    {"a quarantined sequence", 60, 400, false, true},
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, what) {
		const bool open[] = {false}, sealed[] = {true};
		struct ledger derived = {0};
		enum derivation_fault fault;
		struct mixer *m = NULL;
		uint8_t *wanted, *got;
		size_t wanted_n, got_n;
		struct scene s;

		scene_open(&s);
		s.domain[1].live = true;
		config_plan_close(&s.plan);
		free(s.text);
		s.length[1].sealed = open;
		assert_int_equal(config_plan_open(&s.plan, &s.c, s.length, &f), FAIL_NONE);
		assert_int_equal(bound_config_text(&s.text, &s.c, &s.plan, 7, &f), FAIL_NONE);
		m = mixes_open(&s.plan.plan);
		ledger_clear(&s.before);
		ledger_clear(&s.now);
		s.before = s.now = (struct ledger){0};
		save(&s, m, &s.before);
		assert_int_equal(mixer_set_lengths(m, 0, &rows[i].a, sealed, &f), FAIL_NONE);
		assert_int_equal(
		    mixer_set_lengths(m, 1, &rows[i].b, rows[i].b_sealed ? sealed : open, &f),
		    FAIL_NONE);
		if (rows[i].quarantined)
			assert_int_equal(mixer_quarantine(m, 1, 0, 7, "torn", &f), FAIL_NONE);
		save(&s, m, &s.now);
		mixer_close(m);

		assert_int_equal(derivation_take(&s.d, &s.before, &f), FAIL_NONE);
		assert_int_equal(
		    derivation_start(&s.d, &s.before, &s.before, 0, &fault, &f), FAIL_NONE);
		assert_int_equal(
		    derivation_start(&s.d, &s.before, &s.now, 0, &fault, &f), FAIL_NONE);
		save(&s, assembler_mixer(s.d.assembler), &derived);
		assert_int_equal(ledger_encode(&s.now, &wanted, &wanted_n, &f), FAIL_NONE);
		assert_int_equal(ledger_encode(&derived, &got, &got_n, &f), FAIL_NONE);
		assert_int_equal(got_n, wanted_n);
		assert_memory_equal(got, wanted, wanted_n);
		free(wanted);
		free(got);
		ledger_clear(&derived);
		scene_close(&s);
	}
}

static void
test_the_record_that_is_wrong_is_blamed(void **state)
{
	enum derivation_fault fault;
	struct scene s;

	(void)state;
	scene_open(&s);
	assert_int_equal(derivation_take(&s.d, &s.now, &f), FAIL_NONE);
	s.before.domain[1].partition[0].sequences = -1;
	assert_int_equal(derivation_start(&s.d, &s.before, &s.now, 0, &fault, &f), FAIL_DATA);
	assert_int_equal(fault, DERIVATION_BEFORE);
	assert_null(s.d.assembler);
	scene_close(&s);

	scene_open(&s);
	assert_int_equal(derivation_take(&s.d, &s.now, &f), FAIL_NONE);
	s.now.domains_n--; /* what joins or leaves does so in a record of its own */
	assert_int_equal(derivation_start(&s.d, &s.before, &s.now, 0, &fault, &f), FAIL_DATA);
	s.now.domains_n++;
	assert_int_equal(fault, DERIVATION_NOW);
	assert_null(s.d.assembler);
	/* An assembler that is open cannot take it either. */
	assert_int_equal(derivation_start(&s.d, &s.before, &s.before, 0, &fault, &f), FAIL_NONE);
	s.now.domains_n--;
	assert_int_equal(derivation_start(&s.d, &s.before, &s.now, 0, &fault, &f), FAIL_DATA);
	s.now.domains_n++;
	assert_int_equal(fault, DERIVATION_NOW);
	scene_close(&s);
}

static void
test_a_damaged_configuration_is_no_plan(void **state)
{
	struct scene s;

	(void)state;
	scene_open(&s);
	s.now.config[strlen(s.now.config) / 2] = '\0';
	assert_int_equal(derivation_take(&s.d, &s.now, &f), FAIL_DATA);
	scene_close(&s);
}

static int
begin(void **state)
{
	(void)state;
	return open_mock_cluster(&f) == FAIL_NONE ? 0 : -1;
}

static int
end(void **state)
{
	(void)state;
	kafka_close(owner);
	return 0;
}

/* Lane after lane: each has its own part of the draws. */
static void
test_each_lane_has_its_own_draws(void **state)
{
	enum { DRAWS = 8, EACH = 2 };
	static const struct sequence_position position = {0};
	struct mixer_draw draw[DRAWS] = {{.domain = 0}};
	struct feed_block_record one;
	const struct feed_block_record *record[DRAWS];
	const struct assembled step = {draw, record, DRAWS};
	struct wire_writer w = {0};
	struct sequence_view sequence;
	enum derivation_fault fault;
	struct scene s;

	(void)state;
	scene_open(&s);
	assert_int_equal(derivation_take(&s.d, &s.now, &f), FAIL_NONE);
	assert_int_equal(derivation_start(&s.d, &s.before, &s.now, END, &fault, &f), FAIL_NONE);
	assert_int_equal(
	    sequence_encode(&w, 5, SAMPLE_TOKENIZER, &position, &sample_payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&sequence, w.bytes, w.n, &f), FAIL_NONE);
	one = (struct feed_block_record){
	    .payload = sequence.payload.raw, .n = sequence.payload.raw_n};
	for (uint64_t i = 0; i < DRAWS; i++) {
		draw[i].ordinal = 100 + i;
		record[i] = &one;
	}
	for (uint32_t lane = 0; lane < DRAWS / EACH; lane++) {
		struct batch_view v;
		uint8_t *bytes;
		size_t n;

		assert_int_equal(
		    derivation_lane(&s.d, &step, END - 1, lane, &bytes, &n, &f), FAIL_NONE);
		assert_int_equal(batch_decode(&v, bytes, n, &f), FAIL_NONE);
		assert_true(v.head.lane == lane && v.head.step == END - 1 && !v.head.last);
		assert_int_equal(v.sequences_n, EACH);
		for (uint64_t i = 0; i < EACH; i++) {
			struct sequence_payload_view payload;
			struct batch_drawn d;

			assert_int_equal(batch_next(&v, &d, &payload, &f), FAIL_NONE);
			assert_int_equal(d.ordinal, 100 + EACH * lane + i);
		}
		free(bytes);
	}
	wire_writer_close(&w);
	scene_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_transaction_begins_at_its_first_step_or_the_one_that_is_wanted),
	    cmocka_unit_test(test_what_all_steps_have_in_common_is_the_record_s),
	    cmocka_unit_test(test_an_assembler_continues_until_something_is_changed),
	    cmocka_unit_test(test_whatever_changed_between_two_records_is_taken),
	    cmocka_unit_test(test_the_record_that_is_wrong_is_blamed),
	    cmocka_unit_test(test_a_damaged_configuration_is_no_plan),
	    cmocka_unit_test(test_each_lane_has_its_own_draws),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
