/*
 * serve_watch.h -- the follower: one thread that asks the broker and makes snapshots of answers.
 *
 * With the thread of the history (serve_history.h) it asks for all that every client gets, so that
 * the broker has the same work with one client and with a hundred: only a step, a plan and a change
 * are asked for by clients (serve_work.h). A broker that does not answer is asked again for ever.
 *
 * Thread: open and close from one; the follower has its own, and its own handles.
 */
#ifndef CLI_SERVE_SERVE_WATCH_H
#define CLI_SERVE_SERVE_WATCH_H

#include <stdbool.h>

#include "cli/serve/serve_history.h"
#include "cli/serve/serve_state.h"
#include "common/base/failure.h"
#include "common/config/config.h"

enum { SERVE_WATCH_MS = 1000 }; /* between two queries */

struct serve_watch;

/* Gives *out, to be ended with serve_watch_end() and _close(). Borrows all until then. */
enum fail_code serve_watch_open(struct serve_watch **out, const struct config *c,
    struct serve_state *state, struct serve_history *history, struct serve_requests *requests,
    struct failure *f);

/*
 * Asks the follower to end and waits `wait_ms` at most: it may wait for a broker. False: it has not
 * ended, and all that it borrowed must stay.
 */
bool serve_watch_end(struct serve_watch *w, int wait_ms);
void serve_watch_close(struct serve_watch *w); /* of one that has ended; NULL is accepted */

#endif
