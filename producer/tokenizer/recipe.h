/*
 * recipe.h -- what a tokenizer.json has beside vocabulary and merges: what is done to the text
 * before, and to the ids after; and how tokens become text again.
 *
 * recipe_json.c and added_json.c fill it, model_compile.c the symbols, encoder.c follows it.
 * Immutable then, shared by threads without locks.
 */
#ifndef PRODUCER_TOKENIZER_RECIPE_H
#define PRODUCER_TOKENIZER_RECIPE_H

#include "producer/bpe/symbols.h"
#include "producer/pretokenizer/added_tokens.h"
#include "producer/pretokenizer/normalizer.h"
#include "producer/pretokenizer/pretokenizer.h"

enum { RECIPE_TEMPLATE_MAX = 16, RECIPE_DECODER_STEPS_MAX = 8 };

/* How ids become text again, a token at a time. */
enum recipe_decoder_kind { RECIPE_REPLACE, RECIPE_BYTES };

struct recipe_decoder_step {
	enum recipe_decoder_kind kind;
	uint8_t pattern[NORMALIZER_TEXT_MAX]; /* of REPLACE */
	uint8_t content[NORMALIZER_TEXT_MAX];
	size_t pattern_n, content_n;
};

struct recipe_decoder {
	struct recipe_decoder_step step[RECIPE_DECODER_STEPS_MAX];
	size_t n;
	uint8_t strip;     /* the byte that is removed from the start of the whole text */
	uint32_t strips_n; /* at most so many times */
	bool strips_first; /* all spaces at the start of the first token are removed */
};

struct recipe {
	struct added_tokens raw;        /* looked for in the text as it is */
	struct added_tokens normalized; /* and in what the normaliser gives */
	struct normalizer normalizer;
	struct pretokenizer pretokenizer;
	bool byte_level;  /* a piece is bytes, not characters */
	bool has_symbols; /* merging begins with `symbols`; else every byte has an id */
	struct symbols symbols;
	/* Around every text, where that is asked for. */
	uint32_t before[RECIPE_TEMPLATE_MAX], after[RECIPE_TEMPLATE_MAX];
	size_t before_n, after_n;
	struct recipe_decoder decoder;
	struct vocabulary decoded; /* what tokens are decoded to; no index. Empty: their bytes */
	struct buffer texts;       /* of special tokens */
};

/* Frees what it owns and the recipe itself; NULL is accepted. */
void recipe_close(struct recipe *r);

/* Adds what the decoder makes of the token text[n] to `out`. FAIL_MEMORY only. */
enum fail_code recipe_decode(const struct recipe_decoder *d, const uint8_t *text, size_t n,
    struct buffer *out, struct failure *f);

/*
 * Fills r->decoded with what all tokens of `v` are decoded to, if the decoder has steps and the
 * model is not byte-level. Else it stays empty, and the tokens' own bytes count. FAIL_MEMORY only.
 */
enum fail_code recipe_decode_all(struct recipe *r, const struct vocabulary *v, struct failure *f);

/*
 * Bytes at the start of decoded text[n] that are not of the text that was encoded: what a Strip
 * removes, and the spaces that Metaspace removes from the first token, which has first_n bytes.
 */
size_t recipe_decoded_cut(const struct recipe *r, size_t first_n, const uint8_t *text, size_t n);

#endif
