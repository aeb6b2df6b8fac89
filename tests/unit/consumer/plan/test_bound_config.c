/* The text that a mix is bound to: what is in it, what may change, weights by size that stay. */
#include "consumer/plan/bound_config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

static char name_a[] = "a", name_b[] = "b", name_late[] = "late", name_demo[] = "demo",
	    name_m[] = "m";
static char *run_name[] = {name_a};

/* Two domains of one partition, with a phase. */
struct sample {
	struct config c;
	struct config_domain domain[2];
	struct config_phase phase;
	double weight[2], phase_weight[2];
	uint64_t sequences[2];
	struct config_plan_length length[2];
	char *text;
};

static void
sample_init(struct sample *s, enum config_weights kind)
{
	*s = (struct sample){
	    .domain = {{.name = name_a, .partitions = 1, .catch_up = 2},
		{.name = name_b, .partitions = 1, .catch_up = 2}},
	    .weight = {1, 3},
	    .phase_weight = {5, 0},
	    .sequences = {100, 300},
	};
	s->phase = (struct config_phase){
	    .name = name_late, .start_step = 9, .weight = s->phase_weight, .lr_scale = 0.5};
	for (size_t i = 0; i < 2; i++)
		s->length[i] = (struct config_plan_length){1, &s->sequences[i], NULL};
	s->c.corpus = name_demo;
	s->c.sequence_length = 64;
	s->c.domains = s->domain;
	s->c.domains_n = 2;
	s->c.mix.name = name_m;
	s->c.mix.weights_kind = kind;
	s->c.mix.global_batch = 8;
	s->c.mix.lanes = s->c.mix.partitions = 4;
	s->c.mix.window = 1;
	s->c.mix.weight = s->weight;
	s->c.mix.temperature = 1;
	s->c.mix.phases = &s->phase;
	s->c.mix.phases_n = 1;
}

/* The text, with the sizes of `ledger` kept where that is not NULL. */
static uint64_t tokenizer = 7;

static char *
text_of(struct sample *s, const char *ledger)
{
	struct config_plan plan;
	struct failure f;
	char *text;

	assert_int_equal(config_plan_open(&plan, &s->c, s->length, &f), FAIL_NONE);
	if (ledger != NULL)
		assert_int_equal(bound_config_keep_sizes(&plan, &s->c, ledger, &f), FAIL_NONE);
	assert_int_equal(bound_config_text(&text, &s->c, &plan, tokenizer, &f), FAIL_NONE);
	config_plan_close(&plan);
	return text;
}

static void
test_every_part_of_the_plan_that_may_change_is_taken_with_accept_only(void **state)
{
	struct sample s;
	char *before;
	enum { CHANGES = 19 };

	(void)state;
	sample_init(&s, CONFIG_WEIGHTS_MAP);
	before = text_of(&s, NULL);
	for (int i = 0; i < CHANGES; i++) {
		bool changed;
		struct failure f;
		char *after;

		sample_init(&s, CONFIG_WEIGHTS_MAP);
		switch (i) {
		case 0: s.weight[1] = 2; break;
		case 1: s.phase.start_step = 10; break;
		case 2: s.phase.lr_scale = 0.25; break;
		case 3: s.phase_weight[0] = 6; break;
		case 4: s.domain[0].on_end = MIX_END_DROP; break;
		case 5: s.domain[1].max_epochs = 3; break;
		case 6: s.domain[1].on_dry = MIX_DRY_LEND; break;
		case 7: s.c.mix.max_lead_steps = 5; break;
		case 8: s.c.domains_n = 1; break;
		case 9: s.domain[1].shuffle = MIX_SHUFFLE_NONE; break;
		case 10: s.domain[1].live = true; break;
		case 11: s.domain[0].catch_up = 3; break;
		case 12: s.domain[0].packing = SEQUENCE_BEST_FIT; break;
		case 13: s.c.mix.temperature = 2; break;
		case 14: s.c.mix.runs = (struct config_list){1, run_name}; break;
		case 15: s.phase.name = name_b; break;
		case 16: s.phase.temperature = 3; break;
		case 17: s.phase.global_batch = 16; break;
		case 18: s.c.mix.phases_n = 0; break;
		}
		after = text_of(&s, NULL);
		assert_int_equal(
		    bound_config_compare(before, after, false, &changed, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, "--accept-config"));
		if (i == 9)
			assert_non_null(strstr(f.text, ".shuffle: mix.shuffle in the ledger, "));
		assert_int_equal(
		    bound_config_compare(before, after, true, &changed, &f), FAIL_NONE);
		assert_true(changed);
		free(after);
	}
	free(before);
}

