/* The admin interface: options, events, deleted records, groups, topics and their settings. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

struct rd_kafka_AdminOptions_s {
	int timeout_ms;
};

struct rd_kafka_DeleteRecords_s {
	rd_kafka_topic_partition_list_t *list;
};

struct rd_kafka_ConsumerGroupListing_s {
	char group[CLUSTER_NAME_MAX];
};

struct rd_kafka_NewTopic_s {
	char name[CLUSTER_NAME_MAX];
	int partitions, replicas;
	struct cluster_setting setting[CLUSTER_SETTINGS_MAX];
	size_t settings_n;
};

struct rd_kafka_DeleteTopic_s {
	char name[CLUSTER_NAME_MAX];
};

struct rd_kafka_NewPartitions_s {
	char topic[CLUSTER_NAME_MAX];
	size_t total;
};

struct rd_kafka_DeleteConsumerGroupOffsets_s {
	char group[CLUSTER_NAME_MAX];
	rd_kafka_topic_partition_list_t *list;
};

struct rd_kafka_topic_result_s {
	char name[CLUSTER_NAME_MAX];
	rd_kafka_resp_err_t err;
};

struct rd_kafka_ConfigEntry_s {
	struct cluster_setting setting;
};

struct rd_kafka_ConfigResource_s {
	rd_kafka_ResourceType_t type;
	char name[CLUSTER_NAME_MAX];
	rd_kafka_resp_err_t err;
	struct rd_kafka_ConfigEntry_s entry[CLUSTER_SETTINGS_MAX];
	const rd_kafka_ConfigEntry_t *at[CLUSTER_SETTINGS_MAX];
	size_t n;
};

/* Zeroed memory, for free(); there always is some. */
static void *
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
	client_group_free(e->group);
	free(e);
}

