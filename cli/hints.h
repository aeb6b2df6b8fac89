/*
 * hints.h -- makes the commands that messages suggest ready to copy.
 *
 * A message names the next command in backquotes: "`riffle topics --create` makes it". Who writes
 * the message need not know how this command found its configuration. The suggested command must
 * have the same -c, unless RIFFLE_CONFIG names the file, and the same -s and --mix, which may
 * change names of topics. They are added here, to failures (main.c) and to lines of the log
 * (log.h):
 *
 *     `riffle topics --create`  -->  `riffle topics -c run.yml --create`
 *
 * A hint is unchanged if it has a -c already, if its command takes none, or if it has a --mix and
 * this command was given no -c, because then only the broker and that name are known. -X is not
 * repeated, as its value may be a secret, and neither is -s kafka.NAME.
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

/* Which commands take a configuration; until then none does. */
void hints_set_takes(bool (*takes_config)(const char *command));

/*
 * Sets what hints lack, such as " -c run.yml -s mix.name=b", quoted for a shell, or nothing if it
 * is longer than HINTS_NAMED_MAX. `path`: of -c, or NULL; overrides[n]: of -s; `mix`: of --mix, or
 * NULL. Lines of the log are completed from now on. Before another thread logs.
 */
void hints_set(const char *path, const char *const *overrides, size_t n, const char *mix);

/* Writes `text` with its hints completed by what hints_set() was given; cut at `room` > 0. */
void hints_say(char *out, size_t room, const char *text);

#endif
