/*
 * lane_ends.h: which ends are damage compared with a ledger, and which record of a log is the last
 * one of a lane. This program replaces lanes and handles, so that a log is a text.
 */
#include "consumer/batches/lane_ends.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/record/batch.h"
#include "consumer/batches/lanes.h"
#include "tests/unit/sample.h"
#include "tests/unit/test.h"

#define AT(S)                                                                                      \
	{                                                                                          \
		.each = 1, .high = 2 * ((S) + 1), .any = true, .offset = 2 * (S), .step = (S)      \
	}
#define END(S)                                                                                     \
	{                                                                                          \
		.each = 1, .high = 2 * ((S) + 1), .any = true, .offset = 2 * (S), .step = (S),     \
		.last = true                                                                       \
	}
#define NEVER                                                                                      \
	{                                                                                          \
		.each = 1, .any = false                                                            \
	}
#define DELETED(HIGH)                                                                              \
	{                                                                                          \
		.each = 1, .low = (HIGH), .high = (HIGH)                                           \
	}
/* Two lanes in one partition. */
#define SHARED(HIGH)                                                                               \
	{                                                                                          \
		.each = 2, .low = (HIGH), .high = (HIGH)                                           \
	}

#define LEVEL  LANE_ENDS_LEVEL
#define BEHIND LANE_ENDS_BEHIND
#define AHEAD  LANE_ENDS_AHEAD

#define LEDGER(begins, ends, over)                                                                 \
	{                                                                                          \
		.first = (begins), .next = (ends), .ended = (over)                                 \
	}

/* Its first records were deleted. */
#define CUT(begins, ends)                                                                          \
	{                                                                                          \
		.first = (begins), .next = (ends), .cut = true                                     \
	}

enum { LANES = 2 };

static void
each_end_is_judged_beside_the_ledger(void **unused)
{
	static const struct {
		struct lane_end end[LANES];
		struct lane_ends_ledger ledger;
		enum lane_ends_state state[LANES];
		uint64_t lowest, highest;
	} row[] = {
	    {{AT(59), AT(59)}, LEDGER(0, 60, false), {LEVEL, LEVEL}, 60, 60},
	    {{AT(59), AT(52)}, LEDGER(0, 60, false), {LEVEL, BEHIND}, 53, 60},
	    {{AT(59), AT(60)}, LEDGER(0, 60, false), {LEVEL, AHEAD}, 60, 61},
	    {{AT(61), AT(52)}, LEDGER(0, 60, false), {AHEAD, BEHIND}, 53, 62},
	    /* The end of a mix is a record of its own. */
	    {{END(60), END(60)}, LEDGER(0, 60, true), {LEVEL, LEVEL}, 60, 60},
	    {{END(60), AT(59)}, LEDGER(0, 60, true), {LEVEL, BEHIND}, 60, 60},
	    {{END(60), AT(59)}, LEDGER(0, 60, false), {AHEAD, LEVEL}, 60, 60},
	    /* Nothing was published: a new mix, and one that was republished from step 30. */
	    {{NEVER, NEVER}, LEDGER(0, 0, false), {LEVEL, LEVEL}, 0, 0},
	    {{NEVER, NEVER}, LEDGER(30, 30, false), {LEVEL, LEVEL}, 30, 30},
	    {{NEVER, NEVER}, LEDGER(0, 1, false), {BEHIND, BEHIND}, 0, 1},
	    {{NEVER, AT(59)}, LEDGER(0, 60, false), {BEHIND, LEVEL}, 0, 60},
	    {{END(0), END(0)}, LEDGER(0, 0, true), {LEVEL, LEVEL}, 0, 0},
	    /* The ledger was read at step 60; others went on, and deleted what is below 65. */
	    {{NEVER, AT(69)}, LEDGER(65, 60, false), {LEVEL, AHEAD}, 60, 70},
	    /* All records deleted, by somebody; a step costs an offset at least. */
	    {{DELETED(70), DELETED(60)}, LEDGER(0, 60, false), {LEVEL, LEVEL}, 60, 60},
	    {{DELETED(70), DELETED(59)}, LEDGER(0, 60, false), {LEVEL, BEHIND}, 0, 60},
	    {{DELETED(70), AT(59)}, LEDGER(0, 60, false), {BEHIND, LEVEL}, 0, 60},
	    {{DELETED(70), DELETED(60)}, CUT(30, 60), {LEVEL, LEVEL}, 60, 60},
	    /* Whether it was republished from step 30 nobody can tell. */
	    {{NEVER, NEVER}, CUT(30, 30), {BEHIND, BEHIND}, 0, 30},
	    {{SHARED(120), SHARED(120)}, LEDGER(0, 60, false), {LEVEL, LEVEL}, 60, 60},
	    {{SHARED(119), SHARED(119)}, LEDGER(0, 60, false), {BEHIND, BEHIND}, 0, 60},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct lane_end end[LANES];
		struct lane_ends_report r;
		struct failure f;
		bool level = true;

		memcpy(end, row[i].end, sizeof(end));
		lane_ends_compare(&r, end, LANES, &row[i].ledger);
		for (int k = 0; k < LANES; k++) {
			assert_int_equal(end[k].state, row[i].state[k]);
			level = level && row[i].state[k] == LEVEL;
		}
		assert_int_equal(r.lowest, row[i].lowest);
		assert_int_equal(r.highest, row[i].highest);
		assert_int_equal(lane_ends_judge(&r, end, &row[i].ledger, "m", &f),
		    level ? FAIL_NONE : FAIL_DATA);
	}
}

