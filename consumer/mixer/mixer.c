#include "consumer/mixer/mixer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/schedule/permutation.h"
#include "consumer/mixer/mixer_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Weights times tokens of this many domains, and sums of them, stay within 63 bits. */
#define COUNTED_TOKENS_MAX (UINT64_C(1) << 30)

/* ---- opening, closing, copying ---- */

void
mixer_close(struct mixer *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->domains_n; i++)
		cursor_close(&m->cursor[i]);
	free(m->cursor);
	shares_close(&m->shares);
	shares_close(&m->shares_kept);
	agenda_close(&m->agenda);
	exclusions_close(&m->exclusions);
	request_ids_close(&m->answered);
	free(m->dry);
	free(m);
}

/* Gives domain i the rules of `s`. Only a live domain can run dry, so only one can lend. */
static void
set_rules(struct mixer *m, size_t i, const struct mixer_source *s)
{
	struct cursor *c = &m->cursor[i];

	cursor_set_rules(c, s);
	shares_set_rules(&m->shares, i, c->live ? s->on_dry : MIX_DRY_WAIT, s->catch_up);
}

enum fail_code
mixer_add_domain(struct mixer *m, const struct mixer_source *s, struct failure *f)
{
	struct cursor *cursor;
	bool *dry;

	if (m->domains_n == LIMIT_DOMAINS)
		return fail(f, FAIL_CONFIG, "a mix holds at most %d domains", LIMIT_DOMAINS);
	if (m->shape.weights_unit == MIX_BY_TOKENS &&
	    (m->domains_n + 1) * ((uint64_t)m->shape.sequence_length + 1) > COUNTED_TOKENS_MAX)
		return fail(f, FAIL_CONFIG,
		    "weights_unit: tokens: %zu domains with sequences of %u tokens are more than "
		    "can be counted; use weights_unit: sequences",
		    m->domains_n + 1, m->shape.sequence_length + 1);
	cursor = realloc(m->cursor, (m->domains_n + 1) * sizeof(*cursor));
	if (cursor == NULL)
		return fail_memory(f);
	m->cursor = cursor;
	dry = realloc(m->dry, (m->domains_n + 1) * sizeof(*dry));
	if (dry == NULL)
		return fail_memory(f);
	m->dry = dry;
	dry[m->domains_n] = false;
	if (cursor_open(&cursor[m->domains_n], s, m->shape.seed, m->shape.block,
		m->shape.window_blocks, f) != FAIL_NONE)
		return f->code;
	/*
	 * Whoever adds a domain gives the mixer up where memory is short: no shares to take back.
	 */
	if (shares_add(&m->shares, f) != FAIL_NONE || shares_add(&m->shares_kept, f) != FAIL_NONE) {
		cursor_close(&cursor[m->domains_n]);
		return f->code;
	}
	set_rules(m, m->domains_n++, s);
	m->undoable = false;
	assert(m->shares.n == m->domains_n && m->shares_kept.n == m->domains_n);
	return FAIL_NONE;
}

struct mixer *
mixer_from_plan(const struct mixer_plan *p)
{
	struct mixer *m = calloc(1, sizeof(*m));
	uint64_t unit = p->weights_unit == MIX_BY_TOKENS ? (uint64_t)p->sequence_length + 1 : 1;
	struct failure f;

	assert(p->lanes >= 1);
	assert(p->global_batch >= p->lanes);
	assert(p->global_batch % p->lanes == 0);
	if (m == NULL)
		return NULL;
	m->shape = (struct mixer_shape){
	    .seed = p->seed,
	    .sequence_length = p->sequence_length,
	    .global_batch = p->global_batch,
	    .lanes = p->lanes,
	    .block = p->block,
	    .window_blocks = p->window,
	    .permute = p->permute,
	    .lane_order = p->lane_order,
	    .shuffle = p->shuffle,
	    .weights_unit = p->weights_unit,
	    .temperature = p->temperature,
	    .base = mixer_plan_hash(p),
	};
	shares_init(&m->shares, p->schedule, unit, p->seed);
	shares_init(&m->shares_kept, p->schedule, unit, p->seed);
	if (agenda_set_phases(&m->agenda, p->phase, p->phases_n, p->temperature, &f) != FAIL_NONE) {
		mixer_close(m);
		return NULL;
	}
	return m;
}

