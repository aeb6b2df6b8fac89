#include "cli/command.h"

#include <string.h>

#define COMMAND_ROW(name) &cmd_##name,
const struct command *const command_all[] = {COMMANDS(COMMAND_ROW) NULL};

const struct command_fact command_environment[] = {
    {"RIFFLE_CONFIG", "the configuration of commands without -c"},
    {"RIFFLE_BOOTSTRAP",
	"takes the place of bootstrap.servers of the configuration; -s and -X win over it"},
    {"RIFFLE_LOG", "the form of the log, logfmt or json, of commands without --log"},
    {"NO_COLOR", "where set, errors and warnings have no colours on a terminal"},
    {NULL, NULL},
};

const struct command_fact command_exits[] = {
    {"0", "done; or a command that may run for long was ended by SIGINT or SIGTERM"},
    {"1", "a file, a record or a broker failed; `--check` found what is wrong; `export` was ended"},
    {"2", "the command line or the configuration is wrong"},
    {"3", "a newer instance has taken over"},
    {NULL, NULL},
};

const struct command *
command_find(const char *name)
{
	for (const struct command *const *c = command_all; *c != NULL; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}
