#include "consumer/publish/output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/names.h"
#include "common/config/topic_plan.h"
#include "consumer/publish/lane_output.h"
#include "consumer/publish/worst_case.h"

/* ---- opening and closing ---- */

void
output_init(struct output *o, const struct output_source *of)
{
	const struct config_mix *c = &of->config->mix;
	struct transactions_times times =
	    transactions_times(&of->config->kafka, c->partitions, c->transaction_ms);
	int64_t most_ms = times.age_ms, first_ms = c->transaction_first_ms;

	*o = (struct output){
	    .of = *of,
	    .age_most_ms = most_ms,
	    .age_first_ms = first_ms < most_ms ? first_ms : most_ms,
	};
	o->age_ms = o->age_first_ms;
}

enum fail_code
output_open(struct output *o, struct failure *f)
{
	char rejects[TOPIC_MAX_BYTES + 1];
	const struct config *c = o->of.config;
	struct transactions_options t = {
	    .properties = &c->kafka,
	    .mix = c->mix.name,
	    .rejects_topic = rejects,
	    .message_bytes_max = topic_plan_lane_bytes(c, 3),
	    .transaction_bytes = c->mix.transaction_bytes,
	    .queue_bytes = worst_case_queue(&c->mix),
	    .age_ms = c->mix.transaction_ms,
	    .map = {c->mix.lanes, c->mix.partitions},
	    .stats = o->of.stats,
	};

	assert(o->transactions == NULL);
	assert(!o->open);
	names_topic(rejects, c->corpus, "rejects");
	return transactions_open(&o->transactions, &t, f);
}

void
output_expect(struct output *o, uint32_t lane, int64_t offset_next)
{
	assert(o->transactions != NULL);
	transactions_expect(o->transactions, lane, offset_next);
}

void
output_expect_ledger(struct output *o, int64_t offset_next)
{
	assert(o->transactions != NULL);
	transactions_expect_ledger(o->transactions, offset_next);
}

enum fail_code
output_check_ends(const struct output *o, const int64_t *end, struct failure *f)
{
	assert(o->transactions != NULL);
	return transactions_check_ends(o->transactions, end, f);
}

void
output_resume(struct output *o, struct last_drawn *l)
{
	assert(!o->open);
	last_drawn_close(&o->drawn);
	o->drawn = *l;
	*l = (struct last_drawn){0};
}

enum fail_code
output_check_owner(struct output *o, struct failure *f)
{
	assert(!o->open);
	return transactions_check_owner(o->transactions, f);
}

void
output_serve(struct output *o)
{
	if (o->of.stats != NULL)
		transactions_serve(o->transactions);
}

static void
clear_answers(struct output *o)
{
	for (size_t i = 0; i < o->answers_n; i++)
		ledger_answer_clear(&o->answer[i]);
	free(o->answer);
	o->answer = NULL;
	o->answers_n = 0;
}

void
output_close(struct output *o)
{
	if (o->open && transactions_sound(o->transactions))
		o->aborted_total++;
	else if (o->open)
		o->in_doubt_total++;
	transactions_close(o->transactions);
	o->transactions = NULL;
	o->open = false;
	dead_letters_clear(&o->letters);
	last_drawn_close(&o->drawn);
	clear_answers(o);
}

/* ---- steps ---- */

/* A transaction is open from here on; where none was, `step` is its first. */
static enum fail_code
begin(struct output *o, uint64_t step, struct failure *f)
{
	assert(o->transactions != NULL);
	if (o->open)
		return FAIL_NONE;
	if (transactions_begin(o->transactions, f) != FAIL_NONE)
		return f->code;
	o->open = true;
	o->bytes = o->sequences = o->tokens = 0;
	o->since_ms = clock_ms();
	o->step_first = step;
	return FAIL_NONE;
}

