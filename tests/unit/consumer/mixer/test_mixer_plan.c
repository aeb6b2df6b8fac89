/* mixer_plan.h: what no mixer can be made of, and what the hash of a plan tells apart. */
#include "consumer/mixer/mixer_plan.h"

#include <math.h>

#include "common/base/limits.h"
#include "common/schedule/order.h"
#include "tests/unit/mixes.h"

static const uint64_t some[] = {50, 7}, late[] = {0, 7}, none[] = {0, 0};

/* A plan whose parts a test can change. */
struct parts {
	struct mixer_source source[3];
	struct ledger_raw_weight weight[2];
	struct mixer_phase phase[2];
	struct mixer_plan plan;
};

static struct parts *
make(void)
{
	static struct parts p;

	p = (struct parts){
	    .source = {{.name = "a", .weight = 0.5, .partitions_n = 2, .sequences = some},
		{.name = "b", .weight = 0.3, .partitions_n = 2, .sequences = late},
		{.name = "c", .weight = 0, .partitions_n = 2, .sequences = none}},
	    .weight = {{"a", 0}, {"b", 1}},
	    .phase = {{.name = "one", .start_step = 10, .weight = p.weight, .weights_n = 2},
		{.name = "two", .start_step = 11, .lr_scale = 0.5, .temperature = 0.5}},
	};
	p.plan = mixes_plan(p.source, 3);
	p.plan.phase = p.phase;
	p.plan.phases_n = 2;
	return &p;
}

static void
assert_says(const struct parts *p, const char *said)
{
	struct failure f = {0};

	if (said == NULL) {
		assert_int_equal(mixer_plan_check(&p->plan, &f), FAIL_NONE);
		return;
	}
	assert_int_equal(mixer_plan_check(&p->plan, &f), FAIL_CONFIG);
	if (strstr(f.text, said) == NULL)
		assert_string_equal(f.text, said);
}

static void
test_each_number_of_a_plan_has_a_range(void **state)
{
	static const double wrong[] = {-1, NAN, INFINITY};
	static struct mixer_phase many[LIMIT_PHASES + 1];
	static char name[LIMIT_PHASES + 1][8];
	struct parts *p = make();

	(void)state;
	assert_says(p, NULL);
	for (size_t i = 0; i < 3; i++) {
		make()->plan.temperature = wrong[i];
		assert_says(p, "temperature must be a positive number");
		make()->source[1].weight = wrong[i];
		assert_says(p, "the weight of domain b must be a finite number");
		make()->weight[1].weight = wrong[i];
		assert_says(p, "phase one: the weight of domain b must be a finite number");
		make()->phase[0].lr_scale = wrong[i];
		assert_says(p, "phase one: lr_scale must be a positive number");
		make()->phase[1].temperature = wrong[i];
		assert_says(p, "phase two: temperature must be a positive number");
	}
	make()->plan.temperature = 0;
	assert_says(p, "temperature must be a positive number");
	make()->plan.temperature = 0.5;
	assert_says(p, NULL);
	make()->plan.sources_n = 0;
	assert_says(p, "a mix holds 1 to");
	make()->source[0].partitions_n = 0;
	assert_says(p, "domain a: 0 partitions");
	make()->source[0].partitions_n = ORDER_PARTITIONS_MAX + 1;
	assert_says(p, "domain a: ");
	make()->phase[1].start_step = 10;
	assert_says(p, "start_step must increase");
	make();
	for (size_t i = 0; i <= LIMIT_PHASES; i++) {
		snprintf(name[i], sizeof(name[i]), "p%zu", i);
		many[i] = (struct mixer_phase){.name = name[i], .start_step = i};
	}
	p->plan.phase = many;
	p->plan.phases_n = LIMIT_PHASES;
	assert_says(p, NULL);
	p->plan.phases_n++;
	assert_says(p, "phases are more than");
}

static void
test_a_domain_without_a_sequence_has_no_weight(void **state)
{
	struct parts *p = make();

	(void)state;
	p->source[2].weight = 0.1;
	assert_says(p, "domain c has weight 0.1 and not one sequence");
	p->source[2].live = true;
	assert_says(p, NULL);
	make()->weight[0] = (struct ledger_raw_weight){"c", 0.1};
	assert_says(p, "phase one gives weight 0.1 to domain c, which has not one sequence");
	p->weight[0].weight = 0;
	assert_says(p, NULL);
	p->weight[0].weight = 0.1;
	p->source[2].live = true;
	assert_says(p, NULL);
}

static void
test_a_phase_names_domains_of_the_mix_once_and_leaves_a_weight(void **state)
{
	struct parts *p = make();

	(void)state;
	p->weight[1].domain = (char *)"d";
	assert_says(p, "phase one gives a weight to domain d, which the mix does not have");
	make()->weight[1].domain = (char *)"a";
	assert_says(p, "phase one gives two weights to domain a");
	make()->weight[1].weight = 0; /* c has none, either */
	assert_says(p, "phase one: all weights are zero");
	p->source[2] =
	    (struct mixer_source){.name = "c", .weight = 0.1, .partitions_n = 2, .sequences = some};
	assert_says(p, NULL);
}

