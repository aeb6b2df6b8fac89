#include "producer/pretokenizer/splitter.h"

#include "tests/unit/test.h"

enum { RANDOM_TEXTS = 40000, TEXT_BYTES_MAX = 420, ENDS = 1024 };

/*
 * The pieces, with a bar between them, that tiktoken 0.14 gives for gpt2, cl100k and o200k, and for
 * qwen2 where they are not those of cl100k.
 */
static const struct {
	const char *text;
	const char *pieces[SPLITTER_PATTERNS];
} cases[] = {
    {"Hello world", {"Hello| world", "Hello| world", "Hello| world"}},
    {"don't I'LL we'RE x's'y", {"don|'t| I|'|LL| we|'|RE| x|'s|'|y",
				   "don|'t| I|'LL| we|'RE| x|'s|'y", "don't| I'LL| we'RE| x's|'y"}},
    {"a  b   c ", {"a| | b|  | c| ", "a| | b|  | c| ", "a| | b|  | c| "}},
    {"  \n\n  x\n", {"  \n\n | x|\n", "  \n\n| | x|\n", "  \n\n| | x|\n"}},
    {"1234567 12 3",
	{"1234567| 12| 3", "123|456|7| |12| |3", "123|456|7| |12| |3", "1|2|3|4|5|6|7| |1|2| |3"}},
    {"(foo) ((bar) +baz",
	{"(|foo|)| ((|bar|)| +|baz", "(foo|)| ((|bar|)| +|baz", "(foo|)| ((|bar|)| +|baz"}},
    {"a.\n\nb;\n// c\n/* d */",
	{"a|.|\n|\n|b|;|\n|//| c|\n|/*| d| */", "a|.\n\n|b|;\n|//| c|\n|/*| d| */",
	    "a|.\n\n|b|;\n//| c|\n|/*| d| */"}},
    {"x\t\ty \tz", {"x|\t|\t|y| |\t|z", "x|\t|\ty| |\tz", "x|\t|\ty| |\tz"}},
    {"fooBarBAZQux", {"fooBarBAZQux", "fooBarBAZQux", "foo|Bar|BAZQux"}},
    {"it's'B IT'Sfoo'", {"it|'s|'|B| IT|'|Sfoo|'", "it|'s|'B| IT|'S|foo|'", "it's|'B| IT'S|foo|'"}},
    {"!!!\r\n\r\n  ", {"!!!|\r\n\r\n  ", "!!!\r\n\r\n|  ", "!!!\r\n\r\n|  "}},
    {"\u00e9t\u00e9 \u00c9T\u00c9 \u4e2d\u6587ABC",
	{"\u00e9t\u00e9| \u00c9T\u00c9| \u4e2d\u6587ABC",
	    "\u00e9t\u00e9| \u00c9T\u00c9| \u4e2d\u6587ABC",
	    "\u00e9t\u00e9| \u00c9T\u00c9| \u4e2d\u6587|ABC"}},
    {"caf\u0301e \u0301x",
	{"caf|\u0301|e| \u0301|x", "caf|\u0301e| \u0301|x", "caf\u0301e| \u0301x"}},
    {"\u0661\u0662\u0663\u0664 \u00bd",
	{"\u0661\u0662\u0663\u0664| \u00bd", "\u0661\u0662\u0663|\u0664| |\u00bd",
	    "\u0661\u0662\u0663|\u0664| |\u00bd", "\u0661|\u0662|\u0663|\u0664| |\u00bd"}},
    {"a\u00a0b\u3000\u3000c",
	{"a|\u00a0|b|\u3000|\u3000|c", "a|\u00a0b|\u3000|\u3000c", "a|\u00a0b|\u3000|\u3000c"}},
    {"'\u017f a'\u017fb", {"'|\u017f| a|'|\u017fb", "'\u017f| a|'\u017f|b", "'\u017f| a'\u017f|b"}},
    {"\u01c5x \u02b0A", {"\u01c5x| \u02b0A", "\u01c5x| \u02b0A", "\u01c5x| \u02b0|A"}},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* Characters that the rules tell apart, and those that come close to them. */
static const char *const alphabet[] = {"a", "s", "t", "l", "e", "r", "v", "S", "T", "L", "E", "D",
    "Z", "x", "m", "0", "7", "9", " ", " ", "  ", "\n", "\r\n", "\r", "\t", "\v", "\x1f", "'", "'",
    "'s", "'LL", "'re", "!", "/", "//", "_", "(", "\"", "-", "~", "\x7f", "{", "@", "[", "`", ":",
    "\u00e9", "\u00c9", "\u00d7", "\u00aa", "\u00b2", "\u00a0", "\xC2\x85", "\u017f", "\u01c5",
    "\u0301", "\u0661", "\u0430", "\u0410", "\u0915", "\u093f", "\u4e2d", "\u6587", "\u3000",
    "\u3002", "\u201c", "\u2019", "\u2028", "\ufe0f", "\ufffd", "\ufeff", "\U0001F600",
    "\U0001D400", "\U00020000", "\U0001D7D8", "\U000E0100", "\u02b0", "abcdefgh", "ABCDEFGH",
    "        ", "----------------", "\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587"};
enum { ALPHABET = sizeof(alphabet) / sizeof(alphabet[0]) };

static void
check_row(enum splitter_pattern pattern, const char *text, const char *expected)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t n = strlen(text), at = 0, written = 0;
	char joined[256];

	while (at < n) {
		size_t piece = splitter_piece(pattern, p + at, n - at);

		assert_in_range(piece, 1, n - at);
		if (at > 0)
			joined[written++] = '|';
		memcpy(joined + written, text + at, piece);
		written += piece;
		at += piece;
	}
	joined[written] = '\0';
	assert_string_equal(joined, expected);
}

