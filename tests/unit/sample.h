/* sample.h -- the payload inside the golden records; tests/python/golden_values.py has the same. */
#ifndef TESTS_UNIT_SAMPLE_H
#define TESTS_UNIT_SAMPLE_H

#include "common/record/sequence.h"
#include "tests/unit/test.h"

#define SAMPLE_TOKENIZER UINT64_C(0xfedcba9876543210)

static const struct text_view sample_sources[] = {{"data/a.jsonl", 12}, {"b.txt", 5}};
static const struct sequence_span sample_spans[] = {
    {0, 0, 41, 130, NULL, 0},
    {3, 0, 42, 0, (const uint8_t *)"{}", 2},
    {7, 1, UINT64_C(1) << 40, 0, NULL, 0},
};
static const struct sequence_range sample_no_loss[] = {{1, 2}, {8, 9}};
static const uint8_t sample_frame[] = {200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211,
    212, 213, 214, 215, 216, 217, 218, 219};

static const struct sequence_payload sample_payload = {
    .count = 9,
    .width = 2,
    .used = 8,
    .frame_hash = UINT64_C(0x0123456789abcdef),
    .sources = sample_sources,
    .sources_n = 2,
    .spans = sample_spans,
    .spans_n = 3,
    .no_loss = sample_no_loss,
    .no_loss_n = 2,
    .frame = sample_frame,
    .frame_n = sizeof(sample_frame),
};

static inline void
assert_view_equal(struct text_view view, const char *text)
{
	assert_int_equal(view.n, strlen(text));
	assert_memory_equal(view.bytes, text, view.n);
}

static inline void
assert_payload_equal(const struct sequence_payload_view *view, const struct sequence_payload *p)
{
	struct text_view *sources = calloc(view->sources_n + 1, sizeof(*sources));
	struct sequence_span *spans = calloc(view->spans_n + 1, sizeof(*spans));
	struct sequence_range *no_loss = calloc(view->no_loss_n + 1, sizeof(*no_loss));

	assert_true(view->count == p->count && view->width == p->width && view->used == p->used);
	assert_true(view->frame_hash == p->frame_hash);
	assert_int_equal(view->sources_n, p->sources_n);
	assert_int_equal(view->spans_n, p->spans_n);
	assert_int_equal(view->no_loss_n, p->no_loss_n);
	assert_int_equal(view->frame_n, p->frame_n);
	assert_memory_equal(view->frame, p->frame, p->frame_n);
	sequence_payload_lists(view, sources, spans, no_loss);
	for (size_t i = 0; i < p->sources_n; i++) {
		assert_int_equal(sources[i].n, p->sources[i].n);
		assert_memory_equal(sources[i].bytes, p->sources[i].bytes, sources[i].n);
	}
	for (size_t i = 0; i < p->spans_n; i++) {
		assert_true(spans[i].start == p->spans[i].start);
		assert_true(spans[i].source == p->spans[i].source);
		assert_true(spans[i].document == p->spans[i].document);
		assert_true(spans[i].offset == p->spans[i].offset);
		assert_int_equal(spans[i].keep_n, p->spans[i].keep_n);
		assert_memory_equal(spans[i].keep, p->spans[i].keep, spans[i].keep_n);
	}
	for (size_t i = 0; i < p->no_loss_n; i++)
		assert_true(
		    no_loss[i].start == p->no_loss[i].start && no_loss[i].end == p->no_loss[i].end);
	free(sources);
	free(spans);
	free(no_loss);
}

#endif