/* A round holds at least one draw of each domain. */
static enum fail_code
check_round(const struct mixer *m, struct failure *f)
{
	uint64_t epoch_size = m->shares.epoch_size;

	if (epoch_size == 0 || m->domains_n <= epoch_size)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "epoch_size: %llu draws are too few for %zu domains: each is drawn at least once a "
	    "round",
	    (unsigned long long)epoch_size, m->domains_n);
}

/* The draws of a round, where the largest domain says it. */
static enum fail_code
set_epoch_size(struct mixer *m, const struct mixer_plan *p, struct failure *f)
{
	uint64_t largest = 0;

	for (size_t i = 0; p->epoch_size == MIXER_EPOCH_LARGEST && i < m->domains_n; i++) {
		uint64_t length = cursor_length(&m->cursor[i]);

		if (m->cursor[i].live)
			return fail(f, FAIL_CONFIG,
			    "epoch_size: largest: domain %s is live and has no length; give a "
			    "number",
			    m->cursor[i].name);
		largest = length > largest ? length : largest;
	}
	if (p->epoch_size == MIXER_EPOCH_LARGEST && (largest < 1 || largest > LIMIT_ROUND))
		return fail(f, FAIL_CONFIG,
		    "epoch_size: largest: the largest domain has %llu sequences",
		    (unsigned long long)largest);
	m->shares.epoch_size = p->epoch_size == MIXER_EPOCH_LARGEST ? largest : p->epoch_size;
	return check_round(m, f);
}

enum fail_code
mixer_open(struct mixer **out, const struct mixer_plan *p, struct failure *f)
{
	struct mixer *m;

	if (mixer_plan_check(p, f) != FAIL_NONE)
		return f->code;
	m = mixer_from_plan(p);
	if (m == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < p->sources_n; i++) {
		assert(i == 0 || strcmp(p->source[i - 1].name, p->source[i].name) < 0);
		if (mixer_add_domain(m, &p->source[i], f) != FAIL_NONE)
			goto failed;
		m->shares.share[i].base = p->source[i].weight;
	}
	if (set_epoch_size(m, p, f) != FAIL_NONE)
		goto failed;
	mixer_put_phase(m, NULL);
	if (!shares_weigh(&m->shares)) {
		fail(f, FAIL_CONFIG, "all weights are zero: at least one must be positive");
		goto failed;
	}
	*out = m;
	return FAIL_NONE;
failed:
	mixer_close(m);
	return f->code;
}

enum fail_code
mixer_copy(struct mixer **out, const struct mixer *m, struct failure *f)
{
	struct mixer *copy = calloc(1, sizeof(*copy));

	assert(m->domains_n >= 1);
	if (copy == NULL)
		return fail_memory(f);
	copy->shape = m->shape;
	copy->at = m->at;
	copy->control_next = m->control_next;
	copy->blocked = m->blocked;
	copy->cursor = calloc(m->domains_n, sizeof(*copy->cursor));
	copy->dry = calloc(m->domains_n, sizeof(*copy->dry));
	if (copy->cursor == NULL || copy->dry == NULL) {
		fail_memory(f);
		goto failed;
	}
	for (; copy->domains_n < m->domains_n; copy->domains_n++)
		if (cursor_copy(&copy->cursor[copy->domains_n], &m->cursor[copy->domains_n], f) !=
		    FAIL_NONE)
			goto failed;
	if (shares_clone(&copy->shares, &m->shares, f) != FAIL_NONE ||
	    shares_clone(&copy->shares_kept, &m->shares, f) != FAIL_NONE ||
	    agenda_copy(&copy->agenda, &m->agenda, f) != FAIL_NONE ||
	    exclusions_copy(&copy->exclusions, &m->exclusions, f) != FAIL_NONE ||
	    request_ids_copy(&copy->answered, &m->answered, f) != FAIL_NONE)
		goto failed;
	*out = copy;
	return FAIL_NONE;
failed:
	mixer_close(copy);
	return f->code;
}

