/*
 * riffle_state.h -- what a `struct riffle` is inside; private to riffle*.c.
 */
#ifndef CONSUMER_READER_RIFFLE_STATE_H
#define CONSUMER_READER_RIFFLE_STATE_H

#include <sys/types.h>

#include "consumer/reader/committer.h"
#include "consumer/reader/prefetch.h"
#include "consumer/feedback/reporter.h"
#include "consumer/reader/riffle.h"
#include "consumer/reader/watchdog.h"

enum {
	RIFFLE_THREADS = 2,
	RIFFLE_COMMIT_TIMEOUT_MS = 30000,
	RIFFLE_CLOSE_TIMEOUT_MS = 2000, /* for what is on its way */
};

#define RIFFLE_AHEAD_BYTES (UINT64_C(64) << 20)

struct riffle {
	pid_t process;
	uint32_t rank, world, token_bytes;
	uint64_t commit_every;
	struct properties properties; /* a copy */
	struct reader reader;
	struct step_pool *pool;
	struct prefetch *prefetch;
	struct committer *commits;
	struct reporter *reporter; /* NULL: nothing was reported yet */
	struct watchdog *watchdog;

	struct step_slot *given;  /* lent to the caller; NULL: none */
	struct step_slot *next;   /* taken from the ring, not given yet; NULL: none */
	uint64_t position;        /* the step that is given next */
	int64_t *offset_next;     /* [lanes]: where it, or what lies below it, begins */
	uint64_t commit_position; /* asked to be committed last, or where reading began */
	bool placed; /* reading began where the caller said, and that was not committed */
	int64_t
	    waits_ms; /* since when no step comes, or the place was told again; 0: none is due */
	uint64_t lead;
	struct riffle_info info;
};

/* Writes code and text into *e, which may be NULL; returns the code. */
int riffle_give(struct riffle_error *e, int code, const char *text);
int riffle_give_failure(struct riffle_error *e, const struct failure *f);

/* RIFFLE_ERROR_USAGE in another process than the one that opened it. */
int riffle_check_process(pid_t process, const char *what, struct riffle_error *e);

/* FAIL_USAGE: mix, run, rank or world are wrong. */
enum fail_code riffle_check_names(const struct riffle_options *o, struct failure *f);

/*
 * A copy of bootstrap and properties as the Kafka layer takes them, to be ended with
 * riffle_properties_clear(), also after a failure.
 */
enum fail_code riffle_properties_copy(struct properties *out, const char *bootstrap,
    const struct riffle_property *property, size_t n, struct failure *f);
void riffle_properties_clear(struct properties *p);

#endif
