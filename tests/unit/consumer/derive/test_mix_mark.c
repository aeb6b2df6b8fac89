/* mix_mark.h: marks of steps, and whether they are of a mix, by ledgers in a mock cluster. */
#include "consumer/derive/mix_mark.h"

#include "common/base/clock.h"
#include "tests/unit/ledger_mix.h"
#include "tests/unit/mock_topics.h"

enum { STEPS_MAX = 12, ENDS_MAX = 5 };

static struct ledger_mix mix;
static uint64_t choices[STEPS_MAX + 1], schedule; /* of `mix`, below each step */

/* A ledger whose records end at these steps; the first -1 is the end of the list. */
static void
write_mix(const char *name, const struct ledger_mix *x, const int64_t *ends)
{
	char topic[32];

	snprintf(topic, sizeof(topic), "%s.ledger", name);
	mock_topic(topic, 1);
	for (; *ends >= 0; ends++) {
		struct ledger l = ledger_mix_record(x, *ends);

		mock_write_ledger(topic, &l);
		ledger_clear(&l);
	}
}

static void
test_a_mark_is_that_of_its_step_or_of_the_record_before_it(void **unused)
{
	static const struct {
		uint64_t step;
		bool any;
		uint64_t marked;
	} rows[] = {
	    {3, false, 0}, /* the ledger begins later */
	    {4, true, 4}, {5, true, 5}, {7, true, 7}, {8, true, 8},
	    {9, true, 8}, /* not published yet: the last record */
	};

	(void)unused;
	write_mix("find", &mix, (const int64_t[]){4, 8, -1});
	EACH_ROW(i, rows) {
		struct mix_mark m = {0};
		bool any;

		assert_int_equal(mix_mark_find(&m, &any, "find", &mock_properties, MOCK_WAIT_MS,
				     rows[i].step, &f),
		    FAIL_NONE);
		assert_int_equal(any, rows[i].any);
		assert_int_equal(m.step, rows[i].marked);
		if (any)
			assert_true(m.schedule == schedule && m.choices == choices[m.step]);
	}
}

