/*
 * kafka_admin.h -- one request of librdkafka's admin interface and its answer; private to
 * common/kafka.
 *
 *     kafka_admin_open(&a, rk, RD_KAFKA_ADMIN_OP_CREATETOPICS, ms);
 *     rd_kafka_CreateTopics(rk, topic, n, a.options, a.queue);
 *     err = kafka_admin_wait(&a, ms);      the answer is in a.event
 *     kafka_admin_close(&a);
 */
#ifndef COMMON_KAFKA_KAFKA_ADMIN_H
#define COMMON_KAFKA_KAFKA_ADMIN_H

#include <librdkafka/rdkafka.h>

/* All zero: nothing acquired. */
struct kafka_admin {
	rd_kafka_AdminOptions_t *options;
	rd_kafka_queue_t *queue;
	rd_kafka_event_t *event; /* the answer; NULL: none yet */
};

/* Acquires options and a queue of their own; a request takes at most `timeout_ms`, at least 100. */
void kafka_admin_open(
    struct kafka_admin *a, rd_kafka_t *rk, rd_kafka_admin_op_t operation, int timeout_ms);
void kafka_admin_close(struct kafka_admin *a);
/* Waits for the answer to what was sent with a->options and a->queue; its error as a whole. */
rd_kafka_resp_err_t kafka_admin_wait(struct kafka_admin *a, int timeout_ms);

#endif
