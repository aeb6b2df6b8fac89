/*
 * replay.h -- derives steps of a mix again, from domain logs and ledger, and compares every byte
 * with the batch topic.
 *
 * One ledger record after the other. The state in record k-1, with the lengths and the quarantined
 * sequences with which the transaction of record k was drawn, is stepped to the end of record k.
 * Each step is encoded from the domain logs as the mixer did it, and compared with the lanes'
 * records. The state that results is compared with record k. So each transaction is judged alone.
 *
 * Of three witnesses two convict the third. The first difference is reported, and who is the odd
 * one out:
 *   the batch topic   the derived state is the ledger's, and a record's bytes are not derived;
 *   a domain log      a sequence that the batch topic holds fails the check that it once passed;
 *   the ledger        a record contradicts itself, the one before it, or batches and domain logs.
 * Two payloads that are both whole and differ leave open which one was changed.
 *
 * What no decision depends on is not derived: positions of runs, ids of mixers, the producer's
 * position in a sequence record. Steps that the batch topic does not keep any more are compared
 * with the ledger alone.
 *
 *     for each record k:   ledger k-1, k --> plan and head --> is record k possible behind k-1?
 *                          domain logs ----> step, step, ...   compared with the lanes' records
 *                          the state after them -------------> compared with record k: the verdict
 *
 * Files of this room:
 *     replay         the walk along the ledger; the steps of each record, derived and compared
 *     replay_verdict what a ledger record must be, and which witness a difference convicts
 *     batch_compare  where two records of a lane differ first, in words
 *     republish      writes the derived steps to another mix
 *     lane_fill      writes the derived records that lanes have lost
 *     repair         finds what lanes and ledger have lost, and has it derived and written
 *     repair_plan    what repair decides from what it has found
 *     drawn          in which steps a sequence was drawn, and will be
 *     time_step      from a time to the first step that holds what a live domain got from then on
 *     published_step one step's records: from the batch topic, or derived where it lacks them
 *
 * Memory: half of mix.memory for blocks, and one step. Works while the mix is running. Thread: one.
 */
#ifndef CONSUMER_REPLAY_REPLAY_H
#define CONSUMER_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/config.h"

struct lane_fill;

/* A lane's record of a step, as derived; `bytes` are borrowed during the call. */
typedef enum fail_code replay_lane(
    void *opaque, uint32_t lane, const uint8_t *bytes, size_t n, struct failure *f);

struct replay_options {
	const struct config *config; /* names mix and broker; all else is the ledger's */
	uint64_t first, end;         /* steps, half open; first < end */
	/*
	 * NULL, or a mix that gets these steps, with its name in them, and a ledger that ends with
	 * them (republish.h). Missing topics are created; a mix that holds a part of them is
	 * resumed.
	 */
	const char *republish;
	bool derive_only; /* compares with the ledger alone, not with the lanes */
	/* NULL, or called for each lane of each of these steps, in order. */
	replay_lane *lane;
	void *lane_opaque;
	/*
	 * NULL, or what completes the lanes (lane_fill.h). The walk then goes to the very end: of
	 * the ledger, and of the lanes where these hold more (ledger_end < end). What is beyond the
	 * ledger is derived from its last record and must be on the lanes as derived; the ledger
	 * then gets the record that it lost.
	 */
	struct lane_fill *fill;
	uint64_t ledger_end; /* with fill: step at which the ledger ends, */
	bool ended;          /* and whether the lanes and, up to there, the ledger end the mix */
	const struct stop *stop; /* NULL: nobody asks it to stop */
};

struct replay_result {
	uint64_t steps, records, bytes; /* that were compared */
	uint64_t republished;           /* steps written */
	bool complete;                  /* the other mix held all of them before */
	bool no_copies;                 /* there are no lanes to compare (mix.batches: derived) */
};

/*
 * FAIL_NONE: every byte is equal. FAIL_DATA: the first difference, or the steps are not published
 * yet. FAIL_FENCED: another process writes the other mix. FAIL_STOPPED: asked to stop; says at
 * which step, and that all before it are equal.
 */
enum fail_code replay(const struct replay_options *o, struct replay_result *out, struct failure *f);

/*
 * Hands out the lanes of the steps [first, end) of mix `mix` as they are derived, in order. `c`
 * names the broker.
 */
enum fail_code replay_derive(const struct config *c, const char *mix, uint64_t first, uint64_t end,
    replay_lane *lane, void *opaque, struct failure *f);

#endif
