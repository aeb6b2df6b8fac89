/* plan_print.h: all fields of a forecast are distinct, and whole texts are compared. */
#include "cli/plan/plan_print.h"

#include "tests/unit/mixes.h"
#include "tests/unit/printed.h"

static struct failure f;

static char kept_field[] = "id";
static char *kept[] = {kept_field};
static struct config_domain configured[] = {
    {.name = (char[]){"code"}}, {.name = (char[]){"documents"}, .keep = {1, kept}}};
static struct config config = {
    .corpus = (char[]){"demo"},
    .sequence_length = 128,
    .domains = configured,
    .domains_n = 2,
    .mix = {.name = (char[]){"pre"}, .global_batch = 16, .lanes = 4, .partitions = 4},
};
static struct forecast_share share[2][2] = {
    {{0.25, 40, 0.0625}, {0.75, 60, 0.125}},
    {{0.5, 70, 0.1875}, {0.5, 90, 0.3125}},
};
static struct forecast_stretch stretch[] = {
    {.phase = "",
	.first = 0,
	.end = 5,
	.lr_scale = 1,
	.temperature = 2,
	.global_batch = 20,
	.draws = 100,
	.share = share[0]},
    {.phase = "late",
	.first = 5,
	.end = 9,
	.lr_scale = 0.5,
	.temperature = 3,
	.global_batch = 40,
	.draws = 160,
	.share = share[1]},
};
static struct forecast_domain domain[] = {
    {.name = "code",
	.first_step = 1,
	.exhausted_step = 8,
	.length = 44,
	.at_end = {.share = 0.3,
	    .weight = 1.5,
	    .taken = 110,
	    .tokens = 1000,
	    .epoch = 2,
	    .position = 22}},
    {.name = "documents",
	.first_step = 2,
	.exhausted_step = FORECAST_NEVER,
	.length = 600,
	.at_end = {.share = 0.7,
	    .weight = 2.5,
	    .taken = 150,
	    .tokens = 3000,
	    .epoch = 3,
	    .position = 33}},
};

static struct forecast
filled(void)
{
	return (struct forecast){
	    .steps = 9,
	    .dry_domain = "code",
	    .draws = 260,
	    .sequence_length = 128,
	    .lanes = 4,
	    .global_batch = 16,
	    .domains_n = 2,
	    .stretches_n = 2,
	    .domain = domain,
	    .stretch = stretch,
	};
}

static void
test_the_table_has_each_field_in_its_place(void **unused)
{
	struct forecast fc = filled();
	struct printed p;

	(void)unused;
	plan_print_table(&fc, &config, printed_begin(&p));
	printed_is(&p,
	    "mix pre: 9 steps of 20 to 40 sequences on 4 lanes: 260 sequences, 33280 "
	    "tokens; the mix continues\n"
	    "through Kafka at most 0.4 MB: read by the mixer, written, read by one run, "
	    "before compression\n"
	    "not counted: what `keep` puts beside documents of documents (at most 64 KiB a "
	    "document)\n"
	    "\n"
	    "steps 0..5  lr_scale 1  temperature 2  global_batch 20\n"
	    "DOMAIN         INTENDED      ACHIEVED     SEQUENCES            TOKENS      "
	    "EPOCHS  WORST RANK\n"
	    "code         25.000000%    40.000000%            40              5120      "
	    "0.9091     6.2500%\n"
	    "documents    75.000000%    60.000000%            60              7680      "
	    "0.1000    12.5000%\n"
	    "\n"
	    "steps 5..9  phase late  lr_scale 0.5  temperature 3  global_batch 40\n"
	    "DOMAIN         INTENDED      ACHIEVED     SEQUENCES            TOKENS      "
	    "EPOCHS  WORST RANK\n"
	    "code         50.000000%    43.750000%            70              8960      "
	    "1.5909    18.7500%\n"
	    "documents    50.000000%    56.250000%            90             11520      "
	    "0.1500    31.2500%\n"
	    "\n"
	    "all steps\n"
	    "DOMAIN           LENGTH     SEQUENCES      EPOCHS   FIRST DRAWN     EXHAUSTED "
	    " REPETITION\n"
	    "code                 44           110      2.5000             1             8 "
	    "     2.5000\n"
	    "documents           600           150      0.2500             2         never "
	    "     1.0000\n");
}

