/*
 * Requests: what one asks for becomes a change, which is judged, kept until its step, and answered.
 *
 * Whether a change may be is not a question of the present state: it takes effect later. It must
 * hold at its step, with all that comes before it, and must leave possible what comes after it. So
 * the judge plays the agenda through, without drawing:
 *
 *     before   a copy of the mixer in which all is in force that precedes the change: phases and
 *              requests up to its step, in the order in which mixer_step() will take them
 *     after    a copy of `before` with the change in force
 *     rest     a copy of `after` in which all is in force that follows, up to the last phase
 *
 * A check fails where the state of its step forbids it: a domain that has left, a range that is
 * none, not one positive weight. A failure of something else than the change that is judged names
 * it.
 *
 * Positions do not move on those copies: what the judge cannot know, such as the end of a domain
 * before the step, it does not judge; a weight for a domain that is gone by then has no effect.
 *
 * A request is judged on a trial copy of the mixer, because a domain that joins goes into the mix
 * before it is judged. The trial becomes the mixer where the request is accepted and is thrown away
 * where it is refused, so that a refusal changes nothing but the list of answered ids.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "consumer/mixer/mixer_effect.h"
#include "consumer/mixer/mixer_internal.h"

/* ---- answers ---- */

static const char *
text_or_empty(const char *text)
{
	return text == NULL ? "" : text;
}

/* Fills *answer; step -1: refused. Takes `text`, NULL: no memory was left for it. */
static enum fail_code
answer_with(struct mixer *m, const struct control *c, int64_t step, char *text,
    struct ledger_answer *answer, struct failure *f)
{
	const char *id = text_or_empty(c->id);

	assert(step >= -1);
	*answer = (struct ledger_answer){.accepted = step >= 0, .step = step, .text = text};
	answer->id = strndup(id, MIXER_ID_BYTES_MAX);
	if (answer->id == NULL || text == NULL)
		fail_memory(f);
	else if (id[0] == '\0' || strlen(id) > MIXER_ID_BYTES_MAX ||
		 request_ids_add(&m->answered, id, f) == FAIL_NONE)
		return FAIL_NONE;
	ledger_answer_clear(answer);
	return f->code;
}

bool
mixer_has_answered(const struct mixer *m, const char *id)
{
	return request_ids_has(&m->answered, text_or_empty(id));
}

enum fail_code
mixer_refuse(struct mixer *m, const struct control *c, const char *reason,
    struct ledger_answer *answer, bool *duplicate, struct failure *f)
{
	assert(reason != NULL);
	*answer = (struct ledger_answer){0};
	*duplicate = mixer_has_answered(m, c->id);
	if (*duplicate)
		return FAIL_NONE;
	return answer_with(m, c, -1, strdup(reason), answer, f);
}

enum fail_code
mixer_accept(struct mixer *m, const struct control *c, const char *text,
    struct ledger_answer *answer, struct failure *f)
{
	assert(!mixer_has_answered(m, c->id));
	assert(c->id != NULL && c->id[0] != '\0');
	return answer_with(m, c, (int64_t)m->at.step_next, strdup(text), answer, f);
}

/* ---- what a request may not say, whatever the state ---- */

static enum fail_code
check_numbers(const struct control *c, struct failure *f)
{
	for (size_t i = 0; i < c->weights_n; i++) {
		const struct ledger_raw_weight *w = &c->weight[i];

		if (!(w->weight >= 0) || !isfinite(w->weight))
			return fail(f, FAIL_DATA,
			    "the weight of domain %s must be a finite number of at least 0, not %g",
			    text_or_empty(w->domain), w->weight);
		for (size_t k = 0; k < i; k++)
			if (strcmp(text_or_empty(c->weight[k].domain), text_or_empty(w->domain)) ==
			    0)
				return fail(f, FAIL_DATA, "domain %s has two weights",
				    text_or_empty(w->domain));
	}
	if (c->temperature != 0 && (!(c->temperature > 0) || !isfinite(c->temperature)))
		return fail(
		    f, FAIL_DATA, "temperature must be a positive number, not %g", c->temperature);
	if (c->lr_scale != 0 && (!(c->lr_scale > 0) || !isfinite(c->lr_scale)))
		return fail(
		    f, FAIL_DATA, "lr_scale must be a positive number, not %g", c->lr_scale);
	return FAIL_NONE;
}

