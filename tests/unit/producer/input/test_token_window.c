/* token_window.h: numbers of a file through a window that is smaller than it. */
#include "producer/input/token_window.h"

#include "tests/unit/folder.h"

enum { NUMBERS = 1000, ROOM = 64 };

static uint16_t number[NUMBERS];

static void
open_numbers(struct token_window *w)
{
	struct failure f;

	for (size_t i = 0; i < NUMBERS; i++)
		number[i] = (uint16_t)(7 * i);
	folder_write("numbers", number, sizeof(number));
	*w = (struct token_window){0};
	assert_int_equal(
	    token_window_open(w, folder_path("numbers"), "numbers", ROOM, &f), FAIL_NONE);
	assert_int_equal(w->size_bytes, sizeof(number));
}

static void
test_every_number_is_read_forward_backward_and_at_random(void **unused)
{
	struct token_window w;
	struct failure f;
	uint64_t value;

	(void)unused;
	open_numbers(&w);
	for (size_t i = 0; i < 3 * NUMBERS; i++) {
		size_t at = i < NUMBERS       ? i
			    : i < 2 * NUMBERS ? 2 * NUMBERS - 1 - i
					      : i * 617 % NUMBERS;

		assert_int_equal(token_window_number(&w, 2 * at, 2, &value, &f), FAIL_NONE);
		assert_int_equal(value, number[at]);
	}
	token_window_close(&w);
}

static void
test_a_window_gives_all_that_it_holds_and_nothing_behind_the_file(void **unused)
{
	struct token_window w;
	struct failure f;
	const uint8_t *at;
	size_t got;

	(void)unused;
	open_numbers(&w);
	assert_int_equal(token_window_get(&w, 10, 2, &at, &got, &f), FAIL_NONE);
	assert_int_equal(got, ROOM);
	assert_memory_equal(at, (const uint8_t *)number + 10, ROOM);
	assert_int_equal(token_window_get(&w, 12, ROOM - 2, &at, &got, &f), FAIL_NONE);
	assert_int_equal(got, ROOM - 2); /* the same window */
	assert_int_equal(token_window_get(&w, sizeof(number) - 2, 2, &at, &got, &f), FAIL_NONE);
	assert_int_equal(got, 2);
	assert_int_equal(token_window_get(&w, sizeof(number) - 2, 4, &at, &got, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "numbers: is truncated: 2000 bytes"));
	assert_int_equal(token_window_get(&w, sizeof(number) + 1, 1, &at, &got, &f), FAIL_DATA);
	token_window_close(&w);
}

static void
test_an_empty_file_is_empty_and_one_of_proc_is_a_failure(void **unused)
{
	struct token_window w = {0};
	struct failure f;

	(void)unused;
	folder_write("empty", number, 0);
	assert_int_equal(token_window_open(&w, folder_path("empty"), "empty", ROOM, &f), FAIL_NONE);
	token_window_close(&w);
	assert_int_equal(token_window_open(&w, "/proc/self/status", "status", ROOM, &f), FAIL_IO);
	assert_non_null(
	    strstr(f.text, "file status: has a size of 0 bytes, but reading it gave 1, "));
}

static void
test_a_file_that_shrinks_while_it_is_read_is_a_failure(void **unused)
{
	struct token_window w;
	struct failure f;
	uint64_t value;

	(void)unused;
	open_numbers(&w);
	assert_int_equal(token_window_number(&w, 0, 2, &value, &f), FAIL_NONE);
	folder_write("numbers", number, 100);
	assert_int_equal(token_window_number(&w, 1000, 2, &value, &f), FAIL_IO);
	assert_non_null(strstr(f.text, "had 2000 bytes when it was opened, and ends at 1000"));
	token_window_close(&w);
}

static void
test_what_is_no_regular_file_is_refused(void **unused)
{
	struct token_window w = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(token_window_open(&w, "/dev/null", "null", ROOM, &f), FAIL_DATA);
	assert_int_equal(
	    token_window_open(&w, folder_path("missing"), "missing", ROOM, &f), FAIL_IO);
	token_window_close(&w); /* one that is not open is accepted */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_number_is_read_forward_backward_and_at_random),
	    cmocka_unit_test(test_a_window_gives_all_that_it_holds_and_nothing_behind_the_file),
	    cmocka_unit_test(test_an_empty_file_is_empty_and_one_of_proc_is_a_failure),
	    cmocka_unit_test(test_a_file_that_shrinks_while_it_is_read_is_a_failure),
	    cmocka_unit_test(test_what_is_no_regular_file_is_refused),
	};

	return cmocka_run_group_tests(tests, folder_open, folder_close);
}
