/* Consuming: assigned partitions, the older interface a partition, queues of single partitions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

enum {
	FETCH_RECORDS = 32, /* of one fetch, at most */
	QUIET_MS = 1500,
	LEADERLESS_MS = 1500,
	LAG_MS = 3000,
	OFFLINE_MS = 30000,
	LAG_RECORDS = 6,
	STEP_MS = 20, /* of a wait */
};

struct client_partition *
client_partition(rd_kafka_t *rk, const char *topic, int32_t partition)
{
	struct client_partition **at = &rk->partitions;

	while (*at != NULL &&
	       ((*at)->partition != partition || strcmp((*at)->topic->name, topic) != 0))
		at = &(*at)->next;
	if (*at != NULL)
		return *at;
	*at = calloc(1, sizeof(**at));
	if (*at == NULL)
		abort();
	(*at)->rk = rk;
	(*at)->topic = client_topic(rk, topic);
	(*at)->partition = partition;
	(*at)->end_told = -1;
	return *at;
}

static void
forget(struct client_partition *p)
{
	struct client_message *m;

	while ((m = client_take(&p->fetched)) != NULL)
		rd_kafka_message_destroy(&m->m);
	p->assigned = p->stopped = false;
	p->end_told = -1;
	p->quiet_until_ms = p->follower_until_ms = 0;
}

void
client_partitions_free(rd_kafka_t *rk)
{
	while (rk->partitions != NULL) {
		struct client_partition *p = rk->partitions;

		forget(p);
		rk->partitions = p->next;
		free(p);
	}
}

/* ---- fetching ---- */

static void
tell(struct client_partition *p, rd_kafka_resp_err_t err)
{
	struct client_message *m = client_message_new(p->topic, p->partition, err);

	m->m.offset = p->offset_next;
	client_put(&p->fetched, m);
}

static void
take_record(struct client_partition *p, const struct cluster_record *r, int64_t offset)
{
	struct client_message *m =
	    client_message_new(p->topic, p->partition, RD_KAFKA_RESP_ERR_NO_ERROR);

	m->m.offset = offset;
	m->m.len = r->n;
	m->timestamp_ms = r->timestamp_ms;
	m->copied = true;
	m->m.payload = r->null_value ? NULL : malloc(r->n + 1);
	if (m->m.payload != NULL)
		memcpy(m->m.payload, r->bytes, r->n);
	m->m.key = r->key == NULL ? NULL : malloc(r->key_n + 1);
	if (m->m.key != NULL)
		memcpy(m->m.key, r->key, r->key_n);
	m->m.key_len = r->key_n;
	if (r->headers_n > 0)
		m->headers = rd_kafka_headers_new(r->headers_n);
	for (size_t i = 0; i < r->headers_n; i++)
		rd_kafka_header_add(m->headers, r->header[i].name, -1, r->header[i].value,
		    (ssize_t)r->header[i].value_n);
	client_put(&p->fetched, m);
}

/* -1 and below: words for a place. False: there is none. */
static bool
find_place(struct client_partition *p, const struct cluster_partition *c)
{
	int64_t end = p->rk->committed_only ? cluster_stable(c) : cluster_high(c);
	const struct cluster_commit *known;

	if (p->offset_next >= 0)
		return true;
	if (p->offset_next == RD_KAFKA_OFFSET_BEGINNING)
		p->offset_next = c->log_start;
	else if (p->offset_next == RD_KAFKA_OFFSET_END)
		p->offset_next = end;
	else if (p->offset_next <= RD_KAFKA_OFFSET_TAIL_BASE)
		p->offset_next = end + (p->offset_next - RD_KAFKA_OFFSET_TAIL_BASE);
	else {
		known = cluster_commit(p->rk->group, c->topic->name, c->number);
		if (known == NULL)
			return false;
		p->offset_next = known->offset;
	}
	return true;
}

static void
change_leader(struct cluster_partition *c)
{
	int64_t lag = (int64_t)chance_below(LAG_RECORDS), high = cluster_high(c);

	c->leaderless_until_ms = cluster->now_ms + (int64_t)chance_below(LEADERLESS_MS);
	c->lags_until_ms = c->leaderless_until_ms + (int64_t)chance_below(LAG_MS);
	c->high_lagging = high - lag < c->log_start ? c->log_start : high - lag;
}

