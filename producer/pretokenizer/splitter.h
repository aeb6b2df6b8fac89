/*
 * splitter.h -- cuts text into the pieces that BPE works on, as a pattern's regular expression
 * would.
 *
 * One rule a pattern, written by hand over unicode_class.h; at position p the first that applies:
 *
 *   gpt2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *   cl100k   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
 *            ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *   o200k    [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*
 *            [\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|...)?|
 *            [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+
 *            [\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|...)?|
 *            \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 *   qwen2    cl100k with \p{N} for \p{N}{1,3}
 *
 * None looks behind: what follows a piece is split as if the text began there. Both ways below rest
 * on that.
 *
 * splitter_piece() is the reference: scalar, one piece a call. splitter_pieces() gives the same
 * pieces; on machines with AVX2 it looks at 64 bytes at once (splitter_avx2.c).
 *
 * The text is valid UTF-8 in all functions here. Thread: pure functions.
 */
#ifndef PRODUCER_PRETOKENIZER_SPLITTER_H
#define PRODUCER_PRETOKENIZER_SPLITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum splitter_pattern {
	SPLITTER_GPT2,
	SPLITTER_CL100K,
	SPLITTER_O200K,
	SPLITTER_QWEN2,
	SPLITTER_PATTERNS
};

extern const char *const splitter_pattern_text[SPLITTER_PATTERNS]; /* "gpt2", ... */

enum {
	SPLITTER_TEXT_MAX = INT32_MAX, /* bytes of one text, so that 32 bits hold a place */
	SPLITTER_SLACK = 64,           /* room beyond what splitter_pieces() returns at least */
};

/* Whether splitter_pieces() uses AVX2 here. */
bool splitter_has_avx2(void);

/* Bytes of the first piece of text[n]; n > 0. */
size_t splitter_piece(enum splitter_pattern pattern, const uint8_t *text, size_t n);

/*
 * Writes where pieces of text[n] end to end[room], in order, from the start; returns how many, and
 * stops early only where fewer than SPLITTER_SLACK are left of `room`. 0 < n <= SPLITTER_TEXT_MAX
 * and room > SPLITTER_SLACK.
 */
size_t splitter_pieces(
    enum splitter_pattern pattern, const uint8_t *text, size_t n, uint32_t *end, size_t room);

#endif
