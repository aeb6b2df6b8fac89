#include "common/base/stop.h"

#include <pthread.h>
#include <signal.h>

#include "tests/unit/test.h"

static struct stop stop;

static void
ask(int signal_number)
{
	(void)signal_number;
	stop_ask(&stop);
}

static void
test_a_signal_handler_asks(void **state)
{
	struct sigaction action = {.sa_handler = ask};

	(void)state;
	assert_false(stop_asked(&stop));
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	assert_true(stop_asked(&stop));
}

static void *
look(void *arg)
{
	const struct stop *s = arg;

	while (!stop_asked(s))
		;
	return NULL;
}

static void
test_another_thread_sees_it(void **state)
{
	struct stop s = {0};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, look, &s), 0);
	stop_ask(&s);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_signal_handler_asks),
	    cmocka_unit_test(test_another_thread_sees_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
