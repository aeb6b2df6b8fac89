/*
 * output.h: how old transactions become, and what is left of one that was given up. What they hold
 * is tested with a broker.
 */
#include "consumer/publish/output.h"
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		test_transactions_become_older_while_they_are_full_and_begin_again_after_a_wait),
	    cmocka_unit_test(test_an_age_that_is_given_stays),
	    cmocka_unit_test(test_a_short_time_out_leaves_a_third_of_it_to_the_age),
	    cmocka_unit_test(test_one_that_was_closed_has_forgotten_all_that_was_not_committed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
