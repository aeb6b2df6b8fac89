/*
 * command.h -- every command, in the order of `riffle --help`: the only place that lists them.
 *
 * main.c finds the command by name, answers --help from its description (struct command in
 * options.h), hands over its arguments and prints the failure, if any. A cmd_x.c reads options
 * (options_parse), loads the configuration (options_config), opens, loops, closes; it never exits
 * by itself.
 *
 *     main.c --> cmd_x.c --> options_parse, options_config
 *                   |
 *                   +------> a room of producer/ or consumer/, which does the work
 *                   +------> x_print.c, x_output.c: what goes to stdout
 *
 * Exit codes: 0 done, 1 the world failed, 2 usage or configuration, 3 fenced (fail_exit()).
 *
 * Files of this room:
 *     main            picks the command, prints what failed
 *     command         the list of commands; environment and exit codes, which hold for all
 *     options         a command's description and its options, parsed
 *     options_config  the configuration that the options name, opened
 *     options_help    riffle NAME --help
 *     hints           adds -c FILE to the commands that messages suggest
 *     json_print      a JSON value to a stream
 *     json_writer     JSON as it is written, where it is large and often made
 *     version         riffle --version
 *     build_info      how this program was built
 *     signals         SIGINT and SIGTERM as the request to stop
 *     cmd_export      riffle export: a domain's set as token files
 *     cmd_replay      riffle replay: derives published steps and compares
 *     cmd_retain      riffle retain: deletes old steps
 *     cmd_rejects     riffle rejects: what could not be used
 *     cmd_repair      riffle repair: completes lanes whose end a broker has lost
 *     config/         riffle config: checks and explains a configuration, prints a first one
 *     topics/         riffle topics: creates, checks and deletes topics
 *     acls/           riffle acls: the rights that each command needs
 *     http/           HTTP: where a command listens, who may ask, limits on what clients take
 *     metrics/        --metrics ADDR: metrics over HTTP
 *     produce/        riffle produce and riffle import: from files to domain topics
 *     mix/            riffle mix: the mixer, or several; mixes: a process for each of them
 *     read/           riffle read: a trainer without the training
 *     request/        riffle weights, skip, requests and runs: requests to a mix
 *     reweight/       riffle reweight: learns weights from the trainers' losses
 *     status/         riffle status: where a corpus and its mix stand
 *     serve/          riffle serve: page, JSON, metrics and probes over HTTP
 *     plan/           riffle plan: what a configuration will do
 *     inspect/        riffle inspect: which documents a step held
 *     tokenize/       riffle tokenize: text to ids and back
 *     manual/         riffle completion, riffle help --man: what shells and man(1) read
 *
 * A folder has the cmd_x.c of its command, what it prints (x_print, x_output) and what it works on.
 * A cmd_x.c defines `const struct command cmd_x`; one that is missing does not link.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options.h"

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
	ROW(requests)                                                                              \
	ROW(runs)                                                                                  \
	ROW(reweight)                                                                              \
	ROW(status)                                                                                \
	ROW(serve)                                                                                 \
	ROW(rejects)                                                                               \
	ROW(plan)                                                                                  \
	ROW(inspect)                                                                               \
	ROW(replay)                                                                                \
	ROW(retain)                                                                                \
	ROW(repair)                                                                                \
	ROW(tokenize)                                                                              \
	ROW(completion)

#define COMMAND_DECLARE(name) extern const struct command cmd_##name;
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

/* In the order of the list; NULL behind the last. */
extern const struct command *const command_all[];

/* The command of that name; NULL: there is none. */
const struct command *command_find(const char *name);

/* What holds for every command, in the order of the help. */
struct command_fact {
	const char *name; /* NULL: behind the last */
	const char *text; /* a sentence without its full stop */
};
extern const struct command_fact command_environment[]; /* variables */
extern const struct command_fact command_exits[];       /* exit codes */

#endif
