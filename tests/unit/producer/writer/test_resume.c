/* resume.h: where a producer continues, decided from the states of its partitions. */
#include "tests/unit/test.h"

#include <string.h>

#include "common/record/frame.h"
#include "producer/writer/resume.h"

#define FRESH                                                                                      \
	{                                                                                          \
		.state = RESUME_FRESH                                                              \
	}
#define ENDED                                                                                      \
	{                                                                                          \
		.state = RESUME_ENDED                                                              \
	}
#define AT(n)                                                                                      \
	{                                                                                          \
		.state = RESUME_PARTIAL, .document = n, .byte = 10 * n, .line = n + 1,             \
		.file = file                                                                       \
	}

#define APPEND(n)                                                                                  \
	{                                                                                          \
		.state = RESUME_APPEND, .document = n, .byte = 10 * n, .line = n + 1,              \
		.file = file, .files = n, .names = 7 * n                                           \
	}

static char file[] = "f.jsonl";

static const struct {
	const char *claim;
	struct resume r[3];
	bool needed, from_start;
	uint64_t document;
	bool ended;
	uint64_t files;
} cases[] = {
    {"nothing there: from the start", {FRESH, FRESH, FRESH}, true, true, 0, false, 0},
    {"all ended: nothing to do", {ENDED, ENDED, ENDED}, false, false, 0, false, 0},
    {"the earliest of several", {AT(9), AT(4), AT(7)}, true, false, 4, false, 0},
    {"one that has nothing yet needs the start", {AT(9), FRESH, AT(7)}, true, true, 0, false, 0},
    {"an ended one needs nothing", {AT(9), ENDED, AT(7)}, true, false, 7, false, 0},
    {"ended beside fresh: from the start", {ENDED, FRESH, ENDED}, true, true, 0, false, 0},
    {"document 0 is a place too", {AT(0), AT(3), ENDED}, true, false, 0, false, 0},
    {"an append begins at the end", {APPEND(9), ENDED, ENDED}, true, false, 9, true, 9},
    {"at the earliest of them, with the longest list", {APPEND(9), APPEND(4), APPEND(7)}, true,
	false, 4, true, 9},
    {"an append that was broken off", {AT(12), APPEND(9), AT(3)}, true, false, 3, false, 9},
    {"of one document a record says more than an End", {APPEND(5), AT(5), ENDED}, true, false, 5,
	false, 5},
    {"a set that is new needs the start", {APPEND(5), FRESH, ENDED}, true, true, 0, false, 0},
};

static void
test_a_lane_goes_on_at_the_earliest_place_that_a_partition_needs(void **state)
{
	(void)state;
	EACH_NAMED_ROW(i, cases, claim) {
		struct input_position from;
		bool from_start, needed;

		print_message("%s\n", cases[i].claim);
		resume_start(cases[i].r, 3, &from, &from_start, &needed);
		assert_int_equal(needed, cases[i].needed);
		assert_int_equal(from_start, cases[i].from_start);
		if (!needed || from_start)
			continue;
		assert_int_equal(from.document, cases[i].document);
		assert_int_equal(from.byte, 10 * cases[i].document);
		assert_int_equal(from.line, cases[i].document + 1);
		assert_ptr_equal(from.file, file);
		assert_int_equal(from.ended, cases[i].ended);
		assert_int_equal(from.files, cases[i].files);
		assert_int_equal(from.names, 7 * cases[i].files);
	}
}

#define MARK 0x80000000U

static const struct {
	const char *claim;
	uint64_t offset; /* of the last token in its document */
	uint32_t tail[4];
	size_t tail_n;
	uint32_t document[6];
	size_t n;
	bool fits;
} fits[] = {
    {"the same document", 3, {3, 4}, 2, {1, 2, 3, 4, 5}, 5, true},
    {"its whole beginning", 1, {1, 2}, 2, {1, 2, 3}, 3, true},
    {"it ends with the tail", 2, {2, 3}, 2, {1, 2, 3}, 3, true},
    {"one token", 0, {1}, 1, {1}, 1, true},
    {"one token too short", 3, {3, 4}, 2, {1, 2, 3}, 3, false},
    {"empty but for its eos", 3, {3, 4}, 2, {0}, 1, false},
    {"tokens that are marked", 3, {3, 4}, 2, {1, 2 | MARK, 3 | MARK, 4, 5}, 5, true},
    {"another first token of the tail", 3, {9, 4}, 2, {1, 2, 3, 4, 5}, 5, false},
    {"another last token of the tail", 3, {3, 9}, 2, {1, 2, 3, 4, 5}, 5, false},
    {"moved by one token", 3, {3, 4}, 2, {0, 1, 2, 3, 4, 5}, 6, false},
};

