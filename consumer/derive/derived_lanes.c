#include "consumer/derive/derived_lanes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "consumer/derive/derivation.h"
#include "consumer/ledger/ledger_log.h"

enum {
	SLICE_MS = 50, /* of waiting: the most that `awake` is overlooked */
	REASON_BYTES = 256,
};

/*
 *     SEEK --record read--> STATE --record with steps--> STEPS --its last one--> STATE
 *       ^                     `--END, behind its steps--> ENDED
 *       +---- derived_lanes_seek(), and any failure but FAIL_TIMEOUT
 */
enum walk {
	WALK_SEEK,  /* nothing is read */
	WALK_STATE, /* `now` is the record whose state is the newest known */
	WALK_STEPS, /* of `now`, from the assembler's next on; `before` is the one before it */
	WALK_ENDED, /* the end of the mix was put */
};

struct derived_lanes {
	struct derived_lanes_options o;
	char *mix;
	struct properties properties;
	struct ledger_log *log; /* NULL: to be opened */
	enum walk walk;
	bool compared; /* the domain logs are those that the mix has drawn from */
	bool at_end;   /* this was reported, and nothing has come since */
	uint64_t step; /* sought, and then the next one that is put */
	struct ledger before, now;
	struct derivation derived;
	/* The first sequence that fails the check, and that the ledger does not name. */
	bool bad;
	char reason[REASON_BYTES];
};

/* ---- opening ---- */

/* An assembler_quarantined. */
static void
note_bad(void *opaque, const struct mixer_draw *draw, const struct feed_block_record *record)
{
	struct derived_lanes *d = opaque;
	const struct mixer *m = assembler_mixer(d->derived.assembler);

	if (d->bad)
		return;
	d->bad = true;
	snprintf(d->reason, sizeof(d->reason),
	    "domain %s, partition %" PRIu32 ", ordinal %" PRIu64 ": %s",
	    mixer_domain_name(m, draw->domain), draw->partition, draw->ordinal, record->reason);
}

