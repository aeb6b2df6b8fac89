/* status_query_internal.h: what a broker's answers mean for a status, with answers made up here. */
#include "consumer/status/status_query_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/publish/election_group.h"
#include "tests/unit/test.h"

static void
test_what_is_known_of_a_partition_stands_while_its_ends_do(void **unused)
{
	static const struct {
		int64_t low, high;
		bool stands;
		uint64_t sequences;
	} row[] = {
	    {2, 10, true, 7}, {2, 11, false, 9}, {2, 9, false, 7}, {3, 10, false, 7},
	    {0, 10, false, 10}, {10, 10, false, 0}, /* all were deleted */
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct status_partition p = {
		    .low = 2, .high = 10, .known = true, .sealed = true, .sequences = 7};

		status_partition_take(&p, row[i].low, row[i].high);
		assert_int_equal(p.known, row[i].stands);
		assert_int_equal(p.sealed, row[i].stands);
		assert_int_equal(p.sequences, row[i].sequences);
		assert_true(p.low == row[i].low && p.high == row[i].high);
		/* While its last record is unknown, each offset counts as a sequence. */
		p.known = false;
		status_partition_take(&p, row[i].low, row[i].high);
		assert_int_equal(p.sequences, row[i].high - row[i].low);
	}
}

static void
test_a_domain_has_a_length_once_all_partitions_are_sealed(void **unused)
{
	static const struct {
		size_t n;
		struct status_partition partition[2];
		int64_t sequences, length;
		size_t sealed;
	} row[] = {
	    {0, {{0}}, 0, -1, 0},
	    {1, {{.sequences = 5}}, 5, -1, 0},
	    {1, {{.sequences = 5, .sealed = true, .sealed_sequences = 5}}, 5, 5, 1},
	    {1, {{.sequences = 0, .sealed = true}}, 0, 0, 1},
	    {2,
		{{.sequences = 5, .sealed = true, .sealed_sequences = 4},
		    {.sequences = 3, .sealed = true, .sealed_sequences = 3}},
		8, 7, 2},
	    {2, {{.sequences = 5, .sealed = true, .sealed_sequences = 5}, {.sequences = 3}}, 8, -1,
		1},
	    {2, {{.sequences = 3}, {.sequences = 5, .sealed = true, .sealed_sequences = 5}}, 8, -1,
		1},
	};

	(void)unused;
	EACH_ROW(i, row) {
		struct status_partition partition[2];
		struct status_domain d = {
		    .sealed_length = -1, .partition = partition, .partitions_n = row[i].n};

		memcpy(partition, row[i].partition, sizeof(partition));
		status_domain_sum(&d);
		assert_int_equal(d.sequences, row[i].sequences);
		assert_int_equal(d.partitions_sealed, row[i].sealed);
		assert_int_equal(d.sealed_length, row[i].length);
	}
}

static void
test_the_active_mixers_come_first_and_only_a_standby_is_one(void **unused)
{
	static const char *const client[] = {"riffle-" ELECTION_STANDBY, "riffle-" ELECTION_ACTIVE,
	    "riffle-" ELECTION_STANDBY, "another program"};
	enum { N = sizeof(client) / sizeof(client[0]) };
	struct kafka_member member[N] = {0};
	struct status st = {0};

	(void)unused;
	for (int i = 0; i < N; i++) {
		snprintf(member[i].client, sizeof(member[i].client), "%s", client[i]);
		snprintf(member[i].host, sizeof(member[i].host), "host%d", i);
	}
	status_mixers_take(&st, member, N);
	assert_int_equal(st.mixers_n, N);
	assert_true(!st.mixer[0].standby && !st.mixer[1].standby);
	assert_true(st.mixer[2].standby && st.mixer[3].standby);
	assert_string_equal(st.mixer[0].host, "host1");
	assert_string_equal(st.mixer[1].host, "host3");
	assert_string_equal(st.mixer[2].host, "host0");
	assert_string_equal(st.mixer[3].host, "host2");
	st.mixers_n = 0;
	status_mixers_take(&st, member, 0);
	assert_int_equal(st.mixers_n, 0);
}