static void
test_a_document_fits_if_it_has_the_tokens_of_the_last_record_in_their_place(void **state)
{
	(void)state;
	EACH_NAMED_ROW(i, fits, claim) {
		uint32_t tail[4];
		struct resume r = {.state = RESUME_PARTIAL,
		    .offset = fits[i].offset,
		    .tail = tail,
		    .tail_n = fits[i].tail_n};

		memcpy(tail, fits[i].tail, sizeof(tail));
		print_message("%s\n", fits[i].claim);
		assert_int_equal(resume_fits(&r, fits[i].document, fits[i].n, MARK), fits[i].fits);
	}
}

static const struct {
	const char *claim;
	uint32_t token[3];
	size_t n;
	struct sequence_span span[3];
	size_t spans_n;
	bool last;
} lasts[] = {
    {"the same", {5, 0, 0}, 3, {{.start = 0}, {.start = 1, .document = 7}}, 2, true},
    {"what is kept does not count", {5, 0, 0}, 3,
	{{.start = 0, .keep_n = 2}, {.start = 1, .document = 7}}, 2, true},
    {"another token", {5, 0, 1}, 3, {{.start = 0}, {.start = 1, .document = 7}}, 2, false},
    {"fewer tokens", {5, 0}, 2, {{.start = 0}, {.start = 1, .document = 7}}, 2, false},
    {"another document", {5, 0, 0}, 3, {{.start = 0}, {.start = 1, .document = 8}}, 2, false},
    {"another start", {5, 0, 0}, 3, {{.start = 0}, {.start = 2, .document = 7}}, 2, false},
    {"another offset", {5, 0, 0}, 3, {{.start = 0, .offset = 1}, {.start = 1, .document = 7}}, 2,
	false},
    {"one document more", {5, 0, 0}, 3,
	{{.start = 0}, {.start = 1, .document = 7}, {.start = 2, .document = 8}}, 3, false},
    {"one document less", {5, 0, 0}, 3, {{.start = 0}}, 1, false},
};

static void
test_a_window_packed_again_must_give_the_last_sequence_again(void **state)
{
	uint32_t token[] = {5, 0, 0};
	struct sequence_span span[] = {{.start = 0}, {.start = 1, .document = 7}};
	struct resume r = {.state = RESUME_PARTIAL,
	    .window = 4,
	    .tail = token,
	    .tail_n = 3,
	    .span = span,
	    .spans_n = 2};

	(void)state;
	EACH_NAMED_ROW(i, lasts, claim) {
		print_message("%s\n", lasts[i].claim);
		assert_int_equal(
		    resume_is_last(&r, lasts[i].token, lasts[i].n, lasts[i].span, lasts[i].spans_n),
		    lasts[i].last);
	}
}

static void
test_a_partition_without_a_last_record_is_new_or_deleted_or_asked_about_again(void **state)
{
	static const struct {
		int64_t low, high;
		enum resume_absent absent;
	} row[] = {
	    {0, 0, RESUME_ABSENT_NEW},
	    {0, 1, RESUME_ABSENT_UNSEEN},
	    {1, 1, RESUME_ABSENT_DELETED},
	    {7, 7, RESUME_ABSENT_DELETED},
	    {7, 8, RESUME_ABSENT_UNSEEN},
	};

	(void)state;
	EACH_ROW(i, row)
		assert_int_equal(resume_judge_absent(row[i].low, row[i].high), row[i].absent);
}

/* ---- what the last record says ---- */

enum { LENGTH = 8, TOKENS = LENGTH + 1 };

static const struct resume_expected expected = {.domain = "web",
    .tokenizer = 77,
    .tokenizer_file = "v.json",
    .sequence_length = LENGTH,
    .packing = SEQUENCE_CONCAT};

/* Documents 41 and 42, of which the second has six tokens here. */
static const struct sequence_span two[] = {
    {.document = 41, .offset = 9}, {.start = 3, .document = 42}};

