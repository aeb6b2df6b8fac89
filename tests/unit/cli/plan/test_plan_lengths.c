/* plan_lengths.h: lengths by --sizes and by a status, and how many steps they are planned for. */
#include "cli/plan/plan_lengths.h"

#include "common/base/log.h"
#include "tests/unit/test.h"

enum { CODE, WEB, DOMAINS, PHASES_MAX = 3 };

static struct config_domain configured[DOMAINS] = {
    {.name = "code", .partitions = 1}, {.name = "web", .partitions = 4}};

static struct config
config_of(uint32_t global_batch)
{
	return (struct config){.corpus = "demo",
	    .domains = configured,
	    .domains_n = DOMAINS,
	    .mix = {.name = "pre", .global_batch = global_batch, .lanes = 1, .temperature = 1}};
}

/* ---- --sizes ---- */

static void
test_a_total_is_dealt_to_the_partitions_as_evenly_as_can_be(void **unused)
{
	static const struct {
		const char *text;
		uint64_t code, web[4];
	} rows[] = {
	    {"code=0,web=0", 0, {0, 0, 0, 0}},
	    {"code=7,web=10", 7, {3, 3, 2, 2}},
	    {"web=10,code=7", 7, {3, 3, 2, 2}}, /* in any order */
	    {"code=7, web=10", 7, {3, 3, 2, 2}},
	    {"web=3,code=1", 1, {1, 1, 1, 0}},
	    {"web=8,code=1099511627776", PLAN_LENGTHS_ENDLESS, {2, 2, 2, 2}},
	};
	const struct config c = config_of(8);

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct plan_lengths p;

		assert_int_equal(plan_lengths_parse(&p, &c, rows[i].text, &f), FAIL_NONE);
		assert_int_equal(p.n, DOMAINS);
		assert_int_equal(p.length[CODE].partitions_n, 1);
		assert_int_equal(p.length[CODE].sequences[0], rows[i].code);
		assert_int_equal(p.length[WEB].partitions_n, 4);
		assert_memory_equal(p.length[WEB].sequences, rows[i].web, sizeof(rows[i].web));
		plan_lengths_close(&p);
	}
}

static void
test_sizes_name_every_domain_once(void **unused)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
	    {"", "not a domain and its sequences:  (as web=7000, at most 1099511627776)"},
	    {"web", "not a domain and its sequences: web (as"},
	    {"web=", "not a domain and its sequences: web= (as"},
	    {"web=1x", "not a domain and its sequences: web=1x (as"},
	    {"web=-1", "not a domain and its sequences: web=-1 (as"},
	    {"web=1099511627777", "not a domain and its sequences: web=1099511627777 (as"},
	    {"web=1,code=1,", "not a domain and its sequences:  (as"},
	    {"wep=1,code=1", "did you mean web?"},
	    {"web=1", "domain code is missing"},
	    {"code=1", "domain web is missing"},
	    {"web=1,code=1,web=0", "domain web is named twice"},
	    {"web=0,web=0", "domain web is named twice"},
	};
	const struct config c = config_of(8);
	char long_name[NAME_MAX_BYTES + 8];
	struct plan_lengths p;

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		p.n = 77;
		assert_int_equal(plan_lengths_parse(&p, &c, rows[i].text, &f), FAIL_USAGE);
		assert_non_null(strstr(f.text, "--sizes: "));
		assert_non_null(strstr(f.text, rows[i].says));
		assert_int_equal(p.n, 0);
		assert_null(p.length);
	}
	/* A name of the longest length is looked for, a longer name is refused. */
	for (int n = NAME_MAX_BYTES; n <= NAME_MAX_BYTES + 1; n++) {
		memset(long_name, 'n', (size_t)n);
		snprintf(long_name + n, sizeof(long_name) - (size_t)n, "=1");
		assert_int_equal(plan_lengths_parse(&p, &c, long_name, &f), FAIL_USAGE);
		assert_int_equal(
		    strstr(f.text, "not a domain and its sequences") != NULL, n > NAME_MAX_BYTES);
	}
}

/* ---- steps ---- */