bool
client_admin_asked(const char *function, const char *what, const rd_kafka_AdminOptions_t *options,
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
client_admin_answer(rd_kafka_queue_t *q, rd_kafka_event_t *e)
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
	if (!client_admin_asked(
		"DeleteRecords", "", options, RD_KAFKA_EVENT_DELETERECORDS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_DELETERECORDS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->list = rd_kafka_topic_partition_list_copy(del_records[0]->list);
	for (int i = 0; i < e->list->cnt; i++) {
		trim(&e->list->elems[i]);
		unknown += e->list->elems[i].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	}
	if (unknown == e->list->cnt) /* no leader to ask */
		e->err = RD_KAFKA_RESP_ERR__NOENT;
	client_admin_answer(rkqu, e);
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
	if (!client_admin_asked(
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
	client_admin_answer(rkqu, e);
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

/* ---- commits that are deleted ---- */

rd_kafka_DeleteConsumerGroupOffsets_t *
rd_kafka_DeleteConsumerGroupOffsets_new(
    const char *group, const rd_kafka_topic_partition_list_t *partitions)
{
	rd_kafka_DeleteConsumerGroupOffsets_t *r = admin_make(1, sizeof(*r));

	snprintf(r->group, sizeof(r->group), "%s", group);
	r->list = rd_kafka_topic_partition_list_copy(partitions);
	return r;
}

void
rd_kafka_DeleteConsumerGroupOffsets_destroy(rd_kafka_DeleteConsumerGroupOffsets_t *r)
{
	rd_kafka_topic_partition_list_destroy(r->list);
	free(r);
}

void
rd_kafka_DeleteConsumerGroupOffsets(rd_kafka_t *rk,
    rd_kafka_DeleteConsumerGroupOffsets_t **del_grpoffsets, size_t del_grpoffsets_cnt,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	const rd_kafka_topic_partition_list_t *list = del_grpoffsets[0]->list;

	(void)rk;
	(void)del_grpoffsets_cnt; /* 1: librdkafka takes no more */
	if (!client_admin_asked("DeleteConsumerGroupOffsets", "", options,
		RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT, rkqu))
		return;
	for (int i = 0; i < list->cnt; i++)
		cluster_commit_forget(
		    del_grpoffsets[0]->group, list->elems[i].topic, list->elems[i].partition);
	client_admin_answer(rkqu, client_event(RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT,
				      RD_KAFKA_RESP_ERR_NO_ERROR));
}

/* ---- topics ---- */

rd_kafka_NewTopic_t *
rd_kafka_NewTopic_new(
    const char *topic, int num_partitions, int replication_factor, char *errstr, size_t errstr_size)
{
	rd_kafka_NewTopic_t *t = admin_make(1, sizeof(*t));

	(void)errstr;
	(void)errstr_size;
	snprintf(t->name, sizeof(t->name), "%s", topic);
	t->partitions = num_partitions;
	t->replicas = replication_factor;
	return t;
}

rd_kafka_resp_err_t
rd_kafka_NewTopic_set_config(rd_kafka_NewTopic_t *t, const char *name, const char *value)
{
	struct cluster_setting *s;

	if (t->settings_n == CLUSTER_SETTINGS_MAX)
		return RD_KAFKA_RESP_ERR__INVALID_ARG;
	s = &t->setting[t->settings_n++];
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->value, sizeof(s->value), "%s", value);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
rd_kafka_NewTopic_destroy(rd_kafka_NewTopic_t *t)
{
	free(t);
}

void
rd_kafka_NewTopic_destroy_array(rd_kafka_NewTopic_t **t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rd_kafka_NewTopic_destroy(t[i]);
}

static rd_kafka_topic_result_t *
result(const char *name, rd_kafka_resp_err_t err)
{
	rd_kafka_topic_result_t *r = admin_make(1, sizeof(*r));

	snprintf(r->name, sizeof(r->name), "%s", name);
	r->err = err;
	return r;
}

/* Settings of a topic, after Kafka's documentation ("Topic Configs", 3.9). */
static bool
is_setting(const struct cluster_setting *s)
{
	static const char *const known[] = {"cleanup.policy", "compression.type",
	    "delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms",
	    "index.interval.bytes", "max.compaction.lag.ms", "max.message.bytes",
	    "message.timestamp.type", "min.cleanable.dirty.ratio", "min.compaction.lag.ms",
	    "min.insync.replicas", "preallocate", "retention.bytes", "retention.ms",
	    "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms",
	    "unclean.leader.election.enable"};
	bool found = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		found |= strcmp(known[i], s->name) == 0;
	if (strcmp(s->name, "cleanup.policy") == 0)
		found = strcmp(s->value, "delete") == 0 || strcmp(s->value, "compact") == 0 ||
			strcmp(s->value, "compact,delete") == 0;
	return found;
}

static bool
is_name(const char *name)
{
	size_t n =
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n > 0 && n < CLUSTER_NAME_MAX && name[n] == '\0' && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

static rd_kafka_resp_err_t
create(const rd_kafka_NewTopic_t *t)
{
	struct cluster_topic *made;

	if (!is_name(t->name))
		return RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;

	if (cluster_topic(t->name) != NULL)
		return RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
	if (t->partitions < 1 || t->partitions > CLUSTER_PARTITIONS_MAX)
		return RD_KAFKA_RESP_ERR_INVALID_PARTITIONS;
	if (t->replicas > CLUSTER_BROKERS)
		return RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR;
	for (size_t i = 0; i < t->settings_n; i++)
		if (!is_setting(&t->setting[i]))
			return RD_KAFKA_RESP_ERR_INVALID_CONFIG;
	made = cluster_make_topic(t->name, t->partitions);
	memcpy(made->setting, t->setting, sizeof(made->setting));
	made->settings_n = t->settings_n;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
rd_kafka_CreateTopics(rd_kafka_t *rk, rd_kafka_NewTopic_t **new_topics, size_t new_topic_cnt,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	rd_kafka_event_t *e;

	(void)rk;
	if (!client_admin_asked(
		"CreateTopics", "", options, RD_KAFKA_EVENT_CREATETOPICS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_CREATETOPICS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->topic = admin_make(new_topic_cnt, sizeof(*e->topic));
	for (size_t i = 0; i < new_topic_cnt; i++)
		e->topic[e->topics_n++] = result(new_topics[i]->name, create(new_topics[i]));
	client_admin_answer(rkqu, e);
}

const rd_kafka_CreateTopics_result_t *
rd_kafka_event_CreateTopics_result(rd_kafka_event_t *e)
{
	return e->type == RD_KAFKA_EVENT_CREATETOPICS_RESULT ? (const void *)e : NULL;
}

const rd_kafka_topic_result_t **
rd_kafka_CreateTopics_result_topics(const rd_kafka_CreateTopics_result_t *r, size_t *n)
{
	const rd_kafka_event_t *e = (const void *)r;

	*n = e->topics_n;
	return (const rd_kafka_topic_result_t **)(uintptr_t)e->topic;
}

rd_kafka_DeleteTopic_t *
rd_kafka_DeleteTopic_new(const char *topic)
{
	rd_kafka_DeleteTopic_t *t = admin_make(1, sizeof(*t));

	snprintf(t->name, sizeof(t->name), "%s", topic);
	return t;
}

void
rd_kafka_DeleteTopic_destroy(rd_kafka_DeleteTopic_t *t)
{
	free(t);
}

void
rd_kafka_DeleteTopic_destroy_array(rd_kafka_DeleteTopic_t **t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(t[i]);
}

void
rd_kafka_DeleteTopics(rd_kafka_t *rk, rd_kafka_DeleteTopic_t **del_topics, size_t del_topic_cnt,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	rd_kafka_event_t *e;

	(void)rk;
	if (!client_admin_asked(
		"DeleteTopics", "", options, RD_KAFKA_EVENT_DELETETOPICS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_DELETETOPICS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->topic = admin_make(del_topic_cnt, sizeof(*e->topic));
	for (size_t i = 0; i < del_topic_cnt; i++) {
		struct cluster_topic *t = cluster_topic(del_topics[i]->name);

		e->topic[e->topics_n++] =
		    result(del_topics[i]->name, t == NULL ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
							  : RD_KAFKA_RESP_ERR_NO_ERROR);
		if (t != NULL)
			cluster_delete_topic(t);
	}
	client_admin_answer(rkqu, e);
}

const rd_kafka_DeleteTopics_result_t *
rd_kafka_event_DeleteTopics_result(rd_kafka_event_t *e)
{
	return e->type == RD_KAFKA_EVENT_DELETETOPICS_RESULT ? (const void *)e : NULL;
}

const rd_kafka_topic_result_t **
rd_kafka_DeleteTopics_result_topics(const rd_kafka_DeleteTopics_result_t *r, size_t *n)
{
	return rd_kafka_CreateTopics_result_topics((const void *)r, n);
}

rd_kafka_NewPartitions_t *
rd_kafka_NewPartitions_new(
    const char *topic, size_t new_total_cnt, char *errstr, size_t errstr_size)
{
	rd_kafka_NewPartitions_t *p = admin_make(1, sizeof(*p));

	(void)errstr;
	(void)errstr_size;
	snprintf(p->topic, sizeof(p->topic), "%s", topic);
	p->total = new_total_cnt;
	return p;
}

void
rd_kafka_NewPartitions_destroy(rd_kafka_NewPartitions_t *p)
{
	free(p);
}

static rd_kafka_resp_err_t
add_partitions(const rd_kafka_NewPartitions_t *wanted)
{
	struct cluster_topic *t = cluster_topic(wanted->topic);

	if (t == NULL)
		return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	return cluster_add_partitions(t, (int32_t)wanted->total)
		   ? RD_KAFKA_RESP_ERR_NO_ERROR
		   : RD_KAFKA_RESP_ERR_INVALID_PARTITIONS;
}

void
rd_kafka_CreatePartitions(rd_kafka_t *rk, rd_kafka_NewPartitions_t **new_parts,
    size_t new_parts_cnt, const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	rd_kafka_event_t *e;

	(void)rk;
	if (!client_admin_asked(
		"CreatePartitions", "", options, RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->topic = admin_make(new_parts_cnt, sizeof(*e->topic));
	for (size_t i = 0; i < new_parts_cnt; i++)
		e->topic[e->topics_n++] = result(new_parts[i]->topic, add_partitions(new_parts[i]));
	client_admin_answer(rkqu, e);
}

const rd_kafka_CreatePartitions_result_t *
rd_kafka_event_CreatePartitions_result(rd_kafka_event_t *e)
{
	return e->type == RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT ? (const void *)e : NULL;
}

const rd_kafka_topic_result_t **
rd_kafka_CreatePartitions_result_topics(const rd_kafka_CreatePartitions_result_t *r, size_t *n)
{
	return rd_kafka_CreateTopics_result_topics((const void *)r, n);
}

rd_kafka_resp_err_t
rd_kafka_topic_result_error(const rd_kafka_topic_result_t *r)
{
	return r->err;
}

const char *
rd_kafka_topic_result_error_string(const rd_kafka_topic_result_t *r)
{
	return rd_kafka_err2str(r->err);
}

const char *
rd_kafka_topic_result_name(const rd_kafka_topic_result_t *r)
{
	return r->name;
}

/* ---- settings ---- */

rd_kafka_ConfigResource_t *
rd_kafka_ConfigResource_new(rd_kafka_ResourceType_t restype, const char *resname)
{
	rd_kafka_ConfigResource_t *r = admin_make(1, sizeof(*r));

	r->type = restype;
	snprintf(r->name, sizeof(r->name), "%s", resname);
	return r;
}

rd_kafka_resp_err_t
rd_kafka_ConfigResource_set_config(
    rd_kafka_ConfigResource_t *config, const char *name, const char *value)
{
	(void)value;
	if (config->n < CLUSTER_SETTINGS_MAX)
		snprintf(config->entry[config->n++].setting.name,
		    sizeof(config->entry[0].setting.name), "%s", name);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
rd_kafka_ConfigResource_destroy(rd_kafka_ConfigResource_t *config)
{
	free(config);
}

void
rd_kafka_ConfigResource_destroy_array(rd_kafka_ConfigResource_t **config, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(config[i]);
}

static void
take_settings(rd_kafka_ConfigResource_t *r)
{
	const struct cluster_topic *t = cluster_topic(r->name);
	struct cluster_setting weeks = {"offsets.retention.minutes", "100800"};

	if (r->type == RD_KAFKA_RESOURCE_BROKER)
		r->entry[r->n++].setting = weeks;
	else if (t == NULL)
		r->err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	else
		for (; r->n < t->settings_n; r->n++)
			r->entry[r->n].setting = t->setting[r->n];
	for (size_t i = 0; i < r->n; i++)
		r->at[i] = &r->entry[i];
}

void
rd_kafka_DescribeConfigs(rd_kafka_t *rk, rd_kafka_ConfigResource_t **configs, size_t config_cnt,
    const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu)
{
	rd_kafka_event_t *e;

	(void)rk;
	if (!client_admin_asked(
		"DescribeConfigs", "", options, RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT, rkqu))
		return;
	e = client_event(RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT, RD_KAFKA_RESP_ERR_NO_ERROR);
	e->resource = admin_make(config_cnt, sizeof(*e->resource));
	for (size_t i = 0; i < config_cnt; i++) {
		rd_kafka_ConfigResource_t *r =
		    rd_kafka_ConfigResource_new(configs[i]->type, configs[i]->name);

		take_settings(r);
		e->resource[e->resources_n++] = r;
	}
	client_admin_answer(rkqu, e);
}

const rd_kafka_DescribeConfigs_result_t *
rd_kafka_event_DescribeConfigs_result(rd_kafka_event_t *e)
{
	return e->type == RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT ? (const void *)e : NULL;
}

const rd_kafka_ConfigResource_t **
rd_kafka_DescribeConfigs_result_resources(const rd_kafka_DescribeConfigs_result_t *r, size_t *n)
{
	const rd_kafka_event_t *e = (const void *)r;

	*n = e->resources_n;
	return (const rd_kafka_ConfigResource_t **)(uintptr_t)e->resource;
}

const rd_kafka_ConfigEntry_t **
rd_kafka_ConfigResource_configs(const rd_kafka_ConfigResource_t *config, size_t *n)
{
	*n = config->n;
	return (const rd_kafka_ConfigEntry_t **)(uintptr_t)config->at;
}

const char *
rd_kafka_ConfigResource_name(const rd_kafka_ConfigResource_t *config)
{
	return config->name;
}

rd_kafka_resp_err_t
rd_kafka_ConfigResource_error(const rd_kafka_ConfigResource_t *config)
{
	return config->err;
}

const char *
rd_kafka_ConfigEntry_name(const rd_kafka_ConfigEntry_t *entry)
{
	return entry->setting.name;
}

const char *
rd_kafka_ConfigEntry_value(const rd_kafka_ConfigEntry_t *entry)
{
	return entry->setting.value;
}
