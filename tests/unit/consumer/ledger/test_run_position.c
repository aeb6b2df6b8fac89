/* run_position.h: texts and the lowest lane, and librdkafka's mock cluster asked for commits. */
#include "common/base/limits.h"
#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "consumer/ledger/run_position.h"
#include "tests/unit/mock_cluster.h"

enum {
	API_OFFSET_FETCH = 9,
	API_FIND_COORDINATOR = 10,
	BROKER = 1,
	LANES = 4,
	WAIT_MS = 30000,
	SHORT_MS = 300,
	SLOW_MS = 900,
};

/* ---- pure ---- */

static void
test_a_step_survives_its_text(void **unused)
{
	static const uint64_t steps[] = {0, 1, 9, 10, 100000, UINT64_C(1) << 53, LIMIT_STEP - 1};

	(void)unused;
	EACH_ROW(i, steps) {
		char text[RUN_POSITION_TEXT_MAX];
		uint64_t step = 77;
		struct failure f;

		run_position_format(text, steps[i], NULL);
		assert_int_equal(run_position_parse(&step, NULL, text, &f), FAIL_NONE);
		assert_true(step == steps[i]);
	}
}

static void
test_an_owner_survives_its_text(void **unused)
{
	char text[RUN_POSITION_TEXT_MAX], longest[RUN_POSITION_OWNER_MAX],
	    who[RUN_POSITION_OWNER_MAX];
	const char *const owners[] = {"h/1/2", "!", "~", "a=b", longest};
	struct failure f;
	uint64_t step;

	(void)unused;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	EACH_ROW(i, owners) {
		run_position_format(text, LIMIT_STEP - 1, owners[i]);
		assert_int_equal(run_position_parse(&step, who, text, &f), FAIL_NONE);
		assert_true(step == LIMIT_STEP - 1);
		assert_string_equal(who, owners[i]);
	}
	assert_int_equal(run_position_parse(&step, who, "step=5", &f), FAIL_NONE);
	assert_string_equal(who, "");
	assert_int_equal(step, 5);
}

static void
test_a_text_that_is_not_a_step_is_refused(void **unused)
{
	static const char *const texts[] = {NULL, "", "step", "step=", "step= 1", "step=1 ",
	    "step=+1", "step=-1", "step=01", "step=00", "step=1x", "step=0x10", "Step=1", " step=1",
	    "1", "step=4611686018427387904", "step=18446744073709551616",
	    "step=99999999999999999999999999", "step=1\n", "step=1.0", "step=1 by=", "step=1 by",
	    "step=1 by=a b", "step=1  by=a", "step=1 by=a\n", "step=1by=a", "step= by=a",
	    "step=1 of=a", "step=1 by=\x80",
	    "step=1 by=1234567890123456789012345678901234567890123456789012345678901234567890"
	    "123456789012345678901234567890123456789012"};

	(void)unused;
	EACH_ROW(i, texts) {
		uint64_t step = 77;
		struct failure f = {0};

		assert_int_equal(run_position_parse(&step, NULL, texts[i], &f), FAIL_DATA);
		assert_non_null(strstr(f.text, "not step=N"));
		assert_int_equal(step, 77);
	}
	{
		uint64_t step;
		struct failure f;

		assert_int_equal(
		    run_position_parse(&step, NULL, "step=4611686018427387903", &f), FAIL_NONE);
		assert_true(step == LIMIT_STEP - 1);
	}
}

