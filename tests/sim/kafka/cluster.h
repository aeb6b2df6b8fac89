/*
 * cluster.h -- a Kafka cluster in memory: logs, transactions, committed offsets, time, chance.
 *
 * It lives in one shared mapping at a fixed place, so that every process that is forked from the
 * one which opened it sees the same cluster, and a process that dies leaves it as it stands: what
 * that process had sent and the cluster has not taken yet comes later all the same. The clock moves
 * only when a process asks for something or waits; exactly one process runs at a time.
 *
 * What is modelled, after the source of Kafka 3.9 and of librdkafka 2.0.2: log start, high
 * watermark and last stable offset; markers that take an offset; producer ids, epochs, sequence
 * numbers; the coordinator's states and its time-out; requests that come late or whose answers are
 * lost; leaders that change, and with them a high watermark that lags.
 *
 * Thread: one at a time.
 */
#ifndef TESTS_SIM_CLUSTER_H
#define TESTS_SIM_CLUSTER_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/sim/kafka/chance.h"

enum {
	CLUSTER_NAME_MAX = 250,
	CLUSTER_BROKERS = 3,
	CLUSTER_TOPICS_MAX = 512,
	CLUSTER_PARTITIONS_MAX = 512, /* of one topic */
	CLUSTER_PARTITIONS_ADDED = 4, /* to a topic, at most */
	CLUSTER_TXNS_MAX = 64,        /* transactional ids */
	CLUSTER_TXN_PARTITIONS_MAX = 512,
	CLUSTER_COMMITS_MAX = 1024,
	CLUSTER_SETTINGS_MAX = 16,
	CLUSTER_BATCHES_KEPT = 5, /* of a producer, to know a repeated request's offset */
};

enum cluster_fate {
	CLUSTER_PLAIN,
	CLUSTER_OPEN, /* of a transaction without its marker yet */
	CLUSTER_COMMITTED,
	CLUSTER_ABORTED,
	CLUSTER_MARKER,
};

struct cluster_header {
	char *name, *value;
	size_t value_n;
};

struct cluster_record {
	enum cluster_fate fate;
	bool null_value;
	uint8_t *bytes, *key;
	size_t n, key_n;
	struct cluster_header *header;
	size_t headers_n;
	int64_t timestamp_ms;
	int64_t producer;
	int16_t epoch;
	bool commit; /* of a marker */
	bool undone; /* it was aborted, and the log has lost the marker that says so */
};

/* What a partition knows of a producer id. */
struct cluster_producer {
	int64_t producer;
	int16_t epoch; /* -1: none yet, and any sequence may come first */
	int32_t sequence_next;
	int64_t open_first; /* offset; -1: no transaction is open here */
	int32_t batch_first[CLUSTER_BATCHES_KEPT], batch_n[CLUSTER_BATCHES_KEPT];
	int64_t batch_offset[CLUSTER_BATCHES_KEPT];
	unsigned batches;
	struct cluster_producer *next;
};

struct cluster_partition {
	struct cluster_topic *topic;
	int32_t number;
	struct cluster_record *record; /* the offset is the index */
	int64_t end, room, log_start;
	int64_t high_lagging;  /* the high watermark of a new leader, */
	int64_t lags_until_ms; /* until then */
	int64_t leaderless_until_ms;
	int64_t offline_until_ms; /* its log cannot be used */
	struct cluster_producer *producers;
};

struct cluster_setting {
	char name[64], value[64];
};

struct cluster_topic {
	char name[CLUSTER_NAME_MAX];
	bool deleted;
	int32_t partitions, room;
	struct cluster_partition *partition; /* [room]: they stay where they are */
	struct cluster_setting setting[CLUSTER_SETTINGS_MAX];
	size_t settings_n;
};

struct cluster_commit {
	char group[CLUSTER_NAME_MAX], topic[CLUSTER_NAME_MAX];
	int32_t partition;
	int64_t offset;
	char *metadata;   /* NULL: none */
	uint64_t written; /* its place in the log of offsets */
};

enum cluster_txn_state { CLUSTER_TXN_EMPTY, CLUSTER_TXN_ONGOING, CLUSTER_TXN_ENDING };

struct cluster_txn_partition {
	struct cluster_partition *partition;
	int64_t marker_ms; /* when its marker comes */
	bool marked;
};

/* A transactional id, as its coordinator knows it. */
struct cluster_txn {
	char id[CLUSTER_NAME_MAX];
	int64_t producer;
	int16_t epoch;
	enum cluster_txn_state state;
	bool commit;     /* of the ENDING, or of the one that ended last */
	bool ended_once; /* there was one */
	bool expired;    /* the coordinator ended it */
	int timeout_ms;
	int64_t expires_ms; /* while it is ONGOING */
	struct cluster_txn_partition partition[CLUSTER_TXN_PARTITIONS_MAX];
	size_t partitions_n;
	struct cluster_commit *offset; /* sent with the transaction */
	size_t offsets_n;
	int64_t offsets_ms; /* when they come into force, while ENDING */
	bool offsets_there;
};

/* Of a group whose members share one partition. */
struct cluster_member {
	char group[CLUSTER_NAME_MAX], client[64], topic[CLUSTER_NAME_MAX];
	uint64_t process;
	uint64_t id; /* new at each join */
	int64_t seen_ms, joined_ms, session_ms;
	bool left;
	struct cluster_member *next;
};

enum cluster_request_kind { CLUSTER_PRODUCE, CLUSTER_END, CLUSTER_COMMIT };

