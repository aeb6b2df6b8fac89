/* What administrators take away, and what clients are told then. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka_log.h"
#include "tests/conformance/scene.h"

enum { PAUSE_MS = 20 };

/* Deletes the topic and makes it again with so many partitions. */
static void
recreate(struct scene *s, const char *topic, int partitions)
{
	say_code(s, "delete", delete_topic(s, topic));
	await_gone(s, topic);
	make_topic(s, topic, partitions, NULL);
}

/* The group has a/0 at `offset`; commits as the lanes of a trainer do. */
static rd_kafka_t *
commit(struct scene *s, rd_kafka_t *reader, int64_t offset)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);
	rd_kafka_topic_partition_list_t *list = list_of(s, "a", 0, offset);
	rd_kafka_event_t *event = NULL;

	if (rd_kafka_commit_queue(reader, list, queue, NULL, NULL) == RD_KAFKA_RESP_ERR_NO_ERROR)
		event = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	if (event == NULL || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		scene_broken(s, "a/0 could not be committed");
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
	return reader;
}

/* ---- topics ---- */

static void
commits_go_with_their_topic(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);
	rd_kafka_t *reader = open_reader(s, "group", NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x y");
	commit(s, reader, 2);
	say_committed(s, "group", "a", 0);
	say_code(s, "delete", delete_topic(s, "a"));
	await_gone(s, "a");
	await_committed(s, "group", "a", 0, -1);
	make_topic(s, "a", 1, NULL);
	say_committed(s, "group", "a", 0);
}

static void
a_recreated_topic_is_read_from_its_own_offsets(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x y z");
	crash(p);
	recreate(s, "a", 1);
	say_ends(s, "a", 0);
	p = open_writer(s, NULL);
	put_all(s, p, "a", 0, "new");
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, COMMITTED, "a", 0, 3);
}

