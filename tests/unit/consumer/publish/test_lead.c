/* lead.h: how far the mixer may run ahead, with a clock that is given and commits in a mock. */
#include "consumer/publish/lead.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/mock_cluster.h"
#include "tests/unit/mock_commits.h"
#include "tests/unit/test.h"

enum { LANES = 2 };

static struct failure f;
static char at_broker[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at_broker}};
static char *run_names[] = {(char[]){"main"}, (char[]){"eval"}};

static struct config
configured(const char *mix, size_t runs, uint32_t max_lead_steps)
{
	return (struct config){
	    .kafka = {1, item},
	    .mix = {.name = (char *)(uintptr_t)mix,
		.lanes = LANES,
		.partitions = LANES,
		.max_lead_steps = max_lead_steps,
		.runs = {runs, run_names}},
	};
}

static void
commit(const char *group, const char *topic, const uint64_t step[static LANES])
{
	const struct properties properties = {1, item};

	mock_commit(&properties, group, topic, step, LANES);
}

static void
test_a_change_for_the_worse_is_reported_once_and_known_never_falls(void **unused)
{
	enum { AGAIN = LEAD_BACK_AGAIN_MS };
	static const struct {
		bool any;
		uint64_t step;
		int64_t now_ms;
		enum lead_change change;
		uint64_t stands, known;
	} row[] = {
	    {false, 0, 1000, LEAD_STEADY, 0, 0},
	    {true, 40, 1001, LEAD_STEADY, 40, 40},
	    {true, 40, 1002, LEAD_STEADY, 40, 40},
	    {true, 50, 1003, LEAD_STEADY, 50, 50},
	    {true, 49, 1004, LEAD_BACK, 49, 50},
	    {true, 50, 1005, LEAD_STEADY, 50, 50},
	    {true, 49, 1006, LEAD_STEADY, 49, 50},
	    {true, 48, 1004 + AGAIN - 1, LEAD_STEADY, 48, 50},
	    {true, 47, 1004 + AGAIN, LEAD_BACK, 47, 50},
	    {true, 46, 1004 + AGAIN + 1, LEAD_STEADY, 46, 50},
	    {false, 0, 1004 + AGAIN + 2, LEAD_LOST, 46, 50}, /* the lead does not change */
	    {false, 0, 1004 + AGAIN + 3, LEAD_STEADY, 46, 50},
	    {true, 60, 1004 + AGAIN + 4, LEAD_STEADY, 60, 60},
	    {true, 0, 1004 + 2 * AGAIN, LEAD_BACK, 0, 60},
	};
	struct lead_run r = {0};

	(void)unused;
	EACH_ROW(i, row) {
		struct run_position at = {.any = row[i].any, .step = row[i].step};

		assert_int_equal(lead_run_take(&r, &at, row[i].now_ms), row[i].change);
		assert_int_equal(r.any, row[i].any);
		assert_int_equal(r.step, row[i].stands);
		assert_int_equal(r.known, row[i].known);
	}
}

static void
test_the_slowest_run_bounds_the_lead(void **unused)
{
	struct config c = configured("m1", 2, 100);
	const char *name;
	struct lead *l;
	uint64_t step;

	(void)unused;
	commit("m1.main", "m1.batches", (uint64_t[]){250, 260});
	commit("m1.eval", "m1.batches", (uint64_t[]){190, 180});
	assert_int_equal(lead_open(&l, &c, &f), FAIL_NONE);
	name = lead_slowest(l, &step);
	assert_string_equal(name, "main"); /* of equals the first */
	assert_int_equal(step, 0);
	assert_int_equal(lead_limit(l), 100);
	assert_int_equal(lead_ask(l, &f), FAIL_NONE);
	name = lead_slowest(l, &step);
	assert_string_equal(name, "eval");
	assert_int_equal(step, 180);
	assert_int_equal(lead_limit(l), 280);
	assert_int_equal(lead_runs(l), 2);
	assert_string_equal(lead_run(l, 0, &step), "main");
	assert_int_equal(step, 250);
	lead_blocked(l, 30);
	lead_blocked(l, 12);
	assert_int_equal(lead_blocked_ms(l, 0), 0);
	assert_int_equal(lead_blocked_ms(l, 1), 42);
	commit("m1.eval", "m1.batches", (uint64_t[]){300, 300});
	assert_int_equal(lead_ask(l, &f), FAIL_NONE);
	assert_int_equal(lead_limit(l), 350);
	lead_close(l);
}

