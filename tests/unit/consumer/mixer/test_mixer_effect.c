/* mixer_effect.h: each figure of what an accepted change does. */
#include "consumer/mixer/mixer_effect.h"

#include "tests/unit/mixes.h"

enum { BATCH = 100 };

static const uint64_t web_n[] = {4000}, code_n[] = {1000}, live_n[] = {50, 20};
static const bool live_sealed[] = {false, true};

/* code is dropped after three passes, or what a test says; web repeats; news is live. */
static struct mixer_source sources[] = {
    {.name = "code",
	.weight = 0.75,
	.partitions_n = 1,
	.sequences = code_n,
	.on_end = MIX_END_DROP,
	.max_epochs = 3},
    {.name = "news",
	.weight = 0,
	.partitions_n = 2,
	.sequences = live_n,
	.sealed = live_sealed,
	.live = true},
    {.name = "web", .weight = 0.25, .partitions_n = 1, .sequences = web_n},
};

static struct mixer_plan
plan_of(void)
{
	struct mixer_plan p = mixes_plan(sources, 3);

	p.global_batch = BATCH;
	return p;
}

/* Asks; gives the effect of an accepted change: mixer_effect_clear(). */
static struct mixer_effect
ask(struct mixer *m, struct control c)
{
	struct mixer_effect e = {0};
	struct ledger_answer answer;
	bool duplicate;

	assert_int_equal(
	    mixer_request_with_effect(m, &c, NULL, &answer, &duplicate, &e, &f), FAIL_NONE);
	assert_true(answer.accepted && !duplicate);
	ledger_answer_clear(&answer);
	return e;
}

static void
test_what_is_in_force_before_the_change_and_with_it(void **unused)
{
	struct ledger_raw_weight half[] = {{(char *)"code", 1}, {(char *)"web", 1}};
	struct mixer_plan p = plan_of();
	struct mixer *m = mixes_open(&p);
	struct control c = mixes_weight((char *)"a", 10, half, 2);
	struct mixer_effect e;

	(void)unused;
	c.temperature = 2;
	c.lr_scale = 0.5;
	c.global_batch = 200;
	e = ask(m, c);
	assert_true(e.step == 10 && e.clamped == -1 && !e.skip && !e.undo && e.published == -1);
	assert_true(e.temperature == 2 && e.temperature_before == 1);
	assert_true(e.lr_scale == 0.5 && e.lr_scale_before == 1);
	assert_true(e.global_batch == 200 && e.global_batch_before == BATCH);
	assert_true(!e.rounds && e.phase[0] == '\0');
	assert_int_equal(e.domains_n, 2); /* news has no share, before or after */
	assert_string_equal(e.domain[0].name, "code");
	assert_string_equal(e.domain[1].name, "web");
	assert_true(e.domain[0].share_before == 0.75 && e.domain[0].share == 0.5);
	assert_true(e.domain[1].share_before == 0.25 && e.domain[1].share == 0.5);
	/* 75 a step until step 10, then 100 of 200: the other 250 take 3 steps. */
	assert_true(e.domain[0].epoch == 0 && e.domain[0].epoch_end.with == 13);
	assert_true(e.domain[0].epoch_end.without == 14);
	assert_true(e.domain[0].limited && !e.domain[0].ends_mix);
	assert_true(e.domain[0].last_end.with == 33 && e.domain[0].last_end.without == 40);
	/* 25 a step until step 10, then 100: 3750 take 38 steps. */
	assert_true(e.domain[1].epoch_end.with == 48 && e.domain[1].epoch_end.without == 160);
	assert_false(e.domain[1].limited);
	mixer_effect_clear(&e);
	mixer_close(m);
}

