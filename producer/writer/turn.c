#include "producer/writer/turn.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "producer/writer/holder.h"

enum {
	ASK_MS = 10000,  /* for an answer of the group's coordinator */
	JOIN_MS = 30000, /* until this producer is seen in the group */
	JOIN_LOOK_MS = 20,
	EVENTS_MAX = 16,
	GROUP_BYTES = 2 * NAME_MAX_BYTES + 64,
};

struct turn {
	const struct properties *properties;
	const struct stop *stop;
	char group[GROUP_BYTES], topic[TOPIC_MAX_BYTES + 1], label[256];
	char client[HOLDER_CLIENT_BYTES]; /* with "riffle-" */
	rd_kafka_t *member;               /* NULL: not joined */
	rd_kafka_t *asker;                /* NULL: nothing is asked now */
	char held[sizeof(
	    ((struct kafka_member *)NULL)->id)]; /* with which it was alone; "": never */
	int64_t polled_ms;
	char said[256]; /* for whom turn_take() waits; "": for nobody */
};

/* ---- the rule ---- */

static bool
counts(const struct kafka_member *m)
{
	struct holder h;

	return !holder_decode(&h, m->client) || !holder_dead(&h);
}

enum turn_rule
turn_judge(const struct kafka_member *member, size_t n, const char *client, bool joined,
    size_t *mine, size_t *other)
{
	bool lower = false;

	*mine = *other = n;
	for (size_t i = 0; i < n; i++)
		if (strcmp(member[i].client, client) == 0)
			*mine = i;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(member[i].client, client) == 0 || !counts(&member[i]))
			continue;
		*other = i;
		lower = lower || (*mine < n && strcmp(member[i].id, member[*mine].id) < 0);
	}
	if (!joined)
		return *other == n ? TURN_JOIN : TURN_WAIT;
	if (*mine == n)
		return TURN_UNSEEN;
	if (*other == n)
		return TURN_MINE;
	return lower ? TURN_LEAVE : TURN_WAIT;
}

enum turn_standing
turn_stands(const struct kafka_member *member, size_t n, const char *client, const char *held,
    size_t *mine, size_t *other)
{
	turn_judge(member, n, client, true, mine, other);
	for (size_t i = 0; i < n; i++)
		if (strcmp(member[i].id, held) == 0)
			return TURN_HELD;
	return *other == n ? TURN_FREE : TURN_LOST;
}

enum turn_due
turn_is_due(int64_t polled_ms, int64_t now_ms)
{
	int64_t silent_ms = now_ms - polled_ms;

	if (silent_ms < TURN_LOOK_MS)
		return TURN_DUE_NOTHING;
	return silent_ms < TURN_SILENT_MS ? TURN_DUE_POLL : TURN_DUE_CHECK;
}

/* ---- the group ---- */

static enum fail_code
open_member(struct turn *t, struct failure *f)
{
	char session[16], poll_max[16];
	struct property tune[] = {
	    {(char[]){"session.timeout.ms"}, session},
	    {(char[]){"max.poll.interval.ms"}, poll_max},
	};
	struct kafka_options k = {.role = KAFKA_MEMBER,
	    .properties = t->properties,
	    .client = t->client + strlen("riffle-"),
	    .group = t->group,
	    .hasty = true, /* a small input is done before a broker has balanced the group */
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0])};
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t err;

	/* A producer that waits for its broker for minutes polls nothing meanwhile, and lives. */
	snprintf(session, sizeof(session), "%d", TURN_SESSION_MS);
	snprintf(poll_max, sizeof(poll_max), "%d", 24 * 60 * 60 * 1000);
	if (kafka_open(&t->member, &k, f) != FAIL_NONE)
		return f->code;
	list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, t->topic, RD_KAFKA_PARTITION_UA);
	err = rd_kafka_subscribe(t->member, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_close(t->member);
	t->member = NULL;
	kafka_fail_code(f, err, NULL, "subscribing");
	return fail_within(f, "group %s", t->group);
}

