/* export_pieces.h: sequences of a partition as documents; no file and no broker. */
#include "consumer/admin/export_pieces.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"

enum { EOS = 0, TEXT_BYTES = 512 };

/* What the sink was given: "1 2 0|" a document that is whole, "7 8x" one that is taken back. */
static char given[TEXT_BYTES];
static struct export_pieces *pieces;
static struct failure f;

static enum fail_code
take_tokens(void *opaque, const uint32_t *id, size_t n, struct failure *unused)
{
	(void)opaque;
	(void)unused;
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(given);

		snprintf(given + used, sizeof(given) - used, "%u ", (unsigned)id[i]);
	}
	return FAIL_NONE;
}

static enum fail_code
take_end(void *opaque, bool whole, struct failure *unused)
{
	size_t used = strlen(given);

	(void)opaque;
	(void)unused;
	snprintf(given + used - 1, sizeof(given) - used + 1, "%s", whole ? "|" : "x");
	return FAIL_NONE;
}

static void
open_pieces(bool stream)
{
	const struct export_pieces_sink sink = {.tokens = take_tokens, .end = take_end};

	given[0] = '\0';
	assert_int_equal(export_pieces_open(&pieces, &sink, EOS, stream, &f), FAIL_NONE);
}

static enum fail_code
add(enum sequence_packing packing, uint64_t window, const struct sequence_span *span,
    size_t spans_n, const uint32_t *token, size_t used)
{
	struct sequence_view s = {.position = {.packing = packing, .window = window},
	    .payload = {.spans_n = (uint32_t)spans_n, .used = (uint32_t)used}};

	return export_pieces_add(pieces, &s, span, token, &f);
}

/* After the last sequence: what was given, and how many documents were left out. */
static void
finish(const char *want, uint64_t left_out)
{
	assert_int_equal(export_pieces_finish(pieces, &f), FAIL_NONE);
	assert_string_equal(given, want);
	assert_int_equal(export_pieces_left_out(pieces), left_out);
	export_pieces_close(pieces);
}

/* Document 0 is 1 2 3 4 eos, in two sequences that share its token 3; document 1 begins with 5. */
static void
add_shared(void)
{
	static const struct sequence_span one[] = {{.document = 0}};
	static const struct sequence_span two[] = {
	    {.document = 0, .offset = 2}, {.start = 3, .document = 1}};
	static const uint32_t first[] = {1, 2, 3}, second[] = {3, 4, EOS, 5};

	assert_int_equal(add(SEQUENCE_CONCAT, 0, one, 1, first, 3), FAIL_NONE);
	assert_int_equal(add(SEQUENCE_CONCAT, 0, two, 2, second, 4), FAIL_NONE);
}

static void
test_a_shared_token_is_given_once_and_a_cut_off_document_is_left_out(void **unused)
{
	(void)unused;
	open_pieces(false);
	add_shared();
	finish("1 2 3 4 0|5x", 1);
}

static void
test_a_stream_gives_every_token_and_leaves_nothing_out(void **unused)
{
	(void)unused;
	open_pieces(true);
	add_shared();
	finish("1 2 3 4 0|5|", 0);
}

static void
test_a_document_that_ends_with_eos_is_whole_at_the_end(void **unused)
{
	static const struct sequence_span one[] = {{.document = 3}};
	static const uint32_t token[] = {1, 2, EOS};

	(void)unused;
	open_pieces(false);
	assert_int_equal(add(SEQUENCE_CONCAT, 0, one, 1, token, 3), FAIL_NONE);
	finish("1 2 0|", 0);
}

static void
test_without_packing_every_document_is_whole(void **unused)
{
	static const struct sequence_span one[] = {{.document = 0}};
	static const uint32_t token[] = {1, 2};

	(void)unused;
	open_pieces(false);
	assert_int_equal(add(SEQUENCE_NONE, 0, one, 1, token, 2), FAIL_NONE);
	finish("1 2|", 0);
}

static void
test_a_window_gives_its_documents_in_order(void **unused)
{
	static const struct sequence_span later[] = {{.document = 1, .offset = 2}};
	static const struct sequence_span both[] = {{.document = 1}, {.start = 2, .document = 0}};
	static const struct sequence_span next[] = {{.document = 2}}, after[] = {{.document = 3}};
	static const uint32_t last[] = {5, EOS}, mixed[] = {3, 4, 1, EOS}, other[] = {9, EOS};

	(void)unused;
	open_pieces(false);
	assert_int_equal(add(SEQUENCE_BEST_FIT, 1, later, 1, last, 2), FAIL_NONE);
	assert_int_equal(add(SEQUENCE_BEST_FIT, 2, both, 2, mixed, 4), FAIL_NONE);
	assert_string_equal(given, ""); /* the window may not be complete */
	assert_int_equal(add(SEQUENCE_BEST_FIT, 1, next, 1, other, 2), FAIL_NONE);
	assert_string_equal(given, "1 0|3 4 5 0|");
	assert_int_equal(add(SEQUENCE_BEST_FIT, 1, after, 1, other, 1), FAIL_NONE);
	assert_string_equal(given, "1 0|3 4 5 0|9 0|"); /* windows of one sequence end, too */
	finish("1 0|3 4 5 0|9 0|9|", 0);
}

/* A sequence of a concat partition. */
struct packed {
	uint32_t token[4];
	size_t used;
	struct sequence_span span[4];
	size_t spans_n;
};

