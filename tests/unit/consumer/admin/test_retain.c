/*
 * retain.h: its decisions, and the whole command. For the command, what asks a broker is replaced
 * here: it answers from `world` and writes down each call.
 */
#include "consumer/admin/retain.h"

#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "common/kafka/kafka_trim.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/ledger/run_position.h"
#include "tests/unit/capture.h"

/* ---- in place of ledger_log.c, step_records.c, run_position.c, kafka*.c ---- */

enum { WORLD_LANES_MAX = 200 };

static struct world {
	struct lane_map map;
	struct step_records_kept kept;
	int64_t step_next;
	enum ledger_kind kind;
	bool empty; /* the ledger */
	struct ledger_run known[2];
	size_t known_n;
	char *groups[20];
	size_t groups_n;
	enum fail_code groups_fail;
	const char *fails; /* the call that fails, with FAIL_BROKER */
	/* A run with a number as its name has committed that step. Others have no commit. */
	const char *unreadable; /* the run whose position cannot be read */
} world;
static char calls[4096];
static size_t calls_n;
static int opened; /* what is open */

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

enum fail_code
ledger_log_ask(struct ledger *out, bool *any, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	*any = !world.empty;
	*out = (struct ledger){.step_next = world.step_next, .kind = world.kind};
	out->run = calloc(world.known_n + 1, sizeof(*out->run));
	for (; out->runs_n < world.known_n; out->runs_n++)
		out->run[out->runs_n] = (struct ledger_run){
		    strdup(world.known[out->runs_n].name), world.known[out->runs_n].step};
	return call(why, "ledger %s %d\n", mix, timeout_ms);
}

