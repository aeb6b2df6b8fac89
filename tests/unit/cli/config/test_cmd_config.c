/* riffle config: what --check prints of a file, which words do not go together, and --init. */
#include "cli/config/left_out.h"

#include "tests/unit/capture.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static void
test_a_check_says_what_the_file_stands_for(void **unused)
{
	static const struct {
		size_t line;
		const char *text, *says; /* follows "FOLDER/run.yml: " in each line */
	} rows[] = {
	    {0, "", "ok: corpus demo, 2 domains, mix pretrain: 16 x 8 tokens a step on 4 lanes\n"},
	    {13, "  weights: {web: 0.25, code: 0.75}",
		"ok: corpus demo, 2 domains, mix pretrain: 16 x 8 tokens a step on 4 lanes\n"},
	    {13, "  weights: {web: 1, code: 2}",
		"ok: corpus demo, 2 domains, mix pretrain: 16 x 8 tokens a step on 4 lanes\n"
		"weights sum to 3: they are normalised\n"},
	    {13,
		"  weights: {web: 0.5, code: 0.5}\n  phases:\n"
		"    - {name: late, start_step: 9, weights: {web: 0.5, code: 1}}\n"
		"    - {name: last, start_step: 19, weights: {web: 0.1, code: 0.9}}",
		"ok: corpus demo, 2 domains, mix pretrain: 16 x 8 tokens a step on 4 lanes\n"
		"weights of phase late sum to 1.5: they are normalised\n"},
	    {3, "sequence_length: 8\nsplit: [5, 3, 2]",
		"ok: corpus demo, 2 domains, mix pretrain: 16 x 8 tokens a step on 4 lanes\n"},
	    {3, "sequence_length: 8\nsplit: [98, 1, 1]",
		"ok: corpus demo, 2 domains, mix pretrain: 16 x 8 tokens a step on 4 lanes\n"},
	    {3, "sequence_length: 8\nsplit: [3, 1, 0]",
		"ok: corpus demo, 2 domains, mix pretrain: 16 x 8 tokens a step on 4 lanes\n"
		"split 3,1,0 is parts of 4: 75.00 % of the documents are train, 25.00 % valid, "
		"0.00 % test\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct config *c;
		char words[256], expected[2048] = "";
		const char *at = rows[i].says;

		assert_int_equal(open_with(&c, rows[i].line, rows[i].text, &f), FAIL_NONE);
		config_close(c);
		while (*at != '\0') {
			int n = (int)strcspn(at, "\n") + 1;

			snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
			    "%s: %.*s", folder_path("run.yml"), n, at);
			at += n;
		}
		snprintf(words, sizeof(words), "--check --no-inputs -c %s", folder_path("run.yml"));
		run_command_is(&cmd_config, words, FAIL_NONE, expected);
	}
}

static void
test_words_that_do_not_go_together_are_refused(void **unused)
{
	static const struct {
		const char *words, *says;
	} rows[] = {
	    {"", "give one of --keys, --check and --init"},
	    {"--keys --check", "give one of --keys, --check and --init"},
	    {"--init --check", "give one of --keys, --check and --init"},
	    {"--keys --tokenizer t", "--tokenizer: needs --init"},
	    {"--keys data", "data: only --init takes folders"},
	    {"--check data", "data: only --init takes folders"},
	    {"--keys --no-inputs", "--no-inputs: needs --check"},
	    {"--init",
		"--init: name a folder of data, as in `riffle config --init data > run.yml`"},
	    {"--check", "no configuration is named: add -c FILE, or set RIFFLE_CONFIG"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		run_command_is(&cmd_config, rows[i].words, FAIL_USAGE, rows[i].says);
}

static void
test_what_lies_beside_the_files_of_a_domain_is_warned_of_ten_times(void **unused)
{
	static const struct {
		size_t files; /* that are not read */
		int lines;
		const char *last;
	} rows[] = {
	    {0, 0, ""},
	    {1, 1, "path="},
	    {10, 10, "path="},
	    {11, 10, "2 more files and folders are not read"},
	    {300, 10, "291 more files and folders are not read"},
	};
	char words[512], name[64], text[512];

	(void)unused;
	folder_make("d");
	folder_make("d/web");
	folder_text("d/web/a.jsonl", "{\"text\": \"x\"}\n");
	folder_make("d/code");
	folder_text("d/code/a.jsonl", "{\"text\": \"x\"}\n");
	snprintf(text, sizeof(text),
	    "corpus: demo\ntokenizer: {file: v.tiktoken, pattern: gpt2}\nsequence_length: 8\n"
	    "domains_from: %s\n",
	    folder_path("d"));
	folder_text("run.yml", text);
	snprintf(words, sizeof(words), "%s", folder_path("run.yml"));
	EACH_ROW(i, rows) {
		struct config *c;
		struct capture to;
		char said[16384];
		const char *last;
		int lines;

		for (size_t k = i == 0 ? 0 : rows[i - 1].files; k < rows[i].files; k++) {
			snprintf(name, sizeof(name), "d/web/%03zu.xyz", k);
			folder_text(name, "x");
		}
		assert_int_equal(config_open(&c, words, &f), FAIL_NONE);
		capture_begin(&to);
		left_out_warn(c, NULL, 0);
		lines = capture_end_lines(&to, said, sizeof(said));
		assert_int_equal(lines, rows[i].lines);
		said[strlen(said) - (lines > 0)] = '\0'; /* the line end of the last one */
		last = strrchr(said, '\n');
		last = last == NULL ? said : last;
		assert_non_null(strstr(last, rows[i].last));
		if (rows[i].files > 0)
			assert_non_null(strstr(said, "config: CONFIG-LEFT-OUT domain=web path="));
		capture_begin(&to);
		left_out_warn(c, (char *[]){(char[]){"code"}}, 1);
		assert_int_equal(capture_end_lines(&to, said, sizeof(said)), 0);
		capture_begin(&to);
		left_out_warn(c, (char *[]){(char[]){"code"}, (char[]){"web"}}, 2);
		assert_int_equal(capture_end_lines(&to, said, sizeof(said)), rows[i].lines);
		config_close(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_a_check_says_what_the_file_stands_for, folder_open, folder_close),
	    cmocka_unit_test(test_words_that_do_not_go_together_are_refused),
	    cmocka_unit_test_setup_teardown(
		test_what_lies_beside_the_files_of_a_domain_is_warned_of_ten_times, folder_open,
		folder_close),
	};

	unsetenv("RIFFLE_CONFIG");
	unsetenv("RIFFLE_BOOTSTRAP");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
