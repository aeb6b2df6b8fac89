#include "producer/input/record_cutter.h"

#include "tests/unit/test.h"

enum { MAX = 20 }; /* max_document_bytes */

static char seen[65536]; /* records as text: "document:byte:line:bytes[!reason];" */
static size_t chunks;

static void
note_record(const struct chunk_record *r)
{
	size_t n = strlen(seen);

	snprintf(seen + n, sizeof(seen) - n, "%d:%d:%d:%.*s%s%s;", (int)r->document, (int)r->byte,
	    (int)r->line, (int)r->n, r->bytes, r->reject == NULL ? "" : "!",
	    r->reject == NULL ? "" : r->reject);
}

static enum fail_code
take_chunk(struct record_cutter *c, struct failure *f)
{
	struct chunk *k;

	if (record_cutter_take(c, 0, &k, f) != FAIL_NONE || k == NULL)
		return k == NULL ? FAIL_NONE : f->code;
	chunks++;
	assert_true(k->n > 0 && k->n <= RECORD_CUTTER_RECORDS_MAX);
	for (size_t i = 0; i < k->n; i++)
		note_record(&k->record[i]);
	chunk_close(k);
	return FAIL_NONE;
}

/* Feeds bytes in pieces of `piece`, as input.c does. */
static enum fail_code
feed_pieces(struct record_cutter *c, const char *bytes, size_t n, size_t piece, struct failure *f)
{
	for (size_t at = 0; at < n && record_cutter_wants(c); at += piece) {
		size_t some = n - at < piece ? n - at : piece, room;
		bool full;
		char *to;

		assert_int_equal(record_cutter_room(c, &to, &room, f), FAIL_NONE);
		assert_true(room >= RECORD_CUTTER_ROOM_BYTES);
		memcpy(to, bytes + at, some);
		record_cutter_feed(c, some);
		do {
			if (record_cutter_cut(c, &full, f) != FAIL_NONE)
				return f->code;
			if (full && take_chunk(c, f) != FAIL_NONE)
				return f->code;
		} while (full);
	}
	return FAIL_NONE;
}

struct cut {
	enum chunk_form form;
	uint64_t chunk_bytes;
	size_t piece;
	const char *reason;
	bool skip, counted;
	uint64_t skip_byte, skip_document;
	const struct record_mark *mark;
	size_t marks_n;
};

static enum fail_code
cut_with(const struct cut *o, const char *bytes, size_t n, struct failure *f)
{
	struct record_cutter *c;
	enum fail_code code;

	seen[0] = '\0';
	chunks = 0;
	assert_int_equal(record_cutter_open(&c, MAX, o->chunk_bytes, f), FAIL_NONE);
	record_cutter_start(c, "file", o->form, 0, 1);
	record_cutter_marks(c, o->mark, o->marks_n);
	if (o->skip)
		record_cutter_skip(c, o->skip_byte, o->skip_document, o->counted);
	code = feed_pieces(c, bytes, n, o->piece, f);
	if (code == FAIL_NONE)
		code = record_cutter_end(c, o->reason, f);
	if (code == FAIL_NONE)
		code = take_chunk(c, f);
	record_cutter_close(c);
	return code;
}

/* Whatever the pieces and the chunks, the records are these. */
static void
check_cut(
    enum chunk_form form, const char *bytes, size_t n, const char *reason, const char *expected)
{
	static const size_t pieces[] = {1, 2, 3, 5, 1000};
	static const uint64_t chunk_sizes[] = {1, 4, 1000};

	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 3; k++) {
			struct cut o = {form, chunk_sizes[k], pieces[i], reason, .skip = false};
			struct failure f;

			assert_int_equal(cut_with(&o, bytes, n, &f), FAIL_NONE);
			assert_string_equal(seen, expected);
		}
}

#define LONG "!longer than max_document_bytes, 20;"

