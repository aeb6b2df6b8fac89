/* Derives the steps of one ledger record and compares them with the lanes' records. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "consumer/replay/replay_state.h"

enum { GATHER_MS = 1000 };

/* ---- the assembler ---- */

/* assembler_quarantined: replaying, no sequence may be bad but those that the ledger names. */
static void
note_bad(void *replay, const struct mixer_draw *draw, const struct feed_record *record)
{
	struct replay *r = replay;
	struct replay_bad *b = &r->bad;

	if (b->any)
		return;
	b->any = true;
	b->draw = *draw;
	b->offset = record->offset;
	snprintf(b->reason, sizeof(b->reason), "%s", record->reason);
	snprintf(b->domain, sizeof(b->domain), "%s",
	    mixer_domain_name(assembler_mixer(r->assembler), draw->domain));
}

/* The feed numbers domains as the mixer does. */
static enum fail_code
tell_feed(struct replay *r, const struct mixer *m, struct failure *f)
{
	/* An estimate: a sequence of tokens that compress to two bytes each. */
	uint64_t record_bytes = 2 * (uint64_t)r->plan.plan.sequence_length + 256;

	for (uint32_t d = (uint32_t)feed_domains(r->feed); d < mixer_domains(m); d++) {
		char topic[TOPIC_MAX_BYTES + 1];

		names_domain_topic(topic, r->plan.corpus, mixer_domain_name(m, d), SET_TRAIN);
		if (feed_add_domain(r->feed, topic, mixer_partitions(m, d), record_bytes, f) !=
		    FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
open_feed(struct replay *r, struct failure *f)
{
	struct feed_options o = {
	    .properties = &r->o->config->kafka,
	    .memory_bytes = r->o->config->mix.memory_bytes / 2,
	    .tokenizer = r->now.tokenizer,
	    .block = r->plan.plan.block,
	    .block_bytes = r->plan.plan.block * (2 * (uint64_t)r->plan.plan.sequence_length + 256),
	};

	return r->feed != NULL ? FAIL_NONE : feed_open(&r->feed, &o, f);
}

/* The state of record k-1, with what record k was drawn with. */
static enum fail_code
open_assembler(struct replay *r, struct failure *f)
{
	struct mixer *m = NULL;

	if (mixer_resume(&m, &r->plan.plan, &r->before, f) != FAIL_NONE)
		return replay_fail_ledger(r, &r->before, r->before_at, f);
	if (mixer_take_snapshot(m, &r->now, f) != FAIL_NONE) {
		mixer_close(m);
		return replay_fail_ledger(r, &r->now, r->now_at, f);
	}
	if (open_feed(r, f) != FAIL_NONE || tell_feed(r, m, f) != FAIL_NONE ||
	    assembler_open(&r->assembler, m, r->feed, r->head.global_batch, note_bad, r, f) !=
		FAIL_NONE) {
		mixer_close(m);
		return f->code;
	}
	return FAIL_NONE;
}

/* ---- what is wrong with a domain log ---- */

/* Whether the step's records hold the sequence; *lane and *place say where. */
static bool
holds(const struct replay *r, const struct mixer_draw *draw, uint32_t *lane, size_t *place)
{
	for (*lane = 0; *lane < r->head.lanes; (*lane)++) {
		const struct step_record *record = &r->record[*lane];
		struct payload_view payload;
		struct batch_drawn drawn;
		struct batch_view view;
		struct failure f;

		if (batch_decode(&view, record->bytes, record->n, &f) != FAIL_NONE)
			continue;
		for (*place = 0; *place < view.sequences_n; (*place)++) {
			if (batch_next(&view, &drawn, &payload, &f) != FAIL_NONE)
				break;
			if (drawn.domain == draw->domain && drawn.partition == draw->partition &&
			    drawn.ordinal == draw->ordinal)
				return true;
		}
	}
	return false;
}

/* A sequence of a domain log fails the check, and the ledger does not name it. */
static enum fail_code
fail_bad(const struct replay *r, uint64_t step, bool compared, struct failure *f)
{
	const struct replay_bad *b = &r->bad;
	const char *verdict = "the domain log is the odd one out, or the ledger, which does not "
			      "name it among the quarantined";
	char where[64] = "";
	uint32_t lane;
	size_t place;

	if (compared && holds(r, &b->draw, &lane, &place)) {
		snprintf(where, sizeof(where), ", lane %" PRIu32 ", sequence %zu", lane, place);
		verdict = "the domain log is the odd one out: the batch topic holds this sequence";
	} else if (compared)
		verdict = "the ledger is the odd one out: the batch topic passes over this "
			  "sequence too, and the ledger does not name it among the quarantined";
	return fail(f, FAIL_DATA,
	    "step %" PRIu64 "%s (domain %s, partition %" PRIu32 ", ordinal %" PRIu64
	    "): %s; topic %s.%s, partition %" PRIu32 ", offset %" PRId64 "; %s",
	    step, where, b->domain, b->draw.partition, b->draw.ordinal, b->reason, r->plan.corpus,
	    b->domain, b->draw.partition, b->offset, verdict);
}

/* Waits for the step's sequences. FAIL_DATA: a domain log does not have what it had. */
static enum fail_code
next_step(struct replay *r, struct assembled *step, bool *ended, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + REPLAY_WAIT_MS;
	enum fail_code code;

	do
		code = assembler_next(r->assembler, GATHER_MS, step, ended, f);
	while (code == FAIL_TIMEOUT && !r->bad.any && assembler_dry(r->assembler) == NULL &&
	       clock_ms() < deadline_ms);
	if (code == FAIL_TIMEOUT && assembler_dry(r->assembler) != NULL) {
		fail_within(f, "drawn with the lengths in this record");
		return replay_fail_ledger(r, &r->now, r->now_at, f);
	}
	if (code != FAIL_DATA && code != FAIL_CONFIG)
		return code;
	fail_within(f, "step %" PRIu64, mixer_step_next(assembler_mixer(r->assembler)));
	f->code = FAIL_DATA;
	return f->code;
}

/* ---- comparing ---- */

static enum fail_code
keep_finding(struct replay *r, uint64_t step, uint32_t lane, const uint8_t *bytes, size_t n,
    struct failure *f)
{
	struct replay_finding *x = &r->finding;

	(void)f;
	x->any = true;
	x->step = step;
	x->lane = lane;
	x->offset = r->record[lane].offset;
	batch_compare(&x->difference, bytes, n, r->record[lane].bytes, r->record[lane].n);
	snprintf(x->domain, sizeof(x->domain), "%.*s", (int)x->difference.domain.n,
	    x->difference.domain.bytes == NULL ? "" : x->difference.domain.bytes);
	x->difference.domain = (struct text_view){NULL, 0}; /* it points into `bytes` */
	return FAIL_NONE;
}

/* A step that was derived, or with `step` NULL the end of the mix, against the lanes' records. */
static enum fail_code
compare_step(struct replay *r, const struct assembled *step, uint64_t number, struct failure *f)
{
	const struct mixer *m = assembler_mixer(r->assembler);
	struct batch_head head = lane_record_head(&r->head, m, number, step == NULL);
	size_t each = step == NULL ? 0 : head.global_batch / head.lanes;

	for (head.lane = 0; head.lane < head.lanes && !r->finding.any; head.lane++) {
		const struct step_record *found = &r->record[head.lane];
		size_t first = head.lane * each, n;
		uint8_t *bytes;

		if (lane_record_encode(&bytes, &n, &head, m,
			step == NULL ? NULL : step->draw + first,
			step == NULL ? NULL : step->record + first, each, f) != FAIL_NONE)
			return f->code;
		if (n != found->n || memcmp(bytes, found->bytes, n) != 0)
			keep_finding(r, number, head.lane, bytes, n, f);
		r->result->bytes += n;
		r->result->records++;
		free(bytes);
	}
	return FAIL_NONE;
}

static bool
in_range(const struct replay *r, uint64_t step)
{
	return step >= r->compare_from && step < r->o->end;
}

/* One step: its records, its sequences, the comparison. */
static enum fail_code
take_step(struct replay *r, uint64_t number, struct failure *f)
{
	bool compared = in_range(r, number), ended = false;
	struct assembled step;

	if (r->other != NULL && republish_begin(r, assembler_mixer(r->assembler), f) != FAIL_NONE)
		return f->code;
	if (compared && step_records_next(r->records, REPLAY_WAIT_MS, r->record, f) != FAIL_NONE)
		return f->code;
	if (next_step(r, &step, &ended, f) != FAIL_NONE)
		return r->bad.any ? fail_bad(r, number, compared, f) : f->code;
	if (r->bad.any)
		return fail_bad(r, number, compared, f);
	if (ended) {
		fail(f, FAIL_DATA,
		    "derived from the record before it the mix ends at step %" PRIu64, number);
		return replay_fail_ledger(r, &r->now, r->now_at, f);
	}
	if (compared && compare_step(r, &step, number, f) != FAIL_NONE)
		return f->code;
	r->result->steps += compared;
	if (r->other != NULL && !r->finding.any &&
	    republish_step(r, assembler_mixer(r->assembler), &step, f) != FAIL_NONE)
		return f->code;
	assembler_release(r->assembler);
	return FAIL_NONE;
}

/* The record that ends the mix on each lane. */
static enum fail_code
take_end(struct replay *r, struct failure *f)
{
	uint64_t number = (uint64_t)r->now.step_next;

	if (r->now.kind != LEDGER_END || number != r->o->end || number < r->compare_from)
		return FAIL_NONE;
	if (step_records_next(r->records, REPLAY_WAIT_MS, r->record, f) != FAIL_NONE)
		return f->code;
	return compare_step(r, NULL, number, f);
}

/* Whether the mixer can go on into record k as it is: nothing was changed from outside. */
static bool
goes_on(const struct replay *r)
{
	const struct ledger *a = &r->before, *b = &r->now;

	if (b->quarantined_n != a->quarantined_n || b->domains_n != a->domains_n)
		return false;
	for (size_t i = 0; i < a->domains_n; i++) {
		const struct ledger_domain *x = &a->domain[i], *y = &b->domain[i];

		if (x->partitions_n != y->partitions_n)
			return false;
		for (size_t p = 0; p < x->partitions_n; p++)
			if (x->partition[p].sequences != y->partition[p].sequences ||
			    x->partition[p].sealed != y->partition[p].sealed ||
			    x->partition[p].sequences_next != y->partition[p].sequences_next)
				return false;
	}
	return true;
}

/* Makes the assembler stand where record k's transaction began. */
static enum fail_code
stand(struct replay *r, struct failure *f)
{
	if (r->assembler == NULL)
		return open_assembler(r, f);
	if (goes_on(r) ||
	    mixer_take_snapshot(assembler_change(r->assembler), &r->now, f) == FAIL_NONE)
		return FAIL_NONE;
	return replay_fail_ledger(r, &r->now, r->now_at, f);
}

enum fail_code
replay_steps(struct replay *r, struct failure *f)
{
	r->finding.any = false;
	if (stand(r, f) != FAIL_NONE)
		return f->code;
	for (uint64_t s = (uint64_t)r->now.step_first; s < (uint64_t)r->now.step_next; s++)
		if (take_step(r, s, f) != FAIL_NONE)
			return f->code;
	if (take_end(r, f) != FAIL_NONE)
		return f->code;
	return replay_judge(r, assembler_mixer(r->assembler), f);
}
