#include "common/base/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/memory.h"

static void
test_room_is_made_for_what_is_needed_and_for_twice_as_much(void **unused)
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
			    array_resize(&item, rows[i].room, sizeof(*item), &f), FAIL_NONE);
		room = rows[i].room;
		for (size_t k = 0; k < room; k++)
			item[k] = k;
		assert_int_equal(
		    array_reserve(&item, &room, rows[i].needed, sizeof(*item), &f), FAIL_NONE);
		assert_int_equal(room, rows[i].then);
		for (size_t k = 0; k < rows[i].room; k++)
			assert_int_equal(item[k], k);
		for (size_t k = rows[i].room; k < room; k++)
			item[k] = k;
		free(item);
	}
}

static void
test_without_memory_items_and_room_stay(void **unused)
{
	uint32_t *item = NULL, *before;
	size_t room = 0;
	struct failure f;

	(void)unused;
	assert_int_equal(array_reserve(&item, &room, 3, sizeof(*item), &f), FAIL_NONE);
	before = item;
	item[2] = 7;
	atomic_store(&memory_left, 1);
	assert_int_equal(array_reserve(&item, &room, 17, sizeof(*item), &f), FAIL_MEMORY);
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
	    cmocka_unit_test(test_room_is_made_for_what_is_needed_and_for_twice_as_much),
	    cmocka_unit_test(test_without_memory_items_and_room_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
