#include "common/record/frame.h"

#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
	LEVEL = 1,
	PAD_BYTES = 1,            /* the loops of width 3 touch one byte past the last token */
	MAGIC_BYTES = 4,          /* of a zstd frame (RFC 8878, section 3.1.1), little-endian */
	PACKED_FIRST_BYTES = 8192 /* room for packed tokens to begin with */
};

struct frame_codec {
	ZSTD_CCtx *compress;
	unsigned width; /* that `compress` is set up for */
	ZSTD_DCtx *decompress;
	uint8_t *packed; /* tokens between array and frame */
	size_t packed_room;
};

static enum fail_code
ensure_packed(struct frame_codec *c, size_t size_bytes, struct failure *f)
{
	size_t room = c->packed_room < PACKED_FIRST_BYTES ? PACKED_FIRST_BYTES : c->packed_room;
	uint8_t *packed;

	if (c->packed_room >= size_bytes + PAD_BYTES)
		return FAIL_NONE;
	while (room < size_bytes + PAD_BYTES)
		room *= 2;
	packed = realloc(c->packed, room);
	if (packed == NULL)
		return fail_memory(f);
	c->packed = packed;
	c->packed_room = room;
	return FAIL_NONE;
}

enum fail_code
frame_codec_open(struct frame_codec **out, struct failure *f)
{
	struct frame_codec *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return fail_memory(f);
	c->compress = ZSTD_createCCtx();
	c->decompress = ZSTD_createDCtx();
	if (c->compress == NULL || c->decompress == NULL)
		goto failed;
	*out = c;
	return FAIL_NONE;
failed:
	frame_codec_close(c);
	return fail_memory(f);
}

/*
 * Level 1 with a target length: literals are then not entropy coded, which is most of the time of
 * a decoder, and matches are looked for at every (target length + 1)-th byte, here at each token.
 */
static enum fail_code
set_width(struct frame_codec *c, unsigned width, struct failure *f)
{
	if (c->width == width)
		return FAIL_NONE;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(c->compress, ZSTD_c_compressionLevel, LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->compress, ZSTD_c_strategy, ZSTD_fast)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->compress, ZSTD_c_targetLength, (int)width - 1)))
		return fail_memory(f);
	c->width = width;
	return FAIL_NONE;
}

void
frame_codec_close(struct frame_codec *c)
{
	if (c == NULL)
		return;
	ZSTD_freeCCtx(c->compress);
	ZSTD_freeDCtx(c->decompress);
	free(c->packed);
	free(c);
}

unsigned
frame_width(uint32_t entries)
{
	return entries <= UINT32_C(1) << 16 ? 2 : 3;
}

size_t
frame_bound(size_t count, unsigned width)
{
	assert(width == 2 || width == 3);
	assert(count <= FRAME_TOKENS_MAX);
	return ZSTD_compressBound(count * width);
}

/* Each loop returns all tokens or-ed together, which shows whether one did not fit. */
static uint32_t
pack_2(uint8_t *restrict to, const uint32_t *restrict tokens, size_t count)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < count; i++) {
		uint16_t token = htole16((uint16_t)tokens[i]);

		seen |= tokens[i];
		memcpy(to + 2 * i, &token, 2);
	}
	return seen;
}

#if defined(__x86_64__)

/*
 * Eight tokens at once: each four become twelve bytes of sixteen, and the next sixteen cover the
 * last four, so that what is written ends four bytes behind them. Gives how many it has packed.
 */
__attribute__((target("avx2"))) static size_t
pack_3_wide(
    uint8_t *restrict to, const uint32_t *restrict tokens, size_t count, uint32_t *restrict seen)
{
	const __m256i lowest = _mm256_broadcastsi128_si256(
	    _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
	__m256i all = _mm256_setzero_si256();
	uint32_t eight[8];
	size_t i = 0;

	for (; i + 10 <= count; i += 8) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(tokens + i));
		__m256i packed = _mm256_shuffle_epi8(x, lowest);

		all = _mm256_or_si256(all, x);
		_mm_storeu_si128((__m128i *)(void *)(to + 3 * i), _mm256_castsi256_si128(packed));
		_mm_storeu_si128(
		    (__m128i *)(void *)(to + 3 * i + 12), _mm256_extracti128_si256(packed, 1));
	}
	_mm256_storeu_si256((__m256i *)(void *)eight, all);
	for (size_t k = 0; k < 8; k++)
		*seen |= eight[k];
	return i;
}