static void
test_pieces_are_those_of_the_pattern(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < CASES; i++)
		for (int pattern = 0; pattern < SPLITTER_PATTERNS; pattern++)
			check_row((enum splitter_pattern)pattern, cases[i].text,
			    cases[i].pieces[pattern] != NULL ? cases[i].pieces[pattern]
							     : cases[i].pieces[SPLITTER_CL100K]);
}

/* Compares both ways on a text that stands in memory of its own size. */
static void
check_same(enum splitter_pattern pattern, const uint8_t *text, size_t n)
{
	static uint32_t end[ENDS];
	uint8_t *copy = malloc(n);
	size_t count = 0, i = 0, at = 0;

	assert_non_null(copy);
	memcpy(copy, text, n);
	for (size_t begun = 0; begun < n; begun = at) {
		count = splitter_pieces(pattern, copy + begun, n - begun, end, ENDS);
		assert_in_range(count, 1, ENDS);
		for (i = 0; i < count; i++) {
			at += splitter_piece(pattern, copy + at, n - at);
			assert_int_equal(begun + end[i], at);
		}
	}
	assert_int_equal(at, n);
	free(copy);
}

static uint32_t
next(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
	return *x >> 16;
}

/*
 * Half of the texts are drawn from few characters, so that rare neighbours meet often; the others
 * from all of them.
 */
static size_t
random_text(uint32_t *x, uint8_t *text)
{
	size_t n = 0, limit = 1 + next(x) % (TEXT_BYTES_MAX - 32);
	size_t few = next(x) % 2 == 0 ? 2 + next(x) % 6 : 0;
	const char *chosen[8];

	for (size_t i = 0; i < few; i++)
		chosen[i] = alphabet[next(x) % ALPHABET];
	while (n < limit) {
		const char *one = few > 0 ? chosen[next(x) % few] : alphabet[next(x) % ALPHABET];

		memcpy(text + n, one, strlen(one));
		n += strlen(one);
	}
	return n;
}

static void
test_blocks_give_the_pieces_of_the_scalar_way(void **unused)
{
	uint8_t text[TEXT_BYTES_MAX];

	(void)unused;
	for (uint32_t seed = 1; seed <= RANDOM_TEXTS; seed++) {
		uint32_t x = seed * 2654435761u;
		size_t n = random_text(&x, text);

		for (int pattern = 0; pattern < SPLITTER_PATTERNS; pattern++)
			check_same((enum splitter_pattern)pattern, text, n);
	}
}

/* Each character at each place of a block and around its end, among letters, spaces and signs. */
static void
test_every_place_in_a_block(void **unused)
{
	static const char *const around[] = {"a", " ", "!", "1", "\n", "B"};
	uint8_t text[256];

	(void)unused;
	for (size_t i = 0; i < ALPHABET; i++)
		for (size_t k = 0; k < 6; k++)
			for (size_t place = 0; place < 70; place++) {
				size_t one = strlen(alphabet[i]);

				memset(text, around[k][0], 140);
				memcpy(text + place, alphabet[i], one);
				text[place + one] = 's';
				for (int pattern = 0; pattern < SPLITTER_PATTERNS; pattern++)
					check_same((enum splitter_pattern)pattern, text, 140);
			}
}

static void
test_ends_stop_only_where_room_runs_out(void **unused)
{
	uint32_t end[SPLITTER_SLACK + 3];
	uint8_t text[200];

	(void)unused;
	memset(text, '!', sizeof(text));
	for (size_t i = 0; i < sizeof(text); i += 2)
		text[i] = 'a';
	for (int pattern = 0; pattern < SPLITTER_PATTERNS; pattern++) {
		size_t n = splitter_pieces(
		    (enum splitter_pattern)pattern, text, sizeof(text), end, SPLITTER_SLACK + 3);

		assert_in_range(n, 3, SPLITTER_SLACK + 3);
		assert_true(end[n - 1] < sizeof(text));
	}
}

static void
test_a_long_run_is_one_piece(void **unused)
{
	static uint8_t text[100000];
	uint32_t end[ENDS];

	(void)unused;
	memset(text, 'x', sizeof(text));
	for (int pattern = 0; pattern < SPLITTER_PATTERNS; pattern++) {
		assert_int_equal(
		    splitter_pieces((enum splitter_pattern)pattern, text, sizeof(text), end, ENDS),
		    1);
		assert_int_equal(end[0], sizeof(text));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pieces_are_those_of_the_pattern),
	    cmocka_unit_test(test_blocks_give_the_pieces_of_the_scalar_way),
	    cmocka_unit_test(test_every_place_in_a_block),
	    cmocka_unit_test(test_ends_stop_only_where_room_runs_out),
	    cmocka_unit_test(test_a_long_run_is_one_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
