/*
 * kafka.h -- librdkafka handles as riffle uses them, and queries of a broker.
 *
 * Files of this room:
 *     kafka            handles: opened with the right properties, closed without waiting for ever
 *     kafka_query      does a broker answer, partitions, watermarks, the last record
 *     brokers          bootstrap.servers: what is an address of a broker
 *     offsets          what a partition's first offset and end mean
 *     kafka_fail       what librdkafka's errors mean; retries until a deadline
 *     kafka_log        what librdkafka's threads report, as log lines
 *     kafka_stats      what a handle says about itself: round trips, what waits to be sent
 *     kafka_commits    what a group has committed
 *     kafka_groups     which groups there are, and who is in one
 *     kafka_trim       deletes the oldest records of partitions
 *     kafka_admin      one request of librdkafka's admin interface
 *     topics           the topics of a plan: queried, created, deleted, checked
 *     mix_names        which mixes there are, for a sentence about one that does not exist
 *     topics_judge     what the answers say about a topic: as planned, ready, allowed
 *
 * Properties come in three layers, of which a later one wins:
 *
 *     defaults    what tunes: fetch waits, linger, sizes of batches         riffle's, by role
 *     the user's  `kafka:` of the file, RIFFLE_BOOTSTRAP, -X
 *     forced      what correctness rests on: isolation.level=read_committed,
 *                 auto.offset.reset=error, no auto-commit, idempotence      riffle's, by role
 *
 * So a user can tune everything and break nothing; a property that loses is warned about.
 *
 * Every function that takes `timeout_ms` retries errors that pass by themselves (kafka_passing())
 * until then, and fails with the last one, or with the last failure of a connection where that is
 * the cause. Errors reported by librdkafka's threads are logged, rate-limited, once a broker and
 * kind.
 *
 * Before kafka_assign() or the first rd_kafka_produce() on a topic that a handle has not met,
 * query the topic with that very handle (kafka_partitions, kafka_watermarks_many): then it knows
 * the leaders. Else librdkafka 2.0.2 finds them at its next look, up to a second later (measured:
 * 1.0 s against 5 ms).
 *
 * Thread: a handle belongs to the thread that opened it, unless librdkafka says otherwise.
 */
#ifndef COMMON_KAFKA_KAFKA_H
#define COMMON_KAFKA_KAFKA_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/properties.h"

struct kafka_stats;

enum kafka_role {
	KAFKA_READER, /* assign() at explicit offsets, read_committed, partition EOF events */
	KAFKA_WRITER, /* idempotent, acks=all */
	KAFKA_TRANSACTIONAL, /* needs transactional_id */
	KAFKA_ADMIN,         /* topics, watermarks; produces and reads nothing */
	KAFKA_MEMBER, /* subscribes in `group`, reads nothing; leaves the group when closed */
};

struct kafka_options {
	enum kafka_role role;
	const struct properties *properties; /* the user's; borrowed during kafka_open() */
	const char *client;                  /* client.id is "riffle-<client>" */
	const char *group; /* KAFKA_READER: for commits; NULL: none. KAFKA_MEMBER: needs it */
	/*
	 * KAFKA_MEMBER: where a join is not answered yet, kafka_close() does not wait for it. The
	 * member then does not leave, and is out when its session ends.
	 */
	bool hasty;
	/*
	 * KAFKA_READER: the handle only queries its group (commits, members); it commits and
	 * reads nothing. A query does not wait for the offsets of a transaction that is open.
	 */
	bool asks_only;
	bool
	    uncommitted; /* KAFKA_READER: the end of a log is that of all records, also undecided */
	const char *transactional_id; /* KAFKA_TRANSACTIONAL */
	size_t message_bytes_max;     /* largest record it writes; 0: librdkafka's default */
	const struct property *tune;  /* more defaults, which the user's properties override */
	size_t tune_n;
	/*
	 * KAFKA_WRITER: no record is delivered behind one of its partition that was not. A record
	 * is then never given up for its age, and one that is refused ends the handle (fatal).
	 */
	bool gapless;
	/*
	 * Failing connections are not logged: not before kafka_wait_broker(), where that follows;
	 * not at all where the handle only queries, and each failure names its cause.
	 */
	bool quiet;
	/* Where the handle's statistics go, borrowed for its life; NULL: it has none. */
	struct kafka_stats *stats;
	/* Delivery reports of writers; called from rd_kafka_poll() on the owner's thread. */
	void (*delivered)(rd_kafka_t *, const rd_kafka_message_t *, void *opaque);
	void *opaque;
};

