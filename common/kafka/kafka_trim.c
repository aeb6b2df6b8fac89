#include "common/kafka/kafka_trim.h"

#include <assert.h>

#include "common/kafka/kafka_admin.h"
#include "common/kafka/kafka_internal.h"

/* The first error of the answer; takes over the offsets it gives. */
static rd_kafka_resp_err_t
take_answer(const rd_kafka_event_t *event, rd_kafka_topic_partition_list_t *list)
{
	const rd_kafka_DeleteRecords_result_t *result =
	    rd_kafka_event_DeleteRecords_result((rd_kafka_event_t *)(uintptr_t)event);
	const rd_kafka_topic_partition_list_t *answer;

	if (result == NULL)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	answer = rd_kafka_DeleteRecords_result_offsets(result);
	for (int i = 0; i < answer->cnt; i++) {
		const rd_kafka_topic_partition_t *p = &answer->elems[i];
		rd_kafka_topic_partition_t *to =
		    rd_kafka_topic_partition_list_find(list, p->topic, p->partition);

		if (p->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return p->err;
		if (to != NULL)
			to->offset = p->offset;
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
trim_once(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms)
{
	rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(list);
	struct kafka_admin admin;
	rd_kafka_resp_err_t err;

	kafka_admin_open(&admin, rk, RD_KAFKA_ADMIN_OP_DELETERECORDS, timeout_ms);
	rd_kafka_DeleteRecords(rk, &request, 1, admin.options, admin.queue);
	err = kafka_admin_wait(&admin, timeout_ms);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = take_answer(admin.event, list);
	kafka_admin_close(&admin);
	rd_kafka_DeleteRecords_destroy(request);
	return err;
}

enum fail_code
kafka_trim(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_resp_err_t err;

	for (int i = 0; i < list->cnt; i++)
		assert(list->elems[i].offset >= 0); /* -1 would ask for all there is */
	if (list->cnt == 0)
		return FAIL_NONE;
	do {
		err = trim_once(rk, list, kafka_left_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	if (kafka_denied(err))
		kafka_fail_denied(
		    f, rk, err, "DELETE", list->elems[0].topic, "deleting its oldest records");
	else
		kafka_fail_asking(rk, err, "deleting its oldest records", list->elems[0].topic, f);
	return fail_within(f, "topic %s", list->elems[0].topic);
}
