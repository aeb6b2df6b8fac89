#include "producer/bpe/piece_cache.h"

#include "tests/unit/test.h"

/* Twice as many pieces as the largest table has entries. */
enum { PIECES = 2 * PIECE_CACHE_ENTRIES_MAX };

static struct piece_key
key_number(uint32_t i)
{
	uint8_t piece[PIECE_CACHE_LOAD_BYTES] = {0};

	memcpy(piece, &i, sizeof(i));
	piece[10] = (uint8_t)(i >> 3);
	return piece_key_of(piece, 1 + i % PIECE_CACHE_KEY_MAX);
}

/* Pieces of under four bytes repeat among key_number(); these do not. */
static bool
is_own(uint32_t i)
{
	return i % PIECE_CACHE_KEY_MAX >= 3;
}

static void
ids_number(uint32_t i, uint32_t *id, size_t *n)
{
	*n = 1 + i % PIECE_CACHE_IDS_MAX;
	for (size_t k = 0; k < *n; k++)
		id[k] = (i * 7 + (uint32_t)k) % (1 << 24);
}

static bool
get(const struct piece_cache *c, struct piece_key key, uint32_t *id, size_t *n)
{
	size_t line = piece_cache_line(c, key);

	return piece_cache_get(c, line, key, id, n) || piece_cache_get_aside(c, line, key, id, n);
}

static void
test_a_key_holds_just_the_bytes_of_its_piece(void **unused)
{
	uint8_t a[PIECE_CACHE_LOAD_BYTES], b[PIECE_CACHE_LOAD_BYTES];

	(void)unused;
	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	for (size_t n = 1; n <= PIECE_CACHE_KEY_MAX; n++) {
		struct piece_key whole = piece_key_of(a, n), same, shorter, other;

		memset(b, 'a', n);
		same = piece_key_of(b, n);
		assert_memory_equal(&whole, &same, sizeof(whole));
		shorter = piece_key_of(a, n - 1);
		assert_memory_not_equal(&whole, &shorter, sizeof(whole));
		b[n - 1] = 'b';
		other = piece_key_of(b, n);
		assert_memory_not_equal(&whole, &other, sizeof(whole));
		b[n - 1] = 0; /* a zero is a byte like others */
		other = piece_key_of(b, n);
		assert_memory_not_equal(&whole, &other, sizeof(whole));
		assert_memory_not_equal(&shorter, &other, sizeof(other));
	}
}

static void
test_what_is_found_is_what_was_put_however_full_it_is(void **unused)
{
	struct piece_cache c = {0};
	uint32_t id[4], expected[4];
	size_t n, expected_n, found = 0, entries;
	struct failure f;

	(void)unused;
	assert_int_equal(piece_cache_open(&c, &f), FAIL_NONE);
	for (uint32_t i = 0; i < PIECES; i++) {
		struct piece_key key = key_number(i);

		if (!is_own(i))
			continue;
		assert_false(get(&c, key, id, &n));
		ids_number(i, expected, &expected_n);
		piece_cache_put(&c, key, expected, expected_n);
		assert_true(get(&c, key, id, &n));
		assert_int_equal(n, expected_n);
		assert_memory_equal(id, expected, n * sizeof(*id));
		if (i % 100 == 0)
			piece_cache_grow(&c);
	}
	entries = (size_t)2 << (64 - c.shift);
	assert_int_equal(entries, PIECE_CACHE_ENTRIES_MAX);
	for (uint32_t i = 0; i < PIECES; i++) {
		if (!is_own(i) || !get(&c, key_number(i), id, &n))
			continue;
		found++;
		ids_number(i, expected, &expected_n);
		assert_int_equal(n, expected_n);
		assert_memory_equal(id, expected, n * sizeof(*id));
	}
	assert_true(found > PIECE_CACHE_ENTRIES_MAX * 9 / 10);
	assert_true(found <= PIECE_CACHE_ENTRIES_MAX);
	piece_cache_close(&c);
}

static void
test_growing_keeps_what_is_there(void **unused)
{
	struct piece_cache c = {0};
	uint32_t id[4];
	size_t n, missing = 0;
	struct failure f;

	(void)unused;
	assert_int_equal(piece_cache_open(&c, &f), FAIL_NONE);
	for (uint32_t i = 0; i < 100000; i++) {
		if (!is_own(i))
			continue;
		piece_cache_put(&c, key_number(i), &i, 1);
		piece_cache_grow(&c);
	}
	for (uint32_t i = 0; i < 100000; i++)
		missing += is_own(i) && (!get(&c, key_number(i), id, &n) || id[0] != i);
	assert_true(missing < 100000 / 20);
	piece_cache_close(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_key_holds_just_the_bytes_of_its_piece),
	    cmocka_unit_test(test_what_is_found_is_what_was_put_however_full_it_is),
	    cmocka_unit_test(test_growing_keeps_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