/* Every lane has as many sequences of a step as any other. */
static enum fail_code
check_batch(const struct mixer *m, const struct control *c, struct failure *f)
{
	uint32_t lanes = m->shape.lanes, most = LIMIT_BATCH / lanes * lanes;
	uint32_t below = c->global_batch / lanes * lanes;

	if (c->global_batch == 0 || c->global_batch == below)
		return c->global_batch <= most ? FAIL_NONE
					       : fail(f, FAIL_DATA,
						     "global_batch can be at most %u with %u "
						     "lanes, not %u",
						     most, lanes, c->global_batch);
	if (below == 0 || below >= most)
		return fail(f, FAIL_DATA,
		    "global_batch must be a multiple of the mix's %u lanes, not %u: the nearest is "
		    "%u",
		    lanes, c->global_batch, below == 0 ? lanes : most);
	return fail(f, FAIL_DATA,
	    "global_batch must be a multiple of the mix's %u lanes, not %u: the nearest are %u and "
	    "%u",
	    lanes, c->global_batch, below, below + lanes);
}

static enum fail_code
check_id(const struct control *c, struct failure *f)
{
	const char *id = text_or_empty(c->id);

	if (id[0] != '\0' && strlen(id) <= MIXER_ID_BYTES_MAX)
		return FAIL_NONE;
	return fail(f, FAIL_DATA, "a request needs an id of 1 to %d bytes, not %zu",
	    MIXER_ID_BYTES_MAX, strlen(id));
}

static enum fail_code
check_request(const struct mixer *m, const struct control *c, struct failure *f)
{
	if (check_id(c, f) != FAIL_NONE)
		return f->code;
	if (c->at_step < -1)
		return fail(f, FAIL_DATA, "at_step must be a step, or -1 for the next, not %lld",
		    (long long)c->at_step);
	if (mixer_pending(m) >= LEDGER_PENDING_MAX)
		return fail(f, FAIL_DATA,
		    "%d accepted requests wait for their steps: no more are taken before one of "
		    "them takes effect",
		    LEDGER_PENDING_MAX);
	if (c->kind == LEDGER_WEIGHTS && c->weights_n == 0 && c->temperature == 0 &&
	    c->lr_scale == 0 && c->global_batch == 0)
		return fail(f, FAIL_DATA,
		    "asks for nothing: no weight, temperature, lr_scale or global_batch");
	if (c->kind != LEDGER_WEIGHTS && text_or_empty(c->domain)[0] == '\0')
		return fail(f, FAIL_DATA, "names no domain");
	return check_batch(m, c, f) == FAIL_NONE ? check_numbers(c, f) : f->code;
}

/* ---- what it may not say in the state of its step ---- */

static const char *
why_not_active(enum ledger_domain_state state)
{
	switch (state) {
	case LEDGER_DROPPED: return "was dropped at its end";
	case LEDGER_LEFT: return "has left the mix";
	case LEDGER_JOINING: return "has not joined yet";
	case LEDGER_ACTIVE: break;
	}
	return "";
}

/* A domain that is drawn from, or may be. */
static enum fail_code
need_active(const struct mixer *m, const char *name, int *domain, struct failure *f)
{
	int d = mixer_domain_named(m, name);

	if (d < 0)
		return fail(f, FAIL_DATA, "the mix has no domain %s", name == NULL ? "" : name);
	if (m->shares.share[d].state != LEDGER_ACTIVE)
		return fail(
		    f, FAIL_DATA, "domain %s %s", name, why_not_active(m->shares.share[d].state));
	*domain = d;
	return FAIL_NONE;
}

