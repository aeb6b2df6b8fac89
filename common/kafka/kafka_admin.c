#include "common/kafka/kafka_admin.h"

#include <assert.h>
#include <stdbool.h>

enum { ADMIN_MS_MIN = 100, ADMIN_SLACK_MS = 200 };

void
kafka_admin_open(
    struct kafka_admin *a, rd_kafka_t *rk, rd_kafka_admin_op_t operation, int timeout_ms)
{
	/*
	 * librdkafka refuses an option that the operation does not have, or a time out of range;
	 * its own default then holds.
	 */
	int ms = timeout_ms < ADMIN_MS_MIN ? ADMIN_MS_MIN : timeout_ms;
	bool changes = operation == RD_KAFKA_ADMIN_OP_CREATETOPICS ||
		       operation == RD_KAFKA_ADMIN_OP_DELETETOPICS;

	assert(timeout_ms >= 0);
	a->options = rd_kafka_AdminOptions_new(rk, operation);
	a->queue = rd_kafka_queue_new(rk);
	a->event = NULL;
	rd_kafka_AdminOptions_set_request_timeout(a->options, ms, NULL, 0);
	if (changes)
		rd_kafka_AdminOptions_set_operation_timeout(a->options, ms, NULL, 0);
}

void
kafka_admin_close(struct kafka_admin *a)
{
	if (a->event != NULL)
		rd_kafka_event_destroy(a->event);
	if (a->queue != NULL)
		rd_kafka_queue_destroy(a->queue);
	if (a->options != NULL)
		rd_kafka_AdminOptions_destroy(a->options);
	*a = (struct kafka_admin){0};
}

rd_kafka_resp_err_t
kafka_admin_wait(struct kafka_admin *a, int timeout_ms)
{
	assert(a->queue != NULL);
	assert(a->event == NULL);
	/* librdkafka ends the request at its timeout; the slack lets its own error arrive. */
	a->event = rd_kafka_queue_poll(a->queue, timeout_ms + ADMIN_SLACK_MS);
	return a->event == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(a->event);
}
