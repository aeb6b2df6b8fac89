#include "common/base/thread.h"

#include <errno.h>
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

static void
test_a_probe_leaves_no_thread_behind(void **unused)
{
	(void)unused;
	for (int i = 0; i < 2000; i++)
		assert_int_equal(thread_probe(8), 0);
}

static void
set_stack(size_t bytes)
{
	pthread_attr_t attr;

	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

static void
test_a_probe_finds_out_that_there_is_no_room_for_a_thread(void **unused)
{
	pthread_attr_t attr;
	size_t before;

	(void)unused;
	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	assert_int_equal(pthread_attr_getstacksize(&attr, &before), 0);
	pthread_attr_destroy(&attr);
	set_stack((size_t)1 << 48); /* more than there are addresses for; qemu hangs with 1 << 46 */
	assert_int_equal(thread_probe(THREAD_PROBE_MAX), EAGAIN);
	set_stack(before);
	assert_int_equal(thread_probe(THREAD_PROBE_MAX), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_thread_takes_no_signals_and_its_creator_still_does),
	    cmocka_unit_test(test_a_probe_leaves_no_thread_behind),
	    cmocka_unit_test(test_a_probe_finds_out_that_there_is_no_room_for_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
