#include "common/base/utf8.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A stretch of ASCII is looked at in words of this many bytes. */
enum { WORD_BYTES = 8 };

#define HIGH_BITS UINT64_C(0x8080808080808080)

static bool
is_tail(uint8_t byte)
{
	return (byte & 0xC0) == 0x80;
}

/* The lowest and highest second byte that may follow `lead` (C2 to F4). */
static bool
is_second(uint8_t lead, uint8_t byte)
{
	uint8_t low = 0x80, high = 0xBF;

	if (lead == 0xE0)
		low = 0xA0;
	else if (lead == 0xED)
		high = 0x9F;
	else if (lead == 0xF0)
		low = 0x90;
	else if (lead == 0xF4)
		high = 0x8F;
	return byte >= low && byte <= high;
}

/* Bytes that a character with this first byte has; 0: no character begins so. */
static size_t
bytes_of(uint8_t lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xC2 || lead > 0xF4)
		return 0;
	return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/*
 * Looks at the character that begins at p[n], n > 0: its bytes and true, or the bytes of the
 * maximal part that is none, and false.
 */
static bool
look(const uint8_t *p, size_t n, size_t *bytes)
{
	size_t want = bytes_of(p[0]), have = 1;

	if (want == 0) {
		*bytes = 1;
		return false;
	}
	while (have < want && have < n && (have == 1 ? is_second(p[0], p[1]) : is_tail(p[have])))
		have++;
	*bytes = have;
	return have == want;
}

static size_t
skip_ascii(const uint8_t *p, size_t at, size_t n)
{
	uint64_t a, b;

	while (at + 2 * WORD_BYTES <= n) {
		memcpy(&a, p + at, WORD_BYTES);
		memcpy(&b, p + at + WORD_BYTES, WORD_BYTES);
		if (((a | b) & HIGH_BITS) != 0)
			break;
		at += 2 * WORD_BYTES;
	}
	while (at < n && p[at] < 0x80)
		at++;
	return at;
}

/* Goes over characters of two and three bytes as long as there is room to look ahead. */
static size_t
skip_common(const uint8_t *p, size_t at, size_t n)
{
	while (at + 3 <= n) {
		uint8_t lead = p[at];

		if (lead >= 0xE1 && lead <= 0xEF && lead != 0xED) {
			if (!is_tail(p[at + 1]) || !is_tail(p[at + 2]))
				return at;
			at += 3;
		} else if (lead >= 0xC2 && lead <= 0xDF) {
			if (!is_tail(p[at + 1]))
				return at;
			at += 2;
		} else if (lead < 0x80 && p[at + 1] >= 0x80) {
			at++;
		} else {
			return at;
		}
	}
	return at;
}

/* ---- 32 bytes at once, for x86-64 with AVX2 ---- */

#if defined(__x86_64__)

enum { BLOCK = 32 };

#define AVX2 __attribute__((target("avx2")))

/*
 * After Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte" (2021). What
 * can be wrong with two neighbouring bytes is a bit in each of three tables of 16 entries: by the
 * high and the low nibble of the first and the high nibble of the second. A bit that all three have
 * is an error.
 */
enum {
	SHORT = 1,       /* a lead, and no tail behind it: 11______ 0_______, 11______ 11______ */
	LONG = 2,        /* a tail behind ASCII: 0_______ 10______ */
	OVER_3 = 4,      /* overlong: 11100000 100_____ */
	SURROGATE = 16,  /* 11101101 101_____ */
	OVER_2 = 32,     /* overlong: 1100000_ 10______ */
	LARGE = 8,       /* above U+10FFFF: 11110100 1001____, 111101__ 101_____ */
	LARGE_1000 = 64, /* above U+10FFFF: 1111_101 1000____; overlong: 11110000 1000____ */
	OVER_4 = 64,
	TAILS = 128, /* 10______ 10______: right only behind a lead of three or four bytes */
	CARRY = SHORT | LONG | TAILS,
};

#define SIXTEEN(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))

/* The bytes that stand `by` places before each byte of `block`, of which `before` is the last. */
#define BEHIND(block, before, by)                                                                  \
	_mm256_alignr_epi8(block, _mm256_permute2x128_si256(before, block, 0x21), 16 - (by))

