/* metrics_board.h: who asks gets a text of now, or the last one where the other is busy. */
#include "common/metrics/metrics_board.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/unit/test.h"

enum { ASKERS = 3, TIMES = 200, PATIENT_MS = 60000 };

static struct metrics_board board;
static atomic_bool over, wrong;

static void
put(int64_t n)
{
	struct metrics_text t = {0};

	metrics_count(&t, METRICS_MIX_STEPS, n, "m", NULL);
	metrics_board_put(&board, &t);
}

static void *
work(void *unused)
{
	int64_t n = 0;

	(void)unused;
	while (!atomic_load(&over))
		if (metrics_board_wanted(&board))
			put(++n);
	return NULL;
}

/* Each answer is at least as new as the one before. */
static void *
ask_often(void *unused)
{
	long last = 0;

	(void)unused;
	for (int i = 0; i < TIMES; i++) {
		int64_t began_ms = clock_ms();
		char *text = metrics_board_ask(&board, PATIENT_MS);
		const char *sample = text == NULL ? NULL : strstr(text, "{mix=\"m\"} ");
		long n = sample == NULL ? 0 : strtol(sample + strlen("{mix=\"m\"} "), NULL, 10);

		free(text);
		if (n <= last || clock_ms() - began_ms >= PATIENT_MS) {
			atomic_store(&wrong, true); /* cmocka fails in its own thread only */
			return NULL;
		}
		last = n;
	}
	return NULL;
}

static void
test_every_asker_gets_a_text_that_was_made_for_it(void **unused)
{
	pthread_t worker, asker[ASKERS];

	(void)unused;
	metrics_board_init(&board);
	assert_int_equal(pthread_create(&worker, NULL, work, NULL), 0);
	for (size_t i = 0; i < ASKERS; i++)
		assert_int_equal(pthread_create(&asker[i], NULL, ask_often, NULL), 0);
	for (size_t i = 0; i < ASKERS; i++)
		pthread_join(asker[i], NULL);
	atomic_store(&over, true);
	pthread_join(worker, NULL);
	assert_false(atomic_load(&wrong));
	metrics_board_close(&board);
}

static void
test_without_an_answer_the_last_text_is_given(void **unused)
{
	char *text;

	(void)unused;
	metrics_board_init(&board);
	assert_false(metrics_board_wanted(&board));
	text = metrics_board_ask(&board, 1);
	assert_string_equal(text, "");
	free(text);
	assert_true(metrics_board_wanted(&board));
	put(7);
	assert_false(metrics_board_wanted(&board));
	text = metrics_board_ask(&board, 1);
	assert_non_null(strstr(text, "\nriffle_mix_steps_total{mix=\"m\"} 7\n"));
	free(text);
	metrics_board_close(&board);
	assert_false(metrics_board_wanted(NULL));
}

/* Twice, for the second that is left of a clock's second. */
static void
test_an_answer_that_does_not_come_is_waited_for_as_long_as_was_said(void **unused)
{
	(void)unused;
	metrics_board_init(&board);
	put(1);
	for (int i = 0; i < 2; i++) {
		int64_t began_ms = clock_ms();

		free(metrics_board_ask(&board, 400));
		assert_true(clock_ms() - began_ms >= 399);
	}
	metrics_board_close(&board);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_asker_gets_a_text_that_was_made_for_it),
	    cmocka_unit_test(test_without_an_answer_the_last_text_is_given),
	    cmocka_unit_test(test_an_answer_that_does_not_come_is_waited_for_as_long_as_was_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
