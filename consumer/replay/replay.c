#include "consumer/replay/replay.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/terminal/progress.h"
#include "consumer/replay/lane_fill.h"
#include "consumer/replay/replay_internal.h"

enum {
	MEMORY_BYTES = 512000000, /* as mix.memory by default */
	OPEN_MS = 15000,
	WAIT_MS = 60000,  /* for the sequences or the records of one step */
	GATHER_MS = 1000, /* of it at once */
};

/* ---- stopping ---- */

/* Whether to end now. A difference that was found is reported first. */
static bool
is_stopped(const struct replay *r)
{
	return r->o->stop != NULL && stop_asked(r->o->stop) && !r->finding.any;
}

/* All steps below `step` were compared. */
static enum fail_code
fail_stopped(const struct replay *r, uint64_t step, struct failure *f)
{
	if (step <= r->o->first)
		return fail(f, FAIL_STOPPED, "stopped before step %" PRIu64, r->o->first);
	return fail(f, FAIL_STOPPED, "stopped at step %" PRIu64 ": all steps so far are equal%s",
	    step, r->other == NULL ? "" : "; the same command continues");
}

/* ---- opening ---- */

/* The steps [first, end) are not all published: the ledger has those below `next`. */
static enum fail_code
fail_unpublished(const struct replay *r, bool begun, uint64_t next, struct failure *f)
{
	uint64_t first = r->o->first;

	if (!begun && r->o->fill == NULL) /* a repair's ledger may have lost all of its records */
		return fail(f, FAIL_DATA, "mix %s has not begun: `riffle mix` starts it", r->mix);
	if (r->ledger_ended && r->o->fill == NULL && r->o->lane == NULL)
		return fail(f, FAIL_DATA,
		    "mix %s has ended before step %" PRIu64 ": --steps %" PRIu64 "..%" PRIu64,
		    r->mix, next, first < next ? first : 0, next);
	return fail(f, FAIL_DATA,
	    "steps %" PRIu64 "..%" PRIu64 " are not all published: mix %s is at step %" PRIu64,
	    first, r->o->end, r->mix, next);
}

/* FAIL_DATA: by the ledger's last record the steps are not all published. */
static enum fail_code
check_published(struct replay *r, struct failure *f)
{
	struct ledger last = {0};
	bool any = false;
	enum fail_code code = ledger_log_last(r->log, &last, &any, f);
	uint64_t next = any ? (uint64_t)last.step_next : 0;

	r->ledger_ended = any && last.kind == LEDGER_END;
	r->last_at = ledger_log_last_offset(r->log);
	ledger_clear(&last);
	if (code != FAIL_NONE)
		return code;
	if (r->o->end <= next || (r->o->fill != NULL && r->o->ledger_end == next))
		return FAIL_NONE;
	return fail_unpublished(r, any, next, f);
}

/*
 * Where comparing begins: what the batch topic does not keep any more is derived all the same. A
 * first record that cannot be read is no answer; such a lane is searched as it is, and the record
 * found by comparing.
 */
static enum fail_code
find_kept(struct replay *r, struct failure *f)
{
	struct step_records_kept kept;

	if (step_records_earliest(r->records, &kept, f) != FAIL_NONE)
		return f->code == FAIL_DATA && r->o->republish == NULL ? FAIL_NONE : f->code;
	if (kept.any && kept.whole <= r->o->first)
		return FAIL_NONE;
	r->compare_from = kept.any && kept.whole < r->o->end ? kept.whole : r->o->end;
	log_warning("replay: REPLAY-NOT-KEPT steps below %" PRIu64
		    " are not in the batch topic any more: they are derived, and compared with the "
		    "ledger alone",
	    r->compare_from);
	return FAIL_NONE;
}

static enum fail_code
seek_batches(struct replay *r, struct failure *f)
{
	const struct lane_map map = step_records_map(r->records);
	bool derive_only = r->o->derive_only || lane_map_lying(&map) == 0;

	r->result->no_copies = lane_map_lying(&map) == 0;
	r->compare_from = derive_only ? r->o->end : r->o->first;
	if (!derive_only && find_kept(r, f) != FAIL_NONE)
		return f->code;
	if (r->compare_from >= r->o->end)
		return FAIL_NONE;
	return step_records_seek(r->records, r->compare_from, f);
}

/*
 * Lanes that are completed are compared from the first step that is derived, where they keep it:
 * one that lost the marker of an abort, and not its records, shows them at its end once the next
 * marker has come.
 */
