/* turn.h's rule, and holder.h: which process a member is and whether it lives. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "producer/writer/holder.h"
#include "producer/writer/turn.h"

#define OWN    "riffle-produce-1-1-00000001-elsewhere"
#define OTHER  "riffle-produce-2-1-00000001-elsewhere"
#define THIRD  "riffle-produce-3-1-00000001-elsewhere"
#define PERSON "kcat"

enum { ROOM = 3 };

/* Of client.ids of one word each; ids are a letter for each member, in this order. */
static size_t
members(struct kafka_member member[static ROOM], const char *ids, const char *const client[])
{
	size_t n = strlen(ids);

	memset(member, 0, ROOM * sizeof(*member));
	for (size_t i = 0; i < n; i++) {
		snprintf(member[i].id, sizeof(member[i].id), "%c", ids[i]);
		snprintf(member[i].client, sizeof(member[i].client), "%s", client[i]);
	}
	return n;
}

static enum turn_rule
judged(const char *ids, const char *const client[], bool joined)
{
	struct kafka_member member[ROOM];
	size_t n = members(member, ids, client), mine, other;

	return turn_judge(member, n, OWN, joined, &mine, &other);
}

static void
test_who_joins_who_waits_and_who_leaves(void **unused)
{
	static const struct {
		const char *ids, *client[ROOM];
		bool joined;
		enum turn_rule expected;
	} row[] = {
	    {"", {NULL}, false, TURN_JOIN},
	    {"a", {OTHER}, false, TURN_WAIT},
	    {"a", {PERSON}, false, TURN_WAIT},
	    {"", {NULL}, true, TURN_UNSEEN},
	    {"a", {OTHER}, true, TURN_UNSEEN},
	    {"a", {OWN}, true, TURN_MINE},
	    {"ab", {OWN, OTHER}, true, TURN_WAIT},
	    {"ab", {OTHER, OWN}, true, TURN_LEAVE},
	    {"abc", {THIRD, OWN, OTHER}, true, TURN_LEAVE},
	    {"cab", {THIRD, OWN, OTHER}, true, TURN_WAIT},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, ids)
		assert_int_equal(judged(row[i].ids, row[i].client, row[i].joined), row[i].expected);
}

static void
test_the_turn_stands_while_the_member_that_was_alone_is_there(void **unused)
{
	enum { N = 9 };
	static const struct {
		const char *ids, *client[ROOM], *held;
		enum turn_standing expected;
		size_t mine; /* N: it is no member */
	} row[] = {
	    {"a", {OWN}, "a", TURN_HELD, 0},
	    {"ab", {OWN, OTHER}, "a", TURN_HELD, 0}, /* another one waits */
	    {"ab", {OTHER, OWN}, "b", TURN_HELD, 1},
	    {"abc", {OTHER, THIRD, OWN}, "c", TURN_HELD, 2},
	    {"", {NULL}, "a", TURN_FREE, N},
	    {"b", {OWN}, "a", TURN_FREE, 0}, /* it has joined again */
	    {"bc", {OWN, OTHER}, "a", TURN_LOST, 0},
	    {"c", {OTHER}, "a", TURN_LOST, N},
	    {"c", {PERSON}, "a", TURN_LOST, N},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, ids) {
		struct kafka_member member[ROOM];
		size_t n = members(member, row[i].ids, row[i].client), mine, other;

		assert_int_equal(
		    turn_stands(member, n, OWN, row[i].held, &mine, &other), row[i].expected);
		assert_int_equal(mine, row[i].mine == N ? n : row[i].mine);
	}
}

static void
test_a_process_that_was_silent_for_long_looks_whether_it_was_taken_out(void **unused)
{
	static const struct {
		int64_t silent_ms;
		enum turn_due due;
	} row[] = {
	    {0, TURN_DUE_NOTHING},
	    {TURN_LOOK_MS - 1, TURN_DUE_NOTHING},
	    {TURN_LOOK_MS, TURN_DUE_POLL},
	    {TURN_SILENT_MS - 1, TURN_DUE_POLL},
	    {TURN_SILENT_MS, TURN_DUE_CHECK},
	    {24 * 3600 * 1000, TURN_DUE_CHECK},
	};

	(void)unused;
	assert_true(TURN_SILENT_MS < TURN_SESSION_MS);
	EACH_ROW(i, row)
		assert_int_equal(turn_is_due(1000, 1000 + row[i].silent_ms), row[i].due);
}

