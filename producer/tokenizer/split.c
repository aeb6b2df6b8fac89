#include "producer/tokenizer/split.h"

#include <assert.h>

const char *const split_pattern_text[SPLIT_PATTERNS] = {
    [SPLIT_GPT2] = "gpt2",
    [SPLIT_CL100K] = "cl100k",
    [SPLIT_O200K] = "o200k",
};

size_t
split_piece(enum split_pattern pattern, const uint8_t *text, size_t n)
{
	assert(n > 0);
	switch (pattern) {
	case SPLIT_GPT2: return split_gpt2(text, text + n);
	case SPLIT_CL100K: return split_cl100k(text, text + n);
	case SPLIT_O200K: return split_o200k(text, text + n);
	case SPLIT_PATTERNS: break;
	}
	assert(false);
	return n;
}

size_t
split_pieces(enum split_pattern pattern, const uint8_t *text, size_t n, uint32_t *end, size_t room)
{
	size_t count = 0, at = 0;

	assert(n > 0 && n <= SPLIT_TEXT_MAX && room > SPLIT_SLACK);
	while (at < n && room - count > SPLIT_SLACK) {
		at += split_piece(pattern, text + at, n - at);
		end[count++] = (uint32_t)at;
	}
	return count;
}
