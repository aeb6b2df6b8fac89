/*
 * drawn.h -- in which steps, lanes and epochs given sequences were drawn, and will be: calculated
 * from the ledger and the schedule, not looked for in batches.
 *
 * An epoch's order is a permutation with an inverse (order_position_of()), so that a sequence's
 * position in an epoch is known at once. Each ledger record says how far its domain had come: epoch
 * and position. So a sequence was drawn between two records only where its position lies between
 * theirs, and the transaction is found by halving the ledger:
 *
 *     web/0 ordinal 17 is position 4711 of epoch 1
 *     step      0            8000          12000          16000 ...
 *     web    e0 p0        e0 p9000       e1 p3000       e1 p8000        between 12000 and 16000,
 *     steps  12000 .. 16000 are halved once more, down to one transaction
 *
 * Only that transaction is drawn again, by the mixer's own code, from the state before it with the
 * lengths and the quarantined sequences of its record, as a replay does. That says step, lane and
 * slot; or nothing, where the position was passed over: the sequence was skipped or quarantined
 * then. What changes weights, phases, requests, domains that join, is in that state. Where weights
 * count tokens and sequences differ in them, a replay derives the transaction (replay.h), which
 * reads the domain logs.
 *
 * Where many sequences are looked for, the ledger is read through instead of halved. Steps to come
 * are drawn by a mixer in the state of the last record: sequences are taken to be full, and none to
 * be bad.
 *
 * Memory: the ledger records of one path of halving. Thread: one.
 */
#ifndef CONSUMER_REPLAY_DRAWN_H
#define CONSUMER_REPLAY_DRAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/base/stop.h"
#include "common/config/config.h"
#include "common/record/ledger.h"

/* What two records say of the sequences that were drawn between them. */
enum drawn_between {
	DRAWN_NONE,   /* no sequence was */
	DRAWN_WITHIN, /* those from the first one's position to the second one's, of their epoch */
	DRAWN_ACROSS, /* those behind the first one's position, and before the second one's */
	DRAWN_BEFORE, /* those before the second one's position */
	DRAWN_ANY,    /* any sequence may have been */
};

/*
 * Of a domain in two records, the earlier one first; NULL: it is not in the first yet. In the epoch
 * that both are in, the positions say it; in the one that ended between them, those behind the
 * first record's; epochs that began and ended between them hold every sequence. An epoch that is
 * dealt (cursor.h) grows, so that its first record does not know it: it counts as held. Pure.
 */
enum drawn_between drawn_between(const struct ledger_domain *x, const struct ledger_domain *y);

enum { DRAWN_STEPS_MAX = 1000000 }; /* to come, that are looked at where no end is given */

struct drawn_sequence {
	char domain[NAME_MAX_BYTES + 1];
	uint32_t partition;
	uint64_t ordinal;
};

struct drawn {
	size_t sequence; /* which of those that are looked for */
	uint64_t step, epoch;
	uint32_t lane, slot;
	bool planned; /* it is to come */
};

/* Called for each draw, in no order. */
typedef enum fail_code drawn_found(void *opaque, const struct drawn *d, struct failure *f);

struct drawn_options {
	const struct config *config; /* where the broker is; its memory, where a replay derives */
	const char *mix;
	const struct drawn_sequence *sequence; /* [n], each once */
	size_t n;
	uint64_t first, end; /* steps, half open */
	bool plan; /* also steps to come: below `end`, or, where that is UINT64_MAX, until each
		      sequence has been drawn once more, DRAWN_STEPS_MAX at most */
	const struct stop *stop;
	drawn_found *found;
	void *opaque;
};

struct drawn_result {
	uint64_t published;   /* steps of the mix */
	uint64_t planned_end; /* steps below were looked at; `published` where none to come were */
	bool ended;           /* the mix ends there */
	char dry[NAME_MAX_BYTES + 1]; /* the live domain that has nothing further there; else "" */
	bool full; /* weights count tokens: to come, all sequences were taken to be full */
};

/* FAIL_DATA: the mix has not started, or its ledger contradicts itself. FAIL_STOPPED. */
enum fail_code drawn_find(
    const struct drawn_options *o, struct drawn_result *out, struct failure *f);

#endif
