/*
 * attach.h: whether a mixer may continue by the ledger's last record, in a mock cluster, and what a
 * changed configuration is said to change.
 */
#include "consumer/publish/attach.h"

#include "tests/unit/ledger_mix.h"
#include "tests/unit/mock_topics.h"

static struct ledger_mix mix;
static struct domains_facts facts[2];
static struct domains domains = {.n = 2, .facts = facts, .tokenizer = 7};

/* The ledger ends with the record that a mixer writes after `steps` steps. */
static void
write_last(const struct ledger_mix *x, int64_t steps, enum ledger_kind kind)
{
	struct ledger l = ledger_mix_record(x, steps);

	l.kind = kind;
	free(l.mix);
	l.mix = strdup("m");
	mock_write_ledger("m.ledger", &l);
	ledger_clear(&l);
}

static void
open_attach(struct attach *a, const struct ledger_mix *x, const struct attach_accept *accept)
{
	static struct config c;

	c = x->c;
	c.kafka = mock_properties;
	c.path = (char *)"run.yml";
	domains.config = &c;
	for (int i = 0; i < 2; i++)
		facts[i] = (struct domains_facts){
		    .partitions_n = 1, .sequences = (uint64_t *)(uintptr_t)&x->sequences[i]};
	assert_int_equal(attach_open(a, &c, accept, &f), FAIL_NONE);
	assert_int_equal(attach_bind(a, &domains, &f), FAIL_NONE);
}

/* The check of the last record; what it says is in `f`. */
static enum fail_code
check(const struct ledger_mix *x, const struct attach_accept *accept)
{
	struct ledger last = {0};
	struct attach a;
	enum fail_code code;
	bool found;

	open_attach(&a, x, accept);
	code = attach_check(&a, &last, &found, &f);
	assert_true(found);
	ledger_clear(&last);
	attach_close(&a);
	return code;
}