/* No stretch yet, the same batch throughout, the end of the mix, a dry domain. */
static void
test_the_first_line_says_how_it_goes_on(void **unused)
{
	static const struct {
		size_t stretches_n;
		uint32_t batch;
		bool ended, dry;
		const char *line;
	} rows[] = {
	    {0, 16, false, false,
		"mix pre: 9 steps of 16 sequences on 4 lanes: 260 sequences, 33280 "
		"tokens; the mix continues\n"},
	    {1, 16, true, false,
		"steps of 20 sequences on 4 lanes: 260 sequences, 33280 tokens; "
		"then the mix ends\n"},
	    {2, 16, true, true,
		"steps of 20 to 40 sequences on 4 lanes: 260 sequences, 33280 "
		"tokens; then domain code, which is live, has nothing further\n"},
	    {1, 20, false, false, "lr_scale 1  temperature 2\n"}, /* the batch is the usual one */
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, line) {
		struct forecast fc = filled();
		struct printed p;

		fc.stretches_n = rows[i].stretches_n;
		fc.global_batch = rows[i].batch;
		fc.ended = rows[i].ended;
		fc.dry = rows[i].dry;
		plan_print_table(&fc, &config, printed_begin(&p));
		printed_end(&p);
		assert_non_null(strstr(p.text, rows[i].line));
		free(p.text);
	}
}

