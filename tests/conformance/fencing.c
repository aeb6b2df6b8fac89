/* Two producers of one transactional id: the later one has it. */
#include <stdio.h>

#include "tests/conformance/scene.h"

/* A producer with an open transaction of x and y; then another one takes its id. */
static struct producer *
fence(struct scene *s)
{
	struct producer *old = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(old->rk));
	put_all(s, old, "a", 0, "x y");
	old->reports_n = 0;
	take_over(s, "id", NULL);
	return old;
}

static void
say_fatal(struct scene *s, struct producer *p)
{
	char why[256];

	say_code(s, "fatal error", rd_kafka_fatal_error(p->rk, why, sizeof(why)));
}

static void
init_transactions_aborts_what_the_predecessor_left_open(struct scene *s)
{
	fence(s);
	await_end(s, COMMITTED, "a", 0, 3);
	say_ends(s, "a", 0);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, UNCOMMITTED, "a", 0, 0);
}

static void
a_fenced_producer_cannot_produce(struct scene *s)
{
	struct producer *old = fence(s);

	put(s, old, "a", 0, "late");
	await_reports(s, old, 1);
	say_reports(s, "reports", old);
	say_fatal(s, old);
	say_error(s, "commit", rd_kafka_commit_transaction(old->rk, -1));
	await_end(s, COMMITTED, "a", 0, 3);
	say_ends(s, "a", 0);
}

static void
a_fenced_producer_cannot_commit(struct scene *s)
{
	struct producer *old = fence(s);

	say_error(s, "commit", rd_kafka_commit_transaction(old->rk, -1));
	say_fatal(s, old);
	say_error(s, "commit again", rd_kafka_commit_transaction(old->rk, -1));
	say_error(s, "abort", rd_kafka_abort_transaction(old->rk, -1));
	await_end(s, COMMITTED, "a", 0, 3);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
a_fenced_producer_cannot_abort(struct scene *s)
{
	struct producer *old = fence(s);

	say_error(s, "abort", rd_kafka_abort_transaction(old->rk, -1));
	say_fatal(s, old);
}

static void
a_fenced_producer_cannot_send_offsets(struct scene *s)
{
	struct producer *old = fence(s);

	say_error(s, "send_offsets", send_offset(s, old, "group", "a", 0, 1));
	say_fatal(s, old);
	say_error(s, "commit", rd_kafka_commit_transaction(old->rk, -1));
	say_committed(s, "group", "a", 0);
}

static void
an_idle_producer_learns_of_its_fencing_at_its_next_record(struct scene *s)
{
	struct producer *old = take_over(s, "id", NULL);

	make_topic(s, "a", 1, NULL);
	transact(s, old, "a", 0, "x", true);
	await_end(s, COMMITTED, "a", 0, 2);
	take_over(s, "id", NULL);
	old->reports_n = 0;
	say_error(s, "begin", rd_kafka_begin_transaction(old->rk));
	put(s, old, "a", 0, "late");
	await_reports(s, old, 1);
	say_reports(s, "reports", old);
	say_fatal(s, old);
	say_error(s, "commit", rd_kafka_commit_transaction(old->rk, -1));
	say_ends(s, "a", 0);
}

static void
after_a_fatal_error_nothing_works(struct scene *s)
{
	struct producer *old = fence(s);

	say_error(s, "commit", rd_kafka_commit_transaction(old->rk, -1));
	put(s, old, "a", 0, "late");
	say_error(s, "begin", rd_kafka_begin_transaction(old->rk));
	say_error(s, "send_offsets", send_offset(s, old, "group", "a", 0, 1));
	say_error(s, "init", rd_kafka_init_transactions(old->rk, SCENE_WAIT_MS));
	say_code(s, "flush", rd_kafka_flush(old->rk, SCENE_WAIT_MS));
	say(s, "queued: %d", rd_kafka_outq_len(old->rk));
}

static void
the_new_one_works_while_the_old_one_is_refused(struct scene *s)
{
	struct producer *old = take_over(s, "id", NULL), *new;

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(old->rk));
	put_all(s, old, "a", 0, "old");
	new = take_over(s, "id", NULL);
	must(s, "begin", rd_kafka_begin_transaction(new->rk));
	put_all(s, new, "a", 0, "new");
	say_error(s, "commit of the old", rd_kafka_commit_transaction(old->rk, -1));
	say_error(s, "commit of the new", rd_kafka_commit_transaction(new->rk, -1));
	await_end(s, COMMITTED, "a", 0, 4);
	say_records(s, COMMITTED, "a", 0, 0);
	say_records(s, UNCOMMITTED, "a", 0, 0);
}

static void
each_of_three_fences_the_one_before(struct scene *s)
{
	struct producer *first = take_over(s, "id", NULL), *second, *third;

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(first->rk));
	put_all(s, first, "a", 0, "1");
	second = take_over(s, "id", NULL);
	must(s, "begin", rd_kafka_begin_transaction(second->rk));
	put_all(s, second, "a", 0, "2");
	third = take_over(s, "id", NULL);
	must(s, "begin", rd_kafka_begin_transaction(third->rk));
	put_all(s, third, "a", 0, "3");
	say_error(s, "commit of the second", rd_kafka_commit_transaction(second->rk, -1));
	say_error(s, "commit of the first", rd_kafka_commit_transaction(first->rk, -1));
	say_error(s, "commit of the third", rd_kafka_commit_transaction(third->rk, -1));
	await_end(s, COMMITTED, "a", 0, 6);
	say_records(s, COMMITTED, "a", 0, 0);
}

static void
other_transactional_ids_are_not_fenced(struct scene *s)
{
	struct producer *one = take_over(s, "one", NULL), *two;

	make_topic(s, "a", 1, NULL);
	must(s, "begin", rd_kafka_begin_transaction(one->rk));
	put_all(s, one, "a", 0, "x");
	two = take_over(s, "two", NULL);
	transact(s, two, "a", 0, "y", true);
	say_error(s, "commit", rd_kafka_commit_transaction(one->rk, -1));
	await_end(s, COMMITTED, "a", 0, 4);
	say_records(s, COMMITTED, "a", 0, 0);
}

const struct claim claims_fencing[] = {
    CLAIM(init_transactions_aborts_what_the_predecessor_left_open),
    CLAIM(a_fenced_producer_cannot_produce),
    CLAIM(a_fenced_producer_cannot_commit),
    CLAIM(a_fenced_producer_cannot_abort),
    CLAIM(a_fenced_producer_cannot_send_offsets),
    CLAIM(an_idle_producer_learns_of_its_fencing_at_its_next_record),
    CLAIM(after_a_fatal_error_nothing_works),
    CLAIM(the_new_one_works_while_the_old_one_is_refused),
    CLAIM(each_of_three_fences_the_one_before),
    CLAIM(other_transactional_ids_are_not_fenced),
    {0},
};
