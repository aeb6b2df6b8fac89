/*
 * kafka_internal.h -- what the files of common/kafka share: what riffle keeps beside each
 * librdkafka handle, deadlines, and failures of requests.
 *
 * A struct kafka_handle is the handle's opaque. kafka_open() makes it, kafka_close() frees it,
 * after the last callback. All but `log` and the atomics is constant in between.
 */
#ifndef COMMON_KAFKA_KAFKA_INTERNAL_H
#define COMMON_KAFKA_KAFKA_INTERNAL_H

#include <stdatomic.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_log.h"

struct kafka_handle {
	struct kafka_log log;
	enum kafka_role role;
	char client[64];
	char *bootstrap;
	/* For messages: cut where they are longer, "" where there is none. */
	char group[256], transactional_id[256], user[256];
	bool broker_named;  /* bootstrap.servers is the user's, not the default */
	bool group_chosen;  /* the caller named the group */
	bool hasty;         /* see struct kafka_options */
	bool commits;       /* and will commit to it: not asks_only */
	atomic_bool purges; /* kafka_close() purges, so a fatal error is its consequence */
	void (*delivered)(rd_kafka_t *, const rd_kafka_message_t *, void *opaque);
	void *opaque;              /* the caller's, for `delivered` */
	struct kafka_stats *stats; /* the caller's; NULL: none are taken */
	atomic_bool doubtful;      /* what kafka_doubtful() returns; set by librdkafka's threads */
	atomic_bool joining;       /* KAFKA_MEMBER: a JoinGroup or SyncGroup is not answered yet */
	atomic_bool asked;         /* a connection was made, and a request sent on it */
	atomic_uint answers;       /* how many requests were answered; by librdkafka's threads */
	/* kafka_waits(): since when there has been no answer, and which was the last. */
	atomic_uint silent_behind;
	atomic_llong silent_ms;
};

/* Milliseconds until `deadline_ms` (monotonic clock); 0: it has passed. */
int kafka_left_ms(int64_t deadline_ms);

/* Time for one attempt of a request that must be answered by `deadline_ms` (monotonic clock). */
int kafka_slice_ms(int64_t deadline_ms);

/* What a request ends with to a broker that was forgotten (KAFKA_FORGETS_FIRST). */
#define KAFKA_DESTROY_BROKER ((rd_kafka_resp_err_t)-137)

/*
 * Whether a request that ended with `err` may have been carried out, or may yet be, and changes the
 * log or a transaction (kafka_doubtful()). False: it was answered, or never sent.
 */
bool kafka_leaves_doubt(int16_t api_key, rd_kafka_resp_err_t err);

/* Whether librdkafka has forgotten who leads partitions; renewed metadata tells it again. */
bool kafka_forgets_partitions(rd_kafka_resp_err_t err);

/*
 * Whether to try again: the error passes by itself, there is time, and librdkafka can start a
 * thread and open a socket for one more broker. Pauses first.
 */
bool kafka_again(rd_kafka_t *rk, rd_kafka_resp_err_t err, int64_t deadline_ms);

/*
 * FAIL_NONE, or FAIL_IO if the system does not let this process start `n` more threads: without
 * them librdkafka aborts or waits forever.
 */
enum fail_code kafka_check_threads(unsigned n, struct failure *f);

enum { KAFKA_FILES_MAX = 8 };

/*
 * FAIL_NONE, or FAIL_IO if this process may not open `n` <= KAFKA_FILES_MAX more files: librdkafka
 * takes a socket that it does not get for a broker that is away, and tries again.
 */
enum fail_code kafka_check_files(unsigned n, struct failure *f);

/* kafka_fail_topic(); FAIL_BROKER with the last failure of a connection where that is the cause. */
enum fail_code kafka_fail_asking(rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *attempted,
    const char *topic, struct failure *f);

/*
 * Requests the metadata of all topics: one response, whatever their number. Gives *out
 * (rd_kafka_metadata_destroy). A request by name is what creates topics on a broker with
 * auto.create.topics.enable; that ours never does so rests on a property (kafka.c) besides.
 */
enum fail_code kafka_all_topics(
    rd_kafka_t *rk, const struct rd_kafka_metadata **out, int64_t deadline_ms, struct failure *f);

#endif
