/*
 * mix_option.h -- commands that only read a mix take `-c FILE`, or `--mix NAME` with where the
 * broker is, or both: then the name is --mix's and the rest the file's.
 */
#ifndef CLI_MIX_OPTION_H
#define CLI_MIX_OPTION_H

#include "cli/options.h"
#include "common/config/config.h"

/* The row of a command whose struct has `const char *mix` at AT. */
#define MIX_OPTION_ROW(AT)                                                                         \
	{                                                                                          \
		.name = "mix", .kind = OPTION_TEXT, .at = (AT), .value = "NAME",                   \
		.help = "name of the mix; without it the one of the configuration"                 \
	}

/*
 * Gives *out (config_close), which without -c holds properties only, and sets *mix where it is
 * NULL; that name is borrowed from *out. FAIL_USAGE: neither is given.
 */
enum fail_code mix_option_config(
    struct config **out, const char **mix, const struct options *o, struct failure *f);

#endif