static void
test_a_mix_ends_where_it_stands_or_later_and_once(void **unused)
{
	static const struct {
		enum ledger_kind kind;
		int64_t stands;
		bool ends;
		uint64_t until;
		const char *says; /* NULL: it may */
	} rows[] = {
	    {LEDGER_STEPS, 4, true, 5, NULL},
	    {LEDGER_STEPS, 4, true, 4, NULL},
	    {LEDGER_STEPS, 4, true, 3,
		"mix m cannot end before step 3: the steps below 4 are published. Name that one or "
		"a later one: --end-at-step 4"},
	    {LEDGER_STEPS, 4, false, 3, NULL}, /* it only stops there */
	    {LEDGER_END, 4, true, 4, NULL},    /* it has ended there */
	    {LEDGER_END, 4, true, 5, "mix m ended before step 4 already"},
	    {LEDGER_END, 4, true, 3, "mix m ended before step 4 already"},
	    {LEDGER_END, 4, false, 9, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		const struct attach_accept accept = {
		    .ends = rows[i].ends, .until_step = rows[i].until};

		write_last(&mix, rows[i].stands, rows[i].kind);
		assert_int_equal(
		    check(&mix, &accept), rows[i].says == NULL ? FAIL_NONE : FAIL_CONFIG);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
	}
}

static void
test_whether_a_mix_has_reached_its_last_step(void **unused)
{
	static const struct {
		enum ledger_kind kind;
		int64_t stands;
		uint64_t until;
		bool reached;
	} rows[] = {
	    {LEDGER_STEPS, 4, 3, true},
	    {LEDGER_STEPS, 4, 4, true},
	    {LEDGER_STEPS, 4, 5, false},
	    {LEDGER_END, 4, 4, false},
	    {LEDGER_START, 0, 1, false},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		const struct attach_accept accept = {.until_step = rows[i].until};
		struct ledger last = {0};
		struct attach a;
		int64_t step;
		bool reached;

		write_last(&mix, rows[i].stands, rows[i].kind);
		open_attach(&a, &mix, &accept);
		assert_int_equal(attach_reached(&a, &reached, &step, &f), FAIL_NONE);
		assert_int_equal(reached, rows[i].reached);
		assert_int_equal(step, rows[i].stands);
		assert_int_equal(attach_last(&a, &last, &f), FAIL_NONE);
		assert_int_equal(last.step_next, rows[i].stands);
		ledger_clear(&last);
		/* What is committed is seen from its own step on. */
		assert_int_equal(attach_wait_visible(&a, (uint64_t)rows[i].stands, &f), FAIL_NONE);
		attach_close(&a);
	}
}

/* ---- a changed configuration ---- */

static char changes[4096]; /* the text of the last confirm() */
static bool refuses;

static enum fail_code
confirm(void *opaque, const char *text, struct failure *f)
{
	(void)opaque;
	snprintf(changes, sizeof(changes), "%s", text);
	return refuses ? fail(f, FAIL_USAGE, "no") : FAIL_NONE;
}

static void
open_changed(struct ledger_mix *x)
{
	ledger_mix_open(x, 1);
	x->phase_weight[0][0] = 4;
	x->phase[0].lr_scale = 0.25;
	x->phase[0].temperature = 2;
	x->phase[0].global_batch = 16;
}

static void
test_a_changed_configuration_is_taken_if_it_is_accepted_and_a_step_follows(void **unused)
{
	static const struct {
		enum ledger_kind kind;
		bool accept, ends;
		uint64_t until;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {LEDGER_STEPS, true, false, 5, FAIL_NONE, NULL},
	    {LEDGER_STEPS, true, false, UINT64_MAX, FAIL_NONE, NULL},
	    {LEDGER_STEPS, false, false, 5, FAIL_CONFIG, " (mix m has begun, and is at step 4)"},
	    {LEDGER_STEPS, true, false, 4, FAIL_CONFIG,
		"mix m is at step 4, and --until-step 4 is reached: no step follows, and the "
		"changed configuration is not accepted: give --until-step 5 or more"},
	    {LEDGER_STEPS, true, true, 4, FAIL_CONFIG,
		"mix m is at step 4, and --end-at-step 4 is reached: no step follows, and the "
		"changed configuration is not accepted: give --end-at-step 5 or more"},
	    {LEDGER_END, true, false, 9, FAIL_CONFIG,
		"mix m ended before step 4: no step follows, and the changed configuration is not "
		"accepted"},
	};
	struct ledger_mix x;

	(void)unused;
	open_changed(&x);
	EACH_ROW(i, rows) {
		const struct attach_accept accept = {.accept = rows[i].accept,
		    .ends = rows[i].ends,
		    .until_step = rows[i].until,
		    .confirm = confirm};

		changes[0] = '\0';
		write_last(&mix, 4, rows[i].kind);
		assert_int_equal(check(&x, &accept), rows[i].code);
		assert_int_equal(changes[0] != '\0', rows[i].code == FAIL_NONE);
		if (rows[i].says != NULL)
			assert_non_null(strstr(f.text, rows[i].says));
	}
	ledger_mix_close(&x);
}

static void
test_all_that_a_changed_configuration_changes_is_told_before_it_is_taken(void **unused)
{
	const struct attach_accept accept = {
	    .accept = true, .until_step = UINT64_MAX, .confirm = confirm};
	struct ledger_mix x;

	(void)unused;
	write_last(&mix, 4, LEDGER_STEPS);
	open_changed(&x);
	assert_int_equal(check(&x, &accept), FAIL_NONE);
	assert_non_null(
	    strstr(changes, "\nfrom step 4 on, in force -> will be:"
			    "\n  a: weight 1, share 20.0000 % -> weight 4, share 50.0000 %"
			    "\n  b: weight 4, share 80.0000 % -> weight 4, share 50.0000 %"
			    "\n  temperature: 1 -> 2"
			    "\n  lr_scale: 0.5 -> 0.25"
			    "\n  global_batch: 8 -> 16"));
	assert_null(strstr(changes, "--accept-config")); /* which is given */
	refuses = true;
	assert_int_equal(check(&x, &accept), FAIL_USAGE);
	refuses = false;
	ledger_mix_close(&x);

	/* Only what is to come later changes. */
	ledger_mix_open(&x, 1);
	x.phase_weight[4][0] = 40;
	assert_int_equal(check(&x, &accept), FAIL_NONE);
	assert_null(strstr(changes, "\n  a: "));
	ledger_mix_close(&x);
	changes[0] = '\0';
	assert_int_equal(check(&mix, &accept), FAIL_NONE); /* nothing does */
	assert_string_equal(changes, "");
}

static void
test_a_record_that_contradicts_itself_or_is_of_another_mix_is_refused(void **unused)
{
	static const struct attach_accept accept = {.until_step = UINT64_MAX};
	struct ledger l = ledger_mix_record(&mix, 4);

	(void)unused;
	free(l.mix);
	l.mix = strdup("other");
	mock_write_ledger("m.ledger", &l);
	assert_int_equal(check(&mix, &accept), FAIL_DATA);
	assert_string_equal(
	    f.text, "topic m.ledger: the last record: is of mix \"other\", not of m");
	free(l.mix);
	l.mix = strdup("m");
	l.schedule++;
	mock_write_ledger("m.ledger", &l);
	assert_int_equal(check(&mix, &accept), FAIL_DATA);
	assert_non_null(strstr(f.text, "has the schedule hash "));
	ledger_clear(&l);
}

/* Weights by size: those of the first start, until a changed configuration is accepted. */
static void
test_weights_by_size_are_those_of_the_ledger_unless_a_change_is_accepted(void **unused)
{
	struct attach_accept accept = {.until_step = UINT64_MAX, .confirm = confirm};
	struct ledger_mix x;

	(void)unused;
	ledger_mix_open(&x, 1);
	x.c.mix.weights_kind = CONFIG_WEIGHTS_SIZE;
	x.c.mix.phases_n = 0;
	config_plan_close(&x.plan);
	free(x.text);
	assert_int_equal(config_plan_open(&x.plan, &x.c, x.length, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&x.text, &x.c, &x.plan, 7, &f), FAIL_NONE);
	write_last(&x, 4, LEDGER_STEPS);
	x.sequences[0] = 1600; /* of 2000 */
	changes[0] = '\0';
	assert_int_equal(check(&x, &accept), FAIL_NONE);
	assert_string_equal(changes, "");
	accept.accept = true;
	assert_int_equal(check(&x, &accept), FAIL_NONE);
	assert_non_null(strstr(changes, "share 60.0000 % -> weight 0.8, share 80.0000 %"));
	ledger_mix_close(&x);
}

/* ---- attaching ---- */

static void
test_a_mix_that_has_ended_is_over_and_other_partitions_are_refused(void **unused)
{
	static const struct attach_accept accept = {.until_step = UINT64_MAX};

	(void)unused;
	write_last(&mix, 4, LEDGER_END);
	for (size_t other = 0; other <= 2; other++) { /* 2: none of the domains */
		struct ledger last = {0};
		struct mixer *m = NULL;
		struct lead *lead;
		struct attach a;
		bool found, over;

		open_attach(&a, &mix, &accept);
		assert_int_equal(lead_open(&lead, a.config, &f), FAIL_NONE);
		assert_int_equal(attach_look(&a, &last, &found, &f), FAIL_NONE);
		assert_true(found);
		for (size_t i = 0; i < 2; i++)
			snprintf(facts[i].name, sizeof(facts[i].name), "%s", i == 0 ? "a" : "b");
		if (other < 2)
			facts[other].partitions_n = 2;
		assert_int_equal(attach_take(&a, lead, &last, found, &m, &over, &f),
		    other < 2 ? FAIL_CONFIG : FAIL_NONE);
		assert_int_equal(over, other == 2);
		if (other < 2) {
			assert_memory_equal(f.text, other == 0 ? "domain a" : "domain b", 8);
			assert_non_null(strstr(
			    f.text, ": the mix was begun with 1 partitions, now there are 2"));
		} else {
			assert_int_equal(mixer_step_next(m), 4);
		}
		mixer_close(m);
		lead_close(lead);
		ledger_clear(&last);
		attach_close(&a);
	}
}

static int
begin(void **unused)
{
	if (mock_begin(unused) != 0)
		return -1;
	mock_topic("m.ledger", 1);
	ledger_mix_open(&mix, 1);
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
	    cmocka_unit_test(test_a_mix_ends_where_it_stands_or_later_and_once),
	    cmocka_unit_test(test_whether_a_mix_has_reached_its_last_step),
	    cmocka_unit_test(
		test_a_changed_configuration_is_taken_if_it_is_accepted_and_a_step_follows),
	    cmocka_unit_test(
		test_all_that_a_changed_configuration_changes_is_told_before_it_is_taken),
	    cmocka_unit_test(test_a_record_that_contradicts_itself_or_is_of_another_mix_is_refused),
	    cmocka_unit_test(
		test_weights_by_size_are_those_of_the_ledger_unless_a_change_is_accepted),
	    cmocka_unit_test(test_a_mix_that_has_ended_is_over_and_other_partitions_are_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
