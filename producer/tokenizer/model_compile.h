/*
 * model_compile.h -- makes the tables of a tokenizer out of the model of a tokenizer.json.
 *
 * Byte-level models write a token as one character a byte, as GPT-2 does: of bytes that Latin-1 can
 * show the character itself, of the others U+0100 and on, in order. So "Ġa" is " a". A token with
 * any other character in it is never in a text: it stands for itself.
 */
#ifndef PRODUCER_TOKENIZER_MODEL_COMPILE_H
#define PRODUCER_TOKENIZER_MODEL_COMPILE_H

#include "producer/tokenizer/model_json.h"
#include "producer/tokenizer/special_list.h"

/*
 * Fills vocabulary, pairs, whole_first and, in t->recipe, symbols and cut_marks; tokens that stand
 * for themselves go to `l`. t->recipe->byte_level is set. Borrows `model`.
 */
enum fail_code model_compile(struct tokenizer *t, const struct model_json *model, const char *file,
    struct special_list *l, struct failure *f);

#endif