/* By drawing step after step. */
static uint64_t
count_steps(uint64_t total, const struct config_mix *m)
{
	uint64_t drawn = 0, step = 0;
	uint64_t last = m->phases_n > 0 ? m->phases[m->phases_n - 1].start_step : 0;

	for (; drawn < total || (m->phases_n > 0 && step <= last); step++) {
		uint32_t batch = m->global_batch;

		for (size_t i = 0; i < m->phases_n; i++)
			if (m->phases[i].start_step <= step)
				batch = m->phases[i].global_batch > 0 ? m->phases[i].global_batch
								      : m->global_batch;
		drawn += batch;
	}
	return step;
}

static uint64_t
steps_of(uint64_t total, const struct config *c)
{
	struct plan_lengths p;
	char text[64];
	uint64_t steps;

	snprintf(text, sizeof(text), "code=%llu,web=%llu", (unsigned long long)(total / 3),
	    (unsigned long long)(total - total / 3));
	assert_int_equal(plan_lengths_parse(&p, c, text, &f), FAIL_NONE);
	steps = plan_lengths_steps(&p, c);
	plan_lengths_close(&p);
	return steps;
}

/* Batches of phases, 0 standing for the mix's, which is 8. The first phase starts at step 3. */
static void
test_steps_are_as_many_as_draw_all_sequences_and_begin_every_phase(void **unused)
{
	static const struct {
		const char *claim;
		size_t phases_n;
		uint32_t batch[PHASES_MAX];
	} rows[] = {
	    {"no phase", 0, {0}},
	    {"the mix's batch", 1, {0}},
	    {"a larger one", 1, {40}},
	    {"a smaller one", 1, {2}},
	    {"larger, then the mix's again", 2, {40, 0}},
	    {"smaller, then the mix's again", 2, {2, 0}},
	    {"the mix's, then another", 2, {0, 24}},
	    {"three that differ", 3, {40, 0, 2}},
	    {"two in a row without one", 3, {40, 0, 0}},
	};
	static const uint64_t totals[] = {
	    0, 1, 7, 8, 9, 23, 24, 25, 26, 27, 63, 64, 65, 143, 144, 145, 184, 200, 1000};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		struct config_phase phase[PHASES_MAX] = {
		    {.start_step = 3}, {.start_step = 6}, {.start_step = 7}};
		struct config c = config_of(8);

		for (size_t k = 0; k < PHASES_MAX; k++)
			phase[k].global_batch = rows[i].batch[k];
		c.mix.phases = phase;
		c.mix.phases_n = rows[i].phases_n;
		EACH_ROW(k, totals)
			assert_int_equal(steps_of(totals[k], &c), count_steps(totals[k], &c.mix));
	}
}

static void
test_the_example_of_the_header_holds(void **unused)
{
	struct config_phase phase = {.start_step = 500};
	struct config c = config_of(16);

	(void)unused;
	c.mix.phases = &phase;
	assert_int_equal(steps_of(2115 + 4217, &c), 396);
	c.mix.phases_n = 1;
	assert_int_equal(steps_of(2115 + 4217, &c), 501);
}

static void
test_steps_have_a_limit(void **unused)
{
	static const uint64_t starts[] = {PLAN_LENGTHS_STEPS_MAX - 1, PLAN_LENGTHS_STEPS_MAX,
	    PLAN_LENGTHS_STEPS_MAX + 1, UINT64_MAX};
	struct config c = config_of(1);
	struct plan_lengths p;

	(void)unused;
	assert_int_equal(steps_of(PLAN_LENGTHS_STEPS_MAX - 1, &c), PLAN_LENGTHS_STEPS_MAX - 1);
	assert_int_equal(steps_of(PLAN_LENGTHS_STEPS_MAX, &c), PLAN_LENGTHS_STEPS_MAX);
	assert_int_equal(steps_of(PLAN_LENGTHS_STEPS_MAX + 1, &c), PLAN_LENGTHS_STEPS_MAX);
	assert_int_equal(plan_lengths_endless(&p, &c, &f), FAIL_NONE);
	assert_int_equal(plan_lengths_steps(&p, &c), PLAN_LENGTHS_STEPS_MAX);
	plan_lengths_close(&p);
	EACH_ROW(i, starts) {
		struct config_phase phase = {.start_step = starts[i]};

		c.mix.phases = &phase;
		c.mix.phases_n = 1;
		assert_int_equal(steps_of(10, &c), PLAN_LENGTHS_STEPS_MAX);
	}
}

