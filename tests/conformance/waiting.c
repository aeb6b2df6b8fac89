/* What takes seconds because a broker or client waits: these start first. */
#include <stdio.h>

#include "common/clock.h"
#include "tests/conformance/scene.h"

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

const struct claim claims_waiting[] = {
    CLAIM(a_transaction_that_timed_out_is_aborted_by_the_coordinator),
    CLAIM(commit_after_a_time_out_is_refused),
    CLAIM(abort_after_a_time_out_is_refused),
    CLAIM(produce_after_a_time_out_is_refused),
    CLAIM(send_offsets_after_a_time_out_is_refused),
    CLAIM(records_for_an_unknown_topic_are_given_up),
    {0},
};
