/* A mixer from its ledger record, which comes from outside: all that drawing relies on is checked.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "consumer/mixer/mixer_state.h"

__extension__ typedef __int128 wide;

/* More than any topic holds, and little enough that sums and steps beyond it fit 63 bits. */
#define LENGTH_MAX (INT64_C(1) << 48)
#define COUNT_MAX  (INT64_C(1) << 62)

/* ---- domains ---- */

static const char *
text_or_empty(const char *text)
{
	return text == NULL ? "" : text;
}

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

/* What the ledger says of a domain, and its rules. */
static struct mixer_source
source_of(
    const struct mixer_plan *p, const struct ledger_domain *l, uint64_t *sequences, bool *sealed)
{
	const struct mixer_source *planned = mixer_source_named(p, l->name);
	struct mixer_source s = mixer_joined_rules();

	if (planned != NULL)
		s = *planned;
	for (size_t k = 0; k < l->partitions_n; k++) {
		sequences[k] = (uint64_t)l->partition[k].sequences;
		sealed[k] = l->partition[k].sealed;
	}
	s.name = l->name;
	s.live = l->live;
	s.partitions_n = l->partitions_n;
	s.sequences = sequences;
	s.sealed = sealed;
	return s;
}

static void
resume_cursor(struct mixer *m, size_t i, const struct ledger_domain *l)
{
	struct cursor *c = &m->now.cursor[i];

	c->state = l->state;
	c->raw_weight = l->raw_weight;
	c->base_weight = l->base_weight;
	c->weight = l->weight;
	c->epoch = (uint64_t)l->epoch;
	c->position = (uint64_t)l->position;
	c->taken = (uint64_t)l->taken;
	c->tokens = (uint64_t)l->tokens;
	c->owed = (uint64_t)l->owed;
	c->repay = (uint64_t)l->repay;
	for (size_t k = 0; k < l->partitions_n; k++)
		m->now.taken_in_epoch[m->domain[i].partition_first + k] =
		    (uint64_t)l->partition[k].taken;
}

static enum fail_code
resume_domain(
    struct mixer *m, const struct mixer_plan *p, const struct ledger_domain *l, struct failure *f)
{
	uint64_t sequences[ORDER_PARTITIONS_MAX];
	bool sealed[ORDER_PARTITIONS_MAX];
	size_t i = m->domains_n;
	struct mixer_source s;
	struct domain *d;

	if (check_domain(l, i, f) != FAIL_NONE)
		return f->code;
	if (mixer_domain_named(m, l->name) >= 0)
		return fail(f, FAIL_DATA, "ledger: domain %s is there twice", l->name);
	s = source_of(p, l, sequences, sealed);
	if (mixer_add_domain(m, &s, &d, f) != FAIL_NONE)
		return f->code;
	d->joined = l->joined;
	resume_cursor(m, i, l);
	for (size_t k = 0; k < l->partitions_n; k++)
		d->sequences_next[k] = (uint64_t)l->partition[k].sequences_next;
	if (mixer_reorder(m, d, f) != FAIL_NONE)
		return f->code;
	if ((uint64_t)l->position > mixer_length(m, i))
		return fail(f, FAIL_DATA, "ledger: domain %s: position %lld is past its end",
		    l->name, (long long)l->position);
	return FAIL_NONE;
}

/* ---- the schedule ---- */

static enum fail_code
refuse_schedule(const struct ledger_domain *d, struct failure *f)
{
	return fail(f, FAIL_DATA, "ledger: domain %s cannot have weight %llu and credit %lld",
	    d->name, (unsigned long long)d->weight, (long long)d->credit);
}

/* A domain that cannot be drawn has no claim. */
static bool
can_be_weighed(const struct mixer *m, size_t i, const struct ledger_domain *d)
{
	if (m->schedule == SCHEDULE_GREEDY) {
		double w = weights_double(d->weight);

		if (!(w >= 0 && w <= 1.0000001) || d->greedy_count < 0)
			return false;
	}
	if (d->weight == 0)
		return d->credit <= 0 && d->round_weight == 0;
	if (m->epoch_size != 0 && d->round_weight == 0 && d->credit > 0)
		return false;
	return m->now.cursor[i].state == LEDGER_ACTIVE &&
	       (mixer_length(m, i) > 0 || m->domain[i].live);
}