static void
test_without_runs_or_with_a_lead_of_0_nothing_bounds_it(void **unused)
{
	static const struct {
		size_t runs;
		uint32_t max_lead_steps;
		uint64_t limit;
	} row[] = {
	    {0, 100, UINT64_MAX},
	    {1, 0, UINT64_MAX},
	    {1, 1, 1},
	    {2, 100, 100},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct config c = configured("m2", row[i].runs, row[i].max_lead_steps);
		struct lead *l;
		uint64_t step;

		assert_int_equal(lead_open(&l, &c, &f), FAIL_NONE);
		assert_int_equal(lead_limit(l), row[i].limit);
		if (row[i].runs == 0) {
			assert_string_equal(lead_slowest(l, &step), "");
			assert_int_equal(step, 0);
			lead_blocked(l, 1); /* of nobody */
		}
		lead_close(l);
	}
}

static void
test_the_ledger_remembers_what_the_broker_forgot(void **unused)
{
	static const struct {
		int64_t ledger; /* its step of run main */
		int64_t broker; /* its commits; -1: no commit */
		bool refused;
		int64_t saved;
	} row[] = {
	    {0, -1, false, 0},
	    {1, -1, true, 0},
	    {250, -1, true, 0},
	    {250, 250, false, 250},
	    {250, 0, false, 250},   /* a trainer that begins again has commits */
	    {250, 200, false, 250}, /* an older checkpoint: known stays */
	    {250, 300, false, 300},
	    {0, 300, false, 300},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct ledger_run run[] = {
		    {(char[]){"old"}, 77}, {(char[]){"main"}, row[i].ledger}};
		struct ledger last = {.run = run, .runs_n = 2}, saved = {0};
		char mix[16], group[32], topic[32];
		struct config c;
		struct lead *l;
		enum fail_code code;

		snprintf(mix, sizeof(mix), "attach%zu", i);
		snprintf(group, sizeof(group), "%s.main", mix);
		snprintf(topic, sizeof(topic), "%s.batches", mix);
		assert_int_equal(rd_kafka_mock_topic_create(cluster, topic, LANES, 1), 0);
		c = configured(mix, 1, 100);
		if (row[i].broker >= 0)
			commit(group, topic,
			    (uint64_t[]){(uint64_t)row[i].broker, (uint64_t)row[i].broker});
		assert_int_equal(lead_open(&l, &c, &f), FAIL_NONE);
		assert_int_equal(lead_ask(l, &f), FAIL_NONE);
		code = lead_attach(l, &last, &f);
		assert_int_equal(code, row[i].refused ? FAIL_CONFIG : FAIL_NONE);
		if (!row[i].refused) {
			assert_int_equal(lead_save(l, &saved, &f), FAIL_NONE);
			assert_int_equal(saved.runs_n, 2);
			assert_string_equal(saved.run[0].name, "main");
			assert_int_equal(saved.run[0].step, row[i].saved);
			assert_string_equal(saved.run[1].name, "old");
			assert_int_equal(saved.run[1].step, 77);
			ledger_clear(&saved);
		}
		lead_close(l);
	}
}

static void
test_a_reset_is_granted_once_all_lanes_are_committed_there(void **unused)
{
	static const struct {
		const char *run;
		uint64_t to, from;
		const char *refused; /* NULL: it is not */
	} row[] = {
	    {"nobody", 10, 0, "mix m3 knows no run nobody"},
	    {"main", 10, 0, "are at steps 10 to 12, not at step 10"},
	    {"eval", 10, 0, "the broker knows no commit of group m3.eval"},
	    {"old", 30, 0, "the broker knows no commit of group m3.old"},
	    {"other", 29, 0, "are at steps 30 to 30, not at step 29"},
	    {"other", 30, 88, NULL}, /* that only the ledger knows */
	};
	struct ledger_run run[] = {
	    {(char[]){"old"}, 77}, {(char[]){"other"}, 88}, {(char[]){"main"}, 250}};
	struct ledger last = {.run = run, .runs_n = 3}, saved = {0};
	struct config c = configured("m3", 2, 100);
	struct lead *l;
	uint64_t from;

	(void)unused;
	commit("m3.main", "m3.batches", (uint64_t[]){10, 12});
	commit("m3.other", "m3.batches", (uint64_t[]){30, 30});
	assert_int_equal(lead_open(&l, &c, &f), FAIL_NONE);
	assert_int_equal(lead_ask(l, &f), FAIL_NONE);
	for (int i = 0; i < 2; i++) /* the second time takes the place of the first */
		assert_int_equal(lead_attach(l, &last, &f), FAIL_NONE);
	EACH_NAMED_ROW(i, row, run) {
		enum fail_code code = lead_reset(l, row[i].run, row[i].to, &from, &f);

		assert_int_equal(code, row[i].refused == NULL ? FAIL_NONE : FAIL_DATA);
		if (row[i].refused == NULL)
			assert_int_equal(from, row[i].from);
		else
			assert_non_null(strstr(f.text, row[i].refused));
	}
	commit("m3.main", "m3.batches", (uint64_t[]){12, 12});
	assert_int_equal(lead_reset(l, "main", 12, &from, &f), FAIL_NONE);
	assert_int_equal(from, 250);
	assert_string_equal(lead_run(l, 0, &from), "main");
	assert_int_equal(from, 12);
	assert_int_equal(lead_limit(l), 100); /* run eval has committed nothing */
	assert_int_equal(lead_save(l, &saved, &f), FAIL_NONE);
	assert_int_equal(saved.runs_n, 4);
	assert_int_equal(ledger_run_step(&saved, "main"), 12);
	assert_int_equal(ledger_run_step(&saved, "other"), 30);
	assert_int_equal(ledger_run_step(&saved, "old"), 77);
	ledger_clear(&saved);
	lead_close(l);
}

