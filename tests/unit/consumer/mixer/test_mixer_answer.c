/* The text of an accepted answer: figures that a user decides by. */
#include "tests/unit/mixes.h"

static const uint64_t web_n[] = {4000}, code_n[] = {1000};

static struct mixer_source pair[] = {
    {.name = "code",
	.weight = 0.75, /* exact, as sums of powers of two */
	.partitions_n = 1,
	.sequences = code_n,
	.on_end = MIX_END_DROP,
	.max_epochs = 3},
    {.name = "web", .weight = 0.25, .partitions_n = 1, .sequences = web_n},
};

static struct mixer_plan
plan_of_pair(void)
{
	struct mixer_plan p = mixes_plan(pair, 2);

	p.global_batch = 100;
	return p;
}

static void
assert_answer(struct mixer *m, struct control c, const char *text)
{
	struct ledger_answer a = mixes_ask(m, c, NULL);

	assert_true(a.accepted);
	assert_string_equal(a.text, text);
	ledger_answer_clear(&a);
}

/*
 * 100 draws a step. code: 75 a step until 10, then 50: 1000 - 750 more take 5 steps; 3000 are 750 +
 * 45 * 50. web: 25 a step until 10, then 50: 4000 - 250 take 75 steps.
 */
static void
test_an_answer_says_when_passes_end_with_the_change_and_without_it(void **state)
{
	struct ledger_raw_weight half[] = {{"code", 1}, {"web", 1}};
	struct mixer_plan p = plan_of_pair();
	struct mixer *m = mixes_open(&p);
	struct control c = mixes_weight((char *)"a", 10, half, 2);

	(void)state;
	c.temperature = 2;
	c.lr_scale = 0.5;
	assert_answer(m, c,
	    "takes effect at step 10\ntemperature 2 (was 1)\nlr_scale 0.5 (was 1)\n"
	    "code: 50% (was 75%); epoch 0 ends about step 15 (was 14); it is dropped about step 55 "
	    "(was 40)\n"
	    "web: 50% (was 25%); epoch 0 ends about step 85 (was 160)");
	mixer_close(m);
}

static void
test_a_domain_that_gets_no_weight_ends_at_no_step(void **state)
{
	struct ledger_raw_weight none[] = {{"web", 0}};
	struct mixer_plan p = plan_of_pair();
	struct mixer *m = mixes_open(&p);

	(void)state;
	assert_answer(m, mixes_weight((char *)"a", 10, none, 1),
	    "takes effect at step 10\n"
	    "code: 100% (was 75%); epoch 0 ends about step 13 (was 14); it is dropped about step "
	    "33 "
	    "(was 40)\n"
	    "web: 0% (was 25%); epoch 0 ends at no step (was 160)");
	/* It has 25% until step 10 and none from there on: what ends is compared with that. */
	none[0].weight = 0.25;
	assert_answer(m, mixes_weight((char *)"b", 20, none, 1),
	    "takes effect at step 20\n"
	    "code: 75% (was 100%); epoch 0 ends about step 13; it is dropped about step 37 (was "
	    "33)\n"
	    "web: 25% (was 0%); epoch 0 ends about step 170 (was: at none)");
	mixer_close(m);
}

static void
test_a_phase_that_ends_a_change_is_named_where_it_comes_later(void **state)
{
	static const struct mixer_phase phases[] = {
	    {.name = "one", .start_step = 9}, {.name = "two", .start_step = 11}};
	struct ledger_raw_weight half[] = {{"code", 1}, {"web", 1}};
	static const struct {
		int64_t step;
		const char *named;
	} row[] = {{8, "phase one at step 9"}, {9, "phase two at step 11"},
	    {10, "phase two at step 11"}, {11, NULL}, {12, NULL}};
	struct mixer_plan p = plan_of_pair();

	(void)state;
	p.phase = phases;
	p.phases_n = 2;
	EACH_NAMED_ROW(i, row, named) {
		struct mixer *m = mixes_open(&p);
		struct ledger_answer a =
		    mixes_ask(m, mixes_weight((char *)"a", row[i].step, half, 2), NULL);
		const char *found = strstr(a.text, "\nphase ");

		assert_true((found != NULL) == (row[i].named != NULL));
		if (found != NULL)
			assert_memory_equal(found + 1, row[i].named, strlen(row[i].named));
		ledger_answer_clear(&a);
		mixer_close(m);
	}
}

