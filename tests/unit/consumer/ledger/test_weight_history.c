/*
 * weight_history.h: what a version holds, how far a domain is behind, and which versions are found
 * in ledgers of a mock cluster, however their records lie.
 */
#include "consumer/ledger/weight_history.h"

#include <stdlib.h>
#include <string.h>

#include "common/schedule/weights.h"
#include "tests/unit/ledger_mix.h"
#include "tests/unit/mock_topics.h"

static struct ledger_domain
domain_of(char *name, uint64_t weight)
{
	return (struct ledger_domain){.name = name, .weight = weight};
}

/* ---- one record ---- */

static void
test_every_field_of_a_version_is_the_record_s(void **unused)
{
	static const enum ledger_domain_state states[] = {
	    LEDGER_ACTIVE, LEDGER_DROPPED, LEDGER_LEFT, LEDGER_JOINING};

	(void)unused;
	EACH_ROW(i, states) {
		struct ledger_domain domain[] = {domain_of((char *)"a", WEIGHT_ONE / 4),
		    domain_of((char *)"b", WEIGHT_ONE / 4 * 3)};
		const struct ledger l = {.version = 4,
		    .version_step = 30,
		    .step_next = 90,
		    .reason = LEDGER_BY_REQUEST,
		    .reason_id = (char *)"w4",
		    .phase = (char *)"late",
		    .temperature = 2,
		    .lr_scale = 0.5,
		    .global_batch = 16,
		    .domain = domain,
		    .domains_n = 2};
		struct weight_history h = {0};
		const struct weight_history_version *v;

		domain[0].raw_weight = 7;
		domain[1].raw_weight = 21;
		domain[1].state = states[i];
		assert_int_equal(weight_history_read_log(&h, NULL, &l, 1, &f), FAIL_NONE);
		assert_int_equal(h.n, 1);
		v = &h.version[0];
		assert_true(v->version == 4 && v->step == 30 && v->reason == LEDGER_BY_REQUEST);
		assert_string_equal(v->reason_id, "w4");
		assert_string_equal(v->phase, "late");
		assert_true(v->temperature == 2 && v->lr_scale == 0.5 && v->global_batch == 16);
		assert_int_equal(v->domains_n, 2);
		assert_string_equal(v->domain[0].name, "a");
		assert_true(v->domain[0].weight == 7 && v->domain[0].share == 0.25);
		assert_string_equal(v->domain[1].name, "b");
		assert_true(v->domain[1].weight == (states[i] == LEDGER_ACTIVE ? 21 : 0));
		assert_true(v->domain[1].share == 0.75);
		weight_history_close(&h);
	}
}

static void
test_texts_that_a_record_lacks_are_empty(void **unused)
{
	struct ledger_domain domain[] = {domain_of(NULL, WEIGHT_ONE)};
	const struct ledger l = {.version = 1, .domain = domain, .domains_n = 1};
	struct weight_history h = {0};

	(void)unused;
	assert_int_equal(
	    weight_history_read(&h, "no-such-mix", &mock_properties, &l, 5, &f), FAIL_NONE);
	assert_int_equal(h.n, 1); /* no version precedes the first: the broker is not asked */
	assert_string_equal(h.version[0].reason_id, "");
	assert_string_equal(h.version[0].phase, "");
	assert_string_equal(h.version[0].domain[0].name, "");
	weight_history_close(&h);
}

