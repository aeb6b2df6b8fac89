/* Topics and producers of a scene. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/conformance/scene.h"

enum { WORDS_MAX = 16, WORDS_BYTES_MAX = 512, PAUSE_MS = 10, POLL_MS = 100 };

/* "a=1 b=2" cut into pairs, behind bootstrap.servers. */
struct words {
	char text[WORDS_BYTES_MAX];
	struct property item[WORDS_MAX];
	struct properties list;
};

static void
read_words(struct words *p, const char *text)
{
	static char bootstrap[] = "bootstrap.servers";
	char *word, *rest = NULL, *given = getenv("RIFFLE_BOOTSTRAP");

	p->list = (struct properties){0, p->item};
	if (given != NULL)
		p->item[p->list.n++] = (struct property){bootstrap, given};
	snprintf(p->text, sizeof(p->text), "%s", text == NULL ? "" : text);
	for (word = strtok_r(p->text, " ", &rest); word != NULL && p->list.n < WORDS_MAX;
	     word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		p->item[p->list.n++] = (struct property){word, equals + 1};
	}
}

static rd_kafka_t *
open_handle(struct scene *s, struct kafka_options *o, const char *text)
{
	struct words words;
	struct failure f;
	rd_kafka_t *rk;

	read_words(&words, text);
	o->properties = &words.list;
	o->client = "conformance";
	if (kafka_open(&rk, o, &f) != FAIL_NONE) {
		fprintf(stderr, "conformance: %s: %s\n", s->claim, f.text);
		exit(1); /* no scene goes on without a handle */
	}
	return rk;
}

rd_kafka_t *
open_admin(struct scene *s)
{
	struct kafka_options o = {.role = KAFKA_ADMIN};

	if (s->admin == NULL)
		s->admin = open_handle(s, &o, NULL);
	return s->admin;
}

rd_kafka_t *
open_reader(struct scene *s, const char *group, const char *properties)
{
	char name[SCENE_NAME_MAX];
	struct kafka_options o = {.role = KAFKA_READER, .group = name};

	scene_name(s, name, group == NULL ? "readers" : group);
	assert(s->others_n < SCENE_HANDLES_MAX);
	s->other[s->others_n] = open_handle(s, &o, properties);
	return s->other[s->others_n++];
}

rd_kafka_t *
asker_of(struct scene *s, const char *group)
{
	char name[SCENE_NAME_MAX];
	struct kafka_options o = {.role = KAFKA_READER, .group = name, .asks_only = true};
	struct asker *a = s->asker;

	while (a->rk != NULL && strcmp(a->group, group) != 0)
		a++;
	if (a->rk != NULL)
		return a->rk;
	assert(a < &s->asker[SCENE_GROUPS_MAX] && s->others_n < SCENE_HANDLES_MAX);
	scene_name(s, name, group);
	a->group = group;
	a->rk = s->other[s->others_n++] = open_handle(s, &o, NULL);
	return a->rk;
}

static void
on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct producer *p = opaque;
	struct report *r = &p->report[p->reports_n];

	(void)rk;
	if (p->reports_n == SCENE_REPORTS_MAX)
		return;
	snprintf(r->label, sizeof(r->label), "%.*s", m->len < 11 ? (int)m->len : 11,
	    m->payload == NULL ? "" : (const char *)m->payload);
	r->err = m->err;
	r->partition = m->partition;
	r->offset = m->offset;
	p->reports_n++;
}

static struct producer *
open_producer(struct scene *s, enum kafka_role role, const char *id, const char *properties)
{
	struct producer *p = &s->producer[s->producers_n++];
	struct kafka_options o = {.role = role, .delivered = on_delivery, .opaque = p};
	char name[SCENE_NAME_MAX];

	if (id != NULL) {
		scene_name(s, name, id);
		o.transactional_id = name;
	}
	p->rk = open_handle(s, &o, properties);
	return p;
}

struct producer *
open_writer(struct scene *s, const char *properties)
{
	return open_producer(s, KAFKA_WRITER, NULL, properties);
}

struct producer *
open_transactional(struct scene *s, const char *id, const char *properties)
{
	return open_producer(s, KAFKA_TRANSACTIONAL, id, properties);
}

struct producer *
take_over(struct scene *s, const char *id, const char *properties)
{
	struct producer *p = open_transactional(s, id, properties);

	must(s, "init_transactions", rd_kafka_init_transactions(p->rk, SCENE_WAIT_MS));
	return p;
}

rd_kafka_topic_t *
topic_of(struct scene *s, struct producer *p, const char *name)
{
	char full[SCENE_NAME_MAX];
	struct failure f;
	int partitions;

	scene_name(s, full, name);
	for (size_t i = 0; i < p->topics_n; i++)
		if (strcmp(rd_kafka_topic_name(p->topic[i]), full) == 0)
			return p->topic[i];
	if (kafka_partitions(p->rk, full, &partitions, SCENE_WAIT_MS, &f) != FAIL_NONE) {
		scene_broken(s, "%s", f.text);
		return NULL;
	}
	p->topic[p->topics_n] = rd_kafka_topic_new(p->rk, full, NULL);
	return p->topic[p->topics_n++];
}

rd_kafka_resp_err_t
put_bytes(struct scene *s, struct producer *p, const char *topic, int32_t partition,
    const void *value, size_t value_n, const void *key, size_t key_n)
{
	rd_kafka_topic_t *handle = topic_of(s, p, topic);

	if (handle == NULL)
		return RD_KAFKA_RESP_ERR__FAIL;
	if (rd_kafka_produce(handle, partition, RD_KAFKA_MSG_F_COPY, (void *)(uintptr_t)value,
		value_n, key, key_n, NULL) == 0)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	return rd_kafka_last_error();
}