/* Trainers commit on the topic of lanes if lanes share partitions. */
static void
test_commits_of_lanes_that_share_partitions_are_found_on_their_topic(void **unused)
{
	struct config c = configured("m4", 1, 100);
	struct lead *l;
	uint64_t step;

	(void)unused;
	c.mix.partitions = 1;
	commit("m4.main", "m4.lanes", (uint64_t[]){30, 20});
	commit("m4.main", "m4.batches", (uint64_t[]){5, 5}); /* of another mix with this name */
	assert_int_equal(lead_open(&l, &c, &f), FAIL_NONE);
	assert_int_equal(lead_ask(l, &f), FAIL_NONE);
	assert_string_equal(lead_run(l, 0, &step), "main");
	assert_int_equal(step, 20);
	assert_true(lead_committed(l, 0));
	lead_close(l);
}

static void
test_a_record_has_room_for_so_many_runs_and_no_more(void **unused)
{
	static const struct {
		size_t runs; /* that only the ledger knows; one more is configured */
		enum fail_code code;
	} row[] = {
	    {LEDGER_RUNS_MAX - 1, FAIL_NONE},
	    {LEDGER_RUNS_MAX, FAIL_DATA},
	};
	struct config c = configured("m2", 1, 100);
	char old[] = "old";

	(void)unused;
	EACH_ROW(i, row) {
		struct ledger last = {.runs_n = row[i].runs}, saved = {0};
		struct lead *l;

		last.run = calloc(last.runs_n, sizeof(*last.run));
		assert_non_null(last.run);
		for (size_t k = 0; k < last.runs_n; k++)
			last.run[k].name = old;
		assert_int_equal(lead_open(&l, &c, &f), FAIL_NONE);
		assert_int_equal(lead_attach(l, &last, &f), FAIL_NONE);
		assert_int_equal(lead_save(l, &saved, &f), row[i].code);
		if (row[i].code == FAIL_NONE)
			assert_int_equal(saved.runs_n, LEDGER_RUNS_MAX);
		ledger_clear(&saved);
		lead_close(l);
		free(last.run);
	}
}

static int
begin(void **unused)
{
	static const char *const topic[] = {
	    "m1.batches", "m2.batches", "m3.batches", "m4.batches", "m4.lanes"};

	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	for (size_t i = 0; i < sizeof(topic) / sizeof(topic[0]); i++)
		if (rd_kafka_mock_topic_create(cluster, topic[i], LANES, 1))
			return -1;
	snprintf(at_broker, sizeof(at_broker), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return 0;
}

static int
end(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_change_for_the_worse_is_reported_once_and_known_never_falls),
	    cmocka_unit_test(test_the_slowest_run_bounds_the_lead),
	    cmocka_unit_test(test_without_runs_or_with_a_lead_of_0_nothing_bounds_it),
	    cmocka_unit_test(test_the_ledger_remembers_what_the_broker_forgot),
	    cmocka_unit_test(test_commits_of_lanes_that_share_partitions_are_found_on_their_topic),
	    cmocka_unit_test(test_a_record_has_room_for_so_many_runs_and_no_more),
	    cmocka_unit_test(test_a_reset_is_granted_once_all_lanes_are_committed_there),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
