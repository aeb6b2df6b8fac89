/*
 * tokenize_job.h, with the tokenizer of the 256 bytes and some pairs: exact lines, totals, and
 * the end of a run at a line that cannot be read. Also what the command refuses.
 */
#include "cli/tokenize/tokenize_job.h"

#include "cli/command.h"
#include "common/base/log.h"
#include "tests/unit/capture.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_command.h"
#include "tests/unit/tiktoken_file.h"

static struct tokenizer *tokenizer; /* "ab" is 256, " \x22" 257 */

static int
open_tokenizer(void **state)
{
	const char *const pairs[] = {"ab", "\xc3\xa9", NULL};
	struct tokenizer_options o = {.file = tiktoken_path, .pattern = "gpt2"};

	log_set_level(LOG_ERROR);
	if (tiktoken_file_setup(state) != 0)
		return -1;
	tiktoken_file_of(pairs);
	return tokenizer_open(&tokenizer, &o, &f) == FAIL_NONE ? 0 : -1;
}

static int
close_tokenizer(void **state)
{
	tokenizer_close(tokenizer);
	return tiktoken_file_teardown(state);
}

/* Runs the task on the file "in.ENDING" with the text. */
static enum fail_code
run(struct tokenize_job_task task, uint32_t threads, const char *name, const char *text,
    struct printed *p, struct tokenize_job_totals *totals)
{
	enum fail_code code;

	folder_text(name, text);
	task.tokenizer = tokenizer;
	if (task.field == NULL)
		task.field = task.decode ? "tokens" : "text";
	assert_int_equal(json_field_paths_open(&task.paths, &task.field, 1, &f), FAIL_NONE);
	code = tokenize_job_run(&task, threads, folder_path(name), printed_begin(p), totals, &f);
	printed_end(p);
	json_field_paths_close(task.paths);
	return code;
}

struct row {
	const char *lines, *printed;
	const char *why; /* after "FOLDER/NAME: "; NULL: it succeeds */
	struct tokenize_job_totals totals;
};

static void
check_rows(const struct tokenize_job_task *task, const char *name, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int count = 0; count < 2; count++) {
			struct tokenize_job_task as = *task;
			struct tokenize_job_totals t;
			struct printed p;
			enum fail_code code;
			char why[512];

			as.count = count;
			code = run(as, 1 + (uint32_t)i % 3, name, rows[i].lines, &p, &t);
			if (code != FAIL_NONE && rows[i].why == NULL)
				print_error("%s\n", f.text);
			assert_int_equal(code, rows[i].why == NULL ? FAIL_NONE : FAIL_DATA);
			printed_compare(p.text, count ? "" : rows[i].printed);
			free(p.text);
			assert_int_equal(t.documents, rows[i].totals.documents);
			assert_int_equal(t.bytes, rows[i].totals.bytes);
			assert_int_equal(t.tokens, rows[i].totals.tokens);
			if (rows[i].why == NULL)
				continue;
			snprintf(why, sizeof(why), "%s: %s", folder_path(name), rows[i].why);
			assert_string_equal(f.text, why);
		}
}

#define CHECK_ROWS(task, name, rows) check_rows(task, name, rows, sizeof(rows) / sizeof((rows)[0]))

static void
test_each_line_of_text_becomes_a_line_of_ids(void **unused)
{
	static const struct row rows[] = {
	    {"", "", NULL, {0, 0, 0}},
	    {"{\"text\": \"\"}\n", "{\"tokens\":[]}\n", NULL, {1, 0, 0}},
	    {"{\"text\": \"a\"}\n", "{\"tokens\":[97]}\n", NULL, {1, 1, 1}},
	    {"{\"text\": \"abab\"}\n{\"x\": 1, \"text\": \"\\u0000\\n\"}",
		"{\"tokens\":[256,256]}\n{\"tokens\":[0,10]}\n", NULL, {2, 6, 4}},
	    {"{\"text\": \"\xc3\xa9\"}\n", "{\"tokens\":[257]}\n", NULL, {1, 2, 1}},
	    {"{\"text\": \"abc\"}\n{\"no\": 1}\n{\"text\": \"a\"}\n", "{\"tokens\":[256,99]}\n",
		"line 2: there is no field `text`; --text names the field that holds the text",
		{1, 3, 2}},
	    {"{\"text\": 1}\n", "", "line 1: the field `text` is not a string", {0, 0, 0}},
	    {"{\"text\": null}\n", "", "line 1: the field `text` is not a string", {0, 0, 0}},
	};
	static const struct row dotted[] = {
	    {"{\"a\": {\"b\": \"ab\"}, \"text\": \"x\"}\n", "{\"tokens\":[256]}\n", NULL,
		{1, 2, 1}},
	    {"{\"text\": \"x\"}\n", "",
		"line 1: there is no field `a.b`; --text names the field that holds the text",
		{0, 0, 0}},
	};

	(void)unused;
	CHECK_ROWS(&(struct tokenize_job_task){0}, "in.jsonl", rows);
	CHECK_ROWS(&(struct tokenize_job_task){.field = "a.b"}, "in.jsonl", dotted);
}

