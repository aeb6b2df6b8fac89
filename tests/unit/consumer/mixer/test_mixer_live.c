/* Live domains: waiting, lending, paying back; lengths that grow; passes that are counted. */
#include "common/schedule/order.h"
#include "tests/unit/mixes.h"

static const uint64_t plenty[] = {100000};

static void
set(struct mixer *m, uint32_t domain, const uint64_t *sequences, const bool *sealed)
{
	struct failure f;

	assert_int_equal(mixer_set_lengths(m, domain, sequences, sealed, &f), FAIL_NONE);
}

static void
test_partitions_go_round_robin_and_one_that_is_late_is_waited_for(void **state)
{
	uint64_t there[] = {2, 5, 3};
	bool sealed[] = {false, false, false};
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .live = true, .partitions_n = 3, .sequences = there}};
	static const struct {
		uint32_t partition;
		uint64_t ordinal;
	} want[] = {
	    {0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}, {2, 2}, {1, 3}, {1, 4}};
	struct mixer_plan p = mixes_plan(source, 1);
	struct mixer_draw draw;
	enum mixer_result result;
	struct mixer *m;
	struct failure f;

	(void)state;
	p.global_batch = 1;
	m = mixes_open(&p);
	EACH_ROW(i, want) {
		assert_int_equal(mixer_step(m, &draw, &result, &f), FAIL_NONE);
		if (i == 6) { /* partition 0 lacks ordinal 2 */
			assert_int_equal(result, MIXER_DRY);
			assert_int_equal(mixer_blocked(m)->partition, 0);
			assert_int_equal(mixer_blocked(m)->ordinal, 2);
			there[0] = 3;
			sealed[0] = true;
			sealed[2] = true; /* at 3: it drops out of the fourth round */
			set(m, 0, there, sealed);
			assert_int_equal(mixer_step(m, &draw, &result, &f), FAIL_NONE);
		}
		assert_int_equal(result, MIXER_DRAWN);
		assert_int_equal(draw.partition, want[i].partition);
		assert_int_equal(draw.ordinal, want[i].ordinal);
	}
	assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRY);
	assert_int_equal(mixer_step_next(m), 11);
	assert_true(mixes_stand(m, 0).live);
	sealed[1] = true; /* the next pass has an order */
	set(m, 0, there, sealed);
	assert_false(mixes_stand(m, 0).live);
	assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRAWN);
	assert_int_equal(mixes_stand(m, 0).epoch, 1);
	mixer_close(m);
}

static void
test_lengths_that_shrink_are_refused_and_change_nothing(void **state)
{
	uint64_t there[] = {20, 20}, shorter[] = {25, 19};
	bool sealed[] = {true, false};
	const struct mixer_source source[] = {{.name = "a",
	    .weight = 1,
	    .live = true,
	    .partitions_n = 2,
	    .sequences = there,
	    .sealed = sealed}};
	struct mixer_plan p = mixes_plan(source, 1);
	struct mixer *m = mixes_open(&p);
	struct failure f;

	(void)state;
	assert_int_equal(mixer_set_lengths(m, 0, shorter, sealed, &f), FAIL_DATA);
	assert_string_equal(
	    f.text, "domain a partition 1: the mix counts with 20 sequences, the topic holds 19");
	assert_int_equal(mixes_stand(m, 0).length, 40);
	mixer_close(m);
}

/* A live domain at a third of the weights runs dry for 100 steps; then there is plenty. */
static void
test_lent_draws_are_paid_back_no_faster_than_catch_up(void **state)
{
	uint64_t there[] = {40};
	bool sealed[] = {false};
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = plenty},
	    {.name = "b", .weight = 2, .partitions_n = 1, .sequences = plenty},
	    {.name = "live",
		.weight = 1.5,
		.live = true,
		.on_dry = MIX_DRY_LEND,
		.catch_up = 1.5,
		.partitions_n = 1,
		.sequences = there}};
	struct mixer_plan p = mixes_plan(source, 3);
	struct mixer *m = mixes_open(&p);
	uint64_t count[3] = {0}, before, lent, steps = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(mixes_step(m, &p, count), MIXER_DRAWN);
	assert_int_equal(count[2], 40);
	assert_true(mixes_stand(m, 2).owed >= 1600 / 3 - 42);
	assert_true(mixes_stand(m, 2).owed <= 1600 / 3 - 38);
	lent = mixes_stand(m, 2).lent;
	assert_int_equal(lent, mixes_stand(m, 2).owed);
	/* What was lent was lent by weight: 1 to 2. */
	assert_true(count[0] * 2 + 6 > count[1] && count[0] * 2 < count[1] + 6);
	there[0] = 100000;
	set(m, 2, there, sealed);
	while (mixes_stand(m, 2).owed > 0) {
		before = count[2];
		assert_int_equal(mixes_step(m, &p, count), MIXER_DRAWN);
		steps++;
		assert_true(count[2] - before <= 16 / 3 * 3 / 2 + 2);
	}
	assert_int_equal(mixes_stand(m, 2).lent, lent);    /* though paid back */
	assert_true(steps >= 492 / 3 && steps <= 492 / 2); /* 16/6 extra a step */
	for (uint32_t i = 0; i < 3; i++) { /* all have their share, as though nothing had been */
		double due = mixes_stand(m, i).share * 16.0 * (double)mixer_step_next(m);

		assert_true(due - (double)count[i] < 3 && (double)count[i] - due < 3);
	}
	mixer_close(m);
}