/* Whether the partition answers at all at this moment. */
static bool
answers(struct client_partition *p, struct cluster_partition *c)
{
	char what[CLUSTER_NAME_MAX + 16];

	if (cluster->now_ms < p->quiet_until_ms || cluster->now_ms < c->leaderless_until_ms)
		return false;
	snprintf(what, sizeof(what), "%s [%" PRId32 "]", p->topic->name, p->partition);
	if (chance_fault(CHANCE_FETCH_SLOW, what)) {
		p->quiet_until_ms = cluster->now_ms + (int64_t)chance_below(QUIET_MS);
		return false;
	}
	if (chance_fault(CHANCE_DISK_FULL, what)) {
		c->offline_until_ms = cluster->now_ms + (int64_t)chance_below(OFFLINE_MS);
		c->leaderless_until_ms = c->offline_until_ms;
		return false;
	}
	if (chance_fault(CHANCE_FOLLOWER, what)) {
		int64_t lag = (int64_t)chance_below(LAG_RECORDS);

		p->follower_until_ms = cluster->now_ms + (int64_t)chance_below(LAG_MS);
		p->follower_end = c->end - lag < c->log_start ? c->log_start : c->end - lag;
	}
	if (!chance_fault(CHANCE_LEADER, what))
		return true;
	change_leader(c);
	return false;
}

/* What the replica shows that the reader fetches from. */
static int64_t
end_shown(const struct client_partition *p, const struct cluster_partition *c)
{
	int64_t end = p->rk->committed_only ? cluster_stable(c) : cluster_high(c);

	if (cluster->now_ms < p->follower_until_ms && p->follower_end < end)
		return p->follower_end;
	return end;
}

static void
take_records(struct client_partition *p, const struct cluster_partition *c)
{
	int64_t end = end_shown(p, c);
	size_t most = 1 + (size_t)chance_below(FETCH_RECORDS);

	while (p->offset_next < end && p->fetched.n < most) {
		const struct cluster_record *r = &c->record[p->offset_next];

		if (r->fate != CLUSTER_MARKER &&
		    (r->fate != CLUSTER_ABORTED || !p->rk->committed_only))
			take_record(p, r, p->offset_next);
		p->offset_next++;
	}
	/* A marker is skipped with the batch that precedes it. */
	while (p->offset_next < end && c->record[p->offset_next].fate == CLUSTER_MARKER)
		p->offset_next++;
	if (p->rk->tells_end && p->offset_next == end && p->end_told != end) {
		tell(p, RD_KAFKA_RESP_ERR__PARTITION_EOF);
		p->end_told = end;
	}
}

static void
fetch(struct client_partition *p)
{
	struct cluster_partition *c = cluster_partition(p->topic->name, p->partition);
	bool place;

	if (c == NULL) /* librdkafka goes on waiting for it, even where it was deleted */
		return;
	if (!answers(p, c))
		return;
	place = find_place(p, c);
	if (place && p->offset_next >= c->log_start && p->offset_next <= c->end) {
		take_records(p, c);
		return;
	}
	if (strcmp(client_value(p->rk->conf, "auto.offset.reset"), "error") == 0) {
		tell(p, RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET);
		p->stopped = true;
		return;
	}
	p->offset_next = strcmp(client_value(p->rk->conf, "auto.offset.reset"), "earliest") == 0
			     ? RD_KAFKA_OFFSET_BEGINNING
			     : RD_KAFKA_OFFSET_END;
}

struct client_message *
client_next(struct client_partition *p)
{
	if (p->fetched.n == 0 && p->assigned && !p->stopped)
		fetch(p);
	return client_take(&p->fetched);
}

/* ---- assigned partitions ---- */

