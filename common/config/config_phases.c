/* mix.phases, and mix.anneal_start_step with mix.anneal_weights, which stand for one phase. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/config/config_parts.h"

static const struct config_key *
row_of(const char *path)
{
	size_t i = 0;

	while (strcmp(config_keys[i].path, path) != 0)
		i++;
	assert(i < config_keys_n);
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
	phase->weight = config_no_weights(c);
	if (phase->weight == NULL)
		return fail_memory(f);
	return config_read_weight_map(c, node, key, phase->weight, f);
}

/* What all phases have, whichever way they are written. `key` is that of its weights. */
static enum fail_code
complete(
    const struct config *c, struct config_phase *p, int line, const char *key, struct failure *f)
{
	bool positive = false;

	if (p->weight == NULL && (p->weight = config_no_weights(c)) == NULL)
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

	if (i > 0 && all[i].start_step <= all[i - 1].start_step) {
		snprintf(key, sizeof(key), "%sstart_step", shown);
		return config_fail(c, step->line, key, f,
		    "does not increase: %" PRIu64 " (above %" PRIu64 ", that of phase %s, line %d)",
		    all[i].start_step, all[i - 1].start_step, all[i - 1].name, all[i - 1].line);
	}
	for (size_t k = 0; k < i; k++)
		if (strcmp(all[k].name, all[i].name) == 0) {
			snprintf(key, sizeof(key), "%sname", shown);
			return config_fail(c, all[i].line, key, f,
			    "is that of the phase in line %d too: %s (names are distinct)",
			    all[k].line, all[i].name);
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
		    "stands beside mix.phases (line %d): write the change as one of the phases, or "
		    "leave these out",
		    list->line);
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
