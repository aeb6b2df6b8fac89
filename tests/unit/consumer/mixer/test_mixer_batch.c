/* The batch changes at a step: by phases, by requests, in rounds; what cannot be is refused. */
#include "common/base/limits.h"
#include "tests/unit/mixes.h"

static const uint64_t size[] = {100000};
static const struct mixer_source two[] = {
    {.name = "a", .weight = 3, .partitions_n = 1, .sequences = size},
    {.name = "b", .weight = 1, .partitions_n = 1, .sequences = size},
};

/* Batches of 16 on 4 lanes; 32 from step 10 on, 16 and other weights again from step 20 on. */
static struct ledger_raw_weight b_nine = {"b", 9};
static const struct mixer_phase phases[] = {
    {.name = "large", .start_step = 10, .global_batch = 32},
    {.name = "other", .start_step = 20, .weight = &b_nine, .weights_n = 1},
};

static struct mixer_plan
plan_of(const struct mixer_phase *phase, size_t n)
{
	struct mixer_plan p = mixes_plan(two, 2);

	p.lanes = 4;
	p.phase = phase;
	p.phases_n = n;
	return p;
}

static struct control
batch_at(char *id, int64_t at_step, uint32_t batch)
{
	return (struct control){
	    .id = id, .kind = LEDGER_WEIGHTS, .at_step = at_step, .global_batch = batch};
}

static void
ask(struct mixer *m, struct control c, int64_t step, const char *says)
{
	struct ledger_answer a = mixes_ask(m, c, NULL);

	if (a.accepted != (step >= 0) || strstr(a.text, says) == NULL)
		print_error("%s\n", a.text);
	assert_int_equal(a.accepted, step >= 0);
	assert_int_equal(a.step, step);
	assert_non_null(strstr(a.text, says));
	ledger_answer_clear(&a);
}

/* Takes steps up to `end`, and checks that those from `first` on have so many draws each. */
static void
run(struct mixer *m, const struct mixer_plan *p, uint64_t first, uint64_t end, uint32_t batch)
{
	while (mixer_step_next(m) < end) {
		uint64_t count[2] = {0}, step = mixer_step_next(m);

		assert_int_equal(mixes_step(m, p, count), MIXER_DRAWN);
		if (step >= first) {
			assert_int_equal(mixer_global_batch(m), batch);
			assert_int_equal(count[0] + count[1], batch);
		}
	}
}

static void
test_a_phase_gives_its_batch_and_the_next_one_falls_back_to_the_plans(void **state)
{
	struct mixer_plan p = plan_of(phases, 2);
	struct mixer *m = mixes_open(&p);

	(void)state;
	assert_int_equal(mixer_global_batch_most(m), 32);
	run(m, &p, 0, 10, 16);
	run(m, &p, 10, 20, 32);
	run(m, &p, 20, 25, 16);
	assert_int_equal(mixes_stand(m, 0).taken + mixes_stand(m, 1).taken, 25 * 16 + 10 * 16);
	mixer_close(m);
}

static void
test_a_request_governs_until_a_phase_and_wins_at_its_step(void **state)
{
	struct mixer_plan p = plan_of(phases, 2);
	struct mixer *m = mixes_open(&p);

	(void)state;
	ask(m, batch_at("r1", 5, 64), 5,
	    "global_batch 64 (was 16)\na: 75%; epoch 0 ends about step ");
	assert_int_equal(mixer_global_batch_most(m), 64);
	ask(m, batch_at("r2", 20, 8), 20, "global_batch 8 (was 16)");
	run(m, &p, 0, 5, 16);
	run(m, &p, 5, 10, 64);
	run(m, &p, 10, 20, 32);
	run(m, &p, 20, 25, 8);
	ask(m, batch_at("r3", -1, 16), 25, "takes effect at step 25\nglobal_batch 16 (was 8)");
	mixer_close(m);
}

static void
test_an_answer_says_what_the_next_phase_does_to_the_batch(void **state)
{
	struct mixer_plan p = plan_of(phases, 2);
	struct mixer *m = mixes_open(&p);

	(void)state;
	ask(m, batch_at("r1", -1, 64), 0,
	    "phase large at step 10 will replace these weights; its global_batch is 32");
	mixer_close(m);
}

