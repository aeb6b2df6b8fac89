/*
 * options.h -- a command's description and its options: one table that parses, checks ranges and
 * writes the help.
 *
 * A command describes its options in rows; options_parse() fills its own struct from argv, and
 * `riffle NAME --help` is printed from the same rows, so that no option can lack help. Defaults are
 * what the command put into the struct before the call: a copy of command.defaults, which the help
 * shows.
 *
 *     struct arguments { uint32_t rank, world; enum format format; };
 *     #define AT(field) offsetof(struct arguments, field)
 *     static const char *const formats[] = {"steps", "jsonl", "tokens", "none", NULL};
 *     static const struct option_row rows[] = {
 *         {.name = "rank", .kind = OPTION_COUNT32, .at = AT(rank), .max = 4095, .value = "R",
 *             .help = "this process's rank, from 0"},
 *         {.name = "format", .kind = OPTION_CHOICE, .at = AT(format), .choice = formats,
 *             .value = "FORM", .help = "what to print"},
 *     };
 *
 *     static const struct arguments defaults = {.world = 1};
 *
 *     const struct command cmd_read = {
 *         .name = "read",
 *         .summary = "read a mix as a trainer does",
 *         .usage = "-c FILE --rank R --world W [OPTION...]",
 *         .example = "riffle read -c run.yml --rank 0 --world 2 --format steps",
 *         .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
 *         .defaults = &defaults,
 *         .option = rows,
 *         .options_n = sizeof(rows) / sizeof(rows[0]),
 *         .run = run,
 *     };
 *
 *     struct arguments a = defaults;
 *     struct options o;
 *     struct config *c = NULL;
 *     if (options_parse(&o, &cmd_read, argc, argv, &a, f) != FAIL_NONE ||
 *         options_config(&c, &o, f) != FAIL_NONE)
 *             return f->code;
 *
 * Nothing is allocated: texts are borrowed from argv. Errors are FAIL_USAGE and one sentence:
 * "--rank: out of range: 9 (0 to 7)", "unknown option --ranks (did you mean --rank?)". An option
 * that takes a value may be given once, unless it is a list. Names are not abbreviated, so that a
 * new option never changes what a script means.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/failure.h"
#include "common/base/log.h"
#include "common/config/config.h"

enum {
	OPTIONS_MAX = 48,        /* rows of one command, the common ones included */
	OPTIONS_LIST_MAX = 256,  /* times that one option may be given */
	OPTIONS_TEXT_MAX = 2048, /* bytes of what is said of one option */
};

enum option_kind {      /* and the type of its destination */
	OPTION_FLAG,    /* bool; takes no value */
	OPTION_TEXT,    /* const char *, not empty */
	OPTION_COUNT32, /* uint32_t, min to max */
	OPTION_COUNT,   /* uint64_t, min to max */
	OPTION_SIZE,    /* uint64_t, bytes, min to max: "512MB" (10^6), "16MiB" (2^20), "4096" */
	OPTION_NUMBER,  /* double, finite; min and max apply where max is not 0 */
	OPTION_CHOICE,  /* int or an enum: index in `choice` */
	OPTION_RANGE,   /* struct option_range: "a..b", half open, a <= b */
	OPTION_PART,    /* struct option_part: "k/n", k from 0, k < n <= 4096; or "auto" */
	OPTION_LIST,    /* struct option_list; may be given more than once */
};

struct option_range {
	uint64_t first, end;
};

struct option_part {
	uint32_t part, parts; /* parts 0: "auto" */
};

struct option_list {
	size_t n;
	const char *text[OPTIONS_LIST_MAX];
};

struct option_row {
	const char *name; /* without the dashes */
	char letter;      /* 0: no short form */
	enum option_kind kind;
	size_t at;                 /* offset in the command's struct */
	uint64_t min, max;         /* counts and sizes; max 0: the type's largest */
	const char *const *choice; /* OPTION_CHOICE: ends with NULL */
	const char *value;         /* how the help names the value; NULL for flags */
	const char *help;          /* NULL: an older name of another row; accepted, and not shown */
	/* What holds without it, for the help; NULL: what command.defaults has; "": none. */
	const char *without;
};

/* Options that many commands share. */
enum options_common {
	OPTIONS_CONFIG = 1,     /* -c, --config FILE; -s, --override KEY=VALUE */
	OPTIONS_PROPERTIES = 2, /* -X, --property NAME=VALUE */
	OPTIONS_CONFIGS = 4,    /* with OPTIONS_CONFIG: -c may be given more than once */
};

/* What options_parse() found beside the command's own struct; borrows argv. */
struct options {
	const char *config;            /* the last -c, else RIFFLE_CONFIG; NULL: not given */
	struct option_list configs;    /* each -c */
	struct option_list properties; /* -X, each with a "=" after the first byte */
	struct option_list overrides;  /* -s, the same */
	bool verbose, quiet, help;
	enum log_form log; /* --log, else RIFFLE_LOG */
	char **argument;   /* [arguments_n]: the words that are no options, in order */
	size_t arguments_n;
	uint64_t given; /* bit i: row i of the command was given */
};

