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
 * Files of cli/ itself:
 *     main         picks the command, prints what failed
 *     command      the list of commands
 *     options      a command's description, its options and their help
 *     signals      SIGINT and SIGTERM as the request to stop
 *     cmd_config   riffle config: checks and explains a configuration
 *     cmd_export   riffle export: a domain's set as token files
 *     cmd_mix      riffle mix: the mixer
 *     cmd_replay   riffle replay: derives published steps and compares
 *     cmd_retain   riffle retain: deletes old steps
 *
 * A folder for each command with more than one file, its cmd_x.c among them:
 *     topics       creates and checks topics
 *     acls         the ACLs that each user of a cluster needs
 *     produce      riffle produce and riffle import: from files to domain topics
 *     read         a trainer without the training
 *     request      riffle weights and riffle skip: requests to a mix
 *     reweight     learns weights from the trainers' losses
 *     status       where a corpus and its mix stand
 *     plan         what a configuration will do
 *     inspect      where a sequence or a step comes from
 *     tokenize     checks and tries a tokenizer
 *
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