static bool
is_empty(const struct mixer *m, int d)
{
	return m->cursor[d].all_sealed && cursor_length(&m->cursor[d]) == 0;
}

static enum fail_code
check_weights(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	for (size_t i = 0; i < c->weights_n; i++) {
		const struct ledger_raw_weight *w = &c->weight[i];
		int d = -1;

		if (c->kind == LEDGER_JOIN && strcmp(w->domain, c->domain) == 0)
			d = mixer_domain_named(m, w->domain);
		else if (need_active(m, w->domain, &d, f) != FAIL_NONE)
			return f->code;
		if (w->weight > 0 && is_empty(m, d))
			return fail(f, FAIL_DATA, "domain %s has weight %g and not one sequence%s",
			    w->domain, w->weight,
			    c->kind == LEDGER_JOIN
				? ""
				: ": this mix took it in empty, and never draws what is appended "
				  "to it; start another mix to use it");
	}
	return FAIL_NONE;
}

static enum fail_code
check_join(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);

	assert(d >= 0);
	if (m->shares.share[d].state != LEDGER_JOINING)
		return fail(f, FAIL_DATA, "domain %s is in the mix already", c->domain);
	for (size_t i = 0; i < c->weights_n; i++)
		if (strcmp(c->weight[i].domain, c->domain) == 0)
			return FAIL_NONE;
	return fail(f, FAIL_DATA, "domain %s would join without a weight", c->domain);
}

/* The range of a skip, or of one that is taken back. */
static enum fail_code
check_range(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);

	if (d < 0)
		return fail(f, FAIL_DATA, "the mix has no domain %s", c->domain);
	if (c->partition < 0 || (size_t)c->partition >= m->cursor[d].partitions_n)
		return fail(f, FAIL_DATA, "domain %s has no partition %d (0 to %zu)", c->domain,
		    (int)c->partition, m->cursor[d].partitions_n - 1);
	if (c->first < 0 || c->end <= c->first)
		return fail(f, FAIL_DATA, "%lld..%lld is no range of ordinals: a..b has 0 <= a < b",
		    (long long)c->first, (long long)c->end);
	return FAIL_NONE;
}

static enum fail_code
check_skip(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	if (check_range(m, c, f) != FAIL_NONE)
		return f->code;
	if (m->exclusions.skips_n == LEDGER_SKIPS_MAX)
		return fail(f, FAIL_DATA, "%d ranges are skipped already: no more can be kept",
		    LEDGER_SKIPS_MAX);
	return FAIL_NONE;
}

/* The accepted skip that waits for a later step and takes some of the range out; NULL: none. */
static const struct ledger_change *
skip_to_come(const struct mixer *m, const struct ledger_change *c)
{
	for (size_t i = m->agenda.done; i < m->agenda.pending_n; i++) {
		const struct ledger_change *p = &m->agenda.pending[i];

		if (p->kind == LEDGER_SKIP && p->step > c->step &&
		    strcmp(p->domain, c->domain) == 0 && p->partition == c->partition &&
		    p->first < c->end && c->first < p->end)
			return p;
	}
	return NULL;
}

