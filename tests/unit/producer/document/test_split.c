#include "producer/document/split.h"

#include <inttypes.h>
#include <math.h>

#include "tests/unit/test.h"

/* The next line that is no comment; false: there is none. */
static bool
next_line(FILE *file, char *line, int room)
{
	while (fgets(line, room, file) != NULL)
		if (line[0] != '#')
			return true;
	return false;
}

static FILE *
open_vectors(const char *path)
{
	FILE *file = fopen(path, "r");

	if (file == NULL)
		print_error("run the tests from the root of the tree\n");
	assert_non_null(file);
	return file;
}

static enum names_set
set_of(const char *text, size_t n, const struct split *s)
{
	struct split_piece piece[SPLIT_PIECES_MAX];

	assert_int_equal(split_pieces(piece, s, split_hash(text, n), 1000), 1);
	assert_int_equal(piece[0].first, 0);
	assert_int_equal(piece[0].end, 1000);
	return piece[0].set;
}

static void
test_sets_are_those_of_an_independent_implementation(void **unused)
{
	FILE *file = open_vectors("tests/vectors/split.tsv");
	char line[512];
	size_t rows = 0;

	(void)unused;
	while (next_line(file, line, sizeof(line))) {
		struct split s = {.piece_tokens = 0};
		char set[8];
		size_t text_n = strcspn(line, "\t");

		assert_int_equal(
		    sscanf(line + text_n, "\t%" SCNu32 "\t%" SCNu32 "\t%" SCNu32 "\t%*s\t%7s",
			&s.parts[0], &s.parts[1], &s.parts[2], set),
		    4);
		assert_string_equal(names_set_text[set_of(line, text_n, &s)], set);
		rows++;
	}
	fclose(file);
	assert_true(rows > 100);
}

static void
test_pieces_are_those_of_an_independent_implementation(void **unused)
{
	FILE *file = open_vectors("tests/vectors/split_pieces.tsv");
	char line[512];
	size_t rows = 0;

	(void)unused;
	while (next_line(file, line, sizeof(line))) {
		struct split s = {.piece_tokens = 0};
		struct split_piece piece[SPLIT_PIECES_MAX];
		uint64_t hash, n;
		char shown[512] = "";
		size_t pieces_n;
		int at = 0;

		assert_int_equal(
		    sscanf(line,
			"%" SCNx64 "\t%" SCNu64 "\t%" SCNu32 "\t%" SCNu32 "\t%" SCNu32 "\t%" SCNu32
			"\t%n",
			&hash, &n, &s.piece_tokens, &s.parts[0], &s.parts[1], &s.parts[2], &at),
		    6);
		pieces_n = split_pieces(piece, &s, hash, n);
		for (size_t i = 0; i < pieces_n; i++)
			snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown),
			    "%s%s:%" PRIu64 "-%" PRIu64, i == 0 ? "" : " ",
			    names_set_text[piece[i].set], piece[i].first, piece[i].end);
		line[strcspn(line, "\n")] = '\0';
		assert_string_equal(shown, line + at);
		rows++;
	}
	fclose(file);
	assert_true(rows > 90);
}

static void
test_shares_are_those_asked_for(void **unused)
{
	enum { DOCUMENTS = 100000 };
	static const struct split s = {.parts = {900, 90, 10}};
	size_t count[SETS_COUNT] = {0};
	char text[32];

	(void)unused;
	for (int i = 0; i < DOCUMENTS; i++)
		count[set_of(text, (size_t)snprintf(text, sizeof(text), "text %d", i), &s)]++;
	/* Four standard deviations of a binomial. */
	assert_in_range(count[SET_TRAIN], 90000 - 380, 90000 + 380);
	assert_in_range(count[SET_VALID], 9000 - 362, 9000 + 362);
	assert_in_range(count[SET_TEST], 1000 - 126, 1000 + 126);
}

static void
test_a_part_of_zero_gets_nothing(void **unused)
{
	static const struct split only[SETS_COUNT] = {
	    {.parts = {1, 0, 0}}, {.parts = {0, 1, 0}}, {.parts = {0, 0, 1}}};
	static const struct split two = {.parts = {3, 0, 1}, .piece_tokens = 5};
	struct split_piece piece[SPLIT_PIECES_MAX];
	char text[32];

	(void)unused;
	for (unsigned some = 0; some < 8; some++) {
		const struct split s = {
		    .parts = {some & 1 ? 5 : 0, some & 2 ? 1 : 0, some & 4 ? 1000000000 : 0}};

		assert_int_equal(split_needs_hash(&s), __builtin_popcount(some) > 1);
	}
	assert_true(split_needs_hash(&two));
	for (int i = 0; i < 3000; i++) {
		size_t n = (size_t)snprintf(text, sizeof(text), "text %d", i);

		for (int set = 0; set < SETS_COUNT; set++)
			assert_int_equal(set_of(text, n, &only[set]), set);
		n = split_pieces(piece, &two, split_hash(text, n), 1 + (uint64_t)i);
		for (size_t k = 0; k < n; k++)
			assert_int_not_equal(piece[k].set, SET_VALID);
	}
}