static void
test_a_last_record_stands_while_the_topic_only_grows_behind_it(void **unused)
{
	static const struct {
		int64_t low, high;
		bool stands;
	} row[] = {
	    {4, 20, true},
	    {4, 21, true},
	    {4, 19, false}, /* the log lost its end, or was recreated */
	    {3, 20, false},
	    {18, 22, true},
	    {19, 22, false}, /* the record itself was deleted */
	    {-1, -1, false},
	};
	uint8_t bytes[1];
	struct status_last last = {.bytes = bytes, .offset = 18, .low = 4, .high = 20};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(status_last_stands(&last, row[i].low, row[i].high), row[i].stands);
	last.bytes = NULL;
	assert_false(status_last_stands(&last, 4, 20));
}

static void
test_the_rates_read_as_many_records_as_their_size_allows(void **unused)
{
	enum { MOST = 2 * (STATUS_RECORDS - 1) };
	static const struct {
		int64_t offset;
		size_t bytes;
		int64_t low, from;
	} row[] = {
	    {1000, 100, 0, 1000 - MOST},
	    {MOST, 100, 0, 0},
	    {MOST - 1, 100, 0, 0},
	    {1000, 100, 1000 - MOST + 1, 1000 - MOST + 1},
	    {1000, 100, 1000, 1000},
	    {1000, STATUS_SAMPLES_BYTES / 10 - 1, 0, 1000 - 2 * 9},
	    {1000, STATUS_SAMPLES_BYTES / 2, 0, 998}, /* two at least */
	    {1000, STATUS_SAMPLES_BYTES * 2, 0, 998},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(
		    status_samples_from(row[i].offset, row[i].bytes, row[i].low), row[i].from);
}

static void
test_a_part_is_read_again_once_it_is_older_than_its_pace(void **unused)
{
	static const struct {
		int64_t read_ms, pace_ms;
		bool due;
	} row[] = {
	    {0, 500, true},  /* never read */
	    {1000, 0, true}, /* each time */
	    {501, 500, false},
	    {500, 500, true},
	    {499, 500, true},
	    {1000, 500, false},
	};
	const struct status_query q = {.now_ms = 1000};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(status_query_due(&q, row[i].read_ms, row[i].pace_ms), row[i].due);
}

/* The training topic of a domain is meant, and only one that exists is given. */
static void
test_a_topic_of_the_plan_is_found_by_its_kind_and_domain(void **unused)
{
	static const struct {
		enum topic_kind kind;
		int domain;
		const char *name; /* NULL: not in the plan */
		int report;       /* -1: it does not exist */
	} row[] = {
	    {TOPIC_DOMAIN, 0, "c.a", 1},
	    {TOPIC_DOMAIN, 1, "c.b", -1},
	    {TOPIC_DOMAIN, 2, NULL, -1},
	    {TOPIC_LEDGER, -1, "m.ledger", 3},
	    {TOPIC_BATCHES, -1, NULL, -1},
	};
	struct planned_topic topic[] = {
	    {.name = "c.a.valid", .kind = TOPIC_DOMAIN, .domain = 0, .set = SET_VALID},
	    {.name = "c.a", .kind = TOPIC_DOMAIN, .domain = 0, .set = SET_TRAIN},
	    {.name = "c.b", .kind = TOPIC_DOMAIN, .domain = 1, .set = SET_TRAIN},
	    {.name = "m.ledger", .kind = TOPIC_LEDGER, .domain = -1, .set = SET_TRAIN}};
	struct topic_plan plan = {4, topic};
	struct topics_report report[] = {
	    {.exists = true}, {.exists = true}, {.exists = false}, {.exists = true}};
	const struct status st = {.plan = &plan, .report = report};

	(void)unused;
	EACH_ROW(i, row) {
		const char *name = NULL;
		const struct topics_report *r =
		    status_query_topic(&st, row[i].kind, row[i].domain, &name);

		if (row[i].report < 0)
			assert_null(r);
		else
			assert_ptr_equal(r, &report[row[i].report]);
		if (row[i].name == NULL)
			assert_null(name);
		else
			assert_string_equal(name, row[i].name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_known_of_a_partition_stands_while_its_ends_do),
	    cmocka_unit_test(test_a_domain_has_a_length_once_all_partitions_are_sealed),
	    cmocka_unit_test(test_the_active_mixers_come_first_and_only_a_standby_is_one),
	    cmocka_unit_test(test_a_last_record_stands_while_the_topic_only_grows_behind_it),
	    cmocka_unit_test(test_the_rates_read_as_many_records_as_their_size_allows),
	    cmocka_unit_test(test_a_part_is_read_again_once_it_is_older_than_its_pace),
	    cmocka_unit_test(test_a_topic_of_the_plan_is_found_by_its_kind_and_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