static void
test_a_file_of_text_is_one_document(void **unused)
{
	static const struct row rows[] = {
	    {"ab\nab", "{\"tokens\":[256,10,256]}\n", NULL, {1, 5, 3}},
	    {"{\"text\": 1}", "{\"tokens\":[123,34,116,101,120,116,34,58,32,49,125]}\n", NULL,
		{1, 11, 11}},
	};

	(void)unused;
	CHECK_ROWS(&(struct tokenize_job_task){0}, "in.txt", rows);
}

static void
test_each_line_of_ids_becomes_a_line_of_text(void **unused)
{
	static const struct row rows[] = {
	    {"{\"tokens\": []}\n", "{\"text\":\"\"}\n", NULL, {1, 0, 0}},
	    {"{\"tokens\": [256, 99]}\n{\"tokens\": [97]}\n",
		"{\"text\":\"abc\"}\n{\"text\":\"a\"}\n", NULL, {2, 4, 3}},
	    {"{\"tokens\": [34, 92, 10, 13, 9, 0, 31, 32, 127]}\n",
		"{\"text\":\"\\\"\\\\\\n\\r\\t\\u0000\\u001f \x7f\"}\n", NULL, {1, 9, 9}},
	    {"{\"tokens\": [257, 195]}\n", "{\"text\":\"\xc3\xa9\xef\xbf\xbd\"}\n", NULL,
		{1, 3, 2}},
	    {"{\"tokens\": [97]}\n{\"tokens\": [258]}\n", "{\"text\":\"a\"}\n",
		"line 2: id 258 is not in the tokenizer", {1, 1, 1}},
	    {"{\"text\": \"a\"}\n", "", "line 1: no field `tokens`", {0, 0, 0}},
	};

	(void)unused;
	CHECK_ROWS(&(struct tokenize_job_task){.decode = true}, "in.jsonl", rows);
}

/*
 * There are more chunks than jobs, and threads finish in any order. The output keeps the input's.
 */
static void
test_many_threads_keep_the_order_of_the_lines(void **unused)
{
	enum { LINES = 60000 };
	size_t room = LINES * 32, n = 0, at = 0;
	char *lines = malloc(room);
	struct tokenize_job_totals t;
	struct printed p;

	(void)unused;
	for (size_t i = 0; i < LINES; i++)
		n += (size_t)snprintf(
		    lines + n, room - n, "{\"text\": \"%c%05zu ab ab\"}\n", i % 3 ? 'x' : 'y', i);
	assert_int_equal(
	    run((struct tokenize_job_task){0}, 3, "in.jsonl", lines, &p, &t), FAIL_NONE);
	for (size_t i = 0; i < LINES; i++) {
		char line[128];
		int line_n = snprintf(line, sizeof(line),
		    "{\"tokens\":[%d,%zu,%zu,%zu,%zu,%zu,32,256,32,256]}\n", i % 3 ? 'x' : 'y',
		    48 + i / 10000, 48 + i / 1000 % 10, 48 + i / 100 % 10, 48 + i / 10 % 10,
		    48 + i % 10);

		assert_memory_equal(p.text + at, line, (size_t)line_n);
		at += (size_t)line_n;
	}
	assert_int_equal(at, p.n);
	assert_int_equal(t.documents, LINES);
	assert_int_equal(t.bytes, LINES * 12);
	assert_int_equal(t.tokens, LINES * 10);
	free(p.text);
	free(lines);
}

/* An id has up to ten digits, and a text up to six bytes for each of its own. */
static void
test_the_longest_lines_have_room(void **unused)
{
	enum { IDS = 20000 };
	char *line = malloc(IDS * 12 + 64), *at = line;
	struct tokenize_job_totals t;
	struct printed p;

	(void)unused;
	at = stpcpy(at, "{\"tokens\": [1");
	for (int i = 1; i < IDS; i++)
		at = stpcpy(at, ",1");
	stpcpy(at, "]}\n");
	assert_int_equal(
	    run((struct tokenize_job_task){.decode = true}, 1, "in.jsonl", line, &p, &t),
	    FAIL_NONE);
	assert_int_equal(p.n, strlen("{\"text\":\"\"}\n") + (size_t)IDS * 6);
	assert_int_equal(t.bytes, IDS);
	free(p.text);
	free(line);
}

