#include "consumer/replay/published_step.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "consumer/batches/step_records.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/replay/replay.h"

enum { ASK_MS = 15000 };

void
published_step_close(struct published_step *s)
{
	for (uint32_t i = 0; s->lane != NULL && i < s->lanes; i++)
		free(s->lane[i].bytes);
	free(s->lane);
	*s = (struct published_step){0};
}

enum fail_code
published_step_fail(const struct published_step *s, uint32_t lane, struct failure *f)
{
	assert(lane < s->lanes);
	if (s->derived)
		return fail_within(f, "step %" PRIu64 " as derived, lane %" PRIu32, s->step, lane);
	return fail_within(
	    f, "topic %s, lane %" PRIu32 ", offset %" PRId64, s->topic, lane, s->lane[lane].offset);
}

enum fail_code
published_step_decode(
    struct batch_view *out, const struct published_step *s, uint32_t lane, struct failure *f)
{
	assert(lane < s->lanes);
	if (batch_decode(out, s->lane[lane].bytes, s->lane[lane].n, f) == FAIL_NONE) {
		if (out->head.step == s->step && out->head.lane == lane)
			return FAIL_NONE;
		fail(f, FAIL_DATA,
		    "step %" PRIu64 " was expected, but this is step %" PRIu64 " of lane %" PRIu32
		    ". `riffle repair` reports what the lane lacks",
		    s->step, out->head.step, out->head.lane);
	}
	return published_step_fail(s, lane, f);
}

static enum fail_code
put_lane(void *step, uint32_t lane, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct published_step *s = step;
	struct published_lane *to = &s->lane[lane];

	assert(lane < s->lanes);
	assert(to->bytes == NULL);
	to->bytes = malloc(n + 1);
	if (to->bytes == NULL)
		return fail_memory(f);
	memcpy(to->bytes, bytes, n);
	to->n = n;
	to->offset = -1;
	return FAIL_NONE;
}

/* ---- from the batch topic ---- */

static enum fail_code
take(struct published_step *s, struct step_records *r, const char *mix, int wait_ms,
    struct failure *f)
{
	struct step_record *record = calloc(s->lanes, sizeof(*record));
	enum fail_code code = record == NULL ? fail_memory(f) : FAIL_NONE;

	if (code == FAIL_NONE)
		code = step_records_seek(r, s->step, f);
	if (code == FAIL_NONE)
		code = step_records_next(r, wait_ms, record, f);
	for (uint32_t i = 0; code == FAIL_NONE && i < s->lanes; i++) {
		if (record[i].last)
			code = fail(f, FAIL_DATA,
			    "mix %s has ended before step %" PRIu64 "; there is no such step", mix,
			    s->step);
		if (code == FAIL_NONE)
			code = put_lane(s, i, record[i].bytes, record[i].n, f);
		if (code == FAIL_NONE)
			s->lane[i].offset = record[i].offset;
	}
	free(record);
	return code;
}

/*
 * Whether the lanes have lost the step that take() did not find; a failure of theirs that has
 * another reason stays in *f.
 */
static bool
is_deleted(const struct published_step *s, struct step_records *r, const struct failure *f)
{
	struct step_records_kept kept;
	struct failure ignored;

	if (f->code != FAIL_DATA && f->code != FAIL_TIMEOUT)
		return false;
	return step_records_earliest(r, &kept, &ignored) == FAIL_NONE &&
	       (!kept.any || kept.whole > s->step);
}

/* ---- derived ---- */

/*
 * The batch topic alone cannot tell whether a step that it lacks is still to come: the ledger can.
 * Where that cannot be read, *f stays as it is.
 */
static enum fail_code
check_published(
    const struct published_step *s, const char *mix, const struct config *c, struct failure *f)
{
	struct ledger last = {0};
	struct failure why;
	bool any;
	enum fail_code code = f->code;

	assert(code != FAIL_NONE);
	if (ledger_log_ask(&last, &any, mix, &c->kafka, ASK_MS, &why) == FAIL_NONE) {
		if (last.step_next > (int64_t)s->step)
			code = FAIL_NONE;
		else if (last.kind == LEDGER_END)
			code = fail(f, FAIL_DATA, "mix %s has ended before step %" PRId64, mix,
			    last.step_next);
		else if (last.step_next == 0)
			code = fail(f, FAIL_DATA,
			    "step %" PRIu64
			    " of mix %s is not published yet: the mix has not begun: run `riffle "
			    "mix`",
			    s->step, mix);
		else
			code = fail(f, FAIL_DATA,
			    "step %" PRIu64
			    " of mix %s is not published yet: the mix is at step %" PRId64,
			    s->step, mix, last.step_next);
	}
	ledger_clear(&last);
	return code;
}

