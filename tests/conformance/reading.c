/* Where a reader may begin, and what the four ways to read give. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "tests/conformance/scene.h"

enum { BRIEF_MS = 1000 };

/* a/0 holds 0=a to 4=e. */
static struct producer *
five(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 2, NULL);
	put_all(s, p, "a", 0, "a b c d e");
	return p;
}

static void
reading_begins_at_any_offset_up_to_the_end(struct scene *s)
{
	five(s);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, COMMITTED, "a", 0, 3);
	say_records(s, COMMITTED, "a", 0, 5);
	say_records(s, COMMITTED, "a", 1, 0);
	say_records(s, COMMITTED, "a", 0, RD_KAFKA_OFFSET_BEGINNING);
	say_records(s, COMMITTED, "a", 0, RD_KAFKA_OFFSET_END);
	say_records(s, COMMITTED, "a", 0, RD_KAFKA_OFFSET_TAIL(2));
}

static void
reading_behind_the_end_is_an_error(struct scene *s)
{
	five(s);
	say_records(s, COMMITTED, "a", 0, 6);
	say_records(s, UNCOMMITTED, "a", 0, 6);
	say_records(s, COMMITTED, "a", 1, 1);
}

static void
deleted_records_move_the_first_offset(struct scene *s)
{
	five(s);
	delete_records(s, "a", 0, 2);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 2);
	say_records(s, COMMITTED, "a", 0, RD_KAFKA_OFFSET_BEGINNING);
	delete_records(s, "a", 0, 1);
	delete_records(s, "a", 0, 6);
	delete_records(s, "a", 0, RD_KAFKA_OFFSET_END);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 5);
}

static void
reading_deleted_records_is_an_error(struct scene *s)
{
	five(s);
	delete_records(s, "a", 0, 2);
	say_records(s, COMMITTED, "a", 0, 1);
	say_records(s, UNCOMMITTED, "a", 0, 0);
}

static void
deleting_in_what_does_not_exist_is_an_error(struct scene *s)
{
	five(s);
	delete_records(s, "a", 7, 1);
	delete_records(s, "nowhere", 0, 1);
}

static void
appending_goes_on_behind_deleted_records(struct scene *s)
{
	struct producer *p = five(s);

	delete_records(s, "a", 0, RD_KAFKA_OFFSET_END);
	put_all(s, p, "a", 0, "f g");
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 5);
}

/* The stable end meanwhile is another one in 3.9 and 4.1. */
static void
deleting_into_an_open_transaction(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	transact(s, p, "a", 0, "a", true);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x y");
	delete_records(s, "a", 0, 3);
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_end(s, COMMITTED, "a", 0, 5);
	say_ends(s, "a", 0);
}

static void
say_message(struct scene *s, rd_kafka_message_t *m)
{
	if (m == NULL) {
		say(s, "nothing");
		return;
	}
	say(s, "%s/%d@%" PRId64 " %.*s", rd_kafka_err2name(m->err), (int)m->partition, m->offset,
	    m->err == 0 ? (int)m->len : 0, m->err == 0 ? (char *)m->payload : "");
	rd_kafka_message_destroy(m);
}

/* Librdkafka waits for a topic to appear, 30 seconds as a rule: no error within one. */
static void
what_does_not_exist_is_waited_for(struct scene *s)
{
	five(s);
	say_message(
	    s, rd_kafka_consumer_poll(begin_reading(s, COMMITTED, "nowhere", 0, 0), BRIEF_MS));
	say_message(s, rd_kafka_consumer_poll(begin_reading(s, COMMITTED, "a", 9, 0), BRIEF_MS));
}

/* A reader and its topic, as the mixer reads domains. */
static rd_kafka_topic_t *
open_topic(struct scene *s, rd_kafka_t **rk)
{
	char full[SCENE_NAME_MAX];
	struct failure f;
	int partitions;

	scene_name(s, full, "a");
	*rk = open_reader(s, NULL, NULL);
	if (kafka_partitions(*rk, full, &partitions, SCENE_WAIT_MS, &f) != FAIL_NONE)
		scene_broken(s, "%s", f.text);
	return rd_kafka_topic_new(*rk, full, NULL);
}

