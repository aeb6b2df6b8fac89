#include "consumer/replay/drawn.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/batch.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/mixer/mixer.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/replay/replay.h"

enum {
	ASK_MS = 15000,
	/*
	 * Records, for each sequence that is looked for, that are read rather than halved: a search
	 * in the ledger asks the broker some twenty times.
	 */
	NEAR_RECORDS = 1024,
	STOP_STEPS = 256, /* to come, between two looks at `stop` */
};

/* A sequence that is looked for, by the mix's number of its domain. */
struct target {
	uint32_t domain, partition;
	uint64_t ordinal;
	size_t sequence;
	bool seen; /* among the steps to come */
};

struct search {
	const struct drawn_options *o;
	struct ledger_log *log;
	struct target *target; /* [n], in the order of by_place() */
	size_t n;
	bool *wanted; /* [domains_n]: has targets */
	size_t domains_n;
	struct ledger_plan plan; /* of the record with this configuration: */
	char *config;
	struct mixer_draw *draw; /* [draws_room] */
	size_t draws_room, unseen;
	uint64_t near_steps; /* that so many records hold, on the average */
};

/* ---- what is looked for ---- */

static int
by_place(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* Numbers are never used twice: those of the last record hold for all. */
static enum fail_code
set_targets(struct search *s, const struct ledger *last, struct failure *f)
{
	s->domains_n = last->domains_n;
	s->target = calloc(s->o->n + 1, sizeof(*s->target));
	s->wanted = calloc(s->domains_n + 1, sizeof(*s->wanted));
	if (s->target == NULL || s->wanted == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < s->o->n; i++) {
		const struct drawn_sequence *q = &s->o->sequence[i];

		for (uint32_t d = 0; d < last->domains_n; d++) {
			if (last->domain[d].name == NULL ||
			    strcmp(last->domain[d].name, q->domain) != 0)
				continue;
			s->target[s->n++] = (struct target){.domain = d,
			    .partition = q->partition,
			    .ordinal = q->ordinal,
			    .sequence = i};
			s->wanted[d] = true;
		}
	}
	qsort(s->target, s->n, sizeof(*s->target), by_place);
	s->unseen = s->n;
	return FAIL_NONE;
}

/* What was drawn, if it is looked for and the step is. */
static enum fail_code
look(struct search *s, uint64_t step, uint32_t lane, uint32_t slot, const struct batch_drawn *d,
    bool planned, struct failure *f)
{
	const struct target want = {d->domain, d->partition, d->ordinal, 0, false};
	struct drawn found = {
	    .step = step, .epoch = d->epoch, .lane = lane, .slot = slot, .planned = planned};
	struct target *t;

	if (d->domain >= s->domains_n || !s->wanted[d->domain] || step < s->o->first ||
	    step >= s->o->end)
		return FAIL_NONE;
	t = bsearch(&want, s->target, s->n, sizeof(*s->target), by_place);
	if (t == NULL)
		return FAIL_NONE;
	if (planned && !t->seen) {
		t->seen = true;
		s->unseen--;
	}
	found.sequence = t->sequence;
	return s->o->found(s->o->opaque, &found, f);
}

static enum fail_code
look_step(struct search *s, const struct mixer_plan *p, const struct mixer *m, uint64_t step,
    bool planned, struct failure *f)
{
	uint32_t each = mixer_global_batch(m) / p->lanes;

	for (uint32_t i = 0; i < mixer_global_batch(m); i++) {
		const struct mixer_draw *d = &s->draw[i];
		const struct batch_drawn drawn = {d->domain, d->partition, d->ordinal, d->epoch};

		if (look(s, step, i / each, i % each, &drawn, planned, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* ---- between two records ---- */

/* The rules of a record; what depends on its lengths is the caller's. */
static enum fail_code
plan_of(struct search *s, const struct ledger *l, struct failure *f)
{
	if (s->config != NULL && l->config != NULL && strcmp(s->config, l->config) == 0)
		return FAIL_NONE;
	ledger_plan_close(&s->plan);
	free(s->config);
	s->config = strdup(l->config == NULL ? "" : l->config);
	if (s->config == NULL)
		return fail_memory(f);
	return ledger_plan_open(&s->plan, l, f);
}

/* Whether the position of a target lies in [from, to) of the epoch in which `l` has the domain. */
static enum fail_code
is_within(struct search *s, const struct target *t, const struct ledger *l, int64_t from,
    int64_t to, bool *within, struct failure *f)
{
	uint64_t position;
	bool there;

	if (plan_of(s, l, f) != FAIL_NONE ||
	    mixer_position_of(&s->plan.plan, &l->domain[t->domain], t->partition, t->ordinal,
		&there, &position, f) != FAIL_NONE)
		return f->code;
	*within = there && (int64_t)position >= from && (int64_t)position < to;
	return FAIL_NONE;
}

enum drawn_between
drawn_between(const struct ledger_domain *x, const struct ledger_domain *y)
{
	if (y->taken == (x == NULL ? 0 : x->taken))
		return DRAWN_NONE;
	if (x == NULL)
		return y->epoch == 0 ? DRAWN_BEFORE : DRAWN_ANY;
	if (x->epoch == y->epoch)
		return DRAWN_WITHIN;
	return x->epoch + 1 == y->epoch && !(x->live && x->epoch == 0) ? DRAWN_ACROSS : DRAWN_ANY;
}

/* Whether a target may have been drawn between the records `a` and `b`. */
static enum fail_code
was_between(struct search *s, const struct target *t, const struct ledger *a,
    const struct ledger *b, bool *was, struct failure *f)
{
	bool joined = t->domain >= a->domains_n;
	const struct ledger_domain *x = joined ? NULL : &a->domain[t->domain];
	const struct ledger_domain *y = &b->domain[t->domain];

	switch (drawn_between(x, y)) {
	case DRAWN_NONE: *was = false; return FAIL_NONE;
	case DRAWN_WITHIN: return is_within(s, t, b, x->position, y->position, was, f);
	case DRAWN_ACROSS:
		if (is_within(s, t, a, x->position, INT64_MAX, was, f) != FAIL_NONE)
			return f->code;
		if (*was)
			return FAIL_NONE;
		return is_within(s, t, b, 0, y->position, was, f);
	case DRAWN_BEFORE: return is_within(s, t, b, 0, y->position, was, f);
	case DRAWN_ANY: *was = true; return FAIL_NONE;
	}
	abort(); /* unreachable */
}

/* How many targets may have been drawn between two records; at most `enough` are counted. */
static enum fail_code
count_between(struct search *s, const struct ledger *a, const struct ledger *b, uint64_t enough,
    uint64_t *count, struct failure *f)
{
	*count = 0;
	for (size_t i = 0; i < s->n && *count < enough; i++) {
		const struct target *t = &s->target[i];
		bool was = false;

		if (t->domain < b->domains_n && was_between(s, t, a, b, &was, f) != FAIL_NONE)
			return f->code;
		*count += was;
	}
	return FAIL_NONE;
}

/* ---- one transaction ---- */

static enum fail_code
look_lane(void *search, uint32_t lane, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct search *s = search;
	struct sequence_payload_view payload;
	struct batch_drawn drawn;
	struct batch_view b;

	if (batch_decode(&b, bytes, n, f) != FAIL_NONE)
		return f->code;
	for (uint32_t slot = 0; slot < b.sequences_n; slot++)
		if (batch_next(&b, &drawn, &payload, f) != FAIL_NONE ||
		    look(s, b.head.step, lane, slot, &drawn, false, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
replay_transaction(struct search *s, const struct ledger *now, struct failure *f)
{
	return replay_derive(s->o->config, s->o->mix, (uint64_t)now->step_first,
	    (uint64_t)now->step_next, look_lane, s, f);
}

static enum fail_code
make_room(struct search *s, const struct mixer *m, struct failure *f)
{
	uint32_t most = mixer_global_batch_most(m);

	if (most <= s->draws_room)
		return FAIL_NONE;
	free(s->draw);
	s->draws_room = 0;
	s->draw = calloc(most, sizeof(*s->draw));
	if (s->draw == NULL)
		return fail_memory(f);
	s->draws_room = most;
	return FAIL_NONE;
}

static enum fail_code
step_transaction(struct search *s, const struct mixer_plan *p, const struct ledger *before,
    const struct ledger *now, struct failure *f)
{
	struct ledger after = {0};
	struct mixer *m;
	enum fail_code code;

	if (mixer_resume(&m, p, before, f) != FAIL_NONE)
		return f->code;
	code = make_room(s, m, f);
	if (code == FAIL_NONE)
		code = mixer_take_snapshot(m, now, f);
	while (code == FAIL_NONE && mixer_step_next(m) < (uint64_t)now->step_next) {
		uint64_t step = mixer_step_next(m);
		enum mixer_result result;

		code = mixer_step(m, s->draw, &result, f);
		if (code == FAIL_NONE && result != MIXER_DRAWN)
			code = fail(f, FAIL_DATA, "step %" PRIu64 " cannot be drawn again", step);
		if (code == FAIL_NONE)
			code = look_step(s, p, m, step, false, f);
	}
	if (code == FAIL_NONE)
		code = mixer_save(m, &after, f);
	if (code == FAIL_NONE && after.choices != now->choices)
		code = fail(f, FAIL_DATA,
		    "steps %" PRId64 "..%" PRId64
		    " are not drawn as the ledger has it: `riffle replay` says what differs",
		    now->step_first, now->step_next);
	ledger_clear(&after);
	mixer_close(m);
	return code;
}

static enum fail_code
derive(struct search *s, const struct ledger *before, const struct ledger *now, struct failure *f)
{
	struct ledger_plan plan;
	enum fail_code code;

	if (ledger_plan_open(&plan, now, f) != FAIL_NONE)
		return f->code;
	code = mixer_plan_needs_tokens(&plan.plan)
		   ? replay_transaction(s, now, f)
		   : step_transaction(s, &plan.plan, before, now, f);
	ledger_plan_close(&plan);
	return code;
}

/* ---- along the ledger ---- */

/* From the record that holds the state before step `first` to the one that reaches `end`. */
static enum fail_code
read_through(struct search *s, uint64_t first, uint64_t end, struct failure *f)
{
	struct ledger before = {0}, now = {0};
	int64_t offset;
	enum fail_code code = ledger_log_seek(s->log, first, false, f);

	if (code == FAIL_NONE)
		code = ledger_log_next(s->log, ASK_MS, &before, &offset, f);
	while (code == FAIL_NONE && (uint64_t)before.step_next < end) {
		uint64_t count = 0;

		if (stop_asked(s->o->stop))
			code = fail(f, FAIL_STOPPED, "stopped");
		if (code == FAIL_NONE)
			code = ledger_log_next(s->log, ASK_MS, &now, &offset, f);
		if (code == FAIL_NONE && now.step_next > now.step_first)
			code = count_between(s, &before, &now, 1, &count, f);
		if (code == FAIL_NONE && count > 0)
			code = derive(s, &before, &now, f);
		if (code != FAIL_NONE)
			break;
		ledger_clear(&before);
		before = now;
		memset(&now, 0, sizeof(now));
	}
	ledger_clear(&before);
	ledger_clear(&now);
	return code;
}

/* The state in which `step` was drawn. */
static enum fail_code
state_at(struct search *s, uint64_t step, struct ledger *out, struct failure *f)
{
	int64_t offset;

	if (ledger_log_seek(s->log, step, false, f) != FAIL_NONE)
		return f->code;
	return ledger_log_next(s->log, ASK_MS, out, &offset, f);
}

/* All draws between two states; see the top of drawn.h. At most 64 deep. */
static enum fail_code
halve(struct search *s, const struct ledger *a, const struct ledger *b, struct failure *f)
{
	uint64_t first = (uint64_t)a->step_next, end = (uint64_t)b->step_next;
	struct ledger middle = {0};
	uint64_t count;
	enum fail_code code;

	if (stop_asked(s->o->stop))
		return fail(f, FAIL_STOPPED, "stopped");
	if (first >= end)
		return FAIL_NONE;
	if (count_between(s, a, b, (end - first) / s->near_steps + 1, &count, f) != FAIL_NONE)
		return f->code;
	if (count == 0)
		return FAIL_NONE;
	if (end - first <= s->near_steps * count)
		return read_through(s, first, end, f);
	code = state_at(s, first + (end - first) / 2, &middle, f);
	if (code == FAIL_NONE && (uint64_t)middle.step_next <= first)
		code = read_through(s, first, end, f);
	else if (code == FAIL_NONE) {
		code = halve(s, a, &middle, f);
		if (code == FAIL_NONE)
			code = halve(s, &middle, b, f);
	}
	ledger_clear(&middle);
	return code;
}

/* The published steps of the range. */
static enum fail_code
find_published(struct search *s, const struct ledger *last, struct failure *f)
{
	uint64_t end =
	    s->o->end < (uint64_t)last->step_next ? s->o->end : (uint64_t)last->step_next;
	struct ledger a = {0}, b = {0};
	uint64_t first = s->o->first;
	bool any;
	enum fail_code code = ledger_log_first(s->log, &a, &any, f);

	if (code == FAIL_NONE && first < (uint64_t)a.step_next)
		first = (uint64_t)a.step_next; /* a mix that was republished begins there */
	ledger_clear(&a);
	if (code != FAIL_NONE || first >= end)
		return code;
	code = state_at(s, first, &a, f);
	if (code == FAIL_NONE)
		code = state_at(s, end, &b, f);
	while (
	    code == FAIL_NONE && (uint64_t)b.step_next < end) { /* the transaction reaches over */
		int64_t offset;

		ledger_clear(&b);
		code = ledger_log_next(s->log, ASK_MS, &b, &offset, f);
	}
	if (code == FAIL_NONE)
		code = halve(s, &a, &b, f);
	ledger_clear(&a);
	ledger_clear(&b);
	return code;
}

/* ---- steps to come ---- */

static enum fail_code
find_planned(
    struct search *s, const struct ledger *last, struct drawn_result *out, struct failure *f)
{
	struct ledger_plan plan;
	struct mixer *m = NULL;
	uint64_t end = s->o->end;
	enum fail_code code;

	out->ended = last->kind == LEDGER_END;
	if (!s->o->plan || out->ended || s->n == 0)
		return FAIL_NONE;
	if (end == UINT64_MAX)
		end = out->published + DRAWN_STEPS_MAX;
	if (ledger_plan_open(&plan, last, f) != FAIL_NONE)
		return f->code;
	out->full = mixer_plan_needs_tokens(&plan.plan);
	code = mixer_resume(&m, &plan.plan, last, f);
	if (code == FAIL_NONE)
		code = make_room(s, m, f);
	while (code == FAIL_NONE && out->planned_end < end &&
	       (s->o->end != UINT64_MAX || s->unseen > 0)) {
		enum mixer_result result;

		if (out->planned_end % STOP_STEPS == 0 && stop_asked(s->o->stop))
			code = fail(f, FAIL_STOPPED, "stopped");
		if (code == FAIL_NONE)
			code = mixer_step(m, s->draw, &result, f);
		if (code != FAIL_NONE)
			break;
		out->ended = result == MIXER_ENDED;
		if (result == MIXER_DRY)
			snprintf(out->dry, sizeof(out->dry), "%s",
			    mixer_domain_name(m, mixer_blocked(m)->domain));
		if (result != MIXER_DRAWN)
			break;
		code = look_step(s, &plan.plan, m, out->planned_end++, true, f);
	}
	mixer_close(m);
	ledger_plan_close(&plan);
	return code;
}

enum fail_code
drawn_find(const struct drawn_options *o, struct drawn_result *out, struct failure *f)
{
	struct search s = {.o = o};
	struct ledger last = {0};
	bool any = false;
	enum fail_code code;

	assert(o->first <= o->end);
	*out = (struct drawn_result){0};
	code = ledger_log_open(&s.log, o->mix, &o->config->kafka, ASK_MS, f);
	if (code == FAIL_NONE)
		code = ledger_log_last(s.log, &last, &any, f);
	if (code == FAIL_NONE && !any)
		code = fail(f, FAIL_DATA, "mix %s has not started: its ledger is empty", o->mix);
	if (code == FAIL_NONE)
		code = set_targets(&s, &last, f);
	if (code == FAIL_NONE) {
		uint64_t offsets = (uint64_t)ledger_log_last_offset(s.log) + 1;

		out->published = out->planned_end = (uint64_t)last.step_next;
		s.near_steps = NEAR_RECORDS * (out->published / offsets + 1);
		code = find_published(&s, &last, f);
	}
	if (code == FAIL_NONE)
		code = find_planned(&s, &last, out, f);
	ledger_clear(&last);
	ledger_log_close(s.log);
	ledger_plan_close(&s.plan);
	free(s.config);
	free(s.target);
	free(s.wanted);
	free(s.draw);
	return code;
}
