/*
 * ledger_runs.h -- for which runs the mixer waits, by the configuration in a record of the ledger.
 *
 * A record also lists runs that only report, or that were taken out of mix.runs. The mixer waits
 * for the runs of mix.runs alone.
 *
 * ledger_runs_warn() asks the broker, in the caller's thread. The rest is pure.
 */
#ifndef CONSUMER_LEDGER_LEDGER_RUNS_H
#define CONSUMER_LEDGER_LEDGER_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/properties.h"
#include "common/record/ledger.h"

struct ledger_runs {
	uint64_t lead; /* mix.max_lead_steps; 0: no limit */
	char *text; /* "["trainers","eval"]"; NULL: it cannot be read, and any run may be meant */
};

/* Gives *out, to be ended with ledger_runs_clear(). */
void ledger_runs_read(struct ledger_runs *out, const struct ledger *l);
void ledger_runs_clear(struct ledger_runs *r);

/* Whether the mixer waits for a run. */
bool ledger_runs_has(const struct ledger_runs *r, const char *run);

/* Writes the names as "trainers, eval" into out[room], room > 0; "" if the list is empty. */
void ledger_runs_list(const struct ledger_runs *r, char *out, size_t room);

/*
 * Warns, READ-RUN-UNKNOWN, if mix.runs has names but not this one, because a mistyped name commits
 * as well as any. Asks for the ledger's last record, and says nothing if it does not get one soon.
 * A thread that trains must not call it, because a slow broker takes a second or more.
 */
void ledger_runs_warn(const char *mix, const char *run, const struct properties *properties);

#endif