/* The schedule goes on as if nothing had happened: draw by draw it is the same mix. */
static void
test_a_change_of_the_batch_alone_changes_no_draw(void **state)
{
	static struct mixer_draw draw[MIXES_BATCH_MAX];
	static const enum schedule_kind kinds[] = {
	    SCHEDULE_DEFICIT, SCHEDULE_GREEDY, SCHEDULE_RANDOM};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct mixer_plan p = plan_of(NULL, 0);
		static uint32_t first[1024], second[1024];
		size_t first_n = 0, second_n = 0;
		enum mixer_result result;
		struct mixer *a, *b;
		struct failure f;

		p.permute = false;
		p.schedule = kinds[k];
		a = mixes_open(&p);
		b = mixes_open(&p);
		ask(b, batch_at("r1", 3, 4), 3, "global_batch 4");
		ask(b, batch_at("r2", 7, 64), 7, "global_batch 64");
		while (first_n < 512) {
			assert_int_equal(mixer_step(a, draw, &result, &f), FAIL_NONE);
			for (uint32_t i = 0; i < mixer_global_batch(a); i++)
				first[first_n++] = draw[i].domain << 16 | (uint32_t)draw[i].ordinal;
		}
		while (second_n < 512) {
			assert_int_equal(mixer_step(b, draw, &result, &f), FAIL_NONE);
			for (uint32_t i = 0; i < mixer_global_batch(b); i++)
				second[second_n++] =
				    draw[i].domain << 16 | (uint32_t)draw[i].ordinal;
		}
		assert_memory_equal(first, second, 512 * sizeof(*first));
		mixer_close(a);
		mixer_close(b);
	}
}

/* Rounds of 100 draws; batches of 16, 4 and 24 end nowhere near their ends. */
static void
test_rounds_go_on_through_a_change(void **state)
{
	static const struct mixer_phase steps[] = {
	    {.name = "small", .start_step = 3, .global_batch = 4},
	    {.name = "large", .start_step = 8, .global_batch = 24},
	};
	struct mixer_plan p = plan_of(steps, 2);
	uint64_t count[2] = {0}, draws;
	struct mixer *m;

	(void)state;
	p.epoch_size = 100;
	m = mixes_open(&p);
	ask(m, mixes_weight("r1", 20, &b_nine, 1), 20, /* 3 * 16 + 5 * 4 + 12 * 24 = 356 draws */
	    "the 44 draws of round 3 that remain are dealt again");
	for (int i = 0; i < 9; i++)
		mixes_step(m, &p, count);
	assert_int_equal(mixer_round(m, &draws), 0);
	assert_int_equal(draws, 92);
	mixes_step(m, &p, count);
	assert_int_equal(mixer_round(m, &draws), 1);
	assert_int_equal(draws, 16);
	while (mixer_step_next(m) < 20)
		mixes_step(m, &p, count);
	assert_int_equal(mixer_round(m, &draws), 3);
	assert_int_equal(draws, 56);
	assert_int_equal(count[0] + count[1], 356);
	assert_true(count[0] >= 266 && count[0] <= 268);
	mixer_close(m);
}

static void
test_batches_that_cannot_be_are_refused_with_the_nearest(void **state)
{
	static const struct {
		uint32_t batch;
		const char *says;
	} cases[] = {
	    {3, "a multiple of the mix's 4 lanes, not 3: the nearest is 4"},
	    {17, "a multiple of the mix's 4 lanes, not 17: the nearest are 16 and 20"},
	    {LIMIT_BATCH - 1, "not 1048575: the nearest are 1048572 and 1048576"},
	    {LIMIT_BATCH + 1, "not 1048577: the nearest is 1048576"},
	    {LIMIT_BATCH + 4, "global_batch can be at most 1048576 with 4 lanes, not 1048580"},
	};
	struct mixer_plan p = plan_of(NULL, 0);
	struct mixer *m = mixes_open(&p);
	char id[] = "r0";

	(void)state;
	EACH_NAMED_ROW(i, cases, says) {
		id[1]++;
		ask(m, batch_at(id, -1, cases[i].batch), -1, cases[i].says);
	}
	ask(m, batch_at("none", -1, 0), -1,
	    "asks for nothing: no weight, temperature, lr_scale or global_batch");
	assert_int_equal(mixer_pending(m), 0);
	mixer_close(m);
}

static void
test_phases_with_a_batch_that_cannot_be_are_refused(void **state)
{
	static const uint32_t wrong[] = {2, 18, LIMIT_BATCH + 4};

	(void)state;
	EACH_ROW(i, wrong) {
		const struct mixer_phase one = {
		    .name = "x", .start_step = 1, .global_batch = wrong[i]};
		struct mixer_plan p = plan_of(&one, 1);
		struct mixer *m = NULL;
		struct failure f;

		assert_int_equal(mixer_open(&m, &p, &f), FAIL_CONFIG);
		assert_non_null(
		    strstr(f.text, "phase x: global_batch must be a multiple of the 4 lanes"));
	}
}

