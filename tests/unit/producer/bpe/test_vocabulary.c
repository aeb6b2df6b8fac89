/* vocabulary.h: tokens are found again by their bytes, and nothing else is. */
#include "producer/bpe/vocabulary.h"

#include "producer/bpe/bytes_hash.h"
#include "tests/unit/test.h"

enum { IDS = 20000, ROOM = IDS * 12 };

/* Token i has its number in base 26, behind a prefix of 0 to 7 "#"; each tenth id is a hole. */
static size_t
token_of(uint32_t i, char out[static 16])
{
	size_t n = i % 8;

	if (i % 10 == 9)
		return 0;
	memset(out, '#', n);
	for (uint32_t rest = i + 1; rest > 0; rest /= 26)
		out[n++] = (char)('a' + rest % 26);
	return n;
}

static void
make(struct vocabulary *v)
{
	*v = (struct vocabulary){
	    .bytes = malloc(ROOM), .start = calloc(IDS + 1, sizeof(*v->start)), .ids = IDS};
	for (uint32_t i = 0; i < IDS; i++) {
		char token[16];
		size_t n = token_of(i, token);

		memcpy(v->bytes + v->start[i], token, n);
		v->start[i + 1] = v->start[i] + (uint32_t)n;
	}
}

static uint32_t
find(const struct vocabulary *v, const char *token, size_t n, bool *may)
{
	const uint8_t *bytes = (const uint8_t *)token;
	uint64_t hash = bytes_hash(bytes, n);
	uint32_t id = vocabulary_find(v, bytes, n);

	vocabulary_prefetch(v, hash);
	*may = vocabulary_prefetch_bytes(v, hash, n);
	assert_int_equal(vocabulary_find_hashed(v, hash, bytes, n), id);
	return id;
}

static void
test_each_token_is_found_by_its_bytes_and_nothing_else_is(void **unused)
{
	struct vocabulary v;
	uint32_t first, second;
	size_t longest = 0;
	bool may;

	(void)unused;
	make(&v);
	assert_int_equal(vocabulary_index(&v, &first, &second, &f), FAIL_NONE);
	for (uint32_t i = 0; i < IDS; i++) {
		char token[17], *at;
		size_t n = token_of(i, token), stored;

		at = (char *)(uintptr_t)vocabulary_token(&v, i, &stored);
		assert_int_equal(stored, n);
		if (n == 0)
			continue;
		assert_memory_equal(at, token, n);
		assert_int_equal(find(&v, token, n, &may), i);
		assert_true(may);
		longest = n > longest ? n : longest;
		token[n] = '!'; /* in no token */
		assert_int_equal(find(&v, token, n + 1, &may), VOCABULARY_NONE);
		token[0] ^= 0x40;
		assert_int_equal(find(&v, token, n, &may), VOCABULARY_NONE);
	}
	assert_int_equal(v.longest, longest);
	vocabulary_close(&v);
}

static void
test_two_ids_of_equal_bytes_are_named(void **unused)
{
	static const struct {
		uint32_t first, second;
	} rows[] = {{0, 1}, {0, IDS - 2}, {4711, 4712}, {100, 16000}};

	(void)unused;
	EACH_ROW(i, rows) {
		struct vocabulary v;
		uint32_t first = 0, second = 0, n;
		char token[16];

		make(&v);
		n = (uint32_t)token_of(rows[i].first, token);
		/* The second gets the bytes of the first, and what follows moves. */
		memmove(v.bytes + v.start[rows[i].second] + n,
		    v.bytes + v.start[rows[i].second + 1],
		    v.start[IDS] - v.start[rows[i].second + 1]);
		memcpy(v.bytes + v.start[rows[i].second], token, n);
		for (uint32_t k = IDS; k > rows[i].second; k--)
			v.start[k] += v.start[rows[i].second] + n - v.start[rows[i].second + 1];
		assert_int_equal(vocabulary_index(&v, &first, &second, &f), FAIL_DATA);
		assert_int_equal(first, rows[i].first);
		assert_int_equal(second, rows[i].second);
		vocabulary_close(&v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_token_is_found_by_its_bytes_and_nothing_else_is),
	    cmocka_unit_test(test_two_ids_of_equal_bytes_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
