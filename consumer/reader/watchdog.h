/*
 * watchdog.h -- why the step that a trainer waits for does not come, in words.
 *
 * Asks the broker for the last record of the mix's ledger, for the members of the mix's election,
 * who are its mixers, and for the commits of the run that the mixer waits for. Judges by them, in
 * this order:
 *
 *     no answer from the broker                      the broker is down
 *     no record                                      no mixer has written yet
 *     step_next is beyond the step                   it has not arrived; or the batch topic is
 *                                                    another one (batch_topic.h)
 *     the record ends the mix                        there is no such step
 *     step_next is at the step + lead of the lowest  the mixer waits for it to commit; or the run
 *         of the runs in mix.runs                    has committed since, and no mixer runs
 *     the election has no members                    no mixer runs
 *     older than WATCHDOG_STOPPED_MS                 the mixer has stopped, or waits for domains
 *     fresh                                          it is not published yet
 *
 * The record is as old as the last step, so it alone cannot say what a run has committed. A user
 * without the right to ask for the commits or the members gets what the record says.
 *
 * What looks lost is reported at once, with the note that it was seen once (kafka_look_again()).
 *
 * Connects at the first call of watchdog_why() and keeps the connection: with a handle of its own,
 * because the lanes' handle must not wait for anything but records. Groups need a handle each.
 *
 * Thread: one at a time. A call makes several requests, and waits WATCHDOG_ANSWER_MS at most for
 * each.
 */
#ifndef CONSUMER_READER_WATCHDOG_H
#define CONSUMER_READER_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/properties.h"
#include "common/record/ledger.h"
#include "consumer/ledger/ledger_runs.h"
#include "consumer/ledger/run_position.h"

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

/* The reader that waits. */
struct watchdog_reader {
	uint64_t step;         /* that is due */
	uint64_t from;         /* steps [from, step) were given */
	const char *run;       /* its run */
	uint32_t first, count; /* its lanes */
	uint32_t lanes;        /* of the mix */
	bool shared;           /* as of run_position_open() */
};

/* Writes a clause about the step that is due into reason[room]. */
void watchdog_why(struct watchdog *w, const struct watchdog_reader *r, char *reason, size_t room);

/* What is known besides the ledger's last record. */
struct watchdog_facts {
	int64_t age_ms; /* of that record, by the broker's clock and ours */
	int mixers;     /* that run, standbys included; -1: cannot tell */
	bool asked;     /* `at` is known: the commits of the run of watchdog_lowest() */
	struct run_position at;
};

/*
 * The run that holds the mixer back, by the ledger's record: the lowest of the runs in force, if
 * the mixer may go no further before it commits. NULL: none.
 */
const struct ledger_run *watchdog_lowest(const struct ledger *l, const struct ledger_runs *runs);

/* The clause, from a ledger's last record. Pure. */
void watchdog_judge(const struct ledger *l, const struct ledger_runs *runs,
    const struct watchdog_facts *facts, const struct watchdog_reader *r, char *reason, size_t room);

#endif
