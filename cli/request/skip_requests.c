#include "cli/request/skip_requests.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/request/request_words.h"
#include "common/base/names.h"
#include "common/record/batch.h"
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

/* A domain without /PARTITION must have one only. */
static enum fail_code
choose_partition(struct control *c, const struct ledger *last, struct failure *f)
{
	if (c->partition >= 0)
		return FAIL_NONE;
	c->partition = 0;
	for (size_t i = 0; last != NULL && i < last->domains_n; i++)
		if (last->domain[i].name != NULL && strcmp(last->domain[i].name, c->domain) == 0 &&
		    last->domain[i].partitions_n > 1)
			return fail(f, FAIL_USAGE,
			    "domain %s has %zu partitions, each with its own ordinals: say which, "
			    "as "
			    "%s/0",
			    c->domain, last->domain[i].partitions_n, c->domain);
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

/* ---- the sequences of a step ---- */

struct place {
	char domain[NAME_MAX_BYTES + 1];
	uint32_t partition;
	uint64_t ordinal;
};

struct places {
	struct place *place;
	size_t n, room;
};

/* A record numbers its domains; a request names them, as numbers differ from mix to mix. */
static enum fail_code
name_of(char out[static NAME_MAX_BYTES + 1], const struct batch_view *b,
    const struct batch_domain *domains, uint32_t index, struct failure *f)
{
	for (size_t i = 0; i < b->domains_n; i++)
		if (domains[i].index == index && domains[i].name.n <= NAME_MAX_BYTES) {
			memcpy(out, domains[i].name.bytes, domains[i].name.n);
			out[domains[i].name.n] = '\0';
			return FAIL_NONE;
		}
	return fail(f, FAIL_DATA,
	    "a sequence is of domain number %" PRIu32 ", which the record does not name", index);
}

static enum fail_code
add_place(struct places *p, const struct place *place, struct failure *f)
{
	if (p->n == p->room) {
		size_t room = p->room == 0 ? 64 : 2 * p->room;
		struct place *grown = realloc(p->place, room * sizeof(*grown));

		if (grown == NULL)
			return fail_memory(f);
		p->place = grown;
		p->room = room;
	}
	p->place[p->n++] = *place;
	return FAIL_NONE;
}

/* The places of one lane's sequences. */
static enum fail_code
add_lane(struct places *p, const struct published_step *s, uint32_t lane, struct failure *f)
{
	struct batch_domain *domains;
	struct batch_view b;
	enum fail_code code = FAIL_NONE;

	if (published_step_decode(&b, s, lane, f) != FAIL_NONE)
		return f->code;
	domains = calloc(b.domains_n + 1, sizeof(*domains));
	if (domains == NULL)
		return fail_memory(f);
	batch_domains(&b, domains);
	for (size_t i = 0; code == FAIL_NONE && i < b.sequences_n; i++) {
		struct sequence_payload_view payload;
		struct batch_drawn drawn;
		struct place place;

		code = batch_next(&b, &drawn, &payload, f);
		if (code == FAIL_NONE)
			code = name_of(place.domain, &b, domains, drawn.domain, f);
		place.partition = drawn.partition;
		place.ordinal = drawn.ordinal;
		if (code == FAIL_NONE)
			code = add_place(p, &place, f);
	}
	free(domains);
	return code == FAIL_NONE ? code : published_step_fail(s, lane, f);
}

static enum fail_code
add_step(struct places *p, const struct published_step *s, int64_t lane, struct failure *f)
{
	assert(lane >= -1);
	if (lane >= (int64_t)s->lanes)
		return fail(f, FAIL_USAGE,
		    "--lane: out of range: %" PRId64 " (the mix has %" PRIu32 ")", lane, s->lanes);
	for (uint32_t i = 0; i < s->lanes; i++)
		if ((lane < 0 || lane == i) && add_lane(p, s, i, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* ---- its requests ---- */

static int
by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int names = strcmp(x->domain, y->domain);

	if (names != 0)
		return names;
	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* Whether the place is in, or right behind, the range of the request; a place may occur twice. */
static bool
continues(const struct control *c, const struct place *p)
{
	return strcmp(c->domain, p->domain) == 0 && c->partition == (int32_t)p->partition &&
	       (uint64_t)c->end >= p->ordinal;
}

/* Of places in order: neighbours become one range. `c` has room for a request a place. */
static enum fail_code
join_places(struct control *c, size_t *n, enum ledger_change_kind kind, const struct places *p,
    struct failure *f)
{
	*n = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct place *at = &p->place[i];
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
		assert(*n <= p->n);
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

enum fail_code
skip_requests_step(struct control **out, size_t *n, enum ledger_change_kind kind, const char *mix,
    const struct config *c, uint64_t step, int64_t lane, const char *id, struct failure *f)
{
	struct published_step s = {0};
	struct places p = {0};
	enum fail_code code = published_step_open(&s, mix, c, step, f);

	*out = NULL;
	*n = 0;
	if (code == FAIL_NONE)
		code = add_step(&p, &s, lane, f);
	published_step_close(&s);
	if (code == FAIL_NONE) {
		qsort(p.place, p.n, sizeof(*p.place), by_place);
		*out = calloc(p.n + 1, sizeof(**out));
		code = *out == NULL ? fail_memory(f) : join_places(*out, n, kind, &p, f);
	}
	if (code == FAIL_NONE)
		code = name_requests(*out, *n, id, f);
	free(p.place);
	return code;
}