static void
test_what_differs_of_phases_is_named_key_by_key(void **state)
{
	struct sample s;
	struct failure f;
	char *before, *after;
	bool changed;

	(void)state;
	sample_init(&s, CONFIG_WEIGHTS_MAP);
	before = text_of(&s, NULL);
	s.phase_weight[0] = 6;
	after = text_of(&s, NULL);
	assert_int_equal(bound_config_compare(before, after, false, &changed, &f), FAIL_CONFIG);
	assert_non_null(
	    strstr(f.text, " mix.phases.late.weights.a: 5.0 in the ledger, 6.0 in the file"));
	free(after);
	s.phase_weight[0] = 5;
	s.phase.temperature = 2;
	after = text_of(&s, NULL);
	assert_int_equal(bound_config_compare(before, after, false, &changed, &f), FAIL_CONFIG);
	assert_non_null(
	    strstr(f.text, " mix.phases.late.temperature: nothing in the ledger, 2.0 in the file"));
	free(after);
	s.c.mix.phases_n = 0;
	after = text_of(&s, NULL);
	assert_int_equal(bound_config_compare(before, after, false, &changed, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, " phase late: in the mix, and not in the file;"));
	free(after);
	free(before);
}

static void
test_what_decides_the_order_never_changes(void **state)
{
	struct sample s;
	char *before;
	/* Keys that a text of before lacks. */
	static const char *const said[16] = {
	    [6] = " mix.partitions: mix.lanes in the ledger, 3 in the file",
	    [7] = " mix.shuffle: \"block\" in the ledger, \"full\" in the file",
	    [14] = " mix.batches: \"copied\" in the ledger, \"derived\" in the file",
	};

	(void)state;
	sample_init(&s, CONFIG_WEIGHTS_MAP);
	before = text_of(&s, NULL);
	for (int i = 0; i < 16; i++) {
		bool changed;
		struct failure f;
		char *after;

		sample_init(&s, CONFIG_WEIGHTS_MAP);
		switch (i) {
		case 0: s.c.mix.seed = 1; break;
		case 1: s.c.mix.schedule = SCHEDULE_GREEDY; break;
		case 2: s.c.mix.weights_unit = MIX_BY_TOKENS; break;
		case 3: s.c.mix.epoch_size = 50; break;
		case 4: s.c.mix.epoch_largest = true; break;
		case 5: s.c.mix.global_batch = 16; break;
		case 6: s.c.mix.partitions = 3; break;
		case 7: s.c.mix.shuffle = MIX_SHUFFLE_FULL; break;
		case 8: s.c.corpus = name_m; break;
		case 9: s.c.sequence_length = 65; break;
		case 10: s.c.mix.lanes = s.c.mix.partitions = 2; break;
		case 11: s.c.mix.window = 2; break;
		case 12: s.c.mix.permute = true; break;
		case 13: s.c.mix.lane_order = MIX_LANES_STRIDED; break;
		case 14: s.c.mix.batches = MIX_BATCHES_DERIVED; break;
		case 15: tokenizer = 8; break;
		}
		after = text_of(&s, NULL);
		tokenizer = 7;
		assert_int_equal(
		    bound_config_compare(before, after, true, &changed, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, "cannot change"));
		assert_true(said[i] == NULL || strstr(f.text, said[i]) != NULL);
		free(after);
	}
	free(before);
}

