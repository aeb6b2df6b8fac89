#include "common/record/frame.h"

#include "tests/unit/test.h"

#include <zstd.h>

enum { COUNT = 2049, GUARD = 0x5a };

static struct frame_codec *codec;

static int
open_codec(void **unused)
{
	struct failure f;

	(void)unused;
	return frame_codec_open(&codec, &f) == FAIL_NONE ? 0 : -1;
}

static int
close_codec(void **unused)
{
	(void)unused;
	frame_codec_close(codec);
	frame_codec_close(NULL);
	return 0;
}

/* Tokens below `limit`, the largest among them. */
static uint32_t *
tokens_below(size_t count, uint32_t limit)
{
	uint32_t *tokens = malloc((count + 1) * sizeof(*tokens)), x = 7;

	assert_non_null(tokens);
	for (size_t i = 0; i < count; i++) {
		x = x * 1664525 + 1013904223; /* Numerical Recipes, ranqd1 */
		tokens[i] = i == count / 2 ? limit - 1 : (x >> 4) % limit;
	}
	return tokens;
}

struct frame {
	uint8_t *bytes; /* free */
	size_t n, room;
};

static struct frame
encode(const uint32_t *tokens, size_t count, unsigned width)
{
	struct frame frame = {.room = frame_bound(count, width)};
	struct failure f;

	frame.bytes = malloc(frame.room);
	assert_non_null(frame.bytes);
	assert_int_equal(
	    frame_encode(codec, tokens, count, width, frame.bytes, frame.room, &frame.n, &f),
	    FAIL_NONE);
	return frame;
}

static void
test_a_vocabulary_of_65536_has_width_2_and_one_more_has_3(void **unused)
{
	(void)unused;
	assert_int_equal(frame_width(1), 2);
	assert_int_equal(frame_width(65536), 2);
	assert_int_equal(frame_width(65537), 3);
	assert_int_equal(frame_width(200000), 3);
}

static void
test_tokens_come_back(void **unused)
{
	static const struct {
		unsigned width, out_bytes;
		uint32_t limit;
	} cases[] = {{2, 4, 65536}, {2, 2, 65536}, {3, 4, 1 << 24}, {3, 2, 65536}, {3, 4, 200000}};
	static const size_t counts[] = {1, 2, 3, 15, 16, 17, 2049, 32769, FRAME_TOKENS_MAX};

	(void)unused;
	EACH_ROW(i, cases) {
		EACH_ROW(k, counts) {
			size_t n = counts[k], out_bytes = cases[i].out_bytes;
			uint32_t *tokens = tokens_below(n, cases[i].limit);
			struct frame frame = encode(tokens, n, cases[i].width);
			uint8_t *out = malloc((n + 1) * out_bytes);
			struct failure f;

			assert_non_null(out);
			memset(out + n * out_bytes, GUARD, out_bytes);
			assert_int_equal(frame_decode(codec, frame.bytes, frame.n, n,
					     cases[i].width, out, cases[i].out_bytes, &f),
			    FAIL_NONE);
			for (size_t j = 0; j < n; j++)
				assert_int_equal(out_bytes == 4 ? ((uint32_t *)(void *)out)[j]
								: ((uint16_t *)(void *)out)[j],
				    tokens[j]);
			assert_int_equal(out[n * out_bytes], GUARD);
			free(tokens);
			free(frame.bytes);
			free(out);
		}
	}
}

static void
test_a_frame_is_one_zstd_frame_of_little_endian_tokens(void **unused)
{
	static const uint32_t tokens[] = {0x0102, 0xfffe, 3};
	static const uint8_t packed[2][9] = {{2, 1, 0xfe, 0xff, 3, 0}, {2, 1, 0, 0xfe, 0xff, 0, 3}};

	(void)unused;
	for (unsigned width = 2; width <= 3; width++) {
		struct frame frame = encode(tokens, 3, width);
		uint8_t out[64];

		assert_int_equal(ZSTD_getFrameContentSize(frame.bytes, frame.n), 3 * (size_t)width);
		assert_int_equal(
		    ZSTD_decompress(out, sizeof(out), frame.bytes, frame.n), 3 * (size_t)width);
		assert_memory_equal(out, packed[width - 2], 3 * (size_t)width);
		free(frame.bytes);
	}
}

static void
test_equal_tokens_give_equal_frames_whatever_was_encoded_before(void **unused)
{
	uint32_t *a = tokens_below(COUNT, 50000), *b = tokens_below(3 * COUNT, 1 << 24);
	struct frame first = encode(a, COUNT, 2), between = encode(b, 3 * COUNT, 3),
		     second = encode(a, COUNT, 2);

	(void)unused;
	assert_int_equal(first.n, second.n);
	assert_memory_equal(first.bytes, second.bytes, first.n);
	assert_true(frame_hash(first.bytes, first.n) == frame_hash(second.bytes, second.n));
	free(first.bytes);
	free(second.bytes);
	free(between.bytes);
	free(a);
	free(b);
}