static void
test_json_has_each_field_in_its_place(void **unused)
{
	struct forecast fc = filled();
	struct printed p;

	(void)unused;
	assert_int_equal(plan_print_json(&fc, &config, printed_begin(&p), &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','steps':9,'ended':false,'dry':null,'global_batch':16,'lanes':4,"
	    "'sequence_length':128,'draws':260,'tokens':33280,'batch_bytes':117260.0,"
	    "'kafka_bytes':351780.0,'batch_bytes_max':9.94766e6,'kafka_bytes_max':2.9843e7,"
	    "'phases':[{'phase':'','first_step':0,'end_step':5,'lr_scale':1.0,"
	    "'temperature':2.0,'global_batch':20,'domains':[{'name':'code','intended':0.25,"
	    "'achieved':0.4,'sequences':40,'tokens':5120,'epochs':0.909091,"
	    "'worst_rank_error':0.0625},{'name':'documents','intended':0.75,'achieved':0.6,"
	    "'sequences':60,'tokens':7680,'epochs':0.1,'worst_rank_error':0.125}]},"
	    "{'phase':'late','first_step':5,'end_step':9,'lr_scale':0.5,'temperature':3.0,"
	    "'global_batch':40,'domains':[{'name':'code','intended':0.5,'achieved':0.4375,"
	    "'sequences':70,'tokens':8960,'epochs':1.59091,'worst_rank_error':0.1875},"
	    "{'name':'documents','intended':0.5,'achieved':0.5625,'sequences':90,"
	    "'tokens':11520,'epochs':0.15,'worst_rank_error':0.3125}]}],"
	    "'domains':[{'name':'code','weight':1.5,'intended':0.3,'realised':0.423077,"
	    "'taken':110,'tokens':890,'epoch':2,'position':22,'length':44,'epochs':2.5,"
	    "'first_step':1,'exhausted_step':8,'repetition':2.5},{'name':'documents',"
	    "'weight':2.5,'intended':0.7,'realised':0.576923,'taken':150,'tokens':2850,"
	    "'epoch':3,'position':33,'length':600,'epochs':0.25,'first_step':2,"
	    "'exhausted_step':null,'repetition':1.0}]}");
	fc.ended = fc.dry = true;
	fc.draws = fc.domains_n = fc.stretches_n = 0;
	assert_int_equal(plan_print_json(&fc, &config, printed_begin(&p), &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','steps':9,'ended':true,'dry':'code','global_batch':16,'lanes':4,"
	    "'sequence_length':128,'draws':0,'tokens':0,'batch_bytes':0.0,"
	    "'kafka_bytes':0.0,'batch_bytes_max':0.0,'kafka_bytes_max':0.0,'phases':[],"
	    "'domains':[]}");
}

static void
test_a_domain_without_sequences_has_no_passes(void **unused)
{
	struct forecast_domain none = {
	    .name = "code", .first_step = FORECAST_NEVER, .exhausted_step = FORECAST_NEVER};
	struct forecast fc = {.lanes = 1, .domains_n = 1, .domain = &none};
	struct printed p;

	(void)unused;
	plan_print_table(&fc, &config, printed_begin(&p));
	printed_is(&p,
	    "mix pre: 0 steps of 0 sequences on 1 lanes: 0 sequences, 0 tokens; the mix "
	    "continues\n"
	    "through Kafka at most 0.0 MB: read by the mixer, written, read by one run, "
	    "before compression\n"
	    "\n"
	    "all steps\n"
	    "DOMAIN        LENGTH     SEQUENCES      EPOCHS   FIRST DRAWN     EXHAUSTED  "
	    "REPETITION\n"
	    "code               0             0      0.0000         never         never    "
	    "  0.0000\n");
}

/* The draws are the mixer's, for any batch. Each line counts the draws of its domain. */
static void
test_draws_are_numbered_by_themselves_and_by_domain(void **unused)
{
	static const uint64_t lengths[][1] = {{400}, {300}};
	const struct mixer_source source[] = {
	    {.name = "code", .weight = 1, .partitions_n = 1, .sequences = lengths[0]},
	    {.name = "documents", .weight = 2, .partitions_n = 1, .sequences = lengths[1]},
	};
	const struct mixer_phase phase = {.name = "wide", .start_step = 2, .global_batch = 8};
	struct mixer_plan plan = mixes_plan(source, 2), bare;
	struct mixer *m;

	(void)unused;
	plan.global_batch = 4;
	plan.lanes = 4;
	plan.lane_order = MIX_LANES_STRIDED;
	plan.phase = &phase;
	plan.phases_n = 1;
	bare = plan;
	bare.permute = false;
	bare.lane_order = MIX_LANES_CONTIGUOUS;
	/* The last draw lies inside a step, at its end, or right after it. */
	for (uint64_t draws = 0; draws < 30; draws += draws < 7 ? 1 : 5) {
		struct printed p;
		uint64_t count[2] = {0}, k = 0;
		char *rest, *line;

		assert_int_equal(
		    plan_print_draws(&config, &plan, draws, printed_begin(&p), &f), FAIL_NONE);
		printed_end(&p);
		rest = p.text;
		m = mixes_open(&bare);
		while (k < draws) {
			struct mixer_draw draw[8];
			enum mixer_result result;

			assert_int_equal(mixer_step(m, draw, &result, &f), FAIL_NONE);
			for (uint32_t i = 0; i < mixer_global_batch(m) && k < draws; i++, k++) {
				uint32_t d = draw[i].domain;
				char expected[64];

				snprintf(expected, sizeof(expected), "%llu\t%s\t%llu",
				    (unsigned long long)k, source[d].name,
				    (unsigned long long)count[d]++);
				line = strsep(&rest, "\n");
				assert_non_null(line);
				assert_string_equal(line, expected);
			}
		}
		assert_string_equal(rest, "");
		mixer_close(m);
		free(p.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_table_has_each_field_in_its_place),
	    cmocka_unit_test(test_the_first_line_says_how_it_goes_on),
	    cmocka_unit_test(test_json_has_each_field_in_its_place),
	    cmocka_unit_test(test_a_domain_without_sequences_has_no_passes),
	    cmocka_unit_test(test_draws_are_numbered_by_themselves_and_by_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
