#include "producer/pretokenizer/splitter.h"

#include <assert.h>

#include "producer/pretokenizer/splitter_internal.h"

const char *const splitter_pattern_text[SPLITTER_PATTERNS] = {
    [SPLITTER_GPT2] = "gpt2",
    [SPLITTER_CL100K] = "cl100k",
    [SPLITTER_O200K] = "o200k",
    [SPLITTER_QWEN2] = "qwen2",
};

/* Sets of classes, a bit for each. */
#define SET(class) (1u << (class))

enum {
	SET_NUMBER = SET(CLASS_NUMBER),
	SET_SPACE = SET(CLASS_SPACE),
	SET_LETTER = SET(CLASS_UPPER) | SET(CLASS_LOWER) | SET(CLASS_LETTER), /* \p{L} */
	SET_OTHER = SET(CLASS_OTHER) | SET(CLASS_MARK),                       /* [^\s\p{L}\p{N}] */
	/* The two halves of a word of o200k; letters without case and marks are in both. */
	SET_HEAD = SET(CLASS_UPPER) | SET(CLASS_LETTER) | SET(CLASS_MARK),
	SET_BODY = SET(CLASS_LOWER) | SET(CLASS_LETTER) | SET(CLASS_MARK),

	NUMBERS_MAX = 3, /* \p{N}{1,3} */
	NUMBERS_MAX_QWEN2 = 1,
};

/* ---- what the patterns share; all are about the text from p to `end` ---- */

static bool
is_newline(uint8_t byte)
{
	return byte == '\n' || byte == '\r';
}

/* Bytes of the character at p if its class is in `set`, else 0; 0 at the end. */
static inline size_t
one_of(const uint8_t *p, const uint8_t *end, unsigned set)
{
	enum unicode_class class;
	size_t n;

	if (p == end)
		return 0;
	n = splitter_look(p, &class);
	return (set & SET(class)) != 0 ? n : 0;
}

/* Behind all the characters of `set` that begin at p; p: there is none. */
static inline const uint8_t *
all_of(const uint8_t *p, const uint8_t *end, unsigned set)
{
	enum unicode_class class;

	while (p < end) {
		size_t n = splitter_look(p, &class);

		if ((set & SET(class)) == 0)
			break;
		p += n;
	}
	return p;
}

/* Behind the first of them, `most` at most. */
static inline const uint8_t *
first_of(const uint8_t *p, const uint8_t *end, unsigned set, unsigned most)
{
	for (size_t n; most > 0 && (n = one_of(p, end, set)) > 0; most--)
		p += n;
	return p;
}

/*
 * \s+(?!\S)|\s+ at p, where white space begins. The first alternative backs off by one character
 * before what is not white space, so that this one can begin the next piece (" a"). So it takes all
 * up to the end of the text, else all but the last character; a single one is for the second.
 */
static const uint8_t *
space(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = all_of(p, end, SET_SPACE), *last;

	assert(after > p);
	if (after == end)
		return after;
	last = code_point_before(after);
	return last == p ? after : last;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ at p: up to the last newline of the white space, if it has one. */
static const uint8_t *
space_lines(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = all_of(p, end, SET_SPACE);

	for (const uint8_t *q = after; q > p; q--)
		if (is_newline(q[-1]))
			return q;
	return space(p, end);
}

/* ---- gpt2 ---- */

/* By the class of a piece's first character, a space before it apart: what follows it. */
static const unsigned gpt2_set[] = {
    [CLASS_OTHER] = SET_OTHER,
    [CLASS_SPACE] = 0,
    [CLASS_NUMBER] = SET_NUMBER,
    [CLASS_UPPER] = SET_LETTER,
    [CLASS_LOWER] = SET_LETTER,
    [CLASS_LETTER] = SET_LETTER,
    [CLASS_MARK] = SET_OTHER,
};

static const uint8_t *
piece_gpt2(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *first = p;
	enum unicode_class class;
	size_t n = splitter_contraction(p, end, false);

	if (n > 0)
		return p + n;
	if (*p == ' ' && end - p > 1)
		first++;
	n = splitter_look(first, &class);
	if (class == CLASS_SPACE)
		return space(p, end);
	return all_of(first + n, end, gpt2_set[class]);
}

/* ---- cl100k, and qwen2 with fewer numbers in a piece ---- */

/* [\r\n]* */
static const uint8_t *
newlines(const uint8_t *p, const uint8_t *end)
{
	while (p < end && is_newline(*p))
		p++;
	return p;
}

static inline const uint8_t *
piece_cl100k(const uint8_t *p, const uint8_t *end, unsigned numbers_max)
{
	enum unicode_class class;
	size_t n = splitter_contraction(p, end, true);
	const uint8_t *other = p;

	if (n > 0)
		return p + n;
	n = splitter_look(p, &class);
	if ((SET(class) & SET_LETTER) != 0)
		return all_of(p + n, end, SET_LETTER);
	if (class == CLASS_NUMBER)
		return first_of(p + n, end, SET_NUMBER, numbers_max - 1);
	if (!is_newline(*p) && one_of(p + n, end, SET_LETTER) > 0)
		return all_of(p + n, end, SET_LETTER);
	if (*p == ' ')
		other++;
	if (one_of(other, end, SET_OTHER) > 0)
		return newlines(all_of(other, end, SET_OTHER), end);
	return space_lines(p, end);
}

/* ---- o200k ---- */

/* [\r\n/]* */
static const uint8_t *
line_ends(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (is_newline(*p) || *p == '/'))
		p++;
	return p;
}

