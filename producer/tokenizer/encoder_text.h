/*
 * encoder_text.h -- one text by the recipe of a tokenizer.json, in the order of tokenizers:
 *
 *   added tokens of the text as it is | normaliser | added tokens of what that gave | pieces | ids
 *
 * Each token found ends a stretch; every stretch between them is treated as a text of its own.
 *
 * Thread: a part of an encoder, as that.
 */
#ifndef PRODUCER_TOKENIZER_ENCODER_TEXT_H
#define PRODUCER_TOKENIZER_ENCODER_TEXT_H

#include "producer/tokenizer/recipe.h"
#include "producer/tokenizer/tokenizer.h"

/* Scratch; zero-initialise, end with encoder_text_close(). */
struct encoder_text {
	struct normalizer_scratch normalizer;
	struct pretokenizer_scratch pretokenizer;
};

void encoder_text_close(struct encoder_text *s);

/* Appends the ids of text[n], valid UTF-8. */
enum fail_code encoder_text_encode(struct encoder *e, struct encoder_text *s,
    const struct recipe *r, const uint8_t *text, size_t n, struct token_buffer *out,
    struct failure *f);

/* What encoder.c does for it: the ids of text[n], cut by a pattern, or of pieces that are cut. */
enum fail_code encoder_split(struct encoder *e, enum splitter_pattern pattern, const uint8_t *text,
    size_t n, struct token_buffer *out, struct failure *f);
enum fail_code encoder_pieces(struct encoder *e, const struct pretokenizer_cuts *cuts,
    struct token_buffer *out, struct failure *f);

#endif
