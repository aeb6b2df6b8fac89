/*
 * derived_lanes.h -- the lanes of one rank of a mix that publishes no copies (`mix.batches:
 * derived`): follows its ledger, and derives the records that the mixer would have published.
 *
 * The lanes are logs like those of a batch topic, with the step as the offset: a record for each
 * step of the ledger, and behind the last one of a mix that has ended the record that says so.
 *
 *     derived_lanes_open  derived_lanes_seek(step)  derived_lanes_next ...
 *
 * Where it begins. derived_lanes_seek() reads the last record with step_next <= step, the state
 * before that step or earlier, by halving (ledger_log.h): no step below is derived, but the draws
 * of the one transaction that the step is in. From there on each record is the transaction that
 * comes next. Records without steps (START, answers to requests) take the state over.
 *
 *     ledger    .. 96 (state)    112 (steps 96..111)    112 (answers)    130 (steps 112..129)
 *     seek(100)    read: the state; steps 96..99 drawn alone; 100 is the first that is handed out
 *
 * The ledger is followed read_committed: a step is derived when its transaction is committed.
 *
 * Whether what is derived is what the mixer drew: behind each transaction the rolling hash of every
 * choice is compared with the record's. A sequence that fails the mixer's check, and that the
 * ledger does not name among the quarantined, is FAIL_DATA: its log is not what was drawn from.
 *
 * Before the first step the domain logs are compared with what the mix has drawn from them
 * (last_drawn.h): one that was produced again from other text is FAIL_DATA, too.
 *
 * What fails leaves the position where it is: the next call meets it again, or finds it mended.
 *
 * Memory: `memory_bytes` of blocks (feed.h), two ledger records. Thread: one.
 */
#ifndef CONSUMER_DERIVE_DERIVED_LANES_H
#define CONSUMER_DERIVE_DERIVED_LANES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"

struct derived_lanes;

/* Takes `bytes` (malloc), also on failure: the record of lane `lane` of the mix. */
typedef enum fail_code derived_lanes_put(
    void *opaque, uint32_t lane, uint64_t step, uint8_t *bytes, size_t n, struct failure *f);

struct derived_lanes_options {
	const char *mix;
	const struct properties *properties; /* copied */
	uint32_t lanes;                      /* of the mix; and this rank's: */
	uint32_t first, count;
	uint64_t memory_bytes;
	int timeout_ms;           /* of each request */
	const atomic_bool *awake; /* set: no call waits any longer; borrowed */
	derived_lanes_put *put;
	void *opaque;
};

/*
 * Gives *out, to be ended with derived_lanes_close(). Asks for nothing. FAIL_CONFIG: the ledger's
 * topic does not exist.
 */
enum fail_code derived_lanes_open(
    struct derived_lanes **out, const struct derived_lanes_options *o, struct failure *f);
void derived_lanes_close(struct derived_lanes *d); /* NULL is accepted */

/* The first step that can be derived, and one past the last record of each lane. */
enum fail_code derived_lanes_range(
    struct derived_lanes *d, uint64_t *low, uint64_t *high, struct failure *f);

/* derived_lanes_next() will give `step`, or what comes first behind it. Asks for nothing. */
void derived_lanes_seek(struct derived_lanes *d, uint64_t step);

enum derived_lanes_event {
	DERIVED_LANES_STEP,   /* a record of each lane was put; of a step that was sought, or behind
				 it, or the end of the mix */
	DERIVED_LANES_AT_END, /* no further step is published; call again for what comes */
	DERIVED_LANES_LOST,   /* the ledger does not have the state before the step any more */
};

/*
 * The next event, for which it waits until deadline_ms (clock_ms()); FAIL_TIMEOUT then. *step: the
 * one that was put, or is next. FAIL_DATA: ledger and domain logs do not fit each other.
 */
enum fail_code derived_lanes_next(struct derived_lanes *d, int64_t deadline_ms,
    enum derived_lanes_event *event, uint64_t *step, struct failure *f);

#endif
