#include "consumer/reader/step_decode.h"

#include "common/record/frame.h"
#include "tests/unit/test.h"

enum { COUNT = 9, EACH = 2, LANES = 2 };

static const struct text_view sources[] = {{"data/a.jsonl", 12}, {"b.txt", 5}};
static const uint8_t keep[] = "{\"id\":7}";
static const struct sequence_span spans[] = {{0, 0, 41, 130, NULL, 0}, {3, 1, 42, 0, keep, 8}};
static const struct sequence_range no_loss[] = {{1, 2}, {8, 9}};
static const struct batch_domain domains[] = {{3, {"code", 4}}, {7, {"web", 3}}};

/* What may be wrong with the second sequence of a lane. */
struct wrong {
	uint32_t count;  /* tokens that it claims; 0: COUNT */
	uint32_t holds;  /* tokens in the frame; 0: as claimed */
	uint64_t hash;   /* added to the frame's hash */
	uint32_t domain; /* added to the domain's index */
	uint32_t token;  /* instead of the first token; 0: none */
};

static uint32_t
token_of(uint64_t step, uint32_t lane, uint32_t slot, uint32_t k)
{
	return (uint32_t)(step * 1000 + lane * 100 + slot * 10 + k);
}

static void
add(struct wire_writer *w, struct frame_codec *codec, uint64_t step, uint32_t lane, uint32_t slot,
    const struct wrong *wrong)
{
	uint32_t count = wrong->count > 0 ? wrong->count : COUNT, tokens[2 * COUNT];
	uint32_t holds = wrong->holds > 0 ? wrong->holds : count;
	struct batch_drawn drawn = {.domain = domains[slot].index + wrong->domain,
	    .partition = lane,
	    .ordinal = step,
	    .epoch = slot};
	struct sequence_position position = {.file = {"x", 1}};
	struct wire_writer record = {0};
	struct sequence_view view;
	uint8_t frame[256];
	struct sequence_payload p;
	struct failure f;
	size_t n;

	for (uint32_t k = 0; k < holds; k++)
		tokens[k] = token_of(step, lane, slot, k);
	if (wrong->token > 0)
		tokens[0] = wrong->token;
	assert_int_equal(
	    frame_encode(codec, tokens, holds, 3, frame, sizeof(frame), &n, &f), FAIL_NONE);
	p = (struct sequence_payload){.count = count,
	    .width = 3,
	    .used = 8,
	    .frame_hash = frame_hash(frame, n) + wrong->hash,
	    .sources = sources,
	    .sources_n = 2,
	    .spans = spans,
	    .spans_n = 2,
	    .no_loss = no_loss,
	    .no_loss_n = 2,
	    .frame = frame,
	    .frame_n = n};
	assert_int_equal(sequence_encode(&record, 0, 1, &position, &p, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, record.bytes, record.n, &f), FAIL_NONE);
	assert_int_equal(batch_add(w, &drawn, view.payload.raw, view.payload.raw_n, &f), FAIL_NONE);
	wire_writer_close(&record);
}

/* One lane of a step; the caller frees *bytes. */
static size_t
make_lane(uint8_t **bytes, uint64_t step, uint32_t lane, const struct wrong *wrong)
{
	static const struct wrong nothing;
	struct batch_head h = {.mix = {"m", 1},
	    .step = step,
	    .lane = lane,
	    .lanes = LANES,
	    .global_batch = LANES * EACH,
	    .lr_scale = 1.0};
	struct frame_codec *codec;
	struct wire_writer w = {0};
	struct failure f;
	size_t n;

	assert_int_equal(frame_codec_open(&codec, &f), FAIL_NONE);
	assert_int_equal(batch_begin(&w, &h, domains, 2, EACH, &f), FAIL_NONE);
	for (uint32_t slot = 0; slot < EACH; slot++)
		add(&w, codec, step, lane, slot, slot == 1 ? wrong : &nothing);
	assert_int_equal(batch_end(&w, &f), FAIL_NONE);
	assert_int_equal(wire_writer_take(&w, bytes, &n, &f), FAIL_NONE);
	frame_codec_close(codec);
	return n;
}

/* Decodes a lane and frees the record at once: nothing may point into it afterwards. */
static enum fail_code
decode_lane(struct step_decode *d, uint64_t step, uint32_t lane, const struct wrong *wrong,
    struct failure *f)
{
	struct batch_view view;
	enum fail_code code;
	uint8_t *bytes;
	size_t n = make_lane(&bytes, step, lane, wrong);

	assert_int_equal(batch_decode(&view, bytes, n, f), FAIL_NONE);
	code = step_decode_lane(d, &view, f);
	memset(bytes, 0xee, n);
	free(bytes);
	return code;
}

