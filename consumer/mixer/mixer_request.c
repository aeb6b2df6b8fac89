/*
 * Requests: their ids and answers, what none may say, and how one becomes a change. Whether it
 * holds at its step is judged in mixer_judge.c, on a copy, which becomes the mixer where it does.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "consumer/mixer/mixer_state.h"

/* ---- ids and answers ---- */

static const char *
text_or_empty(const char *text)
{
	return text == NULL ? "" : text;
}

static bool
is_known(const struct mixer *m, const char *id)
{
	for (size_t i = 0; i < m->request_ids_n; i++)
		if (strcmp(m->request_id[i], id) == 0)
			return true;
	return false;
}

enum fail_code
mixer_remember_id(struct mixer *m, const char *id, struct failure *f)
{
	char **grown, *copy = strdup(id);

	if (copy == NULL)
		return fail_memory(f);
	if (m->request_ids_n == LEDGER_REQUEST_IDS_MAX) {
		free(m->request_id[0]);
		memmove(m->request_id, m->request_id + 1,
		    (m->request_ids_n - 1) * sizeof(*m->request_id));
		m->request_id[m->request_ids_n - 1] = copy;
		return FAIL_NONE;
	}
	grown = realloc(m->request_id, (m->request_ids_n + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(copy);
		return fail_memory(f);
	}
	m->request_id = grown;
	m->request_id[m->request_ids_n++] = copy;
	return FAIL_NONE;
}

/* Fills *answer; step -1: refused. Takes `text`, NULL: no memory was left for it. */
static enum fail_code
answer_with(struct mixer *m, const struct control *c, int64_t step, char *text,
    struct ledger_answer *answer, struct failure *f)
{
	const char *id = text_or_empty(c->id);

	*answer = (struct ledger_answer){.accepted = step >= 0, .step = step, .text = text};
	answer->id = strndup(id, MIXER_ID_BYTES_MAX);
	if (answer->id == NULL || text == NULL)
		fail_memory(f);
	else if (id[0] == '\0' || strlen(id) > MIXER_ID_BYTES_MAX ||
		 mixer_remember_id(m, id, f) == FAIL_NONE)
		return FAIL_NONE;
	ledger_answer_clear(answer);
	return f->code;
}

enum fail_code
mixer_refuse(struct mixer *m, const struct control *c, const char *reason,
    struct ledger_answer *answer, bool *duplicate, struct failure *f)
{
	*answer = (struct ledger_answer){0};
	*duplicate = is_known(m, text_or_empty(c->id));
	if (*duplicate)
		return FAIL_NONE;
	return answer_with(m, c, -1, strdup(reason), answer, f);
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

static enum fail_code
check_request(const struct mixer *m, const struct control *c, struct failure *f)
{
	const char *id = text_or_empty(c->id);

	if (id[0] == '\0' || strlen(id) > MIXER_ID_BYTES_MAX)
		return fail(f, FAIL_DATA, "a request needs an id of 1 to %d bytes, not %zu",
		    MIXER_ID_BYTES_MAX, strlen(id));
	if (c->at_step < -1)
		return fail(f, FAIL_DATA, "at_step must be a step, or -1 for the next, not %lld",
		    (long long)c->at_step);
	if (mixer_pending(m) >= LEDGER_PENDING_MAX)
		return fail(f, FAIL_DATA,
		    "%d accepted requests wait for their steps: no more are taken before one of "
		    "them takes effect",
		    LEDGER_PENDING_MAX);
	if (c->kind == LEDGER_WEIGHTS && c->weights_n == 0 && c->temperature == 0 &&
	    c->lr_scale == 0)
		return fail(f, FAIL_DATA, "asks for nothing: no weight, temperature or lr_scale");
	if (c->kind != LEDGER_WEIGHTS && text_or_empty(c->domain)[0] == '\0')
		return fail(f, FAIL_DATA, "names no domain");
	return check_numbers(c, f);
}

/* ---- the request ---- */

/* The joining domain goes into the mix now, weightless, so that its index and lengths are kept. */
static enum fail_code
add_joining(
    struct mixer *m, const struct control *c, const struct mixer_source *s, struct failure *f)
{
	const struct mixer_plan plan = {
	    .schedule = m->schedule, .weights_unit = m->weights_unit, .epoch_size = m->epoch_size};
	struct mixer_source source;
	struct domain *d;
	int known = mixer_domain_named(m, c->domain);

	if (known >= 0) {
		if (m->now.cursor[known].state != LEDGER_LEFT)
			return fail(f, FAIL_DATA, "domain %s is in the mix already", c->domain);
		m->now.cursor[known].state = LEDGER_JOINING;
		m->domain[known].joined = true;
		return FAIL_NONE;
	}
	if (s == NULL)
		return fail(f, FAIL_DATA, "the topic of domain %s cannot be read", c->domain);
	assert(strcmp(s->name, c->domain) == 0);
	if (m->epoch_size != 0 && m->domains_n + 1 > m->epoch_size)
		return fail(f, FAIL_DATA,
		    "%llu draws a round are too few for a domain more: each is drawn at least once",
		    (unsigned long long)m->epoch_size);
	source = mixer_joined_rules();
	source.name = s->name;
	source.live = s->live;
	source.partitions_n = s->partitions_n;
	source.sequences = s->sequences;
	source.sealed = s->sealed;
	if (mixer_check_source(&plan, &source, f) != FAIL_NONE ||
	    mixer_add_domain(m, &source, &d, f) != FAIL_NONE)
		return f->code;
	d->joined = true;
	m->now.cursor[m->domains_n - 1].state = LEDGER_JOINING;
	return FAIL_NONE;
}

static struct ledger_change
change_of(const struct mixer *m, const struct control *c)
{
	int64_t next = (int64_t)m->now.step_next;

	return (struct ledger_change){
	    .id = c->id,
	    .step = c->at_step > next ? c->at_step : next,
	    .kind = c->kind,
	    .weight = c->weight,
	    .weights_n = c->weights_n,
	    .temperature = c->temperature,
	    .lr_scale = c->lr_scale,
	    .domain = c->domain,
	    .partition = c->partition,
	    .first = c->first,
	    .end = c->end,
	    .who = c->who,
	};
}

/* Judges on `m`, a copy of the mixer that a refusal throws away; gives the answer's text. */
static enum fail_code
accept(struct mixer *m, const struct control *c, const struct mixer_source *joining, char **text,
    struct failure *f)
{
	const struct ledger_change change = change_of(m, c);
	struct mixer *before = NULL, *after = NULL;
	enum fail_code code = check_request(m, c, f);

	if (code == FAIL_NONE && c->kind == LEDGER_JOIN)
		code = add_joining(m, c, joining, f);
	if (code == FAIL_NONE)
		code = mixer_judge(m, &change, &before, &after, f);
	if (code == FAIL_NONE)
		code = mixer_insert_change(m, &change, f);
	if (code == FAIL_NONE) {
		*text = mixer_describe(m, before, after, &change, c->at_step);
		code = *text == NULL ? fail_memory(f) : FAIL_NONE;
	}
	mixer_close(before);
	mixer_close(after);
	return code;
}

enum fail_code
mixer_request(struct mixer *m, const struct control *c, const struct mixer_source *joining,
    struct ledger_answer *answer, bool *duplicate, struct failure *f)
{
	struct mixer *trial, swap;
	char *text = NULL;
	int64_t step = change_of(m, c).step;
	enum fail_code code;

	*answer = (struct ledger_answer){0};
	*duplicate = is_known(m, text_or_empty(c->id));
	if (*duplicate)
		return FAIL_NONE;
	mixer_settle(m);
	mixer_forget_done(m);
	m->undoable = false;
	if (mixer_copy(&trial, m, f) != FAIL_NONE)
		return f->code;
	code = accept(trial, c, joining, &text, f);
	if (code == FAIL_MEMORY) {
		mixer_close(trial);
		return code;
	}
	if (code != FAIL_NONE) {
		mixer_close(trial);
		return answer_with(m, c, -1, strdup(f->text), answer, f);
	}
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
