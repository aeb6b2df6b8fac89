/*
 * status_query_internal.h: which runs a status has, and where their commits in a mock cluster are.
 */
#include "consumer/status/status_query_internal.h"

#include "consumer/ledger/run_position.h"
#include "tests/unit/mock_topics.h"

enum { LANES = 2 };

static void
test_runs_are_those_of_the_file_then_those_of_the_ledger(void **unused)
{
	static char *configured[] = {(char *)"two", (char *)"one"};
	static const struct {
		const char *name;
		bool configured;
		uint64_t known;
		int64_t seen_ms;
	} rows[] = {
	    {"two", true, 0, -1}, {"one", true, 30, 5}, {"old", false, 40, -1},
	    {"ahead", false, 50, 0}, /* by another clock */
	};
	struct ledger_run known[] = {
	    {(char *)"one", 30}, {(char *)"old", 40}, {(char *)"mixer", 1}, {(char *)"ahead", 50}};
	struct status_seen seen[] = {{30, 95}, {40, -1}, {1, 99}, {50, 200}};
	const struct config c = {.kafka = mock_properties,
	    .mix = {.name = (char *)"m",
		.lanes = 2,
		.partitions = 2,
		.runs = {.n = 2, .text = configured}}};
	struct status_query q = {.config = &c};
	struct status st = {
	    .config = &c, .ledger = {.run = known, .runs_n = 4}, .seen = seen, .now_ms = 100};

	(void)unused;
	assert_int_equal(status_runs_open(&q, &st, false, &f), FAIL_NONE);
	assert_int_equal(st.runs_n, 4);
	EACH_NAMED_ROW(i, rows, name) {
		assert_string_equal(st.run[i].name, rows[i].name);
		assert_int_equal(st.run[i].configured, rows[i].configured);
		assert_int_equal(st.run[i].known, rows[i].known);
		assert_int_equal(st.run[i].seen_ms, rows[i].seen_ms);
		assert_true(!st.run[i].committed && st.run[i].bad[0] == '\0');
	}
	free(st.run);
	status_runs_close(&q);
}

/* Commits a step on each lane of a run; UINT64_MAX: none on that lane. */
static void
commit(const char *group, const char *topic, const uint64_t step[static LANES], const char *text)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .client = "test", .properties = &mock_properties, .group = group};
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(LANES);
	rd_kafka_t *rk;

	assert_int_equal(kafka_open(&rk, &k, &f), FAIL_NONE);
	for (int i = 0; i < LANES; i++) {
		char metadata[RUN_POSITION_TEXT_MAX];
		rd_kafka_topic_partition_t *p;

		if (step[i] == UINT64_MAX)
			continue;
		run_position_format(metadata, step[i], NULL);
		p = rd_kafka_topic_partition_list_add(list, topic, i);
		p->offset = (int64_t)step[i];
		p->metadata = strdup(text != NULL ? text : metadata);
		p->metadata_size = strlen(p->metadata);
	}
	assert_int_equal(rd_kafka_commit(rk, list, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
	kafka_close(rk);
}

/* Lanes are the partitions of <mix>.batches, or of <mix>.lanes if lanes share partitions. */
static void
test_a_run_is_where_its_commits_are(void **unused)
{
	static const struct {
		const char *run;
		uint32_t lanes, partitions;
		int exists; /* partitions of the topic whose commits count; 0: it is not there */
		uint64_t step[LANES];
		const char *text;
		bool any, all;
		uint64_t at, ahead;
		size_t lane;
	} rows[] = {
	    {"all", 2, 2, 2, {7, 4}, NULL, true, true, 4, 7, 1},
	    {"some", 2, 2, 2, {7, UINT64_MAX}, NULL, true, false, 0, 7, 1},
	    {"fewer", 2, 2, 1, {7, UINT64_MAX}, NULL, true, true, 7, 7, 0},
	    {"more", 1, 1, 2, {7, 9}, NULL, true, true, 7, 7, 0}, /* one is no lane */
	    {"shared", 2, 1, 2, {7, 4}, NULL, true, true, 4, 7, 1},
	    {"absent", 2, 2, 0, {7, 4}, NULL, false, false, 0, 0, 0},
	    {"text", 2, 2, 2, {7, 4}, "x", false, false, 0, 0, 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, run) {
		const bool shares = rows[i].partitions < rows[i].lanes;
		char *run[] = {(char *)(uintptr_t)rows[i].run}, group[32];
		const struct config c = {.kafka = mock_properties,
		    .mix = {.name = (char *)"q",
			.lanes = rows[i].lanes,
			.partitions = rows[i].partitions,
			.runs = {.n = 1, .text = run}}};
		struct planned_topic topic[] = {
		    {.name = "q.batches", .kind = TOPIC_BATCHES, .domain = -1},
		    {.name = "q.lanes", .kind = TOPIC_LANES, .domain = -1}};
		struct topic_plan plan = {2, topic};
		struct topics_report report[] = {{.exists = true, .partitions = 1},
		    {.exists = shares, .partitions = rows[i].exists}};
		struct status_query q = {.config = &c};
		struct status st = {.config = &c, .plan = &plan, .report = report};

		if (!shares) {
			report[0].exists = rows[i].exists > 0;
			report[0].partitions = rows[i].exists;
		}
		snprintf(group, sizeof(group), "q.%s", rows[i].run);
		commit(group, shares ? "q.lanes" : "q.batches", rows[i].step, rows[i].text);
		assert_int_equal(status_runs_open(&q, &st, false, &f), FAIL_NONE);
		assert_int_equal(status_runs_read(&q, &st, &f), FAIL_NONE);
		assert_int_equal(st.run[0].committed, rows[i].any);
		assert_int_equal(st.run[0].committed_all, rows[i].all);
		assert_int_equal(st.run[0].step, rows[i].at);
		assert_int_equal(st.run[0].step_ahead, rows[i].ahead);
		assert_int_equal(st.run[0].lane, rows[i].lane);
		assert_int_equal(st.run[0].bad[0] != '\0', rows[i].text != NULL);
		free(st.run);
		status_runs_close(&q);
	}
}

static int
begin(void **unused)
{
	if (mock_begin(unused) != 0)
		return -1;
	mock_topic("q.batches", LANES);
	mock_topic("q.lanes", LANES);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_runs_are_those_of_the_file_then_those_of_the_ledger),
	    cmocka_unit_test(test_a_run_is_where_its_commits_are),
	};

	return cmocka_run_group_tests(tests, begin, mock_end);
}