static void
a_transaction_in_a_recreated_topic_has_no_records(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	make_topic(s, "b", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x");
	put_all(s, p, "b", 0, "y");
	recreate(s, "a", 1);
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_end(s, COMMITTED, "b", 0, 2);
	say_ends(s, "b", 0);
	say_records(s, COMMITTED, "b", 0, 0);
}

static void
add_partitions(struct scene *s, const char *topic, size_t partitions)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(open_admin(s));
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	char full[SCENE_NAME_MAX], why[256] = "";
	rd_kafka_NewPartitions_t *wanted;
	rd_kafka_event_t *event;
	size_t n;

	scene_name(s, full, topic);
	wanted = rd_kafka_NewPartitions_new(full, partitions, why, sizeof(why));
	rd_kafka_CreatePartitions(s->admin, &wanted, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	if (event != NULL)
		err = rd_kafka_event_error(event);
	if (event != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = rd_kafka_topic_result_error(rd_kafka_CreatePartitions_result_topics(
		    rd_kafka_event_CreatePartitions_result(event), &n)[0]);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_NewPartitions_destroy(wanted);
	rd_kafka_queue_destroy(queue);
	say(s, "%zu partitions: %s", partitions, rd_kafka_err2name(err));
}

static void
partitions_are_added_and_never_taken(struct scene *s)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS;
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x");
	crash(p);
	add_partitions(s, "a", 3);
	while (partitions_of(s, "a") != 3 && clock_ms() < deadline_ms)
		clock_pause_ms(PAUSE_MS);
	say(s, "partitions: %d", partitions_of(s, "a"));
	add_partitions(s, "a", 2);
	add_partitions(s, "nowhere", 2);
	p = open_writer(s, NULL);
	put_all(s, p, "a", 2, "y");
	say_reports(s, "reports", p);
	say_ends(s, "a", 0);
	say_ends(s, "a", 2);
}

/* ---- commits ---- */

static void
delete_commit(struct scene *s, const char *group, const char *topic, int32_t partition)
{
	rd_kafka_topic_partition_list_t *list = list_of(s, topic, partition, -1);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(open_admin(s));
	rd_kafka_DeleteConsumerGroupOffsets_t *request;
	char full[SCENE_NAME_MAX];
	rd_kafka_event_t *event;

	scene_name(s, full, group);
	request = rd_kafka_DeleteConsumerGroupOffsets_new(full, list);
	rd_kafka_DeleteConsumerGroupOffsets(s->admin, &request, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	if (event == NULL)
		scene_broken(s, "no answer to DeleteConsumerGroupOffsets");
	else {
		say_code(s, "delete", rd_kafka_event_error(event));
		rd_kafka_event_destroy(event);
	}
	rd_kafka_DeleteConsumerGroupOffsets_destroy(request);
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
}

static void
a_deleted_commit_is_as_if_it_never_was(struct scene *s)
{
	rd_kafka_t *reader = open_reader(s, "group", NULL);

	make_topic(s, "a", 2, NULL);
	commit(s, reader, 4);
	say_committed(s, "group", "a", 0);
	delete_commit(s, "group", "a", 0);
	await_committed(s, "group", "a", 0, -1);
	say_committed(s, "group", "a", 0);
	commit(s, reader, 1);
	say_committed(s, "group", "a", 0);
}

static void
reading_from_a_commit_that_is_gone_is_an_error(struct scene *s)
{
	rd_kafka_t *reader = open_reader(s, "group", NULL);
	rd_kafka_topic_partition_list_t *list;
	struct producer *p = open_writer(s, NULL);
	rd_kafka_message_t *m;

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x y");
	commit(s, reader, 1);
	delete_commit(s, "group", "a", 0);
	await_committed(s, "group", "a", 0, -1);
	list = list_of(s, "a", 0, RD_KAFKA_OFFSET_STORED);
	say_code(s, "assign", rd_kafka_assign(reader, list));
	m = next_message(s, reader);
	say_code(s, "read", m == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : m->err);
	if (m != NULL)
		rd_kafka_message_destroy(m);
	rd_kafka_topic_partition_list_destroy(list);
}

/* ---- records ---- */

static void
say_last(struct scene *s, const char *topic)
{
	rd_kafka_t *reader = open_reader(s, NULL, NULL);
	rd_kafka_message_t *m = NULL;
	char full[SCENE_NAME_MAX];
	struct failure f;

	scene_name(s, full, topic);
	if (kafka_last_record(reader, full, 0, &m, SCENE_WAIT_MS, &f) != FAIL_NONE)
		scene_broken(s, "%s", f.text);
	else if (m == NULL)
		say(s, "last record: none");
	else
		say(s, "last record: %.*s@%" PRId64, (int)m->len, (const char *)m->payload,
		    m->offset);
	if (m != NULL)
		rd_kafka_message_destroy(m);
}

static void
deleting_a_log_of_transactions_keeps_its_offsets(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	transact(s, p, "a", 0, "x y", true);
	transact(s, p, "a", 0, "z", true);
	await_end(s, COMMITTED, "a", 0, 5);
	delete_records(s, "a", 0, 2);
	say_ends(s, "a", 0);
	say_last(s, "a");
	delete_records(s, "a", 0, 4);
	say_last(s, "a");
	delete_records(s, "a", 0, RD_KAFKA_OFFSET_END);
	say_ends(s, "a", 0);
	say_last(s, "a");
	transact(s, p, "a", 0, "w", true);
	await_end(s, COMMITTED, "a", 0, 7);
	say_last(s, "a");
	delete_records(s, "a", 0, 20);
}

const struct claim claims_lost[] = {
    CLAIM(commits_go_with_their_topic),
    CLAIM(a_recreated_topic_is_read_from_its_own_offsets),
    CLAIM(a_transaction_in_a_recreated_topic_has_no_records),
    CLAIM(partitions_are_added_and_never_taken),
    CLAIM(a_deleted_commit_is_as_if_it_never_was),
    CLAIM(reading_from_a_commit_that_is_gone_is_an_error),
    CLAIM(deleting_a_log_of_transactions_keeps_its_offsets),
    {0},
};
