/* mix.weights, mix.phases, anneal_*: maps of weights, in the configuration or a file of JSON. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_memory.h"
#include "common/base/limits.h"
#include "common/base/nearest.h"
#include "common/base/scalar.h"
#include "common/config/config_internal.h"

/* ---- weights ---- */

/* A map of weights under way. */
struct weights {
	const struct config *c;
	const char *key;  /* its path in the configuration */
	const char *file; /* as configured; NULL: in the configuration itself */
	int line;         /* of the key */
	double *weight;   /* [domains_n] */
	struct failure *f;
};

/* weight[domains_n], all NAN. NULL: no memory. */
static double *
no_weights(const struct config *c)
{
	double *weight = malloc(c->domains_n * sizeof(*weight));

	assert(c->domains_n > 0);
	for (size_t i = 0; weight != NULL && i < c->domains_n; i++)
		weight[i] = NAN;
	return weight;
}

double
config_weights_sum(const struct config *c, const struct config_phase *phase)
{
	double sum = 0;

	assert(c->mix.weight != NULL);
	assert(phase == NULL || phase->weight != NULL);
	for (size_t d = 0; d < c->domains_n; d++)
		sum +=
		    phase == NULL || isnan(phase->weight[d]) ? c->mix.weight[d] : phase->weight[d];
	return sum;
}

bool
config_never_drawn(const struct config *c, size_t domain)
{
	assert(domain < c->domains_n);
	if (c->mix.name == NULL || c->mix.weight[domain] != 0) /* NAN: by size */
		return false;
	for (size_t i = 0; i < c->mix.phases_n; i++)
		if (c->mix.phases[i].weight[domain] > 0)
			return false;
	return true;
}

/* "run.yml:4: mix.weights.web: WHAT", or "run.yml:4: mix.weights: w.json: web: WHAT". */
static enum fail_code
fail_weight(const struct weights *w, int line, const char *name, const char *what)
{
	char key[CONFIG_PATH_MAX], shown[CONFIG_SHOWN_MAX];

	config_shown(shown, name);
	if (w->file != NULL)
		return config_fail(w->c, w->line, w->key, w->f, "%s: %s: %s", w->file, shown, what);
	snprintf(key, sizeof(key), "%s.%s", w->key, shown);
	return config_fail(w->c, line, key, w->f, "%s", what);
}

static enum fail_code
fail_value(
    const struct weights *w, int line, const char *name, const char *problem, const char *value)
{
	char what[2 * CONFIG_SHOWN_MAX], shown[CONFIG_SHOWN_MAX];

	snprintf(what, sizeof(what), problem, config_shown(shown, value));
	return fail_weight(w, line, name, what);
}

static enum fail_code
fail_no_domain(const struct weights *w, int line, const char *name)
{
	char what[4 * CONFIG_SHOWN_MAX], shown[CONFIG_SHOWN_MAX];
	struct nearest near;

	nearest_init(&near, name);
	for (size_t d = 0; d < w->c->domains_n; d++)
		nearest_offer(&near, w->c->domains[d].name);
	snprintf(what, sizeof(what), "a weight without a domain: `domains` has no %s%s%s%s",
	    config_shown(shown, name), near.best == NULL ? "" : "; did you mean ",
	    near.best == NULL ? "" : near.best, near.best == NULL ? "" : "?");
	return fail_weight(w, line, name, what);
}

/* `text` is the value as written. */
static enum fail_code
take(const struct weights *w, int line, const char *name, double value, const char *text)
{
	int domain = config_domain_index(w->c, name);

	if (domain < 0)
		return fail_no_domain(w, line, name);
	if (value < 0)
		return fail_value(w, line, name, "is negative: %s (at least 0)", text);
	w->weight[domain] = value;
	return FAIL_NONE;
}

static enum fail_code
read_map(const struct weights *w, const struct yaml_node *map)
{
	for (size_t i = 0; i < map->children_n; i++) {
		const struct yaml_node *node = &map->child[i];
		double value = 0;

		/* First the name: without a domain the value has no meaning. */
		if (config_domain_index(w->c, node->key) < 0)
			return fail_no_domain(w, node->line, node->key);
		if (node->kind != YAML_TEXT)
			return fail_weight(w, node->line, node->key,
			    "is a map or a list (must be a number, at least 0)");
		if (scalar_number(node->text, &value) != SCALAR_OK)
			return fail_value(w, node->line, node->key,
			    "not a finite number: %s (a number, at least 0)", node->text);
		if (take(w, node->line, node->key, value, node->text) != FAIL_NONE)
			return w->f->code;
	}
	return FAIL_NONE;
}

/*
 * A map from domain to weight into weight[domains_n], which is all NAN before: domains that the map
 * does not name stay so. `key` is its path.
 */