void
mixer_set_tokens(struct mixer *m, mixer_tokens *tokens, void *opaque)
{
	m->tokens = tokens;
	m->tokens_opaque = opaque;
}

/* ---- what takes effect at the start of a step ---- */

/* Takes the weights as written. A domain that the mix does not have is passed over. */
static void
put_raw_weights(struct mixer *m, const struct ledger_raw_weight *weight, size_t weights_n)
{
	for (size_t i = 0; i < weights_n; i++) {
		int d = mixer_domain_named(m, weight[i].domain);

		if (d >= 0)
			m->shares.share[d].raw = weight[i].weight;
	}
}

void
mixer_put_phase(struct mixer *m, const struct agenda_phase *phase)
{
	struct shares_version *v = &m->shares.version;

	for (size_t i = 0; i < m->domains_n; i++)
		m->shares.share[i].raw = m->shares.share[i].base;
	v->temperature = m->shape.temperature;
	v->global_batch = m->shape.global_batch;
	v->lr_scale = 1;
	v->phase[0] = '\0';
	if (phase == NULL)
		return;
	assert(phase->temperature > 0);
	assert(phase->lr_scale > 0);
	put_raw_weights(m, phase->weight, phase->weights_n);
	v->temperature = phase->temperature;
	v->lr_scale = phase->lr_scale;
	if (phase->global_batch > 0)
		v->global_batch = phase->global_batch;
	memcpy(v->phase, phase->name, sizeof(v->phase));
}

enum fail_code
mixer_put_change(struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);
	const struct ledger_skip skip = {(uint32_t)d, (uint32_t)c->partition, c->first, c->end};
	struct share *share = d < 0 ? NULL : &m->shares.share[d];

	assert(c->kind == LEDGER_WEIGHTS || d >= 0);
	assert((c->kind != LEDGER_SKIP && c->kind != LEDGER_UNDO) || c->partition >= 0);
	switch (c->kind) {
	case LEDGER_SKIP: return exclusions_skip(&m->exclusions, &skip, f);
	case LEDGER_UNDO: return exclusions_unskip(&m->exclusions, &skip, f);
	case LEDGER_WEIGHTS: put_raw_weights(m, c->weight, c->weights_n); break;
	case LEDGER_JOIN:
		if (share->state == LEDGER_JOINING)
			share->state = LEDGER_ACTIVE;
		put_raw_weights(m, c->weight, c->weights_n);
		share->base = share->raw; /* no configuration says its weight: the request does */
		break;
	case LEDGER_LEAVE:
		share->state = LEDGER_LEFT;
		put_raw_weights(m, c->weight, c->weights_n);
		break;
	case LEDGER_RESET:
	case LEDGER_CANCEL: assert(false); /* never pending */
	}
	if (c->temperature > 0)
		m->shares.version.temperature = c->temperature;
	if (c->lr_scale > 0)
		m->shares.version.lr_scale = c->lr_scale;
	if (c->global_batch > 0)
		m->shares.version.global_batch = c->global_batch;
	shares_begin_version(&m->shares, m->at.step_next, LEDGER_BY_REQUEST, c->id);
	return FAIL_NONE;
}

/*
 * Puts in force what starts at step_next: first a phase, then the requests in the order of their
 * acceptance, so that a request wins over a phase of the same step. *over: no domain has a weight.
 */
static enum fail_code
put_what_is_due(struct mixer *m, bool *over, struct failure *f)
{
	uint64_t step = m->at.step_next, version = m->shares.version.number;
	const struct agenda_phase *phase = agenda_phase_at(&m->agenda, step);
	const struct ledger_change *c;

	*over = false;
	if (phase != NULL) {
		mixer_put_phase(m, phase);
		shares_begin_version(&m->shares, step, LEDGER_BY_PHASE, phase->name);
	}
	while ((c = agenda_due(&m->agenda, step)) != NULL) {
		if (mixer_put_change(m, c, f) != FAIL_NONE)
			return f->code;
		agenda_count_done(&m->agenda);
	}
	if (m->shares.version.number != version)
		*over = !shares_weigh(&m->shares);
	return FAIL_NONE;
}

/* ---- one draw ---- */

