/* The patterns of cl100k and qwen2; see splitter.h. */
#include "producer/pretokenizer/splitter.h"
#include "producer/pretokenizer/splitter_rule.h"

enum { NUMBERS_MAX = 3, NUMBERS_MAX_QWEN2 = 1 };

static const uint8_t *
newlines(const uint8_t *p, const uint8_t *end)
{
	while (p < end && splitter_is_newline(*p))
		p++;
	return p;
}

static inline const uint8_t *
piece(const uint8_t *p, const uint8_t *end, unsigned numbers_max)
{
	enum unicode_class class;
	size_t n = splitter_contraction(p, end, true);
	const uint8_t *other = p;

	if (n > 0)
		return p + n;
	n = splitter_look(p, &class);
	if ((SET(class) & SET_LETTER) != 0)
		return splitter_run(p + n, end, SET_LETTER);
	if (class == CLASS_NUMBER)
		return splitter_run_of(p + n, end, SET_NUMBER, numbers_max - 1);
	if (!splitter_is_newline(*p) && splitter_one(p + n, end, SET_LETTER) > 0)
		return splitter_run(p + n, end, SET_LETTER);
	if (*p == ' ')
		other++;
	if (splitter_one(other, end, SET_OTHER) > 0)
		return newlines(splitter_run(other, end, SET_OTHER), end);
	return splitter_space_lines(p, end);
}

size_t
splitter_cl100k(const uint8_t *p, const uint8_t *end)
{
	return (size_t)(piece(p, end, NUMBERS_MAX) - p);
}

size_t
splitter_qwen2(const uint8_t *p, const uint8_t *end)
{
	return (size_t)(piece(p, end, NUMBERS_MAX_QWEN2) - p);
}