static enum fail_code
read_weight_map(const struct config *c, const struct yaml_node *map, const char *key,
    double *weight, struct failure *f)
{
	struct weights w = {c, key, NULL, map->line, weight, f};

	return read_map(&w, map);
}

/* ---- a file ---- */

/* https://github.com/sangmichaelxie/doremi, configs/ */
#define DOREMI_TRAIN "train_domain_weights"

/* What a parser of a file has read of it so far. */
struct source {
	FILE *file;
	size_t bytes;
	bool over;
};

static size_t
read_some(void *buffer, size_t room, void *opaque)
{
	struct source *s = opaque;
	size_t n = fread(buffer, 1, room, s->file);

	s->bytes += n;
	s->over = s->bytes > CONFIG_WEIGHTS_BYTES_MAX;
	return s->over || ferror(s->file) ? (size_t)-1 : n;
}

/* By errno. */
static enum fail_code
fail_file(const struct weights *w, const char *attempted, const char *path)
{
	return errno == ENOMEM ? fail_memory(w->f)
			       : config_fail(w->c, w->line, w->key, w->f, "%s %s: %s", attempted,
				     path, strerror(errno));
}

static enum fail_code
parse(const struct weights *w, json_t **out, FILE *file)
{
	struct source source = {.file = file};
	json_error_t why;

	errno = 0;
	*out = json_load_callback(
	    read_some, &source, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &why);
	/* For the parser both are the end of the file, which may come where a map is complete. */
	if (source.over)
		return config_fail(w->c, w->line, w->key, w->f, "%s: has more than %d bytes",
		    w->file, CONFIG_WEIGHTS_BYTES_MAX);
	if (ferror(file))
		return fail_file(w, "reading", w->file);
	if (*out != NULL)
		return FAIL_NONE;
	if (json_memory_refused())
		return fail_memory(w->f);
	return config_fail(
	    w->c, w->line, w->key, w->f, "%s:%d: not JSON: %s", w->file, why.line, why.text);
}

/*
 * A map from domain to weight; or DoReMi's form of it, which has such maps under two keys, for
 * training and for evaluation: that of training counts.
 */
