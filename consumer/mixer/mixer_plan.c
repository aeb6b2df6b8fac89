#include "consumer/mixer/mixer_plan.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/schedule/order.h"
#include "common/schedule/weights.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CATCH_UP_MAX 1000.0

/* ---- checks ---- */

/* A domain may lend only under deficit, counted in draws, without rounds: it alone keeps debts. */
static enum fail_code
check_lend(const struct mixer_plan *p, const struct mixer_source *s, struct failure *f)
{
	if (!s->live || s->on_dry != MIX_DRY_LEND)
		return FAIL_NONE;
	if (p->schedule != SCHEDULE_DEFICIT)
		return fail(f, FAIL_CONFIG,
		    "domain %s: on_dry: lend needs the schedule deficit, which alone keeps debts",
		    s->name);
	if (p->weights_unit == MIX_BY_TOKENS || p->epoch_size != 0)
		return fail(f, FAIL_CONFIG,
		    "domain %s: on_dry: lend counts debts in draws, and cannot go with "
		    "weights_unit: tokens or epoch_size; use on_dry: wait",
		    s->name);
	return FAIL_NONE;
}

enum fail_code
mixer_plan_check_source(const struct mixer_plan *p, const struct mixer_source *s, struct failure *f)
{
	uint64_t sum = 0;

	if (!names_valid(s->name))
		return fail(f, FAIL_CONFIG, "'%s' is no name of a domain", s->name);
	if (s->partitions_n < 1 || s->partitions_n > ORDER_PARTITIONS_MAX)
		return fail(f, FAIL_CONFIG, "domain %s: %zu partitions (1 to %d)", s->name,
		    s->partitions_n, ORDER_PARTITIONS_MAX);
	if (!(s->weight >= 0) || !isfinite(s->weight))
		return fail(f, FAIL_CONFIG,
		    "the weight of domain %s must be a finite number of at least 0, not %g",
		    s->name, s->weight);
	if (s->catch_up != 0 && !(s->catch_up >= 1 && s->catch_up <= CATCH_UP_MAX))
		return fail(f, FAIL_CONFIG,
		    "domain %s: catch_up must be a number from 1 to %g, not %g", s->name,
		    CATCH_UP_MAX, s->catch_up);
	assert(s->sequences != NULL);
	for (size_t i = 0; i < s->partitions_n; i++)
		sum += s->sequences[i];
	if (s->weight > 0 && sum == 0 && !s->live)
		return fail(f, FAIL_CONFIG,
		    "domain %s has weight %g and not one sequence: give it weight 0 or longer "
		    "input",
		    s->name, s->weight);
	return check_lend(p, s, f);
}

/* One weight of a phase; named[i]: the phase has one for source i. */
static enum fail_code
check_phase_weight(const struct mixer_plan *p, const struct mixer_phase *h,
    const struct ledger_raw_weight *w, bool *named, struct failure *f)
{
	const struct mixer_source *s = mixer_plan_source(p, w->domain);
	uint64_t sequences = 0;

	if (s == NULL)
		return fail(f, FAIL_CONFIG,
		    "phase %s gives a weight to domain %s, which the mix does not have", h->name,
		    w->domain);
	if (!(w->weight >= 0) || !isfinite(w->weight))
		return fail(f, FAIL_CONFIG,
		    "phase %s: the weight of domain %s must be a finite number of at least 0, not "
		    "%g",
		    h->name, w->domain, w->weight);
	if (named[s - p->source])
		return fail(
		    f, FAIL_CONFIG, "phase %s gives two weights to domain %s", h->name, w->domain);
	assert((size_t)(s - p->source) < p->sources_n);
	named[s - p->source] = true;
	for (size_t i = 0; i < s->partitions_n; i++)
		sequences += s->sequences[i];
	if (w->weight > 0 && sequences == 0 && !s->live)
		return fail(f, FAIL_CONFIG,
		    "phase %s gives weight %g to domain %s, which has not one sequence", h->name,
		    w->weight, w->domain);
	return FAIL_NONE;
}

/*
 * Checks the weights of a phase. Domains that it does not name have their base weights, so that one
 * positive weight among both is enough.
 */
static enum fail_code
check_phase_weights(const struct mixer_plan *p, const struct mixer_phase *h, struct failure *f)
{
	bool named[LIMIT_DOMAINS] = {false}, positive = false;

	assert(p->sources_n <= LIMIT_DOMAINS);
	for (size_t i = 0; i < h->weights_n; i++) {
		if (check_phase_weight(p, h, &h->weight[i], named, f) != FAIL_NONE)
			return f->code;
		positive = positive || h->weight[i].weight > 0;
	}
	for (size_t i = 0; i < p->sources_n; i++)
		positive = positive || (!named[i] && p->source[i].weight > 0);
	if (!positive)
		return fail(f, FAIL_CONFIG,
		    "phase %s: all weights are zero: at least one must be positive", h->name);
	return FAIL_NONE;
}

