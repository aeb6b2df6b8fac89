/*
 * schedule.h: shares, starvation, changes of weights, lending; and the vectors of all three rules.
 */
#include "tests/unit/vector_rows.h"
#include <math.h>

#include "common/schedule/schedule.h"

static void
test_the_example_of_the_header_holds(void **state)
{
	static const uint64_t weight[3] = {WEIGHT_ONE / 2, WEIGHT_ONE / 4, WEIGHT_ONE / 4};
	static const size_t expected[8] = {0, 1, 2, 0, 0, 1, 2, 0};
	static struct schedule s;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(&s, weight, 3);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(schedule_draw(&s), expected[i]);
}

/* Log-normal weights by sums of a fixed generator; the smallest of 200 is about 3e-7. */
static void
make_weights(double *raw, size_t n)
{
	uint64_t x = 88172645463325252U;

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (int k = 0; k < 12; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sum += (double)(x >> 11) / 9007199254740992.0;
		}
		raw[i] = exp(2.5 * (sum - 6));
	}
	if (n == 200) {
		double total = 0;

		for (size_t i = 0; i < n; i++)
			total += raw[i];
		raw[17] = 3e-7 * total;
	}
}

/* Over `draws` draws: worst lead and lag in draws, and whether each domain came within 2 / w. */
static void
check_promise(size_t n, uint64_t draws)
{
	static struct schedule s;
	static const char *name[200];
	static double raw[200];
	static uint64_t weight[200], count[200], first[200];
	double ahead = 0, behind = 0;
	struct failure f;

	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < n; i++)
		name[i] = "x";
	make_weights(raw, n);
	assert_int_equal(weights_quantise(weight, raw, name, n, 1, &f), FAIL_NONE);
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(&s, weight, n);
	for (uint64_t k = 1; k <= draws; k++) {
		size_t i = schedule_draw(&s);

		if (count[i]++ == 0)
			first[i] = k;
		if (k % 64 != 0)
			continue;
		for (size_t d = 0; d < n; d++) {
			double lag = (double)s.credit[d] / (double)WEIGHT_ONE;

			ahead = -lag > ahead ? -lag : ahead;
			behind = lag > behind ? lag : behind;
		}
	}
	assert_true(ahead < 1);
	assert_true(behind < 2);
	for (size_t d = 0; d < n; d++) {
		double due = 2 * (double)WEIGHT_ONE / (double)weight[d];

		if (due <= (double)draws) {
			assert_true(count[d] > 0);
			assert_true((double)first[d] <= due);
		}
	}
}

static void
test_no_domain_is_one_ahead_or_two_behind_and_none_starves(void **state)
{
	(void)state;
	check_promise(3, 200000);
	check_promise(35, 2000000);
	check_promise(200, 8000000);
}

static void
test_credits_sum_to_zero_through_changes(void **state)
{
	static struct schedule s;
	uint64_t x = 1;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	for (int change = 0; change < 300; change++) {
		uint64_t weight[8], share[8];
		int64_t sum = 0;
		size_t n = change < 100 ? 5 : 8;

		for (size_t i = 0; i < n; i++) {
			x = x * 6364136223846793005U + 1442695040888963407U;
			weight[i] = x >> 62 == 0 ? 0 : x >> 40;
		}
		weight[0] += 1;
		weights_apportion(share, WEIGHT_ONE, weight, n);
		schedule_set_weights(&s, share, n);
		for (int k = 0; k < 50; k++)
			assert_true(share[schedule_draw(&s)] > 0);
		for (size_t i = 0; i < n; i++) {
			sum += s.credit[i];
			if (share[i] == 0)
				assert_true(s.credit[i] <= 0);
		}
		assert_int_equal(sum, 0);
	}
}

