/*
 * riffle_internal.h -- what the files behind the public API share: riffle_reader.c,
 * riffle_reporter.c, riffle_progress.c and riffle_validation.c. riffle.c holds it, and sees none of
 * them.
 *
 * The edge of the library: options come in and are checked here, failures leave as a code and a
 * sentence. Within, code works with `struct failure` as everywhere; libriffle returns FAIL_MEMORY
 * where memory is missing, and never ends the process.
 *
 * Every call on an object first enters its gate, which refuses the child of a fork and a
 * second thread.
 */
#ifndef CONSUMER_READER_RIFFLE_INTERNAL_H
#define CONSUMER_READER_RIFFLE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/failure.h"
#include "common/base/log.h"
#include "common/config/properties.h"
#include "common/record/feedback.h"
#include "consumer/reader/riffle.h"

enum {
	RIFFLE_CLOSE_TIMEOUT_MS = 2000,  /* for what is on its way when something is closed */
	RIFFLE_WAITING_FIRST_MS = 10000, /* before a wait is explained for the first time */
};

/* ---- errors: these write code and text into *e, which may be NULL, and return the code ---- */

int riffle_give(struct riffle_error *e, int code, const char *text);
int riffle_give_failure(struct riffle_error *e, const struct failure *f); /* f is set */

/*
 * ---- gates ----
 *
 * A gate lets the calls of one thread at a time into an object of the public API: a reader, a
 * reporter, a progress or a held-out set.
 *
 * riffle.h asks the caller for one thread at a time, and for the process that opened the object. A
 * program that breaks this rule gets FAIL_USAGE from every call but the one in progress:
 *
 *     riffle_gate_enter() --> the call works, and may wait --> riffle_gate_leave()
 *         |
 *         +--> FAIL_USAGE: this is another process, another thread's call is in progress, or
 *              riffle_gate_end() was called
 *
 * riffle_gate_end() lets no further call begin, and waits for those in progress. A call that waits
 * for long looks at riffle_gate_ends() every RIFFLE_GATE_SLICE_MS at least, and then returns with
 * riffle_gate_fail_ended(). Nothing can protect a call that begins after the object is gone.
 *
 * An object with a lock of its own allows several calls at a time (`many`). Then
 * riffle_gate_enter() only counts them, for riffle_gate_end().
 *
 * librdkafka's threads and ours do not exist in the child of a fork, so a call there would wait
 * forever. Every function checks the process before it touches the lock, which a thread of the
 * parent may have held at the fork.
 *
 * Thread: any.
 */

enum { RIFFLE_GATE_SLICE_MS = 100 };

struct riffle_gate {
	pid_t process;
	const char *what; /* the object, for messages: "reader" */
	bool many;
	atomic_bool ends;     /* riffle_gate_end() was called */
	pthread_mutex_t lock; /* of `calls` */
	pthread_cond_t left;  /* a call has left */
	uint32_t calls;       /* in progress */
};

/* Borrows `what` for its life. */
void riffle_gate_init(struct riffle_gate *g, const char *what, bool many);

/* Whether this process has opened the object. */
bool riffle_gate_is_here(const struct riffle_gate *g);

/* FAIL_USAGE says why the call may not enter; else riffle_gate_leave() must follow. */
enum fail_code riffle_gate_enter(struct riffle_gate *g, struct failure *f);
void riffle_gate_leave(struct riffle_gate *g);

bool riffle_gate_ends(const struct riffle_gate *g);
enum fail_code riffle_gate_fail_ended(const struct riffle_gate *g, struct failure *f);

/* The end of a wait's next slice. */
int64_t riffle_gate_slice(int64_t deadline_ms);

/*
 * Returns true once no call is in progress and none can begin, so that the object may be freed.
 * False in another process, where nothing may be freed.
 */
bool riffle_gate_end(struct riffle_gate *g);

/*
 * ---- waits ----
 *
 * A caller may wait for a step forever, in one call or in many. The log then says why the step does
 * not come: READ-WAITING, after ten seconds and then once a minute. A zeroed struct is that of a
 * wait that has not begun, as it is after each step.
 */
struct riffle_wait {
	struct log_reminder reminder;
	int64_t begun_ms;
};

/* The caller still waits, for what `text` says: warns if that is due. */
void riffle_wait_remind(struct riffle_wait *w, const char *text);

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

/* ---- held-out sets: riffle_validation.c ---- */

bool riffle_validation_untouched(const struct riffle_validation *v); /* held_out_untouched() */

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

/* reporter_flush() until deadline_ms (clock_ms()). FAIL_USAGE: riffle_gate_end() was called. */
enum fail_code riffle_flush_reporter(
    struct reporter *r, const struct riffle_gate *g, int64_t deadline_ms, struct failure *f);

#endif
