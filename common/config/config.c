#include "common/config/config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/base/nearest.h"
#include "common/base/scalar.h"
#include "common/config/config_internal.h"

/* ---- maps of the file, by the table ---- */

static enum fail_code read_map(struct config *c, const struct yaml_node *map,
    const struct config_scope *scope, struct failure *f);

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The row of a key, or (NULL) whether it is a section: something of the table lies below. */
static const struct config_key *
find_row(const char *path, bool *section)
{
	const struct config_key *found = NULL;
	size_t n = strlen(path);

	*section = false;
	for (size_t i = 0; i < config_keys_n; i++) {
		if (strcmp(config_keys[i].path, path) == 0)
			found = &config_keys[i];
		*section = *section ||
			   (begins(config_keys[i].path, path) && config_keys[i].path[n] == '.');
	}
	return found;
}

const char *
config_find_key(const char *name)
{
	for (size_t i = 0; i < config_keys_n; i++) {
		const char *path = config_keys[i].path, *last = strrchr(path, '.');

		if (strcmp(last == NULL ? path : last + 1, name) == 0)
			return path;
	}
	return NULL;
}

/* Suggests the key of that very name in another section, or the nearest of this one. */
static enum fail_code
fail_unknown(const struct config *c, const struct yaml_node *node, const struct config_scope *scope,
    const char *key, struct failure *f)
{
	char known[CONFIG_KEYS_MAX][CONFIG_PATH_MAX];
	const char *elsewhere = config_find_key(node->key);
	struct nearest near;

	nearest_init(&near, node->key);
	for (size_t i = 0; i < config_keys_n; i++) {
		const char *path = config_keys[i].path;

		if (begins(path, scope->rows)) {
			const char *rest = path + strlen(scope->rows);

			snprintf(
			    known[i], sizeof(known[i]), "%.*s", (int)strcspn(rest, ".["), rest);
			nearest_offer(&near, known[i]);
		}
	}
	if (elsewhere != NULL && strchr(elsewhere, '.') == NULL)
		return config_fail(c, node->line, key, f,
		    "unknown key; did you mean %s, at the top level?", elsewhere);
	if (elsewhere == NULL)
		elsewhere = near.best;
	if (elsewhere != NULL)
		return config_fail(
		    c, node->line, key, f, "unknown key; did you mean %s?", elsewhere);
	return config_fail(c, node->line, key, f, "unknown key (`riffle config --keys` lists all)");
}

enum fail_code
config_need_map(
    const struct config *c, const struct yaml_node *node, const char *key, struct failure *f)
{
	if (node->kind == YAML_MAP)
		return FAIL_NONE;
	if (node->kind == YAML_TEXT && node->plain && *node->text == '\0')
		return config_fail(
		    c, node->line, key, f, "has no value (must be a map of keys and values)");
	return config_fail(c, node->line, key, f, "is a %s (must be a map of keys and values)",
	    node->kind == YAML_LIST ? "list" : "text");
}

