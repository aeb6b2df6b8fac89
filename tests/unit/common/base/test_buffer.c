#include "common/base/buffer.h"

#include "tests/unit/memory.h"

enum { ROOM_MIN = 4096 }; /* the room of a buffer that was asked for little */

static void
test_a_zeroed_buffer_is_empty_and_can_be_closed_twice(void **unused)
{
	struct buffer b = {0};

	(void)unused;
	buffer_close(&b);
	buffer_close(&b);
	assert_null(b.bytes);
	assert_int_equal(b.n, 0);
	assert_int_equal(b.room, 0);
}

static void
test_room_grows_at_the_first_byte_beyond_it_and_not_before(void **unused)
{
	static const struct {
		size_t have_n, more; /* bytes[have_n] in a room of ROOM_MIN */
		size_t room;         /* afterwards */
	} rows[] = {
	    {0, 0, ROOM_MIN},
	    {0, ROOM_MIN, ROOM_MIN},
	    {ROOM_MIN - 1, 1, ROOM_MIN},
	    {ROOM_MIN, 0, ROOM_MIN},
	    {0, ROOM_MIN + 1, 2 * ROOM_MIN},
	    {ROOM_MIN, 1, 2 * ROOM_MIN},
	    {ROOM_MIN, ROOM_MIN, 2 * ROOM_MIN},
	    {ROOM_MIN, ROOM_MIN + 1, 2 * ROOM_MIN + 1}, /* twice as much is too little */
	    {0, 10 * ROOM_MIN, 10 * ROOM_MIN},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct buffer b = {0};
		struct failure f = {0};

		assert_int_equal(buffer_reserve(&b, 1, &f), FAIL_NONE);
		assert_int_equal(b.room, ROOM_MIN);
		b.n = rows[i].have_n;
		assert_int_equal(buffer_reserve(&b, rows[i].more, &f), FAIL_NONE);
		assert_int_equal(b.room, rows[i].room);
		assert_int_equal(b.n, rows[i].have_n);
		buffer_close(&b);
	}
}

static void
test_nothing_is_allocated_for_no_bytes(void **unused)
{
	struct buffer b = {0};
	struct failure f = {0};

	(void)unused;
	assert_int_equal(buffer_reserve(&b, 0, &f), FAIL_NONE);
	assert_int_equal(buffer_add(&b, NULL, 0, &f), FAIL_NONE);
	assert_null(b.bytes);
	assert_int_equal(b.room, 0);
}

static void
test_pieces_come_one_behind_the_other_across_every_growth(void **unused)
{
	struct buffer b = {0};
	struct failure f = {0};
	uint8_t piece[97];
	size_t total = 0;

	(void)unused;
	for (size_t n = 0; total < 9 * ROOM_MIN; n = (n + 1) % sizeof(piece)) {
		for (size_t i = 0; i < n; i++)
			piece[i] = (uint8_t)((total + i) % 251);
		assert_int_equal(buffer_add(&b, piece, n, &f), FAIL_NONE);
		total += n;
		assert_int_equal(b.n, total);
		assert_true(b.n <= b.room);
	}
	for (size_t i = 0; i < total; i++)
		assert_int_equal(b.bytes[i], i % 251);
	buffer_close(&b);
}

static void
test_an_emptied_buffer_keeps_its_memory(void **unused)
{
	struct buffer b = {0};
	struct failure f = {0};
	const uint8_t *bytes;

	(void)unused;
	assert_int_equal(buffer_reserve(&b, 3 * ROOM_MIN, &f), FAIL_NONE);
	bytes = b.bytes;
	b.n = 0;
	assert_int_equal(buffer_add(&b, "again", 5, &f), FAIL_NONE);
	assert_ptr_equal(b.bytes, bytes);
	assert_int_equal(b.room, 3 * ROOM_MIN);
	assert_memory_equal(b.bytes, "again", 5);
	buffer_close(&b);
}

