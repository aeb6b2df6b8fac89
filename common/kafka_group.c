#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka_handle.h"

/* Copies the answer for partitions 0..n-1 into the caller's arrays; what is not there stays. */
static rd_kafka_resp_err_t
take_offsets(
    const rd_kafka_topic_partition_list_t *list, size_t n, int64_t *offset_next, char **metadata)
{
	for (int i = 0; list != NULL && i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *p = &list->elems[i];

		if (p->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return p->err;
		if (p->partition < 0 || (size_t)p->partition >= n || p->offset < 0)
			continue;
		offset_next[p->partition] = p->offset;
		if (p->metadata == NULL || metadata[p->partition] != NULL)
			continue;
		metadata[p->partition] = strndup(p->metadata, p->metadata_size);
		if (metadata[p->partition] == NULL)
			return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t
take_event(rd_kafka_event_t *event, size_t n, int64_t *offset_next, char **metadata)
{
	const rd_kafka_ListConsumerGroupOffsets_result_t *result;
	const rd_kafka_group_result_t **group;
	size_t groups_n;

	if (event == NULL)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return rd_kafka_event_error(event);
	result = rd_kafka_event_ListConsumerGroupOffsets_result(event);
	if (result == NULL)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	group = rd_kafka_ListConsumerGroupOffsets_result_groups(result, &groups_n);
	if (groups_n != 1)
		return RD_KAFKA_RESP_ERR__BAD_MSG;
	if (rd_kafka_group_result_error(group[0]) != NULL)
		return rd_kafka_error_code(rd_kafka_group_result_error(group[0]));
	return take_offsets(rd_kafka_group_result_partitions(group[0]), n, offset_next, metadata);
}

static void
forget(size_t n, int64_t *offset_next, char **metadata)
{
	for (size_t i = 0; i < n; i++) {
		offset_next[i] = -1;
		free(metadata[i]);
		metadata[i] = NULL;
	}
}

/* One request to the group's coordinator, which is asked about all partitions at once. */
static rd_kafka_resp_err_t
ask_once(rd_kafka_t *rk, const char *group, const rd_kafka_topic_partition_list_t *list,
    int64_t *offset_next, char **metadata, int timeout_ms)
{
	rd_kafka_AdminOptions_t *options =
	    rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
	rd_kafka_ListConsumerGroupOffsets_t *request =
	    rd_kafka_ListConsumerGroupOffsets_new(group, list);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_event_t *event;
	rd_kafka_resp_err_t err;

	forget((size_t)list->cnt, offset_next, metadata);
	rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, NULL, 0);
	rd_kafka_ListConsumerGroupOffsets(rk, &request, 1, options, queue);
	event = rd_kafka_queue_poll(queue, timeout_ms);
	err = take_event(event, (size_t)list->cnt, offset_next, metadata);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_ListConsumerGroupOffsets_destroy(request);
	rd_kafka_AdminOptions_destroy(options);
	return err;
}

enum fail_code
kafka_group_offsets(rd_kafka_t *rk, const char *group, const char *topic, size_t n,
    int64_t *offset_next, char **metadata, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = kafka_clock_ms() + timeout_ms;
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t err;

	assert(n > 0 && n <= INT32_MAX);
	list = rd_kafka_topic_partition_list_new((int)n);
	for (size_t i = 0; i < n; i++) {
		rd_kafka_topic_partition_list_add(list, topic, (int32_t)i);
		metadata[i] = NULL;
	}
	do {
		err = ask_once(rk, group, list, offset_next, metadata, kafka_slice_ms(deadline_ms));
	} while (kafka_again(err, deadline_ms));
	rd_kafka_topic_partition_list_destroy(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	forget(n, offset_next, metadata);
	if (err == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)
		return fail_memory(f);
	kafka_fail_asking(rk, err, "asking for its committed offsets", f);
	return fail_within(f, "group %s, topic %s", group, topic);
}
