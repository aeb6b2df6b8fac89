/*
 * symbols.h -- what merging begins with, where not every byte is a token: the characters of a
 * piece.
 *
 * A character that is no token becomes its bytes' tokens <0x00> to <0xFF>, if those are used and
 * there; else the unknown token, one for a run of such characters if they are fused; else nothing.
 * For a byte-level vocabulary that lacks bytes the same is done with bytes for characters.
 *
 * As in tokenizers an unknown token is held back until a known character comes, so that byte tokens
 * behind it go before it.
 *
 * Immutable, shared by threads.
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

/* Writes what piece[n] begins with to id[n]; returns how many, which may be none. */
size_t symbols_of(const struct symbols *s, const uint8_t *piece, size_t n, uint32_t *id);

#endif
