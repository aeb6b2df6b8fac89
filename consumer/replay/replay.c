#include "consumer/replay/replay.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "consumer/replay/replay_state.h"

enum { LOG_MS = 10000 };

/* ---- opening ---- */

/* The last record: are the steps there at all? */
static enum fail_code
check_published(struct replay *r, struct failure *f)
{
	struct ledger last = {0};
	bool any = false;
	enum fail_code code = ledger_log_last(r->log, &last, &any, f);
	uint64_t next = any ? (uint64_t)last.step_next : 0;

	ledger_clear(&last);
	if (code != FAIL_NONE)
		return code;
	if (r->o->end <= next)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "steps %" PRIu64 "..%" PRIu64 " are not all published: mix %s stands at step %" PRIu64,
	    r->o->first, r->o->end, r->mix, next);
}

/* Republishing does without the batch topic for what it does not keep any more. */
static enum fail_code
seek_batches(struct replay *r, struct failure *f)
{
	struct step_records_kept kept;

	r->compare_from = r->o->first;
	if (r->o->republish != NULL) {
		if (step_records_earliest(r->records, &kept, f) != FAIL_NONE)
			return f->code;
		if (!kept.any || kept.whole > r->o->first)
			r->compare_from = kept.any ? kept.whole : r->o->end;
		if (r->compare_from > r->o->first)
			log_warning("replay: REPLAY-NOT-KEPT steps below %" PRIu64
				    " are not in the batch topic any more: they are derived, and "
				    "not compared",
			    r->compare_from < r->o->end ? r->compare_from : r->o->end);
		if (r->compare_from >= r->o->end)
			return FAIL_NONE;
	}
	return step_records_seek(r->records, r->compare_from, f);
}

static enum fail_code
open_all(struct replay *r, struct failure *f)
{
	const struct properties *properties = &r->o->config->kafka;

	if (ledger_log_open(&r->log, r->mix, properties, REPLAY_OPEN_MS, f) != FAIL_NONE ||
	    check_published(r, f) != FAIL_NONE ||
	    step_records_open(&r->records, r->mix, properties, REPLAY_OPEN_MS, f) != FAIL_NONE ||
	    seek_batches(r, f) != FAIL_NONE)
		return f->code;
	r->record = calloc(step_records_lanes(r->records), sizeof(*r->record));
	if (r->record == NULL)
		return fail_memory(f);
	return ledger_log_seek(r->log, r->o->first, true, f);
}

static void
close_all(struct replay *r)
{
	assembler_close(r->assembler);
	feed_close(r->feed);
	republish_close(r->other);
	step_records_close(r->records);
	ledger_log_close(r->log);
	ledger_plan_close(&r->plan);
	ledger_clear(&r->before);
	ledger_clear(&r->now);
	free(r->record);
}

/* ---- along the ledger ---- */

/* What the configuration of record k says of all its steps. */
static enum fail_code
take_config(struct replay *r, struct failure *f)
{
	ledger_plan_close(&r->plan);
	if (ledger_plan_open(&r->plan, &r->now, f) != FAIL_NONE)
		return f->code == FAIL_MEMORY ? f->code
					      : replay_fail_ledger(r, &r->now, r->now_at, f);
	r->head = (struct lane_mix){
	    .name = r->mix,
	    .schedule = r->now.schedule,
	    .tokenizer = r->now.tokenizer,
	    .lanes = r->plan.plan.lanes,
	    .global_batch = r->plan.plan.global_batch,
	    .lead = r->plan.max_lead_steps,
	};
	if (r->head.lanes == step_records_lanes(r->records))
		return FAIL_NONE;
	fail(f, FAIL_DATA, "config: %" PRIu32 " lanes, the batch topic has %" PRIu32 " partitions",
	    r->head.lanes, step_records_lanes(r->records));
	return replay_fail_ledger(r, &r->now, r->now_at, f);
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
		fail_within(f, "the ledger is the odd one out: a record of it cannot be read");
	return f->code;
}

/* The record that the walk begins with: where it is the mix's first, it has none before it. */
static enum fail_code
begin(struct replay *r, struct failure *f)
{
	r->before_at = r->now_at = -1;
	if (read_record(r, f) != FAIL_NONE)
		return f->code;
	if (r->now.kind == LEDGER_START && r->now.draws == 0 && r->now.version <= 1 &&
	    r->now.control_next == 0) {
		r->before_sure = true;
		return replay_check_first(r, f);
	}
	r->before_sure = false;
	return FAIL_NONE;
}

/* Record k: itself, and the steps that it speaks of. */
static enum fail_code
take_record(struct replay *r, struct failure *f)
{
	bool steps;

	if (replay_check_record(r, f) != FAIL_NONE)
		return f->code;
	steps = r->now.step_next > r->now.step_first || r->now.kind == LEDGER_END;
	if (steps) {
		if (replay_steps(r, f) != FAIL_NONE)
			return f->code;
	} else {
		assembler_close(r->assembler);
		r->assembler = NULL;
		if (replay_check_standing(r, f) != FAIL_NONE)
			return f->code;
	}
	r->before_sure = r->now.answers_n == 0;
	if (r->other == NULL)
		return FAIL_NONE;
	return republish_record(r, f);
}

static bool
is_done(const struct replay *r)
{
	if ((uint64_t)r->now.step_next < r->o->end)
		return false;
	return r->other == NULL || republish_complete(r->other);
}

static enum fail_code
walk(struct replay *r, struct failure *f)
{
	int64_t logged_ms = clock_ms();

	if (begin(r, f) != FAIL_NONE)
		return f->code;
	while (!is_done(r)) {
		if (read_record(r, f) != FAIL_NONE || take_record(r, f) != FAIL_NONE)
			return f->code;
		if (clock_ms() - logged_ms >= LOG_MS) {
			logged_ms = clock_ms();
			log_info("replay: step=%" PRId64 " of %" PRIu64 "..%" PRIu64,
			    r->now.step_next, r->o->first, r->o->end);
		}
	}
	return FAIL_NONE;
}

enum fail_code
replay(const struct replay_options *o, struct replay_result *out, struct failure *f)
{
	struct replay *r = calloc(1, sizeof(*r));
	enum fail_code code;

	assert(o->first < o->end && o->config->mix.name != NULL);
	*out = (struct replay_result){0};
	if (r == NULL)
		return fail_memory(f);
	r->o = o;
	r->mix = o->config->mix.name;
	r->result = out;
	code = open_all(r, f);
	if (code == FAIL_NONE && o->republish != NULL)
		code = republish_open(r, f);
	if (code == FAIL_NONE && r->other != NULL && republish_complete(r->other))
		out->complete = true;
	else if (code == FAIL_NONE)
		code = walk(r, f);
	close_all(r);
	free(r);
	return code;
}