static void
test_an_endless_domain_has_more_than_any_plan_draws(void **unused)
{
	const struct config c = config_of(8);
	struct plan_lengths p;

	(void)unused;
	assert_int_equal(plan_lengths_endless(&p, &c, &f), FAIL_NONE);
	for (size_t i = 0; i < DOMAINS; i++) {
		uint64_t sum = 0;

		assert_int_equal(p.length[i].partitions_n, configured[i].partitions);
		for (size_t k = 0; k < p.length[i].partitions_n; k++)
			sum += p.length[i].sequences[k];
		assert_int_equal(sum, PLAN_LENGTHS_ENDLESS);
	}
	plan_lengths_close(&p);
}

/* ---- what the broker knows ---- */

static struct status_partition partition[4] = {
    {.sequences = 5}, {.sequences = 6}, {.sequences = 7}, {.sequences = 8}};

/* The ledger's order is another one than the configuration's, and it knows one domain more. */
static struct status_domain domains[] = {
    {.name = "left", .configured = -1, .mixed = 0, .weight = 9},
    {.name = "web",
	.configured = WEB,
	.mixed = 1,
	.weight = 3,
	.partition = partition,
	.partitions_n = 4,
	.partitions_sealed = 4},
    {.name = "code",
	.configured = CODE,
	.mixed = 2,
	.weight = 2,
	.partition = partition,
	.partitions_n = 1,
	.partitions_sealed = 1},
};
enum { IN_STATUS = sizeof(domains) / sizeof(domains[0]) };

static void
test_lengths_are_those_of_the_topics(void **unused)
{
	const struct config c = config_of(8);
	const struct status st = {.config = &c, .domain = domains, .domains_n = IN_STATUS};
	struct plan_lengths p;

	(void)unused;
	assert_int_equal(plan_lengths_take(&p, &c, &st, &f), FAIL_NONE);
	assert_int_equal(p.length[CODE].partitions_n, 1);
	assert_int_equal(p.length[CODE].sequences[0], 5);
	assert_int_equal(p.length[WEB].partitions_n, 4);
	for (size_t k = 0; k < 4; k++)
		assert_int_equal(p.length[WEB].sequences[k], 5 + k);
	plan_lengths_close(&p);
}

static void
test_a_length_that_is_not_final_or_not_known_is_refused(void **unused)
{
	static const struct {
		const char *says; /* NULL: it is taken */
		size_t partitions_n, sealed, late;
		bool live;
		enum fail_code code;
	} rows[] = {
	    {NULL, 4, 4, 0, false, FAIL_NONE},
	    {NULL, 4, 0, 0, true, FAIL_NONE},
	    {NULL, 4, 4, 0, true, FAIL_NONE},
	    {"or give --sizes", 0, 0, 0, false, FAIL_CONFIG},
	    {"or give --sizes", 0, 0, 0, true, FAIL_CONFIG},
	    {"has 3 partitions, the configuration wants 4", 3, 3, 0, false, FAIL_CONFIG},
	    {"has 3 partitions, the configuration wants 4", 3, 0, 0, true, FAIL_CONFIG},
	    {"the last record of 1 of 4 partitions", 4, 3, 1, false, FAIL_TIMEOUT},
	    {"the last record of 4 of 4 partitions", 4, 0, 4, true, FAIL_TIMEOUT},
	    {"domain web is not sealed", 4, 3, 0, false, FAIL_CONFIG},
	    {"domain web is not sealed", 4, 0, 0, false, FAIL_CONFIG},
	};
	const struct config c = config_of(8);

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct status_domain d[IN_STATUS];
		const struct status st = {.config = &c, .domain = d, .domains_n = IN_STATUS};
		struct plan_lengths p;

		memcpy(d, domains, sizeof(d));
		d[1].partitions_n = rows[i].partitions_n;
		d[1].partitions_sealed = rows[i].sealed;
		d[1].partitions_late = rows[i].late;
		d[1].live = rows[i].live;
		assert_int_equal(plan_lengths_take(&p, &c, &st, &f), rows[i].code);
		if (rows[i].says != NULL) {
			assert_non_null(strstr(f.text, rows[i].says));
			assert_non_null(strstr(f.text, "give --sizes"));
			assert_null(p.length);
		}
		plan_lengths_close(&p);
	}
}