/* Who has nothing at the moment; asked only where domains lend. */
static void
mark_dry(struct mixer *m)
{
	if (m->shares.lenders_n == 0)
		return;
	for (size_t i = 0; i < m->domains_n; i++)
		m->dry[i] = cursor_is_dry(&m->cursor[i]);
}

/* Tokens of a sequence that is drawn; 0: not known yet. */
static uint64_t
tokens_of(const struct mixer *m, const struct mixer_draw *draw)
{
	uint64_t full = (uint64_t)m->shape.sequence_length + 1, tokens;

	if (m->shape.weights_unit != MIX_BY_TOKENS || m->tokens == NULL ||
	    !m->cursor[draw->domain].short_ones)
		return full;
	tokens = m->tokens(m->tokens_opaque, draw);
	return tokens < full ? tokens : full;
}

/*
 * The hash of a draw on top of the hash of all before it. It is in every ledger record, so that a
 * replay compares millions of draws by one number.
 */
static uint64_t
hash_choice(const struct mixer_draw *d, uint64_t before)
{
	uint8_t bytes[24];

	for (int i = 0; i < 4; i++) {
		bytes[i] = (uint8_t)(d->domain >> (8 * i));
		bytes[4 + i] = (uint8_t)(d->partition >> (8 * i));
	}
	for (int i = 0; i < 8; i++) {
		bytes[8 + i] = (uint8_t)(d->ordinal >> (8 * i));
		bytes[16 + i] = (uint8_t)(d->epoch >> (8 * i));
	}
	return XXH64(bytes, sizeof(bytes), before);
}

/* Pays for a draw and counts it. */
static void
count_draw(
    struct mixer *m, const struct shares_choice *c, const struct mixer_draw *draw, uint64_t tokens)
{
	assert(draw->domain == c->drawn);
	shares_charge(&m->shares, c, m->dry, m->shape.weights_unit == MIX_BY_TOKENS ? tokens : 1);
	mark_dry(m);
	if (m->shares.lenders_n > 0)
		shares_ripen(&m->shares, m->dry);
	m->cursor[c->drawn].place.tokens += tokens;
	m->at.draws++;
	m->at.choices = hash_choice(draw, m->at.choices);
}

/*
 * One draw: the shares choose a domain, its cursor gives the next sequence, the shares are charged.
 * A domain at its end ends the mix or drops out, and another is chosen. Any result but MIXER_DRAWN
 * leaves a half-changed state behind, which mixer_step() undoes.
 */
static enum fail_code
draw_one(struct mixer *m, struct mixer_draw *draw, enum mixer_result *result, struct failure *f)
{
	for (;;) {
		struct shares_choice c = shares_choose(&m->shares, m->dry);
		struct cursor *cursor = &m->cursor[c.drawn];
		uint64_t tokens;

		switch (cursor_take(cursor, &m->exclusions, (uint32_t)c.drawn, draw)) {
		case CURSOR_TAKEN:
			tokens = tokens_of(m, draw);
			if (tokens == 0) {
				m->blocked = *draw;
				*result = MIXER_UNKNOWN;
				return FAIL_NONE;
			}
			count_draw(m, &c, draw, tokens);
			*result = MIXER_DRAWN;
			return FAIL_NONE;
		case CURSOR_NOTHING_LEFT:
			return fail(f, FAIL_DATA,
			    "domain %s: every one of its sequences is quarantined or skipped",
			    cursor->name);
		case CURSOR_DRY:
			if (shares_choose_again(&m->shares, &c, m->dry))
				continue;
			m->blocked = *draw;
			*result = MIXER_DRY;
			return FAIL_NONE;
		case CURSOR_EXHAUSTED:
			if (cursor->on_end != MIX_END_STOP && shares_drop(&m->shares, c.drawn))
				continue;
			*result = MIXER_ENDED;
			return FAIL_NONE;
		}
	}
}

/* ---- a step ---- */

void
mixer_settle(struct mixer *m)
{
	for (size_t i = 0; i < m->domains_n; i++)
		cursor_settle(&m->cursor[i]);
	agenda_forget_done(&m->agenda);
	m->undoable = false;
}

/*
 * Keeps the state before a step for mixer_undo(). What the step cannot change is not kept: lengths,
 * the phases, the ids that were answered.
 */
