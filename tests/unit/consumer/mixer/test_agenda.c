#include "consumer/mixer/agenda.h"
#include "tests/unit/test.h"

static void
insert(struct agenda *a, char *id, int64_t step)
{
	struct ledger_raw_weight weight = {"web", 0.5};
	const struct ledger_change c = {
	    .id = id, .step = step, .kind = LEDGER_WEIGHTS, .weight = &weight, .weights_n = 1};
	struct failure f;

	assert_int_equal(agenda_insert(a, &c, &f), FAIL_NONE);
}

/* Takes what is due at `step`; the ids, one after the other. */
static const char *
due(struct agenda *a, uint64_t step)
{
	static char ids[64];
	const struct ledger_change *c;

	for (ids[0] = '\0'; (c = agenda_due(a, step)) != NULL; agenda_count_done(a))
		snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s", c->id);
	return ids;
}

static void
test_requests_take_effect_by_step_then_in_the_order_of_acceptance(void **state)
{
	struct agenda a = {0};

	(void)state;
	insert(&a, "c", 20);
	insert(&a, "a", 10);
	insert(&a, "d", 20);
	insert(&a, "b", 10);
	assert_int_equal(agenda_waiting(&a), 4);
	assert_string_equal(due(&a, 9), "");
	assert_string_equal(due(&a, 10), "ab");
	assert_int_equal(agenda_waiting(&a), 2);
	assert_string_equal(due(&a, 25), "cd");
	agenda_close(&a);
}

static void
test_an_undone_step_has_its_requests_before_it_again(void **state)
{
	struct agenda a = {0};

	(void)state;
	insert(&a, "a", 10);
	insert(&a, "b", 11);
	agenda_keep(&a);
	assert_string_equal(due(&a, 10), "a");
	agenda_undo(&a);
	assert_int_equal(agenda_waiting(&a), 2);
	assert_string_equal(due(&a, 10), "a");
	agenda_forget_done(&a);
	assert_int_equal(a.pending_n, 1);
	assert_string_equal(due(&a, 11), "b");
	agenda_close(&a);
}

static void
test_a_request_that_comes_late_stands_behind_those_in_force(void **state)
{
	struct agenda a = {0};

	(void)state;
	insert(&a, "a", 10);
	assert_string_equal(due(&a, 10), "a");
	insert(&a, "b", 5); /* accepted for a step that is drawn already: due at once */
	assert_string_equal(a.pending[0].id, "a");
	assert_string_equal(due(&a, 11), "b");
	agenda_close(&a);
}

static void
test_phases_are_found_by_their_start(void **state)
{
	struct ledger_raw_weight weight = {"web", 2};
	const struct mixer_phase phase[] = {
	    {.name = "warm", .start_step = 10, .weight = &weight, .weights_n = 1},
	    {.name = "anneal", .start_step = 30, .temperature = 2, .lr_scale = 0.5},
	};
	struct agenda a = {0};
	struct failure f;

	(void)state;
	assert_int_equal(agenda_set_phases(&a, phase, 2, 3, &f), FAIL_NONE);
	assert_int_equal(agenda_phase_from(&a, 0), 0);
	assert_int_equal(agenda_phase_from(&a, 10), 0);
	assert_int_equal(agenda_phase_from(&a, 11), 1);
	assert_int_equal(agenda_phase_from(&a, 31), 2);
	assert_null(agenda_phase_at(&a, 9));
	assert_string_equal(agenda_phase_at(&a, 10)->name, "warm");
	assert_null(agenda_phase_at(&a, 11));
	assert_string_equal(agenda_phase_at(&a, 30)->name, "anneal");
	/* What a phase does not say: the plan's temperature, and 1. */
	assert_true(a.phase[0].temperature == 3 && a.phase[0].lr_scale == 1);
	assert_true(a.phase[1].temperature == 2 && a.phase[1].lr_scale == 0.5);
	agenda_close(&a);
}

static void
test_a_copy_is_independent(void **state)
{
	struct ledger_raw_weight weight = {"web", 2};
	const struct mixer_phase phase[] = {
	    {.name = "warm", .start_step = 10, .weight = &weight, .weights_n = 1}};
	struct agenda a = {0}, copy = {0};
	struct failure f;

	(void)state;
	assert_int_equal(agenda_set_phases(&a, phase, 1, 1, &f), FAIL_NONE);
	insert(&a, "a", 10);
	insert(&a, "b", 20);
	due(&a, 10);
	assert_int_equal(agenda_copy(&copy, &a, &f), FAIL_NONE);
	agenda_close(&a);
	assert_int_equal(agenda_waiting(&copy), 1);
	assert_string_equal(agenda_phase_at(&copy, 10)->weight[0].domain, "web");
	assert_string_equal(due(&copy, 20), "b");
	agenda_close(&copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_requests_take_effect_by_step_then_in_the_order_of_acceptance),
	    cmocka_unit_test(test_an_undone_step_has_its_requests_before_it_again),
	    cmocka_unit_test(test_a_request_that_comes_late_stands_behind_those_in_force),
	    cmocka_unit_test(test_phases_are_found_by_their_start),
	    cmocka_unit_test(test_a_copy_is_independent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
