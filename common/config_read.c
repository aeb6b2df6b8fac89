#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/config_parts.h"
#include "common/names.h"
#include "common/nearest.h"
#include "common/scalar.h"

enum { PATH_MAX_BYTES = 256 };

/* A map under way: where it stands in the table, in the file, and in memory. */
struct scope {
	const char *rows;  /* in front of its keys in the table: "", "mix.", "domains.NAME." */
	const char *shown; /* the same as errors show it: "domains.web." */
	void *base;        /* struct config or struct config_domain */
	bool *seen;        /* [config_keys_n], for the whole base */
};

static enum fail_code read_map(
    struct config *c, const struct yaml_node *map, const struct scope *scope, struct failure *f);

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The row of a key, or (NULL) whether it is a section: something of the table lies below. */
static const struct config_key *
find_row(const char *path, bool *section)
{
	size_t n = strlen(path);

	*section = false;
	for (size_t i = 0; i < config_keys_n; i++) {
		if (strcmp(config_keys[i].path, path) == 0)
			return &config_keys[i];
		*section = *section ||
			   (begins(config_keys[i].path, path) && config_keys[i].path[n] == '.');
	}
	return NULL;
}

/* Suggests the key of that very name in another section, or the nearest of this one. */
static enum fail_code
fail_unknown(const struct config *c, const struct yaml_node *node, const struct scope *scope,
    const char *key, struct failure *f)
{
	char known[CONFIG_KEYS_MAX][PATH_MAX_BYTES];
	const char *elsewhere = NULL;
	struct nearest near;

	nearest_init(&near, node->key);
	for (size_t i = 0; i < config_keys_n; i++) {
		const char *path = config_keys[i].path, *last = strrchr(path, '.');

		if (begins(path, scope->rows)) {
			const char *rest = path + strlen(scope->rows);

			snprintf(known[i], sizeof(known[i]), "%.*s", (int)strcspn(rest, "."), rest);
			nearest_offer(&near, known[i]);
		}
		if (strcmp(last == NULL ? path : last + 1, node->key) == 0)
			elsewhere = path;
	}
	if (elsewhere == NULL)
		elsewhere = near.best;
	if (elsewhere != NULL)
		return config_fail(
		    c, node->line, key, f, "unknown key; did you mean %s?", elsewhere);
	return config_fail(c, node->line, key, f, "unknown key (`riffle config --keys` lists all)");
}

static enum fail_code
need_map(const struct config *c, const struct yaml_node *node, const char *key, struct failure *f)
{
	if (node->kind == YAML_MAP)
		return FAIL_NONE;
	if (node->kind == YAML_TEXT && node->plain && *node->text == '\0')
		return config_fail(
		    c, node->line, key, f, "has no value (must be a map of keys and values)");
	return config_fail(c, node->line, key, f, "is a %s (must be a map of keys and values)",
	    node->kind == YAML_LIST ? "list" : "text");
}

