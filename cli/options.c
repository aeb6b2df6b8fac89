#include "cli/options.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options_value.h"
#include "common/base/log.h"
#include "common/base/nearest.h"

/* getopt_long() answers LONG_FIRST + row for a long option, the letter for a short one. */
enum { LONG_FIRST = 256, PROPERTY_NAME_MAX = 255 };

#define AT(field) offsetof(struct options, field)

/* In the order of the help. The first two are for commands that ask for them. */
static const struct option_row common_rows[] = {
    {"config", 'c', OPTION_TEXT, AT(config), 0, 0, NULL, "FILE", "the configuration (YAML)"},
    {"property", 'X', OPTION_LIST, AT(properties), 0, 0, NULL, "NAME=VALUE",
	"set a librdkafka property; may be repeated; wins over the configuration's kafka section"},
    {"verbose", 'v', OPTION_FLAG, AT(verbose), 0, 0, NULL, NULL, "log more, to stderr"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), 0, 0, NULL, NULL, "log warnings and errors only"},
    {"help", 'h', OPTION_FLAG, AT(help), 0, 0, NULL, NULL, "print this text"},
};
enum { COMMON_ROWS = sizeof(common_rows) / sizeof(common_rows[0]) };

/* What getopt_long() wants to know of a command. */
struct grammar {
	const struct option_row *row[OPTIONS_MAX];
	size_t n;
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 2];
};

size_t
options_rows(const struct command *c, const struct option_row *rows[static OPTIONS_MAX])
{
	size_t n = 0;

	assert(c->options_n + COMMON_ROWS <= OPTIONS_MAX);
	for (size_t i = 0; i < c->options_n; i++)
		rows[n++] = &c->option[i];
	for (size_t i = 0; i < COMMON_ROWS; i++)
		if (!(i == 0 && (c->common & OPTIONS_CONFIG) == 0) &&
		    !(i == 1 && (c->common & OPTIONS_PROPERTIES) == 0))
			rows[n++] = &common_rows[i];
	return n;
}

static void
grammar_init(struct grammar *g, const struct command *c)
{
	size_t letters = 0;

	memset(g, 0, sizeof(*g));
	g->n = options_rows(c, g->row);
	g->shorts[letters++] = ':'; /* a missing value is told apart from an unknown option */
	for (size_t i = 0; i < g->n; i++) {
		bool flag = g->row[i]->kind == OPTION_FLAG;

		g->longs[i].name = g->row[i]->name;
		g->longs[i].has_arg = flag ? no_argument : required_argument;
		g->longs[i].val = LONG_FIRST + (int)i;
		if (g->row[i]->letter == 0)
			continue;
		g->shorts[letters++] = g->row[i]->letter;
		if (!flag)
			g->shorts[letters++] = ':';
	}
	opterr = 0;
	optind = 0; /* glibc: begin anew, also with a table of another shape */
}

/*
 * The row that getopt_long() has just met; NULL: an unknown option. The whole name must be there:
 * getopt_long() takes beginnings, which we do not. `word` is the option as it stands in argv.
 */
static const struct option_row *
grammar_row(const struct grammar *g, int code, char *const *argv, const char **word)
{
	const struct option_row *row;
	size_t n;

	*word = argv[optind - 1];
	for (size_t i = 0; code < LONG_FIRST && i < g->n; i++)
		if (g->row[i]->letter == code)
			return g->row[i];
	if (code < LONG_FIRST)
		return NULL;
	row = g->row[code - LONG_FIRST];
	if (optarg != NULL && optarg == argv[optind - 1])
		*word = argv[optind - 2];
	n = strcspn(*word, "=");
	return n == strlen(row->name) + 2 && strncmp(*word + 2, row->name, n - 2) == 0 ? row : NULL;
}

static enum fail_code
fail_unknown(const struct grammar *g, const char *word, struct failure *f)
{
	char name[NEAREST_BYTES_MAX + 1];
	struct nearest near;
	size_t n = strcspn(word, "=");

	if (strncmp(word, "--", 2) != 0)
		return fail(f, FAIL_USAGE, "unknown option -%c",
		    optopt > 0 && optopt < LONG_FIRST ? optopt : word[1]);
	snprintf(name, sizeof(name), "%.*s", (int)n - 2, word + 2);
	nearest_init(&near, name);
	for (size_t i = 0; i < g->n; i++)
		nearest_offer(&near, g->row[i]->name);
	if (near.best != NULL)
		return fail(f, FAIL_USAGE, "unknown option %.*s (did you mean --%s?)", (int)n, word,
		    near.best);
	return fail(f, FAIL_USAGE, "unknown option %.*s", (int)n, word);
}