static void
keep(struct mixer *m)
{
	assert(!m->undoable);
	m->at_kept = m->at;
	for (size_t i = 0; i < m->domains_n; i++)
		cursor_keep(&m->cursor[i]);
	shares_copy(&m->shares_kept, &m->shares);
	agenda_keep(&m->agenda);
	exclusions_keep(&m->exclusions);
	m->undoable = true;
}

void
mixer_undo(struct mixer *m)
{
	assert(m->undoable);
	m->at = m->at_kept;
	for (size_t i = 0; i < m->domains_n; i++)
		cursor_undo(&m->cursor[i]);
	shares_copy(&m->shares, &m->shares_kept);
	agenda_undo(&m->agenda);
	exclusions_undo(&m->exclusions);
	m->undoable = false;
}

/* Index in draws[], which are lane after lane, of the k-th sequence of a batch in its order. */
static size_t
slot_of(const struct mixer_shape *s, uint32_t batch, uint64_t k)
{
	uint64_t each = batch / s->lanes;

	if (s->lane_order == MIX_LANES_STRIDED)
		return (size_t)(k % s->lanes * each + k / s->lanes);
	return (size_t)k;
}

enum fail_code
mixer_step(struct mixer *m, struct mixer_draw *draws, enum mixer_result *result, struct failure *f)
{
	const struct mixer_shape *s = &m->shape;
	struct permutation order;
	enum fail_code code;
	uint32_t batch;
	bool over;

	mixer_settle(m);
	keep(m);
	code = put_what_is_due(m, &over, f);
	batch = m->shares.version.global_batch;
	assert(batch > 0 && batch % s->lanes == 0);
	*result = over ? MIXER_ENDED : MIXER_DRAWN;
	mark_dry(m);
	permutation_init(&order, batch, permutation_subkey(s->seed, m->at.step_next), 0);
	for (uint64_t j = 0; j < batch && code == FAIL_NONE && *result == MIXER_DRAWN; j++) {
		uint64_t k = s->permute ? permutation_at(&order, j) : j;

		code = draw_one(m, &draws[slot_of(s, batch, k)], result, f);
	}
	if (code != FAIL_NONE || *result != MIXER_DRAWN) {
		mixer_undo(m);
		return code;
	}
	assert(m->at.draws - m->at_kept.draws == batch);
	m->at.step_next++;
	return FAIL_NONE;
}

const struct mixer_draw *
mixer_blocked(const struct mixer *m)
{
	return &m->blocked;
}

/* ---- changes between steps ---- */

enum fail_code
mixer_quarantine(struct mixer *m, uint32_t domain, uint32_t partition, uint64_t ordinal,
    const char *reason, struct failure *f)
{
	assert(domain < m->domains_n);
	return exclusions_quarantine(&m->exclusions, domain, partition, ordinal, reason, f);
}

void
mixer_correct_tokens(struct mixer *m, uint32_t domain, uint32_t tokens)
{
	assert(domain < m->domains_n);
	if (m->shape.weights_unit == MIX_BY_SEQUENCES &&
	    tokens <= m->shape.sequence_length) { /* else they were asked for, or decided by */
		uint32_t padding = m->shape.sequence_length + 1 - tokens;

		assert(m->cursor[domain].place.tokens >= padding);
		m->cursor[domain].place.tokens -= padding;
	}
}

enum fail_code
mixer_set_lengths(struct mixer *m, uint32_t domain, const uint64_t *sequences, const bool *sealed,
    struct failure *f)
{
	assert(domain < m->domains_n);
	if (cursor_check_lengths(&m->cursor[domain], sequences, sealed, f) != FAIL_NONE)
		return f->code;
	mixer_settle(m);
	return cursor_set_lengths(&m->cursor[domain], sequences, sealed, f);
}

void
mixer_set_control_next(struct mixer *m, int64_t offset)
{
	assert(offset >= 0); /* back, where the topic was recreated */
	m->control_next = offset;
}

int64_t
mixer_control_next(const struct mixer *m)
{
	return m->control_next;
}

/* ---- a changed plan ---- */

