/*
 * repair_plan.h -- what `riffle repair` decides from what it has found: where each lane is filled
 * from, where the derivation begins, and what cannot be derived with certainty. Pure functions;
 * repair.h has the cases, and repair.c asks the broker.
 */
#ifndef CONSUMER_REPLAY_REPAIR_PLAN_H
#define CONSUMER_REPLAY_REPAIR_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"
#include "consumer/batches/lane_ends.h"
#include "consumer/batches/step_records.h"

/* What was found; all is borrowed. */
struct repair_found {
	const struct ledger *last; /* the ledger's last record */
	const struct lane_ends_ledger *ledger;
	const struct lane_end *end; /* [lanes], compared with the ledger */
	const struct lane_ends_report *report;
	uint32_t lanes;
	bool from_given; /* the user has named a step, below */
	uint64_t from_step;
};

/* Lanes and ledger end together, and no transaction is open. */
bool repair_plan_level(const struct repair_found *w);

/* The end of the mix is on some lane, or in the ledger. */
bool repair_plan_ended(const struct repair_found *w);

/*
 * Sets *step, from which lanes without a record are filled: the first step that every lane with
 * records keeps. If no lane has a record, it is the first step of the ledger, or the given step.
 * FAIL_DATA: the ledger does not have the given step, or a run would not find its next one.
 */
enum fail_code repair_plan_from(const struct repair_found *w, const struct step_records_kept *kept,
    uint64_t *step, struct failure *f);

/*
 * Fills next[lanes] with the first step that each lacks, and absent_from[lanes] with the first of
 * which it holds no record (UINT64_MAX: it holds the end of the mix, after which nothing comes).
 * `from` is for lanes without a record. Returns the first step to derive, which exists: one that
 * some lane or the ledger lacks, or else the last one. The mix must have a step.
 */
uint64_t repair_plan_lanes(
    const struct repair_found *w, uint64_t from, uint64_t *next, uint64_t *absent_from);

/*
 * Whether steps must be derived that neither the ledger nor every lane has. No record proves what
 * such a lane held. These steps are certain if nothing but domain logs of fixed length decides
 * them.
 */
bool repair_plan_guesses(const struct repair_found *w);

/* The first domain whose length at that time is unknown, because it is live; NULL: none. */
const char *repair_plan_live(const struct repair_found *w);

/*
 * The offset of the first request of which the ledger has no answer; -1 without one. `answered`
 * is one past the last that it has answered. If the control topic ends before that, the topic was
 * recreated, and no record in it is known to be answered.
 */
int64_t repair_plan_unanswered(int64_t answered, int64_t low, int64_t high);

/*
 * From which step to look for holes: the lowest position of a run, because trainers read no earlier
 * step, or the given step; never below `kept`, the first step that every lane keeps.
 */
uint64_t repair_plan_scan(const struct repair_found *w, uint64_t kept);

#endif