static void
consume_start_reads_from_there(struct scene *s)
{
	rd_kafka_topic_t *topic;
	rd_kafka_t *rk;

	five(s);
	topic = open_topic(s, &rk);
	say(s, "start: %d", rd_kafka_consume_start(topic, 0, 3));
	for (int i = 0; i < 3; i++)
		say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	say(s, "stop: %d", rd_kafka_consume_stop(topic, 0));
	say(s, "start: %d", rd_kafka_consume_start(topic, 0, 1));
	say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	say(s, "stop: %d", rd_kafka_consume_stop(topic, 0));
	rd_kafka_topic_destroy(topic);
}

static void
consume_start_out_of_range_is_an_error(struct scene *s)
{
	rd_kafka_topic_t *topic;
	rd_kafka_t *rk;

	five(s);
	delete_records(s, "a", 0, 2);
	topic = open_topic(s, &rk);
	say(s, "start behind the end: %d", rd_kafka_consume_start(topic, 0, 9));
	say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	say(s, "stop: %d", rd_kafka_consume_stop(topic, 0));
	say(s, "start before the first: %d", rd_kafka_consume_start(topic, 0, 1));
	say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	say(s, "stop: %d", rd_kafka_consume_stop(topic, 0));
	say(s, "start in an unknown partition: %d", rd_kafka_consume_start(topic, 9, 0));
	say_message(s, rd_kafka_consume(topic, 9, BRIEF_MS));
	say(s, "stop: %d", rd_kafka_consume_stop(topic, 9));
	rd_kafka_topic_destroy(topic);
}

/* Asks again and again until so many came; a batch may bring fewer than are there. */
static void
consume_batch_gives_records_and_the_end(struct scene *s)
{
	enum { EVENTS = 6 };
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS;
	rd_kafka_message_t *m[EVENTS];
	rd_kafka_topic_t *topic;
	size_t got = 0;
	rd_kafka_t *rk;

	five(s);
	topic = open_topic(s, &rk);
	say(s, "start: %d", rd_kafka_consume_start(topic, 0, 0));
	while (got < EVENTS && clock_ms() < deadline_ms) {
		ssize_t n = rd_kafka_consume_batch(topic, 0, 100, m, EVENTS - got);

		for (ssize_t i = 0; i < n; i++)
			say_message(s, m[i]);
		got += n < 0 ? 0 : (size_t)n;
	}
	say(s, "one more: %d", (int)rd_kafka_consume_batch(topic, 0, 0, m, EVENTS));
	rd_kafka_consume_stop(topic, 0);
	rd_kafka_topic_destroy(topic);
}

static void
a_stopped_reader_goes_on_where_it_is_told(struct scene *s)
{
	struct producer *p = five(s);
	rd_kafka_topic_t *topic;
	rd_kafka_t *rk;

	topic = open_topic(s, &rk);
	rd_kafka_consume_start(topic, 0, 5);
	say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	put_all(s, p, "a", 0, "f");
	say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	rd_kafka_consume_stop(topic, 0);
	rd_kafka_consume_start(topic, 0, 5);
	say_message(s, rd_kafka_consume(topic, 0, SCENE_WAIT_MS));
	rd_kafka_consume_stop(topic, 0);
	rd_kafka_topic_destroy(topic);
}

static void
a_queue_of_its_own_gives_one_partition_alone(struct scene *s)
{
	struct producer *p = five(s);
	rd_kafka_t *rk = open_reader(s, NULL, NULL);
	rd_kafka_topic_partition_list_t *list = list_of(s, "a", 0, 0);
	rd_kafka_queue_t *queue[2];
	char full[SCENE_NAME_MAX];
	struct failure f;
	int partitions;

	scene_name(s, full, "a");
	put_all(s, p, "a", 1, "p q");
	kafka_partitions(rk, full, &partitions, SCENE_WAIT_MS, &f);
	for (int32_t i = 0; i < 2; i++) {
		queue[i] = rd_kafka_queue_get_partition(rk, full, i);
		rd_kafka_queue_forward(queue[i], NULL);
	}
	rd_kafka_topic_partition_list_add(list, full, 1)->offset = 0;
	say_code(s, "assign", rd_kafka_assign(rk, list));
	rd_kafka_topic_partition_list_destroy(list);
	for (int i = 0; i < 3; i++)
		say_message(s, rd_kafka_consume_queue(queue[1], SCENE_WAIT_MS));
	for (int i = 0; i < 6; i++)
		say_message(s, rd_kafka_consume_queue(queue[0], SCENE_WAIT_MS));
	say_message(s, rd_kafka_consumer_poll(rk, 0));
	for (int32_t i = 0; i < 2; i++)
		rd_kafka_queue_destroy(queue[i]);
}

