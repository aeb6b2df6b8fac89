/* resume.h: where a lane goes on, decided from the states of its partitions. */
#include "tests/unit/test.h"

#include <string.h>

#include "producer/resume.h"

#define FRESH                                                                                      \
	{                                                                                          \
		.state = RESUME_FRESH                                                              \
	}
#define ENDED                                                                                      \
	{                                                                                          \
		.state = RESUME_ENDED                                                              \
	}
#define AT(n)                                                                                      \
	{                                                                                          \
		.state = RESUME_PARTIAL, .document = n, .byte = 10 * n, .line = n + 1,             \
		.file = file                                                                       \
	}

static char file[] = "f.jsonl";

static const struct {
	const char *claim;
	struct resume r[3];
	bool needed, from_start;
	uint64_t document;
} cases[] = {
    {"nothing there: from the start", {FRESH, FRESH, FRESH}, true, true, 0},
    {"all ended: nothing to do", {ENDED, ENDED, ENDED}, false, false, 0},
    {"the earliest of several", {AT(9), AT(4), AT(7)}, true, false, 4},
    {"one that has nothing yet needs the start", {AT(9), FRESH, AT(7)}, true, true, 0},
    {"an ended one needs nothing", {AT(9), ENDED, AT(7)}, true, false, 7},
    {"ended beside fresh: from the start", {ENDED, FRESH, ENDED}, true, true, 0},
    {"document 0 is a place too", {AT(0), AT(3), ENDED}, true, false, 0},
};

static void
test_a_lane_goes_on_at_the_earliest_place_that_a_partition_needs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct input_position from;
		bool from_start, needed;

		print_message("%s\n", cases[i].claim);
		resume_start(cases[i].r, 3, &from, &from_start, &needed);
		assert_int_equal(needed, cases[i].needed);
		assert_int_equal(from_start, cases[i].from_start);
		if (!needed || from_start)
			continue;
		assert_int_equal(from.document, cases[i].document);
		assert_int_equal(from.byte, 10 * cases[i].document);
		assert_int_equal(from.line, cases[i].document + 1);
		assert_ptr_equal(from.file, file);
	}
}

static const struct {
	const char *claim;
	uint64_t offset; /* of the last token in its document */
	uint32_t tail[4];
	size_t tail_n;
	uint32_t document[6];
	size_t n;
	bool fits;
} fits[] = {
    {"the same document", 3, {3, 4}, 2, {1, 2, 3, 4, 5}, 5, true},
    {"its whole beginning", 1, {1, 2}, 2, {1, 2, 3}, 3, true},
    {"it ends with the tail", 2, {2, 3}, 2, {1, 2, 3}, 3, true},
    {"one token", 0, {1}, 1, {1}, 1, true},
    {"one token too short", 3, {3, 4}, 2, {1, 2, 3}, 3, false},
    {"empty but for its eos", 3, {3, 4}, 2, {0}, 1, false},
    {"another first token of the tail", 3, {9, 4}, 2, {1, 2, 3, 4, 5}, 5, false},
    {"another last token of the tail", 3, {3, 9}, 2, {1, 2, 3, 4, 5}, 5, false},
    {"moved by one token", 3, {3, 4}, 2, {0, 1, 2, 3, 4, 5}, 6, false},
};

static void
test_a_document_fits_if_it_has_the_tokens_of_the_last_record_in_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		uint32_t tail[4];
		struct resume r = {.state = RESUME_PARTIAL,
		    .offset = fits[i].offset,
		    .tail = tail,
		    .tail_n = fits[i].tail_n};

		memcpy(tail, fits[i].tail, sizeof(tail));
		print_message("%s\n", fits[i].claim);
		assert_int_equal(resume_fits(&r, fits[i].document, fits[i].n), fits[i].fits);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_lane_goes_on_at_the_earliest_place_that_a_partition_needs),
	    cmocka_unit_test(
		test_a_document_fits_if_it_has_the_tokens_of_the_last_record_in_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
