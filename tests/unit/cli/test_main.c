/* The whole program in this process: what it prints where, and its exit codes. */
#include "tests/unit/test.h"

#define main riffle_main
#include "cli/main.c"
#undef main

#include <librdkafka/rdkafka.h>

#include "tests/unit/capture.h"
#include "tests/unit/folder.h"
#include "tests/unit/mock_topics.h"
#include "tests/unit/printed.h"

static char out[1 << 17], err[1 << 17];

/* Runs "riffle WORD...". Returns its exit code; `out` and `err` are what it printed. */
static int
riffle(const char *line)
{
	char words[1024], *argv[16] = {(char[]){"riffle"}}, *save;
	int argc = 1, code;
	struct capture log;
	struct printed p;

	snprintf(words, sizeof(words), "%s", line);
	for (char *at = strtok_r(words, " ", &save); at != NULL; at = strtok_r(NULL, " ", &save))
		argv[argc++] = at;
	capture_begin(&log);
	printed_begin(&p);
	code = riffle_main(argc, argv);
	printed_end(&p);
	capture_end_lines(&log, err, sizeof(err));
	assert_true(p.n < sizeof(out));
	memcpy(out, p.text, p.n + 1);
	free(p.text);
	log_set_form(LOG_LOGFMT);
	return code;
}

