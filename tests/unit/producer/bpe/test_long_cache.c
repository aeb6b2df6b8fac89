#include "producer/bpe/long_cache.h"

#include "producer/bpe/bytes_hash.h"
#include "tests/unit/test.h"

/* Twice as many pieces as the largest table has entries. */
enum { PIECES = 2 * LONG_CACHE_ENTRIES_MAX };

static size_t
piece_number(uint32_t i, uint8_t *piece)
{
	size_t n = 5 + i % (LONG_CACHE_PIECE_MAX - 4);

	memset(piece, 'x', n);
	memcpy(piece + n - 4, &i, 4);
	return n;
}

static void
put(struct long_cache *c, const uint8_t *piece, size_t n, const uint32_t *id, size_t ids_n)
{
	long_cache_put(c, bytes_hash(piece, n), piece, n, id, ids_n);
}

static const struct long_entry *
get(const struct long_cache *c, const uint8_t *piece, size_t n)
{
	return long_cache_get(c, bytes_hash(piece, n), piece, n);
}

static void
test_what_is_found_is_what_was_put_however_full_it_is(void **unused)
{
	uint8_t piece[LONG_CACHE_PIECE_MAX];
	const struct long_entry *e;
	uint32_t id[LONG_CACHE_IDS_MAX];
	struct long_cache c = {0};
	size_t found = 0;
	struct failure f;

	(void)unused;
	assert_int_equal(long_cache_open(&c, &f), FAIL_NONE);
	for (uint32_t i = 0; i < PIECES; i++) {
		size_t n = piece_number(i, piece);

		for (size_t k = 0; k < LONG_CACHE_IDS_MAX; k++)
			id[k] = i + (uint32_t)k;
		assert_null(get(&c, piece, n));
		put(&c, piece, n, id, 1 + i % LONG_CACHE_IDS_MAX);
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		e = get(&c, piece, piece_number(i, piece));
		if (e == NULL)
			continue;
		found++;
		assert_int_equal(e->ids_n, 1 + i % LONG_CACHE_IDS_MAX);
		for (uint32_t k = 0; k < e->ids_n; k++)
			assert_int_equal(e->id[k], i + k);
	}
	assert_true(found > LONG_CACHE_ENTRIES_MAX * 9 / 10);
	long_cache_close(&c);
}

static void
test_pieces_beyond_the_limits_are_not_kept(void **unused)
{
	uint8_t piece[LONG_CACHE_PIECE_MAX + 1];
	uint32_t id[LONG_CACHE_IDS_MAX + 1] = {0};
	struct long_cache c = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(long_cache_open(&c, &f), FAIL_NONE);
	memset(piece, 'y', sizeof(piece));
	put(&c, piece, LONG_CACHE_PIECE_MAX + 1, id, 1);
	assert_null(get(&c, piece, LONG_CACHE_PIECE_MAX + 1));
	put(&c, piece, LONG_CACHE_PIECE_MAX, id, LONG_CACHE_IDS_MAX + 1);
	assert_null(get(&c, piece, LONG_CACHE_PIECE_MAX));
	put(&c, piece, LONG_CACHE_PIECE_MAX, id, LONG_CACHE_IDS_MAX);
	assert_non_null(get(&c, piece, LONG_CACHE_PIECE_MAX));
	long_cache_close(&c);
}

/* Pieces whose hashes are equal are told apart by all of their bytes. */
static void
test_a_piece_is_not_found_for_its_beginning_nor_for_another_one(void **unused)
{
	uint8_t piece[] = "abcdefgh", other[] = "abcdefgX";
	uint32_t id[2] = {1, 2};
	struct long_cache c = {0};
	struct failure f;

	(void)unused;
	assert_int_equal(long_cache_open(&c, &f), FAIL_NONE);
	long_cache_put(&c, 77, piece, 8, id, 2);
	assert_non_null(long_cache_get(&c, 77, piece, 8));
	for (size_t n = 1; n < 8; n++)
		assert_null(long_cache_get(&c, 77, piece, n));
	assert_null(long_cache_get(&c, 77, other, 8));
	long_cache_put(&c, 77, piece, 5, id, 1);
	assert_int_equal(long_cache_get(&c, 77, piece, 5)->ids_n, 1);
	assert_int_equal(long_cache_get(&c, 77, piece, 8)->ids_n, 2);
	long_cache_close(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_found_is_what_was_put_however_full_it_is),
	    cmocka_unit_test(test_pieces_beyond_the_limits_are_not_kept),
	    cmocka_unit_test(test_a_piece_is_not_found_for_its_beginning_nor_for_another_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
