/* bins.h against trying every bin for every item. */
#include "tests/unit/test.h"

#include <stdbool.h>
#include <time.h>

#include "producer/pack/bins.h"

static uint64_t state;

static uint64_t
random_below(uint64_t n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (state >> 33) % n;
}

/* The rule of the header, word by word. */
static size_t
assign_simply(uint32_t capacity, const uint32_t *length, size_t n, uint32_t *bin)
{
	static struct {
		uint32_t room;
		size_t since;
	} bins[BINS_ITEMS_MAX];
	static bool placed[BINS_ITEMS_MAX];
	size_t bins_n = 0;

	memset(placed, 0, sizeof(placed));
	for (size_t time = 0; time < n; time++) {
		size_t item = n, best = n;

		for (size_t i = 0; i < n; i++)
			if (!placed[i] && (item == n || length[i] > length[item]))
				item = i;
		for (size_t i = 0; i < bins_n; i++)
			if (bins[i].room >= length[item] &&
			    (best == n || bins[i].room < bins[best].room ||
				(bins[i].room == bins[best].room &&
				    bins[i].since > bins[best].since)))
				best = i;
		if (best == n) {
			best = bins_n++;
			bins[best].room = capacity;
		}
		bins[best].room -= length[item];
		bins[best].since = time;
		placed[item] = true;
		bin[item] = (uint32_t)best;
	}
	return bins_n;
}

static const struct {
	const char *claim;
	uint32_t capacity;
	uint32_t length[6];
	size_t n;
	uint32_t bin[6];
	size_t bins_n;
} cases[] = {
    {"nothing needs no bin", 4, {0}, 0, {0}, 0},
    {"the example of the header", 4, {2, 3, 2, 1}, 4, {1, 0, 1, 0}, 2},
    {"one that fills a bin", 4, {4}, 1, {0}, 1},
    {"capacity one", 1, {1, 1, 1}, 3, {0, 1, 2}, 3},
    {"two that fill it exactly", 4, {1, 3}, 2, {0, 0}, 1},
    {"two that are one too long", 4, {2, 3}, 2, {1, 0}, 2},
    {"the least room that is enough", 10, {7, 8, 2, 3}, 4, {1, 0, 0, 1}, 2},
    {"equal items by index, equal room to the latest", 10, {6, 6, 3, 3}, 4, {0, 1, 1, 0}, 2},
    {"the largest capacity", BINS_CAPACITY_MAX, {1, BINS_CAPACITY_MAX, 1 << 20}, 3, {1, 0, 1}, 2},
};

static void
test_items_go_where_the_rule_says(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, cases, claim) {
		struct bins *b;
		struct failure f;
		uint32_t bin[6];

		print_message("%s\n", cases[i].claim);
		assert_int_equal(bins_open(&b, cases[i].capacity, &f), FAIL_NONE);
		assert_int_equal(bins_assign(b, cases[i].length, cases[i].n, bin), cases[i].bins_n);
		for (size_t k = 0; k < cases[i].n; k++)
			assert_int_equal(bin[k], cases[i].bin[k]);
		bins_close(b);
	}
}

static void
test_random_items_go_where_trying_every_bin_puts_them(void **unused)
{
	static const uint32_t capacity[] = {
	    1, 2, 9, 63, 64, 65, 127, 128, 4095, 4096, 4097, 262144, BINS_CAPACITY_MAX};
	static uint32_t length[BINS_ITEMS_MAX], bin[BINS_ITEMS_MAX], simple[BINS_ITEMS_MAX];

	(void)unused;
	state = (uint64_t)time(NULL);
	print_message("seed %llu\n", (unsigned long long)state);
	EACH_ROW(i, capacity) {
		struct bins *b;
		struct failure f;

		assert_int_equal(bins_open(&b, capacity[i], &f), FAIL_NONE);
		for (int round = 0; round < 30; round++) { /* each begins with no bins */
			size_t n = random_below(300);
			uint64_t most = 1 + random_below(capacity[i]), bins_n;

			for (size_t k = 0; k < n; k++)
				length[k] = (uint32_t)(1 + random_below(most));
			bins_n = bins_assign(b, length, n, bin);
			assert_int_equal(bins_n, assign_simply(capacity[i], length, n, simple));
			assert_memory_equal(bin, simple, n * sizeof(*bin));
		}
		bins_close(b);
	}
}

static void
test_as_many_items_as_a_window_may_have(void **unused)
{
	static uint32_t length[BINS_ITEMS_MAX], bin[BINS_ITEMS_MAX], simple[BINS_ITEMS_MAX];
	struct bins *b;
	struct failure f;

	(void)unused;
	for (size_t i = 0; i < BINS_ITEMS_MAX; i++)
		length[i] = (uint32_t)(1 + i * 2654435761U % 2048);
	assert_int_equal(bins_open(&b, 2049, &f), FAIL_NONE);
	assert_int_equal(bins_assign(b, length, BINS_ITEMS_MAX, bin),
	    assign_simply(2049, length, BINS_ITEMS_MAX, simple));
	assert_memory_equal(bin, simple, sizeof(bin));
	bins_close(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_items_go_where_the_rule_says),
	    cmocka_unit_test(test_random_items_go_where_trying_every_bin_puts_them),
	    cmocka_unit_test(test_as_many_items_as_a_window_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
