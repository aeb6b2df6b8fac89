#include "consumer/plan/ledger_plan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_memory.h"
#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/base/scalar.h"

/* All that a plan points to. */
struct memory {
	json_t *text; /* keeps the strings */
	struct mixer_source *source;
	size_t sources_n;
	struct mixer_phase *phase;
	size_t phases_n;
	const char **run;
};

/*
 * ---- values ----
 *
 * Readers of one value go on after a wrong one: `wrong` keeps the name of the key, and the whole is
 * refused at the end. So each is a plain expression in an initialiser.
 */

struct walk {
	const char *wrong; /* the last key that was wrong; NULL: none */
};

static uint64_t
count_of(struct walk *w, const json_t *object, const char *key, uint64_t unset)
{
	const json_t *v = json_object_get(object, key);
	uint64_t value = unset;

	if (v == NULL || json_is_null(v))
		return unset;
	if (json_is_integer(v) && json_integer_value(v) >= 0)
		return (uint64_t)json_integer_value(v);
	if (!json_is_string(v) ||
	    scalar_count(json_string_value(v), 0, UINT64_MAX, &value) != SCALAR_OK)
		w->wrong = key;
	return value;
}

static uint32_t
size_of(struct walk *w, const json_t *object, const char *key, uint64_t least, uint64_t most)
{
	uint64_t value = count_of(w, object, key, 0);

	if (value < least || value > most)
		w->wrong = key;
	return (uint32_t)value;
}

static double
number_of(struct walk *w, const json_t *object, const char *key, double unset)
{
	const json_t *v = json_object_get(object, key);

	if (v == NULL || json_is_null(v))
		return unset;
	if (!json_is_number(v))
		w->wrong = key;
	return json_number_value(v);
}

static bool
flag_of(const json_t *object, const char *key, bool unset)
{
	const json_t *v = json_object_get(object, key);

	return v == NULL ? unset : json_is_true(v);
}

/* Index in `choice` (ends with NULL); `unset` where the key is missing. */
static int
choice_of(
    struct walk *w, const json_t *object, const char *key, const char *const *choice, int unset)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (json_object_get(object, key) == NULL)
		return unset;
	for (int i = 0; text != NULL && choice[i] != NULL; i++)
		if (strcmp(choice[i], text) == 0)
			return i;
	w->wrong = key;
	return unset;
}

static const char *
text_of(struct walk *w, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text == NULL)
		w->wrong = key;
	return text == NULL ? "" : text;
}

/* ---- domains ---- */

static enum fail_code
set_lengths(struct mixer_source *s, const struct ledger_domain *d, struct failure *f)
{
	uint64_t *sequences = calloc(d->partitions_n + 1, sizeof(*sequences));
	bool *sealed = calloc(d->partitions_n + 1, sizeof(*sealed));

	s->partitions_n = d->partitions_n;
	s->sequences = sequences;
	s->sealed = sealed;
	if (sequences == NULL || sealed == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < d->partitions_n; i++) {
		int64_t n = d->partition[i].sequences;

		sequences[i] = n < 0 ? 0 : (uint64_t)n;
		sealed[i] = d->partition[i].sealed;
	}
	return FAIL_NONE;
}

static enum fail_code
add_source(struct memory *m, struct walk *w, const char *name, const json_t *from,
    const struct ledger_domain *d, enum mix_shuffle shuffle, struct failure *f)
{
	struct mixer_source *s = &m->source[m->sources_n];
	const char *packing = json_string_value(json_object_get(from, "packing"));

	*s = (struct mixer_source){
	    .name = name,
	    .weight = number_of(w, from, "weight", 0),
	    .on_end =
		(enum mix_on_end)choice_of(w, from, "on_end", mix_on_end_names, MIX_END_REPEAT),
	    .max_epochs = count_of(w, from, "max_epochs", 0),
	    .live = flag_of(from, "live", false),
	    .on_dry = (enum mix_on_dry)choice_of(w, from, "on_dry", mix_on_dry_names, MIX_DRY_WAIT),
	    .catch_up = number_of(w, from, "catch_up", 0),
	    .short_ones = packing != NULL && strcmp(packing, "concat") != 0,
	    .shuffle =
		(enum mix_shuffle)choice_of(w, from, "shuffle", mix_shuffle_names, (int)shuffle),
	};
	m->sources_n++;
	return set_lengths(s, d, f);
}

