/* topics_judge.h: what each kind of answer means, with answers that are written down here. */
#include "common/kafka/topics_judge.h"

#include <string.h>

#include "tests/unit/test.h"

enum { PARTITIONS_MAX = 3 };

/* A topic as a broker describes it: the replicas and the leader of each partition. */
struct answer {
	int partitions, replicas[PARTITIONS_MAX], leader[PARTITIONS_MAX];
	rd_kafka_resp_err_t err;
};

static struct rd_kafka_metadata_topic
described(
    rd_kafka_metadata_partition_t partition[static PARTITIONS_MAX + 1], const struct answer *a)
{
	/* A partition that is not in the answer, and would change each verdict. */
	partition[a->partitions] = (rd_kafka_metadata_partition_t){.leader = -1};
	for (int i = 0; i < a->partitions; i++)
		partition[i] = (rd_kafka_metadata_partition_t){
		    .id = i, .leader = a->leader[i], .replica_cnt = a->replicas[i]};
	return (struct rd_kafka_metadata_topic){.topic = (char *)"c.web",
	    .partition_cnt = a->partitions,
	    .partitions = partition,
	    .err = a->err};
}

static void
test_the_partition_with_the_fewest_replicas_counts(void **unused)
{
	static const struct {
		struct answer is;
		int replicas;
		const char *says; /* NULL: nothing is wrong */
	} row[] = {
	    {{3, {3, 3, 3}, {1, 2, 3}, 0}, 3, NULL},
	    {{3, {4, 3, 5}, {1, 2, 3}, 0}, 3, NULL},
	    {{3, {2, 3, 3}, {1, 2, 3}, 0}, 2, "has 2 replicas, the configuration wants 3"},
	    {{3, {3, 2, 3}, {1, 2, 3}, 0}, 2, "has 2 replicas, the configuration wants 3"},
	    {{3, {3, 3, 1}, {1, 2, 3}, 0}, 1, "has 1 replica, the configuration wants 3"},
	    {{3, {0, 0, 0}, {1, 2, 3}, 0}, 0, NULL}, /* the broker does not say */
	    {{3, {3, 3, 3}, {0, 2, 3}, 0}, 3, NULL}, /* brokers are numbered from 0 */
	    {{3, {3, 3, 3}, {-1, 2, 3}, 0}, 3, "partition 0 has no leader"},
	    {{3, {3, 3, 3}, {1, -1, 3}, 0}, 3, "partition 1 has no leader"},
	    {{3, {3, 3, 3}, {1, -1, -1}, 0}, 3, "partition 1 has no leader: is a broker down?"},
	    {{3, {3, 3, 3}, {1, 2, -1}, 0}, 3, "partition 2 has no leader"},
	    {{1, {2}, {1}, 0}, 2, "has 1 partition, the configuration wants 3"},
	    {{0, {0}, {0}, 0}, 0, "has 0 partitions, the configuration wants 3"},
	};
	struct config_domain domain = {.name = (char *)"web"};
	struct config c = {.replication = 3, .domains = &domain, .domains_n = 1};
	struct planned_topic t = {.kind = TOPIC_DOMAIN, .partitions = 3};

	(void)unused;
	EACH_NAMED_ROW(i, row, says) {
		rd_kafka_metadata_partition_t partition[PARTITIONS_MAX + 1];
		struct rd_kafka_metadata_topic m = described(partition, &row[i].is);
		struct topics_report r = {0};

		topics_judge_metadata(&r, &c, &t, &m);
		assert_true(r.exists);
		assert_int_equal(r.partitions, row[i].is.partitions);
		assert_int_equal(r.replicas, row[i].replicas);
		if (row[i].says == NULL)
			assert_string_equal(r.problem, "");
		else
			assert_non_null(strstr(r.problem, row[i].says));
		assert_null(strstr(r.problem, "; partition ")); /* the first one without a leader */
	}
}

static void
test_the_longest_name_of_a_domain_is_whole(void **unused)
{
	char name[NAME_MAX_BYTES + 1] = {0}, key[NAME_MAX_BYTES + 32];
	struct config_domain domain = {.name = name};
	struct config c = {.domains = &domain, .domains_n = 1};
	struct planned_topic t = {.kind = TOPIC_DOMAIN, .partitions = 3};
	struct rd_kafka_metadata_topic m = {0};
	struct topics_report r = {0};

	(void)unused;
	memset(name, 'n', NAME_MAX_BYTES);
	snprintf(key, sizeof(key), "(domains.%s.partitions)", name);
	topics_judge_metadata(&r, &c, &t, &m);
	assert_non_null(strstr(r.problem, key));
}