static void
test_the_command_says_what_is_missing(void **unused)
{
	static const struct {
		const char *says;
		const char *word[6];
	} rows[] = {
	    {"which tokenizer? give --tokenizer FILE", {"in.jsonl"}},
	    {"tokenizer none.tiktoken: cannot be opened: No such file or directory",
		{"--tokenizer", "none.tiktoken", "--pattern", "gpt2"}},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		char *argv[8] = {(char[]){"tokenize"}};
		int argc = 1;

		while (argc < 7 && rows[i].word[argc - 1] != NULL) {
			argv[argc] = strdup(rows[i].word[argc - 1]);
			argc++;
		}
		assert_int_not_equal(cmd_tokenize.run(argc, argv, &f), FAIL_NONE);
		assert_string_equal(f.text, rows[i].says);
		for (int k = 1; k < argc; k++)
			free(argv[k]);
	}
}

/* Runs the command with the file as its standard input. */
static void
run_with_input(const char *name, const char *words, enum fail_code code, const char *expected)
{
	FILE *in = fopen(folder_path(name), "rb");
	int was = dup(STDIN_FILENO);

	assert_non_null(in);
	assert_true(was >= 0 && dup2(fileno(in), STDIN_FILENO) >= 0);
	fclose(in);
	run_command_is(&cmd_tokenize, words, code, expected);
	assert_true(dup2(was, STDIN_FILENO) >= 0);
	close(was);
}

static void
test_input_comes_from_standard_input_or_a_compressed_file(void **unused)
{
	static const char lines[] = "{\"text\": \"ab\"}\n{\"text\": \"a\"}",
			  printed[] = "{\"tokens\":[256]}\n{\"tokens\":[97]}\n";
	struct bytes gzip = bytes_gzip(lines, strlen(lines)),
		     zstd = bytes_zstd(lines, strlen(lines));
	char words[1024], why[2048];
	const char *const named[] = {"in.jsonl.gz", "in.jsonl.zst", "in.jsonl"};

	(void)unused;
	folder_text("in.jsonl", lines);
	folder_write("in.jsonl.gz", gzip.at, gzip.n);
	folder_write("in.jsonl.zst", zstd.at, zstd.n);
	folder_write("cut.jsonl.gz", gzip.at, gzip.n - 6);
	EACH_ROW(i, named) {
		snprintf(words, sizeof(words), "--tokenizer %s --pattern gpt2 %s", tiktoken_path,
		    folder_path(named[i]));
		run_command_is(&cmd_tokenize, words, FAIL_NONE, printed);
	}
	snprintf(words, sizeof(words), "--tokenizer %s --pattern gpt2 --threads 2", tiktoken_path);
	run_with_input("in.jsonl", words, FAIL_NONE, printed);
	folder_text("bad.jsonl", "{\"text\": 1}\n");
	run_with_input("bad.jsonl", words, FAIL_DATA,
	    "standard input: line 1: the field `text` is not a string");
	run_with_input("", words, FAIL_IO, "standard input: cannot be read: Is a directory");
	snprintf(words, sizeof(words), "--tokenizer %s --pattern gpt2 --count --threads 1 %s",
	    tiktoken_path, folder_path("cut.jsonl.gz"));
	snprintf(why, sizeof(why), "%s: gzip data ends at byte %zu, in the middle of a member",
	    folder_path("cut.jsonl.gz"), gzip.n - 6);
	run_command_is(&cmd_tokenize, words, FAIL_DATA, why);
	snprintf(words, sizeof(words), "--tokenizer %s --pattern gpt2 %s", tiktoken_path,
	    folder_path("none.jsonl"));
	snprintf(why, sizeof(why), "file %s: cannot be opened: No such file or directory",
	    folder_path("none.jsonl"));
	run_command_is(&cmd_tokenize, words, FAIL_IO, why);
	free(gzip.at);
	free(zstd.at);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_each_line_of_text_becomes_a_line_of_ids, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_file_of_text_is_one_document, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_each_line_of_ids_becomes_a_line_of_text, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_many_threads_keep_the_order_of_the_lines, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_the_longest_lines_have_room, folder_open, folder_close),
	    cmocka_unit_test(test_the_command_says_what_is_missing),
	    cmocka_unit_test_setup_teardown(
		test_input_comes_from_standard_input_or_a_compressed_file, folder_open,
		folder_close),
	};

	return cmocka_run_group_tests(tests, open_tokenizer, close_tokenizer);
}
