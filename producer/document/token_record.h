/*
 * token_record.h -- a record that holds tokens: its ids, and which of them are no targets.
 *
 *     {"tokens": [1, 15043, 29991, 2], "no_loss": [[0, 2]], "keep": {"id": 7}, "eos": false}
 *
 * A range of `no_loss` is [first, end), in tokens; ranges may come in any order. `eos` false: none
 * is appended, as for a prompt that is to be continued. The values are those of a JSON text that
 * json_field has checked. Pure memory.
 */
#ifndef PRODUCER_DOCUMENT_TOKEN_RECORD_H
#define PRODUCER_DOCUMENT_TOKEN_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/wire.h"

#define TOKEN_RECORD_TOKENS  "tokens"
#define TOKEN_RECORD_NO_LOSS "no_loss"
#define TOKEN_RECORD_KEEP    "keep"
#define TOKEN_RECORD_EOS     "eos"
/* What is said of token_record_unknown(): its length, at most TOKEN_RECORD_KEY_MAX, and bytes. */
#define TOKEN_RECORD_UNKNOWN                                                                       \
	"unknown field `%.*s`: a record of tokens has tokens, no_loss, keep and eos"

enum { TOKEN_RECORD_KEY_MAX = 100 };

/*
 * The first key of the JSON object record[n] that a record of tokens does not have, and with which
 * the dotted path `also` (NULL: none) does not begin; it lies in the record, as JSON has it. NULL
 * bytes: there is none. A mask of another name would be read as no mask.
 */
struct text_view token_record_unknown(const char *record, size_t n, const char *also);

/* The array raw[n] has at most so many elements. */
size_t token_record_room(const char *raw, size_t n);

/* Reads ids into id[token_record_room()]. FAIL_DATA: raw[n] is no list of ids. */
enum fail_code token_record_ids(
    const char *raw, size_t n, uint32_t *id, size_t *ids_n, struct failure *f);

/*
 * Sets the bits of `mark` in the ids of the ranges of raw[n]. FAIL_DATA: it is no list of ranges,
 * or one of them is empty or not inside id[ids_n]; then some ids may have the mark.
 */
enum fail_code token_record_mark(
    const char *raw, size_t n, uint32_t mark, uint32_t *id, size_t ids_n, struct failure *f);

#endif