enum fail_code
step_records_open(struct step_records **out, const char *mix, const struct properties *properties,
    int timeout_ms, struct failure *why)
{
	(void)properties;
	if (call(why, "open %s %d\n", mix, timeout_ms) != FAIL_NONE)
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

uint32_t
step_records_lanes(const struct step_records *r)
{
	assert_ptr_equal((const void *)r, &world);
	return world.map.lanes;
}

struct lane_map
step_records_map(const struct step_records *r)
{
	assert_ptr_equal((const void *)r, &world);
	return world.map;
}

const char *
step_records_topic(const struct step_records *r)
{
	assert_ptr_equal((const void *)r, &world);
	return "m.batches";
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
	return call(why, "seek %d\n", (int)step);
}

enum fail_code
step_records_next(struct step_records *r, int wait_ms, struct step_record *out, struct failure *why)
{
	assert_ptr_equal((const void *)r, &world);
	for (uint32_t i = 0; i < world.map.lanes; i++)
		out[i].offset = 1000 + i;
	return call(why, "next %d\n", wait_ms);
}

struct run_position_query {
	char run[32], group[32];
};

enum fail_code
run_position_open(struct run_position_query **out, const char *mix, const char *run, bool shared,
    const char *client, const struct properties *properties, struct failure *why)
{
	(void)properties;
	if (call(why, "run %s%s %s %s\n", shared ? "shared " : "", mix, run, client) != FAIL_NONE)
		return why->code;
	*out = calloc(1, sizeof(**out));
	snprintf((*out)->run, sizeof((*out)->run), "%s", run);
	snprintf((*out)->group, sizeof((*out)->group), "%s.%s", mix, run);
	opened++;
	return FAIL_NONE;
}

void
run_position_close(struct run_position_query *q)
{
	opened -= q != NULL;
	free(q);
}

const char *
run_position_group(const struct run_position_query *q)
{
	return q->group;
}

enum fail_code
run_position_ask(struct run_position_query *q, size_t lanes, int timeout_ms,
    struct run_position *at, struct failure *why)
{
	char *end;

	*at = (struct run_position){.step = strtoull(q->run, &end, 10)};
	at->any = end != q->run;
	at->step = at->any ? at->step : 77; /* says nothing */
	if (world.unreadable != NULL && strcmp(q->run, world.unreadable) == 0)
		return fail(why, FAIL_DATA, "no step in it");
	return call(why, "ask %s %zu %d\n", q->run, lanes, timeout_ms);
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *why)
{
	if (call(why, "handle %s %d\n", o->client, o->role == KAFKA_READER) != FAIL_NONE)
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
kafka_groups(rd_kafka_t *rk, const char *prefix, char ***names, size_t *n, int timeout_ms,
    struct failure *why)
{
	assert_ptr_equal((const void *)rk, &world);
	*names = world.groups;
	*n = world.groups_n;
	call(why, "groups %s %d\n", prefix, timeout_ms);
	if (world.groups_fail != FAIL_NONE)
		return fail(why, world.groups_fail, "no list");
	opened++;
	return FAIL_NONE;
}

void
kafka_groups_free(char **names, size_t n)
{
	assert_true(names == world.groups && n == world.groups_n);
	opened--;
}

enum fail_code
kafka_trim(
    rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms, struct failure *why)
{
	const rd_kafka_topic_partition_t *first = &list->elems[0],
					 *last = &list->elems[list->cnt - 1];

	assert_ptr_equal((const void *)rk, &world);
	for (int i = 0; i < list->cnt; i++) {
		assert_string_equal(list->elems[i].topic, "m.batches");
		assert_int_equal(list->elems[i].partition, first->partition + i);
	}
	return call(why, "trim %d@%d..%d@%d %d\n", first->partition, (int)first->offset,
	    last->partition, (int)last->offset, timeout_ms);
}

/* ---- decisions ---- */

static void
test_runs_are_distinct_and_what_is_no_run_is_passed_over(void **state)
{
	static const char *const groups[] = {"m.trainers", "m.mixer", "m.election", "m.eval",
	    "m.trainers", "mm.other", "m", "m.", "other.x"};
	struct retain_runs r = {0};
	struct failure f;

	(void)state;
	EACH_ROW(i, groups)
		assert_int_equal(retain_add_group(&r, "m", groups[i], &f), FAIL_NONE);
	assert_int_equal(r.n, 2);
	assert_string_equal(r.run[0].name, "trainers");
	assert_string_equal(r.run[1].name, "eval");
	assert_false(r.run[1].named);
	assert_int_equal(retain_add_run(&r, "eval", &f), FAIL_NONE);
	assert_int_equal(retain_add_run(&r, "named", &f), FAIL_NONE);
	assert_int_equal(r.n, 3);
	assert_true(r.run[2].named && !r.run[1].named);
	assert_true(!r.run[2].committed && !r.run[2].remembered && r.run[2].step == 0);
	free(r.run);
}

static void
test_runs_beyond_the_limit_are_an_error(void **state)
{
	struct retain_runs r = {0};
	struct failure f = {0};
	char name[16];

	(void)state;
	for (int i = 0; i < RETAIN_RUNS_MAX; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		assert_int_equal(retain_add_run(&r, name, &f), FAIL_NONE);
	}
	assert_int_equal(retain_add_run(&r, "r0", &f), FAIL_NONE);
	assert_int_equal(retain_add_run(&r, "more", &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "there are more than 4096 runs: delete the consumer groups that are not used any more");
	assert_int_equal(r.n, RETAIN_RUNS_MAX);
	free(r.run);
}

static void
test_the_lowest_position_below_the_step_holds_it_back(void **state)
{
	struct retain_run run[] = {
	    {.name = "none"},
	    {.name = "far", .committed = true, .step = 90},
	    {.name = "near", .named = true, .committed = true, .step = 20},
	    {.name = "forgotten", .remembered = true, .step = 15},
	};
	struct retain_runs r = {run, 4};
	struct failure f = {0};

	(void)state;
	assert_int_equal(retain_check(&r, 15, &f), FAIL_NONE);
	assert_int_equal(retain_check(&r, 16, &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "nothing was deleted: run forgotten is at step 15 (as the ledger says; the broker has "
	    "no commit of it) and has not read the steps from there to 16; --force deletes them "
	    "all the same, and `riffle runs --forget forgotten` forgets the run, which neither "
	    "mix.runs nor the ledger names");
	r.n = 3;
	assert_int_equal(retain_check(&r, 20, &f), FAIL_NONE);
	assert_int_equal(retain_check(&r, 21, &f), FAIL_DATA);
	assert_string_equal(f.text,
	    "nothing was deleted: run near is at step 20 and has not read the steps from there to "
	    "21; --force deletes them all the same");
	assert_int_equal(retain_check(&r, 1000, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "run near "));
}

static void
test_the_ledger_is_asked_only_where_the_broker_knows_nothing(void **state)
{
	static const struct {
		int64_t known; /* by the ledger; -1: it does not name the run */
		bool committed;
		uint64_t step; /* of the commits */
		bool remembered;
		uint64_t stands;
	} row[] = {
	    {5, true, 9, false, 9},
	    {5, true, 5, false, 5},
	    {5, true, 4, false, 4}, /* it was set back, and has these steps still to read */
	    {5, true, 0, false, 0},
	    {0, true, 3, false, 3},
	    {-1, true, 3, false, 3},
	    {6, false, 0, true, 6},
	    {1, false, 0, true, 1},
	    {0, false, 0, false, 0},
	    {-1, false, 0, false, 0},
	};
	enum { ROWS = sizeof(row) / sizeof(row[0]) };
	struct ledger_run known[ROWS];
	struct retain_run run[ROWS] = {0};
	struct ledger l = {.run = known};
	struct retain_runs r = {run, ROWS};
	char name[ROWS][8];

	(void)state;
	EACH_ROW(i, row) {
		snprintf(name[i], sizeof(name[i]), "r%zu", i);
		memcpy(run[i].name, name[i], sizeof(name[i]));
		run[i].committed = row[i].committed;
		run[i].step = row[i].step;
		if (row[i].known >= 0)
			known[l.runs_n++] = (struct ledger_run){name[i], row[i].known};
	}
	retain_remember(&r, &l);
	EACH_ROW(i, row) {
		assert_int_equal(run[i].remembered, row[i].remembered);
		assert_int_equal(run[i].committed, row[i].committed);
		assert_int_equal(run[i].step, row[i].stands);
	}
}

static void
test_a_step_is_kept_at_least(void **state)
{
	static const struct {
		int64_t next;
		enum ledger_kind kind;
		uint64_t from;
		bool published;
	} row[] = {
	    {60, LEDGER_STEPS, 0, true},
	    {60, LEDGER_STEPS, 59, true},
	    {60, LEDGER_STEPS, 60, false},
	    {60, LEDGER_END, 59, true},
	    {60, LEDGER_END, 60, true}, /* the record that ends the mix stays */
	    {60, LEDGER_END, 61, false},
	    {0, LEDGER_START, 0, false},
	};

	(void)state;
	EACH_ROW(i, row) {
		struct ledger last = {.step_next = row[i].next, .kind = row[i].kind};
		struct failure f = {0};

		assert_int_equal(retain_check_published(&last, row[i].from, "m", &f),
		    row[i].published ? FAIL_NONE : FAIL_DATA);
		if (!row[i].published && row[i].from == 61)
			assert_string_equal(f.text,
			    "nothing was deleted: step 61 is not published, mix m is at step 60");
	}
}

static void
test_lanes_that_an_interrupted_command_has_left_are_cut_to_the_others(void **state)
{
	static const struct {
		struct step_records_kept kept;
		uint64_t from, at;
		bool cuts;
	} row[] = {
	    {{true, 0, 0}, 50, 50, true},
	    {{true, 49, 49}, 50, 50, true},
	    {{true, 50, 50}, 50, 50, false},
	    {{true, 60, 60}, 50, 60, false},
	    {{true, 40, 50}, 50, 50, true},
	    {{true, 40, 51}, 50, 51, true},
	    {{true, 50, 51}, 50, 51, true},
	    {{false, 0, 0}, 50, 50, false},
	};

	(void)state;
	EACH_ROW(i, row) {
		bool cuts;

		assert_int_equal(retain_cut_at(&row[i].kept, row[i].from, &cuts), row[i].at);
		assert_int_equal(cuts, row[i].cuts);
	}
}

/* ---- the whole command ---- */

static char *named_runs[] = {(char *)"50", (char *)"none"};
static struct config config = {.mix = {.name = (char *)"m", .runs = {.n = 2, .text = named_runs}}};

/* Four lanes hold steps from 10 on, the ledger is at 60. */
static void
begin_world(void)
{
	world = (struct world){.map = {.lanes = 4, .partitions = 4},
	    .kept = {true, 10, 12},
	    .step_next = 60,
	    .known = {{(char *)"50", 50}, {(char *)"old", 45}},
	    .known_n = 2,
	    .groups = {(char *)"m.55", (char *)"m.mixer"},
	    .groups_n = 2};
	config.mix.batches = MIX_BATCHES_COPIED;
	calls_n = 0;
	calls[0] = '\0';
}

static enum fail_code
run_retain(uint64_t from, bool force, bool dry_run, struct retain_result *out)
{
	const struct retain_options o = {
	    .config = &config, .from_step = from, .force = force, .dry_run = dry_run};
	enum fail_code code = retain(&o, out, &f);

	assert_int_equal(opened, 0);
	return code;
}

#define LOOKS "ledger m 30000\nopen m 30000\nhandle retain 1\nearliest\n"
#define RUNS                                                                                       \
	"groups m. 30000\nrun m 50 retain\nrun m none retain\nrun m old retain\nrun m 55 retain\n" \
	"ask 50 4 30000\nask none 4 30000\nask old 4 30000\nask 55 4 30000\n"
#define NONE_UNCOMMITTED                                                                           \
	"retain: RETAIN-UNCOMMITTED run=none has committed nothing: it will find step=%d the "     \
	"earliest\n"

static void
test_the_command_asks_all_runs_and_cuts_every_partition(void **unused)
{
	static const struct {
		uint64_t from;
		bool force, dry_run;
		enum fail_code code;
		uint64_t first, end;
		const char *calls;
		int uncommitted; /* the step in the warning; 0: no warning */
	} rows[] = {
	    {40, false, false, FAIL_NONE, 10, 40,
		LOOKS RUNS "seek 40\nnext 0\ntrim 0@1000..3@1003 60000\n", 40},
	    {45, false, true, FAIL_NONE, 10, 45, LOOKS RUNS "seek 45\nnext 0\n", 45},
	    {11, false, false, FAIL_NONE, 10,
		12, /* the other lanes are cut to the first step of lane 0 */
		LOOKS RUNS "seek 12\nnext 0\ntrim 0@1000..3@1003 60000\n", 12},
	    {46, false, false, FAIL_DATA, 46, 46, LOOKS RUNS, 0},
	    {46, true, false, FAIL_NONE, 10, 46,
		LOOKS RUNS "seek 46\nnext 0\ntrim 0@1000..3@1003 60000\n", 46},
	    {60, true, false, FAIL_DATA, 0, 0, "ledger m 30000\n", 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		char text[1024], expected[1024] = "";
		struct retain_result out;
		struct capture c;
		enum fail_code code;

		begin_world();
		capture_begin(&c);
		code = run_retain(rows[i].from, rows[i].force, rows[i].dry_run, &out);
		capture_end_lines(&c, text, sizeof(text));
		assert_int_equal(code, rows[i].code);
		assert_string_equal(calls, rows[i].calls);
		assert_int_equal(out.first, rows[i].first);
		assert_int_equal(out.end, rows[i].end);
		assert_int_equal(out.lanes, rows[i].end == 0 ? 0 : 4);
		if (rows[i].uncommitted > 0)
			snprintf(expected, sizeof(expected), NONE_UNCOMMITTED, rows[i].uncommitted);
		if (rows[i].uncommitted > 0)
			assert_non_null(strstr(text, expected));
		else
			assert_null(strstr(text, "RETAIN-"));
	}
}

static void
test_nothing_is_asked_of_runs_if_nothing_is_to_be_cut(void **unused)
{
	struct retain_result out;

	(void)unused;
	begin_world();
	assert_int_equal(run_retain(10, false, false, &out), FAIL_NONE); /* cut to 12 */
	world.kept = (struct step_records_kept){true, 12, 12};
	calls_n = 0;
	assert_int_equal(run_retain(12, false, false, &out), FAIL_NONE);
	assert_string_equal(calls, LOOKS);
	assert_true(out.first == 12 && out.end == 12 && out.lanes == 4);
	begin_world();
	config.mix.batches = MIX_BATCHES_DERIVED;
	assert_int_equal(run_retain(12, false, false, &out), FAIL_CONFIG);
	assert_string_equal(f.text,
	    "mix m has no copies of its steps (mix.batches: derived): there is nothing to delete");
	assert_string_equal(calls, "");
	begin_world();
	world.empty = true;
	assert_int_equal(run_retain(12, false, false, &out), FAIL_DATA);
	assert_string_equal(f.text, "mix m has not begun: there is nothing to delete");
}

/* Lanes that share a partition begin with its first one; 64 partitions go into a request. */
static void
test_partitions_are_cut_in_parts_at_their_first_lane(void **unused)
{
	static const struct {
		struct lane_map map;
		const char *cuts;
	} rows[] = {
	    {{64, 64}, "trim 0@1000..63@1063 60000\n"},
	    {{65, 65}, "trim 0@1000..63@1063 60000\ntrim 64@1064..64@1064 60000\n"},
	    {{130, 65}, "trim 0@1000..63@1126 60000\ntrim 64@1128..64@1128 60000\n"},
	    {{4, 2}, "trim 0@1000..1@1002 60000\n"},
	};
	struct retain_result out;

	(void)unused;
	EACH_ROW(i, rows) {
		begin_world();
		world.map = rows[i].map;
		assert_true(world.map.lanes <= WORLD_LANES_MAX);
		assert_int_equal(run_retain(20, false, false, &out), FAIL_NONE);
		assert_int_equal(out.lanes, rows[i].map.lanes);
		assert_string_equal(strstr(calls, "trim"), rows[i].cuts);
		assert_int_equal(strstr(calls, "run shared m 50 retain\n") != NULL,
		    rows[i].map.partitions < rows[i].map.lanes);
	}
	begin_world();
	world.map = rows[1].map;
	world.fails = "trim 0";
	assert_int_equal(run_retain(20, false, false, &out), FAIL_BROKER);
	assert_string_equal(strstr(calls, "trim"), "trim 0@1000..63@1063 60000\n");
	assert_true(out.first == out.end);
}

static void
test_the_17th_run_is_asked_after_the_first_16(void **unused)
{
	static char name[14][16];
	struct retain_result out;

	(void)unused;
	begin_world();
	for (int i = 0; i < 14; i++) {
		snprintf(name[i], sizeof(name[i]), "m.%d", 100 + i);
		world.groups[i] = name[i];
	}
	world.groups_n = 14; /* and 50, none, old */
	assert_int_equal(run_retain(40, false, false, &out), FAIL_NONE);
	assert_non_null(strstr(calls, "run m 112 retain\nask 50 4 30000\n"));
	assert_non_null(
	    strstr(calls, "ask 112 4 30000\nrun m 113 retain\nask 113 4 30000\nseek 40\nnext 0\n"));
}

static void
test_what_cannot_be_learned_of_runs_stops_it_or_is_a_warning(void **unused)
{
	static const struct {
		enum fail_code groups;
		const char *unreadable;
		bool force;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {FAIL_DENIED, NULL, false, FAIL_NONE,
		"retain: RETAIN-GROUPS no list: only the runs of mix.runs and of the ledger are "
		"looked at\n"},
	    {FAIL_MEMORY, NULL, false, FAIL_MEMORY, "no list"},
	    {FAIL_NONE, "old", false, FAIL_DATA, "group m.old: no step in it"},
	    {FAIL_NONE, "old", true, FAIL_NONE,
		"retain: RETAIN-POSITION group m.old: no step in it\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct retain_result out;
		struct capture c;
		enum fail_code code;
		char text[1024];

		begin_world();
		world.groups_fail = rows[i].groups;
		world.unreadable = rows[i].unreadable;
		capture_begin(&c);
		code = run_retain(40, rows[i].force, false, &out);
		capture_end_lines(&c, text, sizeof(text));
		assert_int_equal(code, rows[i].code);
		if (code == FAIL_NONE)
			assert_non_null(strstr(text, rows[i].says));
		else
			assert_string_equal(f.text, rows[i].says);
		assert_int_equal(strstr(calls, "trim") != NULL, code == FAIL_NONE);
	}
}

static void
test_each_failure_of_the_broker_ends_the_command(void **unused)
{
	static const char *const fails[] = {"ledger", "open", "handle", "earliest", "run m none",
	    "ask none", "seek", "next", "trim"};

	(void)unused;
	EACH_ROW(i, fails) {
		struct retain_result out;

		begin_world();
		world.fails = fails[i];
		assert_int_equal(run_retain(40, false, false, &out), FAIL_BROKER);
		assert_int_equal(strncmp(f.text, fails[i], strlen(fails[i])), 0);
		assert_int_equal(out.first, out.end);
		assert_null(strstr(strstr(calls, fails[i]), "trim 0@1000..3@1003 60000\ntrim"));
		assert_int_equal(strstr(calls, "trim") != NULL, strcmp(fails[i], "trim") == 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_runs_are_distinct_and_what_is_no_run_is_passed_over),
	    cmocka_unit_test(test_runs_beyond_the_limit_are_an_error),
	    cmocka_unit_test(test_the_lowest_position_below_the_step_holds_it_back),
	    cmocka_unit_test(test_the_ledger_is_asked_only_where_the_broker_knows_nothing),
	    cmocka_unit_test(test_a_step_is_kept_at_least),
	    cmocka_unit_test(test_lanes_that_an_interrupted_command_has_left_are_cut_to_the_others),
	    cmocka_unit_test(test_the_command_asks_all_runs_and_cuts_every_partition),
	    cmocka_unit_test(test_nothing_is_asked_of_runs_if_nothing_is_to_be_cut),
	    cmocka_unit_test(test_partitions_are_cut_in_parts_at_their_first_lane),
	    cmocka_unit_test(test_the_17th_run_is_asked_after_the_first_16),
	    cmocka_unit_test(test_what_cannot_be_learned_of_runs_stops_it_or_is_a_warning),
	    cmocka_unit_test(test_each_failure_of_the_broker_ends_the_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
