/*
 * recipe_json.h -- reads the parts of a tokenizer.json around its model into a recipe. What is not
 * exactly known is refused, with the way to it and the value.
 *
 * Each takes the part itself, which may be null, and fills its part of the zeroed recipe.
 */
#ifndef PRODUCER_TOKENIZER_RECIPE_JSON_H
#define PRODUCER_TOKENIZER_RECIPE_JSON_H

#include "producer/tokenizer/json_part.h"
#include "producer/tokenizer/recipe.h"

/* NFC, Prepend, Replace of a text, Sequence. */
enum fail_code recipe_json_normalizer(
    struct recipe *r, const struct json_part *p, struct failure *f);

/* ByteLevel, Split by a known pattern, Digits, Metaspace, Sequence. */
enum fail_code recipe_json_pretokenizer(
    struct recipe *r, const struct json_part *p, struct failure *f);

/* TemplateProcessing, ByteLevel, Sequence: what is put around a text. */
enum fail_code recipe_json_template(struct recipe *r, const struct json_part *p, struct failure *f);

/* ByteLevel, Metaspace, Replace of a text, ByteFallback, Fuse, Strip at the start, Sequence. */
enum fail_code recipe_json_decoder(struct recipe *r, const struct json_part *p, struct failure *f);

/* A pattern {"String": "..."} that is not empty, copied to out[NORMALIZER_TEXT_MAX]. */
enum fail_code recipe_json_pattern(
    const struct json_part *p, uint8_t *out, size_t *n, struct failure *f);

/*
 * The parts of a Sequence in the member `key`, each to `read`; the depth is bounded by what the
 * JSON is allowed. `r` and `f` are passed on.
 */
typedef enum fail_code recipe_json_reader(
    struct recipe *r, const struct json_part *p, struct failure *f);
enum fail_code recipe_json_sequence(struct recipe *r, const struct json_part *p, const char *key,
    recipe_json_reader *read, struct failure *f);

#endif