static enum fail_code
seek_filled(struct replay *r, struct failure *f)
{
	uint64_t derived = (uint64_t)r->now.step_next;
	struct step_records_kept kept;

	if (step_records_earliest(r->records, &kept, f) != FAIL_NONE)
		return f->code;
	r->compare_from = r->o->first;
	if (kept.any && kept.whole < r->compare_from)
		r->compare_from = kept.whole;
	if (kept.any && r->compare_from < derived)
		r->compare_from = derived;
	for (uint32_t i = 0; i < r->o->fill->lanes; i++)
		step_records_absent(r->records, i, r->o->fill->absent_from[i]);
	return step_records_seek(r->records, r->compare_from, f);
}

/* A topic that cannot be asked is left to the reading, which says more of it. */
static enum fail_code
compare_logs(struct replay *r, struct failure *f)
{
	bool any;
	enum fail_code code = derivation_compare_logs(&r->derived, r->log, OPEN_MS, &any, f);

	return code == FAIL_BROKER || code == FAIL_TIMEOUT || code == FAIL_DENIED ? FAIL_NONE
										  : code;
}

static enum fail_code
open_all(struct replay *r, struct failure *f)
{
	const struct properties *properties = &r->o->config->kafka;

	if (ledger_log_open(&r->log, r->mix, properties, OPEN_MS, f) != FAIL_NONE ||
	    check_published(r, f) != FAIL_NONE || compare_logs(r, f) != FAIL_NONE ||
	    step_records_open(&r->records, r->mix, properties, OPEN_MS, f) != FAIL_NONE ||
	    (r->o->fill == NULL && seek_batches(r, f) != FAIL_NONE))
		return f->code;
	r->record = calloc(step_records_lanes(r->records), sizeof(*r->record));
	if (r->record == NULL)
		return fail_memory(f);
	return ledger_log_seek(r->log, r->o->first, true, f);
}

static void
close_all(struct replay *r)
{
	derivation_close(&r->derived);
	republish_close(r->other);
	step_records_close(r->records);
	ledger_log_close(r->log);
	ledger_clear(&r->before);
	ledger_clear(&r->now);
	free(r->record);
}

/* ---- the assembler, in the state of record k-1 ---- */

/*
 * The assembler calls this for a sequence that fails the check and that the ledger does not name
 * among the quarantined. A mixer would leave it out; a replay keeps the first one for fail_bad().
 */
static void
note_bad(void *replay, const struct mixer_draw *draw, const struct feed_block_record *record)
{
	struct replay *r = replay;
	struct replay_bad *b = &r->bad;

	assert(record->reason != NULL);
	if (b->any)
		return;
	b->any = true;
	b->draw = *draw;
	b->offset = record->offset;
	snprintf(b->reason, sizeof(b->reason), "%s", record->reason);
	snprintf(b->domain, sizeof(b->domain), "%s",
	    mixer_domain_name(assembler_mixer(r->derived.assembler), draw->domain));
}

/* Of what the feed may use; 0 in the configuration: a mix without a file. */
static uint64_t
feed_memory(const struct replay *r)
{
	uint64_t memory = r->o->config->mix.memory_bytes;

	return (memory == 0 ? MEMORY_BYTES : memory) / 2;
}

/* What derivation_start() or derivation_start_behind() says of the ledger. */
static enum fail_code
blame(const struct replay *r, enum derivation_fault fault, struct failure *f)
{
	switch (fault) {
	case DERIVATION_NONE: return f->code;
	case DERIVATION_BEFORE: return replay_verdict_ledger(r, &r->before, r->before_at, f);
	case DERIVATION_NOW: return replay_verdict_ledger(r, &r->now, r->now_at, f);
	}
	abort(); /* unreachable */
}

/* ---- what is wrong with a domain log ---- */

/*
 * Whether the step's records hold the sequence; *lane and *place say where. A record that cannot be
 * read holds nothing: that it is damaged is found by comparing it.
 */
