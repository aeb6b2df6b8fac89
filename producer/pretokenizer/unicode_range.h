/*
 * unicode_range.h -- sets of code points that the splitters' classes do not tell: \w of added
 * tokens with single_word, and what `Digits` takes for a number.
 *
 * Ranges in order, made by scripts/gen-unicode-ranges, which says where they come from.
 */
#ifndef PRODUCER_PRETOKENIZER_UNICODE_RANGE_H
#define PRODUCER_PRETOKENIZER_UNICODE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNICODE_RANGE_VERSION "16.0.0, numeric 17.0.0"

struct unicode_range {
	uint32_t first, last;
};

extern const struct unicode_range unicode_word_range[];
extern const size_t unicode_word_ranges_n;
extern const struct unicode_range unicode_numeric_range[];
extern const size_t unicode_numeric_ranges_n;

bool unicode_is_word(uint32_t point);
bool unicode_is_numeric(uint32_t point);

/* The code point that begins at p, in valid UTF-8, and its bytes. */
static inline size_t
unicode_point(const uint8_t *p, uint32_t *point)
{
	uint32_t lead = p[0];

	if (lead < 0x80) {
		*point = lead;
		return 1;
	}
	if (lead < 0xE0) {
		*point = (lead & 0x1F) << 6 | (p[1] & 0x3Fu);
		return 2;
	}
	if (lead < 0xF0) {
		*point = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
		return 3;
	}
	*point = (lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
	return 4;
}

/* Writes it to p[4]; returns the bytes. */
static inline size_t
unicode_put(uint8_t *p, uint32_t point)
{
	if (point < 0x80) {
		p[0] = (uint8_t)point;
		return 1;
	}
	if (point < 0x800) {
		p[0] = (uint8_t)(0xC0 | point >> 6);
		p[1] = (uint8_t)(0x80 | (point & 0x3F));
		return 2;
	}
	if (point < 0x10000) {
		p[0] = (uint8_t)(0xE0 | point >> 12);
		p[1] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
		p[2] = (uint8_t)(0x80 | (point & 0x3F));
		return 3;
	}
	p[0] = (uint8_t)(0xF0 | point >> 18);
	p[1] = (uint8_t)(0x80 | (point >> 12 & 0x3F));
	p[2] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
	p[3] = (uint8_t)(0x80 | (point & 0x3F));
	return 4;
}

/* The start of the character that ends at p; there is one. */
static inline const uint8_t *
unicode_before(const uint8_t *p)
{
	do
		p--;
	while ((*p & 0xC0) == 0x80);
	return p;
}

#endif
