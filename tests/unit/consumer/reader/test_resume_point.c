/*
 * resume_point.h against librdkafka's mock cluster: two ranks of one lane each commit, or do not,
 * and the ledger knows the run, or does not.
 */
#include "tests/unit/test.h"

#include "common/record/ledger.h"
#include "consumer/reader/resume_point.h"
#include "tests/unit/late.h"

enum {
	API_LIST_OFFSETS = 2,
	API_OFFSET_FETCH = 9,
	BROKERS = 1,
	RANKS = 2,
	WAIT_MS = 30000,
	REFUSED = 1000
};

static struct failure f;
static char bootstrap[256];
static struct property item[] = {{(char[]){"bootstrap.servers"}, bootstrap}};
static const struct properties properties = {1, item};
static struct lanes *lanes[RANKS];
static struct resume_point point;

static void
write_record(const struct ledger *l)
{
	uint8_t *bytes;
	size_t n;

	assert_int_equal(ledger_encode(l, &bytes, &n, &f), FAIL_NONE);
	late_write("m.ledger", 0, bytes, n, 0);
	free(bytes);
}

/* The ledger's last record knows one run, at `step`. */
static void
write_ledger(const char *run, int64_t step)
{
	struct ledger_run known = {(char *)(uintptr_t)run, step};

	write_record(&(struct ledger){.run = &known, .runs_n = 1, .lr_scale = 1, .temperature = 1});
}

static int
open_cluster(void **unused)
{
	(void)unused;
	if (open_mock_cluster(&f) != FAIL_NONE ||
	    rd_kafka_mock_topic_create(cluster, "m.batches", RANKS, BROKERS) ||
	    rd_kafka_mock_topic_create(cluster, "m.ledger", 1, BROKERS))
		return -1;
	snprintf(bootstrap, sizeof(bootstrap), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
	write_ledger("trainers", 40);
	return 0;
}

static int
close_cluster(void **unused)
{
	(void)unused;
	kafka_close(owner);
	return 0;
}

/* The ranks of a run, each with its lane. */
static void
open_run(const char *group)
{
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		const struct lanes_options o = {.mix = "m",
		    .group = group,
		    .rank = rank,
		    .world = RANKS,
		    .properties = &properties,
		    .timeout_ms = WAIT_MS};

		assert_int_equal(lanes_open(&lanes[rank], &o, &f), FAIL_NONE);
	}
}

static int
close_run(void **unused)
{
	(void)unused;
	resume_point_clear(&point);
	for (int rank = 0; rank < RANKS; rank++) {
		lanes_close(lanes[rank]);
		lanes[rank] = NULL;
	}
	return 0;
}

static void
commit(uint32_t rank, uint64_t step, int64_t offset_next)
{
	char metadata[RUN_POSITION_TEXT_MAX];

	run_position_format(metadata, step, NULL);
	assert_int_equal(lanes_commit_begin(lanes[rank], &offset_next, metadata, &f), FAIL_NONE);
	assert_int_equal(lanes_commit_end(lanes[rank], WAIT_MS, &f), FAIL_NONE);
}

static enum fail_code
find(uint32_t rank, const char *run)
{
	f = (struct failure){0};
	return resume_point_find(&point, lanes[rank], "m", run, WAIT_MS, &f);
}

static void
test_a_new_run_starts_at_step_0(void **unused)
{
	(void)unused;
	open_run("m.fresh");
	assert_int_equal(find(0, "fresh"), FAIL_NONE);
	assert_int_equal(point.at.step, 0);
	assert_false(point.at.any);
	assert_false(point.lost);
}

static void
test_all_ranks_resume_at_the_lowest_step_of_all_lanes(void **unused)
{
	(void)unused;
	open_run("m.trainers");
	commit(0, 43, 430);
	commit(1, 41, 411);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		assert_int_equal(find(rank, "trainers"), FAIL_NONE);
		assert_true(point.at.all);
		assert_int_equal(point.at.step, 41);
		assert_int_equal(point.at.step_ahead, 43);
		assert_int_equal(point.offset_next[0], 430);
		assert_int_equal(point.offset_next[1], 411);
		assert_int_equal(point.step[0], 43);
		assert_int_equal(point.step[1], 41);
		assert_false(point.lost);
		resume_point_clear(&point);
	}
}

static void
test_a_run_that_lacks_a_lane_and_the_ledger_does_not_know_starts_at_step_0(void **unused)
{
	(void)unused;
	open_run("m.young");
	commit(1, 5, 50);
	assert_int_equal(find(0, "young"), FAIL_NONE);
	assert_int_equal(point.at.step, 0);
	assert_true(point.at.any);
	assert_false(point.at.all);
	assert_int_equal(point.at.lane, 0);
	assert_int_equal(point.offset_next[0], -1);
	assert_int_equal(point.offset_next[1], 50);
	assert_false(point.lost);
}

