/*
 * recipe_json.h -- reads the parts of a tokenizer.json around its model into a recipe.
 *
 *     normalizer       NFC, Prepend, Replace of a text
 *     pre_tokenizer    ByteLevel, Split by a known pattern, Digits, Metaspace
 *     post_processor   TemplateProcessing, ByteLevel: what is put around a text
 *     decoder          ByteLevel, Metaspace, Replace of a text, ByteFallback, Fuse, Strip at the
 *                      start
 *
 * and Sequence, which is a list of the others, in all four. What is not exactly known is refused,
 * with the way to it and the value: nothing is ignored that could change an id.
 */
#ifndef PRODUCER_TOKENIZER_RECIPE_JSON_H
#define PRODUCER_TOKENIZER_RECIPE_JSON_H

#include "producer/tokenizer/json_part.h"
#include "producer/tokenizer/recipe.h"

/*
 * Fills the zeroed *r from the members of `top`, each of which may be missing or null. The template
 * counts only with `add_special`, but is checked in any case. FAIL_DATA names part and value.
 */
enum fail_code recipe_json_read(
    struct recipe *r, const struct json_part *top, bool add_special, struct failure *f);

#endif