static void
test_rounds_need_a_count_that_is_exact(void **state)
{
	struct parts *p = make();

	(void)state;
	p->plan.epoch_size = LIMIT_ROUND;
	assert_says(p, NULL);
	p->plan.epoch_size++;
	assert_says(p, "is out of range");
	p->plan.epoch_size = MIXER_EPOCH_LARGEST;
	assert_says(p, NULL);
	p->plan.weights_unit = MIX_BY_TOKENS;
	assert_says(p, "epoch_size counts draws exactly");
	make()->plan.epoch_size = 40;
	p->plan.schedule = SCHEDULE_RANDOM;
	assert_says(p, "epoch_size counts draws exactly");
	make()->plan.schedule = SCHEDULE_GREEDY;
	p->plan.weights_unit = MIX_BY_TOKENS;
	assert_says(p, "weights_unit: tokens needs schedule: deficit");
}

static void
test_the_hash_tells_apart_all_that_is_said_about_weights(void **state)
{
	enum { CASES = 13 };
	uint64_t hash[CASES];
	struct parts *p = make();

	(void)state;
	for (int i = 0; i < CASES; i++) {
		make();
		switch (i) {
		case 1: p->plan.temperature = 2; break;
		case 2: p->source[0].name = "A"; break;
		case 3: p->source[1].weight = 0.4; break;
		case 4: p->phase[0].name = "oNe"; break;
		case 5: p->phase[1].start_step = 12; break;
		case 6: p->phase[1].lr_scale = 0.25; break;
		case 7: p->phase[1].temperature = 0.25; break;
		case 8: p->weight[0].domain = (char *)"c"; break;
		case 9: p->weight[1].weight = 2; break;
		case 10: p->phase[0].weights_n = 1; break;
		case 11: p->plan.phases_n = 1; break;
		case 12: p->plan.sources_n = 2; break;
		default: break;
		}
		hash[i] = mixer_plan_hash(&p->plan);
		for (int k = 0; k < i; k++)
			assert_true(hash[k] != hash[i]);
	}
	make();
	assert_true(mixer_plan_hash(&p->plan) == hash[0]);
	/* It is in ledgers: the same plan has the same hash for ever. */
	assert_true(hash[0] == UINT64_C(12699931008134194267));
}

static void
test_a_domain_that_joined_has_rules_that_hold_for_any(void **state)
{
	struct mixer_source s = mixer_plan_joined_rules(MIX_SHUFFLE_FULL);

	(void)state;
	assert_int_equal(s.on_end, MIX_END_REPEAT);
	assert_int_equal(s.on_dry, MIX_DRY_WAIT);
	assert_true(s.short_ones); /* how it is packed is not known: it is asked */
	assert_int_equal(s.max_epochs, 0);
	assert_int_equal(s.shuffle, MIX_SHUFFLE_FULL);
	assert_false(s.live);
}

static void
test_sources_are_found_by_name(void **state)
{
	struct parts *p = make();

	(void)state;
	assert_ptr_equal(mixer_plan_source(&p->plan, "a"), &p->source[0]);
	assert_ptr_equal(mixer_plan_source(&p->plan, "b"), &p->source[1]);
	assert_ptr_equal(mixer_plan_source(&p->plan, "c"), &p->source[2]);
	assert_null(mixer_plan_source(&p->plan, "ab"));
	assert_null(mixer_plan_source(&p->plan, "d"));
	assert_null(mixer_plan_source(&p->plan, ""));
}

static void
test_a_mix_holds_so_many_domains_and_no_more(void **state)
{
	static struct mixer_source many[LIMIT_DOMAINS + 1];
	static char name[LIMIT_DOMAINS + 1][16];
	struct parts *p = make();

	(void)state;
	for (int i = 0; i <= LIMIT_DOMAINS; i++) {
		snprintf(name[i], sizeof(name[i]), "d%05d", i);
		many[i] = (struct mixer_source){
		    .name = name[i], .weight = 1, .partitions_n = 2, .sequences = some};
	}
	p->plan = mixes_plan(many, LIMIT_DOMAINS);
	assert_says(p, NULL);
	p->plan.sources_n++;
	assert_says(p, "a mix holds 1 to");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_number_of_a_plan_has_a_range),
	    cmocka_unit_test(test_a_domain_without_a_sequence_has_no_weight),
	    cmocka_unit_test(test_a_phase_names_domains_of_the_mix_once_and_leaves_a_weight),
	    cmocka_unit_test(test_rounds_need_a_count_that_is_exact),
	    cmocka_unit_test(test_the_hash_tells_apart_all_that_is_said_about_weights),
	    cmocka_unit_test(test_a_domain_that_joined_has_rules_that_hold_for_any),
	    cmocka_unit_test(test_sources_are_found_by_name),
	    cmocka_unit_test(test_a_mix_holds_so_many_domains_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
