/*
 * symbols.h -- what merging begins with, where not every byte is a token: the characters of a
 * piece.
 *
 * A character that is a token begins as that. One that is none becomes
 *
 *     the tokens <0x00> to <0xFF> of its bytes, if the file uses these and all of them are there;
 *     else the unknown token, one for several such characters side by side if they are fused;
 *     else nothing.
 *
 * For a byte-level vocabulary that lacks some bytes the same is done with bytes for characters.
 *
 * The library tokenizers, whose ids these must be, holds an unknown token back until a character
 * comes that is a token. So byte tokens behind it go before it. Example, a is a token, é falls
 * back to bytes and ? is unknown: "a?éa" -> a <0xC3> <0xA9> unknown a.
 *
 * Immutable once it is filled, shared by threads without locks.
 */
#ifndef PRODUCER_BPE_SYMBOLS_H
#define PRODUCER_BPE_SYMBOLS_H

#include "producer/bpe/vocabulary.h"

struct symbols {
	const struct vocabulary *vocabulary; /* borrowed; NULL: byte-level */
	uint32_t one[256];      /* byte-level: ids of bytes; else of ASCII. VOCABULARY_NONE: none */
	uint32_t fallback[256]; /* ids of <0x00>...; NONE: not there, or not used */
	uint32_t unknown;       /* NONE: there is none */
	bool fuse;
};

/*
 * Writes what piece[n] begins with to id[n]; returns how many, which may be none. The piece is
 * valid UTF-8 unless it is byte-level.
 */
size_t symbols_of(const struct symbols *s, const uint8_t *piece, size_t n, uint32_t *id);

#endif
