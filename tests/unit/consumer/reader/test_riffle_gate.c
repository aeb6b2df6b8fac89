/* The gates of riffle_internal.h: who may enter, and what their end waits for. */
#include "tests/unit/test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "consumer/reader/riffle_internal.h"

static struct riffle_gate gate;
static struct failure f;

static void
test_a_second_call_is_refused_until_the_first_has_left(void **unused)
{
	(void)unused;
	riffle_gate_init(&gate, "reader", false);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(riffle_gate_enter(&gate, &f), FAIL_NONE);
		assert_int_equal(riffle_gate_enter(&gate, &f), FAIL_USAGE);
		assert_string_equal(f.text,
		    "another thread's call on this reader is in progress, and it takes one call "
		    "at a time: wait for that call, or open one reader per thread");
		riffle_gate_leave(&gate);
	}
	assert_true(riffle_gate_end(&gate));
}

static void
test_many_calls_enter_where_the_object_has_a_lock(void **unused)
{
	(void)unused;
	riffle_gate_init(&gate, "progress", true);
	assert_int_equal(riffle_gate_enter(&gate, &f), FAIL_NONE);
	assert_int_equal(riffle_gate_enter(&gate, &f), FAIL_NONE);
	riffle_gate_leave(&gate);
	riffle_gate_leave(&gate);
	assert_true(riffle_gate_end(&gate));
}

/* A call that waits in slices until it sees the end. */
static void *
wait_for_the_end(void *opaque)
{
	atomic_bool *inside = opaque;
	struct failure ignored;

	if (riffle_gate_enter(&gate, &ignored) != FAIL_NONE)
		return NULL;
	atomic_store(inside, true);
	while (!riffle_gate_ends(&gate))
		clock_pause_ms(1);
	clock_pause_ms(50); /* it takes a while to leave */
	atomic_store(inside, false);
	riffle_gate_leave(&gate);
	return &gate;
}

static void
test_the_end_waits_for_the_call_in_progress_and_lets_no_other_in(void **unused)
{
	atomic_bool inside = false;
	pthread_t thread;
	void *entered;

	(void)unused;
	riffle_gate_init(&gate, "reader", false);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_the_end, &inside), 0);
	while (!atomic_load(&inside))
		clock_pause_ms(1);
	assert_true(riffle_gate_end(&gate));
	assert_false(atomic_load(&inside));
	assert_int_equal(pthread_join(thread, &entered), 0);
	assert_non_null(entered);
	assert_int_equal(riffle_gate_fail_ended(&gate, &f), FAIL_USAGE);
	assert_string_equal(f.text, "this reader is being closed by another thread");
}

static void
test_the_child_of_a_fork_may_neither_enter_nor_end(void **unused)
{
	char before[64];
	int status;
	pid_t child;

	(void)unused;
	riffle_gate_init(&gate, "reader", false);
	assert_int_equal(riffle_gate_enter(&gate, &f), FAIL_NONE); /* and stays so in the child */
	snprintf(before, sizeof(before), "this reader was opened by process %d ", (int)getpid());
	child = fork();
	if (child == 0)
		_exit(riffle_gate_enter(&gate, &f) == FAIL_USAGE &&
			      strstr(f.text, before) == f.text && !riffle_gate_is_here(&gate) &&
			      !riffle_gate_end(&gate)
			  ? 0
			  : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	riffle_gate_leave(&gate);
	assert_true(riffle_gate_end(&gate));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_second_call_is_refused_until_the_first_has_left),
	    cmocka_unit_test(test_many_calls_enter_where_the_object_has_a_lock),
	    cmocka_unit_test(test_the_end_waits_for_the_call_in_progress_and_lets_no_other_in),
	    cmocka_unit_test(test_the_child_of_a_fork_may_neither_enter_nor_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