static void
test_a_size_that_no_memory_has_fails_and_changes_nothing(void **unused)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 2, SIZE_MAX / 4, SIZE_MAX / 4 - 2};
	struct buffer b = {0};
	struct failure f = {0};

	(void)unused;
	assert_int_equal(buffer_add(&b, "abc", 3, &f), FAIL_NONE);
	EACH_ROW(i, sizes) {
		f = (struct failure){0};
		assert_int_equal(buffer_reserve(&b, sizes[i], &f), FAIL_MEMORY);
		assert_int_equal(f.code, FAIL_MEMORY);
		assert_int_equal(b.n, 3);
		assert_int_equal(b.room, ROOM_MIN);
		assert_memory_equal(b.bytes, "abc", 3);
	}
	buffer_close(&b);
}

/* Three allocations: the first piece, growth by a small one, growth by a large one. */
static enum fail_code
grow(uint64_t *gave, struct failure *f)
{
	static const uint8_t piece[5 * ROOM_MIN] = {1, 2, 3};
	static const size_t sizes[] = {ROOM_MIN, 1, sizeof(piece)};
	struct buffer b = {0};
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; code == FAIL_NONE && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct buffer before = b;

		code = buffer_add(&b, piece, sizes[i], f);
		if (code != FAIL_NONE) /* the buffer is as it was */
			assert_memory_equal(&b, &before, sizeof(b));
	}
	memory_gave_bytes(gave, b.bytes, b.n);
	buffer_close(&b);
	return code;
}

static void
test_a_refused_growth_leaves_the_buffer_as_it_was(void **unused)
{
	(void)unused;
	memory_walk("buffer", grow);
}

static void
test_an_array_has_room_for_what_is_needed_and_for_twice_as_much(void **unused)
{
	static const struct {
		size_t room, needed, then;
	} rows[] = {
	    {0, 0, 0},
	    {0, 1, 16},
	    {16, 16, 16},
	    {16, 17, 48},
	    {48, 112, 112},
	    {48, 113, 113}, /* twice as much is too little */
	    {48, 1000, 1000},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		uint64_t *item = NULL;
		size_t room = 0;
		struct failure f;

		if (rows[i].room > 0)
			assert_int_equal(
			    buffer_resize_items(&item, rows[i].room, sizeof(*item), &f), FAIL_NONE);
		room = rows[i].room;
		for (size_t k = 0; k < room; k++)
			item[k] = k;
		assert_int_equal(
		    buffer_reserve_items(&item, &room, rows[i].needed, sizeof(*item), &f),
		    FAIL_NONE);
		assert_int_equal(room, rows[i].then);
		for (size_t k = 0; k < rows[i].room; k++)
			assert_int_equal(item[k], k);
		for (size_t k = rows[i].room; k < room; k++)
			item[k] = k;
		free(item);
	}
}

static void
test_without_memory_items_and_their_room_stay(void **unused)
{
	uint32_t *item = NULL, *before;
	size_t room = 0;
	struct failure f;

	(void)unused;
	assert_int_equal(buffer_reserve_items(&item, &room, 3, sizeof(*item), &f), FAIL_NONE);
	before = item;
	item[2] = 7;
	atomic_store(&memory_left, 1);
	assert_int_equal(buffer_reserve_items(&item, &room, 17, sizeof(*item), &f), FAIL_MEMORY);
	atomic_store(&memory_left, 0);
	assert_ptr_equal(item, before);
	assert_int_equal(room, 16);
	assert_int_equal(item[2], 7);
	free(item);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_zeroed_buffer_is_empty_and_can_be_closed_twice),
	    cmocka_unit_test(test_room_grows_at_the_first_byte_beyond_it_and_not_before),
	    cmocka_unit_test(test_nothing_is_allocated_for_no_bytes),
	    cmocka_unit_test(test_pieces_come_one_behind_the_other_across_every_growth),
	    cmocka_unit_test(test_an_emptied_buffer_keeps_its_memory),
	    cmocka_unit_test(test_a_size_that_no_memory_has_fails_and_changes_nothing),
	    cmocka_unit_test(test_a_refused_growth_leaves_the_buffer_as_it_was),
	    cmocka_unit_test(test_an_array_has_room_for_what_is_needed_and_for_twice_as_much),
	    cmocka_unit_test(test_without_memory_items_and_their_room_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
