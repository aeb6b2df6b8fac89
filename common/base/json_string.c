/* Strings of JSON: where they end, and what their escapes stand for, sixteen bytes at a time. */
#include <endian.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/base/json_text.h"

#ifdef __SSE2__

enum { STEP_BYTES = 16 };

/* A bit for each of the 16 bytes that is a quote, a backslash or a control; they go to `out`. */
static inline uint64_t
find_special(const char *p, char *out)
{
	__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
	__m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
	__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));

	if (out != NULL)
		_mm_storeu_si128((__m128i *)(void *)out, x);
	return (uint64_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control));
}

static inline int
first_special(uint64_t found)
{
	return __builtin_ctzll(found);
}

#else

enum { STEP_BYTES = 8 };

/*
 * The high bit of each of the 8 bytes that is a quote, a backslash or a control; bits above the
 * first one may be set wrongly. They go to `out`. After Mycroft's test for a zero byte (x - 1) & ~x
 * & 0x80 of 1987: x is the word xor the byte wanted, and for "less than 32" the subtrahend is 32.
 */
static inline uint64_t
find_special(const char *p, char *out)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t word, quote, slash;

	memcpy(&word, p, sizeof(word));
	if (out != NULL)
		memcpy(out, &word, sizeof(word));
	word = le64toh(word);
	quote = (word ^ ones * '"') - ones;
	slash = (word ^ ones * '\\') - ones;
	return (quote | slash | (word - ones * 0x20)) & ~word & ones * 0x80;
}

static inline int
first_special(uint64_t found)
{
	return __builtin_ctzll(found) / 8;
}

#endif

static bool
is_special(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* Goes to the first quote, backslash or control, or to the end. */
static void
scan_string(struct json_text *t)
{
	const char *p = t->at;

	for (; t->end - p >= STEP_BYTES; p += STEP_BYTES) {
		uint64_t found = find_special(p, NULL);

		if (found != 0) {
			t->at = p + first_special(found);
			return;
		}
	}
	while (p < t->end && !is_special(*p))
		p++;
	t->at = p;
}

/* The same, and copies what it passes. Gives the end of the copy; may write a step beyond it. */
static char *
copy_string(struct json_text *t, char *out)
{
	const char *p = t->at;

	for (; t->end - p >= STEP_BYTES; p += STEP_BYTES, out += STEP_BYTES) {
		uint64_t found = find_special(p, out);

		if (found != 0) {
			int n = first_special(found);

			t->at = p + n;
			return out + n;
		}
	}
	while (p < t->end && !is_special(*p))
		*out++ = *p++;
	t->at = p;
	return out;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reads the four digits after \u. */
static bool
read_unit(struct json_text *t, uint32_t *unit)
{
	*unit = 0;
	for (int i = 0; i < 4; i++) {
		int digit = t->at < t->end ? hex_digit(*t->at) : -1;

		if (digit < 0)
			return json_text_bad(t, "\\u takes four hexadecimal digits");
		*unit = *unit << 4 | (uint32_t)digit;
		t->at++;
	}
	return true;
}

static char *
put_utf8(char *out, uint32_t point)
{
	if (point < 0x80) {
		*out++ = (char)point;
		return out;
	}
	if (point < 0x800) {
		*out++ = (char)(0xc0 | point >> 6);
	} else if (point < 0x10000) {
		*out++ = (char)(0xe0 | point >> 12);
		*out++ = (char)(0x80 | (point >> 6 & 0x3f));
	} else {
		*out++ = (char)(0xf0 | point >> 18);
		*out++ = (char)(0x80 | (point >> 12 & 0x3f));
		*out++ = (char)(0x80 | (point >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (point & 0x3f));
	return out;
}

/* Decodes what follows \u, and a second \u where both are one character. */
static bool
decode_unicode(struct json_text *t, char **out)
{
	uint32_t unit, low;

	if (!read_unit(t, &unit))
		return false;
	if (unit >= 0xd800 && unit < 0xdc00 && t->end - t->at >= 6 && t->at[0] == '\\' &&
	    t->at[1] == 'u') {
		const char *second = t->at;

		t->at += 2;
		if (!read_unit(t, &low))
			return false;
		if (low >= 0xdc00 && low < 0xe000)
			unit = 0x10000 + ((unit - 0xd800) << 10 | (low - 0xdc00));
		else
			t->at = second; /* the first is alone; this one is decoded by itself */
	}
	*out = put_utf8(*out, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit);
	return true;
}

/* What stands for itself or for one control behind a backslash; 0: it does not. */
static const char meant[256] = {['"'] = '"',
    ['\\'] = '\\',
    ['/'] = '/',
    ['b'] = '\b',
    ['f'] = '\f',
    ['n'] = '\n',
    ['r'] = '\r',
    ['t'] = '\t'};

/* Decodes the escape at the backslash; out is moved on. Takes no more room than it has in JSON. */
static inline bool
decode_escape(struct json_text *t, char **out)
{
	char simple = t->end - t->at > 1 ? meant[(unsigned char)t->at[1]] : 0;

	if (simple != 0) {
		*(*out)++ = simple;
		t->at += 2;
		return true;
	}
	t->at++;
	if (json_text_take(t, 'u'))
		return decode_unicode(t, out);
	return json_text_bad(t, "no such escape");
}

/* What stands where a scan has ended, if it is not a backslash: the end of the string, or worse. */
static bool
end_string(struct json_text *t)
{
	if (json_text_take(t, '"'))
		return true;
	return json_text_bad(t, "a control character in a string must be escaped");
}

bool
json_text_skip_string(struct json_text *t)
{
	char unused[4], *out;

	for (;;) {
		scan_string(t);
		if (t->at == t->end || *t->at != '\\')
			return end_string(t);
		out = unused;
		if (!decode_escape(t, &out))
			return false;
	}
}

bool
json_text_string(struct json_text *t, char *room, const char **bytes, size_t *n)
{
	const char *start = t->at;
	char *out = room;

	scan_string(t);
	if (t->at == t->end || *t->at != '\\') {
		*bytes = start;
		*n = (size_t)(t->at - start);
		return end_string(t);
	}
	memcpy(out, start, (size_t)(t->at - start));
	out += t->at - start;
	while (t->at < t->end && *t->at == '\\') {
		if (!decode_escape(t, &out))
			return false;
		out = copy_string(t, out);
	}
	*bytes = room;
	*n = (size_t)(out - room);
	return end_string(t);
}
