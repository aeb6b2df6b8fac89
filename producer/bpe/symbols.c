#include "producer/bpe/symbols.h"

#include "producer/pretokenizer/code_point.h"

#define NONE VOCABULARY_NONE

/* Sets *id to that of the character at p, or NONE; returns its bytes. */
static size_t
look(const struct symbols *s, const uint8_t *p, uint32_t *id)
{
	uint32_t point;
	size_t bytes;

	if (s->vocabulary == NULL || *p < 0x80) {
		*id = s->one[*p];
		return 1;
	}
	bytes = code_point_read(p, &point);
	*id = vocabulary_find(s->vocabulary, p, bytes);
	return bytes;
}

/* Whether all bytes of the character at p have a token of their own. */
static bool
falls_back(const struct symbols *s, const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (s->fallback[p[i]] == NONE)
			return false;
	return true;
}

size_t
symbols_of(const struct symbols *s, const uint8_t *piece, size_t n, uint32_t *id)
{
	bool held_back = false; /* an unknown token that is not written yet */
	size_t count = 0;

	for (size_t at = 0, bytes; at < n; at += bytes) {
		uint32_t one;

		bytes = look(s, piece + at, &one);
		if (one != NONE) {
			if (held_back)
				id[count++] = s->unknown;
			held_back = false;
			id[count++] = one;
		} else if (falls_back(s, piece + at, bytes)) {
			for (size_t i = 0; i < bytes; i++)
				id[count++] = s->fallback[piece[at + i]];
		} else if (s->unknown != NONE) {
			if (held_back && !s->fuse)
				id[count++] = s->unknown;
			held_back = true;
		}
	}
	if (held_back)
		id[count++] = s->unknown;
	assert(count <= n);
	return count;
}
