#include "producer/bpe/merge.h"

#include "producer/tokenizer/tiktoken.h"
#include "tests/unit/tiktoken_file.h"

enum { ROUNDS = 20000, LONG = 1 << 20 };

/* Ranks out of order on purpose: "abab" comes before "aba", "xxx" can be made in two ways. */
static const char *const more[] = {"bc", "ab", "abab", "aba", "bab", "xx", "xxx", "xxxx",
    "xxxxxxxx", "xxxxxxxxxxxxxxxx", "cx", "abc", "bca", "aab", "  ", "    ", "        ", "\u4e2d",
    "\u4e2d\u4e2d", "\xe4\xb8", "ca", "xa", "ax", "axa", "zpq", "yz", "pq", NULL};

static struct vocabulary vocabulary;
static struct pair_table pairs;
static struct merge_scratch *scratch;

static int
setup(void **unused)
{
	struct failure f;

	if (tiktoken_file_setup(unused) != 0)
		return -1;
	tiktoken_file_of(more);
	if (tiktoken_read(&vocabulary, tiktoken_path, &f) != FAIL_NONE ||
	    pair_table_open(&pairs, &vocabulary, &f) != FAIL_NONE ||
	    merge_scratch_open(&scratch, vocabulary.ids, &f) != FAIL_NONE)
		return -1;
	return 0;
}

static int
teardown(void **unused)
{
	merge_scratch_close(scratch);
	merge_scratch_close(NULL);
	pair_table_close(&pairs);
	vocabulary_close(&vocabulary);
	return tiktoken_file_teardown(unused);
}

/* The definition, word for word: over bytes, with a search for each merge. */
static size_t
merge_slowly(const uint8_t *piece, size_t n, uint32_t *id)
{
	size_t start[4096], parts = n;

	for (size_t i = 0; i <= n; i++)
		start[i] = i;
	for (;;) {
		uint32_t lowest = VOCABULARY_NONE;
		size_t at = 0;

		for (size_t i = 0; i + 1 < parts; i++) {
			uint32_t rank =
			    vocabulary_find(&vocabulary, piece + start[i], start[i + 2] - start[i]);

			if (rank < lowest) {
				lowest = rank;
				at = i;
			}
		}
		if (lowest == VOCABULARY_NONE)
			break;
		memmove(start + at + 1, start + at + 2, (parts - at - 1) * sizeof(*start));
		parts--;
	}
	for (size_t i = 0; i < parts; i++)
		id[i] = vocabulary_find(&vocabulary, piece + start[i], start[i + 1] - start[i]);
	return parts;
}

static size_t
merge(const uint8_t *piece, size_t n, uint32_t *id)
{
	struct merge_item item = {.piece = piece, .id = id, .n = (uint32_t)n};
	struct failure f;

	assert_int_equal(merge_items(&pairs, scratch, &item, 1, &f), FAIL_NONE);
	return item.count;
}

static void
check(const uint8_t *piece, size_t n)
{
	static uint32_t slowly[4096], fast[4096];
	size_t expected = merge_slowly(piece, n, slowly), count = merge(piece, n, fast);

	assert_int_equal(count, expected);
	assert_memory_equal(fast, slowly, expected * sizeof(*fast));
}

static void
fill(uint8_t *piece, size_t n, uint32_t seed)
{
	static const char letters[] = "abcx ab\xe4\xb8\xad xx";
	uint32_t x = seed * 2654435761u, few = 1 + seed % (sizeof(letters) - 1);

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
		piece[i] = (uint8_t)letters[(x >> 16) % few];
	}
}

static void
test_short_pieces_merge_by_definition(void **unused)
{
	uint8_t piece[MERGE_SHORT_MAX];

	(void)unused;
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		size_t n = 1 + seed % 40;

		fill(piece, n, seed);
		check(piece, n);
	}
}

