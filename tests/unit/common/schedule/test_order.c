/* permutation.h and order.h: bijections, vectors, and epochs that visit every sequence once. */
#include <stdbool.h>

#include "tests/unit/test.h"

#include "common/schedule/order.h"

static const uint64_t sizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4096, 4097, 30000};

static void
test_every_permutation_is_a_bijection_with_its_inverse(void **state)
{
	(void)state;
	EACH_ROW(k, sizes) {
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
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]), SHUFFLES = MIX_SHUFFLE_NONE + 1 };

static struct order *
open_order(enum mix_shuffle shuffle, const uint64_t *sequences, size_t partitions_n, uint32_t block,
    uint32_t window, uint64_t key)
{
	const struct order_rule rule = {shuffle, block, window};
	struct order *o;
	struct failure f;

	assert_int_equal(order_open(&o, sequences, partitions_n, &rule, key, &f), FAIL_NONE);
	return o;
}

/* The place of any position, by a window of its own. */
static struct order_place
place_of(const struct order *o, uint64_t position)
{
	struct order_window w;

	order_window_at(o, position, &w);
	return order_place_at(o, &w, position);
}

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
			struct order_place place = order_place_at(o, &w, at);
			uint64_t length = layouts[layout].sequences[place.block.partition];
			struct order_window again;

			assert_true(place.ordinal < length);
			assert_int_equal(seen[place.block.partition][place.ordinal]++, 0);
			assert_int_equal(place.block.first % layouts[layout].block, 0);
			assert_true(place.ordinal - place.block.first < place.block.count);
			assert_true(place.block.count == layouts[layout].block ||
				    place.block.first + place.block.count == length);
			sum = sum * 31 + place.ordinal * 4 + place.block.partition;
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
	for (size_t i = 0; i < LAYOUTS * SHUFFLES; i++) {
		enum mix_shuffle shuffle = (enum mix_shuffle)(i / LAYOUTS);
		size_t k = i % LAYOUTS;
		struct order *o = open_order(shuffle, layouts[k].sequences, layouts[k].partitions_n,
		    layouts[k].block, layouts[k].window, 99);
		uint64_t first = visit(o, k, 0), second = visit(o, k, 1);

		assert_int_equal(visit(o, k, 0), first);
		if (shuffle == MIX_SHUFFLE_NONE)
			assert_int_equal(first, second);
		else if (order_length(o) > 8)
			assert_int_not_equal(first, second);
		order_close(o);
	}
}

/*
 * The order of BLOCK by its definition, as (partition, ordinal): blocks are dealt round robin and
 * permuted; `window` neighbours are a window, whose sequences are permuted by the window's number.
 */
static size_t
list_order(uint32_t (*out)[2], size_t layout, uint64_t key, uint64_t epoch)
{
	const uint32_t block = layouts[layout].block, window = layouts[layout].window;
	uint32_t(*dealt)[2] = calloc(20000, sizeof(*dealt)), (*inside)[2] = calloc(20000, 8);
	size_t dealt_n = 0, n = 0;
	struct permutation p;

	assert_true(dealt != NULL && inside != NULL);
	for (uint32_t round = 0, any = 1; any != 0; round++) {
		any = 0;
		for (uint32_t k = 0; k < layouts[layout].partitions_n; k++)
			if (round * block < layouts[layout].sequences[k]) {
				dealt[dealt_n][0] = k;
				dealt[dealt_n++][1] = round * block;
				any = 1;
			}
	}
	permutation_init(&p, dealt_n, key, epoch);
	for (size_t first = 0, number = 1; first < dealt_n; first += window, number++) {
		struct permutation slots;
		size_t count = 0;

		for (size_t i = first; i < first + window && i < dealt_n; i++) {
			const uint32_t *b = dealt[permutation_at(&p, i)];

			for (uint32_t k = 0;
			     k < block && b[1] + k < layouts[layout].sequences[b[0]]; k++) {
				inside[count][0] = b[0];
				inside[count++][1] = b[1] + k;
			}
		}
		permutation_init(&slots, count, permutation_subkey(key, number), epoch);
		for (size_t i = 0; i < count; i++)
			memcpy(out[n++], inside[permutation_at(&slots, i)], sizeof(*out));
	}
	free(dealt);
	free(inside);
	return n;
}

