/* Questions: metadata, first and last offsets. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

static char host[] = "127.0.0.1";
static char broker_name[] = "127.0.0.1:9092/1";
static int32_t broker_ids[] = {1, 2, 3};
static struct rd_kafka_metadata_broker broker = {1, host, 9092};

static void
describe(struct rd_kafka_metadata_topic *to, const char *name, const struct cluster_topic *t)
{
	to->topic = strdup(name);
	if (t == NULL) {
		to->err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
		return;
	}
	to->partition_cnt = t->partitions;
	to->partitions = calloc((size_t)t->partitions, sizeof(*to->partitions));
	if (to->partitions == NULL)
		abort();
	for (int32_t i = 0; i < t->partitions; i++)
		to->partitions[i] = (struct rd_kafka_metadata_partition){
		    .id = i,
		    .leader = 1,
		    .replica_cnt = 3,
		    .replicas = broker_ids,
		    .isr_cnt = 3,
		    .isrs = broker_ids,
		};
}

rd_kafka_resp_err_t
rd_kafka_metadata(rd_kafka_t *rk, int all_topics, rd_kafka_topic_t *only_rkt,
    const struct rd_kafka_metadata **metadatap, int timeout_ms)
{
	rd_kafka_resp_err_t err;
	struct rd_kafka_metadata *m;
	size_t n;

	(void)all_topics; /* without one librdkafka 2.0.2 is answered with all, too */
	chance_call("metadata", client_value(rk->conf, "client.id"));
	if (client_unanswered(CHANCE_CONNECTION, "metadata", timeout_ms, &err))
		return err;
	n = only_rkt != NULL ? 1 : cluster->topics_n; /* now: others run while it is on its way */
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		abort();
	m->broker_cnt = 1;
	m->brokers = &broker;
	m->orig_broker_id = 1;
	m->orig_broker_name = broker_name;
	m->topics = calloc(n + 1, sizeof(*m->topics));
	if (m->topics == NULL)
		abort();
	if (only_rkt != NULL)
		client_topic_is_missing(only_rkt); /* the handle has met it, if it is there */
	for (size_t i = 0; i < n; i++) {
		if (only_rkt != NULL)
			describe(&m->topics[m->topic_cnt++], only_rkt->name,
			    cluster_topic(only_rkt->name));
		else if (!cluster->topic[i]->deleted)
			describe(
			    &m->topics[m->topic_cnt++], cluster->topic[i]->name, cluster->topic[i]);
	}
	*metadatap = m;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
rd_kafka_metadata_destroy(const struct rd_kafka_metadata *metadata)
{
	for (int i = 0; i < metadata->topic_cnt; i++) {
		free(metadata->topics[i].topic);
		free(metadata->topics[i].partitions);
	}
	free(metadata->topics);
	free((void *)(uintptr_t)metadata);
}

/* While a new leader's watermark lags it does not say where the end is (KIP-207). */
static void
ask_offset(const rd_kafka_t *rk, rd_kafka_topic_partition_t *e)
{
	const struct cluster_partition *p = cluster_partition(e->topic, e->partition);

	e->err = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (p == NULL)
		e->err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	else if (cluster->now_ms < p->offline_until_ms)
		e->err = RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
	else if (cluster->now_ms < p->leaderless_until_ms)
		e->err = RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION;
	else if (e->offset == RD_KAFKA_OFFSET_BEGINNING)
		e->offset = p->log_start;
	else if (cluster->now_ms < p->lags_until_ms)
		e->err = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
	else if (e->offset == RD_KAFKA_OFFSET_END)
		e->offset = rk->committed_only ? cluster_stable(p) : cluster_high(p);
	else { /* the first record at or behind a time */
		int64_t at = p->log_start;

		while (at < p->end && (p->record[at].timestamp_ms < e->offset ||
					  p->record[at].fate == CLUSTER_MARKER))
			at++;
		e->offset = at < p->end ? at : RD_KAFKA_OFFSET_END;
	}
}

rd_kafka_resp_err_t
rd_kafka_offsets_for_times(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *offsets, int timeout_ms)
{
	rd_kafka_resp_err_t err;
	int unknown = 0;

	chance_call("offsets_for_times", offsets->cnt == 0 ? "" : offsets->elems[0].topic);
	if (offsets->cnt == 0)
		return RD_KAFKA_RESP_ERR__INVALID_ARG;
	if (client_unanswered(CHANCE_CONNECTION, "offsets_for_times", timeout_ms, &err))
		return err;
	for (int i = 0; i < offsets->cnt; i++) {
		ask_offset(rk, &offsets->elems[i]);
		unknown += offsets->elems[i].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	}
	return unknown == offsets->cnt ? RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
				       : RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
rd_kafka_query_watermark_offsets(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low,
    int64_t *high, int timeout_ms)
{
	const struct cluster_partition *p = cluster_partition(topic, partition);
	rd_kafka_resp_err_t err;

	chance_call("query_watermark_offsets", topic);
	if (client_unanswered(CHANCE_CONNECTION, "query_watermark_offsets", timeout_ms, &err))
		return err;
	if (p == NULL)
		return RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
	*low = p->log_start;
	*high = rk->committed_only ? cluster_stable(p) : cluster_high(p);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}
