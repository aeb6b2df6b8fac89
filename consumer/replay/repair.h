/*
 * repair.h -- completes lanes and a ledger of which a broker has lost the end.
 *
 * What is lost is derived again (replay.h), so that it is byte for byte what it was; what is still
 * there is compared first. Kafka can only append. So this is possible where nothing was published
 * behind the loss, which is why a mixer stops when it finds one (attach.h):
 *
 *     lost                          what is done
 *     ends of lanes                 the steps are derived from the ledger and written
 *     all records of a lane         the same, from the first step that other lanes keep
 *     all records of all lanes      the same, from `from_step`, or from the first step
 *     end of the ledger             steps that the lanes hold are derived from its last record;
 *                                   where all are as derived, the ledger gets its record back
 *     ends of both                  both, where nothing but the domain logs decided the steps
 *                                   beyond the ledger: no request waits, no domain is live
 *     a marker of a transaction     the transaction is aborted; then as above
 *     the marker of an abort        where its records are visible now: refused, the like
 *     all of the ledger             refused: delete the mix's topics, or name another mix
 *     steps in the middle           refused, with their numbers: `riffle replay --republish` writes
 *                                   them to another mix, from which trainers can read them
 *
 *     look, beside whatever runs -> level? look for steps that are missing in the middle
 *        -> fence every mixer -> abort what is open -> look once more -> replay() with a lane_fill
 *
 * Fencing: no mixer may run meanwhile. One that does takes over again and ends this with
 * FAIL_FENCED; what is committed by then is right, and the next call continues behind it.
 *
 * Thread: one.
 */
#ifndef CONSUMER_REPLAY_REPAIR_H
#define CONSUMER_REPLAY_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"

struct repair_options {
	const struct config *config;
	bool dry_run; /* derives and compares, and fences and writes nothing */
	bool from_given;
	uint64_t from_step;
};

/* What one lane lacked: steps [first, end), and the record that ends the mix, where it has one. */
struct repair_lane {
	uint64_t first, end;
};

struct repair_result {
	struct repair_lane *lane; /* [lanes], first == end: nothing. free() */
	uint32_t lanes;
	uint64_t ledger_first, ledger_end;   /* steps that the ledger lacked */
	uint64_t records;                    /* of lanes */
	uint32_t opened;                     /* lanes with a transaction that nobody ended */
	bool opened_ledger;                  /* the ledger had one */
	uint64_t checked_first, checked_end; /* no step is missing in the middle of these */
	bool derived;                        /* the mix has no copies of its steps */
	bool needed;                         /* something was missing */
};

/*
 * Fills *out, also on failure (whose `lane` is to be freed). FAIL_DATA: what is lost cannot be
 * completed, with what else can be done.
 */
enum fail_code repair(const struct repair_options *o, struct repair_result *out, struct failure *f);

#endif