static uint64_t
bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* A weight is a part of WEIGHT_ONE, or of the draws of a round, or a double. */
static void
test_shares_and_how_far_a_domain_is_behind(void **unused)
{
	const struct {
		uint64_t weight[2], round_weight[2];
		int64_t epoch_size, credit, greedy_draws, greedy_count;
		uint64_t unit;
		double share, behind;
	} rows[] = {
	    {{WEIGHT_ONE / 4, WEIGHT_ONE / 4 * 3}, {0, 0}, 0, 0, 0, 0, 1, 0.25, 0},
	    {{WEIGHT_ONE / 4, WEIGHT_ONE / 4 * 3}, {0, 0}, 0, 3 * (int64_t)WEIGHT_ONE, 0, 0, 1,
		0.25, 3},
	    {{WEIGHT_ONE / 4, WEIGHT_ONE / 4 * 3}, {0, 0}, 0, 3 * (int64_t)WEIGHT_ONE, 0, 0, 8,
		0.25, 0.375},
	    {{WEIGHT_ONE / 4, WEIGHT_ONE / 4 * 3}, {0, 0}, 0, -(int64_t)WEIGHT_ONE / 2, 0, 0, 1,
		0.25, -0.5},
	    /* The round under way has the weights that it began with. */
	    {{10, 30}, {24, 8}, 40, 48, 0, 0, 1, 0.25, 1.5},
	    {{10, 30}, {24, 8}, 40, 48, 0, 0, 4, 0.25, 0.375},
	    /* Draws of these weights: not of all, which are more. */
	    {{bits_of(1), bits_of(4)}, {0, 0}, 0, 0, 100, 15, 1, 0.2, 5},
	    {{bits_of(1), bits_of(4)}, {0, 0}, 0, 0, 100, 23, 1, 0.2, -3},
	    {{0, 0}, {0, 0}, 0, 0, 100, 0, 1, 0, 0},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct ledger_domain domain[] = {domain_of((char *)"a", rows[i].weight[0]),
		    domain_of((char *)"b", rows[i].weight[1])};
		const struct ledger l = {.epoch_size = rows[i].epoch_size,
		    .draws = 1000,
		    .greedy_draws = rows[i].greedy_draws,
		    .domain = domain,
		    .domains_n = 2};

		for (int k = 0; k < 2; k++)
			domain[k].round_weight = rows[i].round_weight[k];
		domain[0].credit = rows[i].credit;
		domain[0].greedy_count = rows[i].greedy_count;
		domain[0].taken = 500;
		assert_true(weight_history_share(&l, 0) == rows[i].share);
		assert_true(weight_history_behind(&l, 0, rows[i].unit) == rows[i].behind);
	}
}

/* ---- in ledgers ---- */

/* The version that governs step `step` - 1, as in force after `step` steps. */
static int64_t
version_after(int64_t step)
{
	int64_t version = 1;

	for (int i = 0; i < LEDGER_MIX_PHASES && (int64_t)ledger_mix_begins[i] < step; i++)
		version++;
	return version;
}

static void
assert_version(const struct weight_history_version *v, int64_t version)
{
	int phase = (int)version - 2; /* -1: before the first */
	double weight = phase < 0 ? 3 : phase + 1, other = phase < 0 ? 1 : 4;

	assert_int_equal(v->version, version);
	assert_int_equal(v->step, phase < 0 ? 0 : ledger_mix_begins[phase]);
	assert_int_equal(v->reason, phase < 0 ? LEDGER_BY_CONFIG : LEDGER_BY_PHASE);
	assert_true(v->lr_scale == 1.0 / (phase + 2));
	assert_true(v->domain[0].weight == weight && v->domain[1].weight == other);
	assert_true(v->domain[0].share > weight / (weight + other) - 1e-6);
	assert_true(v->domain[0].share < weight / (weight + other) + 1e-6);
}

