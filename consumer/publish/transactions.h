/*
 * transactions.h -- the mixer's transactions: batches, ledger record and offsets become visible
 * together.
 *
 *     transactions_begin  transactions_put ...  transactions_put_ledger  transactions_commit
 *
 * Any failure inside a transaction makes the handle unusable: its outcome may be unknown, and
 * librdkafka 2.0.2 can neither ask nor safely go on (an EndTxn that was delayed could end a later
 * transaction). The caller closes it, opens another (which fences the old one and ends what it left
 * open), and reads the state back from the ledger. The same holds where a transaction succeeded in
 * the end, but a request of it was sent, never answered, and sent again behind the caller's back:
 * its first copy may still arrive, and transactions_begin() refuses. FAIL_FENCED: another instance has
 * the id now, or the broker timed the transaction out; the ledger tells which.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_TRANSACTIONS_H
#define CONSUMER_PUBLISH_TRANSACTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"

enum {
	TRANSACTIONS_TIMEOUT_MS = 10000, /* for one message, and for a commit */
	TRANSACTIONS_ABORT_MS = 15000,
};

struct transactions;

struct transactions_options {
	const struct properties *properties;
	const char *mix; /* transactional.id is <mix>.mixer */
	const char *rejects_topic;
	size_t message_bytes_max;
	uint64_t transaction_bytes; /* how much a transaction holds */
};

/* Where the mixer stands in one partition of a domain topic, for lag tools. */
struct transactions_offset {
	const char *topic;
	int32_t partition;
	int64_t taken;
};

/* A record that could not be used, for <corpus>.rejects. */
struct transactions_reject {
	const char *topic;
	int32_t partition;
	int64_t offset;
	const char *domain; /* NULL: it is no sequence of a domain */
	uint64_t ordinal;
	const char *reason;
	const uint8_t *bytes;
	size_t n;
};

/* Gives *out, to be ended with transactions_close(); init_transactions() has fenced older instances.
 */
enum fail_code transactions_open(
    struct transactions **out, const struct transactions_options *o, struct failure *f);
void transactions_close(struct transactions *p); /* an open transaction is left to be aborted */

/* FAIL_BROKER: the handle is in doubt, or cannot begin. */
enum fail_code transactions_begin(struct transactions *p, struct failure *f);

/* Takes `bytes` (malloc), also on failure. Waits where the queue is full. */
enum fail_code transactions_put(
    struct transactions *p, int32_t lane, uint8_t *bytes, size_t n, struct failure *f);
enum fail_code transactions_put_ledger(
    struct transactions *p, uint8_t *bytes, size_t n, struct failure *f);
/* Copies. */
enum fail_code transactions_put_reject(
    struct transactions *p, const struct transactions_reject *r, struct failure *f);

/* Sends the offsets to group <mix>.mixer and commits. */
enum fail_code transactions_commit(struct transactions *p, const struct transactions_offset *offset,
    size_t offsets_n, struct failure *f);

#endif