/* Tokens that the sets get of a corpus of which document i has length[i]; also checks each one. */
static void
deal(const struct split *s, int corpus, const uint64_t *length, int documents,
    uint64_t tokens[SETS_COUNT])
{
	uint64_t sum = (uint64_t)s->parts[0] + s->parts[1] + s->parts[2];

	memset(tokens, 0, SETS_COUNT * sizeof(*tokens));
	for (int i = 0; i < documents; i++) {
		struct split_piece piece[SPLIT_PIECES_MAX];
		uint64_t mine[SETS_COUNT] = {0}, end = 0;
		char text[32];
		size_t n = (size_t)snprintf(text, sizeof(text), "%d %d", corpus, i);
		size_t pieces_n = split_pieces(piece, s, split_hash(text, n), length[i]);

		for (size_t k = 0; k < pieces_n; k++) {
			assert_int_equal(piece[k].first, end);
			assert_true(piece[k].end > end);
			end = piece[k].end;
			mine[piece[k].set] += end - piece[k].first;
		}
		assert_int_equal(end, length[i]);
		for (int set = 0; set < SETS_COUNT; set++) {
			double share = (double)s->parts[set] / (double)sum;

			tokens[set] += mine[set];
			/* Less than a piece off its share, and the rounding of pieces. */
			if (s->piece_tokens > 0)
				assert_true(fabs((double)mine[set] - share * (double)length[i]) <
					    s->piece_tokens + 2.0);
		}
	}
}

/* Of lengths as 1/u the mean is not finite: a few documents have most of the tokens. */
static void
test_shares_of_tokens_are_within_the_bound_where_lengths_are_skewed(void **unused)
{
	enum { DOCUMENTS = 20000, CORPORA = 20 };
	static uint64_t length[DOCUMENTS];
	struct split pieces = {.parts = {98, 1, 1}, .piece_tokens = 4096}, whole = pieces;
	double total = 0, bound, squares = 0, squares_whole = 0;

	(void)unused;
	whole.piece_tokens = 0;
	for (int i = 0; i < DOCUMENTS; i++) {
		length[i] = 100 * DOCUMENTS / (uint64_t)(1 + i * 7919L % DOCUMENTS);
		total += (double)length[i];
	}
	bound = sqrt(0.01 * 0.99 * pieces.piece_tokens * total);
	for (int i = 0; i < CORPORA; i++) {
		uint64_t tokens[SETS_COUNT];
		double off;

		deal(&pieces, i, length, DOCUMENTS, tokens);
		off = (double)tokens[SET_VALID] - 0.01 * total;
		assert_true(fabs(off) < 3 * bound);
		squares += off * off;
		deal(&whole, i, length, DOCUMENTS, tokens);
		off = (double)tokens[SET_VALID] - 0.01 * total;
		squares_whole += off * off;
	}
	print_message("%.0f tokens, 1 %% of them: off by %.1f %% of that (bound %.1f %%), by "
		      "documents %.1f %%\n",
	    total, sqrt(squares / CORPORA) / total * 1e4, bound / total * 1e4,
	    sqrt(squares_whole / CORPORA) / total * 1e4);
	assert_true(sqrt(squares / CORPORA) < bound);
	assert_true(sqrt(squares_whole / CORPORA) > 2 * bound);
}

/*
 * A document of 30 tokens: train, valid, train. An output stopped behind its token 5, 10, 25, 30.
 */
static void
test_what_is_left_of_pieces_begins_where_an_output_continues(void **unused)
{
	static const struct split_piece piece[] = {
	    {SET_TRAIN, 0, 10}, {SET_VALID, 10, 20}, {SET_TRAIN, 20, 30}};
	static const struct {
		uint64_t first, rest[3];
	} row[] = {
	    {0, {0, 10, 20}}, {5, {5, 10, 20}}, {9, {9, 10, 20}}, {10, {10, 10, 20}},
	    {25, {25, 25, 25}}, {30, {30, 30, 30}}, /* nothing of any */
	};

	(void)unused;
	EACH_ROW(i, row)
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(split_piece_rest(&piece[k], row[i].first), row[i].rest[k]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sets_are_those_of_an_independent_implementation),
	    cmocka_unit_test(test_pieces_are_those_of_an_independent_implementation),
	    cmocka_unit_test(test_shares_are_those_asked_for),
	    cmocka_unit_test(test_a_part_of_zero_gets_nothing),
	    cmocka_unit_test(test_what_is_left_of_pieces_begins_where_an_output_continues),
	    cmocka_unit_test(test_shares_of_tokens_are_within_the_bound_where_lengths_are_skewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
