#include "consumer/replay/repair.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/names.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "common/record/batch.h"
#include "consumer/batches/lane_ends.h"
#include "consumer/batches/step_records.h"
#include "consumer/ledger/batch_topic.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/publish/transactions.h"
#include "consumer/publish/worst_case.h"
#include "consumer/replay/lane_fill.h"
#include "consumer/replay/repair_plan.h"
#include "consumer/replay/replay.h"

enum { OPEN_MS = 15000, ASK_MS = 30000, LOOKS_MAX = 3 };

/* What one command holds. */
struct work {
	const struct repair_options *o;
	const char *mix;
	struct ledger last; /* the ledger's last record */
	int64_t last_at;    /* its offset */
	struct lane_ends_ledger ledger;
	struct lane_end *end; /* [lanes] */
	struct lane_map map;  /* where they lie */
	uint32_t lanes;
	struct lane_ends_report report;
	struct repair_found at;       /* the above, for decisions about it */
	uint64_t *next, *absent_from; /* [lanes] */
	struct transactions *transactions;
	struct repair_result *result;
};

/* ---- looking ---- */

/* The ledger's last record, into w->last. FAIL_DATA: there is none. */
static enum fail_code
read_ledger(struct work *w, struct failure *f)
{
	struct ledger_log *log;
	bool any = false;
	enum fail_code code = ledger_log_open(&log, w->mix, &w->o->config->kafka, OPEN_MS, f);

	if (code != FAIL_NONE)
		return code;
	ledger_clear(&w->last);
	code = ledger_log_last(log, &w->last, &any, f);
	w->last_at = ledger_log_last_offset(log);
	ledger_log_close(log);
	if (code != FAIL_NONE)
		return code;
	w->ledger.next = (uint64_t)w->last.step_next;
	w->ledger.ended = w->last.kind == LEDGER_END;
	return any ? FAIL_NONE
		   : fail(f, FAIL_DATA,
			 "topic %s.ledger holds no record: the mix has not begun, or all of its "
			 "ledger "
			 "is lost and nothing can be derived from it; then delete the topics "
			 "%s.batches and %s.ledger, or start a mix of another name",
			 w->mix, w->mix, w->mix);
}

static enum fail_code
read_ends(struct work *w, struct failure *f)
{
	const struct properties *kafka = &w->o->config->kafka;
	enum fail_code code;

	free(w->end);
	w->end = NULL;
	w->map = (struct lane_map){0};
	code = lane_ends_query_decided(
	    &w->end, &w->map, &w->ledger, w->mix, kafka, ASK_MS, LANE_ENDS_PATIENCE_MS, f);
	/* Partitions that were added are no lanes: nothing belongs there, and keys may not fit. */
	if ((code == FAIL_NONE || code == FAIL_DATA) && w->map.lanes > 0 &&
	    batch_topic_judge(w->mix, &w->last, &w->map, 0, NULL, 0, f) != FAIL_NONE)
		return f->code;
	if (code != FAIL_NONE)
		return code;
	w->lanes = lane_map_lying(&w->map);
	/* What is lost from here on stops what is written. */
	for (uint32_t i = 0; w->transactions != NULL && i < w->lanes; i++)
		transactions_expect(w->transactions, i, w->end[i].high);
	if (w->transactions != NULL)
		transactions_expect_ledger(w->transactions, w->ledger.high);
	if (lane_ends_empty(w->end, w->lanes) && ledger_log_begins(&w->ledger.first, &w->ledger.cut,
						     w->mix, kafka, ASK_MS, f) != FAIL_NONE)
		return f->code;
	lane_ends_compare(&w->report, w->end, w->lanes, &w->ledger);
	w->at.end = w->end;
	w->at.lanes = w->lanes;
	return FAIL_NONE;
}

/*
 * Looks without fencing anyone. A mixer that works makes ledger and lanes look different from one
 * moment to the next: while the ledger grows (*grows) the look proves nothing, and a mixer that
 * works has found them level when it started.
 */
static enum fail_code
look(struct work *w, bool *grows, struct failure *f)
{
	*grows = false;
	if (read_ledger(w, f) != FAIL_NONE)
		return f->code;
	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		int64_t before = w->last_at;

		if (read_ends(w, f) != FAIL_NONE)
			return f->code;
		if (repair_plan_level(&w->at))
			break;
		if (read_ledger(w, f) != FAIL_NONE)
			return f->code;
		*grows = w->last_at != before;
		if (!*grows)
			break;
	}
	return FAIL_NONE;
}

/* ---- fencing, and transactions that nobody ends ---- */

static enum fail_code
fence(struct work *w, struct failure *f)
{
	const struct config *c = w->o->config;
	char rejects[TOPIC_MAX_BYTES + 1];
	struct transactions_options o = {
	    .properties = &c->kafka,
	    .mix = w->mix,
	    .rejects_topic = rejects,
	    .message_bytes_max = topic_plan_lane_bytes(c, 3),
	    .transaction_bytes = c->mix.transaction_bytes,
	    .queue_bytes = worst_case_queue(&c->mix),
	    .map = w->map,
	};

	names_topic(rejects, c->corpus, "rejects");
	return transactions_open(&w->transactions, &o, f);
}

