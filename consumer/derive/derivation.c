#include "consumer/derive/derivation.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/names.h"
#include "consumer/domain/last_drawn.h"

void
derivation_close(struct derivation *d)
{
	assembler_close(d->assembler);
	feed_close(d->feed);
	ledger_plan_close(&d->plan);
	d->assembler = NULL;
	d->feed = NULL;
}

enum fail_code
derivation_take(struct derivation *d, const struct ledger *now, struct failure *f)
{
	ledger_plan_close(&d->plan);
	if (ledger_plan_open(&d->plan, now, f) != FAIL_NONE)
		return f->code;
	d->head = (struct lane_mix){
	    .name = d->o.mix,
	    .schedule = now->schedule,
	    .tokenizer = now->tokenizer,
	    .lanes = d->plan.plan.lanes,
	    .lead = d->plan.max_lead_steps,
	};
	return FAIL_NONE;
}

/* ---- the feed ---- */

/* Estimated as a sequence of tokens that compress to two bytes each. */
static uint64_t
record_bytes(const struct derivation *d)
{
	if (d->record_bytes > 0)
		return d->record_bytes;
	return 2 * (uint64_t)d->plan.plan.sequence_length + 256;
}

/* In which pieces the domains from `first` on are read; half of the memory may hold domains. */
static enum fail_code
read_as(struct derivation *d, const struct mixer *m, const struct ledger *now, uint32_t first,
    struct failure *f)
{
	size_t n = mixer_domains(m);
	struct feed_piece *piece = calloc(n + 1, sizeof(*piece));
	enum fail_code code = FAIL_NONE;

	if (piece == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < n; i++) {
		struct mixer_standing s;

		mixer_stand(m, i, &s);
		piece[i] = (struct feed_piece){
		    .shuffle = mixer_plan_shuffle(&d->plan.plan, mixer_domain_name(m, i)),
		    .live = i < now->domains_n && now->domain[i].live,
		    .partitions_n = mixer_partitions(m, i),
		    .sequences = s.length,
		    .bytes = s.length * record_bytes(d),
		};
	}
	feed_pieces(piece, n, d->plan.plan.block, d->o.memory_bytes / 2);
	for (uint32_t i = first; i < n && code == FAIL_NONE; i++)
		code = feed_read_as(d->feed, i, &piece[i], f);
	free(piece);
	return code;
}

/* The feed numbers domains as the mixer does. */
static enum fail_code
add_domains(
    struct derivation *d, const struct mixer *m, const struct ledger *now, struct failure *f)
{
	uint32_t known = (uint32_t)feed_domains(d->feed);

	for (uint32_t i = known; i < mixer_domains(m); i++) {
		char topic[TOPIC_MAX_BYTES + 1];

		names_domain_topic(topic, d->plan.corpus, mixer_domain_name(m, i), SET_TRAIN);
		if (feed_add_domain(d->feed, topic, mixer_partitions(m, i), record_bytes(d), f) !=
		    FAIL_NONE)
			return f->code;
	}
	return known < mixer_domains(m) ? read_as(d, m, now, known, f) : FAIL_NONE;
}

/* The feed stays open from transaction to transaction: the assembler does not. */
static enum fail_code
open_feed(struct derivation *d, const struct ledger *now, struct failure *f)
{
	struct feed_options o = {
	    .properties = d->o.properties,
	    .memory_bytes = d->o.memory_bytes,
	    .tokenizer = now->tokenizer,
	    .block = d->plan.plan.block,
	    .missing_fails = true,
	    .block_bytes = d->plan.plan.block * record_bytes(d),
	};

	return d->feed != NULL ? FAIL_NONE : feed_open(&d->feed, &o, f);
}

/* ---- whether the domain logs are those that the mix has drawn from ---- */

enum fail_code
derivation_compare_logs(
    struct derivation *d, struct ledger_log *log, int timeout_ms, bool *any, struct failure *f)
{
	struct last_drawn drawn = {0};
	struct ledger last = {0};
	struct ledger_plan plan = {0};
	uint8_t *header = NULL;
	size_t n = 0;
	enum fail_code code =
	    ledger_log_last_header(log, LAST_DRAWN_HEADER, &last, any, &header, &n, f);

	if (code == FAIL_NONE && header != NULL)
		code = last_drawn_decode(&drawn, header, n, f);
	if (code == FAIL_NONE && header != NULL)
		code = ledger_plan_open(&plan, &last, f);
	if (code == FAIL_NONE && header != NULL)
		code = last_drawn_compare_all(
		    &drawn, &last, plan.corpus, d->o.properties, timeout_ms, &d->record_bytes, f);
	last_drawn_close(&drawn);
	ledger_clear(&last);
	ledger_plan_close(&plan);
	free(header);
	return code;
}