/* Integers that sum to what they must; credits within what can come about, and 0 in sum. */
static enum fail_code
check_sums(const struct mixer *m, const struct ledger *l, struct failure *f)
{
	uint64_t total = m->epoch_size == 0 ? WEIGHT_ONE : m->epoch_size;
	wide weights = 0, dealt = 0, credits = 0, claims = 0;
	wide most = (wide)total * (wide)m->now.schedule.unit * (wide)l->domains_n;

	for (size_t i = 0; i < l->domains_n; i++) {
		const struct ledger_domain *d = &l->domain[i];

		if (d->weight > total || d->round_weight > total || d->credit > most ||
		    d->credit < -most || (m->schedule == SCHEDULE_RANDOM && d->credit != 0))
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
	if (m->epoch_size == 0 ? dealt != 0
			       : dealt > (wide)total || dealt < (wide)(total - m->now.round_draws))
		return fail(f, FAIL_DATA,
		    "ledger: %llu draws of a round of %llu are dealt out, %llu of them drawn",
		    (unsigned long long)dealt, (unsigned long long)total,
		    (unsigned long long)m->now.round_draws);
	return FAIL_NONE;
}

/* Rounds are of the schedule deficit and count draws; each domain is in each. */
static enum fail_code
check_rounds(const struct mixer *m, struct failure *f)
{
	if (m->epoch_size == 0)
		return FAIL_NONE;
	if (m->schedule != SCHEDULE_DEFICIT || m->weights_unit == MIXER_BY_TOKENS)
		return fail(f, FAIL_DATA, "ledger: rounds of %llu draws in a mix without rounds",
		    (unsigned long long)m->epoch_size);
	if (m->domains_n > m->epoch_size)
		return fail(f, FAIL_DATA, "ledger: %zu domains in rounds of %llu draws",
		    m->domains_n, (unsigned long long)m->epoch_size);
	return FAIL_NONE;
}

static enum fail_code
resume_schedule(struct mixer *m, const struct ledger *l, struct failure *f)
{
	uint64_t weight[LIMIT_DOMAINS];
	struct schedule *s = &m->now.schedule;
	bool any = false;

	for (size_t i = 0; i < l->domains_n; i++) {
		const struct ledger_domain *d = &l->domain[i];

		if (!can_be_weighed(m, i, d))
			return refuse_schedule(d, f);
		weight[i] = m->epoch_size == 0 ? d->weight : d->round_weight;
		any = any || m->schedule != SCHEDULE_GREEDY || weights_double(d->weight) > 0;
	}
	if (!any)
		return fail(f, FAIL_DATA, "ledger: no domain has a weight");
	if (m->schedule != SCHEDULE_GREEDY && check_sums(m, l, f) != FAIL_NONE)
		return f->code;
	schedule_set_weights(s, weight, l->domains_n);
	for (size_t i = 0; i < l->domains_n; i++)
		s->credit[i] = m->schedule == SCHEDULE_GREEDY ? l->domain[i].greedy_count
							      : l->domain[i].credit;
	s->draws = (uint64_t)(m->schedule == SCHEDULE_GREEDY ? l->greedy_draws : l->draws);
	return FAIL_NONE;
}

/* ---- the rest ---- */

static enum fail_code
resume_force(struct mixer *m, const struct ledger *l, struct failure *f)
{
	struct force *force = &m->now.force;
	const char *id = text_or_empty(l->reason_id), *phase = text_or_empty(l->phase);

	if (l->domains_n < 1 || l->domains_n > LIMIT_DOMAINS || l->step_next < 0 ||
	    l->step_next > COUNT_MAX || l->draws < 0 || l->draws > COUNT_MAX ||
	    l->round > COUNT_MAX || l->version > COUNT_MAX || l->greedy_draws > COUNT_MAX ||
	    l->round < 0 || l->round_draws < 0 || l->epoch_size < 0 || l->greedy_draws < 0 ||
	    (uint64_t)l->epoch_size > MIXER_EPOCH_MAX || l->version < 0 || l->version_step < 0 ||
	    (l->epoch_size == 0 ? l->round_draws != 0 : l->round_draws >= l->epoch_size))
		return fail(f, FAIL_DATA, "ledger: %zu domains at step %lld", l->domains_n,
		    (long long)l->step_next);
	if (!(l->temperature > 0) || !isfinite(l->temperature) || !(l->lr_scale > 0) ||
	    !isfinite(l->lr_scale) || strlen(id) > MIXER_ID_BYTES_MAX ||
	    strlen(phase) > NAME_MAX_BYTES)
		return fail(f, FAIL_DATA,
		    "ledger: temperature %g, lr_scale %g, phase %s, reason %s cannot be in force",
		    l->temperature, l->lr_scale, phase, id);
	m->now.step_next = (uint64_t)l->step_next;
	m->now.draws = (uint64_t)l->draws;
	m->now.choices = l->choices;
	m->now.round = (uint64_t)l->round;
	m->now.round_draws = (uint64_t)l->round_draws;
	m->epoch_size = (uint64_t)l->epoch_size;
	m->base = l->base;
	m->control_next = l->control_next;
	*force = (struct force){
	    .version = (uint64_t)l->version,
	    .version_step = (uint64_t)l->version_step,
	    .reason = l->reason,
	    .temperature = l->temperature,
	    .lr_scale = l->lr_scale,
	};
	memcpy(force->reason_id, id, strlen(id) + 1);
	memcpy(force->phase, phase, strlen(phase) + 1);
	return FAIL_NONE;
}

static enum fail_code
resume_exclusions(struct mixer *m, const struct ledger *l, struct failure *f)
{
	for (size_t i = 0; i < l->skips_n; i++) {
		const struct ledger_skip *s = &l->skip[i];

		if (s->domain >= m->domains_n || s->first < 0 || s->end <= s->first)
			return fail(f, FAIL_DATA, "ledger: skip number %zu contradicts itself", i);
		if (mixer_put_skip(m, s, f) != FAIL_NONE)
			return f->code;
	}
	for (size_t i = 0; i < l->quarantined_n; i++) {
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

/* What mixer_put_change() relies on. */
static bool
change_is_sound(const struct mixer *m, const struct ledger_change *c)
{
	int d = mixer_domain_named(m, c->domain);
	bool sound = c->step >= (int64_t)m->now.step_next && c->temperature >= 0 &&
		     isfinite(c->temperature) && c->lr_scale >= 0 && isfinite(c->lr_scale) &&
		     strlen(text_or_empty(c->id)) <= MIXER_ID_BYTES_MAX;

	for (size_t i = 0; i < c->weights_n; i++)
		sound = sound && c->weight[i].weight >= 0 && isfinite(c->weight[i].weight);
	if (c->kind == LEDGER_SKIP)
		return sound && d >= 0 && c->partition >= 0 && c->first >= 0 && c->end > c->first;
	return sound && (c->kind == LEDGER_WEIGHTS || d >= 0);
}

static enum fail_code
resume_pending(struct mixer *m, const struct ledger *l, struct failure *f)
{
	for (size_t i = 0; i < l->pending_n; i++) {
		const struct ledger_change *c = &l->pending[i];

		if (!change_is_sound(m, c))
			return fail(f, FAIL_DATA,
			    "ledger: the pending request %s contradicts itself",
			    text_or_empty(c->id));
		if (mixer_insert_change(m, c, f) != FAIL_NONE)
			return f->code;
	}
	for (size_t i = 0; i < l->request_ids_n; i++)
		if (mixer_remember_id(m, text_or_empty(l->request_id[i]), f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

enum fail_code
mixer_resume(
    struct mixer **out, const struct mixer_plan *p, const struct ledger *l, struct failure *f)
{
	struct mixer *m;

	if (mixer_check_plan(p, f) != FAIL_NONE)
		return f->code;
	m = mixer_from_plan(p);
	if (m == NULL)
		return fail_memory(f);
	if (resume_force(m, l, f) != FAIL_NONE)
		goto failed;
	for (size_t i = 0; i < l->domains_n; i++)
		if (resume_domain(m, p, &l->domain[i], f) != FAIL_NONE)
			goto failed;
	if (check_rounds(m, f) != FAIL_NONE)
		goto failed;
	if (resume_schedule(m, l, f) != FAIL_NONE || resume_exclusions(m, l, f) != FAIL_NONE ||
	    resume_pending(m, l, f) != FAIL_NONE)
		goto failed;
	*out = m;
	return FAIL_NONE;
failed:
	mixer_close(m);
	return f->code;
}
