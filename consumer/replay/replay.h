/*
 * replay.h -- derives steps of a mix again, from domain logs and ledger, and compares every byte
 * with the batch topic.
 *
 * One ledger record after the other: the state in record k-1, with the lengths and the quarantined
 * sequences that record k says its transaction was drawn with, is stepped to the end of record k;
 * each step is encoded from the domain logs as the mixer did it and compared with the lanes'
 * records; the state that results is compared with record k. So each transaction stands for itself,
 * and one damaged record does not hide the next.
 *
 * Of three witnesses two convict the third. The first difference is reported, and who is the odd
 * one out:
 *   the batch topic   the derived state is the ledger's, and a record's bytes are not derived;
 *   a domain log      a sequence that the batch topic holds fails the check that it once passed;
 *   the ledger        a record contradicts itself, the one before it, or batches and domain logs.
 * Two payloads that are both whole and differ leave open which one was changed.
 *
 * What no decision rests on is not derived: positions of runs, ids of mixers, the producer's
 * position in a sequence record.
 *
 * Memory: half of mix.memory for blocks, and one step. Works while the mix is running.
 */
#ifndef CONSUMER_REPLAY_REPLAY_H
#define CONSUMER_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"

struct replay_options {
	const struct config *config; /* names mix and broker; all else is the ledger's */
	uint64_t first, end;         /* steps, half open; first < end */
	/*
	 * NULL, or a mix that gets these steps, with its name in them, and a ledger that ends with
	 * them. Topics that are missing are made; a mix that holds a part of them is gone on with.
	 * Steps that the batch topic does not keep any more are then derived without comparing.
	 */
	const char *republish;
};

struct replay_result {
	uint64_t steps, records, bytes; /* that were compared */
	uint64_t republished;           /* steps written */
	bool complete;                  /* the other mix held all of them before */
};

/*
 * FAIL_NONE: every byte is equal. FAIL_DATA: the first difference, or the steps are not published
 * yet or not kept any more. FAIL_FENCED: another process writes the other mix.
 */
enum fail_code replay(const struct replay_options *o, struct replay_result *out, struct failure *f);

#endif
