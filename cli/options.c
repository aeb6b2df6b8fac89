#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/hints.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/nearest.h"
#include "common/base/scalar.h"

enum { LONG_FIRST = 256 }; /* + row: what getopt_long() answers for a long option */

/* ---- values: from text to the command's struct ---- */

static uint64_t
row_max(const struct option_row *row)
{
	if (row->max != 0)
		return row->max;
	return row->kind == OPTION_COUNT32 ? UINT32_MAX : UINT64_MAX;
}

static enum fail_code
set_count(const struct option_row *row, void *to, const char *text, struct failure *f)
{
	uint64_t value = 0, max = row_max(row);
	char low[SCALAR_SIZE_TEXT_MAX], high[SCALAR_SIZE_TEXT_MAX];
	bool size = row->kind == OPTION_SIZE;
	enum scalar_result result = size ? scalar_size(text, row->min, max, &value)
					 : scalar_count(text, row->min, max, &value);

	if (!size && text[0] == '-' &&
	    scalar_count(text + 1, 0, UINT64_MAX, &value) != SCALAR_MALFORMED)
		result = SCALAR_RANGE; /* a whole number below 0 */
	if (result == SCALAR_OK) {
		if (row->kind == OPTION_COUNT32)
			*(uint32_t *)to = (uint32_t)value;
		else
			*(uint64_t *)to = value;
		return FAIL_NONE;
	}
	if (size) {
		scalar_size_text(low, row->min);
		scalar_size_text(high, max);
	} else {
		snprintf(low, sizeof(low), "%" PRIu64, row->min);
		snprintf(high, sizeof(high), "%" PRIu64, max);
	}
	return fail(f, FAIL_USAGE, "--%s: %s: %s (%s to %s%s)", row->name,
	    result == SCALAR_RANGE ? "out of range"
	    : size                 ? "not a size"
				   : "not a whole number",
	    text, low, high, size ? ", as 4096, 16MiB or 512MB" : "");
}

static enum fail_code
set_number(const struct option_row *row, double *to, const char *text, struct failure *f)
{
	enum scalar_result result = scalar_number(text, to);
	bool bounded = row->max != 0;

	if (result == SCALAR_OK && bounded && (*to < (double)row->min || *to > (double)row->max))
		result = SCALAR_RANGE;
	if (result == SCALAR_OK)
		return FAIL_NONE;
	if (result == SCALAR_RANGE && bounded)
		return fail(f, FAIL_USAGE, "--%s: out of range: %s (%" PRIu64 " to %" PRIu64 ")",
		    row->name, text, row->min, row->max);
	return fail(f, FAIL_USAGE, "--%s: not a finite number: %s", row->name, text);
}

static enum fail_code
set_choice(const struct option_row *row, int *to, const char *text, struct failure *f)
{
	char all[256];
	size_t used = 0;

	for (int i = 0; row->choice[i] != NULL; i++)
		if (strcmp(text, row->choice[i]) == 0) {
			*to = i;
			return FAIL_NONE;
		}
	for (int i = 0; row->choice[i] != NULL && used < sizeof(all); i++)
		used += (size_t)snprintf(
		    all + used, sizeof(all) - used, "%s%s", i == 0 ? "" : ", ", row->choice[i]);
	return fail(f, FAIL_USAGE, "--%s: unknown: %s (one of %s)", row->name, text, all);
}

