/*
 * splitter_rule.h -- what the scalar splitters share: looking at a character, runs, contractions,
 * white space. For splitter_*.c only; the text is valid UTF-8 in [p, end).
 */
#ifndef PRODUCER_PRETOKENIZER_SPLITTER_RULE_H
#define PRODUCER_PRETOKENIZER_SPLITTER_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "producer/pretokenizer/unicode_class.h"

/* Sets of classes. */
#define SET(class) (1u << (class))

enum splitter_set {
	SET_SPACE = SET(CLASS_SPACE),
	SET_NUMBER = SET(CLASS_NUMBER),
	SET_LETTER = SET(CLASS_UPPER) | SET(CLASS_LOWER) | SET(CLASS_LETTER),
	SET_OTHER = SET(CLASS_OTHER) | SET(CLASS_MARK),
};

/* Bytes of the character that begins at p, and its class. */
static inline size_t
splitter_look(const uint8_t *p, enum unicode_class *class)
{
	uint32_t lead = p[0];

	if (lead < 0x80) {
		*class = unicode_class_of(lead);
		return 1;
	}
	if (lead < 0xE0) {
		*class = unicode_class_of((lead & 0x1F) << 6 | (p[1] & 0x3Fu));
		return 2;
	}
	if (lead < 0xF0) {
		*class =
		    unicode_class_of((lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu));
		return 3;
	}
	*class = unicode_class_of(
	    (lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu));
	return 4;
}

static inline bool
splitter_is_newline(uint8_t byte)
{
	return byte == '\n' || byte == '\r';
}

/* Bytes of the character at p if its class is in `set`, else 0; 0 at the end. */
static inline size_t
splitter_one(const uint8_t *p, const uint8_t *end, unsigned set)
{
	enum unicode_class class;
	size_t n;

	if (p == end)
		return 0;
	n = splitter_look(p, &class);
	return (set & SET(class)) != 0 ? n : 0;
}

/* Behind the last of the characters of `set` that begin at p. */
static inline const uint8_t *
splitter_run(const uint8_t *p, const uint8_t *end, unsigned set)
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

/* Behind the first of up to `most` characters of `set`. */
static inline const uint8_t *
splitter_run_of(const uint8_t *p, const uint8_t *end, unsigned set, unsigned most)
{
	for (size_t n; most > 0 && (n = splitter_one(p, end, set)) > 0; most--)
		p += n;
	return p;
}

/*
 * Bytes of 's 't 'm 'd 're 've 'll at p, 0 for none. With `fold` in any case, to which belongs
 * U+017F, the long s (C5 BF), whose upper case is S.
 */
static inline size_t
splitter_contraction(const uint8_t *p, const uint8_t *end, bool fold)
{
	uint8_t a, b, bit = fold ? 0x20 : 0;

	if (end - p < 2 || p[0] != '\'')
		return 0;
	a = p[1] | bit;
	if (a == 's' || a == 't' || a == 'm' || a == 'd')
		return 2;
	if (end - p < 3)
		return 0;
	b = p[2] | bit;
	if (((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l'))
		return 3;
	return fold && p[1] == 0xC5 && p[2] == 0xBF ? 3 : 0;
}

/*
 * \s+(?!\S)|\s+ at p, where white space begins: all of it at the end of the text, else all but its
 * last character, unless it is the only one.
 */
static inline const uint8_t *
splitter_space(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = splitter_run(p, end, SET_SPACE), *last = after;

	if (after == end)
		return after;
	do
		last--;
	while ((*last & 0xC0) == 0x80);
	return last == p ? after : last;
}

/* The same behind \s*[\r\n]+: with a newline in it, up to the last one. */
static inline const uint8_t *
splitter_space_lines(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = splitter_run(p, end, SET_SPACE);

	for (const uint8_t *q = after; q > p; q--)
		if (splitter_is_newline(q[-1]))
			return q;
	return splitter_space(p, end);
}

#endif