static void
test_both_sides_of_the_short_limit(void **unused)
{
	uint8_t piece[MERGE_SHORT_MAX + 3];

	(void)unused;
	for (uint32_t seed = 1; seed <= 300; seed++)
		for (size_t n = MERGE_SHORT_MAX - 2; n <= MERGE_SHORT_MAX + 3; n++) {
			fill(piece, n, seed);
			check(piece, n);
		}
}

static void
test_long_pieces_merge_by_definition(void **unused)
{
	uint8_t piece[700];

	(void)unused;
	for (uint32_t seed = 1; seed <= 300; seed++) {
		size_t n = MERGE_SHORT_MAX + 1 + seed * 7 % (700 - MERGE_SHORT_MAX - 1);

		fill(piece, n, seed);
		check(piece, n);
	}
}

/* More items than are worked on at once, short and long, in one call. */
static void
test_many_pieces_at_once(void **unused)
{
	enum { ITEMS = 100, BYTES = 200 };
	static uint8_t piece[ITEMS][BYTES];
	static uint32_t id[ITEMS][BYTES], slowly[BYTES];
	struct merge_item item[ITEMS];
	struct failure f;

	(void)unused;
	for (uint32_t i = 0; i < ITEMS; i++) {
		item[i] =
		    (struct merge_item){.piece = piece[i], .id = id[i], .n = 1 + i * 61 % BYTES};
		fill(piece[i], item[i].n, i + 1);
	}
	assert_int_equal(merge_items(&pairs, scratch, item, ITEMS, &f), FAIL_NONE);
	for (size_t i = 0; i < ITEMS; i++) {
		assert_int_equal(item[i].count, merge_slowly(piece[i], item[i].n, slowly));
		assert_memory_equal(id[i], slowly, item[i].count * sizeof(uint32_t));
	}
}

/* Long pieces of few kinds: the work grows with the length, not with its square. */
static void
test_work_on_a_million_bytes_is_linear(void **unused)
{
	static const char *const units[] = {"x", " ", "\u4e2d", "ab", "abx", "c"};
	uint8_t *piece = malloc(LONG);
	uint32_t *ids = malloc(LONG * sizeof(*ids));

	(void)unused;
	assert_non_null(piece);
	assert_non_null(ids);
	EACH_ROW(u, units) {
		uint64_t before = merge_scratch_work(scratch);
		size_t unit = strlen(units[u]), n = LONG / unit * unit, count, bytes = 0;

		for (size_t i = 0; i < n; i++)
			piece[i] = (uint8_t)units[u][i % unit];
		count = merge(piece, n, ids);
		for (size_t i = 0; i < count; i++)
			bytes += vocabulary.start[ids[i] + 1] - vocabulary.start[ids[i]];
		assert_int_equal(bytes, n);
		assert_true(merge_scratch_work(scratch) - before <= 3 * n);
	}
	free(ids);
	free(piece);
}

static void
test_the_lowest_rank_goes_first(void **unused)
{
	uint32_t ids[8];

	(void)unused;
	/* "xxxxx": xx xx x, the leftmost of equals first; then xx xxx, as xxx goes before xxxx. */
	assert_int_equal(merge((const uint8_t *)"xxxxx", 5, ids), 2);
	assert_int_equal(ids[0], 256 + 5);
	assert_int_equal(ids[1], 256 + 6);
	/* "abcab": bc goes before ab; a bc ab, then abc ab. */
	assert_int_equal(merge((const uint8_t *)"abcab", 5, ids), 2);
	assert_int_equal(ids[0], 256 + 11);
	assert_int_equal(ids[1], 256 + 1);
}

/*
 * "pq" can only merge with itself at first, but what takes it as one, "zpq", goes before "yz": in
 * "yzpq" pq is not there yet when yz merges, and must not be.
 */
