/* Committed offsets of groups: by transactions and by readers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/scene.h"

static rd_kafka_topic_partition_list_t *
with_metadata(rd_kafka_topic_partition_list_t *list, const char *text)
{
	list->elems[0].metadata = strdup(text);
	list->elems[0].metadata_size = strlen(text);
	return list;
}

static void
offsets_in_a_transaction_show_at_its_commit(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x");
	say_error(s, "send_offsets", send_offset(s, p, "group", "a", 0, 7));
	say_committed(s, "group", "a", 0);
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_committed(s, "group", "a", 0, 7);
	say_committed(s, "group", "a", 0);
}

static void
offsets_in_a_transaction_keep_their_metadata(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_consumer_group_metadata_t *group;
	char full[SCENE_NAME_MAX];

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 7)); /* finds coordinators */
	scene_name(s, full, "group");
	list = with_metadata(list_of(s, "a", 0, 9), "step 5");
	group = rd_kafka_consumer_group_metadata_new(full);
	say_error(s, "send_offsets",
	    rd_kafka_send_offsets_to_transaction(p->rk, list, group, SCENE_WAIT_MS));
	rd_kafka_consumer_group_metadata_destroy(group);
	rd_kafka_topic_partition_list_destroy(list);
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_committed(s, "group", "a", 0, 9);
	say_committed(s, "group", "a", 0);
}

static void
offsets_in_an_aborted_transaction_never_show(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 2, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 7));
	must(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 1, 8));
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_committed(s, "group", "a", 1, 8);
	say_committed(s, "group", "a", 0);
	say_committed(s, "group", "a", 1);
}

static void
the_offsets_before_stay_until_the_commit(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 5));
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_committed(s, "group", "a", 0, 5);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 6));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 9));
	say_committed(s, "group", "a", 0);
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_committed(s, "group", "a", 0, 9);
	say_committed(s, "group", "a", 0);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 3));
	must(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	say_committed(s, "group", "a", 0);
}

static void
offsets_of_a_crashed_transaction_never_show(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 2, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 7));
	crash(p);
	p = take_over(s, "id", NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 1, 8));
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_committed(s, "group", "a", 1, 8);
	say_committed(s, "group", "a", 0);
}

/* Commits as trainers do: without joining the group, the answer through a queue. */
static void
commit(struct scene *s, const char *what, rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_resp_err_t err = rd_kafka_commit_queue(rk, list, queue, NULL, NULL);
	rd_kafka_topic_partition_list_t *answer;
	rd_kafka_event_t *event;

	say_code(s, what, err);
	event = err == 0 ? rd_kafka_queue_poll(queue, SCENE_WAIT_MS) : NULL;
	if (event != NULL) {
		say_code(s, "answer", rd_kafka_event_error(event));
		answer = rd_kafka_event_topic_partition_list(event);
		for (int i = 0; answer != NULL && i < answer->cnt; i++)
			say(s, "partition %d at %d: %s", (int)answer->elems[i].partition,
			    (int)answer->elems[i].offset, rd_kafka_err2name(answer->elems[i].err));
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
}

static void
a_reader_commits_offsets_with_metadata(struct scene *s)
{
	rd_kafka_t *reader = open_reader(s, "group", NULL);

	make_topic(s, "a", 2, NULL);
	commit(s, "commit", reader, with_metadata(list_of(s, "a", 0, 4), "step 12"));
	say_committed(s, "group", "a", 0);
	say_committed(s, "group", "a", 1);
	commit(s, "commit", reader, list_of(s, "a", 0, 2));
	say_committed(s, "group", "a", 0);
	say_committed(s, "other group", "a", 0);
}

static void
metadata_of_a_commit_has_a_limit(struct scene *s)
{
	enum { LIMIT = 4096 };
	rd_kafka_t *reader = open_reader(s, "group", NULL);
	char text[LIMIT + 2];

	make_topic(s, "a", 1, NULL);
	memset(text, 'm', sizeof(text));
	text[LIMIT] = '\0';
	commit(s, "commit of 4096", reader, with_metadata(list_of(s, "a", 0, 1), text));
	text[LIMIT] = 'm';
	text[LIMIT + 1] = '\0';
	commit(s, "commit of 4097", reader, with_metadata(list_of(s, "a", 0, 2), text));
}

static void
a_commit_for_an_unknown_partition_is_refused(struct scene *s)
{
	rd_kafka_t *reader = open_reader(s, "group", NULL);

	make_topic(s, "a", 1, NULL);
	commit(s, "commit of a/3", reader, list_of(s, "a", 3, 1));
	commit(s, "commit of nowhere/0", reader, list_of(s, "nowhere", 0, 1));
	commit(s, "commit of a/0", reader, list_of(s, "a", 0, 1));
	say_committed(s, "group", "a", 0);
}

static void
a_commit_of_nothing_is_answered(struct scene *s)
{
	rd_kafka_t *reader = open_reader(s, "group", NULL);

	make_topic(s, "a", 1, NULL);
	commit(s, "commit", reader, list_of(s, "a", 0, RD_KAFKA_OFFSET_INVALID));
	commit(s, "commit", reader, rd_kafka_topic_partition_list_new(0));
	say_committed(s, "group", "a", 0);
}

/* The abort that must follow is refused now and then: librdkafka fences itself. */
static void
offsets_sent_for_an_unknown_partition_are_refused(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	say_error(s, "send_offsets", send_offset(s, p, "group", "a", 5, 1));
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
}

/* Of two commits the one written later counts, not the one that became visible later. */
static void
a_commit_behind_one_in_an_open_transaction_wins(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);
	rd_kafka_t *reader = open_reader(s, "group", NULL);

	make_topic(s, "a", 2, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 0, 7));
	must(s, "send_offsets", send_offset(s, p, "group", "a", 1, 8));
	commit(s, "commit", reader, list_of(s, "a", 0, 4));
	say_committed(s, "group", "a", 0);
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_committed(s, "group", "a", 1, 8);
	say_committed(s, "group", "a", 0);
	commit(s, "commit", reader, list_of(s, "a", 1, 3));
	say_committed(s, "group", "a", 1);
}

