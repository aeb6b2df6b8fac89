/*
 * repair.h: what the whole command asks, fences, derives and reports. What asks a broker and what
 * derives steps is replaced here: it answers from `world` and writes down each call.
 */
#include "consumer/replay/repair.h"

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
#include "consumer/replay/replay.h"
#include "tests/unit/capture.h"

enum { LANES = 2, NEXT = 60 };

static struct world {
	uint32_t lanes;
	struct lane_end end[LANES];
	struct lane_ends_report report, aborted; /* the second one after transactions_end_open() */
	bool open_ledger, open_after;            /* the ledger has an open transaction, likewise */
	bool empty;                              /* the ledger */
	int64_t step_next;
	enum ledger_kind kind;
	int grows; /* how many looks find that the ledger has grown */
	struct ledger_run run[2];
	bool live;
	struct step_records_kept kept;
	struct step_records_hole hole; /* found at the step of its end; end 0: none */
	int64_t damaged;               /* the step whose record on lane 1 is no batch */
	int64_t control_low, control_high;
	const char *fails; /* the call that fails, with FAIL_BROKER */
} world;
static char calls[4096];
static size_t calls_n;
static int opened;
static bool was_aborted;
static int64_t ledger_at, step_at;
static uint8_t *batch;
static size_t batch_n;

__attribute__((format(printf, 2, 3))) static enum fail_code
call(struct failure *why, const char *format, ...)
{
	const char *at = calls + calls_n;
	va_list list;

	va_start(list, format);
	calls_n += (size_t)vsnprintf(calls + calls_n, sizeof(calls) - calls_n, format, list);
	va_end(list);
	assert_true(calls_n < sizeof(calls));
	if (world.fails != NULL && strncmp(at, world.fails, strlen(world.fails)) == 0)
		return fail(why, FAIL_BROKER, "%s fails", world.fails);
	return FAIL_NONE;
}

/* ---- in place of ledger_log.c ---- */

enum fail_code
ledger_log_open(struct ledger_log **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	if (call(why, "ledger %s %d\n", mix, timeout_ms) != FAIL_NONE)
		return why->code;
	*out = (struct ledger_log *)&world;
	opened++;
	return FAIL_NONE;
}

void
ledger_log_close(struct ledger_log *l)
{
	opened -= l != NULL;
}

enum fail_code
ledger_log_last(struct ledger_log *l, struct ledger *out, bool *any, struct failure *why)
{
	assert_ptr_equal((const void *)l, &world);
	*any = !world.empty;
	*out = (struct ledger){.step_next = world.step_next, .kind = world.kind, .control_next = 3};
	out->run = calloc(2, sizeof(*out->run));
	for (; out->runs_n < 2 && world.run[out->runs_n].name != NULL; out->runs_n++)
		out->run[out->runs_n] = (struct ledger_run){
		    strdup(world.run[out->runs_n].name), world.run[out->runs_n].step};
	out->domain = calloc(1, sizeof(*out->domain));
	out->domain[0] = (struct ledger_domain){.name = strdup("web"), .live = world.live};
	out->domains_n = 1;
	if (world.grows-- > 0)
		ledger_at += 2;
	return call(why, "last\n");
}

int64_t
ledger_log_last_offset(const struct ledger_log *l)
{
	assert_ptr_equal((const void *)l, &world);
	return ledger_at;
}

enum fail_code
ledger_log_begins(uint64_t *step, bool *cut, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	*step = 20;
	*cut = true;
	return call(why, "begins %s %d\n", mix, timeout_ms);
}

/* ---- in place of lane_ends.c and batch_topic.c ---- */

enum fail_code
lane_ends_query_decided(struct lane_end **out, struct lane_map *map,
    struct lane_ends_ledger *ledger, const char *mix, const struct properties *properties,
    int timeout_ms, int patience_ms, struct failure *why)
{
	(void)properties;
	assert_null(*out);
	assert_int_equal(map->lanes, 0);
	*map = (struct lane_map){.lanes = world.lanes, .partitions = world.lanes};
	*out = calloc(LANES, sizeof(**out));
	memcpy(*out, world.end, sizeof(world.end));
	ledger->high = 500;
	ledger->open = was_aborted ? world.open_after : world.open_ledger;
	return call(why, "ends %s %d %d\n", mix, timeout_ms, patience_ms);
}

