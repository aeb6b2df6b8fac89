/* What takes seconds because a broker or client waits: these start first. */
#include <stdio.h>

#include "common/base/clock.h"
#include "tests/conformance/scene.h"

enum { LONG_MS = 6000 };

/* A transaction that the coordinator gives up after four seconds, at its next look. */
static struct producer *
time_out(struct scene *s)
{
	struct producer *p =
	    take_over(s, "id", "transaction.timeout.ms=4000 message.timeout.ms=3900");

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x y");
	await_end(s, COMMITTED, "a", 0, 3);
	say_ends(s, "a", 0);
	return p;
}

static void
a_transaction_that_timed_out_is_aborted_by_the_coordinator(struct scene *s)
{
	struct producer *p = time_out(s);

	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, UNCOMMITTED, "a", 0, 0);
	p = take_over(s, "id", NULL);
	transact(s, p, "a", 0, "z", true);
	await_end(s, COMMITTED, "a", 0, 5);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
say_fatal(struct scene *s, struct producer *p)
{
	char why[256];

	say_code(s, "fatal error", rd_kafka_fatal_error(p->rk, why, sizeof(why)));
}

static void
commit_after_a_time_out_is_refused(struct scene *s)
{
	struct producer *p = time_out(s);

	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	say_fatal(s, p);
	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
abort_after_a_time_out_is_refused(struct scene *s)
{
	struct producer *p = time_out(s);

	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	say_fatal(s, p);
}

static void
produce_after_a_time_out_is_refused(struct scene *s)
{
	struct producer *p = time_out(s);

	p->reports_n = 0;
	put(s, p, "a", 0, "late");
	await_reports(s, p, 1);
	say_reports(s, "reports", p);
	say_fatal(s, p);
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	say_error(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
send_offsets_after_a_time_out_is_refused(struct scene *s)
{
	struct producer *p = time_out(s);

	say_error(s, "send_offsets", send_offset(s, p, "group", "a", 0, 1));
	say_fatal(s, p);
	say_error(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	say_committed(s, "group", "a", 0);
}

static void
records_for_an_unknown_topic_are_given_up(struct scene *s)
{
	struct producer *p = open_writer(s, "message.timeout.ms=3000");

	put(s, p, "nowhere", 0, "x");
	await_reports(s, p, 1);
	say_reports(s, "reports", p);
}

/* What comes within LONG_MS, which is long for a reader. */
static void
say_next(struct scene *s, rd_kafka_t *rk)
{
	rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, LONG_MS);

	say(s, "read: %s", m == NULL ? "nothing" : rd_kafka_err2name(m->err));
	if (m != NULL)
		rd_kafka_message_destroy(m);
}

static void
records_for_what_does_not_appear_in_time_are_given_up(struct scene *s)
{
	static const char properties[] = "topic.metadata.propagation.max.ms=3000 "
					 "topic.metadata.refresh.interval.ms=1000";
	struct producer *p = open_writer(s, properties);
	rd_kafka_t *rk = open_reader(s, NULL, properties);
	rd_kafka_topic_partition_list_t *list = list_of(s, "nowhere", 0, 0);

	say_code(s, "assign", rd_kafka_assign(rk, list));
	rd_kafka_topic_partition_list_destroy(list);
	put(s, p, "nowhere", 0, "x");
	await_reports(s, p, 1);
	say_reports(s, "reports", p);
	say_next(s, rk);
}

static void
a_reader_of_a_deleted_topic_waits_for_it(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);
	rd_kafka_t *rk;

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x");
	rk = begin_reading(s, COMMITTED, "a", 0, 0);
	say_next(s, rk);
	say_next(s, rk);
	say_code(s, "delete", delete_topic(s, "a"));
	say_next(s, rk);
}

/*
 * A record that still stands in its partition's queue when librdkafka lets go of the partition is
 * given up with another word than one that came back from the broker: which one is a matter of
 * milliseconds, and riffle ends with both.
 */
static void
records_for_a_deleted_topic_are_given_up(struct scene *s)
{
	struct producer *p = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, p, "a", 0, "x");
	say_code(s, "delete", delete_topic(s, "a"));
	await_gone(s, "a");
	p->reports_n = 0;
	put(s, p, "a", 0, "y");
	await_reports(s, p, 1);
	if (p->report[0].err == RD_KAFKA_RESP_ERR__DESTROY)
		p->report[0].err = RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
	say_reports(s, "reports", p);
}

const struct claim claims_waiting[] = {
    CLAIM(a_transaction_that_timed_out_is_aborted_by_the_coordinator),
    CLAIM(commit_after_a_time_out_is_refused),
    CLAIM(abort_after_a_time_out_is_refused),
    CLAIM(produce_after_a_time_out_is_refused),
    CLAIM(send_offsets_after_a_time_out_is_refused),
    CLAIM(records_for_an_unknown_topic_are_given_up),
    CLAIM(records_for_what_does_not_appear_in_time_are_given_up),
    CLAIM(a_reader_of_a_deleted_topic_waits_for_it),
    CLAIM(records_for_a_deleted_topic_are_given_up),
    {0},
};
