/*
 * riffle_internal.h -- what the files behind the public API share: riffle_reader.c,
 * riffle_reporter.c, riffle_progress.c and riffle_validation.c. riffle.c holds it, and sees none of
 * them.
 *
 * The edge of the library: options come in and are checked here, failures leave as a code and a
 * sentence. Within, code works with `struct failure` as everywhere; libriffle returns FAIL_MEMORY
 * where memory is missing, and never ends the process.
 *
 * Every call of the API first checks that it is in the process that opened the object, with
 * riffle_check_process(): librdkafka's threads and ours do not exist in a child of a fork, so a
 * call there would wait for ever. Closing does nothing there, for the same reason.
 */
#ifndef CONSUMER_READER_RIFFLE_INTERNAL_H
#define CONSUMER_READER_RIFFLE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/feedback.h"
#include "consumer/reader/riffle.h"

enum { RIFFLE_CLOSE_TIMEOUT_MS = 2000 }; /* for what is on its way when something is closed */

/* ---- errors: these write code and text into *e, which may be NULL, and return the code ---- */

int riffle_give(struct riffle_error *e, int code, const char *text);
int riffle_give_failure(struct riffle_error *e, const struct failure *f); /* f is set */

/* RIFFLE_ERROR_USAGE in another process than `process`; `what` was opened, for the message. */
int riffle_check_process(pid_t process, const char *what, struct riffle_error *e);

/*
 * ---- structs of the caller, which begin with `size`: see riffle.h ----
 *
 * A new field of such a struct begins at or behind the sizeof of the last release: where that one
 * had padding at its end, older programs have bytes there that nobody has set.
 */

/*
 * Sets to[size], a struct of this library, to what the caller's struct `from` has, and its size to
 * `size`. FAIL_USAGE: the caller's size is not set, or its struct has fields that are not known
 * here and are not 0. `name` is for the message.
 */
enum fail_code riffle_take(
    void *to, size_t size, const void *from, const char *name, struct failure *f);

/* Sets the caller's struct `to`, but for its size, from from[size]. FAIL_USAGE: as above. */
enum fail_code riffle_fill(
    void *to, const void *from, size_t size, const char *name, struct failure *f);

/* ---- options: FAIL_USAGE says which one is wrong ---- */

enum fail_code riffle_take_options(
    struct riffle_options *to, const struct riffle_options *from, struct failure *f);

enum fail_code riffle_check_names(const struct riffle_options *o, struct failure *f);
enum fail_code riffle_check_token_bytes(uint32_t token_bytes, struct failure *f);

/* Names and defaults, borrowed from the options. */
const char *riffle_run(const struct riffle_options *o);
int riffle_timeout_ms(int open_timeout_ms);

/*
 * A copy of bootstrap (NULL: none) and properties as the Kafka layer takes them, to be ended with
 * properties_clear(), also after a failure.
 */
enum fail_code riffle_properties_copy(struct properties *out, const char *bootstrap,
    const struct riffle_property *property, size_t n, struct failure *f);

/* ---- reports, of a reader and without one: riffle_reporter.c ---- */

struct reporter;

/*
 * Sets b->loss (free()) and b->losses_n to the losses by name, those without tokens left out; they
 * borrow the names. FAIL_USAGE: a domain without a valid name or twice, negative tokens; b->loss is
 * to be freed then, too.
 */
enum fail_code riffle_gather_losses(
    struct feedback *b, const struct riffle_loss *loss, size_t n, struct failure *f);

/* Checks `loss`, completes `b`, which says who reports which step, with it, and sends it. */
enum fail_code riffle_send_losses(struct reporter *r, struct feedback *b,
    const struct riffle_loss *loss, size_t n, struct failure *f);

#endif
