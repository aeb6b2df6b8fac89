/*
 * request_words.h -- from the words of a command line to a request.
 */
#ifndef CLI_REQUEST_REQUEST_WORDS_H
#define CLI_REQUEST_REQUEST_WORDS_H

#include <stddef.h>

#include "common/record/control.h"
#include "common/base/failure.h"

/*
 * Appends a weight for each word, "DOMAIN=WEIGHT". FAIL_USAGE names the word. Whether a
 * number may be a weight is for the mix to judge.
 */
enum fail_code request_words_weights(
    struct control *c, char *const *word, size_t n, struct failure *f);

/* "DOMAIN" or "DOMAIN/PARTITION"; without one the partition is -1. */
enum fail_code request_words_place(struct control *c, const char *word, struct failure *f);

/* "a..b", half open, not empty. */
enum fail_code request_words_range(struct control *c, const char *word, struct failure *f);

/* Sets id and who; `id` NULL: a new one, which begins with `prefix`. */
enum fail_code request_words_name(
    struct control *c, const char *id, const char *prefix, struct failure *f);

#endif
