/*
 * riffle_validation.c -- part of the public API (riffle.h): a held-out set of one domain, handed
 * out as steps. held_out.h reads the set; slots and decoder are those of a reader's steps.
 *
 * A step is filled sequence by sequence until it has `sequences` of them, or the set ends. Where
 * time runs out in between, the slot stays in `filling`, and the next call continues there.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "consumer/domain/held_out.h"
#include "consumer/reader/riffle_internal.h"
#include "consumer/reader/step_decode.h"
#include "consumer/reader/step_slot.h"

enum { SEQUENCES_DEFAULT = 64, SEQUENCES_MAX = 1 << 16 };

struct riffle_validation {
	struct riffle_gate gate;
	struct properties properties;
	struct held_out *set;
	struct step_pool *pool;
	struct step_slot *given;   /* lent to the caller; NULL: none */
	struct step_slot *filling; /* not whole yet; NULL: none */
	const char *domain;        /* its copy in `filling` */
	size_t filled;
	uint32_t sequences;
	uint64_t step;
	struct riffle_wait wait; /* of the caller, for `step` */
};

static enum fail_code
find_set(enum names_set *out, const char *set, struct failure *f)
{
	for (int i = 0; i < SETS_COUNT; i++)
		if (strcmp(names_set_text[i], set) == 0) {
			*out = (enum names_set)i;
			return FAIL_NONE;
		}
	return fail(f, FAIL_USAGE, "\"%s\" is not a set: valid, test or train", set);
}

static enum fail_code
check_options(const struct riffle_validation_options *o, enum names_set *set, struct failure *f)
{
	if (o->corpus == NULL || !names_valid(o->corpus))
		return fail(f, FAIL_USAGE, "\"%s\" is not a name of a corpus",
		    o->corpus == NULL ? "" : o->corpus);
	if (o->domain == NULL || !names_valid(o->domain))
		return fail(f, FAIL_USAGE, "\"%s\" is not a name of a domain",
		    o->domain == NULL ? "" : o->domain);
	if (riffle_check_token_bytes(o->token_bytes, f) != FAIL_NONE)
		return f->code;
	if (o->sequences > SEQUENCES_MAX)
		return fail(f, FAIL_USAGE, "%" PRIu32 " sequences at a time; at most %d",
		    o->sequences, SEQUENCES_MAX);
	return find_set(set, o->set == NULL ? "valid" : o->set, f);
}

static enum fail_code
open_set(struct riffle_validation *v, const struct riffle_validation_options *o, enum names_set set,
    struct failure *f)
{
	struct held_out_options h = {
	    .corpus = o->corpus,
	    .domain = o->domain,
	    .set = set,
	    .properties = &v->properties,
	    .timeout_ms = riffle_timeout_ms(o->open_timeout_ms),
	};

	riffle_gate_init(&v->gate, "validation set", false);
	v->sequences = o->sequences == 0 ? SEQUENCES_DEFAULT : o->sequences;
	if (riffle_properties_copy(
		&v->properties, o->bootstrap, o->properties, o->properties_n, f) != FAIL_NONE ||
	    held_out_open(&v->set, &h, f) != FAIL_NONE)
		return f->code;
	return step_pool_open(&v->pool, 0, o->token_bytes, f);
}

