#include "consumer/reader/lanes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/kafka/kafka.h"
#include "consumer/reader/lanes_state.h"

enum {
	LANES_EXPECTED = 8, /* a rank with more lanes opens its handle a second time */
	NUMBER_MAX_BYTES = 24,
	FETCH_WAIT_MS = 50, /* how long an idle fetch waits at the broker */
};

static enum fail_code
open_handle(struct lanes *l, const struct lanes_options *o, uint32_t lanes, struct failure *f)
{
	static char name[][32] = {"queued.max.messages.kbytes", "queued.min.messages",
	    "fetch.wait.max.ms", "fetch.message.max.bytes"};
	char value[sizeof(name) / sizeof(name[0])][NUMBER_MAX_BYTES];
	const struct config_property tune[] = {
	    {name[0], value[0]}, {name[1], value[1]}, {name[2], value[2]}, {name[3], value[3]}};
	struct kafka_options k = {
	    .role = KAFKA_READER,
	    .properties = o->properties,
	    .client = "read",
	    .group = l->group[0] == '\0' ? NULL : l->group,
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0]),
	    .quiet = l->total == 0, /* the first one: lanes_open() waits for the broker */
	};

	lane_fetch_init(&l->fetch, o->ahead_bytes == 0 ? LANES_AHEAD_BYTES : o->ahead_bytes, lanes);
	snprintf(value[0], NUMBER_MAX_BYTES, "%zu", l->fetch.ahead_bytes >> 10);
	snprintf(value[1], NUMBER_MAX_BYTES, "%zu", l->fetch.ahead_records);
	snprintf(value[2], NUMBER_MAX_BYTES, "%d", FETCH_WAIT_MS);
	snprintf(value[3], NUMBER_MAX_BYTES, "%zu", l->fetch.fetch_bytes);
	return kafka_open(&l->rk, &k, f);
}

static enum fail_code
check_lanes(int partitions, const struct lanes_options *o, const char *topic, struct failure *f)
{
	if (partitions == 0)
		return fail(f, FAIL_CONFIG,
		    "topic %s does not exist (is the mix called %s? `riffle topics --create` makes "
		    "its topics)",
		    topic, o->mix);
	if (partitions > LIMIT_LANES)
		return fail(f, FAIL_CONFIG,
		    "topic %s has %d partitions; a mix has at most %d lanes", topic, partitions,
		    LIMIT_LANES);
	if ((uint32_t)partitions % o->world != 0)
		return fail(f, FAIL_CONFIG,
		    "a world of %" PRIu32 " ranks does not divide the %d lanes of topic %s: take a "
		    "divisor of %d",
		    o->world, partitions, topic, partitions);
	return FAIL_NONE;
}

