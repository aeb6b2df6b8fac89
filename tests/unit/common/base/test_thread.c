#include "common/base/thread.h"

#include <signal.h>

#include "tests/unit/test.h"

static void *
note_mask(void *argument)
{
	pthread_sigmask(SIG_SETMASK, NULL, argument);
	return NULL;
}

static void
test_a_thread_takes_no_signals_and_its_creator_still_does(void **unused)
{
	sigset_t of_thread, of_caller;
	pthread_t thread;

	(void)unused;
	sigemptyset(&of_thread);
	assert_int_equal(thread_start(&thread, 1 << 20, note_mask, &of_thread), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &of_caller);
	assert_int_equal(sigismember(&of_thread, SIGTERM), 1);
	assert_int_equal(sigismember(&of_thread, SIGINT), 1);
	assert_int_equal(sigismember(&of_caller, SIGTERM), 0);
	assert_int_equal(sigismember(&of_caller, SIGINT), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_thread_takes_no_signals_and_its_creator_still_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