static void
test_two_bytes_do_not_merge_ahead_of_what_takes_them(void **unused)
{
	uint32_t ids[8];

	(void)unused;
	check((const uint8_t *)"yzpq", 4);
	assert_int_equal(merge((const uint8_t *)"yzpq", 4, ids), 2);
	assert_int_equal(ids[0], vocabulary_find(&vocabulary, (const uint8_t *)"yz", 2));
	assert_int_equal(ids[1], vocabulary_find(&vocabulary, (const uint8_t *)"pq", 2));
}

enum { FEW_IDS = 12, LISTED = 60, IDS_MAX = 400 };

static uint32_t
next_random(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 16;
}

/* The definition over ids: rank[a][b] of the pair, what[rank] it gives. */
static uint32_t
merge_ids_slowly(uint32_t rank[FEW_IDS][FEW_IDS], const uint32_t *what, uint32_t *id, uint32_t n)
{
	for (;;) {
		uint32_t lowest = VOCABULARY_NONE, at = 0;

		for (uint32_t i = 0; i + 1 < n; i++)
			if (rank[id[i]][id[i + 1]] < lowest) {
				lowest = rank[id[i]][id[i + 1]];
				at = i;
			}
		if (lowest == VOCABULARY_NONE)
			return n;
		id[at] = what[lowest];
		memmove(id + at + 1, id + at + 2, (n - at - 2) * sizeof(*id));
		n--;
	}
}

/*
 * A list that no training makes: a merge can give a token that has a lower rank with its neighbour
 * than the merge itself had. Then pairs of one rank come up from right to left, and a bucket must
 * be ordered.
 */
static void
test_merges_of_any_list_go_by_rank_and_from_the_left(void **unused)
{
	(void)unused;
	for (uint32_t round = 0; round < 400; round++) {
		uint32_t rank[FEW_IDS][FEW_IDS], what[LISTED], byte[256], x = round;
		uint32_t fast[IDS_MAX], slow[IDS_MAX], n = 100 + round % (IDS_MAX - 100);
		struct pair_merge merge[LISTED];
		struct merge_item item = {.id = fast, .n = n};
		struct merge_scratch *s = NULL;
		static struct pair_table t;
		struct failure f;

		memset(rank, 0xff, sizeof(rank));
		memset(byte, 0xff, sizeof(byte));
		for (uint32_t i = 0; i < LISTED; i++) {
			uint32_t a, b;

			do {
				a = next_random(&x) % FEW_IDS;
				b = next_random(&x) % FEW_IDS;
			} while (rank[a][b] != VOCABULARY_NONE);
			what[i] = next_random(&x) % FEW_IDS;
			rank[a][b] = i;
			merge[i] = (struct pair_merge){a, b, what[i]};
		}
		for (uint32_t i = 0; i < n; i++)
			fast[i] = slow[i] = next_random(&x) % FEW_IDS;
		memset(&t, 0, sizeof(t));
		assert_int_equal(pair_table_open_merges(&t, merge, LISTED, byte, &f), FAIL_NONE);
		assert_int_equal(merge_scratch_open(&s, LISTED, &f), FAIL_NONE);
		assert_int_equal(merge_items(&t, s, &item, 1, &f), FAIL_NONE);
		assert_int_equal(item.count, merge_ids_slowly(rank, what, slow, n));
		assert_memory_equal(fast, slow, item.count * sizeof(*fast));
		merge_scratch_close(s);
		pair_table_close(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_lowest_rank_goes_first),
	    cmocka_unit_test(test_two_bytes_do_not_merge_ahead_of_what_takes_them),
	    cmocka_unit_test(test_short_pieces_merge_by_definition),
	    cmocka_unit_test(test_both_sides_of_the_short_limit),
	    cmocka_unit_test(test_long_pieces_merge_by_definition),
	    cmocka_unit_test(test_many_pieces_at_once),
	    cmocka_unit_test(test_work_on_a_million_bytes_is_linear),
	    cmocka_unit_test(test_merges_of_any_list_go_by_rank_and_from_the_left),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
