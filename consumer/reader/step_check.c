#include "consumer/reader/step_check.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void
step_check_init(
    struct step_check *c, const char *mix, uint32_t lanes, uint32_t lanes_mine, uint64_t step)
{
	assert(lanes > 0);
	assert(lanes_mine > 0 && lanes_mine <= lanes);

	*c =
	    (struct step_check){.mix = mix, .lanes = lanes, .lanes_mine = lanes_mine, .step = step};
}

static bool
is_text(const struct text_view *view, const char *text)
{
	return view->n == strlen(text) && (view->n == 0 || memcmp(view->bytes, text, view->n) == 0);
}

/* The record belongs to this lane of this mix, and its sizes fit each other. */
static enum fail_code
check_place(const struct step_check *c, uint32_t partition, const struct batch_head *h,
    size_t sequences_n, struct failure *f)
{
	if (!is_text(&h->mix, c->mix))
		return fail(f, FAIL_DATA, "belongs to mix %.*s, not to %s", (int)h->mix.n,
		    h->mix.bytes, c->mix);
	if (h->lane != partition)
		return fail(f, FAIL_DATA,
		    "says lane %" PRIu32
		    ": partitions were added to a topic whose lanes share them, or another program "
		    "writes there; `riffle topics` says which",
		    h->lane);
	if (h->lanes != c->lanes)
		return fail(f, FAIL_DATA,
		    "says that the mix has %" PRIu32 " lanes, the topic has %" PRIu32
		    " partitions: some were added",
		    h->lanes, c->lanes);
	if (h->global_batch == 0 || h->global_batch % h->lanes != 0)
		return fail(f, FAIL_DATA,
		    "has global_batch %" PRIu32 ", which %" PRIu32 " lanes do not divide",
		    h->global_batch, h->lanes);
	if (h->last && sequences_n != 0)
		return fail(f, FAIL_DATA, "ends the mix, but has %zu sequences", sequences_n);
	if (!h->last && sequences_n != h->global_batch / h->lanes)
		return fail(f, FAIL_DATA, "has %zu sequences, not %" PRIu32, sequences_n,
		    h->global_batch / h->lanes);
	if (h->phase.n > STEP_PHASE_MAX)
		return fail(f, FAIL_DATA, "has a phase name of %zu bytes", h->phase.n);
	return FAIL_NONE;
}

enum fail_code
step_check_claim(size_t sequences_n, size_t bytes, struct failure *f)
{
	if (sequences_n <= bytes / STEP_SEQUENCE_BYTES_MIN)
		return FAIL_NONE;
	return fail(
	    f, FAIL_DATA, "claims %zu sequences in a record of %zu bytes", sequences_n, bytes);
}

enum fail_code
step_check_constants(struct step_check *c, uint32_t partition, const struct batch_head *h,
    size_t sequences_n, struct failure *f)
{
	if (check_place(c, partition, h, sequences_n, f) != FAIL_NONE)
		return f->code;
	if (c->schedule_wanted != 0 && h->schedule != c->schedule_wanted)
		return fail(f, FAIL_DATA,
		    "has schedule %016" PRIx64 ", the checkpoint was made with %016" PRIx64
		    ": mix %s is another one than then; its steps are not those that were trained "
		    "on",
		    h->schedule, c->schedule_wanted, c->mix);
	if (!c->known) {
		c->known = true;
		c->schedule = h->schedule;
		c->tokenizer = h->tokenizer;
		return FAIL_NONE;
	}
	if (h->schedule != c->schedule)
		return fail(f, FAIL_DATA,
		    "has schedule %016" PRIx64 ", earlier records have %016" PRIx64
		    ": another mix has written to this topic",
		    h->schedule, c->schedule);
	if (h->tokenizer != c->tokenizer)
		return fail(f, FAIL_DATA,
		    "has tokenizer %016" PRIx64 ", earlier records have %016" PRIx64, h->tokenizer,
		    c->tokenizer);
	return FAIL_NONE;
}

/* Bitwise: a scale that is not a number must compare equal to itself. */
static bool
same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static enum fail_code
check_agrees(const struct step_check *c, const struct batch_head *h, struct failure *f)
{
	const char *what = NULL;

	if (h->last != c->last)
		what = "the end of the mix";
	else if (h->global_batch != c->global_batch)
		what = "global_batch";
	else if (h->version != c->version)
		what = "the version of the weights";
	else if (h->lead != c->lead)
		what = "the lead";
	else if (!same_bits(h->lr_scale, c->lr_scale))
		what = "lr_scale";
	else if (!is_text(&h->phase, c->phase))
		what = "the phase";
	if (what != NULL)
		return fail(f, FAIL_DATA, "step %" PRIu64 " is torn: its lanes do not agree on %s",
		    h->step, what);
	return FAIL_NONE;
}

/*
 * Not the step that is due, behind records that were. A log is only appended to, so this one is not
 * the log that was read so far: a search for the step tells what is there now.
 */
static enum fail_code
fail_step(const struct step_check *c, const struct batch_head *h, struct failure *f)
{
	bool earlier = h->step < c->step;

	return fail(f, FAIL_DATA,
	    "%s: step %" PRIu64 "%s, where step %" PRIu64
	    " is due: the lane is not the one that was read so far. It has lost its end and was "
	    "filled again (riffle repair), its topic was recreated, or another program writes "
	    "there. Start the trainer again: it searches step %" PRIu64
	    " in what is there now, and `riffle repair` says whether steps are missing",
	    earlier ? "duplicate" : "gap", h->step, earlier ? " again" : "", c->step, c->step);
}

enum fail_code
step_check_record(struct step_check *c, uint32_t partition, const struct batch_head *h,
    size_t sequences_n, struct failure *f)
{
	assert(c->lanes_there < c->lanes_mine);

	if (step_check_constants(c, partition, h, sequences_n, f) != FAIL_NONE)
		return f->code;
	if (h->step != c->step)
		return fail_step(c, h, f);
	if (c->lanes_there > 0 && check_agrees(c, h, f) != FAIL_NONE)
		return f->code;
	if (c->lanes_there++ == 0) {
		assert(h->phase.n <= STEP_PHASE_MAX); /* check_place() */
		c->last = h->last;
		c->global_batch = h->global_batch;
		c->version = h->version;
		c->lead = h->lead;
		c->lr_scale = h->lr_scale;
		if (h->phase.n > 0)
			memcpy(c->phase, h->phase.bytes, h->phase.n);
		c->phase[h->phase.n] = '\0';
	}
	return FAIL_NONE;
}

void
step_check_restart(struct step_check *c)
{
	c->lanes_there = 0;
	c->last = false;
}

void
step_check_advance(struct step_check *c)
{
	assert(c->lanes_there == c->lanes_mine);
	assert(!c->last);
	assert(c->known);

	c->step++;
	c->lanes_there = 0;
}