static void
check_sequence(
    const struct riffle_step *s, uint64_t step, uint32_t lane, uint32_t slot, uint32_t token_bytes)
{
	size_t at = lane * EACH + slot;
	const struct riffle_sequence *q = &s->sequence[at];

	assert_string_equal(q->domain, slot == 0 ? "code" : "web");
	assert_int_equal(q->domain_index, domains[slot].index);
	assert_int_equal(q->lane, lane);
	assert_int_equal(q->partition, lane);
	assert_int_equal(q->ordinal, step);
	assert_int_equal(q->epoch, slot);
	assert_int_equal(q->used, 8);
	assert_int_equal(q->spans_n, 2);
	assert_string_equal(q->spans[0].source, "data/a.jsonl");
	assert_string_equal(q->spans[1].source, "b.txt");
	assert_int_equal(q->spans[1].start, 3);
	assert_int_equal(q->spans[0].document, 41);
	assert_int_equal(q->spans[0].offset, 130);
	assert_int_equal(q->spans[0].keep_n, 0);
	assert_int_equal(q->spans[1].keep_n, 8);
	assert_string_equal(q->spans[1].keep, "{\"id\":7}");
	assert_int_equal(q->no_loss_n, 2);
	assert_int_equal(q->no_loss[1].start, 8);
	assert_int_equal(q->no_loss[1].end, 9);
	for (uint32_t k = 0; k < COUNT; k++) {
		uint32_t token = token_bytes == 4 ? ((const uint32_t *)s->tokens)[at * COUNT + k]
						  : ((const uint16_t *)s->tokens)[at * COUNT + k];

		assert_int_equal(token, token_of(step, lane, slot, k));
	}
}

static void
test_steps_are_decoded_one_after_the_other(void **unused)
{
	static const struct wrong nothing;

	(void)unused;
	for (uint32_t token_bytes = 2; token_bytes <= 4; token_bytes += 2) {
		struct riffle_step s = {0};
		struct step_decode *d;
		struct failure f;

		assert_int_equal(step_decode_open(&d, token_bytes, &f), FAIL_NONE);
		for (uint64_t step = 0; step < 60; step++) {
			assert_int_equal(step_decode_begin(d, LANES, EACH, &f), FAIL_NONE);
			for (uint32_t lane = 0; lane < LANES; lane++)
				assert_int_equal(
				    decode_lane(d, step, lane, &nothing, &f), FAIL_NONE);
			step_decode_end(d, &s);
			assert_int_equal(s.sequences, LANES * EACH);
			assert_int_equal(s.tokens_each, COUNT);
			for (uint32_t at = 0; at < LANES * EACH; at++)
				check_sequence(&s, step, at / EACH, at % EACH, token_bytes);
		}
		step_decode_close(d);
	}
}

static const struct {
	struct wrong wrong;
	uint32_t token_bytes;
	const char *says[2];
} rows[] = {
    {{.hash = 1}, 4, {"domain web, partition 0, ordinal 5: ", "hash"}},
    {{.holds = COUNT - 1}, 4, {"domain web, partition 0, ordinal 5: ", "riffle skip web/0 5..6"}},
    {{.holds = COUNT + 1}, 4, {"domain web, partition 0, ordinal 5: ", "riffle skip web/0 5..6"}},
    {{.count = COUNT + 1}, 4, {"ordinal 5: 10 tokens, where earlier sequences have 9", ""}},
    {{.token = 65536}, 2,
	{"domain web, partition 0, ordinal 5: ", "ask for 4 bytes a token (uint32)"}},
    {{.domain = 1}, 4, {"names domain 8, which is not among its domains", ""}},
};

static void
test_a_wrong_sequence_is_named_and_the_next_step_is_decoded(void **unused)
{
	static const struct wrong nothing;

	(void)unused;
	EACH_ROW(i, rows) {
		struct failure f = {0};
		struct step_decode *d;

		assert_int_equal(step_decode_open(&d, rows[i].token_bytes, &f), FAIL_NONE);
		assert_int_equal(step_decode_begin(d, 1, EACH, &f), FAIL_NONE);
		assert_int_equal(decode_lane(d, 5, 0, &rows[i].wrong, &f), FAIL_DATA);
		assert_non_null(strstr(f.text, rows[i].says[0]));
		assert_non_null(strstr(f.text, rows[i].says[1]));
		assert_int_equal(step_decode_begin(d, 1, EACH, &f), FAIL_NONE);
		assert_int_equal(decode_lane(d, 5, 0, &nothing, &f), FAIL_NONE);
		step_decode_close(d);
	}
}

static void
test_a_token_of_65535_fits_two_bytes(void **unused)
{
	static const struct wrong largest = {.token = 65535};
	struct riffle_step s = {0};
	struct step_decode *d;
	struct failure f;

	(void)unused;
	assert_int_equal(step_decode_open(&d, 2, &f), FAIL_NONE);
	assert_int_equal(step_decode_begin(d, 1, EACH, &f), FAIL_NONE);
	assert_int_equal(decode_lane(d, 5, 0, &largest, &f), FAIL_NONE);
	step_decode_end(d, &s);
	assert_int_equal(((const uint16_t *)s.tokens)[COUNT], 65535);
	step_decode_close(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps_are_decoded_one_after_the_other),
	    cmocka_unit_test(test_a_wrong_sequence_is_named_and_the_next_step_is_decoded),
	    cmocka_unit_test(test_a_token_of_65535_fits_two_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
