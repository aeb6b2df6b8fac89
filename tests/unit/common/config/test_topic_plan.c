/* topic_plan.h: the plan, from the configuration alone. */
#include "common/base/limits.h"
#include "tests/unit/test.h"

#include "common/config/topic_plan.h"

enum { DOMAINS = 2 };

static struct config_domain domain[DOMAINS] = {
    {.name = "code", .partitions = 1},
    {.name = "web", .partitions = 3},
};

static const struct config plain = {
    .path = "run.yml",
    .corpus = "demo",
    .sequence_length = 2048,
    .split = {949, 50, 1},
    .replication = 3,
    .min_insync_replicas = 2,
    .domains_n = DOMAINS,
    .domains = domain,
    .mix = {.name = "pretrain", .global_batch = 64, .lanes = 8, .partitions = 8},
};

struct expected {
	const char *name;
	enum topic_kind kind;
	int domain;
	enum names_set set;
	int partitions;
};

static void
check_plan(const struct config *c, const struct expected *e, size_t n)
{
	struct topic_plan *p;
	struct failure f;

	assert_int_equal(topic_plan_open(&p, c, &f), FAIL_NONE);
	assert_int_equal(p->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(p->topic[i].name, e[i].name);
		assert_int_equal(p->topic[i].kind, e[i].kind);
		assert_int_equal(p->topic[i].domain, e[i].domain);
		assert_int_equal(p->topic[i].set, e[i].set);
		assert_int_equal(p->topic[i].partitions, e[i].partitions);
	}
	topic_plan_close(p);
}

static void
test_every_domain_set_and_the_mix_have_their_topics(void **state)
{
	static const struct expected e[] = {
	    {"demo.code", TOPIC_DOMAIN, 0, SET_TRAIN, 1},
	    {"demo.code.valid", TOPIC_DOMAIN, 0, SET_VALID, 1},
	    {"demo.code.test", TOPIC_DOMAIN, 0, SET_TEST, 1},
	    {"demo.web", TOPIC_DOMAIN, 1, SET_TRAIN, 3},
	    {"demo.web.valid", TOPIC_DOMAIN, 1, SET_VALID, 3},
	    {"demo.web.test", TOPIC_DOMAIN, 1, SET_TEST, 3},
	    {"demo.rejects", TOPIC_REJECTS, -1, SET_TRAIN, 1},
	    {"pretrain.batches", TOPIC_BATCHES, -1, SET_TRAIN, 8},
	    {"pretrain.ledger", TOPIC_LEDGER, -1, SET_TRAIN, 1},
	    {"pretrain.control", TOPIC_CONTROL, -1, SET_TRAIN, 1},
	    {"pretrain.feedback", TOPIC_FEEDBACK, -1, SET_TRAIN, 1},
	};

	(void)state;
	check_plan(&plain, e, sizeof(e) / sizeof(e[0]));
}

static void
test_lanes_that_share_partitions_are_committed_in_a_topic_of_their_own(void **state)
{
	static const struct expected e[] = {
	    {"demo.code", TOPIC_DOMAIN, 0, SET_TRAIN, 1},
	    {"demo.web", TOPIC_DOMAIN, 1, SET_TRAIN, 3},
	    {"demo.rejects", TOPIC_REJECTS, -1, SET_TRAIN, 1},
	    {"pretrain.batches", TOPIC_BATCHES, -1, SET_TRAIN, 7},
	    {"pretrain.lanes", TOPIC_LANES, -1, SET_TRAIN, 8},
	    {"pretrain.ledger", TOPIC_LEDGER, -1, SET_TRAIN, 1},
	    {"pretrain.control", TOPIC_CONTROL, -1, SET_TRAIN, 1},
	    {"pretrain.feedback", TOPIC_FEEDBACK, -1, SET_TRAIN, 1},
	};
	struct config c = plain;

	(void)state;
	c.split[SET_VALID] = c.split[SET_TEST] = 0;
	c.mix.partitions = 7;
	check_plan(&c, e, sizeof(e) / sizeof(e[0]));
}

static void
test_without_a_mix_there_are_only_the_corpus_topics(void **state)
{
	static const struct expected e[] = {
	    {"demo.code", TOPIC_DOMAIN, 0, SET_TRAIN, 1},
	    {"demo.web", TOPIC_DOMAIN, 1, SET_TRAIN, 3},
	    {"demo.rejects", TOPIC_REJECTS, -1, SET_TRAIN, 1},
	};
	struct config c = plain;

	(void)state;
	c.mix.name = NULL;
	c.split[SET_VALID] = c.split[SET_TEST] = 0; /* no part: nothing can reach them */
	check_plan(&c, e, sizeof(e) / sizeof(e[0]));
}

