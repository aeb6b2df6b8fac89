#include "consumer/derive/mix_mark.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "consumer/derive/derivation.h"
#include "consumer/ledger/ledger_log.h"

#define MEMORY_BYTES (UINT64_C(64) << 20) /* of blocks, where sequences are read */

/* What one call works with. */
struct looking {
	const char *mix;
	const struct properties *properties;
	int timeout_ms;
	struct ledger_log *log;
	struct ledger before, after; /* the last record at or below a step, and the next one */
	bool any_before, any_after;
};

static enum fail_code
open_looking(struct looking *l, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *f)
{
	*l = (struct looking){.mix = mix, .properties = properties, .timeout_ms = timeout_ms};
	return ledger_log_open_for_looks(&l->log, mix, properties, timeout_ms, f);
}

static void
close_looking(struct looking *l)
{
	ledger_log_close(l->log);
	ledger_clear(&l->before);
	ledger_clear(&l->after);
}

/* The next record, into a zeroed *out. *any: there is one. */
static enum fail_code
read_record(struct looking *l, struct ledger *out, bool *any, struct failure *f)
{
	int64_t offset;
	enum fail_code code = ledger_log_next(l->log, 0, out, &offset, f);

	*any = code == FAIL_NONE;
	return code == FAIL_TIMEOUT ? FAIL_NONE : code;
}

static enum fail_code
read_around(struct looking *l, uint64_t step, struct failure *f)
{
	bool any;

	if (ledger_log_find(l->log, step, false, &any, f) != FAIL_NONE)
		return f->code;
	if (any && read_record(l, &l->before, &l->any_before, f) != FAIL_NONE)
		return f->code;
	return l->any_before ? read_record(l, &l->after, &l->any_after, f) : FAIL_NONE;
}

/* ---- drawing steps again ---- */

/* An assembler_quarantined. */
static void
note_bad(void *opaque, const struct mixer_draw *draw, const struct feed_block_record *record)
{
	bool *bad = opaque;

	(void)draw;
	(void)record;
	*bad = true;
}

/* Takes steps until `step` is the next one. */
static enum fail_code
assemble_below(struct derivation *d, uint64_t step, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;

	while (mixer_step_next(assembler_mixer(d->assembler)) < step) {
		int64_t left_ms = deadline_ms - clock_ms();
		struct assembled taken;
		bool ended = false;

		if (assembler_next(d->assembler, left_ms < 0 ? 0 : (int)left_ms, &taken, &ended,
			f) != FAIL_NONE)
			return f->code;
		if (ended)
			return fail(f, FAIL_DATA, "its ledger has more steps than can be drawn");
		assembler_release(d->assembler);
	}
	return FAIL_NONE;
}

/*
 * The hash of all choices below `step`, which lies inside the transaction of l->after. `reads`:
 * sequences may be read for it; FAIL_DATA if they would have to be, and may not.
 */
static enum fail_code
derive_choices(
    const struct looking *l, uint64_t step, bool reads, uint64_t *choices, struct failure *f)
{
	bool bad = false;
	struct derivation d = {
	    .o =
		{
		    .mix = l->mix,
		    .properties = l->properties,
		    .memory_bytes = MEMORY_BYTES,
		    .bad = note_bad,
		    .opaque = &bad,
		},
	};
	struct ledger state = {0};
	enum derivation_fault ignored;
	enum fail_code code = derivation_take(&d, &l->after, f);

	if (code == FAIL_NONE && !reads && mixer_plan_needs_tokens(&d.plan.plan))
		code = fail(f, FAIL_DATA, "the lengths of its sequences are needed");
	if (code == FAIL_NONE)
		code = derivation_start(&d, &l->before, &l->after, step, &ignored, f);
	if (code == FAIL_NONE)
		code = assemble_below(&d, step, l->timeout_ms, f);
	if (code == FAIL_NONE && bad)
		code = fail(f, FAIL_DATA, "a sequence that it has drawn is damaged");
	if (code == FAIL_NONE)
		code = mixer_save(assembler_mixer(d.assembler), &state, f);
	*choices = state.choices;
	ledger_clear(&state);
	derivation_close(&d);
	return code == FAIL_NONE
		   ? FAIL_NONE
		   : fail_within(f, "drawing steps %" PRId64 " to %" PRIu64 " of mix %s again",
			 l->before.step_next, step, l->mix);
}

/* ---- the mark of a step ---- */

