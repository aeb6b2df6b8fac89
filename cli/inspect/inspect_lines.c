#include "cli/inspect/inspect_lines.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/signals.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "consumer/domain/documents.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/bound_config.h"

enum { ASK_MS = 15000 };

/* A sequence of the step. */
struct place {
	char domain[NAME_MAX_BYTES + 1];
	uint32_t partition, lane;
	uint64_t ordinal;
	size_t slot;
	struct document_line *line; /* [n], owned; NULL: unknown */
	size_t n;
};

struct inspect_lines {
	struct place *place; /* by lane and slot, once all is read */
	size_t n, room;
};

void
inspect_lines_close(struct inspect_lines *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->place[i].line);
	free(l->place);
	free(l);
}

/* ---- which sequences ---- */

static enum fail_code
add_lane(struct inspect_lines *l, const struct published_step *s, uint32_t lane, struct failure *f)
{
	struct batch_domain *domain;
	struct batch_view b;
	struct place *grown;

	if (published_step_decode(&b, s, lane, f) != FAIL_NONE)
		return FAIL_NONE; /* who prints it says what is wrong with it */
	domain = calloc(b.domains_n + 1, sizeof(*domain));
	grown = realloc(l->place, (l->n + b.sequences_n + 1) * sizeof(*grown));
	if (grown != NULL)
		l->place = grown;
	if (domain == NULL || grown == NULL) {
		free(domain);
		return fail_memory(f);
	}
	batch_domains(&b, domain);
	for (size_t slot = 0; slot < b.sequences_n; slot++) {
		struct sequence_payload_view payload;
		struct place *to = &l->place[l->n];
		struct batch_drawn drawn;

		if (batch_next(&b, &drawn, &payload, f) != FAIL_NONE)
			break;
		*to = (struct place){.lane = lane,
		    .slot = slot,
		    .partition = drawn.partition,
		    .ordinal = drawn.ordinal,
		    .n = payload.spans_n};
		for (size_t i = 0; i < b.domains_n; i++)
			if (domain[i].index == drawn.domain && domain[i].name.n <= NAME_MAX_BYTES)
				memcpy(to->domain, domain[i].name.bytes, domain[i].name.n);
		l->n++;
	}
	free(domain);
	return FAIL_NONE;
}

/* ---- their lines ---- */

static int
by_log(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int names = strcmp(x->domain, y->domain);

	if (names != 0)
		return names;
	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static int
by_slot(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static enum fail_code
ask_corpus(char **corpus, const char *mix, const struct config *c, struct failure *f)
{
	struct ledger last = {0};
	struct ledger_log *log;
	bool any = false;
	enum fail_code code;

	if (ledger_log_open(&log, mix, &c->kafka, ASK_MS, f) != FAIL_NONE)
		return f->code;
	code = ledger_log_last(log, &last, &any, f);
	if (code == FAIL_NONE && !any)
		code = fail(f, FAIL_DATA, "the ledger of mix %s is empty", mix);
	if (code == FAIL_NONE)
		code = bound_config_corpus(corpus, last.config, f);
	ledger_clear(&last);
	ledger_log_close(log);
	return code;
}

/* A sequence that is drawn twice in a step has its lines twice. */
static enum fail_code
read_places(struct inspect_lines *l, struct documents *d, const char *corpus, struct failure *f)
{
	struct documents_sequence s = {0};
	const struct place *last = NULL;
	bool there = false;

	for (size_t i = 0; i < l->n; i++) {
		struct place *p = &l->place[i];
		char topic[TOPIC_MAX_BYTES + 1];

		names_domain_topic(topic, corpus, p->domain, SET_TRAIN);
		if (last == NULL || by_log(last, p) != 0) {
			if (documents_seek(d, topic, (int32_t)p->partition, p->ordinal, f) !=
				FAIL_NONE ||
			    documents_next(d, &s, &there, f) != FAIL_NONE)
				return f->code;
		}
		last = p;
		if (!there || s.ordinal != p->ordinal || s.spans_n != p->n)
			continue; /* damaged since, or made anew */
		p->line = calloc(p->n + 1, sizeof(*p->line));
		if (p->line == NULL)
			return fail_memory(f);
		memcpy(p->line, s.line, p->n * sizeof(*p->line));
	}
	return FAIL_NONE;
}

enum fail_code
inspect_lines_open(struct inspect_lines **out, const char *mix, const struct config *c,
    const struct published_step *s, int64_t lane, struct failure *f)
{
	struct inspect_lines *l = calloc(1, sizeof(*l));
	struct documents *d = NULL;
	char *corpus = NULL;
	enum fail_code code = l == NULL ? fail_memory(f) : FAIL_NONE;

	for (uint32_t i = 0; code == FAIL_NONE && i < s->lanes; i++)
		if (lane < 0 || lane == i)
			code = add_lane(l, s, i, f);
	if (code != FAIL_NONE) {
		inspect_lines_close(l);
		return code;
	}
	qsort(l->place, l->n, sizeof(*l->place), by_log);
	if (ask_corpus(&corpus, mix, c, f) != FAIL_NONE ||
	    documents_open(&d, &c->kafka, signals_stop(), ASK_MS, f) != FAIL_NONE ||
	    read_places(l, d, corpus, f) != FAIL_NONE)
		log_warning("inspect: INSPECT-NO-LINES the lines of documents in their files are "
			    "not known: %s",
		    f->text);
	documents_close(d);
	free(corpus);
	qsort(l->place, l->n, sizeof(*l->place), by_slot);
	*out = l;
	return FAIL_NONE;
}

const struct document_line *
inspect_lines_of(const struct inspect_lines *l, uint32_t lane, size_t slot, size_t spans_n)
{
	const struct place want = {.lane = lane, .slot = slot};
	const struct place *p = bsearch(&want, l->place, l->n, sizeof(*l->place), by_slot);

	return p != NULL && p->n == spans_n ? p->line : NULL;
}