void
put(struct scene *s, struct producer *p, const char *topic, int32_t partition, const char *value)
{
	rd_kafka_resp_err_t err = put_bytes(s, p, topic, partition, value, strlen(value), NULL, 0);

	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		say(s, "produce %s: %s", value, rd_kafka_err2name(err));
}

void
put_all(
    struct scene *s, struct producer *p, const char *topic, int32_t partition, const char *values)
{
	char text[256], *word, *rest = NULL;

	snprintf(text, sizeof(text), "%s", values);
	for (word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
		put(s, p, topic, partition, word);
	if (rd_kafka_flush(p->rk, SCENE_WAIT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		scene_broken(s, "flush of %s took more than %d ms", values, SCENE_WAIT_MS);
}

void
await_reports(struct scene *s, struct producer *p, size_t n)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS;

	while (p->reports_n < n && clock_ms() < deadline_ms)
		rd_kafka_poll(p->rk, POLL_MS);
	if (p->reports_n < n)
		scene_broken(s, "%zu delivery reports of %zu came", p->reports_n, n);
}

static int
by_label(const void *a, const void *b)
{
	return strcmp(((const struct report *)a)->label, ((const struct report *)b)->label);
}

void
say_reports(struct scene *s, const char *what, struct producer *p)
{
	char line[1024] = "";
	size_t n = 0;

	qsort(p->report, p->reports_n, sizeof(p->report[0]), by_label);
	for (size_t i = 0; i < p->reports_n && n < sizeof(line) - 80; i++) {
		const struct report *r = &p->report[i];

		n += (size_t)snprintf(
		    line + n, sizeof(line) - n, " %s=%s", r->label, rd_kafka_err2name(r->err));
		if (r->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			n += (size_t)snprintf(
			    line + n, sizeof(line) - n, "@%lld", (long long)r->offset);
	}
	say(s, "%s:%s", what, n == 0 ? " no reports" : line);
	p->reports_n = 0;
}

void
transact(struct scene *s, struct producer *p, const char *topic, int32_t partition,
    const char *values, bool commit)
{
	if (!must(s, "begin", rd_kafka_begin_transaction(p->rk)))
		return;
	put_all(s, p, topic, partition, values);
	if (commit)
		must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	else
		must(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
}

rd_kafka_resp_err_t
ask_topic(struct scene *s, const char *name, int partitions, int replicas, const char *settings)
{
	char full[SCENE_NAME_MAX], text[WORDS_BYTES_MAX], *word, *rest = NULL, why[256] = "";
	rd_kafka_t *rk = open_admin(s);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_event_t *answer;
	rd_kafka_NewTopic_t *topic;
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	size_t n;

	scene_name(s, full, name);
	topic = rd_kafka_NewTopic_new(full, partitions, replicas, why, sizeof(why));
	snprintf(text, sizeof(text), "%s", settings == NULL ? "" : settings);
	for (word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		rd_kafka_NewTopic_set_config(topic, word, equals + 1);
	}
	rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
	answer = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	rd_kafka_NewTopic_destroy_array(&topic, 1);
	if (answer != NULL)
		err = rd_kafka_event_error(answer);
	if (answer != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = rd_kafka_topic_result_error(rd_kafka_CreateTopics_result_topics(
		    rd_kafka_event_CreateTopics_result(answer), &n)[0]);
	if (answer != NULL)
		rd_kafka_event_destroy(answer);
	rd_kafka_queue_destroy(queue);
	return err;
}

void
make_topic(struct scene *s, const char *name, int partitions, const char *settings)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS;
	rd_kafka_resp_err_t err = ask_topic(s, name, partitions, 1, settings);
	char full[SCENE_NAME_MAX];
	struct failure f;
	int shown = 0;

	scene_name(s, full, name);
	while (err == RD_KAFKA_RESP_ERR_NO_ERROR && shown == 0 && clock_ms() < deadline_ms &&
	       kafka_partitions(s->admin, full, &shown, SCENE_WAIT_MS, &f) == FAIL_NONE)
		if (shown == 0)
			clock_pause_ms(PAUSE_MS);
	if (shown != partitions)
		scene_broken(s, "topic %s was not made: %s", name, rd_kafka_err2name(err));
}

int
partitions_of(struct scene *s, const char *name)
{
	char full[SCENE_NAME_MAX];
	struct failure f;
	int n = -1;

	scene_name(s, full, name);
	if (kafka_partitions(open_admin(s), full, &n, SCENE_WAIT_MS, &f) != FAIL_NONE)
		scene_broken(s, "%s", f.text);
	return n;
}

rd_kafka_resp_err_t
delete_topic(struct scene *s, const char *name)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(open_admin(s));
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;
	rd_kafka_DeleteTopic_t *topic;
	char full[SCENE_NAME_MAX];
	rd_kafka_event_t *event;
	size_t n;

	scene_name(s, full, name);
	topic = rd_kafka_DeleteTopic_new(full);
	rd_kafka_DeleteTopics(s->admin, &topic, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, SCENE_WAIT_MS);
	if (event != NULL)
		err = rd_kafka_event_error(event);
	if (event != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = rd_kafka_topic_result_error(rd_kafka_DeleteTopics_result_topics(
		    rd_kafka_event_DeleteTopics_result(event), &n)[0]);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_DeleteTopic_destroy_array(&topic, 1);
	rd_kafka_queue_destroy(queue);
	return err;
}

void
await_gone(struct scene *s, const char *name)
{
	int64_t deadline_ms = clock_ms() + SCENE_WAIT_MS;

	while (partitions_of(s, name) != 0 && clock_ms() < deadline_ms)
		clock_pause_ms(PAUSE_MS);
}