enum fail_code
mix_mark_find(struct mix_mark *out, bool *any, const char *mix, const struct properties *properties,
    int timeout_ms, uint64_t step, struct failure *f)
{
	struct failure ignored; /* the record's own hash is good enough */
	uint64_t choices;
	struct looking l;
	enum fail_code code = open_looking(&l, mix, properties, timeout_ms, f);

	*any = false;
	if (code == FAIL_CONFIG) { /* there is no ledger */
		close_looking(&l);
		return FAIL_NONE;
	}
	if (code == FAIL_NONE)
		code = read_around(&l, step, f);
	if (code == FAIL_NONE && l.any_before) {
		*any = true;
		*out = (struct mix_mark){
		    l.before.schedule, (uint64_t)l.before.step_next, l.before.choices};
		if (out->step < step && l.any_after &&
		    derive_choices(&l, step, false, &choices, &ignored) == FAIL_NONE) {
			out->step = step;
			out->choices = choices;
		}
	}
	close_looking(&l);
	return code;
}

/* ---- comparing ---- */

static const char advice[] = "Create it again with the original configuration and data, or train "
			     "without the checkpoint, as a new run";

static enum mix_mark_verdict
fail_schedule(const struct mix_mark *m, const char *mix, uint64_t found, struct failure *f)
{
	fail(f, FAIL_DATA,
	    "mix %s is not the mix of this checkpoint: its schedule is %016" PRIx64
	    ", and the checkpoint has %016" PRIx64
	    ". The mix was created again with another seed, global_batch, number of lanes, "
	    "tokenizer, or another key that fixes the order. %s",
	    mix, found, m->schedule, advice);
	return MIX_MARK_OTHER;
}

static enum mix_mark_verdict
fail_choices(const struct mix_mark *m, const char *mix, uint64_t found, struct failure *f)
{
	fail(f, FAIL_DATA,
	    "mix %s is not the mix of this checkpoint: the hash of its choices below step "
	    "%" PRIu64 " is %016" PRIx64 ", and the checkpoint has %016" PRIx64
	    ". The mix was created again with other weights, domains, data or requests. %s",
	    mix, m->step, found, m->choices, advice);
	return MIX_MARK_OTHER;
}

/* The ledger has no record at or below the step: it is empty, or begins later. */
static enum fail_code
compare_first(
    struct looking *l, const struct mix_mark *m, enum mix_mark_verdict *verdict, struct failure *f)
{
	struct ledger first = {0};
	bool any;
	enum fail_code code = ledger_log_first(l->log, &first, &any, f);

	*verdict = MIX_MARK_EARLY;
	if (code == FAIL_NONE && any && first.schedule != m->schedule) {
		*verdict = fail_schedule(m, l->mix, first.schedule, f);
	} else if (code == FAIL_NONE && any) {
		*verdict = MIX_MARK_UNKNOWN;
		fail(f, FAIL_DATA,
		    "its ledger begins at step %" PRId64 ", after step %" PRIu64
		    " of the checkpoint's hash",
		    first.step_next, m->step);
	}
	ledger_clear(&first);
	return code;
}

static enum fail_code
compare(
    struct looking *l, const struct mix_mark *m, enum mix_mark_verdict *verdict, struct failure *f)
{
	uint64_t choices;

	if (read_around(l, m->step, f) != FAIL_NONE)
		return f->code;
	if (!l->any_before)
		return compare_first(l, m, verdict, f);
	*verdict = MIX_MARK_EARLY;
	choices = l->before.choices;
	if (l->before.schedule != m->schedule) {
		*verdict = fail_schedule(m, l->mix, l->before.schedule, f);
		return FAIL_NONE;
	}
	if ((uint64_t)l->before.step_next < m->step) {
		if (!l->any_after)
			return FAIL_NONE;
		if (derive_choices(l, m->step, true, &choices, f) != FAIL_NONE)
			return f->code;
	}
	*verdict = choices == m->choices ? MIX_MARK_SAME : fail_choices(m, l->mix, choices, f);
	return FAIL_NONE;
}

enum fail_code
mix_mark_compare(const struct mix_mark *m, const char *mix, const struct properties *properties,
    int timeout_ms, enum mix_mark_verdict *verdict, struct failure *f)
{
	struct looking l;
	enum fail_code code = open_looking(&l, mix, properties, timeout_ms, f);

	*verdict = MIX_MARK_EARLY;
	if (code == FAIL_CONFIG) /* there is no ledger yet */
		code = FAIL_NONE;
	else if (code == FAIL_NONE)
		code = compare(&l, m, verdict, f);
	close_looking(&l);
	if (code == FAIL_NONE || code == FAIL_BROKER || code == FAIL_MEMORY)
		return code;
	*verdict = MIX_MARK_UNKNOWN;
	return FAIL_NONE;
}
