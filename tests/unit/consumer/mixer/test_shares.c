#include "consumer/mixer/shares.h"
#include "tests/unit/test.h"
#include "tests/unit/vector_rows.h"

enum { DOMAINS = 3 };

/* Three domains with weights 2, 1, 1, weighed. */
static void
open_shares(struct shares *s, enum schedule_kind kind, uint64_t epoch_size)
{
	static const double raw[DOMAINS] = {2, 1, 1};
	struct failure f;

	shares_init(s, kind, 1, 1234);
	s->epoch_size = epoch_size;
	s->version.temperature = s->version.lr_scale = 1;
	for (size_t i = 0; i < DOMAINS; i++) {
		assert_int_equal(shares_add(s, &f), FAIL_NONE);
		s->share[i].raw = s->share[i].base = raw[i];
	}
	assert_true(shares_weigh(s));
}

/* Draws n times, nobody being dry; counts. */
static void
draw(struct shares *s, size_t n, uint64_t count[DOMAINS])
{
	static const bool dry[DOMAINS];

	memset(count, 0, DOMAINS * sizeof(*count));
	for (size_t i = 0; i < n; i++) {
		struct shares_choice c = shares_choose(s, dry);

		assert_int_equal(c.drawn, c.picked);
		shares_charge(s, &c, dry, 1);
		count[c.drawn]++;
	}
}

static void
test_domains_are_drawn_by_their_weights(void **state)
{
	uint64_t count[DOMAINS];
	struct shares s;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 0);
	assert_true(shares_of(&s, 0) == 0.5 && shares_of(&s, 2) == 0.25);
	draw(&s, 4000, count);
	assert_int_equal(count[0], 2000);
	assert_int_equal(count[1], 1000);
	assert_true(shares_credit(&s, 0) == 0);
	shares_close(&s);
}

static void
test_weights_that_are_in_force_already_disturb_nothing(void **state)
{
	uint64_t count[DOMAINS];
	struct shares s;
	int64_t counts;

	(void)state;
	open_shares(&s, SCHEDULE_GREEDY, 0);
	draw(&s, 7, count);
	counts = s.schedule.credit[0];
	assert_true(shares_weigh(&s));
	assert_int_equal(s.schedule.credit[0], counts); /* new ones would begin from 0 */
	s.share[0].raw = 3;
	assert_true(shares_weigh(&s));
	assert_int_equal(s.schedule.credit[0], 0);
	shares_close(&s);
}

static void
test_only_active_domains_with_a_weight_take_part(void **state)
{
	struct shares s;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 0);
	s.share[0].state = LEDGER_LEFT;
	s.share[1].state = LEDGER_JOINING;
	assert_true(shares_weigh(&s));
	assert_true(shares_of(&s, 2) == 1);
	s.share[2].raw = 0;
	assert_false(shares_weigh(&s));
	assert_true(shares_of(&s, 2) == 1); /* nothing was changed */
	shares_close(&s);
}

static void
test_a_dropped_domain_gives_its_weight_to_the_others(void **state)
{
	struct shares s;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 0);
	assert_true(shares_drop(&s, 0));
	assert_true(shares_of(&s, 1) == 0.5 && shares_of(&s, 0) == 0);
	assert_true(shares_drop(&s, 1));
	assert_false(shares_drop(&s, 2));
	shares_close(&s);
}

static void
test_a_round_gives_each_domain_exactly_its_draws(void **state)
{
	uint64_t count[DOMAINS];
	struct shares s;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 10); /* 5, 2.5, 2.5: the tie goes to the lower index */
	for (uint64_t round = 0; round < 5; round++) {
		assert_int_equal(s.round, round);
		draw(&s, 10, count);
		assert_int_equal(count[0], 5);
		assert_int_equal(count[1], 3);
		assert_int_equal(count[2], 2);
	}
	shares_close(&s);
}

static void
test_a_change_inside_a_round_deals_out_what_remains_of_it(void **state)
{
	uint64_t count[DOMAINS];
	struct shares s;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 10);
	draw(&s, 6, count);
	s.share[0].raw = s.share[1].raw = 0;
	assert_true(shares_weigh(&s));
	assert_int_equal(s.schedule.one, 4); /* the weights sum to the draws that remain */
	assert_int_equal(s.share[2].weight, 10);
	draw(&s, 4, count);
	assert_int_equal(count[2], 4);
	assert_int_equal(s.round, 1);
	assert_int_equal(s.round_draws, 0);
	draw(&s, 10, count); /* the next round has all its draws */
	assert_int_equal(count[2], 10);
	shares_close(&s);
}

