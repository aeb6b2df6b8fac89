/* read_steps.h: what is committed at the end of a reading; no broker. */
#include "cli/read/read_steps.h"

#include "tests/unit/test.h"

static void
test_the_end_commits_what_is_out_whole_and_never_a_step_that_was_cut(void **unused)
{
	static const struct {
		uint64_t every, steps, committed;
		bool cut, owes;
	} row[] = {
	    {1, 5, 4, false, true},
	    {3, 5, 3, false, true},
	    {3, 5, 0, false, true},
	    {3, 5, 5, false, false},
	    {3, 0, 0, false, false},
	    {0, 5, 0, false, false}, /* nobody asked for commits */
	    {1, 5, 4, true, false},
	    {3, 5, 0, true, false},
	    {3, 0, 0, true, false},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(read_steps_owes_commit(
				     row[i].every, row[i].steps, row[i].committed, row[i].cut),
		    row[i].owes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_end_commits_what_is_out_whole_and_never_a_step_that_was_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