static void
a_transaction_that_nobody_ends_is_damage(void **unused)
{
	struct lane_end end[LANES] = {AT(59), AT(59)};
	struct lane_ends_ledger l = {.next = 60};
	struct lane_ends_report r;
	struct failure f;

	(void)unused;
	end[1].open = true;
	lane_ends_compare(&r, end, LANES, &l);
	assert_int_equal(r.open.n, 1);
	assert_int_equal(lane_ends_judge(&r, end, &l, "m", &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "lane 1 holds records of a transaction behind offset 120"));

	end[1].open = false;
	l.open = true; /* an aborted record would become the state to resume from */
	lane_ends_compare(&r, end, LANES, &l);
	assert_int_equal(lane_ends_judge(&r, end, &l, "m", &f), FAIL_DATA);
	assert_non_null(
	    strstr(f.text, "m.ledger has lost its end: it holds records of a transaction"));
}

static void
the_sentence_names_the_log_that_is_shorter(void **unused)
{
	struct lane_end behind[LANES] = {AT(52), AT(52)}, ahead[LANES] = {AT(59), AT(61)};
	struct lane_ends_ledger l = {.next = 60};
	struct lane_ends_report r;
	struct failure f;

	(void)unused;
	lane_ends_compare(&r, behind, LANES, &l);
	lane_ends_judge(&r, behind, &l, "m", &f);
	assert_non_null(strstr(f.text, "topic m.batches has lost its end: lane 0 (and 1 more)"));
	lane_ends_compare(&r, ahead, LANES, &l);
	lane_ends_judge(&r, ahead, &l, "m", &f);
	assert_non_null(strstr(f.text, "topic m.ledger has lost its end: it ends before step 60"));
	assert_non_null(strstr(f.text, "lane 1 of topic m.batches before step 62"));
}

static void
a_lane_is_empty_if_it_shows_no_record(void **unused)
{
	static const struct {
		struct lane_end end[LANES];
		bool empty;
	} rows[] = {
	    {{AT(59), AT(59)}, false},
	    {{END(60), AT(0)}, false},
	    {{NEVER, AT(59)}, true},
	    {{AT(59), DELETED(60)}, true},
	    {{NEVER, NEVER}, true},
	};

	(void)unused;
	EACH_ROW(i, rows)
		assert_int_equal(lane_ends_empty(rows[i].end, LANES), rows[i].empty);
	assert_false(lane_ends_empty(rows[3].end, 1));
}

/* ---- logs ---- */

enum { LANES_MOST = 3 };

