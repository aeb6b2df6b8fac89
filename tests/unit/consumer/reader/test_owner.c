/* owner.h: the form of a committer's name, and that two committers have two. */
#include "consumer/reader/owner.h"

#include <inttypes.h>
#include <unistd.h>

#include "tests/unit/test.h"

static void
test_an_owner_has_a_host_its_process_and_a_number_of_its_own(void **unused)
{
	char owner[2][RUN_POSITION_OWNER_MAX], text[RUN_POSITION_TEXT_MAX];

	(void)unused;
	for (int i = 0; i < 2; i++) {
		char back[RUN_POSITION_OWNER_MAX], pid[32], *slash;
		uint64_t step;

		assert_int_equal(owner_draw(owner[i], &f), FAIL_NONE);
		slash = strchr(owner[i], '/');
		assert_true(slash != NULL && slash > owner[i]);
		snprintf(pid, sizeof(pid), "/%ld/", (long)getpid());
		assert_memory_equal(slash, pid, strlen(pid));
		assert_int_equal(strlen(slash + strlen(pid)), 16);
		assert_int_equal(strspn(slash + strlen(pid), "0123456789abcdef"), 16);
		/* A commit has room for it, and gives it back. */
		run_position_format(text, UINT64_C(1) << 40, owner[i]);
		assert_int_equal(run_position_parse(&step, back, text, &f), FAIL_NONE);
		assert_string_equal(back, owner[i]);
	}
	assert_string_not_equal(owner[0], owner[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_owner_has_a_host_its_process_and_a_number_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