/* What is taken back must be skipped, or the word is a slip. */
static enum fail_code
check_undo(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	struct ledger_skip range = {0, (uint32_t)c->partition, c->first, c->end};
	const struct ledger_change *later;
	struct exclusions_within w;

	if (check_range(m, c, f) != FAIL_NONE)
		return f->code;
	range.domain = (uint32_t)mixer_domain_named(m, c->domain);
	w = exclusions_within(&m->exclusions, &range);
	if (w.skipped)
		return FAIL_NONE;
	later = skip_to_come(m, c);
	if (later != NULL)
		return fail(f, FAIL_DATA,
		    "%s/%d %lld..%lld is not skipped yet: request %s will do so at step %lld; "
		    "`riffle requests --cancel` withdraws it",
		    c->domain, (int)c->partition, (long long)c->first, (long long)c->end, later->id,
		    (long long)later->step);
	if (w.quarantined > 0)
		return fail(f, FAIL_DATA,
		    "%s/%d %lld..%lld is not skipped: %llu of these sequences are quarantined, and "
		    "a damaged sequence stays out",
		    c->domain, (int)c->partition, (long long)c->first, (long long)c->end,
		    (unsigned long long)w.quarantined);
	return fail(f, FAIL_DATA,
	    "no sequence of %s/%d in %lld..%lld is skipped: `riffle skip --list` shows which are",
	    c->domain, (int)c->partition, (long long)c->first, (long long)c->end);
}

/*
 * A new skip: ordinals that a sealed partition does not have are a mistake. An open one may grow:
 * what is not there yet can be kept out before it comes. Judged once, for a mixer of before may
 * have accepted what is pending.
 */
static enum fail_code
check_bounds(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);
	const struct cursor *cursor = &m->cursor[d];
	uint64_t n;

	assert(c->kind == LEDGER_SKIP);
	assert(d >= 0);
	assert((size_t)c->partition < cursor->partitions_n);
	n = cursor->sequences_next[c->partition];
	if (!cursor->sealed[c->partition] || (uint64_t)c->end <= n)
		return FAIL_NONE;
	if (n == 0)
		return fail(f, FAIL_DATA, "%s/%d is sealed and has no sequence", c->domain,
		    (int)c->partition);
	return fail(f, FAIL_DATA,
	    "%s/%d has the ordinals 0..%llu, and no more: %lld..%lld is beyond them", c->domain,
	    (int)c->partition, (unsigned long long)n, (long long)c->first, (long long)c->end);
}

/* After a skip: a domain that is drawn from must keep a sequence in each epoch. */
static enum fail_code
check_left(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d = mixer_domain_named(m, c->domain);
	const struct cursor *cursor = &m->cursor[d];
	uint64_t length = cursor_length(cursor);

	assert(c->kind == LEDGER_SKIP);
	assert(d >= 0);
	if (!cursor->all_sealed || m->shares.share[d].weight == 0 || length == 0)
		return FAIL_NONE;
	if (exclusions_count(&m->exclusions, (uint32_t)d, cursor->sequences, cursor->partitions_n) <
	    length)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "not one sequence of domain %s would be left; take it out with weight 0, or let it "
	    "leave",
	    c->domain);
}

static enum fail_code
check_in_state(const struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	int d;

	switch (c->kind) {
	case LEDGER_SKIP: return check_skip(m, c, f);
	case LEDGER_UNDO: return check_undo(m, c, f);
	case LEDGER_WEIGHTS: return check_weights(m, c, f);
	case LEDGER_JOIN:
		return check_join(m, c, f) == FAIL_NONE ? check_weights(m, c, f) : f->code;
	case LEDGER_LEAVE:
		return need_active(m, c->domain, &d, f) == FAIL_NONE ? check_weights(m, c, f)
								     : f->code;
	case LEDGER_RESET:
	case LEDGER_CANCEL: break;
	}
	assert(false);
	return FAIL_NONE;
}

/* ---- the future, on a copy ---- */

