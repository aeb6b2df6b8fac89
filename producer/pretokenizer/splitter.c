#include "producer/pretokenizer/splitter.h"

#include <assert.h>

const char *const splitter_pattern_text[SPLITTER_PATTERNS] = {
    [SPLITTER_GPT2] = "gpt2",
    [SPLITTER_CL100K] = "cl100k",
    [SPLITTER_O200K] = "o200k",
    [SPLITTER_QWEN2] = "qwen2",
};

size_t
splitter_piece(enum splitter_pattern pattern, const uint8_t *text, size_t n)
{
	assert(n > 0);
	switch (pattern) {
	case SPLITTER_GPT2: return splitter_gpt2(text, text + n);
	case SPLITTER_CL100K: return splitter_cl100k(text, text + n);
	case SPLITTER_O200K: return splitter_o200k(text, text + n);
	case SPLITTER_QWEN2: return splitter_qwen2(text, text + n);
	case SPLITTER_PATTERNS: break;
	}
	assert(false);
	return n;
}

size_t
splitter_pieces(
    enum splitter_pattern pattern, const uint8_t *text, size_t n, uint32_t *end, size_t room)
{
	splitter_many *many = splitter_many_avx2(pattern);
	size_t count = 0, at = 0;

	assert(n > 0 && n <= SPLITTER_TEXT_MAX && room > SPLITTER_SLACK);
	if (many != NULL)
		return many(text, n, end, room);
	while (at < n && room - count > SPLITTER_SLACK) {
		at += splitter_piece(pattern, text + at, n - at);
		end[count++] = (uint32_t)at;
	}
	return count;
}
