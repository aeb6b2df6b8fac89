/* run_command.h -- a whole command of the command line, and what it prints to stdout. */
#ifndef TESTS_UNIT_RUN_COMMAND_H
#define TESTS_UNIT_RUN_COMMAND_H

#include "cli/command.h"
#include "common/base/log.h"
#include "tests/unit/printed.h"

enum { RUN_COMMAND_WORDS = 32 };

/* Runs `c` with the words of `line`, which blanks separate. p->text is then to be freed. */
static inline enum fail_code
run_command(struct printed *p, const struct command *c, const char *line)
{
	char words[2048], *argv[RUN_COMMAND_WORDS + 1] = {(char *)(uintptr_t)c->name}, *save;
	int argc = 1;
	enum fail_code code;

	snprintf(words, sizeof(words), "%s", line);
	for (char *at = strtok_r(words, " ", &save); at != NULL; at = strtok_r(NULL, " ", &save)) {
		assert_true(argc < RUN_COMMAND_WORDS);
		argv[argc++] = at;
	}
	printed_begin(p);
	code = c->run(argc, argv, &f);
	printed_end(p);
	log_set_level(LOG_ERROR); /* a command sets it by its options */
	return code;
}

/* The same, of a command that succeeds and prints `expected`; or fails, and f.text is that. */
static inline void
run_command_is(const struct command *c, const char *line, enum fail_code code, const char *expected)
{
	struct printed p;
	enum fail_code got = run_command(&p, c, line);

	assert_int_equal(got, code);
	printed_compare(code == FAIL_NONE ? p.text : f.text, expected);
	free(p.text);
}

#endif