/* A span may be followed in its own sequence, in the next one, or not at all. */
static void
test_a_document_without_eos_is_whole_if_another_follows(void **unused)
{
	static const struct {
		struct packed sequence[3];
		size_t n;
		const char *given;
		uint64_t left_out;
	} rows[] = {
	    /* 1, 2 and 3 spans of the first sequence */
	    {{{{1, 2}, 2, {{.document = 0}}, 1}}, 1, "1 2x", 1},
	    {{{{1, 2}, 2, {{.document = 0}, {.document = 1, .start = 1}}, 2}}, 1, "1|2x", 1},
	    {{{{1, 2, 3}, 3,
		 {{.document = 0}, {.document = 1, .start = 1}, {.document = 2, .start = 2}}, 3}},
		1, "1|2|3x", 1},
	    {{{{1, 2, EOS}, 3, {{.document = 0}, {.document = 1, .start = 1}}, 2}}, 1, "1|2 0|", 0},
	    /* a joined sequence: its first span only continues, or is the shared token alone */
	    {{{{1, 2}, 2, {{.document = 0}}, 1},
		 {{2, 3, 4}, 3, {{.document = 0, .offset = 1}, {.document = 1, .start = 2}}, 2}},
		2, "1 2 3|4x", 1},
	    {{{{1, 2}, 2, {{.document = 0}}, 1},
		 {{2, 4}, 2, {{.document = 0, .offset = 1}, {.document = 1, .start = 1}}, 2}},
		2, "1 2|4x", 1},
	    {{{{1, 2}, 2, {{.document = 0}, {.document = 1, .start = 1}}, 2},
		 {{2, 4}, 2, {{.document = 1}, {.document = 2, .start = 1}}, 2},
		 {{4, 5}, 2, {{.document = 2}}, 1}},
		3, "1|2|4 5x", 1},
	    /* not joined: the End of the log before cut document 0 off */
	    {{{{1, 2}, 2, {{.document = 0}}, 1}, {{4}, 1, {{.document = 1}}, 1}}, 2, "1 2x4x", 2},
	    {{{{1, 2}, 2, {{.document = 0}, {.document = 1, .start = 1}}, 2},
		 {{4, 5}, 2, {{.document = 2}, {.document = 3, .start = 1}}, 2}},
		2, "1|2x4|5x", 2},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, given) {
		open_pieces(false);
		for (size_t k = 0; k < rows[i].n; k++) {
			const struct packed *s = &rows[i].sequence[k];

			assert_int_equal(
			    add(SEQUENCE_CONCAT, 0, s->span, s->spans_n, s->token, s->used),
			    FAIL_NONE);
		}
		finish(rows[i].given, rows[i].left_out);
	}
}

/* One object reads several partitions of each packing like a fresh one. */
static void
test_nothing_of_a_partition_is_left_for_the_next_one(void **unused)
{
	static const struct sequence_span one[] = {{.document = 0}};
	static const struct sequence_span two[] = {{.document = 1}, {.start = 1, .document = 0}};
	static const uint32_t token[] = {7, 8};
	static const struct {
		bool stream;
		const char *given;
		uint64_t left_out;
	} rows[] = {
	    {false, "7 8x7 8x8|7|8|7|7 8x7 8x7 8|7 8|", 4},
	    {true, "7 8|7 8|7|8|7|8|7 8|7 8|7 8|7 8|", 0},
	};
	static const enum sequence_packing order[] = {
	    SEQUENCE_CONCAT, SEQUENCE_BEST_FIT, SEQUENCE_CONCAT, SEQUENCE_NONE};

	(void)unused;
	EACH_ROW(i, rows) {
		open_pieces(rows[i].stream);
		for (size_t k = 0; k < 8; k++) {
			bool best = order[k / 2] == SEQUENCE_BEST_FIT;

			/* The window's number keeps growing. */
			assert_int_equal(
			    add(order[k / 2], k + 1, best ? two : one, best ? 2 : 1, token, 2),
			    FAIL_NONE);
			assert_int_equal(export_pieces_finish(pieces, &f), FAIL_NONE);
		}
		finish(rows[i].given, rows[i].left_out);
	}
}

static void
test_a_gap_in_a_document_is_refused(void **unused)
{
	static const struct sequence_span one[] = {{.document = 0}};
	static const struct sequence_span far[] = {{.document = 0, .offset = 9}};
	static const uint32_t token[] = {1, 2};

	(void)unused;
	open_pieces(false);
	assert_int_equal(add(SEQUENCE_NONE, 0, one, 1, token, 2), FAIL_NONE);
	assert_int_equal(add(SEQUENCE_NONE, 0, far, 1, token, 2), FAIL_DATA);
	assert_non_null(strstr(f.text, "token 2 was expected"));
	export_pieces_close(pieces);
}

static void
test_a_document_that_begins_in_its_middle_is_refused(void **unused)
{
	static const struct sequence_span far[] = {{.document = 4, .offset = 1}};
	static const uint32_t token[] = {1, 2};

	(void)unused;
	open_pieces(false);
	assert_int_equal(add(SEQUENCE_CONCAT, 0, far, 1, token, 2), FAIL_DATA);
	assert_non_null(strstr(f.text, "document 4 begins with its token 1"));
	export_pieces_close(pieces);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_shared_token_is_given_once_and_a_cut_off_document_is_left_out),
	    cmocka_unit_test(test_a_stream_gives_every_token_and_leaves_nothing_out),
	    cmocka_unit_test(test_a_document_that_ends_with_eos_is_whole_at_the_end),
	    cmocka_unit_test(test_without_packing_every_document_is_whole),
	    cmocka_unit_test(test_a_window_gives_its_documents_in_order),
	    cmocka_unit_test(test_a_document_without_eos_is_whole_if_another_follows),
	    cmocka_unit_test(test_nothing_of_a_partition_is_left_for_the_next_one),
	    cmocka_unit_test(test_a_gap_in_a_document_is_refused),
	    cmocka_unit_test(test_a_document_that_begins_in_its_middle_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
