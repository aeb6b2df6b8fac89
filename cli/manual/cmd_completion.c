/* riffle completion: prints the script by which a shell completes riffle's command lines. */
#include <stddef.h>
#include <string.h>

#include "cli/command.h"
#include "cli/manual/completion.h"

static const struct {
	const char *name;
	void (*print)(FILE *to);
} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
enum { SHELLS = sizeof(shells) / sizeof(shells[0]) };

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct options o;

	if (options_parse(&o, &cmd_completion, argc, argv, NULL, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < SHELLS; i++)
		if (strcmp(o.argument[0], shells[i].name) == 0) {
			shells[i].print(stdout);
			return FAIL_NONE;
		}
	return fail(
	    f, FAIL_USAGE, "no completion for %s: bash, zsh and fish have one", o.argument[0]);
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print the script by which a shell completes command lines",
    .usage = "bash|zsh|fish",
    .help = "Commands, options and their values, as this version of riffle has them. Packages "
	    "and `make install` put the scripts where the shells look for them; elsewhere one of "
	    "the lines below does: that for bash in ~/.bashrc, that for zsh in ~/.zshrc behind "
	    "compinit.",
    .example = "riffle completion fish > ~/.config/fish/completions/riffle.fish\n"
	       "source <(riffle completion bash)\n"
	       "source <(riffle completion zsh)",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
