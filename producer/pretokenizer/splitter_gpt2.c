/* The pattern of gpt2 and r50k; see splitter.h. */
#include "producer/pretokenizer/splitter.h"
#include "producer/pretokenizer/splitter_rule.h"

static const unsigned run_set[] = {
    [CLASS_OTHER] = SET_OTHER,
    [CLASS_SPACE] = 0,
    [CLASS_NUMBER] = SET_NUMBER,
    [CLASS_UPPER] = SET_LETTER,
    [CLASS_LOWER] = SET_LETTER,
    [CLASS_LETTER] = SET_LETTER,
    [CLASS_MARK] = SET_OTHER,
};

size_t
splitter_gpt2(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *first = p;
	enum unicode_class class;
	size_t n = splitter_contraction(p, end, false);

	if (n > 0)
		return n;
	if (*p == ' ' && end - p > 1)
		first++;
	n = splitter_look(first, &class);
	if (class == CLASS_SPACE)
		return (size_t)(splitter_space(p, end) - p);
	return (size_t)(splitter_run(first + n, end, run_set[class]) - p);
}
