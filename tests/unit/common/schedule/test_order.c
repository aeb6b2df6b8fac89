/* permutation.h and order.h: bijections, vectors, and epochs that visit every sequence once. */
#include "tests/unit/test.h"

#include "common/schedule/order.h"

static const uint64_t sizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4096, 4097, 30000};

static void
test_every_permutation_is_a_bijection_with_its_inverse(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint64_t n = sizes[k];
		uint8_t *seen = calloc(n, 1);
		struct permutation p;

		assert_non_null(seen);
		permutation_init(&p, n, permutation_key("web", 1234), k);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t to = permutation_at(&p, i);

			assert_true(to < n);
			assert_int_equal(seen[to], 0);
			seen[to] = 1;
			assert_int_equal(permutation_where(&p, to), i);
		}
		free(seen);
	}
}

static void
test_a_permutation_of_any_size_stays_in_range(void **state)
{
	(void)state;
	for (uint64_t n = UINT64_C(1) << 40; n < (UINT64_C(1) << 62); n = n * 5 + 3) {
		struct permutation p;

		permutation_init(&p, n, 7, 0);
		assert_int_equal(permutation_where(&p, permutation_at(&p, n - 1)), n - 1);
	}
}

/* name seed n epoch: the first eight values */
static void
test_published_vectors_hold(void **state)
{
	FILE *in = fopen("tests/vectors/permutation.tsv", "r");
	char name[64], line[512];
	int rows = 0;

	(void)state;
	assert_non_null(in);
	while (fgets(line, sizeof(line), in) != NULL) {
		unsigned long long seed, n, epoch, value;
		struct permutation p;
		int used, more;

		if (line[0] == '#')
			continue;
		assert_int_equal(
		    sscanf(line, "%63s %llu %llu %llu%n", name, &seed, &n, &epoch, &used), 4);
		permutation_init(&p, n, permutation_key(name, seed), epoch);
		for (uint64_t i = 0; i < 8 && i < n; i++, used += more) {
			assert_int_equal(sscanf(line + used, "%llu%n", &value, &more), 1);
			assert_int_equal(permutation_at(&p, i), value);
		}
		rows++;
	}
	fclose(in);
	assert_int_equal(rows, 6);
}

static const struct {
	size_t partitions_n;
	uint64_t sequences[4];
	uint32_t block, window;
} layouts[] = {
    {1, {1}, 512, 1},
    {1, {511}, 512, 1},
    {1, {512}, 512, 1},
    {1, {513}, 512, 1},
    {1, {10000}, 64, 1},
    {1, {10000}, 64, 5},
    {1, {7}, 1, 16},
    {2, {300, 130}, 64, 1},
    {4, {1000, 0, 3, 257}, 16, 3},
    {4, {5, 5, 5, 6}, 4, 2},
};

/* Visits one epoch; returns a hash-like sum of the order, and checks each sequence comes once. */
static uint64_t
visit(struct order *o, size_t layout, uint64_t epoch)
{
	uint8_t *seen[4];
	uint64_t sum = 0;

	order_restart(o, epoch);
	for (size_t p = 0; p < layouts[layout].partitions_n; p++) {
		seen[p] = calloc(layouts[layout].sequences[p] + 1, 1);
		assert_non_null(seen[p]);
	}
	for (uint64_t at = 0; at < order_length(o);) {
		struct order_window w;

		order_window_at(o, at, &w);
		assert_int_equal(w.first, at);
		assert_true(w.blocks_n <= layouts[layout].window);
		for (; at < w.first + w.count; at++) {
			struct order_place place = order_place_at(&w, at);
			struct order_window again;

			assert_true(place.ordinal < layouts[layout].sequences[place.partition]);
			assert_int_equal(seen[place.partition][place.ordinal]++, 0);
			assert_int_equal(place.ordinal, w.block[place.block].first + place.slot);
			sum = sum * 31 + place.ordinal * 4 + place.partition;
			order_window_at(o, at, &again);
			assert_int_equal(again.number, w.number);
		}
	}
	for (size_t p = 0; p < layouts[layout].partitions_n; p++) {
		for (uint64_t i = 0; i < layouts[layout].sequences[p]; i++)
			assert_int_equal(seen[p][i], 1);
		free(seen[p]);
	}
	return sum;
}

