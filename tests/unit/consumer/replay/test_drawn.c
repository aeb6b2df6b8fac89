/* drawn.h: what two records of the ledger say of what was drawn between them; no broker. */
#include "consumer/replay/drawn.h"

#include "tests/unit/test.h"

static void
test_epochs_and_positions_say_what_was_drawn_between_two_records(void **unused)
{
	static const struct {
		bool joins, live; /* it is in the second record alone; it grows */
		int64_t epoch[2], taken[2];
		enum drawn_between between;
	} row[] = {
	    {false, false, {0, 0}, {5, 5}, DRAWN_NONE},
	    {false, false, {0, 0}, {5, 6}, DRAWN_WITHIN},
	    {false, false, {3, 3}, {5, 6}, DRAWN_WITHIN},
	    {false, false, {0, 1}, {5, 15}, DRAWN_ACROSS},
	    {false, false, {3, 4}, {5, 15}, DRAWN_ACROSS},
	    {false, false, {0, 1}, {5, 5}, DRAWN_NONE}, /* an epoch began, and nothing was drawn */
	    {false, false, {0, 2}, {5, 25}, DRAWN_ANY}, /* a whole one lies between them */
	    {false, false, {3, 7}, {5, 55}, DRAWN_ANY},
	    {false, true, {0, 0}, {5, 6}, DRAWN_WITHIN},
	    {false, true, {0, 1}, {5, 15}, DRAWN_ANY}, /* the first record knows no length of it */
	    {false, true, {1, 2}, {5, 15}, DRAWN_ACROSS},
	    {false, true, {1, 3}, {5, 15}, DRAWN_ANY},
	    {true, false, {0, 0}, {0, 0}, DRAWN_NONE},
	    {true, false, {0, 0}, {0, 1}, DRAWN_BEFORE},
	    {true, true, {0, 0}, {0, 1}, DRAWN_BEFORE},
	    {true, false, {0, 1}, {0, 15}, DRAWN_ANY},
	    {true, true, {0, 1}, {0, 15}, DRAWN_ANY},
	};

	(void)unused;
	EACH_ROW(i, row) {
		const struct ledger_domain x = {
		    .live = row[i].live, .epoch = row[i].epoch[0], .taken = row[i].taken[0]};
		const struct ledger_domain y = {
		    .live = row[i].live, .epoch = row[i].epoch[1], .taken = row[i].taken[1]};

		assert_int_equal(drawn_between(row[i].joins ? NULL : &x, &y), row[i].between);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_epochs_and_positions_say_what_was_drawn_between_two_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
