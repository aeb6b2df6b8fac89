/*
 * A mixer's state as a ledger record: saving, resuming, and the snapshot that a replay takes.
 *
 * The two directions stand side by side, part by part: what save_x() writes, resume_x() reads. The
 * record holds numbers that are decided, never ones that would be calculated again: quantised
 * weights, credits, positions. Derived state (orders, windows, the index of exclusions) is built
 * again.
 *
 * A ledger comes from outside. resume_x() checks all that drawing relies on: sums of weights and
 * credits, positions inside lengths, ranges, and that no number can overflow in later arithmetic.
 * What fails a check is FAIL_DATA, never an assertion.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "consumer/mixer/mixer_internal.h"

__extension__ typedef __int128 wide;

/* More than any topic holds, and little enough that sums and steps beyond it fit 63 bits. */
#define LENGTH_MAX (INT64_C(1) << 48)
#define COUNT_MAX  (INT64_C(1) << 62)

static const char *
text_or_empty(const char *text)
{
	return text == NULL ? "" : text;
}

/* ---- domains ---- */

static enum fail_code
save_domain(const struct mixer *m, size_t i, struct ledger_domain *l, struct failure *f)
{
	const struct cursor *c = &m->cursor[i];
	const struct share *h = &m->shares.share[i];
	const uint64_t *sequences = c->place.extended ? c->sequences_next : c->sequences;
	bool greedy = m->shares.schedule.kind == SCHEDULE_GREEDY;
	int64_t credit = m->shares.schedule.credit[i];

	assert(h->owed <= INT64_MAX);
	assert(c->place.taken <= INT64_MAX);
	assert(c->place.tokens <= INT64_MAX);
	l->name = strdup(c->name);
	l->partition = calloc(c->partitions_n, sizeof(*l->partition));
	if (l->name == NULL || l->partition == NULL)
		return fail_memory(f);
	l->index = (uint32_t)i;
	l->state = h->state;
	l->weight = h->weight;
	l->round_weight = m->shares.epoch_size == 0 ? 0 : m->shares.schedule.weight[i];
	l->raw_weight = h->raw;
	l->base_weight = h->base;
	l->joined = c->joined;
	l->live = c->live;
	l->credit = greedy ? 0 : credit;
	l->greedy_count = greedy ? credit : 0;
	l->taken = (int64_t)c->place.taken;
	l->tokens = (int64_t)c->place.tokens;
	l->epoch = (int64_t)c->place.epoch;
	l->position = (int64_t)c->place.position;
	l->owed = (int64_t)h->owed;
	l->repay = (int64_t)h->repay;
	for (size_t k = 0; k < c->partitions_n; k++)
		l->partition[k] = (struct ledger_partition){
		    .sequences = (int64_t)sequences[k],
		    .sealed = c->sealed[k],
		    .sequences_next = (int64_t)c->sequences_next[k],
		    .taken = (int64_t)c->taken[k],
		};
	l->partitions_n = c->partitions_n;
	return FAIL_NONE;
}

/* Checks what resume_domain() casts and copies: signs, ranges, lengths that fit each other. */
static enum fail_code
check_domain(const struct ledger_domain *l, size_t i, struct failure *f)
{
	const char *name = text_or_empty(l->name);

	if (!names_valid(name) || l->index != i || l->partitions_n < 1 ||
	    l->partitions_n > ORDER_PARTITIONS_MAX || l->epoch < 0 || l->position < 0 ||
	    l->taken < 0 || l->taken > COUNT_MAX || l->tokens < 0 || l->tokens > COUNT_MAX ||
	    l->epoch > COUNT_MAX || l->owed < 0 || l->owed > COUNT_MAX || l->repay < 0 ||
	    l->repay > (int64_t)(2000 * WEIGHT_ONE) || !(l->raw_weight >= 0) ||
	    !isfinite(l->raw_weight) || !(l->base_weight >= 0) || !isfinite(l->base_weight))
		return fail(
		    f, FAIL_DATA, "ledger: domain number %zu (%s) contradicts itself", i, name);
	for (size_t k = 0; k < l->partitions_n; k++) {
		const struct ledger_partition *p = &l->partition[k];

		if (p->sequences < 0 || p->taken < 0 || p->sequences_next > LENGTH_MAX ||
		    p->sequences_next < p->sequences ||
		    (!p->sealed && (p->sequences_next != p->sequences || !l->live || l->epoch > 0)))
			return fail(f, FAIL_DATA,
			    "ledger: domain %s: the lengths of partition %zu contradict each other",
			    name, k);
	}
	return FAIL_NONE;
}