static enum fail_code
copy_properties(struct properties *out, const struct properties *from, struct failure *f)
{
	for (size_t i = 0; i < from->n; i++)
		if (properties_set(out, from->item[i].name, from->item[i].value, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

enum fail_code
derived_lanes_open(
    struct derived_lanes **out, const struct derived_lanes_options *o, struct failure *f)
{
	struct derived_lanes *d = calloc(1, sizeof(*d));

	assert(o->count > 0);
	assert(o->first + o->count <= o->lanes);
	if (d == NULL)
		return fail_memory(f);
	d->o = *o;
	d->mix = strdup(o->mix);
	if (d->mix == NULL || copy_properties(&d->properties, o->properties, f) != FAIL_NONE) {
		derived_lanes_close(d);
		return fail_memory(f);
	}
	d->o.mix = d->mix;
	d->o.properties = &d->properties;
	d->derived.o = (struct derivation_options){
	    .mix = d->mix,
	    .properties = &d->properties,
	    .memory_bytes = o->memory_bytes,
	    .bad = note_bad,
	    .opaque = d,
	};
	*out = d;
	return FAIL_NONE;
}

void
derived_lanes_close(struct derived_lanes *d)
{
	if (d == NULL)
		return;
	derivation_close(&d->derived);
	ledger_log_close(d->log);
	ledger_clear(&d->before);
	ledger_clear(&d->now);
	properties_clear(&d->properties);
	free(d->mix);
	free(d);
}

static enum fail_code
open_log(struct derived_lanes *d, struct failure *f)
{
	if (d->log != NULL)
		return FAIL_NONE;
	return ledger_log_open(&d->log, d->mix, &d->properties, d->o.timeout_ms, f);
}

/* ---- where the walk is ---- */

static void
forget(struct derived_lanes *d)
{
	derivation_stop(&d->derived);
	ledger_clear(&d->before);
	ledger_clear(&d->now);
	memset(&d->before, 0, sizeof(d->before));
	memset(&d->now, 0, sizeof(d->now));
	d->walk = WALK_SEEK;
	d->bad = d->at_end = false;
}

void
derived_lanes_seek(struct derived_lanes *d, uint64_t step)
{
	forget(d);
	d->step = step;
}

enum fail_code
derived_lanes_range(struct derived_lanes *d, uint64_t *low, uint64_t *high, struct failure *f)
{
	struct ledger first = {0}, last = {0};
	bool any = false;
	enum fail_code code;

	forget(d); /* the questions move the log */
	*low = *high = 0;
	if (open_log(d, f) != FAIL_NONE)
		return f->code;
	code = ledger_log_first(d->log, &first, &any, f);
	if (code == FAIL_NONE && any)
		code = ledger_log_last(d->log, &last, &any, f);
	if (code == FAIL_NONE && any) {
		*low = (uint64_t)first.step_next;
		*high = (uint64_t)last.step_next + (last.kind == LEDGER_END);
	}
	ledger_clear(&first);
	ledger_clear(&last);
	return code;
}

/* The next record of the ledger becomes `now`. */
static enum fail_code
read_record(struct derived_lanes *d, int wait_ms, struct failure *f)
{
	struct ledger next = {0};
	int64_t offset;

	if (ledger_log_next(d->log, wait_ms, &next, &offset, f) != FAIL_NONE) {
		ledger_clear(&next);
		return f->code;
	}
	ledger_clear(&d->before);
	d->before = d->now;
	d->now = next;
	if (derivation_take(&d->derived, &d->now, f) != FAIL_NONE)
		return f->code;
	if (d->derived.head.lanes != d->o.lanes)
		return fail(f, FAIL_DATA,
		    "the mix has %" PRIu32 " lanes, and topic %s.lanes has %" PRIu32
		    " partitions: delete the topic; `riffle topics --create` creates it, and "
		    "`riffle runs --reset` sets a run's commits",
		    d->derived.head.lanes, d->mix, d->o.lanes);
	if (d->derived.plan.batches != MIX_BATCHES_DERIVED)
		return fail(f, FAIL_CONFIG,
		    "topic %s.batches does not exist, and the mix has published its steps there: "
		    "it was deleted. `riffle topics --create` creates it, `riffle repair` fills it "
		    "from ledger and domains",
		    d->mix);
	return FAIL_NONE;
}

/*
 * Reads the record with the state before the step that is due; where that one ends the mix, the one
 * before it, as its end is what a lane shows last. *has: there is one. *lost: there was, and the
 * ledger begins behind it now; else the mix has not begun.
 */
static enum fail_code
find_state(struct derived_lanes *d, bool *has, bool *lost, struct failure *f)
{
	struct ledger first = {0};
	bool any = false;
	enum fail_code code = open_log(d, f);

	*has = *lost = false;
	if (code == FAIL_NONE && !d->compared) {
		code = derivation_compare_logs(&d->derived, d->log, d->o.timeout_ms, &any, f);
		d->compared = code == FAIL_NONE && any;
	}
	if (code == FAIL_NONE)
		code = ledger_log_find(d->log, d->step, false, has, f);
	if (code == FAIL_NONE && !*has) {
		code = ledger_log_first(d->log, &first, &any, f);
		*lost = any && (uint64_t)first.step_next > d->step;
		ledger_clear(&first);
		return code;
	}
	if (code == FAIL_NONE)
		code = read_record(d, 0, f);
	if (code == FAIL_NONE && d->now.kind == LEDGER_END) {
		code = ledger_log_find(d->log, d->step, true, has, f);
		if (code == FAIL_NONE && *has)
			code = read_record(d, 0, f);
	}
	if (code == FAIL_NONE && *has)
		d->walk = WALK_STATE;
	return code;
}

/* ---- steps ---- */

static enum fail_code
put_lanes(struct derived_lanes *d, const struct assembled *step, uint64_t number, struct failure *f)
{
	for (uint32_t lane = d->o.first; lane < d->o.first + d->o.count; lane++) {
		uint8_t *bytes;
		size_t n;

		if (derivation_lane(&d->derived, step, number, lane, &bytes, &n, f) != FAIL_NONE ||
		    d->o.put(d->o.opaque, lane, number, bytes, n, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
fail_ledger(const struct derived_lanes *d, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "steps %" PRId64 "..%" PRId64 " of mix %s are not derived as the ledger has them: "
	    "`riffle replay` says what differs",
	    d->now.step_first, d->now.step_next, d->mix);
}

/* Behind the last step of `now`: the choices are the mixer's. */
static enum fail_code
check_choices(const struct derived_lanes *d, struct failure *f)
{
	struct ledger after = {0};
	bool equal;
	enum fail_code code = mixer_save(assembler_mixer(d->derived.assembler), &after, f);

	equal = after.choices == d->now.choices;
	ledger_clear(&after);
	if (code != FAIL_NONE || equal)
		return code;
	return fail_ledger(d, f);
}

static enum fail_code
assemble(struct derived_lanes *d, int64_t deadline_ms, struct assembled *step, struct failure *f)
{
	int64_t left_ms = deadline_ms - clock_ms();
	bool ended = false;
	enum fail_code code = assembler_next(d->derived.assembler,
	    left_ms < 0          ? 0
	    : left_ms < SLICE_MS ? (int)left_ms
				 : SLICE_MS,
	    step, &ended, f);

	if (d->bad)
		return fail(f, FAIL_DATA,
		    "%s: the mixer has drawn it, so that it was whole: the domain log is not the "
		    "one that was drawn from, or is damaged since",
		    d->reason);
	if (code == FAIL_TIMEOUT && assembler_dry(d->derived.assembler) != NULL)
		return fail_ledger(d, f);
	if (code == FAIL_NONE && ended)
		return fail_ledger(d, f);
	return code;
}

/* The step that comes next of `now`, or its end. *put: it was wanted. */
static enum fail_code
take_step(
    struct derived_lanes *d, int64_t deadline_ms, bool *put, uint64_t *number, struct failure *f)
{
	const struct mixer *m = assembler_mixer(d->derived.assembler);
	struct assembled step;
	enum fail_code code;

	*put = false;
	*number = mixer_step_next(m);
	if (*number >= (uint64_t)d->now.step_next) {
		if (check_choices(d, f) != FAIL_NONE)
			return f->code;
		*put = d->now.kind == LEDGER_END;
		if (*put && put_lanes(d, NULL, *number, f) != FAIL_NONE)
			return f->code;
		d->walk = *put ? WALK_ENDED : WALK_STATE;
		return FAIL_NONE;
	}
	code = assemble(d, deadline_ms, &step, f);
	if (code != FAIL_NONE)
		return code;
	*put = *number >= d->step;
	if (*put)
		code = put_lanes(d, &step, *number, f);
	assembler_release(d->derived.assembler);
	if (*put && code == FAIL_NONE)
		d->step = *number + 1;
	return code;
}

/* The next record: one with steps is begun, another one is passed over. */
static enum fail_code
take_record(struct derived_lanes *d, int wait_ms, struct failure *f)
{
	enum derivation_fault ignored;

	if (read_record(d, wait_ms, f) != FAIL_NONE)
		return f->code;
	if (d->now.step_next == d->now.step_first && d->now.kind != LEDGER_END) {
		derivation_stop(&d->derived);
		return FAIL_NONE;
	}
	if (derivation_start(&d->derived, &d->before, &d->now, d->step, &ignored, f) != FAIL_NONE)
		return f->code == FAIL_DATA ? fail_within(f, "steps %" PRId64 "..%" PRId64,
						  d->now.step_first, d->now.step_next)
					    : f->code;
	d->walk = WALK_STEPS;
	return FAIL_NONE;
}

/* ---- the walk ---- */

static bool
may_wait(const struct derived_lanes *d, int64_t deadline_ms)
{
	return !atomic_load(d->o.awake) && clock_ms() < deadline_ms;
}

static enum fail_code
seek_state(struct derived_lanes *d, enum derived_lanes_event *event, bool *met, struct failure *f)
{
	bool has, lost;
	enum fail_code code = find_state(d, &has, &lost, f);

	*event = lost ? DERIVED_LANES_LOST : DERIVED_LANES_AT_END;
	*met = !has;
	return code;
}

/* Nothing comes before another process does something: waits for that. */
static enum fail_code
pause(struct derived_lanes *d, struct failure *f)
{
	if (d->walk == WALK_STATE)
		return take_record(d, SLICE_MS, f);
	clock_pause_ms(SLICE_MS);
	return d->walk == WALK_SEEK ? FAIL_NONE : fail(f, FAIL_TIMEOUT, "the mix has ended");
}

/* One move. *met: there is an event; FAIL_TIMEOUT: a slice of waiting is over. */
static enum fail_code
move(struct derived_lanes *d, int64_t deadline_ms, enum derived_lanes_event *event, uint64_t *step,
    bool *met, struct failure *f)
{
	enum fail_code code;

	*step = d->step;
	*met = false;
	*event = DERIVED_LANES_AT_END;
	switch (d->walk) {
	case WALK_SEEK: return seek_state(d, event, met, f);
	case WALK_STATE:
		code = take_record(d, 0, f);
		*met = code == FAIL_TIMEOUT;
		return *met ? FAIL_NONE : code;
	case WALK_STEPS:
		*event = DERIVED_LANES_STEP;
		return take_step(d, deadline_ms, met, step, f);
	case WALK_ENDED: *met = true; return FAIL_NONE;
	}
	abort(); /* unreachable */
}

enum fail_code
derived_lanes_next(struct derived_lanes *d, int64_t deadline_ms, enum derived_lanes_event *event,
    uint64_t *step, struct failure *f)
{
	bool met = false;
	enum fail_code code;

	do {
		/* The end was reported already: what comes is waited for. */
		bool waits = d->at_end && d->walk != WALK_STEPS;

		code = waits ? pause(d, f) : FAIL_NONE;
		if (code == FAIL_NONE)
			code = move(d, deadline_ms, event, step, &met, f);
		if (waits && met && *event == DERIVED_LANES_AT_END) {
			met = false; /* still */
			code = may_wait(d, deadline_ms) ? FAIL_NONE : FAIL_TIMEOUT;
		} else if (code == FAIL_TIMEOUT && may_wait(d, deadline_ms))
			code = FAIL_NONE;
	} while (code == FAIL_NONE && !met);
	d->at_end = code == FAIL_NONE ? *event == DERIVED_LANES_AT_END : d->at_end;
	if (code == FAIL_TIMEOUT)
		return fail(
		    f, FAIL_TIMEOUT, "mix %s, step %" PRIu64 ": nothing came", d->mix, d->step);
	if (code == FAIL_NONE)
		return FAIL_NONE;
	forget(d);
	return fail_within(f, "mix %s, step %" PRIu64, d->mix, d->step);
}
