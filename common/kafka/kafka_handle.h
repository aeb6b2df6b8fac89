/*
 * kafka_handle.h -- what kafka*.c and topics_*.c share: what riffle keeps beside each librdkafka
 * handle, settings, admin requests, deadlines.
 *
 * It is the handle's opaque; kafka_open() makes it, kafka_close() frees it.
 */
#ifndef COMMON_KAFKA_KAFKA_HANDLE_H
#define COMMON_KAFKA_KAFKA_HANDLE_H

#include <stdatomic.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_log.h"

struct kafka_handle {
	struct kafka_log log;
	enum kafka_role role;
	char client[64];
	/* For messages: cut where they are longer, "" where there is none. */
	char bootstrap[256], group[256], transactional_id[256], user[256];
	bool group_chosen; /* the group is one of the caller's choice, */
	bool commits;      /* to commit to */
	void (*delivered)(rd_kafka_t *, const rd_kafka_message_t *, void *opaque);
	void *opaque;         /* the caller's, for `delivered` */
	atomic_bool doubtful; /* as kafka_doubtful() tells */
};

void kafka_handle_free(struct kafka_handle *h); /* NULL is accepted */

static inline bool
kafka_writes(enum kafka_role role)
{
	return role == KAFKA_WRITER || role == KAFKA_TRANSACTIONAL;
}

/* Sets all of `conf` but the callbacks. FAIL_CONFIG: librdkafka does not take a property. */
enum fail_code kafka_settings(
    rd_kafka_conf_t *conf, const struct kafka_options *o, const char *client, struct failure *f);

/* The value that is in force, cut to out[room]; "": none. */
void kafka_setting(const rd_kafka_conf_t *conf, const char *name, char *out, size_t room);

/* The handle that `conf` makes notes in `h` when it becomes doubtful. */
rd_kafka_resp_err_t kafka_requests_watch(rd_kafka_conf_t *conf, struct kafka_handle *h);

/* One request of librdkafka's admin interface and its answer; all zero: nothing acquired. */
struct kafka_admin {
	rd_kafka_AdminOptions_t *options;
	rd_kafka_queue_t *queue;
	rd_kafka_event_t *event; /* the answer; NULL: none yet */
};

void kafka_admin_open(
    struct kafka_admin *a, rd_kafka_t *rk, rd_kafka_admin_op_t operation, int timeout_ms);
void kafka_admin_close(struct kafka_admin *a);
/* Waits for the answer to what was sent with a->options and a->queue; its error as a whole. */
rd_kafka_resp_err_t kafka_admin_wait(struct kafka_admin *a, int timeout_ms);

/* Milliseconds until `deadline_ms` (monotonic clock); 0: it has passed. */
int kafka_left_ms(int64_t deadline_ms);

/* Time for one attempt of a question that must be answered by `deadline_ms` (monotonic clock). */
int kafka_slice_ms(int64_t deadline_ms);

/* Whether to try again: the error passes by itself and there is time. Pauses first. */
bool kafka_again(rd_kafka_resp_err_t err, int64_t deadline_ms);

/* kafka_fail_topic(), or the last failure of a connection where that is what stands behind `err`.
 */
enum fail_code kafka_fail_asking(rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *attempted,
    const char *topic, struct failure *f);

#endif
