#include "common/kafka/kafka_commits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka_internal.h"

/* The entry of `list` that answers `p`; as a rule it is the one at the same place. */
static rd_kafka_topic_partition_t *
entry_of(rd_kafka_topic_partition_list_t *list, int i, const rd_kafka_topic_partition_t *p)
{
	rd_kafka_topic_partition_t *same = i < list->cnt ? &list->elems[i] : NULL;

	if (same != NULL && same->partition == p->partition && strcmp(same->topic, p->topic) == 0)
		return same;
	return rd_kafka_topic_partition_list_find(list, p->topic, p->partition);
}

/* Copies offsets and metadata of the answer into `list`; what is not there stays. */
static rd_kafka_resp_err_t
take_offsets(const rd_kafka_topic_partition_list_t *answer, rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; answer != NULL && i < answer->cnt; i++) {
		const rd_kafka_topic_partition_t *p = &answer->elems[i];
		rd_kafka_topic_partition_t *to = entry_of(list, i, p);

		if (p->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return p->err;
		if (to == NULL || p->offset < 0)
			continue;
		to->offset = p->offset;
		if (p->metadata == NULL || to->metadata != NULL)
			continue;
		to->metadata = strndup(p->metadata, p->metadata_size);
		if (to->metadata == NULL)
			return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
		to->metadata_size = strlen(to->metadata);
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
forget(rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++) {
		list->elems[i].offset = -1;
		free(list->elems[i].metadata);
		list->elems[i].metadata = NULL;
		list->elems[i].metadata_size = 0;
	}
}

/*
 * `err`, or the error that says that the user may not look for the coordinator, which librdkafka
 * reports only to a consumer that polls. The poll can lose no record: it is made only on a handle
 * that has no partitions.
 */
static rd_kafka_resp_err_t
denied_or(rd_kafka_t *rk, rd_kafka_resp_err_t err)
{
	rd_kafka_topic_partition_list_t *assigned = NULL;
	rd_kafka_message_t *m = NULL;

	if (rd_kafka_assignment(rk, &assigned) == RD_KAFKA_RESP_ERR_NO_ERROR && assigned->cnt == 0)
		m = kafka_poll(rk, 0);
	if (assigned != NULL)
		rd_kafka_topic_partition_list_destroy(assigned);
	if (m == NULL)
		return err;
	if (kafka_denied(m->err))
		err = m->err;
	rd_kafka_message_destroy(m);
	return err;
}

/* One request to the group's coordinator, for all partitions at once. */
static rd_kafka_resp_err_t
query_once(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms)
{
	rd_kafka_topic_partition_list_t *answer = rd_kafka_topic_partition_list_copy(list);
	rd_kafka_resp_err_t err = rd_kafka_committed(rk, answer, timeout_ms);

	forget(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = take_offsets(answer, list); /* what it copies is text with an end */
	else
		err = denied_or(rk, err);
	rd_kafka_topic_partition_list_destroy(answer);
	return err;
}

enum fail_code
kafka_commits(
    rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list, int timeout_ms, struct failure *f)
{
	const struct kafka_handle *h = rd_kafka_opaque(rk);
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_resp_err_t err;

	assert(h->role == KAFKA_READER);
	assert(h->group_chosen);
	if (list->cnt == 0)
		return FAIL_NONE;
	do {
		err = query_once(rk, list, kafka_slice_ms(deadline_ms));
	} while (kafka_again(rk, err, deadline_ms));
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	forget(list);
	if (err == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)
		return fail_memory(f);
	if (err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		kafka_fail_denied(f, rk, err, NULL, NULL, "asking for its committed offsets");
	else
		kafka_fail_asking(
		    rk, err, "asking for its committed offsets", list->elems[0].topic, f);
	return fail_within(f, "group %s, topic %s", h->group, list->elems[0].topic);
}

enum fail_code
kafka_commits_of_topic(rd_kafka_t *rk, const char *topic, size_t n, int64_t *offset_next,
    char **metadata, int timeout_ms, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list;
	enum fail_code code;

	assert(n > 0 && n <= INT32_MAX);
	list = rd_kafka_topic_partition_list_new((int)n);
	for (size_t i = 0; i < n; i++)
		rd_kafka_topic_partition_list_add(list, topic, (int32_t)i);
	code = kafka_commits(rk, list, timeout_ms, f);
	for (size_t i = 0; i < n; i++) {
		rd_kafka_topic_partition_t *p = &list->elems[i];

		offset_next[i] = code == FAIL_NONE ? p->offset : -1;
		metadata[i] = p->metadata;
		p->metadata = NULL; /* the caller owns it from here on */
		p->metadata_size = 0;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}
