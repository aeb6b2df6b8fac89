/*
 * runs_config.h: the configuration of riffle runs without a file. The options, the ledger, its plan
 * and the broker are the test's.
 */
#include "cli/request/runs_config.h"

#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/ledger_plan.h"
#include "tests/unit/test.h"

static const char *fails; /* the call that fails */
static bool any, without_mix;
static enum mix_batches batches;
static int partitions, handles, asked; /* asked: for partitions */

static enum fail_code
may_fail(const char *call, struct failure *f)
{
	return fails != NULL && strcmp(fails, call) == 0 ? fail(f, FAIL_BROKER, "%s failed", call)
							 : FAIL_NONE;
}

static struct config *
config_of(const char *mix)
{
	struct config *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->mix.name = mix == NULL ? NULL : strdup(mix);
	c->mix.lanes = 77;
	return c;
}

enum fail_code
options_config_named(
    struct config **out, const char *mix, const struct options *o, struct failure *f)
{
	assert_non_null(o->config);
	*out = NULL;
	if (may_fail("file", f) != FAIL_NONE)
		return f->code;
	*out = config_of(without_mix ? NULL : mix == NULL ? "pre" : mix);
	(*out)->path = strdup(o->config);
	return FAIL_NONE;
}

enum fail_code
options_mix_config(
    struct config **out, const char **mix, const struct options *o, struct failure *f)
{
	assert_null(o->config);
	*out = NULL;
	if (may_fail("options", f) != FAIL_NONE)
		return f->code;
	*out = config_of(*mix);
	return FAIL_NONE;
}

enum fail_code
ledger_log_ask(struct ledger *out, bool *found, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f)
{
	assert_string_equal(mix, "pre");
	assert_non_null(properties);
	assert_int_equal(timeout_ms, 10000);
	out->step_next = 7;
	*found = any;
	return may_fail("ledger", f);
}

enum fail_code
ledger_plan_open(struct ledger_plan *out, const struct ledger *l, struct failure *f)
{
	static const char *const runs[] = {"main", "ablation"};

	assert_int_equal(l->step_next, 7);
	if (may_fail("plan", f) != FAIL_NONE)
		return f->code;
	handles++;
	*out = (struct ledger_plan){.corpus = "demo",
	    .max_lead_steps = 11,
	    .batches = batches,
	    .run = runs,
	    .runs_n = 2,
	    .memory = &handles};
	out->plan.sequence_length = 12;
	out->plan.global_batch = 13;
	out->plan.lanes = 14;
	return FAIL_NONE;
}

void
ledger_plan_close(struct ledger_plan *p)
{
	handles -= p->memory != NULL;
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *f)
{
	assert_int_equal(o->role, KAFKA_READER);
	assert_string_equal(o->client, "runs");
	assert_non_null(o->properties);
	if (may_fail("open", f) != FAIL_NONE)
		return f->code;
	handles++;
	*out = (rd_kafka_t *)&handles;
	return FAIL_NONE;
}

void
kafka_close(rd_kafka_t *rk)
{
	assert_ptr_equal((void *)rk, &handles);
	handles--;
}

enum fail_code
kafka_partitions(rd_kafka_t *rk, const char *topic, int *n, int timeout_ms, struct failure *f)
{
	assert_ptr_equal((void *)rk, &handles);
	assert_string_equal(topic, "pre.batches");
	assert_int_equal(timeout_ms, 10000);
	asked++;
	*n = partitions;
	return may_fail("partitions", f);
}

static void
test_the_ledger_says_what_a_file_would(void **unused)
{
	static const struct {
		enum mix_batches batches;
		int partitions, asked;
		uint32_t planned;
	} rows[] = {
	    {MIX_BATCHES_COPIED, 14, 1, 14},
	    {MIX_BATCHES_COPIED, 13, 1, 13},
	    {MIX_BATCHES_COPIED, 1, 1, 1},
	    {MIX_BATCHES_COPIED, 0, 1, 14}, /* there is no such topic */
	    {MIX_BATCHES_COPIED, 15, 1, 14},
	    {MIX_BATCHES_DERIVED, 5, 0, 0},
	};
	const struct options o = {.config = NULL};

	(void)unused;
	any = true;
	EACH_ROW(i, rows) {
		struct config *c;

		batches = rows[i].batches;
		partitions = rows[i].partitions;
		asked = 0;
		assert_int_equal(runs_config_open(&c, "pre", &o, &f), FAIL_NONE);
		assert_string_equal(c->mix.name, "pre");
		assert_string_equal(c->corpus, "demo");
		assert_int_equal(c->sequence_length, 12);
		assert_int_equal(c->mix.global_batch, 13);
		assert_int_equal(c->mix.lanes, 14);
		assert_int_equal(c->mix.batches, rows[i].batches);
		assert_int_equal(c->mix.max_lead_steps, 11);
		assert_int_equal(c->mix.runs.n, 2);
		assert_string_equal(c->mix.runs.text[0], "main");
		assert_string_equal(c->mix.runs.text[1], "ablation");
		assert_int_equal(c->mix.partitions, rows[i].planned);
		assert_int_equal(asked, rows[i].asked);
		assert_int_equal(handles, 0);
		config_close(c);
	}
}

static void
test_a_file_is_taken_as_it_is(void **unused)
{
	const struct options o = {.config = "run.yml"};
	struct config *c;

	(void)unused;
	asked = 0;
	assert_int_equal(runs_config_open(&c, "other", &o, &f), FAIL_NONE);
	assert_string_equal(c->mix.name, "other");
	assert_int_equal(c->mix.lanes, 77);
	assert_int_equal(asked, 0);
	config_close(c);
	without_mix = true;
	assert_int_equal(runs_config_open(&c, NULL, &o, &f), FAIL_CONFIG);
	assert_null(c);
	assert_non_null(strstr(f.text, "run.yml: mix: is missing"));
	without_mix = false;
}

static void
test_each_failure_gives_no_configuration(void **unused)
{
	static const struct {
		const char *fails, *file;
		enum fail_code code;
		const char *text;
	} rows[] = {
	    {"options", NULL, FAIL_BROKER, "options failed"},
	    {"ledger", NULL, FAIL_BROKER, "ledger failed"},
	    {"plan", NULL, FAIL_BROKER, "plan failed"},
	    {"open", NULL, FAIL_BROKER, "open failed"},
	    {"partitions", NULL, FAIL_BROKER, "partitions failed"},
	    {"file", "run.yml", FAIL_BROKER, "file failed"},
	    {"nothing", NULL, FAIL_CONFIG,
		"no mixer has written to mix pre yet, so its runs are only in its configuration: "
		"add -c FILE"},
	};

	(void)unused;
	batches = MIX_BATCHES_COPIED;
	EACH_NAMED_ROW(i, rows, text) {
		const struct options o = {.config = rows[i].file};
		struct config *c = config_of("x"), *was = c;

		fails = rows[i].fails;
		any = rows[i].code != FAIL_CONFIG;
		assert_int_equal(runs_config_open(&c, "pre", &o, &f), rows[i].code);
		assert_null(c);
		assert_string_equal(f.text, rows[i].text);
		assert_int_equal(handles, 0);
		config_close(was);
	}
	fails = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_ledger_says_what_a_file_would),
	    cmocka_unit_test(test_a_file_is_taken_as_it_is),
	    cmocka_unit_test(test_each_failure_gives_no_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
