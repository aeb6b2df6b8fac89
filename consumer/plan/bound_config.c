#include "consumer/plan/bound_config.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/json_memory.h"
#include "common/schedule/order.h"

enum { DIFFERENCES_MAX = 600 }; /* bytes of the sentence that lists them */

/* Of weights: whether they were written, or made of the domains' sizes. */
static const char written[] = "written", by_size[] = "size";

static json_t *
text_of(uint64_t value, const char *format)
{
	char text[32];

	snprintf(text, sizeof(text), format, value);
	return json_string(text);
}

static json_t *
fixed_part(const struct config *c, uint64_t tokenizer)
{
	const struct config_mix *m = &c->mix;
	int lost = 0;
	json_t *fixed =
	    json_pack("{s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:b, s:s, s:s, s:s, s:o, s:o}", "corpus",
		c->corpus, "seed", text_of(m->seed, "%" PRIu64), "sequence_length",
		(int)c->sequence_length, "global_batch", (int)m->global_batch, "lanes",
		(int)m->lanes, "block", (int)order_block_sequences(c->sequence_length), "window",
		(int)m->window, "permute", (int)m->permute, "lane_order",
		mix_lane_order_names[m->lane_order], "schedule", schedule_names[m->schedule],
		"weights_unit", mix_unit_names[m->weights_unit], "epoch_size",
		m->epoch_largest ? json_string("largest") : text_of(m->epoch_size, "%" PRIu64),
		"tokenizer", text_of(tokenizer, "%016" PRIx64));

	if (m->batches != MIX_BATCHES_COPIED)
		lost |= json_object_set_new(
		    fixed, "batches", json_string(mix_batches_names[m->batches]));
	else if (m->partitions < m->lanes)
		lost |= json_object_set_new(fixed, "partitions", json_integer(m->partitions));
	if (m->shuffle != MIX_SHUFFLE_BLOCK)
		lost |= json_object_set_new(
		    fixed, "shuffle", json_string(mix_shuffle_names[m->shuffle]));
	if (lost != 0) {
		json_decref(fixed);
		return NULL;
	}
	return fixed;
}

static json_t *
domain_part(const struct config *c, const struct config_domain *d, const struct mixer_source *s)
{
	json_t *part = json_pack("{s:f, s:s, s:o, s:b, s:s, s:f, s:s}", "weight", s->weight,
	    "on_end", mix_on_end_names[d->on_end], "max_epochs", text_of(d->max_epochs, "%" PRIu64),
	    "live", (int)d->live, "on_dry", mix_on_dry_names[d->on_dry], "catch_up", d->catch_up,
	    "packing", sequence_packing_names[d->packing]);

	if (d->shuffle != c->mix.shuffle &&
	    json_object_set_new(part, "shuffle", json_string(mix_shuffle_names[d->shuffle])) != 0) {
		json_decref(part);
		return NULL;
	}
	return part;
}

/* NULL: no memory. */
static json_t *
phase_part(const struct mixer_phase *p)
{
	json_t *weights = json_object(), *phase;
	int lost = 0;

	for (size_t i = 0; i < p->weights_n; i++)
		lost |= json_object_set_new(
		    weights, p->weight[i].domain, json_real(p->weight[i].weight));
	if (lost != 0) {
		json_decref(weights);
		return NULL;
	}
	phase = json_pack("{s:s, s:o, s:o, s:f, s:f}", "name", p->name, "start_step",
	    text_of(p->start_step, "%" PRIu64), "weights", weights, "temperature", p->temperature,
	    "lr_scale", p->lr_scale);
	/* As it was before a phase could have one, where it has none. */
	if (phase != NULL && p->global_batch > 0 &&
	    json_object_set_new(phase, "global_batch", json_integer(p->global_batch)) != 0) {
		json_decref(phase);
		return NULL;
	}
	return phase;
}

