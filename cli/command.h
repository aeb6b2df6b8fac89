/*
 * command.h -- what a command is: a row of main.c's table.
 *
 * main.c finds the command by name, hands over its arguments and prints the failure, if any. A
 * cmd_x.c reads options, loads the configuration, opens, loops, closes; it never exits by itself.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "common/failure.h"

struct command {
	const char *name;
	const char *summary; /* one line for `riffle --help` */
	const char *help; /* whole text of `riffle NAME --help`, options and an example included */
	/* argv[0] is the command's name. FAIL_USAGE makes main add "see riffle NAME --help". */
	enum fail_code (*run)(int argc, char **argv, struct failure *f);
};

extern const struct command cmd_config, cmd_topics, cmd_produce, cmd_mix, cmd_read, cmd_status,
    cmd_plan, cmd_tokenize;

#endif