/* Puts one record on each lane: its part of the step or, without a step, the end of the mix. */
static enum fail_code
put_lanes(struct output *o, const struct mixer *m, uint64_t number, const struct assembled *step,
    struct failure *f)
{
	const struct config_mix *c = &o->of.config->mix;
	struct lane_mix mix = {
	    .name = c->name,
	    .schedule = o->of.schedule,
	    .tokenizer = o->of.domains->tokenizer,
	    .lanes = c->lanes,
	    .lead = c->max_lead_steps,
	};
	uint64_t bytes = 0;

	if (lane_output_put(o->transactions, &mix, m, number, step, &bytes, f) != FAIL_NONE)
		return f->code;
	if (step != NULL)
		o->bytes += bytes;
	return FAIL_NONE;
}

enum fail_code
output_step(
    struct output *o, const struct mixer *m, const struct assembled *step, struct failure *f)
{
	uint64_t number = mixer_step_next(m) - 1;

	assert(mixer_step_next(m) > 0);
	if (begin(o, number, f) != FAIL_NONE)
		return f->code;
	assert(number >= o->step_first);
	if (last_drawn_add(&o->drawn, step->draw, step->record, step->n, f) != FAIL_NONE)
		return f->code;
	o->sequences += step->n;
	for (uint32_t i = 0; i < step->n; i++)
		o->tokens += step->record[i]->tokens - 1;
	return put_lanes(o, m, number, step, f);
}

bool
output_full(const struct output *o)
{
	const struct config_mix *c = &o->of.config->mix;

	return o->open &&
	       (o->bytes >= c->transaction_bytes || clock_ms() - o->since_ms >= o->age_ms);
}

/* ---- the ledger record ---- */

/* Gives *bytes (free): the ledger record of now. Takes the answers that `o` holds into it. */
static enum fail_code
encode_ledger(const struct output *o, const struct mixer *m, enum ledger_kind kind,
    struct ledger_answer *answer, size_t answers_n, uint8_t **bytes, size_t *n, struct failure *f)
{
	struct ledger l = {.kind = kind,
	    .mixer = o->of.mixer_id,
	    .schedule = o->of.schedule,
	    .tokenizer = o->of.domains->tokenizer,
	    .step_first = (int64_t)o->step_first};
	enum fail_code code;

	l.mix = strdup(o->of.config->mix.name);
	l.config = strdup(o->of.config_text);
	l.answer = answer; /* from here on the record's */
	l.answers_n = answers_n;
	if (l.mix == NULL || l.config == NULL)
		code = fail_memory(f);
	else
		code = mixer_save(m, &l, f);
	if (code == FAIL_NONE)
		code = lead_save(o->of.lead, &l, f);
	if (code == FAIL_NONE)
		code = ledger_encode(&l, bytes, n, f);
	ledger_clear(&l);
	return code;
}

enum fail_code
output_ledger_bytes(const struct output *o, const struct mixer *m, size_t *n, struct failure *f)
{
	size_t header_n;
	uint8_t *bytes, *header;

	assert(o->answers_n == 0);
	if (encode_ledger(o, m, LEDGER_STEPS, NULL, 0, &bytes, n, f) != FAIL_NONE)
		return f->code;
	free(bytes);
	if (last_drawn_encode(&o->drawn, &header, &header_n, f) != FAIL_NONE)
		return f->code;
	free(header);
	*n += header_n;
	return FAIL_NONE;
}

static enum fail_code
put_ledger(struct output *o, const struct mixer *m, enum ledger_kind kind, struct failure *f)
{
	struct ledger_answer *answer = o->answer;
	size_t answers_n = o->answers_n, n;
	struct transactions_header header = {.name = LAST_DRAWN_HEADER};
	uint8_t *bytes, *drawn;
	enum fail_code code;

	o->answer = NULL; /* the record's now */
	o->answers_n = 0;
	if (encode_ledger(o, m, kind, answer, answers_n, &bytes, &n, f) != FAIL_NONE)
		return f->code;
	if (last_drawn_encode(&o->drawn, &drawn, &header.n, f) != FAIL_NONE) {
		free(bytes);
		return f->code;
	}
	if (n + header.n > TOPIC_LEDGER_BYTES) {
		free(bytes);
		free(drawn);
		return fail(f, FAIL_DATA,
		    "a ledger record of %zu bytes is more than topic %s.ledger takes (%d): the mix "
		    "has too many domains, skipped ranges and quarantined sequences together",
		    n + header.n, o->of.config->mix.name, TOPIC_LEDGER_BYTES);
	}
	header.value = drawn;
	code = transactions_put_ledger(o->transactions, bytes, n, &header, f);
	free(drawn);
	return code;
}

