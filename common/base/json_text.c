#include "common/base/json_text.h"

#include <assert.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

bool
json_text_bad(struct json_text *t, const char *what)
{
	assert(what != NULL);
	t->bad = t->at == t->end ? "the text ends too early" : what;
	return false;
}

void
json_text_space(struct json_text *t)
{
	assert(t->at <= t->end);
	while (
	    t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\r' || *t->at == '\t'))
		t->at++;
}

/* ---- strings: where they end, what their escapes stand for, a step of 16 bytes at a time ---- */

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

/*
 * Goes to the first quote, backslash or control, or to the end. Nearly all bytes of a corpus pass
 * here: whole steps while there are any, then byte by byte, so that nothing beyond the end is read.
 */
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

/*
 * Decodes what follows \u. A high surrogate and a low one behind it are one character: \ud83d\ude00
 * is U+1F600. One that is alone becomes U+FFFD, and what follows it is decoded by itself.
 */
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

/* The byte that a letter behind a backslash means; 0: none, or \u. */
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

#if defined(__x86_64__)

enum { WIDE_BYTES = 32 };

/*
 * Copies a string and decodes its escapes of one letter, 32 bytes at a time, until it meets
 * anything else (the quote, \u, what is wrong) or is near the end. Text has an escape every line
 * or so, where a branch would be mispredicted: so a step goes to the first special byte, if any,
 * and always decodes; without a special byte what it has decoded does not count.
 *
 *     step       H e l l o . \ n     copied as it is
 *     n = 6                          the letter behind it is looked up, and put over the \
 *     p += 8, out += 7               the next step begins behind the n
 */
__attribute__((target("avx2,bmi"))) static char *
copy_wide(struct json_text *t, char *out)
{
	const char *p = t->at;

	while (t->end - p > WIDE_BYTES + 1) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
		__m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(x, _mm256_set1_epi8(0x1f)), x);
		__m256i quote = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('"'));
		__m256i slash = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\'));
		uint64_t found = (uint32_t)_mm256_movemask_epi8(
		    _mm256_or_si256(_mm256_or_si256(quote, slash), control));
		unsigned n = (unsigned)_tzcnt_u64(found | UINT64_C(1) << WIDE_BYTES);
		unsigned some = n < WIDE_BYTES;
		char simple = meant[(unsigned char)p[n + 1]];

		_mm256_storeu_si256((__m256i *)(void *)out, x);
		if (some & ((p[n] != '\\') | (simple == 0))) {
			t->at = p + n;
			return out + n;
		}
		out[n] = simple;
		out += n + some;
		p += n + 2 * some;
	}
	t->at = p;
	return out;
}

#else

static char *
copy_wide(struct json_text *t, char *out)
{
	(void)t;
	return out;
}

#endif

static bool
has_wide(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
#else
	return false;
#endif
}

/* A scan has ended, and not at a backslash: that is the quote, or the string is wrong. */
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
	bool wide = has_wide();
	char *out = room;

	assert(t->bad == NULL);
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
		if (wide)
			out = copy_wide(t, out);
		out = copy_string(t, out);
	}
	*bytes = room;
	*n = (size_t)(out - room);
	return end_string(t);
}

/* ---- values, passed over without recursion ---- */

/*
 * Which containers are open. A text can nest 512 deep, so that recursion would cost stack that a
 * hostile text chooses; a bit a level says all that is needed: which bracket closes it, and whether
 * a key comes before the next value.
 */
struct nest {
	size_t level;
	uint64_t is_object[JSON_TEXT_DEPTH_MAX / 64];
};

static bool
skip_digits(struct json_text *t)
{
	const char *before = t->at;

	while (t->at < t->end && *t->at >= '0' && *t->at <= '9')
		t->at++;
	return t->at > before || json_text_bad(t, "a digit is missing");
}

static bool
skip_number(struct json_text *t)
{
	json_text_take(t, '-');
	if (!json_text_take(t, '0') && !skip_digits(t))
		return false;
	if (json_text_take(t, '.') && !skip_digits(t))
		return false;
	if (json_text_take(t, 'e') || json_text_take(t, 'E')) {
		if (!json_text_take(t, '+'))
			json_text_take(t, '-');
		return skip_digits(t);
	}
	return true;
}

static bool
skip_word(struct json_text *t, const char *word)
{
	for (; *word != '\0'; word++)
		if (!json_text_take(t, *word))
			return json_text_bad(t, "no such value; a string wants quotes");
	return true;
}

/* Passes a string, number, true, false or null. */
static bool
skip_scalar(struct json_text *t)
{
	if (t->at == t->end)
		return json_text_bad(t, "");
	switch (*t->at) {
	case '"': t->at++; return json_text_skip_string(t);
	case 't': return skip_word(t, "true");
	case 'f': return skip_word(t, "false");
	case 'n': return skip_word(t, "null");
	default: break;
	}
	if (*t->at == '-' || (*t->at >= '0' && *t->at <= '9'))
		return skip_number(t);
	return json_text_bad(t, "a value is missing");
}

bool
json_text_colon(struct json_text *t)
{
	json_text_space(t);
	if (!json_text_take(t, ':'))
		return json_text_bad(t, "a colon is missing after the key");
	json_text_space(t);
	return true;
}

bool
json_text_key(struct json_text *t)
{
	json_text_space(t);
	return json_text_take(t, '"') || json_text_bad(t, "a key in quotes is missing");
}

static bool
skip_key(struct json_text *t)
{
	return json_text_key(t) && json_text_skip_string(t) && json_text_colon(t);
}

bool
json_text_check_depth(struct json_text *t, size_t level)
{
	if (level < JSON_TEXT_DEPTH_MAX)
		return true;
	t->bad = "nested more than 512 deep";
	return false;
}

static bool
in_object(const struct nest *n)
{
	return n->is_object[(n->level - 1) / 64] >> ((n->level - 1) % 64) & 1;
}

/* Passes one value, or opens it: then *whole is false and the first value inside comes next. */
static bool
start_value(struct json_text *t, struct nest *n, bool *whole)
{
	bool object = t->at < t->end && *t->at == '{';
	uint64_t bit = UINT64_C(1) << n->level % 64;

	*whole = true;
	if (!object && (t->at == t->end || *t->at != '['))
		return skip_scalar(t);
	if (!json_text_check_depth(t, n->level))
		return false;
	t->at++;
	json_text_space(t);
	if (json_text_take(t, object ? '}' : ']'))
		return true;
	if (object)
		n->is_object[n->level / 64] |= bit;
	else
		n->is_object[n->level / 64] &= ~bit;
	n->level++;
	*whole = false;
	return !object || skip_key(t);
}

/* After a value: closes what ends here; *whole is false where another value comes next. */
static bool
finish_values(struct json_text *t, struct nest *n, size_t level, bool *whole)
{
	while (n->level > level) {
		bool object = in_object(n);

		json_text_space(t);
		if (json_text_take(t, ',')) {
			*whole = false;
			json_text_space(t);
			return !object || skip_key(t);
		}
		if (!json_text_take(t, object ? '}' : ']'))
			return json_text_bad(
			    t, object ? "a comma or } is missing" : "a comma or ] is missing");
		n->level--;
	}
	*whole = true;
	return true;
}

bool
json_text_skip(struct json_text *t, size_t level)
{
	struct nest n;
	bool whole;

	assert(level <= JSON_TEXT_DEPTH_MAX);
	assert(t->bad == NULL);
	n.level = level;
	do {
		if (!start_value(t, &n, &whole))
			return false;
		if (whole && !finish_values(t, &n, level, &whole))
			return false;
	} while (!whole);
	return true;
}