/* Other groups than m.trainers, so that the run that the ledger knows has no commit at all. */
static void
test_a_run_that_the_ledger_knows_further_on_has_lost_its_commits(void **unused)
{
	(void)unused;
	open_run("m.expired");
	assert_int_equal(find(0, "trainers"), FAIL_DATA);
	assert_true(point.lost);
	assert_non_null(strstr(f.text, "run trainers of mix m was at step 40, as the ledger says"));
	resume_point_clear(&point);
	commit(0, 44, 440);
	assert_int_equal(find(0, "trainers"), FAIL_DATA); /* lane 1 still has none */
	assert_true(point.lost);
	resume_point_clear(&point);
	commit(1, 44, 441);
	assert_int_equal(find(0, "trainers"), FAIL_NONE);
	assert_int_equal(point.at.step, 44);
}

/* One rank asks while the ledger cannot be read yet: what it knows of the commits grows old. */
struct asking {
	char run[16];
	struct failure f;
	enum fail_code code;
};

static void *
ask(void *opaque)
{
	struct asking *a = opaque;

	a->code = resume_point_find(&point, lanes[0], "m", a->run, WAIT_MS, &a->f);
	return NULL;
}

/* The race of resume_point.h. The longest pause is longer than any first request. */
static void
test_commits_that_came_while_the_ledger_was_read_are_not_lost(void **unused)
{
	static const int pause_ms[] = {0, 50, 800};

	(void)unused;
	EACH_ROW(i, pause_ms) {
		struct asking a = {.code = FAIL_DATA};
		char group[24];
		pthread_t thread;

		snprintf(a.run, sizeof(a.run), "late%zu", i);
		snprintf(group, sizeof(group), "m.%s", a.run);
		write_ledger(a.run, 40);
		open_run(group);
		commit(0, 41, 410);
		for (int k = 0; k < REFUSED; k++)
			rd_kafka_mock_push_request_errors(cluster, API_LIST_OFFSETS, 1,
			    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
		assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
		clock_pause_ms(pause_ms[i]);
		commit(1, 40, 400);
		rd_kafka_mock_clear_request_errors(cluster, API_LIST_OFFSETS);
		pthread_join(thread, NULL);
		assert_string_equal(a.code == FAIL_NONE ? "" : a.f.text, "");
		assert_false(point.lost);
		assert_int_equal(point.at.step, 40);
		assert_int_equal(point.offset_next[1], 400);
		close_run(NULL);
	}
}

/* The commits are asked for once more before they are said to be lost. */
static void
test_commits_are_not_lost_where_the_second_request_for_them_is_refused(void **unused)
{
	(void)unused;
	write_ledger("trainers", 40);
	open_run("m.refused");
	rd_kafka_mock_push_request_errors(cluster, API_OFFSET_FETCH, 2, RD_KAFKA_RESP_ERR_NO_ERROR,
	    RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
	assert_int_equal(find(0, "trainers"), FAIL_DENIED);
	assert_false(point.lost);
	rd_kafka_mock_clear_request_errors(cluster, API_OFFSET_FETCH);
}

/* A new leader of lane 0 reports an end of 0 at first. */
static void
test_a_lane_that_ends_too_early_at_first_is_not_of_another_topic(void **unused)
{
	struct late late = {.topic = "m.batches", .bytes = "x", .n = 1};

	(void)unused;
	open_run("m.early");
	write_record(&(struct ledger){
	    .step_first = 5, .step_next = 6, .draws = 1, .lr_scale = 1, .temperature = 1});
	assert_int_equal(find(1, "early"), FAIL_DATA); /* lane 1 stays so */
	assert_non_null(strstr(f.text, "lane 1 never held a record"));
	resume_point_clear(&point);
	late_start(&late);
	assert_int_equal(find(0, "early"), FAIL_NONE);
	pthread_join(late.thread, NULL);
}

/* The last one: it leaves a ledger behind that nobody can read. */
static void
test_a_ledger_that_cannot_be_read_fails_and_nothing_is_lost(void **unused)
{
	(void)unused;
	open_run("m.unread");
	late_write("m.ledger", 0, "x", 1, 0);
	assert_int_equal(find(0, "trainers"), FAIL_DATA);
	assert_false(point.lost);
	assert_non_null(strstr(f.text, "topic m.ledger, last record: "));
}

#define TEST(name) cmocka_unit_test_teardown(name, close_run)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_a_new_run_starts_at_step_0),
	    TEST(test_all_ranks_resume_at_the_lowest_step_of_all_lanes),
	    TEST(test_a_run_that_lacks_a_lane_and_the_ledger_does_not_know_starts_at_step_0),
	    TEST(test_a_run_that_the_ledger_knows_further_on_has_lost_its_commits),
	    TEST(test_commits_that_came_while_the_ledger_was_read_are_not_lost),
	    TEST(test_commits_are_not_lost_where_the_second_request_for_them_is_refused),
	    TEST(test_a_lane_that_ends_too_early_at_first_is_not_of_another_topic),
	    TEST(test_a_ledger_that_cannot_be_read_fails_and_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, open_cluster, close_cluster);
}
