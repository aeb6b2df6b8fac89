#include "cli/inspect/inspect_lines.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
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
	struct published_place at;
	struct document_line *line; /* [at.spans_n], owned; NULL: unknown */
	int64_t time_ms;            /* where `line` is known */
};

struct inspect_lines {
	struct place *place; /* [n], by lane and slot, once all is read */
	size_t n;
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

/* A damaged record has none: who prints it says what is wrong with it. */
static enum fail_code
list_places(
    struct inspect_lines *l, const struct published_step *s, int64_t lane, struct failure *f)
{
	struct published_place *at = NULL;
	size_t n = 0;
	enum fail_code code = published_step_places(&at, &n, s, lane, f);

	if (code == FAIL_DATA)
		n = 0, code = FAIL_NONE;
	if (code == FAIL_NONE) {
		l->place = calloc(n + 1, sizeof(*l->place));
		code = l->place == NULL ? fail_memory(f) : FAIL_NONE;
	}
	for (; code == FAIL_NONE && l->n < n; l->n++)
		l->place[l->n].at = at[l->n];
	free(at);
	return code;
}

/* ---- their lines ---- */

static int
by_log(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return published_place_by_log(&x->at, &y->at);
}

static int
by_slot(const void *a, const void *b)
{
	const struct published_place *x = &((const struct place *)a)->at,
				     *y = &((const struct place *)b)->at;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static enum fail_code
ask_corpus(char **corpus, const char *mix, const struct config *c, struct failure *f)
{
	struct ledger last = {0};
	bool any;
	enum fail_code code = ledger_log_ask(&last, &any, mix, &c->kafka, ASK_MS, f);

	if (code == FAIL_NONE && !any)
		code = fail(f, FAIL_DATA, "the ledger of mix %s is empty", mix);
	if (code == FAIL_NONE)
		code = bound_config_corpus(corpus, last.config, f);
	ledger_clear(&last);
	return code;
}

/* Warns once per topic of a sequence that it does not hold any more. */
static void
warn_gone(const struct place *p, const char *topic, bool there, char warned[static 1], size_t room)
{
	if (strcmp(warned, topic) == 0)
		return;
	snprintf(warned, room, "%s", topic);
	log_warning("inspect: INSPECT-NO-LINES topic %s %s sequence %" PRIu64
		    " of partition %" PRIu32
		    " that the mix has drawn: it was recreated, or cut by retention. The lines of "
		    "its documents are not known",
	    topic, there ? "holds another" : "no longer holds", p->at.ordinal, p->at.partition);
}

/* A sequence that is drawn twice in a step has its lines twice. */
static enum fail_code
read_places(struct inspect_lines *l, struct documents *d, const char *corpus, struct failure *f)
{
	struct documents_sequence s = {0};
	const struct place *last = NULL;
	char warned[TOPIC_MAX_BYTES + 1] = "";
	bool there = false;

	for (size_t i = 0; i < l->n; i++) {
		struct place *p = &l->place[i];
		char topic[TOPIC_MAX_BYTES + 1];

		names_domain_topic(topic, corpus, p->at.domain, SET_TRAIN);
		if (last == NULL || by_log(last, p) != 0) {
			if (documents_seek(d, topic, (int32_t)p->at.partition, p->at.ordinal, f) !=
				FAIL_NONE ||
			    documents_next(d, &s, &there, f) != FAIL_NONE)
				return f->code;
		}
		last = p;
		if (!there || s.ordinal != p->at.ordinal || s.spans_n != p->at.spans_n) {
			warn_gone(
			    p, topic, there && s.ordinal == p->at.ordinal, warned, sizeof(warned));
			continue;
		}
		p->line = calloc(p->at.spans_n + 1, sizeof(*p->line));
		if (p->line == NULL)
			return fail_memory(f);
		memcpy(p->line, s.line, p->at.spans_n * sizeof(*p->line));
		p->time_ms = s.time_ms;
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
	enum fail_code code = l == NULL ? fail_memory(f) : list_places(l, s, lane, f);

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
inspect_lines_of(
    const struct inspect_lines *l, uint32_t lane, size_t slot, size_t spans_n, int64_t *time_ms)
{
	const struct place want = {.at = {.lane = lane, .slot = slot}};
	const struct place *p =
	    l == NULL ? NULL : bsearch(&want, l->place, l->n, sizeof(*l->place), by_slot);
	bool known = p != NULL && p->at.spans_n == spans_n && p->line != NULL;

	*time_ms = known ? p->time_ms : -1;
	return known ? p->line : NULL;
}