static void
test_the_lowest_lane_is_where_the_run_stands(void **unused)
{
	static const struct {
		int64_t offset[4];
		const char *text[4];
		bool any, all;
		uint64_t step, ahead;
		size_t lane;
	} rows[] = {
	    {{-1, -1, -1, -1}, {NULL}, false, false, 0, 0, 0},
	    {{5, 6, 7, 8}, {"step=3", "step=3", "step=3", "step=3"}, true, true, 3, 3, 0},
	    {{5, 6, 7, 8}, {"step=9", "step=7", "step=7", "step=12"}, true, true, 7, 12, 1},
	    {{5, 6, -1, 8}, {"step=9", "step=7", NULL, "step=12"}, true, false, 0, 12, 2},
	    {{0, 0, 0, 0}, {"step=0", "step=0", "step=0", "step=0"}, true, true, 0, 0, 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct run_position p;
		struct failure f;
		uint64_t step[4];
		char *text[4];

		for (size_t k = 0; k < 4; k++)
			text[k] = (char *)(uintptr_t)rows[i].text[k];
		assert_int_equal(
		    run_position_lowest(&p, step, rows[i].offset, text, 4, &f), FAIL_NONE);
		assert_int_equal(p.any, rows[i].any);
		assert_int_equal(p.all, rows[i].all);
		assert_int_equal(p.step, rows[i].step);
		assert_int_equal(p.step_ahead, rows[i].ahead);
		assert_int_equal(p.lane, rows[i].lane);
	}
}

static void
test_lanes_that_stand_apart_are_listed_as_ranges(void **unused)
{
	static const struct {
		size_t n;
		uint64_t step[16];
		const char *says;
	} rows[] = {
	    {1, {0}, ""},
	    {4, {0}, ""},
	    {4, {7, 7, 7, 7}, ""},
	    {2, {16, 0}, "lane 0 up to step 16, and nothing on lane 1"},
	    {2, {15, 16}, "lane 1 up to step 16, and lane 0 only up to step 15"},
	    {4, {16, 16, 0, 0}, "lanes 0 and 1 up to step 16, and nothing on lanes 2 and 3"},
	    {4, {9, 7, 7, 12}, "lane 3 up to step 12, and lanes 1 and 2 only up to step 7"},
	    {6, {1, 0, 0, 0, 1, 1}, "lanes 0, 4 and 5 up to step 1, and nothing on lanes 1 to 3"},
	    {7, {2, 0, 0, 0, 0, 2, 0},
		"lanes 0 and 5 up to step 2, and nothing on lanes 1 to 4 and 6"},
	    {10, {5, 3, 5, 3, 5, 3, 5, 3, 3, 3},
		"lanes 0, 2, 4 and 1 more up to step 5, and lanes 1, 3, 5 and 3 more only up to "
		"step 3"},
	    {16, {0, 0, 0, 0, 8, 8, 0, 0, 0, 8, 0, 0, 0, 0, 8, 8},
		"lanes 4, 5, 9 and 2 more up to step 8, and nothing on lanes 0 to 3, 6 to 8 and "
		"10 to 13"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		char says[RUN_POSITION_APART_MAX];

		run_position_apart(says, rows[i].step, rows[i].n);
		assert_string_equal(says, rows[i].says);
	}
}

/* No list of lanes is longer than its room. */
static void
test_the_longest_list_of_lanes_fits(void **unused)
{
	static uint64_t step[LIMIT_LANES];
	char says[RUN_POSITION_APART_MAX];
	size_t n = LIMIT_LANES;

	(void)unused;
	for (size_t i = 0; i < n; i++)
		step[i] = i < n - 60 ? LIMIT_STEP - 2 : LIMIT_STEP - 1 - i / 3 % 2 * 2;
	run_position_apart(says, step, n);
	assert_non_null(strstr(says, " more up to step "));
	assert_non_null(strstr(says, " more only up to step 4611686018427387901"));
	assert_true(strlen(says) < sizeof(says) - 1);
}

static void
test_a_lane_with_another_metadata_is_named(void **unused)
{
	static const int64_t offset[] = {5, 6};
	char good[] = "step=3", bad[] = "by hand";
	char *text[] = {good, bad};
	struct run_position p;
	struct failure f = {0};
	uint64_t step[2];

	(void)unused;
	assert_int_equal(run_position_lowest(&p, step, offset, text, 2, &f), FAIL_DATA);
	assert_string_equal(f.text, "lane 1: the commit's metadata is \"by hand\", not step=N");
}

static void
test_a_run_is_at_a_step_where_all_lanes_are(void **unused)
{
	static const struct {
		struct run_position at;
		bool is;
	} rows[] = {
	    {{.any = true, .all = true, .step = 7, .step_ahead = 7}, true},
	    {{.any = true, .all = true, .step = 7, .step_ahead = 8}, false}, /* one has gone on */
	    {{.any = true, .all = true, .step = 6, .step_ahead = 7}, false},
	    {{.any = true, .all = true, .step = 8, .step_ahead = 8}, false},
	    {{.any = true, .step_ahead = 7}, false}, /* a lane has no commit */
	    {{.any = false}, false},
	};

	(void)unused;
	EACH_ROW(i, rows)
		assert_int_equal(run_position_is_at(&rows[i].at, 7), rows[i].is);
	assert_false(run_position_is_at(&(struct run_position){.any = true}, 0));
	assert_true(run_position_is_at(&(struct run_position){.any = true, .all = true}, 0));
}

/* ---- asking the broker ---- */

static struct failure f;
static char at[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, at}};
static const struct properties properties = {1, item};

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE)
		return -1;
	snprintf(at, sizeof(at), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	return rd_kafka_mock_topic_create(cluster, "m.batches", LANES, 1) ? -1 : 0;
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

static struct run_position_query *
open_run(const char *run)
{
	struct run_position_query *r = NULL;

	f = (struct failure){0};
	assert_int_equal(
	    run_position_open(&r, "m", run, false, "test", &properties, &f), FAIL_NONE);
	return r;
}

/* Commits as a trainer does; NULL: nothing on that lane. */
static void
commit(const char *group, const char *const text[LANES])
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "trainer", .properties = &properties, .group = group};
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(LANES);
	rd_kafka_t *rk;

	for (int32_t i = 0; i < LANES; i++) {
		rd_kafka_topic_partition_t *p;

		if (text[i] == NULL)
			continue;
		p = rd_kafka_topic_partition_list_add(list, "m.batches", i);
		p->offset = 10 + i;
		p->metadata = strdup(text[i]);
		p->metadata_size = strlen(text[i]);
	}
	assert_int_equal(kafka_open(&rk, &o, &f), FAIL_NONE);
	assert_int_equal(rd_kafka_commit(rk, list, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
	kafka_close(rk);
}

static void
check(struct run_position_query *r, size_t lanes, struct run_position expected)
{
	struct run_position p;

	assert_int_equal(run_position_ask(r, lanes, WAIT_MS, &p, &f), FAIL_NONE);
	assert_int_equal(p.any, expected.any);
	assert_int_equal(p.all, expected.all);
	assert_int_equal(p.step, expected.step);
	assert_int_equal(p.lane, expected.lane);
	assert_int_equal(p.step_ahead, expected.step_ahead);
}

static void
test_a_run_that_has_committed_nothing_stands_at_0(void **unused)
{
	struct run_position_query *r = open_run("nobody");

	(void)unused;
	assert_string_equal(run_position_group(r), "m.nobody");
	check(r, LANES, (struct run_position){0});
	run_position_close(r);
	run_position_close(NULL);
}

static void
test_a_run_stands_at_its_lowest_lane_and_is_asked_again(void **unused)
{
	struct run_position_query *r = open_run("trainers"), *other = open_run("eval");

	(void)unused;
	commit("m.trainers", (const char *const[LANES]){"step=7", NULL, "step=9", NULL});
	check(r, 1, (struct run_position){.any = true, .all = true, .step = 7, .step_ahead = 7});
	check(r, LANES, (struct run_position){.any = true, .lane = 1, .step_ahead = 9});
	commit(
	    "m.trainers", (const char *const[LANES]){"step=12", "step=11", "step=10", "step=12"});
	check(r, LANES,
	    (struct run_position){
		.any = true, .all = true, .step = 10, .lane = 2, .step_ahead = 12});
	check(other, LANES, (struct run_position){0});
	run_position_close(other);
	run_position_close(r);
}

static void
test_what_is_not_a_step_names_its_lane_and_changes_nothing(void **unused)
{
	struct run_position p = {.step = 99};
	struct run_position_query *r = open_run("odd");

	(void)unused;
	commit("m.odd", (const char *const[LANES]){"step=1", "step=1", "9", "step=1"});
	assert_int_equal(run_position_ask(r, LANES, WAIT_MS, &p, &f), FAIL_DATA);
	assert_string_equal(f.text, "lane 2: the commit's metadata is \"9\", not step=N");
	assert_int_equal(p.step, 99);
	check(r, 2, (struct run_position){.any = true, .all = true, .step = 1, .step_ahead = 1});
	run_position_close(r);
}

static void
test_a_coordinator_that_moves_is_followed(void **unused)
{
	struct run_position_query *r = open_run("moved");

	(void)unused;
	commit("m.moved", (const char *const[LANES]){"step=3", "step=3", "step=3", "step=3"});
	rd_kafka_mock_push_request_errors(cluster, API_OFFSET_FETCH, 3,
	    RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
	    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
	check(
	    r, LANES, (struct run_position){.any = true, .all = true, .step = 3, .step_ahead = 3});
	run_position_close(r);
}

/* The admin request for another group's offsets ends the process here, in librdkafka 2.0.2. */
static void
test_a_coordinator_that_answers_too_late_is_a_failure_and_the_next_is_answered(void **unused)
{
	struct run_position_query *r = open_run("late");
	struct run_position p;
	enum fail_code code;

	(void)unused;
	rd_kafka_mock_broker_set_rtt(cluster, BROKER, SLOW_MS);
	code = run_position_ask(r, LANES, SHORT_MS, &p, &f);
	assert_true(code == FAIL_TIMEOUT || code == FAIL_BROKER);
	assert_non_null(strstr(f.text, "group m.late, topic m.batches: asking for its committed"));
	rd_kafka_mock_broker_set_rtt(cluster, BROKER, 0);
	check(r, LANES, (struct run_position){0});
	run_position_close(r);
}

/* The client asks for the coordinator again by itself: it is denied as often, as a broker does. */
static void
test_a_right_that_is_missing_is_named(void **unused)
{
	static const int16_t keys[] = {API_FIND_COORDINATOR, API_OFFSET_FETCH};
	rd_kafka_resp_err_t denied[64];
	struct run_position p;

	(void)unused;
	EACH_ROW(i, denied)
		denied[i] = RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
	EACH_ROW(i, keys) {
		struct run_position_query *r;

		rd_kafka_mock_push_request_errors_array(
		    cluster, keys[i], sizeof(denied) / sizeof(denied[0]), denied);
		r = open_run("secret");
		assert_int_equal(run_position_ask(r, LANES, WAIT_MS, &p, &f), FAIL_DENIED);
		assert_non_null(strstr(f.text, "group m.secret, topic m.batches: "));
		assert_non_null(strstr(f.text, "user lacks DESCRIBE on group m.secret ("));
		run_position_close(r);
		rd_kafka_mock_clear_request_errors(cluster, keys[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_step_survives_its_text),
	    cmocka_unit_test(test_an_owner_survives_its_text),
	    cmocka_unit_test(test_a_text_that_is_not_a_step_is_refused),
	    cmocka_unit_test(test_the_lowest_lane_is_where_the_run_stands),
	    cmocka_unit_test(test_lanes_that_stand_apart_are_listed_as_ranges),
	    cmocka_unit_test(test_the_longest_list_of_lanes_fits),
	    cmocka_unit_test(test_a_lane_with_another_metadata_is_named),
	    cmocka_unit_test(test_a_run_that_has_committed_nothing_stands_at_0),
	    cmocka_unit_test(test_a_run_stands_at_its_lowest_lane_and_is_asked_again),
	    cmocka_unit_test(test_what_is_not_a_step_names_its_lane_and_changes_nothing),
	    cmocka_unit_test(test_a_run_is_at_a_step_where_all_lanes_are),
	    cmocka_unit_test(test_a_coordinator_that_moves_is_followed),
	    cmocka_unit_test(
		test_a_coordinator_that_answers_too_late_is_a_failure_and_the_next_is_answered),
	    cmocka_unit_test(test_a_right_that_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
