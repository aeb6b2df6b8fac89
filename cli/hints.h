/*
 * hints.h -- makes the commands that messages suggest ready to copy.
 *
 * A message names the next command in backquotes: "`riffle topics --create` makes it". Who writes
 * the message need not know how this command found its configuration. If -c named it, the suggested
 * command must have the same -c, and the same -s, which may change names of topics. Both are added
 * here, to failures (main.c) and to lines of the log (log.h):
 *
 *     `riffle topics --create`  -->  `riffle topics -c run.yml --create`
 *
 * A hint is unchanged if it has a -c already, if its command takes none, or if RIFFLE_CONFIG
 * named the configuration: then the command works as written. -X is not repeated, as its value may
 * be a secret, and neither is -s kafka.NAME.
 */
#ifndef CLI_HINTS_H
#define CLI_HINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

enum {
	HINTS_NAMED_MAX = 2048, /* bytes of the options, with the NUL */
	HINTS_TEXT_MAX = 2 * FAILURE_TEXT_MAX + 4 * HINTS_NAMED_MAX, /* of a failure, completed */
};

/*
 * Writes the options that name a configuration, " -c run.yml -s mix.name=b", quoted for a shell.
 * Returns `out`, which is empty if they do not fit.
 */
const char *hints_named(
    char out[static HINTS_NAMED_MAX], const char *path, const char *const *overrides, size_t n);

/* Which commands take a configuration; until then none does. */
void hints_set_takes(bool (*takes_config)(const char *command));

/* Writes `text` with the options `named` in each hint that lacks them; cut at `room` > 0. */
void hints_complete(char *out, size_t room, const char *text, const char *named);

/* Completes lines of the log and hints_say() from now on. Before another thread logs. */
void hints_set(const char *path, const char *const *overrides, size_t n);

/* hints_complete() with what hints_set() was given; before that it only copies. */
void hints_say(char *out, size_t room, const char *text);

#endif
