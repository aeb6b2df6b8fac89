/*
 * transactions.h -- a mix's transactions, one after the other: batches, ledger record, dead letters
 * and offsets of one become visible together, or none of them does.
 *
 *     transactions_open
 *       transactions_begin  transactions_put ...  transactions_put_ledger  transactions_commit
 *       transactions_begin  ...
 *     transactions_close
 *
 * The transactional id is <mix>.mixer. Opening a handle with it fences every older handle: the
 * broker raises the epoch of the id, aborts what they have open, and refuses what they send from
 * then on (FAIL_FENCED). It also raises the epoch by itself when it times a transaction out. Which
 * of the two it was only the ledger tells (claim.h).
 *
 * Doubt. Any failure inside a transaction makes the handle unusable: the outcome may be unknown,
 * and librdkafka 2.0.2 can neither find it out nor safely go on. The caller closes the handle,
 * opens another, and reads the state back from the ledger, never from memory.
 *
 * A transaction that succeeded may leave doubt, too. librdkafka repeats requests by itself, and the
 * protocol that it speaks numbers handles (the epoch) but not their transactions:
 *
 *     1. The handle has epoch 5. commit: it sends EndTxn(epoch 5) for transaction T. The connection
 *        breaks before the answer, with the request somewhere on its way.
 *     2. librdkafka reconnects and sends EndTxn(epoch 5) once more. The broker commits T and
 *        answers; the commit is reported as a success. Nothing is reported of the first copy.
 *     3. The mixer begins transaction T + 1 and sends the first of its records.
 *     4. The first copy arrives. Its epoch is right, and a transaction is open: the broker commits
 *        T + 1 as it is, a few lanes of a few steps without their ledger record.
 *     5. The mixer's own end of T + 1 fails. It reads the ledger, which ends at T, and draws T + 1
 *        again: trainers see those steps twice.
 *
 * So kafka_doubtful() notes every request of a handle that was sent and never answered, and
 * transactions_begin() refuses at step 3 with FAIL_BROKER. The next handle has epoch 6, and the
 * late copy is refused at step 4. (Seen on Kafka 3.9 through a proxy that holds an EndTxn back:
 * tests/kafka/test_doubt.py.)
 *
 * Offsets that go back. A record that is delivered at a lower offset than one before it says that
 * the partition has lost its end, or that its topic was recreated, under a running mixer. Brokers
 * take such records, and a commit would make them visible over a hole. So every delivery of a lane
 * must be behind the last one, and behind where the lane ended when the mixer attached; else the
 * handle fails with FAIL_BROKER before anything is committed, and attaching tells what was lost. So
 * it does where the answer for a record is lost: the broker knows its repetition, and does not say
 * at which offset the first one is. (The handle is in doubt then, too, and ends after the commit.)
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_TRANSACTIONS_H
#define CONSUMER_PUBLISH_TRANSACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/lane_map.h"

enum {
	TRANSACTIONS_TIMEOUT_MS = 10000,     /* for one message, and for a commit, */
	TRANSACTIONS_PARTITIONS_MS = 1000,   /* and so much more for each */
	TRANSACTIONS_PARTITIONS_OF_TIME = 64 /* partitions: see transactions_times() */
};

/* How long things may take. message_ms + age_ms <= abort_ms. */
struct transactions_times {
	int message_ms; /* one message until it is delivered; one commit until it is answered */
	int abort_ms;   /* open for longer: the broker aborts the transaction, fencing us */
	int age_ms;     /* when a transaction is to be ended at the latest, wanted or less */
};

/*
 * Ours, for a mix that wants transactions of `age_ms` in so many partitions. A message waits for
 * the markers of the transaction before, and in the first one for every partition to be added, and
 * its log to be begun: a broker that is busy needs more than ten seconds for a thousand of these.
 * A transaction.timeout.ms of the user counts, and what lies within it becomes shorter with it.
 * Pure.
 */
struct transactions_times transactions_times(
    const struct properties *p, uint32_t partitions, uint32_t age_ms);

/* For a broker that is busy: until an answer, or until the markers of a transaction. Pure. */
int transactions_patience_ms(uint32_t partitions);

struct kafka_stats;
struct lane_end;
struct transactions;