/* A process that has ended, and whether its parent knows yet. */
static struct holder
ended_process(bool reaped)
{
	struct holder h = holder_self();
	int end[2];
	char byte;

	assert_int_equal(pipe(end), 0);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (h.pid == 0)
		_exit(0);
	close(end[1]);
	assert_int_equal(read(end[0], &byte, 1), 0); /* no process has its other end any more */
	close(end[0]);
	if (reaped) {
		assert_int_equal(waitpid((pid_t)h.pid, NULL, 0), h.pid);
	} else {
		siginfo_t info;

		assert_int_equal(waitid(P_PID, (id_t)h.pid, &info, WEXITED | WNOWAIT), 0);
	}
	return h;
}

static void
test_only_a_process_of_this_machine_that_has_ended_is_dead(void **unused)
{
	struct holder self = holder_self(), h;

	(void)unused;
	assert_true(self.machine != 0);
	assert_false(holder_dead(&self));
	h = self;
	h.start++; /* its pid was given to another since */
	assert_true(holder_dead(&h));
	h.machine ^= 1;
	assert_false(holder_dead(&h));
	h.machine = 0;
	assert_false(holder_dead(&h));
	h = ended_process(false);
	h.start = self.start;
	assert_true(holder_dead(&h));
	assert_int_equal(waitpid((pid_t)h.pid, NULL, 0), h.pid);
	h = ended_process(true);
	assert_true(holder_dead(&h));
}

static void
test_one_that_is_dead_keeps_nobody_waiting(void **unused)
{
	struct holder h = ended_process(true);
	char client[HOLDER_CLIENT_BYTES], dead[HOLDER_CLIENT_BYTES + 8];

	(void)unused;
	holder_encode(client, &h);
	snprintf(dead, sizeof(dead), "riffle-%s", client);
	assert_int_equal(judged("a", (const char *const[]){dead}, false), TURN_JOIN);
	assert_int_equal(judged("ab", (const char *const[]){dead, OWN}, true), TURN_MINE);
	assert_int_equal(judged("abc", (const char *const[]){dead, OWN, OTHER}, true), TURN_WAIT);
}

static void
test_a_holder_is_the_same_behind_its_text(void **unused)
{
	struct holder h = holder_self(), back;
	char client[HOLDER_CLIENT_BYTES], whole[HOLDER_CLIENT_BYTES + 8];

	(void)unused;
	memset(h.host, 'h', sizeof(h.host) - 1); /* too long: cut */
	holder_encode(client, &h);
	assert_int_equal(strlen(client), HOLDER_CLIENT_BYTES - sizeof("riffle-"));
	snprintf(whole, sizeof(whole), "riffle-%s", client);
	assert_true(holder_decode(&back, whole));
	assert_int_equal(back.pid, h.pid);
	assert_true(back.start == h.start);
	assert_int_equal(back.machine, h.machine);
	assert_memory_equal(back.host, h.host, strlen(back.host));
	assert_false(holder_decode(&back, "riffle-produce"));
	assert_false(holder_decode(&back, "riffle-produce-0-1-00000001-h"));
	assert_false(holder_decode(&back, "kcat"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_who_joins_who_waits_and_who_leaves),
	    cmocka_unit_test(test_the_turn_stands_while_the_member_that_was_alone_is_there),
	    cmocka_unit_test(
		test_a_process_that_was_silent_for_long_looks_whether_it_was_taken_out),
	    cmocka_unit_test(test_only_a_process_of_this_machine_that_has_ended_is_dead),
	    cmocka_unit_test(test_one_that_is_dead_keeps_nobody_waiting),
	    cmocka_unit_test(test_a_holder_is_the_same_behind_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