/* Cuts "left<separator>right" into two counts; `left` has room for `text`. */
static bool
pair(const char *text, const char *separator, uint64_t *left, uint64_t *right)
{
	char first[SCALAR_SIZE_TEXT_MAX];
	const char *cut = strstr(text, separator);

	if (cut == NULL || (size_t)(cut - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(cut - text));
	first[cut - text] = '\0';
	return scalar_count(first, 0, INT64_MAX, left) == SCALAR_OK &&
	       scalar_count(cut + strlen(separator), 0, INT64_MAX, right) == SCALAR_OK;
}

static enum fail_code
set_pair(const struct option_row *row, void *to, const char *text, struct failure *f)
{
	struct option_range range;

	if (row->kind == OPTION_RANGE) {
		if (!pair(text, "..", &range.first, &range.end) || range.first > range.end)
			return fail(f, FAIL_USAGE,
			    "--%s: not a range: %s (a..b: a up to, but without, b)", row->name,
			    text);
		*(struct option_range *)to = range;
		return FAIL_NONE;
	}
	if (strcmp(text, "auto") == 0) {
		*(struct option_part *)to = (struct option_part){0};
		return FAIL_NONE;
	}
	if (!pair(text, "/", &range.first, &range.end) || range.first >= range.end ||
	    range.end > LIMIT_LANES)
		return fail(f, FAIL_USAGE,
		    "--%s: not a %s: %s (k/n: %s k, from 0 to n-1, of n; or auto)", row->name,
		    row->name, text, row->name);
	*(struct option_part *)to =
	    (struct option_part){(uint32_t)range.first, (uint32_t)range.end};
	return FAIL_NONE;
}

static enum fail_code
set_text(const struct option_row *row, const char **to, const char *text, struct failure *f)
{
	if (*text == '\0')
		return fail(
		    f, FAIL_USAGE, "--%s: is empty: needs a value: %s", row->name, row->value);
	*to = text;
	return FAIL_NONE;
}

static enum fail_code
set_list(const struct option_row *row, struct option_list *to, const char *text, struct failure *f)
{
	if (to->n == OPTIONS_LIST_MAX)
		return fail(
		    f, FAIL_USAGE, "--%s: given more than %d times", row->name, OPTIONS_LIST_MAX);
	return set_text(row, &to->text[to->n++], text, f);
}

/* Writes `text` (NULL for a flag) to where the row says inside `values`, or fails with why not. */
static enum fail_code
set_value(const struct option_row *row, void *values, const char *text, struct failure *f)
{
	void *to = (char *)values + row->at;

	switch (row->kind) {
	case OPTION_FLAG: *(bool *)to = true; return FAIL_NONE;
	case OPTION_TEXT: return set_text(row, to, text, f);
	case OPTION_COUNT32:
	case OPTION_COUNT:
	case OPTION_SIZE: return set_count(row, to, text, f);
	case OPTION_NUMBER: return set_number(row, to, text, f);
	case OPTION_CHOICE: return set_choice(row, to, text, f);
	case OPTION_RANGE:
	case OPTION_PART: return set_pair(row, to, text, f);
	case OPTION_LIST: return set_list(row, to, text, f);
	}
	assert(false);
	return FAIL_NONE;
}

/* ---- rows and words ---- */

#define AT(field) offsetof(struct options, field)

static const char *const log_forms[] = {[LOG_LOGFMT] = "logfmt", [LOG_JSON] = "json", NULL};

/* In the order of the help. The first ones are for commands that ask for them: common_wanted(). */
static const struct option_row common_rows[] = {
    {"config", 'c', OPTION_LIST, AT(configs), 0, 0, NULL, "FILE", "the configuration, in YAML",
	"the file that RIFFLE_CONFIG names"},
    {"override", 's', OPTION_LIST, AT(overrides), 0, 0, NULL, "KEY=VALUE",
	"set a key of the configuration in place of what the file has, as mix.weights.code=0.3; "
	"may be repeated; a value that begins with [ or { is YAML",
	NULL},
    {"property", 'X', OPTION_LIST, AT(properties), 0, 0, NULL, "NAME=VALUE",
	"set a librdkafka property; may be repeated; wins over the configuration's kafka section",
	NULL},
    {"verbose", 'v', OPTION_FLAG, AT(verbose), 0, 0, NULL, NULL, "log more, to stderr", NULL},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), 0, 0, NULL, NULL, "log warnings and errors only", NULL},
    {"log", 0, OPTION_CHOICE, AT(log), 0, 0, log_forms, "FORM",
	"how lines of the log look, on stderr: key=value, or a JSON object each",
	"RIFFLE_LOG, else logfmt"},
    {"help", 'h', OPTION_FLAG, AT(help), 0, 0, NULL, NULL, "print this text", NULL},
};
enum { COMMON_ROWS = sizeof(common_rows) / sizeof(common_rows[0]) };