/*
 * The order of domain i, once it has drawn by it. A plan that does not name a domain gives it its
 * own: so one that leaves the plan, too, must come back with the order that it had.
 */
static enum fail_code
check_shuffle(const struct mixer *m, size_t i, const struct mixer_plan *p,
    const struct mixer_plan *was, struct failure *f)
{
	const struct cursor *c = &m->cursor[i];
	enum mix_shuffle before = mixer_plan_shuffle(was, c->name);

	if (mixer_plan_shuffle(p, c->name) == before || cursor_deals(c) ||
	    (c->place.epoch == 0 && c->place.position == 0))
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "domain %s: shuffle decides the order of its sequences, and cannot change once some "
	    "were drawn; give it shuffle: %s%s",
	    c->name, mix_shuffle_names[before],
	    mixer_plan_source(p, c->name) == NULL
		? " in the file, with weight 0 where it is to leave the mix"
		: "");
}

/*
 * Domain i as the changed plan has it; `s` NULL: the plan lacks it, and it leaves, unless it joined
 * by request. `known`: the plan until now had it too, so that it is gone by request, and stays so.
 * *moved: it came or went.
 */
static enum fail_code
replan_domain(struct mixer *m, size_t i, const struct mixer_source *s, bool known, bool *moved,
    struct failure *f)
{
	struct cursor *c = &m->cursor[i];
	struct share *h = &m->shares.share[i];
	enum ledger_domain_state was = h->state;

	assert(s == NULL || strcmp(s->name, c->name) == 0);
	if (s == NULL) {
		if (!c->joined)
			h->state = LEDGER_LEFT;
		*moved = *moved || h->state != was;
		return FAIL_NONE;
	}
	if (s->live != c->live && c->place.epoch == 0)
		return fail(f, FAIL_CONFIG,
		    "domain %s: live decides the order of its first pass and cannot change in it: "
		    "the mix was begun with live: %s",
		    c->name, c->live ? "true" : "false");
	set_rules(m, i, s);
	c->joined = false;
	h->base = s->weight;
	if ((!known && (h->state == LEDGER_LEFT || h->state == LEDGER_JOINING)) ||
	    (h->state == LEDGER_DROPPED && c->place.epoch + 1 < cursor_passes(c)))
		h->state = LEDGER_ACTIVE;
	*moved = *moved || h->state != was;
	return FAIL_NONE;
}

/*
 * Domain i, which the mix has had without a sequence, must keep weight 0. Its epoch 0 stays empty
 * although the topic may hold sequences by now.
 */
static enum fail_code
check_stays_undrawn(const struct mixer *m, size_t i, const struct mixer_plan *p, struct failure *f)
{
	const struct cursor *c = &m->cursor[i];
	const struct mixer_source *s = mixer_plan_source(p, c->name);
	double most = s == NULL ? 0 : s->weight;

	if (c->live || cursor_length(c) > 0)
		return FAIL_NONE;
	for (size_t k = 0; k < p->phases_n; k++)
		for (size_t w = 0; w < p->phase[k].weights_n; w++)
			if (strcmp(p->phase[k].weight[w].domain, c->name) == 0 &&
			    p->phase[k].weight[w].weight > most)
				most = p->phase[k].weight[w].weight;
	if (most == 0)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "domain %s has weight %g, but it was empty when this mix first counted it. The mix "
	    "never draws what was appended later: give the domain weight 0, or start another mix",
	    c->name, most);
}

/* The last phase of a plan that starts before `step`; NULL: none does. */
static const struct mixer_phase *
phase_before(const struct mixer_plan *p, uint64_t step)
{
	const struct mixer_phase *found = NULL;

	for (size_t i = 0; i < p->phases_n && p->phase[i].start_step < step; i++)
		found = &p->phase[i];
	return found;
}

/* The weight that a plan gives a domain in a phase; below 0: the plan lacks the domain. */
static double
weight_said(const struct mixer_plan *p, const struct mixer_phase *phase, const char *name)
{
	const struct mixer_source *s = mixer_plan_source(p, name);

	for (size_t i = 0; s != NULL && phase != NULL && i < phase->weights_n; i++)
		if (strcmp(phase->weight[i].domain, name) == 0)
			return phase->weight[i].weight;
	return s == NULL ? -1 : s->weight;
}

