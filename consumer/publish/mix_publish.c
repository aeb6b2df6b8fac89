/* Writes steps, ledger records and the end of a mix into transactions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/config/topic_plan.h"
#include "consumer/publish/lane_record.h"
#include "consumer/publish/mix_state.h"

static enum fail_code
begin(struct mix *m, uint64_t step, struct failure *f)
{
	if (m->open)
		return FAIL_NONE;
	if (transactions_begin(m->transactions, f) != FAIL_NONE)
		return f->code;
	m->open = true;
	m->open_bytes = 0;
	m->open_ms = clock_ms();
	m->step_first = step;
	return FAIL_NONE;
}

static struct batch_head
head_of(const struct mix *m, uint64_t step, bool last)
{
	const struct config_mix *c = &m->config->mix;
	struct lane_mix mix = {
	    .name = c->name,
	    .schedule = m->schedule,
	    .tokenizer = m->domains->tokenizer,
	    .lanes = c->lanes,
	    .global_batch = c->global_batch,
	    .lead = c->max_lead_steps,
	};

	return lane_record_head(&mix, assembler_mixer(m->assembler), step, last);
}

enum fail_code
mix_publish_step(struct mix *m, const struct assembled *step, struct failure *f)
{
	const struct mixer *mixer = assembler_mixer(m->assembler);
	struct batch_head head = head_of(m, mixer_step_next(mixer) - 1, false);
	size_t each = head.global_batch / head.lanes;

	if (begin(m, head.step, f) != FAIL_NONE)
		return f->code;
	for (head.lane = 0; head.lane < head.lanes; head.lane++) {
		size_t first = head.lane * each, n;
		uint8_t *bytes;

		if (lane_record_encode(&bytes, &n, &head, mixer, step->draw + first,
			step->record + first, each, f) != FAIL_NONE)
			return f->code;
		m->open_bytes += n;
		if (transactions_put(m->transactions, (int32_t)head.lane, bytes, n, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

enum fail_code
mix_encode_ledger(
    struct mix *m, enum ledger_kind kind, uint8_t **bytes, size_t *n, struct failure *f)
{
	struct ledger l = {.kind = kind,
	    .mixer = m->mixer_id,
	    .schedule = m->schedule,
	    .tokenizer = m->domains->tokenizer,
	    .step_first = (int64_t)m->step_first};
	enum fail_code code;

	l.mix = strdup(m->config->mix.name);
	l.config = strdup(m->config_text);
	l.answer = m->answer; /* from here on the record's */
	l.answers_n = m->answers_n;
	m->answer = NULL;
	m->answers_n = 0;
	if (l.mix == NULL || l.config == NULL)
		code = fail_memory(f);
	else
		code = mixer_save(assembler_mixer(m->assembler), &l, f);
	if (code == FAIL_NONE)
		code = lead_save(m->lead, &l, f);
	if (code == FAIL_NONE)
		code = ledger_encode(&l, bytes, n, f);
	ledger_clear(&l);
	return code;
}

static enum fail_code
put_ledger(struct mix *m, enum ledger_kind kind, struct failure *f)
{
	uint8_t *bytes;
	size_t n;

	if (mix_encode_ledger(m, kind, &bytes, &n, f) != FAIL_NONE)
		return f->code;
	if (n > TOPIC_LEDGER_BYTES) {
		free(bytes);
		return fail(f, FAIL_DATA,
		    "a ledger record of %zu bytes is more than topic %s takes (%d): the mix has "
		    "too "
		    "many domains, skipped ranges and quarantined sequences together",
		    n, m->ledger_topic, TOPIC_LEDGER_BYTES);
	}
	return transactions_put_ledger(m->transactions, bytes, n, f);
}

/* Sequences taken of every partition in its epoch. Gives *out (free). */
static enum fail_code
offsets(const struct mix *m, struct transactions_offset **out, size_t *n, struct failure *f)
{
	const struct mixer *mixer = assembler_mixer(m->assembler);
	size_t room = 0;

	for (size_t i = 0; i < m->domains->n; i++)
		room += m->domains->facts[i].partitions_n;
	*out = calloc(room + 1, sizeof(**out));
	*n = 0;
	if (*out == NULL)
		return fail_memory(f);
	for (uint32_t d = 0; d < mixer_domains(mixer); d++) {
		int i = domains_named(m->domains, mixer_domain_name(mixer, d));

		for (uint32_t p = 0; i >= 0 && p < m->domains->facts[i].partitions_n; p++)
			(*out)[(*n)++] = (struct transactions_offset){
			    .topic = m->domains->facts[i].topic,
			    .partition = (int32_t)p,
			    .taken = (int64_t)mixer_partition_taken(mixer, d, p),
			};
	}
	return FAIL_NONE;
}

enum fail_code
mix_commit(struct mix *m, enum ledger_kind kind, struct failure *f)
{
	uint64_t step_next = mixer_step_next(assembler_mixer(m->assembler));
	struct transactions_offset *offset;
	bool answers = m->answers_n > 0;
	size_t offsets_n;
	enum fail_code code;

	if (begin(m, step_next, f) != FAIL_NONE || mix_put_dead_letters(m, f) != FAIL_NONE ||
	    put_ledger(m, kind, f) != FAIL_NONE || offsets(m, &offset, &offsets_n, f) != FAIL_NONE)
		return f->code;
	if (answers)
		fault_point("mix.mid_answer");
	code = transactions_commit(m->transactions, offset, offsets_n, f);
	free(offset);
	if (code != FAIL_NONE)
		return code;
	m->open = false;
	m->bytes_total += m->open_bytes;
	m->steps_total += step_next - m->step_first;
	mix_clear_dead_letters(m);
	return FAIL_NONE;
}

enum fail_code
mix_publish_end(struct mix *m, struct failure *f)
{
	const struct mixer *mixer = assembler_mixer(m->assembler);
	struct batch_head head = head_of(m, mixer_step_next(mixer), true);

	if (begin(m, head.step, f) != FAIL_NONE)
		return f->code;
	for (head.lane = 0; head.lane < head.lanes; head.lane++) {
		uint8_t *bytes;
		size_t n;

		if (lane_record_encode(&bytes, &n, &head, mixer, NULL, NULL, 0, f) != FAIL_NONE ||
		    transactions_put(m->transactions, (int32_t)head.lane, bytes, n, f) != FAIL_NONE)
			return f->code;
	}
	return mix_commit(m, LEDGER_END, f);
}