/* Puts the phases in force that start at `step` or before it; `course`, if not NULL, notes that. */
static enum fail_code
run_phases(struct mixer *m, uint64_t step, struct mixer_effect_course *course, struct failure *f)
{
	size_t i = agenda_phase_from(&m->agenda, m->at.step_next);

	for (; i < m->agenda.phases_n && m->agenda.phase[i].start_step <= step; i++) {
		assert(m->agenda.phase[i].start_step >= m->at.step_next);
		m->at.step_next = m->agenda.phase[i].start_step + 1;
		mixer_put_phase(m, &m->agenda.phase[i]);
		if (!shares_weigh(&m->shares))
			return fail(f, FAIL_DATA,
			    "phase %s at step %llu would have no domain with a weight",
			    m->agenda.phase[i].name,
			    (unsigned long long)m->agenda.phase[i].start_step);
		if (course != NULL &&
		    mixer_effect_note(course, m, m->agenda.phase[i].start_step, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Puts a change in force as mixer_step() will, or says why that is impossible. */
static enum fail_code
run_change(struct mixer *m, const struct ledger_change *c, struct failure *f)
{
	if (check_in_state(m, c, f) != FAIL_NONE || mixer_put_change(m, c, f) != FAIL_NONE)
		return f->code;
	if (c->kind == LEDGER_SKIP)
		return check_left(m, c, f);
	if (c->kind == LEDGER_UNDO && m->exclusions.skips_n > LEDGER_SKIPS_MAX)
		return fail(f, FAIL_DATA,
		    "what is left would be %zu ranges, and at most %d can be kept",
		    m->exclusions.skips_n, LEDGER_SKIPS_MAX);
	if (c->kind == LEDGER_UNDO)
		return FAIL_NONE;
	if (!shares_weigh(&m->shares))
		return fail(
		    f, FAIL_DATA, "no domain would have a weight: at least one must be positive");
	return FAIL_NONE;
}

/* Puts pending[from..to) of `a` in force, and the phases between; m's own agenda is not read. */
static enum fail_code
run_pending(struct mixer *m, const struct agenda *a, size_t from, size_t to,
    struct mixer_effect_course *course, struct failure *f)
{
	assert(from <= to);
	assert(to <= a->pending_n);
	for (size_t i = from; i < to; i++) {
		const struct ledger_change *c = &a->pending[i];

		if (run_phases(m, (uint64_t)c->step, course, f) != FAIL_NONE)
			return f->code;
		if (run_change(m, c, f) != FAIL_NONE)
			return f->code == FAIL_MEMORY
				   ? f->code
				   : fail_within(f,
					 "it would make the accepted request %s at step %lld "
					 "impossible",
					 c->id, (long long)c->step);
		if (course != NULL &&
		    mixer_effect_note(course, m, (uint64_t)c->step, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/*
 * FAIL_DATA: why the change cannot be. Gives *before and *after (mixer_close), also on failure
 * where they are not NULL, and in *course what is in force until then.
 */
static enum fail_code
judge(const struct mixer *m, const struct ledger_change *c, struct mixer **before,
    struct mixer **after, struct mixer_effect_course *course, struct failure *f)
{
	const struct agenda *a = &m->agenda;
	size_t until = a->done;
	struct mixer *rest = NULL;
	enum fail_code code;

	assert(c->step >= (int64_t)m->at.step_next);
	assert(until <= a->pending_n);
	while (until < a->pending_n && a->pending[until].step <= c->step)
		until++;
	if (mixer_copy(before, m, f) != FAIL_NONE ||
	    mixer_effect_note(course, m, m->at.step_next, f) != FAIL_NONE ||
	    run_pending(*before, a, a->done, until, course, f) != FAIL_NONE ||
	    run_phases(*before, (uint64_t)c->step, course, f) != FAIL_NONE ||
	    mixer_copy(after, *before, f) != FAIL_NONE || run_change(*after, c, f) != FAIL_NONE ||
	    mixer_copy(&rest, *after, f) != FAIL_NONE)
		return f->code;
	code = run_pending(rest, a, until, a->pending_n, NULL, f);
	if (code == FAIL_NONE)
		code = run_phases(rest, UINT64_MAX, NULL, f);
	mixer_close(rest);
	return code;
}

/* ---- the request ---- */

/* Whether the domain waits to join, and no accepted request lets it: that one was cancelled. */
static bool
join_was_cancelled(const struct mixer *m, int domain)
{
	if (m->shares.share[domain].state != LEDGER_JOINING)
		return false;
	for (size_t i = m->agenda.done; i < m->agenda.pending_n; i++) {
		const struct ledger_change *c = &m->agenda.pending[i];

		if (c->kind == LEDGER_JOIN && strcmp(c->domain, m->cursor[domain].name) == 0)
			return false;
	}
	return true;
}

/* The joining domain goes into the mix now, weightless, so that its index and lengths are kept. */
static enum fail_code
add_joining(
    struct mixer *m, const struct control *c, const struct mixer_source *s, struct failure *f)
{
	const struct mixer_plan plan = {.schedule = m->shares.schedule.kind,
	    .weights_unit = m->shape.weights_unit,
	    .epoch_size = m->shares.epoch_size};
	struct mixer_source source;
	int known = mixer_domain_named(m, c->domain);

	assert(c->kind == LEDGER_JOIN);
	if (known >= 0) {
		if (m->shares.share[known].state != LEDGER_LEFT && !join_was_cancelled(m, known))
			return fail(f, FAIL_DATA, "domain %s is in the mix already", c->domain);
		m->shares.share[known].state = LEDGER_JOINING;
		m->cursor[known].joined = true;
		return FAIL_NONE;
	}
	if (s == NULL)
		return fail(f, FAIL_DATA, "the topic of domain %s cannot be read", c->domain);
	assert(strcmp(s->name, c->domain) == 0);
	if (m->shares.epoch_size != 0 && m->domains_n + 1 > m->shares.epoch_size)
		return fail(f, FAIL_DATA,
		    "%llu draws a round are too few for a domain more: each is drawn at least once",
		    (unsigned long long)m->shares.epoch_size);
	source = mixer_plan_joined_rules(m->shape.shuffle);
	source.name = s->name;
	source.live = s->live;
	source.partitions_n = s->partitions_n;
	source.sequences = s->sequences;
	source.sealed = s->sealed;
	if (mixer_plan_check_source(&plan, &source, f) != FAIL_NONE ||
	    mixer_add_domain(m, &source, f) != FAIL_NONE)
		return f->code;
	m->cursor[m->domains_n - 1].joined = true;
	m->shares.share[m->domains_n - 1].state = LEDGER_JOINING;
	return FAIL_NONE;
}

static struct ledger_change
change_of(const struct mixer *m, const struct control *c)
{
	int64_t next = (int64_t)m->at.step_next;

	return (struct ledger_change){
	    .id = c->id,
	    .step = c->at_step > next ? c->at_step : next,
	    .kind = c->kind,
	    .weight = c->weight,
	    .weights_n = c->weights_n,
	    .temperature = c->temperature,
	    .lr_scale = c->lr_scale,
	    .global_batch = c->global_batch,
	    .domain = c->domain,
	    .partition = c->partition,
	    .first = c->first,
	    .end = c->end,
	    .who = c->who,
	};
}

/*
 * Judges on `m`, a copy of the mixer that a refusal throws away; gives what the change does, and
 * that as the answer's text.
 */
static enum fail_code
accept(struct mixer *m, const struct control *c, const struct mixer_source *joining,
    struct mixer_effect *effect, char **text, struct failure *f)
{
	const struct ledger_change change = change_of(m, c);
	struct mixer *before = NULL, *after = NULL;
	struct mixer_effect_course course = {0};
	enum fail_code code = check_request(m, c, f);

	if (code == FAIL_NONE && c->kind == LEDGER_JOIN)
		code = add_joining(m, c, joining, f);
	if (code == FAIL_NONE)
		code = judge(m, &change, &before, &after, &course, f);
	if (code == FAIL_NONE && c->kind == LEDGER_SKIP)
		code = check_bounds(m, &change, f);
	if (code == FAIL_NONE)
		code = agenda_insert(&m->agenda, &change, f);
	if (code == FAIL_NONE)
		code = mixer_effect_open(effect, m, before, after, &course, &change, c->at_step, f);
	if (code == FAIL_NONE) {
		*text = mixer_answer_text(effect, &change);
		code = *text == NULL ? fail_memory(f) : FAIL_NONE;
	}
	mixer_effect_forget(&course);
	mixer_close(before);
	mixer_close(after);
	return code;
}

/*
 * Withdraws an accepted request on `m`, a copy as in accept(). What waits behind it must still be
 * possible. A domain that was to join stays in the mix without a weight, as its answer left it.
 */
static enum fail_code
cancel(struct mixer *m, const struct control *c, char **text, struct failure *f)
{
	const char *id = text_or_empty(c->request);
	const struct ledger_change *change;
	struct text t = {0};
	struct mixer *rest = NULL;
	enum fail_code code = check_id(c, f);

	if (code != FAIL_NONE)
		return code;
	change = agenda_find(&m->agenda, id);
	if (change == NULL && mixer_has_answered(m, id))
		return fail(f, FAIL_DATA,
		    "request %s does not wait any more: it has taken effect, or was refused or "
		    "cancelled",
		    id);
	if (change == NULL)
		return fail(f, FAIL_DATA, "the mix knows no request %.200s", id);
	text_add(&t, "request %s is cancelled: it would have taken effect at step %lld (by %.100s)",
	    id, (long long)change->step, text_or_empty(c->who));
	agenda_remove(&m->agenda, change);
	code = mixer_copy(&rest, m, f);
	if (code == FAIL_NONE)
		code = run_pending(rest, &m->agenda, m->agenda.done, m->agenda.pending_n, NULL, f);
	if (code == FAIL_NONE)
		code = run_phases(rest, UINT64_MAX, NULL, f);
	mixer_close(rest);
	*text = text_take(&t);
	if (code == FAIL_NONE && *text == NULL)
		code = fail_memory(f);
	return code;
}

enum fail_code
mixer_request(struct mixer *m, const struct control *c, const struct mixer_source *joining,
    struct ledger_answer *answer, bool *duplicate, struct failure *f)
{
	struct mixer_effect effect;
	enum fail_code code =
	    mixer_request_with_effect(m, c, joining, answer, duplicate, &effect, f);

	mixer_effect_clear(&effect);
	return code;
}

enum fail_code
mixer_request_with_effect(struct mixer *m, const struct control *c,
    const struct mixer_source *joining, struct ledger_answer *answer, bool *duplicate,
    struct mixer_effect *effect, struct failure *f)
{
	struct mixer *trial, swap;
	char *text = NULL;
	int64_t step = c->kind == LEDGER_CANCEL ? (int64_t)m->at.step_next : change_of(m, c).step;
	enum fail_code code;

	assert(c->kind != LEDGER_RESET);
	*answer = (struct ledger_answer){0};
	*effect = (struct mixer_effect){0};
	*duplicate = mixer_has_answered(m, c->id);
	if (*duplicate)
		return FAIL_NONE;
	mixer_settle(m);
	if (mixer_copy(&trial, m, f) != FAIL_NONE)
		return f->code;
	code = c->kind == LEDGER_CANCEL ? cancel(trial, c, &text, f)
					: accept(trial, c, joining, effect, &text, f);
	if (code != FAIL_NONE) {
		free(text);
		mixer_effect_clear(effect);
		mixer_close(trial);
	}
	if (code == FAIL_MEMORY)
		return code;
	if (code != FAIL_NONE)
		return answer_with(m, c, -1, strdup(f->text), answer, f);
	code = answer_with(trial, c, step, text, answer, f);
	if (code == FAIL_NONE) { /* the trial becomes the mixer */
		trial->tokens = m->tokens;
		trial->tokens_opaque = m->tokens_opaque;
		swap = *m;
		*m = *trial;
		*trial = swap;
	}
	mixer_close(trial);
	return code;
}
