/*
 * ledger_plan.h: each key of the configuration in a ledger record comes to its field of the plan,
 * with its default and its range.
 */
#include "consumer/plan/ledger_plan.h"

#include "common/base/limits.h"
#include "tests/unit/test.h"

/* Of domains a, b and c, with the lengths that the record counts with. */
#define FIXED                                                                                      \
	"\"corpus\":\"c\",\"seed\":\"18446744073709551615\",\"sequence_length\":64,"               \
	"\"global_batch\":8,\"lanes\":4,\"block\":16,\"window\":2"
#define DOMAINS "\"a\":{\"weight\":3.5},\"b\":{\"weight\":1}"

static struct ledger_plan plan;

/* Opens the plan of a record with these two parts; to be ended with ledger_plan_close(). */
static enum fail_code
open_plan(const char *fixed, const char *changeable)
{
	static struct ledger_partition of_a[] = {{.sequences = 10, .sealed = true},
	    {.sequences = -1}},
				       of_b[] = {{.sequences = 30}};
	static struct ledger_domain domain[] = {
	    {.name = (char *)"a", .partition = of_a, .partitions_n = 2},
	    {.name = (char *)"b", .partition = of_b, .partitions_n = 1},
	    {.name = (char *)"empty"},
	    {.name = NULL},
	};
	char text[4096];
	const struct ledger l = {.config = text, .domain = domain, .domains_n = 4};

	snprintf(text, sizeof(text), "{\"fixed\":{%s},\"changeable\":{%s}}", fixed, changeable);
	return ledger_plan_open(&plan, &l, &f);
}

static void
test_keys_that_are_missing_have_their_defaults(void **unused)
{
	const struct mixer_plan *p = &plan.plan;

	(void)unused;
	assert_int_equal(open_plan(FIXED, "\"domains\":{" DOMAINS "}"), FAIL_NONE);
	assert_string_equal(plan.corpus, "c");
	assert_int_equal(plan.max_lead_steps, 0);
	assert_int_equal(plan.batches, MIX_BATCHES_COPIED);
	assert_int_equal(plan.runs_n, 0);
	assert_true(p->seed == UINT64_MAX && p->sequence_length == 64 && p->global_batch == 8);
	assert_true(p->lanes == 4 && p->block == 16 && p->window == 2);
	assert_true(p->shuffle == MIX_SHUFFLE_BLOCK && p->permute);
	assert_int_equal(p->lane_order, MIX_LANES_CONTIGUOUS);
	assert_int_equal(p->schedule, SCHEDULE_DEFICIT);
	assert_int_equal(p->weights_unit, MIX_BY_SEQUENCES);
	assert_true(p->temperature == 1 && p->epoch_size == 0 && p->phases_n == 0);
	assert_int_equal(p->sources_n, 2);
	assert_string_equal(p->source[0].name, "a");
	assert_true(p->source[0].weight == 3.5 && p->source[1].weight == 1);
	for (size_t i = 0; i < 2; i++) {
		const struct mixer_source *s = &p->source[i];

		assert_true(s->on_end == MIX_END_REPEAT && s->max_epochs == 0 && !s->live);
		assert_true(s->on_dry == MIX_DRY_WAIT && s->catch_up == 0 && !s->short_ones);
		assert_int_equal(s->shuffle, MIX_SHUFFLE_BLOCK);
	}
	/* The record's lengths, none of them below 0. */
	assert_true(p->source[0].partitions_n == 2 && p->source[1].partitions_n == 1);
	assert_true(p->source[0].sequences[0] == 10 && p->source[0].sequences[1] == 0);
	assert_true(p->source[0].sealed[0] && !p->source[0].sealed[1]);
	assert_true(p->source[1].sequences[0] == 30 && !p->source[1].sealed[0]);
	ledger_plan_close(&plan);
}