static void
test_a_live_domain_of_files_has_a_topic_for_their_order(void **state)
{
	static const struct expected e[] = {
	    {"demo.code", TOPIC_DOMAIN, 0, SET_TRAIN, 1},
	    {"demo.web", TOPIC_DOMAIN, 1, SET_TRAIN, 3},
	    {"demo.rejects", TOPIC_REJECTS, -1, SET_TRAIN, 1},
	    {"demo.arrivals", TOPIC_ARRIVALS, -1, SET_TRAIN, 1},
	};
	struct config_domain with[DOMAINS] = {domain[0], domain[1]};
	char *pattern[] = {"in/*.jsonl"};
	struct config c = plain;

	(void)state;
	c.domains = with;
	c.mix.name = NULL;
	c.split[SET_VALID] = c.split[SET_TEST] = 0;
	with[0].live = true;
	with[0].train = (struct config_list){0, NULL}; /* of a program */
	check_plan(&c, e, 3);
	with[0].train = (struct config_list){1, pattern};
	check_plan(&c, e, 4);
}

static void
test_own_validation_files_replace_the_split(void **state)
{
	static const struct expected e[] = {
	    {"demo.code", TOPIC_DOMAIN, 0, SET_TRAIN, 1},
	    {"demo.code.valid", TOPIC_DOMAIN, 0, SET_VALID, 1},
	    {"demo.web", TOPIC_DOMAIN, 1, SET_TRAIN, 3},
	    {"demo.web.test", TOPIC_DOMAIN, 1, SET_TEST, 3},
	    {"demo.rejects", TOPIC_REJECTS, -1, SET_TRAIN, 1},
	};
	char *file[] = {"code.val.jsonl"};
	struct config_domain with[DOMAINS] = {domain[0], domain[1]};
	struct config c = plain;

	(void)state;
	with[0].valid = (struct config_list){1, file};
	c.domains = with;
	c.mix.name = NULL;
	c.split[SET_VALID] = 0;
	check_plan(&c, e, sizeof(e) / sizeof(e[0]));
	/* A program, too. */
	with[0].valid = (struct config_list){0};
	with[0].valid_exec = file[0];
	check_plan(&c, e, sizeof(e) / sizeof(e[0]));
}

static void
test_a_test_set_of_its_own_replaces_the_split(void **state)
{
	static const struct expected e[] = {
	    {"demo.code", TOPIC_DOMAIN, 0, SET_TRAIN, 1},
	    {"demo.code.test", TOPIC_DOMAIN, 0, SET_TEST, 1},
	    {"demo.web", TOPIC_DOMAIN, 1, SET_TRAIN, 3},
	    {"demo.web.valid", TOPIC_DOMAIN, 1, SET_VALID, 3},
	    {"demo.web.test", TOPIC_DOMAIN, 1, SET_TEST, 3},
	    {"demo.rejects", TOPIC_REJECTS, -1, SET_TRAIN, 1},
	    {"demo.arrivals", TOPIC_ARRIVALS, -1, SET_TRAIN, 1},
	};
	char *file[] = {"code.test.jsonl"};
	struct config_domain with[DOMAINS] = {domain[0], domain[1]};
	struct config c = plain;

	(void)state;
	with[0].test = (struct config_list){1, file};
	with[0].train = (struct config_list){0};
	with[0].exec = file[0];
	with[0].live = true; /* of its files the test set is, and has an order */
	c.domains = with;
	c.mix.name = NULL;
	check_plan(&c, e, sizeof(e) / sizeof(e[0]));
}

static void
test_names_as_long_as_allowed_fit_kafkas_limit(void **state)
{
	char longest[NAME_MAX_BYTES + 1];
	struct config_domain one = {.name = longest, .partitions = 1};
	struct config c = plain;
	struct topic_plan *p;
	struct failure f;

	(void)state;
	memset(longest, 'x', NAME_MAX_BYTES);
	longest[NAME_MAX_BYTES] = '\0';
	c.corpus = c.mix.name = longest;
	c.domains = &one;
	c.domains_n = 1;
	assert_int_equal(topic_plan_open(&p, &c, &f), FAIL_NONE);
	for (size_t i = 0; i < p->n; i++)
		assert_true(strlen(p->topic[i].name) <= TOPIC_MAX_BYTES);
	topic_plan_close(p);
}