/*
 * Whether librdkafka takes a property of the user's, by its name and value. FAIL_CONFIG names it,
 * and what was meant where that is known; its value only where that is harmless (see
 * property_names.h). Opens nothing, but for a library that plugin.library.paths names.
 */
enum fail_code kafka_check_property(const struct property *p, struct failure *f);

/* From this librdkafka on a broker that is not in the metadata is forgotten, with all it led. */
enum { KAFKA_FORGETS_FIRST = 0x020a0000 };

/*
 * FAIL_CONFIG: a librdkafka of this version, as of rd_kafka_version(), is too old (before 2.0.2),
 * or ends processes by errors of its own: from 2.4 to 2.9 where topics are recreated or brokers
 * restart (github.com/confluentinc/librdkafka, issues 4778 and 4907). Pure.
 */
enum fail_code kafka_check_version(int version, struct failure *f);

/*
 * Gives *out, to be ended with kafka_close(). Connects lazily: an unreachable broker shows later.
 * FAIL_CONFIG also as kafka_check_version(). FAIL_IO: the process may not start the threads, or
 * open the files, that librdkafka needs.
 */
enum fail_code kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *f);

/*
 * Whether some thread is inside rd_kafka_new(), which hangs if the system refuses it a thread after
 * kafka_open() has found that there are enough. For signal handlers.
 */
bool kafka_opening(void);

/*
 * Ends a handle; purges what was not delivered, and reports it to `delivered`. Waits at most a few
 * seconds. NULL is accepted.
 */
void kafka_close(rd_kafka_t *rk);

/*
 * Called by whoever waits for something of a handle, again and again: a handle that has had no
 * answer of a broker for five seconds meanwhile connects to bootstrap.servers again, which
 * librdkafka may have stopped to do. Every query of this room calls it. Any thread.
 */
void kafka_waits(rd_kafka_t *rk);

/* rd_kafka_consumer_poll(), and kafka_waits() where nothing came. */
rd_kafka_message_t *kafka_poll(rd_kafka_t *rk, int timeout_ms);

/*
 * Makes kafka_wait_broker() and kafka_wait_topic() end with FAIL_STOPPED once `stop` is asked, in
 * the whole process. Call it before the first of them. `stop` must live as long as the process.
 */
void kafka_set_stop(const struct stop *stop);

/*
 * Waits until the broker answers a metadata request, also for a host that DNS does not know yet.
 * FAIL_BROKER names bootstrap.servers and the usual cause. Every command calls this first, with a
 * KAFKA_ADMIN handle (which connects no sooner) or one opened `quiet`, so that one clear sentence
 * says "no broker"; failing connections are not logged during the wait.
 */
enum fail_code kafka_wait_broker(rd_kafka_t *rk, int timeout_ms, struct failure *f);

/*
 * One attempt to get the list of brokers: *out (rd_kafka_metadata_destroy), in which no topic is of
 * use. However many topics the cluster has, the response is small.
 */
rd_kafka_resp_err_t kafka_ask_brokers(
    rd_kafka_t *rk, const struct rd_kafka_metadata **out, int timeout_ms);

/* Number of partitions; 0: the topic does not exist. */
enum fail_code kafka_partitions(
    rd_kafka_t *rk, const char *topic, int *partitions, int timeout_ms, struct failure *f);

/*
 * FAIL_CONFIG: the topic does not exist. Names the broker of `rk` (NULL: none), and the command
 * that creates the topic.
 */
enum fail_code kafka_fail_missing(struct failure *f, rd_kafka_t *rk, const char *topic);