/* Adds the domain: its rules are the plan's, all else is the ledger's. */
static enum fail_code
resume_domain(
    struct mixer *m, const struct mixer_plan *p, const struct ledger_domain *l, struct failure *f)
{
	uint64_t sequences[ORDER_PARTITIONS_MAX], next[ORDER_PARTITIONS_MAX],
	    taken[ORDER_PARTITIONS_MAX];
	bool sealed[ORDER_PARTITIONS_MAX];
	const struct mixer_source *planned = mixer_plan_source(p, text_or_empty(l->name));
	struct mixer_source s = planned == NULL ? mixer_plan_joined_rules(p->shuffle) : *planned;
	const struct cursor_place place = {
	    .epoch = (uint64_t)l->epoch,
	    .position = (uint64_t)l->position,
	    .taken = (uint64_t)l->taken,
	    .tokens = (uint64_t)l->tokens,
	};
	size_t i = m->domains_n;
	struct share *h;

	if (check_domain(l, i, f) != FAIL_NONE)
		return f->code;
	if (mixer_domain_named(m, l->name) >= 0)
		return fail(f, FAIL_DATA, "ledger: domain %s is there twice", l->name);
	for (size_t k = 0; k < l->partitions_n; k++) {
		sequences[k] = (uint64_t)l->partition[k].sequences;
		next[k] = (uint64_t)l->partition[k].sequences_next;
		taken[k] = (uint64_t)l->partition[k].taken;
		sealed[k] = l->partition[k].sealed;
	}
	s.name = l->name;
	s.live = l->live;
	s.partitions_n = l->partitions_n;
	s.sequences = sequences;
	s.sealed = sealed;
	if (mixer_add_domain(m, &s, f) != FAIL_NONE)
		return f->code;
	m->cursor[i].joined = l->joined;
	h = &m->shares.share[i];
	h->state = l->state;
	h->raw = l->raw_weight;
	h->base = l->base_weight;
	h->weight = l->weight;
	h->owed = (uint64_t)l->owed;
	h->repay = (uint64_t)l->repay;
	if (cursor_restore(&m->cursor[i], &place, taken, next, f) != FAIL_NONE)
		return f->code;
	if ((uint64_t)l->position > cursor_length(&m->cursor[i]))
		return fail(f, FAIL_DATA, "ledger: domain %s: position %lld is past its end",
		    l->name, (long long)l->position);
	return FAIL_NONE;
}

/* The domain's cursor alone, as it is in the mixer that resumes from the record. */
enum fail_code
mixer_position_of(const struct mixer_plan *p, const struct ledger_domain *l, uint32_t partition,
    uint64_t ordinal, bool *there, uint64_t *position, struct failure *f)
{
	struct mixer *m = mixer_from_plan(p);
	struct ledger_domain alone = *l; /* borrows */
	enum fail_code code;

	if (m == NULL)
		return fail_memory(f);
	alone.index = 0;
	code = resume_domain(m, p, &alone, f);
	if (code == FAIL_NONE)
		*there = cursor_position_of(&m->cursor[0], partition, ordinal, position);
	mixer_close(m);
	return code;
}

/* ---- the schedule ---- */

static enum fail_code
refuse_schedule(const struct ledger_domain *d, struct failure *f)
{
	return fail(f, FAIL_DATA, "ledger: domain %s cannot have weight %llu and credit %lld",
	    d->name, (unsigned long long)d->weight, (long long)d->credit);
}

/*
 * Whether domain i may have the weight and the credit of the record. A domain with a weight is
 * active and has something to draw, or is live and may get it. One without has no claim: its credit
 * is not positive, or it would be drawn.
 */
static bool
can_be_weighed(const struct mixer *m, size_t i, const struct ledger_domain *d)
{
	if (m->shares.schedule.kind == SCHEDULE_GREEDY) {
		double w = weights_double(d->weight);

		if (!(w >= 0 && w <= 1.0000001) || d->greedy_count < 0)
			return false;
	}
	if (d->weight == 0)
		return d->credit <= 0 && d->round_weight == 0;
	if (m->shares.epoch_size != 0 && d->round_weight == 0 && d->credit > 0)
		return false;
	return m->shares.share[i].state == LEDGER_ACTIVE &&
	       (cursor_length(&m->cursor[i]) > 0 || m->cursor[i].live);
}