static enum fail_code
abort_open(struct work *w, struct failure *f)
{
	if (transactions_end_open(w->transactions, w->end, w->lanes, w->ledger.open, f) !=
	    FAIL_NONE)
		return f->code;
	if (read_ends(w, f) != FAIL_NONE)
		return f->code;
	if (w->ledger.open)
		return fail(f, FAIL_DATA,
		    "topic %s.ledger: records of a transaction stand at its end, and not of this "
		    "mix's producer: kafka-transactions.sh find-hanging names it, abort ends it",
		    w->mix);
	if (w->report.open.n == 0)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "topic %s.batches, lane %" PRIu32
	    ": records of a transaction stand behind offset %" PRId64
	    ", and not of this mix's producer: kafka-transactions.sh find-hanging names it, abort "
	    "ends it",
	    w->mix, w->report.open.lane, w->end[w->report.open.lane].high);
}

/* ---- what is missing ---- */

static enum fail_code
ask_kept(const struct work *w, struct step_records_kept *kept, struct failure *f)
{
	struct step_records *records;
	enum fail_code code = step_records_open(&records, w->mix, &w->o->config->kafka, OPEN_MS, f);

	if (code != FAIL_NONE)
		return code;
	code = step_records_earliest(records, kept, f);
	step_records_close(records);
	return code;
}

static void
warn_uncommitted(const struct work *w, uint64_t step)
{
	for (size_t i = 0; i < w->last.runs_n; i++)
		if (w->last.run[i].step == 0)
			log_warning("repair: REPAIR-UNCOMMITTED run=%s has committed nothing: it "
				    "will find step=%" PRIu64 " the earliest",
			    w->last.run[i].name, step);
}

/* Where lanes that hold no record are filled from. */
static enum fail_code
find_from(const struct work *w, uint64_t *step, struct failure *f)
{
	struct step_records_kept kept;

	if (ask_kept(w, &kept, f) != FAIL_NONE ||
	    repair_plan_from(&w->at, &kept, step, f) != FAIL_NONE)
		return f->code;
	if (w->o->from_given && !kept.any)
		warn_uncommitted(w, *step);
	return FAIL_NONE;
}

/* FAIL_DATA: a request stands in the control topic of which the ledger has no answer. */
static enum fail_code
check_requests(const struct work *w, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_ADMIN, .properties = &w->o->config->kafka, .client = "repair"};
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t low = 0, high = 0, request;
	int partitions;
	rd_kafka_t *rk;
	enum fail_code code = kafka_open(&rk, &k, f);

	if (code != FAIL_NONE)
		return code;
	names_topic(topic, w->mix, "control");
	/* A topic that the user may not see is named by metadata alone. */
	code = kafka_partitions(rk, topic, &partitions, ASK_MS, f);
	if (code == FAIL_NONE)
		code = kafka_watermarks(rk, topic, 0, &low, &high, ASK_MS, f);
	kafka_close(rk);
	if (code != FAIL_NONE)
		return code;
	request = repair_plan_unanswered(w->last.control_next, low, high);
	if (request < 0)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "steps %" PRIu64 "..%" PRIu64 " are lost in the ledger, and some lanes have lost them "
	    "too; a request in %s, at offset %" PRId64
	    ", may have changed them, and the ledger has "
	    "lost its answer: delete the mix's topics, or start a mix of another name",
	    w->ledger.next, w->report.highest, topic, request);
}

/* FAIL_DATA: steps beyond the ledger cannot be derived with certainty. */
static enum fail_code
check_certain(const struct work *w, struct failure *f)
{
	const char *live = repair_plan_live(&w->at);

	if (!repair_plan_guesses(&w->at))
		return FAIL_NONE;
	if (live == NULL)
		return check_requests(w, f);
	return fail(f, FAIL_DATA,
	    "steps %" PRIu64 "..%" PRIu64
	    " are lost in the ledger, and some lanes have lost them too; domain %s is live, and "
	    "how long it was when they were drawn is not known: delete the mix's topics, or start "
	    "a mix of another name",
	    w->ledger.next, w->report.highest, live);
}

/* ---- nothing is missing at the ends: in the middle? ---- */

static enum fail_code
fail_hole(const struct work *w, const struct step_records_hole *hole, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "topic %s.batches, lane %" PRIu32 ": steps %" PRIu64 "..%" PRIu64
	    " are missing in its middle, and Kafka cannot insert them. `riffle replay --steps "
	    "%" PRIu64 "..%" PRIu64
	    " --republish NAME --derive-only` writes them to another mix, from which "
	    "trainers read them; they read %s again from step %" PRIu64 " on",
	    w->mix, hole->lane, hole->first, hole->end, hole->first, hole->end, w->mix, hole->end);
}

static enum fail_code
check_decodes(const struct work *w, const struct step_record *record, struct failure *f)
{
	for (uint32_t i = 0; i < w->lanes; i++) {
		struct batch_view view;

		if (batch_decode(&view, record[i].bytes, record[i].n, f) != FAIL_NONE)
			return lane_ends_fail_foreign(w->mix, i, record[i].offset, f);
	}
	return FAIL_NONE;
}