bool
lane_ends_empty(const struct lane_end *end, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!end[i].any)
			return true;
	return false;
}

void
lane_ends_compare(struct lane_ends_report *out, struct lane_end *end, uint32_t n,
    const struct lane_ends_ledger *l)
{
	(void)end;
	assert_int_equal(n, world.lanes);
	assert_int_equal(l->next, world.step_next);
	assert_int_equal(l->ended, world.kind == LEDGER_END);
	*out = was_aborted ? world.aborted : world.report;
}

enum fail_code
lane_ends_fail_foreign(const char *mix, uint32_t lane, int64_t offset, struct failure *why)
{
	return fail(why, FAIL_DATA, "foreign %s %u %d", mix, lane, (int)offset);
}

enum fail_code
batch_topic_judge(const char *mix, const struct ledger *last, const struct lane_map *map,
    uint32_t first, const int64_t *high, uint32_t n, struct failure *why)
{
	assert_int_equal(last->step_next, world.step_next);
	assert_null(high);
	return call(why, "judge %s %u %u %u\n", mix, map->lanes, first, n);
}

/* ---- in place of step_records.c ---- */

enum fail_code
step_records_open(struct step_records **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	if (call(why, "records %s %d\n", mix, timeout_ms) != FAIL_NONE)
		return why->code;
	*out = (struct step_records *)&world;
	opened++;
	return FAIL_NONE;
}

void
step_records_close(struct step_records *r)
{
	opened -= r != NULL;
}

enum fail_code
step_records_earliest(struct step_records *r, struct step_records_kept *out, struct failure *why)
{
	assert_ptr_equal((const void *)r, &world);
	*out = world.kept;
	return call(why, "earliest\n");
}

enum fail_code
step_records_seek(struct step_records *r, uint64_t step, struct failure *why)
{
	assert_ptr_equal((const void *)r, &world);
	step_at = (int64_t)step;
	return call(why, "seek %d\n", (int)step);
}

enum fail_code
step_records_next(struct step_records *r, int wait_ms, struct step_record *out, struct failure *why)
{
	assert_ptr_equal((const void *)r, &world);
	assert_int_equal(wait_ms, 0);
	for (uint32_t i = 0; i < world.lanes; i++)
		out[i] = (struct step_record){.bytes = batch,
		    .n = step_at == world.damaged && i == 1 ? batch_n - 1 : batch_n,
		    .offset = 2 * step_at};
	return call(why, "next %d\n", (int)step_at++);
}

bool
step_records_hole(const struct step_records *r, struct step_records_hole *out)
{
	assert_ptr_equal((const void *)r, &world);
	*out = world.hole;
	return world.hole.end > 0 && step_at > (int64_t)world.hole.end;
}

/* ---- in place of transactions.c, replay.c, kafka.c, kafka_query.c ---- */

enum fail_code
transactions_open(
    struct transactions **out, const struct transactions_options *o, struct failure *why)
{
	if (call(why, "fence %s %s %zu %d %d %u\n", o->mix, o->rejects_topic, o->message_bytes_max,
		(int)o->transaction_bytes, (int)o->queue_bytes, o->map.lanes) != FAIL_NONE)
		return why->code;
	*out = (struct transactions *)&world;
	opened++;
	return FAIL_NONE;
}

void
transactions_close(struct transactions *t)
{
	opened -= t != NULL;
}

void
transactions_expect(struct transactions *t, uint32_t lane, int64_t offset_next)
{
	assert_ptr_equal((const void *)t, &world);
	call(&f, "expect %u@%d\n", lane, (int)offset_next);
}

void
transactions_expect_ledger(struct transactions *t, int64_t offset_next)
{
	assert_ptr_equal((const void *)t, &world);
	call(&f, "expect ledger@%d\n", (int)offset_next);
}

