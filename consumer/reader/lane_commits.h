/*
 * lane_commits.h -- the commits of one rank: one on its way at most, the newest that waits for it,
 * and the last known good.
 *
 *     ask(5)             5 flies
 *     ask(7) ask(9)      5 flies, 9 waits (7 is forgotten: 9 says more)
 *     answer to 5        good is 5; 9 flies
 *
 * Thread: the caller's, beside the thread that reads the lanes.
 */
#ifndef CONSUMER_READER_LANE_COMMITS_H
#define CONSUMER_READER_LANE_COMMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "consumer/reader/lanes.h"

struct lane_commits;

/* Gives *out, to be ended with lane_commits_close(). Borrows the lanes. `step` is good already. */
enum fail_code lane_commits_open(
    struct lane_commits **out, struct lanes *lanes, uint64_t step, struct failure *f);
void lane_commits_close(struct lane_commits *c); /* NULL is accepted; what flies is left alone */

/* Asks that all steps below `step` be committed; offset_next is copied. */
enum fail_code lane_commits_ask(
    struct lane_commits *c, uint64_t step, const int64_t *offset_next, struct failure *f);

/*
 * Sends the last good commit once more, or this one where none was made here (offset_next NULL:
 * none then); nothing where one flies. What becomes of it is told to nobody. For whoever waits: a
 * commit that a dead predecessor sent can reach the broker behind ours, and takes the run back.
 */
void lane_commits_again(struct lane_commits *c, uint64_t step, const int64_t *offset_next);

/*
 * Looks at what is answered; waits until all is, timeout_ms > 0: FAIL_TIMEOUT. Other failures are
 * remembered, for lane_commits_failure().
 */
enum fail_code lane_commits_poll(struct lane_commits *c, int timeout_ms, struct failure *f);

/* A commit that has failed since this was asked last: FAIL_NONE where there is none. */
enum fail_code lane_commits_failure(struct lane_commits *c, struct failure *f);

/* Whether one is on its way: then it is to be looked at now and then. */
bool lane_commits_fly(const struct lane_commits *c);

uint64_t lane_commits_good(const struct lane_commits *c);

#endif
