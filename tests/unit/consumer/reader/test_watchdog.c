#include "consumer/reader/watchdog.h"

#include "tests/unit/test.h"

#include "tests/unit/late.h"

enum { API_LIST_OFFSETS = 2 };

static struct ledger_run slow_run[] = {{(char[]){"eval"}, 90}, {(char[]){"trainers"}, 40}};

static struct ledger_run level_run[] = {{(char[]){"eval"}, 40}, {(char[]){"trainers"}, 40}};
static char with_eval[] =
    "{\"changeable\":{\"max_lead_steps\":64,\"runs\":[\"trainers\",\"eval\"]}}";
static char without_eval[] = "{\"changeable\":{\"max_lead_steps\":64,\"runs\":[\"trainers\"]}}";
static char without_trainers[] =
    "{\"changeable\":{\"max_lead_steps\":64,\"runs\":[\"eval\",\"trainers2\"]}}";
static char without_runs[] = "{\"changeable\":{\"max_lead_steps\":64}}";
static char without_lead[] =
    "{\"changeable\":{\"max_lead_steps\":0,\"runs\":[\"trainers\",\"eval\"]}}";

#define STANDS(lowest, of_lane, highest)                                                           \
	.asked = true,                                                                             \
	.at = {.any = true, .all = true, .step = lowest, .lane = of_lane, .step_ahead = highest}

#define APART "lanes 0 and 1 up to step 104, and nothing on lanes 2 and 3"
#define STANDS_APART(of_lane)                                                                      \
	.asked = true, .at = {.any = true, .step_ahead = 104, .lane = of_lane, .apart = APART}

/* The reader has lanes 2 and 3 of 4. */
static const struct {
	struct ledger ledger;
	struct watchdog_facts facts;
	uint64_t step, from;
	const char *says;
} rows[] = {
    {{.step_next = 101}, {.age_ms = 0, .mixers = -1}, 100, 0,
	"the mixer has published it (all steps below 101), but it has not arrived from the broker"},
    {{.step_next = 100}, {.age_ms = 9999, .mixers = -1}, 100, 0,
	"it is not published yet: step 100 is next, and the mixer wrote last 9 s ago"},
    {{.step_next = 100}, {.age_ms = 10000, .mixers = -1}, 100, 0,
	"the mixer has stopped, or waits for its domains: it has written nothing for 10 s, step "
	"100 is next; start `riffle mix`"},
    {{.step_next = 100}, {.age_ms = 10000, .mixers = 1}, 100, 0,
	"the mixer waits for its domains: it has written nothing for 10 s, step 100 is next; "
	"`riffle status` names them"},
    {{.step_next = 100}, {.age_ms = -5, .mixers = 1}, 100, 0,
	"it is not published yet: step 100 is next, and the mixer wrote last 0 s ago"},
    {{.step_next = 100}, {.age_ms = 50, .mixers = 0}, 100, 0,
	"no mixer runs; step 100 is next: start `riffle mix`"},
    {{.step_next = 100, .kind = LEDGER_END}, {.age_ms = 10000, .mixers = 0}, 100, 0,
	"the mix has ended before step 100"},
    {{.step_next = 103, .run = slow_run, .runs_n = 2, .config = without_runs},
	{.age_ms = 50, .mixers = -1}, 103, 0,
	"it is not published yet: step 103 is next, and the mixer wrote last 0 s ago"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = without_runs},
	{.age_ms = 50, .mixers = -1}, 104, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed step 40 by the ledger's last record"},
    {{.step_next = 104, .run = level_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = -1}, 104, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for runs eval, "
	"trainers, which have committed step 40 by the ledger's last record"},
    {{.step_next = 104, .run = level_run, .runs_n = 2, .config = without_eval},
	{.age_ms = 50, .mixers = -1}, 104, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed step 40 by the ledger's last record"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = without_trainers},
	{.age_ms = 50, .mixers = -1}, 104, 0,
	"it is not published yet: step 104 is next, and the mixer wrote last 0 s ago"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = -1}, 150, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed step 40 by the ledger's last record. Is the checkpoint that named "
	"this step of this mix?"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = -1}, 150, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed step 40 by the ledger's last record. Is the checkpoint that named "
	"this step of this mix?"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = without_lead},
	{.age_ms = 50, .mixers = -1}, 104, 0,
	"it is not published yet: step 104 is next, and the mixer wrote last 0 s ago"},
    /* The run has committed more than the record knows. */
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = 0, STANDS(60, 0, 61)}, 104, 0,
	"no mixer runs; run trainers has committed step 60: start `riffle mix`"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = -1, STANDS(41, 0, 41)}, 104, 0,
	"step 104 is next, and run trainers has committed step 41, but the mixer has not published "
	"it yet; if no mixer runs, start `riffle mix`"},
    /* It has not, or not enough. */
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = 0, STANDS(40, 0, 41)}, 104, 0,
	"step 104 is next: no mixer runs now, and the mixer may be at most 64 steps ahead and "
	"waits for run trainers, which has committed step 40"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = 1, STANDS(40, 3, 90)}, 104, 30,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed step 40. This reader was given steps 40 to 103, and none of them is "
	"committed: call trained(step) after each step that is trained"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = 1, STANDS(40, 0, 40)}, 104, 42,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed step 40. This reader was given steps 42 to 103, and none of them is "
	"committed: call trained(step) after each step that is trained"},
    /* Lanes of another rank hold the run up, and its own. */
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = 1, STANDS_APART(0)}, 104, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed " APART ": is the rank that reads them running?"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = 1, STANDS_APART(0)}, 150, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed " APART ": is the rank that reads them running? Is the checkpoint "
	"that named this step of this mix?"},
    {{.step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval},
	{.age_ms = 50, .mixers = 1, STANDS_APART(2)}, 104, 0,
	"step 104 is next: the mixer may be at most 64 steps ahead and waits for run trainers, "
	"which has committed " APART
	". This reader was given steps 0 to 103, and none of them is committed: call trained(step) "
	"after each step that is trained"},
};