enum fail_code
transactions_end_open(struct transactions *t, const struct lane_end *end, uint32_t lanes,
    bool ledger, struct failure *why)
{
	assert_ptr_equal((const void *)t, &world);
	assert_non_null(end);
	was_aborted = true;
	return call(why, "abort %u %d\n", lanes, ledger);
}

enum fail_code
replay(const struct replay_options *o, struct replay_result *out, struct failure *why)
{
	enum fail_code code;

	*out = (struct replay_result){0};
	assert_true(o->republish == NULL && !o->derive_only && o->lane == NULL && o->stop == NULL);
	assert_int_equal(o->fill->lanes, LANES);
	code = call(why, "replay %d..%d of %d%s%s", (int)o->first, (int)o->end, (int)o->ledger_end,
	    o->ended ? " ended" : "", o->fill->transactions == NULL ? " dry" : "");
	for (uint32_t i = 0; i < LANES; i++)
		call(why, " %d",
		    o->fill->absent_from[i] == UINT64_MAX ? -1 : (int)o->fill->absent_from[i]);
	o->fill->records = 12;
	call(why, "\n");
	return code;
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *why)
{
	if (call(why, "handle %s %d\n", o->client, o->role == KAFKA_ADMIN) != FAIL_NONE)
		return why->code;
	*out = (rd_kafka_t *)&world;
	opened++;
	return FAIL_NONE;
}

void
kafka_close(rd_kafka_t *rk)
{
	opened -= rk != NULL;
}

enum fail_code
kafka_partitions(rd_kafka_t *rk, const char *topic, int *n, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &world);
	*n = 1;
	return call(why, "partitions %s %d\n", topic, timeout_ms);
}

enum fail_code
kafka_watermarks(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low, int64_t *high,
    int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, &world);
	*low = world.control_low;
	*high = world.control_high;
	return call(why, "watermarks %s/%d %d\n", topic, partition, timeout_ms);
}

/* ---- scenes ---- */

static struct config config = {.corpus = (char *)(uintptr_t) "c",
    .sequence_length = 64,
    .mix = {.name = (char *)(uintptr_t) "m",
	.global_batch = 8,
	.lanes = LANES,
	.partitions = LANES,
	.transaction_bytes = 1000,
	.memory_bytes = 1 << 20}};

/* Lanes and ledger end at step NEXT, all is level. */
static void
begin(void)
{
	world = (struct world){.lanes = LANES,
	    .end = {{.each = 1,
			.high = 120,
			.any = true,
			.offset = 118,
			.step = NEXT - 1,
			.next = NEXT},
		{.partition = 1,
		    .each = 1,
		    .high = 121,
		    .any = true,
		    .step = NEXT - 1,
		    .next = NEXT}},
	    .report = {.highest = NEXT},
	    .aborted = {.highest = NEXT},
	    .step_next = NEXT,
	    .kind = LEDGER_STEPS,
	    .run = {{(char *)(uintptr_t) "trainers", 57}, {NULL, 0}},
	    .kept = {true, 10, 50},
	    .damaged = -1,
	    .control_high = 3};
	calls[calls_n = 0] = '\0';
	was_aborted = false;
	ledger_at = 118;
}

/* Lane 1 lacks the steps from 55 on. */
static void
begin_behind(void)
{
	begin();
	world.end[1].next = 55;
	world.end[1].step = 54;
	world.report.behind = world.aborted.behind = (struct lane_ends_count){1, 1};
	world.report.lowest = world.aborted.lowest = 55;
}

/* The lanes hold steps up to 62, of which the ledger knows those below 60, and lane 1 those. */
static void
begin_ahead(void)
{
	begin();
	world.end[0].next = 63;
	world.report.ahead = world.aborted.ahead = (struct lane_ends_count){1, 0};
	world.report.highest = world.aborted.highest = 63;
}

static struct repair_result result;

static enum fail_code
run_repair(bool dry_run, bool from_given, uint64_t from_step)
{
	const struct repair_options o = {.config = &config,
	    .dry_run = dry_run,
	    .from_given = from_given,
	    .from_step = from_step};
	enum fail_code code;

	free(result.lane);
	memset(&result, 0xee, sizeof(result));
	code = repair(&o, &result, &f);
	assert_int_equal(opened, 0);
	return code;
}

