/*
 * command.h -- what a command is: a row of main.c's table.
 *
 * main.c finds the command by name, answers --help from what stands here, hands over its arguments
 * and prints the failure, if any. A cmd_x.c reads options (options_parse), loads the configuration
 * (options_config), opens, loops, closes; it never exits by itself.
 *
 *     static const struct option_row rows[] = {
 *         {.name = "rank", .kind = OPTION_COUNT32, .at = AT(rank), .max = 4095, .value = "R",
 *             .help = "this process's rank, from 0"},
 *     };
 *
 *     const struct command cmd_read = {
 *         .name = "read",
 *         .summary = "read a mix as a trainer does",
 *         .usage = "-c FILE --rank R --world W [OPTION...]",
 *         .example = "riffle read -c run.yml --rank 0 --world 2 --format steps",
 *         .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
 *         .option = rows,
 *         .options_n = sizeof(rows) / sizeof(rows[0]),
 *         .run = run,
 *     };
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stddef.h>

#include "cli/options.h"
#include "common/base/failure.h"

struct command {
	const char *name;
	const char *summary; /* one line for `riffle --help` */
	const char *usage;   /* what follows "riffle NAME" in the usage line */
	const char *help;    /* paragraphs between the usage and the options; NULL: none */
	const char *example; /* whole command lines, "\n" between them */
	unsigned common;     /* bits of enum options_common; --help, -v and -q every command has */
	const struct option_row *option; /* [options_n]; a command's own options */
	size_t options_n;
	size_t arguments_min, arguments_max; /* how many words that are no options it takes */
	/* argv[0] is the command's name. FAIL_USAGE makes main add "see riffle NAME --help". */
	enum fail_code (*run)(int argc, char **argv, struct failure *f);
};

/*
 * Every command, in the order of `riffle --help`: the only place that lists them. A cmd_x.c defines
 * `const struct command cmd_x`; one that is missing does not link.
 */
#define COMMANDS(ROW)                                                                              \
	ROW(config)                                                                                \
	ROW(topics)                                                                                \
	ROW(acls)                                                                                  \
	ROW(produce)                                                                               \
	ROW(import)                                                                                \
	ROW(export)                                                                                \
	ROW(mix)                                                                                   \
	ROW(read)                                                                                  \
	ROW(weights)                                                                               \
	ROW(skip)                                                                                  \
	ROW(reweight)                                                                              \
	ROW(status)                                                                                \
	ROW(plan)                                                                                  \
	ROW(inspect)                                                                               \
	ROW(replay)                                                                                \
	ROW(retain)                                                                                \
	ROW(tokenize)

#define COMMAND_DECLARE(name) extern const struct command cmd_##name;
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

#endif
