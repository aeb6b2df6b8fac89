/*
 * tokenizer_table.h -- what a compiled tokenizer holds: filled by the readers of this room, read by
 * producer/encoder/. For everybody else a tokenizer is opaque (tokenizer.h).
 *
 * Invariants, established by tiktoken_load() and tokenizer_json_load():
 *   special[] is in the order of ids, each id once;
 *   with whole_first, or where merging begins with characters, `vocabulary` has its index;
 *   without recipe->has_symbols every byte has an id in `pairs`.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_TABLE_H
#define PRODUCER_TOKENIZER_TOKENIZER_TABLE_H

#include "producer/bpe/pair_table.h"
#include "producer/bpe/vocabulary.h"
#include "producer/pretokenizer/splitter.h"
#include "producer/tokenizer/recipe.h"

/* A token that stands for itself: special, added, or one that merging never gives. */
struct tokenizer_special {
	const char *text;
	uint32_t id;
};

struct tokenizer {
	enum splitter_pattern pattern; /* of a .tiktoken */
	struct vocabulary vocabulary;  /* without tokens that stand for themselves */
	struct pair_table pairs;
	const struct tokenizer_special *special; /* [specials_n], by id; static, or special_owned */
	struct tokenizer_special *special_owned;
	size_t specials_n;
	bool whole_first;      /* a piece that is a token as a whole is not merged */
	struct recipe *recipe; /* owned; NULL: of a .tiktoken, which has none */
	uint32_t eos;          /* VOCABULARY_NONE: none was wanted */
	uint64_t fingerprint;
};

#endif