#define LEDGER "ledger m 15000\nlast\n"
#define ENDS   "ends m 30000 10000\njudge m 2 0 0\n"
#define EXPECT "expect 0@120\nexpect 1@121\nexpect ledger@500\n"
#define AGAIN  LEDGER "ends m 30000 10000\njudge m 2 0 0\n" EXPECT
#define KEPT   "records m 15000\nearliest\n"
#define SCAN   KEPT "records m 15000\nseek 57\nnext 57\nnext 58\nnext 59\n"

static const char *
fenced(void)
{
	static char text[128];

	snprintf(text, sizeof(text), "fence m c.rejects %zu 1000 %d 2\n",
	    topic_plan_lane_bytes(&config, 3), (int)worst_case_queue(&config.mix));
	return text;
}

/* The calls are `before`, the fencing unless `after` is NULL, and `after`. */
static void
calls_are(const char *before, const char *after)
{
	char expected[4096];

	snprintf(expected, sizeof(expected), "%s%s%s", before, after == NULL ? "" : fenced(),
	    after == NULL ? "" : after);
	assert_string_equal(calls, expected);
}

/* ---- nothing is missing at the ends ---- */

static void
test_a_mix_that_is_level_is_read_through(void **unused)
{
	(void)unused;
	begin();
	assert_int_equal(run_repair(false, false, 0), FAIL_NONE);
	calls_are(LEDGER ENDS SCAN, NULL);
	assert_true(result.checked_first == 57 && result.checked_end == NEXT);
	assert_true(!result.needed && !result.derived && result.opened == 0 &&
		    !result.opened_ledger && result.records == 0 && result.lanes == 0 &&
		    result.ledger_first == 0 && result.ledger_end == 0);
	assert_null(result.lane);
	begin();
	assert_int_equal(run_repair(false, true, 59), FAIL_NONE); /* from a step on */
	calls_are(LEDGER ENDS KEPT "records m 15000\nseek 59\nnext 59\n", NULL);
	begin();
	assert_int_equal(run_repair(false, true, NEXT), FAIL_NONE); /* none is to be read */
	calls_are(LEDGER ENDS KEPT, NULL);
	assert_true(result.checked_first == NEXT && result.checked_end == NEXT);
	begin();
	world.kept.any = false;
	world.run[0].step = 0;
	assert_int_equal(run_repair(true, false, 0), FAIL_NONE);
	assert_int_equal(result.checked_first, 0);
	begin();
	world.kept.whole = 58; /* the trainers are at an earlier step than the first one kept */
	assert_int_equal(run_repair(true, false, 0), FAIL_NONE);
	assert_int_equal(result.checked_first, 58);
}

static void
test_what_is_wrong_in_the_middle_is_named(void **unused)
{
	(void)unused;
	begin();
	world.hole = (struct step_records_hole){1, 57, 58};
	assert_int_equal(run_repair(false, false, 0), FAIL_DATA);
	assert_string_equal(f.text,
	    "topic m.batches, lane 1: steps 57..58 are missing in its middle, and Kafka cannot "
	    "insert them. `riffle replay --steps 57..58 --republish NAME --derive-only` writes "
	    "them to another mix, from which trainers read them; they read m again from step 58 "
	    "on");
	assert_string_equal(strstr(calls, "seek"), "seek 57\nnext 57\nnext 58\n");
	begin();
	world.damaged = 58;
	assert_int_equal(run_repair(false, false, 0), FAIL_DATA);
	assert_string_equal(f.text, "foreign m 1 116");
	assert_string_equal(strstr(calls, "seek"), "seek 57\nnext 57\nnext 58\n");
}

static void
test_a_derived_mix_has_no_lanes_to_read(void **unused)
{
	(void)unused;
	begin();
	world.lanes = 0;
	assert_int_equal(run_repair(false, false, 0), FAIL_NONE);
	calls_are(LEDGER "ends m 30000 10000\n", NULL);
	assert_true(result.derived && !result.needed && result.checked_end == NEXT);
}