/* FAIL_CONFIG: the topic does not exist, or has more than one partition. */
enum fail_code kafka_check_single(
    rd_kafka_t *rk, const char *topic, int timeout_ms, struct failure *f);

/* Both at once, with one request: waits for a broker as kafka_wait_broker() does. */
enum fail_code kafka_wait_topic(
    rd_kafka_t *rk, const char *topic, int *partitions, int timeout_ms, struct failure *f);

/*
 * First offset kept, and the end (one past the last; read_committed sees no further than the LSO).
 */
enum fail_code kafka_watermarks(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low,
    int64_t *high, int timeout_ms, struct failure *f);

/*
 * The same for the partitions [first, first + n) of one topic in one round trip to each broker.
 * `low` may be NULL: then it is not asked for.
 */
enum fail_code kafka_watermarks_many(rd_kafka_t *rk, const char *topic, int32_t first, size_t n,
    int64_t *low, int64_t *high, int timeout_ms, struct failure *f);

/*
 * The same for any list of existing partitions, of several topics; overwrites the list's offsets.
 */
enum fail_code kafka_watermarks_list(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
    int64_t *low, int64_t *high, int timeout_ms, struct failure *f);

/*
 * The first offset of a partition whose record has a timestamp of `time_ms` or later, by the
 * broker's index; -1: there is none. Not for topics that are written in transactions, whose markers
 * have timestamps of the broker's.
 */
enum fail_code kafka_offset_at(rd_kafka_t *rk, const char *topic, int32_t partition,
    int64_t time_ms, int64_t *offset, int timeout_ms, struct failure *f);

/*
 * rd_kafka_assign(), which nothing else calls. No later call on the handle, kafka_close() included,
 * comes before librdkafka has stopped the partitions that were assigned before. NULL: assigns none.
 *
 * Why it waits (librdkafka #5573, in 2.15 and earlier). A partition that is taken out of the
 * assignment is stopped by two messages in the queue of librdkafka's main thread, and it counts as
 * started until the second one is served:
 *
 *     rd_kafka_assign(A)   A is started
 *     rd_kafka_assign(A)   queue: stop A
 *     rd_kafka_assign(A)   queue: stop A, assign A   --> stopped A, and A is stopped once more
 *                          the second "stopped A" ends the process at an assert
 *
 * rd_kafka_destroy() in place of the last call does the same. The queue is first in, first out. So
 * a question that the main thread has answered came after "stop A", and what follows the answer
 * comes after "stopped A".
 */
rd_kafka_resp_err_t kafka_assign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list);

/*
 * Reads one partition from `offset` on, and nothing else. Records that were fetched before may
 * still come.
 */
rd_kafka_resp_err_t kafka_assign_one(
    rd_kafka_t *rk, const char *topic, int32_t partition, int64_t offset);

/*
 * Whether `m` reports the end of its partition, at `end` or later. Take `end` from
 * kafka_watermarks() with the same handle: the leader gave it. A follower that lags (client.rack),
 * or a new leader, reports an earlier end until it has heard how far the others are. To believe
 * that one would be to miss records, so the reader polls on; the end is reported again later. The
 * end is compared, not the last record: markers of transactions may lie between the two.
 */
bool kafka_at_end(const rd_kafka_message_t *m, int64_t end);

/*
 * Whether to ask for the ends of logs once more, because those that came mean that records are
 * `lost`. A broker that has just restarted, or has just become leader, may report an earlier end at
 * first. What still looks lost after KAFKA_SURE_MS is lost. *since_ms is 0 before the first look.
 * Pauses before it returns true.
 */
enum { KAFKA_SURE_MS = 3000 };
bool kafka_look_again(int64_t *since_ms, bool lost);

/*
 * Gives the last visible record of a partition, to be ended with rd_kafka_message_destroy();
 * *out = NULL: the partition holds none. `rk` is a KAFKA_READER with nothing assigned, and has
 * nothing assigned afterwards. Steps back over control and aborted records.
 */
