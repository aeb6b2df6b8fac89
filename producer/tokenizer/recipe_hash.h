/*
 * recipe_hash.h -- the fingerprint of a tokenizer.json: XXH64 over what decides on ids, so that two
 * files that say the same in other words agree: order of keys, spaces, merges as texts or as pairs.
 *
 * Canonical is: each part of the recipe as compact JSON with sorted keys, each token with its id,
 * each merge by ids and in order (of equal ones the last), flags, and the versions of the tables of
 * Unicode. Decoder, and template where it is not used, do not count. A .tiktoken of the same tokens
 * has another one: its merges are ranks.
 */
#ifndef PRODUCER_TOKENIZER_RECIPE_HASH_H
#define PRODUCER_TOKENIZER_RECIPE_HASH_H

#include "producer/tokenizer/bpe_json.h"
#include "producer/tokenizer/json_part.h"
#include "producer/tokenizer/tokenizer_table.h"

/* Sets t->fingerprint. `top` holds all members of the file but the model. */
enum fail_code recipe_hash(struct tokenizer *t, const struct bpe_json *b,
    const struct json_part *top, const struct tokenizer_options *o, struct failure *f);

#endif