static enum fail_code
find_lanes(struct lanes *l, const struct lanes_options *o, struct failure *f)
{
	int partitions;

	if (kafka_wait_topic(l->rk, l->topic, &partitions, o->timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (check_lanes(partitions, o, l->topic, f) != FAIL_NONE)
		return f->code;
	l->total = (uint32_t)partitions;
	l->count = l->total / o->world;
	l->first = l->count * o->rank;
	return FAIL_NONE;
}

/* A queue of its own for each lane; librdkafka would else put all records into one. */
static enum fail_code
open_queues(struct lanes *l, struct failure *f)
{
	l->lane = calloc(l->count, sizeof(*l->lane));
	l->list = rd_kafka_topic_partition_list_new((int)l->count);
	if (l->lane == NULL || l->list == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < l->count; i++) {
		l->lane[i].queue =
		    rd_kafka_queue_get_partition(l->rk, l->topic, (int32_t)(l->first + i));
		if (l->lane[i].queue == NULL)
			return fail_memory(f);
		rd_kafka_queue_forward(l->lane[i].queue, NULL);
		rd_kafka_topic_partition_list_add(l->list, l->topic, (int32_t)(l->first + i));
	}
	return FAIL_NONE;
}

enum fail_code
lanes_open(struct lanes **out, const struct lanes_options *o, struct failure *f)
{
	struct lanes *l = calloc(1, sizeof(*l));

	assert(o->world > 0 && o->rank < o->world);
	if (l == NULL)
		return fail_memory(f);
	names_topic(l->topic, o->mix, "batches");
	snprintf(l->group, sizeof(l->group), "%s", o->group == NULL ? "" : o->group);
	if (open_handle(l, o, LANES_EXPECTED, f) != FAIL_NONE || find_lanes(l, o, f) != FAIL_NONE)
		goto failed;
	if (l->count > LANES_EXPECTED) { /* how far to read ahead is fixed when a handle is made */
		kafka_close(l->rk);
		l->rk = NULL;
		if (open_handle(l, o, l->count, f) != FAIL_NONE || find_lanes(l, o, f) != FAIL_NONE)
			goto failed;
	}
	l->answers = rd_kafka_queue_new(l->rk);
	if (l->answers == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (open_queues(l, f) != FAIL_NONE)
		goto failed;
	*out = l;
	return FAIL_NONE;
failed:
	lanes_close(l);
	return f->code;
}

void
lanes_close(struct lanes *l)
{
	if (l == NULL)
		return;
	for (uint32_t i = 0; l->lane != NULL && i < l->count; i++) {
		lanes_release(l, i);
		if (l->lane[i].queue != NULL)
			rd_kafka_queue_destroy(l->lane[i].queue);
	}
	if (l->answers != NULL)
		rd_kafka_queue_destroy(l->answers);
	if (l->list != NULL)
		rd_kafka_topic_partition_list_destroy(l->list);
	if (l->commit != NULL)
		rd_kafka_topic_partition_list_destroy(l->commit);
	kafka_close(l->rk);
	free(l->lane);
	free(l);
}

const char *
lanes_topic(const struct lanes *l)
{
	return l->topic;
}

uint32_t
lanes_total(const struct lanes *l)
{
	return l->total;
}

uint32_t
lanes_count(const struct lanes *l)
{
	return l->count;
}

uint32_t
lanes_first(const struct lanes *l)
{
	return l->first;
}

enum fail_code
lanes_watermarks(struct lanes *l, int64_t *low, int64_t *high, int timeout_ms, struct failure *f)
{
	int32_t *partition = malloc(l->count * sizeof(*partition));
	enum fail_code code;

	if (partition == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < l->count; i++)
		partition[i] = (int32_t)(l->first + i);
	code =
	    kafka_watermarks_many(l->rk, l->topic, partition, l->count, low, high, timeout_ms, f);
	free(partition);
	return code;
}

rd_kafka_topic_partition_list_t *
lanes_list(const struct lanes *l, const int64_t *offset_next)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)l->count);

	for (uint32_t i = 0; list != NULL && i < l->count; i++)
		rd_kafka_topic_partition_list_add(list, l->topic, (int32_t)(l->first + i))->offset =
		    offset_next[i];
	return list;
}

enum fail_code
lanes_assign(struct lanes *l, const int64_t *offset_next, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = lanes_list(l, offset_next);
	rd_kafka_resp_err_t err;

	if (list == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < l->count; i++)
		lanes_release(l, i);
	err = rd_kafka_assign(l->rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "assigning its lanes");
	return fail_within(f, "topic %s", l->topic);
}

enum fail_code
lanes_last_record(struct lanes *l, const char *topic, uint8_t **bytes, size_t *n, int timeout_ms,
    struct failure *f)
{
	rd_kafka_message_t *m = NULL;
	int partitions;

	*bytes = NULL;
	*n = 0;
	if (kafka_partitions(l->rk, topic, &partitions, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (partitions == 0)
		return FAIL_NONE;
	if (kafka_last_record(l->rk, topic, 0, &m, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (m == NULL)
		return FAIL_NONE;
	*bytes = malloc(m->len + 1);
	if (*bytes != NULL && m->len > 0)
		memcpy(*bytes, m->payload, m->len);
	*n = m->len;
	rd_kafka_message_destroy(m);
	return *bytes == NULL ? fail_memory(f) : FAIL_NONE;
}