static void
test_what_cannot_be_looked_at_is_refused(void **unused)
{
	(void)unused;
	begin();
	world.empty = true;
	assert_int_equal(run_repair(false, false, 0), FAIL_DATA);
	assert_string_equal(f.text,
	    "topic m.ledger holds no record: the mix has not begun, or all of its ledger is lost "
	    "and nothing can be derived from it; then delete the topics m.batches and m.ledger, or "
	    "start a mix of another name");
	calls_are(LEDGER, NULL);
	begin_behind();
	world.grows = 10;
	assert_int_equal(run_repair(false, false, 0), FAIL_DATA);
	assert_string_equal(f.text,
	    "a mixer is publishing mix m: it has found lanes and ledger level when it started, and "
	    "nothing is repaired beside it");
	calls_are(LEDGER ENDS LEDGER ENDS LEDGER ENDS LEDGER, NULL);
	begin_behind();
	world.grows = 3; /* the fourth look finds the same ledger, so no mixer is publishing */
	assert_int_equal(run_repair(true, false, 0), FAIL_NONE);
	calls_are(
	    LEDGER ENDS LEDGER ENDS LEDGER ENDS LEDGER "replay 55..60 of 60 dry 60 55\n", NULL);
}

/* ---- something is missing ---- */

static void
test_lanes_that_are_behind_are_completed_after_fencing(void **unused)
{
	(void)unused;
	begin_behind();
	assert_int_equal(run_repair(false, false, 0), FAIL_NONE);
	calls_are(LEDGER ENDS LEDGER, AGAIN "replay 55..60 of 60 60 55\n");
	assert_true(result.needed && !result.derived && result.lanes == LANES);
	assert_true(result.lane[0].first == 60 && result.lane[0].end == 60);
	assert_true(result.lane[1].first == 55 && result.lane[1].end == 60);
	assert_true(result.ledger_first == 60 && result.ledger_end == 60);
	assert_true(result.records == 12 && result.opened == 0 && !result.opened_ledger);
	assert_int_equal(result.checked_end, NEXT);
	begin_behind();
	world.end[0].last = true; /* the end of the mix is on lane 0 */
	assert_int_equal(run_repair(true, false, 0), FAIL_NONE); /* fences nobody */
	calls_are(LEDGER ENDS LEDGER "replay 55..60 of 60 ended dry -1 55\n", NULL);
	assert_int_equal(result.records, 12);
}

static void
test_steps_beyond_the_ledger_are_derived_if_nothing_else_decided_them(void **unused)
{
	static const char control[] =
	    "handle repair 1\npartitions m.control 30000\nwatermarks m.control/0 30000\n";
	char expected[1024];

	(void)unused;
	begin_ahead();
	assert_int_equal(run_repair(true, false, 0), FAIL_NONE);
	snprintf(expected, sizeof(expected), LEDGER ENDS LEDGER "%sreplay 60..63 of 60 dry 63 60\n",
	    control);
	calls_are(expected, NULL);
	assert_true(result.ledger_first == 60 && result.ledger_end == 63);
	assert_true(result.lane[0].first == 63 && result.lane[1].first == 60);
	world.end[1].next = 63; /* no lane lacks them: nothing is guessed */
	world.control_high = 9;
	calls_n = 0;
	assert_int_equal(run_repair(true, false, 0), FAIL_NONE);
	calls_are(LEDGER ENDS LEDGER "replay 60..63 of 60 dry 63 63\n", NULL);
	begin_ahead();
	world.control_high = 4;
	assert_int_equal(run_repair(true, false, 0), FAIL_DATA);
	assert_string_equal(f.text,
	    "steps 60..63 are lost in the ledger, and some lanes have lost them too; a request in "
	    "m.control, at offset 3, may have changed them, and the ledger has lost its answer: "
	    "delete the mix's topics, or start a mix of another name");
	assert_int_equal(result.lanes, LANES);
	begin_ahead();
	world.live = true;
	assert_int_equal(run_repair(true, false, 0), FAIL_DATA);
	assert_string_equal(f.text,
	    "steps 60..63 are lost in the ledger, and some lanes have lost them too; domain web is "
	    "live, and how long it was when they were drawn is not known: delete the mix's topics, "
	    "or start a mix of another name");
	assert_null(strstr(calls, "handle"));
}