/* A request on its way. The client that waits for it looks at `done`. */
struct cluster_request {
	enum cluster_request_kind kind;
	struct cluster_request *next;
	int64_t due_ms;
	bool done;
	rd_kafka_resp_err_t err;
	int64_t producer;
	int16_t epoch;
	/* CLUSTER_PRODUCE */
	struct cluster_partition *partition;
	struct cluster_txn *txn; /* NULL: idempotent only; of CLUSTER_END, too */
	int32_t sequence;
	struct cluster_record *record;
	size_t records_n;
	int64_t offset; /* of the first record; -1: not known */
	bool commit;    /* CLUSTER_END */
	/* CLUSTER_COMMIT */
	struct cluster_commit *offsets;
	size_t offsets_n;
};

struct cluster {
	size_t used, size;
	int64_t now_ms;
	struct chance chance;
	bool scheduled; /* a driver decides which process runs */
	struct cluster_topic *topic[CLUSTER_TOPICS_MAX];
	size_t topics_n;
	struct cluster_txn *txn[CLUSTER_TXNS_MAX];
	size_t txns_n;
	struct cluster_commit commit[CLUSTER_COMMITS_MAX];
	size_t commits_n;
	uint64_t commits_written;
	struct cluster_request *requests; /* on their way, by due_ms */
	struct cluster_member *members;
	uint64_t member_ids; /* given so far */
	int64_t producer_next;
	void *world; /* the driver's own */
};

extern struct cluster *cluster; /* NULL: not opened */
/* Hears of each commit of a group that has come; allocates nothing. NULL: nobody does. */
extern void (*cluster_heard)(const struct cluster_commit *c);

/* Maps `size` bytes and makes an empty cluster there; does nothing where there is one. */
void cluster_open(size_t size);
/* Another course of chance, before anything is asked of the cluster; opens it. */
void cluster_seed(uint64_t seed);
/* Memory of the cluster, zeroed, until it is restored. Ends the program where there is none. */
void *cluster_allocate(size_t n);
char *cluster_copy_text(const char *text);
/* An image of all (free), and back. */
void *cluster_save(size_t *n);
void cluster_restore(const void *image, size_t n);

struct cluster_topic *cluster_topic(const char *name);
struct cluster_topic *cluster_make_topic(const char *name, int32_t partitions);
/* With all commits of groups for it. */
void cluster_delete_topic(struct cluster_topic *t);
/* False: there are as many already, or no room. */
bool cluster_add_partitions(struct cluster_topic *t, int32_t partitions);
/* NULL: there is none. */
struct cluster_partition *cluster_partition(const char *topic, int32_t partition);

/* What all clients see, and what those see that read committed records only. */
int64_t cluster_high(const struct cluster_partition *p);
int64_t cluster_stable(const struct cluster_partition *p);
/*
 * The last n records are gone, as where all replicas lost them: producers and transactions are
 * known by what is left. Requests on their way arrive behind it.
 */
void cluster_cut(struct cluster_partition *p, int64_t n);
/* Gives room for one more record at the end, as it is on the log at once. */
struct cluster_record *cluster_append(struct cluster_partition *p);
struct cluster_producer *cluster_producer_of(struct cluster_partition *p, int64_t producer);
/* A batch of a plain producer that arrives now; for the conformance suite. */
rd_kafka_resp_err_t cluster_produce(const char *topic, int32_t partition, int64_t producer,
    int16_t epoch, int32_t sequence, int32_t n, int64_t *offset);

/* Does what is due: requests that arrive, markers, time-outs. */
void cluster_tick(void);
/* When something will be due next; INT64_MAX: nothing. */
int64_t cluster_next_ms(void);
/* Takes what cluster_allocate() gave. */
void cluster_send(struct cluster_request *r, int64_t due_ms);

/* cluster_txn.c */
struct cluster_txn *cluster_txn(const char *id);
/* InitProducerId. CONCURRENT_TRANSACTIONS: ask again. */
rd_kafka_resp_err_t cluster_txn_init(
    struct cluster_txn *t, int timeout_ms, int64_t *producer, int16_t *epoch);
/* AddPartitionsToTxn, AddOffsetsToTxn and TxnOffsetCommit. */
rd_kafka_resp_err_t cluster_txn_add(
    struct cluster_txn *t, int64_t producer, int16_t epoch, struct cluster_partition *p);
rd_kafka_resp_err_t cluster_txn_offsets(struct cluster_txn *t, int64_t producer, int16_t epoch,
    const struct cluster_commit *offset, size_t n);
rd_kafka_resp_err_t cluster_txn_end(
    struct cluster_txn *t, int64_t producer, int16_t epoch, bool commit);
bool cluster_txn_has(const struct cluster_txn *t, const struct cluster_partition *p);
/* It is decided, and its marker is on its way to the partition. */
bool cluster_txn_marks(const struct cluster_txn *t, const struct cluster_partition *p);
/*
 * The coordinator forgets an id that rests, with what partitions know of its producer; false: it is
 * unknown, or has a transaction open.
 */
bool cluster_txn_expire(const char *id);
/* The same for the conformance suite, and all resting producers are forgotten. */
void cluster_expire(const char *id);
/* Markers and time-outs that are due. */
void cluster_txn_tick(struct cluster_txn *t);
int64_t cluster_txn_next_ms(const struct cluster_txn *t);

/* cluster_groups.c */
struct cluster_commit *cluster_commit(const char *group, const char *topic, int32_t partition);
/* Of two the one written later counts, whichever becomes visible first; written 0: now. */
void cluster_commit_set(const struct cluster_commit *c);
/* NULL group: those of every group; partition -1: those of every partition. */
void cluster_commit_forget(const char *group, const char *topic, int32_t partition);
/* What the broker says to a commit for the partition with so much metadata. */
rd_kafka_resp_err_t cluster_commit_check(const char *topic, int32_t partition, size_t metadata_n);

#endif