/*
 * What getopt_long() wants to know of a command. Its quirks are dealt with here alone:
 *   it accepts the beginning of a name, which grammar_row() refuses: an option that is added later
 *   must not change what a script means;
 *   of an unknown option it gives the word only by optind, so that `word` is found again;
 *   it keeps its place in static variables, so that one call at a time may run.
 */
struct grammar {
	const struct option_row *row[OPTIONS_MAX];
	size_t n;
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 2];
	const char *value[OPTIONS_MAX]; /* [n]; what row[i] was given so far, or NULL */
};

static bool
common_wanted(const struct command *c, const struct option_row *row)
{
	if (row->letter == 'c' || row->letter == 's')
		return (c->common & OPTIONS_CONFIG) != 0;
	return row->letter != 'X' || (c->common & OPTIONS_PROPERTIES) != 0;
}

size_t
options_rows(const struct command *c, const struct option_row *rows[static OPTIONS_MAX])
{
	size_t n = 0;

	assert(c->options_n + COMMON_ROWS <= OPTIONS_MAX);
	for (size_t i = 0; i < c->options_n; i++)
		rows[n++] = &c->option[i];
	for (size_t i = 0; i < COMMON_ROWS; i++)
		if (common_wanted(c, &common_rows[i]))
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
	optind = 0; /* glibc: restart, also with a table of another shape */
}

static bool
has_letter(const struct grammar *g, char letter)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->row[i]->letter == letter)
			return true;
	return false;
}

/*
 * "-steps" is "-s teps" for getopt_long(): a word with one dash and the whole name of an option is
 * taken for a slip.
 */
static enum fail_code
check_dashes(const struct grammar *g, int argc, char *const *argv, struct failure *f)
{
	for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++) {
		const char *word = argv[k];
		size_t n = strcspn(word, "=");

		for (size_t i = 0; word[0] == '-' && word[1] != '-' && n > 2 && i < g->n; i++)
			if (strlen(g->row[i]->name) == n - 1 &&
			    strncmp(g->row[i]->name, word + 1, n - 1) == 0)
				return fail(f, FAIL_USAGE,
				    "%s: a name has two dashes in front: -%s", word, word);
	}
	return FAIL_NONE;
}

/* The row that getopt_long() has just met; NULL: an unknown option. `word`: as it is in argv. */
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
	assert((size_t)(code - LONG_FIRST) < g->n);
	row = g->row[code - LONG_FIRST];
	if (optarg != NULL && optarg == argv[optind - 1])
		*word = argv[optind - 2];
	n = strcspn(*word, "=");
	return n == strlen(row->name) + 2 && strncmp(*word + 2, row->name, n - 2) == 0 ? row : NULL;
}

/* Remembers the value. One of two values would be lost, so most options are taken once only. */
static enum fail_code
check_once(struct grammar *g, const struct command *c, const struct option_row *row,
    const char *value, struct failure *f)
{
	bool repeats = row->letter == 'c' ? (c->common & OPTIONS_CONFIGS) != 0
					  : row->kind == OPTION_FLAG || row->kind == OPTION_LIST;
	size_t i = 0;

	while (g->row[i] != row)
		i++;
	if (!repeats && g->value[i] != NULL)
		return fail(f, FAIL_USAGE, "--%s: given twice (%s, %s): riffle %s takes one",
		    row->name, g->value[i], value, c->name);
	g->value[i] = value;
	return FAIL_NONE;
}