struct command {
	const char *name;
	const char *summary; /* one line for `riffle --help` */
	const char *usage;   /* what follows "riffle NAME"; "\n": another form of it */
	const char *help; /* between the usage and the options; NULL: none. "\n\n": a paragraph */
	const char *example; /* whole command lines, "\n" between them */
	unsigned
	    common; /* bits of enum options_common; every command has --help, --log, -v and -q */
	const struct option_row *option; /* [options_n]; a command's own options */
	size_t options_n;
	const void *defaults; /* the command's struct before options_parse(); NULL: all zeros */
	size_t arguments_min, arguments_max; /* how many words that are no options it takes */
	/* argv[0] is the command's name. FAIL_USAGE makes main add "see riffle NAME --help". */
	enum fail_code (*run)(int argc, char **argv, struct failure *f);
};

/*
 * Fills *o and `values`, the command's struct. Options and arguments may be mixed; "--" ends the
 * options. Sets level and form of the log by -v, -q and --log. May reorder argv. One call at a
 * time.
 */
enum fail_code options_parse(struct options *o, const struct command *c, int argc, char **argv,
    void *values, struct failure *f);

/* Whether the option of that name was on the command line: tells a default from a given value. */
bool options_given(const struct options *o, const struct command *c, const char *name);

/*
 * Sets a property as -X gives it, "name=value". A secret is refused but as name=file:PATH or
 * name=env:NAME.
 */
enum fail_code options_set_property(struct config *c, const char *text, struct failure *f);

/*
 * Gives *out, to be ended with config_close(): the configuration of -c with the keys of -s and the
 * properties of -X. FAIL_USAGE: there is no -c, and no RIFFLE_CONFIG.
 */
enum fail_code options_config(struct config **out, const struct options *o, struct failure *f);

/* The same for a command that needs only a broker. Without -c, *out holds properties only. */
enum fail_code options_broker_config(
    struct config **out, const struct options *o, struct failure *f);

/*
 * options_config() for a command with `--mix NAME`, whose configuration must name a mix: NAME
 * stands in place of mix.name, as with -s; NULL: it is not given. The command's row:
 */
#define OPTIONS_MIX_NAME_ROW(AT)                                                                   \
	{                                                                                          \
		.name = "mix", .kind = OPTION_TEXT, .at = (AT), .value = "NAME",                   \
		.without = "mix.name of the configuration", .help = "name of the mix"              \
	}
enum fail_code options_config_named(
    struct config **out, const char *mix, const struct options *o, struct failure *f);

/*
 * Commands that read a mix take `-c FILE`, or `--mix NAME` with where the broker is, or both: then
 * the name is that of --mix and the rest is the file's. Without either, and where the file has no
 * mix, the broker's topics decide: the one mix whose ledger is there. The row of a command whose
 * struct has `const char *mix` at AT:
 */
#define OPTIONS_MIX_ROW(AT)                                                                        \
	{                                                                                          \
		.name = "mix", .kind = OPTION_TEXT, .at = (AT), .value = "NAME",                   \
		.without = "that of the configuration, else the only one of the broker",           \
		.help = "name of the mix"                                                          \
	}

/*
 * Gives *out (config_close), which without -c holds properties and the mix's name only, and sets
 * *mix where it is NULL; that name is borrowed from *out. FAIL_USAGE: no broker is named.
 * FAIL_CONFIG: the broker has no mix, or several, which the sentence names.
 */
enum fail_code options_mix_config(
    struct config **out, const char **mix, const struct options *o, struct failure *f);

/* The same for a command that takes the name from the configuration: (*out)->mix.name is *mix. */
enum fail_code options_config_of_mix(
    struct config **out, const char *mix, const struct options *o, struct failure *f);

/*
 * Checks the folder of the file that `--out path` names. FAIL_USAGE: it does not exist. It asks
 * only the file system, so that a command can call it before it does any work.
 */
enum fail_code options_check_folder(const char *path, struct failure *f);

/* Whether argv asks for --help, whatever else is right or wrong in it. */
bool options_help_wanted(const struct command *c, int argc, char **argv);

/*
 * The form of the log by --log, wherever that is in argv, else by RIFFLE_LOG: before anything can
 * fail. `c` NULL: no command is known. FAIL_USAGE: RIFFLE_LOG is none of the forms. May reorder
 * argv.
 */
enum fail_code options_set_log(const struct command *c, int argc, char **argv, struct failure *f);

/*
 * The rows of a command, its own first, then the common ones that it has; returns their number.
 * Destinations of the common ones are in struct options.
 */
size_t options_rows(const struct command *c, const struct option_row *rows[static OPTIONS_MAX]);

/* What is said of an option that `c` has: its help, then its bounds and what holds without it. */
void options_row_text(
    char out[static OPTIONS_TEXT_MAX], const struct command *c, const struct option_row *row);

/* The whole text of `riffle NAME --help`. */
void options_print_help(const struct command *c, FILE *to);

#endif
