/*
 * watchdog.h -- why the step that a trainer waits for does not come, in words.
 *
 * Asks the broker for the last record of the mix's ledger: no answer, the broker is down; an old
 * record, the mixer has stopped or waits (for a run that does not commit, as the record shows); a
 * fresh one, it is behind. Connects with the first question and keeps the connection.
 *
 * Thread: one at a time. Takes at most WATCHDOG_ANSWER_MS or so.
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

/* NULL: no memory. Ended with watchdog_close(). Borrows both for its life. */
struct watchdog *watchdog_open(const char *mix, const struct properties *properties);
void watchdog_close(struct watchdog *w); /* NULL is accepted */

/* Writes a clause about `step`, which is due; `lead` is the mix's as far as known, else 0. */
void watchdog_why(struct watchdog *w, uint64_t step, uint64_t lead, char *reason, size_t room);

/* The same from a ledger's last record, which is age_ms old. Pure. */
void watchdog_judge(const struct ledger *l, int64_t age_ms, uint64_t step, uint64_t lead,
    char *reason, size_t room);

#endif