/* Weights, a rate and a batch in one request are one version. */
static void
test_a_batch_goes_with_weights_and_a_rate(void **state)
{
	struct mixer_plan p = plan_of(NULL, 0);
	struct mixer *m = mixes_open(&p);
	struct control c = mixes_weight("r1", 2, &b_nine, 1);

	(void)state;
	c.lr_scale = 0.5;
	c.global_batch = 32;
	ask(m, c, 2, "lr_scale 0.5 (was 1)\nglobal_batch 32 (was 16)\na: 25% (was 75%)");
	run(m, &p, 0, 2, 16);
	assert_int_equal(mixer_version(m), 1);
	run(m, &p, 2, 4, 32);
	assert_int_equal(mixer_version(m), 2);
	assert_true(mixer_lr_scale(m) == 0.5);
	assert_true(mixes_stand(m, 1).share == 0.75);
	mixer_close(m);
}

/* The other share of a's epoch in a step: 100000 left, 12 a step until step 100, then 48. */
static void
test_ends_of_epochs_follow_the_batch(void **state)
{
	struct mixer_plan p = plan_of(NULL, 0);
	struct mixer *m = mixes_open(&p);

	(void)state;
	ask(m, batch_at("r1", 100, 64), 100, "a: 75%; epoch 0 ends about step 2159 (was 8334)");
	/* The same again, then one behind the epoch: r1 governs from step 100 on, not now. */
	ask(m, batch_at("r2", 100, 64), 100, "a: 75%; epoch 0 ends about step 2159\nb: ");
	ask(m, batch_at("r3", 4000, 16), 4000, "a: 75%; epoch 0 ends about step 2159\nb: ");
	mixer_close(m);
}

/* Until step 10 a is drawn 12 times a step, until 20 24 times, until 30 4 times, then 16 times. */
static void
test_ends_of_epochs_follow_all_that_comes_before_a_change(void **state)
{
	struct mixer_plan p = plan_of(phases, 2);
	struct mixer *m = mixes_open(&p);

	(void)state;
	ask(m, batch_at("r1", 30, 64), 30, "a: 25%; epoch 0 ends about step 6255 (was 24");
	mixer_close(m);
}

/* The mixer of before: its record has no batch, which is the plan's. */
static void
test_a_record_without_a_batch_has_the_plans(void **state)
{
	struct mixer_plan p = plan_of(NULL, 0);
	struct mixer *m = mixes_open(&p), *again;
	struct ledger l = {0};
	struct failure f;

	(void)state;
	run(m, &p, 0, 3, 16);
	assert_int_equal(mixer_save(m, &l, &f), FAIL_NONE);
	assert_int_equal(l.global_batch, 16);
	l.global_batch = 0;
	assert_int_equal(mixer_resume(&again, &p, &l, &f), FAIL_NONE);
	run(again, &p, 3, 5, 16);
	mixer_close(again);
	l.global_batch = 18;
	assert_int_equal(mixer_resume(&again, &p, &l, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "global_batch 18 cannot be in force with 4 lanes"));
	ledger_clear(&l);
	mixer_close(m);
}

/* What both files say alike stays in force, also where a request has changed it. */
static void
test_a_changed_configuration_keeps_a_batch_that_was_asked_for(void **state)
{
	static const struct mixer_phase earlier = {
	    .name = "large", .start_step = 1, .global_batch = 32};
	struct mixer_source heavier[2] = {two[0], two[1]};
	struct mixer_plan was = plan_of(NULL, 0), p = was;
	struct mixer *m = mixes_open(&was);
	struct failure f;

	(void)state;
	heavier[1].weight = 2;
	p.source = heavier;
	ask(m, batch_at("r1", 2, 64), 2, "global_batch 64");
	run(m, &was, 2, 4, 64);
	assert_int_equal(mixer_replan(m, &p, &was, &f), FAIL_NONE);
	run(m, &p, 4, 6, 64);
	was = p;
	p.phase = &earlier; /* has begun: what it says comes into force */
	p.phases_n = 1;
	assert_int_equal(mixer_replan(m, &p, &was, &f), FAIL_NONE);
	run(m, &p, 6, 8, 32);
	mixer_close(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_phase_gives_its_batch_and_the_next_one_falls_back_to_the_plans),
	    cmocka_unit_test(test_a_request_governs_until_a_phase_and_wins_at_its_step),
	    cmocka_unit_test(test_an_answer_says_what_the_next_phase_does_to_the_batch),
	    cmocka_unit_test(test_a_change_of_the_batch_alone_changes_no_draw),
	    cmocka_unit_test(test_rounds_go_on_through_a_change),
	    cmocka_unit_test(test_batches_that_cannot_be_are_refused_with_the_nearest),
	    cmocka_unit_test(test_phases_with_a_batch_that_cannot_be_are_refused),
	    cmocka_unit_test(test_a_batch_goes_with_weights_and_a_rate),
	    cmocka_unit_test(test_ends_of_epochs_follow_the_batch),
	    cmocka_unit_test(test_ends_of_epochs_follow_all_that_comes_before_a_change),
	    cmocka_unit_test(test_a_record_without_a_batch_has_the_plans),
	    cmocka_unit_test(test_a_changed_configuration_keeps_a_batch_that_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