#endif

/* Two tokens are written as eight bytes, of which the next two cover the last; then the rest. */
static uint32_t
pack_3(uint8_t *restrict to, const uint32_t *restrict tokens, size_t count)
{
	uint32_t seen = 0;
	size_t i = 0;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		i = pack_3_wide(to, tokens, count, &seen);
#endif
	for (; i + 2 < count; i += 2) {
		uint64_t two = htole64(tokens[i] | (uint64_t)tokens[i + 1] << 24);

		seen |= tokens[i] | tokens[i + 1];
		memcpy(to + 3 * i, &two, 8);
	}
	for (; i < count; i++) {
		uint32_t token = htole32(tokens[i]);

		seen |= tokens[i];
		memcpy(to + 3 * i, &token, 4);
	}
	return seen;
}

static enum fail_code
refuse_token(const uint32_t *tokens, size_t count, unsigned width, struct failure *f)
{
	for (size_t i = 0; i < count; i++) {
		if (tokens[i] >> (8 * width) != 0)
			return fail(f, FAIL_DATA,
			    "token %" PRIu32 " at index %zu does not fit %u bytes", tokens[i], i,
			    width);
	}
	abort(); /* unreachable: called where one does not fit */
}

enum fail_code
frame_encode(struct frame_codec *c, const uint32_t *tokens, size_t count, unsigned width,
    uint8_t *out, size_t room, size_t *size_bytes, struct failure *f)
{
	size_t packed_bytes = count * width, size;
	uint32_t seen;

	assert(width == 2 || width == 3);
	assert(count <= FRAME_TOKENS_MAX);
	assert(room >= frame_bound(count, width));
	if (ensure_packed(c, packed_bytes, f) != FAIL_NONE || set_width(c, width, f) != FAIL_NONE)
		return f->code;
	seen = width == 2 ? pack_2(c->packed, tokens, count) : pack_3(c->packed, tokens, count);
	if (seen >> (8 * width) != 0)
		return refuse_token(tokens, count, width, f);
	size = ZSTD_compress2(c->compress, out, room, c->packed, packed_bytes);
	if (ZSTD_isError(size))
		return fail(f, FAIL_MEMORY, "compressing %zu tokens into %zu bytes: %s", count,
		    room, ZSTD_getErrorName(size));
	*size_bytes = size;
	return FAIL_NONE;
}

/*
 * Looks at the headers alone: one zstd frame, no more and no less, that states `content` bytes.
 * The magic number is checked because libzstd may also read formats of its early versions.
 */
static enum fail_code
check_frame(
    const uint8_t *frame, size_t size_bytes, size_t content, unsigned width, struct failure *f)
{
	uint32_t magic = 0;
	unsigned long long stated;

	if (size_bytes >= MAGIC_BYTES)
		memcpy(&magic, frame, MAGIC_BYTES);
	if (le32toh(magic) != ZSTD_MAGICNUMBER)
		return fail(f, FAIL_DATA, "%zu bytes that are no zstd frame", size_bytes);
	stated = ZSTD_getFrameContentSize(frame, size_bytes);
	if (stated == ZSTD_CONTENTSIZE_ERROR)
		return fail(f, FAIL_DATA, "a zstd frame whose header is damaged");
	if (stated == ZSTD_CONTENTSIZE_UNKNOWN)
		return fail(f, FAIL_DATA, "a zstd frame that does not state its size");
	if (stated != content)
		return fail(f, FAIL_DATA,
		    "a zstd frame of %llu bytes, not of %zu (%zu tokens of %u bytes)", stated,
		    content, content / width, width);
	if (ZSTD_findFrameCompressedSize(frame, size_bytes) != size_bytes)
		return fail(
		    f, FAIL_DATA, "a zstd frame that is truncated or followed by other bytes");
	return FAIL_NONE;
}