static void
test_nobody_to_lend_to_is_waiting(void **state)
{
	uint64_t there[] = {5};
	const struct mixer_source source[] = {{.name = "a",
	    .weight = 1,
	    .live = true,
	    .on_dry = MIX_DRY_LEND,
	    .partitions_n = 1,
	    .sequences = there}};
	struct mixer_plan p = mixes_plan(source, 1);
	struct mixer *m = mixes_open(&p);

	(void)state;
	assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRY);
	assert_int_equal(mixer_blocked(m)->ordinal, 5);
	assert_int_equal(mixes_stand(m, 0).taken, 0);
	mixer_close(m);
}

static void
test_an_extension_counts_from_the_next_pass(void **state)
{
	uint64_t there[] = {32};
	bool sealed[] = {true};
	const struct mixer_source source[] = {
	    {.name = "a", .weight = 1, .partitions_n = 1, .sequences = there}};
	struct mixer_plan p = mixes_plan(source, 1);
	struct mixer *m = mixes_open(&p);

	(void)state;
	mixes_step(m, &p, NULL);
	there[0] = 48;
	set(m, 0, there, sealed);
	assert_int_equal(mixes_stand(m, 0).length, 32);
	mixes_step(m, &p, NULL);
	assert_int_equal(mixes_stand(m, 0).epoch, 0);
	mixes_step(m, &p, NULL);
	assert_int_equal(mixes_stand(m, 0).epoch, 1);
	assert_int_equal(mixes_stand(m, 0).length, 48);
	mixer_undo(m); /* also the longer pass is taken back */
	assert_int_equal(mixes_stand(m, 0).epoch, 0);
	assert_int_equal(mixes_stand(m, 0).length, 32);
	for (int i = 0; i < 3; i++)
		mixes_step(m, &p, NULL);
	assert_int_equal(mixes_stand(m, 0).epoch, 1);
	assert_int_equal(mixes_stand(m, 0).position, 48);
	mixer_close(m);
}

static void
test_passes_are_counted(void **state)
{
	static const uint64_t short_one[] = {24};
	static const struct {
		enum mix_on_end on_end;
		uint64_t max_epochs, taken; /* before it is dropped or ends the mix */
		enum mixer_result end;
	} cases[] = {
	    {MIX_END_DROP, 0, 24, MIXER_DRAWN},
	    {MIX_END_DROP, 2, 48, MIXER_DRAWN},
	    {MIX_END_REPEAT, 3, 72, MIXER_DRAWN},
	    {MIX_END_STOP, 2, 48, MIXER_ENDED},
	};

	(void)state;
	EACH_ROW(i, cases) {
		const struct mixer_source source[] = {{.name = "a",
							  .weight = 1,
							  .on_end = cases[i].on_end,
							  .max_epochs = cases[i].max_epochs,
							  .partitions_n = 1,
							  .sequences = short_one},
		    {.name = "b", .weight = 1, .partitions_n = 1, .sequences = plenty}};
		struct mixer_plan p = mixes_plan(source, 2);
		struct mixer *m = mixes_open(&p);
		enum mixer_result result = MIXER_DRAWN;

		for (int k = 0; k < 40 && result == MIXER_DRAWN; k++)
			result = mixes_step(m, &p, NULL);
		assert_int_equal(result, cases[i].end);
		assert_int_equal(mixes_stand(m, 0).taken, cases[i].taken);
		if (cases[i].end == MIXER_DRAWN)
			assert_int_equal(mixes_stand(m, 0).state, LEDGER_DROPPED);
		mixer_close(m);
	}
}

static void
test_lending_where_it_cannot_be_counted_is_refused(void **state)
{
	struct mixer_source source[] = {{.name = "a",
	    .weight = 1,
	    .live = true,
	    .on_dry = MIX_DRY_LEND,
	    .partitions_n = 1,
	    .sequences = plenty}};
	struct mixer_plan p = mixes_plan(source, 1);
	struct mixer *m = NULL;
	struct failure f;

	(void)state;
	p.schedule = SCHEDULE_RANDOM;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
	p.schedule = SCHEDULE_DEFICIT;
	p.weights_unit = MIX_BY_TOKENS;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
	p.weights_unit = MIX_BY_SEQUENCES;
	p.epoch_size = 20;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "cannot go with weights_unit: tokens or epoch_size"));
	p.epoch_size = 0;
	source[0].catch_up = 0.9;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
	assert_string_equal(f.text, "domain a: catch_up must be a number from 1 to 1000, not 0.9");
	source[0].catch_up = 1;
	assert_int_equal(mixer_open(&m, &p, &f), FAIL_NONE);
	mixer_close(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_partitions_go_round_robin_and_one_that_is_late_is_waited_for),
	    cmocka_unit_test(test_lengths_that_shrink_are_refused_and_change_nothing),
	    cmocka_unit_test(test_lent_draws_are_paid_back_no_faster_than_catch_up),
	    cmocka_unit_test(test_nobody_to_lend_to_is_waiting),
	    cmocka_unit_test(test_an_extension_counts_from_the_next_pass),
	    cmocka_unit_test(test_passes_are_counted),
	    cmocka_unit_test(test_lending_where_it_cannot_be_counted_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