static enum fail_code
check_phase(const struct mixer_plan *p, size_t i, struct failure *f)
{
	const struct mixer_phase *h = &p->phase[i];

	assert(i < p->phases_n);
	if (strlen(h->name) > NAME_MAX_BYTES)
		return fail(f, FAIL_CONFIG, "the name of phase %s is longer than %d bytes", h->name,
		    NAME_MAX_BYTES);
	if (i > 0 && h->start_step <= h[-1].start_step)
		return fail(f, FAIL_CONFIG,
		    "phase %s starts at step %llu, and the one before it at step %llu: start_step "
		    "must increase",
		    h->name, (unsigned long long)h->start_step,
		    (unsigned long long)h[-1].start_step);
	if (h->lr_scale != 0 && (!(h->lr_scale > 0) || !isfinite(h->lr_scale)))
		return fail(f, FAIL_CONFIG, "phase %s: lr_scale must be a positive number, not %g",
		    h->name, h->lr_scale);
	if (h->temperature != 0 && (!(h->temperature > 0) || !isfinite(h->temperature)))
		return fail(f, FAIL_CONFIG,
		    "phase %s: temperature must be a positive number, not %g", h->name,
		    h->temperature);
	if (h->global_batch % p->lanes != 0 || h->global_batch > LIMIT_BATCH)
		return fail(f, FAIL_CONFIG,
		    "phase %s: global_batch must be a multiple of the %u lanes, at most %d, not %u",
		    h->name, p->lanes, LIMIT_BATCH, h->global_batch);
	return check_phase_weights(p, h, f);
}

/* Checks epoch_size against schedule and unit. */
static enum fail_code
check_rounds(const struct mixer_plan *p, struct failure *f)
{
	if (p->epoch_size == 0)
		return FAIL_NONE;
	if (p->schedule != SCHEDULE_DEFICIT || p->weights_unit == MIX_BY_TOKENS)
		return fail(f, FAIL_CONFIG,
		    "epoch_size counts draws exactly: it needs schedule: deficit and weights_unit: "
		    "sequences");
	if (p->epoch_size != MIXER_EPOCH_LARGEST && p->epoch_size > LIMIT_ROUND)
		return fail(f, FAIL_CONFIG, "epoch_size: %llu is out of range (1 to %llu)",
		    (unsigned long long)p->epoch_size, (unsigned long long)LIMIT_ROUND);
	return FAIL_NONE;
}

enum fail_code
mixer_plan_check(const struct mixer_plan *p, struct failure *f)
{
	if (p->sources_n < 1 || p->sources_n > LIMIT_DOMAINS)
		return fail(f, FAIL_CONFIG, "a mix holds 1 to %d domains, not %zu", LIMIT_DOMAINS,
		    p->sources_n);
	if (p->phases_n > LIMIT_PHASES)
		return fail(
		    f, FAIL_CONFIG, "%zu phases are more than %d", p->phases_n, LIMIT_PHASES);
	if (!(p->temperature > 0) || !isfinite(p->temperature))
		return fail(f, FAIL_CONFIG, "temperature must be a positive number, not %g",
		    p->temperature);
	if (p->weights_unit == MIX_BY_TOKENS && p->schedule != SCHEDULE_DEFICIT)
		return fail(f, FAIL_CONFIG,
		    "weights_unit: tokens needs schedule: deficit, which alone can count them");
	if (check_rounds(p, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < p->sources_n; i++)
		if (mixer_plan_check_source(p, &p->source[i], f) != FAIL_NONE)
			return f->code;
	for (size_t i = 0; i < p->phases_n; i++)
		if (check_phase(p, i, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* ---- domains ---- */

const struct mixer_source *
mixer_plan_source(const struct mixer_plan *p, const char *name)
{
	size_t low = 0, high = p->sources_n;

	assert(name != NULL);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(p->source[middle].name, name);

		if (order == 0)
			return &p->source[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

bool
mixer_plan_needs_tokens(const struct mixer_plan *p)
{
	bool short_ones = false;

	for (size_t i = 0; i < p->sources_n; i++)
		short_ones = short_ones || p->source[i].short_ones;
	return p->weights_unit == MIX_BY_TOKENS && short_ones;
}

enum mix_shuffle
mixer_plan_shuffle(const struct mixer_plan *p, const char *name)
{
	const struct mixer_source *s = mixer_plan_source(p, name);

	return s == NULL ? p->shuffle : s->shuffle;
}

struct mixer_source
mixer_plan_joined_rules(enum mix_shuffle shuffle)
{
	return (struct mixer_source){.on_end = MIX_END_REPEAT,
	    .on_dry = MIX_DRY_WAIT,
	    .short_ones = true,
	    .shuffle = shuffle};
}

/* ---- the hash ---- */

static uint64_t
hash_text(const char *text, uint64_t before)
{
	return XXH64(text, strlen(text), before);
}

/* By bytes, lowest first, so that machines of either byte order agree. */
static uint64_t
hash_number(uint64_t value, uint64_t before)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	return XXH64(bytes, sizeof(bytes), before);
}

uint64_t
mixer_plan_hash(const struct mixer_plan *p)
{
	uint64_t hash = hash_number(weights_bits(p->temperature), 0);

	for (size_t i = 0; i < p->sources_n; i++) {
		hash = hash_text(p->source[i].name, hash);
		hash = hash_number(weights_bits(p->source[i].weight), hash);
	}
	for (size_t i = 0; i < p->phases_n; i++) {
		const struct mixer_phase *h = &p->phase[i];

		hash = hash_number(h->start_step, hash_text(h->name, hash));
		hash = hash_number(weights_bits(h->temperature), hash);
		hash = hash_number(weights_bits(h->lr_scale), hash);
		if (h->global_batch != 0) /* hashes of before it existed stay */
			hash = hash_number(h->global_batch, hash);
		hash = hash_number(h->weights_n, hash);
		for (size_t k = 0; k < h->weights_n; k++) {
			hash = hash_text(h->weight[k].domain, hash);
			hash = hash_number(weights_bits(h->weight[k].weight), hash);
		}
	}
	return hash;
}
