/*
 * tokenizer_json.h -- reads a tokenizer.json of Hugging Face's tokenizers, exactly or not at all.
 *
 * Ids are those that tokenizers 0.23 gives. What that would do and this does not is refused: each
 * sentence names the place in the file and the value.
 */
#ifndef PRODUCER_TOKENIZER_TOKENIZER_JSON_H
#define PRODUCER_TOKENIZER_TOKENIZER_JSON_H

#include "producer/tokenizer/tokenizer_table.h"

enum { TOKENIZER_JSON_FILE_MAX = 256 << 20 }; /* bytes; the largest in use have 35 MB */

/* Fills the zeroed table; it is to be ended with tokenizer_close() in any case. */
enum fail_code tokenizer_json_load(
    struct tokenizer *t, const struct tokenizer_options *o, struct failure *f);

/* Whether the file begins as an object of JSON. FAIL_IO: it cannot be read. */
enum fail_code tokenizer_json_is(bool *is, const char *file, struct failure *f);

/* Ends what it has allocated in t->recipe. */
void tokenizer_json_close(struct tokenizer *t);

/* Bytes at the start of decoded text that are not of the text: `first` is its first id. */
size_t tokenizer_json_decoded_cut(
    const struct tokenizer *t, uint32_t first, const uint8_t *text, size_t n);

#endif
