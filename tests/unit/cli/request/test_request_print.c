/* request_print.h: the effect of a change as JSON. All values are distinct. */
#include "cli/request/request_print.h"

#include "consumer/mixer/mixer_effect.h"
#include "tests/unit/printed.h"

static void
print(const struct mixer_effect *e, struct printed *p)
{
	json_t *o = request_print_effect(e);

	assert_non_null(o);
	json_dumpf(o, printed_begin(p), JSON_PRESERVE_ORDER | JSON_ENCODE_ANY);
	json_decref(o);
}

static void
test_each_field_of_an_effect_stands_in_its_place(void **unused)
{
	struct mixer_effect_domain domain[] = {
	    {.name = "code",
		.share = 0.25,
		.share_before = 0.5,
		.epoch = 1,
		.epoch_end = {2, 3},
		.limited = true,
		.ends_mix = true,
		.last_end = {4, MIXER_EFFECT_NEVER}},
	    {.name = "new", .share = 0.125, .share_before = 0, .live = true},
	    {.name = "web",
		.share = 0.625,
		.share_before = 0.375,
		.epoch = 5,
		.epoch_end = {MIXER_EFFECT_NEVER, 6},
		.limited = true,
		.last_end = {7, 8}},
	};
	struct mixer_effect e = {.temperature = 11,
	    .temperature_before = 12,
	    .lr_scale = 13,
	    .lr_scale_before = 14,
	    .global_batch = 15,
	    .global_batch_before = 16,
	    .domain = domain,
	    .domains_n = 3,
	    .rounds = true,
	    .round = 17,
	    .dealt = 18,
	    .phase = "late",
	    .phase_step = 19,
	    .phase_batch = 20};
	struct printed p;

	(void)unused;
	print(&e, &p);
	printed_json_is(&p,
	    "{'temperature':11.0,'temperature_before':12.0,'lr_scale':13.0,"
	    "'lr_scale_before':14.0,'global_batch':15,'global_batch_before':16,"
	    "'domains':[{'name':'code','share':0.25,'share_before':0.5,'live':false,"
	    "'epoch':1,'epoch_end_step':2,'epoch_end_step_before':3,'last_end':'stop',"
	    "'last_end_step':4,'last_end_step_before':null},{'name':'new','share':0.125,"
	    "'share_before':0.0,'live':true},{'name':'web','share':0.625,"
	    "'share_before':0.375,'live':false,'epoch':5,'epoch_end_step':null,"
	    "'epoch_end_step_before':6,'last_end':'drop','last_end_step':7,"
	    "'last_end_step_before':8}],'round':17,'round_draws_dealt':18,"
	    "'next_phase':'late','next_phase_step':19}");
	e.rounds = false;
	e.phase[0] = '\0';
	e.domains_n = 0;
	print(&e, &p);
	printed_json_is(&p, "{'temperature':11.0,'temperature_before':12.0,'lr_scale':13.0,"
			    "'lr_scale_before':14.0,'global_batch':15,'global_batch_before':16,"
			    "'domains':[]}");
	e = (struct mixer_effect){.skip = true, .excluded = 21, .sequences = 22, .undo = true};
	print(&e, &p);
	printed_json_is(&p, "{'excluded':21,'sequences':22}");
	e = (struct mixer_effect){0};
	print(&e, &p);
	printed_json_is(&p, "null");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_of_an_effect_stands_in_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
