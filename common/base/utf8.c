#include "common/base/utf8.h"

#include <assert.h>
#include <string.h>

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

size_t
utf8_valid_bytes(const char *text, size_t n)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t at = 0, bytes;

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