enum fail_code
output_add_answer(struct output *o, struct ledger_answer *answer, struct failure *f)
{
	struct ledger_answer *grown = realloc(o->answer, (o->answers_n + 1) * sizeof(*grown));

	if (grown == NULL) {
		ledger_answer_clear(answer);
		return fail_memory(f);
	}
	o->answer = grown;
	grown[o->answers_n++] = *answer;
	return FAIL_NONE;
}

/* ---- ends of transactions ---- */

/* Sequences taken of every partition in its epoch, for lag tools. Gives *out (free). */
static enum fail_code
offsets(const struct output *o, const struct mixer *m, struct transactions_offset **out, size_t *n,
    struct failure *f)
{
	const struct domains *d = o->of.domains;
	size_t room = 0;

	for (size_t i = 0; i < d->n; i++)
		room += d->facts[i].partitions_n;
	*out = calloc(room + 1, sizeof(**out));
	*n = 0;
	if (*out == NULL)
		return fail_memory(f);
	for (uint32_t k = 0; k < mixer_domains(m); k++) {
		int i = domains_named(d, mixer_domain_name(m, k));

		for (uint32_t p = 0; i >= 0 && p < d->facts[i].partitions_n; p++)
			(*out)[(*n)++] = (struct transactions_offset){
			    .topic = d->facts[i].topic,
			    .partition = (int32_t)p,
			    .taken = (int64_t)mixer_partition_taken(m, k, p),
			};
	}
	assert(*n <= room);
	return FAIL_NONE;
}

int64_t
output_age_next(const struct output *o, bool full)
{
	if (!full)
		return o->age_first_ms;
	return 2 * o->age_ms < o->age_most_ms ? 2 * o->age_ms : o->age_most_ms;
}

enum fail_code
output_commit(struct output *o, const struct mixer *m, enum ledger_kind kind, struct failure *f)
{
	struct transactions_offset *offset;
	bool answers = o->answers_n > 0, full = output_full(o);
	size_t offsets_n;
	enum fail_code code;

	if (begin(o, mixer_step_next(m), f) != FAIL_NONE ||
	    dead_letters_put(&o->letters, o->transactions, f) != FAIL_NONE ||
	    put_ledger(o, m, kind, f) != FAIL_NONE ||
	    offsets(o, m, &offset, &offsets_n, f) != FAIL_NONE)
		return f->code;
	if (answers)
		fault_point("mix.mid_answer");
	code = transactions_commit(o->transactions, offset, offsets_n, f);
	free(offset);
	if (code != FAIL_NONE)
		return code;
	o->open = false;
	o->age_ms = output_age_next(o, full);
	o->bytes_total += o->bytes;
	o->sequences_total += o->sequences;
	o->tokens_total += o->tokens;
	o->committed_total++;
	metrics_observe(&o->seconds, (double)(clock_ms() - o->since_ms) / 1000);
	o->steps_total += mixer_step_next(m) - o->step_first;
	dead_letters_clear(&o->letters);
	return FAIL_NONE;
}

enum fail_code
output_end(struct output *o, const struct mixer *m, struct failure *f)
{
	uint64_t number = mixer_step_next(m);

	if (begin(o, number, f) != FAIL_NONE || put_lanes(o, m, number, NULL, f) != FAIL_NONE)
		return f->code;
	return output_commit(o, m, LEDGER_END, f);
}