static void
test_a_token_that_does_not_fit_is_refused_with_its_index(void **unused)
{
	static const struct {
		unsigned width;
		uint32_t token;
		enum fail_code code;
	} cases[] = {
	    {2, 0xffff, FAIL_NONE},
	    {2, 0x10000, FAIL_DATA},
	    {3, 0xffffff, FAIL_NONE},
	    {3, 0x1000000, FAIL_DATA},
	    {3, UINT32_MAX, FAIL_DATA},
	};

	(void)unused;
	EACH_ROW(i, cases) {
		uint32_t tokens[5] = {1, 2, 3, 4, 5};
		uint8_t out[256];
		size_t n = 77;
		struct failure f;
		enum fail_code code;

		tokens[3] = cases[i].token;
		code = frame_encode(codec, tokens, 5, cases[i].width, out, sizeof(out), &n, &f);
		assert_int_equal(code, cases[i].code);
		if (code != FAIL_NONE) {
			assert_non_null(strstr(f.text, "at index 3 does not fit"));
			assert_int_equal(n, 77);
		}
	}
}

/* Decodes into memory with a guard behind it. */
static enum fail_code
decode(const uint8_t *bytes, size_t n, size_t count, unsigned width, unsigned out_bytes,
    struct failure *f)
{
	uint8_t *copy = malloc(n == 0 ? 1 : n), *out = malloc(count * out_bytes + 1);
	enum fail_code code;

	assert_non_null(copy);
	assert_non_null(out);
	memcpy(copy, bytes, n);
	out[count * out_bytes] = GUARD;
	code = frame_decode(codec, copy, n, count, width, out, out_bytes, f);
	assert_int_equal(out[count * out_bytes], GUARD);
	assert_true(code == FAIL_NONE || code == FAIL_DATA);
	free(copy);
	free(out);
	return code;
}

static void
test_a_frame_of_another_number_of_tokens_is_refused(void **unused)
{
	uint32_t *tokens = tokens_below(COUNT, 50000);
	struct frame frame = encode(tokens, COUNT, 2);
	struct failure f;

	(void)unused;
	assert_int_equal(decode(frame.bytes, frame.n, COUNT, 2, 4, &f), FAIL_NONE);
	assert_int_equal(decode(frame.bytes, frame.n, COUNT - 1, 2, 4, &f), FAIL_DATA);
	assert_string_equal(
	    f.text, "a zstd frame of 4098 bytes, not of 4096 (2048 tokens of 2 bytes)");
	assert_int_equal(decode(frame.bytes, frame.n, COUNT + 1, 2, 4, &f), FAIL_DATA);
	assert_int_equal(decode(frame.bytes, frame.n, COUNT, 3, 4, &f), FAIL_DATA);
	free(frame.bytes);
	free(tokens);
}

static void
test_a_token_above_16_bits_is_refused_where_16_bits_were_asked_for(void **unused)
{
	static const uint32_t tokens[2][3] = {{1, 65535, 2}, {1, 65536, 2}};
	struct failure f;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		struct frame frame = encode(tokens[i], 3, 3);

		assert_int_equal(decode(frame.bytes, frame.n, 3, 3, 4, &f), FAIL_NONE);
		assert_int_equal(
		    decode(frame.bytes, frame.n, 3, 3, 2, &f), i == 0 ? FAIL_NONE : FAIL_DATA);
		free(frame.bytes);
	}
	assert_non_null(strstr(f.text, "a token above 65,535"));
}

static void
test_truncations_and_trailing_bytes_are_refused(void **unused)
{
	uint32_t *tokens = tokens_below(300, 50000);
	struct frame frame = encode(tokens, 300, 2);
	uint8_t *twice = calloc(2, frame.n);
	struct failure f;

	(void)unused;
	assert_non_null(twice);
	for (size_t n = 0; n < frame.n; n++)
		assert_int_equal(decode(frame.bytes, n, 300, 2, 4, &f), FAIL_DATA);
	memcpy(twice, frame.bytes, frame.n);
	assert_int_equal(decode(twice, frame.n + 1, 300, 2, 4, &f), FAIL_DATA);
	assert_string_equal(f.text, "a zstd frame that is truncated or followed by other bytes");
	memcpy(twice + frame.n, frame.bytes, frame.n);
	assert_int_equal(decode(twice, 2 * frame.n, 300, 2, 4, &f), FAIL_DATA);
	assert_int_equal(decode(twice, 2 * frame.n, 600, 2, 4, &f), FAIL_DATA);
	free(twice);
	free(frame.bytes);
	free(tokens);
}