static void
test_a_lanes_record_is_its_tokens_and_64_bytes_a_sequence(void **state)
{
	static const struct {
		uint32_t length, batch, lanes;
		unsigned width;
		size_t sequence, lane;
	} row[] = {
	    {2048, 64, 8, 3, 2049 * 3 + 64, (2049 * 3 + 64) * 8},
	    {2048, 64, 64, 2, 2049 * 2 + 64, 2049 * 2 + 64},
	    {1, 1, 1, 2, 68, 68},
	    {1 << 20, 4096, 1, 3, 3145795, (size_t)3145795 * 4096},
	};

	(void)state;
	EACH_ROW(i, row) {
		struct config c = plain;

		c.sequence_length = row[i].length;
		c.mix.global_batch = row[i].batch;
		c.mix.lanes = c.mix.partitions = row[i].lanes;
		assert_int_equal(topic_plan_sequence_bytes(&c, row[i].width), row[i].sequence);
		assert_int_equal(topic_plan_lane_bytes(&c, row[i].width), row[i].lane);
	}
}

static void
test_what_is_kept_has_room_in_a_record(void **state)
{
	struct config_domain some[] = {
	    {.name = plain.domains[0].name}, {.keep.n = 1}, {.keep.n = 5}};
	struct config c = plain;

	(void)state;
	c.domains = some;
	c.domains_n = 1;
	assert_int_equal(
	    topic_plan_sequence_bytes(&c, 2), ((size_t)c.sequence_length + 1) * 2 + 64);
	c.domains_n = 2;
	assert_int_equal(
	    topic_plan_sequence_bytes(&c, 2), ((size_t)c.sequence_length + 1) * 2 + 64 + 65536);
	c.domains_n = 3; /* a document is of one domain */
	assert_int_equal(
	    topic_plan_sequence_bytes(&c, 2), ((size_t)c.sequence_length + 1) * 2 + 64 + 65536);
}

static size_t
batches_message_bytes(uint32_t length, uint32_t batch, struct config_phase *phases, size_t n)
{
	struct config c = plain;
	struct topic_plan *p;
	struct failure f;
	size_t bytes = 0;

	c.sequence_length = length;
	c.mix.global_batch = batch;
	c.mix.lanes = c.mix.partitions = 1;
	c.mix.phases = phases;
	c.mix.phases_n = n;
	assert_int_equal(topic_plan_open(&p, &c, &f), FAIL_NONE);
	for (size_t i = 0; i < p->n; i++)
		if (p->topic[i].kind == TOPIC_BATCHES)
			bytes = p->topic[i].message_bytes_max;
	topic_plan_close(p);
	return bytes;
}

static void
test_max_message_bytes_has_room_and_both_ends_are_cut(void **state)
{
	/* Three times a lane's bytes and the slack: of S = 2047 a sequence has 6208 bytes. */
	(void)state;
	assert_int_equal(batches_message_bytes(2047, 1, NULL, 0), TOPIC_MESSAGE_BYTES_MIN);
	assert_int_equal(batches_message_bytes(2047, 52, NULL, 0), TOPIC_MESSAGE_BYTES_MIN);
	assert_int_equal(
	    batches_message_bytes(2047, 53, NULL, 0), 53 * 6208 * 3 + TOPIC_RECORD_SLACK);
	assert_int_equal(
	    batches_message_bytes(2047, 4500, NULL, 0), 4500 * 6208 * 3 + TOPIC_RECORD_SLACK);
	assert_int_equal(batches_message_bytes(2047, 4501, NULL, 0), TOPIC_MESSAGE_BYTES_MAX);
	assert_int_equal(batches_message_bytes(2047, 10000, NULL, 0), TOPIC_MESSAGE_BYTES_MAX);
	assert_true(TOPIC_MESSAGE_BYTES_MAX > LIMIT_RECORD_BYTES + TOPIC_RECORD_SLACK);
}

