/* The pattern of cl100k; see split.h. */
#include "producer/tokenizer/split.h"
#include "producer/tokenizer/split_rule.h"

enum { NUMBERS_MAX = 3 };

static const uint8_t *
newlines(const uint8_t *p, const uint8_t *end)
{
	while (p < end && split_is_newline(*p))
		p++;
	return p;
}

static const uint8_t *
piece(const uint8_t *p, const uint8_t *end)
{
	enum unicode_class class;
	size_t n = split_contraction(p, end, true);
	const uint8_t *other = p;

	if (n > 0)
		return p + n;
	n = split_look(p, &class);
	if ((SET(class) & SET_LETTER) != 0)
		return split_run(p + n, end, SET_LETTER);
	if (class == CLASS_NUMBER)
		return split_run_of(p + n, end, SET_NUMBER, NUMBERS_MAX - 1);
	if (!split_is_newline(*p) && split_one(p + n, end, SET_LETTER) > 0)
		return split_run(p + n, end, SET_LETTER);
	if (*p == ' ')
		other++;
	if (split_one(other, end, SET_OTHER) > 0)
		return newlines(split_run(other, end, SET_OTHER), end);
	return split_space_lines(p, end);
}

size_t
split_cl100k(const uint8_t *p, const uint8_t *end)
{
	return (size_t)(piece(p, end) - p);
}