static void
test_every_key_comes_to_its_field(void **unused)
{
	const struct mixer_plan *p = &plan.plan;
	const struct mixer_source *a, *b;

	(void)unused;
	assert_int_equal(
	    open_plan(FIXED ",\"batches\":\"derived\",\"shuffle\":\"full\",\"permute\":false,"
			    "\"lane_order\":\"strided\",\"schedule\":\"greedy\","
			    "\"weights_unit\":\"tokens\",\"epoch_size\":\"40\"",
		"\"max_lead_steps\":\"7\",\"temperature\":0.5,\"runs\":[\"one\",\"two\"],"
		"\"domains\":{\"a\":{\"weight\":2,\"on_end\":\"drop\",\"max_epochs\":\"3\","
		"\"live\":true,\"on_dry\":\"lend\",\"catch_up\":1.5,\"packing\":\"best_fit\","
		"\"shuffle\":\"none\"},\"b\":{\"on_end\":\"stop\",\"packing\":\"concat\"},"
		"\"empty\":{\"weight\":1},\"zoo\":{\"weight\":1}},"
		"\"phases\":[{\"name\":\"p\",\"start_step\":\"5\",\"temperature\":2,"
		"\"lr_scale\":0.25,\"global_batch\":16,\"weights\":{\"a\":9,\"b\":0.5}},"
		"{\"name\":\"q\"}]"),
	    FAIL_NONE);
	assert_int_equal(plan.max_lead_steps, 7);
	assert_int_equal(plan.batches, MIX_BATCHES_DERIVED);
	assert_int_equal(plan.runs_n, 2);
	assert_true(ledger_plan_has_run(&plan, "one") && ledger_plan_has_run(&plan, "two"));
	assert_false(ledger_plan_has_run(&plan, "on"));
	assert_true(p->shuffle == MIX_SHUFFLE_FULL && !p->permute);
	assert_int_equal(p->lane_order, MIX_LANES_STRIDED);
	assert_int_equal(p->schedule, SCHEDULE_GREEDY);
	assert_int_equal(p->weights_unit, MIX_BY_TOKENS);
	assert_true(p->temperature == 0.5 && p->epoch_size == 40);
	/* A domain without partitions is left out, and so is a domain that the record lacks. */
	assert_int_equal(p->sources_n, 2);
	a = &p->source[0];
	b = &p->source[1];
	assert_true(a->weight == 2 && a->on_end == MIX_END_DROP && a->max_epochs == 3 && a->live);
	assert_true(a->on_dry == MIX_DRY_LEND && a->catch_up == 1.5 && a->short_ones);
	assert_int_equal(a->shuffle, MIX_SHUFFLE_NONE);
	assert_true(b->weight == 0 && b->on_end == MIX_END_STOP && !b->short_ones && !b->live);
	assert_int_equal(b->shuffle, MIX_SHUFFLE_FULL); /* the mix's */
	assert_int_equal(p->phases_n, 2);
	assert_string_equal(p->phase[0].name, "p");
	assert_true(p->phase[0].start_step == 5 && p->phase[0].temperature == 2);
	assert_true(p->phase[0].lr_scale == 0.25 && p->phase[0].global_batch == 16);
	assert_int_equal(p->phase[0].weights_n, 2);
	assert_string_equal(p->phase[0].weight[1].domain, "b");
	assert_true(p->phase[0].weight[0].weight == 9 && p->phase[0].weight[1].weight == 0.5);
	assert_true(p->phase[1].start_step == 0 && p->phase[1].temperature == 0);
	assert_true(p->phase[1].lr_scale == 1 && p->phase[1].global_batch == 0);
	assert_int_equal(p->phase[1].weights_n, 0);
	ledger_plan_close(&plan);

	assert_int_equal(open_plan(FIXED ",\"epoch_size\":\"largest\"", ""), FAIL_NONE);
	assert_true(plan.plan.epoch_size == MIXER_EPOCH_LARGEST);
	ledger_plan_close(&plan);
}

/* Both sides of each range. A key that comes twice has its last value refused as JSON. */
static void
test_values_are_held_to_their_ranges(void **unused)
{
	static const struct {
		const char *corpus, *length, *batch, *lanes, *block, *window;
		const char *wrong; /* NULL: taken */
	} rows[] = {
	    {"c", "1", "1", "1", "1", "1", NULL},
	    {"c", "1048576", "1048576", "4096", "4294967295", "4294967295", NULL},
	    {"", "1", "1", "1", "1", "1", "corpus"},
	    {"c", "0", "1", "1", "1", "1", "sequence_length"},
	    {"c", "1048577", "1", "1", "1", "1", "sequence_length"},
	    {"c", "1", "0", "1", "1", "1", "global_batch"},
	    {"c", "1", "1048577", "1", "1", "1", "global_batch"},
	    {"c", "1", "1", "0", "1", "1", "lanes"},
	    {"c", "1", "4097", "4097", "1", "1", "lanes"},
	    {"c", "1", "1", "1", "0", "1", "block"},
	    {"c", "1", "1", "1", "4294967296", "1", "block"},
	    {"c", "1", "1", "1", "1", "0", "window"},
	    {"c", "1", "1", "1", "1", "4294967296", "window"},
	    {"c", "1", "1", "1", "1", "-1", "window"},
	    {"c", "1", "1", "1", "1", "1.0", "window"},
	    {"c", "1", "1", "1", "1", "\"x\"", "window"},
	    {"c", "1", "9", "4", "1", "1", "lanes"}, /* no multiple */
	    {"c", "1", "8", "4", "1", "1", NULL},
	};

	(void)unused;
	_Static_assert(LIMIT_SEQUENCE == 1048576 && LIMIT_BATCH == 1048576 && LIMIT_LANES == 4096,
	    "the rows have the limits");
	EACH_NAMED_ROW(i, rows, wrong) {
		char fixed[512], expected[128];
		enum fail_code code;

		snprintf(fixed, sizeof(fixed),
		    "\"corpus\":\"%s\",\"sequence_length\":%s,\"global_batch\":%s,\"lanes\":%s,"
		    "\"block\":%s,\"window\":%s",
		    rows[i].corpus, rows[i].length, rows[i].batch, rows[i].lanes, rows[i].block,
		    rows[i].window);
		code = open_plan(fixed, "");
		assert_int_equal(code, rows[i].wrong == NULL ? FAIL_NONE : FAIL_DATA);
		if (rows[i].wrong != NULL) {
			snprintf(expected, sizeof(expected),
			    "the configuration in the ledger is damaged: %s is missing or out of "
			    "range",
			    rows[i].wrong);
			assert_string_equal(f.text, expected);
		}
		ledger_plan_close(&plan);
	}
}