static void
test_each_kind_of_topic_names_its_key_and_its_way_out(void **unused)
{
	static const struct {
		enum topic_kind kind;
		uint32_t lanes, shared_in; /* partitions of the mix */
		int wanted, found;
		const char *key, *way;
	} row[] = {
	    {TOPIC_DOMAIN, 4, 4, 2, 3, "domains.web.partitions", "riffle produce --restart"},
	    {TOPIC_DOMAIN, 4, 4, 2, 1, "domains.web.partitions", "riffle produce --restart"},
	    {TOPIC_BATCHES, 4, 4, 4, 3, "(mix.lanes)", "riffle topics --delete --mix --create"},
	    {TOPIC_BATCHES, 4, 4, 4, 5, "(mix.lanes)", "riffle repair"},
	    {TOPIC_BATCHES, 4, 2, 2, 1, "(mix.partitions)",
		"riffle topics --delete --mix --create"},
	    {TOPIC_BATCHES, 4, 2, 2, 3, "(mix.partitions)", "riffle repair"},
	    {TOPIC_LANES, 4, 2, 4, 3, "(mix.lanes)", "riffle topics --delete --mix --create"},
	    {TOPIC_LANES, 4, 2, 4, 5, "(mix.lanes)", "riffle runs --reset"},
	    {TOPIC_LEDGER, 4, 4, 1, 2, "(always)", "delete the topic"},
	    {TOPIC_CONTROL, 4, 4, 1, 2, "(always)", "delete the topic"},
	};
	struct config_domain domain = {.name = (char *)"web"};

	(void)unused;
	EACH_NAMED_ROW(i, row, key) {
		struct config c = {.replication = 1,
		    .domains = &domain,
		    .domains_n = 1,
		    .mix = {.lanes = row[i].lanes, .partitions = row[i].shared_in}};
		struct planned_topic t = {.kind = row[i].kind,
		    .partitions = row[i].wanted,
		    .domain = row[i].kind == TOPIC_DOMAIN ? 0 : -1};
		rd_kafka_metadata_partition_t partition[8] = {{0}};
		struct rd_kafka_metadata_topic m = {
		    .partitions = partition, .partition_cnt = row[i].found};
		struct topics_report r = {0};

		topics_judge_metadata(&r, &c, &t, &m);
		assert_non_null(strstr(r.problem, row[i].key));
		assert_non_null(strstr(r.problem, row[i].way));
		assert_int_equal(r.partitions, row[i].found);

		m.partition_cnt = row[i].wanted;
		r = (struct topics_report){0};
		topics_judge_metadata(&r, &c, &t, &m);
		assert_string_equal(r.problem, "");
	}
}

static void
test_several_problems_are_all_reported_and_cut_where_the_report_ends(void **unused)
{
	struct config c = {.replication = 3, .mix = {.lanes = 2, .partitions = 2}};
	struct planned_topic t = {.kind = TOPIC_LEDGER, .domain = -1, .partitions = 1};
	rd_kafka_metadata_partition_t partition[2] = {
	    {.replica_cnt = 1, .leader = 1}, {.id = 1, .replica_cnt = 1, .leader = -1}};
	struct rd_kafka_metadata_topic m = {.partitions = partition, .partition_cnt = 2};
	struct topics_report r = {0};

	(void)unused;
	topics_judge_metadata(&r, &c, &t, &m);
	assert_non_null(strstr(r.problem, "has 2 partitions"));
	assert_non_null(strstr(r.problem, "; has 1 replica, "));
	assert_non_null(strstr(r.problem, "; partition 1 has no leader"));
	for (int i = 0; i < 20; i++)
		topics_judge_metadata(&r, &c, &t, &m);
	assert_int_equal(strlen(r.problem), sizeof(r.problem) - 1);
	topics_judge_missing(&r);
	assert_string_equal(r.problem, "missing");
	assert_false(r.exists);
}