/* Rounds become longer and shorter. The draws before them leave all kinds of credits. */
static void
test_a_round_of_another_length_has_exactly_its_counts(void **state)
{
	static struct schedule s;
	uint64_t x = 7, sum = 0;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	for (int change = 0; change < 300; change++) {
		uint64_t weight[5], count[5] = {0}, before = sum;

		do {
			sum = 0;
			for (size_t i = 0; i < 5; i++) {
				x = x * 6364136223846793005U + 1442695040888963407U;
				sum += weight[i] = x >> 62 == 0 && i > 0 ? 0 : 1 + (x >> 40) % 20;
			}
		} while (sum == before);
		schedule_set_weights(&s, weight, 5);
		for (uint64_t k = 0; k < sum; k++)
			count[schedule_draw(&s)]++;
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(count[i], weight[i]);
		for (uint64_t k = 0; k < sum / 3; k++)
			schedule_draw(&s);
	}
}

static void
test_a_dry_domain_lends_its_draws_by_weight_and_gets_them_back(void **state)
{
	static const uint64_t weight[3] = {
	    WEIGHT_ONE / 2, WEIGHT_ONE / 16 * 5, WEIGHT_ONE / 16 * 3};
	static const bool dry[3] = {true, false, false}, all_dry[3] = {true, true, true};
	static const size_t paper[12] = {0, 2, 1, 0, 0, 2, 1, 0, 0, 1, 0, 1},
			    drawn[12] = {1, 2, 1, 1, 1, 2, 1, 1, 2, 1, 2, 1};
	static struct schedule s;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(&s, weight, 3);
	assert_int_equal(schedule_lend_pick(&s, 0, all_dry), 3);
	for (size_t k = 0; k < 12; k++) {
		size_t picked = schedule_pick(&s), i = picked;

		assert_int_equal(picked, paper[k]);
		if (picked == 0) {
			i = schedule_lend_pick(&s, 0, dry);
			schedule_lend(&s, 0, dry, i);
		} else
			schedule_charge(&s, i, 1);
		assert_int_equal(i, drawn[k]);
		assert_int_equal(s.credit[0] + s.credit[1] + s.credit[2], 0);
	}
	for (size_t k = 0; k < 6; k++) /* the six that were lent */
		schedule_repay(&s, 0, schedule_pick(&s) == 0 ? 1 : schedule_pick(&s));
	assert_int_equal(s.credit[0] + s.credit[1] + s.credit[2], 0);
	assert_true(s.credit[0] == (int64_t)WEIGHT_ONE * 3);
}

/* ---- against the files of tests/vectors, and the index that Nanotron's page shows ---- */

enum { DOMAINS = 64, SHOWN = 200, DRAWS = 5000 };

static const char *name[DOMAINS];

static FILE *
open_vectors(const char *file)
{
	for (size_t i = 0; i < DOMAINS; i++)
		name[i] = "x";
	return vector_rows_open(file);
}

static void
test_weights_are_quantised_as_exact_fractions_say(void **state)
{
	FILE *in = open_vectors("weights.tsv");
	static char line[VECTOR_ROW_MAX];
	int rows = 0;

	(void)state;
	for (; vector_rows_next(in, line); rows++) {
		char *rest = line;
		uint64_t total = strtoull(strsep(&rest, "\t"), NULL, 10), want[DOMAINS],
			 got[DOMAINS];
		double temperature = strtod(strsep(&rest, "\t"), NULL), raw[DOMAINS];
		size_t n = vector_rows_doubles(strsep(&rest, "\t"), raw, DOMAINS);
		struct failure f;

		assert_int_equal(vector_rows_numbers(rest, want, DOMAINS), n);
		assert_int_equal(
		    weights_count(got, raw, name, n, temperature, total, &f), FAIL_NONE);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(got[i], want[i]);
	}
	fclose(in);
	assert_int_equal(rows, 14);
}

struct rule {
	const char *file;
	enum schedule_kind kind;
	uint64_t unit;
};