static enum fail_code
take_json(const struct weights *w, json_t *map)
{
	const char *name;
	json_t *value, *train = json_object_get(map, DOREMI_TRAIN);

	if (json_is_object(train))
		map = train;
	if (!json_is_object(map))
		return config_fail(w->c, w->line, w->key, w->f,
		    "%s: is not a map from domain to number, {\"web\": 0.7, ...}", w->file);
	json_object_foreach(map, name, value)
	{
		char text[64];

		if (config_domain_index(w->c, name) < 0)
			return fail_no_domain(w, w->line, name);
		if (!json_is_number(value))
			return fail_weight(
			    w, w->line, name, "is not a number (a number, at least 0)");
		snprintf(text, sizeof(text), "%g", json_number_value(value));
		if (take(w, w->line, name, json_number_value(value), text) != FAIL_NONE)
			return w->f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
read_file(const struct weights *w)
{
	json_t *map = NULL;
	char *path;
	FILE *file;

	if (config_resolve(&path, w->c, w->file, w->f) != FAIL_NONE)
		return w->f->code;
	file = fopen(path, "rb");
	if (file == NULL)
		fail_file(w, "opening", path);
	free(path);
	if (file == NULL)
		return w->f->code;
	w->f->code = parse(w, &map, file);
	fclose(file);
	if (w->f->code == FAIL_NONE)
		w->f->code = take_json(w, map);
	json_decref(map);
	return w->f->code;
}

/* ---- mix.weights ---- */

/* Every domain has a weight, and one of them is positive. */
static enum fail_code
check_all(const struct weights *w)
{
	bool positive = false;

	for (size_t d = 0; d < w->c->domains_n; d++) {
		if (isnan(w->weight[d]))
			return config_fail(w->c, w->line, w->key, w->f,
			    "a domain without a weight: `domains` has %s (%s), %s%s%s has "
			    "not: add `%s%s%s: NUMBER`; 0 draws nothing of it",
			    w->c->domains[d].name, CONFIG_WHERE(w->c->domains[d].line),
			    w->file == NULL ? "`" : "", w->file == NULL ? w->key : w->file,
			    w->file == NULL ? "`" : "", w->file == NULL ? "" : "\"",
			    w->c->domains[d].name, w->file == NULL ? "" : "\"");
		positive = positive || w->weight[d] > 0;
	}
	if (positive)
		return FAIL_NONE;
	return config_fail(w->c, w->line, w->key, w->f, "%s%sall are 0 (at least one above 0)",
	    w->file == NULL ? "" : w->file, w->file == NULL ? "" : ": ");
}

static bool
ends_in_json(const char *text)
{
	size_t n = strlen(text), end_n = strlen(".json");

	return n > end_n && strcmp(text + n - end_n, ".json") == 0;
}

static enum fail_code
read_text(struct config *c, struct weights *w, const char *text)
{
	char shown[CONFIG_SHOWN_MAX];

	if (ends_in_json(text)) {
		w->file = text;
		return read_file(w) != FAIL_NONE ? w->f->code : check_all(w);
	}
	if (strcmp(text, "uniform") == 0) {
		c->mix.weights_kind = CONFIG_WEIGHTS_UNIFORM;
		for (size_t i = 0; i < c->domains_n; i++)
			c->mix.weight[i] = 1;
		return FAIL_NONE;
	}
	if (strcmp(text, "size") == 0) {
		c->mix.weights_kind = CONFIG_WEIGHTS_SIZE;
		return FAIL_NONE;
	}
	return config_fail(c, w->line, w->key, w->f,
	    "is %s (must be a map from domain to number, FILE.json with such a map, uniform, or "
	    "size)",
	    *text == '\0' ? "empty" : config_shown(shown, text));
}

enum fail_code
config_read_weights(struct config *c, const struct yaml_node *node, struct failure *f)
{
	struct weights w = {
	    c, "mix.weights", NULL, node == NULL ? 0 : node->line, no_weights(c), f};

	assert(c->mix.weight == NULL);
	c->mix.weight = w.weight;
	if (w.weight == NULL)
		return fail_memory(f);
	if (node == NULL) {
		c->mix.weights_kind = CONFIG_WEIGHTS_SIZE;
		return FAIL_NONE;
	}
	switch (node->kind) {
	case YAML_TEXT: return read_text(c, &w, node->text);
	case YAML_MAP: return read_map(&w, node) != FAIL_NONE ? f->code : check_all(&w);
	case YAML_LIST: break;
	}
	return config_fail(c, node->line, w.key, f,
	    "is a list (must be a map from domain to number, FILE.json with such a map, uniform, "
	    "or size)");
}

/* ---- phases, and anneal_start_step with anneal_weights, which stand for one ---- */

static const struct config_key *
row_of(const char *path)
{
	size_t i = 0;

	while (strcmp(config_keys[i].path, path) != 0) {
		i++;
		assert(i < config_keys_n);
	}
	return &config_keys[i];
}

enum fail_code
config_read_phase_map(const struct config *c, const struct yaml_node *node, const char *key,
    struct config_phase *phase, struct failure *f)
{
	if (config_need_map(c, node, key, f) != FAIL_NONE)
		return f->code;
	if (node->children_n == 0)
		return config_fail(c, node->line, key, f,
		    "is empty (leave it out where `mix.weights` is to hold again)");
	assert(phase->weight == NULL);
	phase->weight = no_weights(c);
	if (phase->weight == NULL)
		return fail_memory(f);
	return read_weight_map(c, node, key, phase->weight, f);
}

/* What all phases have, whichever way they are written. `key` is that of its weights. */
static enum fail_code
complete(
    const struct config *c, struct config_phase *p, int line, const char *key, struct failure *f)
{
	bool positive = false;

	assert(c->mix.weight != NULL);
	if (p->weight == NULL && (p->weight = no_weights(c)) == NULL)
		return fail_memory(f);
	for (size_t d = 0; d < c->domains_n; d++) {
		double base = c->mix.weight[d]; /* NAN: its size, which is more than nothing */

		positive = positive || (isnan(p->weight[d]) ? !(base <= 0) : p->weight[d] > 0);
	}
	if (positive)
		return FAIL_NONE;
	return config_fail(c, line, key, f,
	    "all are 0, with those of `mix.weights` for domains that are not named (at least one "
	    "above 0)");
}

static enum fail_code
set_name(struct config_phase *p, size_t number, struct failure *f)
{
	char name[32];

	if (p->name != NULL)
		return FAIL_NONE;
	snprintf(name, sizeof(name), "phase-%zu", number + 1);
	p->name = strdup(name);
	return p->name == NULL ? fail_memory(f) : FAIL_NONE;
}

/* A phase against those before it. */
static enum fail_code
check_order(const struct config *c, size_t i, const char shown[static 64],
    const struct yaml_node *node, struct failure *f)
{
	const struct config_phase *all = c->mix.phases;
	const struct yaml_node *step = yaml_node_get(node, "start_step");
	char key[CONFIG_PATH_MAX];

	assert(step != NULL); /* a required key */
	if (i > 0 && all[i].start_step <= all[i - 1].start_step) {
		snprintf(key, sizeof(key), "%sstart_step", shown);
		return config_fail(c, step->line, key, f,
		    "does not increase: %" PRIu64 " (above %" PRIu64 ", that of phase %s, %s)",
		    all[i].start_step, all[i - 1].start_step, all[i - 1].name,
		    CONFIG_WHERE(all[i - 1].line));
	}
	for (size_t k = 0; k < i; k++)
		if (strcmp(all[k].name, all[i].name) == 0) {
			snprintf(key, sizeof(key), "%sname", shown);
			return config_fail(c, all[i].line, key, f,
			    "is that of the phase in %s too: %s (names are distinct)",
			    CONFIG_WHERE(all[k].line), all[i].name);
		}
	return FAIL_NONE;
}

static enum fail_code
read_phase(struct config *c, const struct yaml_node *node, size_t i, struct failure *f)
{
	bool seen[CONFIG_KEYS_MAX] = {false};
	struct config_phase *p = &c->mix.phases[i];
	char shown[64], key[CONFIG_PATH_MAX];
	struct config_scope scope = {CONFIG_PHASE_PREFIX, shown, p, seen};
	const struct yaml_node *weights = yaml_node_get(node, "weights");

	p->line = node->line;
	snprintf(shown, sizeof(shown), "mix.phases[%zu]", i);
	if (config_need_map(c, node, shown, f) != FAIL_NONE)
		return f->code;
	strncat(shown, ".", sizeof(shown) - strlen(shown) - 1);
	snprintf(key, sizeof(key), "%sweights", shown);
	if (config_read_map(c, node, &scope, f) != FAIL_NONE || set_name(p, i, f) != FAIL_NONE ||
	    complete(c, p, weights == NULL ? p->line : weights->line, key, f) != FAIL_NONE)
		return f->code;
	return check_order(c, i, shown, node, f);
}

static enum fail_code
open_phases(struct config *c, size_t n, struct failure *f)
{
	assert(n >= 1);
	assert(c->mix.phases == NULL);
	c->mix.phases = calloc(n, sizeof(*c->mix.phases));
	if (c->mix.phases == NULL)
		return fail_memory(f);
	c->mix.phases_n = n;
	return FAIL_NONE;
}

static enum fail_code
read_list(struct config *c, const struct yaml_node *list, struct failure *f)
{
	static const char key[] = "mix.phases";

	if (list->kind != YAML_LIST)
		return config_fail(c, list->line, key, f,
		    "is %s (must be a list of maps, each with a start_step)",
		    list->kind == YAML_MAP ? "a map"
		    : *list->text == '\0'  ? "empty"
					   : "a text");
	if (list->children_n == 0)
		return config_fail(c, list->line, key, f,
		    "is an empty list (leave it out where there are no phases)");
	if (list->children_n > LIMIT_PHASES)
		return config_fail(c, list->line, key, f, "has %zu phases (at most %d)",
		    list->children_n, LIMIT_PHASES);
	if (open_phases(c, list->children_n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < list->children_n; i++)
		if (read_phase(c, &list->child[i], i, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
read_anneal(struct config *c, const struct yaml_node *step, const struct yaml_node *weights,
    struct failure *f)
{
	struct config_phase *p;

	if (open_phases(c, 1, f) != FAIL_NONE)
		return f->code;
	p = &c->mix.phases[0];
	p->line = step->line;
	p->lr_scale = 1;
	p->name = strdup("anneal");
	if (p->name == NULL)
		return fail_memory(f);
	if (config_value(c, row_of(CONFIG_PHASE_PREFIX "start_step"), step, "mix.anneal_start_step",
		p, f) != FAIL_NONE ||
	    config_read_phase_map(c, weights, "mix.anneal_weights", p, f) != FAIL_NONE)
		return f->code;
	return complete(c, p, weights->line, "mix.anneal_weights", f);
}

enum fail_code
config_read_phases(struct config *c, const struct yaml_node *mix, struct failure *f)
{
	const struct yaml_node *list = yaml_node_get(mix, "phases");
	const struct yaml_node *step = yaml_node_get(mix, "anneal_start_step");
	const struct yaml_node *weights = yaml_node_get(mix, "anneal_weights");
	const struct yaml_node *anneal = step != NULL ? step : weights;

	if (list == NULL && anneal == NULL)
		return FAIL_NONE;
	if (list != NULL && anneal != NULL)
		return config_fail(c, anneal->line,
		    anneal == step ? "mix.anneal_start_step" : "mix.anneal_weights", f,
		    "stands beside mix.phases (%s): write the change as one of the phases, or "
		    "leave these out",
		    CONFIG_WHERE(list->line));
	if (list != NULL)
		return read_list(c, list, f);
	if (weights == NULL)
		return config_fail(c, step->line, "mix.anneal_start_step", f,
		    "has no effect without mix.anneal_weights: the weights from that step on");
	if (step == NULL)
		return config_fail(c, weights->line, "mix.anneal_weights", f,
		    "has no effect without mix.anneal_start_step: the step from which they hold");
	return read_anneal(c, step, weights, f);
}