static double
temperature_said(const struct mixer_plan *p, const struct mixer_phase *phase)
{
	return phase == NULL || phase->temperature == 0 ? p->temperature : phase->temperature;
}

static double
lr_scale_said(const struct mixer_phase *phase)
{
	return phase == NULL || phase->lr_scale == 0 ? 1 : phase->lr_scale;
}

/* 0: the plan's, which never changes. */
static uint32_t
global_batch_said(const struct mixer_phase *phase)
{
	return phase == NULL ? 0 : phase->global_batch;
}

/* What was in force before a plan was put in force. */
struct in_force {
	double raw[LIMIT_DOMAINS], temperature, lr_scale;
	uint32_t global_batch;
};

/* Puts back what `p` and `was` say alike of step_next. A domain of neither joined by request. */
static void
keep_in_force(struct mixer *m, const struct mixer_plan *p, const struct mixer_plan *was,
    const struct in_force *before)
{
	const struct mixer_phase *now = phase_before(p, m->at.step_next);
	const struct mixer_phase *then = phase_before(was, m->at.step_next);

	for (size_t i = 0; i < m->domains_n; i++) {
		const char *name = m->cursor[i].name;

		if (weights_bits(weight_said(p, now, name)) ==
		    weights_bits(weight_said(was, then, name)))
			m->shares.share[i].raw = before->raw[i];
	}
	if (weights_bits(temperature_said(p, now)) == weights_bits(temperature_said(was, then)))
		m->shares.version.temperature = before->temperature;
	if (weights_bits(lr_scale_said(now)) == weights_bits(lr_scale_said(then)))
		m->shares.version.lr_scale = before->lr_scale;
	if (global_batch_said(now) == global_batch_said(then))
		m->shares.version.global_batch = before->global_batch;
}

/* Puts in force what the plan says for step_next; a phase that starts there is still to come. */
static enum fail_code
weigh_by_plan(
    struct mixer *m, const struct mixer_plan *p, const struct mixer_plan *was, struct failure *f)
{
	struct in_force before = {.temperature = m->shares.version.temperature,
	    .lr_scale = m->shares.version.lr_scale,
	    .global_batch = m->shares.version.global_batch};
	uint64_t step = m->at.step_next;
	size_t started = agenda_phase_from(&m->agenda, step);
	const struct agenda_phase *phase = started == 0 ? NULL : &m->agenda.phase[started - 1];

	for (size_t i = 0; i < m->domains_n; i++)
		before.raw[i] = m->shares.share[i].raw;
	mixer_put_phase(m, phase);
	if (was != NULL)
		keep_in_force(m, p, was, &before);
	shares_begin_version(&m->shares, step, phase == NULL ? LEDGER_BY_CONFIG : LEDGER_BY_PHASE,
	    phase == NULL ? "" : phase->name);
	if (check_round(m, f) != FAIL_NONE)
		return f->code;
	if (!shares_weigh(&m->shares))
		return fail(f, FAIL_CONFIG,
		    "the configuration gives no weight to any domain that can still be drawn");
	return FAIL_NONE;
}

enum fail_code
mixer_replan(
    struct mixer *m, const struct mixer_plan *p, const struct mixer_plan *was, struct failure *f)
{
	uint64_t base = mixer_plan_hash(p);
	bool moved = base != m->shape.base;

	if (mixer_plan_check(p, f) != FAIL_NONE)
		return f->code;
	mixer_settle(m);
	for (size_t i = 0; i < m->domains_n; i++) {
		const char *name = m->cursor[i].name;
		bool known = was != NULL && mixer_plan_source(was, name) != NULL;

		if (check_stays_undrawn(m, i, p, f) != FAIL_NONE ||
		    (was != NULL && check_shuffle(m, i, p, was, f) != FAIL_NONE) ||
		    replan_domain(m, i, mixer_plan_source(p, name), known, &moved, f) != FAIL_NONE)
			return f->code;
	}
	for (size_t k = 0; k < p->sources_n; k++) {
		if (mixer_domain_named(m, p->source[k].name) >= 0)
			continue;
		if (mixer_add_domain(m, &p->source[k], f) != FAIL_NONE)
			return f->code;
		m->shares.share[m->domains_n - 1].base = p->source[k].weight;
		moved = true;
	}
	assert(m->domains_n >= p->sources_n);
	m->shape.temperature = p->temperature;
	m->shape.base = base;
	if (agenda_set_phases(&m->agenda, p->phase, p->phases_n, p->temperature, f) != FAIL_NONE)
		return f->code;
	return moved ? weigh_by_plan(m, p, was, f) : FAIL_NONE;
}

