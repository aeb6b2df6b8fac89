#include "consumer/reader/riffle.h"

#include "tests/unit/test.h"

enum { N = 7, EACH = N + 1 };

/* Documents at 0, 3 and 5, padding from 6 on; a prompt [3, 5), and the padding without loss. */
static const struct riffle_span spans[] = {{.start = 0}, {.start = 3}, {.start = 5}};
static const struct riffle_range no_loss[] = {{3, 5}, {6, EACH}};
static const struct riffle_sequence sequences[] = {
    {.used = 6, .spans = spans, .spans_n = 3, .no_loss = no_loss, .no_loss_n = 2},
    {.used = EACH, .spans = spans, .spans_n = 1},
};

static const int64_t inputs[] = {10, 11, 12, 13, 14, 15, 16, 20, 21, 22, 23, 24, 25, 26};
static const int64_t labels[] = {11, 12, -100, -100, 15, -100, -100, 21, 22, 23, 24, 25, 26, 27};
static const int64_t bounded[] = {11, 12, -100, -100, -100, -100, -100, 21, 22, 23, 24, 25, 26, 27};
static const int32_t positions[] = {0, 1, 2, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6};
static const int32_t documents[] = {0, 0, 0, 1, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0};

static void
put(void *tokens, uint32_t token_bytes, size_t at, uint32_t token)
{
	if (token_bytes == 2)
		((uint16_t *)tokens)[at] = (uint16_t)token;
	else if (token_bytes == 4)
		((uint32_t *)tokens)[at] = token;
	else
		((uint64_t *)tokens)[at] = token;
}

static void
test_targets_of_every_width(void **unused)
{
	(void)unused;
	for (uint32_t token_bytes = 2; token_bytes <= 8; token_bytes *= 2) {
		uint64_t tokens[2 * EACH];
		struct riffle_step s = {
		    .sequences = 2, .tokens_each = EACH, .tokens = tokens, .sequence = sequences};
		int64_t in[2 * N], to[2 * N];
		int32_t position[2 * N], document[2 * N];
		struct riffle_targets t = {.size = sizeof(t),
		    .input_ids = in,
		    .labels = to,
		    .position_ids = position,
		    .document_ids = document,
		    .ignored = -100};

		for (uint32_t i = 0; i < 2 * EACH; i++)
			put(tokens, token_bytes, i, 10 + 10 * (i / EACH) + i % EACH);
		riffle_step_targets(&s, token_bytes, &t);
		assert_memory_equal(in, inputs, sizeof(inputs));
		assert_memory_equal(to, labels, sizeof(labels));
		assert_memory_equal(position, positions, sizeof(positions));
		assert_memory_equal(document, documents, sizeof(documents));
		t = (struct riffle_targets){
		    .size = sizeof(t), .labels = to, .ignored = -100, .mask_boundaries = 1};
		riffle_step_targets(&s, token_bytes, &t); /* the others are not wanted */
		assert_memory_equal(to, bounded, sizeof(bounded));
	}
}

/* A range or a document at either end of the sequence: token 0 is no label, token N is the last. */
static void
test_the_first_and_the_last_label_are_masked(void **unused)
{
	static const struct {
		struct riffle_span span[2];
		size_t spans_n;
		struct riffle_range range;
		uint8_t boundaries;
		const char *labels; /* '.': masked */
	} rows[] = {
	    {{{.start = 0}}, 1, {0, 1}, 0, "1234567"},
	    {{{.start = 0}}, 1, {0, 2}, 0, ".234567"},
	    {{{.start = 0}}, 1, {7, 8}, 0, "123456."},
	    {{{.start = 0}}, 1, {6, 7}, 0, "12345.7"},
	    {{{.start = 0}}, 1, {0, 8}, 1, "......."},
	    {{{.start = 0}, {.start = 1}}, 2, {0, 0}, 1, ".234567"},
	    {{{.start = 0}, {.start = 7}}, 2, {0, 0}, 1, "123456."},
	    {{{.start = 0}, {.start = 7}}, 2, {0, 0}, 0, "1234567"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, labels) {
		const struct riffle_sequence q = {.used = EACH,
		    .spans = rows[i].span,
		    .spans_n = rows[i].spans_n,
		    .no_loss = &rows[i].range,
		    .no_loss_n = 1};
		uint16_t tokens[EACH];
		const struct riffle_step s = {
		    .sequences = 1, .tokens_each = EACH, .tokens = tokens, .sequence = &q};
		int64_t to[N + 1];
		struct riffle_targets t = {.size = sizeof(t),
		    .labels = to,
		    .ignored = '.' - '0',
		    .mask_boundaries = rows[i].boundaries};
		char text[N + 1] = "";

		for (uint16_t k = 0; k < EACH; k++)
			tokens[k] = k;
		to[N] = 77;
		assert_int_equal(riffle_step_targets(&s, 2, &t), RIFFLE_OK);
		for (int k = 0; k < N; k++)
			text[k] = (char)('0' + to[k]);
		assert_string_equal(text, rows[i].labels);
		assert_int_equal(to[N], 77);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_targets_of_every_width),
	    cmocka_unit_test(test_the_first_and_the_last_label_are_masked)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
