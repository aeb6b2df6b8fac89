/* pool.h: order, failures, bounds and closing with jobs under way. */
#include "tests/unit/test.h"

#include <stdatomic.h>

#include "common/base/clock.h"
#include "producer/produce/pool.h"

static atomic_int memories, dropped;

static enum fail_code
open_memory(void **out, void *context, struct failure *f)
{
	int *left = context;

	if (left != NULL && (*left)-- == 0)
		return fail_memory(f);
	*out = malloc(1);
	memories++;
	return FAIL_NONE;
}

static void
close_memory(void *memory)
{
	free(memory);
	memories--;
}

static void
drop(enum pool_line line, void *job)
{
	(void)line;
	(void)job;
	dropped++;
}

/* A job is a number: later ones are quicker, so that they would overtake. */
static enum fail_code
work(void *job, void *memory, struct failure *f)
{
	int *number = job;

	assert_non_null(memory);
	clock_pause_ms(*number % 7 == 0 ? 3 : 0);
	if (*number == 500)
		return fail(f, FAIL_DATA, "job %d", *number);
	*number += 1000;
	return FAIL_NONE;
}

static struct pool *
open_pool(size_t workers, size_t depth)
{
	struct pool_memory memory = {.open = open_memory, .close = close_memory};
	struct pool *p = NULL;
	struct failure f;

	assert_int_equal(pool_open(&p, workers, depth, &memory, &f), FAIL_NONE);
	return p;
}

static void
test_jobs_come_back_done_and_in_order_on_both_lines(void **state)
{
	struct pool *p = open_pool(3, 5);
	int number[2][200], taken[2] = {0, 0}, put[2] = {0, 0};
	struct failure f;

	(void)state;
	while (taken[0] < 200 || taken[1] < 200) {
		for (int l = 0; l < 2; l++) {
			void *job;

			while (put[l] < 200 && !pool_full(p, (enum pool_line)l)) {
				number[l][put[l]] = put[l];
				pool_submit(p, (enum pool_line)l, &number[l][put[l]], work);
				put[l]++;
			}
			assert_true(put[l] - taken[l] <= 5);
			assert_int_equal(
			    pool_take(p, (enum pool_line)l, l == 1, &job, &f), FAIL_NONE);
			if (job == NULL)
				continue;
			assert_ptr_equal(job, &number[l][taken[l]]);
			assert_int_equal(number[l][taken[l]], taken[l] + 1000);
			taken[l]++;
		}
	}
	assert_true(pool_empty(p, POOL_TEXTS) && pool_empty(p, POOL_FRAMES));
	pool_close(p, drop);
	assert_int_equal(memories, 0);
}

static void
test_a_failed_job_comes_back_in_its_place_with_its_failure(void **state)
{
	struct pool *p = open_pool(2, 3);
	int number[3] = {499, 500, 501};
	struct failure f;
	void *job;

	(void)state;
	for (int i = 0; i < 3; i++)
		pool_submit(p, POOL_TEXTS, &number[i], work);
	assert_int_equal(pool_take(p, POOL_TEXTS, true, &job, &f), FAIL_NONE);
	assert_int_equal(pool_take(p, POOL_TEXTS, true, &job, &f), FAIL_DATA);
	assert_ptr_equal(job, &number[1]);
	assert_string_equal(f.text, "job 500");
	assert_int_equal(pool_take(p, POOL_TEXTS, true, &job, &f), FAIL_NONE);
	assert_ptr_equal(job, &number[2]);
	pool_close(p, drop);
}

static void
test_closing_drops_what_was_not_taken(void **state)
{
	struct pool *p = open_pool(2, 4);
	int number[8] = {0};

	(void)state;
	dropped = 0;
	for (int i = 0; i < 4; i++) {
		pool_submit(p, POOL_TEXTS, &number[i], work);
		pool_submit(p, POOL_FRAMES, &number[4 + i], work);
	}
	pool_close(p, drop);
	assert_int_equal(dropped, 8);
	assert_int_equal(memories, 0);
}

static void
test_a_worker_without_memory_fails_the_opening_and_leaks_nothing(void **state)
{
	int left = 2;
	struct pool_memory memory = {.open = open_memory, .close = close_memory, .context = &left};
	struct pool *p = NULL;
	struct failure f;

	(void)state;
	assert_int_equal(pool_open(&p, 4, 2, &memory, &f), FAIL_MEMORY);
	assert_int_equal(memories, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_jobs_come_back_done_and_in_order_on_both_lines),
	    cmocka_unit_test(test_a_failed_job_comes_back_in_its_place_with_its_failure),
	    cmocka_unit_test(test_closing_drops_what_was_not_taken),
	    cmocka_unit_test(test_a_worker_without_memory_fails_the_opening_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
