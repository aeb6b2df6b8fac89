/*
 * tokenizer.h -- a tokenizer file, compiled: what turns text into token ids exactly as the model's
 * own tokenizer does. producer/encoder/ applies it to text.
 *
 * Files of this room:
 *     tokenizer          opens a file of either format; ids and their bytes
 *     tokenizer_options  what a user says about a tokenizer
 *     tokenizer_table    what a compiled tokenizer holds
 *     recipe             of a tokenizer.json: what is done around merging, and decoding
 *     tiktoken           reads a .tiktoken
 *     tokenizer_json     reads a tokenizer.json, by the next six
 *     json_members       members of a large JSON object as stretches of its text
 *     json_part          a value of it with the way to it, for what is refused
 *     recipe_json        its normalizer, pre_tokenizer, post_processor and decoder
 *     model_json         its model: vocabulary, merges, flags
 *     model_compile      the tables of a tokenizer out of that model
 *     added_json         its added_tokens
 *     special_list       collects tokens that stand for themselves
 *     fingerprint        a number for what decides on ids
 *
 *     .tiktoken ------ tiktoken ------------------------------------------+
 *                                                                         v
 *     tokenizer.json - tokenizer_json -+- recipe_json --> recipe --> struct tokenizer
 *                                      +- model_json --> model_compile ---^
 *                                      +- added_json --> special_list ----^
 *
 * Of a .tiktoken the rank of a token is its id and the order of merges. It does not say its pattern
 * and holds no special tokens. A tokenizer.json says all of that itself, in the semantics of its
 * own library: merges have an order of their own, and added tokens are found in the text, special
 * ones too unless `special_as_text`.
 *
 * Thread: a `struct tokenizer` is immutable after tokenizer_open(), shared without locks.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_H
#define PRODUCER_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "producer/tokenizer/tokenizer_options.h"

struct tokenizer;

/*
 * Gives *out, to be ended with tokenizer_close(); copies what it needs of `o`. FAIL_IO, FAIL_CONFIG
 * or FAIL_DATA names the file, and the line or the place in it.
 */
enum fail_code tokenizer_open(
    struct tokenizer **out, const struct tokenizer_options *o, struct failure *f);
void tokenizer_close(struct tokenizer *t); /* NULL is accepted */

/* A number for what decides on ids, see fingerprint.h. */
uint64_t tokenizer_fingerprint(const struct tokenizer *t);
uint32_t tokenizer_entries(const struct tokenizer *t); /* largest id, specials included, + 1 */
uint32_t tokenizer_eos(const struct tokenizer *t);     /* only where `eos` was given */

size_t tokenizer_added(const struct tokenizer *t); /* tokens that add_special puts around a text */
/* Whether `add_special` puts eos at the start, or at the end, of every text. */
bool tokenizer_begins_with_eos(const struct tokenizer *t);
bool tokenizer_ends_with_eos(const struct tokenizer *t);

/*
 * Of a .tiktoken with as many ranks as a known file that goes with another pattern: that pattern;
 * else NULL. Most likely the wrong one was named, and the ids are not those of the model.
 */
const char *tokenizer_other_pattern(const struct tokenizer *t);

/* Borrows the bytes of one id for the table's life; NULL: no such id. */
const uint8_t *tokenizer_bytes(const struct tokenizer *t, uint32_t id, size_t *n);

/*
 * Bytes at the start of decoded text[n] that the tokenizer put there, as the space that some files
 * have before every text; `first` is the first id of it.
 */
size_t tokenizer_decoded_cut(
    const struct tokenizer *t, uint32_t first, const uint8_t *text, size_t n);

#endif