/*
 * Checks the integers that drawing relies on. Weights sum to WEIGHT_ONE, or in rounds to the draws
 * of a round. Credits sum to 0, and no domain is more than a draw ahead, total * unit: so no credit
 * exceeds that times the number of domains.
 *
 * `dealt` is what the schedule holds in a round. A version that begins inside a round deals out
 * only the draws that remain of it, so that `dealt` is less than a round by the draws before that,
 * at most by all that the round has had.
 */
static enum fail_code
check_sums(const struct mixer *m, const struct ledger *l, struct failure *f)
{
	const struct shares *s = &m->shares;
	uint64_t total = s->epoch_size == 0 ? WEIGHT_ONE : s->epoch_size;
	wide weights = 0, dealt = 0, credits = 0, claims = 0;
	wide most = (wide)total * (wide)s->schedule.unit * (wide)l->domains_n;

	for (size_t i = 0; i < l->domains_n; i++) {
		const struct ledger_domain *d = &l->domain[i];

		if (d->weight > total || d->round_weight > total || d->credit > most ||
		    d->credit < -most || (s->schedule.kind == SCHEDULE_RANDOM && d->credit != 0))
			return refuse_schedule(d, f);
		weights += d->weight;
		dealt += d->round_weight;
		credits += d->credit;
		claims += d->credit > 0 ? d->credit : 0;
	}
	if (weights != (wide)total || credits != 0 || claims > most)
		return fail(f, FAIL_DATA,
		    "ledger: weights sum to %llu of %llu and credits to %lld of 0",
		    (unsigned long long)weights, (unsigned long long)total, (long long)credits);
	if (s->epoch_size == 0 ? dealt != 0
			       : dealt > (wide)total || dealt < (wide)(total - s->round_draws))
		return fail(f, FAIL_DATA,
		    "ledger: %llu draws of a round of %llu are dealt out, %llu of them drawn",
		    (unsigned long long)dealt, (unsigned long long)total,
		    (unsigned long long)s->round_draws);
	return FAIL_NONE;
}

/* Rounds need the schedule deficit and count draws; every domain is drawn in each of them. */
static enum fail_code
check_rounds(const struct mixer *m, struct failure *f)
{
	uint64_t epoch_size = m->shares.epoch_size;

	if (epoch_size == 0)
		return FAIL_NONE;
	if (m->shares.schedule.kind != SCHEDULE_DEFICIT || m->shape.weights_unit == MIX_BY_TOKENS)
		return fail(f, FAIL_DATA, "ledger: rounds of %llu draws in a mix without rounds",
		    (unsigned long long)epoch_size);
	if (m->domains_n > epoch_size)
		return fail(f, FAIL_DATA, "ledger: %zu domains in rounds of %llu draws",
		    m->domains_n, (unsigned long long)epoch_size);
	return FAIL_NONE;
}

/* Sets the weights, credits and draws that the schedule had, once all are checked. */
static enum fail_code
resume_schedule(struct mixer *m, const struct ledger *l, struct failure *f)
{
	struct schedule *s = &m->shares.schedule;
	uint64_t weight[LIMIT_DOMAINS];
	bool greedy = s->kind == SCHEDULE_GREEDY, any = false;

	for (size_t i = 0; i < l->domains_n; i++) {
		const struct ledger_domain *d = &l->domain[i];

		if (!can_be_weighed(m, i, d))
			return refuse_schedule(d, f);
		weight[i] = m->shares.epoch_size == 0 ? d->weight : d->round_weight;
		any = any || !greedy || weights_double(d->weight) > 0;
	}
	assert(l->domains_n == m->domains_n);
	if (!any)
		return fail(f, FAIL_DATA, "ledger: no domain has a weight");
	if (!greedy && check_sums(m, l, f) != FAIL_NONE)
		return f->code;
	schedule_set_weights(s, weight, l->domains_n);
	for (size_t i = 0; i < l->domains_n; i++)
		s->credit[i] = greedy ? l->domain[i].greedy_count : l->domain[i].credit;
	s->draws = (uint64_t)(greedy ? l->greedy_draws : l->draws);
	return FAIL_NONE;
}

/* ---- where the mix is, and the version of the weights ---- */

