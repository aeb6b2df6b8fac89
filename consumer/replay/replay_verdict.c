/*
 * The part of a replay that judges: a ledger record against the one before it, and against what was
 * derived; and from both, which of the three witnesses (ledger, batch topic, domain log) differs.
 *
 *     derived state       lanes' records     the one that differs
 *     is the ledger's     are as derived     none
 *     is the ledger's     differ             the batch topic; or, where both payloads are whole, it
 *                                            or the domain log
 *     is another one      are as derived     the ledger
 *     is another one      differ             the ledger: what was derived from it fits nothing else
 */
#include "consumer/replay/replay_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "consumer/plan/bound_config.h"

/*
 * What the mixer's state does not hold. control_next is not judged at all: it falls where the
 * control topic was recreated, and the mixer that found it so has answered what stands there since.
 */
#define NOT_DERIVED                                                                                \
	"kind", "mix", "mixer", "schedule", "config", "tokenizer", "step_first", "answers",        \
	    "runs", "control_next"

static const char *const not_derived[] = {NOT_DERIVED, NULL};
/* Requests are judged when they come, not again: their answers and what is pending are taken. */
static const char *const not_derived_with_answers[] = {NOT_DERIVED, "pending", "request_ids", NULL};

/* Puts a verdict behind the sentence in *f, which is cut where there is no room. */
static enum fail_code
add(struct failure *f, const char *verdict)
{
	char inner[FAILURE_TEXT_MAX];
	int room = FAILURE_TEXT_MAX - 3 - (int)strlen(verdict);

	assert(room > 0);
	memcpy(inner, f->text, sizeof(inner));
	return fail(f, FAIL_DATA, "%.*s; %s", room, inner, verdict);
}

enum fail_code
replay_verdict_ledger(
    const struct replay *r, const struct ledger *l, int64_t offset, struct failure *f)
{
	char verdict[128] = "the ledger is the one that differs";

	assert(l == &r->before || l == &r->now);
	if (l == &r->now && !r->before_sure && r->before_at >= 0)
		snprintf(verdict, sizeof(verdict),
		    "the ledger is the one that differs, this record or the one before it, at "
		    "offset "
		    "%" PRId64,
		    r->before_at);
	fail_within(f, "topic %s, offset %" PRId64 " (steps %" PRId64 "..%" PRId64 ")",
	    ledger_log_topic(r->log), offset, l->step_first, l->step_next);
	return add(f, verdict);
}

static enum fail_code
fail_now(const struct replay *r, struct failure *f)
{
	return replay_verdict_ledger(r, &r->now, r->now_at, f);
}

/* ---- a record behind another ---- */