/* Not 0 where a byte of the block is wrong, given the block before it. */
AVX2 static inline __m256i
find_errors(__m256i block, __m256i before)
{
	const __m256i nibble = _mm256_set1_epi8(0x0F);
	const __m256i first_high = SIXTEEN(LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG,
	    (char)TAILS, (char)TAILS, (char)TAILS, (char)TAILS, SHORT | OVER_2, SHORT,
	    SHORT | OVER_3 | SURROGATE, SHORT | LARGE | LARGE_1000 | OVER_4);
	const __m256i first_low =
	    SIXTEEN((char)(CARRY | OVER_3 | OVER_2 | OVER_4), (char)(CARRY | OVER_2), (char)CARRY,
		(char)CARRY, (char)(CARRY | LARGE), (char)(CARRY | LARGE | LARGE_1000),
		(char)(CARRY | LARGE | LARGE_1000), (char)(CARRY | LARGE | LARGE_1000),
		(char)(CARRY | LARGE | LARGE_1000), (char)(CARRY | LARGE | LARGE_1000),
		(char)(CARRY | LARGE | LARGE_1000), (char)(CARRY | LARGE | LARGE_1000),
		(char)(CARRY | LARGE | LARGE_1000), (char)(CARRY | LARGE | LARGE_1000 | SURROGATE),
		(char)(CARRY | LARGE | LARGE_1000), (char)(CARRY | LARGE | LARGE_1000));
	const __m256i second_high = SIXTEEN(SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT,
	    (char)(LONG | OVER_2 | TAILS | OVER_3 | LARGE_1000 | OVER_4),
	    (char)(LONG | OVER_2 | TAILS | OVER_3 | LARGE),
	    (char)(LONG | OVER_2 | TAILS | SURROGATE | LARGE),
	    (char)(LONG | OVER_2 | TAILS | SURROGATE | LARGE), SHORT, SHORT, SHORT, SHORT);
	__m256i first = BEHIND(block, before, 1);
	__m256i wrong = _mm256_and_si256(
	    _mm256_and_si256(_mm256_shuffle_epi8(
				 first_high, _mm256_and_si256(_mm256_srli_epi16(first, 4), nibble)),
		_mm256_shuffle_epi8(first_low, _mm256_and_si256(first, nibble))),
	    _mm256_shuffle_epi8(
		second_high, _mm256_and_si256(_mm256_srli_epi16(block, 4), nibble)));
	/* Where a third or fourth byte must be: two tails are right there, and wrong elsewhere. */
	__m256i third =
	    _mm256_subs_epu8(BEHIND(block, before, 2), _mm256_set1_epi8((char)(0xE0 - 0x80)));
	__m256i fourth =
	    _mm256_subs_epu8(BEHIND(block, before, 3), _mm256_set1_epi8((char)(0xF0 - 0x80)));
	__m256i tails =
	    _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)TAILS));

	return _mm256_xor_si256(tails, wrong);
}

/*
 * The begin of a character that p[at) ends in the middle of, else `at`; all before it is right. A
 * byte that begins no character is found wrong by the one behind it only, so that it may be last.
 */
static size_t
whole_characters(const uint8_t *p, size_t at)
{
	for (size_t back = 1; back <= 3 && back <= at; back++)
		if (!is_tail(p[at - back])) {
			size_t bytes = bytes_of(p[at - back]);

			return bytes == 0 || bytes > back ? at - back : at;
		}
	return at;
}

/*
 * Goes over whole blocks until one is wrong; gives the end of a character that all is right up to.
 * A block of ASCII behind one is not looked at further.
 */
AVX2 static size_t
skip_blocks(const uint8_t *p, size_t n)
{
	__m256i before = _mm256_setzero_si256();
	size_t at = 0;

	for (; n - at >= BLOCK; at += BLOCK) {
		__m256i block = _mm256_loadu_si256((const __m256i *)(const void *)(p + at));

		if (_mm256_movemask_epi8(_mm256_or_si256(block, before)) != 0) {
			__m256i errors = find_errors(block, before);

			if (!_mm256_testz_si256(errors, errors))
				break;
		}
		before = block;
	}
	return whole_characters(p, at);
}

#else

static size_t
skip_blocks(const uint8_t *p, size_t n)
{
	(void)p;
	(void)n;
	return 0;
}

#endif

static bool
has_blocks(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

size_t
utf8_valid_bytes(const char *text, size_t n)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t at = has_blocks() ? skip_blocks(p, n) : 0, bytes;

	for (;;) {
		at = skip_ascii(p, at, n);
		at = skip_common(p, at, n);
		if (at == n)
			return n;
		if (!look(p + at, n - at, &bytes))
			return at;
		at += bytes;
	}
}

size_t
utf8_next(const char *text, size_t n, uint32_t *point)
{
	static const uint8_t lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	const uint8_t *p = (const uint8_t *)text;
	size_t bytes;

	assert(n > 0);
	*point = UTF8_NONE;
	if (!look(p, n, &bytes))
		return bytes;
	*point = p[0] & lead_bits[bytes];
	for (size_t i = 1; i < bytes; i++)
		*point = *point << 6 | (p[i] & 0x3Fu);
	return bytes;
}

size_t
utf8_replace(char *out, const char *text, size_t n)
{
	size_t written = 0, at = 0;

	while (at < n) {
		size_t bytes = utf8_valid_bytes(text + at, n - at);

		memcpy(out + written, text + at, bytes);
		written += bytes;
		at += bytes;
		if (at == n)
			break;
		look((const uint8_t *)text + at, n - at, &bytes);
		memcpy(out + written, "\xEF\xBF\xBD", 3);
		written += 3;
		at += bytes;
	}
	assert(written <= n * UTF8_REPLACED_FACTOR);
	return written;
}
