#include "consumer/replay/republish.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "common/kafka/topics.h"
#include "consumer/batches/step_records.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/publish/lane_output.h"
#include "consumer/publish/transactions.h"
#include "consumer/publish/worst_case.h"

enum { OPEN_MS = 15000, ASK_MS = 30000, CREATE_MS = 120000 };

struct republish {
	const char *from; /* the mix that is replayed */
	const char *mix;  /* the other one */
	/* The user's, with the other mix's name and the largest batch; borrows all of it. */
	struct config config;
	struct transactions *transactions;
	uint64_t mixer_id;
	uint64_t first, end;
	uint64_t next;       /* steps below are committed */
	uint64_t steps;      /* that were committed since the opening */
	uint64_t choices;    /* rolling hash at `next`, where `resumed` */
	bool resumed;        /* its ledger had records at the opening */
	bool begun;          /* our START is written */
	bool over;           /* its END is */
	bool open;           /* a transaction is */
	uint64_t open_first; /* its first step, */
	uint64_t open_steps; /* and how many it holds */
	uint64_t open_bytes;
};

/* ---- opening ---- */

/* The most draws that a step can have under the plan of a record, its phases and what is asked. */
static enum fail_code
batch_most(uint32_t *out, const struct ledger *l, struct failure *f)
{
	struct ledger_plan plan = {0};
	struct mixer *m = NULL;
	enum fail_code code = ledger_plan_open(&plan, l, f);

	if (code == FAIL_NONE)
		code = mixer_resume(&m, &plan.plan, l, f);
	if (code == FAIL_NONE && mixer_global_batch_most(m) > *out)
		*out = mixer_global_batch_most(m);
	mixer_close(m);
	ledger_plan_close(&plan);
	return code;
}

/*
 * Raises the batch of `config` to that of the largest step, which may be far above the one that the
 * file begins with: topics and clients take records of that size. A request is in `pending` of some
 * record before the first step that it is in force at.
 */
static enum fail_code
find_batch(struct republish *p, struct failure *f)
{
	struct ledger_log *log;
	struct ledger l = {0};
	bool first = true;
	uint32_t *most = &p->config.mix.global_batch;
	enum fail_code code = ledger_log_open(&log, p->from, &p->config.kafka, OPEN_MS, f);

	if (code != FAIL_NONE)
		return code;
	code = ledger_log_seek(log, p->first, false, f);
	while (code == FAIL_NONE && (first || (uint64_t)l.step_next < p->end)) {
		int64_t offset;

		ledger_clear(&l);
		l = (struct ledger){0};
		code = ledger_log_next(log, 0, &l, &offset, f);
		if (code == FAIL_NONE && (first || l.kind == LEDGER_START))
			code = batch_most(most, &l, f);
		for (size_t i = 0; code == FAIL_NONE && i < l.pending_n; i++)
			if (l.pending[i].global_batch > *most)
				*most = l.pending[i].global_batch;
		first = false;
	}
	ledger_clear(&l);
	ledger_log_close(log);
	/* What is missing or wrong there, the replay reports. */
	return code == FAIL_TIMEOUT || code == FAIL_DATA ? FAIL_NONE : code;
}

/* Makes the topics that are missing, and checks those of the mix. */
static enum fail_code
make_topics(const struct republish *p, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_ADMIN, .properties = &p->config.kafka, .client = "republish"};
	struct topics_use use = {.written = 1U << TOPIC_BATCHES | 1U << TOPIC_LEDGER};
	struct topics_report *report = NULL;
	struct topic_plan *plan = NULL;
	rd_kafka_t *rk = NULL;
	enum fail_code code = topic_plan_open(&plan, &p->config, f);

	if (code == FAIL_NONE) {
		report = calloc(plan->n, sizeof(*report));
		code = report == NULL ? fail_memory(f) : kafka_open(&rk, &k, f);
	}
	if (code == FAIL_NONE)
		code = kafka_wait_broker(rk, OPEN_MS, f);
	if (code == FAIL_NONE)
		code = topics_query(rk, &p->config, plan, use, report, ASK_MS, f);
	if (code == FAIL_NONE)
		code = topics_create(rk, &p->config, plan, report, CREATE_MS, f);
	if (code == FAIL_NONE)
		code = topics_check(rk, &p->config, use, ASK_MS, f);
	kafka_close(rk);
	free(report);
	topic_plan_close(plan);
	return code;
}

/* Its ledger has records: do they hold a beginning of these steps, and no others? */
static enum fail_code
check_ledger(
    struct republish *p, const struct ledger *first, const struct ledger *last, struct failure *f)
{
	uint64_t from = (uint64_t)first->step_next, to = (uint64_t)last->step_next;