/* ---- what a caller may ask ---- */

uint64_t
mixer_step_next(const struct mixer *m)
{
	return m->at.step_next;
}

uint64_t
mixer_version(const struct mixer *m)
{
	return m->shares.version.number;
}

uint64_t
mixer_version_step(const struct mixer *m)
{
	return m->shares.version.step;
}

enum ledger_reason
mixer_reason(const struct mixer *m)
{
	return m->shares.version.reason;
}

const char *
mixer_reason_id(const struct mixer *m)
{
	return m->shares.version.reason_id;
}

const char *
mixer_phase_name(const struct mixer *m)
{
	return m->shares.version.phase;
}

double
mixer_lr_scale(const struct mixer *m)
{
	return m->shares.version.lr_scale;
}

double
mixer_temperature(const struct mixer *m)
{
	return m->shares.version.temperature;
}

uint32_t
mixer_global_batch(const struct mixer *m)
{
	return m->shares.version.global_batch;
}

uint32_t
mixer_global_batch_most(const struct mixer *m)
{
	uint32_t most = agenda_batch_most(&m->agenda), now = m->shares.version.global_batch;

	now = m->shape.global_batch > now ? m->shape.global_batch : now; /* what phases return to */
	return most > now ? most : now;
}

size_t
mixer_pending(const struct mixer *m)
{
	return agenda_waiting(&m->agenda);
}

size_t
mixer_domains(const struct mixer *m)
{
	return m->domains_n;
}

const char *
mixer_domain_name(const struct mixer *m, uint32_t domain)
{
	assert(domain < m->domains_n);
	return m->cursor[domain].name;
}

int
mixer_domain_named(const struct mixer *m, const char *name)
{
	for (size_t i = 0; name != NULL && i < m->domains_n; i++)
		if (strcmp(m->cursor[i].name, name) == 0)
			return (int)i;
	return -1;
}

void
mixer_stand(const struct mixer *m, uint32_t domain, struct mixer_standing *out)
{
	const struct cursor *c = &m->cursor[domain];
	const struct share *h = &m->shares.share[domain];
	uint64_t passes;

	assert(domain < m->domains_n);
	passes = cursor_passes(c);
	*out = (struct mixer_standing){
	    .state = h->state,
	    .live = cursor_deals(c) && !c->all_sealed,
	    .share = shares_of(&m->shares, domain),
	    .weight = h->raw,
	    .taken = c->place.taken,
	    .tokens = c->place.tokens,
	    .epoch = c->place.epoch,
	    .position = c->place.position,
	    .length = cursor_length(c),
	    .passes = passes == UINT64_MAX ? 0 : passes,
	    .credit = shares_credit(&m->shares, domain),
	    .owed = (int64_t)h->owed,
	    .lent = h->lent,
	};
}

size_t
mixer_partitions(const struct mixer *m, uint32_t domain)
{
	assert(domain < m->domains_n);
	return m->cursor[domain].partitions_n;
}

uint64_t
mixer_partition_taken(const struct mixer *m, uint32_t domain, uint32_t partition)
{
	assert(domain < m->domains_n);
	assert(partition < m->cursor[domain].partitions_n);
	return m->cursor[domain].taken[partition];
}

uint64_t
mixer_partition_sequences(const struct mixer *m, uint32_t domain, uint32_t partition)
{
	assert(domain < m->domains_n);
	assert(partition < m->cursor[domain].partitions_n);
	return m->cursor[domain].sequences[partition];
}

uint64_t
mixer_round(const struct mixer *m, uint64_t *draws)
{
	*draws = m->shares.round_draws;
	return m->shares.round;
}
