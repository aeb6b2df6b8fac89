/* Which records a reader sees, and where its log ends. */
#include "tests/conformance/scene.h"

static void
an_open_transaction_hides_itself_and_all_behind_it(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL), *plain = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	put_all(s, plain, "a", 0, "before");
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x");
	put_all(s, plain, "a", 0, "behind");
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, UNCOMMITTED, "a", 0, 0);
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	await_end(s, COMMITTED, "a", 0, 4);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
aborted_records_are_skipped(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	transact(s, p, "a", 0, "a b", true);
	transact(s, p, "a", 0, "c d", false);
	transact(s, p, "a", 0, "e", true);
	await_end(s, COMMITTED, "a", 0, 8);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, COMMITTED, "a", 0, 4);
	say_records(s, UNCOMMITTED, "a", 0, 0);
}

static void
two_transactions_in_one_partition_become_visible_in_offset_order(struct scene *s)
{
	struct producer *one = take_over(s, "one", NULL), *two = take_over(s, "two", NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(one->rk));
	must(s, "begin", rd_kafka_begin_transaction(two->rk));
	put_all(s, one, "a", 0, "1a");
	put_all(s, two, "a", 0, "2a");
	put_all(s, one, "a", 0, "1b");
	put_all(s, two, "a", 0, "2b");
	must(s, "commit", rd_kafka_commit_transaction(two->rk, -1));
	await_end(s, UNCOMMITTED, "a", 0, 5);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
	must(s, "commit", rd_kafka_commit_transaction(one->rk, -1));
	await_end(s, COMMITTED, "a", 0, 6);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
of_two_interleaved_transactions_the_aborted_one_is_skipped(struct scene *s)
{
	struct producer *one = take_over(s, "one", NULL), *two = take_over(s, "two", NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(one->rk));
	must(s, "begin", rd_kafka_begin_transaction(two->rk));
	put_all(s, one, "a", 0, "1a");
	put_all(s, two, "a", 0, "2a");
	put_all(s, one, "a", 0, "1b");
	must(s, "abort", rd_kafka_abort_transaction(one->rk, -1));
	await_end(s, COMMITTED, "a", 0, 1);
	say_ends(s, "a", 0);
	put_all(s, two, "a", 0, "2b");
	must(s, "commit", rd_kafka_commit_transaction(two->rk, -1));
	await_end(s, COMMITTED, "a", 0, 6);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, UNCOMMITTED, "a", 0, 0);
}

static void
the_stable_end_moves_to_the_next_open_transaction(struct scene *s)
{
	struct producer *one = take_over(s, "one", NULL), *two = take_over(s, "two", NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(one->rk));
	put_all(s, one, "a", 0, "1a 1b");
	must(s, "begin", rd_kafka_begin_transaction(two->rk));
	put_all(s, two, "a", 0, "2a");
	say_ends(s, "a", 0);
	must(s, "commit", rd_kafka_commit_transaction(one->rk, -1));
	await_end(s, COMMITTED, "a", 0, 2);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
	must(s, "commit", rd_kafka_commit_transaction(two->rk, -1));
	await_end(s, COMMITTED, "a", 0, 5);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
a_marker_takes_one_offset_in_each_partition_written(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 3, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x y");
	put_all(s, p, "a", 1, "z");
	must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 1, "w");
	must(s, "abort", rd_kafka_abort_transaction(p->rk, -1));
	await_end(s, COMMITTED, "a", 0, 3);
	await_end(s, COMMITTED, "a", 1, 4);
	for (int32_t i = 0; i < 3; i++)
		say_ends(s, "a", i);
}

static void
an_empty_transaction_takes_no_offset(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	transact(s, p, "a", 0, "x", true);
	transact(s, p, "a", 0, "", true);
	transact(s, p, "a", 0, "", false);
	transact(s, p, "a", 0, "y", true);
	await_end(s, COMMITTED, "a", 0, 4);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
a_reader_that_waits_sees_the_commit(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);
	rd_kafka_t *reader;
	rd_kafka_message_t *m;

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x");
	reader = begin_reading(s, COMMITTED, "a", 0, 0);
	for (int i = 0; i < 3 && (m = next_message(s, reader)) != NULL; i++) {
		say(s, "%s@%d %.*s", rd_kafka_err2name(m->err), (int)m->offset,
		    m->err == 0 ? (int)m->len : 0, m->err == 0 ? (char *)m->payload : "");
		rd_kafka_message_destroy(m);
		if (i == 0)
			must(s, "commit", rd_kafka_commit_transaction(p->rk, -1));
	}
}

static void
a_partition_of_markers_alone_ends_where_it_ends(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	transact(s, p, "a", 0, "x", false);
	transact(s, p, "a", 0, "y", false);
	await_end(s, COMMITTED, "a", 0, 4);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, COMMITTED, "a", 0, 1);
	say_records(s, COMMITTED, "a", 0, 4);
	say_records(s, UNCOMMITTED, "a", 0, 1);
}

static void
a_crashed_transaction_stays_open(struct scene *s)
{
	struct producer *p = take_over(s, "id", NULL), *plain = open_writer(s, NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(p->rk));
	put_all(s, p, "a", 0, "x");
	crash(p);
	put_all(s, plain, "a", 0, "y");
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
	take_over(s, "id", NULL);
	await_end(s, COMMITTED, "a", 0, 3);
	say_records(s, COMMITTED, "a", 0, 0);
}

const struct claim claims_visibility[] = {
    CLAIM(an_open_transaction_hides_itself_and_all_behind_it),
    CLAIM(aborted_records_are_skipped),
    CLAIM(two_transactions_in_one_partition_become_visible_in_offset_order),
    CLAIM(of_two_interleaved_transactions_the_aborted_one_is_skipped),
    CLAIM(the_stable_end_moves_to_the_next_open_transaction),
    CLAIM(a_marker_takes_one_offset_in_each_partition_written),
    CLAIM(an_empty_transaction_takes_no_offset),
    CLAIM(a_reader_that_waits_sees_the_commit),
    CLAIM(a_partition_of_markers_alone_ends_where_it_ends),
    CLAIM(a_crashed_transaction_stays_open),
    {0},
};