/* getopt_long() answered ':' or '?'. */
static enum fail_code
fail_syntax(const struct grammar *g, int code, char *const *argv, struct failure *f)
{
	const char *word;
	const struct option_row *row = grammar_row(g, optopt, argv, &word);

	if (code == ':' && row != NULL)
		return fail(f, FAIL_USAGE, "--%s: needs a value: %s", row->name, row->value);
	if (code == '?' && optopt >= LONG_FIRST && row != NULL)
		return fail(
		    f, FAIL_USAGE, "--%s: takes no value, but has one: %s", row->name, word);
	return fail_unknown(g, word, f);
}

static enum fail_code
check_arguments(const struct options *o, const struct command *c, struct failure *f)
{
	for (size_t i = 0; i < o->properties.n; i++) {
		const char *text = o->properties.text[i], *equals = strchr(text, '=');

		if (equals == NULL || equals == text)
			return fail(f, FAIL_USAGE, "-X: not a property: %s (NAME=VALUE)", text);
	}
	if (o->verbose && o->quiet)
		return fail(f, FAIL_USAGE, "--verbose and --quiet exclude each other");
	if (o->arguments_n > c->arguments_max)
		return fail(f, FAIL_USAGE, "unexpected argument: %s (usage: riffle %s %s)",
		    o->argument[c->arguments_max], c->name, c->usage);
	if (o->arguments_n < c->arguments_min)
		return fail(f, FAIL_USAGE, "an argument is missing (usage: riffle %s %s)", c->name,
		    c->usage);
	return FAIL_NONE;
}

enum fail_code
options_parse(struct options *o, const struct command *c, int argc, char **argv, void *values,
    struct failure *f)
{
	struct grammar g;
	int code;

	memset(o, 0, sizeof(*o));
	grammar_init(&g, c);
	while ((code = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
		const char *word;
		const struct option_row *row;
		bool own;

		if (code == ':' || code == '?')
			return fail_syntax(&g, code, argv, f);
		row = grammar_row(&g, code, argv, &word);
		if (row == NULL)
			return fail_unknown(&g, word, f);
		own = c->options_n > 0 && row >= c->option && row < c->option + c->options_n;
		if (options_set(row, own ? values : (void *)o, optarg, f) != FAIL_NONE)
			return f->code;
		if (own)
			o->given |= UINT64_C(1) << (row - c->option);
	}
	o->argument = argv + optind;
	o->arguments_n = (size_t)(argc - optind);
	if (check_arguments(o, c, f) != FAIL_NONE)
		return f->code;
	if (o->verbose || o->quiet)
		log_set_level(o->verbose ? LOG_DEBUG : LOG_WARNING);
	return FAIL_NONE;
}

bool
options_given(const struct options *o, const struct command *c, const char *name)
{
	for (size_t i = 0; i < c->options_n; i++)
		if (strcmp(c->option[i].name, name) == 0)
			return (o->given >> i & 1) != 0;
	assert(false && "no such option");
	return false;
}

/* Everybody may see the command line of a process: a secret must come from elsewhere. */
static enum fail_code
set_secret(struct config *c, const char *name, const char *value, struct failure *f)
{
	if (strncmp(value, "file:", 5) == 0)
		return properties_set_from(&c->kafka, name, "file", value + 5, f);
	if (strncmp(value, "env:", 4) == 0)
		return properties_set_from(&c->kafka, name, "env", value + 4, f);
	return fail(f, FAIL_USAGE,
	    "-X %s: everybody can see the command line: give -X %s=file:PATH or -X %s=env:NAME",
	    name, name, name);
}

enum fail_code
options_set_property(struct config *c, const char *text, struct failure *f)
{
	const char *equals = strchr(text, '='); /* options_parse() has seen that there is one */
	char name[PROPERTY_NAME_MAX + 1];

	if (equals - text > PROPERTY_NAME_MAX)
		return fail(f, FAIL_USAGE, "-X: the name of a property is too long: %.*s...",
		    PROPERTY_NAME_MAX, text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	if (properties_secret(name))
		return set_secret(c, name, equals + 1, f);
	return properties_set(&c->kafka, name, equals + 1, f);
}

enum fail_code
options_config(struct config **out, const struct options *o, struct failure *f)
{
	*out = NULL;
	if (o->config == NULL)
		return fail(f, FAIL_USAGE, "no configuration is named: add -c FILE");
	if (config_open(out, o->config, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < o->properties.n; i++)
		if (options_set_property(*out, o->properties.text[i], f) != FAIL_NONE)
			goto failed;
	return FAIL_NONE;
failed:
	config_close(*out);
	*out = NULL;
	return f->code;
}

bool
options_help_wanted(const struct command *c, int argc, char **argv)
{
	struct grammar g;
	int code;

	grammar_init(&g, c);
	while ((code = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
		const char *word;
		const struct option_row *row;

		row = code == ':' || code == '?' ? NULL : grammar_row(&g, code, argv, &word);
		if (row != NULL && strcmp(row->name, "help") == 0)
			return true;
	}
	return false;
}