static struct watchdog_reader
reader_of(size_t row)
{
	return (struct watchdog_reader){.step = rows[row].step,
	    .from = rows[row].from,
	    .run = "trainers",
	    .first = 2,
	    .count = 2,
	    .lanes = 4};
}

static void
judge(const struct ledger *l, const struct watchdog_facts *facts, const struct watchdog_reader *r,
    char *reason, size_t room)
{
	struct ledger_runs runs;

	ledger_runs_read(&runs, l);
	watchdog_judge(l, &runs, facts, r, reason, room);
	ledger_runs_clear(&runs);
}

static void
test_what_is_waited_for_follows_from_ledger_commits_and_mixers(void **unused)
{
	char reason[512];

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		const struct watchdog_reader r = reader_of(i);

		judge(&rows[i].ledger, &rows[i].facts, &r, reason, sizeof(reason));
		assert_string_equal(reason, rows[i].says);
	}
}

/* The first one of those that are level, if the mixer may be no further than it is. */
static void
test_the_lowest_run_that_bounds_the_lead_is_found(void **unused)
{
	static const struct {
		struct ledger_run *run;
		char *config;
		int64_t step_next, lowest; /* -1: none */
	} bounds[] = {
	    {level_run, with_eval, 104, 0},
	    {level_run, with_eval, 103, -1},
	    {level_run, without_eval, 104, 1},
	    {slow_run, with_eval, 104, 1},
	    {slow_run, with_eval, 103, -1},
	    {slow_run, without_lead, 1000, -1},
	    {slow_run, without_trainers, 154, 0},
	    {slow_run, without_trainers, 153, -1},
	};

	(void)unused;
	EACH_ROW(i, bounds) {
		const struct ledger l = {.step_next = bounds[i].step_next,
		    .run = bounds[i].run,
		    .runs_n = 2,
		    .config = bounds[i].config};
		const struct ledger_run *lowest;
		struct ledger_runs runs;

		ledger_runs_read(&runs, &l);
		lowest = watchdog_lowest(&l, &runs);
		if (bounds[i].lowest < 0)
			assert_null(lowest);
		else
			assert_ptr_equal(lowest, &bounds[i].run[bounds[i].lowest]);
		ledger_runs_clear(&runs);
	}
}

/* Another rank's lane lacks the commit, another run does, or nothing was given. */
static void
test_a_reader_is_not_blamed_for_what_others_lack(void **unused)
{
	static const struct {
		struct watchdog_facts facts;
		struct watchdog_reader reader;
	} blameless[] = {
	    {{.age_ms = 50, .mixers = 1, STANDS(40, 0, 90)}, {104, 0, "trainers", 2, 2, 4, false}},
	    {{.age_ms = 50, .mixers = 1, STANDS(40, 4, 90)}, {104, 0, "trainers", 2, 2, 8, false}},
	    {{.age_ms = 50, .mixers = 1, STANDS(40, 2, 40)}, {104, 0, "eval", 2, 2, 4, false}},
	    {{.age_ms = 50, .mixers = 1, STANDS(40, 2, 40)},
		{104, 104, "trainers", 2, 2, 4, false}},
	};
	const struct ledger l = {
	    .step_next = 104, .run = slow_run, .runs_n = 2, .config = with_eval};
	char reason[512];

	(void)unused;
	EACH_ROW(i, blameless) {
		judge(&l, &blameless[i].facts, &blameless[i].reader, reason, sizeof(reason));
		assert_non_null(
		    strstr(reason, "waits for run trainers, which has committed step 40"));
		assert_null(strstr(reason, "This reader"));
	}
}