static enum fail_code
save_version(const struct mixer *m, struct ledger *l, struct failure *f)
{
	const struct shares *s = &m->shares;

	assert(m->at.step_next <= INT64_MAX);
	assert(m->at.draws <= INT64_MAX);
	assert(s->version.temperature > 0);
	assert(s->version.lr_scale > 0);
	assert(s->epoch_size == 0 ? s->round_draws == 0 : s->round_draws < s->epoch_size);
	l->step_next = (int64_t)m->at.step_next;
	l->draws = (int64_t)m->at.draws;
	l->choices = m->at.choices;
	l->version = (int64_t)s->version.number;
	l->version_step = (int64_t)s->version.step;
	l->reason = s->version.reason;
	l->reason_id = strdup(s->version.reason_id);
	l->phase = strdup(s->version.phase);
	if (l->reason_id == NULL || l->phase == NULL)
		return fail_memory(f);
	l->lr_scale = s->version.lr_scale;
	l->temperature = s->version.temperature;
	l->global_batch = s->version.global_batch;
	if (s->schedule.kind == SCHEDULE_GREEDY)
		l->greedy_draws = (int64_t)s->schedule.draws;
	l->base = m->shape.base;
	l->epoch_size = (int64_t)s->epoch_size;
	l->round = (int64_t)s->round;
	l->round_draws = (int64_t)s->round_draws;
	l->control_next = m->control_next;
	return FAIL_NONE;
}

/* Whether steps can have that many sequences, dealt to the lanes. */
static bool
batch_is_sound(const struct mixer *m, uint32_t batch)
{
	return batch > 0 && batch <= LIMIT_BATCH && batch % m->shape.lanes == 0;
}

static enum fail_code
resume_version(struct mixer *m, const struct ledger *l, struct failure *f)
{
	struct shares_version *v = &m->shares.version;
	/* A record of before it could change has none. */
	uint32_t batch = l->global_batch == 0 ? m->shape.global_batch : l->global_batch;
	const char *id = text_or_empty(l->reason_id), *phase = text_or_empty(l->phase);

	if (l->domains_n < 1 || l->domains_n > LIMIT_DOMAINS || l->step_next < 0 ||
	    l->step_next > COUNT_MAX || l->draws < 0 || l->draws > COUNT_MAX ||
	    l->round > COUNT_MAX || l->version > COUNT_MAX || l->greedy_draws > COUNT_MAX ||
	    l->round < 0 || l->round_draws < 0 || l->epoch_size < 0 || l->greedy_draws < 0 ||
	    (uint64_t)l->epoch_size > LIMIT_ROUND || l->version < 0 || l->version_step < 0 ||
	    (l->epoch_size == 0 ? l->round_draws != 0 : l->round_draws >= l->epoch_size))
		return fail(f, FAIL_DATA, "ledger: %zu domains at step %lld", l->domains_n,
		    (long long)l->step_next);
	if (!(l->temperature > 0) || !isfinite(l->temperature) || !(l->lr_scale > 0) ||
	    !isfinite(l->lr_scale) || strlen(id) > MIXER_ID_BYTES_MAX ||
	    strlen(phase) > NAME_MAX_BYTES)
		return fail(f, FAIL_DATA,
		    "ledger: temperature %g, lr_scale %g, phase %s, reason %s cannot be in force",
		    l->temperature, l->lr_scale, phase, id);
	if (!batch_is_sound(m, batch))
		return fail(f, FAIL_DATA,
		    "ledger: global_batch %u cannot be in force with %u lanes", batch,
		    m->shape.lanes);
	m->at = (struct mixer_at){
	    .step_next = (uint64_t)l->step_next,
	    .draws = (uint64_t)l->draws,
	    .choices = l->choices,
	};
	m->shares.epoch_size = (uint64_t)l->epoch_size;
	m->shares.round = (uint64_t)l->round;
	m->shares.round_draws = (uint64_t)l->round_draws;
	m->shape.base = l->base;
	m->control_next = l->control_next;
	*v = (struct shares_version){
	    .number = (uint64_t)l->version,
	    .step = (uint64_t)l->version_step,
	    .reason = l->reason,
	    .temperature = l->temperature,
	    .lr_scale = l->lr_scale,
	    .global_batch = batch,
	};
	memcpy(v->reason_id, id, strlen(id) + 1);
	memcpy(v->phase, phase, strlen(phase) + 1);
	return FAIL_NONE;
}