enum fail_code kafka_last_record(rd_kafka_t *rk, const char *topic, int32_t partition,
    rd_kafka_message_t **out, int timeout_ms, struct failure *f);

/* The same. *emptied: *out is NULL because all records were deleted (offsets.h). */
enum fail_code kafka_last_or_emptied(rd_kafka_t *rk, const char *topic, int32_t partition,
    rd_kafka_message_t **out, bool *emptied, int timeout_ms, struct failure *f);

/*
 * The same within [low, high): who knows where the partition ends saves two requests, and who knows
 * what lies below `low` looks no further back.
 */
enum fail_code kafka_last_record_in(rd_kafka_t *rk, const char *topic, int32_t partition,
    int64_t low, int64_t high, rd_kafka_message_t **out, int timeout_ms, struct failure *f);

/* The same for the first offset that is kept; NULL also where no visible record stands there. */
enum fail_code kafka_first_record(rd_kafka_t *rk, const char *topic, int32_t partition,
    rd_kafka_message_t **out, int timeout_ms, struct failure *f);

/* Value of the last header of this name, *n bytes, borrowed from `m`; NULL: there is none. */
const char *kafka_header(const rd_kafka_message_t *m, const char *name, size_t *n);

/*
 * Whether any request of a KAFKA_TRANSACTIONAL handle that writes (produce, and all that makes a
 * transaction) was sent and never answered: its connection broke, or time ran out. librdkafka sends
 * it again and does not report that, but the first copy may still be on its way, and the broker may
 * yet act on it.
 */
bool kafka_doubtful(rd_kafka_t *rk);

/* librdkafka's own error as ours, with what was attempted in front. Takes (destroys) `error`. */
enum fail_code kafka_fail(struct failure *f, rd_kafka_error_t *error, const char *attempted);

/* The same for an error code; `text` says more than the code does, or is NULL. */
enum fail_code kafka_fail_code(
    struct failure *f, rd_kafka_resp_err_t err, const char *text, const char *attempted);

/*
 * Whether an error says that an offset is not in the log: records were deleted, or the log lost its
 * tail or was recreated. Positions are never reset by themselves (auto.offset.reset=error).
 */
bool kafka_lost(rd_kafka_resp_err_t err);

/* Whether an error passes by itself: a connection to be made, a leader or coordinator to be
 * found, or one that has just begun. */
bool kafka_passing(rd_kafka_resp_err_t err);

/* Whether the broker says that the user lacks a right (an ACL). */
bool kafka_denied(rd_kafka_resp_err_t err);

/*
 * The same for what rd_kafka_consumer_poll() gave, where `m` is not NULL. That a handle which
 * commits nothing may not look for the coordinator of its group does not count.
 */
bool kafka_message_denied(rd_kafka_t *rk, const rd_kafka_message_t *m);

/*
 * FAIL_DENIED: the sentence names the right that the user lacks, as `operation` (NULL: what the
 * handle is for) on the kind of thing that `err` is about, called `name` (NULL: the handle's own
 * group or transactional id).
 */
enum fail_code kafka_fail_denied(struct failure *f, rd_kafka_t *rk, rd_kafka_resp_err_t err,
    const char *operation, const char *name, const char *attempted);

/*
 * Whether a topic that a KAFKA_TRANSACTIONAL handle wrote to was refused for want of a right: then
 * `f` says which. Called where records of a transaction come back undelivered.
 */
bool kafka_refused(struct failure *f, rd_kafka_t *rk, const char *attempted);

/*
 * kafka_fail_code() of something done with a topic. Where it was denied, the right is the one that
 * the handle is for: READ of a KAFKA_READER, WRITE of writers, DESCRIBE of a KAFKA_ADMIN.
 */
enum fail_code kafka_fail_topic(struct failure *f, rd_kafka_t *rk, rd_kafka_resp_err_t err,
    const char *text, const char *attempted, const char *topic);

/* A hint a person can act on for an error code, or "" ("is the broker running at ...?"). */
const char *kafka_hint(rd_kafka_resp_err_t err);

#endif