static void
test_lines_are_cut_wherever_the_bytes_come_apart(void **unused)
{
	static const char *const rows[][2] = {
	    {"", ""},
	    {"a\nbb\n", "0:0:1:a;1:2:2:bb;"},
	    {"a\nbb", "0:0:1:a;1:2:2:bb;"},
	    {"a\r\nbb\r\n", "0:0:1:a;1:3:2:bb;"},
	    {"a\r\nbb\r", "0:0:1:a;1:3:2:bb;"},
	    {"a\rb\nc", "0:0:1:a\rb;1:4:2:c;"},
	    {"a\r\r\nb", "0:0:1:a\r;1:4:2:b;"},
	    {"\n\n a\n\t \r\n\r\nb\n\n", "0:2:3: a;1:11:6:b;"},
	    {"\n", ""},
	    {"  ", ""},
	    {"\xef\xbb\xbf"
	     "a\nb",
		"0:3:1:a;1:5:2:b;"},
	    {"\xef\xbb\xbf", ""},
	    {"\xef\xbb", "0:0:1:\xef\xbb;"},
	    {"\xef\xbb\na", "0:0:1:\xef\xbb;1:3:2:a;"},
	    {"a\n\xef\xbb\xbf"
	     "b",
		"0:0:1:a;1:2:2:\xef\xbb\xbf"
		"b;"},
	    {"\n\na", "0:2:3:a;"},
	    /* 20 bytes are allowed, 21 are not, a CR does not count. */
	    {"12345678901234567890\nb", "0:0:1:12345678901234567890;1:21:2:b;"},
	    {"12345678901234567890\r\nb", "0:0:1:12345678901234567890;1:22:2:b;"},
	    {"12345678901234567890", "0:0:1:12345678901234567890;"},
	    {"                     \nb", "0:0:1:                     " LONG "1:22:2:b;"},
	};

	(void)unused;
	EACH_ROW(i, rows)
		check_cut(CHUNK_JSON_LINES, rows[i][0], strlen(rows[i][0]), NULL, rows[i][1]);
}

/*
 * Rejected lines keep a beginning whose length depends on the pieces: only its place is compared.
 */
static void
test_a_line_too_long_is_a_reject_and_is_passed(void **unused)
{
	static const char bytes[] =
	    "a\n123456789012345678901\nb\n1234567890123456789012345678\r\n\n"
	    "c\n123456789012345678901";
	static const size_t pieces[] = {1, 2, 3, 5, 21, 22, 23, 1000};

	(void)unused;
	EACH_ROW(i, pieces)
		for (uint64_t chunk_bytes = 1; chunk_bytes < 80; chunk_bytes += 3) {
			struct cut o = {CHUNK_JSON_LINES, chunk_bytes, pieces[i], .skip = false};
			struct failure f;
			const char *at = seen;

			assert_int_equal(cut_with(&o, bytes, sizeof(bytes) - 1, &f), FAIL_NONE);
			for (size_t k = 0; k < 6; k++) {
				static const char *const begins[] = {"0:0:1:a;",
				    "1:2:2:123456789012345678901", "2:24:3:b;",
				    "3:26:4:123456789012345678901", "4:57:6:c;",
				    ("5:59:7:123456789012345678901!longer than max_document_bytes, "
				     "20;")};

				assert_memory_equal(at, begins[k], strlen(begins[k]));
				at = strchr(at, ';') + 1;
			}
			assert_string_equal(at, "");
		}
}

static void
test_what_is_too_long_is_not_held_in_memory(void **unused)
{
	enum { PIECE = 1 << 16, PIECES = 200 };
	struct record_cutter *c;
	struct chunk *k;
	struct failure f;
	bool full;

	(void)unused;
	assert_int_equal(record_cutter_open(&c, 100000, 1 << 20, &f), FAIL_NONE);
	record_cutter_start(c, "file", CHUNK_JSON_LINES, 0, 1);
	for (int i = 0; i < PIECES; i++) {
		size_t room;
		char *to;

		assert_int_equal(record_cutter_room(c, &to, &room, &f), FAIL_NONE);
		/*
		 * The room that is left over tells what is held: the buffer does not grow any more.
		 */
		assert_true(room <= (1 << 20) + RECORD_CUTTER_ROOM_BYTES);
		memset(to, 'x', PIECE);
		record_cutter_feed(c, PIECE);
		assert_int_equal(record_cutter_cut(c, &full, &f), FAIL_NONE);
	}
	assert_int_equal(record_cutter_end(c, NULL, &f), FAIL_NONE);
	assert_int_equal(record_cutter_take(c, 77, &k, &f), FAIL_NONE);
	assert_int_equal(k->n, 1);
	assert_int_equal(k->record[0].n, RECORD_CUTTER_STUMP_BYTES);
	assert_int_equal(k->input_bytes, 77);
	assert_string_equal(k->file, "file");
	assert_string_equal(k->record[0].reject, "longer than max_document_bytes, 100000");
	chunk_close(k);
	record_cutter_close(c);
}

