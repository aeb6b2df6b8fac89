/* step_round.h: rounds are counted in draws, through their ends. */
#include "consumer/ledger/step_round.h"

#include "tests/unit/test.h"

static void
draws_pass_the_ends_of_rounds(void **state)
{
	static const struct {
		uint64_t draws, round, left;
	} rows[] = {{39, 3, 49}, {1, 4, 0}, {0, 4, 0}, {50, 5, 0}, {149, 7, 49}, {2, 8, 1}};
	struct step_round r = {.size = 50, .round = 3, .draws = 10};

	(void)state;
	EACH_ROW(i, rows) {
		step_round_pass(&r, rows[i].draws);
		assert_int_equal(r.round, rows[i].round);
		assert_int_equal(r.draws, rows[i].left);
	}
}

static void
a_mix_without_rounds_stays_without(void **state)
{
	struct step_round r = {0};

	(void)state;
	step_round_pass(&r, 1000);
	assert_int_equal(r.round + r.draws + r.size, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(draws_pass_the_ends_of_rounds),
	    cmocka_unit_test(a_mix_without_rounds_stays_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
