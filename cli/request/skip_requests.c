#include "cli/request/skip_requests.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/request/request_words.h"
#include "consumer/admin/request.h"
#include "consumer/replay/published_step.h"

void
skip_requests_free(struct control *c, size_t n)
{
	for (size_t i = 0; c != NULL && i < n; i++)
		control_clear(&c[i]);
	free(c);
}

/* ---- a range ---- */

/* What a new id begins with. */
static const char *
prefix_of(enum ledger_change_kind kind)
{
	assert(kind == LEDGER_SKIP || kind == LEDGER_UNDO);
	return kind == LEDGER_SKIP ? "skip" : "undo";
}

/* A domain without /PARTITION must have one only; a partition must be one of the domain. */
static enum fail_code
choose_partition(struct control *c, const struct ledger *last, struct failure *f)
{
	const struct ledger_domain *d = last == NULL ? NULL : ledger_domain_named(last, c->domain);

	if (d != NULL && d->partitions_n > 0 && c->partition >= (int64_t)d->partitions_n)
		return fail(f, FAIL_DATA, "domain %s has no partition %" PRId32 " (0 to %zu)",
		    c->domain, c->partition, d->partitions_n - 1);
	if (c->partition >= 0)
		return FAIL_NONE;
	c->partition = 0;
	if (d != NULL && d->partitions_n > 1)
		return fail(f, FAIL_USAGE,
		    "domain %s has %zu partitions, each with its own ordinals: say which, as %s/0",
		    c->domain, d->partitions_n, c->domain);
	return FAIL_NONE;
}

enum fail_code
skip_requests_range(struct control **out, size_t *n, enum ledger_change_kind kind,
    const char *place, const char *range, const struct ledger *last, const char *id,
    struct failure *f)
{
	struct control *c = calloc(1, sizeof(*c));

	*out = c;
	*n = c == NULL ? 0 : 1;
	if (c == NULL)
		return fail_memory(f);
	*c = (struct control){.kind = kind, .at_step = -1};
	if (request_words_place(c, place, f) != FAIL_NONE ||
	    request_words_range(c, range, f) != FAIL_NONE ||
	    choose_partition(c, last, f) != FAIL_NONE)
		return f->code;
	return request_words_name(c, id, prefix_of(kind), f);
}

/* ---- the sequences of steps ---- */

/* Whether the place is in, or right behind, the range of the request; a place may occur twice. */
static bool
continues(const struct control *c, const struct published_place *p)
{
	return strcmp(c->domain, p->domain) == 0 && c->partition == (int32_t)p->partition &&
	       (uint64_t)c->end >= p->ordinal;
}

/* Of places in order: neighbours become one range. `c` has room for a request a place. */
static enum fail_code
join_places(struct control *c, size_t *n, enum ledger_change_kind kind,
    const struct published_place *place, size_t places_n, struct failure *f)
{
	*n = 0;
	for (size_t i = 0; i < places_n; i++) {
		const struct published_place *at = &place[i];
		struct control *to = &c[*n];

		if (*n > 0 && continues(&c[*n - 1], at)) {
			c[*n - 1].end = (int64_t)at->ordinal + 1;
			continue;
		}
		*to = (struct control){.kind = kind,
		    .at_step = -1,
		    .domain = strdup(at->domain),
		    .partition = (int32_t)at->partition,
		    .first = (int64_t)at->ordinal,
		    .end = (int64_t)at->ordinal + 1};
		if (to->domain == NULL)
			return fail_memory(f);
		(*n)++;
		assert(*n <= places_n);
	}
	return FAIL_NONE;
}

/* One id for the command with a number behind it: the mixer answers each request by its id. */
static enum fail_code
name_requests(struct control *c, size_t n, const char *id, struct failure *f)
{
	char base[REQUEST_ID_BYTES];

	if (id == NULL && request_new_id(base, prefix_of(c[0].kind), f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++) {
		char numbered[256];

		snprintf(numbered, sizeof(numbered), "%.200s-%zu", id == NULL ? base : id, i);
		if (request_words_name(&c[i], numbered, "", f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Appends the places of a step's sequences to *place, [*n]. */
static enum fail_code
collect_places(struct published_place **place, size_t *n, const char *mix, const struct config *c,
    uint64_t step, int64_t lane, struct failure *f)
{
	struct published_step s = {0};
	struct published_place *more = NULL, *grown;
	size_t more_n = 0;
	enum fail_code code = published_step_open(&s, mix, c, step, f);

	if (code == FAIL_NONE)
		code = published_step_places(&more, &more_n, &s, lane, f);
	published_step_close(&s);
	if (code != FAIL_NONE || more_n == 0) {
		free(more);
		return code;
	}
	grown = realloc(*place, (*n + more_n) * sizeof(**place));
	if (grown == NULL) {
		free(more);
		return fail_memory(f);
	}
	memcpy(grown + *n, more, more_n * sizeof(*more));
	*place = grown;
	*n += more_n;
	free(more);
	return FAIL_NONE;
}

enum fail_code
skip_requests_steps(struct control **out, size_t *n, enum ledger_change_kind kind, const char *mix,
    const struct config *c, uint64_t first, uint64_t end, int64_t lane, const char *id,
    struct failure *f)
{
	struct published_place *place = NULL;
	size_t places_n = 0;
	enum fail_code code = FAIL_NONE;

	assert(first < end);
	*out = NULL;
	*n = 0;
	for (uint64_t step = first; code == FAIL_NONE && step < end; step++)
		code = collect_places(&place, &places_n, mix, c, step, lane, f);
	if (code == FAIL_NONE) {
		if (places_n > 0)
			qsort(place, places_n, sizeof(*place), published_place_by_log);
		*out = calloc(places_n + 1, sizeof(**out));
		code =
		    *out == NULL ? fail_memory(f) : join_places(*out, n, kind, place, places_n, f);
	}
	if (code == FAIL_NONE && *n > LEDGER_SKIPS_MAX)
		code = fail(f, FAIL_USAGE,
		    "steps %" PRIu64 "..%" PRIu64 " hold %zu stretches of ordinals, and the ledger "
		    "keeps %d ranges: name fewer steps",
		    first, end, *n, LEDGER_SKIPS_MAX);
	if (code == FAIL_NONE)
		code = name_requests(*out, *n, id, f);
	free(place);
	return code;
}