static void
test_a_whole_file_is_one_record(void **unused)
{
	static const char *const rows[][2] = {
	    {"", ""},
	    {"\xef\xbb\xbf", ""},
	    {"\n", "0:0:1:\n;"},
	    {"a\n\nb\r\n", "0:0:1:a\n\nb\r\n;"},
	    {"\xef\xbb\xbf"
	     "a",
		"0:3:1:a;"},
	    {"\xef\xbb", "0:0:1:\xef\xbb;"},
	    {"1234567890123456789\n", "0:0:1:1234567890123456789\n;"},
	};

	(void)unused;
	EACH_ROW(i, rows)
		check_cut(CHUNK_WHOLE_FILE, rows[i][0], strlen(rows[i][0]), NULL, rows[i][1]);
	{
		static const char text[] = "12345678901234567890\n and some more";
		struct cut o = {CHUNK_WHOLE_FILE, 1000, 1, .skip = false};
		struct failure f;

		assert_int_equal(cut_with(&o, text, sizeof(text) - 1, &f), FAIL_NONE);
		assert_string_equal(seen, "0:0:1:12345678901234567890\n" LONG);
	}
}

static void
test_what_stands_before_an_early_end_is_a_reject(void **unused)
{
	static const struct {
		enum chunk_form form;
		const char *bytes, *expected;
	} rows[] = {
	    {CHUNK_JSON_LINES, "", "0:0:1:!damaged;"},
	    {CHUNK_JSON_LINES, "a\nb\n", "0:0:1:a;1:2:2:b;2:4:3:!damaged;"},
	    {CHUNK_JSON_LINES, "a\n{\"tex", "0:0:1:a;1:2:2:{\"tex!damaged;"},
	    {CHUNK_JSON_LINES, "\xef", "0:0:1:\xef!damaged;"},
	    {CHUNK_JSON_LINES, "\xef\n", "0:0:1:\xef;1:2:2:!damaged;"},
	    {CHUNK_JSON_LINES, "  ", "0:0:1:  !damaged;"},
	    {CHUNK_WHOLE_FILE, "a\nb", "0:0:1:a\nb!damaged;"},
	    {CHUNK_WHOLE_FILE, "", "0:0:1:!damaged;"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, bytes)
		check_cut(rows[i].form, rows[i].bytes, strlen(rows[i].bytes), "damaged",
		    rows[i].expected);
}

static void
test_chunks_end_with_the_record_that_reaches_their_size(void **unused)
{
	static const struct {
		uint64_t chunk_bytes;
		size_t chunks;
	} rows[] = {{1, 6}, {2, 6}, {3, 3}, {4, 3}, {5, 2}, {6, 2}, {7, 2}, {10, 2}, {11, 1},
	    {12, 1}, {13, 1}};

	(void)unused;
	EACH_ROW(i, rows) {
		struct cut o = {CHUNK_JSON_LINES, rows[i].chunk_bytes, 1000, .skip = false};
		struct failure f;

		assert_int_equal(cut_with(&o, "1\n2\n3\n4\n5\n6\n", 12, &f), FAIL_NONE);
		assert_int_equal(chunks, rows[i].chunks);
	}
}

static void
test_a_chunk_holds_65536_records_at_most(void **unused)
{
	size_t n = 2 * (RECORD_CUTTER_RECORDS_MAX + 1);
	char *bytes = malloc(n);
	struct record_cutter *c;
	struct chunk *k;
	struct failure f;
	size_t room;
	bool full;
	char *to;

	(void)unused;
	for (size_t i = 0; i < n; i++)
		bytes[i] = i % 2 ? '\n' : 'x';
	assert_int_equal(record_cutter_open(&c, MAX, 1 << 20, &f), FAIL_NONE);
	record_cutter_start(c, "file", CHUNK_JSON_LINES, 0, 1);
	assert_int_equal(record_cutter_room(c, &to, &room, &f), FAIL_NONE);
	memcpy(to, bytes, n);
	record_cutter_feed(c, n);
	assert_int_equal(record_cutter_cut(c, &full, &f), FAIL_NONE);
	assert_true(full);
	assert_int_equal(record_cutter_take(c, 0, &k, &f), FAIL_NONE);
	assert_int_equal(k->n, RECORD_CUTTER_RECORDS_MAX);
	chunk_close(k);
	assert_int_equal(record_cutter_cut(c, &full, &f), FAIL_NONE);
	assert_false(full);
	assert_int_equal(record_cutter_take(c, 0, &k, &f), FAIL_NONE);
	assert_int_equal(k->n, 1);
	assert_int_equal(k->record[0].document, RECORD_CUTTER_RECORDS_MAX);
	assert_int_equal(k->record[0].line, RECORD_CUTTER_RECORDS_MAX + 1);
	chunk_close(k);
	record_cutter_close(c);
	free(bytes);
}

static void
test_a_skip_goes_to_the_record_at_its_byte(void **unused)
{
	static const char bytes[] = "a\n\nbb\n123456789012345678901\nc\nd";
	static const struct {
		bool counted;
		uint64_t byte, document;
		const char *expected; /* NULL: it is not there */
	} rows[] = {
	    {false, 0, 40,
		"40:0:1:a;41:3:3:bb;42:6:4:123456789012345678901" LONG "43:28:5:c;44:30:6:d;"},
	    {false, 3, 40, "40:3:3:bb;41:6:4:123456789012345678901" LONG "42:28:5:c;43:30:6:d;"},
	    {false, 28, 7, "7:28:5:c;8:30:6:d;"},
	    {false, 30, 7, "7:30:6:d;"},
	    {false, 1, 40, NULL},
	    {false, 2, 40, NULL},
	    {false, 4, 40, NULL},
	    {false, 31, 40, NULL},
	    {false, 1000, 40, NULL},
	    {true, 0, 0, "0:0:1:a;1:3:3:bb;2:6:4:123456789012345678901" LONG "3:28:5:c;4:30:6:d;"},
	    {true, 28, 3, "3:28:5:c;4:30:6:d;"},
	    {true, 30, 4, "4:30:6:d;"},
	    {true, 28, 4, NULL},
	    {true, 28, 2, NULL},
	    {true, 30, 5, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, expected)
		for (size_t piece = 1; piece < 40; piece += 19) {
			struct cut o = {CHUNK_JSON_LINES, 1000, piece, NULL, true, rows[i].counted,
			    rows[i].byte, rows[i].document, NULL, 0};
			struct failure f;
			enum fail_code code = cut_with(&o, bytes, sizeof(bytes) - 1, &f);

			if (rows[i].expected == NULL) {
				assert_int_equal(code, FAIL_DATA);
				assert_non_null(strstr(f.text, "where the last run ended"));
			} else {
				assert_int_equal(code, FAIL_NONE);
				assert_string_equal(seen, rows[i].expected);
			}
		}
}

/* What a program printed before it failed is not to be blamed. */
static void
test_a_program_that_breaks_before_the_place_of_a_skip_says_why(void **unused)
{
	struct cut o = {CHUNK_JSON_LINES, 1000, 5, "exit status 1", true, true, 9, 4, NULL, 0};
	struct failure f;

	(void)unused;
	assert_int_equal(cut_with(&o, "a\nb\nc", 5, &f), FAIL_IO);
	assert_string_equal(
	    f.text, "file: exit status 1, before record 4, where the last run ended");
}

static void
test_a_mark_raises_the_index_of_the_first_record_at_or_behind_it(void **unused)
{
	static const struct record_mark marks[] = {{0, 0, 7}, {0, 2, 5}, {0, 4, 20}, {0, 7, 30}};
	static const struct {
		size_t n;
		const char *expected;
	} rows[] = {
	    {0, "0:0:1:a;1:2:2:b;2:4:3:c;3:6:4:d;"}, {1, "7:0:1:a;8:2:2:b;9:4:3:c;10:6:4:d;"},
	    {2, "7:0:1:a;8:2:2:b;9:4:3:c;10:6:4:d;"}, /* never lowers it */
	    {3, "7:0:1:a;8:2:2:b;20:4:3:c;21:6:4:d;"},
	    {4, "7:0:1:a;8:2:2:b;20:4:3:c;21:6:4:d;"}, /* no record is there */
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, expected)
		for (size_t piece = 1; piece < 9; piece += 3) {
			struct cut o = {.form = CHUNK_JSON_LINES,
			    .chunk_bytes = 1000,
			    .piece = piece,
			    .mark = marks,
			    .marks_n = rows[i].n};
			struct failure f;

			assert_int_equal(cut_with(&o, "a\nb\nc\nd\n", 8, &f), FAIL_NONE);
			assert_string_equal(seen, rows[i].expected);
		}
}

/* What may be left of a file: a line that is passed over, a skip, marks. */
static void
test_a_new_file_begins_as_if_nothing_came_before(void **unused)
{
	static const struct record_mark far = {.byte = 1, .document = 1000};
	enum { LINE, SKIP, MAY_END, MARKS, CASES };

	(void)unused;
	for (int i = 0; i < CASES; i++) {
		struct record_cutter *c;
		struct failure f;

		seen[0] = '\0';
		assert_int_equal(record_cutter_open(&c, MAX, 1000, &f), FAIL_NONE);
		record_cutter_start(c, "before", CHUNK_JSON_LINES, 0, 1);
		if (i == LINE)
			assert_int_equal(
			    feed_pieces(c, "1234567890123456789012345", 25, 5, &f), FAIL_NONE);
		if (i == MARKS)
			record_cutter_marks(c, &far, 1);
		if (i == SKIP || i == MAY_END)
			record_cutter_skip(c, 50, 40, false);
		if (i == MAY_END)
			record_cutter_may_end(c);
		assert_int_equal(take_chunk(c, &f), FAIL_NONE);
		seen[0] = '\0';
		record_cutter_number(c, 7);
		record_cutter_start(c, "file", CHUNK_JSON_LINES, 0, 1);
		assert_int_equal(feed_pieces(c, "a\nb\n", 4, 4, &f), FAIL_NONE);
		assert_int_equal(record_cutter_end(c, NULL, &f), FAIL_NONE);
		assert_int_equal(take_chunk(c, &f), FAIL_NONE);
		assert_string_equal(seen, "7:0:1:a;8:2:2:b;");
		/* A later skip may not end with the file because an earlier one could. */
		record_cutter_start(c, "file", CHUNK_JSON_LINES, 0, 1);
		record_cutter_skip(c, 4, 9, false);
		assert_int_equal(feed_pieces(c, "a\nb\n", 4, 4, &f), FAIL_NONE);
		assert_int_equal(record_cutter_end(c, NULL, &f), FAIL_DATA);
		record_cutter_close(c);
	}
}

static void
test_a_byte_order_mark_stands_at_a_files_beginning_alone(void **unused)
{
	struct record_cutter *c;
	struct failure f;

	(void)unused;
	seen[0] = '\0';
	assert_int_equal(record_cutter_open(&c, MAX, 1000, &f), FAIL_NONE);
	record_cutter_start(c, "file", CHUNK_JSON_LINES, 5, 2);
	assert_int_equal(feed_pieces(c, "\xef\xbb\xbfz\n", 5, 5, &f), FAIL_NONE);
	assert_int_equal(record_cutter_end(c, NULL, &f), FAIL_NONE);
	assert_int_equal(take_chunk(c, &f), FAIL_NONE);
	assert_string_equal(seen, "0:5:2:\xef\xbb\xbfz;");
	record_cutter_close(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines_are_cut_wherever_the_bytes_come_apart),
	    cmocka_unit_test(test_a_line_too_long_is_a_reject_and_is_passed),
	    cmocka_unit_test(test_what_is_too_long_is_not_held_in_memory),
	    cmocka_unit_test(test_a_whole_file_is_one_record),
	    cmocka_unit_test(test_what_stands_before_an_early_end_is_a_reject),
	    cmocka_unit_test(test_chunks_end_with_the_record_that_reaches_their_size),
	    cmocka_unit_test(test_a_chunk_holds_65536_records_at_most),
	    cmocka_unit_test(test_a_skip_goes_to_the_record_at_its_byte),
	    cmocka_unit_test(test_a_program_that_breaks_before_the_place_of_a_skip_says_why),
	    cmocka_unit_test(test_a_new_file_begins_as_if_nothing_came_before),
	    cmocka_unit_test(test_a_byte_order_mark_stands_at_a_files_beginning_alone),
	    cmocka_unit_test(test_a_mark_raises_the_index_of_the_first_record_at_or_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
