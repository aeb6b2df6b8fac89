/*
 * Who is in a consumer group: DescribeConsumerGroups. A member has a new id each time that it
 * joins, also after its session was over; a group that nobody has joined has no members.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

struct rd_kafka_MemberAssignment_s {
	rd_kafka_topic_partition_list_t *list; /* NULL: none */
};

struct rd_kafka_MemberDescription_s {
	char id[CLUSTER_NAME_MAX], client[64];
	struct rd_kafka_MemberAssignment_s assignment;
};

struct rd_kafka_ConsumerGroupDescription_s {
	struct rd_kafka_MemberDescription_s *member;
	size_t members_n;
};

static void
describe(rd_kafka_ConsumerGroupDescription_t *to, const char *group)
{
	for (const struct cluster_member *m = cluster->members; m != NULL; m = m->next)
		to->members_n += strcmp(m->group, group) == 0 && client_member_is_there(m);
	to->member = calloc(to->members_n + 1, sizeof(*to->member));
	if (to->member == NULL)
		abort();
	to->members_n = 0;
	for (const struct cluster_member *m = cluster->members; m != NULL; m = m->next) {
		struct rd_kafka_MemberDescription_s *d = &to->member[to->members_n];

		if (strcmp(m->group, group) != 0 || !client_member_is_there(m))
			continue;
		to->members_n++;
		snprintf(d->client, sizeof(d->client), "%s", m->client);
		snprintf(d->id, sizeof(d->id), "%s-%06" PRIu64, m->client, m->id);
		if (!client_member_is_first(m))
			continue;
		d->assignment.list = rd_kafka_topic_partition_list_new(1);
		rd_kafka_topic_partition_list_add(d->assignment.list, m->topic, 0);
	}
}

void
rd_kafka_DescribeConsumerGroups(rd_kafka_t *rk, const char **groups, size_t groups_cnt,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	rd_kafka_event_t *e;

	(void)rk;
	(void)groups_cnt; /* 1: riffle asks for no more */
	if (!client_admin_asked("DescribeConsumerGroups", groups[0], options,
		RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->group = calloc(1, sizeof(*e->group));
	if (e->group == NULL)
		abort();
	describe(e->group, groups[0]);
	client_admin_answer(rkqu, e);
}

void
client_group_free(rd_kafka_ConsumerGroupDescription_t *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->members_n; i++)
		if (g->member[i].assignment.list != NULL)
			rd_kafka_topic_partition_list_destroy(g->member[i].assignment.list);
	free(g->member);
	free(g);
}

const rd_kafka_DescribeConsumerGroups_result_t *
rd_kafka_event_DescribeConsumerGroups_result(rd_kafka_event_t *e)
{
	return e->type == RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT ? (const void *)e : NULL;
}

const rd_kafka_ConsumerGroupDescription_t **
rd_kafka_DescribeConsumerGroups_result_groups(
    const rd_kafka_DescribeConsumerGroups_result_t *r, size_t *n)
{
	const rd_kafka_event_t *e = (const void *)r;

	*n = 1;
	return (const rd_kafka_ConsumerGroupDescription_t **)(uintptr_t)&e->group;
}

const rd_kafka_error_t *
rd_kafka_ConsumerGroupDescription_error(const rd_kafka_ConsumerGroupDescription_t *g)
{
	(void)g;
	return NULL;
}

size_t
rd_kafka_ConsumerGroupDescription_member_count(const rd_kafka_ConsumerGroupDescription_t *g)
{
	return g->members_n;
}

const rd_kafka_MemberDescription_t *
rd_kafka_ConsumerGroupDescription_member(const rd_kafka_ConsumerGroupDescription_t *g, size_t i)
{
	return i < g->members_n ? &g->member[i] : NULL;
}

const char *
rd_kafka_MemberDescription_client_id(const rd_kafka_MemberDescription_t *m)
{
	return m->client;
}

const char *
rd_kafka_MemberDescription_consumer_id(const rd_kafka_MemberDescription_t *m)
{
	return m->id;
}

const char *
rd_kafka_MemberDescription_host(const rd_kafka_MemberDescription_t *m)
{
	(void)m;
	return "/127.0.0.1";
}

const rd_kafka_MemberAssignment_t *
rd_kafka_MemberDescription_assignment(const rd_kafka_MemberDescription_t *m)
{
	return &m->assignment;
}

const rd_kafka_topic_partition_list_t *
rd_kafka_MemberAssignment_partitions(const rd_kafka_MemberAssignment_t *a)
{
	return a->list;
}