/* Weights change twice in a round, after any two draws. */
static void
test_what_remains_of_a_round_has_the_counts_of_the_new_weights(void **state)
{
	enum { ROUND = 12 };
	static const double raw[][DOMAINS] = {{1, 2, 3}, {5, 1, 4}};

	(void)state;
	for (uint64_t first = 0; first < ROUND; first++)
		for (uint64_t second = first; second < ROUND; second++) {
			const uint64_t until[] = {second, ROUND};
			uint64_t count[DOMAINS], at = first;
			struct shares s;

			open_shares(&s, SCHEDULE_DEFICIT, ROUND);
			draw(&s, first, count);
			for (size_t change = 0; change < 2; change++) {
				uint64_t left[DOMAINS], weight[DOMAINS];

				for (size_t i = 0; i < DOMAINS; i++)
					s.share[i].raw = raw[change][i];
				assert_true(shares_weigh(&s));
				for (size_t i = 0; i < DOMAINS; i++)
					weight[i] = s.share[i].weight;
				weights_apportion(left, ROUND - at, weight, DOMAINS);
				draw(&s, until[change] - at, count);
				at = until[change];
				for (size_t i = 0; i < DOMAINS && at == ROUND; i++)
					assert_int_equal(count[i], left[i]);
			}
			assert_int_equal(s.round, 1);
			assert_int_equal(s.round_draws, 0);
			shares_close(&s);
		}
}

static void
test_a_dry_domain_lends_its_draws_and_is_paid_back(void **state)
{
	bool dry[DOMAINS] = {false};
	uint64_t drawn[DOMAINS] = {0};
	struct shares s;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 0);
	shares_set_rules(&s, 1, MIX_DRY_LEND, 2);
	for (size_t i = 0; i < 400; i++) {
		struct shares_choice c;

		dry[1] = i < 100;
		c = shares_choose(&s, dry);
		assert_true(!dry[c.drawn]);
		assert_int_equal(c.lent, dry[c.picked]);
		shares_charge(&s, &c, dry, 1);
		shares_ripen(&s, dry);
		drawn[c.drawn]++;
		if (i == 99)
			assert_int_equal(s.share[1].owed, 25);
		if (i == 149) /* twice its share: 12 or 13 draws, and as many that were owed */
			assert_in_range(drawn[1], 23, 26);
		if (i == 199) /* 25, and 24 or 25 that were owed */
			assert_in_range(drawn[1], 48, 50);
	}
	assert_int_equal(s.share[1].owed, 0);
	assert_int_equal(s.share[1].lent, 25); /* what is given back stays counted */
	assert_int_equal(s.share[0].lent, 0);
	assert_int_equal(s.share[1].repay, 0); /* no credit towards draws that nobody lent */
	assert_in_range(drawn[1], 99, 100);    /* a quarter of all */
	shares_close(&s);
}

/* ---- against tests/vectors/lending.tsv ---- */

enum { LENDING_DOMAINS = 35, SHOWN = 200, DRAWS = 5000 };

struct lending_row {
	size_t n;
	double raw[LENDING_DOMAINS];
	uint64_t catch_up[LENDING_DOMAINS], period[LENDING_DOMAINS], dry[LENDING_DOMAINS];
	uint64_t shown[SHOWN], count[LENDING_DOMAINS], owed[LENDING_DOMAINS];
};

static void
read_lending_row(struct lending_row *r, char *line)
{
	const struct {
		uint64_t *to;
		size_t n;
	} columns[] = {{r->catch_up, 0}, {r->period, 0}, {r->dry, 0}, {r->shown, SHOWN},
	    {r->count, 0}, {r->owed, 0}};
	char *rest = line;

	r->n = vector_rows_doubles(strsep(&rest, "\t"), r->raw, LENDING_DOMAINS);
	EACH_ROW(i, columns) {
		size_t n = columns[i].n == 0 ? r->n : columns[i].n;

		assert_int_equal(vector_rows_numbers(strsep(&rest, "\t"), columns[i].to, n), n);
	}
}

static void
open_lending_row(struct shares *s, const struct lending_row *r)
{
	struct failure f;

	shares_init(s, SCHEDULE_DEFICIT, 1, 0);
	s->version.temperature = 1;
	for (size_t i = 0; i < r->n; i++) {
		assert_int_equal(shares_add(s, &f), FAIL_NONE);
		s->share[i].raw = r->raw[i];
		if (r->catch_up[i] > 0)
			shares_set_rules(s, i, MIX_DRY_LEND, (double)r->catch_up[i] / 1000);
	}
	assert_true(shares_weigh(s));
}

static void
check_lending_row(const struct lending_row *r)
{
	uint64_t count[LENDING_DOMAINS] = {0};
	struct shares s;

	open_lending_row(&s, r);
	for (uint64_t k = 0; k < DRAWS; k++) {
		bool dry[LENDING_DOMAINS] = {false};
		struct shares_choice c;

		for (size_t i = 0; i < r->n; i++)
			dry[i] = r->period[i] > 0 && k % r->period[i] >= r->period[i] - r->dry[i];
		c = shares_choose(&s, dry);
		shares_charge(&s, &c, dry, 1);
		shares_ripen(&s, dry);
		count[c.drawn]++;
		if (k < SHOWN)
			assert_int_equal(c.drawn, r->shown[k]);
	}
	for (size_t i = 0; i < r->n; i++) {
		assert_int_equal(count[i], r->count[i]);
		assert_int_equal(s.share[i].owed, r->owed[i]);
	}
	shares_close(&s);
}