static void
test_a_mistake_is_named_on_stderr_with_the_next_step(void **unused)
{
#define SEE "; see riffle --help\n"
	static const struct {
		const char *line;
		int code;
		const char *says;
	} rows[] = {
	    {"help mix x", 2,
		"riffle: unexpected argument: x (usage: riffle help [--man] [COMMAND])\n"},
	    {"help --man mix x", 2,
		"riffle: unexpected argument: x (usage: riffle help [--man] [COMMAND])\n"},
	    {"help mixx", 2, "riffle: unknown command mixx (did you mean mix?)" SEE},
	    {"help --man xyzzy", 2, "riffle: unknown command xyzzy" SEE},
	    {"help --mann", 2, "riffle: unknown option --mann" SEE},
	    {"-c run.yml mix", 2,
		"riffle: unknown option -c: options follow the command: riffle mix -c ...\n"},
	    {"-v mix read", 2,
		"riffle: unknown option -v: options follow the command: riffle mix -v ...\n"},
	    {"--nonsense x", 2, "riffle: unknown option --nonsense" SEE},
	    {"-", 2, "riffle: unknown option -" SEE},
	    {"xyzzy", 2, "riffle: unknown command xyzzy" SEE},
	    {"statsu", 2, "riffle: unknown command statsu (did you mean status?)" SEE},
	    {"/no/such/run.yml", 2, "riffle: unknown command /no/such/run.yml" SEE},
	    {"completion tcsh", 2,
		"riffle completion: no completion for tcsh: bash, zsh and fish have one; see "
		"riffle completion --help\n"},
	    {"completion a b", 2,
		"riffle completion: unexpected argument: b (riffle completion takes 1 at most; "
		"usage: riffle completion "
		"bash|zsh|fish); see riffle completion --help\n"},
	    {"tokenize --tokenizer none a.jsonl", 1,
		"riffle tokenize: tokenizer none: cannot be opened: No such file or directory\n"},
	    {"config --check -c /no/such", 1, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, line) {
		int code = riffle(rows[i].line);

		if (rows[i].says == NULL) {
			assert_int_not_equal(code, 0);
			assert_memory_equal(err, "riffle config: ", 15);
			continue;
		}
		assert_int_equal(code, rows[i].code);
		assert_string_equal(err, rows[i].says);
		assert_string_equal(out, "");
	}
}

static void
test_a_file_in_place_of_a_command_is_told_apart(void **unused)
{
	char expected[1024];

	(void)unused;
	folder_text("run.yml", "corpus: a\n");
	assert_int_equal(riffle(folder_path("run.yml")), 2);
	snprintf(expected, sizeof(expected),
	    "riffle: %s is a file: the command comes first, as in riffle mix -c %s\n",
	    folder_path("run.yml"), folder_path("run.yml"));
	assert_string_equal(err, expected);
}

/* The text of a function that prints. */
static char *
text_of(void (*print)(const struct command *c, FILE *to), const struct command *c)
{
	char *text;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	print(c, to);
	fclose(to);
	return text;
}

static void
print_own(const struct command *c, FILE *to)
{
	(void)c;
	print_help(to);
}

static void
test_help_goes_to_stdout_unless_a_command_is_missing(void **unused)
{
	static const struct {
		const char *line;
		void (*print)(const struct command *c, FILE *to);
		const char *of; /* NULL: no command */
	} rows[] = {
	    {"--help", print_own, NULL},
	    {"-h", print_own, NULL},
	    {"help", print_own, NULL},
	    {"help mix", options_print_help, "mix"},
	    {"mix --help", options_print_help, "mix"},
	    {"mix --nonsense --help", options_print_help, "mix"},
	    {"help --man", man_page_print, NULL},
	    {"help --man read", man_page_print, "read"},
	};
	char *text;

	(void)unused;
	EACH_NAMED_ROW(i, rows, line) {
		text = text_of(rows[i].print, rows[i].of == NULL ? NULL : command_find(rows[i].of));
		assert_int_equal(riffle(rows[i].line), 0);
		assert_string_equal(out, text);
		assert_string_equal(err, "");
		free(text);
	}
	text = text_of(print_own, NULL);
	assert_int_equal(riffle(""), 2);
	assert_string_equal(out, "");
	assert_string_equal(err, text);
	free(text);
}

/* Each command, variable and exit code has a line. */
static void
test_the_help_lists_all_that_there_is(void **unused)
{
	char line[512];

	(void)unused;
	assert_int_equal(riffle("--help"), 0);
	assert_memory_equal(out, "usage: riffle COMMAND [OPTION...]\n\n", 35);
	for (const struct command *const *c = command_all; *c != NULL; c++) {
		snprintf(line, sizeof(line), "\n  %-10s %s\n", (*c)->name, (*c)->summary);
		assert_non_null(strstr(out, line));
	}
	for (int i = 0; i < 2; i++) {
		const struct command_fact *x = i == 0 ? command_environment : command_exits;

		snprintf(line, sizeof(line), "\n\n%s:\n  %s", i == 0 ? "environment" : "exit codes",
		    x->name);
		assert_non_null(strstr(out, line));
		for (; x->name != NULL; x++) {
			snprintf(line, sizeof(line), "\n  %-16s  %s\n", x->name, x->text);
			assert_non_null(strstr(out, line));
		}
	}
}

static void
test_a_failure_is_a_line_of_json_if_the_log_is(void **unused)
{
	static const struct {
		const char *line;
		int code;
		const char *text;
	} rows[] = {
	    {"completion tcsh --log json", 2,
		"\"module\":\"completion\",\"message\":\"no completion for tcsh: bash, zsh and "
		"fish have one; see riffle "
		"completion --help"},
	    {"tokenize --tokenizer none --log json", 1,
		"\"module\":\"tokenize\",\"message\":\"tokenizer none: cannot be opened: No such "
		"file "
		"or directory"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, line) {
		char expected[512];

		assert_int_equal(riffle(rows[i].line), rows[i].code);
		snprintf(expected, sizeof(expected), ",\"level\":\"error\",%s\"}\n", rows[i].text);
		assert_memory_equal(err, "{\"time\":", 8);
		assert_string_equal(strchr(err, ','), expected);
	}
	setenv("RIFFLE_LOG", "json", 1);
	assert_int_equal(riffle("xyzzy"), 2);
	assert_string_equal(strchr(err, ','),
	    ",\"level\":\"error\",\"module\":\"riffle\",\"message\":\"unknown command xyzzy; see "
	    "riffle --help\"}\n");
	setenv("RIFFLE_LOG", "yaml", 1);
	assert_int_equal(riffle("completion bash"), 2);
	assert_string_equal(err,
	    "riffle completion: RIFFLE_LOG: --log: unknown: yaml (one of logfmt, json); see riffle "
	    "completion --help\n");
	assert_string_equal(out, "");
	assert_int_equal(riffle("--help"), 0); /* it does not matter here */
	unsetenv("RIFFLE_LOG");
}

static void
test_output_that_is_lost_is_a_failure(void **unused)
{
	char *argv[] = {(char[]){"riffle"}, (char[]){"completion"}, (char[]){"bash"}, NULL};
	FILE *was = stdout, *full = fopen("/dev/full", "w");
	struct capture log;
	int code;

	(void)unused;
	assert_non_null(full);
	capture_begin(&log);
	stdout = full;
	code = riffle_main(3, argv);
	stdout = was;
	capture_end_lines(&log, err, sizeof(err));
	fclose(full);
	assert_int_equal(code, 1);
	assert_string_equal(
	    err, "riffle completion: writing to standard output: No space left on device\n");
}

/* ---- the version ---- */

static void
test_the_version_says_more_when_asked(void **unused)
{
	char first[256];

	(void)unused;
	snprintf(first, sizeof(first), "riffle %s\nlibrdkafka %s, builtin.features ",
	    RIFFLE_VERSION, rd_kafka_version_str());
	for (int i = 0; i < 2; i++) {
		assert_int_equal(riffle(i == 0 ? "--version" : "-V"), 0);
		assert_memory_equal(out, first, strlen(first));
		assert_non_null(strstr(out, "ssl")); /* a feature of it */
		assert_null(strstr(out, "built from"));
		assert_ptr_equal(strrchr(out, '\n'), out + strlen(out) - 1);
	}
	assert_int_equal(riffle("--version --verbose"), 0);
	assert_memory_equal(out, first, strlen(first));
	assert_non_null(strstr(out, "\nbuilt from "));
	assert_non_null(strstr(out, "\nbuilt with librdkafka "));
	assert_non_null(strstr(out, "\nlibraries: avro-c "));
	assert_non_null(strstr(out, "\nfeatures: AVX2 "));
	assert_non_null(strstr(out, "\nbroker: none is named (-c FILE or RIFFLE_BOOTSTRAP)\n"));
	assert_int_equal(riffle("--version --nonsense"), 2);
	assert_string_equal(err, "riffle: unknown option --nonsense\n");
	assert_string_equal(out, "");
	assert_int_equal(riffle("--version -v x"), 2);
	assert_int_equal(riffle("-V -v -X linger.mz=1"), 2);
	assert_memory_equal(err, "riffle: -X: kafka property linger.mz: ", 38);
}

static void
test_the_version_asks_the_broker_that_is_named(void **unused)
{
	char line[512], expected[512];

	(void)unused;
	setenv("RIFFLE_BOOTSTRAP", mock_bootstrap, 1);
	assert_int_equal(riffle("--version -v"), 0);
	snprintf(expected, sizeof(expected), "\nbroker %s: 1 in the cluster, controller ",
	    mock_bootstrap);
	assert_non_null(strstr(out, expected));
	assert_non_null(strstr(out, ", cluster id mockCluster"));
	assert_non_null(strstr(out, " (brokers do not report their version)\n"));
	unsetenv("RIFFLE_BOOTSTRAP");
	snprintf(line, sizeof(line), "-V -v -X bootstrap.servers=%s", mock_bootstrap);
	assert_int_equal(riffle(line), 0);
	assert_non_null(strstr(out, expected));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_mistake_is_named_on_stderr_with_the_next_step),
	    cmocka_unit_test_setup_teardown(
		test_a_file_in_place_of_a_command_is_told_apart, folder_open, folder_close),
	    cmocka_unit_test(test_help_goes_to_stdout_unless_a_command_is_missing),
	    cmocka_unit_test(test_the_help_lists_all_that_there_is),
	    cmocka_unit_test(test_a_failure_is_a_line_of_json_if_the_log_is),
	    cmocka_unit_test(test_output_that_is_lost_is_a_failure),
	    cmocka_unit_test(test_the_version_says_more_when_asked),
	    cmocka_unit_test_setup_teardown(
		test_the_version_asks_the_broker_that_is_named, mock_begin, mock_end),
	};

	unsetenv("RIFFLE_CONFIG");
	unsetenv("RIFFLE_BOOTSTRAP");
	unsetenv("RIFFLE_LOG");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
