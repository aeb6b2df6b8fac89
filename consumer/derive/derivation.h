/*
 * derivation.h -- the steps of one transaction of a mix once more: from the ledger record before,
 * its own record, and the domain logs; and the map of this room.
 *
 * The room brings decisions and data together, for whoever needs the sequences of a step: the mixer
 * that publishes them, a replay that compares them, a reader of a mix that publishes no copies. All
 * three have the same steps from the same code.
 *
 * Files of this room:
 *     assembler      the next step with all its sequences in memory; what runs ahead of it
 *     lane_record    one lane of a step as bytes
 *     derivation     the steps of one transaction, from two records of the ledger
 *     derived_lanes  the lanes of a rank, step after step, along the ledger
 *     mix_mark       whether a mix is the mix of a checkpoint
 *
 *     derived_lanes --> derivation --> assembler --> consumer/mixer (decides)
 *          |                 |              +------> consumer/domain (feed: reads)
 *          v                 +-------> lane_record
 *     consumer/ledger
 *
 * What a transaction was drawn from. Record k-1 holds the state before it: weights, positions,
 * pending changes. Record k holds with what it was drawn beside that: the lengths of the domains
 * that the mixer knew then, and the sequences that it had quarantined by its end. A change by
 * request stands in a record of its own before the first step that it governs. So each transaction
 * is derived alone, and whoever wants a step in the middle of a mix begins one record before it.
 *
 * Steps that nobody wants, in front of the one that is, are drawn without their sequences, unless
 * weights count tokens and sequences differ in them.
 *
 * Invariant: `assembler` is NULL, or behind the last step taken of the record started last.
 *
 * Memory: the limit in the options, for blocks, and one fetch a load (feed.h). Thread: one.
 */
#ifndef CONSUMER_DERIVE_DERIVATION_H
#define CONSUMER_DERIVE_DERIVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"
#include "consumer/derive/assembler.h"
#include "consumer/derive/lane_record.h"
#include "consumer/domain/feed.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/ledger_plan.h"

struct derivation_options {
	const char *mix;                     /* borrowed, as the properties are */
	const struct properties *properties; /* of the broker */
	uint64_t memory_bytes;               /* of blocks */
	/* As of an assembler: a sequence fails the check, and record k does not name it. */
	assembler_quarantined *bad;
	void *opaque;
};

/* A zeroed one with its options set is valid and holds nothing. */
struct derivation {
	struct derivation_options o;
	struct ledger_plan plan; /* of the record that was taken last */
	struct lane_mix head;    /* of its lanes' records */
	/* Of a typical sequence record, before the first start; 0: an estimate. Fetches are of a
	   block, and bring more where it is high. */
	uint64_t record_bytes;
	struct feed *feed;           /* NULL: nothing was derived yet */
	struct assembler *assembler; /* NULL: derivation_start() opens it */
};

void derivation_close(struct derivation *d);

/*
 * What all steps of a record have in common: the mixer's plan, the head of its lanes' records.
 * FAIL_DATA: its configuration is damaged.
 */
enum fail_code derivation_take(struct derivation *d, const struct ledger *now, struct failure *f);

/*
 * Whether the domain logs are still those that the mix has drawn from, by the ledger's last record:
 * others would silently give other steps. To be called before the first start. *any: the ledger has
 * a record; ledger_log_seek() is due afterwards. FAIL_DATA: a topic is empty, or holds other text
 * (last_drawn.h).
 */
enum fail_code derivation_compare_logs(
    struct derivation *d, struct ledger_log *log, int timeout_ms, bool *any, struct failure *f);

/* Which record a failure is to be blamed on: it contradicts itself, or the one before. */
enum derivation_fault { DERIVATION_NONE, DERIVATION_BEFORE, DERIVATION_NOW };

/*
 * Brings the assembler to where the transaction of record `now` began, or to the first step that is
 * wanted behind it, where `before` is the record before it; `now` was taken. Where nothing was
 * changed from outside since the last transaction, it keeps what it has read ahead.
 */
enum fail_code derivation_start(struct derivation *d, const struct ledger *before,
    const struct ledger *now, uint64_t wanted, enum derivation_fault *fault, struct failure *f);

/* The same in the state of record `now` itself, for what follows it. */
enum fail_code derivation_start_behind(struct derivation *d, const struct ledger *now,
    enum derivation_fault *fault, struct failure *f);

/* What follows is of a record that changes the state: the next start takes it from there. */
void derivation_stop(struct derivation *d);

/*
 * Gives *bytes (free): lane `lane` of the step that was assembled last, number `number`; with
 * `step` NULL of the end of the mix there.
 */
enum fail_code derivation_lane(const struct derivation *d, const struct assembled *step,
    uint64_t number, uint32_t lane, uint8_t **bytes, size_t *n, struct failure *f);

#endif
