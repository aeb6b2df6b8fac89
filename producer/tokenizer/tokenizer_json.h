/*
 * tokenizer_json.h -- reads a tokenizer.json of Hugging Face's tokenizers, exactly or not at all.
 *
 * Ids are those that tokenizers 0.23 gives. What that would do and this does not is refused: each
 * sentence names the place in the file and the value.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_JSON_H
#define PRODUCER_TOKENIZER_TOKENIZER_JSON_H

#include "producer/tokenizer/tokenizer_options.h"
#include "producer/tokenizer/tokenizer_table.h"

enum { TOKENIZER_JSON_FILE_MAX = 256 << 20 }; /* bytes; the largest in use have 35 MB */

/* Fills the zeroed table, to be ended with tokenizer_close() in any case. FAIL_DATA as above. */
enum fail_code tokenizer_json_load(
    struct tokenizer *t, const struct tokenizer_options *o, struct failure *f);

/* Whether the file begins as an object of JSON. FAIL_IO: it cannot be read. */
enum fail_code tokenizer_json_is(bool *is, const char *file, struct failure *f);

#endif
