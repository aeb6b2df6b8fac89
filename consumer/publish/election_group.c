#include "consumer/publish/election_group.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"

enum { EVENTS_MAX = 16, MEMBERS_MAX = 64, MEMBERS_MS = 5000 };

struct election_group {
	char name[TOPIC_MAX_BYTES + 1], topic[TOPIC_MAX_BYTES + 1];
	const struct properties *properties;
	rd_kafka_t *rk;
	rd_kafka_t *former; /* the same member by its old name, until the new one has it; or NULL */
	bool standby;       /* rk's name */
	bool has;
	int64_t polled_ms;
	struct failure refused; /* the user lacks a right; code FAIL_NONE: not so */
};

/* Whether one of the members before `i` is an active mixer on the same host. */
static bool
is_named(const struct kafka_member *member, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(member[k].client, member[i].client) == 0 &&
		    strcmp(member[k].host, member[i].host) == 0)
			return true;
	return false;
}

void
election_group_hosts(const struct kafka_member *member, size_t n, char *out, size_t room)
{
	size_t used = 0;

	assert(room > 0);
	out[0] = '\0';
	for (size_t i = 0; i < n && used < room; i++)
		if (strcmp(member[i].client, "riffle-" ELECTION_ACTIVE) == 0 &&
		    !is_named(member, i))
			used += (size_t)snprintf(out + used, room - used, "%s%s",
			    used == 0 ? "" : " or ", member[i].host);
}

bool
election_group_active(const struct config *c, char *hosts, size_t room)
{
	char group[TOPIC_MAX_BYTES + 1];
	struct kafka_member member[MEMBERS_MAX];
	struct failure ignored;
	size_t n;

	names_topic(group, c->mix.name, "election");
	if (kafka_group_members_of(
		group, &c->kafka, member, MEMBERS_MAX, &n, MEMBERS_MS, &ignored) != FAIL_NONE)
		return false;
	election_group_hosts(member, n, hosts, room);
	return hosts[0] != '\0';
}

/* Joins; gives *out. */
static enum fail_code
open_member(struct election_group *g, rd_kafka_t **out, bool standby, struct failure *f)
{
	char session[16], poll_max[16];
	struct property tune[] = {
	    {(char[]){"session.timeout.ms"}, session},
	    {(char[]){"max.poll.interval.ms"}, poll_max},
	};
	struct kafka_options k = {.role = KAFKA_MEMBER,
	    .properties = g->properties,
	    .client = standby ? ELECTION_STANDBY : ELECTION_ACTIVE,
	    .group = g->name,
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0])};
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t err;

	snprintf(session, sizeof(session), "%d", KAFKA_GROUPS_SESSION_MS);
	snprintf(poll_max, sizeof(poll_max), "%d", ELECTION_POLL_MAX_MS);
	if (kafka_open(out, &k, f) != FAIL_NONE)
		return f->code;
	list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, g->topic, RD_KAFKA_PARTITION_UA);
	err = rd_kafka_subscribe(*out, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_close(*out);
	*out = NULL;
	kafka_fail_code(f, err, NULL, "subscribing");
	return fail_within(f, "group %s", g->name);
}

enum fail_code
election_group_join(struct election_group **out, const char *mix,
    const struct properties *properties, bool standby, struct failure *f)
{
	struct election_group *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return fail_memory(f);
	names_topic(g->name, mix, "election");
	names_topic(g->topic, mix, "control");
	g->properties = properties;
	g->standby = standby;
	g->polled_ms = clock_ms() - ELECTION_POLL_MS;
	if (open_member(g, &g->rk, standby, f) != FAIL_NONE) {
		free(g);
		return f->code;
	}
	*out = g;
	return FAIL_NONE;
}

void
election_group_close(struct election_group *g)
{
	if (g == NULL)
		return;
	kafka_close(g->former);
	kafka_close(g->rk);
	free(g);
}

/* What was refused stays so until an administrator grants it; all else mends by itself. */
static void
take_event(struct election_group *g, rd_kafka_t *rk, const rd_kafka_message_t *m)
{
	if (m->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
	    m->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
		kafka_fail_denied(&g->refused, rk, m->err, "READ",
		    m->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ? g->name : g->topic,
		    "becoming a member");
		fail_within(&g->refused, "group %s, topic %s", g->name, g->topic);
	}
	if (m->err == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED)
		log_warning("mix: MIX-ELECTION group=%s: this mixer did nothing for %d s, and left "
			    "the group: a standby may have taken over",
		    g->name, ELECTION_POLL_MAX_MS / 1000);
}

/* Nothing is read: the partition has no offset to begin at, which is one of the events. */
static void
take_events(struct election_group *g, rd_kafka_t *rk)
{
	for (int i = 0; i < EVENTS_MAX; i++) {
		rd_kafka_message_t *m = kafka_poll(rk, 0);

		if (m == NULL)
			break;
		take_event(g, rk, m);
		rd_kafka_message_destroy(m);
	}
}

static bool
has_partition(rd_kafka_t *rk)
{
	rd_kafka_topic_partition_list_t *list = NULL;
	bool has;

	if (rk == NULL || rd_kafka_assignment(rk, &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	has = list->cnt > 0;
	rd_kafka_topic_partition_list_destroy(list);
	return has;
}

enum fail_code
election_group_poll(struct election_group *g, bool *has, struct failure *f)
{
	int64_t now = clock_ms();

	if (now - g->polled_ms >= ELECTION_POLL_MS) {
		g->polled_ms = now;
		take_events(g, g->rk);
		g->has = has_partition(g->rk);
		if (g->former != NULL)
			take_events(g, g->former);
		if (g->former != NULL && g->has) {
			kafka_close(g->former);
			g->former = NULL;
		}
		g->has = g->has || has_partition(g->former);
	}
	*has = g->has;
	if (g->refused.code == FAIL_NONE)
		return FAIL_NONE;
	*f = g->refused;
	return f->code;
}

enum fail_code
election_group_lead(struct election_group *g, struct failure *f)
{
	rd_kafka_t *rk;

	if (!g->standby)
		return FAIL_NONE;
	assert(g->former == NULL);
	if (open_member(g, &rk, false, f) != FAIL_NONE)
		return f->code;
	g->former = g->rk;
	g->rk = rk;
	g->standby = false;
	return FAIL_NONE;
}
