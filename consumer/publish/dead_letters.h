/*
 * dead_letters.h -- records that were of no use, kept until the transaction that passes them over.
 *
 * A sequence that is bad, or a record of the control topic that is no request, becomes a dead
 * letter in <corpus>.rejects. It is published in the transaction whose ledger record passes it
 * over, so that there is exactly one however often the mixer must resume: a mixer that resumes from
 * the ledger before that transaction finds the same bad record once more.
 *
 * Memory: FEED_BLOCK_BAD_BYTES_MAX for each record at most. Thread: one.
 */
#ifndef CONSUMER_PUBLISH_DEAD_LETTERS_H
#define CONSUMER_PUBLISH_DEAD_LETTERS_H

#include <stddef.h>

#include "common/base/failure.h"
#include "consumer/publish/transactions.h"

/* A zeroed one is empty. */
struct dead_letters {
	struct transactions_reject *reject; /* [n]; owns all that they point to */
	size_t n;
};

/*
 * Copies. One that finds no memory is lost without an error: the ledger passes the record over in
 * any case, and the log has named it.
 */
void dead_letters_keep(struct dead_letters *r, const struct transactions_reject *reject);

/* Puts all of them into the open transaction of `t`; they stay here until dead_letters_clear(). */
enum fail_code dead_letters_put(
    const struct dead_letters *r, struct transactions *t, struct failure *f);

/* They are committed; or their transaction has failed, and they will be found again. */
void dead_letters_clear(struct dead_letters *r);

#endif
