/* document_line.h: what two known documents say about those between them. */
#include "tests/unit/test.h"

#include "consumer/domain/document_line.h"

#define FILE_A                                                                                     \
	{                                                                                          \
		"a.jsonl", 7                                                                       \
	}
#define FILE_B                                                                                     \
	{                                                                                          \
		"b.jsonl", 7                                                                       \
	}

enum { SPANS = 4 };

/* The record before, and this one: file, document, line of their positions; window of this one. */
struct known {
	struct text_view before_file;
	uint64_t before_document, before_line; /* line 0: there is none before */
	struct text_view file;
	uint64_t document, line, window;
};

static const struct text_view source[] = {FILE_A, FILE_B};

static const struct {
	const char *what;
	struct known k;
	uint32_t in[SPANS]; /* source of documents 10 to 13 */
	struct document_line out[SPANS];
} row[] = {
    {"between two", {FILE_A, 10, 21, FILE_A, 13, 24, 0}, {0},
	{{21, true}, {22, true}, {23, true}, {24, true}}},
    {"a blank line between", {FILE_A, 10, 21, FILE_A, 13, 25, 0}, {0},
	{{21, true}, {22, false}, {23, false}, {25, true}}},
    {"the start of a file", {FILE_A, 10, 21, FILE_B, 13, 2, 0}, {0, 0, 1, 1},
	{{21, true}, {22, false}, {1, true}, {2, true}}},
    {"the start of a file, after a blank line or another's records",
	{FILE_A, 10, 21, FILE_B, 13, 3, 0}, {0, 0, 1, 1},
	{{21, true}, {22, false}, {2, false}, {3, true}}},
    {"the first record", {{"", 0}, 0, 0, FILE_A, 13, 4, 0}, {0},
	{{1, true}, {2, true}, {3, true}, {4, true}}},
    {"a line below 1 cannot be", {{"", 0}, 0, 0, FILE_A, 13, 2, 0}, {0},
	{{0, false}, {0, false}, {1, false}, {2, true}}},
    {"a window, which names its first", {FILE_A, 10, 21, FILE_A, 10, 21, 3}, {0},
	{{21, true}, {22, false}, {23, false}, {24, false}}},
    {"a window that begins behind it", {{"", 0}, 0, 0, FILE_A, 12, 20, 3}, {0},
	{{0, false}, {0, false}, {20, true}, {21, false}}},
    {"a file twice", {FILE_A, 10, 21, FILE_A, 13, 2, 0}, {0, 1, 1, 1},
	{{21, true}, {0, false}, {0, false}, {0, false}}},
    {"a window that began in another file", {{"", 0}, 0, 0, FILE_A, 9, 20, 3}, {0, 1, 1, 1},
	{{21, false}, {0, false}, {0, false}, {0, false}}},
};

static void
test_lines_follow_from_known_documents(void **state)
{
	(void)state;
	EACH_NAMED_ROW(i, row, what) {
		const struct known *k = &row[i].k;
		struct sequence_position before = {
		    .file = k->before_file, .document = k->before_document, .line = k->before_line};
		struct sequence_view s = {.position = {.file = k->file,
					      .document = k->document,
					      .line = k->line,
					      .window = k->window},
		    .payload = {.spans_n = SPANS}};
		struct sequence_span span[SPANS];
		struct document_line out[SPANS];

		for (uint32_t d = 0; d < SPANS; d++)
			span[d] = (struct sequence_span){
			    .start = d, .source = row[i].in[d], .document = 10 + d};
		document_lines(out, k->before_line == 0 ? NULL : &before, &s, span, source);
		for (int d = 0; d < SPANS; d++)
			if (out[d].line != row[i].out[d].line ||
			    out[d].exact != row[i].out[d].exact) {
				print_error("%s, document %d: line %d, exact %d\n", row[i].what,
				    10 + d, (int)out[d].line, (int)out[d].exact);
				assert_true(false);
			}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines_follow_from_known_documents),
	};

	return cmocka_run_group_tests_name("document_line", tests, NULL, NULL);
}
