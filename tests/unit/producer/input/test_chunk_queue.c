/*
 * chunk_queue.h: what a reader and a taker may rely on, with a thread for the reader where it
 * waits.
 */
#include "producer/input/chunk_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/test.h"

static struct chunk *
chunk_of(uint64_t document)
{
	struct chunk *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->record = calloc(1, sizeof(*c->record));
	assert_non_null(c->record);
	c->record[0].document = document;
	c->n = 1;
	return c;
}

static void
put(struct chunk_queue *q, uint64_t document)
{
	struct failure f;

	assert_int_equal(chunk_queue_put(q, chunk_of(document), &f), FAIL_NONE);
}

static void
take(struct chunk_queue *q, uint64_t document)
{
	struct failure f;
	struct chunk *c;

	assert_int_equal(chunk_queue_take(q, 0, &c, &f), FAIL_NONE);
	assert_non_null(c);
	assert_int_equal(c->record[0].document, document);
	chunk_close(c);
}

static void
test_chunks_come_in_order_then_the_end_however_often_it_is_asked(void **unused)
{
	const struct failure none = {.code = FAIL_NONE};
	struct chunk_queue *q;
	struct failure f;
	struct chunk *c;

	(void)unused;
	assert_int_equal(chunk_queue_open(&q, &f), FAIL_NONE);
	assert_int_equal(chunk_queue_take(q, 0, &c, &f), FAIL_TIMEOUT);
	for (uint64_t i = 0; i < 3 * CHUNK_QUEUE_MAX; i++) {
		put(q, i);
		if (i > 0)
			take(q, i - 1);
	}
	chunk_queue_finish(q, &none);
	take(q, 3 * CHUNK_QUEUE_MAX - 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(chunk_queue_take(q, -1, &c, &f), FAIL_NONE);
		assert_null(c);
	}
	chunk_queue_close(q);
}

static void
test_the_failure_of_the_reader_comes_behind_its_chunks(void **unused)
{
	struct failure why, f;
	struct chunk_queue *q;
	struct chunk *c;

	(void)unused;
	fail(&why, FAIL_IO, "file a: cannot be read");
	assert_int_equal(chunk_queue_open(&q, &f), FAIL_NONE);
	put(q, 0);
	chunk_queue_finish(q, &why);
	take(q, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(chunk_queue_take(q, 0, &c, &f), FAIL_IO);
		assert_string_equal(f.text, why.text);
	}
	chunk_queue_close(q);
}

static void *
put_one_too_many(void *queue)
{
	struct failure f;

	for (uint64_t i = 0; i < CHUNK_QUEUE_MAX; i++)
		chunk_queue_put(queue, chunk_of(i), &f);
	return chunk_queue_put(queue, chunk_of(CHUNK_QUEUE_MAX), &f) == FAIL_STOPPED ? queue : NULL;
}

static void
test_a_stop_ends_the_wait_for_room_and_closing_frees_what_is_left(void **unused)
{
	struct chunk_queue *q;
	struct failure f;
	pthread_t reader;
	void *stopped;

	(void)unused;
	assert_int_equal(chunk_queue_open(&q, &f), FAIL_NONE);
	assert_int_equal(pthread_create(&reader, NULL, put_one_too_many, q), 0);
	assert_false(chunk_queue_stopped(q));
	chunk_queue_stop(q);
	assert_true(chunk_queue_stopped(q));
	assert_int_equal(pthread_join(reader, &stopped), 0);
	assert_ptr_equal(stopped, q);
	chunk_queue_close(q);
}

/* A chunk that claims to hold N bytes; nothing reads them. */
static struct chunk *
heavy_chunk(uint64_t document, uint64_t n)
{
	struct chunk *c = chunk_of(document);

	c->record[0].n = n;
	return c;
}

static void
test_what_was_taken_no_longer_counts(void **unused)
{
	struct chunk_queue *q;
	struct failure f;

	(void)unused;
	alarm(120); /* a put that waits would wait forever */
	assert_int_equal(chunk_queue_open(&q, &f), FAIL_NONE);
	for (uint64_t i = 0; i < 20; i += 2) {
		assert_int_equal(
		    chunk_queue_put(q, heavy_chunk(i, CHUNK_QUEUE_BYTES * UINT64_C(3) / 4), &f),
		    FAIL_NONE);
		assert_int_equal(
		    chunk_queue_put(q, heavy_chunk(i + 1, 2 * CHUNK_QUEUE_BYTES), &f), FAIL_NONE);
		take(q, i);
		take(q, i + 1);
	}
	chunk_queue_close(q);
	alarm(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chunks_come_in_order_then_the_end_however_often_it_is_asked),
	    cmocka_unit_test(test_the_failure_of_the_reader_comes_behind_its_chunks),
	    cmocka_unit_test(test_a_stop_ends_the_wait_for_room_and_closing_frees_what_is_left),
	    cmocka_unit_test(test_what_was_taken_no_longer_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
