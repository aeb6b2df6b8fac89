/*
 * serve_state.h -- what the follower knows of a mix, for whoever answers a client.
 *
 * The follower makes a snapshot of each status that it reads. It does not change; it is counted by
 * those who use it, and freed with the last one. The texts that clients get are made of it for the
 * first who asks: another client costs a copy of a pointer, however many ask, and a mix that nobody
 * watches costs no text.
 *
 *     follower   serve_state_put      (the broker answered)
 *                serve_state_fail     (it did not: the last snapshot stays, and why it is old)
 *     clients    serve_state_get, serve_snapshot_status or _metrics, serve_snapshot_release
 *
 * Thread: any.
 */
#ifndef CLI_SERVE_SERVE_STATE_H
#define CLI_SERVE_SERVE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "consumer/status/status.h"

struct serve_snapshot {
	atomic_uint references;
	struct status *of;
	int64_t read_ms;      /* monotonic: when the broker was asked */
	pthread_mutex_t lock; /* protects the texts */
	char *status;         /* NULL: nobody has asked for it */
	char *metrics;
};

/* Gives *out with one reference, and takes the status; where it fails, it has ended it. */
enum fail_code serve_snapshot_make(
    struct serve_snapshot **out, struct status *of, int64_t read_ms, struct failure *f);
void serve_snapshot_release(struct serve_snapshot *s); /* NULL is accepted */

/* Each gives a text that lives as long as the snapshot. NULL: no memory. */

/* The JSON of riffle status: one object, and a line's end. */
const char *serve_snapshot_status(struct serve_snapshot *s);

/* That of /metrics, but for riffle_up. */
const char *serve_snapshot_metrics(struct serve_snapshot *s);

struct serve_state {
	pthread_mutex_t lock;       /* protects all below */
	struct serve_snapshot *now; /* NULL: the broker has not answered yet */
	char error[FAILURE_TEXT_MAX];
};

void serve_state_init(struct serve_state *s);
void serve_state_clear(struct serve_state *s);

/* Takes `now`, which has one reference. */
void serve_state_put(struct serve_state *s, struct serve_snapshot *now);
void serve_state_fail(struct serve_state *s, const char *why);

/*
 * Gives *out (serve_snapshot_release), NULL: there is none yet; and why the broker does not answer
 * now, "" where it does.
 */
void serve_state_get(
    struct serve_state *s, struct serve_snapshot **out, char why[static FAILURE_TEXT_MAX]);

#endif
