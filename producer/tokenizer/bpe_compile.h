/*
 * bpe_compile.h -- makes the tables of a tokenizer out of the model of a tokenizer.json.
 *
 * Byte-level models write a token as one character a byte, as GPT-2 does: of bytes that Latin-1 can
 * show the character itself, of the others U+0100 and on, in order. So "Ġa" is " a". A token with
 * any other character in it is never in a text: it stands for itself.
 */
#ifndef PRODUCER_TOKENIZER_BPE_COMPILE_H
#define PRODUCER_TOKENIZER_BPE_COMPILE_H

#include "producer/tokenizer/bpe_json.h"
#include "producer/tokenizer/special_list.h"

/*
 * Fills vocabulary, pairs, whole_first and, in t->recipe, symbols and cut_marks; tokens that stand
 * for themselves go to `l`. t->recipe->byte_level is set. Borrows `b`.
 */
enum fail_code bpe_compile(struct tokenizer *t, const struct bpe_json *b, const char *file,
    struct special_list *l, struct failure *f);

/* Fills t->recipe->decoded, if there are steps to decode with. */
enum fail_code bpe_compile_decoded(struct tokenizer *t, struct failure *f);

/* Adds what the decoder makes of text[n] to `out`. */
enum fail_code bpe_decode(const struct recipe_decoder *d, const uint8_t *text, size_t n,
    struct buffer *out, struct failure *f);

#endif