/*
 * A partition's log, a character for each offset: '-' is deleted, '.' is a marker or an aborted
 * record, 'a' is the next step of lane 0, 'B' ends the mix on lane 1.
 */
struct lanes {
	struct lane_map map;
	const char *log[LANES_MOST];
	int64_t at[LANES_MOST];
	bool done[LANES_MOST];   /* a record of it was read */
	struct wire_writer held; /* the record of the lane that was read last */
};

static struct lanes logs;
static int opened, cuts; /* the first looks meet a log that is being cut */
static int assigns;
static const char *writes; /* the mix in all records */
static uint32_t lane_off;  /* records claim a lane that is so much higher */

static const char *
log_of(uint32_t lane)
{
	return logs.log[lane_map_partition(&logs.map, lane)];
}

static int64_t
low_of(const char *log)
{
	return (int64_t)strspn(log, "-");
}

enum fail_code
lanes_open(struct lanes **out, const struct lanes_options *o, struct failure *why)
{
	(void)why;
	assert_int_equal(o->world, 1);
	assert_string_equal(o->mix, "m");
	opened++;
	memset(logs.done, 0, sizeof(logs.done));
	*out = &logs;
	return FAIL_NONE;
}

void
lanes_close(struct lanes *l)
{
	wire_writer_close(&l->held);
}

uint32_t
lanes_count(const struct lanes *l)
{
	return l->map.lanes;
}

const struct lane_map *
lanes_map(const struct lanes *l)
{
	return &l->map;
}

enum fail_code
lanes_watermarks(struct lanes *l, int64_t *low, int64_t *high, int timeout_ms, struct failure *why)
{
	(void)timeout_ms;
	(void)why;
	for (uint32_t i = 0; i < l->map.lanes; i++) {
		low[i] = low_of(log_of(i));
		high[i] = (int64_t)strlen(log_of(i));
	}
	return FAIL_NONE;
}

enum fail_code
lanes_assign(struct lanes *l, const int64_t *offset_next, struct failure *why)
{
	(void)why;
	assigns++;
	for (uint32_t i = 0; i < l->map.lanes; i++) {
		assert_true(offset_next[i] >= low_of(log_of(i)));
		assert_true(offset_next[i] <= (int64_t)strlen(log_of(i)));
		if (l->done[i]) /* nothing of it is fetched again */
			assert_int_equal(offset_next[i], strlen(log_of(i)));
		l->at[i] = offset_next[i];
	}
	return FAIL_NONE;
}

static void
hold_record(struct lanes *l, uint32_t lane, uint64_t step, bool last)
{
	static const struct sequence_position position = {0};
	const struct batch_head h = {.mix = {writes, strlen(writes)},
	    .step = step,
	    .lane = (lane + lane_off) % l->map.lanes,
	    .lanes = l->map.lanes,
	    .global_batch = l->map.lanes,
	    .lr_scale = 1,
	    .tokenizer = SAMPLE_TOKENIZER,
	    .last = last};
	const struct batch_domain domain = {0, {"a", 1}};
	const struct batch_drawn drawn = {0};
	struct wire_writer w = {0};
	struct sequence_view view;

	wire_writer_close(&l->held);
	l->held = (struct wire_writer){0};
	assert_int_equal(
	    sequence_encode(&w, 5, SAMPLE_TOKENIZER, &position, &sample_payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, w.bytes, w.n, &f), FAIL_NONE);
	assert_int_equal(
	    batch_begin(&l->held, &h, &domain, last ? 0 : 1, last ? 0 : 1, &f), FAIL_NONE);
	if (!last)
		assert_int_equal(
		    batch_add(&l->held, &drawn, view.payload.raw, view.payload.raw_n, &f),
		    FAIL_NONE);
	assert_int_equal(batch_end(&l->held, &f), FAIL_NONE);
	wire_writer_close(&w);
}

/* Counts the steps of the lane before an offset. Each deleted offset counts as one. */
static uint64_t
steps_before(const char *log, uint32_t lane, int64_t offset)
{
	uint64_t n = 0;

	for (int64_t k = 0; k < offset; k++)
		n += log[k] == '-' || log[k] == (char)('a' + lane);
	return n;
}