static bool
holds(const struct replay *r, const struct mixer_draw *draw, uint32_t *lane, size_t *place)
{
	for (*lane = 0; *lane < r->derived.head.lanes; (*lane)++) {
		const struct step_record *record = &r->record[*lane];
		struct sequence_payload_view payload;
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
	const char *verdict =
	    "the domain log is the one that differs, or the ledger, which does not "
	    "name it among the quarantined";
	char where[64] = "";
	uint32_t lane;
	size_t place;

	assert(b->any);
	if (compared && holds(r, &b->draw, &lane, &place)) {
		snprintf(where, sizeof(where), ", lane %" PRIu32 ", sequence %zu", lane, place);
		verdict =
		    "the domain log is the one that differs: the batch topic holds this sequence";
	} else if (compared)
		verdict = "the ledger is the one that differs: the batch topic passes over this "
			  "sequence too, and the ledger does not name it among the quarantined";
	return fail(f, FAIL_DATA,
	    "step %" PRIu64 "%s (domain %s, partition %" PRIu32 ", ordinal %" PRIu64
	    "): %s; topic %s.%s, partition %" PRIu32 ", offset %" PRId64 "; %s",
	    step, where, b->domain, b->draw.partition, b->draw.ordinal, b->reason,
	    r->derived.plan.corpus, b->domain, b->draw.partition, b->offset, verdict);
}

/*
 * Waits for the step's sequences. FAIL_DATA: a domain log does not have what it had.
 *
 * A mixer waits for a live domain that is dry, since more may come. A replay does not: what the
 * step was drawn from was there when it was drawn. A domain that is dry by the lengths in record k
 * means that these are wrong.
 */
static enum fail_code
next_step(struct replay *r, struct assembled *step, bool *ended, struct failure *f)
{
	uint64_t number = mixer_step_next(assembler_mixer(r->derived.assembler));
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	enum fail_code code;

	do
		code = assembler_next(r->derived.assembler, GATHER_MS, step, ended, f);
	while (code == FAIL_TIMEOUT && !r->bad.any && assembler_dry(r->derived.assembler) == NULL &&
	       !is_stopped(r) && clock_ms() < deadline_ms);
	if (code == FAIL_TIMEOUT && !r->bad.any && is_stopped(r))
		return fail_stopped(r, number, f);
	if (code == FAIL_TIMEOUT && assembler_dry(r->derived.assembler) != NULL) {
		fail_within(f, "drawn with the lengths in this record");
		return replay_verdict_ledger(r, &r->now, r->now_at, f);
	}
	if (code != FAIL_DATA && code != FAIL_CONFIG)
		return code;
	fail_within(f, "step %" PRIu64, mixer_step_next(assembler_mixer(r->derived.assembler)));
	f->code = FAIL_DATA;
	return f->code;
}

/* Waits for the records of step `number`, in r->record. */
static enum fail_code
next_records(struct replay *r, uint64_t number, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + WAIT_MS;
	enum fail_code code;

	do
		code = step_records_next(r->records, GATHER_MS, r->record, f);
	while (code == FAIL_TIMEOUT && !is_stopped(r) && clock_ms() < deadline_ms);
	return code == FAIL_TIMEOUT && is_stopped(r) ? fail_stopped(r, number, f) : code;
}

/* ---- comparing ---- */

/* `bytes` are what the lane should hold. */
static void
keep_finding(struct replay *r, uint64_t step, uint32_t lane, const uint8_t *bytes, size_t n)
{
	struct replay_finding *x = &r->finding;

	assert(!x->any);
	assert(lane < r->derived.head.lanes);
	x->any = true;
	x->step = step;
	x->lane = lane;
	x->offset = r->record[lane].offset;
	batch_compare(&x->difference, bytes, n, r->record[lane].bytes, r->record[lane].n);
	snprintf(x->domain, sizeof(x->domain), "%.*s", (int)x->difference.domain.n,
	    x->difference.domain.bytes == NULL ? "" : x->difference.domain.bytes);
	x->difference.domain = (struct text_view){NULL, 0}; /* it points into `bytes` */
}

/*
 * A step that was derived, or with `step` NULL the end of the mix, against the lanes' records. What
 * a lane lacks is put there.
 */
static enum fail_code
compare_step(struct replay *r, const struct assembled *step, uint64_t number, struct failure *f)
{
	assert(number >= r->compare_from);
	for (uint32_t lane = 0; lane < r->derived.head.lanes && !r->finding.any; lane++) {
		const struct step_record *found = &r->record[lane];
		uint8_t *bytes;
		size_t n;

		if (derivation_lane(&r->derived, step, number, lane, &bytes, &n, f) != FAIL_NONE)
			return f->code;
		if (found->bytes == NULL) {
			if (lane_fill_put(r->o->fill, lane, bytes, n, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		if (n != found->n || memcmp(bytes, found->bytes, n) != 0)
			keep_finding(r, number, lane, bytes, n);
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

/* Hands the lanes of a step out, where the caller wants them. */
static enum fail_code
give_step(struct replay *r, const struct assembled *step, uint64_t number, struct failure *f)
{
	if (r->o->lane == NULL || number < r->o->first || number >= r->o->end)
		return FAIL_NONE;
	for (uint32_t lane = 0; lane < r->derived.head.lanes; lane++) {
		enum fail_code code;
		uint8_t *bytes;
		size_t n;

		if (derivation_lane(&r->derived, step, number, lane, &bytes, &n, f) != FAIL_NONE)
			return f->code;
		code = r->o->lane(r->o->lane_opaque, lane, bytes, n, f);
		free(bytes);
		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

/* One step: its records, its sequences, the comparison. */
static enum fail_code
take_step(struct replay *r, uint64_t number, struct failure *f)
{
	bool compared = in_range(r, number), ended = false;
	struct assembled step;

	if (is_stopped(r))
		return fail_stopped(r, number, f);
	if (r->other != NULL && republish_begin(r->other, assembler_mixer(r->derived.assembler),
				    &r->now, f) != FAIL_NONE)
		return f->code;
	if (compared && next_records(r, number, f) != FAIL_NONE)
		return f->code;
	if (next_step(r, &step, &ended, f) != FAIL_NONE)
		return r->bad.any ? fail_bad(r, number, compared, f) : f->code;
	if (r->bad.any)
		return fail_bad(r, number, compared, f);
	if (ended) {
		fail(f, FAIL_DATA,
		    "derived from the record before it the mix ends at step %" PRIu64, number);
		return replay_verdict_ledger(r, &r->now, r->now_at, f);
	}
	if (compared && compare_step(r, &step, number, f) != FAIL_NONE)
		return f->code;
	r->result->steps += compared;
	if (give_step(r, &step, number, f) != FAIL_NONE)
		return f->code;
	if (r->other != NULL && !r->finding.any &&
	    republish_step(r->other, assembler_mixer(r->derived.assembler), &step, &r->derived.head,
		&r->now, f) != FAIL_NONE)
		return f->code;
	assembler_release(r->derived.assembler);
	return FAIL_NONE;
}

/* The record that ends the mix on each lane. */
static enum fail_code
take_end(struct replay *r, struct failure *f)
{
	uint64_t number = (uint64_t)r->now.step_next;

	if (r->now.kind != LEDGER_END || number != r->o->end || r->compare_from >= number)
		return FAIL_NONE;
	if (next_records(r, number, f) != FAIL_NONE)
		return f->code;
	return compare_step(r, NULL, number, f);
}

/* Derives the steps of record k and what ends the mix there, compares, and judges. */
static enum fail_code
take_steps(struct replay *r, struct failure *f)
{
	enum derivation_fault fault;

	r->finding.any = false;
	/* From the first step of the record on, whichever is wanted: all judge the record. */
	if (derivation_start(&r->derived, &r->before, &r->now, 0, &fault, f) != FAIL_NONE)
		return blame(r, fault, f);
	assert(r->derived.assembler != NULL);
	for (uint64_t s = (uint64_t)r->now.step_first; s < (uint64_t)r->now.step_next; s++)
		if (take_step(r, s, f) != FAIL_NONE)
			return f->code;
	if (take_end(r, f) != FAIL_NONE)
		return f->code;
	return replay_verdict_steps(r, assembler_mixer(r->derived.assembler), f);
}

/* ---- along the ledger ---- */

/* What all steps of record k have in common: the mixer's plan, the records' head. */
static enum fail_code
take_config(struct replay *r, struct failure *f)
{
	if (derivation_take(&r->derived, &r->now, f) != FAIL_NONE)
		return f->code == FAIL_MEMORY ? f->code
					      : replay_verdict_ledger(r, &r->now, r->now_at, f);
	if (r->derived.head.lanes == step_records_lanes(r->records))
		return FAIL_NONE;
	fail(f, FAIL_DATA, "config: %" PRIu32 " lanes, the batch topic has %" PRIu32 " partitions",
	    r->derived.head.lanes, step_records_lanes(r->records));
	return replay_verdict_ledger(r, &r->now, r->now_at, f);
}

static enum fail_code
read_record(struct replay *r, struct failure *f)
{
	ledger_clear(&r->before);
	r->before = r->now;
	r->before_at = r->now_at;
	memset(&r->now, 0, sizeof(r->now));
	if (ledger_log_next(r->log, 0, &r->now, &r->now_at, f) == FAIL_NONE)
		return take_config(r, f);
	if (f->code == FAIL_DATA)
		fail_within(f, "the ledger is the one that differs: a record of it cannot be read");
	return f->code;
}

/*
 * The record before the first step: what the first transaction is derived from. It is taken as it
 * is, unless it is the very first of the mix, which can be derived from the configuration alone.
 */
static enum fail_code
begin(struct replay *r, struct failure *f)
{
	r->before_at = r->now_at = -1;
	if (read_record(r, f) != FAIL_NONE)
		return f->code;
	/* control_next alone is 0 as well where the control topic was recreated. */
	if (r->now.kind == LEDGER_START && r->now.draws == 0 && r->now.version <= 1 &&
	    r->now.control_next == 0 && r->now.request_ids_n == 0) {
		r->before_sure = true;
		return replay_verdict_first(r, f);
	}
	r->before_sure = false;
	return FAIL_NONE;
}

/* Record k: itself, and the steps of its transaction. */
static enum fail_code
take_record(struct replay *r, struct failure *f)
{
	bool steps;

	if (replay_verdict_record(r, f) != FAIL_NONE)
		return f->code;
	steps = r->now.step_next > r->now.step_first || r->now.kind == LEDGER_END;
	if (steps) {
		if (take_steps(r, f) != FAIL_NONE)
			return f->code;
	} else {
		derivation_stop(&r->derived);
		if (replay_verdict_standing(r, f) != FAIL_NONE)
			return f->code;
	}
	/* Answers are taken over from the record, not derived: such a record may be at fault. */
	r->before_sure = r->now.answers_n == 0;
	if (r->o->fill != NULL)
		return lane_fill_commit(r->o->fill, f);
	if (r->other == NULL)
		return FAIL_NONE;
	return republish_record(r->other, &r->now, f);
}

static bool
is_done(const struct replay *r)
{
	if (r->o->fill != NULL) /* what stands behind the last step changes what follows it */
		return r->now_at >= r->last_at;
	if ((uint64_t)r->now.step_next < r->o->end)
		return false;
	return r->other == NULL || republish_complete(r->other);
}

/* ---- beyond the ledger: steps that the lanes hold, and of which it lost its records ---- */

/* The ledger's record of what was derived, by a writer of its own, whose START comes first. */
static enum fail_code
write_beyond(struct replay *r, bool ended, struct failure *f)
{
	struct ledger l = {0};
	struct ledger start = r->now; /* borrows */
	enum fail_code code = FAIL_NONE;
	uint64_t id;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return fail_errno(f, FAIL_IO, "cannot draw a random number for this writer's id");
	start.kind = LEDGER_START;
	start.mixer = id;
	start.step_first = start.step_next;
	start.answers_n = 0;
	/* The steps' records are put and not committed: one transaction holds all of it. */
	if (lane_fill_put_ledger(r->o->fill, &start, f) != FAIL_NONE)
		return f->code;
	code = mixer_save(assembler_mixer(r->derived.assembler), &l, f);
	if (code == FAIL_NONE) {
		struct ledger record = l;

		record.kind = ended ? LEDGER_END : LEDGER_STEPS;
		record.mix = r->now.mix;
		record.mixer = id;
		record.schedule = r->now.schedule;
		record.tokenizer = r->now.tokenizer;
		record.config = r->now.config;
		record.step_first = r->now.step_next;
		record.run = r->now.run;
		record.runs_n = r->now.runs_n;
		code = lane_fill_put_ledger(r->o->fill, &record, f);
	}
	ledger_clear(&l);
	return code == FAIL_NONE ? lane_fill_commit(r->o->fill, f) : code;
}

static enum fail_code
fail_dry_beyond(const struct replay *r, uint64_t number, struct failure *f)
{
	const struct mixer_draw *draw = assembler_dry(r->derived.assembler);

	return fail(f, FAIL_DATA,
	    "step %" PRIu64 ": domain %s is live, and the ledger has lost how long it was when the "
	    "step was drawn",
	    number, mixer_domain_name(assembler_mixer(r->derived.assembler), draw->domain));
}

/* One step beyond the ledger. */
static enum fail_code
take_beyond(struct replay *r, uint64_t number, struct failure *f)
{
	struct assembled step;
	bool ended = false;

	if (next_records(r, number, f) != FAIL_NONE)
		return f->code;
	if (next_step(r, &step, &ended, f) != FAIL_NONE && !r->bad.any)
		return assembler_dry(r->derived.assembler) == NULL ? f->code
								   : fail_dry_beyond(r, number, f);
	if (r->bad.any)
		return fail_bad(r, number, true, f);
	if (ended) {
		fail(f, FAIL_DATA,
		    "step %" PRIu64
		    ": by the ledger's last record the mix ends there, by the lanes it continues",
		    number);
		return replay_fail_beyond(f);
	}
	if (compare_step(r, &step, number, f) != FAIL_NONE)
		return f->code;
	assembler_release(r->derived.assembler);
	r->result->steps++;
	return replay_verdict_beyond(r, f);
}

/*
 * The end of the mix there. A mixer can be told to end at any step, and lanes say that it was: all
 * that is derived is what their records say beside that.
 */
static enum fail_code
take_end_beyond(struct replay *r, uint64_t number, struct failure *f)
{
	if (next_records(r, number, f) != FAIL_NONE ||
	    compare_step(r, NULL, number, f) != FAIL_NONE)
		return f->code;
	return replay_verdict_beyond(r, f);
}

/*
 * Steps [ledger_end, end), which lanes hold and of which the ledger lost its records. They are
 * derived from its last record, as a mixer would that resumes there, and are certain where
 * every record that a lane holds is as derived.
 */
static enum fail_code
walk_beyond(struct replay *r, struct failure *f)
{
	bool last = r->o->ended && !r->ledger_ended;
	enum derivation_fault fault;

	if (r->o->fill == NULL || (r->o->end == r->o->ledger_end && !last))
		return FAIL_NONE;
	r->finding.any = false;
	if (derivation_start_behind(&r->derived, &r->now, &fault, f) != FAIL_NONE)
		return blame(r, fault, f);
	for (uint64_t s = r->o->ledger_end; s < r->o->end; s++)
		if (take_beyond(r, s, f) != FAIL_NONE)
			return f->code;
	if (last && take_end_beyond(r, r->o->end, f) != FAIL_NONE)
		return f->code;
	return write_beyond(r, last, f);
}

static enum fail_code
walk_records(struct replay *r, struct progress *p, struct failure *f)
{
	while (!is_done(r)) {
		if (read_record(r, f) != FAIL_NONE || take_record(r, f) != FAIL_NONE)
			return f->code;
		p->done = (uint64_t)r->now.step_next - p->skipped;
		progress_show(p);
	}
	return walk_beyond(r, f);
}

static enum fail_code
walk(struct replay *r, struct failure *f)
{
	struct progress p;
	enum fail_code code;

	if (begin(r, f) != FAIL_NONE)
		return f->code;
	if (r->o->fill != NULL && seek_filled(r, f) != FAIL_NONE)
		return f->code;
	progress_begin(&p, "replay", "steps", r->o->end, (uint64_t)r->now.step_next);
	code = walk_records(r, &p, f);
	progress_end(&p);
	return code;
}

enum fail_code
replay(const struct replay_options *o, struct replay_result *out, struct failure *f)
{
	struct replay *r = calloc(1, sizeof(*r));
	enum fail_code code;

	assert(o->first < o->end);
	assert(o->config->mix.name != NULL);
	*out = (struct replay_result){0};
	if (r == NULL)
		return fail_memory(f);
	r->o = o;
	r->mix = o->config->mix.name;
	r->result = out;
	r->derived.o = (struct derivation_options){
	    .mix = r->mix,
	    .properties = &o->config->kafka,
	    .memory_bytes = feed_memory(r),
	    .bad = note_bad,
	    .opaque = r,
	};
	code = open_all(r, f);
	if (code == FAIL_NONE && o->republish != NULL) {
		struct republish_options other = {
		    .config = o->config, .mix = o->republish, .first = o->first, .end = o->end};

		code = republish_open(&r->other, &other, f);
	}
	if (code == FAIL_NONE && r->other != NULL && republish_complete(r->other))
		out->complete = true;
	else if (code == FAIL_NONE)
		code = walk(r, f);
	if (r->other != NULL)
		out->republished = republish_steps(r->other);
	close_all(r);
	free(r);
	return code;
}

enum fail_code
replay_derive(const struct config *c, const char *mix, uint64_t first, uint64_t end,
    replay_lane *lane, void *opaque, struct failure *f)
{
	struct config with = *c; /* borrows */
	struct replay_options o = {
	    .config = &with,
	    .first = first,
	    .end = end,
	    .derive_only = true,
	    .lane = lane,
	    .lane_opaque = opaque,
	};
	struct replay_result ignored;

	with.mix.name = (char *)(uintptr_t)mix; /* read only */
	return replay(&o, &ignored, f);
}
