/*
 * kafka_handle.h -- what riffle keeps beside each librdkafka handle; private to kafka*.c.
 *
 * It is the handle's opaque; kafka_open() makes it, kafka_close() frees it.
 */
#ifndef COMMON_KAFKA_HANDLE_H
#define COMMON_KAFKA_HANDLE_H

#include "common/kafka.h"
#include "common/kafka_log.h"

struct kafka_handle {
	struct kafka_log log;
	enum kafka_role role;
	char client[64];
	char bootstrap[256]; /* for messages: cut where it is longer */
	void (*delivered)(rd_kafka_t *, const rd_kafka_message_t *, void *opaque);
	void *opaque; /* the caller's, for `delivered` */
};

/* Time for one attempt of a question that must be answered by `deadline_ms` (monotonic clock). */
int kafka_slice_ms(int64_t deadline_ms);

/* Whether to try again: the error passes by itself and there is time. Pauses first. */
bool kafka_again(rd_kafka_resp_err_t err, int64_t deadline_ms);

/* kafka_fail_code(), or the last failure of a connection where that is what stands behind `err`. */
enum fail_code kafka_fail_asking(
    rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *attempted, struct failure *f);

#endif
