/*
 * watchdog.h -- why the step that a trainer waits for does not come, in words.
 *
 * Asks the broker for the last record of the mix's ledger, and judges by it, in this order:
 *
 *     no answer from the broker                      the broker is down
 *     no record                                      no mixer has written yet
 *     step_next is beyond the step                   it has not arrived; or the batch topic is
 *                                                    another one (batch_topic.h)
 *     the record ends the mix                        there is no such step
 *     step_next is at the step + lead of the lowest  the mixer waits for it to commit
 *         of the runs in mix.runs
 *     older than WATCHDOG_STOPPED_MS                 the mixer has stopped, or waits for domains
 *     fresh                                          it is not published yet
 *
 * Connects at the first call of watchdog_why() and keeps the connection: with a handle of its own,
 * because the lanes' handle must not wait for anything but records.
 *
 * Thread: one at a time. A call makes four requests, of WATCHDOG_ANSWER_MS at most each.
 */
#ifndef CONSUMER_READER_WATCHDOG_H
#define CONSUMER_READER_WATCHDOG_H

#include <stddef.h>
#include <stdint.h>

#include "common/config/properties.h"
#include "common/record/ledger.h"

enum {
	WATCHDOG_ANSWER_MS = 1000,
	WATCHDOG_STOPPED_MS = 10000, /* a mixer that has written nothing for so long has stopped */
};

struct watchdog;

/*
 * Gives a watchdog, to be ended with watchdog_close(); NULL: no memory. Borrows both for its life.
 */
struct watchdog *watchdog_open(const char *mix, const struct properties *properties);
void watchdog_close(struct watchdog *w); /* NULL is accepted */

/* Writes a clause about `step`, which is due, into reason[room]. */
void watchdog_why(struct watchdog *w, uint64_t step, char *reason, size_t room);

/*
 * The same from a ledger's last record, which is age_ms old by the broker's clock and ours. Pure.
 */
void watchdog_judge(
    const struct ledger *l, int64_t age_ms, uint64_t step, char *reason, size_t room);

#endif