/* Required keys that are not there, and the defaults of the others, of rows under `scope->rows`. */
static enum fail_code
complete(const struct config *c, const struct config_scope *scope, int line, struct failure *f)
{
	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *k = &config_keys[i];
		char key[CONFIG_PATH_MAX];

		if (scope->seen[i] || !begins(k->path, scope->rows))
			continue;
		snprintf(key, sizeof(key), "%s%s", scope->shown, k->path + strlen(scope->rows));
		if (k->required)
			return config_fail(c, line, key, f, "is missing (%s)", k->help);
		scope->seen[i] = true;
		/* That of mix.weights needs all domains: config_read_weights() sets it. */
		if (k->default_text != NULL && k->kind != CONFIG_WEIGHTS &&
		    config_value_default(c, k, scope->base, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* sasl.password: {file: secret.txt}, or {env: NAME}. */
static enum fail_code
read_property_from(
    struct config *c, const struct yaml_node *node, const char *key, struct failure *f)
{
	const struct yaml_node *from = node->child;
	struct failure why;
	char *path = NULL;
	enum fail_code code = FAIL_NONE;

	if (node->kind != YAML_MAP || node->children_n != 1 || from->kind != YAML_TEXT ||
	    (strcmp(from->key, "file") != 0 && strcmp(from->key, "env") != 0) ||
	    *from->text == '\0')
		return config_fail(c, node->line, key, f,
		    "is a map or a list (must be one value, or {file: PATH}, or {env: NAME})");
	if (strcmp(from->key, "file") == 0)
		code = config_resolve(&path, c, from->text, f);
	if (code == FAIL_NONE && properties_set_from(&c->kafka, node->key, from->key,
				     path == NULL ? from->text : path, &why) != FAIL_NONE)
		code = why.code == FAIL_MEMORY ? fail_memory(f)
					       : config_fail(c, node->line, key, f, "%s", why.text);
	free(path);
	return code;
}

static enum fail_code
read_properties(struct config *c, const struct yaml_node *map, struct failure *f)
{
	char key[CONFIG_PATH_MAX], shown[CONFIG_SHOWN_MAX];

	if (config_need_map(c, map, "kafka", f) != FAIL_NONE)
		return f->code;
	if (map->children_n > PROPERTIES_MAX)
		return config_fail(c, map->line, "kafka", f, "has %zu properties (at most %d)",
		    map->children_n, PROPERTIES_MAX);
	for (size_t i = 0; i < map->children_n; i++) {
		const struct yaml_node *node = &map->child[i];

		if (*node->key == '\0')
			return config_fail(c, node->line, "kafka", f, "a property has no name");
		snprintf(key, sizeof(key), "kafka.%s", config_shown(shown, node->key));
		if (node->kind == YAML_TEXT && node->plain && *node->text == '\0')
			return config_fail(c, node->line, key, f,
			    "has no value (a librdkafka property; \"\" is an empty one)");
		if ((node->kind == YAML_TEXT ? properties_set(&c->kafka, node->key, node->text, f)
					     : read_property_from(c, node, key, f)) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

enum fail_code
config_read_map(struct config *c, const struct yaml_node *map, const struct config_scope *scope,
    struct failure *f)
{
	assert(map->kind == YAML_MAP);
	if (read_map(c, map, scope, f) != FAIL_NONE)
		return f->code;
	return complete(c, scope, map->line, f);
}

enum fail_code
config_read_domain(
    struct config *c, const struct yaml_node *node, struct config_domain *d, struct failure *f)
{
	bool seen[CONFIG_KEYS_MAX] = {false};
	char shown[CONFIG_PATH_MAX], name[CONFIG_SHOWN_MAX];
	struct config_scope scope = {CONFIG_DOMAIN_PREFIX, shown, d, seen};

	assert(d->name == NULL);
	snprintf(shown, sizeof(shown), "domains.%s", config_shown(name, node->key));
	if (!names_valid(node->key))
		return config_fail(c, node->line, shown, f,
		    "not a name of a domain (letters, digits, '.', '_', '-', at most %d, a letter "
		    "or digit first)",
		    NAME_MAX_BYTES);
	if (config_need_map(c, node, shown, f) != FAIL_NONE)
		return f->code;
	strncat(shown, ".", sizeof(shown) - strlen(shown) - 1);
	d->line = node->line;
	d->name = strdup(node->key);
	if (d->name == NULL)
		return fail_memory(f);
	return config_read_map(c, node, &scope, f);
}

static int
compare_domains(const void *a, const void *b)
{
	const struct config_domain *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void
config_sort_domains(struct config *c)
{
	if (c->domains_n > 0)
		qsort(c->domains, c->domains_n, sizeof(*c->domains), compare_domains);
}

static enum fail_code
read_domains(struct config *c, const struct yaml_node *map, struct failure *f)
{
	if (config_need_map(c, map, "domains", f) != FAIL_NONE)
		return f->code;
	if (map->children_n == 0)
		return config_fail(c, map->line, "domains", f, "is empty (at least one domain)");
	if (map->children_n > LIMIT_DOMAINS)
		return config_fail(c, map->line, "domains", f, "has %zu domains (at most %d)",
		    map->children_n, LIMIT_DOMAINS);
	c->domains = calloc(map->children_n, sizeof(*c->domains));
	if (c->domains == NULL)
		return fail_memory(f);
	c->domains_n = map->children_n;
	for (size_t i = 0; i < map->children_n; i++)
		if (config_read_domain(c, &map->child[i], &c->domains[i], f) != FAIL_NONE)
			return f->code;
	config_sort_domains(c);
	return FAIL_NONE;
}

static enum fail_code
read_key(struct config *c, const struct config_key *row, const struct yaml_node *node,
    const struct config_scope *scope, const char *key, struct failure *f)
{
	struct config_mix *mix = &c->mix;

	assert((size_t)(row - config_keys) < config_keys_n);
	scope->seen[row - config_keys] = true;
	switch (row->kind) {
	case CONFIG_PROPERTIES: return read_properties(c, node, f);
	/* Domains are read before, these after all the rest: they need the domains sorted. */
	case CONFIG_DOMAINS:
	case CONFIG_WEIGHTS:
	case CONFIG_PHASES:
	case CONFIG_ANNEAL_STEP:
	case CONFIG_ANNEAL_MAP: return FAIL_NONE;
	case CONFIG_PHASE_MAP: return config_read_phase_map(c, node, key, scope->base, f);
	case CONFIG_ROUND:
		mix->epoch_largest = node->kind == YAML_TEXT && strcmp(node->text, "largest") == 0;
		if (mix->epoch_largest)
			return FAIL_NONE;
		return config_value(c, row, node, key, scope->base, f);
	case CONFIG_TEXT:
	case CONFIG_NAME:
	case CONFIG_COUNT32:
	case CONFIG_COUNT:
	case CONFIG_SIZE:
	case CONFIG_POSITIVE:
	case CONFIG_NUMBER:
	case CONFIG_BOOL:
	case CONFIG_CHOICE:
	case CONFIG_LIST:
	case CONFIG_RUNS:
	case CONFIG_FIELDS:
	case CONFIG_SPLIT:
	case CONFIG_FOLDER: break;
	}
	return config_value(c, row, node, key, scope->base, f);
}

/* As deep as the table's paths. */
static enum fail_code
read_map(struct config *c, const struct yaml_node *map, const struct config_scope *scope,
    struct failure *f)
{
	for (size_t i = 0; i < map->children_n; i++) {
		const struct yaml_node *node = &map->child[i];
		char path[CONFIG_PATH_MAX], key[CONFIG_PATH_MAX], name[CONFIG_SHOWN_MAX];
		const struct config_key *row = NULL;
		struct config_scope inner = *scope;
		bool section = false;

		snprintf(path, sizeof(path), "%s%s", scope->rows, node->key);
		snprintf(key, sizeof(key), "%s%s", scope->shown, config_shown(name, node->key));
		/* "mix.lanes" as one key is none, though it reads like a path of the table; nor is
		 * "phases[]". */
		if (strpbrk(node->key, ".[") == NULL && *node->key != '\0')
			row = find_row(path, &section);
		if (row == NULL && !section)
			return fail_unknown(c, node, scope, key, f);
		/* `valid: [FILES]`, or `valid: {exec: COMMAND}`. */
		if (row != NULL &&
		    (row->kind != CONFIG_LIST || !section || node->kind != YAML_MAP)) {
			if (read_key(c, row, node, scope, key, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		if (config_need_map(c, node, key, f) != FAIL_NONE)
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

/*
 * Rows of domains and phases are complete with each; those of a mix that is not there stay empty.
 */
static void
pass_over(bool *seen, bool mix)
{
	for (size_t i = 0; i < config_keys_n; i++)
		if (begins(config_keys[i].path, CONFIG_DOMAIN_PREFIX) ||
		    begins(config_keys[i].path, CONFIG_PHASE_PREFIX) ||
		    (!mix && begins(config_keys[i].path, "mix.")))
			seen[i] = true;
}

/* After the map of domains and the rest: those of the folder, and what needs them all sorted. */
static enum fail_code
read_with_domains(
    struct config *c, const struct yaml_node *root, const struct yaml_node *mix, struct failure *f)
{
	if (c->domains_from != NULL && config_read_folders(c, root, f) != FAIL_NONE)
		return f->code;
	if (mix == NULL)
		return FAIL_NONE;
	if (config_read_weights(c, yaml_node_get(mix, "weights"), f) != FAIL_NONE)
		return f->code;
	return config_read_phases(c, mix, f);
}

/* Fills a zeroed *c, but for its path, from a tree; the caller ends it whatever the result. */
static enum fail_code
read_tree(struct config *c, const struct yaml_tree *t, struct failure *f)
{
	bool seen[CONFIG_KEYS_MAX] = {false};
	const struct yaml_node *root = yaml_tree_root(t), *mix, *domains;
	struct config_scope scope = {"", "", c, seen};
	bool section;

	assert(config_keys_n <= CONFIG_KEYS_MAX);
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
		struct config_scope inner = {"mix.", "mix.", c, seen};

		if (complete(c, &inner, mix->line, f) != FAIL_NONE)
			return f->code;
	}
	if (complete(c, &scope, root->line, f) != FAIL_NONE)
		return f->code;
	if (c->domains == NULL && c->domains_from == NULL)
		return config_fail(c, root->line, "domains", f, "is missing (%s)",
		    find_row("domains", &section)->help);
	return read_with_domains(c, root, mix, f);
}

/* ---- opening and closing ---- */

static enum fail_code
set_bootstrap(struct config *c, struct failure *f)
{
	const char *bootstrap = getenv("RIFFLE_BOOTSTRAP");

	if (bootstrap == NULL || *bootstrap == '\0')
		return FAIL_NONE;
	return properties_set(&c->kafka, "bootstrap.servers", bootstrap, f);
}

enum {
	LANE_BYTES = 128 << 10, /* of a transaction: its marker in each lane costs a write, too */
	TRANSACTION_BYTES_LEAST = 16 << 20,
	TRANSACTION_MEMORY_PART = 4,
	TRANSACTION_FIRST_MS = 200,
	TRANSACTION_LANE_MS = 2,
	TRANSACTION_MS_MOST = 5000, /* far from TRANSACTIONS_ABORT_MS, beside what a commit takes */
};

/* What was left to be computed from other keys. */
static void
settle_partitions(struct config_mix *m)
{
	if (m->partitions == 0 && m->batches == MIX_BATCHES_COPIED)
		m->partitions = m->lanes;
}

static void
settle_shuffle(struct config *c)
{
	for (size_t i = 0; i < c->domains_n; i++)
		if ((int)c->domains[i].shuffle == CONFIG_SHUFFLE_MIX)
			c->domains[i].shuffle = c->mix.shuffle;
}

static void
settle_transactions(struct config_mix *m)
{
	uint64_t bytes = (uint64_t)LANE_BYTES * m->partitions;
	uint32_t most_ms = TRANSACTION_FIRST_MS + TRANSACTION_LANE_MS * m->partitions;

	if (bytes > m->memory_bytes / TRANSACTION_MEMORY_PART)
		bytes = m->memory_bytes / TRANSACTION_MEMORY_PART;
	if (bytes < TRANSACTION_BYTES_LEAST)
		bytes = TRANSACTION_BYTES_LEAST;
	if (m->transaction_bytes == 0)
		m->transaction_bytes = bytes;
	m->transaction_first_ms = m->transaction_ms;
	if (m->transaction_ms > 0)
		return;
	m->transaction_first_ms = TRANSACTION_FIRST_MS;
	m->transaction_ms = most_ms < TRANSACTION_MS_MOST ? most_ms : TRANSACTION_MS_MOST;
}

/* What config.h promises of every configuration, whatever the file says. */
static void
assert_invariants(const struct config *c)
{
	const struct config_mix *m = &c->mix;

	assert(c->domains_n >= 1);
	assert(c->domains_n <= LIMIT_DOMAINS);
	for (size_t i = 1; i < c->domains_n; i++)
		assert(strcmp(c->domains[i - 1].name, c->domains[i].name) < 0);
	if (m->name == NULL)
		return;
	assert(m->weight != NULL);
	assert(m->global_batch % m->lanes == 0);
	for (size_t i = 0; i < m->phases_n; i++)
		assert(m->phases[i].global_batch % m->lanes == 0);
	assert((m->partitions == 0) == (m->batches == MIX_BATCHES_DERIVED));
	assert(m->partitions <= m->lanes);
	assert(m->transaction_bytes > 0);
	assert(m->transaction_first_ms > 0);
	assert(m->transaction_first_ms <= m->transaction_ms);
	for (size_t i = 1; i < m->phases_n; i++)
		assert(m->phases[i - 1].start_step < m->phases[i].start_step);
}

const struct config_list *
config_set_files(const struct config_domain *d, enum names_set set)
{
	const struct config_list *const files[SETS_COUNT] = {&d->train, &d->valid, &d->test};

	assert(set <= SET_TEST);
	return files[set];
}

const char *
config_set_exec(const struct config_domain *d, enum names_set set)
{
	const char *const exec[SETS_COUNT] = {d->exec, d->valid_exec, d->test_exec};

	assert(set <= SET_TEST);
	return exec[set];
}

bool
config_set_has_input(const struct config_domain *d, enum names_set set)
{
	return config_set_files(d, set)->n > 0 || config_set_exec(d, set) != NULL;
}

bool
config_is_split(const struct config_domain *d)
{
	return !config_set_has_input(d, SET_VALID) && !config_set_has_input(d, SET_TEST);
}

bool
config_is_prompts(const struct config_domain *d)
{
	return d->prompt != NULL && d->response == NULL;
}

bool
config_has_files(const struct config_domain *d)
{
	return d->train.n > 0 || d->valid.n > 0 || d->test.n > 0;
}

bool
config_has_program(const struct config_domain *d)
{
	return d->exec != NULL || d->valid_exec != NULL || d->test_exec != NULL;
}

uint32_t
config_split_piece(const struct config *c, const struct config_domain *d)
{
	int sets = (c->split[0] > 0) + (c->split[1] > 0) + (c->split[2] > 0);
	bool divides = c->split_unit == CONFIG_SPLIT_TOKENS && sets > 1 && config_is_split(d) &&
		       d->packing == SEQUENCE_CONCAT;

	return divides ? c->split_piece : 0;
}

uint32_t
config_global_batch_most(const struct config *c)
{
	uint32_t most = c->mix.global_batch;

	for (size_t i = 0; i < c->mix.phases_n; i++)
		if (c->mix.phases[i].global_batch > most)
			most = c->mix.phases[i].global_batch;
	return most;
}

/* Whether the keys of the map at `path` are names that may hold dots, and values lie below them. */
static bool
names_below(const char *path)
{
	return strcmp(path, "mix.weights") == 0 || strcmp(path, "mix.anneal_weights") == 0 ||
	       (begins(path, "mix.phases[") && strcmp(strrchr(path, '.'), ".weights") == 0);
}

static enum fail_code
set_keys(struct yaml_tree *t, const char *const *set, size_t set_n, struct failure *f)
{
	for (size_t i = 0; i < set_n; i++) {
		if (begins(set[i], "kafka=") || begins(set[i], "kafka."))
			return fail(f, FAIL_CONFIG,
			    "-s kafka: properties are set one by one: -s kafka.NAME=VALUE");
		if (yaml_tree_set(t, set[i], names_below, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* For config_is_set(), and what the tree no longer has once it is set. */
static enum fail_code
keep_set(struct config *c, const struct yaml_tree *t, const char *const *set, size_t set_n,
    struct failure *f)
{
	const struct yaml_node *mix = yaml_node_get(yaml_tree_root(t), "mix");
	const struct yaml_node *name = yaml_node_get(mix, "name");

	if (name != NULL && name->kind == YAML_TEXT && (c->file_mix = strdup(name->text)) == NULL)
		return fail_memory(f);
	c->set.text = calloc(set_n + 1, sizeof(*c->set.text));
	if (c->set.text == NULL)
		return fail_memory(f);
	for (; c->set.n < set_n; c->set.n++) {
		c->set.text[c->set.n] = strdup(set[c->set.n]);
		if (c->set.text[c->set.n] == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

enum fail_code
config_open(struct config **out, const char *path, struct failure *f)
{
	return config_open_with(out, path, NULL, 0, f);
}

enum fail_code
config_open_with(
    struct config **out, const char *path, const char *const *set, size_t set_n, struct failure *f)
{
	struct yaml_tree *t = NULL;
	struct config *c = NULL;

	*out = NULL;
	if (yaml_tree_open(&t, path, f) != FAIL_NONE)
		goto failed;
	c = calloc(1, sizeof(*c));
	if (c == NULL || (c->path = strdup(path)) == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (keep_set(c, t, set, set_n, f) != FAIL_NONE || set_keys(t, set, set_n, f) != FAIL_NONE ||
	    read_tree(c, t, f) != FAIL_NONE)
		goto failed;
	settle_partitions(&c->mix);
	settle_shuffle(c);
	if (config_check(c, yaml_tree_root(t), f) != FAIL_NONE || set_bootstrap(c, f) != FAIL_NONE)
		goto failed;
	settle_transactions(&c->mix);
	assert_invariants(c);
	yaml_tree_close(t);
	*out = c;
	return FAIL_NONE;
failed:
	config_close(c);
	yaml_tree_close(t);
	return f->code;
}

static void
list_clear(struct config_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->text[i]);
	free(l->text);
}

static void
domain_clear(struct config_domain *d)
{
	free(d->name);
	list_clear(&d->train);
	list_clear(&d->valid);
	list_clear(&d->test);
	free(d->exec);
	free(d->valid_exec);
	free(d->test_exec);
	free(d->exec_name);
	free(d->text);
	free(d->where_field);
	free(d->where_equals);
	free(d->prompt);
	free(d->response);
	list_clear(&d->keep);
	list_clear(&d->left_out);
}

static void
mix_clear(struct config_mix *m)
{
	free(m->name);
	free(m->weight);
	list_clear(&m->runs);
	for (size_t i = 0; i < m->phases_n; i++) {
		free(m->phases[i].name);
		free(m->phases[i].weight);
	}
	free(m->phases);
}

void
config_close(struct config *c)
{
	if (c == NULL)
		return;
	free(c->path);
	free(c->corpus);
	free(c->tokenizer.file);
	free(c->tokenizer.pattern);
	free(c->tokenizer.eos);
	for (size_t i = 0; i < c->domains_n; i++)
		domain_clear(&c->domains[i]);
	free(c->domains);
	free(c->domains_from);
	mix_clear(&c->mix);
	properties_clear(&c->kafka);
	list_clear(&c->set);
	free(c->file_mix);
	free(c);
}

/* ---- queries of a configuration ---- */

bool
config_is_set(const struct config *c, const char *key)
{
	for (size_t i = 0; i < c->set.n; i++) {
		size_t n = strcspn(c->set.text[i], "=");

		if (strncmp(c->set.text[i], key, n) == 0 && (key[n] == '\0' || key[n] == '.'))
			return true;
	}
	return false;
}

enum fail_code
config_fail_domain(
    const struct config *c, const struct config_domain *d, const char *key, struct failure *f)
{
	char path[NAME_MAX_BYTES + 64];

	snprintf(path, sizeof(path), "domains.%s.%s", d->name, key);
	if (d->line == 0 || config_is_set(c, path))
		return fail_within(f, "-s %s", path);
	return fail_within(f, "%s:%d: %s", c->path, d->line, path);
}

enum fail_code
config_need_mix(const struct config *c, struct failure *f)
{
	if (c->mix.name != NULL)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "%s: mix: is missing (the section that says what is mixed, and how; see `riffle config "
	    "--keys`)",
	    c->path);
}

static int
compare_name(const void *name, const void *domain)
{
	return strcmp(name, ((const struct config_domain *)domain)->name);
}

int
config_domain_index(const struct config *c, const char *name)
{
	const struct config_domain *d;

	assert(name != NULL);
	if (c->domains_n == 0)
		return -1;
	d = bsearch(name, c->domains, c->domains_n, sizeof(*c->domains), compare_name);
	return d == NULL ? -1 : (int)(d - c->domains);
}

enum fail_code
config_find_domain(size_t *index, const struct config *c, const char *name, struct failure *f)
{
	int found = config_domain_index(c, name);
	struct nearest near;

	if (found >= 0) {
		*index = (size_t)found;
		return FAIL_NONE;
	}
	nearest_init(&near, name);
	for (size_t i = 0; i < c->domains_n; i++)
		nearest_list(&near, c->domains[i].name);
	fail(f, FAIL_USAGE, "the configuration %s has no domain %s", c->path, name);
	return nearest_fail_more(&near, "it has", f);
}

const char *
config_publisher(const struct config *c, const char *name)
{
	int i = config_domain_index(c, name);

	return i >= 0 && c->domains[i].tokens != TOKEN_FORMAT_NONE ? "import" : "produce";
}

int
config_property_line(const struct config *c, const char *name)
{
	const struct yaml_node *node;
	struct yaml_tree *t = NULL;
	struct failure f;
	int line = 0;

	if (c->path == NULL || yaml_tree_open(&t, c->path, &f) != FAIL_NONE)
		return 0;
	node = yaml_node_get(yaml_node_get(yaml_tree_root(t), "kafka"), name);
	if (node != NULL)
		line = node->line;
	yaml_tree_close(t);
	return line;
}

enum fail_code
config_resolve(char **out, const struct config *c, const char *path, struct failure *f)
{
	const char *slash = strrchr(c->path, '/');
	size_t folder_n = *path == '/' || slash == NULL ? 0 : (size_t)(slash - c->path) + 1;
	size_t path_n = strlen(path) + 1;

	*out = malloc(folder_n + path_n);
	if (*out == NULL)
		return fail_memory(f);
	memcpy(*out, c->path, folder_n);
	memcpy(*out + folder_n, path, path_n);
	return FAIL_NONE;
}