static void
leave(struct turn *t)
{
	kafka_close(t->member);
	t->member = NULL;
}

static void
close_asker(struct turn *t)
{
	kafka_close(t->asker);
	t->asker = NULL;
}

/* After a failure the handle that asks must not be used again: see kafka_group_members(). */
static enum fail_code
ask(struct turn *t, struct kafka_member *member, size_t *n, struct failure *f)
{
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = t->properties,
	    .client = "produce-turn",
	    .group = t->group,
	    .asks_only = true,
	    .quiet = true};

	if (t->asker == NULL && kafka_open(&t->asker, &k, f) != FAIL_NONE)
		return f->code;
	if (kafka_group_members(t->asker, member, TURN_MEMBERS_MAX, n, ASK_MS, f) == FAIL_NONE)
		return FAIL_NONE;
	if (f->code == FAIL_DENIED) /* a member needs more than one who asks */
		kafka_fail_denied(f, t->asker, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, "READ",
		    t->group, "becoming a member");
	close_asker(t);
	return f->code;
}

/* Serves what came for the member. FAIL_DENIED: the user may not be one. */
static enum fail_code
take_events(struct turn *t, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	for (int i = 0; t->member != NULL && i < EVENTS_MAX; i++) {
		rd_kafka_message_t *m = kafka_poll(t->member, 0);

		if (m == NULL)
			break;
		if (m->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
			code = kafka_fail_denied(
			    f, t->member, m->err, "READ", t->group, "becoming a member");
		rd_kafka_message_destroy(m);
	}
	return code;
}

/* ---- open and close ---- */

enum fail_code
turn_open(struct turn **out, const struct turn_options *o, struct failure *f)
{
	struct turn *t = calloc(1, sizeof(*t));
	const struct holder self = holder_self();
	char client[HOLDER_CLIENT_BYTES];

	if (t == NULL)
		return fail_memory(f);
	t->properties = o->properties;
	t->stop = o->stop;
	snprintf(t->group, sizeof(t->group), "%s.producer/%s/%" PRIu32, o->corpus, o->input,
	    o->partition);
	snprintf(t->topic, sizeof(t->topic), "%s", o->topic);
	snprintf(t->label, sizeof(t->label), "%s", o->label);
	holder_encode(client, &self);
	snprintf(t->client, sizeof(t->client), "riffle-%.*s",
	    HOLDER_CLIENT_BYTES - (int)sizeof("riffle-"), client); /* as kafka_open() makes it */
	*out = t;
	return FAIL_NONE;
}

void
turn_close(struct turn *t)
{
	if (t == NULL)
		return;
	close_asker(t);
	leave(t);
	free(t);
}

bool
turn_taken(const struct turn *t)
{
	return t->held[0] != '\0';
}

bool
turn_waits(const struct turn *t)
{
	return !turn_taken(t) && t->said[0] != '\0';
}

/* ---- the turn ---- */

static void
describe(char out[static 256], const struct kafka_member *m)
{
	struct holder h;

	if (holder_decode(&h, m->client))
		snprintf(out, 256, "process %ld on %s (%s)", h.pid, h.host, m->host);
	else
		snprintf(out, 256, "client %s (%s)", m->client, m->host);
}

static void
hold(struct turn *t, const struct kafka_member *mine)
{
	assert(mine->id[0] != '\0');
	snprintf(t->held, sizeof(t->held), "%s", mine->id);
	t->polled_ms = clock_ms();
}

/* Says once for whom it waits. */
static void
say_waits(struct turn *t, const struct kafka_member *m)
{
	char who[sizeof(t->said)];

	describe(who, m);
	if (strcmp(who, t->said) == 0)
		return;
	snprintf(t->said, sizeof(t->said), "%s", who);
	log_warning(
	    "produce: PRODUCE-TURN %s: another producer writes it: %s. Waiting until it ends; "
	    "one that was killed is out of group %s after %d s",
	    t->label, who, t->group, TURN_SESSION_MS / 1000);
}

static enum fail_code
wait_for_turn(struct turn *t, struct failure *f)
{
	struct kafka_member member[TURN_MEMBERS_MAX];
	int64_t unseen_ms = clock_ms();

	t->said[0] = '\0';
	for (;;) {
		size_t n, mine, other;
		bool unseen = false;

		if (stop_asked(t->stop))
			return fail(f, FAIL_STOPPED, "stopped while waiting for its turn");
		if (take_events(t, f) != FAIL_NONE || ask(t, member, &n, f) != FAIL_NONE)
			return f->code;
		switch (turn_judge(member, n, t->client, t->member != NULL, &mine, &other)) {
		case TURN_JOIN:
			if (open_member(t, f) != FAIL_NONE)
				return f->code;
			unseen_ms = clock_ms();
			unseen = true;
			break;
		case TURN_MINE: hold(t, &member[mine]); return FAIL_NONE;
		case TURN_UNSEEN:
			if (clock_ms() - unseen_ms > JOIN_MS)
				return fail(f, FAIL_TIMEOUT,
				    "group %s: this producer did not become a member within %d s",
				    t->group, JOIN_MS / 1000);
			unseen = true;
			break;
		case TURN_WAIT: say_waits(t, &member[other]); break;
		case TURN_LEAVE: leave(t); break;
		}
		clock_pause_ms(unseen ? JOIN_LOOK_MS : TURN_LOOK_MS);
	}
}

enum fail_code
turn_take(struct turn *t, struct failure *f)
{
	enum fail_code code;

	assert(!turn_taken(t));
	code = wait_for_turn(t, f);
	close_asker(t);
	if (code != FAIL_NONE)
		leave(t);
	return code;
}

/* ---- whether it is still this one's ---- */

static enum fail_code
check(struct turn *t, struct failure *f)
{
	struct kafka_member member[TURN_MEMBERS_MAX];
	char who[256];
	size_t n, mine, other;

	if (ask(t, member, &n, f) != FAIL_NONE)
		return f->code;
	switch (turn_stands(member, n, t->client, t->held, &mine, &other)) {
	case TURN_HELD: return FAIL_NONE;
	case TURN_FREE:
		if (mine < n)
			hold(t, &member[mine]);
		return FAIL_NONE;
	case TURN_LOST: break;
	}
	describe(who, &member[other]);
	return fail(f, FAIL_FENCED,
	    "another producer has taken over: %s; the broker heard nothing from this one for %d s. "
	    "Nothing is lost: the other one publishes all",
	    who, TURN_SESSION_MS / 1000);
}

enum fail_code
turn_free(struct turn *t, struct failure *f)
{
	struct kafka_member member[TURN_MEMBERS_MAX];
	char who[256];
	size_t n, mine, other;
	enum fail_code code = ask(t, member, &n, f);

	close_asker(t);
	if (code != FAIL_NONE)
		return code;
	turn_judge(member, n, t->client, false, &mine, &other);
	if (other == n)
		return FAIL_NONE;
	describe(who, &member[other]);
	return fail(f, FAIL_DATA, "another producer writes it: %s", who);
}

enum fail_code
turn_check(struct turn *t, struct failure *f)
{
	enum fail_code code;

	assert(turn_taken(t));
	code = check(t, f);
	close_asker(t);
	return code;
}

enum fail_code
turn_poll(struct turn *t, struct failure *f)
{
	int64_t now_ms = clock_ms();
	enum turn_due due = turn_is_due(t->polled_ms, now_ms);
	struct failure unused;

	assert(turn_taken(t));
	if (due == TURN_DUE_NOTHING)
		return FAIL_NONE;
	t->polled_ms = now_ms;
	take_events(t, &unused); /* a right that was taken away since: the turn stays */
	if (due == TURN_DUE_POLL || turn_check(t, &unused) != FAIL_FENCED)
		return FAIL_NONE;
	*f = unused;
	return f->code;
}
