/* Topics: made, asked about, deleted; offsets by time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/conformance/scene.h"

enum { PAUSE_MS = 20 };

static void
a_topic_has_the_partitions_it_was_made_with(struct scene *s)
{
	make_topic(s, "one", 1, NULL);
	make_topic(s, "many", 37, NULL);
	say(s, "one: %d", partitions_of(s, "one"));
	say(s, "many: %d", partitions_of(s, "many"));
	say(s, "nowhere: %d", partitions_of(s, "nowhere"));
	say_ends(s, "many", 36);
}

static void
a_topic_is_made_once(struct scene *s)
{
	make_topic(s, "a", 2, NULL);
	say_code(s, "make again", ask_topic(s, "a", 3, 1, NULL));
	say(s, "partitions: %d", partitions_of(s, "a"));
}

static void
topics_that_cannot_be_are_refused(struct scene *s)
{
	say_code(s, "a name with a space", ask_topic(s, "a b", 1, 1, NULL));
	say_code(s, "nine replicas", ask_topic(s, "replicas", 1, 9, NULL));
	say_code(s, "an unknown setting", ask_topic(s, "unknown", 1, 1, "riffle.unknown=1"));
	say_code(s, "a wrong value", ask_topic(s, "wrong", 1, 1, "cleanup.policy=riffle"));
	say(s, "partitions: %d %d %d", partitions_of(s, "replicas"), partitions_of(s, "unknown"),
	    partitions_of(s, "wrong"));
}

static void
a_deleted_topic_is_gone(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x y");
	say_code(s, "delete", delete_topic(s, "a"));
	await_gone(s, "a");
	say(s, "partitions: %d", partitions_of(s, "a"));
	say_code(s, "delete again", delete_topic(s, "a"));
}

static void
a_recreated_topic_is_empty(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x y");
	crash(p);
	say_code(s, "delete", delete_topic(s, "a"));
	await_gone(s, "a");
	make_topic(s, "a", 2, NULL);
	say_ends(s, "a", 0);
	p = open_writer(s, NULL);
	put_all(s, p, "a", 0, "z");
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
say_setting(struct scene *s, const char *topic, const char *wanted)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(open_admin(s));
	const rd_kafka_ConfigResource_t **resource;
	const rd_kafka_ConfigEntry_t **entry;
	rd_kafka_ConfigResource_t *asked;
	char full[SCENE_NAME_MAX];
	rd_kafka_event_t *event;
	size_t n = 0;

	scene_name(s, full, topic);
	asked = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, full);
	rd_kafka_DescribeConfigs(s->admin, &asked, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	if (event == NULL) {
		scene_broken(s, "no answer to DescribeConfigs");
	} else if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
		say_code(s, topic, rd_kafka_event_error(event));
	} else {
		resource = rd_kafka_DescribeConfigs_result_resources(
		    rd_kafka_event_DescribeConfigs_result(event), &n);
		say_code(s, topic, rd_kafka_ConfigResource_error(resource[0]));
		entry = rd_kafka_ConfigResource_configs(resource[0], &n);
		for (size_t i = 0; i < n; i++)
			if (strcmp(rd_kafka_ConfigEntry_name(entry[i]), wanted) == 0)
				say(s, "%s=%s", wanted, rd_kafka_ConfigEntry_value(entry[i]));
	}
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy(asked);
	rd_kafka_queue_destroy(queue);
}

static void
settings_of_a_topic_are_described(struct scene *s)
{
	make_topic(s, "a", 1, "max.message.bytes=123456 retention.ms=-1 cleanup.policy=compact");
	say_setting(s, "a", "max.message.bytes");
	say_setting(s, "a", "retention.ms");
	say_setting(s, "a", "cleanup.policy");
	say_setting(s, "nowhere", "retention.ms");
}

static void
say_offset_for_time(struct scene *s, const char *what, const char *topic, int64_t time_ms)
{
	rd_kafka_topic_partition_list_t *list = list_of(s, topic, 0, time_ms);
	rd_kafka_resp_err_t err =
	    rd_kafka_offsets_for_times(begin_reading(s, COMMITTED, topic, 0, 0), list, 5000);

	say(s, "%s: %s, %s, %" PRId64, what, rd_kafka_err2name(err),
	    rd_kafka_err2name(list->elems[0].err), list->elems[0].offset);
	rd_kafka_topic_partition_list_destroy(list);
}

/* The time of the record at `offset` of a/0. */
static int64_t
time_of(struct scene *s, int64_t offset)
{
	rd_kafka_message_t *m = next_message(s, begin_reading(s, COMMITTED, "a", 0, offset));
	int64_t time_ms = m == NULL ? -1 : rd_kafka_message_timestamp(m, NULL);

	if (m != NULL)
		rd_kafka_message_destroy(m);
	return time_ms;
}

static void
the_offset_for_a_time_is_the_first_not_before_it(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	make_topic(s, "empty", 1, NULL);
	put_all(s, p, "a", 0, "x");
	clock_pause_ms(PAUSE_MS);
	put_all(s, p, "a", 0, "y");
	say_offset_for_time(s, "long ago", "a", 1000);
	say_offset_for_time(s, "of the first", "a", time_of(s, 0));
	say_offset_for_time(s, "after the first", "a", time_of(s, 0) + 1);
	say_offset_for_time(s, "of the second", "a", time_of(s, 1));
	say_offset_for_time(s, "after the second", "a", time_of(s, 1) + 1);
	say_offset_for_time(s, "beginning", "a", RD_KAFKA_OFFSET_BEGINNING);
	say_offset_for_time(s, "end", "a", RD_KAFKA_OFFSET_END);
	say_offset_for_time(s, "in an empty one", "empty", 1000);
}

static void
offsets_of_what_does_not_exist_are_an_error(struct scene *s)
{
	make_topic(s, "a", 1, NULL);
	say_offset_for_time(s, "an unknown topic", "nowhere", RD_KAFKA_OFFSET_END);
}

const struct claim claims_topics[] = {
    CLAIM(a_topic_has_the_partitions_it_was_made_with),
    CLAIM(a_topic_is_made_once),
    CLAIM(topics_that_cannot_be_are_refused),
    CLAIM(a_deleted_topic_is_gone),
    CLAIM(a_recreated_topic_is_empty),
    CLAIM(settings_of_a_topic_are_described),
    CLAIM(the_offset_for_a_time_is_the_first_not_before_it),
    CLAIM(offsets_of_what_does_not_exist_are_an_error),
    {0},
};
