/*
 * tokenizer_json.h -- reads a tokenizer.json of Hugging Face's tokenizers, exactly or not at all.
 *
 * Ids are those that tokenizers 0.23 gives. What that would do and this does not is refused: each
 * sentence names the place in the file and the value. The order of reading:
 *
 *     1. the file as text, and its members as stretches of it; all but the model become values
 *     2. what must not be there, or be null: truncation, padding, keys that are not known
 *     3. the recipe, which says whether the model is byte-level
 *     4. the model, and the tables out of it
 *     5. added tokens: their ids depend on the model, their texts on normaliser and decoder
 *     6. eos, special tokens in order, decoded texts, the fingerprint of all
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_JSON_H
#define PRODUCER_TOKENIZER_TOKENIZER_JSON_H

#include "producer/tokenizer/tokenizer_options.h"
#include "producer/tokenizer/tokenizer_table.h"

enum { TOKENIZER_JSON_FILE_MAX = 256 << 20 }; /* bytes; the largest in use have 35 MB */

/* Fills the zeroed table, to be ended with tokenizer_close() in any case. FAIL_DATA as above. */
enum fail_code tokenizer_json_load(
    struct tokenizer *t, const struct tokenizer_options *o, struct failure *f);

/*
 * Whether the file begins as an object of JSON. FAIL_CONFIG: it is a folder.
 * FAIL_IO: it cannot be read.
 */
enum fail_code tokenizer_json_is(bool *is, const char *file, struct failure *f);

#endif