static void
test_lending_draws_what_an_independent_implementation_draws(void **state)
{
	static char line[VECTOR_ROW_MAX];
	static struct lending_row r;
	FILE *in = vector_rows_open("lending.tsv");
	int rows = 0;

	(void)state;
	for (; vector_rows_next(in, line); rows++) {
		read_lending_row(&r, line);
		check_lending_row(&r);
	}
	fclose(in);
	assert_int_equal(rows, 7);
}

static void
test_where_all_are_dry_the_picked_one_is_chosen_and_waited_for(void **state)
{
	bool dry[DOMAINS] = {true, true, true};
	struct shares_choice c;
	struct shares s;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 0);
	shares_set_rules(&s, 0, MIX_DRY_LEND, 2);
	c = shares_choose(&s, dry);
	assert_int_equal(c.drawn, 0);
	assert_false(c.lent);
	assert_false(shares_choose_again(&s, &c, dry));
	dry[0] = false; /* it has something, which turns out to be excluded */
	c = shares_choose(&s, dry);
	assert_true(shares_choose_again(&s, &c, dry));
	assert_true(dry[0]);
	shares_close(&s);
}

static void
test_a_copy_is_restored_to_the_bit(void **state)
{
	uint64_t count[DOMAINS], again[DOMAINS];
	struct shares s, kept;
	struct failure f;

	(void)state;
	open_shares(&s, SCHEDULE_DEFICIT, 7);
	draw(&s, 3, count);
	assert_int_equal(shares_clone(&kept, &s, &f), FAIL_NONE);
	shares_begin_version(&s, 9, LEDGER_BY_REQUEST, "x");
	s.share[1].raw = 5;
	assert_true(shares_weigh(&s));
	draw(&s, 5, count);
	shares_copy(&s, &kept);
	assert_int_equal(s.version.number, 1);
	draw(&s, 100, count);
	draw(&kept, 100, again);
	assert_memory_equal(count, again, sizeof(count));
	shares_close(&s);
	shares_close(&kept);
}

/* Rules may change with every plan, and a copy has the rules of the original. */
static void
test_lenders_are_as_many_as_have_the_rule(void **unused)
{
	enum { N = 6 };
	struct shares s, copy, clone;
	struct failure f;

	(void)unused;
	srandom(5);
	shares_init(&s, SCHEDULE_DEFICIT, 1, 1);
	shares_init(&copy, SCHEDULE_DEFICIT, 1, 1);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(shares_add(&s, &f), FAIL_NONE);
		assert_int_equal(shares_add(&copy, &f), FAIL_NONE);
	}
	for (int k = 0; k < 200; k++) {
		size_t lenders = 0;

		shares_set_rules(
		    &s, (size_t)random() % N, random() % 2 == 0 ? MIX_DRY_LEND : MIX_DRY_WAIT, 2);
		for (size_t i = 0; i < N; i++)
			lenders += s.share[i].on_dry == MIX_DRY_LEND;
		assert_int_equal(s.lenders_n, lenders);
		shares_copy(&copy, &s);
		assert_int_equal(copy.lenders_n, lenders);
	}
	assert_int_equal(shares_clone(&clone, &s, &f), FAIL_NONE);
	assert_int_equal(clone.lenders_n, s.lenders_n);
	shares_close(&clone);
	shares_close(&copy);
	shares_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_domains_are_drawn_by_their_weights),
	    cmocka_unit_test(test_weights_that_are_in_force_already_disturb_nothing),
	    cmocka_unit_test(test_only_active_domains_with_a_weight_take_part),
	    cmocka_unit_test(test_a_dropped_domain_gives_its_weight_to_the_others),
	    cmocka_unit_test(test_a_round_gives_each_domain_exactly_its_draws),
	    cmocka_unit_test(test_a_change_inside_a_round_deals_out_what_remains_of_it),
	    cmocka_unit_test(test_what_remains_of_a_round_has_the_counts_of_the_new_weights),
	    cmocka_unit_test(test_a_dry_domain_lends_its_draws_and_is_paid_back),
	    cmocka_unit_test(test_lending_draws_what_an_independent_implementation_draws),
	    cmocka_unit_test(test_where_all_are_dry_the_picked_one_is_chosen_and_waited_for),
	    cmocka_unit_test(test_a_copy_is_restored_to_the_bit),
	    cmocka_unit_test(test_lenders_are_as_many_as_have_the_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