static void
test_every_flip_is_refused_or_decoded_and_nothing_else(void **unused)
{
	uint32_t tokens[200];
	struct frame frame;
	size_t refused = 0;

	(void)unused;
	for (uint32_t i = 0; i < 200; i++)
		tokens[i] = i * i % 97; /* compresses, so that all parts of the format occur */
	frame = encode(tokens, 200, 2);
	assert_true(frame.n < 300);
	for (size_t at = 0; at < frame.n; at++) {
		uint8_t was = frame.bytes[at];

		for (unsigned flip = 1; flip < 256; flip++) {
			struct failure f = {0};

			frame.bytes[at] = (uint8_t)(was ^ flip);
			if (decode(frame.bytes, frame.n, 200, 2, 4, &f) != FAIL_NONE) {
				assert_true(f.text[0] != '\0');
				refused++;
			}
		}
		frame.bytes[at] = was;
	}
	assert_true(refused > 255 * 8); /* at least the header and the sizes */
	free(frame.bytes);
}

static void
test_a_frame_without_its_size_is_refused(void **unused)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	uint8_t packed[64] = {0}, frame[256];
	size_t n;
	struct failure f;

	(void)unused;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, 0);
	n = ZSTD_compress2(zstd, frame, sizeof(frame), packed, sizeof(packed));
	assert_false(ZSTD_isError(n));
	assert_int_equal(decode(frame, n, 32, 2, 4, &f), FAIL_DATA);
	assert_string_equal(f.text, "a zstd frame that does not state its size");
	ZSTD_freeCCtx(zstd);
}

static void
test_a_claim_of_a_huge_size_is_refused_before_anything_is_allocated(void **unused)
{
	/* Frame_Header_Descriptor 0xe0: single segment, 8 bytes of content size (RFC 8878). */
	static const uint8_t bomb[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0x7f, 0x01, 0x00, 0x00};
	/* A skippable frame of 4 bytes, and the magic number of a format of 2016. */
	static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
	static const uint8_t legacy[] = {0x27, 0xb5, 0x2f, 0xfd, 0x20, 0x04, 0x01, 0x00};
	struct failure f;

	(void)unused;
	assert_int_equal(decode(bomb, sizeof(bomb), 10, 2, 4, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "a zstd frame of 9223372036854775807 bytes, not of 20"));
	assert_int_equal(decode(skippable, sizeof(skippable), 10, 2, 4, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "no zstd frame"));
	assert_int_equal(decode(legacy, sizeof(legacy), 10, 2, 4, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "no zstd frame"));
}

static void
test_a_codec_goes_on_after_a_damaged_frame(void **unused)
{
	static const uint32_t tokens[] = {5, 6, 7};
	struct frame frame = encode(tokens, 3, 2);
	struct failure f;

	(void)unused;
	frame.bytes[frame.n - 1] ^= 0xff;
	(void)decode(frame.bytes, frame.n, 3, 2, 4, &f);
	assert_int_equal(decode(frame.bytes, 4, 3, 2, 4, &f), FAIL_DATA);
	frame.bytes[frame.n - 1] ^= 0xff;
	assert_int_equal(decode(frame.bytes, frame.n, 3, 2, 4, &f), FAIL_NONE);
	free(frame.bytes);
}

static void
test_the_hash_is_xxh64_with_seed_0(void **unused)
{
	(void)unused;
	assert_true(frame_hash((const uint8_t *)"", 0) == UINT64_C(0xef46db3751d8e999));
	assert_true(frame_hash((const uint8_t *)"abc", 3) == UINT64_C(0x44bc2cf5ad770999));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_vocabulary_of_65536_has_width_2_and_one_more_has_3),
	    cmocka_unit_test(test_tokens_come_back),
	    cmocka_unit_test(test_a_frame_is_one_zstd_frame_of_little_endian_tokens),
	    cmocka_unit_test(test_equal_tokens_give_equal_frames_whatever_was_encoded_before),
	    cmocka_unit_test(test_a_token_that_does_not_fit_is_refused_with_its_index),
	    cmocka_unit_test(test_a_frame_of_another_number_of_tokens_is_refused),
	    cmocka_unit_test(test_a_token_above_16_bits_is_refused_where_16_bits_were_asked_for),
	    cmocka_unit_test(test_truncations_and_trailing_bytes_are_refused),
	    cmocka_unit_test(test_every_flip_is_refused_or_decoded_and_nothing_else),
	    cmocka_unit_test(test_a_frame_without_its_size_is_refused),
	    cmocka_unit_test(test_a_claim_of_a_huge_size_is_refused_before_anything_is_allocated),
	    cmocka_unit_test(test_a_codec_goes_on_after_a_damaged_frame),
	    cmocka_unit_test(test_the_hash_is_xxh64_with_seed_0),
	};

	return cmocka_run_group_tests_name("frame", tests, open_codec, close_codec);
}
