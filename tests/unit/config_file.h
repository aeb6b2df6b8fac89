/*
 * config_file.h -- a small configuration of which a test replaces one line.
 */
#ifndef TESTS_UNIT_CONFIG_FILE_H
#define TESTS_UNIT_CONFIG_FILE_H

#include "common/config/config.h"
#include "tests/unit/folder.h"

/* The smallest file with all sections, a line each, so that a row can replace a line. */
static const char *const base[] = {
    "corpus: demo",                                   /* 1 */
    "tokenizer: {file: v.tiktoken, pattern: gpt2}",   /* 2 */
    "sequence_length: 8",                             /* 3 */
    "domains:",                                       /* 4 */
    "  web:",                                         /* 5 */
    "    exec: cat web",                              /* 6 */
    "  code:",                                        /* 7 */
    "    train: [b.jsonl, a.jsonl]",                  /* 8 */
    "mix:",                                           /* 9 */
    "  name: pretrain",                               /* 10 */
    "  global_batch: 16",                             /* 11 */
    "  lanes: 4",                                     /* 12 */
    "  weights: uniform",                             /* 13 */
    "kafka: {bootstrap.servers: \"localhost:9092\"}", /* 14 */
};
enum { BASE_LINES = sizeof(base) / sizeof(base[0]) };

/* Writes the base with one line (from 1; 0: none) replaced, and opens it. */
static inline enum fail_code
open_with(struct config **c, size_t line, const char *text, struct failure *f)
{
	FILE *file = fopen(folder_path("run.yml"), "w");

	assert_non_null(file);
	for (size_t i = 1; i <= BASE_LINES; i++)
		fprintf(file, "%s\n", i == line ? text : base[i - 1]);
	assert_int_equal(fclose(file), 0);
	return config_open(c, folder_path("run.yml"), f);
}

static inline void
assert_opens(size_t line, const char *text)
{
	struct config *c;
	struct failure f = {0};

	if (open_with(&c, line, text, &f) != FAIL_NONE)
		print_error("%s: %s\n", text, f.text);
	assert_non_null(c);
	config_close(c);
}

/* `expected` follows "FOLDER/run.yml:". */
static inline void
assert_refused(size_t line, const char *text, const char *expected)
{
	struct config *c = NULL;
	struct failure f = {0};
	char whole[2048];

	assert_int_equal(open_with(&c, line, text, &f), FAIL_CONFIG);
	assert_null(c);
	snprintf(whole, sizeof(whole), "%s:%s", folder_path("run.yml"), expected);
	assert_string_equal(f.text, whole);
}

struct row {
	size_t line;
	const char *text, *expected;
};

static inline void
assert_rows_refused(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_refused(rows[i].line, rows[i].text, rows[i].expected);
}

#define ASSERT_REFUSED(rows) assert_rows_refused(rows, sizeof(rows) / sizeof(rows[0]))

#endif