/* ---- the assembler ---- */

/* Opens the feed and the assembler of a mixer, which it takes. */
static enum fail_code
assemble(struct derivation *d, struct mixer *m, const struct ledger *now, struct failure *f)
{
	assert(d->assembler == NULL);
	if (open_feed(d, now, f) != FAIL_NONE || add_domains(d, m, now, f) != FAIL_NONE ||
	    assembler_open(&d->assembler, m, d->feed, d->o.bad, d->o.opaque, f) != FAIL_NONE) {
		mixer_close(m);
		return f->code;
	}
	return FAIL_NONE;
}

/* Draws the steps below `wanted`, of the record whose steps end at `end`. */
static enum fail_code
pass_over(struct mixer *m, uint64_t wanted, uint64_t end, struct failure *f)
{
	struct mixer_draw *draw = calloc(mixer_global_batch_most(m), sizeof(*draw));
	enum mixer_result result = MIXER_DRAWN;
	enum fail_code code = draw == NULL ? fail_memory(f) : FAIL_NONE;

	while (code == FAIL_NONE && result == MIXER_DRAWN && mixer_step_next(m) < wanted &&
	       mixer_step_next(m) < end)
		code = mixer_step(m, draw, &result, f);
	free(draw);
	if (code == FAIL_NONE && result != MIXER_DRAWN)
		code = fail(
		    f, FAIL_DATA, "step %" PRIu64 " cannot be drawn again", mixer_step_next(m));
	return code;
}

/*
 * The state of record k-1, with what the transaction of record k was drawn with: the lengths that
 * the mixer knew then, and the sequences that it had quarantined by its end. Without these the
 * derived mixer would see lengths of today, and draw differently.
 */
static enum fail_code
open_assembler(struct derivation *d, const struct ledger *before, const struct ledger *now,
    uint64_t wanted, enum derivation_fault *fault, struct failure *f)
{
	struct mixer *m = NULL;

	*fault = DERIVATION_BEFORE;
	if (mixer_resume(&m, &d->plan.plan, before, f) != FAIL_NONE)
		return f->code;
	*fault = DERIVATION_NOW;
	if (mixer_take_snapshot(m, now, f) != FAIL_NONE ||
	    (!mixer_plan_needs_tokens(&d->plan.plan) &&
		pass_over(m, wanted, (uint64_t)now->step_next, f) != FAIL_NONE)) {
		mixer_close(m);
		return f->code;
	}
	*fault = DERIVATION_NONE;
	return assemble(d, m, now, f);
}

/*
 * Whether the mixer can continue into record k as it is: nothing was changed from outside between
 * the two transactions. Then the assembler keeps the sequences that it has fetched ahead.
 */
static bool
continues(const struct ledger *a, const struct ledger *b)
{
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

enum fail_code
derivation_start(struct derivation *d, const struct ledger *before, const struct ledger *now,
    uint64_t wanted, enum derivation_fault *fault, struct failure *f)
{
	*fault = DERIVATION_NONE;
	if (d->assembler == NULL)
		return open_assembler(d, before, now, wanted, fault, f);
	if (continues(before, now) ||
	    mixer_take_snapshot(assembler_change(d->assembler), now, f) == FAIL_NONE)
		return FAIL_NONE;
	*fault = DERIVATION_NOW;
	return f->code;
}

enum fail_code
derivation_start_behind(
    struct derivation *d, const struct ledger *now, enum derivation_fault *fault, struct failure *f)
{
	struct mixer *m = NULL;

	*fault = DERIVATION_NONE;
	if (d->assembler != NULL)
		return FAIL_NONE;
	*fault = DERIVATION_NOW;
	if (mixer_resume(&m, &d->plan.plan, now, f) != FAIL_NONE)
		return f->code;
	*fault = DERIVATION_NONE;
	return assemble(d, m, now, f);
}

void
derivation_stop(struct derivation *d)
{
	assembler_close(d->assembler);
	d->assembler = NULL;
}

enum fail_code
derivation_lane(const struct derivation *d, const struct assembled *step, uint64_t number,
    uint32_t lane, uint8_t **bytes, size_t *n, struct failure *f)
{
	const struct mixer *m = assembler_mixer(d->assembler);
	struct batch_head head = lane_record_head(&d->head, m, number, step == NULL);
	size_t each = step == NULL ? 0 : head.global_batch / head.lanes, first = lane * each;

	assert(lane < head.lanes);
	assert(step == NULL || step->n == head.global_batch);
	head.lane = lane;
	return lane_record_encode(bytes, n, &head, m, step == NULL ? NULL : step->draw + first,
	    step == NULL ? NULL : step->record + first, each, f);
}
