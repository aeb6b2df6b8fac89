/*
 * request_words.h -- from the words of a command line to a request.
 *
 *     word             fields of struct control
 *     "web=0.2"        weight[] {web, 0.2}
 *     "code/3"         domain code, partition 3
 *     "120..512"       first 120, end 512
 *
 * Each function sets its fields of a request and leaves the others; texts are copied, and freed by
 * control_clear(), also after a failure. FAIL_USAGE names the word. Nothing here asks a broker.
 */
#ifndef CLI_REQUEST_REQUEST_WORDS_H
#define CLI_REQUEST_REQUEST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"
#include "common/base/text.h"
#include "common/config/config.h"
#include "common/record/control.h"
#include "common/record/ledger.h"

/*
 * Appends a weight for each word, "DOMAIN=WEIGHT". FAIL_USAGE names a word that is none, a number
 * below 0, or a domain that has a weight already.
 */
enum fail_code request_words_weights(
    struct control *c, char *const *word, size_t n, struct failure *f);

/* "DOMAIN" or "DOMAIN/PARTITION"; without one the partition is -1. */
enum fail_code request_words_place(struct control *c, const char *word, struct failure *f);

/*
 * FAIL_USAGE: neither the mix, by `last` (NULL: not started), nor the configuration has the domain.
 * Names the nearest one, and all that there are.
 */
enum fail_code request_words_known(
    const char *domain, const struct ledger *last, const struct config *c, struct failure *f);

/*
 * Puts before a failure to open mix `mix` the question whether the mix.name of the file was meant,
 * if that is another name.
 */
void request_words_ask_mix(const struct config *c, const char *mix, struct failure *f);

/*
 * Whether two requests ask for the same. An id stands for one request. A weight is one of a domain
 * that joins before it has joined, and one of a domain of the mix behind that: both are the same.
 */
bool request_words_same(const struct control *a, const struct control *b);

/* Appends what a request asks for: "weights prose=0.9 at step 12". */
void request_words_text(struct text *t, const struct control *c);

/* "a..b", half open, not empty. */
enum fail_code request_words_range(struct control *c, const char *word, struct failure *f);

/*
 * Sets id and who, which were not set; `id` NULL: a new one, which begins with `prefix`.
 * FAIL_USAGE: the id is longer than the mixer keeps.
 */
enum fail_code request_words_name(
    struct control *c, const char *id, const char *prefix, struct failure *f);

#endif