	if (from == p->first && to <= p->end && (last->kind != LEDGER_END || to == p->end)) {
		p->resumed = true;
		p->next = to;
		p->choices = last->choices;
		p->over = last->kind == LEDGER_END;
		return FAIL_NONE;
	}
	return fail(f, FAIL_DATA,
	    "mix %s holds steps %" PRIu64 "..%" PRIu64 "%s: steps %" PRIu64 "..%" PRIu64
	    " cannot be written there; name another mix",
	    p->mix, from, to, last->kind == LEDGER_END ? " and has ended" : "", p->first, p->end);
}

/* A mix with batches and without a ledger had one that was deleted. */
static enum fail_code
check_empty(const struct republish *p, struct failure *f)
{
	struct step_records_kept kept;
	struct step_records *records;
	enum fail_code code;

	if (!transactions_copy(p->transactions))
		return FAIL_NONE;
	code = step_records_open(&records, p->mix, &p->config.kafka, OPEN_MS, f);
	if (code != FAIL_NONE)
		return code;
	code = step_records_earliest(records, &kept, f);
	step_records_close(records);
	if (code == FAIL_NONE && kept.any)
		code = fail(f, FAIL_DATA,
		    "topic %s.batches holds records and topic %s.ledger none: it was deleted; "
		    "delete both, or name another mix",
		    p->mix, p->mix);
	return code;
}

/* After fencing whoever wrote there: what is in the other mix is final. */
static enum fail_code
read_ledger(struct republish *p, struct failure *f)
{
	struct ledger first = {0}, last = {0};
	struct ledger_log *log;
	bool any = false;
	enum fail_code code = ledger_log_open(&log, p->mix, &p->config.kafka, OPEN_MS, f);

	if (code != FAIL_NONE)
		return code;
	code = ledger_log_first(log, &first, &any, f);
	if (code == FAIL_NONE && any)
		code = ledger_log_last(log, &last, &any, f);
	if (code == FAIL_NONE)
		code = any ? check_ledger(p, &first, &last, f) : check_empty(p, f);
	ledger_clear(&first);
	ledger_clear(&last);
	ledger_log_close(log);
	return code;
}

static enum fail_code
open_transactions(struct republish *p, struct failure *f)
{
	char rejects[TOPIC_MAX_BYTES + 1];
	struct transactions_options o = {
	    .properties = &p->config.kafka,
	    .mix = p->mix,
	    .rejects_topic = rejects,
	    .message_bytes_max = topic_plan_lane_bytes(&p->config, 3),
	    .transaction_bytes = p->config.mix.transaction_bytes,
	    .queue_bytes = worst_case_queue(&p->config.mix),
	    .map = {p->config.mix.lanes, p->config.mix.partitions},
	};

	names_topic(rejects, p->config.corpus, "rejects");
	return transactions_open(&p->transactions, &o, f);
}

enum fail_code
republish_open(struct republish **out, const struct republish_options *o, struct failure *f)
{
	struct republish *p = calloc(1, sizeof(*p));

	assert(o->first < o->end);
	if (p == NULL)
		return fail_memory(f);
	p->from = o->config->mix.name;
	p->mix = o->mix;
	p->first = p->next = o->first;
	p->end = o->end;
	p->config = *o->config;
	p->config.mix.name = (char *)(uintptr_t)p->mix; /* only read */
	if (strcmp(p->mix, p->from) == 0) {
		fail(f, FAIL_USAGE, "--republish: %s is the mix itself", p->mix);
		goto failed;
	}
	if (getrandom(&p->mixer_id, sizeof(p->mixer_id), 0) != sizeof(p->mixer_id)) {
		fail_errno(f, FAIL_IO, "cannot draw a random number for this writer's id");
		goto failed;
	}
	/* In this order: the ledger is read after fencing, so that what it holds is final. */
	if (find_batch(p, f) != FAIL_NONE || make_topics(p, f) != FAIL_NONE ||
	    open_transactions(p, f) != FAIL_NONE || read_ledger(p, f) != FAIL_NONE)
		goto failed;
	*out = p;
	return FAIL_NONE;
failed:
	republish_close(p);
	return f->code;
}

void
republish_close(struct republish *p)
{
	if (p == NULL)
		return;
	transactions_close(p->transactions);
	free(p);
}

bool
republish_complete(const struct republish *p)
{
	return p->over;
}

uint64_t
republish_steps(const struct republish *p)
{
	return p->steps;
}

/* ---- transactions ---- */

static enum fail_code
begin(struct republish *p, uint64_t step, struct failure *f)
{
	if (p->open)
		return FAIL_NONE;
	if (transactions_begin(p->transactions, f) != FAIL_NONE)
		return f->code;
	p->open = true;
	p->open_first = step;
	p->open_steps = p->open_bytes = 0;
	return FAIL_NONE;
}

