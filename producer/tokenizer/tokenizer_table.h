/*
 * tokenizer_table.h -- what a compiled tokenizer holds; for the tokenizer's own files only.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_TABLE_H
#define PRODUCER_TOKENIZER_TOKENIZER_TABLE_H

#include "producer/bpe/pair_table.h"
#include "producer/tokenizer/recipe.h"
#include "producer/pretokenizer/splitter.h"
#include "producer/tokenizer/tokenizer.h"
#include "producer/bpe/vocabulary.h"

/* A token that stands for itself: special, added, or one that merging never gives. */
struct special {
	const char *text;
	uint32_t id;
};

struct tokenizer {
	enum splitter_pattern pattern;
	struct vocabulary vocabulary;
	struct pair_table pairs;
	const struct special *special; /* [specials_n], by id; static, or special_owned */
	struct special *special_owned;
	size_t specials_n;
	bool whole_first;      /* a piece that is a token as a whole is not merged */
	struct recipe *recipe; /* owned; NULL: of a .tiktoken, which has none */
	uint32_t eos;          /* VOCABULARY_NONE: none was asked for */
	uint64_t fingerprint;
};

#endif