static void
test_ends_that_contradict_each_other_are_refused(void **unused)
{
	(void)unused;
	begin_ahead();
	world.kind = LEDGER_END;
	assert_int_equal(run_repair(true, false, 0), FAIL_DATA);
	assert_string_equal(f.text,
	    "topic m.ledger ends the mix before step 60, and lanes hold steps behind it: another "
	    "program writes there");
	begin_behind();
	world.kind = LEDGER_END; /* and no lane is beyond it */
	assert_int_equal(run_repair(true, false, 0), FAIL_NONE);
	assert_non_null(strstr(calls, "replay 55..60 of 60 ended dry 60 55\n"));
	begin_behind();
	world.report.highest = 0;
	assert_int_equal(run_repair(true, false, 0), FAIL_DATA);
	assert_string_equal(f.text, "mix m has no step: nothing can be derived");
}

/* A lane without a record is filled from the first step that the others keep, or from a given. */
static void
test_an_empty_lane_is_filled_from_what_others_keep_or_the_user_says(void **unused)
{
	static const struct {
		bool kept, given;
		uint64_t from;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {true, false, 0, FAIL_NONE, "replay 50..60 of 60 dry 60 50\n"},
	    {true, true, 30, FAIL_NONE, "replay 50..60 of 60 dry 60 50\n"},
	    {false, false, 0, FAIL_NONE, "replay 20..60 of 60 dry 60 20\n"},
	    {false, true, 30, FAIL_NONE, "replay 30..60 of 60 dry 60 30\n"},
	    {false, true, 19, FAIL_DATA, "--from-step 19: the ledger has the steps 20..60"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		bool warns = !rows[i].kept && rows[i].given && rows[i].code == FAIL_NONE;
		struct capture c;
		char text[512];
		enum fail_code code;
		int lines;

		begin_behind();
		world.end[1].any = false;
		world.kept.any = rows[i].kept;
		world.run[1] = (struct ledger_run){(char *)(uintptr_t) "none", 0};
		capture_begin(&c);
		code = run_repair(true, rows[i].given, rows[i].from);
		lines = capture_end_lines(&c, text, sizeof(text));
		assert_int_equal(code, rows[i].code);
		assert_non_null(strstr(calls, ENDS "begins m 30000\n"));
		if (code == FAIL_NONE)
			assert_string_equal(strstr(calls, "replay"), rows[i].says);
		else
			assert_string_equal(f.text, rows[i].says);
		assert_int_equal(lines, warns);
		if (warns)
			assert_non_null(strstr(text,
			    "repair: REPAIR-UNCOMMITTED run=none has committed nothing: it will "
			    "find step=30 the earliest\n"));
	}
}

static void
test_transactions_that_nobody_ended_are_aborted(void **unused)
{
	static const struct {
		uint32_t lanes, lanes_after; /* with one */
		bool ledger, ledger_after, behind_after;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {1, 0, false, false, false, FAIL_NONE, NULL},
	    {0, 0, true, false, false, FAIL_NONE, NULL},
	    {2, 0, true, false, true, FAIL_NONE, NULL},
	    {1, 1, false, false, false, FAIL_DATA,
		"topic m.batches, lane 1: records of a transaction stand behind offset 121, and "
		"not "
		"of this mix's producer: kafka-transactions.sh find-hanging names it, abort ends "
		"it"},
	    {1, 1, true, true, false, FAIL_DATA,
		"topic m.ledger: records of a transaction stand at its end, and not of this mix's "
		"producer: kafka-transactions.sh find-hanging names it, abort ends it"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		char after[1024];

		begin();
		world.report.open = (struct lane_ends_count){rows[i].lanes, 1};
		world.aborted.open = (struct lane_ends_count){rows[i].lanes_after, 1};
		world.open_ledger = rows[i].ledger;
		world.open_after = rows[i].ledger_after;
		world.aborted.behind.n = rows[i].behind_after;
		assert_int_equal(run_repair(false, false, 0), rows[i].code);
		snprintf(after, sizeof(after), AGAIN "abort 2 %d\n" ENDS EXPECT "%s",
		    rows[i].ledger, rows[i].behind_after ? "replay 59..60 of 60 60 60\n" : "");
		calls_are(LEDGER ENDS LEDGER, after);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
		assert_true(result.needed);
		assert_int_equal(result.opened, rows[i].lanes);
		assert_int_equal(result.opened_ledger, rows[i].ledger);
		/* A dry run only reports them. */
		begin();
		world.report.open = (struct lane_ends_count){rows[i].lanes, 1};
		world.open_ledger = rows[i].ledger;
		assert_int_equal(run_repair(true, false, 0), FAIL_NONE);
		calls_are(LEDGER ENDS LEDGER, NULL);
		assert_int_equal(result.opened, rows[i].lanes);
		assert_int_equal(result.opened_ledger, rows[i].ledger);
	}
}

static void
test_each_failure_ends_the_command(void **unused)
{
	static const struct {
		void (*begin)(void);
		const char *fails;
		bool opens, empties; /* a transaction is open; a lane is empty */
	} rows[] = {
	    {begin, "ledger", false, false},
	    {begin, "last", false, false},
	    {begin, "ends", false, false},
	    {begin, "judge", false, false},
	    {begin, "records", false, false},
	    {begin, "earliest", false, false},
	    {begin, "seek", false, false},
	    {begin, "next 58", false, false},
	    {begin_behind, "fence", false, false},
	    {begin_behind, "begins", false, true},
	    {begin_behind, "records", false, true},
	    {begin_behind, "earliest", false, true},
	    {begin_behind, "replay", false, false},
	    {begin_behind, "abort", true, false},
	    {begin_ahead, "handle", false, false},
	    {begin_ahead, "partitions", false, false},
	    {begin_ahead, "watermarks", false, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, fails) {
		const char *at;

		rows[i].begin();
		world.fails = rows[i].fails;
		world.report.open.n = rows[i].opens;
		world.end[1].any = !rows[i].empties;
		assert_int_equal(run_repair(false, false, 0), FAIL_BROKER);
		assert_int_equal(strncmp(f.text, rows[i].fails, strlen(rows[i].fails)), 0);
		at = strstr(calls, rows[i].fails);
		if (rows[i].begin != begin_ahead && strcmp(rows[i].fails, "replay") != 0)
			assert_string_equal(strchr(at, '\n'), "\n"); /* nothing is asked after it */
		assert_int_equal(
		    strstr(calls, "replay") != NULL, strcmp(rows[i].fails, "replay") == 0);
	}
}

static int
make_batch(void **unused)
{
	const struct batch_head h = {
	    .mix = {"m", 1}, .lanes = LANES, .global_batch = 8, .lr_scale = 1, .last = true};
	struct wire_writer w = {0};

	(void)unused;
	return batch_begin(&w, &h, NULL, 0, 0, &f) != FAIL_NONE || batch_end(&w, &f) != FAIL_NONE ||
	       wire_writer_take(&w, &batch, &batch_n, &f) != FAIL_NONE;
}

static int
free_batch(void **unused)
{
	(void)unused;
	free(result.lane);
	free(batch);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_mix_that_is_level_is_read_through),
	    cmocka_unit_test(test_what_is_wrong_in_the_middle_is_named),
	    cmocka_unit_test(test_a_derived_mix_has_no_lanes_to_read),
	    cmocka_unit_test(test_what_cannot_be_looked_at_is_refused),
	    cmocka_unit_test(test_lanes_that_are_behind_are_completed_after_fencing),
	    cmocka_unit_test(test_steps_beyond_the_ledger_are_derived_if_nothing_else_decided_them),
	    cmocka_unit_test(test_ends_that_contradict_each_other_are_refused),
	    cmocka_unit_test(test_an_empty_lane_is_filled_from_what_others_keep_or_the_user_says),
	    cmocka_unit_test(test_transactions_that_nobody_ended_are_aborted),
	    cmocka_unit_test(test_each_failure_ends_the_command),
	};

	return cmocka_run_group_tests(tests, make_batch, free_batch);
}