static void
test_wrong_values_are_refused_by_their_key(void **unused)
{
	static const struct {
		const char *changeable, *wrong; /* NULL: taken */
	} rows[] = {
	    {"\"domains\":{\"a\":{\"weight\":\"1\"}}", "weight"},
	    {"\"domains\":{\"a\":{\"weight\":null}}", NULL},
	    {"\"domains\":{\"a\":{\"on_end\":\"never\"}}", "on_end"},
	    {"\"domains\":{\"a\":{\"on_dry\":7}}", "on_dry"},
	    {"\"domains\":{\"a\":{\"shuffle\":\"\"}}", "shuffle"},
	    {"\"domains\":{\"a\":{\"live\":1}}", NULL}, /* true alone is true */
	    {"\"domains\":{\"b\":{},\"a\":{}}", "domains"},
	    {"\"domains\":{\"a b\":{}}", "domains"},
	    {"\"domains\":{\"\":{}}", "domains"},
	    {"\"temperature\":true", "temperature"},
	    {"\"max_lead_steps\":\"18446744073709551615\"", NULL},
	    {"\"max_lead_steps\":\"18446744073709551616\"", "max_lead_steps"},
	    {"\"runs\":[1]", "runs"},
	    {"\"phases\":[{}]", "name"},
	    {"\"phases\":[{\"name\":\"p\",\"global_batch\":1048576}]", NULL},
	    {"\"phases\":[{\"name\":\"p\",\"global_batch\":1048577}]", "phases"},
	    {"\"phases\":[{\"name\":\"p\",\"weights\":{\"a\":\"1\"}}]", "phases"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, changeable) {
		char expected[64];

		assert_int_equal(open_plan(FIXED, rows[i].changeable),
		    rows[i].wrong == NULL ? FAIL_NONE : FAIL_DATA);
		if (rows[i].wrong != NULL) {
			snprintf(expected, sizeof(expected), "damaged: %s is", rows[i].wrong);
			assert_non_null(strstr(f.text, expected));
		} else if (plan.plan.sources_n > 0) {
			assert_false(plan.plan.source[0].live);
		}
		ledger_plan_close(&plan);
	}
}

static void
test_as_many_phases_are_taken_as_a_mix_may_have(void **unused)
{
	static const char one[] = "{\"name\":\"p\"},";

	(void)unused;
	for (size_t n = LIMIT_PHASES; n <= LIMIT_PHASES + 1; n++) {
		const size_t room = n * sizeof(one) + 512;
		char *text = malloc(room);
		size_t used;
		struct ledger l = {.config = text};

		used = (size_t)snprintf(
		    text, room, "{\"fixed\":{" FIXED "},\"changeable\":{\"phases\":[");
		for (size_t i = 0; i < n; i++, used += sizeof(one) - 1)
			memcpy(text + used, one, sizeof(one));
		snprintf(text + used - 1, room - used + 1, "]}}"); /* over the last comma */
		assert_int_equal(
		    ledger_plan_open(&plan, &l, &f), n <= LIMIT_PHASES ? FAIL_NONE : FAIL_DATA);
		assert_int_equal(plan.plan.phases_n, n <= LIMIT_PHASES ? n : 0);
		ledger_plan_close(&plan);
		free(text);
	}
}

static void
test_what_is_no_json_is_refused(void **unused)
{
	static const char *const rows[] = {NULL, "", "{", "{\"fixed\":{},\"fixed\":{}}"};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ledger l = {.config = (char *)(uintptr_t)rows[i]};

		assert_int_equal(ledger_plan_open(&plan, &l, &f), FAIL_DATA);
		assert_non_null(strstr(f.text, "the configuration in the ledger is not JSON: "));
		ledger_plan_close(&plan); /* a zeroed one is accepted */
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keys_that_are_missing_have_their_defaults),
	    cmocka_unit_test(test_every_key_comes_to_its_field),
	    cmocka_unit_test(test_values_are_held_to_their_ranges),
	    cmocka_unit_test(test_wrong_values_are_refused_by_their_key),
	    cmocka_unit_test(test_as_many_phases_are_taken_as_a_mix_may_have),
	    cmocka_unit_test(test_what_is_no_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
