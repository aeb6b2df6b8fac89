/*
 * serve_history.h -- the mix over its steps, as clients get it: looked for in the ledger, then
 * followed.
 *
 * The follower notes each status that it reads, and so the newest point is always there. What was
 * before is read by a thread of its own, which begins with the ledger's first and last records and
 * looks into the widest gap first (mix_history.h): the first answer is coarse and soon there, and
 * grows finer. When all is as fine as it is to be, the thread ends its handles and sleeps. It wakes
 * for a version of the weights, or a request, that it does not know; every half minute for the gaps
 * that a fast mix has left meanwhile; and at once for a range that somebody asks for in more points
 * than are known of it. Four such ranges are known at one time, each for ten seconds at least; who
 * finds all places taken gets what is known, and an answer that is not complete. Where the thread
 * cannot read what the ledger has, answers say why.
 *
 * Losses come from the follower, too; those of before by looks into the feedback topic at even
 * distances, and are kept as evenly (loss_history.h).
 *
 * The versions' steps are exact, whatever the points are (weight_history.h). Who asked for one is
 * in the control topic (serve_requests.h), which the same thread reads.
 *
 * Thread: any; the lock protects what is known.
 */
#ifndef CLI_SERVE_SERVE_HISTORY_H
#define CLI_SERVE_SERVE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/serve/serve_requests.h"
#include "cli/serve/serve_rules.h"
#include "cli/serve/serve_text.h"
#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/status/status.h"

enum {
	SERVE_HISTORY_VERSIONS = 512, /* the newest ones are shown */
	SERVE_HISTORY_VALUES =
	    1 << 17, /* of all domains, in an answer: fewer points of many domains */
};

struct serve_history;

/* Gives *out, to be ended with serve_history_end() and _close(). Borrows all until then. */
enum fail_code serve_history_open(struct serve_history **out, const struct config *c,
    struct serve_requests *requests, struct failure *f);

/* As serve_watch_end() and serve_watch_close(). */
bool serve_history_end(struct serve_history *h, int wait_ms);
void serve_history_close(struct serve_history *h);

/* From the follower: what the ledger's last record says, and the losses. */
void serve_history_note(struct serve_history *h, const struct status *st);

/* Gives the JSON of the range, to be ended with serve_text_release(). NULL: no memory. */
struct serve_text *serve_history_text(struct serve_history *h, const struct serve_range *range);

#endif