static void
check_row(const struct rule *r, char *line)
{
	static struct schedule s;
	static uint64_t shown[SHOWN], weight[DOMAINS], want[DOMAINS], count[DOMAINS];
	char *rest = line;
	double raw[DOMAINS];
	size_t n = vector_rows_doubles(strsep(&rest, "\t"), raw, DOMAINS);
	struct failure f;

	assert_int_equal(vector_rows_numbers(strsep(&rest, "\t"), shown, SHOWN), SHOWN);
	assert_int_equal(vector_rows_numbers(rest, want, DOMAINS), n);
	assert_int_equal((r->kind == SCHEDULE_GREEDY ? weights_share : weights_quantise)(
			     weight, raw, name, n, 1, &f),
	    FAIL_NONE);
	schedule_init(&s, r->kind, r->unit, 1234);
	schedule_set_weights(&s, weight, n);
	memset(count, 0, sizeof(count));
	for (uint64_t k = 0; k < DRAWS; k++) {
		size_t i = schedule_pick(&s);

		schedule_charge(&s, i, r->unit == 1 ? 1 : 1 + k % 127 * 7919 % 65);
		count[i]++;
		if (k < SHOWN)
			assert_int_equal(i, shown[k]);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(count[i], want[i]);
}

static void
test_schedules_draw_what_an_independent_implementation_draws(void **state)
{
	static const struct rule rules[] = {
	    {"schedule_deficit.tsv", SCHEDULE_DEFICIT, 1},
	    {"schedule_tokens.tsv", SCHEDULE_DEFICIT, 65},
	    {"schedule_greedy.tsv", SCHEDULE_GREEDY, 1},
	    {"schedule_random.tsv", SCHEDULE_RANDOM, 1},
	};
	static char line[VECTOR_ROW_MAX];

	(void)state;
	EACH_NAMED_ROW(i, rules, file) {
		FILE *in = open_vectors(rules[i].file);
		int rows = 0;

		for (; vector_rows_next(in, line); rows++)
			check_row(&rules[i], line);
		fclose(in);
		assert_int_equal(rows, 6);
	}
}

/* Credits in quarters of `one`, after weights that leave domains 0 and 1 without any. */
static void
test_a_claim_passes_on_with_the_weight_and_a_debt_stays(void **state)
{
	static const int64_t quarter = (int64_t)(WEIGHT_ONE / 4);
	static const uint64_t weight[] = {0, 0, WEIGHT_ONE / 4, WEIGHT_ONE / 4 * 3};
	static const int64_t credit[] = {-6, 4, 1, 1}, after[] = {-6, 0, 2, 4};
	static struct schedule s;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(
	    &s, (uint64_t[]){WEIGHT_ONE / 4, WEIGHT_ONE / 4, WEIGHT_ONE / 4, WEIGHT_ONE / 4}, 4);
	for (size_t i = 0; i < 4; i++)
		s.credit[i] = credit[i] * quarter;
	schedule_set_weights(&s, weight, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(s.credit[i], after[i] * quarter);
}

/* Each counts as a draw: the position of a mix is how many there were. */
static void
test_draws_that_are_lent_and_paid_back_are_counted(void **state)
{
	const bool dry[] = {true, false, false};
	static struct schedule s;

	(void)state;
	schedule_init(&s, SCHEDULE_DEFICIT, 1, 0);
	schedule_set_weights(&s, (uint64_t[]){WEIGHT_ONE / 2, WEIGHT_ONE / 4, WEIGHT_ONE / 4}, 3);
	assert_int_equal(schedule_pick(&s), 0);
	schedule_lend(&s, 0, dry, schedule_lend_pick(&s, 0, dry));
	assert_int_equal(s.draws, 1);
	schedule_repay(&s, 0, 1);
	assert_int_equal(s.draws, 2);
	schedule_draw(&s);
	assert_int_equal(s.draws, 3);
	assert_int_equal(s.credit[0] + s.credit[1] + s.credit[2], 0);
}

static void
test_greedy_draws_nothing_of_a_weight_of_zero(void **state)
{
	static const double raw[] = {0, 0.9, 0, 0.1};
	static struct schedule s;
	uint64_t weight[4];
	struct failure f;

	(void)state;
	assert_int_equal(weights_share(weight, raw, name, 4, 1, &f), FAIL_NONE);
	schedule_init(&s, SCHEDULE_GREEDY, 1, 0);
	schedule_set_weights(&s, weight, 4);
	for (int k = 0; k < 200; k++)
		assert_int_equal(schedule_draw(&s) % 2, 1);
	assert_int_equal(s.credit[1] + s.credit[3], 200);
}

static void
test_a_copy_draws_what_the_original_draws(void **state)
{
	static const struct {
		enum schedule_kind kind;
		uint64_t unit;
	} rows[] = {{SCHEDULE_DEFICIT, 1}, {SCHEDULE_DEFICIT, 65}, {SCHEDULE_GREEDY, 1},
	    {SCHEDULE_RANDOM, 1}};
	static const double raw[] = {0.1, 0.5, 0.3, 0.1};
	static struct schedule from, to;
	uint64_t weight[4];
	struct failure f;

	(void)state;
	EACH_ROW(i, rows) {
		assert_int_equal(
		    (rows[i].kind == SCHEDULE_GREEDY ? weights_share : weights_quantise)(
			weight, raw, name, 4, 1, &f),
		    FAIL_NONE);
		schedule_init(&from, rows[i].kind, rows[i].unit, 5);
		schedule_set_weights(&from, weight, 4);
		for (uint64_t k = 0; k < 37; k++)
			schedule_charge(&from, schedule_pick(&from), 1 + k % rows[i].unit);
		memset(&to, 0xA5, sizeof(to));
		schedule_copy(&to, &from);
		assert_int_equal(to.draws, 37);
		for (uint64_t k = 0; k < 200; k++) {
			assert_int_equal(schedule_draw(&to), schedule_draw(&from));
			assert_memory_equal(to.credit, from.credit, 4 * sizeof(to.credit[0]));
		}
	}
}

static void
test_greedy_has_the_index_of_the_page(void **state)
{
	static const double raw[] = {0.1, 0.5, 0.3, 0.1};
	static const size_t dataset[] = {
	    1, 2, 0, 1, 3, 1, 2, 1, 2, 1, 0, 1, 2, 1, 3, 1, 2, 1, 2, 1};
	static const int64_t sample[] = {
	    0, 0, 0, 1, 0, 2, 1, 3, 2, 4, 1, 5, 3, 6, 1, 7, 4, 8, 5, 9};
	static struct schedule s;
	uint64_t weight[4];
	struct failure f;

	(void)state;
	assert_int_equal(weights_share(weight, raw, name, 4, 1, &f), FAIL_NONE);
	schedule_init(&s, SCHEDULE_GREEDY, 1, 0);
	for (int again = 0; again < 2; again++) { /* new weights begin k and the counts again */
		schedule_set_weights(&s, weight, 4);
		for (size_t k = 0; k < 20; k++) {
			size_t i = schedule_pick(&s);

			assert_int_equal(i, dataset[k]);
			assert_int_equal(s.credit[i], sample[k]);
			schedule_charge(&s, i, 1);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_example_of_the_header_holds),
	    cmocka_unit_test(test_no_domain_is_one_ahead_or_two_behind_and_none_starves),
	    cmocka_unit_test(test_credits_sum_to_zero_through_changes),
	    cmocka_unit_test(test_a_round_of_another_length_has_exactly_its_counts),
	    cmocka_unit_test(test_a_dry_domain_lends_its_draws_by_weight_and_gets_them_back),
	    cmocka_unit_test(test_weights_are_quantised_as_exact_fractions_say),
	    cmocka_unit_test(test_schedules_draw_what_an_independent_implementation_draws),
	    cmocka_unit_test(test_a_claim_passes_on_with_the_weight_and_a_debt_stays),
	    cmocka_unit_test(test_draws_that_are_lent_and_paid_back_are_counted),
	    cmocka_unit_test(test_greedy_draws_nothing_of_a_weight_of_zero),
	    cmocka_unit_test(test_a_copy_draws_what_the_original_draws),
	    cmocka_unit_test(test_greedy_has_the_index_of_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