static void
a_yield_wakes_who_waits_for_a_queue(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);
	rd_kafka_t *rk = open_reader(s, NULL, NULL);
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_queue_t *queue;
	int64_t begin_ms = clock_ms();
	struct failure f;
	int partitions;

	make_topic(s, "a", 1, NULL);
	list = list_of(s, "a", 0, 0);
	kafka_partitions(rk, list->elems[0].topic, &partitions, SCENE_WAIT_MS, &f);
	queue = rd_kafka_queue_get_partition(rk, list->elems[0].topic, 0);
	rd_kafka_queue_forward(queue, NULL);
	rd_kafka_queue_yield(queue);
	say_message(s, rd_kafka_consume_queue(queue, SCENE_WAIT_MS));
	say(s, "%s", clock_ms() - begin_ms < SCENE_WAIT_MS ? "woken" : "slept");
	say_code(s, "assign", rd_kafka_assign(rk, list));
	say_message(s, rd_kafka_consume_queue(queue, SCENE_WAIT_MS));
	put_all(s, p, "a", 0, "x");
	say_message(s, rd_kafka_consume_queue(queue, SCENE_WAIT_MS));
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
}

static void
assigning_again_moves_a_reader(struct scene *s)
{
	rd_kafka_t *rk;

	five(s);
	rk = begin_reading(s, COMMITTED, "a", 0, 0);
	say_message(s, next_message(s, rk));
	begin_reading(s, COMMITTED, "a", 0, 3);
	say_message(s, next_message(s, rk));
	begin_reading(s, COMMITTED, "a", 1, 0);
	say_message(s, next_message(s, rk));
	say_code(s, "assign nothing", rd_kafka_assign(rk, NULL));
	say_message(s, rd_kafka_consumer_poll(rk, 100));
}

static void
the_last_record_is_found_behind_markers(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);
	rd_kafka_t *rk = open_reader(s, NULL, NULL);
	rd_kafka_message_t *m = NULL;
	char full[SCENE_NAME_MAX];
	struct failure f;

	make_topic(s, "a", 2, NULL);
	scene_name(s, full, "a");
	transact(s, p, "a", 0, "a b", true);
	for (int i = 0; i < 5; i++)
		transact(s, p, "a", 0, "x", false);
	await_end(s, COMMITTED, "a", 0, 13);
	if (kafka_last_record(rk, full, 0, &m, SCENE_WAIT_MS, &f) != FAIL_NONE)
		scene_broken(s, "%s", f.text);
	say_message(s, m);
	if (kafka_last_record(rk, full, 1, &m, SCENE_WAIT_MS, &f) != FAIL_NONE)
		scene_broken(s, "%s", f.text);
	say_message(s, m);
}

const struct claim claims_reading[] = {
    CLAIM(reading_begins_at_any_offset_up_to_the_end),
    CLAIM(reading_behind_the_end_is_an_error),
    CLAIM(deleted_records_move_the_first_offset),
    CLAIM(reading_deleted_records_is_an_error),
    CLAIM(deleting_in_what_does_not_exist_is_an_error),
    CLAIM(appending_goes_on_behind_deleted_records),
    CLAIM(deleting_into_an_open_transaction),
    CLAIM(what_does_not_exist_is_waited_for),
    CLAIM(consume_start_reads_from_there),
    CLAIM(consume_start_out_of_range_is_an_error),
    CLAIM(consume_batch_gives_records_and_the_end),
    CLAIM(a_stopped_reader_goes_on_where_it_is_told),
    CLAIM(a_queue_of_its_own_gives_one_partition_alone),
    CLAIM(a_yield_wakes_who_waits_for_a_queue),
    CLAIM(assigning_again_moves_a_reader),
    CLAIM(the_last_record_is_found_behind_markers),
    {0},
};
