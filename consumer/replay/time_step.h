/*
 * time_step.h -- from a time to the first step that holds what a live domain got at that time or
 * later: where a trainer continues that wants the data from then on.
 *
 * The time of a sequence is the timestamp of its record in the domain topic: when its producer
 * published it, which for a live domain is when its last document had arrived. Each log has it,
 * those of earlier releases too, and the broker finds an offset by it with one request. (A time of
 * the document's own is a field of it, for `keep` to carry: several producers, late files and wrong
 * clocks give no order that an index could find a place in.)
 *
 *     time --kafka_offset_at()--> first record of each partition --its ordinal--> drawn_find()
 *                                                                 the lowest step of all partitions
 *
 * A live domain's first pass takes each partition in order, so that nothing later was drawn before.
 * Sequences that were skipped or quarantined have no step: the next ones of the partition stand for
 * them. Where nothing of it is drawn yet, the answer is the mix's next step: no step before holds
 * any of it.
 *
 * Thread: one.
 */
#ifndef CONSUMER_REPLAY_TIME_STEP_H
#define CONSUMER_REPLAY_TIME_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/base/stop.h"
#include "common/config/config.h"

enum { TIME_STEP_AFTER = 64 }; /* sequences behind the first one that may stand for it */

struct time_step_options {
	const struct config *config; /* where the broker is; its memory, where a replay derives */
	const char *mix;
	const char *domain; /* NULL: the only live one */
	int64_t time_ms;    /* 0 or more */
	const struct stop *stop;
};

struct time_step {
	uint64_t step;
	char domain[NAME_MAX_BYTES + 1];
	bool drawn; /* step holds this sequence; else the rest is not set, and `step` is the next */
	uint32_t partition, lane, slot;
	uint64_t ordinal;
};

/*
 * FAIL_CONFIG: there is no such live domain, with those that there are. FAIL_DATA: the mix has not
 * started. FAIL_STOPPED.
 */
enum fail_code time_step_find(
    struct time_step *out, const struct time_step_options *o, struct failure *f);

#endif
