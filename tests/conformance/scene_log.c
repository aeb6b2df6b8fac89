/* What a scene sees of logs and groups. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka_commits.h"
#include "tests/conformance/scene.h"

enum { PAUSE_MS = 10, POLL_MS = 100 };

static const char *const isolation_name[] = {
    [COMMITTED] = "read_committed", [UNCOMMITTED] = "read_uncommitted"};

/* kafka_open() gives readers of what is committed only; this is the other kind. */
static rd_kafka_t *
open_uncommitted(struct scene *s)
{
	const char *property[][2] = {{"group.id", "conformance"},
	    {"isolation.level", "read_uncommitted"}, {"enable.partition.eof", "true"},
	    {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"},
	    {"auto.offset.reset", "error"}, {"allow.auto.create.topics", "false"},
	    {"fetch.wait.max.ms", "10"}, {"socket.nagle.disable", "true"},
	    {"bootstrap.servers", getenv("RIFFLE_BOOTSTRAP")}};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char why[256] = "";
	rd_kafka_t *rk;

	for (size_t i = 0; i < sizeof(property) / sizeof(property[0]); i++)
		if (property[i][1] != NULL &&
		    rd_kafka_conf_set(conf, property[i][0], property[i][1], why, sizeof(why)) != 0)
			scene_broken(s, "%s", why);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	if (rk == NULL) {
		scene_broken(s, "%s", why);
		rd_kafka_conf_destroy(conf);
		return NULL;
	}
	rd_kafka_poll_set_consumer(rk);
	return rk;
}

static rd_kafka_t *
reader_of(struct scene *s, enum scene_isolation i)
{
	if (s->reader[i] != NULL)
		return s->reader[i];
	if (i == UNCOMMITTED)
		return s->reader[i] = open_uncommitted(s);
	s->reader[i] = open_reader(s, NULL, NULL);
	s->others_n--; /* it is ended as s->reader */
	return s->reader[i];
}

rd_kafka_topic_partition_list_t *
list_of(struct scene *s, const char *topic, int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	char full[SCENE_NAME_MAX];

	scene_name(s, full, topic);
	rd_kafka_topic_partition_list_add(list, full, partition)->offset = offset;
	return list;
}

static int64_t
ask_offset(
    struct scene *s, enum scene_isolation i, const char *topic, int32_t partition, int64_t which)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS, offset = -1;
	rd_kafka_topic_partition_list_t *list = list_of(s, topic, partition, which);
	rd_kafka_resp_err_t err;

	do {
		list->elems[0].offset = which;
		list->elems[0].err = RD_KAFKA_RESP_ERR_NO_ERROR;
		err = rd_kafka_offsets_for_times(reader_of(s, i), list, SCENE_WAIT_MS);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			err = list->elems[0].err;
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			offset = list->elems[0].offset;
		else
			clock_pause_ms(PAUSE_MS);
	} while (err != RD_KAFKA_RESP_ERR_NO_ERROR && clock_ms() < deadline_ms);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		scene_broken(
		    s, "offsets of %s/%d: %s", topic, (int)partition, rd_kafka_err2name(err));
	rd_kafka_topic_partition_list_destroy(list);
	return offset;
}

int64_t
end_of(struct scene *s, enum scene_isolation i, const char *topic, int32_t partition)
{
	return ask_offset(s, i, topic, partition, RD_KAFKA_OFFSET_END);
}

int64_t
begin_of(struct scene *s, enum scene_isolation i, const char *topic, int32_t partition)
{
	return ask_offset(s, i, topic, partition, RD_KAFKA_OFFSET_BEGINNING);
}

void
await_end(
    struct scene *s, enum scene_isolation i, const char *topic, int32_t partition, int64_t end)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS, seen;

	while ((seen = end_of(s, i, topic, partition)) < end && clock_ms() < deadline_ms)
		clock_pause_ms(PAUSE_MS);
	if (seen < end)
		scene_broken(s, "the end of %s/%d under %s is %" PRId64 ", not %" PRId64, topic,
		    (int)partition, isolation_name[i], seen, end);
}

void
say_ends(struct scene *s, const char *topic, int32_t partition)
{
	say(s, "%s/%d: log %" PRId64 "..%" PRId64 ", stable %" PRId64 "..%" PRId64, topic,
	    (int)partition, begin_of(s, UNCOMMITTED, topic, partition),
	    end_of(s, UNCOMMITTED, topic, partition), begin_of(s, COMMITTED, topic, partition),
	    end_of(s, COMMITTED, topic, partition));
}

