/*
 * fingerprint.h -- a number for what decides on a tokenizer's ids: XXH64 over all of that. What is
 * published carries it, so that a mix of differently tokenised texts is noticed.
 *
 * Texts have their lengths in front, numbers are little-endian u32: it is the same on every
 * machine.
 *
 * Of a .tiktoken: the pattern, the version of Unicode's table, every token by rank, special tokens.
 *
 * Of a tokenizer.json, two files that say the same in other words agree: order of keys, spaces,
 * merges as texts or as pairs. Canonical is: each part of the recipe as compact JSON with sorted
 * keys, each token with its id, each merge by ids and in order (of equal ones the last), flags, and
 * the versions of the tables of Unicode. Decoder, and template where it is not used, do not count.
 * A .tiktoken of the same tokens has another one: its merges are ranks.
 *
 * Never change what is hashed: what was published carries these numbers.
 */
#ifndef PRODUCER_TOKENIZER_FINGERPRINT_H
#define PRODUCER_TOKENIZER_FINGERPRINT_H

#include "producer/tokenizer/json_part.h"
#include "producer/tokenizer/model_json.h"
#include "producer/tokenizer/tokenizer_options.h"
#include "producer/tokenizer/tokenizer_table.h"

/* Sets t->fingerprint, of a .tiktoken; all else is filled. FAIL_MEMORY only. */
enum fail_code fingerprint_tiktoken(struct tokenizer *t, struct failure *f);

/* The same of a tokenizer.json. `top` holds all members of the file but the model, which is `m`. */
enum fail_code fingerprint_json(struct tokenizer *t, const struct model_json *model,
    const struct json_part *top, const struct tokenizer_options *o, struct failure *f);

#endif