static void
test_the_order_of_blocks_is_that_of_its_definition(void **state)
{
	static uint32_t expected[20000][2];

	(void)state;
	EACH_ROW(k, layouts) {
		struct order *o = open_order(MIX_SHUFFLE_BLOCK, layouts[k].sequences,
		    layouts[k].partitions_n, layouts[k].block, layouts[k].window, 77);

		for (uint64_t epoch = 0; epoch < 3; epoch++) {
			assert_int_equal(list_order(expected, k, 77, epoch), order_length(o));
			order_restart(o, epoch);
			for (uint64_t at = 0; at < order_length(o); at++) {
				struct order_place place = place_of(o, at);

				assert_int_equal(place.block.partition, expected[at][0]);
				assert_int_equal(place.ordinal, expected[at][1]);
			}
		}
		order_close(o);
	}
}

static void
test_a_position_is_found_from_its_sequence(void **state)
{
	static const uint64_t row[][3] = {
	    {1, 0, 0}, {16, 0, 0}, {17, 3, 40}, {100, 0, 31}, {5, 5, 5}, {64, 64, 64}, {200, 1, 0}};

	(void)state;
	for (size_t i = 0; i < SHUFFLES * sizeof(row) / sizeof(row[0]); i++)
		for (uint32_t window = 1; window <= 3; window++) {
			struct order *o = open_order(
			    (enum mix_shuffle)(i % SHUFFLES), row[i / SHUFFLES], 3, 8, window, 77);

			for (uint64_t t = 0; t < 3 * order_length(o); t++) {
				uint64_t position = t % order_length(o);
				struct order_place at;

				order_restart(o, t / order_length(o));
				at = place_of(o, position);
				assert_int_equal(
				    order_position_of(o, at.block.partition, at.ordinal), position);
			}
			order_close(o);
		}
}

static void
test_none_is_the_order_of_the_input_in_every_epoch(void **state)
{
	static const uint64_t one[] = {7000}, four[] = {4, 0, 2, 3};
	static const struct {
		uint32_t partition, ordinal;
	} turns[] = {{0, 0}, {2, 0}, {3, 0}, {0, 1}, {2, 1}, {3, 1}, {0, 2}, {3, 2}, {0, 3}};
	struct order *o = open_order(MIX_SHUFFLE_NONE, one, 1, 512, 1, 5);

	(void)state;
	for (uint64_t t = 0; t < 3 * 7000; t++) {
		if (t % 7000 == 0)
			order_restart(o, t / 7000);
		assert_int_equal(place_of(o, t % 7000).ordinal, t % 7000);
	}
	order_close(o);
	o = open_order(MIX_SHUFFLE_NONE, four, 4, 2, 1, 5);
	assert_int_equal(order_length(o), 9);
	for (uint64_t t = 0; t < 9; t++) {
		struct order_place at = place_of(o, t);

		assert_int_equal(at.block.partition, turns[t].partition);
		assert_int_equal(at.ordinal, turns[t].ordinal);
	}
	order_close(o);
}

/* The permutation of the vectors: what another program needs to know to have the same order. */
static void
test_full_is_one_permutation_of_all_sequences(void **state)
{
	static const uint64_t lengths[] = {300, 0, 130, 570};
	struct order *o = open_order(MIX_SHUFFLE_FULL, lengths, 4, 64, 1, 99);
	struct permutation p;

	(void)state;
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		order_restart(o, epoch);
		permutation_init(&p, 1000, 99, epoch);
		for (uint64_t t = 0; t < 1000; t++) {
			uint64_t number = permutation_at(&p, t);
			uint32_t partition = number < 300 ? 0 : number < 430 ? 2 : 3;
			struct order_place at = place_of(o, t);

			assert_int_equal(at.block.partition, partition);
			assert_int_equal(at.ordinal, number - (partition == 0      ? 0
								  : partition == 2 ? 300
										   : 430));
		}
	}
	order_close(o);
}

/* ---- how random an order is ---- */

enum { SEQUENCES = 7000, BLOCK = 512, CELLS = 16 };

/*
 * Pearson's statistic of where sequences come: ordinals and positions are each cut into 16 parts,
 * so that 7,000 sequences fall into 256 cells. For a random permutation it is chi-squared with 15 *
 * 15 = 225 degrees of freedom: 225 on average, with a standard deviation of 21.
 */
static double
chi_squared(enum mix_shuffle shuffle, uint32_t window, uint64_t seed)
{
	static const uint64_t length[] = {SEQUENCES};
	struct order *o =
	    open_order(shuffle, length, 1, BLOCK, window, permutation_key("web", seed));
	double cell[CELLS][CELLS] = {{0}}, sum = 0;

	for (uint64_t t = 0; t < SEQUENCES; t++)
		cell[place_of(o, t).ordinal * CELLS / SEQUENCES][t * CELLS / SEQUENCES]++;
	order_close(o);
	for (size_t i = 0; i < CELLS; i++)
		for (size_t k = 0; k < CELLS; k++) {
			double expected = (double)SEQUENCES / CELLS / CELLS;

			sum += (cell[i][k] - expected) * (cell[i][k] - expected) / expected;
		}
	return sum;
}