enum fail_code
lanes_next(struct lanes *l, uint32_t i, int64_t deadline_ms, enum lanes_event *event,
    struct lanes_record *out, struct failure *why)
{
	const char *log = log_of(i);
	int64_t *at = &l->at[i];

	(void)deadline_ms;
	(void)why;
	while (log[*at] != '\0' && log[*at] != (char)('a' + i) && log[*at] != (char)('A' + i))
		++*at;
	*event = opened <= cuts ? LANES_LOST : log[*at] == '\0' ? LANES_AT_END : LANES_RECORD;
	if (*event != LANES_RECORD)
		return FAIL_NONE;
	hold_record(l, i, steps_before(log, i, *at), log[*at] < 'a');
	*out = (struct lanes_record){l->held.bytes, l->held.n, *at};
	return FAIL_NONE;
}

void
lanes_release(struct lanes *l, uint32_t i)
{
	l->at[i]++;
	l->done[i] = true;
}

static void
set_logs(uint32_t lanes, uint32_t partitions, const char *const *log)
{
	logs.map = (struct lane_map){lanes, partitions};
	for (uint32_t p = 0; p < partitions; p++)
		logs.log[p] = log[p];
	opened = cuts = assigns = 0;
	writes = "m";
	lane_off = 0;
}

static void
the_last_record_is_found_however_much_stands_behind_it(void **unused)
{
	static const struct {
		uint32_t lanes, partitions;
		const char *log[LANES_MOST];
		int64_t offset[LANES_MOST]; /* -1: the lane shows none */
		uint64_t step[LANES_MOST];
		bool last[LANES_MOST];
		int assigns; /* stretches that are read: of 2 offsets, then of 4, 8, ... */
	} rows[] = {
	    {1, 1, {""}, {-1}, {0}, {false}, 0},
	    {1, 1, {"-----"}, {-1}, {0}, {false}, 0},
	    {1, 1, {"a"}, {0}, {0}, {false}, 1},
	    {1, 1, {"a."}, {0}, {0}, {false}, 1},
	    {1, 1, {"a.a."}, {2}, {1}, {false}, 1},
	    {1, 1, {"aaaa"}, {3}, {3}, {false}, 1},
	    {1, 1, {"a.."}, {0}, {0}, {false}, 2},
	    {1, 1, {"aaa...."}, {2}, {2}, {false}, 2},
	    {1, 1, {"a....."}, {0}, {0}, {false}, 2},
	    {1, 1, {"a......"}, {0}, {0}, {false}, 3},
	    {1, 1, {"---a......"}, {3}, {3}, {false}, 3},
	    {1, 1, {"---......."}, {-1}, {0}, {false}, 3},
	    {1, 1, {"aa.A."}, {3}, {2}, {true}, 1},
	    /* Other lanes do not delay a lane. */
	    {2, 2, {"aa.", "bb."}, {1, 1}, {1, 1}, {false}, 1},
	    {2, 2, {"aa.", "b......"}, {1, 0}, {1, 0}, {false}, 3},
	    {2, 2, {"a......", "bb."}, {0, 1}, {0, 1}, {false}, 3},
	    {3, 3, {"a.", "", "c....."}, {0, -1, 0}, {0}, {false}, 2},
	    {2, 2, {"a.A.", "b."}, {2, 0}, {1, 0}, {true, false}, 1},
	    /* Lanes that share a partition: one offset for each, and the marker. */
	    {2, 1, {"ab."}, {0, 1}, {0, 0}, {false}, 1},
	    {2, 1, {"ba."}, {1, 0}, {0, 0}, {false}, 1},
	    {2, 1, {"abab."}, {2, 3}, {1, 1}, {false}, 1},
	    {2, 1, {"abaa."}, {3, 1}, {2, 0}, {false}, 2}, /* lane 1 has lost its end */
	    {2, 1, {"aaab......"}, {2, 3}, {2, 0}, {false}, 2},
	    {3, 1, {"abc."}, {0, 1, 2}, {0}, {false}, 1},
	    {3, 2, {"ab.", "c."}, {0, 1, 0}, {0}, {false}, 1},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct lane_end *end;
		struct lane_map map;

		set_logs(rows[i].lanes, rows[i].partitions, rows[i].log);
		assert_int_equal(lane_ends_query(&end, &map, "m", NULL, 1000, &f), FAIL_NONE);
		assert_int_equal(map.lanes, rows[i].lanes);
		assert_int_equal(map.partitions, rows[i].partitions);
		assert_int_equal(opened, 1);
		assert_int_equal(assigns, rows[i].assigns);
		for (uint32_t k = 0; k < rows[i].lanes; k++) {
			uint32_t p = lane_map_partition(&map, k);

			assert_int_equal(end[k].partition, p);
			assert_int_equal(
			    end[k].each, lane_map_first(&map, p + 1) - lane_map_first(&map, p));
			assert_int_equal(end[k].low, low_of(rows[i].log[p]));
			assert_int_equal(end[k].high, strlen(rows[i].log[p]));
			assert_int_equal(end[k].any, rows[i].offset[k] >= 0);
			if (!end[k].any)
				continue;
			assert_int_equal(end[k].offset, rows[i].offset[k]);
			assert_int_equal(end[k].step, rows[i].step[k]);
			assert_int_equal(end[k].last, rows[i].last[k]);
		}
		free(end);
	}
}