static bool
has_option(const struct command *c, const char *name)
{
	for (size_t i = 0; i < c->options_n; i++)
		if (strcmp(c->option[i].name, name) == 0)
			return true;
	return false;
}

/* What every user of Kafka's tools types. */
static bool
names_broker(const char *word)
{
	return strncmp(word, "--bootstrap", strlen("--bootstrap")) == 0 ||
	       strncmp(word, "--broker", strlen("--broker")) == 0;
}

/* The words that other trainers and loaders have for an option of ours. */
static const char *const other_words[][2] = {{"lanes", "world"}, {"world-size", "world"}};

/* The option that `name` stands for elsewhere; NULL: this command has none. */
static const char *
find_other_word(const struct command *c, const char *name)
{
	for (size_t i = 0; i < sizeof(other_words) / sizeof(other_words[0]); i++)
		if (strcmp(other_words[i][0], name) == 0 && has_option(c, other_words[i][1]))
			return other_words[i][1];
	return NULL;
}

/* The key of the configuration that an unknown option names; NULL: there is none. */
static const char *
find_key(const struct command *c, char *name)
{
	for (char *at = name; *at != '\0'; at++)
		*at = *at == '-' ? '_' : *at;
	return (c->common & OPTIONS_CONFIG) != 0 ? config_find_key(name) : NULL;
}

static enum fail_code
fail_unknown(const struct command *c, const struct grammar *g, const char *word, struct failure *f)
{
	char name[NEAREST_BYTES_MAX + 1];
	const char *meant, *key;
	struct nearest near;
	size_t n = strcspn(word, "=");

	if (names_broker(word) && has_letter(g, 'X'))
		return fail(f, FAIL_USAGE,
		    "unknown option %.*s: the broker is bootstrap.servers of the configuration, "
		    "or -X bootstrap.servers=HOST:PORT",
		    (int)n, word);
	if (strncmp(word, "--", 2) != 0)
		return fail(f, FAIL_USAGE, "unknown option -%c",
		    optopt > 0 && optopt < LONG_FIRST ? optopt : word[1]);
	snprintf(name, sizeof(name), "%.*s", (int)n - 2, word + 2);
	nearest_init(&near, name);
	for (size_t i = 0; i < g->n; i++)
		if (g->row[i]->help != NULL)
			nearest_offer(&near, g->row[i]->name);
	meant = near.best != NULL ? near.best : find_other_word(c, name);
	if (meant != NULL)
		return fail(
		    f, FAIL_USAGE, "unknown option %.*s (did you mean --%s?)", (int)n, word, meant);
	key = find_key(c, name);
	if (key != NULL)
		return fail(f, FAIL_USAGE,
		    "unknown option %.*s: it is a key of the configuration: give -s %s=VALUE",
		    (int)n, word, key);
	return fail(f, FAIL_USAGE, "unknown option %.*s", (int)n, word);
}

/* getopt_long() answered ':' or '?'. */
static enum fail_code
fail_syntax(const struct command *c, const struct grammar *g, int code, char *const *argv,
    struct failure *f)
{
	const char *word;
	const struct option_row *row = grammar_row(g, optopt, argv, &word);

	if (code == ':' && row != NULL)
		return fail(f, FAIL_USAGE, "--%s: needs a value: %s", row->name, row->value);
	if (code == '?' && optopt >= LONG_FIRST && row != NULL)
		return fail(
		    f, FAIL_USAGE, "--%s: takes no value, but has one: %s", row->name, word);
	return fail_unknown(c, g, word, f);
}

/* Whether a word that is no option looks like the configuration, which -c names. */
static bool
is_config(const struct options *o, const struct command *c, const char *word)
{
	const char *dot = strrchr(word, '.');

	return (c->common & OPTIONS_CONFIG) != 0 && o->config == NULL && dot != NULL &&
	       (strcmp(dot, ".yml") == 0 || strcmp(dot, ".yaml") == 0);
}