static void
test_a_domain_that_loses_or_gets_its_share_is_told(void **unused)
{
	static const struct {
		double code, news;
		size_t n;
		const char *first;
		bool live;
	} rows[] = {
	    {0, 0, 2, "code", false}, /* it loses its share */
	    {3, 1, 3, "code", false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, first) {
		struct ledger_raw_weight w[] = {
		    {(char *)"code", rows[i].code}, {(char *)"news", rows[i].news}};
		struct mixer_plan p = plan_of();
		struct mixer *m = mixes_open(&p);
		struct mixer_effect e = ask(m, mixes_weight((char *)"a", 10, w, 2));

		assert_int_equal(e.domains_n, rows[i].n);
		assert_string_equal(e.domain[0].name, rows[i].first);
		if (rows[i].n == 3) {
			assert_string_equal(e.domain[1].name, "news");
			assert_true(e.domain[1].live && e.domain[1].share_before == 0);
			assert_true(e.domain[1].epoch_end.with == 0 && !e.domain[1].limited);
		} else {
			assert_true(e.domain[0].share == 0 && e.domain[0].share_before == 0.75);
			assert_true(e.domain[0].epoch_end.with == MIXER_EFFECT_NEVER);
			assert_true(e.domain[0].epoch_end.without == 14);
		}
		mixer_effect_clear(&e);
		mixer_close(m);
	}
}

/* code has 1000 a pass, 100 draws a step of its own: a pass is 10 steps. */
static void
test_a_last_pass_ends_the_mix_or_drops_the_domain(void **unused)
{
	static const struct {
		enum mix_on_end on_end;
		uint64_t passes;
		int steps;
		bool limited, ends_mix;
		uint64_t epoch;
		double epoch_end, last_end;
	} rows[] = {
	    {MIX_END_REPEAT, 0, 0, false, false, 0, 10, 0},
	    {MIX_END_STOP, 1, 0, true, true, 0, 10, 10},
	    {MIX_END_STOP, 3, 0, true, true, 0, 10, 30},
	    {MIX_END_DROP, 2, 0, true, false, 0, 10, 20},
	    {MIX_END_STOP, 3, 13, true, true, 1, 20, 30},
	    {MIX_END_STOP, 3, 27, true, true, 2, 30, 30},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct mixer_source one[] = {{.name = "code",
						 .weight = 1,
						 .partitions_n = 1,
						 .sequences = code_n,
						 .on_end = rows[i].on_end,
						 .max_epochs = rows[i].passes},
		    {.name = "web", .partitions_n = 1, .sequences = web_n}};
		struct mixer_plan p = mixes_plan(one, 2);
		struct mixer *m;
		struct mixer_effect e;

		p.global_batch = BATCH;
		m = mixes_open(&p);
		for (int k = 0; k < rows[i].steps; k++)
			mixes_step(m, NULL, NULL);
		e = ask(m,
		    (struct control){.id = (char *)"a", .at_step = rows[i].steps, .lr_scale = 0.5});
		assert_int_equal(e.domain[0].limited, rows[i].limited);
		assert_int_equal(e.domain[0].ends_mix, rows[i].ends_mix);
		assert_int_equal(e.domain[0].epoch, rows[i].epoch);
		assert_true(e.domain[0].epoch_end.with == rows[i].epoch_end);
		assert_true(e.domain[0].last_end.with == rows[i].last_end);
		mixer_effect_clear(&e);
		mixer_close(m);
	}
}

static void
test_a_step_that_is_drawn_already_is_told(void **unused)
{
	static const struct {
		int64_t asked, step, clamped;
	} rows[] = {{-1, 3, -1}, {0, 3, 0}, {2, 3, 2}, {3, 3, -1}, {4, 4, -1}};

	(void)unused;
	EACH_ROW(i, rows) {
		struct mixer_plan p = plan_of();
		struct mixer *m = mixes_open(&p);
		struct mixer_effect e;

		for (int k = 0; k < 3; k++)
			mixes_step(m, NULL, NULL);
		e = ask(m,
		    (struct control){.id = (char *)"a", .at_step = rows[i].asked, .lr_scale = 0.5});
		assert_int_equal(e.step, rows[i].step);
		assert_int_equal(e.clamped, rows[i].clamped);
		mixer_effect_clear(&e);
		mixer_close(m);
	}
}

/*
 * Batches of 100 until step 4, of 200 until step 8, and of the plan's 100 until a request sets 400
 * from step 10 on. At step 20 a phase and a request begin, and the request wins: rounds of 1000.
 */
static const struct mixer_phase batches[] = {{.name = "wide", .start_step = 4, .global_batch = 200},
    {.name = "narrow", .start_step = 8}, {.name = "third", .start_step = 20}};

static struct mixer *
open_batches(int steps)
{
	static const struct {
		int64_t step;
		uint32_t batch;
	} request[] = {{10, 400}, {20, 48}};
	struct mixer_plan p = plan_of();
	struct mixer *m;

	p.epoch_size = 1000;
	p.phase = batches;
	p.phases_n = 3;
	m = mixes_open(&p);
	for (int k = 0; k < steps; k++)
		mixes_step(m, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		struct mixer_effect e =
		    ask(m, (struct control){.id = i == 0 ? (char *)"x" : (char *)"y",
			       .at_step = request[i].step,
			       .global_batch = request[i].batch});

		assert_int_equal(e.global_batch, request[i].batch);
		assert_int_equal(e.global_batch_before, BATCH);
		mixer_effect_clear(&e);
	}
	return m;
}

static void
test_rounds_count_the_batches_of_phases_and_requests(void **unused)
{
	static const struct {
		int64_t step;
		uint64_t draws;
	} rows[] = {{0, 0}, {1, 100}, {3, 300}, {4, 400}, {5, 600}, {7, 1000}, {8, 1200}, {9, 1300},
	    {10, 1400}, {11, 1800}, {20, 5400}, {21, 5448}, {120, 5400 + 100 * 48}};

	(void)unused;
	EACH_ROW(i, rows) {
		struct mixer *m = open_batches(0);
		struct mixer_effect e = ask(m,
		    (struct control){.id = (char *)"a", .at_step = rows[i].step, .lr_scale = 0.5});

		assert_true(e.rounds);
		assert_int_equal(e.round, rows[i].draws / 1000);
		assert_int_equal(e.dealt, (1000 - rows[i].draws % 1000) % 1000);
		mixer_effect_clear(&e);
		mixer_close(m);
	}
}

static void
test_the_next_phase_has_its_batch_or_the_plans(void **unused)
{
	static const struct {
		int64_t step;
		int drawn;
		const char *phase;
		uint64_t phase_step;
		uint32_t batch;
	} rows[] = {
	    {0, 0, "wide", 4, 200},
	    {3, 0, "wide", 4, 200},
	    {4, 0, "narrow", 8, BATCH},
	    {6, 6, "narrow", 8, BATCH}, /* not the 200 that are in force */
	    {7, 0, "narrow", 8, BATCH},
	    {8, 0, "third", 20, BATCH},
	    {19, 0, "third", 20, BATCH},
	    {20, 0, "", 0, 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct mixer *m = open_batches(rows[i].drawn);
		struct mixer_effect e = ask(m,
		    (struct control){.id = (char *)"a", .at_step = rows[i].step, .lr_scale = 0.5});

		assert_string_equal(e.phase, rows[i].phase);
		assert_int_equal(e.phase_step, rows[i].phase_step);
		assert_int_equal(e.phase_batch, rows[i].batch);
		mixer_effect_clear(&e);
		mixer_close(m);
	}
}

/* The change ends the domain's draws, and its pass must not wait for one more. */
static void
test_a_pass_that_ends_right_before_the_change_ends_there(void **unused)
{
	struct mixer_source two[] = {
	    {.name = "code", .weight = 1, .partitions_n = 1, .sequences = code_n},
	    {.name = "web", .partitions_n = 1, .sequences = web_n}};
	struct ledger_raw_weight w[] = {{(char *)"code", 0}, {(char *)"web", 1}};

	(void)unused;
	for (int64_t step = 9; step <= 11; step++) {
		struct mixer_plan p = mixes_plan(two, 2);
		struct mixer *m;
		struct mixer_effect e;

		p.global_batch = BATCH;
		m = mixes_open(&p);
		e = ask(m, mixes_weight((char *)"a", step, w, 2));
		assert_true(e.domain[0].epoch_end.with == (step < 10 ? MIXER_EFFECT_NEVER : 10));
		assert_true(e.domain[0].epoch_end.without == 10);
		mixer_effect_clear(&e);
		mixer_close(m);
	}
}

/* news: partition 0 has 50 and grows, partition 1 is sealed with 20. */
static void
test_what_a_skip_keeps_out_and_its_undo_brings_back(void **unused)
{
	static const struct {
		const char *domain;
		int32_t partition;
		int64_t first, end, published;
		uint64_t excluded, sequences;
	} rows[] = {
	    {"web", 0, 10, 20, -1, 10, 4000},
	    {"news", 0, 40, 50, -1, 10, 70},
	    {"news", 0, 40, 51, 50, 10, 70},
	    {"news", 1, 10, 20, -1, 10, 70},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, domain) {
		struct mixer_plan p = plan_of();
		struct mixer *m = mixes_open(&p);
		struct control c = {.id = (char *)"a",
		    .kind = LEDGER_SKIP,
		    .at_step = -1,
		    .domain = (char *)(uintptr_t)rows[i].domain,
		    .partition = rows[i].partition,
		    .first = rows[i].first,
		    .end = rows[i].end};
		struct mixer_effect e = ask(m, c);

		assert_true(e.skip && !e.undo && e.domains_n == 0 && e.step == 0);
		assert_int_equal(e.published, rows[i].published);
		assert_int_equal(e.excluded, rows[i].excluded);
		assert_int_equal(e.sequences, rows[i].sequences);
		mixer_effect_clear(&e);
		mixes_step(m, NULL, NULL);
		assert_int_equal(
		    mixer_quarantine(m, (uint32_t)mixer_domain_named(m, rows[i].domain),
			(uint32_t)rows[i].partition, (uint64_t)rows[i].first + 1, "torn", &f),
		    FAIL_NONE);
		c.id = (char *)"b";
		c.kind = LEDGER_UNDO;
		c.at_step = 5;
		e = ask(m, c);
		assert_true(e.skip && e.undo && e.published == -1 && e.step == 5);
		assert_int_equal(e.drawn, rows[i].end - rows[i].first - 1);
		assert_int_equal(e.quarantined, 1);
		assert_int_equal(e.excluded, 1); /* what is quarantined stays out */
		assert_int_equal(e.sequences, rows[i].sequences);
		mixer_effect_clear(&e);
		mixer_close(m);
	}
}

/* A stretch that was noted for the same step counts no more. */
static void
test_the_last_change_of_a_step_is_the_one_that_counts(void **unused)
{
	struct ledger_raw_weight w[] = {{(char *)"code", 0}, {(char *)"web", 1}};
	struct mixer_plan p = plan_of();
	struct mixer *m = mixes_open(&p);
	struct mixer_effect e;

	(void)unused;
	e = ask(m, mixes_weight((char *)"a", 10, w, 2));
	mixer_effect_clear(&e);
	w[0].weight = 1;
	e = ask(m, mixes_weight((char *)"b", 10, w, 2));
	assert_true(e.domain[0].share_before == 0 && e.domain[0].share == 0.5);
	mixer_effect_clear(&e);
	w[0].weight = 3;
	e = ask(m, mixes_weight((char *)"c", 12, w, 2));
	/* 75 a step until step 10, 50 until 12, then 75: 150 more take 2 steps. */
	assert_true(e.domain[0].share_before == 0.5 && e.domain[0].share == 0.75);
	assert_true(e.domain[0].epoch_end.with == 14 && e.domain[0].epoch_end.without == 15);
	mixer_effect_clear(&e);
	mixer_close(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_in_force_before_the_change_and_with_it),
	    cmocka_unit_test(test_a_domain_that_loses_or_gets_its_share_is_told),
	    cmocka_unit_test(test_a_last_pass_ends_the_mix_or_drops_the_domain),
	    cmocka_unit_test(test_a_step_that_is_drawn_already_is_told),
	    cmocka_unit_test(test_rounds_count_the_batches_of_phases_and_requests),
	    cmocka_unit_test(test_the_next_phase_has_its_batch_or_the_plans),
	    cmocka_unit_test(test_a_pass_that_ends_right_before_the_change_ends_there),
	    cmocka_unit_test(test_what_a_skip_keeps_out_and_its_undo_brings_back),
	    cmocka_unit_test(test_the_last_change_of_a_step_is_the_one_that_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