/* What a change replaces is what would be in force at its step: a phase that starts there, too. */
static void
test_a_change_is_told_against_the_phase_of_its_step(void **state)
{
	static const struct mixer_phase phases[] = {
	    {.name = "one", .start_step = 9, .lr_scale = 0.5}};
	struct mixer_plan p = plan_of_pair();

	(void)state;
	p.phase = phases;
	p.phases_n = 1;
	for (int64_t step = 8; step < 11; step++) {
		struct mixer *m = mixes_open(&p);
		struct ledger_answer a = mixes_ask(m,
		    (struct control){.id = (char *)"a", .at_step = step, .lr_scale = 0.25}, NULL);

		assert_non_null(
		    strstr(a.text, step < 9 ? "lr_scale 0.25 (was 1)" : "lr_scale 0.25 (was 0.5)"));
		ledger_answer_clear(&a);
		mixer_close(m);
	}
}

/* 16 draws a step, 40 a round: step 5 is behind 80, step 6 behind 96. */
static void
test_rounds_are_counted_up_to_the_change(void **state)
{
	static const struct {
		int64_t step;
		const char *said;
	} row[] = {
	    {2, "the 8 draws of round 0 that remain"},
	    {3, "the 32 draws of round 1 that remain"},
	    {5, "round 2 begins with it"},
	    {6, "the 24 draws of round 2 that remain"},
	    {45, "round 18 begins with it"},
	    {46, "the 24 draws of round 18 that remain"},
	};
	struct ledger_raw_weight half[] = {{"code", 1}, {"web", 1}};
	struct mixer_plan p = mixes_plan(pair, 2);

	(void)state;
	p.epoch_size = 40;
	EACH_NAMED_ROW(i, row, said) {
		struct mixer *m = mixes_open(&p);
		struct ledger_answer a;

		assert_int_equal(mixes_step(m, &p, NULL), MIXER_DRAWN);
		a = mixes_ask(m, mixes_weight((char *)"a", row[i].step, half, 2), NULL);
		assert_true(a.accepted);
		assert_non_null(strstr(a.text, row[i].said));
		ledger_answer_clear(&a);
		mixer_close(m);
	}
}

static void
test_the_first_sixty_four_domains_with_a_share_are_listed(void **state)
{
	enum { DOMAINS = 70 };
	static struct mixer_source many[DOMAINS];
	static char name[DOMAINS][16];
	struct ledger_raw_weight one[] = {{name[1], 2}};
	struct mixer_plan p;
	struct mixer *m;
	struct ledger_answer a;

	(void)state;
	for (int i = 0; i < DOMAINS; i++) {
		snprintf(name[i], sizeof(name[i]), "d%02d", i);
		/* The first has no share, before or after. */
		many[i] = (struct mixer_source){
		    .name = name[i], .weight = i > 0, .partitions_n = 1, .sequences = web_n};
	}
	p = mixes_plan(many, DOMAINS);
	m = mixes_open(&p);
	a = mixes_ask(m, mixes_weight((char *)"a", 1, one, 1), NULL);
	assert_null(strstr(a.text, "\nd00:"));
	assert_non_null(strstr(a.text, "\nd01: "));
	assert_non_null(strstr(a.text, "\nd64: "));
	assert_null(strstr(a.text, "\nd65: "));
	assert_non_null(strstr(a.text, "\nand 5 more"));
	ledger_answer_clear(&a);
	mixer_close(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_answer_says_when_passes_end_with_the_change_and_without_it),
	    cmocka_unit_test(test_a_domain_that_gets_no_weight_ends_at_no_step),
	    cmocka_unit_test(test_a_phase_that_ends_a_change_is_named_where_it_comes_later),
	    cmocka_unit_test(test_a_change_is_told_against_the_phase_of_its_step),
	    cmocka_unit_test(test_rounds_are_counted_up_to_the_change),
	    cmocka_unit_test(test_the_first_sixty_four_domains_with_a_share_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