static json_t *
changeable_part(const struct config *c, const struct config_plan *p)
{
	json_t *domains = json_object(), *runs = json_array(), *phases = json_array();
	int lost = 0; /* of what finds no memory */

	for (size_t i = 0; i < c->domains_n; i++)
		lost |= json_object_set_new(
		    domains, c->domains[i].name, domain_part(c, &c->domains[i], &p->source[i]));
	for (size_t i = 0; i < c->mix.runs.n; i++)
		lost |= json_array_append_new(runs, json_string(c->mix.runs.text[i]));
	for (size_t i = 0; i < p->plan.phases_n; i++)
		lost |= json_array_append_new(phases, phase_part(&p->phase[i]));
	if (lost != 0) {
		json_decref(domains);
		json_decref(runs);
		json_decref(phases);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:o, s:s, s:f, s:i}", "domains", domains, "runs", runs,
	    "phases", phases, "weights",
	    c->mix.weights_kind == CONFIG_WEIGHTS_SIZE ? by_size : written, "temperature",
	    c->mix.temperature, "max_lead_steps", (int)c->mix.max_lead_steps);
}

enum fail_code
bound_config_text(char **out, const struct config *c, const struct config_plan *p,
    uint64_t tokenizer, struct failure *f)
{
	json_t *all = json_pack(
	    "{s:o, s:o}", "fixed", fixed_part(c, tokenizer), "changeable", changeable_part(c, p));

	*out = all == NULL
		   ? NULL
		   : json_memory_text(all, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(all);
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

/*
 * Gives *out (json_decref), an object with both parts in it. Not checked further: what is compared
 * or missing inside shows as a difference.
 */
static enum fail_code
parse(json_t **out, const char *text, struct failure *f)
{
	json_error_t why;

	errno = 0;
	*out = json_loads(text, 0, &why);
	if (*out == NULL && json_memory_refused())
		return fail_memory(f);
	if (*out == NULL)
		return fail(
		    f, FAIL_DATA, "the configuration in the ledger is not JSON: %s", why.text);
	if (!json_is_object(json_object_get(*out, "fixed")) ||
	    !json_is_object(json_object_get(*out, "changeable"))) {
		json_decref(*out);
		return fail(f, FAIL_DATA, "the configuration in the ledger lacks its parts");
	}
	return FAIL_NONE;
}

enum fail_code
bound_config_corpus(char **out, const char *text, struct failure *f)
{
	const char *corpus;
	json_t *all;

	if (parse(&all, text, f) != FAIL_NONE)
		return f->code;
	corpus = json_string_value(json_object_get(json_object_get(all, "fixed"), "corpus"));
	*out = corpus == NULL ? NULL : strdup(corpus);
	json_decref(all);
	if (corpus == NULL)
		return fail(f, FAIL_DATA, "the configuration in the ledger names no corpus");
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
bound_config_schedule(uint64_t *out, const char *text, struct failure *f)
{
	json_t *all;
	char *fixed;

	if (parse(&all, text, f) != FAIL_NONE)
		return f->code;
	fixed = json_memory_text(
	    json_object_get(all, "fixed"), JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(all);
	if (fixed == NULL)
		return fail_memory(f);
	*out = XXH64(fixed, strlen(fixed), 0);
	free(fixed);
	return FAIL_NONE;
}

enum fail_code
bound_config_keep_sizes(
    struct config_plan *p, const struct config *c, const char *text, struct failure *f)
{
	const char *kind;
	json_t *all, *changeable;

	if (parse(&all, text, f) != FAIL_NONE)
		return f->code;
	changeable = json_object_get(all, "changeable");
	kind = json_string_value(json_object_get(changeable, "weights"));
	for (size_t i = 0; i < c->domains_n; i++) {
		const json_t *weight = json_object_get(
		    json_object_get(json_object_get(changeable, "domains"), c->domains[i].name),
		    "weight");

		if (c->mix.weights_kind == CONFIG_WEIGHTS_SIZE && kind != NULL &&
		    strcmp(kind, by_size) == 0 && json_is_real(weight))
			p->source[i].weight = json_real_value(weight);
	}
	json_decref(all);
	return FAIL_NONE;
}

static const char domains_path[] = "mix.domains.", phases_path[] = "mix.phases.";

/* A whole domain or phase that comes or goes: its keys, most of them defaults, say nothing. */
static bool
add_whole_difference(char *list, const char *key, bool in_ledger)
{
	bool domain = strncmp(key, domains_path, sizeof(domains_path) - 1) == 0;
	bool phase = strncmp(key, phases_path, sizeof(phases_path) - 1) == 0;
	size_t used = strlen(list),
	       path = (domain ? sizeof(domains_path) : sizeof(phases_path)) - 1;

	if ((!domain && !phase) || strchr(key + path, '.') != NULL)
		return false;
	snprintf(list + used, DIFFERENCES_MAX - used, "%s%s %s: %s%s", used == 0 ? "" : "; ",
	    domain ? "domain" : "phase", key + path,
	    in_ledger ? "in the mix, and not in the file" : "in the file, and not in the mix",
	    !domain     ? ""
	    : in_ledger ? ": it leaves"
			: ": it joins");
	return true;
}

/*
 * Phases by their names, for comparing and naming their keys; a temperature of 0 is none. Gives the
 * object; NULL: they are not to be told apart by names.
 */
static json_t *
phases_by_name(const json_t *phases)
{
	json_t *by_name = json_object();

	for (size_t i = 0; by_name != NULL && i < json_array_size(phases); i++) {
		json_t *phase = json_copy(json_array_get(phases, i));
		const char *name = json_string_value(json_object_get(phase, "name"));
		bool fits = name != NULL && json_object_get(by_name, name) == NULL;

		if (fits && json_number_value(json_object_get(phase, "temperature")) == 0)
			json_object_del(phase, "temperature");
		if (!fits || json_object_set(by_name, name, phase) != 0) {
			json_decref(by_name);
			by_name = NULL;
		}
		json_decref(phase);
	}
	return by_name;
}

/*
 * What a text means if it lacks the key. bound_config.h lists the keys left out at their default.
 */
static const char *
default_text(const char *key)
{
	const char *last = strrchr(key, '.');

	if (strcmp(key, "mix.batches") == 0)
		return "\"copied\"";
	if (strcmp(key, "mix.shuffle") == 0)
		return "\"block\"";
	if (strcmp(key, "mix.partitions") == 0)
		return "mix.lanes";
	if (strncmp(key, domains_path, sizeof(domains_path) - 1) == 0 &&
	    strcmp(last, ".shuffle") == 0)
		return "mix.shuffle";
	return "nothing";
}

static void
add_difference(char *list, const char *key, const json_t *ledger, const json_t *present)
{
	unsigned flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6);
	char *a = ledger == NULL ? NULL : json_memory_text(ledger, flags);
	char *b = present == NULL ? NULL : json_memory_text(present, flags);
	size_t used = strlen(list);

	assert(used < DIFFERENCES_MAX);
	snprintf(list + used, DIFFERENCES_MAX - used, "%s%s: %s in the ledger, %s in the file",
	    used == 0 ? "" : "; ", key, a == NULL ? default_text(key) : a,
	    b == NULL ? default_text(key) : b);
	free(a);
	free(b);
}

static void compare(char *list, const char *path, json_t *ledger, json_t *present, int depth);

static void
compare_phases(char *list, const char *path, const json_t *ledger, const json_t *present)
{
	json_t *a = phases_by_name(ledger), *b = phases_by_name(present);
	size_t used = strlen(list);

	if (a != NULL && b != NULL)
		compare(list, path, a, b, 1);
	if (list[used] == '\0') /* their order, or names that are there twice */
		add_difference(list, path, ledger, present);
	json_decref(a);
	json_decref(b);
}

/*
 * Appends every difference of two objects, and of the objects in them that both have, five levels
 * deep: the text comes from a topic, and may be nested by whoever wrote it. `list` cuts itself off.
 */
static void
compare(char *list, const char *path, json_t *ledger, json_t *present, int depth)
{
	const char *key;
	json_t *value;
	char inner[256];

	json_object_foreach(ledger, key, value)
	{
		json_t *other = json_object_get(present, key);

		snprintf(inner, sizeof(inner), "%s.%s", path, key);
		if (depth < 4 && json_is_object(value) && json_is_object(other))
			compare(list, inner, value, other, depth + 1);
		else if (json_is_object(value) && other == NULL &&
			 add_whole_difference(list, inner, true))
			continue;
		else if (json_is_array(value) && json_is_array(other) &&
			 strcmp(inner, "mix.phases") == 0 && !json_equal(value, other))
			compare_phases(list, inner, value, other);
		else if (other == NULL || !json_equal(value, other))
			add_difference(list, inner, value, other);
	}
	json_object_foreach(present, key, value)
	{
		snprintf(inner, sizeof(inner), "%s.%s", path, key);
		if (json_object_get(ledger, key) == NULL &&
		    !(json_is_object(value) && add_whole_difference(list, inner, false)))
			add_difference(list, inner, NULL, value);
	}
}

/* What to do about changed keys that are fixed, which `list` names: B can change another way. */
static enum fail_code
fail_fixed(const char *list, const json_t *present, struct failure *f)
{
	static const char batch[] = "mix.global_batch: ";
	bool has = strstr(list, batch) != NULL;
	bool tokens =
	    strstr(list, "sequence_length: ") != NULL || strstr(list, "tokenizer") != NULL;
	bool alone = strncmp(list, batch, sizeof(batch) - 1) == 0 && strchr(list, ';') == NULL;
	char how[160] = "";

	if (has)
		snprintf(how, sizeof(how),
		    "; `riffle weights --global-batch %" JSON_INTEGER_FORMAT
		    "` changes that one from a step on, and the file keeps the batch that the mix "
		    "was begun with",
		    json_integer_value(json_object_get(present, "global_batch")));
	return fail(f, FAIL_CONFIG,
	    "the mix was begun with another configuration, and this part of it cannot change: "
	    "%s%s%s",
	    list, how,
	    alone    ? ""
	    : tokens ? "; set it back, or make a second corpus and mix"
		     : "; set it back, or start a mix of another name");
}

enum fail_code
bound_config_compare(
    const char *ledger, const char *present, bool accept, bool *changed, struct failure *f)
{
	char fixed[DIFFERENCES_MAX] = "", changeable[DIFFERENCES_MAX] = "";
	json_t *a, *b;
	enum fail_code code = FAIL_NONE;

	if (parse(&a, ledger, f) != FAIL_NONE)
		return f->code;
	if (parse(&b, present, f) != FAIL_NONE) {
		json_decref(a);
		return f->code;
	}
	compare(fixed, "mix", json_object_get(a, "fixed"), json_object_get(b, "fixed"), 0);
	compare(changeable, "mix", json_object_get(a, "changeable"),
	    json_object_get(b, "changeable"), 0);
	if (fixed[0] != '\0')
		code = fail_fixed(fixed, json_object_get(b, "fixed"), f);
	json_decref(a);
	json_decref(b);
	*changed = changeable[0] != '\0';
	if (code != FAIL_NONE)
		return code;
	if (*changed && !accept)
		return fail(f, FAIL_CONFIG,
		    "the configuration differs from the ledger's: %s; --accept-config puts the "
		    "file in force from the next step on%s",
		    changeable,
		    strstr(changeable, ".weight: ") == NULL
			? ""
			: ", or while a mixer runs `riffle weights DOMAIN=WEIGHT...` changes "
			  "weights");
	return FAIL_NONE;
}
