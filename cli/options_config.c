/* The configuration that a command works on: by -c, -s, -X and --mix, or by what the broker has. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options.h"
#include "common/base/names.h"
#include "common/base/nearest.h"
#include "common/kafka/kafka.h"
#include "common/kafka/mix_names.h"

enum {
	PROPERTY_NAME_MAX = 255,
	BROKER_MS = 10000,
	NAMES_BYTES = 256, /* of the mixes that a failure names */
};

#define LEDGER_END ".ledger"

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
		return fail(f, FAIL_USAGE, "-X: a property's name has at most %d letters",
		    PROPERTY_NAME_MAX);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	if (properties_secret(name))
		return set_secret(c, name, equals + 1, f);
	return properties_set(&c->kafka, name, equals + 1, f);
}

#define KAFKA_PREFIX "kafka."
enum { KAFKA_PREFIX_N = sizeof(KAFKA_PREFIX) - 1 };

/* The property that an override sets, as -X gives it; NULL: it sets another key. */
static const char *
property_of(const char *override)
{
	return strncmp(override, KAFKA_PREFIX, KAFKA_PREFIX_N) == 0 ? override + KAFKA_PREFIX_N
								    : NULL;
}

/* The option that gave the property, which wins over the file; NULL: none. */
static const char *
given_by_option(const struct options *o, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < o->properties.n; i++)
		if (strncmp(o->properties.text[i], name, n) == 0 && o->properties.text[i][n] == '=')
			return "-X";
	for (size_t i = 0; i < o->overrides.n; i++) {
		const char *text = property_of(o->overrides.text[i]);

		if (text != NULL && strncmp(text, name, n) == 0 && text[n] == '=')
			return "-s";
	}
	return NULL;
}