static void
test_a_ledger_that_is_not_there_has_no_mark_and_comes_later(void **unused)
{
	const struct mix_mark m = {.schedule = 1};
	enum mix_mark_verdict verdict;
	struct mix_mark found;
	bool any = true;

	(void)unused;
	rd_kafka_mock_topic_set_error(
	    cluster, "none.ledger", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	assert_int_equal(
	    mix_mark_find(&found, &any, "none", &mock_properties, MOCK_WAIT_MS, 0, &f), FAIL_NONE);
	assert_false(any);
	assert_int_equal(
	    mix_mark_compare(&m, "none", &mock_properties, MOCK_WAIT_MS, &verdict, &f), FAIL_NONE);
	assert_int_equal(verdict, MIX_MARK_EARLY);
}

/*
 * Marks of `mix`, held against ledgers of it whose records lie elsewhere, and of another mix. A
 * mark may differ in its schedule, in its choices, or be true.
 */
static void
test_a_mark_is_known_again_wherever_records_end(void **unused)
{
	static const struct {
		const char *ledger;
		uint64_t step;
		bool other_schedule, other_choices;
		enum mix_mark_verdict verdict;
		const char *says;
	} rows[] = {
	    {"same", 0, false, false, MIX_MARK_SAME, NULL},
	    {"same", 4, false, false, MIX_MARK_SAME, NULL},
	    {"same", 5, false, false, MIX_MARK_SAME, NULL}, /* drawn again */
	    {"same", 7, false, false, MIX_MARK_SAME, NULL},
	    {"same", 8, false, false, MIX_MARK_SAME, NULL},
	    {"same", 4, false, true, MIX_MARK_OTHER, "the hash of its choices below step 4 is "},
	    {"same", 6, false, true, MIX_MARK_OTHER, "the hash of its choices below step 6 is "},
	    {"same", 4, true, false, MIX_MARK_OTHER, ": its schedule is "},
	    {"same", 6, true, false, MIX_MARK_OTHER, ": its schedule is "},
	    {"same", 9, false, false, MIX_MARK_EARLY, NULL},
	    {"same", 9, false, true, MIX_MARK_EARLY, NULL},
	    {"same", 9, true, false, MIX_MARK_OTHER, ": its schedule is "},
	    {"empty", 4, false, false, MIX_MARK_EARLY, NULL},
	    {"late", 3, false, false, MIX_MARK_UNKNOWN,
		"its ledger begins at step 4, after step 3 of the checkpoint's hash"},
	    {"late", 3, true, false, MIX_MARK_OTHER, ": its schedule is "},
	    {"late", 4, false, false, MIX_MARK_SAME, NULL},
	    {"seed", 6, false, false, MIX_MARK_OTHER, ": its schedule is "},
	};
	struct ledger_mix seed;

	(void)unused;
	ledger_mix_open(&seed, 2);
	write_mix("same", &mix, (const int64_t[]){0, 4, 8, -1});
	write_mix("empty", &mix, (const int64_t[]){-1});
	write_mix("late", &mix, (const int64_t[]){4, 8, -1});
	write_mix("seed", &seed, (const int64_t[]){0, 4, 8, -1});
	ledger_mix_close(&seed);
	EACH_NAMED_ROW(i, rows, says) {
		const struct mix_mark m = {.schedule = schedule + rows[i].other_schedule,
		    .step = rows[i].step,
		    .choices = choices[rows[i].step] + rows[i].other_choices};
		enum mix_mark_verdict verdict;

		f = (struct failure){0};
		assert_int_equal(mix_mark_compare(&m, rows[i].ledger, &mock_properties,
				     MOCK_WAIT_MS, &verdict, &f),
		    FAIL_NONE);
		assert_int_equal(verdict, rows[i].verdict);
		if (rows[i].says != NULL)
			assert_non_null(strstr(f.text, rows[i].says));
	}
}

/*
 * Weights count tokens, and sequences differ in them: a step between two records can only be drawn
 * again with its sequences. For a mark none are read, for a comparison they are. The domain topics
 * here hold none: the feed waits ten seconds for one before it says that it is missing.
 */
static void
test_sequences_are_read_to_compare_a_mark_and_never_to_make_one(void **unused)
{
	static const struct {
		uint64_t step, marked;
		bool other_schedule, other_choices;
		enum mix_mark_verdict verdict;
	} rows[] = {
	    {4, 4, false, false, MIX_MARK_SAME},
	    {4, 4, false, true, MIX_MARK_OTHER},
	    {5, 4, false, false, MIX_MARK_UNKNOWN},
	    {7, 4, false, false, MIX_MARK_UNKNOWN},
	    {7, 4, true, false, MIX_MARK_OTHER}, /* that is known without them */
	    {8, 8, false, false, MIX_MARK_SAME},
	    {9, 8, false, false, MIX_MARK_EARLY},
	};
	enum { READ_MS = 300, FEED_WAITS_MS = 10000 };
	struct ledger_mix x;
	uint64_t known[STEPS_MAX + 1];
	uint64_t hash = 0;

	(void)unused;
	ledger_mix_open(&x, 1);
	config_plan_close(&x.plan);
	free(x.text);
	x.c.corpus = (char *)"text"; /* whose topics no other test has asked for */
	x.c.mix.weights_unit = MIX_BY_TOKENS;
	for (size_t i = 0; i < 2; i++)
		x.domain[i].packing = SEQUENCE_NONE;
	assert_int_equal(config_plan_open(&x.plan, &x.c, x.length, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&x.text, &x.c, &x.plan, 7, &f), FAIL_NONE);
	assert_true(mixer_plan_needs_tokens(&x.plan.plan));
	for (int64_t step = 0; step <= 8; step++) {
		struct ledger l = ledger_mix_record(&x, step);

		known[step] = l.choices;
		hash = l.schedule;
		ledger_clear(&l);
	}
	write_mix("tokens", &x, (const int64_t[]){0, 4, 8, -1});
	mock_topic("text.a", 1);
	mock_topic("text.b", 1);
	EACH_ROW(i, rows) {
		struct mix_mark m = {.schedule = hash + rows[i].other_schedule,
		    .step = rows[i].step,
		    .choices = known[rows[i].step < 8 ? rows[i].step : 8] + rows[i].other_choices};
		enum mix_mark_verdict verdict;
		int64_t begun_ms = clock_ms();
		struct mix_mark found;
		bool any;

		assert_int_equal(mix_mark_find(&found, &any, "tokens", &mock_properties,
				     MOCK_WAIT_MS, rows[i].step, &f),
		    FAIL_NONE);
		assert_true(any);
		assert_true(clock_ms() - begun_ms < FEED_WAITS_MS);
		assert_int_equal(found.step, rows[i].marked);
		assert_true(found.choices == known[rows[i].marked]);
		assert_int_equal(
		    mix_mark_compare(&m, "tokens", &mock_properties,
			rows[i].verdict == MIX_MARK_UNKNOWN ? READ_MS : MOCK_WAIT_MS, &verdict, &f),
		    FAIL_NONE);
		assert_int_equal(verdict, rows[i].verdict);
		if (verdict == MIX_MARK_UNKNOWN) {
			assert_non_null(strstr(f.text, "drawing steps 4 to "));
			assert_null(strstr(f.text, "the lengths of its sequences are needed"));
		}
	}
	ledger_mix_close(&x);
}

static int
begin(void **unused)
{
	if (mock_begin(unused) != 0)
		return -1;
	ledger_mix_open(&mix, 1);
	for (int64_t step = 0; step <= STEPS_MAX; step++) {
		struct ledger l = ledger_mix_record(&mix, step);

		choices[step] = l.choices;
		schedule = l.schedule;
		ledger_clear(&l);
	}
	return 0;
}

static int
end(void **unused)
{
	ledger_mix_close(&mix);
	return mock_end(unused);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_mark_is_that_of_its_step_or_of_the_record_before_it),
	    cmocka_unit_test(test_a_ledger_that_is_not_there_has_no_mark_and_comes_later),
	    cmocka_unit_test(test_a_mark_is_known_again_wherever_records_end),
	    cmocka_unit_test(test_sequences_are_read_to_compare_a_mark_and_never_to_make_one),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
