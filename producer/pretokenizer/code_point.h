/*
 * code_point.h -- one character of UTF-8 text: read, written, stepped over backwards.
 *
 * Everything here relies on valid UTF-8 (common/base/utf8.h checks it) and on a whole character at
 * the place; nothing is checked again, as these are called for every character of a text.
 */
#ifndef PRODUCER_PRETOKENIZER_CODE_POINT_H
#define PRODUCER_PRETOKENIZER_CODE_POINT_H

#include <stddef.h>
#include <stdint.h>

enum { CODE_POINT_LIMIT = 0x110000, CODE_POINT_BYTES_MAX = 4 };

/* Sets *point to the character that begins at p; returns its bytes. */
static inline size_t
code_point_read(const uint8_t *p, uint32_t *point)
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

/* Writes `point` to p[CODE_POINT_BYTES_MAX]; returns its bytes. */
static inline size_t
code_point_write(uint8_t *p, uint32_t point)
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

/* The start of the character that ends at p; the text begins before p. */
static inline const uint8_t *
code_point_before(const uint8_t *p)
{
	do
		p--;
	while ((*p & 0xC0) == 0x80);
	return p;
}

#endif