static void
test_all_versions_are_found_wherever_transactions_end(void **unused)
{
	enum { RECORDS_MAX = 16 };
	static const size_t most[] = {4, LEDGER_MIX_PHASES + 2};
	static const int64_t ends[][RECORDS_MAX] = {
	    {0, 12},       /* all versions between two records are derived */
	    {0, 4, 8, 12}, /* some are */
	    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
	    {0, 3, 5, 6, 9, 10, 12}, /* each begins with a transaction, */
	    {0, 4, 6, 7, 10, 11},    /* or with its last step */
	    {0, 0, 4, 4, 4, 12, 12}, /* records without a step */
	    {0, 3},                  /* the first version alone */
	    {0, 4},
	    {0, 1, 9, 11},
	};
	struct ledger_mix x;

	(void)unused;
	ledger_mix_open(&x, 1);
	EACH_ROW(i, ends) {
		char mix[16], topic[32];
		struct ledger last = {0};
		int64_t newest;

		snprintf(mix, sizeof(mix), "h%zu", i);
		snprintf(topic, sizeof(topic), "%s.ledger", mix);
		mock_topic(topic, 1);
		for (int k = 0; k < RECORDS_MAX && (k == 0 || ends[i][k] > 0 || ends[i][k + 1] > 0);
		     k++) {
			ledger_clear(&last);
			last = ledger_mix_record(&x, ends[i][k]);
			mock_write_ledger(topic, &last);
		}
		newest = version_after(last.step_next);
		EACH_ROW(j, most) {
			size_t expected = most[j] < (size_t)newest ? most[j] : (size_t)newest;
			struct weight_history h = {0};

			assert_int_equal(
			    weight_history_read(&h, mix, &mock_properties, &last, most[j], &f),
			    FAIL_NONE);
			assert_int_equal(h.n, expected);
			for (size_t k = 0; k < expected; k++)
				assert_version(&h.version[k], newest - (int64_t)k);
			weight_history_close(&h);
		}
		ledger_clear(&last);
	}
	ledger_mix_close(&x);
}

/* It has a record of its own, with the steps of the one before it. */
static void
test_a_version_by_a_changed_configuration_follows_the_one_of_the_same_step(void **unused)
{
	static const int64_t steps[] = {0, 4};
	struct ledger_mix x;
	struct ledger first;

	(void)unused;
	ledger_mix_open(&x, 1);
	first = ledger_mix_record(&x, 0);
	EACH_ROW(i, steps) {
		struct ledger last = ledger_mix_record(&x, steps[i]);
		struct weight_history h = {0};
		int64_t version = last.version;
		char mix[16], topic[32];

		snprintf(mix, sizeof(mix), "c%zu", i);
		snprintf(topic, sizeof(topic), "%s.ledger", mix);
		mock_topic(topic, 1);
		if (steps[i] > 0)
			mock_write_ledger(topic, &first);
		mock_write_ledger(topic, &last);
		last.version++;
		last.version_step = steps[i];
		mock_write_ledger(topic, &last);
		assert_int_equal(
		    weight_history_read(&h, mix, &mock_properties, &last, 2, &f), FAIL_NONE);
		assert_int_equal(h.n, 2);
		assert_int_equal(h.version[0].version, version + 1);
		assert_version(&h.version[1], version);
		weight_history_close(&h);
		ledger_clear(&last);
	}
	ledger_clear(&first);
	ledger_mix_close(&x);
}

/* What is derived before the first record kept is not known. */
static void
test_the_history_ends_where_the_ledger_was_cut(void **unused)
{
	static const int64_t ends[] = {4, 8, 12};
	struct weight_history h = {0};
	struct ledger last = {0};
	struct ledger_mix x;

	(void)unused;
	ledger_mix_open(&x, 1);
	mock_topic("cut.ledger", 1);
	EACH_ROW(i, ends) {
		ledger_clear(&last);
		last = ledger_mix_record(&x, ends[i]);
		mock_write_ledger("cut.ledger", &last);
	}
	assert_int_equal(
	    weight_history_read(&h, "cut", &mock_properties, &last, 10, &f), FAIL_NONE);
	assert_int_equal(h.n, 5);
	for (int k = 0; k < 5; k++)
		assert_version(&h.version[k], 6 - k);
	weight_history_close(&h);
	ledger_clear(&last);
	ledger_mix_close(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_field_of_a_version_is_the_record_s),
	    cmocka_unit_test(test_texts_that_a_record_lacks_are_empty),
	    cmocka_unit_test(test_shares_and_how_far_a_domain_is_behind),
	    cmocka_unit_test(test_all_versions_are_found_wherever_transactions_end),
	    cmocka_unit_test(
		test_a_version_by_a_changed_configuration_follows_the_one_of_the_same_step),
	    cmocka_unit_test(test_the_history_ends_where_the_ledger_was_cut),
	};

	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
