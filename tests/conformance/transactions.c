/* The order of the transactional calls, and what ends a transaction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/scene.h"

static void
nothing_is_begun_before_init_transactions(struct scene *s)
{
	struct producer *p = open_transactional(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	put(s, p, "a", 0, "x");
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, SCENE_WAIT_MS));
	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, SCENE_WAIT_MS));
}

static void
a_transaction_is_begun_once(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	say_error(s, "begin again", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x");
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_end(s, COMMITTED, "a", 0, 2);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
nothing_is_ended_that_was_not_begun(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, SCENE_WAIT_MS));
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, SCENE_WAIT_MS));
	say_error(s, "commit again", rd_kafka_commit_transaction(p->rk, SCENE_WAIT_MS));
	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, SCENE_WAIT_MS));
}

static void
records_outside_of_a_transaction_are_refused(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	put(s, p, "a", 0, "before");
	transact(s, p, "a", 0, "x", true);
	put(s, p, "a", 0, "between");
	await_end(s, COMMITTED, "a", 0, 2);
	say_ends(s, "a", 0);
}

static void
offsets_outside_of_a_transaction_are_refused(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	say_error(s, "send_offsets", send_offset(s, p, "group", "a", 0, 1));
	say_committed(s, "group", "a", 0);
}

static void
init_transactions_twice_is_refused(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	say_error(s, "init again", rd_kafka_init_transactions(p->rk, SCENE_WAIT_MS));
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
}

static void
a_plain_producer_has_no_transactions(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	say_error(s, "init", rd_kafka_init_transactions(p->rk, SCENE_WAIT_MS));
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, SCENE_WAIT_MS));
}

static void
a_longer_time_out_than_the_broker_allows_is_refused(struct scene *s)
{
	struct producer *p = open_transactional(s, "id", "transaction.timeout.ms=2000000");

	say_error(s, "init", rd_kafka_init_transactions(p->rk, SCENE_WAIT_MS));
}

static void
commit_delivers_what_is_still_queued(struct scene *s)
{
	struct producer *p = take_over(s, "id", "linger.ms=10000");

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put(s, p, "a", 0, "x");
	put(s, p, "a", 0, "y");
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	say_reports(s, "reports", p);
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	await_end(s, COMMITTED, "a", 0, 3);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
abort_purges_what_is_still_queued(struct scene *s)
{
	struct producer *p = take_over(s, "id", "linger.ms=10000");
	rd_kafka_message_t *m;

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put(s, p, "a", 0, "x");
	put(s, p, "a", 0, "y");
	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	await_reports(s, p, 2);
	say_reports(s, "reports", p);
	say(s, "queued: %d", rd_kafka_outq_len(p->rk));
	/* Not say_ends(): whether the partition was part of the transaction by then, and has its
	 * marker, is a race between the client's threads. */
	m = next_message(s, begin_reading(s, UNCOMMITTED, "a", 0, 0));
	if (m != NULL) {
		say(s, "the log begins with: %s", rd_kafka_err2name(m->err));
		rd_kafka_message_destroy(m);
	}
}

/* A record that the client lets pass and the topic does not. */
static void
put_too_large(struct scene *s, struct producer *p, const char *topic)
{
	enum { LARGE = 100000 };
	char *value = malloc(LARGE);

	if (value == NULL)
		abort();
	memset(value, 'L', LARGE);
	say_code(s, "produce", put_bytes(s, p, topic, 0, value, LARGE, NULL, 0));
	free(value);
}

static void
a_record_not_delivered_makes_the_transaction_abortable(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "small", 1, "max.message.bytes=10000");
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "small", 0, "x");
	put_too_large(s, p, "small");
	await_reports(s, p, 2);
	say_reports(s, "reports", p);
	put(s, p, "small", 0, "after");
	say_error(s, "send_offsets", send_offset(s, p, "group", "small", 0, 1));
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	say_code(s, "fatal error", rd_kafka_fatal_error(p->rk, NULL, 0));
	say_committed(s, "group", "small", 0);
}

static void
after_an_abort_the_handle_goes_on(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	for (int i = 0; i < 3; i++) {
		say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
		put_all(s, p, "a", 0, "x y");
		say_error(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	}
	transact(s, p, "a", 0, "z", true);
	await_end(s, COMMITTED, "a", 0, 11);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, UNCOMMITTED, "a", 0, 0);
}

/* The refused record has used up a sequence number: the next transaction fails by that. */
static void
a_refused_record_spoils_the_next_transaction_too(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "small", 1, "max.message.bytes=10000");
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "small", 0, "x");
	put_too_large(s, p, "small");
	await_reports(s, p, 2);
	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	p->reports_n = 0;
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "small", 0, "y");
	say_reports(s, "reports", p);
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	say_error(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "small", 0, "z");
	say_reports(s, "reports", p);
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_end(s, COMMITTED, "small", 0, 5);
	say_records(s, COMMITTED, "small", 0, 0);
	say_records(s, UNCOMMITTED, "small", 0, 0);
}

static void
transactions_follow_each_other_at_once(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	for (int i = 0; i < 20; i++)
		transact(s, p, "a", 0, i % 3 == 1 ? "no" : "x", i % 3 != 1);
	await_end(s, COMMITTED, "a", 0, 40);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
one_transaction_spans_topics(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	make_topic(s, "b", 2, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x");
	put_all(s, p, "b", 1, "y z");
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, COMMITTED, "b", 1, 0);
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_end(s, COMMITTED, "a", 0, 2);
	await_end(s, COMMITTED, "b", 1, 3);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, COMMITTED, "b", 1, 0);
	say_records(s, COMMITTED, "b", 0, 0);
}

const struct claim claims_transactions[] = {
    CLAIM(nothing_is_begun_before_init_transactions),
    CLAIM(a_transaction_is_begun_once),
    CLAIM(nothing_is_ended_that_was_not_begun),
    CLAIM(records_outside_of_a_transaction_are_refused),
    CLAIM(offsets_outside_of_a_transaction_are_refused),
    CLAIM(init_transactions_twice_is_refused),
    CLAIM(a_plain_producer_has_no_transactions),
    CLAIM(a_longer_time_out_than_the_broker_allows_is_refused),
    CLAIM(commit_delivers_what_is_still_queued),
    CLAIM(abort_purges_what_is_still_queued),
    CLAIM(a_record_not_delivered_makes_the_transaction_abortable),
    CLAIM(after_an_abort_the_handle_goes_on),
    CLAIM(a_refused_record_spoils_the_next_transaction_too),
    CLAIM(transactions_follow_each_other_at_once),
    CLAIM(one_transaction_spans_topics),
    {0},
};
