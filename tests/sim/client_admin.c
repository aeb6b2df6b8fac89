/* The admin interface: its options and events, records that are deleted, groups. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/client_admin.h"

struct rd_kafka_AdminOptions_s {
	int timeout_ms;
};

struct rd_kafka_DeleteRecords_s {
	rd_kafka_topic_partition_list_t *list;
};

struct rd_kafka_ConsumerGroupListing_s {
	char group[CLUSTER_NAME_MAX];
};

void *
admin_make(size_t n, size_t size)
{
	void *at = calloc(n == 0 ? 1 : n, size);

	if (at == NULL)
		abort();
	return at;
}

/* ---- options and events ---- */

rd_kafka_AdminOptions_t *
rd_kafka_AdminOptions_new(rd_kafka_t *rk, rd_kafka_admin_op_t for_api)
{
	rd_kafka_AdminOptions_t *o = admin_make(1, sizeof(*o));

	(void)rk;
	(void)for_api;
	o->timeout_ms = 60000;
	return o;
}

void
rd_kafka_AdminOptions_destroy(rd_kafka_AdminOptions_t *options)
{
	free(options);
}

rd_kafka_resp_err_t
rd_kafka_AdminOptions_set_request_timeout(
    rd_kafka_AdminOptions_t *options, int timeout_ms, char *errstr, size_t errstr_size)
{
	(void)errstr;
	(void)errstr_size;
	options->timeout_ms = timeout_ms;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
rd_kafka_AdminOptions_set_operation_timeout(
    rd_kafka_AdminOptions_t *options, int timeout_ms, char *errstr, size_t errstr_size)
{
	(void)options;
	(void)timeout_ms;
	(void)errstr;
	(void)errstr_size;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
rd_kafka_event_destroy(rd_kafka_event_t *e)
{
	if (e->list != NULL)
		rd_kafka_topic_partition_list_destroy(e->list);
	for (size_t i = 0; i < e->topics_n; i++)
		free(e->topic[i]);
	free(e->topic);
	for (size_t i = 0; i < e->resources_n; i++)
		free(e->resource[i]);
	free(e->resource);
	for (size_t i = 0; i < e->listings_n; i++)
		free(e->listing[i]);
	free(e->listing);
	free(e);
}

bool
admin_asked(const char *function, const char *what, const rd_kafka_AdminOptions_t *options,
    rd_kafka_event_type_t type, rd_kafka_queue_t *q)
{
	int64_t ms = options == NULL ? 60000 : options->timeout_ms;

	chance_call(function, what);
	if (!chance_fault(CHANCE_ADMIN_TIMES_OUT, function))
		return true;
	client_event_put(q, client_event(type, RD_KAFKA_RESP_ERR__TIMED_OUT), cluster->now_ms + ms);
	return false;
}

void
admin_answer(rd_kafka_queue_t *q, rd_kafka_event_t *e)
{
	client_event_put(q, e, cluster->now_ms);
}

/* ---- records that are deleted ---- */

rd_kafka_DeleteRecords_t *
rd_kafka_DeleteRecords_new(const rd_kafka_topic_partition_list_t *before_offsets)
{
	rd_kafka_DeleteRecords_t *r = admin_make(1, sizeof(*r));

	r->list = rd_kafka_topic_partition_list_copy(before_offsets);
	return r;
}

void
rd_kafka_DeleteRecords_destroy(rd_kafka_DeleteRecords_t *r)
{
	rd_kafka_topic_partition_list_destroy(r->list);
	free(r);
}

static void
trim(rd_kafka_topic_partition_t *e)
{
	struct cluster_partition *p = cluster_partition(e->topic, e->partition);
	int64_t to;

	if (p == NULL) {
		e->err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
		return;
	}
	to = e->offset == RD_KAFKA_OFFSET_END ? cluster_high(p) : e->offset;
	if (to < 0 || to > cluster_high(p)) {
		e->err = RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
		return;
	}
	if (to > p->log_start)
		p->log_start = to;
	e->offset = p->log_start;
}

void
rd_kafka_DeleteRecords(rd_kafka_t *rk, rd_kafka_DeleteRecords_t **del_records,
    size_t del_record_cnt, const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	rd_kafka_event_t *e;
	int unknown = 0;

	(void)rk;
	(void)del_record_cnt; /* 1: librdkafka takes no more */
	if (!admin_asked("DeleteRecords", "", options, RD_KAFKA_EVENT_DELETERECORDS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_DELETERECORDS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->list = rd_kafka_topic_partition_list_copy(del_records[0]->list);
	for (int i = 0; i < e->list->cnt; i++) {
		trim(&e->list->elems[i]);
		unknown += e->list->elems[i].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	}
	if (unknown == e->list->cnt) /* no leader to ask */
		e->err = RD_KAFKA_RESP_ERR__NOENT;
	admin_answer(rkqu, e);
}

const rd_kafka_DeleteRecords_result_t *
rd_kafka_event_DeleteRecords_result(rd_kafka_event_t *e)
{
	return e->type == RD_KAFKA_EVENT_DELETERECORDS_RESULT ? (const void *)e : NULL;
}

const rd_kafka_topic_partition_list_t *
rd_kafka_DeleteRecords_result_offsets(const rd_kafka_DeleteRecords_result_t *r)
{
	return ((const rd_kafka_event_t *)(const void *)r)->list;
}

/* ---- groups ---- */

static bool
is_listed(const rd_kafka_event_t *e, const char *group)
{
	for (size_t i = 0; i < e->listings_n; i++)
		if (strcmp(e->listing[i]->group, group) == 0)
			return true;
	return false;
}

void
rd_kafka_ListConsumerGroups(
    rd_kafka_t *rk, const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	rd_kafka_event_t *e;

	(void)rk;
	if (!admin_asked(
		"ListConsumerGroups", "", options, RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->listing = admin_make(cluster->commits_n, sizeof(*e->listing));
	for (size_t i = 0; i < cluster->commits_n; i++) {
		rd_kafka_ConsumerGroupListing_t *l;

		if (is_listed(e, cluster->commit[i].group))
			continue;
		l = admin_make(1, sizeof(*l));
		snprintf(l->group, sizeof(l->group), "%s", cluster->commit[i].group);
		e->listing[e->listings_n++] = l;
	}
	admin_answer(rkqu, e);
}

const rd_kafka_ListConsumerGroups_result_t *
rd_kafka_event_ListConsumerGroups_result(rd_kafka_event_t *e)
{
	return e->type == RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT ? (const void *)e : NULL;
}

const rd_kafka_ConsumerGroupListing_t **
rd_kafka_ListConsumerGroups_result_valid(const rd_kafka_ListConsumerGroups_result_t *r, size_t *n)
{
	const rd_kafka_event_t *e = (const void *)r;

	*n = e->listings_n;
	return (const rd_kafka_ConsumerGroupListing_t **)(uintptr_t)e->listing;
}

const rd_kafka_error_t **
rd_kafka_ListConsumerGroups_result_errors(const rd_kafka_ListConsumerGroups_result_t *r, size_t *n)
{
	(void)r;
	*n = 0;
	return NULL;
}

const char *
rd_kafka_ConsumerGroupListing_group_id(const rd_kafka_ConsumerGroupListing_t *l)
{
	return l->group;
}