/* The file has 8 sequences a step, temperature 1 and weights 0.5 and 0.5. */
static void
test_a_request_in_force_takes_the_place_of_the_files_weights(void **unused)
{
	static const struct {
		const char *claim, *problem;
		enum status_state state;
		enum ledger_reason reason;
		uint32_t ledger_batch, batch;
		bool taken;
	} rows[] = {
	    {"a request", NULL, STATUS_STARTED, LEDGER_BY_REQUEST, 24, 24, true},
	    {"a request without a batch", NULL, STATUS_STARTED, LEDGER_BY_REQUEST, 0, 8, true},
	    {"the file itself", NULL, STATUS_STARTED, LEDGER_BY_CONFIG, 24, 8, false},
	    {"a phase", NULL, STATUS_STARTED, LEDGER_BY_PHASE, 24, 8, false},
	    {"before the mix", NULL, STATUS_NOT_STARTED, LEDGER_BY_REQUEST, 24, 8, false},
	    {"behind its end", NULL, STATUS_ENDED, LEDGER_BY_REQUEST, 24, 8, false},
	    {"of another file", "STATUS-CONFIG", STATUS_STARTED, LEDGER_BY_REQUEST, 24, 8, false},
	    {"of another log", "STATUS-DOMAIN-CHANGED", STATUS_STARTED, LEDGER_BY_REQUEST, 24, 8,
		false},
	    {"any other problem", "STATUS-TOPIC", STATUS_STARTED, LEDGER_BY_REQUEST, 24, 24, true},
	};

	(void)unused;
	log_set_level(LOG_ERROR);
	EACH_NAMED_ROW(i, rows, claim) {
		double weight[DOMAINS] = {0.5, 0.5};
		struct config c = config_of(8);
		struct status_problem problem[2] = {{.code = "STATUS-RUN-LOST"}};
		const struct status st = {.config = &c,
		    .state = rows[i].state,
		    .ledger = {.reason = rows[i].reason,
			.temperature = 2,
			.global_batch = rows[i].ledger_batch},
		    .domain = domains,
		    .domains_n = IN_STATUS,
		    .problem = problem,
		    .problems_n = rows[i].problem == NULL ? 0 : 2};

		problem[1].code = rows[i].problem;
		c.mix.weight = weight;
		c.mix.weights_kind = CONFIG_WEIGHTS_SIZE;
		plan_lengths_take_weights(&c, &st);
		assert_int_equal(c.mix.global_batch, rows[i].batch);
		assert_int_equal(
		    c.mix.weights_kind, rows[i].taken ? CONFIG_WEIGHTS_MAP : CONFIG_WEIGHTS_SIZE);
		assert_true(c.mix.temperature == (rows[i].taken ? 2 : 1));
		assert_true(weight[CODE] == (rows[i].taken ? 2 : 0.5));
		assert_true(weight[WEB] == (rows[i].taken ? 3 : 0.5));
	}
}

/* It is not in the mix yet, or not in the file: no weight is moved to another place. */
static void
test_a_domain_that_only_one_of_file_and_ledger_has_keeps_its_weight(void **unused)
{
	double weight[DOMAINS] = {0.5, 0.5};
	struct config c = config_of(8);
	struct status_domain d[IN_STATUS];
	const struct status st = {.config = &c,
	    .state = STATUS_STARTED,
	    .ledger = {.reason = LEDGER_BY_REQUEST, .temperature = 1},
	    .domain = d,
	    .domains_n = IN_STATUS};

	(void)unused;
	log_set_level(LOG_ERROR);
	memcpy(d, domains, sizeof(d));
	d[2].mixed = -1; /* code */
	c.mix.weight = weight;
	plan_lengths_take_weights(&c, &st);
	assert_true(weight[CODE] == 0.5);
	assert_true(weight[WEB] == 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_total_is_dealt_to_the_partitions_as_evenly_as_can_be),
	    cmocka_unit_test(test_sizes_name_every_domain_once),
	    cmocka_unit_test(test_steps_are_as_many_as_draw_all_sequences_and_begin_every_phase),
	    cmocka_unit_test(test_the_example_of_the_header_holds),
	    cmocka_unit_test(test_steps_have_a_limit),
	    cmocka_unit_test(test_an_endless_domain_has_more_than_any_plan_draws),
	    cmocka_unit_test(test_lengths_are_those_of_the_topics),
	    cmocka_unit_test(test_a_length_that_is_not_final_or_not_known_is_refused),
	    cmocka_unit_test(test_a_request_in_force_takes_the_place_of_the_files_weights),
	    cmocka_unit_test(test_a_domain_that_only_one_of_file_and_ledger_has_keeps_its_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
