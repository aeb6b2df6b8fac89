/*
 * added_json.h -- reads the `added_tokens` of a tokenizer.json.
 *
 * Ids are those that tokenizers gives, whatever the file's "id" says: the vocabulary's own where
 * the content is in it, else the next number, from the number of entries in the vocabulary on.
 */
#ifndef PRODUCER_TOKENIZER_ADDED_JSON_H
#define PRODUCER_TOKENIZER_ADDED_JSON_H

#include "producer/tokenizer/json_part.h"
#include "producer/tokenizer/model_json.h"
#include "producer/tokenizer/special_list.h"
#include "producer/tokenizer/tokenizer_options.h"

/*
 * After recipe_json_read() and model_json_read(), whose results it reads. FAIL_DATA names the
 * token. Fills t->recipe->raw and ->normalized, and adds the tokens to `l`. With `special_as_text`
 * special ones are not looked for. Where `eos` is the content of one, t->eos becomes its id.
 */
enum fail_code added_json_read(struct tokenizer *t, const struct model_json *model,
    const struct json_part *list, const struct tokenizer_options *o, struct special_list *l,
    struct failure *f);

#endif