static enum fail_code
scan(struct work *w, struct failure *f)
{
	struct step_record *record = calloc(w->lanes, sizeof(*record));
	uint64_t end = w->ledger.next, first = end;
	struct step_records *records = NULL;
	struct step_records_kept kept;
	struct step_records_hole hole;
	enum fail_code code = record == NULL ? fail_memory(f) : ask_kept(w, &kept, f);

	if (code == FAIL_NONE) {
		first = repair_plan_scan(&w->at, kept.any ? kept.whole : w->ledger.first);
		w->result->checked_first = first;
	}
	if (code == FAIL_NONE && first < end)
		code = step_records_open(&records, w->mix, &w->o->config->kafka, OPEN_MS, f);
	if (records != NULL)
		code = step_records_seek(records, first, f);
	for (uint64_t s = first; records != NULL && code == FAIL_NONE && s < end; s++) {
		code = step_records_next(records, 0, record, f);
		if (step_records_hole(records, &hole))
			code = fail_hole(w, &hole, f);
		else if (code == FAIL_NONE)
			code = check_decodes(w, record, f);
	}
	step_records_close(records);
	free(record);
	return code;
}

/* ---- all of it ---- */

static enum fail_code
complete(struct work *w, struct failure *f)
{
	struct lane_fill fill = {.transactions = w->transactions, .lanes = w->lanes};
	struct replay_options o = {
	    .config = w->o->config,
	    .end = w->report.highest,
	    .fill = &fill,
	    .ledger_end = w->ledger.next,
	    .ended = repair_plan_ended(&w->at),
	};
	struct replay_result replayed;
	uint64_t from = 0;
	enum fail_code code;

	w->next = calloc(w->lanes, sizeof(*w->next));
	w->absent_from = calloc(w->lanes, sizeof(*w->absent_from));
	w->result->lane = calloc(w->lanes, sizeof(*w->result->lane));
	if (w->next == NULL || w->absent_from == NULL || w->result->lane == NULL)
		return fail_memory(f);
	w->result->lanes = w->lanes;
	w->result->ledger_first = w->ledger.next;
	w->result->ledger_end = w->report.highest;
	if (w->ledger.ended && o.end > w->ledger.next)
		return fail(f, FAIL_DATA,
		    "topic %s.ledger ends the mix before step %" PRIu64
		    ", and lanes hold steps behind it: another program writes there",
		    w->mix, w->ledger.next);
	if (o.end == 0)
		return fail(f, FAIL_DATA, "mix %s has no step: nothing can be derived", w->mix);
	if (lane_ends_empty(w->end, w->lanes) && find_from(w, &from, f) != FAIL_NONE)
		return f->code;
	o.first = repair_plan_lanes(&w->at, from, w->next, w->absent_from);
	for (uint32_t i = 0; i < w->lanes; i++)
		w->result->lane[i] = (struct repair_lane){w->next[i], o.end};
	if (check_certain(w, f) != FAIL_NONE)
		return f->code;
	fill.absent_from = w->absent_from;
	code = replay(&o, &replayed, f);
	w->result->records = fill.records;
	return code;
}

static enum fail_code
work(struct work *w, struct failure *f)
{
	bool grows = false;

	if (look(w, &grows, f) != FAIL_NONE)
		return f->code;
	if (grows)
		return fail(f, FAIL_DATA,
		    "a mixer is publishing mix %s: it has found lanes and ledger level when it "
		    "started, and nothing is repaired beside it",
		    w->mix);
	w->result->derived = w->lanes == 0;
	w->result->checked_end = w->ledger.next;
	if (repair_plan_level(&w->at))
		return w->result->derived ? FAIL_NONE : scan(w, f);
	w->result->needed = true;
	if (!w->o->dry_run && (fence(w, f) != FAIL_NONE || read_ledger(w, f) != FAIL_NONE ||
				  read_ends(w, f) != FAIL_NONE))
		return f->code;
	w->result->opened = w->report.open.n;
	w->result->opened_ledger = w->ledger.open;
	if (!w->o->dry_run && (w->report.open.n > 0 || w->ledger.open) &&
	    abort_open(w, f) != FAIL_NONE)
		return f->code;
	if (w->report.behind.n == 0 && w->report.ahead.n == 0)
		return FAIL_NONE;
	return complete(w, f);
}

enum fail_code
repair(const struct repair_options *o, struct repair_result *out, struct failure *f)
{
	struct work w = {.o = o, .mix = o->config->mix.name, .result = out};
	enum fail_code code;

	assert(w.mix != NULL);
	w.at = (struct repair_found){.last = &w.last,
	    .ledger = &w.ledger,
	    .report = &w.report,
	    .from_given = o->from_given,
	    .from_step = o->from_step};
	*out = (struct repair_result){0};
	code = work(&w, f);
	transactions_close(w.transactions);
	ledger_clear(&w.last);
	free(w.end);
	free(w.next);
	free(w.absent_from);
	return code;
}