/*
 * An argument too many. If the command takes none, it may be a name that an option takes, or that
 * the command needs no option for, so the names of the configuration are tried.
 */
static enum fail_code
fail_argument(const struct options *o, const struct command *c, const char *word, struct failure *f)
{
	int form = (int)strcspn(c->usage, "\n"); /* the first one */
	const char *mix = o->config == NULL ? word : NULL, *domain = NULL;
	bool number = word[strspn(word, "0123456789")] == '\0';
	struct config *config = NULL;
	struct failure ignored;
	struct nearest near;

	fail(f, FAIL_USAGE, "unexpected argument: %s (", word);
	nearest_init(&near, word);
	if (c->arguments_max == 0 && o->config != NULL &&
	    options_config(&config, o, &ignored) == FAIL_NONE) {
		for (size_t i = 0; i < config->domains_n; i++)
			nearest_offer(&near, config->domains[i].name);
		domain = near.best;
		if (config->mix.name != NULL)
			nearest_offer(&near, config->mix.name);
		if (near.best != domain)
			mix = near.best, domain = NULL;
	}
	if (c->arguments_max > 0)
		fail_more(f, "riffle %s takes %zu at most; ", c->name, c->arguments_max);
	else if (domain != NULL && has_option(c, "domain"))
		fail_more(f, "did you mean --domain %s? ", domain);
	else if (domain != NULL)
		fail_more(f, "did you mean domain %s? `riffle %s` is about all domains; ", domain,
		    c->name);
	else if (number && has_option(c, "from-step"))
		fail_more(f, "did you mean --from-step %s? ", word);
	else if (mix != NULL && !number && has_option(c, "mix"))
		fail_more(f, "did you mean --mix %s? ", mix);
	fail_more(f, "usage: riffle %s %.*s)", c->name, form, c->usage);
	config_close(config);
	return f->code;
}

static enum fail_code
check_arguments(const struct options *o, const struct command *c, struct failure *f)
{
	int form = (int)strcspn(c->usage, "\n"); /* the first one */
	const char *first = c->usage + (strncmp(c->usage, "-c FILE ", 8) == 0 ? 8 : 0);

	for (size_t i = 0; i < o->properties.n; i++) {
		const char *text = o->properties.text[i], *equals = strchr(text, '=');

		if (equals == NULL || equals == text)
			return fail(f, FAIL_USAGE,
			    "-X: not a property: %s (NAME=VALUE; what was given is not shown: it "
			    "may be a secret)",
			    equals == NULL ? "it has no '='" : "it has no name");
	}
	for (size_t i = 0; i < o->overrides.n; i++)
		if (strchr(o->overrides.text[i], '=') == NULL || o->overrides.text[i][0] == '=')
			return fail(f, FAIL_USAGE, "-s: not KEY=VALUE: %s", o->overrides.text[i]);
	if (o->verbose && o->quiet)
		return fail(f, FAIL_USAGE, "--verbose and --quiet exclude each other");
	if (o->arguments_n > c->arguments_max && is_config(o, c, o->argument[c->arguments_max]))
		return fail(f, FAIL_USAGE, "unexpected argument: %s (the configuration: -c %s)",
		    o->argument[c->arguments_max], o->argument[c->arguments_max]);
	if (o->arguments_n > c->arguments_max)
		return fail_argument(o, c, o->argument[c->arguments_max], f);
	if (o->arguments_n < c->arguments_min)
		return fail(f, FAIL_USAGE, "an argument is missing: %.*s (usage: riffle %s %.*s)",
		    (int)strcspn(first, " "), first, c->name, form, c->usage);
	return FAIL_NONE;
}

static const char *
config_of_environment(void)
{
	const char *path = getenv("RIFFLE_CONFIG");

	return path == NULL || *path == '\0' ? NULL : path;
}