static void
test_a_reason_is_cut_to_its_room(void **unused)
{
	const struct watchdog_reader r = reader_of(0);
	char reason[16];

	(void)unused;
	judge(&rows[0].ledger, &rows[0].facts, &r, reason, sizeof(reason));
	assert_string_equal(reason, "the mixer has p");
}

static void
test_a_broker_that_does_not_answer_is_said(void **unused)
{
	struct property item = {(char[]){"bootstrap.servers"}, (char[]){"127.0.0.1:1"}};
	struct properties properties = {.n = 1, .item = &item};
	struct watchdog *w = watchdog_open("m", &properties);
	char reason[512];

	(void)unused;
	assert_non_null(w);
	watchdog_why(w, &(struct watchdog_reader){.step = 5, .run = "r", .count = 1, .lanes = 1},
	    reason, sizeof(reason));
	assert_non_null(strstr(reason, "the broker does not answer: "));
	watchdog_close(w);
	watchdog_close(NULL);
}

/* ---- with a mock cluster ---- */

static void
ask_why(const char *mix, char *reason, size_t room)
{
	struct property item = {(char[]){"bootstrap.servers"},
	    (char *)(uintptr_t)rd_kafka_mock_cluster_bootstraps(cluster)};
	struct properties properties = {.n = 1, .item = &item};
	struct watchdog *w = watchdog_open(mix, &properties);

	assert_non_null(w);
	watchdog_why(w, &(struct watchdog_reader){.step = 5, .run = "r", .count = 1, .lanes = 1},
	    reason, room);
	watchdog_close(w);
}

/* Two requests find no record, and the third would tell whether there were some. */
static void
test_a_ledger_whose_start_is_not_told_is_not_taken_for_a_new_one(void **unused)
{
	char reason[512];

	(void)unused;
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "new.ledger", 1, 1), 0);
	ask_why("new", reason, sizeof(reason));
	assert_string_equal(reason,
	    "no mixer has written to mix new yet: start `riffle mix`; if it is running, its log "
	    "says what it is waiting for");
	rd_kafka_mock_push_request_errors(cluster, API_LIST_OFFSETS, 3, RD_KAFKA_RESP_ERR_NO_ERROR,
	    RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	ask_why("new", reason, sizeof(reason));
	assert_non_null(strstr(reason, "the broker does not answer: "));
	rd_kafka_mock_clear_request_errors(cluster, API_LIST_OFFSETS);
}

/* A reason comes at once, and says that it was seen once; lane 0 then has a record. */
static void
test_a_topic_that_looks_lost_is_said_to_have_been_seen_once(void **unused)
{
	const struct ledger l = {
	    .step_first = 8, .step_next = 9, .draws = 1, .lr_scale = 1, .temperature = 1};
	char reason[512];
	struct failure f;
	uint8_t *bytes;
	size_t n;

	(void)unused;
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "m.ledger", 1, 1), 0);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, "m.batches", 1, 1), 0);
	assert_int_equal(ledger_encode(&l, &bytes, &n, &f), FAIL_NONE);
	late_write("m.ledger", 0, bytes, n, 0);
	free(bytes);
	ask_why("m", reason, sizeof(reason));
	assert_non_null(strstr(reason, "lane 0 never held a record"));
	assert_non_null(strstr(reason, " (seen once: a broker that has just restarted may report"));
}

static int
open_cluster(void **unused)
{
	struct failure f;

	(void)unused;
	return open_mock_cluster(&f) == FAIL_NONE ? 0 : -1;
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_waited_for_follows_from_ledger_commits_and_mixers),
	    cmocka_unit_test(test_the_lowest_run_that_bounds_the_lead_is_found),
	    cmocka_unit_test(test_a_reader_is_not_blamed_for_what_others_lack),
	    cmocka_unit_test(test_a_reason_is_cut_to_its_room),
	    cmocka_unit_test(test_a_broker_that_does_not_answer_is_said),
	    cmocka_unit_test(test_a_ledger_whose_start_is_not_told_is_not_taken_for_a_new_one),
	    cmocka_unit_test(test_a_topic_that_looks_lost_is_said_to_have_been_seen_once),
	};

	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