/* ---- exclusions ---- */

static enum fail_code
save_exclusions(const struct mixer *m, struct ledger *l, struct failure *f)
{
	const struct exclusions *x = &m->exclusions;

	assert(x->quarantined_n <= LEDGER_QUARANTINED_MAX);
	if (x->skips_n > 0) {
		l->skip = calloc(x->skips_n, sizeof(*l->skip));
		if (l->skip == NULL)
			return fail_memory(f);
		memcpy(l->skip, x->skip, x->skips_n * sizeof(*l->skip));
		l->skips_n = x->skips_n;
	}
	if (x->quarantined_n == 0)
		return FAIL_NONE;
	l->quarantined = calloc(x->quarantined_n, sizeof(*l->quarantined));
	if (l->quarantined == NULL)
		return fail_memory(f);
	for (; l->quarantined_n < x->quarantined_n; l->quarantined_n++) {
		struct ledger_quarantined *q = &l->quarantined[l->quarantined_n];
		char *reason = strdup(x->quarantined[l->quarantined_n].reason);

		if (reason == NULL)
			return fail_memory(f);
		*q = x->quarantined[l->quarantined_n];
		q->reason = reason;
	}
	return FAIL_NONE;
}

/* Quarantines what a record has from number `from` on. */
static enum fail_code
resume_quarantined(struct mixer *m, const struct ledger *l, size_t from, struct failure *f)
{
	for (size_t i = from; i < l->quarantined_n; i++) {
		const struct ledger_quarantined *q = &l->quarantined[i];

		if (q->domain >= m->domains_n || q->ordinal < 0)
			return fail(f, FAIL_DATA, "ledger: quarantined domain %u does not exist",
			    q->domain);
		if (mixer_quarantine(m, q->domain, q->partition, (uint64_t)q->ordinal,
			text_or_empty(q->reason), f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
resume_exclusions(struct mixer *m, const struct ledger *l, struct failure *f)
{
	for (size_t i = 0; i < l->skips_n; i++) {
		const struct ledger_skip *s = &l->skip[i];

		if (s->domain >= m->domains_n || s->first < 0 || s->end <= s->first)
			return fail(f, FAIL_DATA, "ledger: skip number %zu contradicts itself", i);
		if (exclusions_skip(&m->exclusions, s, f) != FAIL_NONE)
			return f->code;
	}
	return resume_quarantined(m, l, 0, f);
}

/* ---- requests that wait, and ids that were answered ---- */

static enum fail_code
save_requests(const struct mixer *m, struct ledger *l, struct failure *f)
{
	const struct agenda *a = &m->agenda;
	size_t waiting = agenda_waiting(a);

	assert(a->done + waiting == a->pending_n);
	if (waiting > 0) {
		l->pending = calloc(waiting, sizeof(*l->pending));
		if (l->pending == NULL)
			return fail_memory(f);
	}
	for (; l->pending_n < waiting; l->pending_n++)
		if (agenda_change_copy(&l->pending[l->pending_n],
			&a->pending[a->done + l->pending_n], f) != FAIL_NONE)
			return f->code;
	if (m->answered.n == 0)
		return FAIL_NONE;
	l->request_id = calloc(m->answered.n, sizeof(*l->request_id));
	if (l->request_id == NULL)
		return fail_memory(f);
	for (; l->request_ids_n < m->answered.n; l->request_ids_n++) {
		l->request_id[l->request_ids_n] = strdup(m->answered.id[l->request_ids_n]);
		if (l->request_id[l->request_ids_n] == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

/* What mixer_put_change() relies on. */
static bool
change_is_sound(const struct mixer *m, const struct ledger_change *c)
{
	int d = mixer_domain_named(m, c->domain);
	bool sound = c->step >= (int64_t)m->at.step_next && c->temperature >= 0 &&
		     isfinite(c->temperature) && c->lr_scale >= 0 && isfinite(c->lr_scale) &&
		     (c->global_batch == 0 || batch_is_sound(m, c->global_batch)) &&
		     strlen(text_or_empty(c->id)) <= MIXER_ID_BYTES_MAX;

	for (size_t i = 0; i < c->weights_n; i++)
		sound = sound && c->weight[i].weight >= 0 && isfinite(c->weight[i].weight);
	if (c->kind == LEDGER_RESET || c->kind == LEDGER_CANCEL)
		return false;
	if (c->kind == LEDGER_SKIP || c->kind == LEDGER_UNDO)
		return sound && d >= 0 && c->partition >= 0 && c->first >= 0 && c->end > c->first;
	return sound && (c->kind == LEDGER_WEIGHTS || d >= 0);
}

static enum fail_code
resume_requests(struct mixer *m, const struct ledger *l, struct failure *f)
{
	for (size_t i = 0; i < l->pending_n; i++) {
		const struct ledger_change *c = &l->pending[i];

		if (!change_is_sound(m, c))
			return fail(f, FAIL_DATA,
			    "ledger: the pending request %s contradicts itself",
			    text_or_empty(c->id));
		if (agenda_insert(&m->agenda, c, f) != FAIL_NONE)
			return f->code;
	}
	for (size_t i = 0; i < l->request_ids_n; i++)
		if (request_ids_add(&m->answered, text_or_empty(l->request_id[i]), f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* ---- the whole ---- */

enum fail_code
mixer_save(const struct mixer *m, struct ledger *l, struct failure *f)
{
	assert(l->domain == NULL && l->pending == NULL && l->request_id == NULL);
	if (save_version(m, l, f) != FAIL_NONE)
		return f->code;
	l->domain = calloc(m->domains_n, sizeof(*l->domain));
	if (l->domain == NULL)
		return fail_memory(f);
	while (l->domains_n < m->domains_n) {
		size_t i = l->domains_n++; /* ledger_clear() frees what of it was allocated */

		if (save_domain(m, i, &l->domain[i], f) != FAIL_NONE)
			return f->code;
	}
	if (save_requests(m, l, f) != FAIL_NONE)
		return f->code;
	return save_exclusions(m, l, f);
}

enum fail_code
mixer_resume(
    struct mixer **out, const struct mixer_plan *p, const struct ledger *l, struct failure *f)
{
	struct mixer *m;

	if (mixer_plan_check(p, f) != FAIL_NONE)
		return f->code;
	m = mixer_from_plan(p);
	if (m == NULL)
		return fail_memory(f);
	if (resume_version(m, l, f) != FAIL_NONE)
		goto failed;
	for (size_t i = 0; i < l->domains_n; i++)
		if (resume_domain(m, p, &l->domain[i], f) != FAIL_NONE)
			goto failed;
	if (check_rounds(m, f) != FAIL_NONE || resume_schedule(m, l, f) != FAIL_NONE ||
	    resume_exclusions(m, l, f) != FAIL_NONE || resume_requests(m, l, f) != FAIL_NONE)
		goto failed;
	*out = m;
	return FAIL_NONE;
failed:
	mixer_close(m);
	return f->code;
}

/* ---- the snapshot of a replay ---- */

/* Gives domain i the lengths of the record, once it is known to be the same domain. */
static enum fail_code
snapshot_domain(struct mixer *m, uint32_t i, const struct ledger_domain *l, struct failure *f)
{
	const struct cursor *c = &m->cursor[i];
	uint64_t sequences[ORDER_PARTITIONS_MAX];
	bool sealed[ORDER_PARTITIONS_MAX];

	assert(c->partitions_n <= ORDER_PARTITIONS_MAX);
	if (l->name == NULL || strcmp(l->name, c->name) != 0 || l->partitions_n != c->partitions_n)
		return fail(f, FAIL_DATA,
		    "ledger: domain number %u is %s with %zu partitions, and was %s with %zu", i,
		    text_or_empty(l->name), l->partitions_n, c->name, c->partitions_n);
	for (size_t k = 0; k < l->partitions_n; k++) {
		sequences[k] = (uint64_t)l->partition[k].sequences_next;
		sealed[k] = l->partition[k].sealed;
	}
	return mixer_set_lengths(m, i, sequences, sealed, f);
}

enum fail_code
mixer_take_snapshot(struct mixer *m, const struct ledger *l, struct failure *f)
{
	if (l->domains_n != m->domains_n)
		return fail(f, FAIL_DATA,
		    "ledger: %zu domains, and %zu in the record before: domains join in records of "
		    "their own",
		    l->domains_n, m->domains_n);
	for (uint32_t i = 0; i < m->domains_n; i++)
		if (snapshot_domain(m, i, &l->domain[i], f) != FAIL_NONE)
			return f->code;
	return resume_quarantined(m, l, m->exclusions.quarantined_n, f);
}
