/* riffle retain: what it asks for, and what it prints of the outcome. retain() is the test's. */
#include "consumer/admin/retain.h"

#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static struct retain_result outcome;
static enum fail_code code;
static char asked[256];

enum fail_code
retain(const struct retain_options *o, struct retain_result *out, struct failure *f)
{
	snprintf(asked, sizeof(asked), "%s from %llu%s%s", o->config->mix.name,
	    (unsigned long long)o->from_step, o->force ? " force" : "", o->dry_run ? " dry" : "");
	*out = outcome;
	return code == FAIL_NONE ? FAIL_NONE : fail(f, code, "said so");
}

static void
test_a_result_is_one_line(void **unused)
{
	static const struct {
		const char *words, *asked;
		struct retain_result outcome;
		enum fail_code code;
		const char *text; /* what is printed, or the failure */
	} rows[] = {
	    {"--from-step 9", "pretrain from 9", {3, 9, 4}, FAIL_NONE,
		"deleted steps 3..9 of mix pretrain, 4 lanes; the earliest retained step is 9\n"},
	    {"--from-step 0 --force --mix other", "other from 0 force", {0, 1, 2}, FAIL_NONE,
		"deleted steps 0..1 of mix other, 2 lanes; the earliest retained step is 1\n"},
	    {"-n --from-step 9", "pretrain from 9 dry", {3, 8, 4}, FAIL_NONE,
		"would delete steps 3..8 of mix pretrain, 4 lanes; the earliest retained step "
		"would be 8\n"},
	    {"--dry-run --from-step 4611686018427387903", "pretrain from 4611686018427387903 dry",
		{7, 7, 4}, FAIL_NONE, "nothing to delete: mix pretrain keeps no step below 7\n"},
	    {"--from-step 9", "pretrain from 9", {3, 9, 4}, FAIL_DATA, "said so"},
	    {"--from-step 4611686018427387904", "", {3, 9, 4}, FAIL_USAGE,
		"--from-step: out of range: 4611686018427387904 (0 to 4611686018427387903)"},
	    {"--force", "", {3, 9, 4}, FAIL_USAGE,
		"--from-step S is needed: the first step that stays"},
	    {"--from-step 9 --mix .x", "", {3, 9, 4}, FAIL_USAGE,
		"--mix: \".x\" is not a name of a mix"},
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
		run_command_is(&cmd_retain, line, rows[i].code, rows[i].text);
		assert_string_equal(asked, rows[i].asked);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_result_is_one_line),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