/* -s kafka.NAME=VALUE is -X NAME=VALUE, with the same care for secrets; -X wins. */
static enum fail_code
set_properties(struct config *c, const struct options *o, struct failure *f)
{
	for (size_t i = 0; i < o->overrides.n; i++) {
		const char *text = property_of(o->overrides.text[i]);

		if (text != NULL && *text == '=')
			return fail(f, FAIL_USAGE, "-s kafka.: the name of a property is missing");
		if (text != NULL && options_set_property(c, text, f) != FAIL_NONE)
			return f->code;
	}
	for (size_t i = 0; i < o->properties.n; i++)
		if (options_set_property(c, o->properties.text[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Whether RIFFLE_BOOTSTRAP gave the property, which wins over the file. */
static bool
of_environment(const struct property *p)
{
	const char *variable = getenv("RIFFLE_BOOTSTRAP");

	return strcmp(p->name, "bootstrap.servers") == 0 && variable != NULL && *variable != '\0';
}

/* A failure names what gave the property: a line of the file, an option, or the environment. */
static enum fail_code
check_properties(const struct config *c, const struct options *o, struct failure *f)
{
	for (size_t i = 0; i < c->kafka.n; i++) {
		const struct property *p = &c->kafka.item[i];
		const char *option;
		int line;

		if (kafka_check_property(p, f) == FAIL_NONE)
			continue;
		option = given_by_option(o, p->name);
		if (option == NULL && of_environment(p))
			option = "RIFFLE_BOOTSTRAP";
		if (option != NULL)
			return fail_within(f, "%s", option);
		line = config_property_line(c, p->name);
		return line > 0 ? fail_within(f, "%s:%d", c->path, line)
				: fail_within(f, "%s", c->path == NULL ? "environment" : c->path);
	}
	return FAIL_NONE;
}

enum fail_code
options_config(struct config **out, const struct options *o, struct failure *f)
{
	return options_config_named(out, NULL, o, f);
}

/* The configuration was not loaded: says more if its path is not that of a YAML file at all. */
static enum fail_code
fail_no_file(const struct options *o, struct failure *f)
{
	const char *dot = strrchr(o->config, '.');
	struct stat st = {0};
	bool missing = stat(o->config, &st) != 0;

	if (strcmp(o->config, "-") == 0 && missing)
		fail_more(
		    f, ": name a file: the paths in a configuration are relative to its folder");
	else if (missing && errno == ENOENT && !nearest_path_more(o->config, DT_REG, f))
		fail_more(f, "; `riffle config --init DATA > %s` writes a first one", o->config);
	else if (S_ISDIR(st.st_mode))
		fail_more(f, ": name the YAML file in it");
	else if (dot != NULL && strcmp(dot, ".jsonl") == 0)
		fail_more(f, "; the configuration is a YAML file, not the data");
	else if (!missing && access(o->config, R_OK) == 0)
		return f->code;
	return o->configs.n > 0 ? f->code
				: fail_more(f, " (RIFFLE_CONFIG names this %s)",
				      S_ISDIR(st.st_mode) ? "folder" : "file");
}

/* The first of two values of a key would be lost. */
static enum fail_code
check_overrides(const struct options *o, struct failure *f)
{
	for (size_t i = 0; i < o->overrides.n; i++) {
		const char *one = o->overrides.text[i];
		size_t n = strcspn(one, "=");

		for (size_t k = i + 1; k < o->overrides.n; k++)
			if (strncmp(one, o->overrides.text[k], n) == 0 && one[n] == '=' &&
			    o->overrides.text[k][n] == '=')
				return fail(f, FAIL_USAGE,
				    "-s %.*s: given twice (%s, %s): give one", (int)n, one,
				    one + n + 1, o->overrides.text[k] + n + 1);
	}
	return FAIL_NONE;
}

enum fail_code
options_config_named(
    struct config **out, const char *mix, const struct options *o, struct failure *f)
{
	const char *set[OPTIONS_LIST_MAX + 1];
	char name[NAME_MAX_BYTES + sizeof("mix.name=")];
	size_t n = 0;

	*out = NULL;
	if (o->config == NULL)
		return fail(
		    f, FAIL_USAGE, "no configuration is named: add -c FILE, or set RIFFLE_CONFIG");
	if (check_overrides(o, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < o->overrides.n; i++)
		if (property_of(o->overrides.text[i]) == NULL)
			set[n++] = o->overrides.text[i];
	if (mix != NULL && !names_valid(mix))
		return fail(f, FAIL_USAGE, "--mix: \"%s\" is not a name of a mix", mix);
	if (mix != NULL) {
		snprintf(name, sizeof(name), "mix.name=%s", mix);
		set[n++] = name;
	}
	if (config_open_with(out, o->config, set, n, f) != FAIL_NONE)
		return fail_no_file(o, f);
	if (set_properties(*out, o, f) == FAIL_NONE && check_properties(*out, o, f) == FAIL_NONE)
		return FAIL_NONE;
	config_close(*out);
	*out = NULL;
	return f->code;
}

/* Without a file: a configuration that holds properties only. */
static enum fail_code
bare_config(struct config **out, const struct options *o, struct failure *f)
{
	const char *bootstrap = getenv("RIFFLE_BOOTSTRAP");
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; i < o->overrides.n; i++)
		if (property_of(o->overrides.text[i]) == NULL)
			return fail(f, FAIL_USAGE, "-s %s: needs the configuration: add -c FILE",
			    o->overrides.text[i]);
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return fail_memory(f);
	if (bootstrap != NULL && *bootstrap != '\0')
		code = properties_set(&(*out)->kafka, "bootstrap.servers", bootstrap, f);
	if (code == FAIL_NONE)
		code = set_properties(*out, o, f);
	if (code == FAIL_NONE)
		code = check_properties(*out, o, f);
	if (code != FAIL_NONE) {
		config_close(*out);
		*out = NULL;
	}
	return code;
}

enum fail_code
options_broker_config(struct config **out, const struct options *o, struct failure *f)
{
	return o->config == NULL ? bare_config(out, o, f) : options_config(out, o, f);
}

static enum fail_code
name_mix(struct config *c, const char *name, struct failure *f)
{
	char *copy = strdup(name);

	if (copy == NULL)
		return fail_memory(f);
	free(c->mix.name);
	c->mix.name = copy;
	return FAIL_NONE;
}

/* Names the mix whose ledger is the only one: `topics` are n names, one behind the other. */
static enum fail_code
name_only_mix(struct config *c, const char *topics, size_t n, struct failure *f)
{
	char names[NAMES_BYTES] = "";
	const char *at = topics;
	size_t used = 0;

	if (n == 0)
		return fail(f, FAIL_CONFIG,
		    "which mix? the broker has none (no topic MIX.ledger that this user may see): "
		    "give --mix NAME, or a configuration with a mix section");
	for (size_t i = 0; i < n && used < sizeof(names); i++, at += strlen(at) + 1)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s",
		    i == 0 ? "" : ", ", (int)(strlen(at) - strlen(LEDGER_END)), at);
	if (n > 1)
		return fail(f, FAIL_CONFIG,
		    "which mix? the broker has %zu: %s%s: give --mix NAME, or a configuration with "
		    "a mix section",
		    n, names, used < sizeof(names) ? "" : "...");
	return name_mix(c, names, f);
}

/* The mix is named nowhere: the topics of the broker decide. */
static enum fail_code
find_mix(struct config *c, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = &c->kafka, .client = "find-mix", .quiet = true};
	char *topics = NULL;
	rd_kafka_t *rk;
	size_t n;
	enum fail_code code;

	if (properties_value(&c->kafka, "bootstrap.servers") == NULL)
		return fail(f, FAIL_USAGE,
		    "which mix? give -c FILE with a mix section, or a broker (RIFFLE_BOOTSTRAP, or "
		    "-X bootstrap.servers=HOST:PORT) and --mix NAME");
	if (kafka_open(&rk, &k, f) != FAIL_NONE)
		return f->code;
	code = kafka_wait_broker(rk, BROKER_MS, f);
	if (code == FAIL_NONE)
		code = topics_ending(&topics, &n, rk, LEDGER_END, BROKER_MS, f);
	if (code == FAIL_NONE)
		code = name_only_mix(c, topics, n, f);
	free(topics);
	kafka_close(rk);
	return code;
}

enum fail_code
options_mix_config(
    struct config **out, const char **mix, const struct options *o, struct failure *f)
{
	enum fail_code code;

	*out = NULL;
	if (*mix != NULL && !names_valid(*mix))
		return fail(f, FAIL_USAGE, "--mix: \"%s\" is not a name of a mix", *mix);
	code = options_broker_config(out, o, f);
	if (code == FAIL_NONE && *mix != NULL && o->config == NULL)
		code = name_mix(*out, *mix, f);
	else if (code == FAIL_NONE && *mix == NULL && (*out)->mix.name == NULL) {
		code = find_mix(*out, f);
		if (o->config != NULL && (code == FAIL_CONFIG || code == FAIL_USAGE))
			fail_within(f, "%s has no mix section", o->config);
	}
	if (code == FAIL_NONE) {
		*mix = *mix == NULL ? (*out)->mix.name : *mix;
		return FAIL_NONE;
	}
	config_close(*out);
	*out = NULL;
	return code;
}

enum fail_code
options_config_of_mix(
    struct config **out, const char *mix, const struct options *o, struct failure *f)
{
	const char *name = mix;

	if (options_mix_config(out, &name, o, f) != FAIL_NONE)
		return f->code;
	if ((*out)->mix.name != NULL && strcmp((*out)->mix.name, name) == 0)
		return FAIL_NONE;
	if (name_mix(*out, name, f) == FAIL_NONE)
		return FAIL_NONE;
	config_close(*out);
	*out = NULL;
	return f->code;
}