static bool
same_text(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

/* What never changes, and what only a START may change. */
static enum fail_code
check_constants(const struct replay *r, struct failure *f)
{
	const struct ledger *a = &r->before, *b = &r->now;

	if (!same_text(a->mix, b->mix))
		return fail(f, FAIL_DATA, "mix: \"%.100s\", before it \"%.100s\"", b->mix, a->mix);
	if (a->schedule != b->schedule)
		return fail(f, FAIL_DATA, "schedule: %016" PRIx64 ", before it %016" PRIx64,
		    b->schedule, a->schedule);
	if (a->tokenizer != b->tokenizer)
		return fail(f, FAIL_DATA, "tokenizer: %016" PRIx64 ", before it %016" PRIx64,
		    b->tokenizer, a->tokenizer);
	if (b->kind == LEDGER_START)
		return FAIL_NONE;
	if (!same_text(a->config, b->config))
		return fail(f, FAIL_DATA,
		    "config: another one than in the record before it, at offset %" PRId64
		    ", without a start",
		    r->before_at);
	if (a->mixer != b->mixer)
		return fail(f, FAIL_DATA,
		    "mixer: %016" PRIx64 ", before it %016" PRIx64 ", without a start", b->mixer,
		    a->mixer);
	return FAIL_NONE;
}

static enum fail_code
check_order(const struct replay *r, struct failure *f)
{
	const struct ledger *a = &r->before, *b = &r->now;

	if (a->kind == LEDGER_END)
		return fail(f, FAIL_DATA, "kind: a record after the end of the mix");
	if (b->step_first != a->step_next)
		return fail(f, FAIL_DATA,
		    "step_first: %" PRId64 ", the record before it ends at %" PRId64, b->step_first,
		    a->step_next);
	if (b->step_next < b->step_first ||
	    (b->kind == LEDGER_START && b->step_next != b->step_first))
		return fail(
		    f, FAIL_DATA, "step_next: %" PRId64 " cannot follow step_first", b->step_next);
	return FAIL_NONE;
}

static enum fail_code
check_alone(const struct replay *r, struct failure *f)
{
	uint64_t schedule;

	if (!same_text(r->now.mix, r->mix))
		return fail(
		    f, FAIL_DATA, "mix: \"%.100s\", the topic is of mix %s", r->now.mix, r->mix);
	if (bound_config_schedule(&schedule, r->now.config, f) != FAIL_NONE)
		return f->code;
	if (schedule != r->now.schedule)
		return fail(f, FAIL_DATA,
		    "schedule: %016" PRIx64 ", the configuration's fixed part has %016" PRIx64,
		    r->now.schedule, schedule);
	return FAIL_NONE;
}

enum fail_code
replay_verdict_record(const struct replay *r, struct failure *f)
{
	if (check_alone(r, f) == FAIL_NONE && check_constants(r, f) == FAIL_NONE &&
	    check_order(r, f) == FAIL_NONE)
		return FAIL_NONE;
	return f->code == FAIL_MEMORY ? f->code : fail_now(r, f);
}

/* ---- derived states ---- */

/*
 * Record k without the domains that are new in it: by a changed configuration, or by the answer to
 * a join. Record k then has what the broker knew of them, and no draw of theirs was decided yet, so
 * that there is nothing to derive. Borrows the record.
 */
static struct ledger
without_new(const struct replay *r)
{
	struct ledger l = r->now;

	if (l.domains_n > r->before.domains_n)
		l.domains_n = r->before.domains_n;
	return l;
}

/* *differs: the derived state is not record k's; the sentence is in *f. */
static enum fail_code
compare_state(const struct replay *r, const struct mixer *m, bool *differs, struct failure *f)
{
	struct ledger derived = {0}, now = r->now.answers_n > 0 ? without_new(r) : r->now;
	struct avro_difference d;
	enum fail_code code = mixer_save(m, &derived, f);

	if (now.global_batch == 0) /* of before it could change, and then it did not */
		derived.global_batch = 0;
	if (code == FAIL_NONE) {
		*differs = ledger_compare(&now, &derived,
		    r->now.answers_n > 0 ? not_derived_with_answers : not_derived, &d);
		if (*differs)
			fail(f, FAIL_DATA, "%s: %s in the ledger, %s derived", d.path, d.a, d.b);
	}
	ledger_clear(&derived);
	return code;
}

/* A mixer in the state that record k started from. Gives *out, to be ended with mixer_close(). */
static bool
is_replanned(const struct replay *r)
{
	return r->now.kind == LEDGER_START && !same_text(r->before.config, r->now.config);
}

/*
 * `was`: the plan of record k-1, NULL: a changed configuration takes effect as mixers did it first
 * (mixer_replan()).
 */
static enum fail_code
derive_standing(
    const struct replay *r, const struct mixer_plan *was, struct mixer **out, struct failure *f)
{
	struct ledger now = without_new(r);

	*out = NULL;
	if (mixer_resume(out, &r->derived.plan.plan, &r->before, f) != FAIL_NONE ||
	    mixer_take_snapshot(*out, &now, f) != FAIL_NONE)
		return f->code;
	return is_replanned(r) ? mixer_replan(*out, &r->derived.plan.plan, was, f) : FAIL_NONE;
}

static enum fail_code
check_derived(const struct replay *r, struct mixer *m, struct failure *f)
{
	bool differs = false;

	if (compare_state(r, m, &differs, f) != FAIL_NONE)
		return f->code;
	return differs ? fail_now(r, f) : FAIL_NONE;
}

static enum fail_code
check_standing(const struct replay *r, const struct mixer_plan *was, struct failure *f)
{
	struct mixer *m;
	enum fail_code code = derive_standing(r, was, &m, f);

	if (code == FAIL_NONE)
		code = check_derived(r, m, f);
	else if (code != FAIL_MEMORY)
		code = fail_now(r, f);
	mixer_close(m);
	return code;
}

/* Where the rule of now does not give record k, the one that mixers had first may. */
enum fail_code
replay_verdict_standing(const struct replay *r, struct failure *f)
{
	struct ledger_plan was = {0};
	struct failure ignored;
	enum fail_code code;

	if (!is_replanned(r))
		return check_standing(r, NULL, f);
	code = ledger_plan_open(&was, &r->before, f);
	if (code == FAIL_NONE)
		code = check_standing(r, &was.plan, f);
	if (code == FAIL_DATA && check_standing(r, NULL, &ignored) == FAIL_NONE)
		code = FAIL_NONE;
	ledger_plan_close(&was);
	return code;
}

enum fail_code
replay_verdict_first(const struct replay *r, struct failure *f)
{
	struct mixer *m = NULL;
	enum fail_code code = check_alone(r, f);

	if (code == FAIL_NONE)
		code = mixer_open(&m, &r->derived.plan.plan, f);
	if (code == FAIL_NONE)
		code = check_derived(r, m, f);
	else if (code != FAIL_MEMORY)
		code = fail_now(r, f);
	mixer_close(m);
	return code;
}

/* ---- the verdict on a transaction ---- */

/* Where the difference is, without who is to blame. */
static void
describe(const struct replay *r, struct failure *f)
{
	const struct replay_finding *x = &r->finding;
	const struct batch_compare_difference *d = &x->difference;
	char sequence[160 + NAME_MAX_BYTES] = "";

	if (d->part == BATCH_COMPARE_DRAW || d->part == BATCH_COMPARE_PAYLOAD)
		snprintf(sequence, sizeof(sequence),
		    ", sequence %zu (domain %s, partition %" PRIu32 ", ordinal %" PRIu64
		    ", epoch %" PRIu64 ")",
		    d->sequence, x->domain, d->drawn.partition, d->drawn.ordinal, d->drawn.epoch);
	fail(f, FAIL_DATA, "step %" PRIu64 ", lane %" PRIu32 "%s: %s; topic %s, offset %" PRId64,
	    x->step, x->lane, sequence, d->text, step_records_topic(r->records), x->offset);
}

/* Kafka cannot replace a record: what is left is another topic. */
#define ANOTHER_MIX                                                                                \
	". `riffle replay --steps A..B --republish NAME --derive-only` writes the steps as the "   \
	"ledger has them to another mix, from which trainers can read them"

/* The ledger agrees with what was derived: the record itself, or what it was copied from. */
static enum fail_code
blame_batch(const struct replay *r, struct failure *f)
{
	const struct batch_compare_difference *d = &r->finding.difference;
	const char *verdict = "the batch topic is the one that differs" ANOTHER_MIX;

	if (d->part == BATCH_COMPARE_PAYLOAD && !d->found_whole)
		verdict =
		    "the batch topic is the one that differs: its sequence is damaged, the domain "
		    "log's is whole" ANOTHER_MIX;
	else if (d->part == BATCH_COMPARE_PAYLOAD)
		verdict = "both sequences are whole: either the batch topic or the domain log was "
			  "changed, which of them is not known";
	describe(r, f);
	return add(f, verdict);
}

/* Another state than the ledger's, and other records than the batch topic's: those two agree. */
static enum fail_code
blame_both(const struct replay *r, struct failure *f)
{
	char state[FAILURE_TEXT_MAX], verdict[FAILURE_TEXT_MAX / 2];

	memcpy(state, f->text, sizeof(state));
	snprintf(verdict, sizeof(verdict),
	    "the ledger is the one that differs: topic %s, offset %" PRId64 " (steps %" PRId64
	    "..%" PRId64 ") or the record before it: %.200s",
	    ledger_log_topic(r->log), r->now_at, r->now.step_first, r->now.step_next, state);
	describe(r, f);
	return add(f, verdict);
}

enum fail_code
replay_verdict_steps(const struct replay *r, const struct mixer *m, struct failure *f)
{
	bool differs = false;

	if (compare_state(r, m, &differs, f) != FAIL_NONE)
		return f->code;
	if (differs)
		return r->finding.any ? blame_both(r, f) : fail_now(r, f);
	return r->finding.any ? blame_batch(r, f) : FAIL_NONE;
}

enum fail_code
replay_verdict_beyond(const struct replay *r, struct failure *f)
{
	if (!r->finding.any)
		return FAIL_NONE;
	describe(r, f);
	return replay_fail_beyond(f);
}

enum fail_code
replay_fail_beyond(struct failure *f)
{
	return add(f,
	    "the ledger has lost its records of these steps, and they were drawn with what cannot "
	    "be derived: a request, another configuration, the lengths of a live domain");
}