/* Required keys that are not there, and the presets of the others, of rows under `scope->rows`. */
static enum fail_code
complete(const struct config *c, const struct scope *scope, int line, struct failure *f)
{
	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *k = &config_keys[i];
		char key[PATH_MAX_BYTES];

		if (scope->seen[i] || !begins(k->path, scope->rows))
			continue;
		snprintf(key, sizeof(key), "%s%s", scope->shown, k->path + strlen(scope->rows));
		if (k->required)
			return config_fail(c, line, key, f, "is missing (%s)", k->help);
		scope->seen[i] = true;
		if (k->preset != NULL && config_value_preset(c, k, scope->base, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
read_properties(struct config *c, const struct yaml_node *map, struct failure *f)
{
	char key[PATH_MAX_BYTES], shown[CONFIG_SHOWN_MAX];

	if (need_map(c, map, "kafka", f) != FAIL_NONE)
		return f->code;
	if (map->children_n > CONFIG_PROPERTIES_MAX)
		return config_fail(c, map->line, "kafka", f, "has %zu properties (at most %d)",
		    map->children_n, CONFIG_PROPERTIES_MAX);
	for (size_t i = 0; i < map->children_n; i++) {
		const struct yaml_node *node = &map->child[i];

		snprintf(key, sizeof(key), "kafka.%s", config_shown(shown, node->key));
		if (node->kind != YAML_TEXT)
			return config_fail(
			    c, node->line, key, f, "is a map or a list (must be one value)");
		if (node->plain && *node->text == '\0')
			return config_fail(c, node->line, key, f,
			    "has no value (a librdkafka property; \"\" is an empty one)");
		if (*node->key == '\0')
			return config_fail(c, node->line, "kafka", f, "a property has no name");
		if (config_set_property(c, node->key, node->text, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
read_domain(
    struct config *c, struct config_domain *d, const struct yaml_node *node, struct failure *f)
{
	bool seen[CONFIG_KEYS_MAX] = {false};
	char shown[PATH_MAX_BYTES], name[CONFIG_SHOWN_MAX];
	struct scope scope = {CONFIG_DOMAIN_PREFIX, shown, d, seen};

	snprintf(shown, sizeof(shown), "domains.%s", config_shown(name, node->key));
	if (!names_valid(node->key))
		return config_fail(c, node->line, shown, f,
		    "not a name of a domain (letters, digits, '.', '_', '-', at most %d, a letter "
		    "or digit first)",
		    NAME_MAX_BYTES);
	if (need_map(c, node, shown, f) != FAIL_NONE)
		return f->code;
	strncat(shown, ".", sizeof(shown) - strlen(shown) - 1);
	d->line = node->line;
	d->name = strdup(node->key);
	if (d->name == NULL)
		return fail_memory(f);
	if (read_map(c, node, &scope, f) != FAIL_NONE)
		return f->code;
	return complete(c, &scope, node->line, f);
}

static int
compare_domains(const void *a, const void *b)
{
	const struct config_domain *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static enum fail_code
read_domains(struct config *c, const struct yaml_node *map, struct failure *f)
{
	if (need_map(c, map, "domains", f) != FAIL_NONE)
		return f->code;
	if (map->children_n == 0)
		return config_fail(c, map->line, "domains", f, "is empty (at least one domain)");
	if (map->children_n > CONFIG_DOMAINS_MAX)
		return config_fail(c, map->line, "domains", f, "has %zu domains (at most %d)",
		    map->children_n, CONFIG_DOMAINS_MAX);
	c->domains = calloc(map->children_n, sizeof(*c->domains));
	if (c->domains == NULL)
		return fail_memory(f);
	c->domains_n = map->children_n;
	for (size_t i = 0; i < map->children_n; i++)
		if (read_domain(c, &c->domains[i], &map->child[i], f) != FAIL_NONE)
			return f->code;
	qsort(c->domains, c->domains_n, sizeof(*c->domains), compare_domains);
	return FAIL_NONE;
}

static enum fail_code
read_weight(struct config *c, const struct yaml_node *node, bool *seen, struct failure *f)
{
	char key[PATH_MAX_BYTES], shown[CONFIG_SHOWN_MAX];
	int i = config_domain_index(c, node->key);
	struct nearest near;

	snprintf(key, sizeof(key), "mix.weights.%s", config_shown(shown, node->key));
	if (i < 0) {
		nearest_init(&near, node->key);
		for (size_t d = 0; d < c->domains_n; d++)
			nearest_offer(&near, c->domains[d].name);
		return config_fail(c, node->line, key, f,
		    "a weight without a domain: `domains` has no %s%s%s%s", shown,
		    near.best == NULL ? "" : "; did you mean ", near.best == NULL ? "" : near.best,
		    near.best == NULL ? "" : "?");
	}
	if (node->kind != YAML_TEXT)
		return config_fail(
		    c, node->line, key, f, "is a map or a list (must be a number, at least 0)");
	if (scalar_number(node->text, &c->mix.weight[i]) != SCALAR_OK)
		return config_fail(c, node->line, key, f,
		    "not a finite number: %s (a number, at least 0)",
		    config_shown(shown, node->text));
	if (c->mix.weight[i] < 0)
		return config_fail(c, node->line, key, f, "is negative: %s (at least 0)",
		    config_shown(shown, node->text));
	seen[i] = true;
	return FAIL_NONE;
}

static enum fail_code
read_weights_map(struct config *c, const struct yaml_node *map, bool *seen, struct failure *f)
{
	bool positive = false;

	for (size_t i = 0; i < map->children_n; i++)
		if (read_weight(c, &map->child[i], seen, f) != FAIL_NONE)
			return f->code;
	for (size_t d = 0; d < c->domains_n; d++) {
		if (!seen[d])
			return config_fail(c, map->line, "mix.weights", f,
			    "a domain without a weight: `domains` has %s (line %d), `mix.weights` "
			    "has not; 0 leaves it out of the mix",
			    c->domains[d].name, c->domains[d].line);
		positive = positive || c->mix.weight[d] > 0;
	}
	if (!positive)
		return config_fail(
		    c, map->line, "mix.weights", f, "all are 0 (at least one above 0)");
	return FAIL_NONE;
}

static enum fail_code
read_weights(struct config *c, const struct yaml_node *node, struct failure *f)
{
	bool *seen;
	char shown[CONFIG_SHOWN_MAX];
	enum fail_code code;

	c->mix.weight = calloc(c->domains_n, sizeof(*c->mix.weight));
	if (c->mix.weight == NULL)
		return fail_memory(f);
	if (node->kind == YAML_TEXT && strcmp(node->text, "uniform") == 0) {
		c->mix.weights_kind = CONFIG_WEIGHTS_UNIFORM;
		for (size_t i = 0; i < c->domains_n; i++)
			c->mix.weight[i] = 1;
		return FAIL_NONE;
	}
	if (node->kind != YAML_MAP)
		return config_fail(c, node->line, "mix.weights", f,
		    "is %s%s (must be a map from domain to number, or uniform)",
		    node->kind == YAML_LIST ? "a list" : "",
		    node->kind == YAML_LIST ? ""
		    : *node->text == '\0'   ? "empty"
					    : config_shown(shown, node->text));
	seen = calloc(c->domains_n, sizeof(*seen));
	if (seen == NULL)
		return fail_memory(f);
	code = read_weights_map(c, node, seen, f);
	free(seen);
	return code;
}

static enum fail_code
read_key(struct config *c, const struct config_key *row, const struct yaml_node *node,
    const struct scope *scope, const char *key, struct failure *f)
{
	scope->seen[row - config_keys] = true;
	if (row->kind == CONFIG_PROPERTIES)
		return read_properties(c, node, f);
	/* Domains are read before, weights after all the rest: weights need the domains sorted. */
	if (row->kind == CONFIG_DOMAINS || row->kind == CONFIG_WEIGHTS)
		return FAIL_NONE;
	return config_value(c, row, node, key, scope->base, f);
}

/* As deep as the table's paths. */
static enum fail_code
read_map(
    struct config *c, const struct yaml_node *map, const struct scope *scope, struct failure *f)
{
	for (size_t i = 0; i < map->children_n; i++) {
		const struct yaml_node *node = &map->child[i];
		char path[PATH_MAX_BYTES], key[PATH_MAX_BYTES], name[CONFIG_SHOWN_MAX];
		const struct config_key *row = NULL;
		struct scope inner = *scope;
		bool section = false;

		snprintf(path, sizeof(path), "%s%s", scope->rows, node->key);
		snprintf(key, sizeof(key), "%s%s", scope->shown, config_shown(name, node->key));
		/* "mix.lanes" as one key is none, though it reads like a path of the table. */
		if (strchr(node->key, '.') == NULL && *node->key != '\0')
			row = find_row(path, &section);
		if (row == NULL && !section)
			return fail_unknown(c, node, scope, key, f);
		if (row != NULL) {
			if (read_key(c, row, node, scope, key, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		if (need_map(c, node, key, f) != FAIL_NONE)
			return f->code;
		strncat(path, ".", sizeof(path) - strlen(path) - 1);
		strncat(key, ".", sizeof(key) - strlen(key) - 1);
		inner.rows = path;
		inner.shown = key;
		if (read_map(c, node, &inner, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Rows of domains are complete with each domain; those of a mix that is not there stay empty. */
static void
pass_over(bool *seen, bool mix)
{
	for (size_t i = 0; i < config_keys_n; i++)
		if (begins(config_keys[i].path, CONFIG_DOMAIN_PREFIX) ||
		    (!mix && begins(config_keys[i].path, "mix.")))
			seen[i] = true;
}

enum fail_code
config_read(struct config *c, const struct yaml_tree *t, struct failure *f)
{
	bool seen[CONFIG_KEYS_MAX] = {false};
	const struct yaml_node *root = yaml_tree_root(t), *mix, *domains;
	struct scope scope = {"", "", c, seen};

	if (root->kind != YAML_MAP)
		return fail(
		    f, FAIL_CONFIG, "%s:%d: is not a map of keys and values", c->path, root->line);
	mix = yaml_node_get(root, "mix");
	domains = yaml_node_get(root, "domains");
	if (domains != NULL && read_domains(c, domains, f) != FAIL_NONE)
		return f->code;
	if (read_map(c, root, &scope, f) != FAIL_NONE)
		return f->code;
	pass_over(seen, mix != NULL);
	if (mix != NULL) {
		struct scope inner = {"mix.", "mix.", c, seen};

		if (complete(c, &inner, mix->line, f) != FAIL_NONE)
			return f->code;
	}
	if (complete(c, &scope, root->line, f) != FAIL_NONE)
		return f->code;
	return mix == NULL ? FAIL_NONE : read_weights(c, yaml_node_get(mix, "weights"), f);
}