enum fail_code
options_parse(struct options *o, const struct command *c, int argc, char **argv, void *values,
    struct failure *f)
{
	const char *mix = NULL;
	struct grammar g;
	int code;

	assert(c->options_n <= 64); /* bits of `given` */
	memset(o, 0, sizeof(*o));
	o->log = log_form();
	grammar_init(&g, c);
	if (check_dashes(&g, argc, argv, f) != FAIL_NONE)
		return f->code;
	while ((code = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
		const char *word;
		const struct option_row *row;
		bool own;

		if (code == ':' || code == '?')
			return fail_syntax(c, &g, code, argv, f);
		row = grammar_row(&g, code, argv, &word);
		if (row == NULL)
			return fail_unknown(c, &g, word, f);
		own = c->options_n > 0 && row >= c->option && row < c->option + c->options_n;
		if (check_once(&g, c, row, optarg, f) != FAIL_NONE ||
		    set_value(row, own ? values : (void *)o, optarg, f) != FAIL_NONE)
			return f->code;
		if (own)
			o->given |= UINT64_C(1) << (row - c->option);
		if (own && row->kind == OPTION_TEXT && strcmp(row->name, "mix") == 0)
			mix = optarg;
	}
	log_set_form(o->log);
	if (o->configs.n > 0)
		o->config = o->configs.text[o->configs.n - 1];
	if (o->configs.n == 0 && (c->common & OPTIONS_CONFIG) != 0)
		o->config = config_of_environment();
	if (o->config != NULL)
		hints_set(
		    o->configs.n == 0 ? NULL : o->config, o->overrides.text, o->overrides.n, mix);
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

/* ---- what is wanted before all else is parsed ---- */

/* Whether an option is anywhere in argv, and what the last one says, whatever else is wrong. */
static bool
given_anywhere(const struct command *c, int argc, char **argv, const char *name, const char **value)
{
	struct grammar g;
	bool found = false;
	int code;

	grammar_init(&g, c);
	while ((code = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
		const char *word;
		const struct option_row *row;

		row = code == ':' || code == '?' ? NULL : grammar_row(&g, code, argv, &word);
		if (row == NULL || strcmp(row->name, name) != 0)
			continue;
		*value = optarg;
		found = true;
	}
	return found;
}

bool
options_help_wanted(const struct command *c, int argc, char **argv)
{
	const char *none;

	return given_anywhere(c, argc, argv, "help", &none);
}

enum fail_code
options_set_log(const struct command *c, int argc, char **argv, struct failure *f)
{
	const struct option_row row = {.name = "log", .choice = log_forms};
	const char *text = getenv("RIFFLE_LOG");
	struct failure said; /* by options_parse(), with all else that is wrong */
	int form;

	if (c != NULL && given_anywhere(c, argc, argv, "log", &text))
		f = &said;
	if (text == NULL || *text == '\0')
		return FAIL_NONE;
	if (set_choice(&row, &form, text, f) == FAIL_NONE)
		log_set_form((enum log_form)form);
	else if (f != &said)
		return fail_within(f, "RIFFLE_LOG");
	return FAIL_NONE;
}

enum fail_code
options_check_folder(const char *path, struct failure *f)
{
	const char *slash = strrchr(path, '/');
	int n = slash == NULL ? 0 : (int)(slash - path);
	char *folder;
	struct stat st;

	if (n == 0 || slash[1] == '\0')
		return FAIL_NONE; /* here, the root, or no file's name, which is refused later */
	if (asprintf(&folder, "%.*s", n, path) < 0)
		return fail_memory(f);
	f->code = FAIL_NONE;
	if (stat(folder, &st) != 0 && errno == ENOENT)
		fail(f, FAIL_USAGE, "--out %s: folder %s does not exist: `mkdir -p %s` makes it",
		    path, folder, folder);
	free(folder);
	return f->code;
}