static enum fail_code
derive(struct published_step *s, const char *mix, const struct config *c, struct failure *f)
{
	log_warning("replay: REPLAY-NOT-KEPT step %" PRIu64
		    " is not in the batch topic any more: it is derived from ledger and domain "
		    "logs",
	    s->step);
	for (uint32_t i = 0; i < s->lanes; i++) {
		free(s->lane[i].bytes);
		s->lane[i].bytes = NULL;
	}
	s->derived = true;
	if (replay_derive(c, mix, s->step, s->step + 1, put_lane, s, f) != FAIL_NONE)
		return fail_within(f,
		    "step %" PRIu64 " is not in the batch topic any more, and is derived", s->step);
	return FAIL_NONE;
}

enum fail_code
published_step_open(struct published_step *out, const char *mix, const struct config *c,
    uint64_t step, struct failure *f)
{
	struct step_records *r;
	enum fail_code code;
	bool deleted;

	*out = (struct published_step){.step = step};
	if (step_records_open(&r, mix, &c->kafka, ASK_MS, f) != FAIL_NONE)
		return f->code;
	snprintf(out->topic, sizeof(out->topic), "%s", step_records_topic(r));
	out->lanes = step_records_lanes(r);
	out->lane = calloc(out->lanes, sizeof(*out->lane));
	code = out->lane == NULL ? fail_memory(f) : take(out, r, mix, 0, f);
	deleted = code != FAIL_NONE && is_deleted(out, r, f);
	if (deleted || code == FAIL_TIMEOUT)
		code = check_published(out, mix, c, f);
	/* Committed, the lanes show it a moment later than the ledger. */
	if (code == FAIL_NONE && !deleted && out->lane[0].bytes == NULL)
		code = take(out, r, mix, ASK_MS, f);
	step_records_close(r);
	return code == FAIL_NONE && deleted ? derive(out, mix, c, f) : code;
}

/* ---- its sequences ---- */

/* A record numbers its domains, and numbers differ from mix to mix. */
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

/* The sequences of one lane, into place[b->sequences_n]. */
static enum fail_code
read_places(struct published_place *place, struct batch_view *b, const struct batch_domain *domains,
    uint32_t lane, struct failure *f)
{
	for (size_t i = 0; i < b->sequences_n; i++) {
		struct published_place *to = &place[i];
		struct sequence_payload_view payload;
		struct batch_drawn drawn;

		if (batch_next(b, &drawn, &payload, f) != FAIL_NONE ||
		    name_of(to->domain, b, domains, drawn.domain, f) != FAIL_NONE)
			return f->code;
		to->partition = drawn.partition;
		to->ordinal = drawn.ordinal;
		to->lane = lane;
		to->slot = i;
		to->spans_n = payload.spans_n;
	}
	return FAIL_NONE;
}

static enum fail_code
add_lane(struct published_place **places, size_t *n, const struct published_step *s, uint32_t lane,
    struct failure *f)
{
	struct published_place *grown;
	struct batch_domain *domains;
	struct batch_view b;
	enum fail_code code;

	if (published_step_decode(&b, s, lane, f) != FAIL_NONE)
		return f->code;
	domains = calloc(b.domains_n + 1, sizeof(*domains));
	grown = realloc(*places, (*n + b.sequences_n + 1) * sizeof(*grown));
	if (grown != NULL)
		*places = grown;
	if (domains == NULL || grown == NULL) {
		free(domains);
		return fail_memory(f);
	}
	batch_domains(&b, domains);
	code = read_places(*places + *n, &b, domains, lane, f);
	free(domains);
	if (code != FAIL_NONE)
		return published_step_fail(s, lane, f);
	*n += b.sequences_n;
	return FAIL_NONE;
}

enum fail_code
published_step_places(struct published_place **out, size_t *n, const struct published_step *s,
    int64_t lane, struct failure *f)
{
	assert(lane >= -1);
	*out = NULL;
	*n = 0;
	if (lane >= (int64_t)s->lanes)
		return fail(f, FAIL_USAGE,
		    "--lane: out of range: %" PRId64 " (the mix has %" PRIu32 ")", lane, s->lanes);
	for (uint32_t i = 0; i < s->lanes; i++)
		if ((lane < 0 || lane == i) && add_lane(out, n, s, i, f) != FAIL_NONE) {
			free(*out);
			*out = NULL;
			*n = 0;
			return f->code;
		}
	return FAIL_NONE;
}

int
published_place_by_log(const void *a, const void *b)
{
	const struct published_place *x = a, *y = b;
	int names = strcmp(x->domain, y->domain);

	if (names != 0)
		return names;
	if (x->partition != y->partition)
		return x->partition < y->partition ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}
