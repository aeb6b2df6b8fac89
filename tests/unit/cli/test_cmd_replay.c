/* riffle replay: what it asks for, and what it prints of the outcome. replay() is the test's. */
#include "consumer/replay/replay.h"

#include "cli/signals.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static struct replay_result outcome;
static enum fail_code code;
static char asked[256];

enum fail_code
replay(const struct replay_options *o, struct replay_result *out, struct failure *f)
{
	snprintf(asked, sizeof(asked), "%s %llu..%llu%s%s%s%s", o->config->mix.name,
	    (unsigned long long)o->first, (unsigned long long)o->end,
	    o->republish == NULL ? "" : " to ", o->republish == NULL ? "" : o->republish,
	    o->derive_only ? " derive" : "", o->stop == signals_stop() ? "" : " without a stop");
	assert_true(o->lane == NULL && o->fill == NULL);
	*out = outcome;
	return code == FAIL_NONE ? FAIL_NONE : fail(f, code, "said so");
}

static void
test_what_was_compared_and_written_is_printed(void **unused)
{
	static const struct {
		const char *words, *asked;
		struct replay_result outcome;
		enum fail_code code;
		const char *text; /* what is printed, or the failure */
	} rows[] = {
	    {"--steps 2..5", "pretrain 2..5", {.steps = 3, .records = 12, .bytes = 3400}, FAIL_NONE,
		"replayed steps 2..5 of mix pretrain: 12 records, 3400 bytes, all equal\n"},
	    {"--steps 2..5", "pretrain 2..5", {.steps = 1, .records = 1, .bytes = 34}, FAIL_NONE,
		"replayed steps 2..5 of mix pretrain: 1 records, 34 bytes, all equal\n"
		"of 3 steps 2 are not in the batch topic any more: derived, not compared but with "
		"the ledger\n"},
	    {"--steps 2..5", "pretrain 2..5", {.steps = 0}, FAIL_NONE,
		"replayed steps 2..5 of mix pretrain: the ledger agrees with each\n"
		"of 3 steps 3 are not in the batch topic any more: derived, not compared but with "
		"the ledger\n"},
	    {"--steps 0..1 --mix other", "other 0..1", {.no_copies = true}, FAIL_NONE,
		"replayed steps 0..1 of mix other, which has no copies: the ledger agrees with "
		"each\n"},
	    {"--steps 2..5 --republish again", "pretrain 2..5 to again",
		{.steps = 3, .records = 12, .bytes = 3400, .republished = 2}, FAIL_NONE,
		"replayed steps 2..5 of mix pretrain: 12 records, 3400 bytes, all equal\n"
		"wrote 2 steps to mix again, and its end at step 5\n"},
	    {"--steps 2..5 --republish again", "pretrain 2..5 to again",
		{.steps = 3, .complete = true}, FAIL_NONE,
		"mix again holds steps 2..5 already: nothing was written\n"},
	    {"--steps 2..5 --republish again --derive-only", "pretrain 2..5 to again derive",
		{.steps = 1, .records = 0, .bytes = 0, .republished = 3}, FAIL_NONE,
		"replayed steps 2..5 of mix pretrain: 0 records, 0 bytes, all equal\n"
		"of 3 steps 2 were compared with the ledger alone: derived, not compared\n"
		"wrote 3 steps to mix again, and its end at step 5\n"},
	    {"--steps 2..5", "pretrain 2..5", {.steps = 3}, FAIL_DATA, "said so"},
	    {"--steps 0..4611686018427387903", "pretrain 0..4611686018427387903",
		{.steps = 4611686018427387903, .records = 1}, FAIL_NONE,
		"replayed steps 0..4611686018427387903 of mix pretrain: 1 records, 0 bytes, all "
		"equal\n"},
	    {"--steps 0..4611686018427387904", "", {0}, FAIL_USAGE,
		"--steps: 4611686018427387904 is out of range"},
	    {"--steps 2..2", "", {0}, FAIL_USAGE, "--steps: 2..2 holds no step"},
	    {"--republish again", "", {0}, FAIL_USAGE,
		"--steps A..B is needed: which steps to replay"},
	    {"--steps 2..5 --derive-only", "", {0}, FAIL_USAGE,
		"--derive-only: only with --republish MIX"},
	    {"--steps 2..5 --republish .x", "", {0}, FAIL_USAGE,
		"--republish: \".x\" is not a name of a mix"},
	};
	struct config *c;

	(void)unused;
	assert_int_equal(open_with(&c, 0, NULL, &f), FAIL_NONE);
	config_close(c);
	EACH_NAMED_ROW(i, rows, words) {
		char line[1024];

		outcome = rows[i].outcome;
		code = rows[i].code;
		asked[0] = '\0';
		snprintf(line, sizeof(line), "-c %s %s", folder_path("run.yml"), rows[i].words);
		run_command_is(&cmd_replay, line, rows[i].code, rows[i].text);
		assert_string_equal(asked, rows[i].asked);
	}
}

/* Without a configuration the ledger of the mix says all, but not where another mix goes. */
static void
test_only_republishing_needs_a_configuration(void **unused)
{
	(void)unused;
	unsetenv("RIFFLE_CONFIG");
	code = FAIL_NONE;
	outcome = (struct replay_result){.steps = 1, .records = 2, .bytes = 3};
	run_command_is(&cmd_replay, "--mix pre -X bootstrap.servers=127.0.0.1:1 --steps 4..5",
	    FAIL_NONE, "replayed steps 4..5 of mix pre: 2 records, 3 bytes, all equal\n");
	assert_string_equal(asked, "pre 4..5");
	run_command_is(&cmd_replay,
	    "--mix pre -X bootstrap.servers=127.0.0.1:1 --steps 4..5 --republish again", FAIL_USAGE,
	    "--republish: needs the configuration, for the topics of the other mix: add -c FILE");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_was_compared_and_written_is_printed),
	    cmocka_unit_test(test_only_republishing_needs_a_configuration),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
