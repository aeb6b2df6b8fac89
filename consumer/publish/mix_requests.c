/* Requests of the control topic: judged by the mixer, answered in a ledger record of their own. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault.h"
#include "common/base/log.h"
#include "consumer/publish/mix_state.h"

enum {
	REQUESTS_MAX = 256,          /* answered in one transaction, */
	ANSWERS_BYTES_MAX = 1 << 20, /* as long as their texts are no longer than this */
	PENDING_BYTES_MAX = 4 << 20, /* a ledger record with what waits for its step; the rest of */
	CATCH_UP_MS = 30000,         /* TOPIC_LEDGER_BYTES is for what grows by itself */
};

/* What the answers of one transaction have come to. */
struct sizes {
	size_t ledger_bytes; /* of a record without them, with what they have made pending */
	size_t answers_bytes;
};

void
mix_clear_answers(struct mix *m)
{
	for (size_t i = 0; i < m->answers_n; i++)
		ledger_answer_clear(&m->answer[i]);
	free(m->answer);
	m->answer = NULL;
	m->answers_n = 0;
}

static enum fail_code
keep_answer(struct mix *m, struct ledger_answer *answer, struct failure *f)
{
	struct ledger_answer *grown = realloc(m->answer, (m->answers_n + 1) * sizeof(*grown));

	if (grown == NULL) {
		ledger_answer_clear(answer);
		return fail_memory(f);
	}
	if (answer->accepted)
		log_info("mix: request id=%s accepted step=%" PRId64, answer->id, answer->step);
	else
		log_info("mix: request id=%s refused why=\"%s\"", answer->id, answer->text);
	m->answer = grown;
	grown[m->answers_n++] = *answer;
	return FAIL_NONE;
}

/* Adds the topic of a domain that wants to join to those that are known. */
static enum fail_code
add_domain(struct mix *m, const char *name, struct failure *f)
{
	uint64_t blocks_bytes;

	if (domains_add(m->domains, m->reader, name, false, f) != FAIL_NONE)
		return f->code;
	if (mix_check_memory(m, &blocks_bytes, f) != FAIL_NONE)
		domains_drop_last(m->domains);
	else
		return FAIL_NONE;
	return f->code;
}

/* FAIL_CONFIG: why it cannot join. */
static enum fail_code
look_at(struct mix *m, const char *name, struct mixer_source *out, struct failure *f)
{
	const struct domain_facts *d;
	int i = domains_named(m->domains, name);

	if (i < 0 ? add_domain(m, name, f) != FAIL_NONE
		  : domains_ask(m->domains, m->reader, false, f) != FAIL_NONE)
		return f->code;
	d = &m->domains->facts[domains_named(m->domains, name)];
	*out = (struct mixer_source){
	    .name = d->name,
	    .live = d->live,
	    .partitions_n = d->partitions_n,
	    .sequences = d->sequences,
	    .sealed = d->sealed,
	};
	return FAIL_NONE;
}

/* One that would make the ledger record too large is refused, whatever it asks. */
static enum fail_code
refuse_size(struct mix *m, const struct control *c, struct ledger_answer *answer, bool *duplicate,
    struct failure *f)
{
	char why[160];

	snprintf(why, sizeof(why),
	    "%zu accepted requests wait for their steps, and with this one the ledger record would "
	    "be larger than %d MB",
	    mixer_pending(assembler_mixer(m->assembler)), PENDING_BYTES_MAX >> 20);
	return mixer_refuse(assembler_change(m->assembler), c, why, answer, duplicate, f);
}

static enum fail_code
judge(struct mix *m, const struct control *c, struct ledger_answer *answer, bool *duplicate,
    struct failure *f)
{
	struct mixer *mixer = assembler_change(m->assembler);
	struct mixer_source joining;
	struct failure why;

	if (c->kind != LEDGER_JOIN)
		return mixer_request(mixer, c, NULL, answer, duplicate, f);
	if (look_at(m, c->domain == NULL ? "" : c->domain, &joining, &why) == FAIL_NONE)
		return mixer_request(mixer, c, &joining, answer, duplicate, f);
	if (why.code == FAIL_CONFIG || why.code == FAIL_DATA)
		return mixer_refuse(mixer, c, why.text, answer, duplicate, f);
	*f = why;
	return f->code;
}

/* Takes one record into the mixer's state. */
static enum fail_code
take(struct mix *m, struct sizes *s, struct failure *f)
{
	struct control_feed_record record;
	struct ledger_answer answer;
	bool duplicate = false;

	if (control_feed_take(m->control, &record, f) != FAIL_NONE)
		return f->code;
	if (record.garbage)
		mix_keep_garbage(m, &record);
	else if (s->ledger_bytes + record.n > PENDING_BYTES_MAX
		     ? refuse_size(m, record.control, &answer, &duplicate, f) != FAIL_NONE
		     : judge(m, record.control, &answer, &duplicate, f) != FAIL_NONE)
		return f->code;
	mixer_set_control_next(assembler_change(m->assembler), record.offset + 1);
	if (record.garbage)
		return FAIL_NONE;
	if (!duplicate) {
		s->ledger_bytes += answer.accepted ? record.n : MIXER_ID_BYTES_MAX;
		s->answers_bytes += strlen(answer.text);
		return keep_answer(m, &answer, f);
	}
	log_info("mix: request id=%s was answered before", record.control->id);
	return FAIL_NONE;
}

static enum fail_code
ask_size(struct mix *m, struct sizes *s, struct failure *f)
{
	uint8_t *bytes;

	*s = (struct sizes){0};
	if (mix_encode_ledger(m, LEDGER_STEPS, &bytes, &s->ledger_bytes, f) != FAIL_NONE)
		return f->code;
	free(bytes);
	return FAIL_NONE;
}

enum fail_code
mix_answer(struct mix *m, struct failure *f)
{
	struct sizes sizes;
	bool waits = true;

	assert(!m->open && m->answers_n == 0);
	if (ask_size(m, &sizes, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < REQUESTS_MAX && sizes.answers_bytes < ANSWERS_BYTES_MAX; i++) {
		if (control_feed_waits(m->control, &waits, f) != FAIL_NONE)
			return f->code;
		if (!waits)
			break;
		if (take(m, &sizes, f) != FAIL_NONE)
			return f->code;
	}
	fault_point("mix.before_answer");
	if (mix_tell_feed(m, assembler_mixer(m->assembler), f) != FAIL_NONE ||
	    mix_commit(m, LEDGER_STEPS, f) != FAIL_NONE)
		return f->code;
	fault_point("mix.after_answer");
	return FAIL_NONE;
}

enum fail_code
mix_answer_old(struct mix *m, struct failure *f)
{
	for (;;) {
		bool waits;

		if (control_feed_catch_up(m->control, CATCH_UP_MS, &waits, f) != FAIL_NONE)
			return f->code;
		if (!waits)
			return FAIL_NONE;
		if (mix_elect(m, f) != FAIL_NONE)
			return f->code;
		if (mix_answer(m, f) != FAIL_NONE)
			return f->code;
	}
}