/* The last record of a partition, a Sequence; gives its bytes in *w. */
static void
write_sequence(struct wire_writer *w, enum sequence_packing packing, uint64_t offset)
{
	static const struct text_view source = {"f.jsonl", 7};
	const struct sequence_position position = {.document = 42,
	    .file = source,
	    .byte = 1000,
	    .line = 11,
	    .offset = offset,
	    .documents = 40,
	    .rejects = 3,
	    .record_bytes = 5000,
	    .record_bytes_max = 90,
	    .tokens = 300,
	    .dropped = 6,
	    .sealed = 12,
	    .packing = packing,
	    .window = packing == SEQUENCE_BEST_FIT ? 2 : 0};
	uint32_t token[TOKENS];
	uint8_t frame[256];
	struct sequence_payload p = {.count = TOKENS,
	    .width = 2,
	    .used = TOKENS,
	    .sources = &source,
	    .sources_n = 1,
	    .spans = two,
	    .spans_n = 2,
	    .frame = frame};
	struct frame_codec *codec;
	struct failure f;

	for (uint32_t i = 0; i < TOKENS; i++)
		token[i] = 100 + i;
	assert_int_equal(frame_codec_open(&codec, &f), FAIL_NONE);
	assert_int_equal(
	    frame_encode(codec, token, TOKENS, 2, frame, sizeof(frame), &p.frame_n, &f), FAIL_NONE);
	frame_codec_close(codec);
	p.frame_hash = frame_hash(frame, p.frame_n);
	assert_int_equal(sequence_encode(w, 19, 77, &position, &p, &f), FAIL_NONE);
}