static void
test_each_epoch_visits_every_sequence_once_in_another_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct order *o;
		struct failure f;
		uint64_t first, second;

		assert_int_equal(order_open(&o, layouts[i].sequences, layouts[i].partitions_n,
				     layouts[i].block, layouts[i].window, 99, &f),
		    FAIL_NONE);
		first = visit(o, i, 0);
		second = visit(o, i, 1);
		assert_int_equal(visit(o, i, 0), first);
		if (order_length(o) > 8)
			assert_int_not_equal(first, second);
		order_close(o);
	}
}

static void
test_a_position_is_found_from_its_sequence(void **state)
{
	static const uint64_t row[][3] = {
	    {1, 0, 0}, {16, 0, 0}, {17, 3, 40}, {100, 0, 31}, {5, 5, 5}, {64, 64, 64}, {200, 1, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (uint32_t window = 1; window <= 3; window++)
			for (uint64_t epoch = 0; epoch < 3; epoch++) {
				struct order *o;
				struct failure f;

				assert_int_equal(
				    order_open(&o, row[i], 3, 8, window, 77, &f), FAIL_NONE);
				order_restart(o, epoch);
				for (uint64_t t = 0; t < order_length(o); t++) {
					struct order_window w;
					struct order_place at;

					order_window_at(o, t, &w);
					at = order_place_at(&w, t);
					assert_int_equal(
					    order_position_of(o, at.partition, at.ordinal), t);
				}
				order_close(o);
			}
}

static void
test_partitions_are_dealt_round_robin(void **state)
{
	static const uint64_t sequences[2] = {10, 3}; /* blocks of 2: 5 and 2 */
	static const struct order_block dealt[] = {
	    {0, 0, 2}, {1, 0, 2}, {0, 2, 2}, {1, 2, 1}, {0, 4, 2}, {0, 6, 2}, {0, 8, 2}};
	struct order *o;
	struct failure f;
	struct permutation p;

	(void)state;
	assert_int_equal(order_open(&o, sequences, 2, 2, 1, 5, &f), FAIL_NONE);
	permutation_init(&p, 7, 5, 0);
	for (uint64_t at = 0, place = 0; at < 13; place++) {
		const struct order_block *expected = &dealt[permutation_at(&p, place)];
		struct order_window w;

		order_window_at(o, at, &w);
		assert_int_equal(w.block[0].partition, expected->partition);
		assert_int_equal(w.block[0].first, expected->first);
		assert_int_equal(w.block[0].count, expected->count);
		at += w.count;
	}
	order_close(o);
}

static void
test_blocks_are_powers_of_two_within_their_limits(void **state)
{
	static const struct {
		uint32_t sequence_length, block;
	} cases[] = {{1, 512}, {2048, 512}, {2049, 256}, {4096, 256}, {8192, 128}, {1 << 19, 2},
	    {(1 << 19) + 1, 1}, {1 << 20, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(order_block_sequences(cases[i].sequence_length), cases[i].block);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_permutation_is_a_bijection_with_its_inverse),
	    cmocka_unit_test(test_a_permutation_of_any_size_stays_in_range),
	    cmocka_unit_test(test_published_vectors_hold),
	    cmocka_unit_test(test_each_epoch_visits_every_sequence_once_in_another_order),
	    cmocka_unit_test(test_a_position_is_found_from_its_sequence),
	    cmocka_unit_test(test_partitions_are_dealt_round_robin),
	    cmocka_unit_test(test_blocks_are_powers_of_two_within_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