/* Within four standard deviations of what chance gives, each way, over twenty seeds. */
static void
test_full_passes_a_chi_squared_test_of_positions(void **state)
{
	double sum = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		double one = chi_squared(MIX_SHUFFLE_FULL, 1, seed);

		assert_true(one > 140 && one < 330);
		sum += one;
	}
	assert_true(sum > 20 * 225 - 4 * 95 && sum < 20 * 225 + 4 * 95);
	/* The others do not: so the test sees what it is for. */
	assert_true(chi_squared(MIX_SHUFFLE_BLOCK, 1, 1) > 10 * 225);
	assert_true(chi_squared(MIX_SHUFFLE_BLOCK, 4, 1) > 2 * 225);
	assert_true(chi_squared(MIX_SHUFFLE_NONE, 1, 1) > 100 * 225);
}

/* One sequence, over many seeds: 6,400 of them, 64 positions. 63 degrees of freedom: 63 +- 11. */
static void
test_full_puts_a_sequence_anywhere(void **state)
{
	static const uint64_t length[] = {64};

	(void)state;
	for (uint64_t ordinal = 0; ordinal < 64; ordinal += 9) {
		double count[64] = {0}, sum = 0;

		for (uint64_t seed = 0; seed < 6400; seed++) {
			struct order *o = open_order(
			    MIX_SHUFFLE_FULL, length, 1, BLOCK, 1, permutation_key("web", seed));

			count[order_position_of(o, 0, ordinal)]++;
			order_close(o);
		}
		for (size_t i = 0; i < 64; i++)
			sum += (count[i] - 100) * (count[i] - 100) / 100;
		assert_true(sum > 63 - 4 * 11.2 && sum < 63 + 4 * 11.2);
	}
}

static size_t
blocks_of_first(enum mix_shuffle shuffle, uint32_t window, uint64_t draws)
{
	static const uint64_t length[] = {SEQUENCES};
	struct order *o = open_order(shuffle, length, 1, BLOCK, window, permutation_key("web", 1));
	bool seen[SEQUENCES / BLOCK + 1] = {false};
	size_t n = 0;

	for (uint64_t t = 0; t < draws; t++) {
		uint64_t block = place_of(o, t).ordinal / BLOCK;

		n += !seen[block];
		seen[block] = true;
	}
	order_close(o);
	return n;
}

static void
test_the_first_draws_come_from_so_many_blocks(void **state)
{
	(void)state;
	assert_in_range(blocks_of_first(MIX_SHUFFLE_BLOCK, 1, 500), 1, 2);
	assert_in_range(blocks_of_first(MIX_SHUFFLE_BLOCK, 8, 500), 8, 9);
	assert_int_equal(blocks_of_first(MIX_SHUFFLE_FULL, 1, 500), 14);
	assert_int_equal(blocks_of_first(MIX_SHUFFLE_NONE, 1, 500), 1);
}

static void
test_partitions_are_dealt_round_robin(void **state)
{
	static const uint64_t sequences[2] = {10, 3}; /* blocks of 2: 5 and 2 */
	static const struct order_block dealt[] = {
	    {0, 0, 2}, {1, 0, 2}, {0, 2, 2}, {1, 2, 1}, {0, 4, 2}, {0, 6, 2}, {0, 8, 2}};
	struct order *o = open_order(MIX_SHUFFLE_BLOCK, sequences, 2, 2, 1, 5);
	struct permutation p;

	(void)state;
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
	EACH_ROW(i, cases)
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
	    cmocka_unit_test(test_the_order_of_blocks_is_that_of_its_definition),
	    cmocka_unit_test(test_a_position_is_found_from_its_sequence),
	    cmocka_unit_test(test_partitions_are_dealt_round_robin),
	    cmocka_unit_test(test_none_is_the_order_of_the_input_in_every_epoch),
	    cmocka_unit_test(test_full_is_one_permutation_of_all_sequences),
	    cmocka_unit_test(test_full_passes_a_chi_squared_test_of_positions),
	    cmocka_unit_test(test_full_puts_a_sequence_anywhere),
	    cmocka_unit_test(test_the_first_draws_come_from_so_many_blocks),
	    cmocka_unit_test(test_blocks_are_powers_of_two_within_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
