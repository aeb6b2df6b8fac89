/*
 * tokenizer_table.h -- what a compiled tokenizer holds; for tokenizer.c and encoder.c only.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_TABLE_H
#define PRODUCER_TOKENIZER_TOKENIZER_TABLE_H

#include "producer/tokenizer/pair_table.h"
#include "producer/tokenizer/splitter.h"
#include "producer/tokenizer/tokenizer.h"
#include "producer/tokenizer/vocabulary.h"

/* A token that no text gives: it stands for itself. */
struct special {
	const char *text;
	uint32_t id;
};

struct tokenizer {
	enum splitter_pattern pattern;
	struct vocabulary vocabulary;
	struct pair_table pairs;
	const struct special *special; /* [specials_n], static, by id */
	size_t specials_n;
	uint32_t eos; /* VOCABULARY_NONE: none was asked for */
	uint64_t fingerprint;
};

#endif