/* Everything planned for a lane's record follows from the largest batch that the mix will use. */
static void
test_a_lanes_record_is_planned_by_the_largest_batch_of_all_phases(void **state)
{
	static const struct {
		uint32_t batch, phase[3];
		size_t phases_n;
		uint32_t largest;
	} rows[] = {{64, {0}, 0, 64}, {64, {0}, 1, 64}, {64, {128}, 1, 128}, {64, {32}, 1, 64},
	    {64, {0, 512, 256}, 3, 512}, {64, {8, 16, 1024}, 3, 1024}, {64, {1024, 8, 16}, 3, 1024},
	    {2048, {1024, 8, 16}, 3, 2048}};
	enum { LANES = 8, SEQUENCE = 2049 * 3 + 64 };

	(void)state;
	EACH_ROW(i, rows) {
		struct config_phase phase[3] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
		struct config c = plain, largest = plain;

		for (size_t k = 0; k < rows[i].phases_n; k++)
			phase[k].global_batch = rows[i].phase[k];
		c.mix.global_batch = rows[i].batch;
		c.mix.phases = phase;
		c.mix.phases_n = rows[i].phases_n;
		largest.mix.global_batch = rows[i].largest;
		assert_int_equal(
		    topic_plan_lane_bytes(&c, 3), SEQUENCE * (size_t)(rows[i].largest / LANES));
		assert_int_equal(topic_plan_record_bytes(&c), topic_plan_record_bytes(&largest));
		assert_int_equal(
		    batches_message_bytes(2047, rows[i].batch, phase, rows[i].phases_n),
		    batches_message_bytes(2047, rows[i].largest, NULL, 0));
	}
}

/* A record's head names the domains drawn into it: at most one for each of its sequences. */
static void
test_a_record_has_room_for_the_names_of_what_is_drawn(void **state)
{
	static struct config_domain many[100];
	struct config_phase phase = {.name = "large", .global_batch = 400};
	struct config c = plain;
	size_t one, ten, fifty, lane = 8;

	(void)state;
	c.domains = many;
	c.domains_n = 1;
	one = topic_plan_record_bytes(&c);
	c.domains_n = 10;
	ten = topic_plan_record_bytes(&c);
	assert_int_equal((ten - one) % (lane - 1), 0);
	c.domains_n = 100;
	assert_int_equal(topic_plan_record_bytes(&c), ten);
	c.mix.phases = &phase;
	c.mix.phases_n = 1;
	fifty = topic_plan_record_bytes(&c);
	assert_int_equal(fifty - ten,
	    (50 - lane) * (topic_plan_sequence_bytes(&c, 3) + (ten - one) / (lane - 1)));
}

static void
test_settings_keep_all_records_and_take_the_largest(void **state)
{
	static const struct {
		const char *name, *value;
		uint64_t least;
	} e[TOPIC_SETTINGS] = {
	    {"retention.ms", "-1", 0},
	    {"retention.bytes", "-1", 0},
	    {"cleanup.policy", "delete", 0},
	    {"compression.type", "producer", 0},
	    {"message.timestamp.type", "CreateTime", 0},
	    {"max.message.bytes", "5000000", 5000000},
	    {"segment.bytes", "1073741824", 5000000},
	    {"min.insync.replicas", "2", 2},
	};
	struct planned_topic t = {.message_bytes_max = 5000000};
	struct topic_setting s[TOPIC_SETTINGS];

	(void)state;
	topic_plan_settings(s, &plain, &t);
	for (size_t i = 0; i < TOPIC_SETTINGS; i++) {
		assert_string_equal(s[i].name, e[i].name);
		assert_string_equal(s[i].value, e[i].value);
		assert_int_equal(s[i].least, e[i].least);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_domain_set_and_the_mix_have_their_topics),
	    cmocka_unit_test(
		test_lanes_that_share_partitions_are_committed_in_a_topic_of_their_own),
	    cmocka_unit_test(test_without_a_mix_there_are_only_the_corpus_topics),
	    cmocka_unit_test(test_a_live_domain_of_files_has_a_topic_for_their_order),
	    cmocka_unit_test(test_own_validation_files_replace_the_split),
	    cmocka_unit_test(test_a_test_set_of_its_own_replaces_the_split),
	    cmocka_unit_test(test_names_as_long_as_allowed_fit_kafkas_limit),
	    cmocka_unit_test(test_a_lanes_record_is_its_tokens_and_64_bytes_a_sequence),
	    cmocka_unit_test(test_what_is_kept_has_room_in_a_record),
	    cmocka_unit_test(test_max_message_bytes_has_room_and_both_ends_are_cut),
	    cmocka_unit_test(test_a_lanes_record_is_planned_by_the_largest_batch_of_all_phases),
	    cmocka_unit_test(test_a_record_has_room_for_the_names_of_what_is_drawn),
	    cmocka_unit_test(test_settings_keep_all_records_and_take_the_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