/*
 * HEAD*BODY+ at p; NULL: does not match. The heads are taken first, as many as there are. Where no
 * body follows them, they give back what they have taken too much: up to the last head that can be
 * a body as well. Example, A is upper, z lower, x without case: in "AxA," the heads take AxA, and
 * give back the second A, so that x is the body: "Ax".
 */
static const uint8_t *
heads_and_body(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *body_end = NULL;
	enum unicode_class class;

	while (p < end) {
		size_t n = splitter_look(p, &class);

		if ((SET(class) & SET_HEAD) == 0)
			break;
		p += n;
		if ((SET(class) & SET_BODY) != 0)
			body_end = p;
	}
	if (one_of(p, end, SET_BODY) > 0)
		return all_of(p, end, SET_BODY);
	return body_end;
}

/* HEAD+BODY* at p; NULL: does not match. */
static const uint8_t *
heads(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = all_of(p, end, SET_HEAD);

	return after == p ? NULL : all_of(after, end, SET_BODY);
}

/*
 * Both alternatives for words at p; NULL: neither matches. Each may have one character before the
 * word, and a regular expression tries that first, within each alternative.
 */
static const uint8_t *
word(const uint8_t *p, const uint8_t *end)
{
	enum unicode_class class;
	size_t n = splitter_look(p, &class);
	bool prefix =
	    (SET(class) & (SET_LETTER | SET_NUMBER)) == 0 && !is_newline(*p) && p + n < end;
	const uint8_t *after = prefix ? heads_and_body(p + n, end) : NULL;

	if (after == NULL)
		after = heads_and_body(p, end);
	if (after == NULL && prefix)
		after = heads(p + n, end);
	if (after == NULL)
		after = heads(p, end);
	return after == NULL ? NULL : after + splitter_contraction(after, end, true);
}

static const uint8_t *
piece_o200k(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = word(p, end), *other = p;

	if (after == NULL)
		after = first_of(p, end, SET_NUMBER, NUMBERS_MAX);
	if (after > p)
		return after;
	if (*p == ' ')
		other++;
	if (one_of(other, end, SET_OTHER) > 0)
		return line_ends(all_of(other, end, SET_OTHER), end);
	return space_lines(p, end);
}

/* ---- any pattern ---- */

size_t
splitter_piece(enum splitter_pattern pattern, const uint8_t *text, size_t n)
{
	const uint8_t *end = text + n;

	assert(n > 0);
	switch (pattern) {
	case SPLITTER_GPT2: return (size_t)(piece_gpt2(text, end) - text);
	case SPLITTER_CL100K: return (size_t)(piece_cl100k(text, end, NUMBERS_MAX) - text);
	case SPLITTER_O200K: return (size_t)(piece_o200k(text, end) - text);
	case SPLITTER_QWEN2: return (size_t)(piece_cl100k(text, end, NUMBERS_MAX_QWEN2) - text);
	case SPLITTER_PATTERNS: break;
	}
	assert(false);
	return n;
}

bool
splitter_has_avx2(void)
{
	return splitter_many_avx2(SPLITTER_GPT2) != NULL;
}

size_t
splitter_pieces(
    enum splitter_pattern pattern, const uint8_t *text, size_t n, uint32_t *end, size_t room)
{
	splitter_many *many = splitter_many_avx2(pattern);
	size_t count = 0, at = 0;

	assert(n > 0);
	assert(n <= SPLITTER_TEXT_MAX);
	assert(room > SPLITTER_SLACK);
	if (many != NULL)
		return many(text, n, end, room);
	while (at < n && room - count > SPLITTER_SLACK) {
		at += splitter_piece(pattern, text + at, n - at);
		end[count++] = (uint32_t)at;
	}
	return count;
}
