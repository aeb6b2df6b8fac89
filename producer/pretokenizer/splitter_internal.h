/*
 * splitter_internal.h -- what the scalar way and the way by AVX2 share: the classes as sets, one
 * character, contractions. For splitter.c and splitter_avx2.c only.
 */
#ifndef PRODUCER_PRETOKENIZER_SPLITTER_INTERNAL_H
#define PRODUCER_PRETOKENIZER_SPLITTER_INTERNAL_H

#include "producer/pretokenizer/code_point.h"
#include "producer/pretokenizer/splitter.h"
#include "producer/pretokenizer/unicode_class.h"

/* splitter_pieces() of one pattern. */
typedef size_t splitter_many(const uint8_t *text, size_t n, uint32_t *end, size_t room);

/* The way by AVX2; NULL: this processor, or this pattern, has none. */
splitter_many *splitter_many_avx2(enum splitter_pattern pattern);

/* Sets *class to that of the character at p; returns its bytes. */
static inline size_t
splitter_look(const uint8_t *p, enum unicode_class *class)
{
	uint32_t point;
	size_t n = code_point_read(p, &point);

	*class = unicode_class_of(point);
	return n;
}

/*
 * Bytes of 's 't 'm 'd 're 've 'll at p, 0 for none; the text ends at `end`. With `fold` in any
 * case, to which belongs U+017F, the long s (C5 BF), whose upper case is S.
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

#endif