/* Keys of the text are sorted by their bytes, as the plan wants its domains. */
static enum fail_code
add_sources(struct memory *m, struct walk *w, const struct ledger *l, json_t *domains,
    enum mix_shuffle shuffle, struct failure *f)
{
	const char *name, *before = "";
	json_t *value;

	m->source = calloc(json_object_size(domains) + 1, sizeof(*m->source));
	if (m->source == NULL)
		return fail_memory(f);
	json_object_foreach(domains, name, value)
	{
		const struct ledger_domain *d = ledger_domain_named(l, name);

		if (strcmp(before, name) >= 0 || !names_valid(name))
			w->wrong = "domains";
		before = name;
		if (d != NULL && d->partitions_n > 0 &&
		    add_source(m, w, name, value, d, shuffle, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* ---- phases ---- */

static enum fail_code
add_weights(struct mixer_phase *p, struct walk *w, json_t *weights, struct failure *f)
{
	struct ledger_raw_weight *weight = calloc(json_object_size(weights) + 1, sizeof(*weight));
	const char *name;
	json_t *value;

	p->weight = weight;
	if (weight == NULL)
		return fail_memory(f);
	json_object_foreach(weights, name, value)
	{
		if (!json_is_number(value))
			w->wrong = "phases";
		/* The plan's type has no const; it is only read, and lives as long as the text. */
		weight[p->weights_n].domain = (char *)(uintptr_t)name;
		weight[p->weights_n++].weight = json_number_value(value);
	}
	return FAIL_NONE;
}

static enum fail_code
add_phases(struct memory *m, struct walk *w, json_t *phases, struct failure *f)
{
	size_t n = json_array_size(phases);

	if (n > LIMIT_PHASES)
		w->wrong = "phases";
	m->phase = calloc(n + 1, sizeof(*m->phase));
	if (m->phase == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n && w->wrong == NULL; i++) {
		json_t *from = json_array_get(phases, i);
		struct mixer_phase *p = &m->phase[m->phases_n++];

		*p = (struct mixer_phase){
		    .name = text_of(w, from, "name"),
		    .start_step = count_of(w, from, "start_step", 0),
		    .temperature = number_of(w, from, "temperature", 0),
		    .lr_scale = number_of(w, from, "lr_scale", 1),
		    .global_batch = (uint32_t)count_of(w, from, "global_batch", 0),
		};
		if (count_of(w, from, "global_batch", 0) > LIMIT_BATCH)
			w->wrong = "phases";
		if (add_weights(p, w, json_object_get(from, "weights"), f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* ---- the whole ---- */

static void
set_fixed(struct mixer_plan *p, struct walk *w, const json_t *fixed)
{
	const char *epoch = json_string_value(json_object_get(fixed, "epoch_size"));

	p->seed = count_of(w, fixed, "seed", 0);
	p->sequence_length = size_of(w, fixed, "sequence_length", 1, LIMIT_SEQUENCE);
	p->global_batch = size_of(w, fixed, "global_batch", 1, LIMIT_BATCH);
	p->lanes = size_of(w, fixed, "lanes", 1, LIMIT_LANES);
	p->block = size_of(w, fixed, "block", 1, UINT32_MAX);
	p->window = size_of(w, fixed, "window", 1, UINT32_MAX);
	p->shuffle =
	    (enum mix_shuffle)choice_of(w, fixed, "shuffle", mix_shuffle_names, MIX_SHUFFLE_BLOCK);
	p->permute = flag_of(fixed, "permute", true);
	p->lane_order = (enum mix_lane_order)choice_of(
	    w, fixed, "lane_order", mix_lane_order_names, MIX_LANES_CONTIGUOUS);
	p->schedule =
	    (enum schedule_kind)choice_of(w, fixed, "schedule", schedule_names, SCHEDULE_DEFICIT);
	p->weights_unit =
	    (enum mix_unit)choice_of(w, fixed, "weights_unit", mix_unit_names, MIX_BY_SEQUENCES);
	p->epoch_size = epoch != NULL && strcmp(epoch, "largest") == 0
			    ? MIXER_EPOCH_LARGEST
			    : count_of(w, fixed, "epoch_size", 0);
	if (p->lanes > 0 && p->global_batch % p->lanes != 0)
		w->wrong = "lanes";
}

/* ---- runs ---- */

static enum fail_code
add_runs(struct ledger_plan *out, struct memory *m, struct walk *w, const json_t *runs,
    struct failure *f)
{
	size_t n = json_array_size(runs);

	m->run = calloc(n + 1, sizeof(*m->run));
	if (m->run == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++) {
		m->run[i] = json_string_value(json_array_get(runs, i));
		if (m->run[i] == NULL) {
			w->wrong = "runs";
			m->run[i] = "";
		}
	}
	out->run = m->run;
	out->runs_n = n;
	return FAIL_NONE;
}

bool
ledger_plan_has_run(const struct ledger_plan *p, const char *name)
{
	for (size_t i = 0; i < p->runs_n; i++)
		if (strcmp(p->run[i], name) == 0)
			return true;
	return false;
}

static enum fail_code
fill(struct ledger_plan *out, struct memory *m, const struct ledger *l, struct failure *f)
{
	const json_t *fixed = json_object_get(m->text, "fixed");
	const json_t *changeable = json_object_get(m->text, "changeable");
	struct walk w = {0};

	out->corpus = text_of(&w, fixed, "corpus");
	out->max_lead_steps = count_of(&w, changeable, "max_lead_steps", 0);
	out->batches = (enum mix_batches)choice_of(
	    &w, fixed, "batches", mix_batches_names, MIX_BATCHES_COPIED);
	set_fixed(&out->plan, &w, fixed);
	out->plan.temperature = number_of(&w, changeable, "temperature", 1);
	if (add_sources(m, &w, l, json_object_get(changeable, "domains"), out->plan.shuffle, f) !=
		FAIL_NONE ||
	    add_phases(m, &w, json_object_get(changeable, "phases"), f) != FAIL_NONE ||
	    add_runs(out, m, &w, json_object_get(changeable, "runs"), f) != FAIL_NONE)
		return f->code;
	out->plan.source = m->source;
	out->plan.sources_n = m->sources_n;
	out->plan.phase = m->phase;
	out->plan.phases_n = m->phases_n;
	if (!names_valid(out->corpus))
		w.wrong = "corpus";
	if (w.wrong != NULL)
		return fail(f, FAIL_DATA,
		    "the configuration in the ledger is damaged: %s is missing or out of range",
		    w.wrong);
	return FAIL_NONE;
}

enum fail_code
ledger_plan_open(struct ledger_plan *out, const struct ledger *l, struct failure *f)
{
	struct memory *m = calloc(1, sizeof(*m));
	json_error_t why;

	*out = (struct ledger_plan){.memory = m};
	if (m == NULL)
		return fail_memory(f);
	errno = 0;
	m->text = json_loads(l->config == NULL ? "" : l->config, JSON_REJECT_DUPLICATES, &why);
	if (m->text == NULL && json_memory_refused())
		fail_memory(f);
	else if (m->text == NULL)
		fail(f, FAIL_DATA, "the configuration in the ledger is not JSON: %s", why.text);
	else if (fill(out, m, l, f) == FAIL_NONE)
		return FAIL_NONE;
	ledger_plan_close(out);
	return f->code;
}

void
ledger_plan_close(struct ledger_plan *p)
{
	struct memory *m = p->memory;

	*p = (struct ledger_plan){0};
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->sources_n; i++) {
		free((void *)(uintptr_t)m->source[i].sequences);
		free((void *)(uintptr_t)m->source[i].sealed);
	}
	for (size_t i = 0; i < m->phases_n; i++)
		free((void *)(uintptr_t)m->phase[i].weight);
	free(m->run);
	free(m->source);
	free(m->phase);
	json_decref(m->text);
	free(m);
}
