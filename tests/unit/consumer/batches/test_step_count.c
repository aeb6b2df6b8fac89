#include "consumer/batches/step_count.h"

#include "tests/unit/test.h"

enum { LANE_MAX = 8, DAMAGED = -1 };

static const struct row {
	const char *name;
	uint64_t wanted;
	int64_t claimed[LANE_MAX];
	uint64_t stands[LANE_MAX];
	size_t n;
	uint64_t hole_first, hole_end;
} rows[] = {
    {"dense", 3, {1, 2, 3, 4}, {1, 2, 3, 4}, 4, 0, 0},
    {"hole below the wanted step", 30, {9, 16, 29, 30, 31}, {9, 16, 29, 30, 31}, 5, 10, 16},
    {"hole that holds the wanted step", 12, {9, 16}, {9, 16}, 2, 10, 16},
    {"hole at the wanted step", 10, {9, 16, 17}, {9, 10, 11}, 3, 10, 16},
    {"hole after the wanted step", 8, {8, 9, 16, 17}, {8, 9, 10, 11}, 4, 10, 16},
    {"first record beyond the wanted step", 12, {16, 17}, {16, 17}, 2, 12, 16},
    {"damaged below the wanted step", 12, {9, DAMAGED, 11, 12}, {9, 10, 11, 12}, 4, 0, 0},
    {"damaged before a hole", 30, {9, DAMAGED, 16, 17}, {9, 10, 16, 17}, 4, 11, 16},
    {"damaged at the wanted step", 10, {9, DAMAGED, 11}, {9, 10, 11}, 3, 0, 0},
    {"written twice below the wanted step", 12, {9, 10, 9, 10, 11, 12}, {9, 10, 9, 10, 11, 12}, 6,
	0, 0},
    {"an earlier step after the wanted one", 9, {9, 8, 11}, {9, 10, 11}, 3, 0, 0},
};

static void
test_a_record_stands_for_the_step_after_the_one_before_it(void **s)
{
	(void)s;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		const struct row *row = &rows[r];
		struct step_count c = {0};

		print_message("%s\n", row->name);
		for (size_t i = 0; i < row->n; i++) {
			uint64_t claimed = (uint64_t)row->claimed[i], step;

			step = step_count_record(
			    &c, row->wanted, row->claimed[i] == DAMAGED ? NULL : &claimed);
			assert_int_equal(step, row->stands[i]);
		}
		assert_int_equal(c.hole_first, row->hole_first);
		assert_int_equal(c.hole_end, row->hole_end);
	}
}

static void
test_the_first_hole_is_remembered(void **s)
{
	static const uint64_t claimed[] = {2, 5, 6, 20};
	struct step_count c = {0};

	(void)s;
	for (size_t i = 0; i < sizeof(claimed) / sizeof(claimed[0]); i++)
		step_count_record(&c, 30, &claimed[i]);
	assert_int_equal(c.hole_first, 3);
	assert_int_equal(c.hole_end, 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_record_stands_for_the_step_after_the_one_before_it),
	    cmocka_unit_test(test_the_first_hole_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
