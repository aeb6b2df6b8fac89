/* reweight_job.h: which domains are learned, by ledger, configuration and options; no broker. */
#include "cli/reweight/reweight_job.h"

#include "tests/unit/folder.h"

static struct failure f;

static struct reweight_job_arguments
arguments(void)
{
	return (struct reweight_job_arguments){
	    .mix = "pre", .method = REWEIGHT_DOREMI, .eta = 1, .smoothing = 1e-3, .memory = 0.9};
}

static const struct config no_config = {.domains_n = 0};

/* Not in the order of their bytes. */
static struct ledger_domain three[] = {{.name = (char[]){"web"}, .raw_weight = 1},
    {.name = (char[]){"code"}, .raw_weight = 1}, {.name = (char[]){"math"}, .raw_weight = 1}};
static const struct ledger ledger_of_three = {.domain = three, .domains_n = 3};

/* ---- domains ---- */

static void
test_a_domain_is_learned_if_the_mix_may_draw_from_it(void **unused)
{
	static const struct {
		const char *claim;
		double raw, base;
		enum ledger_domain_state state;
		bool learned;
	} rows[] = {
	    {"it has a weight", 1, 1, LEDGER_ACTIVE, true},
	    {"a phase alone gives it one", 1, 0, LEDGER_ACTIVE, true},
	    {"a phase takes it away for a time", 0, 1, LEDGER_ACTIVE, true},
	    {"nothing gives it one", 0, 0, LEDGER_ACTIVE, false},
	    {"it has ended", 1, 1, LEDGER_DROPPED, true},
	    {"it joins", 1, 1, LEDGER_JOINING, true},
	    {"it joins in a phase without it", 0, 1, LEDGER_JOINING, true},
	    {"it has left", 1, 1, LEDGER_LEFT, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		struct ledger_domain domain[] = {
		    {.name = (char[]){"other"}, .raw_weight = 1, .base_weight = 1},
		    {.name = (char[]){"asked"},
			.raw_weight = rows[i].raw,
			.base_weight = rows[i].base,
			.state = rows[i].state}};
		const struct ledger last = {.domain = domain, .domains_n = 2};
		const struct reweight_job_arguments a = arguments();
		struct reweight_job job = {0};

		assert_int_equal(reweight_job_open(&job, &a, &no_config, &last, &f), FAIL_NONE);
		assert_int_equal(job.domains_n, 1 + rows[i].learned);
		assert_string_equal(job.domain[job.domains_n - 1], "other");
		if (rows[i].learned)
			assert_string_equal(job.domain[0], "asked");
		reweight_job_close(&job);
		/* Alone: a mix without any is refused. */
		domain[0].state = LEDGER_LEFT;
		assert_int_equal(reweight_job_open(&job, &a, &no_config, &last, &f),
		    rows[i].learned ? FAIL_NONE : FAIL_CONFIG);
		if (!rows[i].learned)
			assert_string_equal(f.text, "mix pre draws from no domain");
		reweight_job_close(&job);
	}
}

static void
test_with_a_configuration_only_its_domains_are_learned(void **unused)
{
	static const struct {
		const char *configured[3];
		size_t configured_n;
		const char *learned; /* sorted */
	} rows[] = {
	    {{NULL}, 0, "code math web "}, /* no configuration */
	    {{"code", "math", "web"}, 3, "code math web "},
	    {{"code", "web"}, 2, "code web "},
	    {{"math", "papers"}, 2, "math "}, /* papers is not in the mix yet */
	    {{"papers"}, 1, ""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, learned) {
		struct config_domain domain[3] = {{.name = NULL}};
		const struct config c = {.domains = domain, .domains_n = rows[i].configured_n};
		const struct reweight_job_arguments a = arguments();
		struct reweight_job job = {0};
		char learned[64] = "";

		for (size_t k = 0; k < c.domains_n; k++)
			domain[k].name = (char *)(uintptr_t)rows[i].configured[k];
		assert_int_equal(reweight_job_open(&job, &a, &c, &ledger_of_three, &f),
		    rows[i].learned[0] == '\0' ? FAIL_CONFIG : FAIL_NONE);
		for (size_t k = 0, n = 0; k < job.domains_n; k++)
			n += (size_t)snprintf(
			    learned + n, sizeof(learned) - n, "%s ", job.domain[k]);
		assert_string_equal(learned, rows[i].learned);
		reweight_job_close(&job);
	}
}

/* ---- bounds ---- */

static const struct {
	const char *floor, *ceiling;   /* NULL: not given */
	double floors[3], ceilings[3]; /* of code, math, web */
} bounds[] = {
    {NULL, NULL, {0, 0, 0}, {1, 1, 1}},
    {"0.05", NULL, {0.05, 0.05, 0.05}, {1, 1, 1}},
    {NULL, "0.5", {0, 0, 0}, {0.5, 0.5, 0.5}},
    {"0.05,web=0.1", "0.6,code=0.4", {0.05, 0.05, 0.1}, {0.4, 0.6, 0.6}},
    {"web=0.1", "code=0.4", {0, 0, 0.1}, {0.4, 1, 1}},
    {"web=0.1,0.05", NULL, {0.05, 0.05, 0.05}, {1, 1, 1}}, /* items apply in their order */
    {"web=0.1,web=0.2", NULL, {0, 0, 0.2}, {1, 1, 1}},
    {"math=1", "web=0,code=0", {0, 1, 0}, {0, 1, 0}},
};

static void
test_bounds_are_for_all_or_for_one_in_their_order(void **unused)
{
	(void)unused;
	EACH_ROW(i, bounds) {
		struct reweight_job_arguments a = arguments();
		struct reweight_job job = {0};

		a.floor = bounds[i].floor;
		a.ceiling = bounds[i].ceiling;
		assert_int_equal(
		    reweight_job_open(&job, &a, &no_config, &ledger_of_three, &f), FAIL_NONE);
		assert_memory_equal(job.learner->floor, bounds[i].floors, sizeof(bounds[i].floors));
		assert_memory_equal(
		    job.learner->ceiling, bounds[i].ceilings, sizeof(bounds[i].ceilings));
		reweight_job_close(&job);
	}
}

static void
test_bounds_that_cannot_hold_are_refused(void **unused)
{
	static const struct {
		const char *floor, *ceiling, *says;
		enum fail_code code;
	} rows[] = {
	    {"x", NULL, "--floor: not a number: \"x\"", FAIL_USAGE},
	    {"", NULL, "--floor: not a number: \"\"", FAIL_USAGE},
	    {"0.1,", NULL, "--floor: not a number: \"\"", FAIL_USAGE},
	    {"web=", NULL, "--floor: not a number: \"\"", FAIL_USAGE},
	    {NULL, "web=0.1x", "--ceiling: not a number: \"0.1x\"", FAIL_USAGE},
	    {NULL, "wep=0.1", "--ceiling: mix pre draws from no domain wep", FAIL_USAGE},
	    {NULL, "wep=0.1", "did you mean web?", FAIL_USAGE},
	    {"=0.1", NULL, "--floor: mix pre draws from no domain ", FAIL_USAGE},
	    {"web=0.5", "web=0.4", "domain web: floor 0.5 is above ceiling 0.4", FAIL_CONFIG},
	    {"0.5", NULL, "the floors of 3 domains sum to 1.5", FAIL_CONFIG},
	    {NULL, "0.3", "the ceilings of 3 domains sum to 0.9", FAIL_CONFIG},
	    {"web=-0.1", NULL, "domain web: floor -0.1", FAIL_CONFIG},
	    {NULL, "web=1.1", "ceiling 1.1", FAIL_CONFIG},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct reweight_job_arguments a = arguments();
		struct reweight_job job = {0};

		a.floor = rows[i].floor;
		a.ceiling = rows[i].ceiling;
		assert_int_equal(
		    reweight_job_open(&job, &a, &no_config, &ledger_of_three, &f), rows[i].code);
		assert_non_null(strstr(f.text, rows[i].says));
		reweight_job_close(&job);
		assert_null(job.domain);
	}
}

/* ---- the reference ---- */

static void
test_the_reference_gives_each_learned_domain_its_part(void **unused)
{
	static const struct {
		const char *text, *says; /* NULL: it is taken */
	} rows[] = {
	    {"{\"web\": 3, \"code\": 1, \"math\": 4}", NULL},
	    {"{\"web\": 0.375, \"code\": 0.125, \"math\": 0.5, \"other\": 7}", NULL},
	    {"{\"web\": 3, \"code\": 1}", "domain math has no weight above 0"},
	    {"{\"web\": 0, \"code\": 1, \"math\": 4}", "domain web has no weight above 0"},
	    {"{\"web\": -3, \"code\": 1, \"math\": 4}", "domain web has no weight above 0"},
	    {"{\"web\": \"3\", \"code\": 1, \"math\": 4}", "domain web has no weight above 0"},
	    {"[3, 1, 4]", "is not a JSON object"},
	    {"{\"web\": 3, \"web\": 1, \"code\": 1, \"math\": 4}", "line 1: "},
	    {"{", "line 1: "},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		static const double part[] = {0.125, 0.5, 0.375};
		struct reweight_job_arguments a = arguments();
		struct reweight_job job = {0};

		folder_text("reference.json", rows[i].text);
		a.reference = folder_path("reference.json");
		assert_int_equal(reweight_job_open(&job, &a, &no_config, &ledger_of_three, &f),
		    rows[i].says == NULL ? FAIL_NONE : FAIL_CONFIG);
		if (rows[i].says == NULL) {
			double weight[3];

			assert_memory_equal(job.reference, part, sizeof(part));
			reweight_weights(job.learner, weight); /* the learner starts from it */
			assert_memory_equal(weight, part, sizeof(part));
		} else {
			assert_non_null(strstr(f.text, rows[i].says));
			assert_non_null(strstr(f.text, "reference.json"));
		}
		reweight_job_close(&job);
	}
}

static void
test_a_job_that_is_opened_has_learned_nothing_under_an_id_of_its_own(void **unused)
{
	const struct reweight_job_arguments a = arguments();
	struct reweight_job job = {0}, other = {0};

	(void)unused;
	assert_int_equal(reweight_job_open(&job, &a, &no_config, &ledger_of_three, &f), FAIL_NONE);
	assert_int_equal(
	    reweight_job_open(&other, &a, &no_config, &ledger_of_three, &f), FAIL_NONE);
	assert_int_equal(reweight_steps(job.learner), 0);
	assert_int_equal(job.last_step, -1);
	assert_null(job.reference);
	assert_int_equal(strspn(job.id, "0123456789abcdef"), REWEIGHT_JOB_ID_BYTES - 1);
	assert_string_not_equal(job.id, other.id);
	reweight_job_close(&job);
	reweight_job_close(&other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_domain_is_learned_if_the_mix_may_draw_from_it),
	    cmocka_unit_test(test_with_a_configuration_only_its_domains_are_learned),
	    cmocka_unit_test(test_bounds_are_for_all_or_for_one_in_their_order),
	    cmocka_unit_test(test_bounds_that_cannot_hold_are_refused),
	    cmocka_unit_test(test_the_reference_gives_each_learned_domain_its_part),
	    cmocka_unit_test(test_a_job_that_is_opened_has_learned_nothing_under_an_id_of_its_own),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
