/* What is kept of a record, and which records are refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/scene.h"

enum { LARGE_BYTES = 8 << 20 };

static void
idempotent_records_lie_close_and_in_order(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 2, NULL);
	put_all(s, p, "a", 0, "a b c");
	put_all(s, p, "a", 1, "d");
	put_all(s, p, "a", 0, "e");
	say_reports(s, "reports", p);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, COMMITTED, "a", 1, 0);
}

static void
a_recreated_producer_appends_the_same_again(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "a b c");
	crash(p);
	p = open_writer(s, NULL);
	put_all(s, p, "a", 0, "b c d");
	say_reports(s, "reports", p);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
say_key(struct scene *s, const rd_kafka_message_t *m)
{
	say(s, "%" PRId64 ": key %s %zu, value %s %zu", m->offset, m->key == NULL ? "null" : "of",
	    m->key_len, m->payload == NULL ? "null" : "of", m->len);
}

static void
null_and_empty_keys_and_values_are_kept_apart(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);
	rd_kafka_message_t *m;
	rd_kafka_t *rk;

	make_topic(s, "a", 1, NULL);
	put_bytes(s, p, "a", 0, "v", 1, NULL, 0);
	put_bytes(s, p, "a", 0, "v", 1, "", 0);
	put_bytes(s, p, "a", 0, "v", 1, "key", 3);
	put_bytes(s, p, "a", 0, NULL, 0, "key", 3);
	put_bytes(s, p, "a", 0, "", 0, "key", 3);
	put_bytes(s, p, "a", 0, NULL, 0, NULL, 0);
	await_reports(s, p, 6);
	rk = begin_reading(s, COMMITTED, "a", 0, 0);
	for (int i = 0; i < 6 && (m = next_message(s, rk)) != NULL; i++) {
		say_key(s, m);
		rd_kafka_message_destroy(m);
	}
}

static void
say_headers(struct scene *s, const rd_kafka_message_t *m)
{
	rd_kafka_headers_t *headers = NULL;
	const char *name;
	const void *value;
	size_t size;

	say_code(s, "headers", rd_kafka_message_headers(m, &headers));
	for (size_t i = 0;
	     headers != NULL && rd_kafka_header_get_all(headers, i, &name, &value, &size) == 0; i++)
		say(s, "%s=%s of %zu '%.*s'", name, value == NULL ? "null" : "value", size,
		    (int)size, value == NULL ? "" : (const char *)value);
}

static void
headers_are_kept_in_order_with_repeats(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);
	rd_kafka_headers_t *headers = rd_kafka_headers_new(4);
	rd_kafka_message_t *m;
	rd_kafka_t *rk;

	make_topic(s, "a", 1, NULL);
	rd_kafka_header_add(headers, "z", -1, "first", -1);
	rd_kafka_header_add(headers, "a", -1, "", -1);
	rd_kafka_header_add(headers, "z", -1, "second", 6);
	rd_kafka_header_add(headers, "null", -1, NULL, 0);
	say_code(s, "producev",
	    rd_kafka_producev(p->rk, RD_KAFKA_V_RKT(topic_of(s, p, "a")), RD_KAFKA_V_PARTITION(0),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		RD_KAFKA_V_VALUE((void *)(uintptr_t) "x", 1), RD_KAFKA_V_HEADERS(headers),
		RD_KAFKA_V_END));
	put(s, p, "a", 0, "bare");
	await_reports(s, p, 2);
	rk = begin_reading(s, COMMITTED, "a", 0, 0);
	for (int i = 0; i < 2 && (m = next_message(s, rk)) != NULL; i++) {
		say_headers(s, m);
		rd_kafka_message_destroy(m);
	}
}

static void
timestamps_are_of_creation_and_do_not_go_back(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);
	int64_t before = 0, time_ms;
	rd_kafka_timestamp_type_t type;
	rd_kafka_message_t *m;
	rd_kafka_t *rk;

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "a b");
	put_all(s, p, "a", 0, "c");
	rk = begin_reading(s, COMMITTED, "a", 0, 0);
	for (int i = 0; i < 3 && (m = next_message(s, rk)) != NULL; i++) {
		time_ms = rd_kafka_message_timestamp(m, &type);
		say(s, "%s, %s", type == RD_KAFKA_TIMESTAMP_CREATE_TIME ? "created" : "other",
		    time_ms > 0 && time_ms >= before ? "not before the last" : "before the last");
		before = time_ms;
		rd_kafka_message_destroy(m);
	}
}

static char *
large(size_t n)
{
	char *value = malloc(n);

	if (value == NULL)
		abort();
	for (size_t i = 0; i < n; i++)
		value[i] = (char)('a' + i * i % 23);
	return value;
}

static void
a_record_of_eight_mebibytes_comes_back_whole(struct scene *s)
{
	struct producer *p = open_writer(s, "message.max.bytes=16777216");
	char *value = large(LARGE_BYTES);
	rd_kafka_message_t *m;
	rd_kafka_t *rk;

	make_topic(s, "a", 1, "max.message.bytes=16777216");
	say_code(s, "produce", put_bytes(s, p, "a", 0, value, LARGE_BYTES, NULL, 0));
	put(s, p, "a", 0, "small");
	await_reports(s, p, 2);
	rk = begin_reading(s, COMMITTED, "a", 0, 0);
	for (int i = 0; i < 3 && (m = next_message(s, rk)) != NULL; i++) {
		bool same = m->len == LARGE_BYTES && memcmp(m->payload, value, m->len) == 0;

		say(s, "%s@%" PRId64 "%s", rd_kafka_err2name(m->err), m->offset,
		    same ? " as it was" : "");
		rd_kafka_message_destroy(m);
	}
	free(value);
}

static void
a_record_too_large_for_the_client_is_refused_at_once(struct scene *s)
{
	struct producer *p = open_writer(s, "message.max.bytes=100000");
	char *value = large(200000);

	make_topic(s, "a", 1, NULL);
	say_code(s, "produce", put_bytes(s, p, "a", 0, value, 200000, NULL, 0));
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	put_all(s, p, "a", 0, "x");
	say_reports(s, "reports", p);
	free(value);
}

static void
a_record_too_large_for_the_topic_is_refused_by_the_broker(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);
	char *value = large(200000);

	make_topic(s, "a", 1, "max.message.bytes=100000");
	put_all(s, p, "a", 0, "X");
	say_code(s, "produce", put_bytes(s, p, "a", 0, value, 200000, NULL, 0));
	await_reports(s, p, 2);
	put_all(s, p, "a", 0, "Y");
	say_reports(s, "reports", p);
	say_code(s, "fatal error", rd_kafka_fatal_error(p->rk, NULL, 0));
	say_ends(s, "a", 0);
	free(value);
}

static void
a_full_queue_refuses_until_it_is_served(struct scene *s)
{
	struct producer *p = open_writer(s, "queue.buffering.max.messages=2 linger.ms=10000");

	make_topic(s, "a", 1, NULL);
	put(s, p, "a", 0, "a");
	put(s, p, "a", 0, "b");
	put(s, p, "a", 0, "c");
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	say_code(s, "flush", rd_kafka_flush(p->rk, SCENE_WAIT_MS));
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	put_all(s, p, "a", 0, "d");
	say_reports(s, "reports", p);
}

static void
purge_reports_what_was_queued(struct scene *s)
{
	struct producer *p = open_writer(s, "linger.ms=10000");

	make_topic(s, "a", 1, NULL);
	put(s, p, "a", 0, "a");
	put(s, p, "a", 0, "b");
	say_code(s, "purge", rd_kafka_purge(p->rk, RD_KAFKA_PURGE_F_QUEUE));
	await_reports(s, p, 2);
	say_reports(s, "reports", p);
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	put_all(s, p, "a", 0, "c");
	say_reports(s, "reports", p);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
flush_gives_up_after_its_time(struct scene *s)
{
	struct producer *p = open_writer(s, "linger.ms=10000");

	make_topic(s, "a", 1, NULL);
	put(s, p, "a", 0, "a");
	say_code(s, "flush without time", rd_kafka_flush(p->rk, 0));
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	say_code(s, "flush", rd_kafka_flush(p->rk, SCENE_WAIT_MS));
	say_code(s, "flush of nothing", rd_kafka_flush(p->rk, 0));
	say_reports(s, "reports", p);
}

static void
records_for_an_unknown_partition_are_refused_at_once(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 2, NULL);
	put(s, p, "a", 2, "x");
	put_all(s, p, "a", 1, "y");
	say_reports(s, "reports", p);
}

static void
records_are_compressed_and_come_back(struct scene *s)
{
	struct producer *p = open_writer(s, "compression.codec=zstd linger.ms=100");

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "a b c d e");
	say_records(s, COMMITTED, "a", 0, 2);
}

const struct claim claims_records[] = {
    CLAIM(idempotent_records_lie_close_and_in_order),
    CLAIM(a_recreated_producer_appends_the_same_again),
    CLAIM(null_and_empty_keys_and_values_are_kept_apart),
    CLAIM(headers_are_kept_in_order_with_repeats),
    CLAIM(timestamps_are_of_creation_and_do_not_go_back),
    CLAIM(a_record_of_eight_mebibytes_comes_back_whole),
    CLAIM(a_record_too_large_for_the_client_is_refused_at_once),
    CLAIM(a_record_too_large_for_the_topic_is_refused_by_the_broker),
    CLAIM(a_full_queue_refuses_until_it_is_served),
    CLAIM(purge_reports_what_was_queued),
    CLAIM(flush_gives_up_after_its_time),
    CLAIM(records_for_an_unknown_partition_are_refused_at_once),
    CLAIM(records_are_compressed_and_come_back),
    {0},
};