void
delete_records(struct scene *s, const char *topic, int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = list_of(s, topic, partition, offset);
	rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(list);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(open_admin(s));
	const rd_kafka_topic_partition_list_t *answer;
	rd_kafka_event_t *event;

	rd_kafka_DeleteRecords(s->admin, &request, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	if (event == NULL)
		scene_broken(s, "no answer to DeleteRecords");
	else if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		say_code(s, "delete", rd_kafka_event_error(event));
	else {
		answer = rd_kafka_DeleteRecords_result_offsets(
		    rd_kafka_event_DeleteRecords_result(event));
		say(s, "delete below %" PRId64 ": %s, first %" PRId64, offset,
		    rd_kafka_err2name(answer->elems[0].err),
		    answer->elems[0].err == 0 ? answer->elems[0].offset : -1);
	}
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_DeleteRecords_destroy(request);
	rd_kafka_topic_partition_list_destroy(list);
}

rd_kafka_t *
begin_reading(
    struct scene *s, enum scene_isolation i, const char *topic, int32_t partition, int64_t from)
{
	rd_kafka_topic_partition_list_t *list = list_of(s, topic, partition, from);
	rd_kafka_t *rk = reader_of(s, i);
	rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, list->elems[0].topic, NULL);
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 0, handle, &metadata, SCENE_WAIT_MS);

	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(metadata);
	rd_kafka_topic_destroy(handle);
	err = rd_kafka_assign(rk, list);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		say_code(s, "assign", err);
	rd_kafka_topic_partition_list_destroy(list);
	return rk;
}

rd_kafka_message_t *
next_message(struct scene *s, rd_kafka_t *rk)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS;
	rd_kafka_message_t *m;

	do
		m = rd_kafka_consumer_poll(rk, POLL_MS);
	while (m == NULL && clock_ms() < deadline_ms);
	if (m == NULL)
		say(s, "nothing came");
	return m;
}

void
say_records(
    struct scene *s, enum scene_isolation i, const char *topic, int32_t partition, int64_t from)
{
	rd_kafka_t *rk = begin_reading(s, i, topic, partition, from);
	char line[1024] = "";
	rd_kafka_message_t *m;
	bool more = true;
	size_t n = 0;

	while (more && n < sizeof(line) - 80 && (m = next_message(s, rk)) != NULL) {
		more = m->err == RD_KAFKA_RESP_ERR_NO_ERROR;
		if (more)
			n += (size_t)snprintf(line + n, sizeof(line) - n, " %" PRId64 "=%.*s",
			    m->offset, m->len < 12 ? (int)m->len : 12,
			    m->payload == NULL ? "null" : (const char *)m->payload);
		else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			n += (size_t)snprintf(
			    line + n, sizeof(line) - n, " end@%" PRId64, m->offset);
		else
			n += (size_t)snprintf(
			    line + n, sizeof(line) - n, " %s", rd_kafka_err2name(m->err));
		rd_kafka_message_destroy(m);
	}
	rd_kafka_assign(rk, NULL);
	say(s, "%s %s/%d from %" PRId64 ":%s", isolation_name[i], topic, (int)partition, from,
	    line);
}

/* -1: none. */
static int64_t
committed(struct scene *s, const char *group, const char *topic, int32_t partition,
    char metadata[static 64])
{
	rd_kafka_topic_partition_list_t *list = list_of(s, topic, partition, -1);
	int64_t offset = -1;
	struct failure f;

	snprintf(metadata, 64, "%s", "no metadata");
	if (kafka_commits(asker_of(s, group), list, SCENE_WAIT_MS, &f) != FAIL_NONE)
		scene_broken(s, "%s", f.text);
	else
		offset = list->elems[0].offset;
	if (list->elems[0].metadata != NULL)
		snprintf(metadata, 64, "metadata '%s'", (char *)list->elems[0].metadata);
	rd_kafka_topic_partition_list_destroy(list);
	return offset;
}

void
say_committed(struct scene *s, const char *group, const char *topic, int32_t partition)
{
	char metadata[64];
	int64_t offset = committed(s, group, topic, partition, metadata);

	say(s, "%s has %s/%d at %" PRId64 ", %s", group, topic, (int)partition, offset, metadata);
}

void
await_committed(
    struct scene *s, const char *group, const char *topic, int32_t partition, int64_t offset)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS, seen;
	char metadata[64];

	while ((seen = committed(s, group, topic, partition, metadata)) != offset &&
	       clock_ms() < deadline_ms)
		clock_pause_ms(PAUSE_MS);
	if (seen != offset)
		scene_broken(s, "%s has %s/%d at %" PRId64 ", not %" PRId64, group, topic,
		    (int)partition, seen, offset);
}

rd_kafka_error_t *
send_offset(struct scene *s, struct producer *p, const char *group, const char *topic,
    int32_t partition, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = list_of(s, topic, partition, offset);
	rd_kafka_consumer_group_metadata_t *metadata;
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS;
	rd_kafka_error_t *error;
	char full[SCENE_NAME_MAX];

	scene_name(s, full, group);
	metadata = rd_kafka_consumer_group_metadata_new(full);
	do /* as the mixer does: a coordinator that is being found is asked again */
		error = rd_kafka_send_offsets_to_transaction(p->rk, list, metadata, SCENE_WAIT_MS);
	while (error != NULL && rd_kafka_error_is_retriable(error) && clock_ms() < deadline_ms &&
	       (rd_kafka_error_destroy(error), 1));
	rd_kafka_consumer_group_metadata_destroy(metadata);
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}
