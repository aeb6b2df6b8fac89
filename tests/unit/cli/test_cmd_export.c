/* riffle export: what it asks for. The export and the tokenizer are the test's. */
#include "cli/signals.h"
#include "consumer/admin/export.h"
#include "producer/produce/produce.h"
#include "producer/tokenizer/tokenizer.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static struct tokenizer *const tokenizer = (struct tokenizer *)&f;
static enum fail_code code;
static bool opened, without_tokenizer;
static char asked[512];

enum fail_code
produce_open_tokenizer(struct tokenizer **out, const struct config *c, struct failure *f)
{
	assert_string_equal(c->corpus, "demo");
	if (without_tokenizer)
		return fail(f, FAIL_IO, "no tokenizer");
	opened = true;
	*out = tokenizer;
	return FAIL_NONE;
}

void
tokenizer_close(struct tokenizer *t)
{
	assert_ptr_equal(t, tokenizer);
	opened = false;
}

uint64_t
tokenizer_fingerprint(const struct tokenizer *t)
{
	assert_ptr_equal(t, tokenizer);
	return 0xabc;
}

uint32_t
tokenizer_entries(const struct tokenizer *t)
{
	assert_ptr_equal(t, tokenizer);
	return 501;
}

uint32_t
tokenizer_eos(const struct tokenizer *t)
{
	assert_ptr_equal(t, tokenizer);
	return 502;
}

enum fail_code
export_run(const struct export_options *o, struct export_counts *counts, struct failure *f)
{
	assert_true(opened);
	assert_ptr_equal(o->stop, signals_stop());
	snprintf(asked, sizeof(asked), "%s set %d to %s form %s%s%s, tokenizer %s %llx %u %u",
	    o->config->domains[o->domain].name, (int)o->set, strrchr(o->file.prefix, '/') + 1,
	    token_format_names[o->file.format], o->file.force ? " force" : "",
	    o->file.stream ? " stream" : "", o->file.tokenizer, (unsigned long long)o->tokenizer,
	    o->file.entries, o->file.eos);
	*counts = (struct export_counts){0};
	return code == FAIL_NONE ? FAIL_NONE : fail(f, code, "said so");
}

static void
test_options_become_those_of_the_export(void **unused)
{
	static const struct {
		const char *words, *asked;
		enum fail_code code;
		const char *failure;
	} rows[] = {
	    {"web --format megatron",
		"web set 0 to x form megatron, tokenizer v.tiktoken abc 501 502", FAIL_NONE, ""},
	    {"code --format ds --set valid --force",
		"code set 1 to x form ds force, tokenizer v.tiktoken abc 501 502", FAIL_NONE, ""},
	    {"--format npy --set test --stream code",
		"code set 2 to x form npy stream, tokenizer v.tiktoken abc 501 502", FAIL_NONE, ""},
	    {"--format llmc web", "web set 0 to x form llmc, tokenizer v.tiktoken abc 501 502",
		FAIL_DATA, "said so"},
	    {"--format none web", "", FAIL_USAGE,
		"--format: unknown: none (one of megatron, ds, npy, llmc)"},
	    {"--set train web", "", FAIL_USAGE, "give --format: megatron, ds, npy or llmc"},
	};
	struct config *c;

	(void)unused;
	assert_int_equal(open_with(&c, 0, NULL, &f), FAIL_NONE);
	config_close(c);
	EACH_NAMED_ROW(i, rows, words) {
		char line[2048];

		code = rows[i].code;
		asked[0] = '\0';
		snprintf(line, sizeof(line), "-c %s --out %s/x %s", folder_path("run.yml"), folder,
		    rows[i].words);
		run_command_is(&cmd_export, line, code, rows[i].failure);
		assert_string_equal(asked, rows[i].asked);
		assert_false(opened);
	}
}

static void
test_what_is_wrong_is_found_before_the_export(void **unused)
{
	char line[2048];
	struct printed p;

	(void)unused;
	asked[0] = '\0';
	snprintf(line, sizeof(line), "-c %s web --format npy", folder_path("run.yml"));
	run_command_is(
	    &cmd_export, line, FAIL_USAGE, "give --out PREFIX: where the files are to be");
	snprintf(line, sizeof(line), "-c %s web --format npy --out %s/none/x",
	    folder_path("run.yml"), folder);
	assert_int_equal(run_command(&p, &cmd_export, line), FAIL_USAGE);
	assert_non_null(strstr(f.text, "/none"));
	free(p.text);
	snprintf(line, sizeof(line), "-c %s wep --format npy --out %s/x", folder_path("run.yml"),
	    folder);
	assert_int_equal(run_command(&p, &cmd_export, line), FAIL_USAGE);
	assert_non_null(strstr(f.text, "has no domain wep"));
	free(p.text);
	without_tokenizer = true;
	snprintf(line, sizeof(line), "-c %s web --format npy --out %s/x", folder_path("run.yml"),
	    folder);
	run_command_is(&cmd_export, line, FAIL_IO, "no tokenizer");
	without_tokenizer = false;
	assert_string_equal(asked, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_options_become_those_of_the_export),
	    cmocka_unit_test(test_what_is_wrong_is_found_before_the_export),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
