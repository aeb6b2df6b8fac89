/*
 * lane_fill.h -- the records that lanes have lost, as a replay derives them again: which are
 * missing, and the transactions in which they are written.
 *
 * A replay derives whole steps. Where a lane has its record, the replay compares; where the lane
 * ends before it, the derived record comes here. So each step that is written was compared with
 * every lane that still has it, and each transaction with the state in its ledger record.
 *
 *     lane 0   ... 52 53 54 55   compared   compared
 *     lane 1   ... 52            put 53     put 54 55
 *     ledger       53 | 55 |     commit     commit       as the mixer's transactions ended
 *
 * The transactions end where those of the mixer did, so that a lane gets the offsets that it had,
 * unless aborted records lay between: positions that trainers hold stay right (and where they do
 * not, a reader searches).
 *
 * Without a handle (a dry run) records are counted and dropped. Thread: one.
 */
#ifndef CONSUMER_REPLAY_LANE_FILL_H
#define CONSUMER_REPLAY_LANE_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"
#include "consumer/publish/transactions.h"

struct lane_fill {
	struct transactions *transactions; /* borrowed; NULL: a dry run */
	uint32_t lanes;
	uint64_t *absent_from; /* [lanes], borrowed: steps from here on are missing on the lane */
	bool open;             /* a transaction is */
	uint64_t records, bytes;
};

/* Puts a record that lane `lane` lacks; takes `bytes` (malloc), also on failure. */
enum fail_code lane_fill_put(
    struct lane_fill *p, uint32_t lane, uint8_t *bytes, size_t n, struct failure *f);

/* Puts a record of the ledger. */
enum fail_code lane_fill_put_ledger(struct lane_fill *p, const struct ledger *l, struct failure *f);

/* Commits what was put since the last call; nothing: nothing to do. FAIL_FENCED. */
enum fail_code lane_fill_commit(struct lane_fill *p, struct failure *f);

#endif