/*
 * Ends a transaction with `l` under the other mix's name, opening one first where none is open. The
 * other mix has other training runs, or none: `l` names none.
 */
static enum fail_code
commit(struct republish *p, struct ledger l, enum ledger_kind kind, const struct ledger *now,
    struct failure *f)
{
	uint8_t *bytes;
	size_t n;

	assert(!p->over); /* nothing follows an END */
	l.kind = kind;
	l.mix = p->config.mix.name;
	l.mixer = p->mixer_id;
	l.schedule = now->schedule;
	l.tokenizer = now->tokenizer;
	l.config = now->config;
	l.runs_n = 0;
	if (begin(p, (uint64_t)l.step_next, f) != FAIL_NONE)
		return f->code;
	assert(p->open);
	l.step_first = (int64_t)p->open_first;
	if (ledger_encode(&l, &bytes, &n, f) != FAIL_NONE ||
	    transactions_put_ledger(p->transactions, bytes, n, NULL, f) != FAIL_NONE)
		return f->code;
	fault_point("replay.before_commit");
	if (transactions_commit(p->transactions, NULL, 0, f) != FAIL_NONE)
		return f->code;
	fault_point("replay.after_commit");
	p->open = false;
	p->next = (uint64_t)l.step_next;
	p->begun = true;
	p->over = kind == LEDGER_END;
	p->steps += p->open_steps;
	return FAIL_NONE;
}

/* The same with the state of `m`, in the middle of `now`. */
static enum fail_code
commit_state(struct republish *p, const struct mixer *m, enum ledger_kind kind,
    const struct ledger *now, struct failure *f)
{
	struct ledger l = {0};
	enum fail_code code = mixer_save(m, &l, f);

	if (code == FAIL_NONE)
		code = commit(p, l, kind, now, f);
	ledger_clear(&l);
	return code;
}

/* The records of step `number`; with `step` NULL those that end the mix there. */
static enum fail_code
put_lanes(struct republish *p, const struct mixer *m, const struct assembled *step,
    const struct lane_mix *of, uint64_t number, struct failure *f)
{
	struct lane_mix mix = *of;

	mix.name = p->mix;
	if (begin(p, number, f) != FAIL_NONE)
		return f->code;
	return lane_output_put(p->transactions, &mix, m, number, step, &p->open_bytes, f);
}

/* ---- what the replay calls ---- */

enum fail_code
republish_begin(
    struct republish *p, const struct mixer *m, const struct ledger *now, struct failure *f)
{
	struct ledger l = {0};
	bool other_line;

	if (p->begun || p->over || mixer_step_next(m) != p->next)
		return FAIL_NONE;
	if (mixer_save(m, &l, f) != FAIL_NONE) {
		ledger_clear(&l);
		return f->code;
	}
	other_line = p->resumed && l.choices != p->choices;
	ledger_clear(&l);
	if (other_line)
		return fail(f, FAIL_DATA,
		    "mix %s holds other steps than mix %s up to step %" PRIu64 "; name another mix",
		    p->mix, p->from, p->next);
	if (p->resumed)
		log_info("replay: mix=%s continues at step=%" PRIu64, p->mix, p->next);
	return commit_state(p, m, LEDGER_START, now, f);
}

enum fail_code
republish_step(struct republish *p, const struct mixer *m, const struct assembled *step,
    const struct lane_mix *head, const struct ledger *now, struct failure *f)
{
	uint64_t number = mixer_step_next(m) - 1;

	assert(mixer_step_next(m) > 0);
	assert(step != NULL);
	if (!p->begun || p->over || number < p->next || number >= p->end)
		return FAIL_NONE;
	if (put_lanes(p, m, step, head, number, f) != FAIL_NONE)
		return f->code;
	p->open_steps++;
	if (number + 1 == p->end) {
		/* The range ends here: the last record of every lane, and the END. */
		if (put_lanes(p, m, NULL, head, p->end, f) != FAIL_NONE)
			return f->code;
		return commit_state(p, m, LEDGER_END, now, f);
	}
	/* At the last step of `now` republish_record() commits, with the record itself. */
	if (p->open_bytes >= p->config.mix.transaction_bytes &&
	    number + 1 < (uint64_t)now->step_next)
		return commit_state(p, m, LEDGER_STEPS, now, f);
	return FAIL_NONE;
}

enum fail_code
republish_record(struct republish *p, const struct ledger *now, struct failure *f)
{
	if (!p->begun || p->over || (uint64_t)now->step_next < p->next)
		return FAIL_NONE;
	return commit(p, *now, now->kind == LEDGER_START ? LEDGER_START : LEDGER_STEPS, now, f);
}
