/* reweight_print.h: all values are distinct, and whole texts are compared. */
#include "cli/reweight/reweight_print.h"

#include "tests/unit/printed.h"

enum { DOMAINS = 3 };

static struct failure f;
static char *names[] = {(char[]){"code"}, (char[]){"documents"}, (char[]){"web"}};
static struct config_domain configured[] = {{.name = (char[]){"code"}},
    {.name = (char[]){"documents"}}, {.name = (char[]){"off"}}, {.name = (char[]){"web"}}};
static const struct config config = {.domains_n = 4, .domains = configured};
static double reference[] = {0.25, 0.5, 0.25};

/* A learner that keeps what it was and what it is apart. */
static struct reweight_job
filled(const struct reweight_job_arguments *a)
{
	static struct reweight learner;

	memset(&learner, 0, sizeof(learner));
	learner.method = a->method;
	learner.n = DOMAINS;
	for (size_t i = 0; i < DOMAINS; i++) {
		double part = i == 2 ? 0.5 : 0.25;

		learner.ceiling[i] = 1;
		if (a->method == REWEIGHT_DOREMI) {
			learner.of.doremi.n = DOMAINS;
			learner.of.doremi.steps = 31;
			learner.of.doremi.weight[i] = part;
			learner.of.doremi.average[i] = i == 0 ? 0.5 : 0.25;
			learner.of.doremi.excess[i] = 1.5 + (double)i;
		} else {
			learner.of.odm.n = DOMAINS;
			learner.of.odm.steps = 32;
			learner.of.odm.scale = 2;
			learner.of.odm.weight[i] = part;
			learner.of.odm.reward[i] = 5.5 + (double)i;
		}
	}
	return (struct reweight_job){.a = a,
	    .config = &config,
	    .domain = names,
	    .reference = reference,
	    .domains_n = DOMAINS,
	    .learner = &learner,
	    .step_next = 33,
	    .asked = 34,
	    .refused = 35,
	    .counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	    .last_step = 36,
	    .last = {.loss = 37.5, .excess = 38.5, .tokens = 39}};
}

static void
test_each_field_stands_in_its_place(void **unused)
{
	const struct reweight_job_arguments doremi = {.mix = "pre",
						.run = "proxy",
						.reference = "ref.json",
						.method = REWEIGHT_DOREMI,
						.live = true},
					    odm = {.mix = "pre",
						.run = "main",
						.method = REWEIGHT_ODM};
	struct reweight_job job = filled(&doremi);
	struct printed p;

	(void)unused;
	reweight_print_table(&job, printed_begin(&p));
	printed_is(&p,
	    "learned  doremi, 31 steps below step 33 of mix pre, run proxy\n"
	    "asked    34 times, 35 refused\n"
	    "reports  1 used; dropped: 2 duplicate, 3 late, 4 of an unknown step, 5 "
	    "malformed, 6 of other runs, 7 replaced; steps given up: 8\n"
	    "losses   dropped: 10 that are no finite numbers, 9 of domains that are not "
	    "learned\n"
	    "step     36: loss 37.5000, excess 38.5000 nats a token over all domains\n"
	    "moved    0.250000 at most from ref.json (a round that moves less than 0.001 "
	    "is the last)\n"
	    "\n"
	    "DOMAIN        RESULT       LAST     EXCESS\n"
	    "code        0.500000   0.250000     1.5000\n"
	    "documents   0.250000   0.250000     2.5000\n"
	    "web         0.250000   0.500000     3.5000\n");
	assert_int_equal(reweight_print_json(&job, printed_begin(&p), &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','run':'proxy','method':'doremi','steps':31,'step_next':33,"
	    "'asked':34,'refused':35,'weights':{'code':0.5,'documents':0.25,'off':0.0,"
	    "'web':0.25},'last':{'code':0.25,'documents':0.25,'web':0.5},'all':{'step':36,"
	    "'loss':37.5,'excess':38.5},'dropped':{'reports':1,'duplicate':2,'late':3,"
	    "'unknown_step':4,'unknown_domain':9,'not_a_number':10,'malformed':5,"
	    "'other_run':6,'replaced':7,'incomplete':8}}");
	job = filled(&odm); /* offline, without a reference, and no step since the start */
	job.reference = NULL;
	job.last_step = -1;
	job.counts.not_a_number = job.counts.unknown_domain = 0;
	reweight_print_table(&job, printed_begin(&p));
	printed_is(&p, "learned  odm, 32 steps below step 33 of mix pre, run main\n"
		       "reports  1 used; dropped: 2 duplicate, 3 late, 4 of an unknown step, 5 "
		       "malformed, 6 of other runs, 7 replaced; steps given up: 8\n"
		       "\n"
		       "DOMAIN        RESULT       LAST       LOSS\n"
		       "code        0.250000   0.250000     2.7500\n"
		       "documents   0.250000   0.250000     3.2500\n"
		       "web         0.500000   0.500000     3.7500\n");
	assert_int_equal(reweight_print_json(&job, printed_begin(&p), &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','run':'main','method':'odm','steps':32,'step_next':33,'asked':34,"
	    "'refused':35,'weights':{'code':0.25,'documents':0.25,'off':0.0,'web':0.5},"
	    "'last':{'code':0.25,'documents':0.25,'web':0.5},'all':null,"
	    "'dropped':{'reports':1,'duplicate':2,'late':3,'unknown_step':4,"
	    "'unknown_domain':0,'not_a_number':0,'malformed':5,'other_run':6,'replaced':7,"
	    "'incomplete':8}}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_stands_in_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
