/*
 * order_bench -- how well each order of a domain mixes it, for the table of docs/BENCHMARKS.md.
 *
 * Of one partition of SEQUENCES, in blocks of BLOCK, over twenty seeds; a line an order, with tabs:
 *
 *     blocks   of the domain, in the first 500 draws
 *     parts    of a hundred equal parts of the input, in a batch of 64 draws, on average
 *     spread   the variance of a batch's mean place in the input, over that of batches drawn at
 *              random: 1 is as random, and a batch of one block alone is 64
 *
 *     usage: order_bench [SEQUENCES [BLOCK]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/schedule/order.h"

enum { SEEDS = 20, FIRST = 500, BATCH = 64, PARTS = 100 };

struct quality {
	double blocks, parts, spread;
};

/* Ordinals in the order of epoch 0. */
static void
draw_all(uint64_t *ordinal, uint64_t sequences, const struct order_rule *rule, uint64_t seed)
{
	struct order_window w = {.count = 0};
	struct order *o;
	struct failure f;

	if (order_open(&o, &sequences, 1, rule, permutation_key("web", seed), &f) != FAIL_NONE) {
		fprintf(stderr, "order_bench: %s\n", f.text);
		exit(1);
	}
	for (uint64_t t = 0; t < sequences; t++) {
		if (t >= w.first + w.count)
			order_window_at(o, t, &w);
		ordinal[t] = order_place_at(o, &w, t).ordinal;
	}
	order_close(o);
}

/* How many different values `of` (below `n`) takes in ordinal[0] .. ordinal[draws - 1]. */
static double
count_different(const uint64_t *ordinal, uint64_t draws, uint64_t each, uint64_t n)
{
	uint8_t *seen = calloc(n + 1, 1);
	double different = 0;

	if (seen == NULL)
		exit(1);
	for (uint64_t t = 0; t < draws; t++) {
		uint64_t value = ordinal[t] / each;

		different += !seen[value];
		seen[value] = 1;
	}
	free(seen);
	return different;
}

static void
judge(struct quality *q, const uint64_t *ordinal, uint64_t sequences, uint32_t block)
{
	uint64_t batches = sequences / BATCH;
	double middle = (double)(sequences - 1) / 2, variance = 0, parts = 0;
	/* Of a mean of BATCH out of n without putting back. */
	double n = (double)sequences;
	double random = (n * n - 1) / 12 / BATCH * (n - BATCH) / (n - 1);

	for (uint64_t b = 0; b < batches; b++) {
		const uint64_t *first = ordinal + b * BATCH;
		double sum = 0;

		for (int i = 0; i < BATCH; i++)
			sum += (double)first[i];
		variance += (sum / BATCH - middle) * (sum / BATCH - middle);
		parts += count_different(first, BATCH, sequences / PARTS, PARTS);
	}
	q->blocks += count_different(ordinal, FIRST, block, sequences / block + 1) / SEEDS;
	q->parts += parts / (double)batches / SEEDS;
	q->spread += variance / (double)batches / random / SEEDS;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum mix_shuffle shuffle;
		uint32_t window;
	} orders[] = {
	    {"block, window 1", MIX_SHUFFLE_BLOCK, 1},
	    {"block, window 2", MIX_SHUFFLE_BLOCK, 2},
	    {"block, window 4", MIX_SHUFFLE_BLOCK, 4},
	    {"block, window 8", MIX_SHUFFLE_BLOCK, 8},
	    {"block, window 16", MIX_SHUFFLE_BLOCK, 16},
	    {"full", MIX_SHUFFLE_FULL, 1},
	    {"none", MIX_SHUFFLE_NONE, 1},
	};
	uint64_t sequences = argc > 1 ? strtoull(argv[1], NULL, 10) : 7000;
	uint32_t block = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 512;
	uint64_t *ordinal = calloc(sequences + 1, sizeof(*ordinal));

	if (ordinal == NULL || sequences < FIRST || sequences > 1 << 24 || block < 1) {
		fprintf(
		    stderr, "usage: order_bench [SEQUENCES [BLOCK]], at least %d and 1\n", FIRST);
		return 2;
	}
	printf("order\tblocks\tparts\tspread\n");
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const struct order_rule rule = {orders[i].shuffle, block, orders[i].window};
		struct quality q = {0};

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			draw_all(ordinal, sequences, &rule, seed);
			judge(&q, ordinal, sequences, block);
		}
		printf("%s\t%.1f\t%.1f\t%.1f\n", orders[i].name, q.blocks, q.parts, q.spread);
	}
	free(ordinal);
	return 0;
}
