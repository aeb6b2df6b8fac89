/*
 * replay_internal.h: what a record of the ledger must be, by itself and behind the one before it.
 */
#include "consumer/replay/replay_internal.h"

#include <string.h>

#include "consumer/plan/bound_config.h"
#include "tests/unit/mock_cluster.h"
#include "tests/unit/test.h"

enum { WAIT_MS = 30000 };

static struct failure f;
static struct ledger_log *log_of_mix;
static char config[] = "{\"fixed\":{\"lanes\":4},\"changeable\":{}}";
static char changed_config[] = "{\"fixed\":{\"lanes\":4},\"changeable\":{\"max_lead_steps\":9}}";
static char other_mix[] = "other", damaged[] = "{";

/* One field of a record, as another value. */
enum field { NOTHING, MIX, SCHEDULE, TOKENIZER, CONFIG, DAMAGED, MIXER, FIRST, NEXT };

static void
change(struct ledger *l, enum field field, int64_t value)
{
	switch (field) {
	case NOTHING: break;
	case MIX: l->mix = other_mix; break;
	case SCHEDULE: l->schedule ^= 1; break;
	case TOKENIZER: l->tokenizer ^= 1; break;
	case CONFIG: l->config = changed_config; break;
	case DAMAGED: l->config = damaged; break;
	case MIXER: l->mixer ^= 1; break;
	case FIRST: l->step_first = value; break;
	case NEXT: l->step_next = value; break;
	}
}

static void
test_a_record_fits_the_one_before_it_or_its_field_is_named(void **unused)
{
	static const struct {
		enum ledger_kind before, now;
		enum field field;
		int64_t value;
		const char *says; /* NULL: it fits */
	} row[] = {
	    {LEDGER_STEPS, LEDGER_STEPS, NOTHING, 0, NULL},
	    {LEDGER_STEPS, LEDGER_END, NOTHING, 0, NULL},
	    {LEDGER_START, LEDGER_STEPS, NOTHING, 0, NULL},
	    {LEDGER_STEPS, LEDGER_STEPS, MIX, 0, "mix: \"other\", the topic is of mix m"},
	    {LEDGER_STEPS, LEDGER_STEPS, SCHEDULE, 0, "schedule: "},
	    {LEDGER_STEPS, LEDGER_STEPS, DAMAGED, 0, "the ledger is the one that differs"},
	    {LEDGER_STEPS, LEDGER_STEPS, TOKENIZER, 0, "tokenizer: "},
	    {LEDGER_STEPS, LEDGER_START, TOKENIZER, 0, "tokenizer: "},
	    {LEDGER_STEPS, LEDGER_STEPS, CONFIG, 0, "config: another one than in the record"},
	    {LEDGER_STEPS, LEDGER_STEPS, MIXER, 0, "without a start"},
	    {LEDGER_END, LEDGER_STEPS, NOTHING, 0, "kind: a record after the end of the mix"},
	    {LEDGER_STEPS, LEDGER_STEPS, FIRST, 59, "step_first: 59, the record before it ends"},
	    {LEDGER_STEPS, LEDGER_STEPS, FIRST, 61, "step_first: 61, the record before it ends"},
	    {LEDGER_STEPS, LEDGER_STEPS, NEXT, 59, "step_next: 59 cannot follow step_first"},
	    {LEDGER_STEPS, LEDGER_STEPS, NEXT, 60, NULL}, /* the answer to a request */
	    /* A start has no step, and may change what a later record may not. */
	    {LEDGER_STEPS, LEDGER_START, NEXT, 60, NULL},
	    {LEDGER_STEPS, LEDGER_START, NEXT, 61, "step_next: 61 cannot follow step_first"},
	    {LEDGER_STEPS, LEDGER_START, CONFIG, -1, NULL},
	    {LEDGER_STEPS, LEDGER_START, MIXER, -1, NULL},
	};
	struct failure why;

	(void)unused;
	EACH_NAMED_ROW(i, row, says) {
		struct replay r = {.mix = "m", .log = log_of_mix, .before_at = 4, .now_at = 6};
		enum fail_code code;

		r.before = (struct ledger){.kind = row[i].before,
		    .mix = (char[]){"m"},
		    .config = config,
		    .step_first = 50,
		    .step_next = 60};
		assert_int_equal(
		    bound_config_schedule(&r.before.schedule, config, &why), FAIL_NONE);
		r.now = r.before;
		r.now.kind = row[i].now;
		r.now.step_first = 60;
		r.now.step_next = row[i].value < 0 ? 60 : 65;
		change(&r.now, row[i].field, row[i].value);
		code = replay_verdict_record(&r, &f);
		assert_int_equal(code, row[i].says == NULL ? FAIL_NONE : FAIL_DATA);
		if (row[i].says == NULL)
			continue;
		assert_non_null(strstr(f.text, row[i].says));
		assert_non_null(strstr(f.text, "topic m.ledger, offset 6 (steps "));
	}
}

static void
test_a_record_that_nobody_has_derived_shares_the_blame(void **unused)
{
	static const struct {
		bool sure;
		int64_t before_at;
		bool shares;
	} row[] = {{false, 4, true}, {false, 0, true}, {true, 4, false}, {false, -1, false}};

	(void)unused;
	EACH_ROW(i, row) {
		struct replay r = {.mix = "m",
		    .log = log_of_mix,
		    .before_sure = row[i].sure,
		    .before_at = row[i].before_at,
		    .now_at = 6};

		fail(&f, FAIL_DATA, "why");
		assert_int_equal(replay_verdict_ledger(&r, &r.now, 6, &f), FAIL_DATA);
		assert_int_equal(
		    strstr(f.text, "this record or the one before it") != NULL, row[i].shares);
		fail(&f, FAIL_DATA, "why");
		assert_int_equal(replay_verdict_ledger(&r, &r.before, 4, &f), FAIL_DATA);
		assert_null(strstr(f.text, "this record or the one before it"));
	}
}

static int
begin(void **unused)
{
	char at[256];
	struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
	const struct properties properties = {1, item};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE ||
	    rd_kafka_mock_topic_create(cluster, "m.ledger", 1, 1))
		return -1;
	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return ledger_log_open(&log_of_mix, "m", &properties, WAIT_MS, &f) == FAIL_NONE ? 0 : -1;
}

static int
end(void **unused)
{
	(void)unused;
	ledger_log_close(log_of_mix);
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_record_fits_the_one_before_it_or_its_field_is_named),
	    cmocka_unit_test(test_a_record_that_nobody_has_derived_shares_the_blame),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