static void
unpack_2(uint32_t *restrict out, const uint8_t *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t token;

		memcpy(&token, from + 2 * i, 2);
		out[i] = le16toh(token);
	}
}

/* Reads four bytes for each token and drops the fourth. */
static void
unpack_3(uint32_t *restrict out, const uint8_t *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t token;

		memcpy(&token, from + 3 * i, 4);
		out[i] = le32toh(token) & UINT32_C(0xffffff);
	}
}

static void
unpack_2_narrow(uint16_t *restrict out, const uint8_t *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t token;

		memcpy(&token, from + 2 * i, 2);
		out[i] = le16toh(token);
	}
}

/* Returns all tokens or-ed together. */
static uint32_t
unpack_3_narrow(uint16_t *restrict out, const uint8_t *restrict from, size_t count)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t token;

		memcpy(&token, from + 3 * i, 4);
		token = le32toh(token) & UINT32_C(0xffffff);
		seen |= token;
		out[i] = (uint16_t)token;
	}
	return seen;
}

static void
unpack_2_wide(uint64_t *restrict out, const uint8_t *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t token;

		memcpy(&token, from + 2 * i, 2);
		out[i] = le16toh(token);
	}
}

static void
unpack_3_wide(uint64_t *restrict out, const uint8_t *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t token;

		memcpy(&token, from + 3 * i, 4);
		out[i] = le32toh(token) & UINT32_C(0xffffff);
	}
}

static enum fail_code
unpack(void *out, unsigned out_bytes, const uint8_t *packed, size_t count, unsigned width,
    struct failure *f)
{
	if (out_bytes == 8 && width == 2)
		unpack_2_wide(out, packed, count);
	else if (out_bytes == 8)
		unpack_3_wide(out, packed, count);
	else if (out_bytes == 4 && width == 2)
		unpack_2(out, packed, count);
	else if (out_bytes == 4)
		unpack_3(out, packed, count);
	else if (width == 2)
		unpack_2_narrow(out, packed, count);
	else if (unpack_3_narrow(out, packed, count) > UINT16_MAX)
		return fail(f, FAIL_DATA,
		    "a token above 65,535, which does not fit 2 bytes: ask for 4 bytes a token "
		    "(uint32)");
	return FAIL_NONE;
}

enum fail_code
frame_decode(struct frame_codec *c, const uint8_t *frame, size_t size_bytes, size_t count,
    unsigned width, void *out, unsigned out_bytes, struct failure *f)
{
	size_t content = count * width, size;
	bool straight = BYTE_ORDER == LITTLE_ENDIAN && out_bytes == width; /* it is the array */
	void *to;

	assert(width == 2 || width == 3);
	assert(out_bytes == 2 || out_bytes == 4 || out_bytes == 8);
	assert(count <= FRAME_TOKENS_MAX);
	if (check_frame(frame, size_bytes, content, width, f) != FAIL_NONE)
		return f->code;
	if (!straight && ensure_packed(c, content, f) != FAIL_NONE)
		return f->code;
	to = straight ? out : c->packed;
	size = ZSTD_decompressDCtx(c->decompress, to, content, frame, size_bytes);
	if (ZSTD_isError(size))
		return fail(f, FAIL_DATA, "a damaged zstd frame: %s", ZSTD_getErrorName(size));
	if (size != content)
		return fail(
		    f, FAIL_DATA, "a zstd frame of %zu bytes that states %zu", size, content);
	if (straight)
		return FAIL_NONE;
	c->packed[content] = 0; /* read by unpacking the last token, and dropped */
	return unpack(out, out_bytes, c->packed, count, width, f);
}

uint64_t
frame_hash(const uint8_t *frame, size_t size_bytes)
{
	return XXH64(frame, size_bytes, 0);
}