/* Whether ListConsumerGroups names a group of this scene. */
static bool
listed(struct scene *s, const char *group)
{
	rd_kafka_t *rk = open_admin(s);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	const rd_kafka_ListConsumerGroups_result_t *result;
	const rd_kafka_ConsumerGroupListing_t **listing;
	char full[SCENE_NAME_MAX];
	rd_kafka_event_t *event;
	bool found = false;
	size_t n = 0;

	scene_name(s, full, group);
	rd_kafka_ListConsumerGroups(rk, NULL, queue);
	event = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	result = event == NULL ? NULL : rd_kafka_event_ListConsumerGroups_result(event);
	if (result == NULL)
		scene_broken(s, "the groups are not listed");
	listing = result == NULL ? NULL : rd_kafka_ListConsumerGroups_result_valid(result, &n);
	for (size_t i = 0; i < n; i++)
		found |= strcmp(rd_kafka_ConsumerGroupListing_group_id(listing[i]), full) == 0;
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	return found;
}

static void
groups_with_offsets_are_listed(struct scene *s)
{
	rd_kafka_t *reader = open_reader(s, "group", NULL);

	make_topic(s, "a", 1, NULL);
	say(s, "before: %s", listed(s, "group") ? "listed" : "not listed");
	commit(s, "commit", reader, list_of(s, "a", 0, 4));
	say(s, "after: %s", listed(s, "group") ? "listed" : "not listed");
}

const struct claim claims_offsets[] = {
    CLAIM(offsets_in_a_transaction_show_at_its_commit),
    CLAIM(offsets_in_a_transaction_keep_their_metadata),
    CLAIM(offsets_in_an_aborted_transaction_never_show),
    CLAIM(the_offsets_before_stay_until_the_commit),
    CLAIM(offsets_of_a_crashed_transaction_never_show),
    CLAIM(a_reader_commits_offsets_with_metadata),
    CLAIM(metadata_of_a_commit_has_a_limit),
    CLAIM(a_commit_for_an_unknown_partition_is_refused),
    CLAIM(a_commit_of_nothing_is_answered),
    CLAIM(offsets_sent_for_an_unknown_partition_are_refused),
    CLAIM(a_commit_behind_one_in_an_open_transaction_wins),
    CLAIM(groups_with_offsets_are_listed),
    {0},
};