static void
test_a_sequence_says_where_its_partition_continues(void **state)
{
	struct wire_writer w = {0};
	struct resume r = {0};
	struct failure f;

	(void)state;
	write_sequence(&w, SEQUENCE_CONCAT, 5);
	assert_true(w.n > 90);
	assert_int_equal(resume_take(&r, w.bytes, w.n, &expected, &f), FAIL_NONE);
	assert_int_equal(r.state, RESUME_PARTIAL);
	assert_string_equal(r.file, "f.jsonl");
	assert_int_equal(r.sequences, 20);
	assert_int_equal(r.document, 42);
	assert_int_equal(r.byte, 1000);
	assert_int_equal(r.line, 11);
	assert_int_equal(r.offset, 5);
	assert_int_equal(r.documents, 40);
	assert_int_equal(r.rejects, 3);
	assert_int_equal(r.record_bytes, 5000 + w.n);
	assert_int_equal(r.record_bytes_max, w.n);
	assert_int_equal(r.tokens, 300);
	assert_int_equal(r.dropped, 6);
	assert_int_equal(r.window, 0);
	assert_int_equal(r.sealed, 12);
	assert_int_equal(r.tail_n, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(r.tail[i], 103 + i);
	assert_true(resume_fits(&r, r.tail, 6, 0));
	assert_false(resume_fits(&r, r.tail, 5, 0)); /* whatever comes after the five */
	resume_close(&r);
	wire_writer_close(&w);
	write_sequence(&w, SEQUENCE_CONCAT, 6); /* not where its last document ends */
	r = (struct resume){0};
	assert_int_equal(resume_take(&r, w.bytes, w.n, &expected, &f), FAIL_DATA);
	assert_non_null(
	    strstr(f.text, "(document 42 token 6) is not where its last document ends"));
	resume_close(&r);
	wire_writer_close(&w);
}

static void
test_a_sequence_of_a_window_has_to_come_again_as_a_whole(void **state)
{
	struct resume_expected e = expected;
	struct wire_writer w = {0};
	struct resume r = {0};
	uint32_t token[TOKENS];
	struct failure f;

	(void)state;
	e.packing = SEQUENCE_BEST_FIT;
	write_sequence(&w, SEQUENCE_BEST_FIT, 0);
	assert_int_equal(resume_take(&r, w.bytes, w.n, &e, &f), FAIL_NONE);
	assert_int_equal(r.window, 2);
	for (uint32_t i = 0; i < TOKENS; i++)
		token[i] = 100 + i;
	assert_true(resume_is_last(&r, token, TOKENS, two, 2));
	assert_false(resume_is_last(&r, token, TOKENS - 1, two, 2));
	assert_false(resume_is_last(&r, token, TOKENS, two, 1));
	token[8]++;
	assert_false(resume_is_last(&r, token, TOKENS, two, 2));
	resume_close(&r);
	wire_writer_close(&w);
}

static void
test_an_end_says_what_its_input_had(void **state)
{
	const struct sequence_end end = {.sequences = 20,
	    .tokens = 300,
	    .dropped = 6,
	    .documents = 40,
	    .rejects = 3,
	    .sequence_length = LENGTH,
	    .tokenizer = 77,
	    .record_bytes = 5000,
	    .record_bytes_max = 90,
	    .packing = SEQUENCE_CONCAT,
	    .input = {.records = 43,
		.files = 2,
		.names = 9,
		.file = {"f.jsonl", 7},
		.byte = 1000,
		.line = 11}};
	struct wire_writer w = {0};
	struct resume r = {0};
	struct failure f;

	(void)state;
	assert_int_equal(sequence_end_encode(&w, &end, &f), FAIL_NONE);
	assert_int_equal(resume_take(&r, w.bytes, w.n, &expected, &f), FAIL_NONE);
	assert_int_equal(r.state, RESUME_ENDED);
	assert_string_equal(r.file, "f.jsonl");
	assert_int_equal(r.sequences, 20);
	assert_int_equal(r.document, 43);
	assert_int_equal(r.byte, 1000);
	assert_int_equal(r.line, 11);
	assert_int_equal(r.documents, 40);
	assert_int_equal(r.rejects, 3);
	assert_int_equal(r.record_bytes, 5000);
	assert_int_equal(r.record_bytes_max, 90);
	assert_int_equal(r.tokens, 300);
	assert_int_equal(r.dropped, 6);
	assert_int_equal(r.sealed, 20);
	assert_int_equal(r.files, 2);
	assert_int_equal(r.names, 9);
	resume_close(&r);
	wire_writer_close(&w);
}

static void
test_a_partition_is_continued_as_it_was_begun(void **state)
{
	static const struct {
		uint64_t tokenizer;
		uint32_t length;
		enum sequence_packing was, is;
		const char *text; /* NULL: it fits */
	} rows[] = {
	    {77, LENGTH, SEQUENCE_CONCAT, SEQUENCE_CONCAT, NULL},
	    {77, LENGTH, SEQUENCE_NONE, SEQUENCE_NONE, NULL},
	    {78, LENGTH, SEQUENCE_CONCAT, SEQUENCE_CONCAT,
		"it was begun with tokenizer 000000000000004d, that of v.json is 000000000000004e"},
	    {77, LENGTH + 1, SEQUENCE_CONCAT, SEQUENCE_CONCAT,
		"it was begun with sequence_length 8, the configuration has 9"},
	    {77, LENGTH - 1, SEQUENCE_CONCAT, SEQUENCE_CONCAT,
		"it was begun with sequence_length 8, the configuration has 7"},
	    {77, LENGTH, SEQUENCE_CONCAT, SEQUENCE_NONE,
		"it was begun with packing concat, the configuration has none"},
	    {77, LENGTH, SEQUENCE_NONE, SEQUENCE_CONCAT,
		"it was begun with packing none, the configuration has concat"},
	    {77, LENGTH, SEQUENCE_BEST_FIT, SEQUENCE_CONCAT,
		"it was begun with packing best_fit, the configuration has concat"},
	};

	(void)state;
	EACH_ROW(i, rows) {
		struct resume_expected e = expected;
		struct wire_writer w = {0};
		struct resume r = {0};
		struct failure f;

		e.tokenizer = rows[i].tokenizer;
		e.sequence_length = rows[i].length;
		e.packing = rows[i].is;
		write_sequence(&w, rows[i].was, 5);
		assert_int_equal(resume_take(&r, w.bytes, w.n, &e, &f),
		    rows[i].text == NULL ? FAIL_NONE : FAIL_CONFIG);
		if (rows[i].text != NULL)
			assert_non_null(strstr(f.text, rows[i].text));
		resume_close(&r);
		wire_writer_close(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_lane_goes_on_at_the_earliest_place_that_a_partition_needs),
	    cmocka_unit_test(test_a_window_packed_again_must_give_the_last_sequence_again),
	    cmocka_unit_test(
		test_a_partition_without_a_last_record_is_new_or_deleted_or_asked_about_again),
	    cmocka_unit_test(
		test_a_document_fits_if_it_has_the_tokens_of_the_last_record_in_their_place),
	    cmocka_unit_test(test_a_sequence_says_where_its_partition_continues),
	    cmocka_unit_test(test_a_sequence_of_a_window_has_to_come_again_as_a_whole),
	    cmocka_unit_test(test_an_end_says_what_its_input_had),
	    cmocka_unit_test(test_a_partition_is_continued_as_it_was_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