static void
a_log_that_is_cut_is_looked_at_again_and_then_given_up(void **unused)
{
	static const char *const log[] = {"aa.", "bb."};
	struct lane_end *end;
	struct lane_map map;

	(void)unused;
	for (int n = 0; n <= 3; n++) {
		set_logs(2, 2, log);
		cuts = n;
		assert_int_equal(lane_ends_query(&end, &map, "m", NULL, 1000, &f),
		    n < 3 ? FAIL_NONE : FAIL_BROKER);
		assert_int_equal(opened, n < 3 ? n + 1 : 3);
		if (n < 3)
			free(end);
	}
	assert_string_equal(
	    f.text, "topic m.batches is being cut faster than the ends of its lanes can be read");
	set_logs(2, 0, NULL); /* a mix without copies */
	assert_int_equal(lane_ends_query(&end, &map, "m", NULL, 1000, &f), FAIL_NONE);
	free(end);
	assert_int_equal(assigns, 0);
}

static void
a_last_record_is_one_of_its_mix_and_lane(void **unused)
{
	static const struct {
		const char *mix;
		uint32_t off;
		const char *says; /* NULL: it is one */
	} rows[] = {
	    {"m", 0, NULL},
	    {"m", 1,
		"lane 0, offset 1: the last record is of lane 1 of mix \"m\": another program "
		"writes here. If another program wrote it, stop all mixers"},
	    {"n", 0, "is of lane 0 of mix \"n\""},
	    {"mm", 0, "is of lane 0 of mix \"mm\""},
	};
	static const char *const log[] = {"aa.", "bb."};

	(void)unused;
	EACH_ROW(i, rows) {
		struct lane_end *end;
		struct lane_map map;

		set_logs(2, 2, log);
		writes = rows[i].mix;
		lane_off = rows[i].off;
		assert_int_equal(lane_ends_query(&end, &map, "m", NULL, 1000, &f),
		    rows[i].says == NULL ? FAIL_NONE : FAIL_DATA);
		if (rows[i].says == NULL)
			free(end);
		else
			assert_non_null(strstr(f.text, rows[i].says));
	}
}

/* ---- transactions that nobody ends: the handles and the clock ---- */

static char decided, undecided;       /* what the two kinds of handles point to */
static int64_t now_ms, open_until_ms; /* markers are written then */
static int64_t hangs[LANES_MOST];     /* offsets after the visible end, of each partition, */
static int64_t ledger_hangs;          /* and of the ledger */
static int pauses;

int64_t
clock_ms(void)
{
	return now_ms;
}

void
clock_pause_ms(int64_t ms)
{
	now_ms += ms;
	pauses++;
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *why)
{
	(void)why;
	assert_int_equal(o->role, KAFKA_READER);
	*out = (rd_kafka_t *)(o->uncommitted ? &undecided : &decided);
	return FAIL_NONE;
}

