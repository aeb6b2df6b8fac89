/* riffle repair: what it asks for, and what it prints of the outcome. repair() is the test's. */
#include "consumer/replay/repair.h"

#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

enum { LANES = 3 };

static const struct outcome {
	struct repair_lane lane[LANES];
	struct repair_result of; /* without `lane` */
} * outcome;
static enum fail_code code;
static char asked[256];

enum fail_code
repair(const struct repair_options *o, struct repair_result *out, struct failure *f)
{
	snprintf(asked, sizeof(asked), "%s%s%s from %llu", o->config->mix.name,
	    o->dry_run ? " dry" : "", o->from_given ? " given" : "",
	    (unsigned long long)o->from_step);
	*out = outcome->of;
	out->lane = malloc(sizeof(outcome->lane));
	assert_non_null(out->lane);
	memcpy(out->lane, outcome->lane, sizeof(outcome->lane));
	return code == FAIL_NONE ? FAIL_NONE : fail(f, code, "said so");
}

static void
test_what_was_missing_is_listed(void **unused)
{
	static const struct {
		const char *words, *asked;
		struct outcome outcome;
		enum fail_code code;
		const char *text; /* what is printed, or the failure */
	} rows[] = {
	    {"", "pretrain from 0", {.of = {.lanes = LANES, .derived = true, .checked_end = 5}},
		FAIL_NONE,
		"nothing to repair: mix pretrain has no copies of its steps (mix.batches: "
		"derived), and its ledger ends before step 5\n"},
	    {"", "pretrain from 0", {.of = {.lanes = LANES, .checked_first = 5, .checked_end = 5}},
		FAIL_NONE,
		"nothing to repair: mix pretrain ends with the same step on all lanes and in its "
		"ledger\n"},
	    {"--from-step 4 --mix other", "other given from 4",
		{.of = {.lanes = LANES, .checked_first = 4, .checked_end = 5}}, FAIL_NONE,
		"nothing to repair: mix other ends with the same step on all lanes and in its "
		"ledger; steps 4..5 are whole\n"},
	    {"--from-step 0", "pretrain given from 0",
		{.lane = {{5, 7}, {6, 6}, {6, 7}},
		    .of = {.lanes = LANES,
			.needed = true,
			.ledger_first = 4,
			.ledger_end = 4,
			.records = 3}},
		FAIL_NONE,
		"lane 0: steps 5..7\n"
		"lane 2: steps 6..7\n"
		"wrote 3 records of lanes of mix pretrain\n"},
	    {"-n", "pretrain dry from 0",
		{.lane = {{5, 7}, {6, 7}, {7, 8}},
		    .of = {.lanes = 2,
			.needed = true,
			.derived = true,
			.ledger_first = 4,
			.ledger_end = 5,
			.records = 1,
			.opened = 1}},
		FAIL_NONE,
		"would abort a transaction that nobody ended, on 1 lane\n"
		"lane 0: steps 5..7\n"
		"lane 1: steps 6..7\n"
		"ledger: steps 4..5\n"
		"would write 1 records of lanes of mix pretrain, and the ledger's\n"},
	    {"", "pretrain from 0",
		{.of = {.lanes = LANES, .needed = true, .opened = 2, .opened_ledger = true}},
		FAIL_NONE,
		"aborted a transaction that nobody ended, on 2 lanes and in the ledger\n"
		"wrote 0 records of lanes of mix pretrain\n"},
	    {"", "pretrain from 0", {.of = {.lanes = LANES, .needed = true, .opened_ledger = true}},
		FAIL_NONE,
		"aborted a transaction that nobody ended, on 0 lanes and in the ledger\n"
		"wrote 0 records of lanes of mix pretrain\n"},
	    {"", "pretrain from 0", {.of = {.lanes = LANES}}, FAIL_DATA, "said so"},
	    {"--from-step 4611686018427387904", "", {.of = {.lanes = LANES}}, FAIL_USAGE,
		"--from-step: out of range: 4611686018427387904 (0 to 4611686018427387903)"},
	};
	struct config *c;

	(void)unused;
	assert_int_equal(open_with(&c, 0, NULL, &f), FAIL_NONE);
	config_close(c);
	EACH_NAMED_ROW(i, rows, text) {
		char line[1024];

		outcome = &rows[i].outcome;
		code = rows[i].code;
		asked[0] = '\0';
		snprintf(line, sizeof(line), "-c %s %s", folder_path("run.yml"), rows[i].words);
		run_command_is(&cmd_repair, line, rows[i].code, rows[i].text);
		assert_string_equal(asked, rows[i].asked);
	}
}

static void
test_a_configuration_without_a_mix_has_nothing_to_repair(void **unused)
{
	char line[1024];
	struct printed p;

	(void)unused;
	folder_text("corpus.yml", "corpus: demo\nsequence_length: 8\ntokenizer: {file: v.tiktoken, "
				  "pattern: gpt2}\ndomains: {web: {train: a.jsonl}}\n");
	asked[0] = '\0';
	snprintf(line, sizeof(line), "-c %s", folder_path("corpus.yml"));
	assert_int_equal(run_command(&p, &cmd_repair, line), FAIL_CONFIG);
	free(p.text);
	assert_non_null(strstr(f.text, "corpus.yml: mix: is missing"));
	assert_string_equal(asked, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_was_missing_is_listed),
	    cmocka_unit_test(test_a_configuration_without_a_mix_has_nothing_to_repair),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
