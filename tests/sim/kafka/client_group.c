/*
 * Members of a group that share one partition, which is all that an election needs: the member that
 * comes first by its client.id and its time of joining has it. A process that does not run sends
 * no heartbeats, and its session ends.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

enum { REBALANCE_MS = 3000 };

rd_kafka_resp_err_t
rd_kafka_subscribe(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *topics)
{
	struct cluster_member *m;

	chance_call("subscribe", rk->group);
	if (topics->cnt != 1 || rk->group[0] == '\0')
		return RD_KAFKA_RESP_ERR__INVALID_ARG;
	m = cluster_allocate(sizeof(*m));
	snprintf(m->group, sizeof(m->group), "%s", rk->group);
	snprintf(m->client, sizeof(m->client), "%s", client_value(rk->conf, "client.id"));
	snprintf(m->topic, sizeof(m->topic), "%s", topics->elems[0].topic);
	m->process = cluster->chance.process;
	m->seen_ms = cluster->now_ms;
	m->joined_ms = cluster->now_ms + (int64_t)chance_below(REBALANCE_MS);
	m->session_ms = client_number(rk, "session.timeout.ms");
	m->id = ++cluster->member_ids;
	m->next = cluster->members;
	cluster->members = m;
	rk->member = m;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
client_leave(rd_kafka_t *rk)
{
	if (rk->member != NULL)
		rk->member->left = true;
	rk->member = NULL;
}

bool
client_member_is_there(const struct cluster_member *m)
{
	return !m->left && m->joined_ms <= cluster->now_ms &&
	       cluster->now_ms - m->seen_ms <= m->session_ms;
}

bool
client_member_is_first(const struct cluster_member *m)
{
	for (const struct cluster_member *o = cluster->members; o != NULL; o = o->next) {
		int order = strcmp(o->client, m->client);

		if (o != m && strcmp(o->group, m->group) == 0 && client_member_is_there(o) &&
		    (order < 0 || (order == 0 && o->joined_ms < m->joined_ms)))
			return false;
	}
	return client_member_is_there(m);
}

rd_kafka_resp_err_t
rd_kafka_assignment(rd_kafka_t *rk, rd_kafka_topic_partition_list_t **partitions)
{
	chance_call("assignment", rk->group);
	*partitions = rd_kafka_topic_partition_list_new(1);
	if (rk->member != NULL && client_member_is_first(rk->member))
		rd_kafka_topic_partition_list_add(*partitions, rk->member->topic, 0);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}