void
kafka_close(rd_kafka_t *rk)
{
	(void)rk;
}

enum fail_code
kafka_watermarks(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low, int64_t *high,
    int timeout_ms, struct failure *why)
{
	(void)timeout_ms;
	(void)why;
	assert_string_equal(topic, "m.ledger");
	assert_int_equal(partition, 0);
	*low = 0;
	*high = 40 + ((char *)rk == &undecided && now_ms < open_until_ms ? ledger_hangs : 0);
	return FAIL_NONE;
}

enum fail_code
kafka_watermarks_many(rd_kafka_t *rk, const char *topic, int32_t first, size_t n, int64_t *low,
    int64_t *high, int timeout_ms, struct failure *why)
{
	(void)timeout_ms;
	(void)why;
	assert_string_equal(topic, "m.batches");
	assert_int_equal(first, 0);
	assert_int_equal(n, logs.map.partitions);
	assert_true((char *)rk == &undecided && low == NULL);
	for (size_t p = 0; p < n; p++)
		high[p] = (int64_t)strlen(logs.log[p]) + (now_ms < open_until_ms ? hangs[p] : 0);
	return FAIL_NONE;
}

static void
what_stands_behind_the_visible_end_is_open_unless_its_marker_comes(void **unused)
{
	enum { PATIENCE = 1000 };
	static const struct {
		uint32_t partitions;
		int64_t hangs[LANES_MOST], ledger;
		int64_t until_ms;
		bool open[LANES_MOST], ledger_open;
		int pauses; /* of 200 ms */
	} rows[] = {
	    {3, {0, 0, 0}, 0, 0, {false}, false, 0},
	    {3, {0, 1, 0}, 0, 500, {false}, false, 3},
	    {3, {0, 0, 0}, 2, 500, {false}, false, 3},
	    {3, {0, 1, 0}, 0, 9000, {false, true, false}, false, 5},
	    {3, {4, 0, 1}, 0, 9000, {true, false, true}, false, 5},
	    {3, {0, 0, 0}, 2, 9000, {false}, true, 5},
	    {2, {1, 0}, 0, 9000, {true, true, false}, false, 5}, /* both lanes lie there */
	    {2, {0, 1}, 2, 9000, {false, false, true}, true, 5},
	};
	static const char *const each[] = {"aa.", "bb.", "cc."}, *const shared[] = {"ab.", "c."};

	(void)unused;
	EACH_ROW(i, rows) {
		struct lane_ends_ledger ledger = {.next = 60};
		struct lane_end *end;
		struct lane_map map;

		set_logs(3, rows[i].partitions, rows[i].partitions == 3 ? each : shared);
		now_ms = 0;
		pauses = 0;
		memcpy(hangs, rows[i].hangs, sizeof(hangs));
		ledger_hangs = rows[i].ledger;
		open_until_ms = rows[i].until_ms;
		assert_int_equal(
		    lane_ends_query_decided(&end, &map, &ledger, "m", NULL, 1000, PATIENCE, &f),
		    FAIL_NONE);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(end[k].open, rows[i].open[k]);
		assert_int_equal(ledger.open, rows[i].ledger_open);
		assert_int_equal(ledger.high, 40);
		assert_int_equal(ledger.next, 60);
		assert_int_equal(pauses, rows[i].pauses);
		assert_int_equal(opened, pauses + 1);
		free(end);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_end_is_judged_beside_the_ledger),
	    cmocka_unit_test(a_transaction_that_nobody_ends_is_damage),
	    cmocka_unit_test(the_sentence_names_the_log_that_is_shorter),
	    cmocka_unit_test(a_lane_is_empty_if_it_shows_no_record),
	    cmocka_unit_test(the_last_record_is_found_however_much_stands_behind_it),
	    cmocka_unit_test(a_log_that_is_cut_is_looked_at_again_and_then_given_up),
	    cmocka_unit_test(a_last_record_is_one_of_its_mix_and_lane),
	    cmocka_unit_test(what_stands_behind_the_visible_end_is_open_unless_its_marker_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
