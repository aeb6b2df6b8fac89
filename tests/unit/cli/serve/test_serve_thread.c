/* serve_thread.h: asking a thread to end, and waits that a time, a wake or an end cut short. */
#include "cli/serve/serve_thread.h"

#include <semaphore.h>

#include "common/base/clock.h"
#include "tests/unit/test.h"

static sem_t running, may_end;

static void
wait_for_the_test(void *of)
{
	*(int *)of += 1;
	sem_post(&running);
	sem_wait(&may_end);
}

static void
test_a_thread_that_is_busy_is_not_waited_for(void **unused)
{
	struct serve_thread t;
	int ran = 0;

	(void)unused;
	sem_init(&running, 0, 0);
	sem_init(&may_end, 0, 0);
	memset(&t, 1, sizeof(t));
	assert_int_equal(serve_thread_open(&t, wait_for_the_test, &ran, &f), FAIL_NONE);
	sem_wait(&running);
	assert_int_equal(ran, 1);
	assert_false(serve_thread_stopped(&t));
	assert_false(serve_thread_end(&t, 0));
	assert_true(serve_thread_stopped(&t)); /* it is asked all the same */
	sem_post(&may_end);
	assert_true(serve_thread_end(&t, 30000));
	assert_true(serve_thread_end(&t, 0)); /* and has ended for good */
	serve_thread_close(&t);
	sem_destroy(&running);
	sem_destroy(&may_end);
}

static int64_t waited_ms[5];

/* Waits until a moment that is past, 0 and 1.1 s ahead, for a wake, and after `stop`. */
static void
wait_in_turn(void *of)
{
	struct serve_thread *t = of;
	static const int64_t ahead_ms[] = {-1000, 0, 1100};

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < 5; i++) {
		int64_t begun_ms = clock_ms();

		if (i == 4)
			while (!t->stop)
				serve_thread_wait(t, begun_ms + 60000);
		if (i == 3) {
			sem_post(&running); /* who wakes it needs the lock: this waits by then */
			serve_thread_wait(t, begun_ms + 60000);
		} else {
			serve_thread_wait(t, begun_ms + (i < 3 ? ahead_ms[i] : 60000));
		}
		waited_ms[i] = clock_ms() - begun_ms;
	}
	pthread_mutex_unlock(&t->lock);
}

static void
test_a_wait_ends_at_its_time_at_a_wake_or_at_the_end(void **unused)
{
	struct serve_thread t;

	(void)unused;
	sem_init(&running, 0, 0);
	assert_int_equal(serve_thread_open(&t, wait_in_turn, &t, &f), FAIL_NONE);
	sem_wait(&running);
	pthread_mutex_lock(&t.lock);
	pthread_cond_broadcast(&t.wake);
	pthread_mutex_unlock(&t.lock);
	assert_true(serve_thread_end(&t, 30000));
	serve_thread_close(&t);
	assert_in_range(waited_ms[0], 0, 999);
	assert_in_range(waited_ms[1], 0, 999);
	assert_in_range(waited_ms[2], 1099, 29999);
	assert_in_range(waited_ms[3], 0, 29999);
	assert_in_range(waited_ms[4], 0, 29999);
	sem_destroy(&running);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_thread_that_is_busy_is_not_waited_for),
	    cmocka_unit_test(test_a_wait_ends_at_its_time_at_a_wake_or_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