int
riffle_validation_open(struct riffle_validation **out,
    const struct riffle_validation_options *options, struct riffle_error *e)
{
	struct riffle_validation_options o;
	struct riffle_validation *v;
	enum names_set set = SET_VALID;
	struct failure f;

	*out = NULL;
	if (riffle_take(&o, sizeof(o), options, "riffle_validation_options", &f) != FAIL_NONE ||
	    check_options(&o, &set, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	v = calloc(1, sizeof(*v));
	if (v == NULL)
		fail_memory(&f);
	else if (open_set(v, &o, set, &f) == FAIL_NONE)
		*out = v;
	if (*out != NULL)
		return RIFFLE_OK;
	riffle_validation_close(v);
	return riffle_give_failure(e, &f);
}

void
riffle_validation_close(struct riffle_validation *v)
{
	if (v == NULL || !riffle_gate_end(&v->gate))
		return; /* in a child of a fork nothing of it can be ended */
	step_slot_take_back(v->given);
	if (v->filling != NULL)
		step_pool_put(v->filling);
	step_pool_close(v->pool);
	held_out_close(v->set);
	properties_clear(&v->properties);
	free(v);
}

int
riffle_validation_get_info(const struct riffle_validation *v, struct riffle_validation_info *out)
{
	const struct riffle_validation_info info = {
	    .sequences = held_out_sequences(v->set),
	    .partitions = held_out_partitions(v->set),
	    .sequence_length = held_out_length(v->set),
	    .tokenizer = held_out_tokenizer(v->set),
	};
	struct failure f;

	return riffle_fill(out, &info, sizeof(info), "riffle_validation_info", &f) == FAIL_NONE
		   ? RIFFLE_OK
		   : RIFFLE_ERROR_USAGE;
}

bool
riffle_validation_untouched(const struct riffle_validation *v)
{
	return held_out_untouched(v->set);
}

/* Takes a slot for the next step, unless one is being filled: an earlier call ran out of time. */
static enum fail_code
begin(struct riffle_validation *v, struct failure *f)
{
	if (v->filling != NULL)
		return FAIL_NONE;
	if (step_pool_get(v->pool, &v->filling, f) != FAIL_NONE)
		return f->code;
	v->filled = 0;
	if (step_decode_begin(v->filling->decode, 1, v->sequences, f) != FAIL_NONE)
		return f->code;
	v->domain = step_decode_text(v->filling->decode, held_out_domain(v->set));
	return v->domain == NULL ? fail_memory(f) : FAIL_NONE;
}

static enum fail_code
add(struct riffle_validation *v, const struct held_out_sequence *s, struct failure *f)
{
	struct step_decode_drawn drawn = {
	    .domain = v->domain,
	    .partition = s->partition,
	    .ordinal = s->view.ordinal,
	};

	assert(v->filled < v->sequences);
	v->filled++;
	return step_decode_add(v->filling->decode, &drawn, &s->view.payload, f);
}

/* Fills the step up to its number of sequences, or to the end of the set. */
static enum fail_code
fill_until(struct riffle_validation *v, int64_t deadline_ms, struct failure *f)
{
	struct held_out_sequence s;
	bool end = false;

	if (begin(v, f) != FAIL_NONE)
		return f->code;
	while (v->filled < v->sequences) {
		if (held_out_next(v->set, deadline_ms, &s, &end, f) != FAIL_NONE)
			return f->code;
		if (end)
			break;
		if (add(v, &s, f) != FAIL_NONE)
			return f->code;
	}
	step_decode_cut(v->filling->decode);
	return FAIL_NONE;
}

/* The same, with an eye on riffle_validation_close() in another thread. Warns of a long wait. */
static enum fail_code
fill(struct riffle_validation *v, int64_t deadline_ms, struct failure *f)
{
	for (;;) {
		int64_t until_ms = riffle_gate_slice(deadline_ms);
		enum fail_code code = fill_until(v, until_ms, f);

		if (code != FAIL_TIMEOUT)
			return code;
		riffle_wait_remind(&v->wait, f->text);
		if (until_ms == deadline_ms)
			return code;
		if (riffle_gate_ends(&v->gate))
			return riffle_gate_fail_ended(&v->gate, f);
	}
}

/* Lends the step that is filled. A step of a set has no phase, and no weights of a mix. */
static const struct riffle_step *
hand_out(struct riffle_validation *v)
{
	struct step_slot *slot = v->filling;

	assert(slot != NULL);
	assert(v->given == NULL);
	assert(v->filled > 0);
	slot->phase[0] = '\0';
	slot->step = (struct riffle_step){.step = v->step++, .lr_scale = 1.0, .phase = slot->phase};
	step_decode_end(slot->decode, &slot->step);
	step_slot_hand_out(slot);
	v->given = slot;
	v->filling = NULL;
	return &slot->step;
}

static int
give_next(struct riffle_validation *v, int64_t deadline_ms, const struct riffle_step **out,
    struct riffle_error *e)
{
	struct failure f;
	enum fail_code code;

	step_slot_take_back(v->given);
	v->given = NULL;
	code = fill(v, deadline_ms, &f);
	if (code == FAIL_TIMEOUT)
		return riffle_give(e, RIFFLE_TIMEOUT, f.text);
	v->wait = (struct riffle_wait){0};
	if (code != FAIL_NONE)
		return riffle_give_failure(e, &f);
	if (v->filled == 0)
		return riffle_give(e, RIFFLE_END, "the set is read to its end");
	*out = hand_out(v);
	return RIFFLE_OK;
}

int
riffle_validation_next(struct riffle_validation *v, int timeout_ms, const struct riffle_step **out,
    struct riffle_error *e)
{
	int64_t deadline_ms = clock_ms() + (timeout_ms < 0 ? 0 : timeout_ms);
	struct failure f;
	int code;

	*out = NULL;
	if (riffle_gate_enter(&v->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	code = give_next(v, deadline_ms, out, e);
	riffle_gate_leave(&v->gate);
	return code;
}

int
riffle_validation_keep(
    struct riffle_validation *v, const struct riffle_step *step, struct riffle_error *e)
{
	struct failure f;
	bool given;

	if (riffle_gate_enter(&v->gate, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	given = v->given != NULL && step == &v->given->step;
	if (given)
		step_slot_keep(v->given);
	riffle_gate_leave(&v->gate);
	return given ? RIFFLE_OK
		     : riffle_give(e, RIFFLE_ERROR_USAGE,
			   "only the step that riffle_validation_next() gave last can be kept");
}
