/* symbols.h: random pieces against its rule, word for word. */
#include "producer/bpe/symbols.h"
#include "tests/unit/test.h"

enum { SEED = 3, ROUNDS = 20000, PIECE_MAX = 12, UNKNOWN_ID = 900 };

/* Letters A are tokens (id 100), F fall back to their byte (id 200), U are neither. */
static const char kinds[] = "AFU";

static void
set_up(struct symbols *s, bool has_unknown, bool fuse)
{
	*s = (struct symbols){.unknown = has_unknown ? UNKNOWN_ID : VOCABULARY_NONE, .fuse = fuse};
	for (size_t i = 0; i < 256; i++)
		s->one[i] = s->fallback[i] = VOCABULARY_NONE;
	s->one['A'] = 100;
	s->fallback['A'] = 201; /* not used: a token is no fallback */
	s->fallback['F'] = 200;
}

/*
 * Each unknown token is written where the next one begins, or before the next letter that is a
 * token, or at the end; fused, only the last of these for all that wait.
 */
static size_t
symbols_slowly(const struct symbols *s, const char *piece, size_t n, uint32_t *id)
{
	size_t count = 0;

	for (size_t at = 0; at <= n; at++) {
		char c = piece[at]; /* '\0' at the end */
		size_t unknown = 0;

		for (size_t i = at; i > 0 && piece[i - 1] != 'A'; i--)
			unknown += piece[i - 1] == 'U';
		if (unknown > 0 && s->unknown != VOCABULARY_NONE &&
		    (c == 'A' || at == n || (c == 'U' && !s->fuse)))
			id[count++] = s->unknown;
		if (c == 'A' || c == 'F')
			id[count++] = c == 'A' ? 100 : 200;
	}
	return count;
}

static void
test_an_unknown_token_waits_for_a_token_and_bytes_do_not_wait_for_it(void **unused)
{
	uint32_t x = SEED;

	(void)unused;
	print_message("seed %d\n", SEED);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t id[PIECE_MAX + 1], slow[PIECE_MAX + 1];
		char piece[PIECE_MAX + 1] = "";
		size_t n = round % (PIECE_MAX + 1), count;
		struct symbols s;

		set_up(&s, round % 3 != 0, round % 2 == 0);
		for (size_t i = 0; i < n; i++) {
			x = x * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
			piece[i] = kinds[(x >> 16) % 3];
		}
		count = symbols_of(&s, (const uint8_t *)piece, n, id);
		assert_int_equal(count, symbols_slowly(&s, piece, n, slow));
		assert_memory_equal(id, slow, count * sizeof(*id));
	}
}

/* Two and three bytes, of which `missing` has no token of its own (0: all have one). */
static void
test_a_character_falls_back_only_if_all_of_its_bytes_have_a_token(void **unused)
{
	static const struct {
		const char *text;
		uint8_t missing;
		uint32_t id[4];
		size_t n;
	} row[] = {
	    {"\u00e9", 0, {0xC3, 0xA9}, 2},
	    {"\u00e9", 0xC3, {UNKNOWN_ID}, 1},
	    {"\u00e9", 0xA9, {UNKNOWN_ID}, 1},
	    {"\u20ac", 0, {0xE2, 0x82, 0xAC}, 3},
	    {"\u20ac", 0x82, {UNKNOWN_ID}, 1},
	    {"\u20ac", 0xAC, {UNKNOWN_ID}, 1},
	    {"A\u20ac", 0xAC, {100, UNKNOWN_ID}, 2},
	    {"\u20acA", 0xAC, {UNKNOWN_ID, 100}, 2},
	};
	uint8_t token[] = "zz"; /* the only token of the vocabulary, which no text has */
	uint32_t start[] = {0, 2}, first, second;
	struct vocabulary v = {.bytes = token, .start = start, .ids = 1};
	struct failure f;

	(void)unused;
	assert_int_equal(vocabulary_index(&v, &first, &second, &f), FAIL_NONE);
	EACH_ROW(i, row) {
		uint32_t id[8];
		struct symbols s;

		set_up(&s, true, false);
		s.vocabulary = &v;
		for (uint32_t byte = 0x80; byte < 0x100; byte++)
			s.fallback[byte] = byte == row[i].missing ? VOCABULARY_NONE : byte;
		assert_int_equal(
		    symbols_of(&s, (const uint8_t *)row[i].text, strlen(row[i].text), id),
		    row[i].n);
		assert_memory_equal(id, row[i].id, row[i].n * sizeof(*id));
	}
	free(v.slot);
}

/* As many tokens as a power of two, on both sides of it: the search for another one ends. */
static void
test_a_vocabulary_of_any_size_knows_its_tokens_and_no_other(void **unused)
{
	static const uint32_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 256};

	(void)unused;
	EACH_ROW(k, sizes) {
		uint8_t text[3 * 256];
		uint32_t start[257] = {0}, first, second;
		struct vocabulary v = {.bytes = text, .start = start, .ids = sizes[k]};
		struct failure f;

		/* Tokens of one to three bytes: its number, then 'x'. */
		for (uint32_t i = 0; i < v.ids; i++) {
			uint32_t n = 1 + i % 3;

			memset(text + start[i], 'x', n);
			text[start[i]] = (uint8_t)i;
			start[i + 1] = start[i] + n;
		}
		assert_int_equal(vocabulary_index(&v, &first, &second, &f), FAIL_NONE);
		for (uint32_t i = 0; i < 256; i++)
			for (uint32_t n = 1; n <= 4; n++) {
				const uint8_t token[] = {(uint8_t)i, 'x', 'x', 'x'};

				assert_int_equal(vocabulary_find(&v, token, n),
				    i < v.ids && n == 1 + i % 3 ? i : VOCABULARY_NONE);
			}
		free(v.slot);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_unknown_token_waits_for_a_token_and_bytes_do_not_wait_for_it),
	    cmocka_unit_test(test_a_character_falls_back_only_if_all_of_its_bytes_have_a_token),
	    cmocka_unit_test(test_a_vocabulary_of_any_size_knows_its_tokens_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