/* Logs of before have texts without these keys, and their hashes. */
static void
test_an_order_stands_in_the_text_only_where_it_is_not_the_default(void **state)
{
	struct sample s;
	char *text;

	(void)state;
	sample_init(&s, CONFIG_WEIGHTS_MAP);
	text = text_of(&s, NULL);
	assert_null(strstr(text, "shuffle"));
	free(text);
	s.c.mix.shuffle = s.domain[0].shuffle = MIX_SHUFFLE_FULL;
	text = text_of(&s, NULL);
	assert_non_null(strstr(text, "\"b\":{\"catch_up\":2.0,\"live\":false,\"max_epochs\":\"0\","
				     "\"on_dry\":\"wait\",\"on_end\":\"repeat\","
				     "\"packing\":\"concat\",\"shuffle\":\"block\""));
	assert_non_null(strstr(text, "\"seed\":\"0\",\"sequence_length\":64,\"shuffle\":\"full\""));
	assert_null(strstr(strstr(text, "shuffle") + 1, "\"shuffle\":\"block\""));
	free(text);
}

static void
test_weights_by_size_stay_when_a_domain_has_grown(void **state)
{
	struct sample s;
	struct failure f;
	char *first, *grown, *fresh, *written;
	bool changed;

	(void)state;
	sample_init(&s, CONFIG_WEIGHTS_SIZE);
	first = text_of(&s, NULL);
	assert_non_null(strstr(first, "\"weight\":0.25"));
	s.sequences[0] = 900;
	grown = text_of(&s, first);
	fresh = text_of(&s, NULL);
	assert_string_equal(first, grown);
	assert_non_null(strstr(fresh, "\"weight\":0.75"));
	sample_init(&s, CONFIG_WEIGHTS_MAP); /* written ones are as they are written */
	written = text_of(&s, first);
	assert_int_equal(bound_config_compare(first, written, true, &changed, &f), FAIL_NONE);
	assert_true(changed);
	assert_non_null(strstr(written, "\"weight\":3"));
	free(first);
	free(grown);
	free(fresh);
	free(written);
}

/* The ledger's weights stay in force if both come from sizes. Otherwise the file's do. */
static void
test_weights_of_the_ledger_stay_only_where_both_are_by_size(void **state)
{
	static const struct {
		enum config_weights ledger, file;
		bool lacks_kind;
		double weight[2];
	} rows[] = {
	    {CONFIG_WEIGHTS_SIZE, CONFIG_WEIGHTS_SIZE, false, {0.25, 0.75}},
	    {CONFIG_WEIGHTS_SIZE, CONFIG_WEIGHTS_MAP, false, {1, 5}},
	    {CONFIG_WEIGHTS_MAP, CONFIG_WEIGHTS_SIZE, false, {0.75, 0.25}},
	    {CONFIG_WEIGHTS_MAP, CONFIG_WEIGHTS_MAP, false, {1, 5}},
	    {CONFIG_WEIGHTS_SIZE, CONFIG_WEIGHTS_SIZE, true, {0.75, 0.25}},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct config_plan plan;
		struct sample s;
		struct failure f;
		char *ledger;

		sample_init(&s, rows[i].ledger);
		ledger = text_of(&s, NULL);
		if (rows[i].lacks_kind)
			memcpy(strstr(ledger, "\"weights\":\"size\""), "\"weighed\"", 9);
		sample_init(&s, rows[i].file);
		s.sequences[0] = 900;
		s.weight[1] = 5;
		assert_int_equal(config_plan_open(&plan, &s.c, s.length, &f), FAIL_NONE);
		assert_int_equal(bound_config_keep_sizes(&plan, &s.c, ledger, &f), FAIL_NONE);
		for (size_t k = 0; k < 2; k++)
			assert_true(plan.source[k].weight == rows[i].weight[k]);
		config_plan_close(&plan);
		free(ledger);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_part_of_the_plan_that_may_change_is_taken_with_accept_only),
	    cmocka_unit_test(test_what_differs_of_phases_is_named_key_by_key),
	    cmocka_unit_test(test_what_decides_the_order_never_changes),
	    cmocka_unit_test(test_an_order_stands_in_the_text_only_where_it_is_not_the_default),
	    cmocka_unit_test(test_weights_by_size_stay_when_a_domain_has_grown),
	    cmocka_unit_test(test_weights_of_the_ledger_stay_only_where_both_are_by_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
