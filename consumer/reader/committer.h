/*
 * committer.h -- sends the commits of one rank: one on its way at most, the newest that waits for
 * it, and the last known good. When to commit is decided elsewhere (commit_pace.h).
 *
 *     call or event        on its way   waits   good
 *     committer_ask(5)     5            -       0
 *     committer_ask(7)     5            7       0
 *     committer_ask(9)     5            9       0      7 is forgotten: 9 says more
 *     the answer to 5      9            -       5
 *     9 is refused         -            -       5      committer_failure() reports it once
 *
 * Why one at a time: of two commits the one that reaches the broker last counts, and one that is
 * retried may arrive behind a later one. That would take a step back that was committed. And a
 * broker that is slow gets no queue of commits that nobody needs any more.
 *
 * A commit of another process can arrive late as well, and nobody can put these two in order:
 *
 *     1  rank 0 sends the commit of step 90, and dies. The request waits in a socket.
 *     2  rank 0 is started again at its checkpoint, step 100, and commits 100: it is good.
 *     3  The request of 1 arrives. The group stands at 90 again.
 *     4  The mixer publishes up to 90 + lead, and waits for the run. Rank 0 has read all of that
 *        and waits for the mixer. Neither will ever do anything.
 *
 * So whoever waits for a step repeats the last good commit now and then: committer_repeat().
 *
 * Two processes that train one rank of one run by mistake commit the same lanes, at the same pace
 * perhaps, so that no step tells them apart. Each commit therefore names who made it (owner.h), and
 * a committer looks now and then, before its next commit, who made the last one of its lanes:
 *
 *     last commit of the lane        what it proves
 *     ours                           nothing: the other may come yet
 *     another's, before ours         that somebody trained the run before us: no look is made
 *                                    before a commit of ours is good
 *     another's, behind ours         nothing yet: a dead process's request may have been on its way
 *     the same one's, at another     it is alive: it has committed twice behind ours, and has one
 *     step, behind one more of ours  commit on its way at most
 *     the same one's, at our step,   it is alive, and waits as we do: both have read all that is
 *     after each of three of ours    published, and repeat their last commit
 *
 * The last two rows are said, once for each other one: READ-RUN-TWICE. The first of them takes two
 * looks, and three commits of each process: less than 10 s if a process commits at least every 3 s.
 * The second takes three repeats, as two copies of one late request may arrive apart. Nothing is
 * stopped: which of the two is the right one nobody here knows.
 *
 * Invariants: nothing waits where nothing is on its way; good never falls, but after a commit
 * that the caller asked for below it (it has sought back).
 *
 * Thread: the caller's, beside the thread that reads the lanes.
 */
#ifndef CONSUMER_READER_COMMITTER_H
#define CONSUMER_READER_COMMITTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "consumer/batches/lanes.h"

enum {
	COMMITTER_LOOK_MS = 1500, /* two looks, and a commit before each, fit into 10 s */
	COMMITTER_SIGHTINGS = 3,  /* of another's commit at our step, before it counts as alive */
};

struct committer;

/*
 * Gives *out, to be ended with committer_close(). Borrows the lanes for its life. `step` counts as
 * good from the start. FAIL_IO: owner.h.
 */
enum fail_code committer_open(
    struct committer **out, struct lanes *lanes, uint64_t step, struct failure *f);
/* NULL is accepted. A commit on its way is left alone: it may arrive or not. */
void committer_close(struct committer *c);

/*
 * Asks that all steps below `step` be committed; copies offset_next[lanes_count()]. A failure is
 * of sending it, and nothing is on its way then; what the broker answers is committer_failure()'s.
 */
enum fail_code committer_ask(
    struct committer *c, uint64_t step, const int64_t *offset_next, struct failure *f);

/*
 * Sends the last good commit once more; where none was answered yet, this one instead (offset_next
 * NULL: nothing then). Does nothing while one is on its way. Its failure is reported to nobody: the
 * commit that it repeats is good.
 */
void committer_repeat(struct committer *c, uint64_t step, const int64_t *offset_next);

/*
 * Looks whether another process commits these lanes, too, and warns. To be called before a commit
 * or its repeat is asked for, at now_ms (clock_ms()); asks the broker, for half a second at most,
 * no more often than every COMMITTER_LOOK_MS. What it cannot learn it does not say.
 */
void committer_look(struct committer *c, const char *mix, const char *run, int64_t now_ms);

/*
 * Takes the answers that have come; with timeout_ms > 0 waits until nothing is on its way, or
 * FAIL_TIMEOUT. Other failures are kept for committer_failure().
 */
enum fail_code committer_poll(struct committer *c, int timeout_ms, struct failure *f);

/* The last commit that failed since this was called last; FAIL_NONE where there is none. */
enum fail_code committer_failure(struct committer *c, struct failure *f);

/* Whether one is on its way: then committer_poll() is to be called now and then. */
bool committer_flies(const struct committer *c);

/* All steps below are committed, as far as the broker has answered. */
uint64_t committer_good(const struct committer *c);

#endif
