/*
 * input_live.c: files that keep arriving while what makes them durable is slow, or does not answer.
 */
#include "producer/input/input.h"

#include "common/base/clock.h"
#include "producer/input/live_order.h"
#include "tests/unit/folder.h"

enum { PAUSES = 3, PATIENCE_MS = 20000, LOOK_MS = 20 };

/* Stands for the log of arrivals. */
struct keeper {
	int pauses;          /* it says "not yet" so often, -1: always; then: */
	enum fail_code then; /* for good */
	int calls, portions; /* so far; with how many portions in all */
};

static struct live_order order;
static struct keeper keeper;
static struct input *in;

static enum fail_code
keep(void *opaque, const struct arrivals_portion *p, size_t n, struct failure *f)
{
	struct keeper *k = opaque;

	(void)p;
	__atomic_add_fetch(&k->calls, 1, __ATOMIC_SEQ_CST);
	k->portions += (int)n;
	if (k->pauses == 0)
		return k->then == FAIL_NONE ? FAIL_NONE : fail(f, k->then, "the log is gone");
	k->pauses -= k->pauses > 0;
	clock_pause_ms(1);
	return fail(f, FAIL_TIMEOUT, "not yet");
}

static int
open_files(void **state)
{
	order = (struct live_order){0};
	return folder_open(state);
}

static int
close_files(void **state)
{
	live_order_close(&order);
	return folder_close(state);
}

/* A followed folder with one file of one record. */
static void
follow(struct keeper k)
{
	static char *text[] = {"*.jsonl"};
	struct config_list patterns = {1, text};
	struct input_live_options live = {.order = &order, .keep = keep, .opaque = &keeper};
	struct input_options o = {.patterns = &patterns,
	    .folder = folder,
	    .partitions = 1,
	    .max_document_bytes = 1 << 20,
	    .live = &live,
	    .follow = true};
	struct failure f;

	keeper = k;
	folder_text("a.jsonl", "{\"text\": \"x\"}\n");
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
}

/* What comes first that is not a pause. */
static enum fail_code
next(struct chunk **chunk, struct failure *f)
{
	int64_t end_ms = clock_ms() + PATIENCE_MS;
	enum fail_code code;

	do
		code = input_next_within(in, LOOK_MS, chunk, f);
	while (code == FAIL_TIMEOUT && clock_ms() < end_ms);
	return code;
}

static void
test_a_log_that_is_slow_is_waited_for_and_told_once(void **unused)
{
	struct chunk *chunk;
	struct failure f;

	(void)unused;
	follow((struct keeper){.pauses = PAUSES});
	assert_int_equal(next(&chunk, &f), FAIL_NONE);
	assert_int_equal(chunk->n, 1);
	chunk_close(chunk);
	input_close(in);
	assert_int_equal(keeper.calls, PAUSES + 1);
	assert_int_equal(keeper.portions, 1);
}

static void
test_nothing_is_read_before_it_is_durable_and_a_stop_does_not_wait_for_that(void **unused)
{
	struct chunk *chunk;
	struct failure f;
	int64_t end_ms = clock_ms() + PATIENCE_MS;

	(void)unused;
	follow((struct keeper){.pauses = -1});
	while (__atomic_load_n(&keeper.calls, __ATOMIC_SEQ_CST) < PAUSES && clock_ms() < end_ms)
		assert_int_equal(input_next_within(in, LOOK_MS, &chunk, &f), FAIL_TIMEOUT);
	input_close(in);
	assert_true(clock_ms() < end_ms);
	assert_int_equal(order.n, 0);
}

static void
test_a_log_that_fails_ends_the_input(void **unused)
{
	struct chunk *chunk;
	struct failure f;

	(void)unused;
	follow((struct keeper){.pauses = PAUSES, .then = FAIL_BROKER});
	for (int again = 0; again < 2; again++) {
		assert_int_equal(next(&chunk, &f), FAIL_BROKER);
		assert_string_equal(f.text, "the log is gone");
	}
	input_close(in);
}

/* The order has the portions of files a, b and c, of ten bytes each. */
static void
test_a_resume_begins_where_the_order_has_its_place(void **unused)
{
	static const struct {
		bool ended;
		uint64_t files;
		bool other_names;
		const char *file;
		uint64_t byte;
		size_t portion; /* LIVE_ORDER_NONE: refused */
	} rows[] = {
	    {false, 0, false, "a", 0, 0}, {false, 0, false, "b", 9, 1},
	    {false, 2, false, "b", 9, 1}, {false, 2, true, "b", 9, LIVE_ORDER_NONE},
	    {false, 4, false, "b", 9, LIVE_ORDER_NONE}, /* more than there are */
	    {false, 0, false, "b", 10, LIVE_ORDER_NONE},
	    {false, 0, false, NULL, 0, LIVE_ORDER_NONE}, {true, 3, false, "c", 10, 3},
	    {true, 1, false, "a", 10, 1}, {true, 1, true, "a", 10, LIVE_ORDER_NONE},
	    {true, 0, false, NULL, 0, 0}, /* it ended with nothing read */
	};
	struct live_order_portion p = {.end = 10, .line = 1};
	struct failure f;

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(live_order_file(&order, &"abc"[i], 1, &p.file, &f), FAIL_NONE);
		p.hash = i;
		assert_int_equal(live_order_add(&order, &p, &f), FAIL_NONE);
	}
	EACH_ROW(i, rows) {
		const struct input_position from = {.ended = rows[i].ended,
		    .files = rows[i].files,
		    .names = (rows[i].files <= 3 ? live_order_hash(&order, rows[i].files) : 0) +
			     rows[i].other_names,
		    .file = rows[i].file,
		    .byte = rows[i].byte};
		size_t portion = 99;

		assert_int_equal(input_live_start(&order, &from, &portion, &f),
		    rows[i].portion == LIVE_ORDER_NONE ? FAIL_DATA : FAIL_NONE);
		if (rows[i].portion != LIVE_ORDER_NONE)
			assert_int_equal(portion, rows[i].portion);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_a_log_that_is_slow_is_waited_for_and_told_once, open_files, close_files),
	    cmocka_unit_test_setup_teardown(
		test_nothing_is_read_before_it_is_durable_and_a_stop_does_not_wait_for_that,
		open_files, close_files),
	    cmocka_unit_test_setup_teardown(
		test_a_log_that_fails_ends_the_input, open_files, close_files),
	    cmocka_unit_test_setup_teardown(
		test_a_resume_begins_where_the_order_has_its_place, open_files, close_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