/* A command that ends in the middle would be typed as it stands. */
static void
test_the_command_that_sets_settings_is_whole_or_left_out(void **unused)
{
	static const struct {
		const char *name;
		size_t problem_n, host_n; /* how long they are */
		bool several;
		const char *ends;
	} row[] = {
	    {"one broker", 30, 20, false, "--entity-name c.web --add-config retention.ms=-1`"},
	    {"a long list", 30, 20, true, "--entity-name c.web --add-config retention.ms=-1`"},
	    {"as long as it may be", 1023 - 142, 20, false, "--add-config retention.ms=-1`"},
	    {"one byte more", 1023 - 141, 20, false, "sets them is too long to be shown)"},
	    {"a long name", 30, 1000, false, "sets them is too long to be shown)"},
	    {"no room at all", 1023, 20, false, "sets them is too long to be shown)"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, name) {
		struct topics_report r = {.exists = true};
		char list[4096] = "";
		size_t n = strlen(row[i].ends);

		memset(r.problem, 'p', row[i].problem_n);
		memset(list, 'h', row[i].host_n);
		for (int k = 0; row[i].several && k < 100; k++)
			strncat(
			    list, ",another.host.example:9092", sizeof(list) - strlen(list) - 1);
		topics_judge_advise(&r, list, "c.web", "retention.ms=-1");
		assert_true(strlen(r.problem) < sizeof(r.problem));
		assert_string_equal(r.problem + strlen(r.problem) - n, row[i].ends);
		assert_null(strstr(r.problem, "another"));
		assert_ptr_equal(topics_judge_problem(&r, strlen(r.problem) + 1), r.problem);
		assert_non_null(
		    strstr(topics_judge_problem(&r, strlen(r.problem)), "`riffle topics` shows"));
	}
}

static void
test_a_setting_is_its_value_or_at_least_its_limit(void **unused)
{
	static const struct topic_setting wanted[TOPIC_SETTINGS] = {
	    {"retention.ms", "-1", 0},
	    {"max.message.bytes", "2000", 1000},
	    {"min.insync.replicas", "2", 2},
	    {"segment.bytes", "5", 1},
	    {"b", "", 0},
	    {"c", "", 0},
	    {"d", "", 0},
	    {"e", "", 0},
	};
	static const struct {
		const char *name, *value, *says, *add;
	} row[] = {
	    {"retention.ms", "-1", "", ""},
	    {"retention.ms", "604800000", "retention.ms is 604800000, must be -1",
		"retention.ms=-1"},
	    {"max.message.bytes", "2000", "", ""},
	    {"max.message.bytes", "999", "max.message.bytes is 999, must be 1000 or more",
		"max.message.bytes=2000"},
	    {"max.message.bytes", "1000", "", ""},
	    {"max.message.bytes", "1001", "", ""},
	    {"min.insync.replicas", "1", "min.insync.replicas is 1, must be 2 or more",
		"min.insync.replicas=2"},
	    {"min.insync.replicas", "2", "", ""},
	    {"min.insync.replicas", "3", "", ""},
	    {"segment.bytes", "1", "", ""},
	    {"segment.bytes", "0", "segment.bytes is 0, must be 1 or more", "segment.bytes=5"},
	    {"a setting of a newer broker", "1", "", ""},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, value) {
		struct topics_report r = {.min_insync = -1, .flush_messages = -1};

		struct text add = {0};
		char *add_text;

		topics_judge_setting(&r, wanted, row[i].name, row[i].value, &add);
		assert_string_equal(r.problem, row[i].says);
		add_text = text_take(&add);
		assert_string_equal(add_text, row[i].add);
		free(add_text);
		assert_int_equal(r.min_insync, strcmp(row[i].name, "min.insync.replicas") == 0
						   ? strtol(row[i].value, NULL, 10)
						   : -1);
		assert_int_equal(r.flush_messages, -1);
		assert_false(r.unclean);
	}
}

static void
test_settings_by_which_records_are_lost_are_noted(void **unused)
{
	static const struct topic_setting none[TOPIC_SETTINGS] = {{"", "", 0}, {"", "", 0},
	    {"", "", 0}, {"", "", 0}, {"", "", 0}, {"", "", 0}, {"", "", 0}, {"", "", 0}};
	static const struct {
		const char *name, *value;
		int64_t min_insync, flush_messages;
		bool unclean;
	} row[] = {
	    {"min.insync.replicas", "1", 1, -1, false},
	    {"flush.messages", "9223372036854775807", -1, INT64_MAX, false},
	    {"flush.messages", "1", -1, 1, false},
	    {"unclean.leader.election.enable", "true", -1, -1, true},
	    {"unclean.leader.election.enable", "false", -1, -1, false},
	    {"cleanup.policy", "true", -1, -1, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, value) {
		struct topics_report r = {.min_insync = -1, .flush_messages = -1};

		struct text add = {0};

		topics_judge_setting(&r, none, row[i].name, row[i].value, &add);
		assert_int_equal(add.n, 0);
		assert_int_equal(r.min_insync, row[i].min_insync);
		assert_int_equal(r.flush_messages, row[i].flush_messages);
		assert_int_equal(r.unclean, row[i].unclean);
		assert_string_equal(r.problem, "");
	}
}

static void
test_a_topic_is_ready_once_each_partition_has_a_leader(void **unused)
{
	static const struct {
		struct answer is;
		bool ready;
	} row[] = {
	    {{1, {1}, {0}, 0}, true},
	    {{3, {1, 1, 1}, {1, 2, 3}, 0}, true},
	    {{3, {1, 1, 1}, {-1, 2, 3}, 0}, false},
	    {{3, {1, 1, 1}, {1, 2, -1}, 0}, false},
	    {{0, {0}, {0}, 0}, false},
	    {{1, {1}, {1}, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE}, false},
	    {{0, {0}, {0}, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART}, false},
	};

	(void)unused;
	EACH_ROW(i, row) {
		rd_kafka_metadata_partition_t partition[PARTITIONS_MAX + 1];
		struct rd_kafka_metadata_topic m = described(partition, &row[i].is);

		assert_int_equal(topics_judge_ready(&m), row[i].ready);
	}
}

static void
test_a_command_checks_what_it_uses_and_lacks_the_strongest_right(void **unused)
{
	enum { DOMAIN = 1u << TOPIC_DOMAIN, BATCHES = 1u << TOPIC_BATCHES };
	static const struct {
		enum topic_kind kind;
		enum names_set set;
		struct topics_use use;
		bool used;
		const char *right;
	} row[] = {
	    {TOPIC_DOMAIN, SET_TRAIN, {.read = DOMAIN}, true, "READ"},
	    {TOPIC_DOMAIN, SET_TRAIN, {.read = DOMAIN, .written = DOMAIN}, true, "WRITE"},
	    {TOPIC_DOMAIN, SET_TRAIN, {.read = BATCHES}, false, "DESCRIBE"},
	    {TOPIC_DOMAIN, SET_VALID, {.read = DOMAIN}, false, "DESCRIBE"},
	    {TOPIC_DOMAIN, SET_VALID, {.written = DOMAIN}, true, "WRITE"},
	    {TOPIC_BATCHES, SET_TRAIN, {.read = BATCHES}, true, "READ"},
	    {TOPIC_BATCHES, SET_TRAIN, {.written = BATCHES | DOMAIN}, true, "WRITE"},
	    {TOPIC_LEDGER, SET_TRAIN, {.read = BATCHES, .written = DOMAIN}, false, "DESCRIBE"},
	    {TOPIC_BATCHES, SET_TRAIN, {.read = BATCHES, .written = BATCHES, .deleted = true}, true,
		"DELETE"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, right) {
		struct planned_topic t = {.kind = row[i].kind, .set = row[i].set};

		assert_int_equal(topics_judge_used(&t, row[i].use), row[i].used);
		assert_string_equal(topics_judge_right(&t, row[i].use), row[i].right);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_partition_with_the_fewest_replicas_counts),
	    cmocka_unit_test(test_the_longest_name_of_a_domain_is_whole),
	    cmocka_unit_test(test_each_kind_of_topic_names_its_key_and_its_way_out),
	    cmocka_unit_test(test_several_problems_are_all_reported_and_cut_where_the_report_ends),
	    cmocka_unit_test(test_the_command_that_sets_settings_is_whole_or_left_out),
	    cmocka_unit_test(test_a_setting_is_its_value_or_at_least_its_limit),
	    cmocka_unit_test(test_settings_by_which_records_are_lost_are_noted),
	    cmocka_unit_test(test_a_topic_is_ready_once_each_partition_has_a_leader),
	    cmocka_unit_test(test_a_command_checks_what_it_uses_and_lacks_the_strongest_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