rd_kafka_resp_err_t
rd_kafka_assign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *partitions)
{
	chance_call("assign", client_value(rk->conf, "client.id"));
	if (rk->type != RD_KAFKA_CONSUMER)
		return RD_KAFKA_RESP_ERR__UNKNOWN_GROUP;
	for (struct client_partition *p = rk->partitions; p != NULL; p = p->next)
		forget(p);
	for (int i = 0; partitions != NULL && i < partitions->cnt; i++) {
		const rd_kafka_topic_partition_t *e = &partitions->elems[i];
		struct client_partition *p = client_partition(rk, e->topic, e->partition);

		p->assigned = true;
		p->offset_next = e->offset;
		chance_trace("  %s [%" PRId32 "] from %" PRId64, e->topic, e->partition, e->offset);
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static struct client_message *
next_of_all(rd_kafka_t *rk)
{
	unsigned n = 0, i = 0;

	for (struct client_partition *p = rk->partitions; p != NULL; p = p->next)
		n++;
	rk->turn = n == 0 ? 0 : (rk->turn + 1) % n;
	for (int round = 0; round < 2; round++) {
		i = 0;
		for (struct client_partition *p = rk->partitions; p != NULL; p = p->next, i++) {
			struct client_message *m;

			if (p->separate || (round == 0) != (i >= rk->turn))
				continue;
			m = client_next(p);
			if (m != NULL)
				return m;
		}
	}
	return NULL;
}

static rd_kafka_message_t *
trace(struct client_message *m)
{
	if (m == NULL)
		return NULL;
	chance_trace("  gives %s [%" PRId32 "] offset %" PRId64 ": %s", m->m.rkt->name,
	    m->m.partition, m->m.offset, rd_kafka_err2name(m->m.err));
	return &m->m;
}

/* Waits a little; false: the time is up. */
static bool
wait_until(int64_t until_ms)
{
	int64_t left = until_ms - cluster->now_ms;

	if (left <= 0)
		return false;
	chance_wait(left < STEP_MS ? left : 1 + (int64_t)chance_below(STEP_MS));
	return true;
}

rd_kafka_message_t *
rd_kafka_consumer_poll(rd_kafka_t *rk, int timeout_ms)
{
	int64_t until_ms;
	struct client_message *m;

	chance_call("consumer_poll", client_value(rk->conf, "client.id"));
	until_ms = cluster->now_ms + timeout_ms;
	do {
		m = next_of_all(rk);
	} while (m == NULL && wait_until(until_ms));
	return trace(m);
}

/* ---- one partition ---- */

int
rd_kafka_consume_start(rd_kafka_topic_t *rkt, int32_t partition, int64_t offset)
{
	struct client_partition *p = client_partition(rkt->rk, rkt->name, partition);

	chance_call("consume_start", rkt->name);
	if (p->assigned) {
		client_set_last_error(RD_KAFKA_RESP_ERR__CONFLICT);
		return -1;
	}
	p->assigned = p->separate = true;
	p->offset_next = offset;
	chance_trace("  [%" PRId32 "] from %" PRId64, partition, offset);
	return 0;
}

int
rd_kafka_consume_stop(rd_kafka_topic_t *rkt, int32_t partition)
{
	chance_call("consume_stop", rkt->name);
	forget(client_partition(rkt->rk, rkt->name, partition));
	return 0;
}

static struct client_message *
next_within(struct client_partition *p, const bool *awake, int timeout_ms)
{
	int64_t until_ms = cluster->now_ms + timeout_ms;
	struct client_message *m;

	do {
		m = client_next(p);
	} while (m == NULL && !(awake != NULL && *awake) && wait_until(until_ms));
	return m;
}

rd_kafka_message_t *
rd_kafka_consume(rd_kafka_topic_t *rkt, int32_t partition, int timeout_ms)
{
	chance_call("consume", rkt->name);
	return trace(
	    next_within(client_partition(rkt->rk, rkt->name, partition), NULL, timeout_ms));
}

ssize_t
rd_kafka_consume_batch(rd_kafka_topic_t *rkt, int32_t partition, int timeout_ms,
    rd_kafka_message_t **rkmessages, size_t rkmessages_size)
{
	struct client_partition *p = client_partition(rkt->rk, rkt->name, partition);
	size_t n = 0;

	chance_call("consume_batch", rkt->name);
	while (n < rkmessages_size) {
		struct client_message *m =
		    n == 0 ? next_within(p, NULL, timeout_ms) : client_take(&p->fetched);

		if (m == NULL)
			break;
		rkmessages[n++] = trace(m);
	}
	return (ssize_t)n;
}

/* ---- queues of partitions ---- */

rd_kafka_queue_t *
rd_kafka_queue_get_partition(rd_kafka_t *rk, const char *topic, int32_t partition)
{
	rd_kafka_queue_t *q = rd_kafka_queue_new(rk);

	q->partition = client_partition(rk, topic, partition);
	return q;
}

void
rd_kafka_queue_forward(rd_kafka_queue_t *src, rd_kafka_queue_t *dst)
{
	if (dst != NULL || src->partition == NULL) {
		fprintf(stderr, "sim: rd_kafka_queue_forward() to another queue is not there\n");
		abort();
	}
	src->partition->separate = true;
}

rd_kafka_message_t *
rd_kafka_consume_queue(rd_kafka_queue_t *rkqu, int timeout_ms)
{
	struct client_message *m;

	chance_call("consume_queue", rkqu->partition->topic->name);
	m = next_within(rkqu->partition, &rkqu->awake, timeout_ms);
	rkqu->awake = false;
	return trace(m);
}

void
rd_kafka_queue_yield(rd_kafka_queue_t *rkqu)
{
	rkqu->awake = true;
}