struct transactions_options {
	const struct properties *properties;
	const char *mix; /* transactional.id is <mix>.mixer */
	const char *rejects_topic;
	size_t message_bytes_max;   /* of a batch */
	uint64_t transaction_bytes; /* how much a transaction holds, */
	uint64_t queue_bytes;       /* and how much of it may wait to be sent */
	uint32_t age_ms;            /* how old one may become before its commit */
	struct lane_map map;        /* where lanes lie; no partition: no record of a lane is put */
	struct kafka_stats *stats;  /* of the handle, borrowed; NULL: none are taken */
};

/* Where the mixer stands in one partition of a domain topic, for lag tools. */
struct transactions_offset {
	const char *topic;
	int32_t partition;
	int64_t taken;
};

/* A Kafka header of a record. */
struct transactions_header {
	const char *name;
	const void *value; /* [n] */
	size_t n;
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

/*
 * Gives *out, to be ended with transactions_close(). Fences older handles, and waits until what
 * they left open is aborted and what they were committing is committed: every earlier transaction
 * is decided when this returns. Copies the options. FAIL_BROKER, FAIL_TIMEOUT, FAIL_FENCED (another
 * handle was opened meanwhile), FAIL_DENIED.
 */
enum fail_code transactions_open(
    struct transactions **out, const struct transactions_options *o, struct failure *f);

/*
 * NULL is accepted. An open transaction is aborted where nothing has failed; else it is left for
 * the broker, or the next handle, to abort.
 */
void transactions_close(struct transactions *t);

/* A transaction is open, and nothing of it has failed: transactions_close() aborts it. */
bool transactions_sound(const struct transactions *t);

/* Whether lanes lie somewhere (record/lane_map.h), so that records are put there. */
bool transactions_copy(const struct transactions *t);

/*
 * FAIL_BROKER: the handle is in doubt, or cannot begin. After a failure, here or below, the handle
 * is good for transactions_close() only.
 */
enum fail_code transactions_begin(struct transactions *t, struct failure *f);

/*
 * Every record of `lane` is to be delivered at `offset_next` or behind it: the lane's end, as it
 * was read since the handle was opened.
 */
void transactions_expect(struct transactions *t, uint32_t lane, int64_t offset_next);
/* The same of the ledger. */
void transactions_expect_ledger(struct transactions *t, int64_t offset_next);
/*
 * end[map.partitions] are the ends of the batch topic's partitions, while no transaction is open.
 * FAIL_BROKER: one lies before what was delivered there, or expected.
 */
enum fail_code transactions_check_ends(
    const struct transactions *t, const int64_t *end, struct failure *f);

/*
 * Takes `bytes` (malloc), also on failure; copies the header, where it is not NULL. Waits where the
 * queue is full.
 */
enum fail_code transactions_put(
    struct transactions *t, uint32_t lane, uint8_t *bytes, size_t n, struct failure *f);
enum fail_code transactions_put_ledger(struct transactions *t, uint8_t *bytes, size_t n,
    const struct transactions_header *header, struct failure *f);
/* Copies. */
enum fail_code transactions_put_reject(
    struct transactions *t, const struct transactions_reject *r, struct failure *f);

/*
 * FAIL_NONE: no other handle was opened since this one. Asks the coordinator, which tells a writer
 * alone, by a transaction of an offset that is aborted; only where none is open. FAIL_FENCED.
 */
enum fail_code transactions_check_owner(struct transactions *t, struct failure *f);

/* Calls back what waits: figures of the handle (`stats`), deliveries. Waits for nothing. */
void transactions_serve(struct transactions *t);

/* Waits until every record that was put is delivered. Fails as transactions_commit() does. */
enum fail_code transactions_flush(struct transactions *t, struct failure *f);

/* Ends the open transaction without its records. Fails as transactions_commit() does. */
enum fail_code transactions_abort(struct transactions *t, struct failure *f);

/*
 * Ends what older transactions of the mix left open: on the lanes that are `open`, in the ledger
 * where `ledger` says so, and of the dead letters. A partition that lost a marker, or never got
 * one, still has the transaction open, of the mix's own producer id. A record of one byte is put
 * there and aborted, and one marker ends both: no reader sees either. Where nothing is open, that
 * costs two offsets. No transaction of this handle is open.
 */
enum fail_code transactions_end_open(struct transactions *t, const struct lane_end *end,
    uint32_t lanes, bool ledger, struct failure *f);

/*
 * Sends the offsets to group <mix>.mixer and commits. FAIL_NONE: committed; readers may see it a
 * moment later. Else the outcome is unknown, also with FAIL_FENCED.
 */
enum fail_code transactions_commit(struct transactions *t, const struct transactions_offset *offset,
    size_t offsets_n, struct failure *f);

#endif
