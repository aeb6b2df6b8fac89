#include "consumer/replay/time_step.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/domain/documents.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/bound_config.h"
#include "consumer/replay/drawn.h"

enum { ASK_MS = 15000 };

struct search {
	const struct time_step_options *o;
	struct ledger last;
	const struct ledger_domain *domain; /* in `last` */
	struct drawn_sequence *sequence;    /* [n] */
	size_t n;
	struct time_step *out;
};

/* ---- the domain ---- */

static enum fail_code
fail_domain(const struct search *s, size_t live, struct failure *f)
{
	char names[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < s->last.domains_n && n < sizeof(names); i++)
		if (s->last.domain[i].live)
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
			    n > 0 ? ", " : "", s->last.domain[i].name);
	if (live == 0)
		return fail(f, FAIL_CONFIG,
		    "mix %s has no live domain: the sequences of others come in an order of their "
		    "own, and not by time",
		    s->o->mix);
	if (s->o->domain == NULL)
		return fail(f, FAIL_CONFIG,
		    "mix %s has several live domains, each with times of its own: name one of %s",
		    s->o->mix, names);
	return fail(f, FAIL_CONFIG, "mix %s has no live domain %s: it has %s", s->o->mix,
	    s->o->domain, names);
}

static enum fail_code
choose_domain(struct search *s, struct failure *f)
{
	size_t live = 0;

	for (size_t i = 0; i < s->last.domains_n; i++) {
		const struct ledger_domain *d = &s->last.domain[i];

		if (!d->live || d->name == NULL)
			continue;
		live++;
		if (s->o->domain == NULL || strcmp(d->name, s->o->domain) == 0)
			s->domain = d;
	}
	if (s->domain == NULL || (s->o->domain == NULL && live > 1))
		return fail_domain(s, live, f);
	snprintf(s->out->domain, sizeof(s->out->domain), "%s", s->domain->name);
	return FAIL_NONE;
}

/* ---- its sequences from the time on ---- */

static enum fail_code
look_partition(
    struct search *s, struct documents *d, const char *topic, uint32_t partition, struct failure *f)
{
	uint64_t end = (uint64_t)s->domain->partition[partition].sequences_next;
	struct documents_sequence first;
	bool there;

	if (documents_seek_time(d, topic, (int32_t)partition, s->o->time_ms, &there, f) !=
		FAIL_NONE ||
	    (there && documents_next(d, &first, &there, f) != FAIL_NONE))
		return f->code;
	for (uint64_t i = 0; there && i < TIME_STEP_AFTER && first.ordinal + i < end; i++) {
		struct drawn_sequence *to = &s->sequence[s->n++];

		*to = (struct drawn_sequence){.partition = partition, .ordinal = first.ordinal + i};
		snprintf(to->domain, sizeof(to->domain), "%s", s->domain->name);
	}
	return FAIL_NONE;
}

static enum fail_code
list_sequences(struct search *s, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1], *corpus = NULL;
	struct documents *d = NULL;
	enum fail_code code = bound_config_corpus(&corpus, s->last.config, f);

	if (code == FAIL_NONE) {
		s->sequence =
		    calloc(s->domain->partitions_n * TIME_STEP_AFTER + 1, sizeof(*s->sequence));
		code = s->sequence == NULL ? fail_memory(f) : FAIL_NONE;
	}
	if (code == FAIL_NONE)
		code = documents_open(&d, &s->o->config->kafka, s->o->stop, ASK_MS, f);
	if (code == FAIL_NONE)
		names_domain_topic(topic, corpus, s->domain->name, SET_TRAIN);
	for (uint32_t p = 0; code == FAIL_NONE && p < s->domain->partitions_n; p++)
		code = look_partition(s, d, topic, p, f);
	documents_close(d);
	free(corpus);
	return code;
}

/* ---- the step ---- */

/* Later epochs repeat the first pass. */
static enum fail_code
take_lowest(void *search, const struct drawn *d, struct failure *f)
{
	struct search *s = search;
	struct time_step *out = s->out;

	(void)f;
	if (d->epoch > 0 || (out->drawn && out->step <= d->step))
		return FAIL_NONE;
	out->drawn = true;
	out->step = d->step;
	out->partition = s->sequence[d->sequence].partition;
	out->ordinal = s->sequence[d->sequence].ordinal;
	out->lane = d->lane;
	out->slot = d->slot;
	return FAIL_NONE;
}

static enum fail_code
find(struct search *s, struct failure *f)
{
	struct drawn_options o = {.config = s->o->config,
	    .mix = s->o->mix,
	    .end = (uint64_t)s->last.step_next,
	    .stop = s->o->stop,
	    .found = take_lowest,
	    .opaque = s};
	struct drawn_result ignored;

	if (choose_domain(s, f) != FAIL_NONE || list_sequences(s, f) != FAIL_NONE)
		return f->code;
	o.sequence = s->sequence;
	o.n = s->n;
	if (s->n > 0 && drawn_find(&o, &ignored, f) != FAIL_NONE)
		return f->code;
	if (!s->out->drawn)
		s->out->step = (uint64_t)s->last.step_next;
	return FAIL_NONE;
}

enum fail_code
time_step_find(struct time_step *out, const struct time_step_options *o, struct failure *f)
{
	struct search s = {.o = o, .out = out};
	bool any;
	enum fail_code code = ledger_log_ask(&s.last, &any, o->mix, &o->config->kafka, ASK_MS, f);

	assert(o->time_ms >= 0);
	*out = (struct time_step){0};
	if (code == FAIL_NONE && !any)
		code = fail(f, FAIL_DATA, "mix %s has not started: its ledger is empty", o->mix);
	if (code == FAIL_NONE)
		code = find(&s, f);
	free(s.sequence);
	ledger_clear(&s.last);
	return code;
}
